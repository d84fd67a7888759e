#include "cli/did_you_mean.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"
#include "model/cache.h"
#include "model/objects.h"

void nearest_init(struct nearest *n, const char *name)
{
    *n = (struct nearest){.name = name, .limit = 1 + strlen(name) / 4};
}

void nearest_fini(struct nearest *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i].name);
    n->count = 0;
}

/* Behind all that are as near. */
static void move_up(struct nearest *n, size_t at)
{
    struct near_name name = n->list[at];
    for (; at > 0 && n->list[at - 1].distance > name.distance; at--)
        n->list[at] = n->list[at - 1];
    n->list[at] = name;
}

static void consider(struct nearest *n, const char *name, size_t distance)
{
    if (distance > n->limit)
        return;
    for (size_t i = 0; i < n->count; i++) {
        if (!str_eq(n->list[i].name, name))
            continue;
        if (distance < n->list[i].distance)
            n->list[i].distance = distance;
        move_up(n, i);
        return;
    }
    size_t last = n->count;
    if (n->count < NEAREST_SHOWN)
        n->count++;
    else if (distance < n->list[--last].distance)
        free(n->list[last].name);
    else
        return;
    n->list[last] = (struct near_name){mem_strdup(name), distance};
    move_up(n, last);
}

/* A name within a name ("n1" of "n1.example.org") is as good as one typing error. */
static size_t distance(const struct nearest *n, const char *of)
{
    size_t d = str_distance(n->name, of, n->limit);
    bool within = !str_empty(n->name) && (strstr(of, n->name) != NULL || strstr(n->name, of) != NULL);
    return within && d > 1 ? 1 : d;
}

static void compare_node(void *arg, const void *object)
{
    const struct node *node = object;
    struct nearest *n = arg;
    size_t d = distance(n, node->name);
    for (size_t i = 0; i < node->address_count; i++)
        if (address_eq(node->addresses[i].text, n->name))
            d = 0;
    consider(n, node->name, d);
}

void nearest_of_nodes(struct nearest *n, const struct object_caches *caches)
{
    cache_each(caches->nodes, compare_node, n);
}

static void compare_set(void *arg, const void *object)
{
    const struct endpoint_set *set = object;
    struct nearest *n = arg;
    for (size_t g = 0; g < set->group_count; g++)
        for (size_t i = 0; i < set->groups[g].endpoint_count; i++) {
            const struct endpoint *e = &set->groups[g].endpoints[i];
            if (e->node_name != NULL && address_eq(e->address, n->name))
                consider(n, e->node_name, 0);
        }
}

void nearest_of_endpoints(struct nearest *n, const struct object_caches *caches)
{
    cache_each(caches->slices, compare_set, n);
    cache_each(caches->endpoints, compare_set, n);
}

char *nearest_text(const struct nearest *n)
{
    cleanup(buf_fini) struct buf out = {0};
    for (size_t i = 0; i < n->count; i++)
        buf_printf(&out, "%s%s", i > 0 ? ", " : "", n->list[i].name);
    return n->count > 0 ? buf_take(&out) : NULL;
}
