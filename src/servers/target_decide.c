/* The deciding side of a target: the plan of each backend, what it means, and which of them go into the next transaction. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define TRANSACTION_WAITS_MS 4000 /* for writes that take effect at once */

enum need {
    NEED_NOTHING,
    NEED_TIME,   /* there is something to write, but not now */
    NEED_FAST,   /* the first write of its choice */
    NEED_WRITE,  /* its plan, in a transaction */
    NEED_RELOAD, /* an empty commit */
};

/* Whatever brought the wish about, nothing is left to write for it. */
static void wish_is_done(struct slot *s)
{
    s->event_us = s->latest_event_us = 0;
    free(s->cause);
    s->cause = NULL;
}

/* ---- what is not written ---- */

static void in_step(struct slot *s)
{
    struct target *t = s->target;
    s->took_over = true;
    /* It stuck; what differs from now on is somebody else's doing. A write without a reload is still to be read back. */
    s->committed_version = s->wrote_fast ? s->actual.version : -1;
    if (!s->wrote_fast) {
        free(s->fast_name);
        s->fast_name = NULL;
    }
    s->committed_wish_number = s->wish_number; /* also where this wish needed no write */
    s->committed_held_back = 0;
    s->committed_told = slot_is_open(s);
    if (conflict_pauses(&s->conflict, clock_mono_ms()))
        conflict_forget(&s->conflict); /* the other side came round */
    if (!slot_is_told(s) || s->choice.call_count > 0) {
        slot_set_in_step(s, false);
        return;
    }
    wish_is_done(s);
    if (t->reload.state == RELOAD_PENDING || !t->last_reload_known)
        return;
    if (t->lost) {
        struct error err = {0};
        error_set(&err, ERROR_RETRY, "%s", s->runtime.why != NULL ? s->runtime.why : "no answer");
        slot_problem(s, "HAProxy does not answer its Data Plane API: is it running?", &err);
        return;
    }
    if (t->drift != NULL) {
        slot_set_in_step(s, false); /* a reload may be on its way: the next look tells */
        return;
    }
    target_count_reconcile(t, "in_step");
    backoff_reset(&s->reject_backoff);
    slot_problem_over(s);
    slot_set_in_step(s, true);
    slot_note_in_step(s);
    if (s->asked)
        log_info(t->options.log, "HAProxy is in step", log_str("backend", s->name), log_str("target", slot_target(s)),
                 log_int("servers", s->plan.diff.ours_count), log_int("version", s->actual.version));
    s->asked = false;
}

/* It stays as it is on purpose: that is no trouble. */
static void stay(struct slot *s, const char *result)
{
    if (!s->holding)
        target_count_reconcile(s->target, result);
    slot_problem_over(s);
    s->holding = true;
    s->asked = true; /* its end is worth a line */
    slot_set_in_step(s, false);
}

/* ... but worth a line now and then. */
static void stay_loudly(struct slot *s, const char *result, const char *what)
{
    unsigned held_back;
    stay(s, result);
    cleanup(mem_free_ptr) char *held = plan_held_text(&s->plan, s->target->wall_minus_mono_ms);
    if (log_limit_pass(&s->hold_limit, clock_mono_ms(), s->plan.why, &held_back))
        log_warn(s->target->options.log, what, log_str("backend", s->name), log_str("target", slot_target(s)),
                 log_str("why", s->plan.why), log_str("held", held), log_int("servers", s->plan.diff.ours_count),
                 log_if(held_back > 0, log_int("times_before", held_back)));
}

static void withhold(struct slot *s)
{
    stay(s, "withheld");
    const struct decision_place at = slot_place(s);
    decision_log_withheld(&at, &s->withheld_limit, clock_mono_ms(), &s->plan, s->cause);
    wish_is_done(s);
}

