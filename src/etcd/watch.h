/*
 * What changes below a key in etcd, by /v3/watch of the JSON gateway: a stream of JSON documents, one a line, that
 * begins with the revision behind the one that was read. Lost connections are made again (backoff 0.2 to 10 s, the next
 * endpoint each time) from the last revision that came; progress notifications carry that forward while nothing
 * changes. A revision that was compacted, or a cluster that was restored to an older one, is reported: read again, and start
 * again from there; so is what can never be taken (a line of more than 16 MiB, a batch of more than 64 MiB), behind the
 * state with ERROR_INVALID.
 *
 * A watch that is dead is found out by: the end of its stream where the member lost its leader (in some seconds), TCP
 * where its machine is gone (30 to 60 s), and, where it hangs, a read from that member each 30 s while nothing comes
 * (etcd/watch_machine.h). That read is cheap for a few hundred keys, as etcd sorts all that are watched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct etcd_client;
struct etcd_kv;
struct etcd_watch;
struct event_base;

struct etcd_event {
    const struct etcd_kv *kv; /* of a deletion: key and mod_revision alone */
    bool deleted;
};

struct etcd_watch_callbacks {
    /* From the loop, all of one revision or more together, in their order; borrowed. revision: that of the last one. */
    void (*changed)(void *arg, const struct etcd_event *events, size_t count, int64_t revision);
    /* The watch has stopped. compact_revision: the oldest there is, or the newest of a cluster that was set back. */
    void (*compacted)(void *arg, int64_t compact_revision);
    /* It changed, or the kind of error did; err: why not, NULL where connected. It is tried again in each case.
     * NULL: unknown. */
    void (*state)(void *arg, bool connected, const struct error *err);
};

/* Nothing goes out before it is started. All of this may be called from the callbacks. The client outlives the watch. */
struct etcd_watch *etcd_watch_new(struct event_base *base, struct etcd_client *c, const char *key, bool prefix,
                                  const struct etcd_watch_callbacks *callbacks, void *arg) must_check;
void etcd_watch_free(struct etcd_watch *w); /* NULL is allowed */
/* From that revision on, itself included (0: from now on); one that runs is begun anew. */
void etcd_watch_start(struct etcd_watch *w, int64_t revision);
void etcd_watch_stop(struct etcd_watch *w);
