/* What a look at HAProxy and its file means: what is there, what runs, and what the end of a reload is worth. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "servers/names.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define SPLIT_LOOK_MS 1000
/* Somebody else's commit is in the file for up to the API's reload_delay (5 s by default) before HAProxy runs it. */
#define DRIFT_LOOK_MS 7000
#define UNREADABLE_LOOKS 3
#define UNREADABLE_LOOK_MS 300

/* ---- reading ---- */

void target_look(struct target *t)
{
    t->phase = TARGET_OBSERVING;
    reader_start(&t->reader);
}

bool target_renew_credentials(struct target *t)
{
    bool renewed = dataplane_credentials_refused(t->options.client) && !t->renewed;
    t->renewed = t->renewed || renewed;
    return renewed;
}

static void observe_failed(struct target *t, const struct error *err)
{
    t->calls.failures = 0; /* they have this reason */
    t->away = true;
    for (size_t i = 0; i < t->options.backend_count; i++)
        slot_measure_up(&t->slots[i]);
    target_count_reconcile(t, error_kind_name(err->kind));
    target_problem(
        t, err->http_status != 0 && err->kind == ERROR_AUTH ? TARGET_REFUSED : "cannot read HAProxy's configuration",
        err);
    if (err->kind == ERROR_AUTH && target_renew_credentials(t))
        return;
    target_pause(t, true, -1);
}

/* A failed reload that nobody told us of: a stranger's, or one before our start. After a hand edit, too, the API answers
 * the new version a moment before the file has it: so it takes two looks at one version. */
static void see_split(struct target *t, bool split)
{
    bool again = t->split_version == t->version;
    t->split_version = split ? t->version : -1;
    if (!split || t->dirty || t->reload.state == RELOAD_PENDING)
        return;
    if (!again) {
        t->seen = false;
        t->wait_until_ms = clock_mono_ms() + SPLIT_LOOK_MS;
        return;
    }
    t->dirty = true;
    target_write_not_before(t, clock_mono_ms() + backoff_next_ms(&t->reload_backoff));
    static const char what[] = "haproxy.cfg is older than what the Data Plane API answers: a reload failed; "
                               "an empty commit will apply it again";
    log_warn(t->options.log, what, log_str("target", dataplane_client_url(t->options.client)),
             log_int("version", t->version));
    target_note_trouble(t, HISTORY_RELOAD_FAILED, what, NULL);
}

static bool any_wish(const struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (t->slots[i].have_wish)
            return true;
    return false;
}

/* ---- the running HAProxy ---- */

/* Another process than at the last look: reloaded, or started again. Not known: it is the same. */
static bool take_worker(struct target *t)
{
    int64_t pid = t->reader.worker_pid, uptime_s = t->reader.worker_uptime_s;
    if (pid < 0)
        return false;
    bool other = t->worker_known && (pid != t->worker_pid || uptime_s < t->worker_uptime_s);
    t->worker_pid = pid;
    t->worker_uptime_s = uptime_s;
    t->worker_known = true;
    return other;
}

static bool was_reloaded_since(const struct target *t)
{
    return t->worker_pid != t->ended.pid_before || t->worker_uptime_s < t->ended.uptime_before;
}

char *target_running_problem(const struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++) {
        const struct slot *s = &t->slots[i];
        char *what = s->actual.exists && s->unreadable.kind == ERROR_NONE
                         ? runtime_problem(&s->actual, &s->runtime, diff_manages, &t->options.rules.diff)
                         : NULL;
        if (what == NULL)
            continue;
        char *text = mem_printf("backend %s: %s", s->name, what);
        free(what);
        return text;
    }
    return NULL;
}

static bool all_readable(const struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (t->slots[i].actual.exists && !t->slots[i].runtime.readable)
            return false;
    return t->reader.worker_pid >= 0;
}

bool target_is_confirmed(const struct target *t)
{
    cleanup(mem_free_ptr) char *problem = target_running_problem(t);
    return all_readable(t) && problem == NULL;
}

static void reload_confirmed(struct target *t, bool seen)
{
    target_count_reload(t, "succeeded");
    log_info(t->options.log, "HAProxy reloaded", log_str("target", dataplane_client_url(t->options.client)),
             log_str("reload_id", t->ended.id), log_us_as_ms("after_ms", t->ended.took_us), log_bool("seen", seen));
    if (t->trust == TRUST_DOUBTED)
        target_set_trust(t, TRUST_UNTRIED);
}

