/* The whole file, and those beside it: performs what their machines ask for, and compares what the API made of a file with
 * what was sent. */
#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/damage.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/dataplane/driver_internal.h"

/* Parsed, with the lines as they are numbered in the file before the edits. */
static void driver_file_renumbered(struct cfg_file *f, const struct replacement_request *request)
{
    struct cfg_edits_back back = {0};
    bool inserted;
    cfg_file_parse(f, request->text->text, request->text->len);
    for (size_t i = 0; i < f->line_count; i++)
        f->lines[i].number = cfg_edits_line(request->edits, &back, f->lines[i].number, &inserted);
}

/* What the API made of it, against what was sent. Allocates; NULL: the same. */
static char *driver_file_compare(const struct replacement_request *request, struct cfg_content *written)
{
    cleanup(cfg_file_fini) struct cfg_file edited = {0};
    struct error err = {0};
    const struct cfg_file *sent = cfg_content_file(request->text, &err);
    const struct cfg_file *is = sent != NULL ? cfg_content_file(written, &err) : NULL;
    if (is == NULL)
        return mem_strdup(err.message);
    if (request->edits != NULL && request->edits->count > 0) {
        driver_file_renumbered(&edited, request);
        sent = &edited;
    }
    return cfg_file_compare(sent, is, NULL);
}

/* The same text means the same on the next HAProxy. Allocates; NULL: it means what was sent. */
static char *driver_file_judge(struct dataplane_driver *d, const struct replacement_request *request,
                               const struct dataplane_answer *a)
{
    struct cfg_content *known = request->text->written;
    size_t head;
    cfg_content_unref(d->file);
    if (cfg_content_goes_on_as(known, a->body, a->body_len, &head)) {
        d->file = cfg_content_ref(known);
        return NULL;
    }
    d->file = cfg_content_new(dataplane_answer_take(a), a->body_len);
    char *problem = driver_file_compare(request, d->file);
    if (problem == NULL)
        cfg_content_wrote(request->text, d->file);
    return problem;
}

static void driver_file_replaced(struct dataplane_driver *d)
{
    const struct replacement *r = &d->replacement;
    const struct replaced news = {.result = r->result,
                                  .error = r->error,
                                  .version = r->version,
                                  .reload_id = r->reload_id,
                                  .runs = r->runs,
                                  .reload_why = r->why,
                                  .retry_after_ms = r->retry_after_ms,
                                  .took_us = r->took_us,
                                  .file = r->result == TRANSACTION_COMMITTED ? d->file : NULL};
    if (replacement_in_vain(r))
        (void)verification_failed(&d->verification, clock_mono_ms());
    if (r->runs) {
        (void)verification_passed(&d->verification, true);
        d->reader.runs_version = r->version;
    }
    if (r->result == TRANSACTION_REJECTED) /* it leaves a failed transaction behind */
        d->cleaned = false;
    if (r->refusal != NULL) {
        transaction_note_refusal(&d->transaction, r->refusal);
        d->cleaned = false;
    }
    struct cfg_content *file = d->file;
    d->file = NULL; /* the next one may begin within the event */
    if (d->servers.ended != NULL)
        d->servers.ended(d, &news);
    else
        d->base.events->replaced(d->base.arg, &news);
    cfg_content_unref(file);
}

static void driver_file_perform(struct dataplane_driver *d, struct transaction_action action);

static void driver_file_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct replacement_request request = d->replacement.request;
    if (d->replacement.state == REPLACEMENT_RESTORE)
        request = (struct replacement_request){.text = d->replacement.sends};
    struct transaction_action action = replacement_answer(&d->replacement, a);
    if (action.type == TRANSACTION_JUDGE) {
        cleanup(mem_free_ptr) char *problem = driver_file_judge(d, &request, a);
        action = replacement_judged(&d->replacement, problem);
    }
    driver_file_perform(d, action);
}

