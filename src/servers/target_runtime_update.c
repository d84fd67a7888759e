/* A write without a reload: one server, to the file and to the running HAProxy, read back before it is believed. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define DISPROVEN_MS 3600000

/* ---- trust ---- */

static double trust_value(const struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (t->slots[i].told_unreadable)
            return -1;
    return t->trust == TRUST_PROVEN ? 1 : t->trust == TRUST_UNTRIED ? 0 : -1;
}

void target_set_trust(struct target *t, enum trust trust)
{
    t->trust = trust;
    if (t->options.runtime != NULL)
        metric_set(t->options.telemetry->runtime_proven, trust_value(t), dataplane_client_url(t->options.client), NULL);
}

bool slot_is_open(const struct slot *s)
{
    struct target *t = s->target;
    if (t->trust == TRUST_DISPROVEN && clock_mono_ms() >= t->trust_until_ms)
        target_set_trust(t, TRUST_UNTRIED);
    bool follows = t->trust == TRUST_UNTRIED || t->trust == TRUST_PROVEN ||
                   (t->trust == TRUST_DOUBTED && t->no_room); /* the reload that ends the doubt cannot be had */
    return t->options.runtime != NULL && follows && s->runtime.readable;
}

/* Whether what was read back can come of the write alone: maintenance was told by a call before, mostly. */
static bool shows_the_write(const struct slot *s)
{
    const struct runtime_update *l = &s->target->runtime_update;
    const struct runtime_server *was = runtime_find(&s->runtime, l->wanted.name);
    return !(l->fields == SERVER_MAINTENANCE && l->wanted.maintenance && was != NULL && was->admin == RUNTIME_MAINT);
}

static void prove(struct target *t, bool by_the_write)
{
    if (by_the_write)
        t->doubts = 0;
    if (t->trust == TRUST_PROVEN)
        return;
    log_info(t->options.log, "changes reach the running HAProxy without a reload: seen",
             log_str("target", dataplane_client_url(t->options.client)));
    target_set_trust(t, TRUST_PROVEN);
}

void target_doubt(struct target *t, const struct error *why)
{
    bool again = t->doubts++ > 0;
    t->dirty = true; /* whatever the file says now, HAProxy has to load it */
    t->trust_until_ms = clock_mono_ms() + DISPROVEN_MS;
    log_warn(t->options.log,
             again ? "changes do not reach the running HAProxy, again: transactions and reloads only, for an hour"
                   : "a change did not reach the running HAProxy: transactions and reloads only, until the next reload",
             log_str("target", dataplane_client_url(t->options.client)), log_str("error", why->message));
    target_set_trust(t, again ? TRUST_DISPROVEN : TRUST_DOUBTED);
}

/* ---- what came of a write ---- */

/* What was read is still what is there, but for this. */
static void take_written(struct slot *s)
{
    struct target *t = s->target;
    unsigned fields = t->runtime_update.fields;
    const struct backend_server *is = &t->runtime_update.wanted;
    for (size_t i = 0; i < s->actual.server_count; i++) {
        struct backend_server *at = &s->actual.servers[i];
        if (!str_eq(at->name, is->name))
            continue;
        backend_server_fini(at);
        backend_server_copy(at, is);
    }
    for (size_t i = 0; i < s->runtime.count; i++) {
        struct runtime_server *at = &s->runtime.servers[i];
        if (!str_eq(at->name, is->name))
            continue;
        free(at->address);
        at->address = mem_strdup(is->address);
        at->port = is->port;
        if (fields & SERVER_MAINTENANCE)
            runtime_set_admin(at, is->maintenance ? RUNTIME_MAINT : RUNTIME_READY);
    }
    slot_measure_up(s);
    admin_states_written(&s->memory, is->name);
}

static void take_version(struct target *t)
{
    target_guard_wrote(t, t->runtime_update.version);
    t->seen =
        t->runtime_update.version == t->version + 1; /* else somebody else wrote just before us, and the API let us */
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        if (s != t->fast_slot)
            slot_passed_by(s, t->runtime_update.version);
        s->actual.version = t->runtime_update.version;
    }
    t->version = t->runtime_update.version;
}

static void written(struct slot *s)
{
    struct target *t = s->target;
    const struct diff_change *c = &s->plan.diff.changes[t->fast.change];
    bool last = s->choice.write_count == 1 && !s->choice.transaction && !t->fast.keep_maintenance;
    uint64_t event_us = s->write_event_us != 0 ? clock_mono_us() - s->write_event_us : 0;
    cleanup(mem_free_ptr) char *what = decision_sentence_of(c);
    const struct decision_place at = slot_place(s);
    decision_log_fast(&at, c, s->write_cause, &t->runtime_update, event_us);
    slot_note_written(s, what, s->write_event_us);
    take_version(t);
    take_written(s);
    if (last && event_us != 0) {
        metric_observe(t->options.telemetry->event_to_commit, (double)event_us / 1e6, NULL);
        if (s->event_us == s->write_event_us)
            s->event_us = 0;
    }
    s->took_over = s->took_over || (last && s->plan.held_back == 0);
    s->wrote_fast = t->unverified = true;
    free(s->fast_name);
    s->fast_name = t->fast.keep_maintenance ? NULL : mem_strdup(c->server.name);
    s->fast_wish_number = s->write_wish_number;
    s->ours_version = last ? t->runtime_update.version : -1;
    s->committed_version = -1;
    s->committed_wish_number = s->write_wish_number;
    s->committed_held_back = s->plan.held_back;
    s->committed_told = true;
    s->rejected_version = -1;
    s->write_wait_until_ms = 0;
    t->write_wait_until_ms = 0;
    t->write_failing = false;
    t->conflicts = 0;
    t->renewed = false;
    backoff_reset(&t->backoff);
}

