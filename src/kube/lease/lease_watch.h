/*
 * A watch of one Lease, for a standby: reports at once that it was released, so that a clean change of the leader does
 * not wait for the next read. A hint, and nothing else: the standby then reads the Lease, and reads it every two
 * seconds all the same. So nothing that goes wrong here matters much: it is tried again, and said at debug level.
 */
#ifndef KUBE_LEASE_LEASE_WATCH_H
#define KUBE_LEASE_LEASE_WATCH_H

#include "base/log.h"

struct event_base;
struct kube_client;
struct lease_watch;

/* free_now may come from inside libcurl: no request may be started or cancelled there, nor the watch stopped.
 * collection: ".../leases"; copied, as is name. */
struct lease_watch *lease_watch_new(struct event_base *base, struct kube_client *client, const struct log *log,
                                    const char *collection, const char *name, void (*free_now)(void *arg), void *arg);
void lease_watch_free(struct lease_watch *w); /* NULL is allowed */

/* Both may be called again and again. */
void lease_watch_start(struct lease_watch *w);
void lease_watch_stop(struct lease_watch *w);

#endif
