/* Changes of the file, several at once, or all of it: by commands where they do what a reload would do, else by that. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/drift.h"
#include "haproxy/local/alike.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/cfg/backend_edit.h"
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
static void driver_write_forget(struct local_write *w);

/* ---- several changes ---- */

int local_driver_add(struct driver *base, const struct change *list, size_t count, struct error *err)
{
    struct local_driver *d = local_driver_of(base);
    struct local_write *w = &d->write;
    const struct cfg_file *f = cfg_content_file(d->file.content, err);
    if (f == NULL)
        return -1;
    /* All of them, or none. */
    struct cfg_edits edits = {0};
    if (cfg_backend_edit(f, list, count, &edits, err) != 0) {
        cfg_edits_fini(&edits);
        return -1;
    }
    for (size_t i = 0; i < edits.count; i++) {
        const struct cfg_edit *e = &edits.list[i];
        cfg_edits_add(&w->edits, e->line, e->kind, e->text, e->text != NULL ? strlen(e->text) : 0);
    }
    cfg_edits_fini(&edits);
    for (size_t i = 0; i < count; i++)
        changes_add(&w->changes, &list[i]);
    return 0;
}

static void driver_write_tell(struct driver *base)
{
    const struct written w = local_driver_of(base)->write.written;
    base->events->written(base->arg, &w);
}

