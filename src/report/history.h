/*
 * The last decisions, in the order in which they were made: what was written, told, held back or failed. The log has them as
 * lines; the status page and Kubernetes Events read them here. Kept in memory alone, the last JOURNAL_SIZE of them.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/compiler.h"

#define JOURNAL_SIZE 50
#define JOURNAL_TEXT_MAX_BYTES 2048 /* of each text below; what is longer is cut, at a character, and ends with "..." */

enum journal_kind {
    JOURNAL_COMMITTED,      /* a transaction with changes to a backend */
    JOURNAL_FAST_WRITE,     /* a server changed in the file and in the running HAProxy, without a reload */
    JOURNAL_TOLD,           /* the running HAProxy was told a server's state: drain, maint, ready */
    JOURNAL_RELOAD_AGAIN,   /* an empty commit, which repeats a reload */
    JOURNAL_IN_STEP,        /* a backend became in step: committed and loaded */
    JOURNAL_HELD_BACK,      /* the brake, or no usable endpoint: servers that are not wanted stay */
    JOURNAL_WITHHELD,       /* a pause or a dry run: there are changes, and they are not written */
    JOURNAL_APPLY_FAILED,   /* the Data Plane API, or HAProxy's check, did not take it, or it cannot be reached */
    JOURNAL_RELOAD_FAILED,  /* committed, and HAProxy was not reloaded */
    JOURNAL_DRIFT_REPAIRED, /* HAProxy ran or had something else, and what was done about it has been done */
    JOURNAL_KINDS,
};

/* "committed", "fast_write", ...: stable, for JSON. */
const char *journal_kind_name(enum journal_kind kind);

/* Strings may be NULL where there is nothing of the kind; text is always there. */
struct journal_entry {
    enum journal_kind kind;
    uint64_t number;      /* 1, 2, ...: never again in this process */
    int64_t wall_ms;      /* when, since the Unix epoch */
    const char *target;   /* URL of the Data Plane API, without credentials */
    const char *backend;  /* NULL: all of that HAProxy */
    const char *server;   /* where it is about one; NULL: none, or several */
    const char *state;    /* JOURNAL_TOLD: "drain", "maint", "ready"; a write: "drain", where a drain begins by it */
    const char *text;     /* one sentence: what was done, "added n1 (10.0.0.1:30443); parked n2" */
    const char *why;      /* the model's reason */
    const char *cause;    /* the event that brought it about: "MODIFIED endpointslice web-x7k2p" */
    uint64_t took_us;     /* the write or transaction itself; 0: not known */
    uint64_t reaction_us; /* from the arrival of the event to the end of the write; 0: no event */
};

struct journal;

/* Told of each entry right after it was added; embedded in its owner. It may read the journal, not add to it, and start no
 * request (set a timer). */
struct journal_listener {
    LIST_ENTRY(journal_listener) entry;
    void (*added)(void *arg, const struct journal_entry *e);
    void *arg;
};

struct journal *journal_new(void) must_check;
void journal_free(struct journal *j); /* its listeners have gone; NULL is allowed */

/* Copies what e points to; number and wall_ms are filled in here. j NULL: nothing happens. */
void journal_add(struct journal *j, const struct journal_entry *e);

size_t journal_count(const struct journal *j);
/* i 0: the newest. The entry is valid until the next journal_add. */
const struct journal_entry *journal_at(const struct journal *j, size_t i);

void journal_listen(struct journal *j, struct journal_listener *l);
void journal_forget_listener(struct journal_listener *l);

#endif
