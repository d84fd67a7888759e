#include "daemon/inspect/inspect_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "haproxy/cfg/backend_edit.h"
#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/instance.h"
#include "servers/change/plan.h"

void inspect_report_init(struct inspect_report *r, size_t target_count, size_t mapping_count)
{
    *r = (struct inspect_report){.mappings = mem_array(mapping_count, sizeof(r->mappings[0])),
                                 .mapping_count = mapping_count,
                                 .targets = mem_array(target_count, sizeof(r->targets[0])),
                                 .target_count = target_count};
    for (size_t m = 0; m < mapping_count; m++)
        r->mappings[m].explanation.state = SERVER_OUT;
    for (size_t t = 0; t < target_count; t++) {
        r->targets[t].backends = mem_array(mapping_count, sizeof(r->targets[t].backends[0]));
        for (size_t m = 0; m < mapping_count; m++)
            r->targets[t].backends[m].of = &r->mappings[m];
    }
}

void inspect_report_fini(struct inspect_report *r)
{
    for (size_t t = 0; t < r->target_count; t++) {
        struct inspect_target *target = &r->targets[t];
        for (size_t m = 0; m < r->mapping_count; m++) {
            struct inspect_backend *b = &target->backends[m];
            plan_fini(&b->plan);
            plan_fini(&b->first);
            route_fini(&b->choice);
            loss_limit_fini(&b->losses);
            free(b->reloads);
            for (size_t i = 0; i < b->reason_count; i++) {
                mem_free_all(b->reasons[i].server, b->reasons[i].text);
            }
            free(b->reasons);
        }
        free(target->backends);
    }
    for (size_t m = 0; m < r->mapping_count; m++) {
        desired_unref(r->mappings[m].desired);
        explanation_fini(&r->mappings[m].explanation);
    }
    mem_free_all(r->targets, r->mappings);
    checks_fini(&r->missing);
    free(r->nearest);
    *r = (struct inspect_report){0};
}

/* ---- what the daemon would do */

/* Another writer reverts what is written; where the file is as desired, that is over. */
static bool decide_pauses(const struct inspect_backend *b, enum plan_verdict v)
{
    return b->paused_until_ms != 0 && v != PLAN_IN_SYNC;
}

static void set_state(struct runtime *r, const char *server, enum runtime_admin state)
{
    for (size_t i = 0; i < r->count; i++)
        if (str_eq(r->servers[i].name, server))
            runtime_set_admin(&r->servers[i], state);
}

/* A command that takes a server away needs another server that is ready, which may need an update first: what is to be
 * commanded once that is written. The copies have the names and texts of b. */
static void look_ahead(struct backend_decision_input input, struct inspect_backend *b)
{
    cleanup(plan_fini) struct plan plan;
    cleanup(route_fini) struct route later;
    cleanup(loss_limit_fini) struct loss_limit losses; /* what was written is no return of what was lost */
    struct route *choice = &b->choice;
    struct backend actual = b->actual;
    struct runtime runtime = b->runtime;
    actual.servers = mem_array(actual.server_count, sizeof(actual.servers[0]));
    runtime.servers = mem_array(runtime.count, sizeof(runtime.servers[0]));
    for (size_t i = 0; i < actual.server_count; i++)
        actual.servers[i] = b->actual.servers[i];
    for (size_t i = 0; i < runtime.count; i++)
        runtime.servers[i] = b->runtime.servers[i];
    for (size_t i = 0; i < choice->command_count; i++)
        set_state(&runtime, choice->commands[i].name, choice->commands[i].state);
    for (size_t i = 0; i < choice->update_count; i++) {
        const struct diff_change *c = &b->first.diff.changes[choice->updates[i].change];
        for (size_t k = 0; k < actual.server_count; k++)
            if (str_eq(actual.servers[k].name, c->server.name))
                actual.servers[k] = c->server;
        if (c->fields & SERVER_MAINTENANCE)
            set_state(&runtime, c->server.name, c->server.maintenance ? RUNTIME_MAINT : RUNTIME_READY);
    }
    loss_limit_copy(&losses, input.loss_limit);
    input.loss_limit = &losses;
    input.at.actual = &actual;
    input.at.runtime = &runtime;
    backend_decision_plan(&input, &plan);
    backend_decision_route(&input, &plan, &later);
    choice->commands =
        mem_resize(choice->commands, choice->command_count + later.command_count, sizeof(choice->commands[0]));
    for (size_t i = 0; i < later.command_count; i++)
        choice->commands[choice->command_count++] = later.commands[i];
    mem_free_all(actual.servers, runtime.servers);
}

