#include "daemon/config/config_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/event.h"
#include "haproxy/cfg/content.h"
#include "host/timer.h"
#include "report/trace.h"

#define ROOT "configuration change"
/* A HAProxy that is away may come back in days: what happens then is in no trace. */
#define CHANGE_MAX_MS 600000

/* One HAProxy on its way to the document. */
struct way {
    struct span *span; /* what is done now; NULL: it waits, or all is done, or nothing is recorded */
    enum step { STEP_NONE, STEP_VALIDATE, STEP_APPLY, STEP_RELOAD, STEP_VERIFY } step;
    bool there; /* false: this number is no HAProxy's now */
    bool validated, done;
};

static const char *const step_names[] = {[STEP_NONE] = "",
                                         [STEP_VALIDATE] = "validate",
                                         [STEP_APPLY] = "apply",
                                         [STEP_RELOAD] = "reload",
                                         [STEP_VERIFY] = "verify"};

/* Of the source, on its way to the engine. */
struct cause {
    struct span *root;
    char id[DIGEST_SHA256_HEX_BYTES];
};

struct config_trace {
    struct tracer *tracer;
    size_t first_count; /* of the settings; others come and go */
    bool writes;
    char *next_cause; /* of the next render; NULL: nothing happened yet */
    uint64_t next_us;
    struct span *render, *rendering; /* that is under way, and its root; both NULL: there is none */
    struct cause waits;              /* for the engine to take it; root NULL: nothing does */
    struct span *root;               /* of the change that the engine works on; NULL: there is none */
    const char *result;              /* of it, as far as is known; NULL: not at all */
    bool failed;                     /* one HAProxy does not run it, and will not */
    struct way *ways;                /* by their numbers */
    size_t way_count;
    char last[DIGEST_SHA256_HEX_BYTES]; /* what the source had last, by its id; "": nothing yet */
    char *refusal;                      /* the last one; NULL: none since */
    struct timer limit, waiting;
};

static struct span *config_trace_root(const struct config_trace *t, const char *cause, const char *source,
                                      uint64_t at_us)
{
    uint64_t now_us = clock_mono_us();
    struct span *root = span_root(t->tracer, ROOT, at_us, clock_wall_ms() * 1000 - (now_us - at_us));
    span_text(root, "change.cause", cause);
    span_text(root, "change.source", source);
    return root;
}

/* *root is gone. why NULL: it did not fail. */
static void config_trace_end(struct span **root, const char *result, const char *why)
{
    span_text(*root, "change.result", result);
    if (why != NULL)
        span_fail(*root, why);
    span_end(*root, clock_mono_us());
    *root = NULL;
}

/* ---- renders ---- */

static void config_trace_drop_render(struct config_trace *t, const char *result)
{
    if (t->render != NULL)
        config_trace_end(&t->render, result, NULL);
    config_trace_end(&t->rendering, result, NULL);
}

void config_trace_caused(struct config_trace *t, const char *cause)
{
    if (t == NULL || t->next_cause != NULL)
        return;
    t->next_cause = mem_strdup(cause);
    t->next_us = clock_mono_us();
}

void config_trace_rendering(struct config_trace *t, const char *source, const struct config_trace_render *r)
{
    if (t == NULL)
        return;
    config_trace_drop_render(t, "superseded");
    uint64_t now_us = clock_mono_us();
    bool caused = t->next_cause != NULL;
    t->rendering = config_trace_root(t, caused ? t->next_cause : "tried again", source, caused ? t->next_us : now_us);
    free(t->next_cause);
    t->next_cause = NULL;
    t->render = span_child(t->rendering, "render", now_us);
    span_number(t->render, "render.templates", (int64_t)r->templates);
    span_number(t->render, "render.objects", (int64_t)r->objects);
}

void config_trace_rendered(struct config_trace *t, bool changed, const struct error *err)
{
    if (t == NULL)
        return;
    if (err != NULL)
        span_fail(t->render, err->message);
    else
        span_bool(t->render, "render.changed", changed);
    span_end(t->render, clock_mono_us());
    t->render = NULL;
    if (err != NULL)
        config_trace_end(&t->rendering, "refused", err->message);
    else if (!changed)
        config_trace_end(&t->rendering, "unchanged", NULL);
}

void config_trace_render_dropped(struct config_trace *t)
{
    if (t != NULL)
        config_trace_drop_render(t, "superseded");
}

/* ---- what the source has ---- */

