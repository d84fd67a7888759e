/*
 * A resource of the Kubernetes API that can be watched: a row of this type, its decoder, and what its objects consist
 * of. Those that the daemon knows are at the end of kube/decode/decode_*.c; others are made at run time (kube/discovery).
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "model/record.h"

struct decode;
struct error;
struct proto_message;
struct yyjson_val;

struct kube_resource {
    const char *kind;            /* "endpointslice": in messages and causes */
    const char *plural;          /* "endpointslices": in paths, logs and metrics */
    const char *api;             /* "/apis/discovery.k8s.io/v1" */
    const struct record *record; /* of its objects, each of which begins with its name */
    /* Fills an object that is zeroed but for its name, with kube/decode/decode_field. -1: not usable; it is freed. */
    int (*decode)(struct decode *d, struct yyjson_val *from, void *object, struct error *err);
    /* What the decoder reads of it in protobuf, and the kind that the API server calls it, "EndpointSlice"; NULL: JSON
     * alone. */
    const struct proto_message *message;
    const char *message_kind;
    size_t max_object_bytes; /* of one object, in either encoding; 0: FRAME_MAX_OBJECT_BYTES */
    bool by_namespace;       /* its objects are called "namespace/name" */
    const void *arg;         /* of one that is made at run time: what its decoder needs */
};

extern const struct kube_resource kube_nodes, kube_slices, kube_endpoints, kube_services, kube_pods, kube_secrets,
    kube_service_slices, /* of all Services: struct service_slice */
    kube_config_maps;    /* whose objects are read as Secrets */

/* Services that say by annotations how HAProxy is to serve them: struct annotated_service. Annotations are kept whose
 * name begins with one of these, with a value of at most 4096 bytes. Borrowed. */
struct annotated_prefixes {
    const char *list[2]; /* NULL: none */
};

/* prefixes have to live as long as what it decodes. */
struct kube_resource kube_annotated_services(const struct annotated_prefixes *prefixes) must_check;
