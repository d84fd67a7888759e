#include "sync/target.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dataplane/client.h"
#include "sync/decision.h"
#include "sync/target_internal.h"
#include "sync/telemetry.h"

#define REPEAT_LOG_MS 60000
#define REJECTED_PAUSE_MS 1000
#define SPLIT_LOOK_MS 1000

static void on_observed(void *arg, struct backend *found, const struct error *err);

void target_count_reconcile(struct target *t, const char *result)
{
    metric_add(t->options.telemetry->reconciles, 1, result, NULL);
}

static void set_in_step(struct target *t, bool in_step)
{
    t->in_step = in_step;
    metric_set(t->options.telemetry->in_sync, in_step ? 1 : 0, NULL);
    if (in_step)
        metric_set(t->options.telemetry->last_success, (double)clock_wall_ms() / 1000.0, NULL);
}

void target_problem(struct target *t, const char *what, const struct error *err)
{
    unsigned held_back = 0;
    set_in_step(t, false);
    t->problem = *err;
    error_prefix(&t->problem, "%s", what);
    if (!log_limit_pass_message(&t->problem_limit, clock_mono_ms(), t->problem.message, &held_back))
        return;
    log_error(t->options.log, what, log_str("target", dataplane_client_url(t->options.client)),
              log_str("backend", t->options.backend_name), log_str("kind", error_kind_name(err->kind)),
              log_str("error", err->message), log_if(held_back > 0, log_int("times_before", held_back)));
}

static void problem_over(struct target *t)
{
    if (t->problem.kind != ERROR_NONE)
        log_info(t->options.log, "trouble is over", log_str("target", dataplane_client_url(t->options.client)),
                 log_str("backend", t->options.backend_name), log_str("was", t->problem.message));
    error_clear(&t->problem);
    log_limit_reset(&t->problem_limit);
}

void target_write_not_before(struct target *t, uint64_t when_ms)
{
    if (t->write_wait_until_ms < when_ms)
        t->write_wait_until_ms = when_ms;
}

/* ---- observing ---- */

static void look(struct target *t)
{
    t->phase = TARGET_OBSERVING;
    observe_start(&t->observe);
}

bool target_renew_credentials(struct target *t)
{
    bool renewed = dataplane_credentials_refused(t->options.client) && !t->renewed;
    t->renewed = t->renewed || renewed;
    return renewed;
}

static void observe_failed(struct target *t, const struct error *err)
{
    target_count_reconcile(t, error_kind_name(err->kind));
    target_problem(
        t, err->http_status != 0 && err->kind == ERROR_AUTH ? TARGET_REFUSED : "cannot read HAProxy's configuration",
        err);
    if (err->kind == ERROR_AUTH && target_renew_credentials(t))
        return;
    t->wait_until_ms = clock_mono_ms() + backoff_next_ms(&t->backoff);
}

/* A failed reload that nobody told us of: a stranger's, or one before our start. After a hand edit, too, the API answers
 * the new version a moment before the file has it: so it takes two looks at one version. */
static void see_split(struct target *t)
{
    bool again = t->split_version == t->actual.version;
    t->split_version = t->actual.split ? t->actual.version : -1;
    if (!t->actual.split || t->dirty || t->reload.state == RELOAD_PENDING)
        return;
    if (!again) {
        t->seen = false;
        t->wait_until_ms = clock_mono_ms() + SPLIT_LOOK_MS;
        return;
    }
    t->dirty = true;
    target_write_not_before(t, clock_mono_ms() + backoff_next_ms(&t->reload_backoff));
    log_warn(t->options.log,
             "haproxy.cfg is older than what the Data Plane API answers: a reload failed; "
             "an empty commit will apply it again",
             log_str("backend", t->options.backend_name), log_int("version", t->actual.version));
}

static void on_observed(void *arg, struct backend *found, const struct error *err)
{
    struct target *t = arg;
    t->phase = TARGET_IDLE;
    if (err != NULL) {
        observe_failed(t, err);
    } else {
        backend_fini(&t->actual);
        t->actual = *found;
        backend_init(found);
        t->seen = true;
        see_split(t);
        if (!t->write_failing)
            backoff_reset(&t->backoff);
        if (!t->have_wish)
            problem_over(t);
    }
    target_step(t);
}

/* ---- deciding ---- */

/* Whatever brought the wish about, nothing is left to write for it. */
static void wish_is_done(struct target *t)
{
    t->event_us = 0;
    free(t->cause);
    t->cause = NULL;
}

static void in_step(struct target *t)
{
    metric_set(t->options.telemetry->servers_actual, (double)t->plan.diff.ours_count, NULL);
    t->conflicts = 0;
    t->took_over = true;
    t->write_failing = false;
    t->committed_version = -1; /* it stuck; what differs from now on is somebody else's doing */
    wish_is_done(t);
    if (t->reload.state == RELOAD_PENDING || !t->history_known)
        return;
    target_count_reconcile(t, "in_step");
    t->renewed = false;
    backoff_reset(&t->reject_backoff);
    backoff_reset(&t->reload_backoff);
    problem_over(t);
    set_in_step(t, true);
    if (t->asked)
        log_info(t->options.log, "HAProxy is in step", log_str("backend", t->options.backend_name),
                 log_int("servers", t->plan.diff.ours_count), log_int("version", t->actual.version));
    t->asked = false;
}

