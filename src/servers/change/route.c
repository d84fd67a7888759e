#include "servers/change/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"

#define WHY_DRAINS "it drains"
#define WHY_LEAVES "it is no longer desired"
#define WHY_BACK "it is desired again"
#define WHY_DELAYED "its removal is delayed by the loss limit"
#define WHY_FILE "haproxy.cfg has it in maintenance"
#define WHY_OPERATOR "an operator set it before HAProxy was reloaded"

/* ---- the choice so far ---- */

struct chooser {
    const struct route_input *in;
    struct route *ret;
    struct diff_lines lines;
    const char **leaving; /* servers whose live lines the changes take away; ordered */
    size_t leaving_count;
    enum runtime_admin *after; /* of each row of the runtime: the state once all of this is done */
};

static void chooser_fini(struct chooser *c)
{
    diff_lines_fini(&c->lines);
    mem_free_all(c->leaving, c->after);
}

static bool sets_maintenance(const struct diff_change *c)
{
    return c->op == DIFF_CHANGE && (c->fields & SERVER_MAINTENANCE) && c->server.maintenance;
}

static enum runtime_admin *after_of(const struct chooser *c, const struct runtime_server *row)
{
    return &c->after[row - c->in->runtime->servers];
}

static bool is_being_written(const struct chooser *c, const char *name)
{
    return str_eq(c->in->being_written, name);
}

/* Cannot be counted on for new connections whatever its state is: backup servers only stand in, a weight of 0 gets
 * none, the result of a write or command that is under way or unanswered is unknown (an API that hung may still carry it
 * out), and another cluster may take its own away in the same moment, which only a write finds out. */
static bool does_not_count(const struct chooser *c, const struct backend_server *line, const struct runtime_server *row)
{
    const struct admin_state *mark = admin_states_any(c->in->memory, row->name);
    return line->backup ||
           (c->in->rules->cluster != NULL && diff_server_is_foreign(line, c->in->rules, c->in->desired)) ||
           row->unresolved || is_being_written(c, line->name) || str_eq(c->in->being_stopped, line->name) ||
           (mark != NULL && mark->unanswered) || (row->weight >= 0 ? row->weight : line->weight) == 0;
}

/* Where several clusters share the backend, a server without a line does not count either: it runs until the next
 * reload, which may be another one's at any moment. */
static void route_read_states(struct chooser *c)
{
    const struct runtime *r = c->in->runtime;
    bool shared = c->in->rules->cluster != NULL;
    c->after = mem_array(r->count, sizeof(c->after[0]));
    for (size_t i = 0; i < r->count; i++)
        c->after[i] = shared && backend_find_template(c->in->actual, r->servers[i].name) == NULL
                          ? RUNTIME_MAINT
                          : admin_state_now(admin_states_any(c->in->memory, r->servers[i].name), &r->servers[i]);
    for (size_t i = 0, at = 0; i < c->in->actual->server_count; i++) {
        const struct backend_server *line = &c->in->actual->servers[i];
        const struct runtime_server *row = runtime_find_next(r, line->name, &at);
        if (row != NULL && does_not_count(c, line, row))
            *after_of(c, row) = RUNTIME_MAINT;
        else if (row != NULL && shared)
            *after_of(c, row) = admin_state_now(admin_states_any(c->in->memory, row->name), row);
    }
}

static bool any_ready(const struct chooser *c)
{
    for (size_t i = 0; i < c->in->runtime->count; i++)
        if (c->after[i] == RUNTIME_READY)
            return true;
    return false;
}

/* NULL: not desired, or a server of its name cannot be managed. */
static const struct desired_server *desired_for(const struct chooser *c, const char *name)
{
    for (size_t i = 0; i < c->in->diff->skip_count; i++)
        if (strcmp(c->in->diff->skips[i].name, name) == 0)
            return NULL;
    return desired_find(c->in->desired, name);
}

/* ---- commands ---- */

/* It stands where a desired server is to be that does not run yet: it serves in its place until that does. */
static bool stands_in(const struct chooser *c, const char *name)
{
    const struct runtime_server *row = runtime_find(c->in->runtime, name);
    for (size_t i = 0; row != NULL && i < c->in->desired->server_count; i++) {
        const struct desired_server *want = &c->in->desired->servers[i];
        if (want->state != SERVER_LIVE || want->port != row->port || !address_eq(want->address, row->address))
            continue;
        const struct runtime_server *own = runtime_find(c->in->runtime, want->name);
        return own == NULL || *after_of(c, own) != RUNTIME_READY;
    }
    return false;
}

