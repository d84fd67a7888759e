/*
 * The machine of the files beside a configuration: makes those of one HAProxy equal to a list (enum storage_part of
 * haproxy/driver), in an order in which no reload at any moment finds a file missing, as (state, event) -> step over plain
 * structs. It sends nothing itself: the driver performs a step, by a Data Plane API (haproxy/dataplane/storage) or by its
 * helper (haproxy/local/driver_store), and answers it. Which files it put there, and the digests of what runs, it keeps in
 * a file of its own beside them (STORAGE_LIST).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/driver.h"
#include "haproxy/storage_list.h"

#define STORAGE_CHANGED_BEFORE "a file that the configuration has no more was changed before"

enum storage_state {
    STORAGE_IDLE,
    STORAGE_LOCK, /* no other daemon may write to the files from here on */
    STORAGE_READ_LIST,
    STORAGE_READ_NAMES, /* of one kind: storage_machine_name for each, then the answer */
    STORAGE_READ_FILE,
    STORAGE_ANNOUNCE, /* the list before the first write: digests of what changes are not known meanwhile */
    STORAGE_WRITE,
    STORAGE_DELETE,
    STORAGE_WRITE_LIST,
    STORAGE_RUNNING, /* the driver's own: STORAGE_RUN, or what that would come to; storage_machine_end ends it */
    STORAGE_DONE,    /* `news` says how it ended */
};

/* What is next. All is the machine's, and valid until the answer. */
struct storage_step {
    enum storage_state state;
    enum storage_kind place;
    const char *stored;
    bool new; /* of what is written: there is none yet */
    const char *bytes;
    size_t len;
};

enum storage_outcome {
    STORAGE_FINE,
    STORAGE_NONE,      /* there is no such file */
    STORAGE_OTHER,     /* a link, a folder: nothing that was put there */
    STORAGE_IN_USE,    /* it cannot be deleted now */
    STORAGE_IS_LOCKED, /* another daemon has the lock */
    STORAGE_FAILED,
};

struct storage_reply {
    enum storage_outcome outcome;
    const char *bytes; /* of a file that was read */
    size_t len;
    /* How the request ends if it cannot go on: with all but FINE. */
    enum transaction_result result;
    struct error error;
    int64_t retry_after_ms;
};

struct storage_machine {
    /* An API shows the names of all files at once, but no certificate; it refuses to delete what a configuration uses, and
     * is not asked again whether a file that goes is still the one that was put there. Else the files are on this machine:
     * each is read before anything is decided by it, and daemons that write there take a lock. */
    bool by_api;
    const char *no_runtime; /* why STORAGE_RUN is not possible at all; NULL: it is. Borrowed */
    enum storage_state state;
    struct storage_request request;
    struct storage_entries entries; /* with digests of what is there, as far as it is known; "": another one */
    bool known;                     /* the list was read */
    bool held; /* this daemon had the lock when the list was read, or got it before the list was used */
    bool locked, announced, looked;     /* in this request */
    bool has_list;                      /* there is one */
    char *list;                         /* what it has, or is about to have; NULL: none */
    size_t at;                          /* the file, kind or entry in hand: */
    bool was_read, there, is_other;     /* it, */
    struct buf now;                     /* with these bytes, */
    struct buf grown;                   /* which are to be these, */
    char hash[DIGEST_SHA256_HEX_BYTES]; /* with that digest */
    char *differs, *why;                /* as in `news` */
    struct stored news;
};

void storage_machine_init(struct storage_machine *m, bool by_api);
void storage_machine_fini(struct storage_machine *m);

struct storage_step storage_machine_start(struct storage_machine *m, const struct storage_request *request);
struct storage_step storage_machine_answer(struct storage_machine *m, const struct storage_reply *r);
/* One of the files that there are. */
void storage_machine_name(struct storage_machine *m, const char *stored);

/* ---- for STORAGE_RUNNING ---- */

/* The request has ended well. */
struct storage_step storage_machine_end(struct storage_machine *m);
/* Files of the list that HAProxy does not run, or, where that is foreseen, would not run once they are stored. */
bool storage_machine_concerns(const struct storage_machine *m, const struct storage_file *f);
/* HAProxy runs what is there. */
void storage_machine_settle(const struct storage_machine *m, struct storage_entry *e);
/* haproxy.cfg as it is by then. */
const char *storage_machine_config(const struct storage_machine *m);
