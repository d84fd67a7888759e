/* One server, in the file and in the running HAProxy, without a reload. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/drift.h"
#include "haproxy/cfg/backend_edit.h"
#include "haproxy/local/driver_internal.h"

static void driver_update_on_written(void *arg, const struct local_answer *a);
static void driver_update_tell(struct driver *base);

static void driver_update_forget(struct local_update *u)
{
    local_run_clear(&u->run);
    cfg_content_hold(&u->text, NULL);
}

int local_driver_update(struct driver *base, int64_t version, const struct update_request *r, struct error *err)
{
    struct local_driver *d = local_driver_of(base);
    struct local_update *u = &d->update;
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    struct backend_server as = *r->server; /* borrows */
    const struct backend backend = {.name = (char *)(uintptr_t)r->backend};
    const struct cfg_file *f = cfg_content_file(d->file.content, err);
    if (r->keep_maintenance && (r->fields & SERVER_MAINTENANCE))
        as.maintenance = !as.maintenance;
    unsigned fields = r->fields & ~(r->keep_maintenance ? (unsigned)SERVER_MAINTENANCE : 0);
    const struct change change = {.kind = CHANGE_SET_SERVER, .backend = &backend, .server = &as, .fields = fields};
    if (f == NULL || server_commands_add(&u->run.commands, NULL, d->reading.haproxy, false, &change, err) != 0 ||
        cfg_backend_edit(f, &change, 1, &edits, err) != 0) {
        driver_update_forget(u);
        return -1;
    }
    server_commands_order(&u->run.commands);
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
    if (version != d->file.version) {
        u->news.result = UPDATE_CONFLICT;
        (void)error_set(&u->news.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
        local_driver_tell(d, driver_update_tell);
        return 0;
    }
    u->text = local_driver_text(d, &edits);
    /* Numbers and addresses in their place leave nothing for `haproxy -c` to find. */
    u->request = local_write_config(d->options.helper, u->text->text, u->text->len, &d->file.identity,
                                    LOCAL_WRITE_UNCHECKED, driver_update_on_written, d);
    return 0;
}

static void driver_update_tell(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    struct local_update *u = &d->update;
    u->news.wanted = &u->wanted;
    u->news.fields = u->fields;
    u->news.version = d->file.version;
    u->news.retry_after_ms = -1;
    u->news.write_us = u->write_us;
    u->news.read_us = clock_mono_us() - u->begin_us - u->write_us;
    driver_update_forget(u);
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
        cleanup(runtime_server_fini) struct runtime_server is = local_driver_running_server(&all->servers[i]);
        return drift_of_server(&u->wanted, u->fields, &is);
    }
    return mem_strdup("HAProxy does not run it");
}

static void driver_update_on_noted(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_update *u = &d->update;
    (void)a;
    u->request = NULL;
    driver_update_tell(&d->base);
}

static void driver_update_on_read(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_update *u = &d->update;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    struct error err = {0};
    u->request = NULL;
    if (a->status != LOCAL_OK || cli_servers_init(&all, a->data, &err) != 0) {
        driver_update_unverified(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    cleanup(mem_free_ptr) char *problem = driver_update_problem(u, &all);
    if (problem == NULL) {
        u->news.result = UPDATE_WRITTEN;
        if (d->file.unloaded)
            driver_update_tell(&d->base);
        else
            u->request = local_driver_loaded(d, driver_update_on_noted);
    } else if ((u->fields & (SERVER_ADDRESS | SERVER_PORT)) && !u->hurry && ++u->reads <= DRIFT_READS_AGAIN) {
        timer_set(&u->again, DRIFT_AGAIN_MS(u->reads)); /* from 3.0 on a task of its own brings addresses about */
    } else {
        driver_update_unverified(d, problem);
    }
}

static void driver_update_read(void *driver)
{
    struct local_driver *d = driver;
    struct local_update *u = &d->update;
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", u->backend);
    u->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_update_on_read, d);
}

static void driver_update_on_commanded(struct local_driver *d)
{
    if (d->update.run.why != NULL)
        driver_update_unverified(d, d->update.run.why);
    else
        driver_update_read(d);
}

static void driver_update_on_written(void *arg, const struct local_answer *a)
{
    static const enum update_result as_update[] = {[TRANSACTION_CONFLICT] = UPDATE_CONFLICT,
                                                   [TRANSACTION_REJECTED] = UPDATE_REJECTED,
                                                   [TRANSACTION_UNAVAILABLE] = UPDATE_UNAVAILABLE,
                                                   [TRANSACTION_UNKNOWN] = UPDATE_UNKNOWN};
    struct local_driver *d = arg;
    struct local_update *u = &d->update;
    u->request = NULL;
    u->write_us = clock_mono_us() - u->begin_us;
    if (a->status == LOCAL_OK) {
        local_driver_wrote(d, a, u->text, false); /* the running HAProxy gets it now */
        local_run_begin(&u->run, d, driver_update_on_commanded);
        return;
    }
    u->news.result = as_update[local_driver_refused(d, a, NULL, u->text, &u->news.error)];
    driver_update_tell(&d->base);
}

/* ---- the running HAProxy alone ---- */

static void driver_running_on_set(struct local_driver *d)
{
    struct local_update *u = &d->update;
    struct error err = {0};
    bool failed = u->run.why != NULL;
    if (failed)
        (void)error_set(&err, ERROR_RETRY, "%s", u->run.why);
    driver_update_forget(u);
    local_driver_release(d);
    d->base.events->running_set(d->base.arg, failed ? &err : NULL);
}

int local_driver_set_running(struct driver *base, const struct changes *changes, struct error *err)
{
    struct local_driver *d = local_driver_of(base);
    struct local_update *u = &d->update;
    for (size_t i = 0; i < changes->count; i++) {
        if (server_commands_add(&u->run.commands, NULL, d->reading.haproxy, false, changes->list[i], err) == 0)
            continue;
        driver_update_forget(u);
        return -1;
    }
    server_commands_order(&u->run.commands);
    local_run_begin(&u->run, d, driver_running_on_set);
    return 0;
}

/* ---- life ---- */

void local_driver_update_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->update.again, base, driver_update_read, d);
}

void local_driver_update_cancel(struct local_driver *d)
{
    struct local_update *u = &d->update;
    local_request_cancel(u->request);
    u->request = NULL;
    timer_cancel(&u->again);
    driver_update_forget(u);
}

void local_driver_update_fini(struct local_driver *d)
{
    struct local_update *u = &d->update;
    timer_fini(&u->again);
    free(u->backend);
    backend_server_fini(&u->wanted);
}
