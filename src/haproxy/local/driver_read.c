/* What the running HAProxy has: the servers of each backend, and at last who answers, so that a reload since the file was read
 * shows as another worker than at the last reading. Whatever it says, the file was read. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "haproxy/local/driver_internal.h"

static void driver_read_finish(struct local_driver *d)
{
    local_driver_release(d);
    d->base.events->was_read(d->base.arg, NULL);
}

/* What a reading of nobody is worth, for the backends from `at` on. */
static void driver_read_give_up(struct local_driver *d, const char *why)
{
    d->silent = true;
    d->to->worker_silent = d->to->worker_pid < 0;
    for (size_t i = d->at; i < d->to->count; i++)
        d->to->found[i].runtime.why = mem_strdup(why);
    driver_read_finish(d);
}

/* ---- who answers ---- */

/* Another one than before a reload that nobody told the end of: it came about after all. */
static void driver_read_find_lost_reload(struct local_driver *d)
{
    const struct local_reload *o = &d->reload;
    if (!d->unloaded || o->step != LOCAL_RELOAD_LOST || o->loads != d->version || o->worker < 0 ||
        o->worker == d->to->worker_pid)
        return;
    local_request_cancel(local_driver_loaded(d, NULL));
    d->to->unloaded = false;
}

static void driver_read_on_info(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct cli_info info;
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK || cli_info_read(&info, a->data, &err) != 0) {
        driver_read_give_up(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    d->silent = false;
    d->to->worker_pid = info.pid;
    d->to->worker_uptime_s = info.uptime_s;
    memcpy(d->haproxy, info.version, sizeof(d->haproxy));
    snprintf(d->to->haproxy, sizeof(d->to->haproxy), "%s", info.version);
    driver_read_find_lost_reload(d);
    driver_read_finish(d);
}

/* ---- servers ---- */

/* CLI_ADMIN_CONFIGURED_MAINTENANCE says only that the line was `disabled` when HAProxy loaded it: such a server is in
 * maintenance by the forced one, too, until it is told to be ready. */
static enum runtime_admin driver_read_admin(unsigned admin)
{
    return admin & CLI_ADMIN_FORCED_MAINTENANCE ? RUNTIME_MAINT
           : admin & CLI_ADMIN_FORCED_DRAIN     ? RUNTIME_DRAIN
                                                : RUNTIME_READY;
}

void local_driver_take_server(struct runtime_server *ret, const struct cli_server *s)
{
    *ret = (struct runtime_server){.name = shared_text(s->name),
                                   .address = shared_text(s->address),
                                   .port = (uint16_t)s->port,
                                   .weight = (int)s->weight,
                                   .admin = driver_read_admin(s->admin),
                                   .unresolved = (s->admin & CLI_ADMIN_UNRESOLVED) != 0,
                                   .unchecked =
                                       (s->check & (CLI_CHECK_CONFIGURED | CLI_CHECK_ENABLED)) == CLI_CHECK_CONFIGURED,
                                   .from_file = (s->admin & CLI_ADMIN_CONFIGURED_MAINTENANCE) != 0,
                                   .down = s->operation == CLI_STOPPED};
}

/* One that leaves is as good as gone: its line is, and nobody new comes to it. An earlier daemon may have begun that. */
static bool driver_read_leaves(const struct local_driver *d, const struct cli_server *s)
{
    const struct backend *b = &d->to->found[d->at].backend;
    return local_driver_leaves(d, b->name, s->name) ||
           (driver_read_admin(s->admin) == RUNTIME_MAINT && backend_find(b, s->name) == NULL &&
            backend_find_template(b, s->name) == NULL);
}

static void driver_read_take_servers(const struct local_driver *d, struct runtime *r, const struct cli_servers *all)
{
    r->servers = mem_array(all->count, sizeof(r->servers[0]));
    for (size_t i = 0; i < all->count; i++)
        if (!driver_read_leaves(d, &all->servers[i]))
            local_driver_take_server(&r->servers[r->count++], &all->servers[i]);
    r->readable = true;
    runtime_sort(r);
}

static void driver_read_next(struct local_driver *d);

static void driver_read_on_servers(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct runtime *r = &d->to->found[d->at].runtime;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_read_give_up(d, a->message);
        return;
    }
    if (cli_servers_init(&all, a->data, &err) == 0)
        driver_read_take_servers(d, r, &all);
    else
        r->why = mem_strdup(err.message);
    d->at++;
    driver_read_next(d);
}

/* The next backend from `at` on that there is. */
static void driver_read_next(struct local_driver *d)
{
    while (d->at < d->to->count && !d->to->found[d->at].backend.exists)
        d->at++;
    if (d->at == d->to->count) {
        d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, "show info", driver_read_on_info, d);
        return;
    }
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", d->to->names[d->at]);
    d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_read_on_servers, d);
}

void local_driver_read_running(struct local_driver *d)
{
    if (d->base.runtime)
        driver_read_next(d);
    else
        driver_read_finish(d);
}