/* ---- what goes into the file */

/* While running HAProxy differs from haproxy.cfg, each change needs a reload. */
static bool needs_transaction(const struct inspect_backend *b)
{
    return b->first.verdict == PLAN_WRITE && (b->choice.transaction || b->in.dirty);
}

static bool is_written(const struct inspect_backend *b, const char *server)
{
    for (size_t i = 0; i < b->choice.update_count; i++)
        if (str_eq(b->first.diff.changes[b->choice.updates[i].change].server.name, server))
            return true;
    return false;
}

/* Parked without a reload, but for a moment only: the transaction that follows removes those without a node. */
static void let_homeless_go(struct inspect_backend *b, const struct inspect_report *r)
{
    struct diff *d = &b->plan.diff;
    for (size_t i = 0; i < d->change_count; i++) {
        struct diff_change *c = &d->changes[i];
        const char *node = desired_node(b->desired, c->server.name);
        if (!c->parks || c->op != DIFF_CHANGE || !is_written(b, c->server.name) ||
            r->node_exists(r->node_arg, node != NULL ? node : c->server.name))
            continue;
        c->op = DIFF_REMOVE;
        c->parks = c->server.maintenance = false;
        c->fields = 0;
        c->detail[0] = '\0';
    }
    diff_sort(d);
}

/* As the driver would write them. Where the file is not kept: behind a Data Plane API a new server takes a reload, which begins its health check. */
static bool inspect_adds_these(const struct inspect_target *t, const struct inspect_backend *b)
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cleanup(cfg_file_fini) struct cfg_file to = {0};
    cleanup(changes_fini) struct changes changes = {0};
    cleanup(buf_wipe) struct buf text;
    cleanup(buf_fini) struct buf commands = {0};
    struct error err = {0};
    size_t count;
    bool adds = false;
    buf_init_secret(&text, 0);
    if (t->instance == NULL)
        return true;
    cleanup(mem_free_ptr) struct change *list = changes_of(&b->actual, &b->plan.diff, &count);
    const struct cfg_file *f = t->file != NULL ? cfg_content_file(t->file, &err) : NULL;
    for (size_t i = 0; i < count; i++) {
        changes_add(&changes, &list[i]);
        adds = adds || list[i].kind == CHANGE_ADD_SERVER;
    }
    if (f == NULL)
        return !adds || !instance_view(t->instance).regroups;
    if (count == 0 || cfg_backend_edit(f, list, count, &edits, &err) != 0)
        return false;
    cfg_file_print(f, &edits, NULL, &text);
    cfg_file_parse(&to, buf_str(&text), text.len);
    return instance_foresee(t->instance, &to, &changes, &commands, &err) == 0;
}

static void decide_ways(const struct inspect_target *t, struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    /* Without a reload a drain does not change the file; it is shown as a change only if it is not written. */
    bool commands = b->plan.verdict == PLAN_NOT_WRITTEN && b->in.at.open && !b->choice.transaction;
    /* Who comes and goes without a reload does not where another change of the backend takes one. */
    bool adds = t->adds && b->in.at.open && !b->in.dirty && !d->backend_change && !d->create_backend &&
                !b->actual.takes_no_weights;
    b->reloads = mem_array(d->change_count, sizeof(b->reloads[0]));
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        bool without =
            !b->in.dirty && c->op == DIFF_CHANGE &&
            (is_written(b, c->server.name) || (commands && diff_find_change(&b->first.diff, c->server.name) == NULL));
        b->reloads[i] = !without;
        adds = adds && (c->op != DIFF_CHANGE || without);
    }
    adds = adds && inspect_adds_these(t, b);
    for (size_t i = 0; i < d->change_count && adds; i++)
        b->reloads[i] = false;
}

static void decide_rest(const struct inspect_report *r, const struct inspect_target *t, struct inspect_backend *b,
                        bool reloads)
{
    struct backend_decision_input input = b->in;
    /* What needs no reload is written before that. */
    enum plan_verdict then = b->first.verdict == PLAN_WRITE ? PLAN_IN_SYNC : b->first.verdict;
    input.conflict = decide_pauses(b, then);
    input.for_file = needs_transaction(b) || (reloads && backend_decision_joins(&input, then));
    backend_decision_plan(&input, &b->plan);
    if (input.for_file && !backend_decision_suspended(&input) && !input.dirty && r->node_exists != NULL)
        let_homeless_go(b, r);
    decide_ways(t, b);
    if (b->plan.verdict == PLAN_WRITE && decide_pauses(b, PLAN_WRITE)) {
        char until[RFC3339_BYTES];
        char *delayed = b->plan.text;
        rfc3339_format(((int64_t)b->paused_until_ms + r->wall_minus_mono_ms) * 1000, 0, until);
        b->plan.text = mem_printf(
            "another writer keeps reverting the daemon's changes, so the daemon pauses writes until %s: %s%s%s", until,
            b->reverted != NULL ? b->reverted : "", delayed != NULL ? "; besides, " : "",
            delayed != NULL ? delayed : "");
        free(delayed);
        b->plan.why = b->plan.text;
        b->plan.verdict = PLAN_NOT_WRITTEN;
    }
}

