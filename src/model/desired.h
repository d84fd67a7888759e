/*
 * The mapping rules: from what Kubernetes says to the servers that HAProxy should have. Pure: the same cache and rules
 * give the same answer, whatever the order of events was.
 *
 * One server for each node with a usable endpoint: name = node name (the endpoint's IP where it names no node), address =
 * the node's first InternalIP (the endpoint's where it names no node), port = the fixed one, else the endpoint's own.
 * Usable: ready; where no endpoint of the Service is ready, serving and terminating ones (as kube-proxy does). An endpoint
 * that several slices list is ready where one of them says so.
 *
 * The endpoint's own port is right only where the server's address is the endpoint's own: on host network, or where it
 * names no node. A Service with several ports, or with usable endpoints elsewhere, needs a fixed port: DESIRED_UNDECIDED.
 * In a dual-stack Service the endpoints of the node's own address family speak for the node.
 * Several ports are several names; one name may have another number in each slice, and of two on one node it is the lower.
 */
#ifndef MODEL_DESIRED_H
#define MODEL_DESIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

struct cache;

struct mapping_rules {
    uint16_t fixed_port; /* 0: the endpoint's own */
};

struct desired_server {
    char *name;    /* safe as a HAProxy server name */
    char *address; /* IP literal */
    uint16_t port;
};

/* An endpoint or node that gave no server, and why; for logs and, later, `explain`. */
struct desired_skip {
    char *subject; /* "endpoint 10.244.1.7 of slice web-abc12"; one for each node */
    char *reason;  /* "its node n7 is not known" */
    bool ordinary; /* in the normal course of things (not ready): to explain, not to warn about */
};

enum desired_state {
    DESIRED_OK,         /* servers is the wish, at least one */
    DESIRED_EMPTY,      /* synced, but no usable endpoint */
    DESIRED_NOT_SYNCED, /* a cache that is needed has not synced */
    DESIRED_UNDECIDED,  /* a rule needs a decision by the user: `problem` says which */
};

struct desired {
    enum desired_state state;
    struct desired_server *servers; /* ordered by name */
    size_t server_count;
    struct desired_skip *skips;
    size_t skip_count;
    size_t endpoint_count; /* all endpoints seen, usable or not; one that is in two slices counts twice */
    char *problem;         /* why state is not OK, for /readyz and the log; NULL where OK */
};

/* Slices are used where they are synced, otherwise Endpoints (see cache_synced). Fills ret (owned by the caller). */
void desired_compute(const struct cache *c, const struct mapping_rules *rules, struct desired *ret);
void desired_init(struct desired *d);
void desired_fini(struct desired *d);
void desired_copy(struct desired *to, const struct desired *from); /* deep; not the skips; `to` is initialised */
bool desired_eq(const struct desired *a, const struct desired *b); /* state, servers and problem; not the skips */

/* Node name -> server name: HAProxy takes letters, digits and "_.:-" ("character 'x' is not permitted in server name");
 * everything else becomes '_'. "" becomes "_". Allocates. */
char *desired_server_name(const char *node_name) must_check;

#endif
