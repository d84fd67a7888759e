/*
 * The transaction machine: begin -> change ... -> commit, as (state, event) -> action over plain structs. It sends
 * nothing itself: haproxy/dataplane/driver performs the action and feeds the answer back.
 *
 * One request at a time. Adding 500 servers takes the API 0.7 s of computing or more, which several requests in flight
 * do not lessen: they only spread it over its cores (1.2 to 1.5 times as fast with 2 to 8 of them on two cores), the
 * lines would be in an order of chance, and a failure amid them would have several endings.
 *
 * Whatever goes wrong, an open transaction is deleted before the machine finishes (when the API can be reached), and
 * the result says what to do next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/driver.h"

struct dataplane_answer;

/* One write inside the transaction. */
struct transaction_step {
    const char *method; /* "POST", "PUT", "DELETE" */
    char *path;         /* behind DATAPLANE_API, without the transaction_id */
    char *body;         /* NULL: none */
    char *what;         /* for messages: "add server n1" */
};

enum transaction_state {
    TRANSACTION_IDLE,
    TRANSACTION_BEGIN,
    TRANSACTION_CHANGE,
    TRANSACTION_PREVIEW, /* reading what a commit would write */
    TRANSACTION_COMMIT,
    TRANSACTION_DELETE, /* deleting its own */
    TRANSACTION_LIST, /* after a 429, or at start: for failed and outdated ones; after a rejected begin: for that one */
    TRANSACTION_DELETE_DEAD, /* deleting one of those */
    TRANSACTION_DONE,
};

enum transaction_action_type {
    TRANSACTION_SEND,
    TRANSACTION_JUDGE, /* the answer in hand is the file as a commit would leave it: transaction_judged is next */
    TRANSACTION_FINISHED,
};

struct transaction_action {
    enum transaction_action_type type;
    const char *method;
    const char *path; /* owned by the machine, valid until the next call */
    const char *body;
    unsigned delay_ms; /* before it is sent */
};

struct transaction {
    enum transaction_state state;
    struct transaction_step *steps; /* owned */
    size_t step_count, next_step;
    int64_t version; /* to begin at; after TRANSACTION_COMMITTED the new one */
    char *id;        /* of the one that is open; NULL: none */
    char *reload_id;
    char **dead; /* ids to delete */
    size_t dead_count;
    size_t next_dead, freed;
    bool outlived;  /* those to delete are other clients' outdated ones: only where there is no room */
    char **foreign; /* the ones of these that were deleted */
    size_t foreign_count;
    char **held; /* its own from earlier runs that could not be deleted; the next clean-up tries again */
    size_t held_count;
    char *noted; /* what refusals named, until a clean-up has deleted it all; NULL: nothing is left */
    enum transaction_state failed_in; /* the state whose answer decided the result */
    char *refusal;                    /* what the API answered to the begin, with a 500; NULL: nothing */
    bool cleaned;                     /* the 429 clean-up was done once */
    bool abort_wanted;
    bool cleanup_only;
    bool preview_only;
    bool preview_wanted; /* before the commit: TRANSACTION_JUDGE */
    enum transaction_result result;
    struct error error;                      /* why, with what was being done; kind NONE where committed */
    int64_t retry_after_ms;                  /* of the answer that ended it; -1 */
    uint64_t begin_us, change_us, commit_us; /* time spent in requests of each part */
    struct buf path;
};

void transaction_init(struct transaction *t);
void transaction_fini(struct transaction *t);

/* Takes ownership of steps (mem_array of transaction_step with their strings). No steps: an empty commit. The same
 * struct serves one run after the other: it remembers what an earlier run had to leave behind. */
struct transaction_action transaction_start(struct transaction *t, int64_t version, struct transaction_step *steps,
                                            size_t count);
/* Deletes what earlier runs left failed or outdated; unknown ones in progress may be another client's. */
struct transaction_action transaction_start_cleanup(struct transaction *t);
/* Begins one at that version, reads what the API would write for it as it is, empty, and deletes it: every write of the
 * API writes the whole file anew, as its parser understood it. */
struct transaction_action transaction_start_preview(struct transaction *t, int64_t version);
/* After transaction_start: what it would write is read before it is committed, and TRANSACTION_JUDGE asks about it. */
void transaction_preview_first(struct transaction *t);
/* After TRANSACTION_JUDGE: problem says what of the file it would damage, and it is deleted; NULL: nothing, and it goes
 * on. */
struct transaction_action transaction_judged(struct transaction *t, const char *problem);
/* What the API said to a write without a transaction that it answered with 500: the next clean-up deletes the one
 * in progress that this names, as a begin that is refused so does by itself, where it can: what it cannot is noted,
 * too. */
void transaction_note_refusal(struct transaction *t, const char *message);
/* The answer to the last TRANSACTION_SEND. The number of requests of a run is bounded whatever the answers are. */
struct transaction_action transaction_answer(struct transaction *t, const struct dataplane_answer *a);
/* SIGTERM: before the commit is sent the next action deletes it; after, its answer is awaited. Takes effect at the next
 * transaction_answer. */
void transaction_abort(struct transaction *t);

void transaction_steps_free(struct transaction_step *steps, size_t count);
