#include "servers/target.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define REPEAT_LOG_MS 60000
#define REPEAT_WITHHELD_MS 3600000
#define REJECTED_PAUSE_MS 1000
#define HARMLESS_PAUSE_MS 8000

void target_pause(struct target *t, bool harmless, int64_t at_least_ms)
{
    uint64_t wait_ms = backoff_next_ms(&t->backoff);
    if (harmless && wait_ms > HARMLESS_PAUSE_MS)
        wait_ms = HARMLESS_PAUSE_MS;
    if (at_least_ms > (int64_t)wait_ms)
        wait_ms = (uint64_t)at_least_ms;
    t->wait_until_ms = clock_mono_ms() + wait_ms;
}

bool target_waits_for_room(const struct target *t)
{
    return t->no_room && clock_mono_ms() < t->structural_not_before_ms;
}

void target_write_not_before(struct target *t, uint64_t when_ms)
{
    if (t->write_wait_until_ms < when_ms)
        t->write_wait_until_ms = when_ms;
}

void slot_write_not_before(struct slot *s, uint64_t when_ms)
{
    if (s->write_wait_until_ms < when_ms)
        s->write_wait_until_ms = when_ms;
}

/* Whether there is any backend that we may write to: dead transactions are not ours to delete otherwise. */
static bool may_ever_write(const struct target *t)
{
    if (t->options.rules.dry_run)
        return false;
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (t->slots[i].have_wish && !t->slots[i].wish->paused)
            return true;
    return false;
}

static void sooner(uint64_t *due, uint64_t when, uint64_t now)
{
    if (when > now && (*due == 0 || when < *due))
        *due = when;
}

/* When to wake up without an event: the next reload poll, or the end of a wait. The resync has a timer of its own.
 * `now` is the step's: what fell due since then has not been looked at yet and must not be taken for done. */
static void arm(struct target *t, uint64_t now)
{
    uint64_t due = 0;
    uint64_t times[] = {t->wait_until_ms,
                        t->write_wait_until_ms,
                        t->look_again_ms,
                        t->structural_not_before_ms,
                        t->calls.not_before_ms,
                        t->last_reload_known ? 0 : t->last_reload_next_ms,
                        t->reload.state == RELOAD_PENDING ? t->reload.next_ms : 0};
    for (size_t i = 0; i < array_len(times); i++)
        sooner(&due, times[i], now);
    for (size_t i = 0; i < t->options.backend_count; i++) {
        const struct slot *s = &t->slots[i];
        sooner(&due, s->write_wait_until_ms, now);
        sooner(&due, s->plan.held_back > 0 ? s->plan.held_until_ms : 0, now);
        sooner(&due, s->conflict.until_ms, now);
    }
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
        if (!target_hand_over(t))
            stop_now(t);
        return;
    }
    bool waiting = now < t->wait_until_ms;
    if (t->look_again_ms != 0 && now >= t->look_again_ms) {
        t->look_again_ms = 0;
        t->seen = false;
    }
    if (!waiting && reload_due(&t->reload, now))
        target_poll_reload(t);
    else if (!waiting && !t->seen)
        target_look(t);
    else if (!waiting && !t->last_reload_known && now >= t->last_reload_next_ms)
        target_ask_history(t);
    else if (!waiting && !t->dead_deleted && may_ever_write(t))
        target_delete_dead(t);
    else if (!waiting && may_ever_write(t) && target_guard_wants(t))
        target_preview(t);
    else if (!waiting)
        target_decide(t);
    if (t->phase == TARGET_IDLE)
        arm(t, now);
}

/* ---- from outside ---- */

static void on_timer(void *arg)
{
    struct target *t = arg;
    if (t->stopping && t->phase == TARGET_OBSERVING)
        target_give_up_end_look(t);
    target_step(t);
}

static void on_resync(void *arg)
{
    struct target *t = arg;
    timer_set(&t->resync, t->options.resync_period_ms);
    t->dead_deleted = t->dead_deleted && t->transaction.noted == NULL && t->transaction.held_count == 0;
    t->seen = false;
    for (size_t i = 0; i < t->options.backend_count; i++)
        admin_states_age(&t->slots[i].memory);
    if (t->left_dirty)
        target_ask_history_again(t);
    target_step(t);
}

static void slot_init(struct slot *s, struct target *t, const char *name, unsigned seed)
{
    s->target = t;
    s->name = name;
    struct desired nothing;
    desired_init(&nothing);
    s->by_node = desired_share(&nothing);
    s->wish = desired_ref(s->by_node);
    backend_init(&s->actual);
    runtime_init(&s->runtime);
    buf_init(&s->taken_over, 0);
    s->parking = t->options.park_ttl_ms > 0 ? parking_new(t->options.park_ttl_ms) : NULL;
    backoff_init(&s->reject_backoff, 10000, 300000, 5000, seed);
    s->committed_version = s->ours_version = s->rejected_version = -1;
    s->asked = true;
    s->problem_limit.period_ms = s->skip_limit.period_ms = s->hold_limit.period_ms = REPEAT_LOG_MS;
    s->withheld_limit.period_ms = REPEAT_WITHHELD_MS;
    story_init(&s->story);
    slot_set_in_step(s, false);
}

static void slot_fini(struct slot *s)
{
    plan_fini(&s->plan);
    loss_limit_fini(&s->loss_limit);
    desired_unref(s->wish);
    desired_unref(s->by_node);
    free(s->adopted);
    backend_fini(&s->actual);
    runtime_fini(&s->runtime);
    admin_states_fini(&s->memory);
    route_fini(&s->choice);
    parking_free(s->parking);
    buf_fini(&s->taken_over);
    story_fini(&s->story);
    free(s->overrides);
    free(s->fast_name);
    free(s->cause);
    free(s->undone_how);
    free(s->write_cause);
}

