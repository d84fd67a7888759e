#include "configuration/configuration.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"
#include "host/timer.h"

static void configuration_step(void *arg)
{
    struct configuration *c = arg;
    succession_step(c);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (t->in == NULL)
            continue;
        target_go_on(t);
        instance_step(t->in);
    }
}

/* ---- the source ---- */

void configuration_follow(struct configuration *c, struct document *d)
{
    struct error err = {0};
    memcpy(c->from_source, d->id, sizeof(c->from_source));
    unsigned number = store_held(c->options.store, d->id);
    struct document *held = number != 0 ? store_document(c->options.store, number, &err) : NULL;
    if (held == NULL)
        store_release(c->options.store);
    document_unref(c->withdrawn);
    c->withdrawn = held != NULL && store_view(c->options.store).held_why != NULL ? document_ref(d) : NULL;
    if (err.kind != ERROR_NONE)
        log_warn(c->options.log, "rollback ended; the source's configuration is used", log_str("error", err.message));
    configuration_use(c, held != NULL ? held : d, held != NULL ? number : 0);
    document_unref(held);
}

void configuration_set(struct configuration *c, struct document *d)
{
    bool recovered = c->problem.kind != ERROR_NONE;
    error_clear(&c->problem);
    configuration_follow(c, d);
    if (recovered)
        configuration_tell(c, CONFIGURATION_RECOVERED, NULL, NULL);
}

int configuration_rollback(struct configuration *c, unsigned number, struct error *err)
{
    if (c->from_source[0] == '\0')
        return error_set(err, ERROR_RETRY, "the source was not read yet");
    struct document *d = store_document(c->options.store, number, err);
    if (d == NULL)
        return -1;
    store_hold(c->options.store, c->from_source, number, NULL);
    configuration_use(c, d, number);
    document_unref(d);
    return 0;
}

void configuration_refuse(struct configuration *c, const struct error *err)
{
    if (c->problem.kind != ERROR_NONE && str_eq(c->problem.message, err->message))
        return; /* the source is read again and again */
    log_error(c->options.log, "configuration refused; the last good one stays", log_str("error", err->message));
    c->problem = *err;
    configuration_tell(c, CONFIGURATION_REFUSED, NULL, &c->problem);
}

void configuration_pause(struct configuration *c, bool paused)
{
    store_pause(c->options.store, paused); /* which an earlier run may have said */
    if (paused == c->paused)
        return;
    c->paused = paused;
    log_info(c->options.log,
             paused ? "configuration paused by its source; nothing is written" : "configuration no longer paused");
    for (struct target *t = paused ? NULL : target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (t->in != NULL && instance_view(t->in).fresh)
            target_compare(t); /* drift that was left is repaired now */
    timer_set(&c->step, 0);
}

/* ---- the HAProxies, which come and go: a number for each of them, which another one gets when it is gone ---- */

size_t configuration_add(struct configuration *c, const char *name)
{
    size_t number = 0;
    bool joins = false;
    while (number < c->count && c->targets[number] != NULL)
        number++;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        joins = joins || (!t->watch.joins && (t->has.hash[0] != '\0' || t->sent.progress == PROGRESS_WRITTEN ||
                                              t->sent.progress == PROGRESS_DRIFTED));
    if (number == c->count)
        c->targets = mem_resize(c->targets, ++c->count, sizeof(c->targets[0]));
    c->targets[number] = target_new(c, number, name, joins);
    if (c->document != NULL)
        target_set(c->targets[number], NULL);
    timer_set(&c->step, 0);
    return number;
}

const struct engine *configuration_engine(const struct configuration *c, size_t i)
{
    return &c->targets[i]->engine;
}

void configuration_remove(struct configuration *c, size_t number)
{
    struct target *t = c->targets[number];
    if (t->in != NULL)
        configuration_tell(c, CONFIGURATION_GONE, t, NULL);
    if (t->name != NULL)
        store_forget_target(c->options.store, t->name);
    target_leave(t);
    c->targets[number] = NULL;
    timer_set(&c->step, 0); /* the others may have waited for it */
}

void configuration_forget(struct configuration *c, const struct engine *e)
{
    struct target **at = &c->gone;
    while (*at != NULL && &(*at)->engine != e)
        at = &(*at)->gone;
    struct target *t = *at;
    if (t == NULL)
        return;
    *at = t->gone;
    target_free(t);
}

/* ---- what it says ---- */

bool configuration_runs(const struct configuration *c, struct buf *ret)
{
    const struct cfg_content *first = NULL;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (!t->has.read && !t->failed.away)
            return false;
        if (!t->has.read || cfg_content_same(t->has.file, first))
            continue;
        first = first != NULL ? first : t->has.file;
        buf_addn(ret, t->has.file->text, t->has.file->len);
        buf_add(ret, "\n");
    }
    return first != NULL;
}

