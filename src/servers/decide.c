/* What each backend needs: its plan, what that means, and which way its changes go. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "report/metric_table.h"
#include "servers/servers_internal.h"

#define TRANSACTION_WAITS_MS 4000 /* for writes that take effect at once */
#define CHANGES_MANY 1000

enum need {
    NEED_NOTHING,
    NEED_TIME,    /* there is something to write, but not now */
    NEED_UPDATE,  /* the first update of its route */
    NEED_WRITE,   /* its plan, in a transaction */
    NEED_RELOAD,  /* an empty commit */
    NEED_READING, /* what was read is too old for its plan */
};

struct servers_backend *servers_backend_of(const struct servers *e, const struct instance_backend *b)
{
    for (struct servers_backend *s = e->backends; s < e->end; s++)
        if (s->at == b)
            return s;
    return NULL;
}

void servers_replan(struct servers_backend *s)
{
    s->planned.stands = false;
}

void servers_commanded(struct servers_backend *s)
{
    s->engine->commanded_at = s->engine->decisions;
    s->commanded = true;
    servers_replan(s);
}

/* Nothing is left to write for the event that changed the desired state. */
static void decide_done(struct servers_backend *s)
{
    s->event_us = s->latest_event_us = 0;
    free(s->cause);
    s->cause = NULL;
}

/* ---- what is not written ---- */

#define UNRESOLVED_SHOWN 5

/* One that the file has in maintenance, and is not desired, takes traffic: a command would end that, where commands work.
 * NULL: none does. */
static const char *decide_runs_parked(struct servers_backend *s)
{
    const struct runtime *r = &s->at->runtime;
    if (!r->readable || instance_runtime_usable(s->engine->instance, s->at))
        return NULL;
    for (size_t i = 0, at = 0; i < s->at->actual.server_count; i++) {
        const struct backend_server *line = &s->at->actual.servers[i];
        const struct runtime_server *is = line->maintenance ? runtime_find_next(r, line->name, &at) : NULL;
        const struct desired_server *want = is != NULL ? desired_find(s->desired, line->name) : NULL;
        if (is != NULL && is->admin == RUNTIME_READY && (want == NULL || want->state != SERVER_LIVE) &&
            !diff_server_is_foreign(line, &s->engine->options.rules.diff, s->desired))
            return line->name;
    }
    return NULL;
}

static void decide_in_sync(struct servers_backend *s)
{
    struct instance *in = s->engine->instance;
    const struct instance_view v = instance_view(in);
    struct error err = {0};
    servers_stuck(s);
    s->took_over = true;
    if (revert_pause_holds(&s->pause, clock_mono_ms()))
        revert_pause_end(&s->pause); /* the other writer has stopped */
    if (!instance_commanded(in, s->at) || s->route.command_count > 0) {
        servers_set_in_sync(s, false);
        return;
    }
    decide_done(s);
    if (v.reload == RELOAD_PENDING || !v.last_reload_known)
        return;
    if (v.silent) {
        error_set(&err, ERROR_RETRY, "%s", s->at->runtime.why != NULL ? s->at->runtime.why : "no answer");
        servers_problem(s, "HAProxy does not answer: is it running?", &err);
        return;
    }
    if (v.drift != NULL) {
        servers_set_in_sync(s, false); /* a reload may be on its way: the next reading shows it */
        return;
    }
    struct text_list names = {.between = ", ", .max = UNRESOLVED_SHOWN};
    const struct runtime *r = &s->at->runtime;
    for (size_t i = 0; r->readable && i < r->count; i++)
        if (r->servers[i].unresolved && desired_find(s->desired, r->servers[i].name) != NULL && text_list_next(&names))
            buf_add(&names.text, r->servers[i].name);
    cleanup(mem_free_ptr) char *unresolved = text_list_take(&names);
    if (unresolved != NULL) {
        servers_set_in_sync(s, false);
        error_set(&err, ERROR_INVALID,
                  "server %s: HAProxy cannot resolve the host name of its line, and sends it no traffic; make the "
                  "name resolve on the load balancer, or let nodes have IP addresses (NODE_ADDRESS_TYPES)",
                  unresolved);
        servers_problem(s, "HAProxy has no address for a server", &err);
        return;
    }
    instance_count_reconcile(in, "in_sync");
    backoff_reset(&s->last.reject_backoff);
    servers_problem_over(s);
    servers_set_in_sync(s, true);
    servers_note_in_sync(s);
    if (s->asked)
        log_info(servers_log(s), "HAProxy is in sync", log_str("backend", s->name),
                 log_str("target", servers_target(s)), log_int("servers", diff_configured_count(&s->plan.diff)),
                 log_int("version", s->at->actual.version));
    s->asked = false;
}

