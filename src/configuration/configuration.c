#include "configuration/configuration.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"
#include "host/timer.h"

/* While one document comes after another: when the latest is tried to its end whatever comes, and for how long at most. */
#define PATIENCE_MS 1000u
#define PATIENCE_MAX_MS 60000u

static void configuration_tell_why(const struct configuration *c, enum configuration_event_kind kind,
                                   const struct target *t, const char *reason, const struct error *err)
{
    const struct configuration_listener *l = &c->options.listener;
    if (t != NULL && t->own != NULL && kind != CONFIGURATION_GONE)
        return; /* it is of the latest that is told */
    const struct configuration_event e = {.kind = kind,
                                          .target = t != NULL ? t->number : 0,
                                          .url = t != NULL ? target_url(t) : NULL,
                                          .document = kind != CONFIGURATION_REFUSED ? c->document : NULL,
                                          .reason = reason,
                                          .error = err};
    if (l->happened != NULL)
        l->happened(l->arg, &e);
}

void configuration_tell(const struct configuration *c, enum configuration_event_kind kind, const struct target *t,
                        const struct error *err)
{
    configuration_tell_why(c, kind, t, kind == CONFIGURATION_LOAD_FAILED ? CONFIGURATION_REASON_RELOAD : NULL, err);
}

void configuration_tell_written(const struct target *t, bool runs)
{
    configuration_tell_why(t->of, CONFIGURATION_WRITTEN, t, runs ? CONFIGURATION_WAY_RUNTIME : CONFIGURATION_WAY_RELOAD,
                           NULL);
}

/* ---- what is decided for all ---- */

bool configuration_rejected(const struct configuration *c)
{
    bool rejected = false;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        rejected = rejected || (t->progress == PROGRESS_REJECTED && !t->joins);
    return rejected;
}

bool configuration_writes(const struct configuration *c)
{
    return !c->options.dry_run && !c->paused;
}

/* A rejection by one stops all; one that does not answer is no rejection, and one that joins stops itself alone. */
bool configuration_may_write(const struct configuration *c)
{
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (t->joins)
            continue;
        if (t->progress == PROGRESS_REJECTED || t->progress == PROGRESS_RESTORING || t->progress == PROGRESS_RESTORED)
            return false;
        if (t->progress == PROGRESS_NEW && !target_is_valid(t) && !t->away)
            return false;
    }
    return configuration_writes(c) && !c->document->trial;
}

bool configuration_accepted(const struct configuration *c)
{
    bool any = false, checks = c->document != NULL && (c->document->trial || c->options.dry_run);
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        bool runs = t->progress == PROGRESS_APPLIED || t->progress == PROGRESS_DRIFTED;
        bool has = t->own == NULL && (runs || (checks && t->progress == PROGRESS_VALID));
        if (!has && !t->away && !t->joins)
            return false;
        any = any || has;
    }
    return any;
}

bool configuration_runs(const struct configuration *c, struct buf *ret)
{
    const struct cfg_content *first = NULL;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (!t->read && !t->away)
            return false;
        if (!t->read || cfg_content_same(t->file, first))
            continue;
        first = first != NULL ? first : t->file;
        buf_addn(ret, t->file->text, t->file->len);
        buf_add(ret, "\n");
    }
    return first != NULL;
}

bool configuration_waits(const struct configuration *c, uint64_t now_ms)
{
    return !c->begun && now_ms < c->not_before_ms;
}

void configuration_begin(struct configuration *c, bool reloads)
{
    c->begun = true;
    if (reloads)
        c->not_before_ms = clock_mono_ms() + c->options.min_interval_ms;
}

static void configuration_take_next(struct configuration *c);

static void configuration_step(void *arg)
{
    struct configuration *c = arg;
    configuration_take_next(c);
    if (c->try_again)
        rollback_try_again(c);
    canary_step(c);
    target_new_step(c);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (t->in == NULL)
            continue;
        target_go_on(t);
        instance_step(t->in);
    }
}

/* ---- the source ---- */

/* Files of one document never meet a haproxy.cfg of another: what was written with them is loaded and verified, or taken
 * back, before the next one begins. */
static bool configuration_half_way(const struct configuration *c)
{
    bool half_way = false;
    if (c->document == NULL)
        return false;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        half_way = half_way || (t->in != NULL && target_files_half_way(t));
    return half_way;
}

/* Or cannot be tried now, for whatever reason: nothing is lost with it. */
static bool configuration_was_tried(const struct configuration *c)
{
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        bool stays = c->document->trial || !configuration_writes(c) || (c->options.canary > 0 && !canary_lets(t));
        bool begins = (t->progress == PROGRESS_VALID && !stays) || (t->progress == PROGRESS_NEW && t->repairs == 0);
        bool goes_on = t->progress == PROGRESS_WRITTEN || (begins && !configuration_rejected(c));
        if (goes_on && t->in != NULL && !t->away)
            return false;
    }
    return true;
}

/* Who changes an object all the time keeps no other change from HAProxy. What is rolled back to a version is tried no more. */
static bool configuration_keeps(const struct configuration *c, unsigned next_version)
{
    uint64_t now_ms = clock_mono_ms(), untried_ms = now_ms - c->tried_ms;
    bool due = next_version == 0 && untried_ms >= PATIENCE_MS && untried_ms < PATIENCE_MAX_MS &&
               !configuration_waits(c, now_ms);
    return configuration_half_way(c) || (due && c->document != NULL && !configuration_was_tried(c));
}

bool configuration_next_is_due(const struct configuration *c)
{
    return c->next != NULL && !configuration_keeps(c, c->next_version);
}

