/* Runtime commands: states of servers in the running HAProxy alone, on a connection of their own that overtakes what is
 * written to the file. Nothing of it outlives a reload; the next reading finds what is to be commanded again. */
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/instance_internal.h"

static void instance_send_next(struct instance *in);

void instance_forget_commands(struct instance *in)
{
    if (instance_driver(in)->runtime)
        instance_driver(in)->ops->cancel(instance_driver(in), true);
    commands_drop_from(&in->commands, 0);
    in->commands.busy = false;
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

void instance_command(struct instance *in, struct instance_backend *b, const struct runtime_command *list, size_t count,
                      uint64_t event_us)
{
    bool add = !in->stopping && clock_mono_ms() >= in->commands.not_before_ms;
    commands_set(&in->commands, b, list, count, add, event_us);
    if (add)
        instance_send_next(in);
}

static struct runtime_command instance_as_given(const struct command *c)
{
    return (struct runtime_command){.name = c->name, .state = c->state, .why = c->why};
}

static void instance_command_done(struct instance *in, const struct command *c, uint64_t took_us)
{
    const struct runtime_command given = instance_as_given(c);
    commands_forget_failures(&in->commands);
    c->backend->as_before = c->backend->runs_file = false; /* the file is as it was read */
    struct runtime *r = &c->backend->runtime;
    const struct runtime_server *row = runtime_find(r, c->name);
    if (row != NULL)
        runtime_set_admin(&r->servers[row - r->servers], c->state);
    const struct engine *e = c->backend->servers_of;
    if (e->ops->command_done != NULL)
        e->ops->command_done(e->self, c->backend, &given, in->phase == INSTANCE_READING, took_us, c->event_us);
}

static void instance_command_failed(struct instance *in, const struct command *c, const struct error *err)
{
    const struct runtime_command given = instance_as_given(c);
    if (err->kind == ERROR_AUTH)
        (void)instance_driver(in)->ops->renew(instance_driver(in), true);
    /* It says something else, or cannot do it, time and again; where nothing was fresh, it may just be away. */
    bool in_vain = commands_failed(&in->commands, in->fresh, err->kind == ERROR_INVALID, clock_mono_ms());
    instance_outdated(in);
    if (in_vain && in->reload.state != RELOAD_PENDING) {
        commands_forget_failures(&in->commands);
        instance_not_verified(in, err);
    }
    bool unanswered = err->http_status == 0 && err->kind == ERROR_RETRY;
    const struct engine *e = c->backend->servers_of;
    if (e->ops->command_failed != NULL)
        e->ops->command_failed(e->self, c->backend, &given, unanswered, err);
}

void instance_commanded_one(void *arg, uint64_t took_us, const struct error *err)
{
    struct instance *in = arg;
    const struct command c = in->commands.list[0];
    in->commands.busy = false;
    metric_add(in->options.telemetry->runtime_commands, 1, runtime_admin_name(c.state),
               err == NULL ? "applied" : error_kind_name(err->kind), instance_url(in), NULL);
    if (err == NULL)
        instance_command_done(in, &c, took_us);
    else
        instance_command_failed(in, &c, err);
    commands_drop(&in->commands, 0);
    instance_send_next(in);
    if (err != NULL || instance_commanded(in, c.backend)) /* else all waits for the rest, of perhaps some thousand */
        instance_step(in);
    if (in->commands.count == 0)
        ENGINES_DO(in, commands_done);
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
