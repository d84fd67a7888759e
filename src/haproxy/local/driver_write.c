/* Changes of the file: several at once with a reload, or one server without. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/drift.h"
#include "haproxy/local/config_edit.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/validation_text.h"

/* How long a write may go on at the end of the daemon. */
#define ABORT_MS 3000

/* ---- of any write ---- */

enum transaction_result local_driver_failed(struct local_driver *d, const struct local_answer *a, bool wrote,
                                            struct error *err)
{
    switch (a->status) {
    case LOCAL_CHANGED:
        (void)error_set(err, ERROR_CONFLICT, "%s was changed meanwhile; it is read again", d->options.file);
        return TRANSACTION_CONFLICT;
    case LOCAL_LOCKED:
        local_driver_wait(d, a->pid);
        (void)error_set(err, ERROR_RETRY, "%s", d->waits);
        return TRANSACTION_UNAVAILABLE;
    case LOCAL_LOST:
        (void)error_set(err, ERROR_RETRY, "%s", a->message);
        return wrote ? TRANSACTION_UNKNOWN : TRANSACTION_UNAVAILABLE;
    case LOCAL_OK:
    case LOCAL_REJECTED:
    case LOCAL_FAILED:
        break;
    }
    (void)error_set(err, ERROR_RETRY, "%s", a->message);
    return TRANSACTION_UNAVAILABLE;
}

void local_driver_rejected(const struct local_driver *d, const char *said, const struct cfg_edits *edits,
                           const struct cfg_content *text, struct error *err)
{
    cleanup(mem_free_ptr) char *says = validation_text_of_program(said, d->options.file, edits);
    cleanup(mem_free_ptr) char *masked = cfg_mask_message(says, text->text);
    (void)error_set(err, ERROR_INVALID, "%s", masked);
}

void local_driver_wrote(struct local_driver *d, const struct local_answer *a, struct cfg_content *text)
{
    d->identity = a->identity;
    cfg_content_hold(&d->file, text);
    d->unloaded = d->locked = true;
    d->version++;
}

/* The file with these edits. */
static struct cfg_content *driver_write_text(struct local_driver *d, const struct cfg_edits *edits)
{
    struct buf text;
    const struct cfg_file *f = cfg_content_file(d->file, NULL);
    buf_init_secret(&text, 0);
    cfg_file_print(f, edits, NULL, &text);
    return cfg_content_take(&text);
}

void local_driver_write_forget(struct local_driver *d)
{
    local_run_clear(&d->early);
    local_run_clear(&d->late);
    free(d->no_commands);
    d->no_commands = NULL;
    changes_fini(&d->changes);
    cfg_edits_fini(&d->edits);
    cfg_content_unref(d->writing);
    d->writing = NULL;
}

void local_driver_write_fini(struct local_driver *d)
{
    local_driver_write_forget(d);
    free(d->update.backend);
    free(d->reload_why);
    backend_server_fini(&d->update.wanted);
}

/* ---- several changes ---- */

static void driver_write_tell(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    const struct written w = d->written;
    base->events->written(base->arg, &w);
}

/* ---- by a reload, or by commands ---- */

static void driver_write_done(struct local_driver *d, bool by_reload)
{
    free(d->reload_id);
    d->reload_id = by_reload ? mem_printf("%u", d->reload.number) : NULL;
    d->written = (struct written){.result = TRANSACTION_COMMITTED,
                                  .version = d->version,
                                  .reload_id = d->reload_id,
                                  .reload_why = by_reload ? d->reload_why : NULL,
                                  .retry_after_ms = -1,
                                  .change_us = clock_mono_us() - d->begin_us};
}

/* What is in the file is loaded. */
static void driver_write_load(struct local_driver *d, const char *why)
{
    free(d->reload_why);
    d->reload_why = why != NULL ? mem_strdup(why) : NULL;
    local_driver_reload(d);
    driver_write_done(d, true);
}

static void driver_write_end(struct local_driver *d)
{
    timer_cancel(&d->tell);
    local_driver_write_forget(d);
    driver_write_tell(&d->base);
}

/* HAProxy runs what the file says. */
static void driver_write_on_noted(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    (void)a;
    d->request = NULL;
    driver_write_done(d, false);
    driver_write_end(d);
}

static void driver_write_on_late(struct local_driver *d)
{
    if (d->late.why != NULL) {
        driver_write_load(d, d->late.why);
    } else {
        d->request = local_driver_loaded(d, driver_write_on_noted);
        return;
    }
    driver_write_end(d);
}

/* Both are over: the write, and the commands beside it. */
static void driver_write_join(struct local_driver *d)
{
    if (d->request != NULL || d->early.running)
        return;
    const char *why = d->no_commands != NULL ? d->no_commands : d->early.why;
    if (!d->in_file) { /* who is in the running HAProxy already leaves it before anything is tried again */
        local_run_take_back(&d->late, &d->early);
        local_run_begin(&d->late, d, driver_write_end);
        return;
    } else if (d->reloads || why != NULL) {
        driver_write_load(d, why);
    } else {
        local_run_begin(&d->late, d, driver_write_on_late);
        return;
    }
    driver_write_end(d);
}

static void driver_write_on_written(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    d->written = (struct written){.version = d->version, .retry_after_ms = -1};
    d->in_file = a->status == LOCAL_OK;
    if (d->in_file) {
        local_driver_wrote(d, a, d->writing);
    } else if (a->status == LOCAL_REJECTED) {
        d->written.result = TRANSACTION_REJECTED;
        local_driver_rejected(d, a->message, NULL, d->writing, &d->written.error);
    } else {
        d->written.result = local_driver_failed(d, a, true, &d->written.error);
    }
    driver_write_join(d);
}

