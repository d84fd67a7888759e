/* All of it: a cluster, some HAProxies, the daemon's targets between them, and the time. */
#ifndef SEQUENCES_WORLD_H
#define SEQUENCES_WORLD_H

#include "api.h"
#include "base/log.h"
#include "cluster.h"
#include "dataplane/client.h"
#include "event.h"
#include "net/timer.h"
#include "sync/journal.h"
#include "sync/mappings.h"
#include "sync/targets.h"
#include "sync/telemetry.h"
#include "sync/wisher.h"

#define TARGETS_MAX 3
#define TIMERS_MAX 16

struct loss_model; /* loss.h */

/* What Kubernetes wants of a server since when. */
struct want {
    char name[NAME_BYTES];
    enum { WANT_OUT, WANT_DRAINING, WANT_LIVE } state;
    bool announced;
    uint64_t since_us;
};

struct world {
    struct settings settings;
    uint64_t now_us;
    unsigned at_one_moment;
    struct timer *timers[TIMERS_MAX];
    struct cluster cluster;
    struct api apis[TARGETS_MAX];
    struct loss_model *loss;

    /* the daemon */
    struct targets *targets; /* NULL: it does not run */
    struct telemetry telemetry;
    struct journal *journal;
    struct log log;
    struct mapping mappings[OURS];
    struct wisher wishers[OURS];
    struct desired wishes[OURS]; /* as computed last */
    uint64_t due_ms;             /* when Kubernetes' part is to be looked at again; 0: never */
    bool stopped;
    unsigned life; /* of the daemon, counted */

    struct want wants[OURS][SERVERS_MAX];
    size_t want_counts[OURS];
    uint64_t empty_since_us[OURS]; /* nothing is wanted; UINT64_MAX: something is */
    unsigned step;                 /* number of the event in hand, for messages */
    int verdict_fd;
    bool chatty;
};

extern struct world *world; /* the one that there is: the daemon's clock and client have no other way to it */

void world_open(struct world *w, const struct settings *s, int verdict_fd, bool chatty);
void world_close(struct world *w);
void world_pass(struct world *w, uint64_t us); /* lets time pass */
void world_look(struct world *w);              /* something changed in Kubernetes: the daemon is told */
void daemon_start(struct world *w);
void daemon_kill(struct world *w);
void daemon_stop(struct world *w); /* and waits for its end */
/* Ends the process: an invariant does not hold. */
void violate(struct world *w, const char *invariant, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
void world_say(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const struct want *want_find(const struct world *w, size_t backend, const char *name);

/* invariants.c */
/* A write of the daemon's, decided at since_us, changed what is there. */
struct serving {
    bool of[OURS][SERVERS_MAX];
};
void serving_of(struct api *a, struct serving *ret); /* by the rows of world.wants */
void check_taken(struct api *a, const struct serving *before, uint64_t since_us, const char *by);
void check_line(struct api *a, size_t backend, const struct server *was, const struct server *is, const char *by);
void check_written(struct api *a, const char *by);
void check_sent(struct api *a, const char *method, const char *path);
void check_step(struct world *w); /* after everything that happens */
void check_rest(struct world *w); /* lets time pass without faults: it must converge, and then rest */

#endif
