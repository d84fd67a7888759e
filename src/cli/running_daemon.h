/*
 * Whether a daemon with these settings runs, for a command that must not write beside it: one that answers at its
 * LISTEN_ADDRESS, or with LEADER_ELECT one that holds the Lease, wherever that is. One that has the haproxy.cfg of this
 * machine is found by the lock on it (instance_view.waits).
 */
#ifndef CLI_RUNNING_DAEMON_H
#define CLI_RUNNING_DAEMON_H

#include <stdint.h>

#include "base/compiler.h"

struct event_base;
struct kube_access;
struct kube_client;
struct settings;

struct running_daemon_options {
    const struct settings *settings;
    const struct kube_access *access; /* of kube */
    struct kube_client *kube;         /* NULL: the Lease is not asked for */
    const char *url;                  /* as in cli/daemon_memory.h; NULL: no daemon is asked */
    uint64_t timeout_ms;              /* for each of the two */
};

/* Runs the loop of base. "a daemon answers at http://127.0.0.1:8080"; NULL: none was found. Allocates. *ret_unknown: why
 * the Lease could not be asked for, allocated; NULL: it was, or needs not be. */
char *running_daemon_find(struct event_base *base, const struct running_daemon_options *options,
                          char **ret_unknown) must_check;

#endif
