/*
 * What is said about decisions: what changed, why, which servers, how long it took. A line in the log and an entry in the
 * journal, each from here; nothing else tells of a decision.
 */
#ifndef SERVERS_DECISION_H
#define SERVERS_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/log.h"
#include "servers/change/plan.h"

struct buf;
struct history;
struct runtime_update;
struct transaction;

/* Whose decisions, and who is told; all of it borrowed. */
struct decision_place {
    const struct log *log;
    struct history *history; /* NULL: nobody reads it */
    const char *url;         /* of the Data Plane API */
    bool several;            /* there are other HAProxies: the log says which */
    const char *backend;     /* NULL: all of that HAProxy */
    bool tells_drains;       /* the running HAProxy is told who drains before the file is: that was an entry by then */
};

/* A committed change to a backend. event_us: from the watch event to the commit; 0: no event caused it. */
void decision_log_commit(const struct decision_place *at, const struct plan *p, const char *cause,
                         const struct transaction *t, uint64_t event_us);

/* A server that was changed in the file and in the running HAProxy at once. */
void decision_log_fast(const struct decision_place *at, const struct diff_change *c, const char *cause,
                       const struct runtime_update *l, uint64_t event_us);

/* The empty commit that repeats a reload. */
void decision_log_reload_again(const struct decision_place *at, const struct transaction *t);

/* What would be written, were it not paused or a dry run; told when it changes (see `limit`). */
void decision_log_withheld(const struct decision_place *at, struct log_limit *limit, uint64_t now_ms,
                           const struct plan *p, const char *cause);

/* The first write to a backend that was not in step: each server that was there before and goes, one line each. told: those
 * that had their line, a buffer of the caller's for as long as it lasts; parked and then removed is one taking over. In the
 * journal they stand with the write itself. */
void decision_log_takeover(const struct decision_place *at, const struct diff *d, struct buf *told);

/* What the diff left out (name clashes) and what foreign servers will inherit; logged when it changes (see `limit`). */
void decision_log_skips(const struct decision_place *at, struct log_limit *limit, uint64_t now_ms, const struct diff *d,
                        bool proxy_v2_in_default_server);

/* What a difference does, for people: "added n5 (10.0.0.5:80); removed n4; changed n1 (weight 1 -> 2)". Allocates. */
char *decision_sentence(const struct diff *d) must_check;
/* The same of one change: "changed n1 (weight 1 -> 2)". */
char *decision_sentence_of(const struct diff_change *c) must_check;

#endif