/* It stays as it is on purpose: that is no problem. */
static void decide_stay(struct servers_backend *s, const char *result)
{
    if (!s->holding)
        instance_count_reconcile(s->engine->instance, result);
    servers_problem_over(s);
    s->holding = true;
    s->asked = true; /* its end is logged */
    servers_set_in_sync(s, false);
}

/* ... but worth a line now and then. */
static void decide_stay_loudly(struct servers_backend *s, const char *result, const char *what)
{
    unsigned before;
    decide_stay(s, result);
    cleanup(mem_free_ptr) char *delayed = plan_delayed_text(&s->plan, instance_wall_minus_mono_ms(s->engine->instance));
    if (log_limit_pass(&s->no_endpoint_limit, clock_mono_ms(), s->plan.why, &before))
        log_warn(servers_log(s), what, log_str("backend", s->name), log_str("target", servers_target(s)),
                 log_str("why", s->plan.why), log_str("removal_delayed", delayed),
                 log_int("servers", diff_configured_count(&s->plan.diff)),
                 log_if(before > 0, log_int("repeated", before)));
}

/* ---- what is written, if it may ---- */

uint64_t servers_overdue_ms(const struct servers_backend *s)
{
    return s->transaction_since_ms != 0 ? s->transaction_since_ms + TRANSACTION_WAITS_MS : 0;
}

/* A steady stream of updates must not delay it for ever. */
static bool decide_overdue(const struct servers_backend *s)
{
    uint64_t since = servers_overdue_ms(s);
    return since != 0 && clock_mono_ms() >= since;
}

static enum need decide_reload(const struct servers_backend *s)
{
    const struct instance_view v = instance_view(s->engine->instance);
    return servers_may_write(s) && v.may_begin ? NEED_RELOAD : NEED_TIME;
}

static enum need decide_write(struct servers_backend *s)
{
    struct instance *in = s->engine->instance;
    const struct instance_view v = instance_view(in);
    servers_set_in_sync(s, false);
    if (s->plan.verdict == PLAN_WRITE && servers_is_drift(s))
        servers_note_drift(s); /* for the history, once it is repaired */
    if (!v.file_allows)
        return NEED_TIME;
    /* That another cluster's server is UP was read before, perhaps long before, the last own one was to go. */
    if (s->plan.diff.leaves_none && s->leaves_none_since_ms == 0)
        s->leaves_none_since_ms = clock_mono_ms();
    if (s->plan.diff.leaves_none && v.read_began_ms < s->leaves_none_since_ms)
        return NEED_READING;
    if (s->plan.verdict == PLAN_RELOAD_AGAIN)
        return decide_reload(s);
    /* What was refused of this backend holds up itself alone: runtime updates need nothing of it. */
    bool rejected = v.may_write && !servers_may_write(s);
    if (servers_count_revert(s) && s->cause == NULL)
        s->cause = mem_printf("another writer wrote version %lld", (long long)s->at->actual.version);
    if (servers_pause_writes(s) || !v.may_write || servers_judge_missing(s))
        return NEED_TIME;
    if (!instance_commanded(in, s->at))
        return NEED_TIME; /* for a moment: what is commanded must not come after what is written */
    /* While running HAProxy differs from haproxy.cfg, only a reload repairs it; where none is possible, a runtime
     * update is verified all the same, and a server need not wait. */
    bool prefers_transaction = (v.dirty || decide_overdue(s)) && v.may_begin && !rejected;
    if (s->route.update_count > 0 && !prefers_transaction && !servers_update_did_not_stick(s) &&
        (!rejected || s->last.updates_after_ms <= clock_mono_ms())) {
        /* What brings a server back could not be commanded, and is again in a moment: who leaves because of it waits for it. */
        const struct diff_change *first = &s->plan.diff.changes[s->route.updates[0].change];
        bool back = s->route.command_count > 0 && s->route.commands[0].state == RUNTIME_READY;
        return back && (first->fields & SERVER_MAINTENANCE) && first->server.maintenance ? NEED_TIME : NEED_UPDATE;
    }
    if (rejected)
        return NEED_TIME;
    if (instance_runtime_usable(in, s->at) && s->route.update_count == 0 && !s->route.transaction &&
        v.reload == RELOAD_PENDING)
        return NEED_TIME; /* it loads others first; then this needs no transaction of its own */
    return v.gathers ? NEED_TIME : NEED_WRITE;
}

