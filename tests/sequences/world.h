/* All of it: a cluster, some HAProxies, the daemon's targets between them, and the time. */
#pragma once

#include <limits.h>

#include "api.h"
#include "base/log.h"
#include "cluster.h"
#include "clusters.h"
#include "whole.h"
#include <yyjson.h>

#include "haproxy/dataplane/client.h"
#include "event.h"
#include "host/timer.h"
#include "report/history.h"
#include "daemon/mappings.h"
#include "daemon/targets.h"
#include "report/metric_table.h"

#define TARGETS_MAX 3
#define TIMERS_MAX 64

struct loss_model; /* loss.h */

/* What Kubernetes wants of a server since when. */
struct want {
    char name[NAME_BYTES], address[NAME_BYTES]; /* its place, as was desired last */
    unsigned port;
    enum { WANT_OUT, WANT_DRAINING, WANT_LIVE } state;
    bool announced;
    uint64_t since_us;
    unsigned since; /* the same as a number of world.readings */
};

struct world {
    struct settings settings;
    uint64_t now_us;
    unsigned at_one_moment;
    struct timer *timers[TIMERS_MAX];
    struct cluster cluster;
    struct api apis[TARGETS_MAX];
    struct loss_model *loss;
    struct whole whole;

    /* the daemon */
    struct targets *targets; /* NULL: it does not run */
    struct metric_table metrics;
    struct history *history;
    struct log log;
    struct mapping mappings[OURS];
    struct mapping_state states[OURS];
    struct desired desired_states[OURS]; /* as computed last */
    uint64_t due_ms;                     /* when Kubernetes' part is to be read again; 0: never */
    bool stopped;
    uint64_t stop_us;    /* it is to end since then; 0: it is not */
    unsigned life;       /* of the daemon, counted */
    bool dies;           /* now */
    unsigned dies_for_s; /* and starts so long after that, */
    uint64_t start_us;   /* then; 0: it runs, or an event starts it */

    struct want wants[OURS][SERVERS_MAX];
    size_t want_counts[OURS];
    /* What is desired is computed again; of two that fall into one moment, this says which was decided by. Since which of them ... */
    unsigned readings;
    unsigned empty_since[OURS];        /* ... nothing is desired; UINT_MAX: something is */
    unsigned wanted_since[OURS];       /* ... something is */
    unsigned none_live_since[OURS];    /* ... nothing is but what drains, if that; UINT_MAX: something is */
    uint64_t none_live_since_us[OURS]; /* UINT64_MAX: something is */
    unsigned step;                     /* number of the event in hand, for messages */
    int verdict_fd;
    bool chatty;
};

extern struct world *world; /* the one that there is: the daemon's clock and client have no other way to it */

void world_open(struct world *w, const struct settings *s, int verdict_fd, bool chatty);
void world_close(struct world *w);
void world_pass(struct world *w, uint64_t us); /* lets time pass */
void world_read(struct world *w);              /* something changed in Kubernetes: the daemon reads it */
void daemon_start(struct world *w);
void daemon_kill(struct world *w);
void daemon_stop(struct world *w); /* and waits for its end */
/* Ends the process: an invariant does not hold. */
void violate(struct world *w, const char *invariant, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
void world_say(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const struct want *want_find(const struct world *w, size_t backend, const char *name);

/* places.c: which line is whose, by ADOPT_SERVERS */
/* The line of that name, else one that another controller has left at that place; NULL: none. */
const struct server *place_line(const struct api *a, size_t backend, const struct want *want);
const struct want *place_want(const struct api *a, size_t backend, const struct server *line); /* NULL: nobody's */
/* Whatever the file says of it. */
bool place_runs(const struct api *a, size_t backend, const struct want *want);
bool place_is_ready(const struct api *a, size_t backend, const struct want *want);      /* as it runs */
bool place_has_live_line(const struct api *a, size_t backend, const struct want *want); /* as the next load has it */
bool place_serves(const struct api *a, size_t backend,
                  const struct want *want); /* in the API's configuration, and as it runs */
/* It serves until the one of that name does, which an operator may have taken out. */
bool place_stands_in(const struct api *a, size_t backend, const struct server *line);
bool place_is_spare(const struct api *a, size_t backend, const struct server *line);
bool place_is_operated(const struct api *a, size_t backend, const struct want *want);
void check_adoption(struct api *a, const struct conf *to); /* which a commit makes of api.memory */
void check_adopted(
    struct api *a); /* another controller's servers are all that is new: time passes, and nothing comes of it */
void place_take_over(struct api *a, size_t backend, int weight,
                     struct conf *to); /* another controller makes our lines its own */

/* invariants.c */
/* A write of the daemon's changed what is there. */
struct serving {
    bool of[OURS][SERVERS_MAX];
    bool ready[OURS][SERVERS_MAX];
    size_t own[OURS]; /* desired or not */
};
void serving_of(struct api *a, struct serving *ret); /* by the rows of world.wants */
/* commanded: in the running HAProxy alone, and judged by that; a write leaves that as it is. */
void check_taken(struct api *a, const struct serving *before, const struct decided *decided, bool commanded,
                 const char *by);
void check_line(struct api *a, size_t backend, const struct server *was, const struct server *is, const char *by);
void check_written(struct api *a, bool loses, const char *by); /* loses: what is fragile */
void check_sent(struct api *a, const char *method, const char *path);
void check_step(struct world *w); /* after everything that happens */
void check_rest(struct world *w); /* lets time pass without faults: it must converge, and then rest */

/* reported.c */
void check_reported(struct api *a);

void check_planned(struct api *a); /* planned.c */
