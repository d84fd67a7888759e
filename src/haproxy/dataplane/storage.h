/*
 * The machine of the files beside a configuration: makes those of one Data Plane API equal to a list (enum storage_part of
 * haproxy/driver), in an order in which no reload at any moment finds a file missing, as (state, event) -> action over
 * plain structs.
 *
 * All with skip_reload, but what runtime commands change instead of a reload. Which files it put there, and the digests of what runs, it keeps in a file of its own beside them
 * (STORAGE_LIST): another run of the daemon deletes no other files, and knows certificates, which are never read.
 * It sends nothing itself (haproxy/dataplane/driver does).
 */
#ifndef HAPROXY_DATAPLANE_STORAGE_H
#define HAPROXY_DATAPLANE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/dataplane/storage_run.h"
#include "haproxy/dataplane/transaction.h"
#include "haproxy/storage_files.h"
#include "haproxy/storage_list.h"

struct dataplane_answer;

enum storage_state {
    STORAGE_IDLE,
    STORAGE_READ_LIST,
    STORAGE_READ_NAMES, /* of the kind `at` */
    STORAGE_READ_FILE,
    STORAGE_ANNOUNCE, /* the list before the first write: digests of what changes are not known meanwhile */
    STORAGE_WRITE,
    STORAGE_DELETE,
    STORAGE_WRITE_LIST,
    STORAGE_RUNNING, /* the entry `at` */
    STORAGE_DONE,
};

struct storage {
    enum storage_state state;
    struct storage_request request;
    bool known;     /* the list was read */
    bool announced; /* in this run */
    bool has_list;  /* the API has one */
    char *list;     /* what it has; NULL: none */
    struct storage_entries entries;
    size_t at;
    struct buf path, body, type, now; /* now: of the file in hand */
    bool was_read;                    /* now is */
    bool whole;                       /* what is written is the file as it is to be */
    struct storage_run run;

    /* How it ended: COMMITTED, or as of a change. */
    enum transaction_result result;
    struct error error;
    int64_t retry_after_ms;
    unsigned written, deleted, in_use;
    unsigned certificates; /* of those written */
    unsigned differing;    /* of STORAGE_CHECK: so many files, */
    char *differs;         /* the first of which is this one, "maps/hosts.map"; NULL: none */
    bool unfinished;       /* maps wait for STORAGE_FINAL */
    bool changed;          /* files are not what runs: a reload is to load them */
    char *why;             /* of STORAGE_RUN: one needs it; NULL: none */
    unsigned ran;          /* of STORAGE_RUN */
};

void storage_init(struct storage *s);
void storage_fini(struct storage *s);

struct storage_action storage_start(struct storage *s, const struct storage_request *request);
struct storage_action storage_answer(struct storage *s, const struct dataplane_answer *a);

#endif