/* What does the same as a reload of the file that is being written. Who is new need not wait for `haproxy -c`, which
 * takes longer than all the rest: HAProxy itself looks at its words. Who leaves stays until the file is written. */
static void driver_write_make_commands(struct local_driver *d)
{
    struct error err = {0};
    const struct cfg_file *f = cfg_content_file(d->writing, &err);
    int status = f != NULL ? 0 : -1;
    for (size_t i = 0; i < d->changes.count && status == 0; i++) {
        const struct change *c = d->changes.list[i];
        struct local_run *r = c->kind == CHANGE_ADD_SERVER ? &d->early : &d->late;
        status = server_commands_add(&r->commands, f, d->options.files_before, c, &err);
    }
    if (status != 0)
        d->no_commands = mem_strdup(err.message);
}

static void driver_write_begin(struct local_driver *d)
{
    d->writing = driver_write_text(d, &d->edits);
    d->request = local_write_config(d->options.helper, d->writing->text, d->writing->len, &d->identity, 0,
                                    driver_write_on_written, d);
    if (!d->base.runtime || d->unloaded || d->silent)
        d->reloads = true;
    if (!d->reloads)
        driver_write_make_commands(d);
    if (!d->reloads && d->no_commands == NULL)
        local_run_begin(&d->early, d, driver_write_join);
}

int local_driver_add(struct driver *base, const struct change *list, size_t count, struct error *err)
{
    struct local_driver *d = local_driver_of(base);
    const struct cfg_file *f = cfg_content_file(d->file, err);
    if (f == NULL)
        return -1;
    /* All of them, or none. */
    struct cfg_edits edits = {0};
    if (local_config_edit(f, list, count, &edits, err) != 0) {
        cfg_edits_fini(&edits);
        return -1;
    }
    for (size_t i = 0; i < edits.count; i++) {
        const struct cfg_edit *e = &edits.list[i];
        cfg_edits_add(&d->edits, e->line, e->kind, e->text, e->text != NULL ? strlen(e->text) : 0);
    }
    cfg_edits_fini(&edits);
    for (size_t i = 0; i < count; i++)
        changes_add(&d->changes, &list[i]);
    return 0;
}

/* Who may not write the file has no say in what runs, either; who cannot, may load it. */
static void driver_write_on_lock(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    bool writes = d->edits.count > 0;
    if (a->status == LOCAL_LOCKED || a->status == LOCAL_LOST || (writes && a->status != LOCAL_OK)) {
        d->written = (struct written){.version = d->version, .retry_after_ms = -1};
        d->written.result = local_driver_failed(d, a, false, &d->written.error);
    } else if (writes) {
        d->locked = true;
        driver_write_begin(d);
        return;
    } else {
        d->version++;
        driver_write_load(d, NULL);
    }
    driver_write_end(d);
}

void local_driver_write(struct driver *base, int64_t version, bool review, bool reload)
{
    struct local_driver *d = local_driver_of(base);
    (void)review;
    d->begin_us = clock_mono_us();
    d->reloads = reload;
    if (d->edits.count > 0 && version != d->version) {
        d->written = (struct written){.result = TRANSACTION_CONFLICT, .version = d->version, .retry_after_ms = -1};
        (void)error_set(&d->written.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
        local_driver_write_forget(d);
        local_driver_tell(d, driver_write_tell);
    } else if (d->edits.count > 0 && d->locked) {
        driver_write_begin(d);
    } else {
        d->request = local_lock_config(d->options.helper, driver_write_on_lock, d);
    }
}

/* What the helper makes of it nobody waits for. */
static void driver_write_give_up(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    local_request_cancel(d->request);
    d->request = NULL;
    d->written = (struct written){.result = TRANSACTION_UNKNOWN, .version = d->version, .retry_after_ms = -1};
    (void)error_set(&d->written.error, ERROR_RETRY, "%s was still being checked or written at the end",
                    d->options.file);
    driver_write_end(d);
}

/* What is under way ends soon, and its end is told; unless `haproxy -c` hangs. */
void local_driver_abort(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    if (timer_is_set(&d->tell))
        return;
    d->tells = driver_write_give_up;
    timer_set(&d->tell, ABORT_MS);
}

/* ---- one server ---- */

#define UPDATE_READS 6
#define UPDATE_AGAIN_MS 10u

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
        if ((u->fields & SERVER_MAINTENANCE) && !u->wanted.maintenance && is.admin == RUNTIME_MAINT)
            return mem_strdup("HAProxy still has it in maint");
        return drift_of_server(&u->wanted, &is);
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
    } else if ((u->fields & (SERVER_ADDRESS | SERVER_PORT)) && !u->hurry && ++u->reads < UPDATE_READS) {
        timer_set(&u->again, UPDATE_AGAIN_MS << u->reads); /* from 3.0 on a task of its own brings addresses about */
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
    if (a->status == LOCAL_REJECTED) {
        u->news.result = UPDATE_REJECTED;
        local_driver_rejected(d, a->message, NULL, d->writing, &u->news.error);
    } else {
        u->news.result = as_update[local_driver_failed(d, a, true, &u->news.error)];
    }
    driver_update_tell(&d->base);
}

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
    if (server_commands_add(&d->late.commands, NULL, false, &change, err) != 0 ||
        local_driver_add(base, &change, 1, err) != 0) {
        local_driver_write_forget(d);
        return -1;
    }
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
    d->writing = driver_write_text(d, &d->edits);
    /* Numbers and addresses in their place leave nothing for `haproxy -c` to find. */
    d->request = local_write_config(d->options.helper, d->writing->text, d->writing->len, &d->identity,
                                    LOCAL_WRITE_UNCHECKED, driver_update_on_written, d);
    return 0;
}
