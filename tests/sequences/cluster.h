/* A small cluster: nodes, two Services and their pods, kept in the caches that the daemon's mapping reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "model/objects.h"
#include "servers/desired/update.h"

#define NODES 9

struct cache;

/* Of one stream; in its first line. */
struct settings {
    unsigned targets, limit, park_s, weights, drain_s, empty, routes, nodes;
    unsigned adopt;    /* as enum adopt */
    unsigned spares;   /* PARK_NODES */
    unsigned dry;      /* DRY_RUN */
    unsigned create;   /* a backend that is missing, as the second is at the start, is made */
    unsigned local;    /* how HAProxy is reached: enum local_way */
    unsigned another;  /* HAProxy has another controller's servers at the start */
    unsigned clusters; /* another cluster has servers in the same backends */
    unsigned whole;    /* it has the configuration engine, and no servers engine; with these: */
    unsigned drift;    /* CONFIG_DRIFT: enum configuration_drift */
    unsigned kept;     /* STATE_DIR outlives the daemon */
    unsigned apart_s;  /* CONFIG_MIN_INTERVAL */
    unsigned canary;   /* CONFIG_CANARY */
    unsigned files;    /* CONFIG_FILES_DIR has some */
    unsigned adds;     /* the API, and HAProxy behind it, are of versions that add servers */
};

enum pod_state { POD_NONE, POD_READY, POD_UNREADY, POD_LEAVING, POD_GONE, POD_STATES };

struct cluster {
    struct cache *nodes;
    struct object_caches caches[OURS]; /* with those nodes */
    struct {
        bool there, excluded, not_ready, deleting;
        unsigned address;
        struct {
            enum pod_state state;
            unsigned count;
        } pods[OURS];
    } of[NODES];
    unsigned node_ports[OURS];
    bool paused[OURS];
    struct mapping_rules rules[OURS];
    struct server_states *states[OURS];
    struct desired_memory *memory[OURS];
};

void cluster_init(struct cluster *c, const struct settings *s);
void cluster_fini(struct cluster *c);
void cluster_forget_states(struct cluster *c); /* of the daemon, which starts anew */
void cluster_put_node(struct cluster *c, size_t node);
void cluster_put_pods(struct cluster *c, size_t service);
void cluster_put_service(struct cluster *c, size_t service);
const struct desired *cluster_desired(const struct cluster *c, size_t service, uint64_t now_ms) must_check;
bool cluster_has_node(const void *arg, const char *server);
