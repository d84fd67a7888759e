/* The write side of a target: performs what the transaction machine asks for, and decides what each ending means. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "servers/change/transaction_steps.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define CONFLICTS_AT_ONCE 3
#define STRUCTURAL_PAUSE_MS 2000 /* what comes meanwhile goes into one transaction, and one reload */

static void perform(struct target *t, struct transaction_action action);

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct target *t = arg;
    struct transaction_action action = transaction_answer(&t->transaction, a);
    if (action.type == TRANSACTION_JUDGE) {
        cleanup(mem_free_ptr) char *problem = target_guard_judge(t, a);
        action = transaction_judged(&t->transaction, problem);
    }
    perform(t, action);
}

static size_t count_writing(const struct target *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->options.backend_count; i++)
        count += t->slots[i].writing;
    return count;
}

/* Its plan is in the transaction, or all it needs is the reload that comes with it. */
static bool is_carried(const struct slot *s)
{
    return s->writing || (s->have_wish && s->plan.verdict == PLAN_RELOAD_AGAIN);
}

/* Not so where an empty commit was all that could be done: what is written next is no sign of a stranger then, nor of a
 * change that does not stick. */
static bool leaves_as_planned(const struct slot *s)
{
    return s->writing || s->plan.diff.verdict == DIFF_NOTHING;
}

static void slot_committed(struct slot *s, uint64_t now_us)
{
    struct target *t = s->target;
    uint64_t event_us = s->write_event_us != 0 ? now_us - s->write_event_us : 0;
    cleanup(mem_free_ptr) char *what = s->writing ? decision_sentence(&s->plan.diff) : NULL;
    const struct decision_place at = slot_place(s);
    if (s->writing)
        decision_log_commit(&at, &s->plan, s->write_cause, &t->transaction, event_us);
    slot_note_written(s, what, s->write_event_us);
    if (event_us != 0)
        metric_observe(t->options.telemetry->event_to_commit, (double)event_us / 1e6, NULL);
    s->took_over = s->took_over || (leaves_as_planned(s) && s->plan.held_back == 0);
    s->committed_version = s->ours_version = leaves_as_planned(s) ? t->transaction.version : -1;
    s->committed_wish_number = s->write_wish_number;
    s->committed_held_back = s->plan.held_back;
    s->committed_told = false;
    s->rejected_version = -1;
    s->write_wait_until_ms = 0;
}

void slot_passed_by(struct slot *s, int64_t version)
{
    /* The same again would be a refusal for each of our own commits. */
    if (s->rejected_version >= 0 && s->rejected_version == s->actual.version)
        s->rejected_version = version;
    slot_note_passed_by(s, version);
}

static void committed(struct target *t)
{
    target_guard_wrote(t, t->transaction.version);
    target_guard_committed(t);
    uint64_t now_us = clock_mono_us();
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        if (is_carried(s))
            slot_committed(s, now_us);
        else
            slot_passed_by(s, t->transaction.version);
        if (!s->runtime.readable)
            admin_states_reloads(&s->memory);
    }
    const struct decision_place at = target_place(t);
    if (count_writing(t) == 0)
        decision_log_reload_again(&at, &t->transaction);
    t->drift_answered = true;
    t->write_wait_until_ms = 0;
    t->write_failing = false;
    t->conflicts = 0;
    t->renewed = false;
    t->no_room = false;
    backoff_reset(&t->backoff);
    backoff_reset(&t->room_backoff);
    /* Its reload carries whatever was not loaded before; from here on that reload tells. None: applied at once. */
    t->dirty = false;
    t->last_reload_known = true;
    t->structural_not_before_ms = clock_mono_ms() + STRUCTURAL_PAUSE_MS;
    if (t->transaction.reload_id != NULL)
        target_follow_reload(t, t->transaction.reload_id);
}

static void give_events_back(struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        if (is_carried(s) && s->write_event_us != 0)
            s->event_us = s->write_event_us; /* older than any that came since */
    }
}

static void conflicted(struct target *t, const struct write_failure *f)
{
    /* Gone at its commit: perhaps committed by it, the answer lost and the request sent again by libcurl, which does that on
     * a connection that was kept. */
    if (f->gone_at_commit)
        t->dirty = true;
    if (++t->conflicts <= CONFLICTS_AT_ONCE) {
        log_info(t->options.log, "somebody else changed HAProxy's configuration; reading it again",
                 log_str("target", dataplane_client_url(t->options.client)), log_str("error", f->error->message));
        return;
    }
    target_problem(t, "somebody else keeps changing HAProxy's configuration", f->error);
    t->write_failing = true;
    t->wait_until_ms = clock_mono_ms() + backoff_next_ms(&t->backoff);
}

