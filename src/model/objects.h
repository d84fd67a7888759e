/*
 * What the daemon keeps of Kubernetes objects: a few dozen bytes of a node's 15 kB. Plain values, no JSON. Decoders
 * (kube/decode) fill them, the cache owns them.
 */
#ifndef MODEL_OBJECTS_H
#define MODEL_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* core/v1 Node. */
struct node {
    char *name;
    uint64_t uid_hash; /* 64-bit hash of metadata.uid: the same name with another one is another node */
    char *internal_ip; /* the first valid InternalIP; NULL: it has none */
};

/* A port of a slice or of an Endpoints subset. discovery.k8s.io/v1 EndpointPort. */
struct endpoint_port {
    char *name;      /* "" where it has none */
    uint16_t number; /* never 0: a port without a number is no port and is not kept */
};

/* discovery.k8s.io/v1 Endpoint, or one address of an Endpoints subset. */
struct endpoint {
    char *address;   /* addresses[0]; an IP literal */
    char *node_name; /* NULL: it names none */
    bool ready;
    bool serving;
    bool terminating;
};

/* An EndpointSlice, or one subset of an Endpoints object (then several share the object's name). */
struct endpoint_group {
    struct endpoint_port *ports; /* TCP only, in the order of the object */
    size_t port_count;
    struct endpoint *endpoints;
    size_t endpoint_count;
};

/* An EndpointSlice (one group) or an Endpoints object (a group for each subset). */
struct endpoint_set {
    char *name; /* of the object */
    uint64_t uid_hash;
    struct endpoint_group *groups;
    size_t group_count;
};

void node_free(struct node *n); /* NULL is allowed */
void endpoint_set_free(struct endpoint_set *s);
void node_free_ptr(struct node **n); /* for cleanup() */
void endpoint_set_free_ptr(struct endpoint_set **s);

/* Same in everything that is kept. */
bool node_eq(const struct node *a, const struct node *b);
bool endpoint_set_eq(const struct endpoint_set *a, const struct endpoint_set *b);

#endif