static void refuse(struct slot *s)
{
    struct error err = {0};
    error_set(&err, ERROR_INVALID, "%s", s->plan.why);
    if (s->target->reload.state != RELOAD_PENDING) /* its polls come by here, too */
        target_count_reconcile(s->target, "refuse");
    slot_problem(s, "not writing to HAProxy", &err);
}

/* ---- what is written, if it may ---- */

/* What differs first, for messages: the API's word -> ours. */
static void say_difference(const struct slot *s, struct buf *out)
{
    const struct diff *d = &s->plan.diff;
    if (d->change_count == 0) {
        buf_add(out, d->backend_detail != NULL ? d->backend_detail : "its settings");
        return;
    }
    const struct diff_change *c = &d->changes[0];
    buf_printf(out, "server %s: %s", c->server.name,
               c->op == DIFF_ADD      ? "it is gone"
               : c->op == DIFF_REMOVE ? "it is there again"
                                      : c->detail);
}

/* The last commit was all that is wanted now. What the brake held back of it then may be written now, and who drains may have
 * to be, where it was enough to tell HAProxy before: that is no stranger's doing, and no change that does not stick. */
static bool is_as_committed(const struct slot *s)
{
    return s->wish_number == s->committed_wish_number && s->plan.held_back == s->committed_held_back &&
           (!s->committed_told || slot_is_open(s));
}

/* A reload that failed puts the file back, and a file that the API has never written is then read as if edited by hand: until
 * its end is known, nobody knows why our change is gone. */
static bool may_be_put_back(const struct slot *s)
{
    return s->target->reload.state == RELOAD_PENDING;
}

/* The API took our change and answers as if it had not: the same again would be a commit and a reload for nothing. */
static bool does_not_stick(struct slot *s)
{
    if (s->actual.version != s->committed_version || !is_as_committed(s))
        return false;
    if (may_be_put_back(s))
        return true;
    cleanup(buf_fini) struct buf text;
    struct error err = {0};
    buf_init(&text, 0);
    say_difference(s, &text);
    error_set(&err, ERROR_INVALID, "version %lld was committed, but reading it back still differs: %s",
              (long long)s->actual.version, buf_str(&text));
    slot_problem(s, "a change does not stick in HAProxy's configuration", &err);
    s->committed_version = s->ours_version = -1;
    s->rejected_version = s->actual.version;
    slot_write_not_before(s, clock_mono_ms() + backoff_next_ms(&s->reject_backoff));
    return true;
}

/* What was written instead is kept as it was then: later wishes have nothing to do with it. */
static void count_undone(struct slot *s, uint64_t now)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    say_difference(s, &text);
    free(s->undone_how);
    s->undone_how = mem_printf("version %lld has, against what we wrote as version %lld: %s",
                               (long long)s->actual.version, (long long)s->ours_version, buf_str(&text));
    s->ours_version = -1; /* counted */
    metric_add(s->target->options.telemetry->undone, 1, s->name, dataplane_client_url(s->target->options.client), NULL);
    (void)conflict_undone(&s->conflict, now);
    if (s->cause == NULL)
        s->cause = mem_printf("somebody else wrote version %lld", (long long)s->actual.version);
}

/* What we wrote for this very wish is not there any more, at a version that is not ours: somebody undid it. True: that was
 * once too often, or not long enough ago. */
static bool is_fought_over(struct slot *s)
{
    uint64_t now = clock_mono_ms();
    bool undone = s->ours_version >= 0 && is_as_committed(s) && s->actual.version != s->ours_version;
    if (undone && may_be_put_back(s))
        return true;
    if (undone)
        count_undone(s, now);
    if (!conflict_pauses(&s->conflict, now))
        return false;
    struct error err = {0};
    error_set(&err, ERROR_CONFLICT,
              "%s, and so it was %d times within %d minutes, or again after a pause. Stop the other writer (another "
              "controller on "
              "this backend?), then send SIGHUP; otherwise it is tried again %d minutes from the last time",
              s->undone_how, CONFLICT_TIMES, CONFLICT_WINDOW_MS / 60000, CONFLICT_PAUSE_MS / 60000);
    slot_problem(s, "somebody else undoes our changes; HAProxy is left to them for now", &err);
    return true;
}

