#include "model/objects.h"

#include <stdlib.h>

#include "base/str.h"

static void group_fini(struct endpoint_group *g)
{
    for (size_t i = 0; i < g->port_count; i++)
        free(g->ports[i].name);
    for (size_t i = 0; i < g->endpoint_count; i++) {
        free(g->endpoints[i].address);
        free(g->endpoints[i].node_name);
    }
    free(g->ports);
    free(g->endpoints);
}

void node_free(struct node *n)
{
    if (n == NULL)
        return;
    free(n->name);
    free(n->internal_ip);
    free(n);
}

void endpoint_set_free(struct endpoint_set *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->group_count; i++)
        group_fini(&s->groups[i]);
    free(s->groups);
    free(s->name);
    free(s);
}

void node_free_ptr(struct node **n)
{
    node_free(*n);
}

void endpoint_set_free_ptr(struct endpoint_set **s)
{
    endpoint_set_free(*s);
}

bool node_eq(const struct node *a, const struct node *b)
{
    return str_eq(a->name, b->name) && a->uid_hash == b->uid_hash && str_eq(a->internal_ip, b->internal_ip);
}

static bool port_eq(const struct endpoint_port *a, const struct endpoint_port *b)
{
    return a->number == b->number && str_eq(a->name, b->name);
}

static bool endpoint_eq(const struct endpoint *a, const struct endpoint *b)
{
    return a->ready == b->ready && a->serving == b->serving && a->terminating == b->terminating &&
           str_eq(a->address, b->address) && str_eq(a->node_name, b->node_name);
}

static bool group_eq(const struct endpoint_group *a, const struct endpoint_group *b)
{
    if (a->port_count != b->port_count || a->endpoint_count != b->endpoint_count)
        return false;
    for (size_t i = 0; i < a->port_count; i++)
        if (!port_eq(&a->ports[i], &b->ports[i]))
            return false;
    for (size_t i = 0; i < a->endpoint_count; i++)
        if (!endpoint_eq(&a->endpoints[i], &b->endpoints[i]))
            return false;
    return true;
}

bool endpoint_set_eq(const struct endpoint_set *a, const struct endpoint_set *b)
{
    if (!str_eq(a->name, b->name) || a->uid_hash != b->uid_hash || a->group_count != b->group_count)
        return false;
    for (size_t i = 0; i < a->group_count; i++)
        if (!group_eq(&a->groups[i], &b->groups[i]))
            return false;
    return true;
}
