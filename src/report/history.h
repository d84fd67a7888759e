/*
 * What happened last: what was written, commanded, delayed, or failed. The log has the same as lines; the status page
 * and Kubernetes Events read it here. Only in memory, the last HISTORY_SIZE entries.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/compiler.h"

#define HISTORY_SIZE 50
#define HISTORY_REPEAT_TROUBLE_MS 1800000 /* of a problem that goes on: 2 an hour; an Event lives for one */
#define HISTORY_TEXT_MAX_BYTES 2048 /* of each text below; what is longer is cut, at a character, and ends with "..." */

enum history_kind {
    HISTORY_COMMITTED,          /* a transaction with changes to a backend */
    HISTORY_RUNTIME_UPDATE,     /* a runtime update applied */
    HISTORY_RUNTIME_COMMAND,    /* a server's state set at runtime: drain, maint, ready */
    HISTORY_RELOAD_AGAIN,       /* an empty commit: it repeats a reload, or loads a whole file that was written */
    HISTORY_IN_SYNC,            /* a backend became in sync: committed and loaded */
    HISTORY_REMOVAL_DELAYED,    /* the loss limit: servers that are not desired stay for a while */
    HISTORY_KEPT,               /* no endpoint can be used: the last servers stay (ALLOW_EMPTY) */
    HISTORY_PAUSED,             /* an annotation of the Service says that nothing is written; or no longer */
    HISTORY_NOT_WRITTEN,        /* changes that a pause or a dry run keeps from being written */
    HISTORY_APPLY_FAILED,       /* the Data Plane API refuses it, or cannot be reached */
    HISTORY_RELOAD_FAILED,      /* committed, and HAProxy was not reloaded */
    HISTORY_DRIFT_REPAIRED,     /* HAProxy ran or had something else, and no longer does */
    HISTORY_CONFIG_APPLIED,     /* a whole configuration runs, verified */
    HISTORY_CONFIG_REJECTED,    /* it was refused, or could not be loaded */
    HISTORY_CONFIG_DRIFTED,     /* another writer changed it */
    HISTORY_CONFIG_ROLLED_BACK, /* HAProxy did badly with it: rolled back by itself, or reported */
    HISTORY_KINDS,
};

/* "committed", "runtime_update", ...: stable, for JSON. */
const char *history_kind_name(enum history_kind kind);

/* Strings but text may be NULL: none. */
struct history_entry {
    enum history_kind kind;
    uint64_t number;     /* 1, 2, ...: never again in this process */
    int64_t wall_ms;     /* when, since the Unix epoch */
    const char *target;  /* URL of the Data Plane API, without credentials */
    const char *backend; /* NULL: all of that HAProxy */
    const char *server;  /* NULL: none, or several */
    const char *state;   /* HISTORY_RUNTIME_COMMAND: "drain", "maint", "ready"; a write: "drain" if it begins a drain */
    const char *text;    /* one sentence: what was done, "added n1 (10.0.0.1:30443); parked n2" */
    const char *why;     /* the reason */
    const char *cause;   /* the watch event: "MODIFIED endpointslice web-x7k2p" */
    uint64_t took_us;    /* the write or transaction itself; 0: not known */
    uint64_t latency_us; /* from the arrival of the event to the end of the write; 0: no event */
};

struct history;

/* Called after each entry was added; embedded in its owner. It may read the history, not add to it, and start no request
 * (set a timer). */
struct history_listener {
    LIST_ENTRY(history_listener) entry;
    void (*added)(void *arg, const struct history_entry *e);
    void *arg;
};

struct history *history_new(void) must_check;
void history_free(struct history *j); /* after its listeners; NULL is allowed */

/* Copies what e points to; number and wall_ms are filled in here. j NULL: nothing happens. */
void history_add(struct history *j, const struct history_entry *e);

size_t history_count(const struct history *j);
/* i 0: the newest. The entry is valid until the next history_add. */
const struct history_entry *history_at(const struct history *j, size_t i);

void history_listen(struct history *j, struct history_listener *l);
void history_forget_listener(struct history_listener *l);
