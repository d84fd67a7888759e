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
#pragma once

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

enum desired_why_kind {
    WHY_UNSAID, /* no reason is given */
    WHY_TEXT,   /* text */
    WHY_READY,
    WHY_TERMINATING,
    WHY_ENDING,   /* only terminating ones, and no ready one anywhere */
    WHY_DRAINING, /* only terminating ones, while others are ready elsewhere */
    WHY_EVERY,    /* it is a node, and with NODE_MODE all each is one */
    WHY_SPARE,
};

#define DESIRED_SETS 2

/* What a reason is made of when it is read: for thousands of servers it is never read. */
struct desired_why {
    union {
        const char *sets[DESIRED_SETS]; /* the slices that list the endpoints; NULL: no more of them */
        const char *text;
    };
    uint32_t count; /* of the endpoints */
    uint8_t kind;   /* enum desired_why_kind */
    bool more_sets;
    bool alone; /* the endpoint names no node */
};

/* Texts are the desired state's (desired_text). */
struct desired_server {
    const char *name;    /* safe as a HAProxy server name */
    const char *node;    /* the name by its node, where the other is another (servers/names); NULL: the same */
    const char *address; /* IP literal; a DNS name where Hostname addresses are asked for */
    struct desired_why why;
    uint64_t until_ms; /* DRAINING: until then at most */
    int weight;        /* -1: an existing one is kept */
    uint16_t port;
    enum server_state state; /* LIVE or DRAINING: no new connections, the open ones live on */
};

/* A place that gave no server, and why; for logs, `plan` and `explain`. Not of nodes that have nothing to do with the
 * Service; but of servers that the states remember though nothing is left of them. The sentences are made when they are
 * read (desired_skip_subject, desired_skip_reason), of what is here; one for each place. */
struct desired_skip {
    const char *server;         /* the name that its server has or would have; NULL: none */
    const char *place;          /* its node, or the endpoint's address; the subject where both sentences are given */
    const char *endpoint, *set; /* who speaks for it; NULL: it is about the node */
    const char *detail;         /* what only this cause has; the reason where it is given */
    struct desired_why here;    /* ready or terminating endpoints that are given away */
    uint32_t endpoint_count;
    uint8_t cause;  /* enum cause of desired_internal; 0: the sentences are given */
    bool named;     /* place is a node */
    bool ordinary;  /* in the normal course of things (not ready): to explain, not to warn about */
    bool announced; /* it was said that it would go: no fault of a control plane */
};

/* A line that is not desired, and its node. */
struct desired_alias {
    const char *name, *node;
};

struct desired_words;
struct text_pool;

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
    /* With park_nodes, state OK, and where not every node is a server already (NODE_MODE all): eligible nodes with an
     * address and without a server, the first DESIRED_SPARES_MAX by server name, for lines in maintenance that are
     * ready for an endpoint to come. state is OUT; the port is the one of all nodes, or that of the first server where
     * each has its own; weight is SERVER_WEIGHT_DEFAULT with WEIGHTS_EQUAL, else -1. */
    struct desired_server *spares;
    size_t spare_count;
    struct desired_skip *skips;
    size_t skip_count, skip_room;
    struct desired_alias *aliases; /* by servers/names, in the order of the lines' names */
    size_t alias_count;
    const char **took_over; /* by servers/names: names of no cluster whose lines are managed, ordered */
    size_t took_over_count;
    size_t endpoint_count;   /* all endpoints seen, usable or not; one that is in two slices counts twice */
    uint16_t check_port;     /* check by HTTP at this port of each node (healthCheckNodePort); 0: as the settings say */
    bool paused;             /* the Service is annotated: nothing is to be written */
    uint64_t due_ms;         /* compute again then, though nothing changed (a drain ends); 0: no need */
    char *problem;           /* why state is not OK, for /readyz and the log; NULL where OK */
    char *note;              /* a setting that has no effect here, and why, for the log; NULL: none */
    struct text_pool *texts; /* what names, addresses and skips point to; NULL: there is none yet */
    const struct desired_words *words; /* in texts: what the reasons say of settings; NULL: all of them are given */
};

/* Slices are used where they are synced, otherwise Endpoints (see cache_synced). Fills ret (owned by the caller). */
void desired_compute(const struct desired_input *in, struct desired *ret);
void desired_init(struct desired *d);
void desired_fini(struct desired *d);
/* All but the aliases and what was taken over; the texts are shared. `to` is overwritten. */
void desired_copy(struct desired *to, const struct desired *from);

/* Texts that live as long as d; NULL gives NULL. _take frees what it is given. */
const char *desired_text(struct desired *d, const char *s) must_check;
const char *desired_text_take(struct desired *d, char *s) must_check;
struct desired_why desired_why_take(struct desired *d, char *reason) must_check;
/* Its sentences are given, and freed. It is valid until the next is added. */
struct desired_skip *desired_add_skip(struct desired *d, char *subject, char *reason, const char *server);
/* For so many servers beside those that it has. */
void desired_make_room(struct desired *d, size_t count);
void desired_add_server(struct desired *d, struct desired_server s);           /* there is room; its texts are d's */
void desired_add_alias(struct desired *d, const char *name, const char *node); /* copied */
void desired_take_over(struct desired *d, const char *name);                   /* so is this */

/* Sentences, allocated. "2 ready endpoints on node n1 (slice web-abc12); nodePort 30443 of its port https"; NULL: none
 * was given. */
char *desired_server_reason(const struct desired *d, const struct desired_server *s) must_check;
/* "endpoint 10.244.1.7 of slice web-abc12", "node n7" */
char *desired_skip_subject(const struct desired *d, const struct desired_skip *s) must_check;
/* "its node n7 is not known" */
char *desired_skip_reason(const struct desired *d, const struct desired_skip *s) must_check;
char *desired_skip_text(const struct desired *d, const struct desired_skip *s) must_check; /* "subject: reason" */

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
    const struct desired *of;
    const struct desired_skip **list;
    size_t count;
};
void desired_outs_init(struct desired_outs *o, const struct desired *d);
void desired_outs_fini(struct desired_outs *o);
/* The place of the first of that server, which is the one of desired_why_out; where there is none, that of another, or
 * count. */
size_t desired_outs_place(const struct desired_outs *o, const char *server_name);
const struct desired_skip *desired_outs_find(const struct desired_outs *o, const char *server_name); /* NULL: none */
/* outs: a struct desired_outs. It is desired, or its end was announced: for the loss limit (`returned` of struct
 * loss_limit_report). */
bool desired_outs_returned(const void *outs, const char *server_name);

/* Why the server of that name is not desired; NULL: nothing is known of it, or it is. */
const struct desired_skip *desired_why_out(const struct desired *d, const char *server_name);
const struct desired_server *desired_find(const struct desired *d, const char *server_name); /* NULL: not desired */
const struct desired_server *desired_find_spare(const struct desired *d, const char *server_name); /* NULL: none */

/* A line of no cluster's name that serves, or served, at the place of an own server. */
bool desired_took_over(const struct desired *d, const char *server_name);

/* The node of the server, or of the line, of that name; NULL: nothing is known of it. */
const char *desired_node(const struct desired *d, const char *server_name);
/* The name under which a node is desired, or has a line; NULL: none but its own. */
const char *desired_name_of_node(const struct desired *d, const char *node);

/* Node name -> server name: HAProxy takes letters, digits and "_.:-" ("character 'x' is not permitted in server name");
 * everything else becomes '_'. "" becomes "_". Allocates. */
char *desired_server_name(const char *node_name) must_check;
bool desired_is_server_name(const char *node_name); /* it is one as it stands */
