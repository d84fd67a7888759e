#include "cli/inspect_decide.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "servers/change/backend_decision.h"
#include "servers/change/parking.h"
#include "cli/daemon_memory.h"
#include "cli/inspect_report.h"

/* HAProxy may run something else than its file says. */
static bool is_dirty(const struct inspect_target *t, const struct inspect_backend *b)
{
    return t->dirty || b->daemon.reload_due;
}

/* As the daemon has it, or where it is not known, when it begins. */
static struct backend_decision_input decide_input(const struct inspect_target *t, struct inspect_backend *b,
                                                  const struct inspect_rules *rules)
{
    return (struct backend_decision_input){
        .at = {.actual = &b->actual,
               .runtime = &b->runtime,
               .desired = b->desired,
               .memory = &b->memory,
               .open = inspect_updates(b),
               .sets_check_port = t->regroups},
        .rules = rules->plan,
        .parking = b->parking,
        .file_problem = t->file_problem != NULL ? t->file_problem : b->daemon.file_problem,
        .loss_limit = &b->daemon.loss_limit,
        .now_ms = rules->now_ms,
        .dirty = is_dirty(t, b),
    };
}

/* Another writer reverts what is written; where the file is as desired, that is over. */
static bool decide_pauses(const struct inspect_backend *b, enum plan_verdict v)
{
    return b->daemon.paused_until_ms != 0 && v != PLAN_IN_SYNC;
}

/* ---- once that is written ---- */

/* Names and texts are those of b. */
struct ahead {
    struct backend actual;
    struct runtime runtime;
};

static void ahead_fini(struct ahead *a)
{
    free(a->actual.servers);
    free(a->runtime.servers);
}

static void set_state(struct ahead *a, const char *server, enum runtime_admin state)
{
    for (size_t i = 0; i < a->runtime.count; i++)
        if (str_eq(a->runtime.servers[i].name, server))
            a->runtime.servers[i].admin = state;
}

static void write_line(struct ahead *a, const struct diff_change *c)
{
    for (size_t i = 0; i < a->actual.server_count; i++)
        if (str_eq(a->actual.servers[i].name, c->server.name))
            a->actual.servers[i] = c->server;
    if (c->fields & SERVER_MAINTENANCE)
        set_state(a, c->server.name, c->server.maintenance ? RUNTIME_MAINT : RUNTIME_READY);
}

/* A command that takes a server away needs another server that is ready, which may need an update first. */
static void look_ahead(struct backend_decision_input input, struct inspect_backend *b)
{
    cleanup(ahead_fini) struct ahead ahead;
    cleanup(plan_fini) struct plan plan;
    cleanup(route_fini) struct route later;
    cleanup(loss_limit_fini) struct loss_limit losses = {0}; /* what was written is no return of what was lost */
    struct route *choice = &b->choice;
    struct ahead *a = &ahead;
    *a = (struct ahead){.actual = b->actual, .runtime = b->runtime};
    a->actual.servers = mem_array(b->actual.server_count, sizeof(a->actual.servers[0]));
    a->runtime.servers = mem_array(b->runtime.count, sizeof(a->runtime.servers[0]));
    for (size_t i = 0; i < b->actual.server_count; i++)
        a->actual.servers[i] = b->actual.servers[i];
    for (size_t i = 0; i < b->runtime.count; i++)
        a->runtime.servers[i] = b->runtime.servers[i];
    for (size_t i = 0; i < b->choice.command_count; i++)
        set_state(a, b->choice.commands[i].name, b->choice.commands[i].state);
    for (size_t i = 0; i < b->choice.update_count; i++)
        write_line(a, &b->first.diff.changes[b->choice.updates[i].change]);
    for (size_t i = 0; i < input.loss_limit->count; i++)
        loss_limit_recall(&losses, input.loss_limit->losses[i].server, &input.loss_limit->losses[i]);
    input.loss_limit = &losses;
    input.at.actual = &ahead.actual;
    input.at.runtime = &ahead.runtime;
    backend_decision_plan(&input, &plan);
    backend_decision_route(&input, &plan, &later);
    choice->commands =
        mem_resize(choice->commands, choice->command_count + later.command_count, sizeof(choice->commands[0]));
    for (size_t i = 0; i < later.command_count; i++)
        choice->commands[choice->command_count++] = later.commands[i];
}

/* What is not written is routed all the same, to show which way it would go. */
static void decide_first(const struct inspect_target *t, struct inspect_backend *b, const struct inspect_rules *rules)
{
    const struct desired *desired = b->desired;
    const struct diff_rules *managed = &rules->plan->diff;
    if (rules->park_ttl_ms > 0)
        b->parking = parking_new(rules->park_ttl_ms);
    daemon_memory_recall(rules->daemon, t->url, b);
    if (b->parking != NULL)
        parking_refresh(b->parking, &b->actual, desired, managed, rules->node_exists, rules->node_arg, rules->now_ms);
    if (b->actual.exists && (desired->state == DESIRED_OK || desired->state == DESIRED_EMPTY))
        admin_states_refresh(&b->memory, &b->actual, &b->runtime, desired, managed, WORKER_SAME);
    struct backend_decision_input input = decide_input(t, b, rules);
    bool suspended = backend_decision_suspended(&input);
    input.as_if = true;
    backend_decision_plan(&input, &b->first);
    backend_decision_route(&input, &b->first, &b->choice);
    if (b->choice.update_count > 0 && !input.dirty && b->first.verdict != PLAN_REFUSE)
        look_ahead(input, b);
    if (suspended || decide_pauses(b, b->first.verdict))
        b->choice.command_count = 0;
}

