/*
 * Objects that HAProxy refuses a configuration for, left out of it: the search (configuration/culprits) between a source that makes
 * documents of objects, and the configuration engine, which has each judged by HAProxy. A culprit is told by the source (a line of the
 * log, an Event, /status), counted by the metric quarantined_objects, and kept in STATE_DIR, until it changes.
 *
 * A source, each time: quarantine_begin, quarantine_see for each object, quarantine_end; then a document without those that
 * quarantine_leaves_out, and one of quarantine_gives (before it is given away), quarantine_refuse and quarantine_keep_none. It is
 * asked for another one by `again`.
 */
#ifndef DAEMON_QUARANTINE_H
#define DAEMON_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "configuration/culprits.h"

struct checks;
struct event_base;
struct quarantine;
struct telemetry;

/* Borrowed. */
struct quarantine_options {
    const char *folder; /* STATE_DIR, and its descriptor; -1: nothing is kept */
    int folder_fd;
    struct telemetry *telemetry;
    const struct log *log;
};

struct quarantine *quarantine_new(struct event_base *base, const struct quarantine_options *options) must_check;
/* NULL is allowed in all of these: nothing is left out. */
void quarantine_free(struct quarantine *q);
/* The source; from the loop. */
void quarantine_listen(struct quarantine *q, void (*again)(void *arg), void *arg);

void quarantine_poke(struct quarantine *q);  /* SIGHUP: culprits are tried again; the source is asked, too */
void quarantine_begin(struct quarantine *q); /* the first time it reads what was kept */
void quarantine_see(struct quarantine *q, const char *key, uint64_t hash);
void quarantine_end(struct quarantine *q);

bool quarantine_leaves_out(const struct quarantine *q, const char *key);
bool quarantine_leaves_any_out(const struct quarantine *q);
const char *quarantine_why(const struct quarantine *q, const char *key); /* for people; NULL: it is no culprit */
void quarantine_each(const struct quarantine *q, void (*fn)(void *arg, const char *key, const char *why), void *arg);
bool quarantine_trial(const struct quarantine *q); /* the document is to be checked, and not written */

/* same: it is the one that was given last. */
void quarantine_gives(struct quarantine *q, bool same);
/* Of the document that was given last; may be called at any time. */
void quarantine_judge(struct quarantine *q, const struct culprits_verdict *v);
/* The same, as it was told; false: nothing is known. Borrowed until the loop goes on. */
bool quarantine_verdict(const struct quarantine *q, struct culprits_verdict *ret);
void quarantine_refuse(struct quarantine *q, const char *why); /* what the objects come to can be no document */
void quarantine_keep_none(struct quarantine *q);               /* none is given: what runs stays */
void quarantine_check(const struct quarantine *q, struct checks *checks); /* adds one where any is left out */
void quarantine_measure(const struct quarantine *q);

#endif