/* ---- its plan ---- */

void servers_remember(struct servers_backend *s)
{
    const struct instance *in = s->engine->instance;
    bool decided = s->have_desired && (s->desired->state == DESIRED_OK || s->desired->state == DESIRED_EMPTY);
    servers_replan(s);
    s->remembered = instance_at_rest(in) && decided && s->at->actual.exists && s->at->unreadable.kind == ERROR_NONE;
    if (s->remembered)
        admin_states_refresh(&s->states, &s->at->actual, &s->at->runtime, s->desired, &s->engine->options.rules.diff,
                             instance_view(in).worker);
    size_t count = 0;
    char *now = admin_states_overrides(&s->states, &count);
    if (now != NULL && !str_eq(now, s->overrides))
        log_warn(servers_log(s),
                 "admin states set by an operator; left alone until set to ready (a daemon killed during a drain "
                 "leaves the same)",
                 log_str("target", servers_url(s)), log_str("backend", s->name), log_str("what", now));
    else if (now == NULL && s->overrides != NULL)
        log_info(servers_log(s), "admin states set by an operator are cleared", log_str("target", servers_url(s)),
                 log_str("backend", s->name));
    free(s->overrides);
    s->overrides = now;
    servers_measure(s, servers_metrics(s)->servers_overridden, (double)count);
}

struct backend_decision_input servers_decision_input(struct servers_backend *s)
{
    struct instance *in = s->engine->instance;
    const struct instance_view v = instance_view(in);
    /* Runtime commands set what none can take back while the running HAProxy cannot be read. A reload can. */
    bool stuck = s->at->runtime_lost && admin_states_holds(&s->states);
    uint64_t now = clock_mono_ms();
    return (struct backend_decision_input){
        .at = {.actual = &s->at->actual,
               .runtime = &s->at->runtime,
               .desired = s->desired,
               .memory = &s->states,
               .being_written = instance_updating(in, s->at), /* it is read back just now */
               .being_stopped = instance_taking_out(in, s->at),
               .open = instance_runtime_usable(in, s->at),
               .sets_check_port = v.regroups,
               .held_up = !v.file_allows && v.no_preview},
        .rules = &s->engine->options.rules,
        .parking = s->parking,
        .file_problem = v.file_problem,
        .loss_limit = &s->loss_limit,
        .now_ms = now,
        .dirty = v.dirty || stuck,
        .conflict = revert_pause_holds(&s->pause, now),
    };
}

/* With sanitizers: ends the program where the same input gives another plan than the one that stands. */
static void servers_check_standing(struct servers_backend *s, const struct backend_decision_input *in)
{
#ifdef SERVERS_CHECK_STANDING
    cleanup(plan_fini) struct plan plan = {0};
    cleanup(route_fini) struct route route = {0};
    backend_decision_plan(in, &plan);
    backend_decision_route(in, &plan, &route);
    if (plan.verdict != PLAN_IN_SYNC || plan.diff.managed_count != s->plan.diff.managed_count ||
        plan.diff.parked_count != s->plan.diff.parked_count || plan.diff.change_count != s->plan.diff.change_count ||
        plan.diff.skip_count != s->plan.diff.skip_count || route.command_count > 0 || route.update_count > 0 ||
        route.transaction)
        abort(); /* something changed what it depends on, and did not say so: servers_replan */
#else
    (void)s;
    (void)in;
#endif
}

