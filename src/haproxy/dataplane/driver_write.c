/* Transactions and runtime updates: performs what their machines ask for. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/dataplane/driver_internal.h"
#include "haproxy/dataplane/transaction_steps.h"
#include "haproxy/cfg/backend_edit.h"

/* ---- transactions ---- */

int dataplane_driver_add(struct driver *d, const struct change *list, size_t count, struct error *err)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    struct dataplane_servers *s = &own->servers;
    if (transaction_steps_add(list, count, &own->steps, &own->step_count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        s->beyond = s->beyond || list[i].server == NULL;
        s->any = s->any || list[i].kind == CHANGE_ADD_SERVER || list[i].kind == CHANGE_REMOVE_SERVER;
        changes_add(&s->changes, &list[i]);
    }
    return 0;
}

static void dataplane_driver_written(struct dataplane_driver *d)
{
    cleanup(mem_free_ptr) char *why = d->load_why;
    d->load_why = NULL;
    const struct transaction *t = &d->transaction;
    const struct driver *base = &d->base;
    const struct written w = {.result = t->result,
                              .error = t->error,
                              .version = t->version,
                              .reload_id = t->reload_id,
                              .reload_why = why,
                              .retry_after_ms = t->retry_after_ms,
                              .unloaded = (t->step_count == 0 && !t->cleanup_only) ||
                                          (t->failed_in == TRANSACTION_COMMIT && t->error.http_status == 404),
                              .begin_us = t->begin_us,
                              .change_us = t->change_us,
                              .commit_us = t->commit_us,
                              .foreign = t->foreign,
                              .foreign_count = t->foreign_count};
    if (t->cleanup_only) {
        /* Best effort: what could not be deleted costs a place among 20, and our next commit frees it, or, where no
         * commit does, it is tried again after the next write, or resync. */
        d->cleaned = true;
        base->events->cleaned(base->arg, &w);
    } else if (t->preview_only) {
        d->cleaned = d->cleaned && t->held_count == 0;
        base->events->previewed(base->arg, &w);
    } else {
        d->cleaned = d->cleaned && t->noted == NULL;
        base->events->written(base->arg, &w);
    }
}

static void dataplane_driver_transact(struct dataplane_driver *d, struct transaction_action action);

static void dataplane_driver_on_transaction(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct transaction_action action = transaction_answer(&d->transaction, a);
    if (action.type == TRANSACTION_JUDGE) {
        cleanup(mem_free_ptr) char *problem =
            d->base.events->judge(d->base.arg, a->body, a->body_len, d->transaction.preview_only);
        action = transaction_judged(&d->transaction, problem);
    }
    dataplane_driver_transact(d, action);
}

static void dataplane_driver_transact(struct dataplane_driver *d, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND)
        dataplane_send(d->client, action.method, action.path, action.body, dataplane_driver_on_transaction, d);
    else
        dataplane_driver_written(d);
}

/* What was added, in one transaction. review: its commit is previewed. */
static void driver_write_transact(struct dataplane_driver *d, int64_t version, bool review)
{
    struct transaction_action begin = transaction_start(&d->transaction, version, d->steps, d->step_count);
    d->steps = NULL;
    d->step_count = 0;
    dataplane_driver_forget_steps(d);
    if (review)
        transaction_preview_first(&d->transaction);
    dataplane_driver_transact(d, begin);
}

/* ---- the whole file ---- */

/*
 * The whole file goes by one write that loads nothing, and the servers by the API's runtime endpoints (haproxy/dataplane/replacement). Which way
 * a write goes:
 *
 *   servers come or go, all of their words can be said to HAProxy    so; a health check begins with the reload that follows
 *   settings of a backend with comments change, which an API from 3.4 on drops as it puts the backend    so, and a reload
 *   the API's write of the file would mean something else            the file from before goes back, and a transaction, previewed
 *   a backend is new or changes, HAProxy may run another file, or a failed reload put another one back    a transaction
 */