static bool may_write(const struct slot *s)
{
    uint64_t now = clock_mono_ms();
    if (s->target->write_wait_until_ms > now)
        return false;
    /* Refused before, but something is different now: that may have been the cure. */
    return s->write_wait_until_ms <= now || (s->rejected_version >= 0 && s->rejected_version != s->actual.version);
}

/* A steady stream of writes without a reload must not keep it for ever. */
static bool is_overdue(const struct slot *s)
{
    return s->transaction_since_ms != 0 && clock_mono_ms() - s->transaction_since_ms >= TRANSACTION_WAITS_MS;
}

/* The API said that it was written, and a look shows that it is not. */
static bool fast_did_not_stick(const struct slot *s)
{
    const struct diff_change *c = &s->plan.diff.changes[s->choice.writes[0].change];
    return !s->wrote_fast && s->fast_wish_number == s->wish_number && str_eq(c->server.name, s->fast_name);
}

static enum need want_write(struct slot *s)
{
    slot_set_in_step(s, false);
    if (s->plan.verdict == PLAN_WRITE && slot_is_drift(s))
        slot_note_drift(s); /* worth a word once it is mended */
    if (!target_guard_lets_write(s->target))
        return NEED_TIME;
    if (s->plan.verdict == PLAN_RELOAD_AGAIN)
        return may_write(s) && !target_waits_for_room(s->target) ? NEED_RELOAD : NEED_TIME;
    if (is_fought_over(s) || !may_write(s) || does_not_stick(s))
        return NEED_TIME;
    if (!slot_is_told(s))
        return NEED_TIME; /* for a moment: what it is told must not come after what is written */
    /* While HAProxy runs something else than its file says, only a reload makes one of both; where none can be had, what is
     * written is read back all the same, and a server need not wait for it. */
    bool prefers_transaction = (s->target->dirty || is_overdue(s)) && !target_waits_for_room(s->target);
    if (s->choice.write_count > 0 && !prefers_transaction && !fast_did_not_stick(s))
        return NEED_FAST;
    if (slot_is_open(s) && s->choice.write_count == 0 && !s->choice.transaction &&
        s->target->reload.state == RELOAD_PENDING)
        return NEED_TIME; /* it brings others first; then this needs none of its own */
    return clock_mono_ms() < s->target->structural_not_before_ms ? NEED_TIME : NEED_WRITE;
}

/* ---- each backend ---- */

static void measure(struct slot *s)
{
    struct telemetry *m = s->target->options.telemetry;
    const struct diff *d = &s->plan.diff;
    bool withheld = s->plan.verdict == PLAN_WITHHELD;
    if (s->plan.verdict != PLAN_WAIT) { /* then nothing was compared */
        slot_measure(s, m->servers_actual, (double)(d->ours_count - d->parked_count));
        slot_measure(s, m->servers_parked, (double)d->parked_count);
    }
    slot_measure(s, m->servers_held, (double)s->plan.held_back);
    slot_measure(s, m->changes_withheld,
                 withheld ? (double)(d->change_count + (d->backend_change || d->create_backend ? 1 : 0)) : 0);
}

struct plan_rules slot_rules(const struct slot *s, bool runtime)
{
    struct plan_rules rules = s->target->options.rules;
    rules.file_problem = s->target->guard.problem;
    rules.diff.parking = s->parking;
    /* What is only shown is shown as a transaction would do it: telling HAProxy is no difference that can be seen. */
    rules.diff.runtime = runtime && !rules.dry_run && !s->wish->paused && slot_is_open(s);
    return rules;
}