static void hold(struct target *t)
{
    unsigned held_back;
    metric_set(t->options.telemetry->servers_actual, (double)t->plan.diff.ours_count, NULL);
    if (!t->holding)
        target_count_reconcile(t, "hold");
    problem_over(t);
    t->holding = true;
    t->asked = t->write_failing = false;
    wish_is_done(t); /* its answer was to hold */
    set_in_step(t, false);
    if (log_limit_pass(&t->hold_limit, clock_mono_ms(), t->plan.why, &held_back))
        log_warn(t->options.log, "holding the last good servers", log_str("backend", t->options.backend_name),
                 log_str("why", t->plan.why), log_int("servers", t->plan.diff.ours_count),
                 log_if(held_back > 0, log_int("times_before", held_back)));
}

static void refuse(struct target *t)
{
    struct error err = {0};
    error_set(&err, ERROR_INVALID, "%s", t->plan.why);
    if (t->reload.state != RELOAD_PENDING) /* its polls come by here, too */
        target_count_reconcile(t, "refuse");
    target_problem(t, "not writing to HAProxy", &err);
}

/* The API took our change and answers as if it had not: the same again would be a commit and a reload for nothing. */
static bool does_not_stick(struct target *t)
{
    if (t->actual.version != t->committed_version || t->wish_number != t->committed_wish_number)
        return false;
    const struct diff *d = &t->plan.diff;
    struct error err = {0};
    error_set(&err, ERROR_INVALID, "version %lld was committed, but reading it back still differs: %s %s",
              (long long)t->actual.version, d->change_count > 0 ? d->changes[0].server.name : t->options.backend_name,
              d->change_count > 0 ? d->changes[0].detail : d->backend_detail);
    target_problem(t, "a change does not stick in HAProxy's configuration", &err);
    t->committed_version = -1;
    t->rejected_version = t->actual.version;
    target_write_not_before(t, clock_mono_ms() + backoff_next_ms(&t->reject_backoff));
    return true;
}

static bool may_write(struct target *t)
{
    if (t->write_wait_until_ms <= clock_mono_ms())
        return true;
    /* Refused before, but something is different now: that may have been the cure. */
    return t->rejected_version >= 0 && t->rejected_version != t->actual.version;
}

static void decide(struct target *t)
{
    plan_fini(&t->plan);
    plan_make(&t->actual, &t->wish, &t->options.rules, t->dirty, &t->plan);
    if (t->plan.verdict != PLAN_WAIT)
        decision_log_skips(t->options.log, &t->skip_limit, clock_mono_ms(), t->options.backend_name, &t->plan.diff,
                           t->options.rules.proxy_v2 == PROXY_V2_DEFAULT_SERVER);
    if (t->plan.verdict != PLAN_HOLD)
        t->holding = false;
    switch (t->plan.verdict) {
    case PLAN_WAIT:
        problem_over(t); /* what is missing is Kubernetes' or the user's part, and said there */
        wish_is_done(t);
        set_in_step(t, false);
        break;
    case PLAN_IN_STEP:
        in_step(t);
        break;
    case PLAN_HOLD:
        hold(t);
        break;
    case PLAN_REFUSE:
        refuse(t);
        break;
    case PLAN_WRITE:
    case PLAN_RELOAD_AGAIN:
        set_in_step(t, false);
        if (may_write(t) && !(t->plan.verdict == PLAN_WRITE && does_not_stick(t)))
            target_write(t);
        break;
    }
}

/* When to wake up without an event: the next reload poll, or the end of a wait. The resync has a timer of its own.
 * `now` is the step's: what fell due since then has not been looked at yet and must not be taken for done. */
static void arm(struct target *t, uint64_t now)
{
    uint64_t due = 0;
    uint64_t times[] = {t->wait_until_ms, t->write_wait_until_ms, t->history_known ? 0 : t->history_next_ms,
                        t->reload.state == RELOAD_PENDING ? t->reload.next_ms : 0};
    for (size_t i = 0; i < array_len(times); i++)
        if (times[i] > now && (due == 0 || times[i] < due))
            due = times[i];
    if (due != 0)
        timer_set(&t->timer, due - now);
    else
        timer_cancel(&t->timer);
}

static void stop_now(struct target *t)
{
    timer_cancel(&t->timer);
    timer_cancel(&t->resync);
    void (*stopped)(void *) = t->stopped;
    t->stopped = NULL;
    if (stopped != NULL)
        stopped(t->stopped_arg);
}