static void driver_file_perform(struct dataplane_driver *d, struct transaction_action action)
{
    struct replacement *r = &d->replacement;
    if (action.type != TRANSACTION_SEND) {
        driver_file_replaced(d);
    } else if (action.delay_ms > 0) {
        dataplane_driver_read_again(d, action, driver_file_perform);
    } else if (action.body == NULL || r->state == REPLACEMENT_ADD) {
        dataplane_send(d->client, action.method, action.path, action.body, driver_file_on_answer, d);
    } else {
        dataplane_send_text(d->client, action.path, r->tells, action.body, r->sends->text + r->skips,
                            r->sends->len - r->skips, driver_file_on_answer, d);
    }
}

/* Whether these changes can go by runtime commands, as far as it is known before. -1: a reload, and why. */
static int driver_file_check(const struct dataplane_driver *d, const struct changes *changes, struct error *err)
{
    if (!d->base.runtime)
        return error_set(err, ERROR_INVALID, "nothing is read of the running HAProxy");
    if (!verification_usable(&d->verification, false))
        return error_set(err, ERROR_INVALID, "HAProxy did not apply an earlier runtime update of the Data Plane API");
    for (size_t i = 0; i < changes->count && !d->base.adds; i++) {
        const struct change *c = changes->list[i];
        if (c->kind != CHANGE_SET_SERVER)
            return error_set(err, ERROR_INVALID,
                             "server %s/%s: it is %s, which takes a reload with a Data Plane API before 3.2 or HAProxy "
                             "before 2.6",
                             c->backend->name, c->server->name, c->kind == CHANGE_ADD_SERVER ? "new" : "removed");
    }
    return 0;
}

int dataplane_driver_foresee(const struct driver *base, const struct cfg_file *to, const struct changes *changes,
                             struct buf *ret, struct error *err)
{
    const struct dataplane_driver *d = (const struct dataplane_driver *)(const void *)base;
    cleanup(buf_fini) struct buf actions = {0};
    cleanup(server_adds_fini) struct server_adds adds = {0};
    if (driver_file_check(d, changes, err) != 0 ||
        server_adds_of(changes, to, d->reader.haproxy, &adds, &actions, err) != 0)
        return -1;
    if (adds.unchecked != NULL)
        return error_set(err, ERROR_INVALID, SERVER_ADDS_UNCHECKED, adds.unchecked);
    for (size_t i = 0; i < adds.count; i++)
        buf_printf(ret, "POST %s %s\n", adds.list[i].list, adds.list[i].body);
    for (size_t i = 0; i < actions.len; i++)
        buf_addn(ret, actions.data[i] == ';' ? "\n" : &actions.data[i], 1);
    buf_add(ret, actions.len > 0 ? "\n" : "");
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *c = changes->list[i];
        if (c->kind != CHANGE_REMOVE_SERVER)
            continue;
        cleanup(mem_free_ptr) char *path = runtime_command_path(c->backend->name, c->server->name);
        buf_printf(ret, "DELETE %s\n", path);
    }
    return 0;
}

void dataplane_driver_replace(struct driver *base, int64_t version, const struct replacement_request *request)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    struct replacement_request r = *request;
    struct error why = {0};
    verification_age(&d->verification, clock_mono_ms());
    if (r.changes != NULL && driver_file_check(d, r.changes, &why) != 0)
        r.changes = NULL;
    struct transaction_action first = replacement_start(&d->replacement, version, &r, d->reader.haproxy);
    if (why.kind != ERROR_NONE && base->runtime)
        replacement_takes_reload(&d->replacement, why.message);
    driver_file_perform(d, first);
}

/* ---- files beside it ---- */

static void driver_file_store(struct dataplane_driver *d, struct storage_action action);

static void driver_file_on_stored(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    driver_file_store(d, storage_answer(&d->storage, a));
}

static void driver_file_store(struct dataplane_driver *d, struct storage_action action)
{
    const struct stored news = d->storage.machine.news;
    if (action.send)
        dataplane_send_bytes(d->client, action.method, action.path, action.type, action.body, action.body_len,
                             driver_file_on_stored, d);
    else
        d->base.events->stored(d->base.arg, &news);
}

void dataplane_driver_store(struct driver *base, const struct storage_request *request)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    driver_file_store(d, storage_start(&d->storage, request));
}