bool servers_choose(struct servers_backend *s, struct plan *ret_plan, struct route *ret)
{
    if (!s->states.known && s->at->was_read && s->at->runtime.readable)
        servers_remember(s);
    const struct backend_decision_input input = servers_decision_input(s);
    /* Most events are about another backend, and most readings find what was there before. What else a plan depends on,
no
     * event of this backend shows: where any of it is so, nothing stands. */
    bool ordinary = input.at.being_written == NULL && input.at.being_stopped == NULL && input.file_problem == NULL &&
                    !input.dirty && !input.conflict && !s->desired->paused;
    uint64_t parking = s->parking != NULL ? parking_changes(s->parking) : 0;
    if (ordinary && s->planned.stands && s->loss_limit.count == 0 && s->planned.open == input.at.open &&
        s->planned.parking == parking) {
        servers_check_standing(s, &input);
        return false;
    }
    s->planned.made++;
    plan_fini(ret_plan);
    route_fini(ret);
    backend_decision_plan(&input, ret_plan);
    backend_decision_route(&input, ret_plan, ret);
    if (ret_plan != &s->plan)
        return true;
    s->planned.open = input.at.open;
    s->planned.parking = parking;
    s->planned.stands = ordinary && s->loss_limit.count == 0 && s->plan.verdict == PLAN_IN_SYNC &&
                        ret->command_count == 0 && ret->update_count == 0 && !ret->transaction;
    return true;
}

/* Paused, or in a dry run, nothing brings back a server that left before, or takes one out that runs on: what runs is not
 * as desired, though the file is. */
static bool decide_withhold(struct servers_backend *s)
{
    const bool dry_run = s->engine->options.rules.dry_run;
    const char *by = dry_run ? "DRY_RUN=true" : "paused by the Service's annotation";
    cleanup(route_fini) struct route would = {0};
    struct backend_decision_input input = servers_decision_input(s);
    if (!s->desired->paused && !dry_run)
        return false;
    input.as_if = true;
    backend_decision_route(&input, &s->plan, &would);
    const char *parked = decide_runs_parked(s);
    if (would.command_count == 0 && parked == NULL)
        return false;
    free(s->plan.text);
    s->plan.why = s->plan.text =
        would.command_count > 0
            ? mem_printf("%s; runtime command for server %s pending: %s", by, would.commands[0].name,
                         would.commands[0].why)
            : mem_printf("%s; a reload is pending: server %s is parked in haproxy.cfg, and HAProxy has it ready", by,
                         parked);
    decide_stay_loudly(s, "not_written", dry_run ? "DRY_RUN: nothing is written" : "paused; runtime commands pending");
    decide_done(s);
    return true;
}

void servers_command(struct servers_backend *s, const struct plan *p, const struct route *r)
{
    const struct instance_view v = instance_view(s->engine->instance);
    size_t count = r->command_count;
    /* Thousands of commands take longer than the transaction and its reload, which say the same: from then on only what
     * brings a server back is commanded. */
    if (r->transaction && p->verdict == PLAN_WRITE && decide_overdue(s) && v.file_allows && v.may_begin && !v.gathers &&
        servers_may_write(s) && !revert_pause_holds(&s->pause, clock_mono_ms()))
        for (count = 0; count < r->command_count && r->commands[count].state == RUNTIME_READY;)
            count++;
    instance_command(s->engine->instance, s->at, r->commands, count, s->latest_event_us);
}

/* ---- each backend ---- */

static enum need decide_act(struct servers_backend *s)
{
    const struct instance_view v = instance_view(s->engine->instance);
    const struct change_log_place at = servers_place(s);
    switch (s->plan.verdict) {
    case PLAN_WAIT:
        servers_problem_over(s); /* what is missing is reported by the checks of Kubernetes and of the mapping */
        decide_done(s);
        s->asked = true;
        servers_set_in_sync(s, false);
        return NEED_NOTHING;
    case PLAN_IN_SYNC:
        if (decide_withhold(s))
            return NEED_NOTHING;
        if (v.reload != RELOAD_PENDING && decide_runs_parked(s) != NULL) {
            servers_set_in_sync(s, false);
            return decide_reload(s);
        }
        decide_in_sync(s);
        return NEED_NOTHING;
    case PLAN_NO_ENDPOINT:
        decide_stay_loudly(s, "no_endpoint", "no usable endpoint; keeping the last servers");
        decide_done(s); /* it was answered by keeping the servers */
        return NEED_NOTHING;
    case PLAN_LOSS_LIMIT:
        decide_stay_loudly(s, "removal_delayed", "too many servers would be removed; removal delayed");
        s->event_us = s->latest_event_us = 0; /* a delay on purpose is no latency; its cause is still logged later */
        return NEED_NOTHING;
    case PLAN_NOT_WRITTEN:
        decide_stay(s, "not_written");
        change_log_not_written(&at, &s->not_written_limit, clock_mono_ms(), &s->plan, s->cause);
        decide_done(s);
        return NEED_NOTHING;
    case PLAN_REFUSE:
        if (v.file_problem == NULL || s->plan.diff.verdict == DIFF_REFUSE) { /* by itself */
            struct error err = {0};
            error_set(&err, ERROR_INVALID, "%s", s->plan.why);
            if (v.reload != RELOAD_PENDING) /* its polls decide, too */
                instance_count_reconcile(s->engine->instance, "refused");
            servers_problem(s, "not writing to HAProxy", &err);
        }
        servers_set_in_sync(s, false);
        return NEED_NOTHING;
    case PLAN_WRITE:
    case PLAN_RELOAD_AGAIN:
        break;
    }
    return decide_write(s);
}