void local_driver_write(struct driver *base, int64_t version, bool review, bool reload)
{
    struct local_driver *d = local_driver_of(base);
    struct local_write *w = &d->write;
    (void)review;
    w->begin_us = clock_mono_us();
    w->reloads = reload;
    if (w->edits.count > 0 && version != d->file.version) {
        w->written = (struct written){.result = TRANSACTION_CONFLICT, .version = d->file.version, .retry_after_ms = -1};
        (void)error_set(&w->written.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
        driver_write_forget(w);
        local_driver_tell(d, driver_write_tell);
    } else {
        w->request = local_lock_config(d->options.helper, driver_write_on_lock, d);
    }
}

/* Who may not write the file has no say in what runs, either; who cannot, may load it. */
static void driver_write_on_lock(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_config_file *f = &d->file;
    struct local_write *w = &d->write;
    w->request = NULL;
    bool writes = w->edits.count > 0;
    if (a->status == LOCAL_OK)
        local_driver_has_lock(d);
    if (a->status == LOCAL_LOCKED || a->status == LOCAL_LOST || (writes && a->status != LOCAL_OK)) {
        w->written = (struct written){.version = f->version, .retry_after_ms = -1};
        w->written.result = local_driver_failed(d, a, false, &w->written.error);
    } else if (writes) {
        w->text = local_driver_text(d, &w->edits);
        driver_write_begin(d, &w->changes, 0);
        return;
    } else {
        f->version++;
        driver_write_load(d, NULL);
    }
    driver_write_end(d);
}

/* What the helper makes of it nobody waits for. */
static void driver_write_give_up(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    struct local_write *w = &d->write;
    local_request_cancel(w->request);
    w->request = NULL;
    w->written = (struct written){.result = TRANSACTION_UNKNOWN, .version = d->file.version, .retry_after_ms = -1};
    (void)error_set(&w->written.error, ERROR_RETRY, "%s was still being checked or written at the end",
                    d->options.file);
    driver_write_end(d);
}

/* What is under way ends soon, and its end is reported; unless `haproxy -c` hangs. */
void local_driver_abort(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    if (!timer_is_set(&d->news.timer))
        local_driver_tell_in(d, ABORT_MS, driver_write_give_up);
}

/* ---- the whole file ---- */

/* What `haproxy -c` took a moment ago is not checked again to be written. */
void local_driver_forget_checked(struct local_driver *d)
{
    cfg_content_hold(&d->write.checked, NULL);
}

static void driver_write_tell_replaced(struct driver *base)
{
    const struct replaced r = local_driver_of(base)->write.replaced;
    base->events->replaced(base->arg, &r);
}

void local_driver_replace(struct driver *base, int64_t version, const struct replacement_request *request)
{
    struct local_driver *d = local_driver_of(base);
    const struct local_config_file *f = &d->file;
    struct local_write *w = &d->write;
    bool writes = request->before != NULL;
    if (writes && version != f->version) {
        w->replaced = (struct replaced){.result = TRANSACTION_CONFLICT, .version = f->version, .retry_after_ms = -1};
        (void)error_set(&w->replaced.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
        local_driver_tell(d, driver_write_tell_replaced);
        return;
    }
    bool checked = w->checked == request->text && clock_mono_ms() - w->checked_ms < CHECKED_MS;
    unsigned flags = writes ? 0 : LOCAL_WRITE_ONLY_VALIDATE;
    if (writes && (request->plain || checked))
        flags = LOCAL_WRITE_UNCHECKED;
    w->replacement = *request;
    if (writes && request->changes != NULL) {
        local_driver_forget_checked(d);
        driver_write_forget(w);
        w->begin_us = clock_mono_us();
        w->reloads = false;
        w->replaces = true;
        w->text = cfg_content_ref(request->text);
        driver_write_begin(d, request->changes, flags);
        return;
    }
    w->request = local_write_config(d->options.helper, request->text->text, request->text->len,
                                    writes ? &f->identity : NULL, flags, driver_write_on_replaced, d);
}

static void driver_write_on_replaced(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_write *w = &d->write;
    bool writes = w->replacement.before != NULL;
    struct replaced r = {.version = d->file.version, .retry_after_ms = -1};
    w->request = NULL;
    if (a->status == LOCAL_OK && writes) {
        local_driver_wrote(d, a, w->replacement.text, true);
        local_driver_forget_checked(d);
        r.result = TRANSACTION_COMMITTED;
        r.version = d->file.version;
        r.file = d->file.content;
    } else if (a->status == LOCAL_OK) {
        cfg_content_hold(&w->checked, w->replacement.text);
        w->checked_ms = clock_mono_ms();
        r.result = TRANSACTION_PREVIEWED;
    } else if (a->status == LOCAL_REJECTED || writes) {
        r.result = local_driver_refused(d, a, w->replacement.edits, w->replacement.text, &r.error);
    } else {
        r.result = local_driver_failed(d, a, false, &r.error);
    }
    w->replacement = (struct replacement_request){0};
    d->base.events->replaced(d->base.arg, &r);
}

/* ---- the commands for it ---- */

/* What does the same as a reload of the file that is being written. Who is new need not wait for `haproxy -c`, which
 * takes longer than all the rest: HAProxy itself checks its parameters. Who leaves stays until the file is written. */
static int driver_write_commands_in(const struct local_driver *d, const struct cfg_file *to, bool elsewhere,
                                    const struct changes *changes, struct server_commands *early,
                                    struct server_commands *late, struct error *err)
{
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    int status = 0;
    for (size_t i = 0; i < changes->count && status == 0; i++) {
        const struct change *c = changes->list[i];
        cfg_lines_find(&lines, to, c->backend->name);
        status = server_commands_add(c->kind == CHANGE_ADD_SERVER ? early : late, &lines, d->reading.haproxy, elsewhere,
                                     c, err);
    }
    server_commands_order(early);
    server_commands_order(late);
    return status;
}

static int driver_write_commands(const struct local_driver *d, const struct cfg_file *to, const struct changes *changes,
                                 struct server_commands *early, struct server_commands *late, struct error *err)
{
    cleanup(cfg_file_fini) struct cfg_file before = {0}, behind = {0};
    if (!d->options.files_before || d->reading.defaults_before == NULL)
        return driver_write_commands_in(d, to, d->options.files_before, changes, early, late, err);
    cfg_file_parse(&before, d->reading.defaults_before, strlen(d->reading.defaults_before));
    cfg_file_parse_behind(&behind, to->text, to->len, &before);
    return driver_write_commands_in(d, &behind, false, changes, early, late, err);
}

/* Why no commands can bring about what differs from the file; NULL: they can, if there are such. */
static const char *driver_write_needs_reload(const struct local_driver *d)
{
    return !d->base.runtime    ? "no socket for runtime commands is set (HAPROXY_STATS_SOCKET)"
           : d->file.unloaded  ? "haproxy.cfg was written and is not loaded yet"
           : d->reading.silent ? "what HAProxy runs could not be read"
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
    const char *why = timer_is_set(&d->file.ask_again) ? "another daemon has written haproxy.cfg, and is loading it"
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

static void driver_write_send(struct local_driver *d, unsigned flags)
{
    struct local_write *w = &d->write;
    w->request = local_write_config(d->options.helper, w->text->text, w->text->len, &d->file.identity, flags,
                                    driver_write_on_written, d);
}

static void driver_write_on_taken(struct local_driver *d)
{
    driver_write_send(d, d->write.early.why == NULL ? LOCAL_WRITE_UNCHECKED : 0);
}

/* Nothing is left for `haproxy -c` to say where HAProxy takes these changes. Only `haproxy -c` checks the files beside it. */
static bool driver_write_is_alike(const struct local_driver *d, const struct changes *changes)
{
    const struct local_write *w = &d->write;
    const struct cfg_file *from = cfg_content_file(d->file.content, NULL), *to = cfg_content_file(w->text, NULL);
    return w->replaces && w->replacement.files_stay && !d->options.files_before && !d->options.files_after &&
           from != NULL && to != NULL && local_alike(from, to, changes);
}

/* The text, with the commands for these changes. */
static void driver_write_begin(struct local_driver *d, const struct changes *changes, unsigned flags)
{
    struct local_write *w = &d->write;
    const char *why = driver_write_needs_reload(d);
    bool waits = flags == 0 && why == NULL && !w->reloads && driver_write_is_alike(d, changes);
    if (!waits)
        driver_write_send(d, flags);
    if (d->reading.silent)
        w->no_commands = mem_strdup(why);
    if (why != NULL)
        w->reloads = true;
    if (!w->reloads) {
        struct error err = {0};
        const struct cfg_file *to = cfg_content_file(w->text, &err);
        if (to == NULL || driver_write_commands(d, to, changes, &w->early.commands, &w->late.commands, &err) != 0)
            w->no_commands = mem_strdup(err.message);
    }
    if (!w->reloads && w->no_commands == NULL)
        local_run_begin(&w->early, d, waits ? driver_write_on_taken : driver_write_join);
    else if (waits)
        driver_write_send(d, 0);
}

static void driver_write_on_written(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_write *w = &d->write;
    w->request = NULL;
    w->written = (struct written){.version = d->file.version, .retry_after_ms = -1};
    w->in_file = a->status == LOCAL_OK;
    if (w->in_file)
        local_driver_wrote(d, a, w->text, true);
    else
        w->written.result =
            local_driver_refused(d, a, w->replaces ? w->replacement.edits : &w->edits, w->text, &w->written.error);
    driver_write_join(d);
}

/* ---- both are over ---- */

/* A server that could not be taken back goes with the next reload. */
static void driver_write_on_taken_back(struct local_driver *d)
{
    struct local_config_file *f = &d->file;
    f->unloaded = f->unloaded || (d->write.replaces && d->write.late.why != NULL);
    driver_write_end(d);
}

/* Who is in the running HAProxy already leaves it before anything is tried again; not who is another writer's by now. */
static void driver_write_on_reread(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_config_file *f = &d->file;
    struct local_write *w = &d->write;
    cleanup(cfg_file_fini) struct cfg_file is = {0};
    w->request = NULL;
    cfg_file_parse(&is, a->data, a->len);
    local_run_take_back(&w->late, &w->early, &is);
    f->took_back = w->replaces && w->late.commands.count > 0;
    local_run_begin(&w->late, d, driver_write_on_taken_back);
}

/* Both are over: the write, and the commands beside it. */
static void driver_write_join(struct local_driver *d)
{
    struct local_write *w = &d->write;
    if (w->request != NULL || w->early.running)
        return;
    const char *why = w->no_commands != NULL ? w->no_commands : w->early.why;
    if (!w->in_file && w->early.commands.count > 0) {
        w->request = local_read_config(d->options.helper, driver_write_on_reread, d);
        return;
    } else if (w->in_file && (w->reloads || why != NULL)) {
        driver_write_load(d, why);
    } else if (w->in_file) {
        local_run_begin(&w->late, d, driver_write_on_late);
        return;
    }
    driver_write_end(d);
}

/* ---- whether what commands changed is what runs ---- */

/* HAProxy may have acknowledged a command and not carried it out. */
static void driver_write_on_late(struct local_driver *d)
{
    struct local_write *w = &d->write;
    struct local_verify *v = &w->verify;
    v->changes = w->replaces ? w->replacement.changes : &w->changes;
    v->at = v->reads = 0;
    if (w->late.why == NULL && v->changes->count > 0)
        driver_write_verify(d);
    else
        driver_write_on_verified(d, w->late.why);
}

static void driver_write_on_shown(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_write *w = &d->write;
    struct local_verify *v = &w->verify;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    struct error err = {0};
    size_t next;
    bool comes;
    w->request = NULL;
    if (a->status != LOCAL_OK || cli_servers_init(&all, a->data, &err) != 0) {
        driver_write_on_verified(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    cleanup(runtime_fini) struct runtime running = local_driver_running(all.servers, all.count);
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
    struct local_write *w = &d->write;
    const struct local_verify *v = &w->verify;
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", v->changes->list[v->at]->backend->name);
    w->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_write_on_shown, d);
}

/* HAProxy runs what the file says. */
static void driver_write_on_noted(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_write *w = &d->write;
    (void)a;
    w->request = NULL;
    driver_write_done(d, false);
    driver_write_end(d);
}

static void driver_write_on_verified(struct local_driver *d, const char *why)
{
    struct local_write *w = &d->write;
    if (why == NULL) {
        w->request = local_driver_loaded(d, driver_write_on_noted);
        return;
    }
    driver_write_load(d, why);
    driver_write_end(d);
}

/* ---- the end ---- */

static void driver_write_done(struct local_driver *d, bool by_reload)
{
    struct local_write *w = &d->write;
    free(w->reload_id);
    w->reload_id = by_reload ? mem_printf("%u", d->reload.number) : NULL;
    w->written = (struct written){.result = TRANSACTION_COMMITTED,
                                  .version = d->file.version,
                                  .reload_id = w->reload_id,
                                  .reload_why = by_reload ? w->reload_why : NULL,
                                  .retry_after_ms = -1,
                                  .change_us = clock_mono_us() - w->begin_us};
}

/* What is in the file is loaded. */
static void driver_write_load(struct local_driver *d, const char *why)
{
    struct local_write *w = &d->write;
    free(w->reload_why);
    w->reload_why = why != NULL ? mem_strdup(why) : NULL;
    local_driver_reload(d);
    driver_write_done(d, true);
}

static void driver_write_end(struct local_driver *d)
{
    struct local_write *w = &d->write;
    const struct written *news = &w->written;
    bool whole = w->replaces, there = news->result == TRANSACTION_COMMITTED;
    timer_cancel(&d->news.timer);
    local_driver_release(d);
    driver_write_forget(w);
    if (!whole) {
        driver_write_tell(&d->base);
        return;
    }
    const struct replaced r = {.result = news->result,
                               .error = news->error,
                               .version = news->version,
                               .reload_id = news->reload_id,
                               .runs = there && news->reload_id == NULL,
                               .reload_why = news->reload_why,
                               .retry_after_ms = news->retry_after_ms,
                               .file = there ? d->file.content : NULL};
    w->replacement = (struct replacement_request){0};
    d->base.events->replaced(d->base.arg, &r);
}

static void driver_write_forget(struct local_write *w)
{
    local_run_clear(&w->early);
    local_run_clear(&w->late);
    free(w->no_commands);
    w->no_commands = NULL;
    changes_fini(&w->changes);
    cfg_edits_fini(&w->edits);
    cfg_content_hold(&w->text, NULL);
    w->replaces = false;
}

/* ---- life ---- */

void local_driver_write_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->write.verify.again, base, driver_write_verify, d);
}

void local_driver_write_cancel(struct local_driver *d)
{
    struct local_write *w = &d->write;
    local_request_cancel(w->request);
    w->request = NULL;
    timer_cancel(&w->verify.again);
    driver_write_forget(w);
}

void local_driver_write_fini(struct local_driver *d)
{
    struct local_write *w = &d->write;
    timer_fini(&w->verify.again);
    cfg_content_unref(w->checked);
    mem_free_all(w->reload_why, w->reload_id);
}