void config_trace_document(struct config_trace *t, const struct document *d, bool used)
{
    bool same = str_eq(t->last, d->id) && used, is_rendered = t->rendering != NULL && t->render == NULL;
    free(t->refusal);
    t->refusal = NULL;
    if (!is_rendered && (same || !used))
        return; /* it is only said again, or to a replica that does nothing with it */
    config_trace_end(&t->waits.root, "superseded", NULL);
    timer_set(&t->waiting, CHANGE_MAX_MS);
    t->waits.root = is_rendered ? t->rendering : config_trace_root(t, d->origin, d->origin, clock_mono_us());
    memcpy(t->waits.id, d->id, sizeof(t->waits.id));
    if (is_rendered)
        t->rendering = NULL;
    span_text(t->waits.root, "change.sha256", d->hash);
    span_number(t->waits.root, "change.bytes", (int64_t)d->content->len);
    if (same)
        config_trace_end(&t->waits.root, "unchanged", NULL);
    else if (!used)
        config_trace_end(&t->waits.root, "standby", NULL);
    else
        memcpy(t->last, d->id, sizeof(t->last));
}

/* The end of a render is reported apart from this. */
void config_trace_refused(struct config_trace *t, const struct error *err)
{
    bool news = !str_eq(t->refusal, err->message);
    free(t->refusal);
    t->refusal = mem_strdup(err->message);
    if (t->render != NULL)
        return;
    struct span *root = t->rendering; /* it was rendered, and is no configuration */
    t->rendering = NULL;
    if (root == NULL && news)
        root = config_trace_root(t, "the source", NULL, clock_mono_us());
    config_trace_end(&root, "refused", err->message);
}

/* ---- what becomes of it ---- */

/* What was under way, if it was. why NULL: it went well. */
static void config_trace_step_ends(struct way *w, const char *why)
{
    if (why != NULL)
        span_fail(w->span, why);
    span_end(w->span, clock_mono_us());
    w->span = NULL;
    w->step = STEP_NONE;
}

static void config_trace_step_begins(const struct config_trace *t, struct way *w, enum step step, const char *url)
{
    if (w->step != STEP_NONE)
        span_text(w->span, "change.result", "superseded");
    config_trace_step_ends(w, NULL);
    w->done = false;
    w->step = step;
    w->span = span_child(t->root, step_names[step], clock_mono_us());
    span_text(w->span, "target.url", url);
}

static void config_trace_close(struct config_trace *t, const char *result)
{
    for (size_t i = 0; i < t->way_count; i++) {
        span_text(t->ways[i].span, "change.result", result);
        config_trace_step_ends(&t->ways[i], NULL);
    }
    timer_cancel(&t->limit);
    config_trace_end(&t->root, result, NULL);
}

static void config_trace_limit(void *arg)
{
    config_trace_close(arg, "unfinished");
}

/* The engine has another one, which an operator wants. */
static void config_trace_waited(void *arg)
{
    struct config_trace *t = arg;
    config_trace_end(&t->waits.root, "unfinished", NULL);
}

static void config_trace_open(struct config_trace *t, const struct configuration_event *e, const char *cause)
{
    t->result = NULL;
    t->failed = false;
    t->root = config_trace_root(t, cause, e->document->origin, clock_mono_us());
    span_text(t->root, "change.sha256", e->document->hash);
    timer_set(&t->limit, CHANGE_MAX_MS);
}

/* Events say anew which others there are. */
static void config_trace_forget_ways(struct config_trace *t)
{
    for (size_t i = 0; i < t->way_count; i++)
        t->ways[i] = (struct way){.there = i < t->first_count};
}

static void config_trace_changed(struct config_trace *t, const struct configuration_event *e)
{
    config_trace_close(t, "superseded");
    for (size_t i = 0; i < t->way_count; i++)
        t->ways[i] = (struct way){.there = t->ways[i].there};
    if (str_eq(t->waits.id, e->document->id)) {
        timer_cancel(&t->waiting);
        t->root = t->waits.root;
        t->waits = (struct cause){.root = NULL};
        t->result = NULL;
        t->failed = false;
        timer_set(&t->limit, CHANGE_MAX_MS);
    } else { /* by an operator, or by the daemon itself */
        config_trace_open(t, e, str_eq(t->last, e->document->id) ? "end of a rollback" : "rollback");
    }
}

/* Ends the change where no HAProxy goes on: all run it, or one has refused it, and the others get no further than to
 * accept it. */
static void config_trace_settle(struct config_trace *t)
{
    bool all = true;
    for (size_t i = 0; i < t->way_count; i++) {
        const struct way *w = &t->ways[i];
        bool waits = w->validated && w->step == STEP_NONE && (t->failed || !t->writes);
        all = all && (w->done || waits || !w->there);
    }
    if (!all)
        return;
    timer_cancel(&t->limit);
    config_trace_end(&t->root, t->result != NULL ? t->result : "unfinished", NULL);
}

