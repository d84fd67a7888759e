/* Changes of the file, several at once, or all of it: by commands where they do what a reload would do, else by that. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/drift.h"
#include "haproxy/local/alike.h"
#include "haproxy/local/config.h"
#include "haproxy/local/config_edit.h"
#include "haproxy/local/driver_internal.h"

/* How long a write may go on at the end of the daemon. */
#define ABORT_MS 3000
/* How long what `haproxy -c` said of a text holds. */
#define CHECKED_MS 60000

static void driver_write_on_lock(void *arg, const struct local_answer *a);
static void driver_write_on_replaced(void *arg, const struct local_answer *a);
static void driver_write_begin(struct local_driver *d, const struct changes *changes, unsigned flags);
static void driver_write_on_written(void *arg, const struct local_answer *a);
static void driver_write_join(struct local_driver *d);
static void driver_write_on_late(struct local_driver *d);
static void driver_write_verify(void *driver);
static void driver_write_on_verified(struct local_driver *d, const char *why);
static void driver_write_done(struct local_driver *d, bool by_reload);
static void driver_write_load(struct local_driver *d, const char *why);
static void driver_write_end(struct local_driver *d);

/* ---- several changes ---- */

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

static void driver_write_tell(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    const struct written w = d->written;
    base->events->written(base->arg, &w);
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
    } else {
        d->request = local_lock_config(d->options.helper, driver_write_on_lock, d);
    }
}

