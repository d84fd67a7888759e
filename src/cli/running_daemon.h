/*
 * The running daemon, for commands: where it answers, one request to it, and whether there is one at all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct event_base;
struct kube_access;
struct kube_client;
struct settings;

#define DAEMON_REQUEST_MS 2000 /* at most: it is near, and answers at once */

/* Where the daemon of these settings answers, "http://127.0.0.1:8080"; NULL: nowhere. Allocates. */
char *running_daemon_url(const struct settings *s) must_check;

struct daemon_answer {
    int status;     /* 0: there was none, and error says why */
    bool connected; /* something is there, and perhaps hangs */
    struct buf body;
    struct error error;
    bool over; /* it is waited for until then */
};
void daemon_answer_fini(struct daemon_answer *a); /* a zeroed one is allowed */

/* GET url path, by its own address: by no proxy, whatever the environment says. Runs the loop of base until there is an answer, for
 * timeout_ms or DAEMON_REQUEST_MS at most. */
void daemon_get(struct event_base *base, const char *url, const char *path, uint64_t timeout_ms,
                struct daemon_answer *ret);

struct running_daemon_options {
    const struct settings *settings;
    const struct kube_access *access; /* of kube */
    struct kube_client *kube;         /* NULL: the Lease is not asked for */
    const char *url;                  /* as in cli/command.h */
    uint64_t timeout_ms;              /* for each of the two */
};

/* Whether a daemon with these settings runs, for a command that must not write while it does: one that answers at its
 * LISTEN_ADDRESS, a process of this machine, or with LEADER_ELECT one that holds the Lease, wherever that is. One that has
 * the haproxy.cfg of this machine is found by the lock on it (instance_view.waits).
 *
 * Runs the loop of base. "a daemon answers at http://127.0.0.1:8080"; NULL: none was found. Allocates. *ret_unknown: why
 * that is not certain, allocated; NULL: it is. A Data Plane API does not show who else uses it: only the Lease and the lock
 * are certain. */
char *running_daemon_find(struct event_base *base, const struct running_daemon_options *options,
                          char **ret_unknown) must_check;

/* A daemon of this machine for one of the HAProxies of these settings, wherever it answers: "process 4711 of this machine is a
 * daemon for http://127.0.0.1:5555, with LISTEN_ADDRESS=127.0.0.1:8081". By what it was started with, which /proc shows to
 * root. NULL: none was seen. Allocates. */
char *running_daemon_process(const struct settings *s) must_check;
