/*
 * Whether this replica is the one that acts: always, or while it holds a Lease (LEADER_ELECT; not with DRY_RUN, which
 * writes nothing anywhere). What a standby does is everything but touching HAProxy, so that it can begin at once.
 *
 * A leader that loses the Lease steps down: it takes back the transaction in hand while nobody else can be leader yet,
 * and its memory of HAProxy goes; the next leader reads everything anew, as after a start.
 */
#ifndef DAEMON_LEADERSHIP_H
#define DAEMON_LEADERSHIP_H

#include <stdbool.h>

#include "base/log.h"

struct checks;
struct settings;
struct event_base;
struct kube_access;
struct kube_client;
struct leadership;
struct metric;

/* From the loop, or from inside leadership_start where there is no election. */
struct leadership_callbacks {
    void (*lead)(void *arg);
    void (*step_down)(void *arg); /* what is in hand has 4 s to end */
};

struct leadership_options {
    const struct settings *settings; /* borrowed, as are those below */
    const struct kube_access *access;
    struct kube_client *client;
    struct metric *leader; /* gauge without labels: 1 for the one that acts */
    const struct log *log;
};

struct leadership *leadership_new(struct event_base *base, const struct leadership_options *options,
                                  const struct leadership_callbacks *callbacks, void *arg) must_check;
void leadership_free(struct leadership *l); /* NULL is allowed */

/* A candidate from now on; again: nothing. */
void leadership_start(struct leadership *l);
/* SIGHUP, other credentials. */
void leadership_poke(struct leadership *l);

/* l: a struct leadership; asked right before each write (struct dataplane_gate). */
bool leadership_may_write(void *l);
bool leadership_may_take_back(void *l);

/* After the last write: lets the next one lead at once; done is called once, perhaps at once. */
void leadership_release(struct leadership *l, void (*done)(void *arg), void *arg);

struct leadership_status {
    bool election; /* false: none of the below */
    bool leading;
    const char *lease;   /* "namespace/name"; borrowed, as are those below */
    const char *holder;  /* as last seen; "" where nobody has it; NULL: not known */
    const char *problem; /* NULL: none */
};
struct leadership_status leadership_status(const struct leadership *l);

/* Adds "leader election: leading by lease ..." where there is one; false where this replica does not lead and the Lease
 * cannot be read or written, so that perhaps nobody leads. */
bool leadership_ready(const struct leadership *l, struct checks *checks);

#endif