/* Whether anything may be written, or told, by this plan. */
static bool plan_may_write(const struct plan *p, const struct slot *s)
{
    if (s->target->options.rules.dry_run || s->wish->paused)
        return false;
    /* Where the file is as wanted, nothing is fought over; what HAProxy was told before is taken back. */
    if (p->verdict != PLAN_IN_STEP && conflict_pauses(&s->conflict, clock_mono_ms()))
        return false;
    if (p->verdict == PLAN_REFUSE)
        return s->target->guard.problem != NULL; /* what HAProxy is told is in no file: drains go on */
    return p->verdict == PLAN_IN_STEP || p->verdict == PLAN_WRITE || p->verdict == PLAN_RELOAD_AGAIN ||
           p->verdict == PLAN_LOSS_LIMIT;
}

/* It is read back just now: a call in between would make it look as if the write had not reached it. */
static const char *being_written(const struct slot *s)
{
    const struct target *t = s->target;
    return t->phase == TARGET_FAST && t->fast_slot == s ? t->runtime_update.wanted.name : NULL;
}

static const char *being_stopped(const struct slot *s)
{
    const struct calls *q = &s->target->calls;
    return q->busy && q->list[0].slot == s && q->list[0].state != RUNTIME_READY ? q->list[0].name : NULL;
}

static void choose(struct slot *s, const struct plan *p, bool may_write, struct route *ret)
{
    if (!s->memory.looked && s->looked)
        slot_remember(s);
    const struct route_input in = {
        .actual = &s->actual,
        .runtime = &s->runtime,
        .wish = s->wish,
        .diff = &p->diff,
        .rules = &s->target->options.rules.diff,
        .memory = &s->memory,
        .being_written = being_written(s),
        .being_stopped = being_stopped(s),
        .open = slot_is_open(s),
        .may_write = may_write,
    };
    route_choose(&in, ret);
}

void slot_choose(struct slot *s, const struct plan *p, struct route *ret)
{
    choose(s, p, plan_may_write(p, s), ret);
}

/* Paused, it is not told to bring back who left before: it is not as it should be, though the file is. */
static bool withholds_calls(struct slot *s)
{
    cleanup(route_fini) struct route would = {0};
    if (!s->wish->paused)
        return false;
    choose(s, &s->plan, true, &would);
    if (would.call_count == 0)
        return false;
    free(s->plan.text);
    s->plan.why = s->plan.text =
        mem_printf("paused by the Service's annotation, and HAProxy runs server %s as before: %s", would.calls[0].name,
                   would.calls[0].why);
    return true;
}

/* It was told something that no call takes back while what runs cannot be read. A reload does. */
static bool is_stuck(const struct slot *s)
{
    return s->told_unreadable && admin_states_holds(&s->memory);
}

static void make_plan(struct slot *s)
{
    struct target *t = s->target;
    if (s->parking != NULL)
        parking_look(s->parking, &s->actual, s->wish, &t->options.rules.diff, t->options.node_exists,
                     t->options.node_arg, clock_mono_ms());
    const struct plan_rules rules = slot_rules(s, true);
    route_fini(&s->choice);
    plan_make(&s->actual, s->wish, &rules, t->dirty || is_stuck(s), &s->loss_limit, clock_mono_ms(), &s->plan);
    slot_choose(s, &s->plan, &s->choice);
    if (!s->choice.transaction)
        s->transaction_since_ms = 0;
    else if (s->transaction_since_ms == 0)
        s->transaction_since_ms = clock_mono_ms();
    slot_tell(s);
}

