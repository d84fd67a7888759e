/* What changes the running HAProxy beside a reload. Runtime updates: one server, in the file and in HAProxy, verified by
 * reading it back. Runtime commands: states of servers in HAProxy alone, on a connection of their own that overtakes what is
 * written to the file; nothing of them outlives a reload, and the next reading finds what is to be commanded again. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "haproxy/instance_internal.h"

/* ---- whether HAProxy applies them ---- */

bool instance_runtime_usable(struct instance *in, const struct instance_backend *b)
{
    enum verification_state was = in->verification.state;
    verification_age(&in->verification, clock_mono_ms());
    if (in->verification.state != was)
        instance_show_verification(in);
    return instance_driver(in)->runtime && verification_usable(&in->verification, in->backoffs.no_room) &&
           b->runtime.readable;
}

static void instance_not_verified(struct instance *in, const struct error *why)
{
    bool again = verification_failed(&in->verification, clock_mono_ms());
    instance_must_reload(in); /* whatever the file says now */
    log_warn(in->options.log,
             again ? "runtime update again not applied by HAProxy; using transactions and reloads for an hour"
                   : INSTANCE_UPDATE_NOT_APPLIED "; using transactions and reloads until the next reload",
             log_str("target", instance_url(in)), log_str("error", why->message));
    instance_show_verification(in);
}

/* ---- updates ---- */

int instance_send_update(struct instance *in, struct instance_backend *b, const struct update_request *request,
                         struct error *err)
{
    struct instance_update *u = &in->update;
    u->backend = b;
    free(u->server);
    u->server = mem_strdup(request->server->name);
    return instance_driver(in)->ops->update(instance_driver(in), in->version, request, err);
}

const char *instance_updating(const struct instance *in, const struct instance_backend *b)
{
    return in->phase == INSTANCE_UPDATING && in->update.backend == b ? in->update.server : NULL;
}

void instance_take_server(struct instance *in, const struct updated *u)
{
    const struct backend_server *is = u->wanted;
    struct instance_backend *b = in->update.backend;
    instance_backend_differs(b);
    for (size_t i = 0; i < b->actual.server_count; i++) {
        struct backend_server *at = &b->actual.servers[i];
        if (!str_eq(at->name, is->name))
            continue;
        backend_server_fini(at);
        backend_server_copy(at, is);
    }
    for (size_t i = 0; i < b->runtime.count; i++) {
        struct runtime_server *at = &b->runtime.servers[i];
        if (!str_eq(at->name, is->name))
            continue;
        shared_text_set(&at->address, is->address);
        at->port = is->port;
        if (u->fields & SERVER_MAINTENANCE)
            runtime_set_admin(at, is->maintenance ? RUNTIME_MAINT : RUNTIME_READY);
    }
}

static void instance_took_effect(struct instance *in, const struct updated *u)
{
    int64_t was_version = in->version;
    const struct runtime_server *was = runtime_find(&in->update.backend->runtime, u->wanted->name);
    /* Whether what was read back can come of the update alone: maintenance was commanded before, mostly. */
    bool by_update =
        !(u->fields == SERVER_MAINTENANCE && u->wanted->maintenance && was != NULL && was->admin == RUNTIME_MAINT);
    instance_wrote_server(in, u->version);
    instance_take_server(in, u);
    ENGINES_DO(in, updated, in->update.backend, u, was_version);
    instance_write_succeeded(in);
    backoffs_updated(&in->backoffs);
    if (!verification_passed(&in->verification, by_update))
        return;
    log_info(in->options.log, "runtime updates verified", log_str("target", instance_url(in)));
    instance_show_verification(in);
}

void instance_take_update(struct instance *in, const struct updated *u)
{
    const char *result = update_result_name(u->result);
    bool by_reload = u->result == UPDATE_RELOADS || u->result == UPDATE_UNVERIFIED;
    metric_add(in->options.metrics->runtime_updates, 1, result, instance_url(in), NULL);
    instance_count_reconcile(in, result);
    if (by_reload) { /* the file has it, and what runs will have it by a reload */
        instance_wrote(in, u->version);
        ENGINES_DO(in, updated, in->update.backend, u, in->version);
        instance_outdated(in);
    }
    if (u->result == UPDATE_UNVERIFIED && in->loading.reload.state == RELOAD_PENDING) {
        /* The reload may have missed the update, or left the question unanswered: it is no sign of anything. */
        instance_must_reload(in);
        log_info(in->options.log, "runtime update during a reload not verified; reloading again",
                 log_str("target", instance_url(in)), log_str("error", u->error.message));
    } else if (by_reload) {
        instance_not_verified(in, &u->error);
    } else if (u->result == UPDATE_WRITTEN) {
        instance_took_effect(in, u);
    } else {
        static const enum transaction_result as_transaction[] = {[UPDATE_CONFLICT] = TRANSACTION_CONFLICT,
                                                                 [UPDATE_REJECTED] = TRANSACTION_REJECTED,
                                                                 [UPDATE_UNAUTHORIZED] = TRANSACTION_UNAUTHORIZED,
                                                                 [UPDATE_UNKNOWN] = TRANSACTION_UNKNOWN,
                                                                 [UPDATE_UNAVAILABLE] = TRANSACTION_UNAVAILABLE};
        instance_outdated(in);
        instance_write_failed(in, as_transaction[u->result], &u->error, u->retry_after_ms);
    }
    if (u->result == UPDATE_RELOADS)
        instance_reload_comes(in, u->reload_id);
    instance_writes_none(in);
}