bool configuration_accepted(const struct configuration *c)
{
    bool any = false, checks = c->document != NULL && (c->document->trial || c->options.dry_run);
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        bool has = t->own == NULL && (target_runs_document(t) || (checks && t->sent.progress == PROGRESS_VALID));
        if (!has && !t->failed.away && !t->watch.joins)
            return false;
        any = any || has;
    }
    return any;
}

bool configuration_is_rolled_back(const struct configuration *c)
{
    return c->version != 0 && store_view(c->options.store).held_why != NULL;
}

size_t configuration_waiting_for_canary(const struct configuration *c)
{
    size_t count = 0;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        count += canary_waits(t);
    return count;
}

const struct storage_foresight *configuration_foresight(const struct configuration *c, size_t target)
{
    return &c->targets[target]->sent.foresight;
}

static const struct {
    const char *name, *words;
    enum status_state status;
} progresses[] = {
    [PROGRESS_NEW] = {"new", "not validated yet", STATUS_WAITING},
    [PROGRESS_VALID] = {"valid", "validated; not written yet", STATUS_NOT_WRITTEN},
    [PROGRESS_WRITTEN] = {"written", "written; not verified yet", STATUS_CHANGING},
    [PROGRESS_APPLIED] = {"applied", "applied", STATUS_IN_SYNC},
    [PROGRESS_DRIFTED] = {"drifted", "applied, and changed since", STATUS_PROBLEM},
    [PROGRESS_REJECTED] = {"rejected", "rejected", STATUS_PROBLEM},
    [PROGRESS_RESTORING] = {"restoring", "the previous configuration is restored", STATUS_PROBLEM},
    [PROGRESS_RESTORED] = {"restoring", "the previous configuration is restored", STATUS_PROBLEM},
};

/* What keeps it from being applied; NULL: nothing that is known. */
static const char *configuration_obstacle(const struct target *t)
{
    if (t->failed.why.kind != ERROR_NONE)
        return t->failed.why.message;
    if (t->own != NULL)
        return "this HAProxy is new and has the last configuration that ran: the latest is rejected";
    if (t->in == NULL || t->sent.progress == PROGRESS_APPLIED)
        return NULL;
    const struct instance_view v = instance_view(t->in);
    bool problem = v.problem != NULL && v.problem->kind != ERROR_NONE;
    return v.waits == NULL && problem ? v.problem->message : v.waits;
}

static const char *canary_evidence(const struct target *t)
{
    if (t->watch.probation.state == PROBATION_BAD)
        return t->watch.probation.evidence.message;
    return configuration_is_rolled_back(t->of) ? store_view(t->of->options.store).held_why : NULL;
}