static enum need act_on_plan(struct slot *s)
{
    switch (s->plan.verdict) {
    case PLAN_WAIT:
        slot_problem_over(s); /* what is missing is Kubernetes' or the user's part, and said there */
        wish_is_done(s);
        s->asked = true;
        slot_set_in_step(s, false);
        return NEED_NOTHING;
    case PLAN_IN_STEP:
        if (!withholds_calls(s)) {
            in_step(s);
            return NEED_NOTHING;
        }
        stay_loudly(s, "withheld", "nothing is told to HAProxy while it is paused");
        wish_is_done(s);
        return NEED_NOTHING;
    case PLAN_HOLD:
        stay_loudly(s, "hold", "holding the last good servers");
        wish_is_done(s); /* its answer was to hold */
        return NEED_NOTHING;
    case PLAN_LOSS_LIMIT:
        stay_loudly(s, "brake", "holding servers back that would be lost");
        s->event_us = s->latest_event_us = 0; /* to be held is no latency; its cause is still worth a word later */
        return NEED_NOTHING;
    case PLAN_WITHHELD:
        withhold(s);
        return NEED_NOTHING;
    case PLAN_REFUSE:
        if (s->target->guard.problem == NULL || s->plan.diff.verdict == DIFF_REFUSE)
            refuse(s); /* by itself */
        slot_set_in_step(s, false);
        return NEED_NOTHING;
    case PLAN_WRITE:
    case PLAN_RELOAD_AGAIN:
        break;
    }
    return want_write(s);
}

static bool is_stay(enum plan_verdict v)
{
    return v == PLAN_HOLD || v == PLAN_LOSS_LIMIT || v == PLAN_WITHHELD;
}

static enum need decide(struct slot *s)
{
    struct target *t = s->target;
    plan_fini(&s->plan);
    if (s->unreadable.kind != ERROR_NONE) {
        s->holding = false;
        slot_problem(s, "cannot read HAProxy's configuration", &s->unreadable);
        return NEED_NOTHING;
    }
    make_plan(s);
    measure(s);
    const struct decision_place at = slot_place(s);
    decision_log_skips(&at, &s->skip_limit, clock_mono_ms(), &s->plan.diff, t->options.rules.diff.proxy_v2);
    slot_note_held(s);
    if (!is_stay(s->plan.verdict))
        s->holding = false;
    return act_on_plan(s);
}

/* ---- all of them ---- */

/* Nobody has anything to write, or only what is wrong with one backend is in the way: what was in the way of all is over. */
static void nothing_to_write(struct target *t)
{
    struct error err = {0};
    if (t->guard.problem != NULL) {
        error_set(&err, ERROR_INVALID, "%s", t->guard.problem);
        target_problem(t, "nothing is written: it would change what haproxy.cfg means", &err);
        return;
    }
    t->conflicts = 0;
    t->write_failing = false;
    if (t->reload.state == RELOAD_PENDING || !t->last_reload_known)
        return;
    t->renewed = false;
    if (!t->dirty)
        backoff_reset(&t->reload_backoff);
    target_problem_over(t);
}

static void write_fast(struct target *t, struct slot *s)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        t->slots[i].writing = false;
    target_write_fast(s);
}

void target_decide(struct target *t)
{
    struct slot *fast = NULL;
    bool write = false, reload = false, waits = false, overdue = false;
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        s->writing = false;
        if (!s->have_wish)
            continue;
        enum need need = decide(s);
        waits = waits || need == NEED_TIME;
        reload = reload || need == NEED_RELOAD;
        if (need == NEED_FAST && (fast == NULL || (fast <= t->fast_slot && s > t->fast_slot)))
            fast = s; /* the next after the last one: each has its turn */
        if (need == NEED_WRITE && !(t->one_by_one && write)) {
            s->writing = write = true;
            overdue = overdue || is_overdue(s);
        }
    }
    t->left_dirty = t->dirty && !write && !reload && !waits && fast == NULL;
    if (fast != NULL && !overdue) { /* first what takes effect at once */
        write_fast(t, fast);
        return;
    }
    if (write || reload) {
        target_write(t);
        return;
    }
    if (t->unverified) {
        t->seen = false; /* the file is read back, too */
        target_step(t);
        return;
    }
    if (!waits)
        t->one_by_one = false;
    uint64_t now = clock_mono_ms();
    if (!waits || (t->write_wait_until_ms <= now && t->structural_not_before_ms <= now))
        nothing_to_write(t);
}