/* The reason of a command for a live line; NULL: no command. */
static const char *call_for_live(const struct chooser *c, const char *name, const struct admin_state *mark,
                                 enum runtime_admin now, enum runtime_admin *ret)
{
    const struct desired_server *want = desired_for(c, name);
    /* Or its line was brought back, and no reload has come yet: the command need not wait for that. */
    bool by_us = now != RUNTIME_READY && (mark->ours != RUNTIME_READY || (mark->in_file && now == RUNTIME_MAINT));
    if (want == NULL && c->leaving_count > 0 &&
        bsearch(&name, c->leaving, c->leaving_count, sizeof(c->leaving[0]), str_order) != NULL) {
        *ret = RUNTIME_MAINT;
        return now != RUNTIME_MAINT && !stands_in(c, name) ? WHY_LEAVES : NULL;
    }
    if (mark->theirs != RUNTIME_READY) {
        *ret = mark->theirs;
        return now != mark->theirs && (mark->lost || mark->parked || by_us) ? WHY_OPERATOR : NULL;
    }
    if (want != NULL && want->state == SERVER_DRAINING) {
        *ret = RUNTIME_DRAIN;
        return now == RUNTIME_READY || (now == RUNTIME_MAINT && mark->ours == RUNTIME_MAINT) ? WHY_DRAINS : NULL;
    }
    *ret = RUNTIME_READY;
    return now == RUNTIME_READY || !by_us ? NULL : want != NULL ? WHY_BACK : WHY_DELAYED;
}

static const char *call_for(const struct chooser *c, const struct backend_server *line,
                            const struct runtime_server *row, enum runtime_admin *ret)
{
    static const struct admin_state none;
    const struct admin_state *mark = admin_states_any(c->in->memory, line->name);
    enum runtime_admin now = admin_state_now(mark, row);
    if (!line->maintenance)
        return call_for_live(c, line->name, mark != NULL ? mark : &none, now, ret);
    const struct desired_server *want = desired_for(c, line->name);
    bool back = c->in->held_up && want != NULL && want->state == SERVER_LIVE && now == RUNTIME_MAINT &&
                (mark == NULL || mark->theirs == RUNTIME_READY) && row->port == want->port &&
                address_eq(row->address, want->address);
    *ret = back ? RUNTIME_READY : RUNTIME_MAINT;
    if (back) /* where it is to be: the file says so later */
        return WHY_BACK;
    bool goes = want == NULL ? !stands_in(c, line->name) : want->state != SERVER_LIVE;
    return now == RUNTIME_READY && goes ? WHY_FILE : NULL;
}

/* One is desired live that HAProxy does not have so yet: a write, a transaction or its reload brings it. */
static bool one_is_to_come(const struct chooser *c)
{
    for (size_t i = 0; i < c->in->desired->server_count; i++) {
        const struct desired_server *want = &c->in->desired->servers[i];
        const struct runtime_server *row = runtime_find(c->in->runtime, want->name);
        const struct admin_state *mark = admin_states_any(c->in->memory, want->name);
        bool overridden = mark != NULL && mark->theirs != RUNTIME_READY;
        if (want->state == SERVER_LIVE && desired_for(c, want->name) != NULL && !overridden &&
            (row == NULL || *after_of(c, row) != RUNTIME_READY))
            return true;
    }
    return false;
}

static void apply_call(const struct chooser *c, const struct runtime_command *call)
{
    *after_of(c, runtime_find(c->in->runtime, call->name)) = call->state;
}

/* Adds the commands that bring something back, or the others. */
static void add_calls(struct chooser *c, bool back)
{
    for (size_t i = 0, at = 0; i < c->lines.count; i++) {
        const struct backend_server *line = c->lines.list[i].server;
        const struct runtime_server *row = runtime_find_next(c->in->runtime, line->name, &at);
        struct runtime_command call = {.name = line->name};
        if (!diff_line_is_own(&c->lines.list[i]) || is_being_written(c, line->name))
            continue;
        call.why = row != NULL && !row->unresolved ? call_for(c, line, row, &call.state) : NULL;
        if (call.why != NULL && (call.state == RUNTIME_READY) == back)
            c->ret->commands[c->ret->command_count++] = call;
    }
}

static void choose_calls(struct chooser *c)
{
    c->ret->commands = mem_array(c->lines.count, sizeof(c->ret->commands[0]));
    add_calls(c, true);
    add_calls(c, false);
    for (size_t i = 0; i < c->ret->command_count; i++)
        apply_call(c, &c->ret->commands[i]);
    if (any_ready(c))
        return;
    /* An operator's state does not wait. That of the file does, for a server that is to come: a commit may have replaced
     * what runs until its reload. */
    bool one_comes = one_is_to_come(c);
    size_t left = 0;
    for (size_t i = 0; i < c->ret->command_count; i++) {
        const struct runtime_command *call = &c->ret->commands[i];
        bool takes_away = str_eq(call->why, WHY_LEAVES) || str_eq(call->why, WHY_DRAINS);
        if (!takes_away && !(one_comes && str_eq(call->why, WHY_FILE)))
            c->ret->commands[left++] = *call;
    }
    c->ret->command_count = left;
    free(c->after);
    route_read_states(c);
    for (size_t i = 0; i < c->ret->command_count; i++)
        apply_call(c, &c->ret->commands[i]);
}

