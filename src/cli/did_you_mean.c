#include "cli/did_you_mean.h"

#include "model/address.h"
#include "model/cache.h"
#include "model/objects.h"

static void compare_node(void *arg, const void *object)
{
    const struct node *node = object;
    struct nearest *n = arg;
    size_t d = nearest_distance(n, node->name);
    for (size_t i = 0; i < node->address_count; i++)
        if (address_eq(node->addresses[i].text, n->name))
            d = 0;
    nearest_add(n, node->name, d);
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
                nearest_add(n, e->node_name, 0);
        }
}

void nearest_of_endpoints(struct nearest *n, const struct object_caches *caches)
{
    cache_each(caches->slices, compare_set, n);
    cache_each(caches->endpoints, compare_set, n);
}
