/*
 * Random states of a small cluster, as lines of model_text.h: nodes n0 ... with and without flags and addresses, slices with
 * pods on host and pod network in every state and with different ports, a Service of any kind. For property tests.
 */
#pragma once

#include "mapping_text.h"

#define WORLD_NODES 10
#define WORLD_ALONE 2 /* endpoints that name no node: 10.9.0.10, 10.9.0.11 */
#define WORLD_PLACES (WORLD_NODES + WORLD_ALONE)
#define WORLD_SLICES 4
#define WORLD_SERVICE (WORLD_NODES + WORLD_SLICES) /* its index */
#define WORLD_LINES (WORLD_SERVICE + 1)

/* Settings with which nothing is ever undecided, whatever the Service is. */
static const char *const world_plain[] = {
    "port=30080",
    "port=30080 want=http",
    "port=30080 weights=endpoints",
    "port=30080 want=https drain=0",
    "port=30080 check",
    "port=30080 park weights=equal",
};

static const char *const world_any[] = {
    "",
    "want=http",
    "want=https",
    "mode=all",
    "port=30080 mode=all",
    "want=http mode=all weights=endpoints",
    "family=IPv4",
    "family=IPv6-first",
    "types=ExternalIP,InternalIP",
    "want=http check weights=endpoints",
    "selector=a",
    "park want=http",
    "park mode=all port=30080",
    "park types=ExternalIP family=IPv6-first",
    "want=80",
};

static inline char *world_node(struct dice *dice, unsigned i)
{
    static const char *const signs[] = {" !excluded", " !doomed", " !deleting", " !notready", " !cordoned", ""};
    struct buf b = {0};
    buf_printf(&b, "node n%u", i);
    if (!dice_one_in(dice, 8))
        buf_printf(&b, " 10.0.0.%u", i);
    if (dice_one_in(dice, 4))
        buf_printf(&b, " fd00::%u", i);
    if (dice_one_in(dice, 5))
        buf_printf(&b, " ext=1.2.3.%u", i);
    if (dice_one_in(dice, 3))
        buf_add(&b, signs[dice_below(dice, array_len(signs))]);
    return buf_take(&b);
}

static inline char *world_slice(struct dice *dice, unsigned i)
{
    static const char *const ports[] = {"http/80", "http/80", "http/80", "http/81", "http/80 https/443", ""};
    static const char *const states[] = {"yes", "no", "leaving", "leaving", "gone"};
    struct buf b = {0};
    buf_printf(&b, "slice s%u %s :", i, ports[dice_below(dice, array_len(ports))]);
    for (unsigned n = dice_below(dice, 5), k = 0; k < n; k++) {
        unsigned place = dice_below(dice, WORLD_PLACES);
        const char *state = states[dice_below(dice, array_len(states))];
        if (place >= WORLD_NODES)
            buf_printf(&b, " 10.9.0.%u=%s", place, state);
        else if (dice_one_in(dice, 8))
            buf_printf(&b, " fd00::%u@n%u=%s", place, place, state);
        else
            buf_printf(&b, " 10.%u.0.%u@n%u=%s", dice_one_in(dice, 3) ? 244 : 0, place, place, state);
    }
    return buf_take(&b);
}

/* A random line for object i: nodes, then slices, then the Service. NULL: the object is not there. */
static inline char *world_line(struct dice *dice, unsigned i)
{
    static const char *const services[] = {
        "service web NodePort Local http/80/30080",
        "service web NodePort Cluster http/80/30080 v4",
        "service web LoadBalancer Local http/80/30080 https/443/30443 check=32000 v6 v4",
        "service web ClusterIP http/80",
        "service web LoadBalancer Cluster http/80 https/443/30443 paused",
    };
    if (dice_one_in(dice, 5))
        return NULL;
    if (i < WORLD_NODES)
        return world_node(dice, i);
    if (i < WORLD_SERVICE)
        return world_slice(dice, i);
    return mem_strdup(services[dice_below(dice, array_len(services))]);
}

static inline void world_forget(const struct object_caches *c, unsigned i)
{
    cleanup(mem_free_ptr) char *name = mem_printf(i < WORLD_NODES ? "n%u" : "s%u", i);
    if (i == WORLD_SERVICE)
        cache_delete(c->services, "web");
    else
        cache_delete(i < WORLD_NODES ? c->nodes : c->slices, name);
}

static inline void world_put(const struct object_caches *c, unsigned i, const char *line)
{
    if (line != NULL)
        text_put(c, line);
    else
        world_forget(c, i);
}

/* One event about something. */
static inline void world_happens(const struct object_caches *c, struct dice *dice)
{
    unsigned i = dice_below(dice, WORLD_LINES);
    cleanup(mem_free_ptr) char *line = world_line(dice, i);
    world_put(c, i, line);
}

static inline void world_make(struct dice *dice, char **world)
{
    for (unsigned i = 0; i < WORLD_LINES; i++)
        world[i] = world_line(dice, i);
}

static inline void world_free(char **world)
{
    for (unsigned i = 0; i < WORLD_LINES; i++)
        free(world[i]);
}
