/* What the driver can do, its commands, its life. */
#include "haproxy/local/driver.h"

#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/local/driver_internal.h"

/* ---- reloads that others asked for ---- */

static void local_driver_tell_last_reload(struct driver *base)
{
    const struct reload_history none = {.unlisted = true};
    base->events->last_reload_told(base->arg, &none, NULL);
}

static void local_driver_ask_last_reload(struct driver *base)
{
    local_driver_tell(local_driver_of(base), local_driver_tell_last_reload);
}

/* ---- commands ---- */

static void local_driver_on_command(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    d->command = NULL;
    bool done = a->status == LOCAL_OK && cli_read_done(a->data, &err) == 0;
    if (a->status != LOCAL_OK)
        (void)error_set(&err, ERROR_RETRY, "%s", a->message);
    d->base.events->commanded(d->base.arg, 0, done ? NULL : &err);
}

static void local_driver_command(struct driver *base, const char *backend, const char *server, enum runtime_admin state)
{
    struct local_driver *d = local_driver_of(base);
    cleanup(mem_free_ptr) char *command =
        mem_printf("set server %s/%s state %s", backend, server, runtime_admin_name(state));
    d->command = local_command(d->options.commands, LOCAL_SOCKET_STATS, command, local_driver_on_command, d);
}

/* ---- life ---- */

static bool local_driver_renew(struct driver *d, bool commands)
{
    (void)d;
    (void)commands;
    return false; /* there are no credentials */
}

static void local_driver_cancel(struct driver *base, bool commands)
{
    struct local_driver *d = local_driver_of(base);
    if (commands) {
        local_request_cancel(d->command);
        d->command = NULL;
        return;
    }
    timer_cancel(&d->news.timer);
    local_driver_read_cancel(d);
    local_driver_write_cancel(d);
    local_driver_update_cancel(d);
    local_driver_store_cancel(d);
    local_driver_release(d);
    d->reload.waits = NULL;
}

static void local_driver_free(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    local_driver_cancel(base, true);
    local_driver_cancel(base, false);
    local_driver_read_fini(d);
    local_driver_write_fini(d);
    local_driver_update_fini(d);
    local_driver_store_fini(d);
    local_driver_leaving_fini(&d->leaving);
    local_driver_reload_fini(d);
    local_driver_file_fini(d);
    free(d);
}

static const struct driver_ops local_driver_ops = {.read = local_driver_read,
                                                   .add = local_driver_add,
                                                   .write = local_driver_write,
                                                   .abort = local_driver_abort,
                                                   .update = local_driver_update,
                                                   .replace = local_driver_replace,
                                                   .foresee = local_driver_foresee,
                                                   .store = local_driver_store,
                                                   .set_running = local_driver_set_running,
                                                   .command = local_driver_command,
                                                   .ask_reload = local_driver_ask_reload,
                                                   .ask_last_reload = local_driver_ask_last_reload,
                                                   .ask_served = local_driver_ask_served,
                                                   .renew = local_driver_renew,
                                                   .cancel = local_driver_cancel,
                                                   .free = local_driver_free};

struct driver *local_driver_new(struct event_base *base, const struct local_driver_options *options)
{
    struct local_driver *d = mem_alloc(sizeof(*d));
    d->base = (struct driver){.ops = &local_driver_ops,
                              .name = options->file,
                              .fails = "cannot change HAProxy's configuration",
                              .runtime = options->commands != NULL,
                              .adds = options->commands != NULL,
                              .tells_ends = true};
    d->options = *options;
    local_driver_file_init(d, base);
    local_driver_read_init(d, base);
    local_driver_write_init(d, base);
    local_driver_update_init(d, base);
    local_driver_store_init(d);
    local_driver_leaving_init(d, base);
    local_driver_reload_init(d, base);
    return &d->base;
}