/* Who may not write the file has no say in what runs, either; who cannot, may load it. */
static void driver_write_on_lock(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    bool writes = d->edits.count > 0;
    if (a->status == LOCAL_OK)
        local_driver_has_lock(d);
    if (a->status == LOCAL_LOCKED || a->status == LOCAL_LOST || (writes && a->status != LOCAL_OK)) {
        d->written = (struct written){.version = d->version, .retry_after_ms = -1};
        d->written.result = local_driver_failed(d, a, false, &d->written.error);
    } else if (writes) {
        d->writing = local_driver_text(d, &d->edits);
        driver_write_begin(d, &d->changes, 0);
        return;
    } else {
        d->version++;
        driver_write_load(d, NULL);
    }
    driver_write_end(d);
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

/* What is under way ends soon, and its end is reported; unless `haproxy -c` hangs. */
void local_driver_abort(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    if (timer_is_set(&d->tell))
        return;
    d->tells = driver_write_give_up;
    timer_set(&d->tell, ABORT_MS);
}

/* ---- the whole file ---- */

/* What `haproxy -c` took a moment ago is not checked again to be written. */
static void driver_write_keep_checked(struct local_driver *d, struct cfg_content *c)
{
    cfg_content_unref(d->checked);
    d->checked = c != NULL ? cfg_content_ref(c) : NULL;
    d->checked_ms = clock_mono_ms();
}

static bool driver_write_is_checked(const struct local_driver *d, const struct cfg_content *c)
{
    return d->checked == c && clock_mono_ms() - d->checked_ms < CHECKED_MS;
}

static void driver_write_tell_replaced(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    const struct replaced r = d->replaced;
    base->events->replaced(base->arg, &r);
}

void local_driver_replace(struct driver *base, int64_t version, const struct replacement_request *request)
{
    struct local_driver *d = local_driver_of(base);
    bool writes = request->before != NULL;
    if (writes && version != d->version) {
        d->replaced = (struct replaced){.result = TRANSACTION_CONFLICT, .version = d->version, .retry_after_ms = -1};
        (void)error_set(&d->replaced.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
        local_driver_tell(d, driver_write_tell_replaced);
        return;
    }
    unsigned flags = writes ? 0 : LOCAL_WRITE_ONLY_VALIDATE;
    if (writes && (request->plain || driver_write_is_checked(d, request->text)))
        flags = LOCAL_WRITE_UNCHECKED;
    d->replacement = *request;
    if (writes && request->changes != NULL) {
        driver_write_keep_checked(d, NULL);
        local_driver_write_forget(d);
        d->begin_us = clock_mono_us();
        d->reloads = false;
        d->replaces = true;
        d->writing = cfg_content_ref(request->text);
        driver_write_begin(d, request->changes, flags);
        return;
    }
    d->request = local_write_config(d->options.helper, request->text->text, request->text->len,
                                    writes ? &d->identity : NULL, flags, driver_write_on_replaced, d);
}

static void driver_write_on_replaced(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    bool writes = d->replacement.before != NULL;
    struct replaced r = {.version = d->version, .retry_after_ms = -1};
    d->request = NULL;
    if (a->status == LOCAL_OK && !writes)
        driver_write_keep_checked(d, d->replacement.text);
    if (a->status == LOCAL_OK && writes) {
        local_driver_wrote(d, a, d->replacement.text);
        driver_write_keep_checked(d, NULL);
        r.result = TRANSACTION_COMMITTED;
        r.version = d->version;
        r.file = d->file;
    } else if (a->status == LOCAL_OK) {
        r.result = TRANSACTION_PREVIEWED;
    } else if (a->status == LOCAL_REJECTED || writes) {
        r.result = local_driver_refused(d, a, d->replacement.edits, d->replacement.text, &r.error);
    } else {
        r.result = local_driver_failed(d, a, false, &r.error);
    }
    d->replacement = (struct replacement_request){0};
    d->base.events->replaced(d->base.arg, &r);
}

/* ---- the commands for it ---- */

/* What does the same as a reload of the file that is being written. Who is new need not wait for `haproxy -c`, which
 * takes longer than all the rest: HAProxy itself checks its parameters. Who leaves stays until the file is written. */
static int driver_write_commands_in(const struct local_driver *d, const struct cfg_file *to, bool elsewhere,
                                    const struct changes *changes, struct server_commands *early,
                                    struct server_commands *late, struct error *err)
{
    cleanup(local_lines_fini) struct local_lines lines = {0};
    int status = 0;
    for (size_t i = 0; i < changes->count && status == 0; i++) {
        const struct change *c = changes->list[i];
        local_lines_find(&lines, to, c->backend->name);
        status =
            server_commands_add(c->kind == CHANGE_ADD_SERVER ? early : late, &lines, d->haproxy, elsewhere, c, err);
    }
    server_commands_order(early);
    server_commands_order(late);
    return status;
}

static int driver_write_commands(const struct local_driver *d, const struct cfg_file *to, const struct changes *changes,
                                 struct server_commands *early, struct server_commands *late, struct error *err)
{
    cleanup(cfg_file_fini) struct cfg_file before = {0}, behind = {0};
    if (!d->options.files_before || d->defaults_before == NULL)
        return driver_write_commands_in(d, to, d->options.files_before, changes, early, late, err);
    cfg_file_parse(&before, d->defaults_before, strlen(d->defaults_before));
    cfg_file_parse_behind(&behind, to->text, to->len, &before);
    return driver_write_commands_in(d, &behind, false, changes, early, late, err);
}

/* Why no commands can bring about what differs from the file; NULL: they can, if there are such. */
static const char *driver_write_needs_reload(const struct local_driver *d)
{
    return !d->base.runtime ? "no socket for runtime commands is set (HAPROXY_STATS_SOCKET)"
           : d->unloaded    ? "haproxy.cfg was written and is not loaded yet"
           : d->silent      ? "what HAProxy runs could not be read"
                            : NULL;
}

/* Without secrets, which may stand behind the place of a server that comes ("add server be/n1"). */
static void driver_write_show(const struct server_commands *c, struct buf *ret)
{
    for (size_t i = 0; i < c->count; i++) {
        const char *text = c->list[i].text, *rest = text;
        for (int words = 0; words < 3; words++) {
            rest += strcspn(rest, " ");
            rest += strspn(rest, " ");
        }
        buf_addn(ret, text, (size_t)(rest - text));
        cfg_mask_line(rest, strlen(rest), TEXT_WHOLE, ret);
        buf_add(ret, "\n");
    }
}

int local_driver_foresee(const struct driver *base, const struct cfg_file *to, const struct changes *changes,
                         struct buf *ret, struct error *err)
{
    const struct local_driver *d = (const struct local_driver *)(const void *)base;
    const char *why = timer_is_set(&d->ask_again) ? "another daemon has written haproxy.cfg, and is loading it"
                                                  : driver_write_needs_reload(d);
    cleanup(server_commands_fini) struct server_commands early = {0};
    cleanup(server_commands_fini) struct server_commands late = {0};
    if (why != NULL)
        return error_set(err, ERROR_INVALID, "%s", why);
    if (driver_write_commands(d, to, changes, &early, &late, err) != 0)
        return -1;
    driver_write_show(&early, ret);
    driver_write_show(&late, ret);
    return 0;
}

/* ---- the write, and commands beside it ---- */

/* Nothing is left for `haproxy -c` to say where HAProxy takes these changes. Only `haproxy -c` checks the files beside it. */
static bool driver_write_is_alike(const struct local_driver *d, const struct changes *changes)
{
    const struct cfg_file *from = cfg_content_file(d->file, NULL), *to = cfg_content_file(d->writing, NULL);
    return d->replaces && d->replacement.files_stay && !d->options.files_before && !d->options.files_after &&
           from != NULL && to != NULL && local_alike(from, to, changes);
}

static void driver_write_send(struct local_driver *d, unsigned flags)
{
    d->request = local_write_config(d->options.helper, d->writing->text, d->writing->len, &d->identity, flags,
                                    driver_write_on_written, d);
}

static void driver_write_on_taken(struct local_driver *d)
{
    driver_write_send(d, d->early.why == NULL ? LOCAL_WRITE_UNCHECKED : 0);
}

/* d->writing, with the commands for these changes. */
static void driver_write_begin(struct local_driver *d, const struct changes *changes, unsigned flags)
{
    const char *why = driver_write_needs_reload(d);
    bool waits = flags == 0 && why == NULL && !d->reloads && driver_write_is_alike(d, changes);
    if (!waits)
        driver_write_send(d, flags);
    if (d->silent)
        d->no_commands = mem_strdup(why);
    if (why != NULL)
        d->reloads = true;
    if (!d->reloads) {
        struct error err = {0};
        const struct cfg_file *to = cfg_content_file(d->writing, &err);
        if (to == NULL || driver_write_commands(d, to, changes, &d->early.commands, &d->late.commands, &err) != 0)
            d->no_commands = mem_strdup(err.message);
    }
    if (!d->reloads && d->no_commands == NULL)
        local_run_begin(&d->early, d, waits ? driver_write_on_taken : driver_write_join);
    else if (waits)
        driver_write_send(d, 0);
}

static void driver_write_on_written(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    d->written = (struct written){.version = d->version, .retry_after_ms = -1};
    d->in_file = a->status == LOCAL_OK;
    if (d->in_file)
        local_driver_wrote(d, a, d->writing);
    else
        d->written.result =
            local_driver_refused(d, a, d->replaces ? d->replacement.edits : &d->edits, d->writing, &d->written.error);
    driver_write_join(d);
}

/* ---- both are over ---- */

/* A server that could not be taken back goes with the next reload. */
static void driver_write_on_taken_back(struct local_driver *d)
{
    d->unloaded = d->unloaded || (d->replaces && d->late.why != NULL);
    driver_write_end(d);
}

/* Who is in the running HAProxy already leaves it before anything is tried again; not who is another writer's by now. */
static void driver_write_on_reread(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    cleanup(cfg_file_fini) struct cfg_file is = {0};
    d->request = NULL;
    cfg_file_parse(&is, a->data, a->len);
    local_run_take_back(&d->late, &d->early, &is);
    d->took_back = d->replaces && d->late.commands.count > 0;
    local_run_begin(&d->late, d, driver_write_on_taken_back);
}

/* Both are over: the write, and the commands beside it. */
static void driver_write_join(struct local_driver *d)
{
    if (d->request != NULL || d->early.running)
        return;
    const char *why = d->no_commands != NULL ? d->no_commands : d->early.why;
    if (!d->in_file && d->early.commands.count > 0) {
        d->request = local_read_config(d->options.helper, driver_write_on_reread, d);
        return;
    } else if (d->in_file && (d->reloads || why != NULL)) {
        driver_write_load(d, why);
    } else if (d->in_file) {
        local_run_begin(&d->late, d, driver_write_on_late);
        return;
    }
    driver_write_end(d);
}

/* ---- whether what commands changed is what runs ---- */

/* HAProxy may have acknowledged a command and not carried it out. */
static void driver_write_on_late(struct local_driver *d)
{
    d->verify.changes = d->replaces ? d->replacement.changes : &d->changes;
    d->verify.at = d->verify.reads = 0;
    if (d->late.why == NULL && d->verify.changes->count > 0)
        driver_write_verify(d);
    else
        driver_write_on_verified(d, d->late.why);
}

static void driver_write_on_shown(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_verify *v = &d->verify;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    cleanup(runtime_fini) struct runtime running = {0};
    struct error err = {0};
    size_t next;
    bool comes;
    d->request = NULL;
    if (a->status != LOCAL_OK || cli_servers_init(&all, a->data, &err) != 0) {
        driver_write_on_verified(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    running.servers = mem_array(all.count, sizeof(running.servers[0]));
    for (size_t i = 0; i < all.count; i++)
        local_driver_take_server(&running.servers[running.count++], &all.servers[i]);
    runtime_sort(&running);
    cleanup(mem_free_ptr) char *problem = drift_of_changes(v->changes, v->at, &running, &next, &comes);
    if (problem != NULL && comes && ++v->reads <= DRIFT_READS_AGAIN) {
        timer_set(&v->again, DRIFT_AGAIN_MS(v->reads));
        return;
    }
    v->at = next;
    v->reads = 0;
    if (problem != NULL || v->at == v->changes->count)
        driver_write_on_verified(d, problem);
    else
        driver_write_verify(d);
}

/* Reads one backend; some times where an address is to come about. */
static void driver_write_verify(void *driver)
{
    struct local_driver *d = driver;
    const struct local_verify *v = &d->verify;
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", v->changes->list[v->at]->backend->name);
    d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_write_on_shown, d);
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

static void driver_write_on_verified(struct local_driver *d, const char *why)
{
    if (why == NULL) {
        d->request = local_driver_loaded(d, driver_write_on_noted);
        return;
    }
    driver_write_load(d, why);
    driver_write_end(d);
}

/* ---- the end ---- */

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

/* The same of the whole file. */
static void driver_write_tell_whole(struct local_driver *d)
{
    const struct written *w = &d->written;
    bool there = w->result == TRANSACTION_COMMITTED;
    const struct replaced r = {.result = w->result,
                               .error = w->error,
                               .version = w->version,
                               .reload_id = w->reload_id,
                               .runs = there && w->reload_id == NULL,
                               .reload_why = w->reload_why,
                               .retry_after_ms = w->retry_after_ms,
                               .file = there ? d->file : NULL};
    d->replacement = (struct replacement_request){0};
    d->base.events->replaced(d->base.arg, &r);
}

static void driver_write_end(struct local_driver *d)
{
    bool whole = d->replaces;
    timer_cancel(&d->tell);
    local_driver_release(d);
    local_driver_write_forget(d);
    if (whole)
        driver_write_tell_whole(d);
    else
        driver_write_tell(&d->base);
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
    d->replaces = false;
}

void local_driver_write_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->verify.again, base, driver_write_verify, d);
}

void local_driver_write_fini(struct local_driver *d)
{
    local_driver_write_forget(d);
    timer_fini(&d->verify.again);
    free(d->update.backend);
    free(d->reload_why);
    backend_server_fini(&d->update.wanted);
}