void inspect_decide(const struct inspect_report *r, struct inspect_target *t)
{
    bool reloads = false;
    for (size_t i = 0; i < r->mapping_count; i++) {
        struct inspect_backend *b = &t->backends[i];
        struct backend_decision_input input = b->in;
        if (!b->seen)
            continue;
        /* What is not written is routed all the same, to show which way it would go. */
        input.as_if = true;
        input.conflict = false;
        backend_decision_plan(&input, &b->first);
        backend_decision_route(&input, &b->first, &b->choice);
        if (b->choice.update_count > 0 && !input.dirty && b->first.verdict != PLAN_REFUSE)
            look_ahead(input, b);
        if (backend_decision_suspended(&b->in) || decide_pauses(b, b->first.verdict))
            b->choice.command_count = 0;
        bool writes = needs_transaction(b) && !decide_pauses(b, PLAN_WRITE);
        reloads = reloads || writes || b->first.verdict == PLAN_RELOAD_AGAIN;
    }
    for (size_t i = 0; i < r->mapping_count; i++)
        if (t->backends[i].seen)
            decide_rest(r, t, &t->backends[i], reloads);
}

/* ---- the verdict, and the exit status */

enum inspect_verdict inspect_verdict(const struct inspect_backend *b)
{
    if (!b->seen)
        return INSPECT_UNKNOWN;
    bool only_commanded = b->plan.verdict == PLAN_IN_SYNC && b->choice.command_count > 0;
    return only_commanded ? INSPECT_CHANGES : (enum inspect_verdict)b->plan.verdict;
}

static const struct {
    const char *word;
    int status;
} verdicts[] = {
    [INSPECT_IN_SYNC] = {"in_sync", EXIT_SUCCESS},
    [INSPECT_CHANGES] = {"changes", INSPECT_EXIT_CHANGES},
    [INSPECT_RELOAD_AGAIN] = {"reload_again", INSPECT_EXIT_CHANGES},
    [INSPECT_NO_ENDPOINT] = {"no_endpoint", INSPECT_EXIT_CHANGES},
    [INSPECT_LOSS_LIMIT] = {"loss_limit", INSPECT_EXIT_CHANGES},
    [INSPECT_NOT_WRITTEN] = {"not_written", INSPECT_EXIT_CHANGES},
    [INSPECT_REFUSED] = {"refused", INSPECT_EXIT_UNKNOWN},
    [INSPECT_WAITING] = {"waiting", INSPECT_EXIT_UNKNOWN},
    [INSPECT_UNKNOWN] = {"unknown", INSPECT_EXIT_UNKNOWN},
};

const char *inspect_verdict_word(enum inspect_verdict v)
{
    return verdicts[v].word;
}

int inspect_worse(int a, int b)
{
    if (a == INSPECT_EXIT_UNKNOWN || b == INSPECT_EXIT_UNKNOWN)
        return INSPECT_EXIT_UNKNOWN;
    return a != EXIT_SUCCESS ? a : b;
}

int inspect_target_status(const struct inspect_report *r, const struct inspect_target *t)
{
    int worst = EXIT_SUCCESS;
    for (size_t m = 0; m < r->mapping_count; m++)
        worst = inspect_worse(worst, verdicts[inspect_verdict(&t->backends[m])].status);
    return worst;
}

int inspect_plan_status(const struct inspect_report *r)
{
    int worst = r->incomplete ? INSPECT_EXIT_UNKNOWN : EXIT_SUCCESS;
    for (size_t t = 0; t < r->target_count; t++)
        worst = inspect_worse(worst, inspect_target_status(r, &r->targets[t]));
    return worst;
}

int inspect_explain_status(const struct inspect_report *r)
{
    for (size_t m = 0; m < r->mapping_count; m++)
        if (r->mappings[m].node_known)
            return EXIT_SUCCESS;
    return INSPECT_EXIT_UNKNOWN;
}