/* ---- what goes into the file ---- */

/* While running HAProxy differs from haproxy.cfg, each change needs a reload. */
static bool needs_transaction(const struct inspect_target *t, const struct inspect_backend *b)
{
    return b->first.verdict == PLAN_WRITE && (b->choice.transaction || is_dirty(t, b));
}

static bool target_reloads(const struct inspect_target *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct inspect_backend *b = &t->backends[i];
        bool writes = needs_transaction(t, b) && !decide_pauses(b, PLAN_WRITE);
        if (b->seen && (writes || b->first.verdict == PLAN_RELOAD_AGAIN))
            return true;
    }
    return false;
}

static bool is_written(const struct inspect_backend *b, const char *server)
{
    for (size_t i = 0; i < b->choice.update_count; i++)
        if (str_eq(b->first.diff.changes[b->choice.updates[i].change].server.name, server))
            return true;
    return false;
}

static enum inspect_way way_of(const struct inspect_target *t, const struct inspect_backend *b,
                               const struct diff_change *c)
{
    if (is_dirty(t, b) || c->op != DIFF_CHANGE)
        return INSPECT_BY_RELOAD;
    /* Without a reload a drain does not change the file; it is shown as a change only if it is not written. */
    bool commanded = b->plan.verdict == PLAN_NOT_WRITTEN && inspect_updates(b) && !b->choice.transaction &&
                     diff_find_change(&b->first.diff, c->server.name) == NULL;
    return commanded || is_written(b, c->server.name) ? INSPECT_WITHOUT_RELOAD : INSPECT_BY_RELOAD;
}

/* Parked without a reload, but for a moment only: the transaction that follows removes those without a node. */
static void let_homeless_go(struct inspect_backend *b, const struct inspect_rules *rules)
{
    struct diff *d = &b->plan.diff;
    for (size_t i = 0; i < d->change_count; i++) {
        struct diff_change *c = &d->changes[i];
        const char *node = desired_node(b->desired, c->server.name);
        if (!c->parks || c->op != DIFF_CHANGE || !is_written(b, c->server.name) ||
            rules->node_exists(rules->node_arg, node != NULL ? node : c->server.name))
            continue;
        c->op = DIFF_REMOVE;
        c->parks = c->server.maintenance = false;
        c->fields = 0;
        c->detail[0] = '\0';
    }
    diff_sort(d);
}

static void decide_rest(const struct inspect_target *t, struct inspect_backend *b, const struct inspect_rules *rules,
                        bool reloads)
{
    struct backend_decision_input input = decide_input(t, b, rules);
    /* What needs no reload is written before that. */
    enum plan_verdict then = b->first.verdict == PLAN_WRITE ? PLAN_IN_SYNC : b->first.verdict;
    input.conflict = decide_pauses(b, then);
    input.for_file = needs_transaction(t, b) || (reloads && backend_decision_joins(&input, then));
    backend_decision_plan(&input, &b->plan);
    if (input.for_file && !backend_decision_suspended(&input) && !input.dirty && rules->node_exists != NULL)
        let_homeless_go(b, rules);
    /* Who comes and goes without a reload does not where another change of the backend takes one. */
    const struct diff *d = &b->plan.diff;
    bool adds = t->adds && inspect_updates(b) && !is_dirty(t, b) && !d->backend_change && !d->create_backend &&
                !b->actual.takes_no_weights;
    b->ways = mem_array(d->change_count, sizeof(b->ways[0]));
    for (size_t i = 0; i < d->change_count; i++) {
        b->ways[i] = way_of(t, b, &d->changes[i]);
        adds = adds && (d->changes[i].op != DIFF_CHANGE || b->ways[i] == INSPECT_WITHOUT_RELOAD);
    }
    for (size_t i = 0; i < d->change_count && adds; i++)
        b->ways[i] = INSPECT_WITHOUT_RELOAD;
    if (b->plan.verdict == PLAN_WRITE && decide_pauses(b, PLAN_WRITE)) {
        int64_t wall_minus_mono_ms = rules->daemon->wall_minus_mono_ms;
        char until[RFC3339_BYTES];
        char *delayed = b->plan.text;
        rfc3339_format(((int64_t)b->daemon.paused_until_ms + wall_minus_mono_ms) * 1000, 0, until);
        b->plan.text = mem_printf(
            "another writer keeps reverting the daemon's changes, so the daemon pauses writes until %s: %s%s%s", until,
            b->daemon.reverted != NULL ? b->daemon.reverted : "", delayed != NULL ? "; besides, " : "",
            delayed != NULL ? delayed : "");
        free(delayed);
        b->plan.why = b->plan.text;
        b->plan.verdict = PLAN_NOT_WRITTEN;
    }
}

void inspect_decide(struct inspect_target *t, size_t backend_count, const struct inspect_rules *rules)
{
    for (size_t i = 0; i < backend_count; i++)
        if (t->backends[i].seen)
            decide_first(t, &t->backends[i], rules);
    bool reloads = target_reloads(t, backend_count);
    for (size_t i = 0; i < backend_count; i++)
        if (t->backends[i].seen)
            decide_rest(t, &t->backends[i], rules, reloads);
}
