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
    for (size_t i = 0; i < n->address_count; i++)
        free(n->addresses[i].text);
    free(n->addresses);
    free(n->name);
    free(n);
}

void service_free(struct service *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->port_count; i++)
        free(s->ports[i].name);
    free(s->ports);
    free(s->name);
    free(s->uid);
    free(s);
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

void service_free_ptr(struct service **s)
{
    service_free(*s);
}

void endpoint_set_free_ptr(struct endpoint_set **s)
{
    endpoint_set_free(*s);
}

bool node_eq(const struct node *a, const struct node *b)
{
    if (!str_eq(a->name, b->name) || a->uid_hash != b->uid_hash || a->address_count != b->address_count)
        return false;
    if (a->excluded != b->excluded || a->to_be_deleted != b->to_be_deleted || a->deleting != b->deleting ||
        a->cordoned != b->cordoned || a->not_ready != b->not_ready)
        return false;
    for (size_t i = 0; i < a->address_count; i++)
        if (a->addresses[i].type != b->addresses[i].type || !str_eq(a->addresses[i].text, b->addresses[i].text))
            return false;
    return true;
}

static bool service_port_eq(const struct service_port *a, const struct service_port *b)
{
    return a->number == b->number && a->node_port == b->node_port && str_eq(a->name, b->name);
}

bool service_eq(const struct service *a, const struct service *b)
{
    if (!str_eq(a->name, b->name) || a->uid_hash != b->uid_hash || a->port_count != b->port_count)
        return false;
    if (!str_eq(a->uid, b->uid) || a->type != b->type || a->local != b->local ||
        a->health_check_node_port != b->health_check_node_port || a->paused != b->paused ||
        a->families[0] != b->families[0] || a->families[1] != b->families[1])
        return false;
    for (size_t i = 0; i < a->port_count; i++)
        if (!service_port_eq(&a->ports[i], &b->ports[i]))
            return false;
    return true;
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