/* "succeeded" may be another reload's, under the same id; "not known" may well have happened. */
static void judge_reload(struct target *t)
{
    cleanup(mem_free_ptr) char *problem = target_running_problem(t);
    struct error err = {0};
    t->ended.waits = false;
    if (!all_readable(t) || t->ended.pid_before < 0) {
        if (t->ended.done) {
            t->unconfirmed = 0;
            reload_confirmed(t, false);
            return;
        }
        err = t->ended.error;
    } else if (problem != NULL) {
        error_set(&err, ERROR_INVALID,
                  "reload %s is called done, but the running HAProxy is not what its file says: %s", t->ended.id,
                  problem);
    } else if (was_reloaded_since(t)) {
        t->unconfirmed = 0;
        reload_confirmed(t, true);
        return;
    } else if (t->unconfirmed++ > 0) { /* it may always be the same: as number 1 of a container */
        if (t->unconfirmed == 2)
            log_warn(t->options.log,
                     "two reloads in a row are called done, and HAProxy's process is the same as before: taking them "
                     "for done, and those to come, since it runs what its file says",
                     log_str("target", dataplane_client_url(t->options.client)), log_int("pid", t->worker_pid));
        reload_confirmed(t, false);
        return;
    } else {
        error_set(&err, ERROR_INVALID, "reload %s is called done, but HAProxy's process %lld is the one from before it",
                  t->ended.id, (long long)t->worker_pid);
    }
    target_count_reload(t, "unknown");
    /* One that HAProxy went through all the same costs connections: not every minute. */
    target_reload_failed(t, &err, problem != NULL ? &t->drift_backoff : &t->reload_backoff);
}

/* At rest, HAProxy runs something else than its file says: a reload that never came, an operator's command, a stranger. */
static void see_drift(struct target *t)
{
    char *what = t->reload.state == RELOAD_PENDING || t->dirty ? NULL : target_running_problem(t);
    uint64_t now = clock_mono_ms();
    if (what != NULL && t->drift_version != t->version)
        t->drift_since_ms = now;
    free(t->drift);
    t->drift = what;
    t->drift_version = what != NULL ? t->version : -1;
    if (what == NULL) {
        if (!t->dirty && t->reload.state != RELOAD_PENDING && all_readable(t)) {
            backoff_reset(&t->drift_backoff);
            target_note_drift_over(t);
        }
        return;
    }
    if (now - t->drift_since_ms < DRIFT_LOOK_MS) { /* however often it is looked at until then */
        t->look_again_ms = t->drift_since_ms + DRIFT_LOOK_MS;
        return;
    }
    t->dirty = true;
    metric_add(t->options.telemetry->drifts, 1, dataplane_client_url(t->options.client), NULL);
    target_write_not_before(t, clock_mono_ms() +
                                   (t->drift_backoff.attempts == 0 ? 0 : backoff_next_ms(&t->drift_backoff)));
    t->drift_backoff.attempts++;
    log_warn(t->options.log, "HAProxy runs something else than its file says; an empty commit will load it",
             log_str("target", dataplane_client_url(t->options.client)), log_str("what", what),
             log_int("version", t->version));
    target_note_drift(t, what);
}

/* ---- one backend ---- */

static void tell_unreadable(struct slot *s)
{
    struct target *t = s->target;
    bool unreadable = t->options.runtime != NULL && s->actual.exists && !s->runtime.readable;
    if (s->runtime.readable && s->told_unreadable)
        log_info(t->options.log, "what HAProxy runs can be read again",
                 log_str("target", dataplane_client_url(t->options.client)), log_str("backend", s->name));
    if (unreadable && t->reload.state == RELOAD_PENDING)
        return;
    if (unreadable && !s->told_unreadable)
        log_warn(t->options.log,
                 "what HAProxy runs cannot be read through its Data Plane API (is it running?), so every change is a "
                 "transaction and a reload",
                 log_str("target", dataplane_client_url(t->options.client)), log_str("backend", s->name),
                 log_str("error", s->runtime.why));
    s->told_unreadable = unreadable;
    target_set_trust(t, t->trust);
}

static void tell_overrides(struct slot *s)
{
    struct target *t = s->target;
    size_t count = 0;
    char *now = admin_states_overrides(&s->memory, &count);
    if (now != NULL && !str_eq(now, s->overrides))
        log_warn(t->options.log,
                 "somebody has set server states in the running HAProxy by hand; they are left alone until taken back "
                 "(state ready), also where a daemon that was stopped in the middle of a drain left them",
                 log_str("target", dataplane_client_url(t->options.client)), log_str("backend", s->name),
                 log_str("what", now));
    else if (now == NULL && s->overrides != NULL)
        log_info(t->options.log, "the server states that were set by hand are taken back",
                 log_str("target", dataplane_client_url(t->options.client)), log_str("backend", s->name));
    free(s->overrides);
    s->overrides = now;
    slot_measure(s, t->options.telemetry->servers_overridden, (double)count);
}

static void take_one(struct slot *s, struct reading *found)
{
    backend_fini(&s->actual);
    runtime_fini(&s->runtime);
    s->actual = found->backend;
    s->runtime = found->runtime;
    backend_init(&found->backend);
    runtime_init(&found->runtime);
    s->unreadable = found->unreadable;
    s->looked = true;
    s->wrote_fast = false;
    slot_name_servers(s, s->wish);
}

