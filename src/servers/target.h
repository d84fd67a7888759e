/*
 * One HAProxy behind one Data Plane API: each of its backends that is ours brought to its wish and kept there: observe
 * -> plan -> transaction -> reload. It converges by itself: own version, backoff and dirty flag; several of them would
 * not disturb each other. What several backends need at once goes into one transaction; where HAProxy refuses that,
 * each gets one of its own, so that only the one that is wrong stays behind.
 */
#ifndef SERVERS_TARGET_H
#define SERVERS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "servers/desired/desired.h"
#include "servers/change/plan.h"

struct checks;
struct dataplane_client;
struct event_base;
struct history;
struct target;
struct telemetry;

struct target_options {
    struct dataplane_client *client; /* borrowed */
    /* Borrowed; a second connection, for what overtakes the writing of the file. NULL: the running HAProxy is neither
     * read nor told anything, all goes by transactions. */
    struct dataplane_client *runtime;
    const char *const *backends; /* names, each once; borrowed, as are the strings in rules */
    size_t backend_count;
    bool several;            /* there are other targets: the log says which it is about */
    struct plan_rules rules; /* for all of them */
    uint64_t resync_period_ms;
    uint64_t park_ttl_ms; /* 0: what is out is removed at once */
    /* Whether Kubernetes has a node for the server of that name; NULL: all have one. */
    bool (*node_exists)(const void *arg, const char *server);
    const void *node_arg;
    struct telemetry *telemetry;
    struct history *history; /* NULL: nobody reads it */
    const struct log *log;
};

struct target *target_new(struct event_base *base, const struct target_options *options) must_check;
void target_free(struct target *t);

/* Reads what is there; writes nothing to a backend before its first wish. */
void target_start(struct target *t);

/* Takes a reference of its own to wish, which is shared. cause: what brought it about, for the log; received_us: when
 * that arrived (monotonic), 0 where it is no event. Nothing happens before target_go, so that several wishes are one
 * transaction. */
void target_wish(struct target *t, size_t backend, const struct desired *wish, const char *cause, uint64_t received_us);
void target_go(struct target *t);

/* Compares with what HAProxy really has, now. */
void target_compare(struct target *t);

/* Aborts or finishes the transaction in hand, leaves a mark in the file for each server that drains, then calls stopped
 * (perhaps at once). Nothing is written after. */
void target_stop(struct target *t, void (*stopped)(void *arg), void *arg);

/* Adds one for each backend; true where all are in step (or hold what they have on purpose). */
bool target_ready(const struct target *t, struct checks *checks);
/* "target http://lb1:5555 backend be". Allocates. */
char *target_check_name(const struct target *t, const char *backend) must_check;

#endif
