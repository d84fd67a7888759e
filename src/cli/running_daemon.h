/*
 * The running daemon, for commands: where it answers, one request to it, and whether there is one at all.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "net/http.h"

struct buf;
struct event_base;
struct kube_access;
struct kube_client;
struct settings;

#define DAEMON_REQUEST_MS 2000 /* at most: it is near, and answers at once */

/* Where the daemon of these settings answers, "http://127.0.0.1:8080"; NULL: nowhere. Allocates. */
char *running_daemon_url(const struct settings *s) must_check;

/* By its own address: by no proxy, whatever the environment says. */
struct daemon_request {
    struct http *http;
    struct http_endpoint endpoint;
    struct http_request *request; /* NULL: none is under way, which its owner keeps so in on_done */
};

/* GET url path. timeout_ms counts where it is less than DAEMON_REQUEST_MS. -1: nothing is called back. */
int daemon_request_start(struct daemon_request *q, struct event_base *base, const char *url, const char *path,
                         uint64_t timeout_ms, const struct http_callbacks *callbacks, void *arg,
                         struct error *err) must_check;
void daemon_request_fini(struct daemon_request *q); /* a zeroed one is allowed */
/* The same, and waits for the answer, which is added to body. Runs the loop of base. The HTTP status; 0: there was no answer,
 * and err says why. */
int daemon_get(struct event_base *base, const char *url, const char *path, uint64_t timeout_ms, struct buf *body,
               struct error *err) must_check;

struct running_daemon_options {
    const struct settings *settings;
    const struct kube_access *access; /* of kube */
    struct kube_client *kube;         /* NULL: the Lease is not asked for */
    const char *url;                  /* as in cli/daemon_memory.h; NULL: no daemon is asked */
    uint64_t timeout_ms;              /* for each of the two */
};

/* Whether a daemon with these settings runs, for a command that must not write while it does: one that answers at its
 * LISTEN_ADDRESS, or with LEADER_ELECT one that holds the Lease, wherever that is. One that has the haproxy.cfg of this
 * machine is found by the lock on it (instance_view.waits).
 *
 * Runs the loop of base. "a daemon answers at http://127.0.0.1:8080"; NULL: none was found. Allocates. *ret_unknown: why
 * the Lease could not be asked for, allocated; NULL: it was, or needs not be. */
char *running_daemon_find(struct event_base *base, const struct running_daemon_options *options,
                          char **ret_unknown) must_check;