struct configuration_view configuration_view(const struct configuration *c, size_t target)
{
    const struct target *t = c->targets[target];
    const struct probation *p = &t->watch.probation;
    bool first = t->watch.canary && canary_goes_on(c);
    struct configuration_view v = {.state = progresses[t->sent.progress].name,
                                   .status = progresses[t->sent.progress].status,
                                   .away = t->failed.away,
                                   .joins = t->watch.joins,
                                   .overtaken = c->next != NULL,
                                   .former = t->own != NULL,
                                   .paused = c->paused,
                                   .files_missing = t->sent.files_missing,
                                   .files_done = t->sent.files == FILES_DONE,
                                   .next_try_ms = t->failed.retry.not_before_ms,
                                   .reason = configuration_obstacle(t),
                                   .evidence = canary_evidence(t),
                                   .runs = t->has.hash,
                                   .runs_since_ms = t->has.since_ms};
    if (c->document != NULL) {
        v.sha256 = target_document(t)->hash;
        v.source = target_document(t)->origin;
        v.version = c->version;
    }
    /* The class of what was sent last, or of the last reading. */
    enum retry_class class = t->failed.retry.class;
    const struct error *problem = t->failed.away && t->in != NULL ? instance_view(t->in).problem : NULL;
    if (class == RETRY_NONE && problem != NULL && problem->kind != ERROR_NONE)
        class = retry_class_of(problem);
    v.failure = retry_class_name(class);
    if (configuration_is_rolled_back(c) && c->withdrawn != NULL)
        v.withdrawn = c->withdrawn->hash;
    if (first && p->state == PROBATION_GOES_ON) {
        v.canary = "watched";
        v.canary_until_ms = p->since_ms + p->time_ms;
    } else if (first && (p->state == PROBATION_BAD || t->watch.load_failed)) {
        v.canary = "failed";
    } else if (canary_waits(t)) {
        v.canary = "waits";
    }
    if (v.evidence != NULL)
        v.status = STATUS_PROBLEM;
    if (c->problem.kind != ERROR_NONE) { /* the document of all this is not what the source has now */
        v.status = STATUS_PROBLEM;
        v.reason = c->problem.message;
    }
    return v;
}

bool configuration_ready(const struct configuration *c, const char *waits, struct checks *checks)
{
    bool any = target_next(c, NULL) == NULL; /* those that are to come are missed by none */
    const char *why = c->problem.kind != ERROR_NONE ? c->problem.message
                      : c->document != NULL         ? NULL
                      : waits != NULL               ? waits
                                                    : "nothing read yet";
    bool good = why == NULL || (any && why == waits);
    checks_add(checks, good ? CHECK_OK : CHECK_FAIL, mem_strdup("configuration source"),
               why != NULL
                   ? mem_strdup(why)
                   : mem_printf("%s, %.12s%s", c->document->origin, c->document->hash, c->paused ? ", paused" : ""),
               NULL);
    for (const struct target *t = c->document != NULL || why == waits ? target_next(c, NULL) : NULL; t != NULL;
         t = target_next(c, t)) {
        const char *evidence = canary_evidence(t), *obstacle = configuration_obstacle(t);
        bool ok = t->sent.progress == PROGRESS_APPLIED;
        any = any || (ok && t->own == NULL);
        obstacle = obstacle != NULL ? obstacle : evidence;
        checks_add(checks,
                   !ok                ? CHECK_FAIL
                   : evidence != NULL ? CHECK_WARN
                                      : CHECK_OK,
                   mem_printf("target %s configuration", target_url(t)),
                   mem_printf("%s%s%s", progresses[t->sent.progress].words, obstacle != NULL ? ": " : "",
                              obstacle != NULL ? obstacle : ""),
                   NULL);
    }
    return any && good;
}

/* ---- life ---- */

struct configuration *configuration_new(struct event_base *base, const struct configuration_options *options)
{
    struct configuration *c = mem_alloc(sizeof(*c));
    c->options = *options;
    timer_init(&c->step, base, configuration_step, c);
    for (size_t i = 0; i < options->target_count; i++)
        (void)configuration_add(c, NULL);
    return c;
}

void configuration_free(struct configuration *c)
{
    if (c == NULL)
        return;
    while (c->gone != NULL)
        configuration_forget(c, &c->gone->engine);
    for (size_t i = 0; i < c->count; i++)
        target_free(c->targets[i]);
    free(c->targets);
    timer_fini(&c->step);
    document_unref(c->document);
    document_unref(c->next);
    document_unref(c->withdrawn);
    free(c);
}
