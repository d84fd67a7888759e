/*
 * The mapping rules: from the objects of Kubernetes to the servers that one HAProxy backend should have. Pure: the same
 * caches, rules, states and time give the same answer, whatever the order of events was.
 *
 * Which nodes: with policy Cluster and NODE_MODE all every eligible node with an address, as long as the Service has a
 * usable endpoint anywhere; otherwise each of them with a usable one. Usable: ready; where none is ready that a server
 * can come of (its node is eligible, address and port are known), serving and terminating ones (as kube-proxy does). An
 * endpoint that several slices list is one, and as good as the best of them says. One without a node is a place of its
 * own, named by its IP, though not with NODE_MODE all.
 *
 * Address: model/node_rules. Port: model/service_port. An endpoint that has ports, but not the chosen one, does not
 * serve it. The endpoint's own port is right only where it listens at the server's address: on host network (it is at
 * an address of its node, of the server's family), or where it names no node, which no nodePort reaches; elsewhere
 * DESIRED_UNDECIDED. In a dual-stack Service the endpoints of the server's address family speak for the node's port,
 * and count for its weight. One port name may have another number in each slice, and of two on one node it is the
 * lower.
 *
 * State: servers/desired/server_state. A node that has no ready endpoint left but a serving, terminating one, while
 * another has ready ones, drains; never the last one. With NODE_MODE all nothing drains for its endpoints. While
 * nothing can be decided (not synced, undecided), no time passes. A server that is out (its line removed, or parked) is
 * back with a ready endpoint; with a terminating one only where no endpoint is ready on any node, since then it is that
 * or nothing.
 *
 * Names: of two nodes whose names become one server's (desired_server_name), the usable one has it, then the first by
 * name.
 */
#ifndef SERVERS_DESIRED_DESIRED_H
#define SERVERS_DESIRED_DESIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "model/choices.h"
#include "model/node_rules.h"
#include "servers/desired/server_state.h"

#define DESIRED_WEIGHT_MAX 256 /* HAProxy's */

struct mapping_rules {
    const char *namespace; /* of the Service; for messages */
    const char *service;   /* its name */
    const char *port;      /* a name or number of its ports; NULL: its only one */
    uint16_t fixed_port;   /* 0: none */
    enum node_mode node_mode;
    struct node_rules nodes;
    enum server_weights weights;
    bool node_port_check; /* check the healthCheckNodePort where the Service has one */
    uint64_t drain_timeout_ms;
    const char *node_selector; /* that the Nodes are watched with, for messages; NULL: none */
    bool park_nodes;           /* fill spares */
};

/* A Service and its slices, as the caller found them among those of many: instead of the caches, of which the Nodes alone count. */
struct desired_objects {
    const struct service *service;
    const struct endpoint_set *const *sets; /* ordered by name */
    size_t set_count;
};

/* All borrowed. */
struct desired_input {
    const struct object_caches *caches;
    const struct desired_objects *objects; /* NULL: what the caches have */
    bool service_denied; /* the Service may not be read: it is not waited for; what the cache has of it counts */
    const struct mapping_rules *rules;
    struct server_states *states; /* a pass over them; NULL: nothing is remembered, each drain begins now */
    uint64_t now_ms;
};

struct desired_server {
    char *name;    /* safe as a HAProxy server name */
    char *node;    /* the name by its node, where the other is another (servers/names); NULL: the same */
    char *address; /* IP literal; a DNS name where Hostname addresses are asked for */
    uint16_t port;
    enum server_state state; /* LIVE or DRAINING: no new connections, the open ones live on ... */
    uint64_t until_ms;       /* ... until then at most */
    int weight;              /* -1: an existing one is kept */
    char *reason;            /* "2 ready endpoints on node n1 (slice web-abc12); nodePort 30443 of its port https" */
};

/* A place that gave no server, and why; for logs, `plan` and `explain`. Not of nodes that have nothing to do with the
 * Service; but of servers that the states remember though nothing is left of them. */
struct desired_skip {
    char *subject;  /* "endpoint 10.244.1.7 of slice web-abc12", "node n7"; one for each place */
    char *reason;   /* "its node n7 is not known" */
    char *server;   /* the name that its server has or would have; NULL: none */
    bool ordinary;  /* in the normal course of things (not ready): to explain, not to warn about */
    bool announced; /* it was said that it would go: no fault of a control plane */
};