/* Comments that the API writes anew, and those of an earlier write. */
static void driver_write_cut_head(const struct cfg_content *c, struct cfg_edits *ret)
{
    const char *line = c->text;
    for (unsigned number = 1; line != NULL && (*line == '#' || *line == '\n'); number++) {
        if (str_has_prefix(line, "# _version=") || str_has_prefix(line, "# _md5hash=") || replacement_is_mark(line))
            cfg_edits_add(ret, number, CFG_EDIT_REMOVE, NULL, 0);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

static bool driver_write_runs(const struct dataplane_driver *d)
{
    return d->base.adds && d->servers.any && !d->servers.beyond && verification_usable(&d->verification, false);
}

/* Settings change of a backend whose section has a '#' in front of the end of its last line. */
static bool driver_write_keeps_comments(const struct changes *changes, const struct cfg_file *f)
{
    bool found = false;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *c = changes->list[i];
        const struct cfg_file_section *s = c->kind == CHANGE_SET_BACKEND ? cfg_file_backend(f, c->backend->name) : NULL;
        if (c->kind == CHANGE_MAKE_BACKEND)
            return false;
        if (s == NULL)
            continue;
        const struct cfg_file_line *last = cfg_file_last_own_line(s);
        found = found || memchr(s->line->text, '#', (size_t)(last->text + last->len - s->line->text)) != NULL;
    }
    return found;
}

/* The file with the changes; *ret_runs: without a reload. -1: they take a transaction. */
static int driver_write_prepare(struct dataplane_driver *d, const struct dataplane_answer *a, bool *ret_runs)
{
    struct dataplane_servers *s = &d->servers;
    struct error err = {0};
    cleanup(buf_wipe) struct buf text;
    cleanup(buf_fini) struct buf actions = {0};
    cleanup(server_adds_fini) struct server_adds adds = {0};
    cleanup(mem_free_ptr) struct change *list = mem_array(s->changes.count, sizeof(list[0]));
    buf_init_secret(&text, 0);
    for (size_t i = 0; i < s->changes.count; i++)
        list[i] = *s->changes.list[i];
    s->before = cfg_content_new(dataplane_answer_take(a), a->body_len);
    const struct cfg_file *f = cfg_content_file(s->before, &err);
    if (f == NULL || (f->version >= 0 && f->version != s->version) ||
        cfg_backend_edit(f, list, s->changes.count, &s->edits, &err) != 0)
        return -1;
    driver_write_cut_head(s->before, &s->edits);
    cfg_file_print(f, &s->edits, NULL, &text);
    s->text = cfg_content_take(&text);
    const struct cfg_file *to = cfg_content_file(s->text, &err);
    *ret_runs = to != NULL && driver_write_runs(d) &&
                server_adds_of(&s->changes, to, d->reader.haproxy, &adds, &actions, &err) == 0;
    return to != NULL && (*ret_runs || driver_write_keeps_comments(&s->changes, f)) ? 0 : -1;
}

static void driver_write_on_replaced(struct dataplane_driver *d, const struct replaced *r)
{
    if (r->result == TRANSACTION_HARMFUL) {
        driver_write_transact(d, r->version, d->servers.review);
        return;
    }
    dataplane_driver_forget_steps(d);
    if (r->result == TRANSACTION_COMMITTED && !r->runs && r->reload_id == NULL) {
        d->load_why = mem_strdup(r->reload_why);
        dataplane_driver_transact(d, transaction_start(&d->transaction, r->version, NULL, 0));
        return;
    }
    const struct written w = {.result = r->result,
                              .error = r->error,
                              .version = r->version,
                              .reload_id = r->reload_id,
                              .reload_why = r->reload_why,
                              .retry_after_ms = r->retry_after_ms,
                              .commit_us = r->took_us};
    d->base.events->written(d->base.arg, &w);
}

static void driver_write_on_file(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct dataplane_servers *s = &d->servers;
    bool runs;
    if (a->error != NULL || a->status != 200 || a->version != s->version || driver_write_prepare(d, a, &runs) != 0) {
        driver_write_transact(d, s->version, s->review);
        return;
    }
    const struct replacement_request request = {
        .text = s->text, .before = s->before, .edits = &s->edits, .changes = runs ? &s->changes : NULL};
    s->ended = driver_write_on_replaced;
    dataplane_driver_replace(&d->base, s->version, &request);
}

void dataplane_driver_write(struct driver *base, int64_t version, bool review, bool reload)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    struct dataplane_servers *s = &d->servers;
    verification_age(&d->verification, clock_mono_ms());
    if (reload || (!s->beyond && !driver_write_runs(d))) {
        driver_write_transact(d, version, review);
        return;
    }
    s->version = version;
    s->review = review;
    dataplane_send(d->client, "GET", "/configuration/raw", NULL, driver_write_on_file, d);
}

/* ---- their end, and what earlier runs left ---- */

void dataplane_driver_abort(struct driver *d)
{
    transaction_abort(&dataplane_driver_of(d)->transaction);
}

void dataplane_driver_clean(struct driver *d)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    dataplane_driver_transact(own, transaction_start_cleanup(&own->transaction));
}

void dataplane_driver_preview(struct driver *d, int64_t version)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    dataplane_driver_transact(own, transaction_start_preview(&own->transaction, version));
}

/* ---- runtime updates ---- */

static void dataplane_driver_updated(struct dataplane_driver *d)
{
    const struct runtime_update *u = &d->update;
    const struct updated news = {.result = u->result,
                                 .error = u->error,
                                 .wanted = &u->wanted,
                                 .fields = u->fields,
                                 .version = u->version,
                                 .reload_id = u->reload_id,
                                 .retry_after_ms = u->retry_after_ms,
                                 .write_us = u->write_us,
                                 .read_us = u->read_us};
    if (u->result == UPDATE_REJECTED) /* the API keeps a failed transaction for each refused write */
        d->cleaned = false;
    if (u->refusal != NULL) {
        transaction_note_refusal(&d->transaction, u->refusal);
        d->cleaned = false;
    }
    d->base.events->updated(d->base.arg, &news);
}

static void dataplane_driver_perform_update(struct dataplane_driver *d, struct transaction_action action);

static void dataplane_driver_on_update(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    dataplane_driver_perform_update(d, runtime_update_answer(&d->update, a));
}

static void dataplane_driver_perform_update(struct dataplane_driver *d, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND && action.delay_ms > 0 && !d->hurry) {
        dataplane_driver_read_again(d, action, dataplane_driver_perform_update);
        return;
    }
    if (action.type == TRANSACTION_SEND)
        dataplane_send(d->client, action.method, action.path, action.body, dataplane_driver_on_update, d);
    else
        dataplane_driver_updated(d);
}

int dataplane_driver_update(struct driver *base, int64_t version, const struct update_request *r, struct error *err)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    struct transaction_action first;
    d->hurry = r->hurry;
    if (runtime_update_start(&d->update, version, r->backend, r->server, r->fields, r->keep_maintenance, &first, err) !=
        0)
        return -1;
    dataplane_driver_perform_update(d, first);
    return 0;
}