static void config_trace_take_of(struct config_trace *t, struct way *w, const struct configuration_event *e)
{
    static const char *const results[CONFIGURATION_EVENT_KINDS] = {
        [CONFIGURATION_VALIDATED] = "validated",     [CONFIGURATION_APPLIED] = "applied",
        [CONFIGURATION_UNCHANGED] = "unchanged",     [CONFIGURATION_REJECTED] = "rejected",
        [CONFIGURATION_LOAD_FAILED] = "load_failed", [CONFIGURATION_CANARY_FAILED] = "canary_failed"};
    const char *why = e->error != NULL ? e->error->message : NULL;
    if (configuration_event_failed(e->kind)) {
        why = why != NULL ? why : "";
        if (w->step == STEP_RELOAD || w->step == STEP_VERIFY) /* what was written is still to be seen to run */
            span_text(w->span, "retry.error", why);
        else /* what was asked for is asked for anew */
            config_trace_step_ends(w, why);
        return;
    }
    if (results[e->kind] == NULL) {
        bool reloads = str_eq(e->reason, CONFIGURATION_WAY_RELOAD);
        if (e->kind == CONFIGURATION_VALIDATING || e->kind == CONFIGURATION_WRITING) {
            config_trace_step_begins(t, w, e->kind == CONFIGURATION_WRITING ? STEP_APPLY : STEP_VALIDATE, e->url);
        } else if (e->kind == CONFIGURATION_LOADED && w->step == STEP_RELOAD) {
            config_trace_step_ends(w, NULL);
            config_trace_step_begins(t, w, STEP_VERIFY, e->url);
        } else if (e->kind == CONFIGURATION_WRITTEN && (w->step == STEP_APPLY || reloads)) {
            if (w->step == STEP_APPLY) {
                span_text(w->span, "apply.way", e->reason);
                config_trace_step_ends(w, NULL);
            }
            config_trace_step_begins(t, w, reloads ? STEP_RELOAD : STEP_VERIFY, e->url);
        }
        return;
    }
    if (e->kind == CONFIGURATION_VALIDATED)
        w->validated = true;
    else
        w->done = true;
    config_trace_step_ends(w, why);
    if (e->kind != CONFIGURATION_VALIDATED || !t->writes) {
        /* What went wrong with one says more than that others run it. */
        const char *result = results[e->kind];
        bool failed = why != NULL;
        if (failed)
            span_fail(t->root, why);
        if (t->result == NULL || failed || (!t->failed && str_eq(result, "applied")))
            t->result = result;
        t->failed = t->failed || failed;
    }
    config_trace_settle(t);
}

void config_trace_take(struct config_trace *t, const struct configuration_event *e)
{
    if (e->kind == CONFIGURATION_CHANGED)
        config_trace_changed(t, e);
    if (e->url == NULL)
        return;
    if (e->target >= t->way_count) {
        t->ways = mem_resize(t->ways, e->target + 1, sizeof(t->ways[0]));
        memset(&t->ways[t->way_count], 0, (e->target + 1 - t->way_count) * sizeof(t->ways[0]));
        t->way_count = e->target + 1;
    }
    struct way *w = &t->ways[e->target];
    bool new = !w->there;
    w->there = true;
    if (e->kind == CONFIGURATION_GONE) {
        span_text(w->span, "change.result", "gone");
        config_trace_step_ends(w, NULL);
        *w = (struct way){.there = false};
        if (timer_is_set(&t->limit))
            config_trace_settle(t);
        return;
    }
    bool begins = e->kind == CONFIGURATION_VALIDATING || e->kind == CONFIGURATION_WRITING;
    if (begins && !timer_is_set(&t->limit) && (w->done || new)) { /* it ran, or was refused, and is sent there again */
        cleanup(mem_free_ptr) char *cause = mem_printf("%s %s", e->url, new ? "is new" : "again");
        config_trace_open(t, e, cause);
    }
    config_trace_take_of(t, w, e);
}

/* ---- life ---- */

void config_trace_stop(struct config_trace *t)
{
    config_trace_drop_render(t, "stopped");
    config_trace_end(&t->waits.root, "stopped", NULL);
    config_trace_close(t, "stopped");
    config_trace_forget_ways(t);
    t->last[0] = '\0';
}

struct config_trace *config_trace_new(struct event_base *base, struct tracer *tracer, size_t target_count, bool writes)
{
    struct config_trace *t = mem_alloc(sizeof(*t));
    *t = (struct config_trace){.tracer = tracer,
                               .first_count = target_count,
                               .way_count = target_count,
                               .writes = writes,
                               .ways = mem_array(target_count, sizeof(t->ways[0]))};
    config_trace_forget_ways(t);
    timer_init(&t->limit, base, config_trace_limit, t);
    timer_init(&t->waiting, base, config_trace_waited, t);
    return t;
}

void config_trace_free(struct config_trace *t)
{
    if (t == NULL)
        return;
    config_trace_stop(t);
    timer_fini(&t->limit);
    timer_fini(&t->waiting);
    mem_free_all(t->next_cause, t->refusal, t->ways, t);
}