static enum need decide_backend(struct servers_backend *s)
{
    if (s->at->unreadable.kind != ERROR_NONE) {
        servers_replan(s);
        plan_fini(&s->plan);
        s->holding = false;
        servers_problem(s, "cannot read HAProxy's configuration", &s->at->unreadable);
        return NEED_NOTHING;
    }
    const struct servers_options *o = &s->engine->options;
    if (s->parking != NULL)
        parking_refresh(s->parking, &s->at->actual, s->desired, &o->rules.diff, o->node_exists, o->node_arg,
                        clock_mono_ms());
    if (servers_choose(s, &s->plan, &s->route)) {
        bool first = s->route.transaction && s->transaction_since_ms == 0;
        s->transaction_since_ms = first ? clock_mono_ms() : s->route.transaction ? s->transaction_since_ms : 0;
        servers_command(s, &s->plan, &s->route);
        struct metric_table *m = servers_metrics(s);
        const struct diff *d = &s->plan.diff;
        bool withheld = s->plan.verdict == PLAN_NOT_WRITTEN;
        if (s->plan.verdict != PLAN_WAIT) { /* then nothing was compared */
            servers_measure(s, m->servers_configured, (double)diff_configured_count(d));
            servers_measure(s, m->servers_parked, (double)d->parked_count);
        }
        servers_measure(s, m->servers_removal_delayed, (double)s->plan.held_back);
        servers_measure(s, m->changes_pending,
                        withheld ? (double)(d->change_count + (d->backend_change || d->create_backend ? 1 : 0)) : 0);
    }
    const struct change_log_place at = servers_place(s);
    change_log_skips(&at, &s->skip_limit, clock_mono_ms(), &s->plan.diff, s->engine->options.rules.diff.proxy_v2);
    servers_note_delayed(s);
    enum plan_verdict verdict = s->plan.verdict;
    if (verdict != PLAN_NO_ENDPOINT && verdict != PLAN_LOSS_LIMIT && verdict != PLAN_NOT_WRITTEN)
        s->holding = false;
    if (!s->plan.diff.leaves_none)
        s->leaves_none_since_ms = 0;
    return decide_act(s);
}

/* ---- all of them ---- */

void servers_decide(void *engine, struct engine_wants *ret_wants)
{
    struct servers *e = engine;
    struct servers_backend *next = NULL;
    e->decisions++;
    bool one_by_one = instance_view(e->instance).one_by_one;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        s->chosen = false;
        if (!s->have_desired)
            continue;
        enum need need = decide_backend(s);
        ret_wants->waits = ret_wants->waits || need == NEED_TIME;
        ret_wants->reload = ret_wants->reload || need == NEED_RELOAD;
        ret_wants->reading = ret_wants->reading || need == NEED_READING;
        /* The next after the last one: each has its turn. */
        if (need == NEED_UPDATE &&
            (!ret_wants->update || (next != NULL && next <= e->last_updated && s > e->last_updated))) {
            ret_wants->update = true;
            next = s;
        }
        if (need == NEED_WRITE && !(one_by_one && ret_wants->transaction)) {
            s->chosen = ret_wants->transaction = true;
            ret_wants->overdue = ret_wants->overdue || decide_overdue(s);
            ret_wants->many = ret_wants->many || s->plan.diff.change_count > CHANGES_MANY;
        }
    }
    if (ret_wants->update)
        e->next_update = next;
}
