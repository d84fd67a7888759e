/* The log lines about decisions: what changed, why, which servers, how long it took. Nothing else logs a decision. */
#ifndef SYNC_DECISION_H
#define SYNC_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "sync/plan.h"

struct buf;
struct lane;
struct txn;

/* target, where there are several HAProxies: which; else NULL. */

/* One line for a committed change to a backend. event_us: from the watch event to the commit; 0: no event caused it. */
void decision_log_commit(const struct log *log, const char *target, const char *backend, const struct plan *p,
                         const char *cause, const struct txn *t, uint64_t event_us);

/* One line for a server that was changed in the file and in the running HAProxy at once. */
void decision_log_fast(const struct log *log, const char *target, const char *backend, const struct diff_change *c,
                       const char *cause, const struct lane *l, uint64_t event_us);

/* The empty commit that repeats a reload. */
void decision_log_reload_again(const struct log *log, const char *target, const struct txn *t);

/* What would be written, were it not paused or a dry run; logged when it changes (see `limit`). */
void decision_log_withheld(const struct log *log, struct log_limit *limit, uint64_t now_ms, const char *target,
                           const char *backend, const struct plan *p, const char *cause);

/* The first write to a backend that was not in step: each server that was there before and goes, one line each. told: those
 * that had their line, a buffer of the caller's for as long as it lasts; parked and then removed is one taking over. */
void decision_log_takeover(const struct log *log, const char *target, const char *backend, const struct diff *d,
                           struct buf *told);

/* What the diff left out (name clashes) and what foreign servers will inherit; logged when it changes (see `limit`). */
void decision_log_skips(const struct log *log, struct log_limit *limit, uint64_t now_ms, const char *target,
                        const char *backend, const struct diff *d, bool proxy_v2_in_default_server);

#endif
