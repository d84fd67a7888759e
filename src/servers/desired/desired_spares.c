/* Nodes without a server that get a line all the same, in maintenance: the first endpoint there needs no reload
 * then. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/backend.h"
#include "model/address.h"
#include "servers/desired/desired_internal.h"

/* The first so many, in their order: texts are made of those that are left. */
struct search {
    const struct run *r;
    struct desired *d;
    struct found {
        char *server; /* NULL: the node's name */
        const struct node *node;
    } found[DESIRED_SPARES_MAX];
    size_t count;
};

static const char *found_name(const struct found *f)
{
    return f->server != NULL ? f->server : f->node->name;
}

/* Where it belongs among them; -1: behind the last that there is room for. */
static int find_position(const struct search *s, const char *server)
{
    size_t at = s->count;
    if (at == DESIRED_SPARES_MAX && strcmp(server, found_name(&s->found[at - 1])) > 0)
        return -1;
    while (at > 0 && strcmp(server, found_name(&s->found[at - 1])) <= 0)
        at--;
    return (int)at;
}

/* Of two with one server name the first by its own name has it. */
static void see_node(void *arg, const void *node)
{
    const struct node *n = node;
    struct search *s = arg;
    cleanup(mem_free_ptr) char *other = desired_is_server_name(n->name) ? NULL : desired_server_name(n->name);
    const char *server = other != NULL ? other : n->name;
    int at = find_position(s, server);
    const struct run *r = s->r;
    if (at < 0 || node_exclusion(n, &r->rules->nodes) != NULL ||
        node_address_choose(n, &r->rules->nodes, r->service, r->node_port) == NULL ||
        desired_find(s->d, server) != NULL)
        return;
    struct found *same = (size_t)at < s->count ? &s->found[at] : NULL;
    if (same == NULL || strcmp(found_name(same), server) != 0) {
        if (s->count == DESIRED_SPARES_MAX)
            free(s->found[--s->count].server);
        memmove(&s->found[at + 1], &s->found[at], (s->count - (size_t)at) * sizeof(s->found[0]));
        s->found[at] = (struct found){other, n};
        s->count++;
    } else if (strcmp(n->name, same->node->name) < 0) {
        free(same->server);
        *same = (struct found){other, n};
    } else {
        return;
    }
    other = NULL;
}

/* Where each server has its own, that of the first. */
static uint16_t spare_port(const struct run *r, const struct desired *d)
{
    return r->port.source == PORT_ENDPOINT ? d->servers[0].port : r->port.number;
}

void run_spares(const struct run *r, struct desired *d)
{
    struct search s = {.r = r, .d = d};
    if (!r->rules->park_nodes || r->all)
        return;
    cache_each(r->in->caches->nodes, see_node, &s);
    d->spares = mem_array(s.count, sizeof(d->spares[0]));
    for (size_t i = 0; i < s.count; i++) {
        char usual[ADDRESS_TEXT_BYTES];
        const struct node_address *a = node_address_choose(s.found[i].node, &r->rules->nodes, r->service, r->node_port);
        struct desired_server spare = {.name = desired_text(s.d, found_name(&s.found[i])),
                                       .address = desired_text(s.d, run_usual_address(a->text, usual)),
                                       .port = spare_port(r, s.d),
                                       .state = SERVER_OUT,
                                       .weight = r->rules->weights == WEIGHTS_EQUAL ? SERVER_WEIGHT_DEFAULT : -1,
                                       .why = {.kind = WHY_SPARE}};
        if (s.found[i].server != NULL) /* its name does not say it all */
            spare.why = desired_why_take(s.d, text_server_reason(r->words, s.found[i].node->name, &spare.why));
        d->spares[d->spare_count++] = spare;
        free(s.found[i].server);
    }
}

void run_spares_again(const struct run *r, const struct desired *last, struct desired *d)
{
    d->spares = mem_array(last->spare_count, sizeof(d->spares[0]));
    for (; d->spare_count < last->spare_count; d->spare_count++) {
        struct desired_server *s = &d->spares[d->spare_count];
        *s = last->spares[d->spare_count];
        s->name = desired_text(d, s->name);
        s->address = desired_text(d, s->address);
        s->why.text = desired_text(d, s->why.text);
        s->port = spare_port(r, d);
    }
}
