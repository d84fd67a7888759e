/*
 * Servers that come and go without a reload: the whole file by one write that loads nothing, and the running HAProxy by the API's runtime
 * endpoints (haproxy/dataplane/replacement). Which way a write goes:
 *
 *   servers come or go, all of their words can be said to HAProxy    so; a health check begins with the reload that follows
 *   the API's write of the file would mean something else            the file from before goes back, and a transaction, previewed
 *   a backend or its settings change, HAProxy may run another file   a transaction
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/dataplane/driver_internal.h"
#include "haproxy/dataplane/server_actions.h"
#include "haproxy/dataplane/server_adds.h"
#include "haproxy/local/config_edit.h"

void dataplane_driver_servers_clear(struct dataplane_driver *d)
{
    struct dataplane_servers *s = &d->servers;
    changes_fini(&s->changes);
    cfg_edits_fini(&s->edits);
    cfg_content_unref(s->before);
    cfg_content_unref(s->text);
    *s = (struct dataplane_servers){0};
}

void dataplane_driver_servers_add(struct dataplane_driver *d, const struct change *list, size_t count)
{
    struct dataplane_servers *s = &d->servers;
    for (size_t i = 0; i < count; i++) {
        s->beyond = s->beyond || list[i].server == NULL;
        s->any = s->any || list[i].kind == CHANGE_ADD_SERVER || list[i].kind == CHANGE_REMOVE_SERVER;
        changes_add(&s->changes, &list[i]);
    }
}

/* What the API writes anew, and what an earlier write said. */
static bool driver_servers_is_past(const char *line)
{
    return str_has_prefix(line, "# _version=") || str_has_prefix(line, "# _md5hash=") || replacement_is_mark(line);
}

static void driver_servers_cut_head(const struct cfg_content *c, struct cfg_edits *ret)
{
    const char *line = c->text;
    for (unsigned number = 1; line != NULL && (*line == '#' || *line == '\n'); number++) {
        if (driver_servers_is_past(line))
            cfg_edits_add(ret, number, CFG_EDIT_REMOVE, NULL, 0);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

/* The file with the changes. -1: they take a transaction. */
static int driver_servers_prepare(struct dataplane_driver *d, const struct dataplane_answer *a)
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
    if (f == NULL || local_config_edit(f, list, s->changes.count, &s->edits, &err) != 0)
        return -1;
    driver_servers_cut_head(s->before, &s->edits);
    cfg_file_print(f, &s->edits, NULL, &text);
    s->text = cfg_content_take(&text);
    const struct cfg_file *to = cfg_content_file(s->text, &err);
    return to == NULL ? -1
           : server_actions_print(&s->changes, &actions, &err) != 0
               ? -1
               : server_adds_of(&s->changes, to, d->reader.haproxy, &adds, &err);
}

static void driver_servers_on_file(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct dataplane_servers *s = &d->servers;
    if (a->error != NULL || a->status != 200 || a->version != s->version || driver_servers_prepare(d, a) != 0) {
        dataplane_driver_transact_now(d, s->version, s->review);
        return;
    }
    const struct replacement_request request = {
        .text = s->text, .before = s->before, .edits = &s->edits, .changes = &s->changes};
    s->writing = true;
    dataplane_driver_replace(&d->base, s->version, &request);
}

bool dataplane_driver_servers_write(struct dataplane_driver *d, int64_t version, bool review)
{
    struct dataplane_servers *s = &d->servers;
    verification_age(&d->verification, clock_mono_ms());
    if (!d->base.adds || !s->any || s->beyond || !verification_usable(&d->verification, false))
        return false;
    s->version = version;
    s->review = review;
    dataplane_send(d->client, "GET", "/configuration/raw", NULL, driver_servers_on_file, d);
    return true;
}

void dataplane_driver_servers_replaced(struct dataplane_driver *d, const struct replaced *r)
{
    if (r->result == TRANSACTION_HARMFUL) {
        dataplane_driver_transact_now(d, r->version, d->servers.review);
        return;
    }
    if (r->result == TRANSACTION_COMMITTED && !r->runs && r->reload_id == NULL) {
        dataplane_driver_load(d, r->version, r->reload_why);
        return;
    }
    const struct written w = {.result = r->result,
                              .error = r->error,
                              .version = r->version,
                              .reload_id = r->reload_id,
                              .reload_why = r->reload_why,
                              .retry_after_ms = r->retry_after_ms,
                              .commit_us = r->took_us};
    dataplane_driver_forget_steps(d);
    d->base.events->written(d->base.arg, &w);
}