void slot_rejected(struct slot *s, const char *what, const struct error *err)
{
    s->rejected_version = s->actual.version;
    slot_write_not_before(s, clock_mono_ms() + backoff_next_ms(&s->reject_backoff));
    slot_problem(s, what, err);
}

static void rejected(struct target *t, const struct error *err)
{
    static const char what[] = "HAProxy or its Data Plane API refuses the change; the file is as it was";
    size_t count = count_writing(t);
    if (count > 1) {
        t->one_by_one = true;
        log_warn(t->options.log,
                 "HAProxy or its Data Plane API refuses a change to several backends; trying each alone",
                 log_str("target", dataplane_client_url(t->options.client)), log_int("backends", count),
                 log_str("error", err->message));
        return;
    }
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (t->slots[i].writing)
            slot_rejected(&t->slots[i], what, err);
    if (count > 0)
        return;
    /* An empty commit is refused for what the file says already. */
    target_write_not_before(t, clock_mono_ms() + backoff_next_ms(&t->slots[0].reject_backoff));
    target_problem(t, what, err);
}

static void wait_after(struct target *t, const struct write_failure *f, const char *what)
{
    target_pause(t, f->result != TRANSACTION_UNKNOWN, f->retry_after_ms);
    t->write_failing = true;
    target_problem(t, what, f->error);
}

/* Transactions wait; what needs none does not. */
static void wait_for_room(struct target *t, const struct write_failure *f)
{
    uint64_t wait_ms = backoff_next_ms(&t->room_backoff);
    if (f->retry_after_ms > (int64_t)wait_ms)
        wait_ms = (uint64_t)f->retry_after_ms;
    t->no_room = true;
    t->structural_not_before_ms = clock_mono_ms() + wait_ms;
    target_problem(t, "the Data Plane API has too many open transactions, none of them ours", f->error);
}

void target_write_failed(struct target *t, const struct write_failure *f)
{
    switch (f->result) {
    case TRANSACTION_CONFLICT:
        conflicted(t, f);
        break;
    case TRANSACTION_REJECTED:
        rejected(t, f->error);
        break;
    case TRANSACTION_LIMIT:
        wait_for_room(t, f);
        break;
    case TRANSACTION_UNAUTHORIZED:
        if (target_renew_credentials(t))
            target_problem(t, "the Data Plane API refused the credentials; trying the new ones", f->error);
        else
            wait_after(t, f, TARGET_REFUSED);
        break;
    case TRANSACTION_UNKNOWN:
        t->guard.unsure = target_guard_passed(t) ? t->version + 1 : -1;
        t->dirty = true; /* the file will tell what was committed, nobody tells whether it was loaded */
        wait_after(t, f, "the answer to a commit was lost; reading the configuration again");
        break;
    case TRANSACTION_ABORTED:
        log_info(t->options.log, "transaction given up: stopping",
                 log_str("target", dataplane_client_url(t->options.client)));
        break;
    case TRANSACTION_UNAVAILABLE:
    case TRANSACTION_COMMITTED:
    case TRANSACTION_CLEANED:
    case TRANSACTION_PREVIEWED:
    case TRANSACTION_HARMFUL:
        wait_after(t, f,
                   f->error->http_status != 0 ? "the Data Plane API fails" : "the Data Plane API is not available");
        break;
    }
}

static void failed(struct target *t)
{
    const struct write_failure f = {.result = t->transaction.result,
                                    .error = &t->transaction.error,
                                    .retry_after_ms = t->transaction.retry_after_ms,
                                    .gone_at_commit = t->transaction.failed_in == TRANSACTION_COMMIT &&
                                                      t->transaction.error.http_status == 404};
    give_events_back(t);
    target_write_failed(t, &f);
}

static void tell_strangers(const struct target *t)
{
    for (size_t i = 0; i < t->transaction.stranger_count; i++)
        log_warn(t->options.log,
                 "deleted another client's transaction: it was begun at an older version than the file has, so that it "
                 "could "
                 "never be committed, and the Data Plane API had no room for one more",
                 log_str("target", dataplane_client_url(t->options.client)),
                 log_str("transaction", t->transaction.strangers[i]));
}

