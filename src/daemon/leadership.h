/*
 * Whether this replica leads: always, or while it holds a Lease (LEADER_ELECT; not with DRY_RUN, which writes nothing).
 * A standby does everything but access HAProxy, so that it can take over at once.
 *
 * A leader that loses the Lease steps down: it deletes its open transaction while no other replica can lead yet, and
 * forgets what it knows of HAProxy; the next leader reads everything, as after a start.
 */
#pragma once

#include "daemon/daemon.h"

struct leadership;

/* From the loop, or from inside leadership_start if there is no election. */
struct leadership_callbacks {
    void (*lead)(void *arg);
    void (*step_down)(void *arg); /* open transactions have 4 s to end */
};

struct leadership *leadership_new(const struct daemon *in, const struct leadership_callbacks *callbacks,
                                  void *arg) must_check;
void leadership_free(struct leadership *l); /* NULL is allowed */

/* Of the Lease: the setting, else the pod's own (NULL: none), else that of the first Service. */
const char *leadership_namespace(const struct settings *settings, const char *pod_namespace);

/* A candidate from now on; again: nothing. */
void leadership_start(struct leadership *l);
/* SIGHUP, other credentials. */
void leadership_poke(struct leadership *l);

/* Asked right before each write (struct dataplane_gate). */
bool leadership_may_write(const struct leadership *l);
bool leadership_may_take_back(const struct leadership *l);

/* After the last write: the next leader can lead at once; done is called once, perhaps at once. */
void leadership_release(struct leadership *l, void (*done)(void *arg), void *arg);

struct leadership_status {
    bool election; /* false: none of the below */
    bool leading;
    const char *lease;   /* "namespace/name"; borrowed, as are those below */
    const char *holder;  /* as last seen; "": none; NULL: not known */
    const char *problem; /* NULL: none */
};
struct leadership_status leadership_status(const struct leadership *l);

/* Adds "leader election: leading by lease ..." if there is one; false if this replica does not lead and the Lease
 * cannot be read or written, so perhaps no replica leads. */
bool leadership_ready(const struct leadership *l, struct checks *checks);