struct target *target_new(struct event_base *base, const struct target_options *options)
{
    struct target *t = mem_alloc(sizeof(*t));
    t->options = *options;
    t->wall_minus_mono_ms = (int64_t)clock_wall_ms() - (int64_t)clock_mono_ms();
    timer_init(&t->timer, base, on_timer, t);
    timer_init(&t->resync, base, on_resync, t);
    timer_init(&t->read_again, base, target_read_again, t);
    reader_init(&t->reader, options->client, options->backends, options->backend_count, target_observed, t);
    t->reader.with_runtime = options->runtime != NULL;
    transaction_init(&t->transaction);
    runtime_update_init(&t->runtime_update);
    unsigned seed = backoff_random_seed();
    backoff_init(&t->backoff, 500, 15000, 100, seed);
    backoff_init(&t->room_backoff, 500, 8000, 100, seed);
    backoff_init(&t->reload_backoff, 2000, 60000, 1000, seed + 1);
    backoff_init(&t->drift_backoff, 2000, 600000, 2000, seed + 1);
    t->version = t->split_version = t->drift_version = t->worker_pid = -1;
    t->guard.passed = t->guard.refused = t->guard.unsure = -1;
    t->problem_limit.period_ms = REPEAT_LOG_MS;
    t->trouble_limit.period_ms = REPEAT_TROUBLE_MS;
    t->slots = mem_array(options->backend_count, sizeof(t->slots[0]));
    for (size_t i = 0; i < options->backend_count; i++)
        slot_init(&t->slots[i], t, options->backends[i], seed + 2 + (unsigned)i);
    t->fast_slot = &t->slots[options->backend_count - 1];
    target_set_trust(t, TRUST_UNTRIED);
    return t;
}

void target_free(struct target *t)
{
    if (t == NULL)
        return;
    dataplane_cancel(t->options.client);
    target_forget_calls(t);
    timer_fini(&t->timer);
    timer_fini(&t->resync);
    timer_fini(&t->read_again);
    for (size_t i = 0; i < t->options.backend_count; i++)
        slot_fini(&t->slots[i]);
    free(t->slots);
    reader_fini(&t->reader);
    transaction_fini(&t->transaction);
    runtime_update_fini(&t->runtime_update);
    reload_fini(&t->reload);
    free(t->ended.id);
    free(t->drift);
    free(t->drift_found);
    free(t->guard.problem);
    free(t->calls.list);
    free(t);
}

void target_start(struct target *t)
{
    timer_set(&t->resync, t->options.resync_period_ms);
    target_step(t);
}

static void count_wished(const struct slot *s)
{
    struct telemetry *m = s->target->options.telemetry;
    slot_measure(s, m->servers_desired, (double)slot_count_desired(s, SERVER_LIVE));
    slot_measure(s, m->servers_draining, (double)slot_count_desired(s, SERVER_DRAINING));
    slot_measure(s, m->paused, s->wish->paused ? 1 : 0);
    slot_measure_up(s);
}

void target_wish(struct target *t, size_t backend, const struct desired *wish, const char *cause, uint64_t received_us)
{
    struct slot *s = &t->slots[backend];
    if (wish->paused != s->wish->paused)
        log_info(t->options.log,
                 wish->paused ? "paused by the Service's annotation: nothing is written" : "not paused any more",
                 log_str("backend", s->name), log_str("target", slot_target(s)), log_str("cause", cause));
    cleanup(desired_unref_ptr) const struct desired *before = s->wish;
    desired_unref(s->by_node);
    s->by_node = desired_ref(wish);
    s->wish = desired_ref(wish);
    slot_name_servers(s, before);
    plan_note_returns(s->wish, &s->loss_limit);
    s->have_wish = true;
    s->wish_number++;
    free(s->cause);
    s->cause = mem_strdup(cause);
    if (s->event_us == 0)
        s->event_us = received_us;
    s->latest_event_us = received_us;
    /* What was refused is not what is wanted now; but a stream of changes must not become a stream of refusals. */
    uint64_t soon_ms = s->rejected_version >= 0 ? clock_mono_ms() + REJECTED_PAUSE_MS : 0;
    if (s->write_wait_until_ms > soon_ms)
        s->write_wait_until_ms = soon_ms;
    if (t->write_wait_until_ms > soon_ms)
        t->write_wait_until_ms = soon_ms;
    count_wished(s);
}

void target_go(struct target *t)
{
    target_tell(t);
    target_step(t);
}

void target_compare(struct target *t)
{
    t->seen = false;
    t->wait_until_ms = 0;
    t->write_wait_until_ms = 0;
    t->calls.not_before_ms = 0;
    t->trust_until_ms = 0;
    t->structural_not_before_ms = 0;
    target_guard_forget(t);
    log_limit_reset(&t->problem_limit);
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        s->write_wait_until_ms = 0;
        s->asked = true;
        conflict_forget(&s->conflict);
        log_limit_reset(&s->problem_limit);
        log_limit_reset(&s->hold_limit);
        log_limit_reset(&s->withheld_limit);
    }
    target_step(t);
}

void target_stop(struct target *t, void (*stopped)(void *arg), void *arg)
{
    t->stopping = true;
    t->stopped = stopped;
    t->stopped_arg = arg;
    t->seen = t->seen && !t->calls.busy; /* it may be carried out all the same */
    target_forget_calls(t);
    if (t->phase == TARGET_WRITING) {
        transaction_abort(&t->transaction);
        return;
    }
    if (t->phase == TARGET_FAST)
        return; /* its end is near, and tells what was written */
    dataplane_cancel(t->options.client);
    t->phase = TARGET_IDLE;
    target_step(t);
}