void configuration_use(struct configuration *c, struct document *d, unsigned version)
{
    bool waited = c->next != NULL && str_eq(c->next->id, d->id);
    document_unref(c->next);
    c->next = NULL;
    if (c->document != NULL && str_eq(c->document->id, d->id) && c->document->trial == d->trial &&
        c->version == version)
        return;
    if (configuration_keeps(c, version)) {
        c->next = document_ref(d);
        c->next_version = version;
        for (struct target *t = waited ? NULL : target_next(c, NULL); t != NULL; t = target_next(c, t))
            target_hurry(t);
        return;
    }
    if (c->document == NULL || configuration_was_tried(c) || clock_mono_ms() - c->tried_ms >= PATIENCE_MAX_MS)
        c->tried_ms = clock_mono_ms();
    document_unref(c->document);
    c->document = document_ref(d);
    c->version = version;
    c->begun = false;
    canary_begin(c);
    log_info(c->options.log, version != 0 ? "configuration rolled back" : "configuration changed",
             log_str("source", d->origin), log_str("sha256", d->hash), log_int("bytes", (int64_t)d->content->len),
             log_if(version != 0, log_int("version", version)));
    configuration_tell(c, CONFIGURATION_CHANGED, NULL, NULL);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        target_new_end(t);
        target_set(t);
    }
    timer_set(&c->step, 0);
}

static void configuration_take_next(struct configuration *c)
{
    cleanup(document_unref_ptr) struct document *next = c->next != NULL ? document_ref(c->next) : NULL;
    if (next != NULL)
        configuration_use(c, next, c->next_version);
}

void configuration_follow(struct configuration *c, struct document *d)
{
    struct error err = {0};
    memcpy(c->from_source, d->id, sizeof(c->from_source));
    unsigned number = store_held(c->options.store, d->id);
    struct document *held = number != 0 ? store_document(c->options.store, number, &err) : NULL;
    if (held == NULL)
        store_release(c->options.store);
    document_unref(c->withdrawn);
    c->withdrawn = held != NULL && store_held_why(c->options.store) != NULL ? document_ref(d) : NULL;
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

/* ---- what it says ---- */

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

const struct cfg_difference *configuration_difference(const struct configuration *c, size_t target)
{
    static const struct cfg_difference nothing = {.effect = CFG_EFFECT_NONE};
    const struct cfg_difference *found = target_difference(c->targets[target]);
    return found != NULL ? found : &nothing;
}

int configuration_foresee(const struct configuration *c, size_t target, struct buf *ret, struct error *err)
{
    return target_foresee(c->targets[target], ret, err);
}

const struct storage_foresight *configuration_foresight(const struct configuration *c, size_t target)
{
    return &c->targets[target]->foresight;
}

void configuration_line_difference(const struct configuration *c, size_t target, struct cfg_line_difference *ret)
{
    target_line_difference(c->targets[target], ret);
}

/* Of what was sent, or of the last reading. */
static enum retry_class configuration_failure(const struct target *t)
{
    const struct error *problem = t->away && t->in != NULL ? instance_view(t->in).problem : NULL;
    if (t->retry.class != RETRY_NONE || problem == NULL || problem->kind == ERROR_NONE)
        return t->retry.class;
    return retry_class_of(problem);
}

/* What keeps it from being applied; NULL: nothing that is known. */
static const char *configuration_obstacle(const struct target *t)
{
    if (t->why.kind != ERROR_NONE)
        return t->why.message;
    if (t->own != NULL)
        return "this HAProxy is new and has the last configuration that ran: the latest is rejected";
    if (t->in == NULL || t->progress == PROGRESS_APPLIED)
        return NULL;
    const struct instance_view v = instance_view(t->in);
    bool problem = v.problem != NULL && v.problem->kind != ERROR_NONE;
    return v.waits == NULL && problem ? v.problem->message : v.waits;
}

struct configuration_view configuration_view(const struct configuration *c, size_t target)
{
    const struct target *t = c->targets[target];
    struct configuration_view v = {.state = progresses[t->progress].name,
                                   .status = progresses[t->progress].status,
                                   .away = t->away,
                                   .joins = t->joins,
                                   .overtaken = c->next != NULL,
                                   .former = t->own != NULL,
                                   .paused = c->paused,
                                   .files_missing = t->files_missing,
                                   .files_done = t->files == FILES_DONE,
                                   .failure = retry_class_name(configuration_failure(t)),
                                   .next_try_ms = t->retry.not_before_ms,
                                   .reason = configuration_obstacle(t),
                                   .runs = t->runs,
                                   .runs_since_ms = t->runs_since_ms};
    if (c->document != NULL) {
        v.sha256 = target_document(t)->hash;
        v.source = target_document(t)->origin;
        v.version = c->version;
    }
    canary_view(t, &v);
    if (c->problem.kind != ERROR_NONE) { /* what the source has now is not what is meant by all this */
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
        bool ok = t->progress == PROGRESS_APPLIED;
        any = any || (ok && t->own == NULL);
        obstacle = obstacle != NULL ? obstacle : evidence;
        checks_add(checks,
                   !ok                ? CHECK_FAIL
                   : evidence != NULL ? CHECK_WARN
                                      : CHECK_OK,
                   mem_printf("target %s configuration", target_url(t)),
                   mem_printf("%s%s%s", progresses[t->progress].words, obstacle != NULL ? ": " : "",
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
    target_list_fini(c);
    timer_fini(&c->step);
    document_unref(c->document);
    document_unref(c->next);
    document_unref(c->withdrawn);
    free(c);
}