void target_step(struct target *t)
{
    uint64_t now = clock_mono_ms();
    if (t->phase != TARGET_IDLE)
        return;
    if (t->stopping) {
        stop_now(t);
        return;
    }
    bool waiting = now < t->wait_until_ms;
    if (!waiting && reload_due(&t->reload, now))
        target_poll_reload(t);
    else if (!waiting && !t->seen)
        look(t);
    else if (!waiting && !t->history_known && now >= t->history_next_ms)
        target_ask_history(t);
    else if (!waiting && t->have_wish && !t->dead_deleted)
        target_delete_dead(t);
    else if (!waiting && t->have_wish)
        decide(t);
    if (t->phase == TARGET_IDLE)
        arm(t, now);
}

/* ---- from outside ---- */

static void on_timer(void *arg)
{
    target_step(arg);
}

static void on_resync(void *arg)
{
    struct target *t = arg;
    timer_set(&t->resync, t->options.resync_period_ms);
    t->seen = false;
    target_step(t);
}

struct target *target_new(struct event_base *base, const struct target_options *options)
{
    struct target *t = mem_alloc(sizeof(*t));
    t->options = *options;
    timer_init(&t->timer, base, on_timer, t);
    timer_init(&t->resync, base, on_resync, t);
    desired_init(&t->wish);
    backend_init(&t->actual);
    observe_init(&t->observe, options->client, options->backend_name, on_observed, t);
    txn_init(&t->txn);
    unsigned seed = backoff_random_seed();
    backoff_init(&t->backoff, 500, 15000, 100, seed);
    backoff_init(&t->reject_backoff, 10000, 300000, 5000, seed + 1);
    backoff_init(&t->reload_backoff, 2000, 60000, 1000, seed + 2);
    t->committed_version = t->rejected_version = t->split_version = -1;
    t->asked = true;
    t->problem_limit.period_ms = t->skip_limit.period_ms = t->hold_limit.period_ms = REPEAT_LOG_MS;
    return t;
}

void target_free(struct target *t)
{
    if (t == NULL)
        return;
    dataplane_cancel(t->options.client);
    timer_fini(&t->timer);
    timer_fini(&t->resync);
    plan_fini(&t->plan);
    desired_fini(&t->wish);
    backend_fini(&t->actual);
    observe_fini(&t->observe);
    txn_fini(&t->txn);
    reload_fini(&t->reload);
    free(t->cause);
    free(t);
}

void target_start(struct target *t)
{
    timer_set(&t->resync, t->options.resync_period_ms);
    target_step(t);
}

void target_wish(struct target *t, struct desired *wish, const char *cause, uint64_t received_us)
{
    desired_fini(&t->wish);
    t->wish = *wish;
    desired_init(wish);
    t->have_wish = true;
    t->wish_number++;
    free(t->cause);
    t->cause = mem_strdup(cause);
    if (t->event_us == 0)
        t->event_us = received_us;
    /* What was refused is not what is wanted now; but a stream of changes must not become a stream of refusals. */
    uint64_t soon_ms = t->rejected_version >= 0 ? clock_mono_ms() + REJECTED_PAUSE_MS : 0;
    if (t->write_wait_until_ms > soon_ms)
        t->write_wait_until_ms = soon_ms;
    metric_set(t->options.telemetry->servers_desired, (double)t->wish.server_count, NULL);
    target_step(t);
}

void target_compare(struct target *t)
{
    t->seen = false;
    t->wait_until_ms = 0;
    t->write_wait_until_ms = 0;
    t->asked = true;
    log_limit_reset(&t->problem_limit);
    log_limit_reset(&t->hold_limit);
    target_step(t);
}

void target_stop(struct target *t, void (*stopped)(void *arg), void *arg)
{
    t->stopping = true;
    t->stopped = stopped;
    t->stopped_arg = arg;
    if (t->phase == TARGET_WRITING) {
        txn_abort(&t->txn);
        return;
    }
    dataplane_cancel(t->options.client);
    t->phase = TARGET_IDLE;
    stop_now(t);
}

bool target_ready(const struct target *t, struct buf *body)
{
    const char *url = dataplane_client_url(t->options.client);
    const char *backend = t->options.backend_name;
    if (t->problem.kind != ERROR_NONE)
        buf_printf(body, "[-]target %s backend %s: %s\n", url, backend, t->problem.message);
    else if (t->holding)
        buf_printf(body, "[+]target %s backend %s: holding the last good servers: %s\n", url, backend, t->plan.why);
    else if (t->in_step)
        buf_printf(body, "[+]target %s backend %s: in step\n", url, backend);
    else if (t->reload.state == RELOAD_PENDING)
        buf_printf(body, "[+]target %s backend %s: committed, waiting for reload %s\n", url, backend, t->reload.id);
    else
        buf_printf(body, "[-]target %s backend %s: %s\n", url, backend,
                   !t->have_wish                        ? "waiting for Kubernetes"
                   : t->wish.state == DESIRED_UNDECIDED ? "nothing is written until the mapping is decided"
                   : !t->seen                           ? "not compared yet"
                   : !t->history_known                  ? "waiting for the end of a reload from before the start"
                                                        : "changing");
    return t->problem.kind == ERROR_NONE && (t->holding || t->in_step || t->reload.state == RELOAD_PENDING);
}
