/*
 * Leader election by a Lease (coordination.k8s.io/v1): among several replicas of this program one acts, the others
 * wait. The rules are kube/lease/lease_machine's; this moves the bytes and keeps the timers. A standby also watches the
 * Lease, so that a clean release does not wait for the next try.
 *
 * Time is that of CLOCK_BOOTTIME: no step of the wall clock and no suspended machine makes an old lease valid.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/log.h"

struct election;
struct event_base;
struct kube_client;

struct election_options {
    struct kube_client *client; /* borrowed */
    const struct log *log;      /* borrowed */
    const char *namespace;      /* of the Lease; copied, as are the others */
    const char *name;
    const char *identity; /* of this replica: no other has it, ever */
};

/* From the loop, never from inside a call of these functions. They may call any function below except election_free. */
struct election_callbacks {
    void (*elected)(void *arg); /* from now on it may act */
    void (*deposed)(
        void *arg); /* it may not any more: the lease could not be renewed in time, or another replica has it */
    /* Another holder's name was seen, or none (""): for logs and /readyz; may be NULL. */
    void (*holder)(void *arg, const char *identity);
};

struct election *election_new(struct event_base *base, const struct election_options *options,
                              const struct election_callbacks *callbacks, void *arg) must_check;
void election_free(struct election *e); /* cancels what is under way; the Lease stays as it is; NULL is allowed */

void election_start(struct election *e);

/* SIGHUP, or other credentials: tries now instead of after the pause. */
void election_poke(struct election *e);

/* Asked right before each write, since the process may have been stopped between two steps: whether the last renewal,
 * counted from when it was sent, is younger than the renew deadline (10 s). False if not `elected`. */
bool election_may_act(const struct election *e);

/* As that, for reverting what was begun (an open transaction): as long as no other replica can have the lease (15 s,
 * less one for what is under way). */
bool election_may_clean_up(const struct election *e);

/* The last step of a clean stop, after the last write: gives the Lease up (empty holder, 1 s), where this replica holds it; then,
 * and at the latest after 1 s, calls done once (perhaps at once), from where election_free may be called. No other
 * callback comes after this call. */
void election_release(struct election *e, void (*done)(void *arg), void *arg);

const char *election_holder(const struct election *e);  /* as last seen; "": no holder; NULL: not known yet */
const char *election_problem(const struct election *e); /* why the Lease cannot be read or written; NULL: no trouble */
