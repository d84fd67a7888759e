/*
 * The transaction machine: begin -> change ... -> commit, as (state, event) -> action over plain structs. It sends
 * nothing itself: `haproxy/dataplane/runtime_update`-like shells (servers/target) perform the action and feed the answer back.
 *
 * One request at a time. Adding 500 servers takes the API 0.7 s of computing or more, which several requests in flight do not
 * lessen: they only spread it over its cores (1.2 to 1.5 times as fast with 2 to 8 of them on two cores), the lines would be
 * in an order of chance, and a failure amid them would have several endings.
 *
 * Whatever goes wrong, a transaction that we hold is deleted before the machine finishes (when the API can be reached),
 * and the result says what to do next.
 */
#ifndef HAPROXY_DATAPLANE_TRANSACTION_H
#define HAPROXY_DATAPLANE_TRANSACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct dataplane_answer;

/* One write inside the transaction. */
struct txn_step {
    const char *method; /* "POST", "PUT", "DELETE" */
    char *path;         /* behind DATAPLANE_API, without the transaction_id */
    char *body;         /* NULL: none */
    char *what;         /* for messages: "add server n1" */
};

enum txn_state {
    TXN_IDLE,
    TXN_BEGIN,
    TXN_CHANGE,
    TXN_PREVIEW, /* reading what a commit would write */
    TXN_COMMIT,
    TXN_DELETE, /* giving ours up */
    TXN_LIST, /* after a 429, or at start: looking for failed and outdated ones; after a refused begin: for that one */
    TXN_DELETE_DEAD, /* deleting one of those */
    TXN_DONE,
};

/* How it ended: the label of transactions_total{result}. */
enum txn_result {
    TXN_COMMITTED,    /* reload_id and version are set */
    TXN_CLEANED,      /* txn_start_cleanup only: nothing was to be written */
    TXN_PREVIEWED,    /* txn_start_preview only: seen and found harmless, or (http_status of error) it cannot be seen */
    TXN_HARMFUL,      /* what it would write changes the meaning of what is not ours: an operator has to act */
    TXN_CONFLICT,     /* 409/406/404, or ours is dead: read again, then again at once */
    TXN_LIMIT,        /* 429, and cleaning did not help: back off */
    TXN_REJECTED,     /* 400/422 on a change, validation error at commit: the same again will fail: long backoff */
    TXN_UNAUTHORIZED, /* 401/403 */
    TXN_UNAVAILABLE,  /* 5xx, connection lost before the commit was sent */
    TXN_UNKNOWN,      /* the commit was sent and its answer lost: read again to know */
    TXN_ABORTED,      /* txn_abort */
};

enum txn_action_type {
    TXN_SEND,
    TXN_JUDGE, /* the answer in hand is the file as a commit would leave it: txn_judged is next */
    TXN_FINISHED,
};

struct txn_action {
    enum txn_action_type type;
    const char *method;
    const char *path; /* owned by the machine, valid until the next call */
    const char *body;
    unsigned delay_ms; /* before it is sent */
};

struct txn {
    enum txn_state state;
    struct txn_step *steps; /* owned */
    size_t step_count, next_step;
    int64_t version; /* to begin at; after TXN_COMMITTED the new one */
    char *id;        /* of the one we hold; NULL: none */
    char *reload_id;
    char **dead; /* ids to delete */
    size_t dead_count;
    size_t next_dead, freed;
    bool
        outlived; /* those to delete are strangers' that no commit can end well any more: only where there is no room */
    char **strangers; /* the ones of these that were deleted */
    size_t stranger_count;
    char **held; /* ours from earlier runs that could not be deleted; the next clean-up tries again */
    size_t held_count;
    char *noted;              /* what refusals named, until a clean-up has deleted it all; NULL: nothing is left */
    enum txn_state failed_in; /* the state whose answer decided the result */
    char *refusal;            /* what the API said to our begin, with a 500; NULL: nothing */
    bool cleaned;             /* the 429 clean-up was done once */
    bool abort_wanted;
    bool cleanup_only;
    bool preview_only;
    bool look_wanted; /* before the commit: TXN_JUDGE */
    enum txn_result result;
    struct error error;                      /* why, with what was being done; kind NONE where committed */
    int64_t retry_after_ms;                  /* of the answer that ended it; -1 */
    uint64_t begin_us, change_us, commit_us; /* time spent in requests of each part */
    struct buf path;
};

void txn_init(struct txn *t);
void txn_fini(struct txn *t);

/* Takes ownership of steps (mem_array of txn_step with their strings). No steps: an empty commit. The same struct
 * serves one run after the other: it remembers what an earlier run had to leave behind. */
struct txn_action txn_start(struct txn *t, int64_t version, struct txn_step *steps, size_t count);
/* Deletes what earlier runs left failed or outdated; unknown ones in progress may be somebody's. */
struct txn_action txn_start_cleanup(struct txn *t);
/* Begins one at that version, reads what the API would write for it as it is, empty, and deletes it: every write of the API writes
 * the whole file anew, as its parser understood it. */
struct txn_action txn_start_preview(struct txn *t, int64_t version);
/* After txn_start: what it would write is read before it is committed, and TXN_JUDGE asks about it. */
void txn_look_first(struct txn *t);
/* After TXN_JUDGE: problem says what of the file it would damage, and it is deleted; NULL: nothing, and it goes
 * on. */
struct txn_action txn_judged(struct txn *t, const char *problem);
/* What the API said to a write without a transaction that it answered with 500: the next clean-up deletes the one in progress
 * that this names, as a begin that is refused so does by itself, where it can: what it cannot is noted, too. */
void txn_note_refusal(struct txn *t, const char *message);
/* The answer to the last TXN_SEND. The number of requests of a run is bounded whatever the answers are. */
struct txn_action txn_answer(struct txn *t, const struct dataplane_answer *a);
/* SIGTERM: before the commit is sent the next action deletes it; after, its answer is awaited. Takes effect at the next
 * txn_answer. */
void txn_abort(struct txn *t);

const char *txn_result_name(enum txn_result r);
void txn_steps_free(struct txn_step *steps, size_t count);

/* Appends the steps of d to *steps (mem_array'd, or NULL with *count 0): backend (create or change), changes of servers,
 * adds, removals. A backend that is made is one step with all its servers, unless its balance goes by their order. Several
 * backends share one transaction so. -1: the list is as it was. */
struct backend;
struct diff;
struct diff_rules;
int txn_steps_add(const struct backend *actual, const struct diff *d, const struct diff_rules *rules,
                  struct txn_step **steps, size_t *count, struct error *err) must_check;

#endif