/* ---- transactions ---- */

static void need_transaction(struct route *ret, char *why)
{
    ret->transaction = true;
    if (ret->why == NULL)
        ret->why = why;
    else
        free(why);
}

/* Why it cannot be written without one; NULL: it can, or it waits for another. */
static char *transaction_reason(const struct chooser *c, const struct diff_change *change, bool open)
{
    const char *name = change->server.name;
    switch (change->op) {
    case DIFF_ADD:
        return mem_printf("server %s is new", name);
    case DIFF_REMOVE:
        return change->lazy ? NULL : mem_printf("server %s is removed", name);
    case DIFF_CHANGE:
        break;
    }
    if (!open || change->structural)
        return mem_printf("server %s: %s", name, change->detail);
    return runtime_find(c->in->runtime, name) == NULL ? mem_printf("HAProxy does not run server %s yet", name) : NULL;
}

/* ---- writes ---- */

static void choose_writes(struct chooser *c)
{
    struct route *ret = c->ret;
    ret->updates = mem_array(c->in->diff->change_count, sizeof(ret->updates[0]));
    for (unsigned wanted = 0; wanted <= 2; wanted++)
        for (size_t i = 0; i < c->in->diff->change_count; i++) {
            const struct diff_change *change = &c->in->diff->changes[i];
            unsigned rank = sets_maintenance(change)                                                 ? 2
                            : (change->fields & (SERVER_MAINTENANCE | SERVER_ADDRESS | SERVER_PORT)) ? 0
                                                                                                     : 1;
            if (change->op != DIFF_CHANGE || rank != wanted)
                continue;
            cleanup(mem_free_ptr) char *why = transaction_reason(c, change, true);
            bool keeps = (change->fields & SERVER_MAINTENANCE) && !change->server.maintenance &&
                         (change->fields & (SERVER_ADDRESS | SERVER_PORT));
            if (why == NULL)
                ret->updates[ret->update_count++] = (struct route_update){i, keeps};
        }
    if (ret->update_count > ROUTE_UPDATES_MAX) {
        need_transaction(ret, mem_printf("%zu changes at once", ret->update_count));
        ret->update_count = 0;
        return;
    }
    for (size_t i = 0; i < ret->update_count; i++) {
        const struct diff_change *change = &c->in->diff->changes[ret->updates[i].change];
        if ((change->fields & SERVER_MAINTENANCE) && !ret->updates[i].keep_maintenance)
            *after_of(c, runtime_find(c->in->runtime, change->server.name)) =
                change->server.maintenance ? RUNTIME_MAINT : RUNTIME_READY;
    }
    /* What leaves goes to the transaction, or waits until another is there: the last ones of the list. */
    if (!any_ready(c) && (ret->transaction || one_is_to_come(c)))
        while (ret->update_count > 0 &&
               sets_maintenance(&c->in->diff->changes[ret->updates[ret->update_count - 1].change]))
            ret->update_count--;
}

void route_choose(const struct route_input *in, struct route *ret)
{
    bool open = in->open && in->runtime->readable;
    *ret = (struct route){.transaction = false};
    if (!in->may_write || in->diff->verdict == DIFF_NO_ENDPOINT || in->diff->verdict == DIFF_REFUSE)
        return;
    cleanup(chooser_fini) struct chooser c = {.in = in, .ret = ret};
    diff_lines_read(&c.lines, in->actual, in->desired, in->rules);
    const struct diff *d = in->diff;
    if (d->create_backend)
        need_transaction(ret, mem_strdup("the backend is new"));
    for (size_t i = 0; i < d->change_count; i++) {
        char *why = transaction_reason(&c, &d->changes[i], open);
        if (why != NULL)
            need_transaction(ret, why);
    }
    if (d->backend_change)
        need_transaction(ret, mem_printf("the backend: %s", d->backend_detail));
    if (!open)
        return;
    c.leaving = mem_array(d->change_count, sizeof(c.leaving[0]));
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].op == DIFF_REMOVE || sets_maintenance(&d->changes[i]))
            c.leaving[c.leaving_count++] = d->changes[i].server.name;
    if (c.leaving_count > 1)
        qsort(c.leaving, c.leaving_count, sizeof(c.leaving[0]), str_order);
    route_read_states(&c);
    choose_calls(&c);
    ret->commands = mem_resize(ret->commands, ret->command_count, sizeof(ret->commands[0])); /* it is kept */
    choose_writes(&c);
}

void route_fini(struct route *c)
{
    mem_free_all(c->commands, c->updates, c->why);
    *c = (struct route){.transaction = false};
}