static enum transaction_result as_txn_result(enum update_result r)
{
    switch (r) {
    case UPDATE_CONFLICT:
        return TRANSACTION_CONFLICT;
    case UPDATE_REJECTED:
        return TRANSACTION_REJECTED;
    case UPDATE_UNAUTHORIZED:
        return TRANSACTION_UNAUTHORIZED;
    case UPDATE_UNKNOWN:
        return TRANSACTION_UNKNOWN;
    case UPDATE_WRITTEN:
    case UPDATE_RELOADS:
    case UPDATE_UNVERIFIED:
    case UPDATE_UNAVAILABLE:
        break;
    }
    return TRANSACTION_UNAVAILABLE;
}

static void failed(struct target *t)
{
    const struct write_failure f = {.result = as_txn_result(t->runtime_update.result),
                                    .error = &t->runtime_update.error,
                                    .retry_after_ms = t->runtime_update.retry_after_ms};
    t->seen = false;
    if (t->runtime_update.result == UPDATE_REJECTED)
        t->dead_deleted = false; /* the API keeps a failed transaction for each refused write */
    if (t->runtime_update.refusal != NULL) {
        transaction_note_refusal(&t->transaction, t->runtime_update.refusal);
        t->dead_deleted = false;
    }
    target_write_failed(t, &f);
}

/* While a reload is under way it may have missed the write, or had no ear for the question: no sign of anything. */
static void unproven(struct target *t)
{
    if (t->reload.state != RELOAD_PENDING) {
        target_doubt(t, &t->runtime_update.error);
        slot_note(t->fast_slot, (struct history_entry){.kind = HISTORY_APPLY_FAILED,
                                                       .server = t->runtime_update.wanted.name,
                                                       .text = "a change did not reach the running HAProxy; it will be "
                                                               "reloaded",
                                                       .why = t->runtime_update.error.message,
                                                       .cause = t->fast_slot->write_cause});
        return;
    }
    t->dirty = true;
    log_info(t->options.log, "a change during a reload may not have reached HAProxy; it will be loaded again",
             log_str("target", dataplane_client_url(t->options.client)),
             log_str("error", t->runtime_update.error.message));
}

/* The file has it, and what runs will have it by a reload. */
static void written_by_reload(struct slot *s)
{
    cleanup(mem_free_ptr) char *what = decision_sentence_of(&s->plan.diff.changes[s->target->fast.change]);
    target_guard_wrote(s->target, s->target->runtime_update.version);
    slot_note_written(s, what, s->write_event_us);
    for (size_t i = 0; i < s->target->options.backend_count; i++)
        if (&s->target->slots[i] != s)
            slot_note_passed_by(&s->target->slots[i], s->target->runtime_update.version);
}

static void finished(struct target *t)
{
    struct slot *s = t->fast_slot;
    const char *result = update_result_name(t->runtime_update.result);
    t->phase = TARGET_IDLE;
    metric_add(t->options.telemetry->fast_writes, 1, result, dataplane_client_url(t->options.client), NULL);
    target_count_reconcile(t, result);
    switch (t->runtime_update.result) {
    case UPDATE_WRITTEN: {
        bool shown = shows_the_write(s);
        written(s);
        prove(t, shown);
        break;
    }
    case UPDATE_RELOADS:
        written_by_reload(s);
        t->seen = false;
        target_doubt(t, &t->runtime_update.error);
        t->dirty = false; /* that reload loads it */
        target_follow_reload(t, t->runtime_update.reload_id);
        break;
    case UPDATE_UNVERIFIED:
        written_by_reload(s);
        t->seen = false;
        unproven(t);
        break;
    default:
        failed(t);
        break;
    }
    s->writing = false;
    target_step(t);
}

/* ---- the write ---- */

static void on_answer(void *arg, const struct dataplane_answer *a);

static void perform(struct target *t, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND && action.delay_ms > 0) {
        t->reading = action;
        t->reading.delay_ms = 0;
        timer_set(&t->read_again, action.delay_ms);
        return;
    }
    if (action.type == TRANSACTION_SEND)
        dataplane_send(t->options.client, action.method, action.path, action.body, on_answer, t);
    else
        finished(t);
}

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct target *t = arg;
    perform(t, runtime_update_answer(&t->runtime_update, a));
}

void target_read_again(void *arg)
{
    struct target *t = arg;
    perform(t, t->reading);
}

void target_write_fast(struct slot *s)
{
    struct target *t = s->target;
    struct transaction_action action;
    struct error err = {0};
    t->fast = s->choice.writes[0];
    t->fast_slot = s;
    const struct diff_change *c = &s->plan.diff.changes[t->fast.change];
    if (runtime_update_start(&t->runtime_update, t->version, s->name, &c->server, c->fields, t->fast.keep_maintenance,
                             &action, &err) != 0) {
        slot_rejected(s, "cannot put the change into words of the Data Plane API", &err);
        target_step(t); /* for the others */
        return;
    }
    const struct decision_place at = slot_place(s);
    if (!s->took_over)
        decision_log_takeover(&at, &s->plan.diff, &s->taken_over);
    free(s->write_cause);
    s->write_cause = mem_strdup(s->cause);
    s->write_event_us = s->event_us;
    s->write_wish_number = s->wish_number;
    s->writing = true;
    t->phase = TARGET_FAST;
    perform(t, action);
}