/* ---- commands ---- */

void instance_forget_commands(struct instance *in)
{
    struct commands *q = &in->commands;
    if (instance_driver(in)->runtime)
        instance_driver(in)->ops->cancel(instance_driver(in), true);
    commands_drop_from(q, 0);
    q->busy = false;
}

bool instance_commanded(const struct instance *in, const struct instance_backend *b)
{
    return !commands_any(&in->commands, b);
}

const char *instance_taking_out(const struct instance *in, const struct instance_backend *b)
{
    const struct commands *q = &in->commands;
    return q->busy && q->list[0].backend == b && q->list[0].state != RUNTIME_READY ? q->list[0].name : NULL;
}

static struct runtime_command instance_as_given(const struct command *c)
{
    return (struct runtime_command){.name = c->name, .state = c->state, .why = c->why};
}

static void instance_send_next(struct instance *in)
{
    struct commands *q = &in->commands;
    if (q->busy || q->count == 0 || in->stopping)
        return;
    const struct command *c = &q->list[0];
    const struct runtime_command given = instance_as_given(c);
    q->busy = true;
    /* From here on a reading may show it, and must not take it for an operator's, nor one after an answer that was
     * lost. */
    const struct engine *e = c->backend->servers_of;
    if (e->ops->command_sent != NULL)
        e->ops->command_sent(e->self, c->backend, &given);
    instance_driver(in)->ops->command(instance_driver(in), c->backend->name, c->name, c->state);
}

void instance_command(struct instance *in, struct instance_backend *b, const struct runtime_command *list, size_t count,
                      uint64_t event_us)
{
    bool add = !in->stopping && clock_mono_ms() >= in->commands.not_before_ms;
    commands_set(&in->commands, b, list, count, add, event_us);
    if (add)
        instance_send_next(in);
}

static void instance_command_failed(struct instance *in, const struct command *c, const struct error *err)
{
    const struct runtime_command given = instance_as_given(c);
    if (err->kind == ERROR_AUTH)
        (void)instance_driver(in)->ops->renew(instance_driver(in), true);
    /* It says something else, or cannot do it, time and again; where nothing was fresh, it may just be away. */
    bool in_vain = commands_failed(&in->commands, in->fresh, err->kind == ERROR_INVALID, clock_mono_ms());
    instance_outdated(in);
    if (in_vain && in->loading.reload.state != RELOAD_PENDING) {
        commands_forget_failures(&in->commands);
        instance_not_verified(in, err);
    }
    bool unanswered = err->http_status == 0 && err->kind == ERROR_RETRY;
    const struct engine *e = c->backend->servers_of;
    if (e->ops->command_failed != NULL)
        e->ops->command_failed(e->self, c->backend, &given, unanswered, err);
}

void instance_take_command(struct instance *in, uint64_t took_us, const struct error *err)
{
    struct commands *q = &in->commands;
    const struct command c = q->list[0];
    q->busy = false;
    metric_add(in->options.metrics->runtime_commands, 1, runtime_admin_name(c.state),
               err == NULL ? "applied" : error_kind_name(err->kind), instance_url(in), NULL);
    if (err == NULL) {
        const struct runtime_command given = instance_as_given(&c);
        commands_forget_failures(&in->commands);
        c.backend->as_before = c.backend->runs_file = false; /* the file is as it was read */
        struct runtime *r = &c.backend->runtime;
        const struct runtime_server *row = runtime_find(r, c.name);
        if (row != NULL)
            runtime_set_admin(&r->servers[row - r->servers], c.state);
        const struct engine *e = c.backend->servers_of;
        if (e->ops->command_done != NULL)
            e->ops->command_done(e->self, c.backend, &given, in->phase == INSTANCE_READING, took_us, c.event_us);
    } else {
        instance_command_failed(in, &c, err);
    }
    commands_drop(q, 0);
    instance_send_next(in);
}