static void finished(struct target *t)
{
    const char *result = transaction_result_name(t->transaction.result);
    bool cleaning = t->transaction.cleanup_only;
    t->phase = TARGET_IDLE;
    tell_strangers(t);
    if (cleaning) {
        /* Best effort: what could not be deleted costs a place among 20, and our next commit frees it, or, where no commit
         * does, it is tried again after the next write, or RESYNC_PERIOD. */
        t->dead_deleted = true;
        if (t->transaction.result == TRANSACTION_UNAUTHORIZED || t->transaction.result == TRANSACTION_UNAVAILABLE)
            failed(t);
    } else if (t->transaction.preview_only) {
        t->dead_deleted = t->dead_deleted && t->transaction.held_count == 0;
        target_guard_previewed(t);
    } else {
        metric_add(t->options.telemetry->transactions, 1, result, dataplane_client_url(t->options.client), NULL);
        metric_observe(t->options.telemetry->transaction_duration,
                       (double)(clock_mono_us() - t->write_started_us) / 1e6, NULL);
        target_count_reconcile(t, result);
        t->seen = false; /* read back what it is now */
        t->dead_deleted = t->dead_deleted && t->transaction.noted == NULL;
        if (t->transaction.result == TRANSACTION_HARMFUL) {
            give_events_back(t);
            target_guard_previewed(t);
        } else if (t->transaction.result == TRANSACTION_COMMITTED)
            committed(t);
        else
            failed(t);
    }
    target_step(t);
}

static void perform(struct target *t, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND)
        dataplane_send(t->options.client, action.method, action.path, action.body, on_answer, t);
    else
        finished(t);
}

void target_delete_dead(struct target *t)
{
    t->phase = TARGET_WRITING;
    perform(t, transaction_start_cleanup(&t->transaction));
}

void target_preview(struct target *t)
{
    t->phase = TARGET_WRITING;
    perform(t, transaction_start_preview(&t->transaction, t->version));
}

/* What goes into a transaction says everything in the file: its reload forgets what the running HAProxy alone was told. */
static void plan_for_file(struct slot *s)
{
    const struct plan_rules rules = slot_rules(s, false);
    if (s->target->options.runtime == NULL)
        return;
    plan_fini(&s->plan);
    plan_make(&s->actual, s->wish, &rules, s->target->dirty, &s->loss_limit, clock_mono_ms(), &s->plan);
}

/* What the running HAProxy alone was told of this one is forgotten by the reload, too. */
static bool joins(struct slot *s)
{
    const struct target *t = s->target;
    bool drains = false;
    for (size_t i = 0; i < s->wish->server_count; i++)
        drains = drains || s->wish->servers[i].state == SERVER_DRAINING;
    return drains && !t->one_by_one && s->have_wish && s->unreadable.kind == ERROR_NONE && slot_is_open(s) &&
           (s->plan.verdict == PLAN_IN_STEP || s->plan.verdict == PLAN_LOSS_LIMIT ||
            s->plan.verdict == PLAN_RELOAD_AGAIN) &&
           !conflict_pauses(&s->conflict, clock_mono_ms());
}

/* Its steps; where it cannot be put into words it is left out, and says so. */
static void add_steps(struct slot *s, struct transaction_step **steps, size_t *count)
{
    struct error err = {0};
    plan_for_file(s);
    if (transaction_steps_add(&s->actual, &s->plan.diff, steps, count, &err) != 0) {
        s->writing = false;
        slot_rejected(s, "cannot put the change into words of the Data Plane API", &err);
    } else if (!s->took_over) {
        const struct decision_place at = slot_place(s);
        decision_log_takeover(&at, &s->plan.diff, &s->taken_over);
    }
}

static void collect(struct target *t, struct transaction_step **steps, size_t *count)
{
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        if (!s->writing && joins(s)) {
            plan_for_file(s);
            s->writing = s->plan.verdict == PLAN_WRITE;
        }
        if (s->writing)
            add_steps(s, steps, count);
        s->write_event_us = 0;
        if (!is_carried(s))
            continue;
        free(s->write_cause);
        s->write_cause = mem_strdup(s->cause);
        s->write_event_us = s->event_us;
        s->event_us = 0;
        s->write_wish_number = s->wish_number;
    }
}

void target_write(struct target *t)
{
    struct transaction_step *steps = NULL;
    size_t count = 0;
    bool wanted = count_writing(t) > 0;
    collect(t, &steps, &count);
    if (wanted && count_writing(t) == 0)
        return;
    t->phase = TARGET_WRITING;
    t->write_started_us = clock_mono_us();
    struct transaction_action begin = transaction_start(&t->transaction, t->version, steps, count);
    if (target_guard_looks_first(t))
        transaction_look_first(&t->transaction);
    perform(t, begin);
}
