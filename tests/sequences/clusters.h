/*
 * The daemon of another cluster at the same HAProxies, as a simple model: in the backends that are ours it writes servers of its own,
 * b_n0 and so on, while ours are a_n0 and so on. It never takes its last one out while none of ours serves, its servers go down and
 * come up, and where files are written in turns it waits for its turn.
 */
#pragma once

#include "conf.h"

#define CLUSTER_FORMAT "{cluster}_{node}"
#define CLUSTER_NAME "a"

struct api;
struct desired;
struct local_request;
struct request;
struct world;

enum cluster_act_kind {
    CLUSTER_SERVE, /* it has a line, and serves */
    CLUSTER_PARK,
    CLUSTER_REMOVE,
    CLUSTER_MOVE,
    CLUSTER_WEIGH,
    CLUSTER_DIE, /* it has a line, and the daemon that wrote it does not live to load it */
    CLUSTER_DRAIN,
    CLUSTER_MAINT,
    CLUSTER_READY, /* these three by a command */
    CLUSTER_DOWN,
    CLUSTER_UP, /* these two by a health check */
    CLUSTER_ACTS,
};

struct cluster_act {
    enum cluster_act_kind kind;
    size_t backend;
    unsigned server;
    bool reload; /* though it may be possible without */
};

/* What a write of our daemon's was decided by. */
struct decided {
    uint64_t us;
    unsigned reading;     /* of what is desired, by its number (world.readings) */
    bool others_up[OURS]; /* the latest reading showed that one of the other cluster's takes new connections */
    bool fresh[OURS];     /* and began when our last one was to go already */
};

/* At one HAProxy. */
struct other_cluster {
    struct conf lines; /* these two as our daemon read them last */
    struct running running;
    uint64_t running_us[OURS];
    struct cluster_act amid; /* with the daemon's next request of amid_asks */
    unsigned amid_asks;      /* bits of enum ask; 0: none */
    struct cluster_act next; /* at due_us, or when it is its turn */
    uint64_t due_us;         /* 0: none */
    unsigned times;          /* so often more, */
    uint64_t every_us;       /* so long after each other */
    bool loads;              /* the reload that is pending is its, too */
    uint64_t acted_us;
};

void clusters_init(struct api *a); /* its first servers, in api.memory */
uint64_t clusters_next_us(const struct api *a);
bool clusters_happen(struct api *a);
void clusters_amid(struct api *a, unsigned ask); /* our daemon's request is about to be carried out */
void clusters_loaded(struct api *a, bool failed);
void clusters_mend(struct api *a);
void clusters_hold(struct api *a);     /* our daemon has the file */
void check_turns(const struct api *a); /* after everything that happens */

/* What our daemon reads, and what it decides by that. */
void clusters_note_file(struct api *a);
void clusters_note_running(struct api *a, size_t backend);
struct decided clusters_decided(const struct api *a);
bool clusters_up(const struct api *a, size_t backend); /* as it is */

/* "a_" where there are several clusters. */
const char *own_prefix(void);
bool name_is_anothers(const char *name); /* another cluster's, or none's */
bool name_is_other_clusters(const char *name);
void clusters_name(struct desired *d);

/* events.c */
void cluster_act(struct world *w, const unsigned *n);
void cluster_amid(struct world *w, const unsigned *n);
void cluster_busy(struct world *w, const unsigned *n);
void cluster_last(struct world *w, const unsigned *n);
