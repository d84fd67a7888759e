/*
 * The configuration engine: one haproxy.cfg for all HAProxies. For each document: validated by every HAProxy, written
 * where all that answer have accepted it, loaded, verified; where the load fails, the file from before goes back. It
 * owns all of the file that no other engine owns, and drives an instance (haproxy/instance) for each target.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "configuration/keep.h"
#include "configuration/event.h"
#include "haproxy/engine.h"
#include "report/checks.h"

struct buf;
struct cfg_difference;
struct cfg_line_difference;
struct configuration;
struct document;
struct event_base;
struct storage_foresight;
struct store;

enum configuration_drift { CONFIGURATION_DRIFT_REPORT, CONFIGURATION_DRIFT_REPAIR, CONFIGURATION_DRIFT_IGNORE };

/* Of what a HAProxy does badly with after a change: its worker dies, a listener is missing, or, with SERVING, backends lose
 * all of their servers there alone. A file that cannot be loaded goes back in any case. */
enum configuration_rollback_policy {
    CONFIGURATION_ROLLBACK_AUTO,
    CONFIGURATION_ROLLBACK_SERVING,
    CONFIGURATION_ROLLBACK_REPORT, /* nothing is put back */
};

struct configuration_options {
    size_t target_count;    /* those with the numbers from 0 on; others may be added */
    bool dry_run;           /* validates only */
    bool foresees;          /* with dry_run: what its files would take, too */
    bool allow_lockout;     /* a document may lack what the daemon manages a target by (configuration/lockout) */
    struct keep_rules keep; /* server lines that are no document's; borrowed */
    enum configuration_drift drift;
    size_t canary; /* so many get a document first, and are watched for canary_time_ms; 0: all at once */
    uint64_t canary_time_ms;
    enum configuration_rollback_policy rollback;
    uint64_t min_interval_ms; /* between two documents; the first is sent at once */
    struct store *store;      /* borrowed */
    struct configuration_listener listener;
    const struct log *log;
};

struct configuration *configuration_new(struct event_base *base,
                                        const struct configuration_options *options) must_check;
void configuration_free(struct configuration *c); /* after its instances; NULL is allowed */
const struct engine *configuration_engine(const struct configuration *c, size_t i); /* for instance_new */

/* Another HAProxy: it gets the document that is the latest, and holds it up for no other one, until it has done well with
 * one. name: what it is remembered by over a restart; NULL: its URL. Returns its number, which may be that of one that was
 * removed. The caller then makes its instance. */
size_t configuration_add(struct configuration *c, const char *name);
/* It counts no more: what is under way there holds nothing up, and is not reported. Its instance may go on to its end;
 * its engine stays until configuration_forget. */
void configuration_remove(struct configuration *c, size_t number);
void configuration_forget(struct configuration *c,
                          const struct engine *e); /* of one that was removed: after its instance */

/* The latest one wins; takes a reference. */
void configuration_set(struct configuration *c, struct document *d);
/* The same; what the source was refused for stands. */
void configuration_follow(struct configuration *c, struct document *d);
/* A version that is kept is applied instead, until the source has another document than now. */
int configuration_rollback(struct configuration *c, unsigned number, struct error *err) must_check;
/* The source has nothing that can be used: what is applied stays. */
void configuration_refuse(struct configuration *c, const struct error *err);
/* While it is, a document is validated, but not written. */
void configuration_pause(struct configuration *c, bool paused);

/* What stands in the files of all HAProxies that answer, one behind the other, each text once. False: one that may answer was not
 * read yet, or none was. */
bool configuration_runs(const struct configuration *c, struct buf *ret) must_check;

/* By all that answer: they run the document, or, where nothing is written, find it valid. */
bool configuration_accepted(const struct configuration *c);

/* What a target has of it. */
struct configuration_view {
    const char *state; /* "new", "valid", "written", "applied", "drifted", "rejected", "restoring" */
    enum status_state status;
    const char *sha256;   /* of the document; NULL: none yet */
    const char *source;   /* "/etc/haproxy.cfg" */
    unsigned version;     /* that a rollback brought back; 0: it is the source's */
    bool away;            /* the last request about it had no answer that counts */
    bool joins;           /* it was added, and has not done well with any document yet: no other one's matter */
    bool overtaken;       /* the source has another one, which waits until this one is whole, or gone */
    bool former;          /* it is new, and has the last one that ran, as the latest is rejected */
    bool paused;          /* by its source: it is validated, and not written */
    bool files_missing;   /* it is not validated: its files are not there as it has them, and nothing may be written */
    bool files_done;      /* all is done for them */
    const char *failure;  /* the class of what failed last and is tried again; NULL: nothing */
    uint64_t next_try_ms; /* clock_mono_ms; 0: as soon as that HAProxy can be read */
    const char *reason;   /* NULL: none */
    const char *canary;   /* "watched", "failed"; "waits": for one that has it; NULL: neither */
    uint64_t canary_until_ms; /* of "watched": clock_mono_ms */
    const char *withdrawn;    /* what the source has, by its sha256, and was rolled back by itself; NULL: it was not */
    const char *evidence;     /* of that, or of what it does badly with; NULL: none */
    const char *runs;         /* the document that was applied last, by its sha256; "": none by this daemon */
    int64_t runs_since_ms;    /* wall clock */
};

/* From the file that was read last to the document; nothing where none was read. Borrowed until the loop goes on. */
const struct cfg_difference *configuration_difference(const struct configuration *c, size_t target);
/* How that would come about: without a reload, by these commands to the running HAProxy, one a line (none: nothing
 * differs). -1: by a reload, and why (ERROR_INVALID). */
int configuration_foresee(const struct configuration *c, size_t target, struct buf *ret, struct error *err) must_check;
/* And each of its files, after that; empty where they were not read. Borrowed until the loop goes on. */
const struct storage_foresight *configuration_foresight(const struct configuration *c, size_t target);
/* The same by lines. */
void configuration_line_difference(const struct configuration *c, size_t target, struct cfg_line_difference *ret);

struct configuration_view configuration_view(const struct configuration *c, size_t target);

/* So many HAProxies wait for CONFIG_CANARY. */
size_t configuration_waiting_for_canary(const struct configuration *c);
/* What the source has was rolled back, not by an operator. */
bool configuration_is_rolled_back(const struct configuration *c);

/* Adds one for the source and one for each target; true where at least one target runs what the source has. waits: why it gives
 * nothing before a target was read; NULL: it does. */
bool configuration_ready(const struct configuration *c, const char *waits, struct checks *checks);
