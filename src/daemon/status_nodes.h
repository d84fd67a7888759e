/* What is shown of one mapping's wish: a copy that is bounded, since a wish may have thousands of servers and is not kept. */
#ifndef DAEMON_STATUS_NODES_H
#define DAEMON_STATUS_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "servers/desired/desired.h"

struct yyjson_mut_doc;
struct yyjson_mut_val;

enum status_node_state { STATUS_LIVE, STATUS_DRAINING, STATUS_OUT, STATUS_SPARE, STATUS_NODE_STATES };

struct status_node {
    enum status_node_state state;
    char *name;    /* of its server; NULL: it would have none */
    char *subject; /* OUT: what was left out; else NULL */
    char *address; /* NULL: OUT */
    uint16_t port;
    int weight; /* -1: an existing one is kept */
    char *reason;
    bool ordinary, announced;
};

struct status_nodes {
    enum desired_state state;
    char *problem, *note;
    bool paused;
    size_t endpoints;
    size_t count[STATUS_NODE_STATES];
    struct status_node *list; /* at most STATUS_LIST_MAX, the most telling first */
    size_t listed;
};

void status_nodes_init(struct status_nodes *n); /* not synced */
void status_nodes_fini(struct status_nodes *n);
void status_nodes_take(struct status_nodes *n, const struct desired *wish);

/* Puts state, problem, note, paused, endpoints and nodes into obj. *left: how many may still be listed. */
void status_nodes_put(const struct status_nodes *n, struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj,
                      size_t *left);

#endif
