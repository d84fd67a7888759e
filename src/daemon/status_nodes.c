#include "daemon/status_nodes.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "json/write.h"
#include "daemon/status.h"

static void node_fini(struct status_node *n)
{
    free(n->name);
    free(n->subject);
    free(n->address);
    free(n->reason);
}

void status_nodes_init(struct status_nodes *n)
{
    *n = (struct status_nodes){.state = DESIRED_NOT_SYNCED};
}

void status_nodes_fini(struct status_nodes *n)
{
    for (size_t i = 0; i < n->listed; i++)
        node_fini(&n->list[i]);
    free(n->list);
    free(n->problem);
    free(n->note);
    status_nodes_init(n);
}

static struct status_node *add(struct status_nodes *n, size_t *room)
{
    (*room)--;
    return &n->list[n->listed++];
}

static void add_servers(struct status_nodes *n, const struct desired_server *from, size_t count,
                        enum server_state which, enum status_node_state as, size_t *room)
{
    for (size_t i = 0; i<count && * room> 0; i++)
        if (from[i].state == which)
            *add(n, room) = (struct status_node){.state = as,
                                                 .name = mem_strdup(from[i].name),
                                                 .address = mem_strdup(from[i].address),
                                                 .port = from[i].port,
                                                 .weight = from[i].weight,
                                                 .reason = mem_strdup(from[i].reason)};
}

static void add_skips(struct status_nodes *n, const struct desired *wish, bool ordinary, size_t *room)
{
    for (size_t i = 0; i<wish->skip_count && * room> 0; i++) {
        const struct desired_skip *s = &wish->skips[i];
        if (s->ordinary == ordinary)
            *add(n, room) = (struct status_node){.state = STATUS_OUT,
                                                 .name = mem_strdup(s->server),
                                                 .subject = mem_strdup(s->subject),
                                                 .weight = -1,
                                                 .reason = mem_strdup(s->reason),
                                                 .ordinary = s->ordinary,
                                                 .announced = s->announced};
    }
}

static void count(struct status_nodes *n, const struct desired *wish)
{
    for (size_t i = 0; i < wish->server_count; i++)
        n->count[wish->servers[i].state == SERVER_DRAINING ? STATUS_DRAINING : STATUS_LIVE]++;
    n->count[STATUS_OUT] = wish->skip_count;
    n->count[STATUS_SPARE] = wish->spare_count;
}

void status_nodes_take(struct status_nodes *n, const struct desired *wish)
{
    size_t all = wish->server_count + wish->skip_count + wish->spare_count;
    size_t room = all < STATUS_LIST_MAX ? all : STATUS_LIST_MAX;
    status_nodes_fini(n);
    n->state = wish->state;
    n->problem = mem_strdup(wish->problem);
    n->note = mem_strdup(wish->note);
    n->paused = wish->paused;
    n->endpoints = wish->endpoint_count;
    count(n, wish);
    if (room == 0)
        return;
    n->list = mem_array(room, sizeof(n->list[0]));
    add_servers(n, wish->servers, wish->server_count, SERVER_DRAINING, STATUS_DRAINING, &room);
    add_skips(n, wish, false, &room);
    add_servers(n, wish->servers, wish->server_count, SERVER_LIVE, STATUS_LIVE, &room);
    add_skips(n, wish, true, &room);
    add_servers(n, wish->spares, wish->spare_count, SERVER_OUT, STATUS_SPARE, &room);
}

/* ---- JSON ---- */

static const char *const state_names[] = {
    [STATUS_LIVE] = "live", [STATUS_DRAINING] = "draining", [STATUS_OUT] = "out", [STATUS_SPARE] = "spare"};

static const char *const wish_names[] = {[DESIRED_OK] = "ok",
                                         [DESIRED_EMPTY] = "empty",
                                         [DESIRED_NOT_SYNCED] = "waiting",
                                         [DESIRED_UNDECIDED] = "undecided"};

static void add_node(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct status_node *n)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    bool out = n->state == STATUS_OUT;
    json_put_text(doc, obj, "name", n->name);
    json_put_text(doc, obj, "state", state_names[n->state]);
    json_put_text(doc, obj, "address", n->address);
    json_put_int_or_null(doc, obj, "port", n->port != 0 ? n->port : -1);
    json_put_int_or_null(doc, obj, "weight", n->weight);
    json_put_text(doc, obj, "reason", n->reason);
    if (!out)
        return;
    json_put_text(doc, obj, "subject", n->subject);
    json_put_bool(doc, obj, "ordinary", n->ordinary);
    json_put_bool(doc, obj, "announced", n->announced);
}

void status_nodes_put(const struct status_nodes *n, yyjson_mut_doc *doc, yyjson_mut_val *obj, size_t *left)
{
    size_t listed = n->listed < *left ? n->listed : *left;
    *left -= listed;
    json_put_text(doc, obj, "state", wish_names[n->state]);
    json_put_text(doc, obj, "problem", n->problem);
    json_put_text(doc, obj, "note", n->note);
    json_put_bool(doc, obj, "paused", n->paused);
    json_put_count(doc, obj, "endpoints", n->endpoints);
    yyjson_mut_val *nodes = json_put_object(doc, obj, "nodes");
    for (int i = 0; i < STATUS_NODE_STATES; i++)
        json_put_count(doc, nodes, state_names[i], n->count[i]);
    json_put_count(doc, nodes, "listed", listed);
    yyjson_mut_val *list = json_put_list(doc, nodes, "list");
    for (size_t i = 0; i < listed; i++)
        add_node(doc, list, &n->list[i]);
}
