/*
 * The last decisions, in the order in which they were made: what was written, told, held back or failed. The log has them as
 * lines; the status page and Kubernetes Events read them here. Kept in memory alone, the last HISTORY_SIZE of them.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/compiler.h"

#define HISTORY_SIZE 50
#define HISTORY_TEXT_MAX_BYTES 2048 /* of each text below; what is longer is cut, at a character, and ends with "..." */

enum history_kind {
    HISTORY_COMMITTED,      /* a transaction with changes to a backend */
    HISTORY_FAST_WRITE,     /* a server changed in the file and in the running HAProxy, without a reload */
    HISTORY_TOLD,           /* the running HAProxy was told a server's state: drain, maint, ready */
    HISTORY_RELOAD_AGAIN,   /* an empty commit, which repeats a reload */
    HISTORY_IN_STEP,        /* a backend became in step: committed and loaded */
    HISTORY_HELD_BACK,      /* the brake, or no usable endpoint: servers that are not wanted stay */
    HISTORY_WITHHELD,       /* a pause or a dry run: there are changes, and they are not written */
    HISTORY_APPLY_FAILED,   /* the Data Plane API, or HAProxy's check, did not take it, or it cannot be reached */
    HISTORY_RELOAD_FAILED,  /* committed, and HAProxy was not reloaded */
    HISTORY_DRIFT_REPAIRED, /* HAProxy ran or had something else, and what was done about it has been done */
    HISTORY_KINDS,
};

/* "committed", "fast_write", ...: stable, for JSON. */
const char *history_kind_name(enum history_kind kind);

/* Strings may be NULL where there is nothing of the kind; text is always there. */
struct history_entry {
    enum history_kind kind;
    uint64_t number;      /* 1, 2, ...: never again in this process */
    int64_t wall_ms;      /* when, since the Unix epoch */
    const char *target;   /* URL of the Data Plane API, without credentials */
    const char *backend;  /* NULL: all of that HAProxy */
    const char *server;   /* where it is about one; NULL: none, or several */
    const char *state;    /* HISTORY_TOLD: "drain", "maint", "ready"; a write: "drain", where a drain begins by it */
    const char *text;     /* one sentence: what was done, "added n1 (10.0.0.1:30443); parked n2" */
    const char *why;      /* the model's reason */
    const char *cause;    /* the event that brought it about: "MODIFIED endpointslice web-x7k2p" */
    uint64_t took_us;     /* the write or transaction itself; 0: not known */
    uint64_t reaction_us; /* from the arrival of the event to the end of the write; 0: no event */
};

struct history;

/* Told of each entry right after it was added; embedded in its owner. It may read the journal, not add to it, and start no
 * request (set a timer). */
struct history_listener {
    LIST_ENTRY(history_listener) entry;
    void (*added)(void *arg, const struct history_entry *e);
    void *arg;
};

struct history *history_new(void) must_check;
void history_free(struct history *j); /* its listeners have gone; NULL is allowed */

/* Copies what e points to; number and wall_ms are filled in here. j NULL: nothing happens. */
void history_add(struct history *j, const struct history_entry *e);

size_t history_count(const struct history *j);
/* i 0: the newest. The entry is valid until the next history_add. */
const struct history_entry *history_at(const struct history *j, size_t i);

void history_listen(struct history *j, struct history_listener *l);
void history_forget_listener(struct history_listener *l);

#endif
