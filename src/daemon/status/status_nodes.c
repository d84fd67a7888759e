#include "daemon/status/status_parts.h"

#include <yyjson.h>

#include "base/mem.h"
#include "json/write.h"
#include "servers/desired/desired.h"

struct listing {
    const struct desired *desired;
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    size_t room;
};

static yyjson_mut_val *status_nodes_add(struct listing *l, const char *name, const char *state,
                                        const struct desired_server *s, const char *reason)
{
    yyjson_mut_val *obj = json_add_object(l->doc, l->list);
    l->room--;
    json_put_text(l->doc, obj, "name", name);
    json_put_text(l->doc, obj, "state", state);
    json_put_text(l->doc, obj, "address", s != NULL ? s->address : NULL);
    json_put_int_or_null(l->doc, obj, "port", s != NULL && s->port != 0 ? s->port : -1);
    json_put_int_or_null(l->doc, obj, "weight", s != NULL ? s->weight : -1);
    json_put_text(l->doc, obj, "reason", reason);
    return obj;
}

static void status_nodes_add_servers(struct listing *l, const struct desired_server *from, size_t count,
                                     enum server_state which, const char *state)
{
    for (size_t i = 0; i < count && l->room > 0; i++) {
        if (from[i].state != which)
            continue;
        cleanup(mem_free_ptr) char *reason = desired_server_reason(l->desired, &from[i]);
        status_nodes_add(l, from[i].name, state, &from[i], reason);
    }
}

static void add_skips(struct listing *l, bool ordinary)
{
    const struct desired *d = l->desired;
    for (size_t i = 0; i < d->skip_count && l->room > 0; i++) {
        const struct desired_skip *s = &d->skips[i];
        if (s->ordinary != ordinary)
            continue;
        cleanup(mem_free_ptr) char *subject = desired_skip_subject(d, s), *reason = desired_skip_reason(d, s);
        yyjson_mut_val *obj = status_nodes_add(l, s->server, "out", NULL, reason);
        json_put_text(l->doc, obj, "subject", subject);
        json_put_bool(l->doc, obj, "ordinary", s->ordinary);
        json_put_bool(l->doc, obj, "announced", s->announced);
    }
}

void status_nodes_put(const struct desired *d, yyjson_mut_doc *doc, yyjson_mut_val *obj, size_t *left)
{
    static const char *const states[] = {[DESIRED_OK] = "ok",
                                         [DESIRED_EMPTY] = "empty",
                                         [DESIRED_NOT_SYNCED] = "waiting",
                                         [DESIRED_UNDECIDED] = "undecided"};
    static const struct desired nothing = {.state = DESIRED_NOT_SYNCED};
    if (d == NULL)
        d = &nothing;
    size_t draining = 0, listed = d->server_count + d->skip_count + d->spare_count;
    listed = listed < STATUS_LIST_MAX ? listed : STATUS_LIST_MAX;
    listed = listed < *left ? listed : *left;
    *left -= listed;
    for (size_t i = 0; i < d->server_count; i++)
        draining += d->servers[i].state == SERVER_DRAINING;
    json_put_text(doc, obj, "state", states[d->state]);
    json_put_text(doc, obj, "problem", d->problem);
    json_put_text(doc, obj, "note", d->note);
    json_put_bool(doc, obj, "paused", d->paused);
    json_put_count(doc, obj, "endpoints", d->endpoint_count);
    yyjson_mut_val *nodes = json_put_object(doc, obj, "nodes");
    json_put_count(doc, nodes, "live", d->server_count - draining);
    json_put_count(doc, nodes, "draining", draining);
    json_put_count(doc, nodes, "out", d->skip_count);
    json_put_count(doc, nodes, "spare", d->spare_count);
    json_put_count(doc, nodes, "listed", listed);
    struct listing l = {.desired = d, .doc = doc, .list = json_put_list(doc, nodes, "list"), .room = listed};
    status_nodes_add_servers(&l, d->servers, d->server_count, SERVER_DRAINING, "draining");
    add_skips(&l, false);
    status_nodes_add_servers(&l, d->servers, d->server_count, SERVER_LIVE, "live");
    add_skips(&l, true);
    status_nodes_add_servers(&l, d->spares, d->spare_count, SERVER_OUT, "spare");
}
