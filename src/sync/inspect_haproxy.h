/*
 * Reads HAProxy once for `plan` and `explain`: the backends, and whether its last reload failed, so that it may run
 * something else than its file says. Only GETs.
 */
#ifndef SYNC_INSPECT_HAPROXY_H
#define SYNC_INSPECT_HAPROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/timer.h"
#include "sync/observe.h"

struct inspect_haproxy {
    struct dataplane_client *client;
    struct observe observe;
    struct observed *found; /* one for each name; where it could not be read, it says why */
    size_t count;
    bool dirty;    /* the last reload failed: an empty commit is due */
    char *warning; /* what is not known of reloads; NULL: nothing */
    struct timer again, deadline;
    bool started, looked_again, seen;
    uint64_t timeout_ms;
    void (*done)(void *arg);
    void *arg;
};

/* names are borrowed. */
void inspect_haproxy_init(struct inspect_haproxy *h, struct event_base *base, struct dataplane_client *client,
                          const char *const *names, size_t count, void (*done)(void *arg), void *arg);
void inspect_haproxy_fini(struct inspect_haproxy *h);
void inspect_haproxy_start(struct inspect_haproxy *h, uint64_t timeout_ms);
bool inspect_haproxy_started(const struct inspect_haproxy *h);

#endif