/* A line that is not desired, and its node. */
struct desired_alias {
    char *name, *node;
};

enum desired_state {
    DESIRED_OK,         /* servers is what is desired, at least one of them LIVE */
    DESIRED_EMPTY,      /* synced, but no usable endpoint */
    DESIRED_NOT_SYNCED, /* a cache that is needed has not synced */
    DESIRED_UNDECIDED,  /* the user has to decide something: `problem` says what */
};

#define DESIRED_SPARES_MAX 64

/* Once shared, it never changes; `refs` is desired_share's. */
struct desired {
    unsigned refs;
    enum desired_state state;
    struct desired_server *servers; /* ordered by name */
    size_t server_count;
    /* With park_nodes, state OK, and where not every node is a server anyway (NODE_MODE all): eligible nodes with an
     * address and without a server, the first DESIRED_SPARES_MAX by server name, for lines in maintenance that are
     * ready for an endpoint to come. state is OUT; the port is the one of all nodes, or that of the first server where
     * each has its own; weight is SERVER_WEIGHT_DEFAULT with WEIGHTS_EQUAL, else -1. */
    struct desired_server *spares;
    size_t spare_count;
    struct desired_skip *skips;
    size_t skip_count;
    struct desired_alias *aliases; /* by servers/names, in the order of the lines' names */
    size_t alias_count;
    size_t endpoint_count; /* all endpoints seen, usable or not; one that is in two slices counts twice */
    uint16_t check_port;   /* check by HTTP at this port of each node (healthCheckNodePort); 0: as the settings say */
    bool paused;           /* the Service is annotated: nothing is to be written */
    uint64_t due_ms;       /* compute again then, though nothing changed (a drain ends); 0: no need */
    char *problem;         /* why state is not OK, for /readyz and the log; NULL where OK */
    char *note;            /* a setting that has no effect here, and why, for the log; NULL: none */
};

/* Slices are used where they are synced, otherwise Endpoints (see cache_synced). Fills ret (owned by the caller). */
void desired_compute(const struct desired_input *in, struct desired *ret);
void desired_init(struct desired *d);
void desired_fini(struct desired *d);
void desired_copy(struct desired *to, const struct desired *from); /* deep, all but the aliases; `to` is overwritten */

/* Takes over what d holds (it is left empty): from here on it never changes, so the targets, the status page and the
 * log share it, each by a reference of its own; the last desired_unref frees it. */
const struct desired *desired_share(struct desired *d) must_check;
const struct desired *desired_ref(const struct desired *shared) must_check;
void desired_unref(const struct desired *shared);      /* NULL is allowed */
void desired_unref_ptr(const struct desired **shared); /* for cleanup() */
/* The same for HAProxy: all but skips, reasons, note and due_ms. */
bool desired_eq(const struct desired *a, const struct desired *b);

/* The servers with a reason why they are not desired, in the order of their names: to ask of thousands. Borrows. */
struct desired_outs {
    const struct desired_skip **list;
    size_t count;
};
void desired_outs_init(struct desired_outs *o, const struct desired *d);
void desired_outs_fini(struct desired_outs *o);
/* The place of the first of that server, which is the one of desired_why_out; where there is none, that of another, or
 * count. */
size_t desired_outs_place(const struct desired_outs *o, const char *server_name);
const struct desired_skip *desired_outs_find(const struct desired_outs *o, const char *server_name); /* NULL: none */

/* Why the server of that name is not desired; NULL: nothing is known of it, or it is. */
const struct desired_skip *desired_why_out(const struct desired *d, const char *server_name);
const struct desired_server *desired_find(const struct desired *d, const char *server_name); /* NULL: not desired */
const struct desired_server *desired_find_spare(const struct desired *d, const char *server_name); /* NULL: none */

/* The node of the server, or of the line, of that name; NULL: nothing is known of it. */
const char *desired_node(const struct desired *d, const char *server_name);
/* The name under which a node is desired, or has a line; NULL: none but its own. */
const char *desired_name_of_node(const struct desired *d, const char *node);

/* Node name -> server name: HAProxy takes letters, digits and "_.:-" ("character 'x' is not permitted in server name");
 * everything else becomes '_'. "" becomes "_". Allocates. */
char *desired_server_name(const char *node_name) must_check;

#endif
