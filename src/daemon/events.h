/*
 * Kubernetes Events on the Services (EMIT_EVENTS), from what the journal is told: Synced, Draining, HeldBack, ApplyFailed,
 * ReloadFailed, DriftRepaired. How many there may be is the correlator's to say; an API that is slow, full, away or does not allow
 * them costs nothing but them: a queue with a cap, one request at a time, and what waited for five minutes is dropped.
 */
#ifndef DAEMON_EVENTS_H
#define DAEMON_EVENTS_H

#include "base/compiler.h"
#include "base/log.h"

struct event_base;
struct events;
struct history;
struct history_entry;
struct kube_client;
struct mappings;
struct metric;
struct sources;

/* All of it borrowed. */
struct events_options {
    struct kube_client *client;
    struct history *history;
    const struct mappings *mappings; /* which backend is for which Service */
    const struct sources *sources;   /* that knows the Services' uids */
    struct metric *written;          /* events_total{result} */
    const struct log *log;
};

struct events *events_new(struct event_base *base, const struct events_options *options) must_check;
/* What waits is dropped, what is under way is not waited for. NULL is allowed; before the client and the journal are. */
void events_free(struct events *e);

/* SIGHUP: what was denied, or has to wait, is tried again. NULL is allowed. */
void events_poke(struct events *e);

/* The reason of an Event, and what of a journal's entry is told as one. */
enum event_reason {
    EVENT_NONE,
    EVENT_SYNCED,
    EVENT_DRAINING,
    EVENT_HELD_BACK,
    EVENT_APPLY_FAILED,
    EVENT_RELOAD_FAILED,
    EVENT_DRIFT_REPAIRED,
    EVENT_REASONS,
};
enum event_reason event_reason_of(const struct history_entry *e);
const char *event_reason_name(enum event_reason r); /* "Synced", ...: stable */
bool event_reason_warns(enum event_reason r);
/* "backend web at http://lb1:5555: holding back the loss of 3 of 4 servers: n2, n3, n4: 3 of ...". Allocates. */
char *event_text_of(const struct history_entry *e) must_check;

#endif
