/*
 * Objects that HAProxy refuses a configuration for, left out of it, or in it as they were before their change: the search (configuration/culprits) between a source that makes
 * documents of objects, and the configuration engine, which has each judged by HAProxy. The source reports a culprit (a line of the
 * log, an Event, /status), counted by the metric quarantined_objects, and kept in STATE_DIR, until it changes.
 *
 * A source, each time: quarantine_begin, quarantine_see for each object, quarantine_end; then a document with each object as
 * culprits_form says, and one of quarantine_gives (before it is given away), quarantine_refuse and quarantine_keep_none. It is
 * asked for another one by `again`.
 */
#pragma once

#include "configuration/culprits.h"
#include "daemon/daemon.h"

struct quarantine;

/* state_fd: of STATE_DIR, to write to; -1: nothing is kept. */
struct quarantine *quarantine_new(const struct daemon *in, int state_fd) must_check;
/* NULL is allowed in what a source of objects calls: nothing is left out. */
void quarantine_free(struct quarantine *q);
/* The source; from the loop. again: it makes another document. settled: quarantine_settled has become true. */
void quarantine_listen(struct quarantine *q, void (*again)(void *arg), void (*settled)(void *arg), void *arg);

void quarantine_poke(struct quarantine *q);  /* SIGHUP: culprits are tried again; the source is asked, too */
void quarantine_begin(struct quarantine *q); /* the first time it reads what was kept */
/* True: it has changed since it was accepted; the source keeps what it was as long as culprits_has_former. */
bool quarantine_see(struct quarantine *q, const char *key, uint64_t hash);
void quarantine_end(struct quarantine *q);

/* Which objects are left out, or in it as they were. */
const struct culprits *quarantine_culprits(const struct quarantine *q);
/* For people; served: as it was. Allocates; NULL: it is no culprit. */
char *quarantine_why(const struct quarantine *q, const char *key, bool served) must_check;
bool quarantine_settled(const struct quarantine *q); /* it was accepted, and nothing of it is withdrawn */

/* same: it is the one that was given last. */
void quarantine_gives(struct quarantine *q, bool same);
/* Of the document that was given last; may be called at any time. */
void quarantine_judge(struct quarantine *q, const struct culprits_verdict *v);
/* One that was given before it was refused. */
void quarantine_miss(struct quarantine *q);
/* What changes all the time would have each document out of date before HAProxy has judged it, so that no culprit were ever found: the next
 * one waits, and asks again after that time. 0: it does not wait. */
uint64_t quarantine_hold_ms(const struct quarantine *q);
/* The same, as it was judged last; false: nothing is known. Borrowed until the loop goes on. */
bool quarantine_verdict(const struct quarantine *q, struct culprits_verdict *ret);
void quarantine_refuse(struct quarantine *q, const char *why); /* what the objects come to can be no document */
void quarantine_keep_none(struct quarantine *q);               /* none is given: what runs stays */
void quarantine_check(const struct quarantine *q, struct checks *checks); /* adds one where any is left out */
void quarantine_measure(const struct quarantine *q);
