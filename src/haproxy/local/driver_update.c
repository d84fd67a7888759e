/* One server, in the file and in the running HAProxy, without a reload. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/drift.h"
#include "haproxy/local/driver_internal.h"

static void driver_update_tell(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    struct local_update *u = &d->update;
    u->news.wanted = &u->wanted;
    u->news.fields = u->fields;
    u->news.version = d->version;
    u->news.retry_after_ms = -1;
    u->news.write_us = u->write_us;
    u->news.read_us = clock_mono_us() - u->begin_us - u->write_us;
    local_driver_write_forget(d);
    local_driver_release(d);
    const struct updated news = u->news;
    base->events->updated(base->arg, &news);
}

static void driver_update_unverified(struct local_driver *d, const char *why)
{
    struct local_update *u = &d->update;
    u->news.result = UPDATE_UNVERIFIED;
    (void)error_set(&u->news.error, ERROR_INVALID,
                    "server %s is as desired in haproxy.cfg, but not verified at runtime: %s; a reload follows",
                    u->wanted.name, why);
    driver_update_tell(&d->base);
}

/* How the row read back differs from what was written. A live line may be in maint or have another weight, set by an
 * operator, or an agent. NULL: nothing. */
static char *driver_update_problem(const struct local_update *u, const struct cli_servers *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!str_eq(all->servers[i].name, u->wanted.name))
            continue;
        cleanup(runtime_server_fini) struct runtime_server is;
        local_driver_take_server(&is, &all->servers[i]);
        return drift_of_server(&u->wanted, u->fields, &is);
    }
    return mem_strdup("HAProxy does not run it");
}

static void driver_update_on_noted(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    (void)a;
    d->request = NULL;
    driver_update_tell(&d->base);
}

static void driver_update_on_read(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_update *u = &d->update;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK || cli_servers_init(&all, a->data, &err) != 0) {
        driver_update_unverified(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    cleanup(mem_free_ptr) char *problem = driver_update_problem(u, &all);
    if (problem == NULL) {
        u->news.result = UPDATE_WRITTEN;
        if (d->unloaded)
            driver_update_tell(&d->base);
        else
            d->request = local_driver_loaded(d, driver_update_on_noted);
    } else if ((u->fields & (SERVER_ADDRESS | SERVER_PORT)) && !u->hurry && ++u->reads <= DRIFT_READS_AGAIN) {
        timer_set(&u->again, DRIFT_AGAIN_MS(u->reads)); /* from 3.0 on a task of its own brings addresses about */
    } else {
        driver_update_unverified(d, problem);
    }
}

void local_driver_update_again(void *driver)
{
    struct local_driver *d = driver;
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", d->update.backend);
    d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_update_on_read, d);
}

static void driver_update_on_commanded(struct local_driver *d)
{
    if (d->late.why != NULL)
        driver_update_unverified(d, d->late.why);
    else
        local_driver_update_again(d);
}

static void driver_update_on_written(void *arg, const struct local_answer *a)
{
    static const enum update_result as_update[] = {[TRANSACTION_CONFLICT] = UPDATE_CONFLICT,
                                                   [TRANSACTION_REJECTED] = UPDATE_REJECTED,
                                                   [TRANSACTION_UNAVAILABLE] = UPDATE_UNAVAILABLE,
                                                   [TRANSACTION_UNKNOWN] = UPDATE_UNKNOWN};
    struct local_driver *d = arg;
    struct local_update *u = &d->update;
    bool was_unloaded = d->unloaded;
    d->request = NULL;
    u->write_us = clock_mono_us() - u->begin_us;
    if (a->status == LOCAL_OK) {
        local_driver_wrote(d, a, d->writing);
        d->unloaded = was_unloaded; /* the running HAProxy gets it now */
        local_run_begin(&d->late, d, driver_update_on_commanded);
        return;
    }
    u->news.result = as_update[local_driver_refused(d, a, NULL, d->writing, &u->news.error)];
    driver_update_tell(&d->base);
}

/* ---- the running HAProxy alone ---- */

static void driver_running_on_set(struct local_driver *d)
{
    struct error err = {0};
    bool failed = d->late.why != NULL;
    if (failed)
        (void)error_set(&err, ERROR_RETRY, "%s", d->late.why);
    local_driver_write_forget(d);
    local_driver_release(d);
    d->base.events->running_set(d->base.arg, failed ? &err : NULL);
}

int local_driver_set_running(struct driver *base, const struct changes *changes, struct error *err)
{
    struct local_driver *d = local_driver_of(base);
    for (size_t i = 0; i < changes->count; i++) {
        if (server_commands_add(&d->late.commands, NULL, d->haproxy, false, changes->list[i], err) == 0)
            continue;
        local_driver_write_forget(d);
        return -1;
    }
    server_commands_order(&d->late.commands);
    local_run_begin(&d->late, d, driver_running_on_set);
    return 0;
}

/* ---- */

static void driver_update_conflict(struct local_driver *d)
{
    d->update.news.result = UPDATE_CONFLICT;
    (void)error_set(&d->update.news.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
    local_driver_tell(d, driver_update_tell);
}

int local_driver_update(struct driver *base, int64_t version, const struct update_request *r, struct error *err)
{
    struct local_driver *d = local_driver_of(base);
    struct local_update *u = &d->update;
    struct backend_server as = *r->server; /* borrows */
    const struct backend backend = {.name = (char *)(uintptr_t)r->backend};
    if (r->keep_maintenance && (r->fields & SERVER_MAINTENANCE))
        as.maintenance = !as.maintenance;
    unsigned fields = r->fields & ~(r->keep_maintenance ? (unsigned)SERVER_MAINTENANCE : 0);
    const struct change change = {.kind = CHANGE_SET_SERVER, .backend = &backend, .server = &as, .fields = fields};
    if (server_commands_add(&d->late.commands, NULL, d->haproxy, false, &change, err) != 0 ||
        local_driver_add(base, &change, 1, err) != 0) {
        local_driver_write_forget(d);
        return -1;
    }
    server_commands_order(&d->late.commands);
    free(u->backend);
    backend_server_fini(&u->wanted);
    u->backend = mem_strdup(r->backend);
    backend_server_copy(&u->wanted, &as);
    u->fields = fields;
    u->hurry = r->hurry;
    u->reads = 0;
    u->news = (struct updated){0};
    u->begin_us = clock_mono_us();
    u->write_us = 0;
    if (version != d->version) {
        driver_update_conflict(d);
        return 0;
    }
    d->writing = local_driver_text(d, &d->edits);
    /* Numbers and addresses in their place leave nothing for `haproxy -c` to find. */
    d->request = local_write_config(d->options.helper, d->writing->text, d->writing->len, &d->identity,
                                    LOCAL_WRITE_UNCHECKED, driver_update_on_written, d);
    return 0;
}
