/*
 * Changes in the log and in the history: what changed, why, which servers, how long it took. Each change of the servers
 * engine is logged here and nowhere else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/log.h"
#include "servers/change/plan.h"

struct buf;
struct history;
struct updated;
struct written;

/* Where the changes are made and logged; borrowed. */
struct change_log_place {
    const struct log *log;
    struct history *history; /* NULL: none */
    const char *url;         /* of the Data Plane API */
    bool several;            /* there are other HAProxies: the log says which */
    const char *backend;     /* NULL: all of that HAProxy */
    bool logs_drains;        /* a drain is a runtime command before it is written: that had its entry */
};

/* A committed change to a backend. event_us: from the watch event to the commit; 0: no event caused it. */
void change_log_commit(const struct change_log_place *at, const struct plan *p, const char *cause,
                       const struct written *t, uint64_t event_us);

/* A server that was changed in the file and in the running HAProxy at once. */
void change_log_update(const struct change_log_place *at, const struct diff_change *c, const char *cause,
                       const struct updated *l, uint64_t event_us);

/* What would be written if it were not for a pause or a dry run; logged when it changes (see `limit`). */
void change_log_not_written(const struct change_log_place *at, struct log_limit *limit, uint64_t now_ms,
                            const struct plan *p, const char *cause);

/* The first write to a backend that was not in sync: each server that was there before and goes, one line each. logged:
 * those that had their line, a buffer of the caller's for as long as it lasts; parked and then removed is one taking
 * over. In the history they stand with the write itself. */
void change_log_takeover(const struct change_log_place *at, const struct diff *d, struct buf *logged);

/* What the diff left out (name clashes) and what foreign servers will inherit; logged when it changes (see `limit`). */
void change_log_skips(const struct change_log_place *at, struct log_limit *limit, uint64_t now_ms, const struct diff *d,
                      bool proxy_v2_in_default_server);

/* What a difference does, for people: "added n5 (10.0.0.5:80); removed n4; changed n1 (weight 1 -> 2)". Allocates. */
char *change_log_sentence(const struct diff *d) must_check;
/* The same of one change: "changed n1 (weight 1 -> 2)". */
char *change_log_sentence_of(const struct diff_change *c) must_check;
