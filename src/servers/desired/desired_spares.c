/* Nodes without a server that get a line all the same, in maintenance: the first endpoint there needs no reload
 * then. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/backend.h"
#include "servers/desired/desired_internal.h"

struct search {
    const struct run *r;
    struct desired *d;
};

/* Where it belongs among the spares; -1: it is there already, or behind the last that there is room for. */
static int find_position(const struct desired *d, const char *server)
{
    size_t at = d->spare_count;
    if (at == DESIRED_SPARES_MAX && strcmp(server, d->spares[at - 1].name) >= 0)
        return -1;
    while (at > 0 && strcmp(server, d->spares[at - 1].name) < 0)
        at--;
    return at > 0 && strcmp(server, d->spares[at - 1].name) == 0 ? -1 : (int)at;
}

static void insert(struct desired *d, size_t at, struct desired_server spare)
{
    struct desired_server *last = &d->spares[DESIRED_SPARES_MAX - 1];
    if (d->spare_count == DESIRED_SPARES_MAX) {
        free(last->name);
        free(last->address);
        free(last->reason);
        d->spare_count--;
    }
    memmove(&d->spares[at + 1], &d->spares[at], (d->spare_count - at) * sizeof(spare));
    d->spares[at] = spare;
    d->spare_count++;
}

/* In the order of the nodes' names, so that of two with one server name the first has it. */
static void see_node(void *arg, const void *node)
{
    const struct node *n = node;
    const struct search *s = arg;
    const struct run *r = s->r;
    cleanup(mem_free_ptr) char *server = desired_server_name(n->name);
    int at = find_position(s->d, server);
    if (at < 0 || desired_find(s->d, server) != NULL || node_exclusion(n) != NULL)
        return;
    const struct node_address *a = node_address_choose(n, &r->rules->nodes, r->service, r->node_port);
    if (a == NULL)
        return;
    insert(s->d, (size_t)at,
           (struct desired_server){
               .name = mem_strdup(server),
               .address = text_address(a->text),
               .port = r->port.source == PORT_ENDPOINT ? s->d->servers[0].port : r->port.number,
               .state = SERVER_OUT,
               .weight = r->rules->weights == WEIGHTS_EQUAL ? SERVER_WEIGHT_DEFAULT : -1,
               .reason = mem_printf("no usable endpoint on node %s; its line waits for one (PARK_NODES)", n->name)});
}

void run_spares(const struct run *r, struct desired *d)
{
    if (!r->rules->park_nodes || r->all)
        return;
    d->spares = mem_array(DESIRED_SPARES_MAX, sizeof(d->spares[0]));
    cache_each(r->in->caches->nodes, see_node, &(struct search){r, d});
}
