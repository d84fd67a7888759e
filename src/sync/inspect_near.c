#include "sync/inspect_near.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "model/cache.h"

#define NAMES_SHOWN 3

struct nearest {
    const char *name;
    size_t limit; /* edits */
    const char *names[NAMES_SHOWN];
    size_t distances[NAMES_SHOWN];
    size_t count;
};

/* A name within a name ("n1" of "n1.example.org") is as good as one typing error. */
static size_t distance(const struct nearest *n, const char *of)
{
    size_t d = str_distance(n->name, of, n->limit);
    bool within = !str_empty(n->name) && (strstr(of, n->name) != NULL || strstr(n->name, of) != NULL);
    return within && d > 1 ? 1 : d;
}

static void look_at(void *arg, const struct node *node)
{
    struct nearest *n = arg;
    size_t d = distance(n, node->name), at = n->count;
    if (d > n->limit)
        return;
    while (at > 0 && n->distances[at - 1] > d)
        at--;
    if (at == NAMES_SHOWN)
        return;
    if (n->count < NAMES_SHOWN)
        n->count++;
    for (size_t i = n->count - 1; i > at; i--) {
        n->names[i] = n->names[i - 1];
        n->distances[i] = n->distances[i - 1];
    }
    n->names[at] = node->name;
    n->distances[at] = d;
}

char *inspect_nearest(const struct cache *nodes, const char *name)
{
    cleanup(buf_fini) struct buf out;
    struct nearest n = {.name = name, .limit = 1 + strlen(name) / 4};
    buf_init(&out, 0);
    cache_each_node(nodes, look_at, &n);
    for (size_t i = 0; i < n.count; i++)
        buf_printf(&out, "%s%s", i > 0 ? ", " : "", n.names[i]);
    return n.count > 0 ? buf_take(&out) : NULL;
}