static void tell_adopted(struct slot *s)
{
    const struct target *t = s->target;
    char *now = s->wish != s->by_node ? names_adopted(s->wish, &t->options.rules.diff) : NULL;
    if (now != NULL && !str_eq(now, s->adopted))
        log_info(t->options.log, "servers are adopted under the names that they have in haproxy.cfg (ADOPT_SERVERS)",
                 log_str("target", dataplane_client_url(t->options.client)), log_str("backend", s->name),
                 log_str("servers", now));
    free(s->adopted);
    s->adopted = now;
}

void slot_name_servers(struct slot *s, const struct desired *before)
{
    struct desired named;
    const struct names_input in = {.desired = s->by_node,
                                   .before = before,
                                   .actual = &s->actual,
                                   .runtime = &s->runtime,
                                   .rules = &s->target->options.rules.diff};
    if (s->unreadable.kind != ERROR_NONE)
        return;
    bool differs = names_apply(&in, &named);
    desired_unref(s->wish);
    s->wish = differs ? desired_share(&named) : desired_ref(s->by_node);
    tell_adopted(s);
}

/* It could be read a moment ago: a reload may be under way. */
static bool must_look_again(struct target *t)
{
    bool lost = false;
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        lost = lost || (s->was_readable && s->actual.exists && !s->runtime.readable);
    }
    if (!lost || ++t->unreadable_looks > UNREADABLE_LOOKS) {
        for (size_t i = 0; i < t->options.backend_count; i++)
            t->slots[i].was_readable = t->slots[i].runtime.readable;
        t->unreadable_looks = 0;
        return false;
    }
    t->seen = false;
    t->wait_until_ms = clock_mono_ms() + UNREADABLE_LOOK_MS;
    return true;
}

/* While the file is ahead of what runs, a state that differs is nobody's wish. */
static bool is_at_rest(const struct target *t)
{
    return !t->dirty && t->drift == NULL && t->split_version < 0 && t->reload.state != RELOAD_PENDING;
}

static void remember(struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        slot_remember(&t->slots[i]);
    if (is_at_rest(t))
        t->worker = WORKER_SAME;
}

void slot_remember(struct slot *s)
{
    struct target *t = s->target;
    bool decided = s->have_wish && (s->wish->state == DESIRED_OK || s->wish->state == DESIRED_EMPTY);
    if (is_at_rest(t) && decided && s->actual.exists && s->unreadable.kind == ERROR_NONE)
        admin_states_look(&s->memory, &s->actual, &s->runtime, s->wish, &t->options.rules.diff, t->worker);
    tell_overrides(s);
}

static void take_runtime(struct target *t)
{
    t->lost = t->reader.worker_silent;
    bool other = take_worker(t);
    if (other && t->worker == WORKER_SAME)
        t->worker = WORKER_OTHER;
    if (t->ended.waits && t->worker == WORKER_OTHER) /* it may have been seen before the API said that it was done */
        t->worker = WORKER_OURS;
    if (other && t->reload.state != RELOAD_PENDING && !t->ended.waits)
        log_info(t->options.log, "HAProxy was reloaded or started again by somebody else",
                 log_str("target", dataplane_client_url(t->options.client)), log_int("pid", t->worker_pid));
    if (other && t->trust == TRUST_DOUBTED && t->reload.state != RELOAD_PENDING)
        target_set_trust(t, TRUST_UNTRIED);
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        tell_unreadable(s);
        if (admin_states_correct(&s->memory, &s->runtime, other)) {
            t->unverified = true;
            slot_measure_up(s);
        }
    }
    if (t->ended.waits)
        judge_reload(t);
    see_drift(t);
    remember(t);
}

static void take_found(struct target *t, struct reading *found)
{
    bool split = false, unreadable = false;
    t->version = found[0].backend.version;
    t->away = false;
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        take_one(s, &found[i]);
        slot_measure_up(s);
        split = split || s->actual.split;
        unreadable = unreadable || s->unreadable.kind != ERROR_NONE;
    }
    t->seen = true;
    t->unverified = false;
    see_split(t, split);
    target_guard_look(t);
    if (!t->write_failing && !unreadable)
        backoff_reset(&t->backoff);
    t->look_again_ms = unreadable ? clock_mono_ms() + backoff_next_ms(&t->backoff) : 0;
    if (!must_look_again(t))
        take_runtime(t);
    if (!any_wish(t))
        target_problem_over(t);
}

void target_observed(void *arg, struct reading *found, const struct error *err)
{
    struct target *t = arg;
    t->phase = TARGET_IDLE;
    if (err != NULL)
        observe_failed(t, err);
    else
        take_found(t, found);
    target_step(t);
}
