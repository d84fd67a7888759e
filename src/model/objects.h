/*
 * What the daemon keeps of Kubernetes objects: a few dozen bytes of a node's 15 kB. Plain values, no JSON. Decoders
 * (kube/decode/decode) fill them, the cache owns them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"

enum node_address_type { NODE_INTERNAL_IP, NODE_EXTERNAL_IP, NODE_HOSTNAME, NODE_ADDRESS_TYPES };

/* core/v1 NodeAddress. */
struct node_address {
    enum node_address_type type;
    char *text; /* an IP literal; with NODE_HOSTNAME a DNS name or an IP literal */
};

/* At most one of each type and family (IPv4, IPv6, name): the first of them. */
#define NODE_ADDRESSES_MAX 7

/* core/v1 Node. model/node_rules says what the facts mean. */
struct node {
    char *name;
    uint64_t uid_hash;              /* 64-bit hash of metadata.uid: the same name with another one is another node */
    struct node_address *addresses; /* in the order of the object */
    uint32_t address_count;         /* of NODE_ADDRESSES_MAX */
    uint8_t excluded_by;            /* bit n: row n of node_exclusions (model/node_rules) is true of it */
    bool cordoned;                  /* spec.unschedulable */
    bool not_ready;                 /* condition Ready is there and not "True" */
};

struct object_annotation {
    char *name;
    char *value;
};

enum service_type { SERVICE_CLUSTER_IP, SERVICE_NODE_PORT, SERVICE_LOAD_BALANCER, SERVICE_EXTERNAL_NAME };
extern const char *const service_type_names[SERVICE_EXTERNAL_NAME + 1];

/* core/v1 ServicePort; TCP only. */
struct service_port {
    char *name;         /* "" where it has none */
    uint16_t number;    /* spec.ports[].port; never 0 */
    uint16_t node_port; /* 0: none */
};

/* core/v1 Service. */
struct service {
    char *name;
    uint64_t uid_hash;
    char *uid; /* for Events on it, which are found by it; NULL: it has none */
    enum service_type type;
    bool local;                      /* externalTrafficPolicy Local; otherwise Cluster, or no policy at all */
    uint16_t health_check_node_port; /* 0: none */
    bool paused;                     /* annotation haproxy-k8s-sync/paused, unless its value is a false bool */
    int families[2];                 /* spec.ipFamilies, AF_INET and AF_INET6, preferred first; 0: none */
    struct service_port *ports;
    uint32_t port_count;
};

/* The same of one that says by annotations how HAProxy is to serve it. */
struct annotated_service {
    struct service service;                /* its name is "namespace/name" */
    int64_t created_us;                    /* metadata.creationTimestamp, since the Unix epoch; 0: not known */
    struct object_annotation *annotations; /* of the prefixes that its resource has (kube_annotated_services), and those
                                               that ask for a protection (model/protection) */
    uint32_t annotation_count;
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
    uint32_t port_count;
    struct endpoint *endpoints;
    uint32_t endpoint_count;
};

/* An EndpointSlice (one group) or an Endpoints object (a group for each subset). */
struct endpoint_set {
    char *name; /* of the object */
    uint64_t uid_hash;
    struct endpoint_group *groups;
    uint32_t group_count;
};

/* An EndpointSlice of any Service: its set's name is "namespace/name". */
struct service_slice {
    struct endpoint_set set;
    char *service; /* "namespace/name", by the label kubernetes.io/service-name; NULL: it has none */
};

/* core/v1 Pod of a HAProxy: where its Data Plane API is. */
struct pod {
    char *name;
    char *uid;        /* the same name with another one is another pod */
    char *address;    /* status.podIP, an IP literal; NULL: none yet */
    bool running;     /* status.phase is Running: readiness is not asked, a configuration makes it ready */
    bool terminating; /* metadata.deletionTimestamp is there */
};

struct secret_value {
    char *key;
    char *bytes; /* decoded, with a NUL behind them */
    size_t len;
};

/* core/v1 Secret. Never in a cache; freed, it is overwritten. */
struct secret_object {
    char *name;
    char *uid;     /* NULL: it has none */
    char *version; /* metadata.resourceVersion; NULL: it has none */
    bool paused;   /* annotation haproxy-k8s-sync/paused or haproxy.operator/paused, unless its value is a false bool */
    struct object_annotation *annotations; /* those that begin with SECRET_ANNOTATIONS */
    uint32_t annotation_count;
    struct secret_value *values;
    uint32_t value_count;
};

#define SECRET_ANNOTATIONS "haproxy.operator/" /* as an operator for such Secrets names them */

struct cache;

/* Where the objects are that one Service's servers come from. */
struct object_caches {
    struct cache *nodes, *slices, *endpoints, *services;
};

extern const struct record node_record, service_record, annotated_service_record, endpoint_set_record,
    service_slice_record, pod_record, secret_record;
