#include "cli/inspect_decide.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/change/backend_decision.h"
#include "servers/change/parking.h"
#include "cli/inspect_report.h"

/* As the daemon has it when it begins. */
static struct backend_decision_input decide_input(const struct inspect_target *t, const struct inspect_backend *b,
                                                  const struct inspect_rules *rules)
{
    return (struct backend_decision_input){
        .at = {.actual = &b->actual,
               .runtime = &b->runtime,
               .desired = b->desired,
               .memory = &b->memory,
               .open = b->runtime.readable},
        .rules = rules->plan,
        .parking = b->parking,
        .file_problem = t->file_problem,
        .now_ms = rules->now_ms,
        .dirty = t->dirty,
    };
}

static void begin_anew(struct inspect_backend *b)
{
    plan_fini(&b->plan);
    plan_fini(&b->first);
    route_fini(&b->choice);
    admin_states_fini(&b->memory);
    parking_free(b->parking);
    b->parking = NULL;
    free(b->ways);
    b->ways = NULL;
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

static void ahead_make(struct ahead *a, const struct inspect_backend *b)
{
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
}

/* What takes a server away is told only where another one is ready, and that may take a write. */
static void look_ahead(struct backend_decision_input input, struct inspect_backend *b)
{
    cleanup(ahead_fini) struct ahead ahead;
    cleanup(plan_fini) struct plan plan;
    cleanup(route_fini) struct route later;
    struct route *choice = &b->choice;
    ahead_make(&ahead, b);
    input.at.actual = &ahead.actual;
    input.at.runtime = &ahead.runtime;
    backend_decision_plan(&input, &plan);
    backend_decision_route(&input, &plan, &later);
    choice->commands =
        mem_resize(choice->commands, choice->command_count + later.command_count, sizeof(choice->commands[0]));
    for (size_t i = 0; i < later.command_count; i++)
        choice->commands[choice->command_count++] = later.commands[i];
}

/* What is withheld is chosen all the same, to tell which way it would go. */
static void decide_first(const struct inspect_target *t, struct inspect_backend *b, const struct inspect_rules *rules)
{
    const struct desired *desired = b->desired;
    const struct diff_rules *ours = &rules->plan->diff;
    begin_anew(b);
    if (rules->park_ttl_ms > 0) {
        b->parking = parking_new(rules->park_ttl_ms);
        parking_look(b->parking, &b->actual, desired, ours, rules->node_exists, rules->node_arg, rules->now_ms);
    }
    if (b->actual.exists && (desired->state == DESIRED_OK || desired->state == DESIRED_EMPTY))
        admin_states_look(&b->memory, &b->actual, &b->runtime, desired, ours, WORKER_SAME);
    struct backend_decision_input input = decide_input(t, b, rules);
    bool withheld = backend_decision_withheld(&input);
    input.as_if = true;
    backend_decision_plan(&input, &b->first);
    backend_decision_route(&input, &b->first, &b->choice);
    if (b->choice.update_count > 0 && !t->dirty && b->first.verdict != PLAN_REFUSE)
        look_ahead(input, b);
    if (withheld)
        b->choice.command_count = 0;
}

/* ---- what goes into the file ---- */

/* While HAProxy runs something else than its file says, only a reload makes one of both. */
static bool needs_transaction(const struct inspect_target *t, const struct inspect_backend *b)
{
    return b->first.verdict == PLAN_WRITE && (b->choice.transaction || t->dirty);
}

static bool target_reloads(const struct inspect_target *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct inspect_backend *b = &t->backends[i];
        if (b->seen && (needs_transaction(t, b) || b->first.verdict == PLAN_RELOAD_AGAIN))
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
    if (t->dirty || c->op != DIFF_CHANGE)
        return INSPECT_BY_RELOAD;
    /* Without a reload a drain is no change of the file: only what is withheld is shown as one all the same. */
    bool told = b->plan.verdict == PLAN_WITHHELD && b->runtime.readable && !b->choice.transaction &&
                diff_find_change(&b->first.diff, c->server.name) == NULL;
    return told || is_written(b, c->server.name) ? INSPECT_WITHOUT_RELOAD : INSPECT_BY_RELOAD;
}

/* Parked without a reload, but for a moment only: the transaction that follows takes along whatever has no node. */
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
    enum plan_verdict then = b->first.verdict == PLAN_WRITE ? PLAN_IN_STEP : b->first.verdict;
    input.for_file = needs_transaction(t, b) || (reloads && backend_decision_joins(&input, then));
    backend_decision_plan(&input, &b->plan);
    if (input.for_file && !backend_decision_withheld(&input) && !t->dirty && rules->node_exists != NULL)
        let_homeless_go(b, rules);
    b->ways = mem_array(b->plan.diff.change_count, sizeof(b->ways[0]));
    for (size_t i = 0; i < b->plan.diff.change_count; i++)
        b->ways[i] = way_of(t, b, &b->plan.diff.changes[i]);
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
