#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/cache.h"
#include "model/node_rules.h"
#include "model/objects.h"

static const char *const service_names[OURS] = {"web", "two"};

static struct cache *synced_empty(const struct record *of)
{
    struct cache *c = cache_new(of);
    cache_replace_begin(c);
    (void)cache_replace_end(c);
    return c;
}

void cluster_put_node(struct cluster *c, size_t node)
{
    char name[8];
    snprintf(name, sizeof(name), "n%zu", node);
    if (!c->of[node].there) {
        (void)cache_delete(c->nodes, name);
        return;
    }
    struct node *n = mem_alloc(sizeof(*n));
    *n = (struct node){.name = mem_strdup(name), .uid_hash = node + 1, .not_ready = c->of[node].not_ready};
    for (size_t row = 0; row < NODE_EXCLUSIONS; row++)
        if ((node_exclusions[row].by == EXCLUDED_BY_LABEL && c->of[node].excluded) ||
            (node_exclusions[row].by == EXCLUDED_BY_DELETION && c->of[node].deleting))
            n->excluded_by |= (uint8_t)(1u << row);
    n->addresses = mem_array(1, sizeof(*n->addresses));
    n->addresses[n->address_count++] =
        (struct node_address){NODE_INTERNAL_IP, mem_printf("10.0.0.%u", c->of[node].address)};
    (void)cache_put(c->nodes, n);
}

static struct endpoint endpoint_of(enum pod_state state, size_t node, unsigned pod)
{
    return (struct endpoint){.address = mem_printf("10.244.%zu.%u", node, pod + 1),
                             .node_name = mem_printf("n%zu", node),
                             .ready = state == POD_READY,
                             .serving = state == POD_READY || state == POD_LEAVING,
                             .terminating = state == POD_LEAVING || state == POD_GONE};
}

void cluster_put_pods(struct cluster *c, size_t service)
{
    struct endpoint_set *set = mem_alloc(sizeof(*set));
    *set = (struct endpoint_set){.name = mem_strdup("slice"), .uid_hash = 1, .group_count = 1};
    set->groups = mem_array(1, sizeof(*set->groups));
    struct endpoint_group *g = &set->groups[0];
    g->ports = mem_array(1, sizeof(*g->ports));
    g->ports[0] = (struct endpoint_port){mem_strdup("http"), 8080};
    g->port_count = 1;
    g->endpoints = mem_array(NODES * 4, sizeof(*g->endpoints));
    for (size_t n = 0; n < NODES; n++)
        for (unsigned p = 0; c->of[n].pods[service].state != POD_NONE && p < c->of[n].pods[service].count; p++)
            g->endpoints[g->endpoint_count++] = endpoint_of(c->of[n].pods[service].state, n, p);
    (void)cache_put(c->caches[service].slices, set);
}

void cluster_put_service(struct cluster *c, size_t service)
{
    struct service *s = mem_alloc(sizeof(*s));
    *s = (struct service){.name = mem_strdup(service_names[service]),
                          .uid_hash = 1,
                          .type = SERVICE_NODE_PORT,
                          .local = true,
                          .paused = c->paused[service],
                          .port_count = 1};
    s->ports = mem_array(1, sizeof(*s->ports));
    s->ports[0] = (struct service_port){mem_strdup("http"), 80, (uint16_t)c->node_ports[service]};
    (void)cache_put(c->caches[service].services, s);
}

void cluster_init(struct cluster *c, const struct settings *s)
{
    static const enum server_weights weights[] = {WEIGHTS_KEEP, WEIGHTS_EQUAL, WEIGHTS_ENDPOINTS};
    *c = (struct cluster){.nodes = synced_empty(&node_record)};
    for (size_t n = 0; n < NODES; n++) {
        c->of[n].there = n < s->nodes;
        c->of[n].address = 10 + (unsigned)n;
        cluster_put_node(c, n);
    }
    for (size_t i = 0; i < OURS; i++) {
        c->caches[i] = (struct object_caches){.nodes = c->nodes,
                                              .slices = synced_empty(&endpoint_set_record),
                                              .endpoints = cache_new(&endpoint_set_record),
                                              .services = synced_empty(&service_record)};
        c->node_ports[i] = 30080 + (unsigned)i;
        for (size_t n = 0; n < NODES; n++) {
            c->of[n].pods[i].count = 1;
            c->of[n].pods[i].state = n < s->nodes ? POD_READY : POD_NONE;
        }
        c->rules[i] = (struct mapping_rules){.namespace = "ns",
                                             .service = service_names[i],
                                             .nodes = node_rules_default,
                                             .weights = weights[s->weights % 3],
                                             .drain_timeout_ms = s->drain_s * 1000,
                                             .park_nodes = s->spares != 0 && s->park_s > 0};
        cluster_put_service(c, i);
        cluster_put_pods(c, i);
    }
    cluster_forget_states(c);
}

void cluster_forget_states(struct cluster *c)
{
    for (size_t i = 0; i < OURS; i++) {
        server_states_free(c->states[i]);
        c->states[i] = server_states_new();
        desired_memory_free(c->memory[i]);
        c->memory[i] = desired_memory_new();
    }
}

void cluster_fini(struct cluster *c)
{
    for (size_t i = 0; i < OURS; i++) {
        server_states_free(c->states[i]);
        desired_memory_free(c->memory[i]);
        cache_free(c->caches[i].slices);
        cache_free(c->caches[i].endpoints);
        cache_free(c->caches[i].services);
    }
    cache_free(c->nodes);
}

const struct desired *cluster_desired(const struct cluster *c, size_t service, uint64_t now_ms)
{
    struct desired_input in = {
        .caches = &c->caches[service], .rules = &c->rules[service], .states = c->states[service], .now_ms = now_ms};
    return desired_update(c->memory[service], &in);
}

bool cluster_has_node(const void *arg, const char *server)
{
    const struct cluster *c = arg;
    return cache_find(c->nodes, server) != NULL;
}
