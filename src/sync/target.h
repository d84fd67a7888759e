/*
 * One HAProxy behind one Data Plane API, brought to the wish and kept there: observe -> plan -> transaction -> reload.
 * It converges by itself: own version, backoff and dirty flag; several of them would not disturb each other.
 */
#ifndef SYNC_TARGET_H
#define SYNC_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "model/desired.h"
#include "model/diff.h"

struct dataplane_client;
struct event_base;
struct target;
struct telemetry;

struct target_options {
    struct dataplane_client *client; /* borrowed */
    const char *backend_name;        /* borrowed, as are the strings in rules */
    struct diff_rules rules;
    uint64_t resync_period_ms;
    struct telemetry *telemetry;
    const struct log *log;
};

struct target *target_new(struct event_base *base, const struct target_options *options) must_check;
void target_free(struct target *t);

/* Reads what is there; writes nothing before the first wish. */
void target_start(struct target *t);

/* Takes over wish (it is left empty). cause: what brought it about, for the log; received_us: when that arrived
 * (monotonic), 0 where it is no event. */
void target_wish(struct target *t, struct desired *wish, const char *cause, uint64_t received_us);

/* Compares with what HAProxy really has, now. */
void target_compare(struct target *t);

/* Aborts or finishes the transaction in hand, then calls stopped (perhaps at once). Nothing is written after. */
void target_stop(struct target *t, void (*stopped)(void *arg), void *arg);

/* Adds its line for /readyz; true where it is in step (or holds the last good servers on purpose). */
bool target_ready(const struct target *t, struct buf *body);

#endif
