/*
 * One HAProxy and the way to it, a Data Plane API: reads it, follows reloads, finds drift, writes what its engines
 * (haproxy/engine) want, verifies, and backs off. It knows no Kubernetes and no rule of theirs. It converges by itself: own
 * version, backoff and dirty flag; several instances would not disturb each other. What several backends need at once goes into
 * one transaction; where HAProxy refuses that, each gets one of its own, so that only the one that is wrong stays behind.
 */
#ifndef HAPROXY_INSTANCE_H
#define HAPROXY_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "haproxy/engine.h"
#include "haproxy/reload.h"
#include "haproxy/verification.h"
#include "report/history.h"

struct dataplane_client;
struct event_base;
struct instance;
struct metric;
struct telemetry;

struct instance_options {
    struct dataplane_client *client; /* borrowed */
    /* Borrowed; a second connection, for what overtakes the writing of the file. NULL: the running HAProxy is neither read nor
     * written to, all goes by transactions. */
    struct dataplane_client *runtime;
    bool several; /* there are other instances: the log says which it is about */
    uint64_t resync_period_ms;
    struct telemetry *telemetry;
    struct history *history; /* NULL: nobody reads it */
    const struct log *log;
};

/* Engines are borrowed and outlive it. -1 would be two that own the same: ERROR_INVALID names it, and NULL comes back. */
struct instance *instance_new(struct event_base *base, const struct instance_options *options,
                              const struct engine *const *engines, size_t count, struct error *err) must_check;
void instance_free(struct instance *in); /* NULL is allowed */

/* Reads what is there; engines decide after that. */
void instance_start(struct instance *in);
/* Does what is next, if anything is: after anything that an engine decides by has changed. */
void instance_step(struct instance *in);
/* Compares with what HAProxy really has, now, whatever was to wait. */
void instance_refresh(struct instance *in);
/* Aborts or finishes the transaction in hand, makes the last updates of its engines, then calls stopped (perhaps at once).
 * Nothing is written after. */
void instance_stop(struct instance *in, void (*stopped)(void *arg), void *arg);

/* ---- what is known of it; plain values of now, for engines and for those who show them */

struct instance_view {
    const char *url;
    int64_t version; /* that all backends were read at; -1: none yet */
    bool fresh;      /* they are what the API said last, and nothing since made that doubtful */
    bool away;       /* the last reading failed: what was read before says nothing of now */
    bool dirty;      /* HAProxy may run something else than its file says */
    bool silent;     /* the API says that it gets no answer from HAProxy */
    bool stopping;
    bool last_reload_known; /* how the last one before our start ended */
    const char *reload_id;  /* NULL: none */
    enum reload_state reload;
    const char *reload_problem; /* NULL: none */
    const char *drift;          /* what runs and is not what the file says; NULL: nothing */
    const char *file_problem;   /* why nothing may be written to the file; NULL: nothing */
    int64_t worker_pid;         /* -1: not known */
    bool with_runtime;          /* the running HAProxy is read and written to */
    enum verification_state verification;
    const struct error *problem; /* of all backends together; kind NONE: none */
};

struct instance_view instance_view(const struct instance *in);
const struct instance_options *instance_options(const struct instance *in);
size_t instance_backend_count(const struct instance *in);
struct instance_backend *instance_backend(struct instance *in, const char *name); /* NULL: nobody claims it */

/* ---- for engines */

/* Runtime updates and commands reach this backend, as far as is known: it can be read, and verification did not fail. */
bool instance_runtime_usable(struct instance *in, const struct instance_backend *b);
/* Nothing is under way that may change what runs, and it was what the file says. */
bool instance_at_rest(const struct instance *in);
enum worker_change instance_worker_change(const struct instance *in); /* since the last reading at rest */

/* Whether a transaction may be begun, or anything be written, now. */
bool instance_may_write(const struct instance *in); /* no pause after a write that failed */
bool instance_may_begin(const struct instance *in); /* the API has room for a transaction */
bool instance_gathers(const struct instance *in); /* a transaction was just now: the next gathers changes for a while */
bool instance_file_allows(const struct instance *in);      /* it was seen that a write keeps what the file means */
bool instance_tries_one_by_one(const struct instance *in); /* a transaction for several backends was refused */
void instance_writes(struct instance_backend *b); /* the transaction in hand, or the update to come, is for it */
/* What is desired has changed: a pause after a refusal is over then. */
void instance_write_sooner(struct instance *in, uint64_t when_ms);

/* Starts a runtime update; fields: of server_field. -1: it cannot be put into words, nothing was started. */
int instance_update(struct instance *in, struct instance_backend *b, const struct backend_server *server,
                    unsigned fields, bool keep_maintenance, struct error *err) must_check;
const char *instance_updating(const struct instance *in,
                              const struct instance_backend *b); /* which server; NULL: none */

/* These commands, and no other that still waits, are to be given for b; list is copied, but for `why`, which is constant.
 * event_us: when what they are for arrived; 0: no event. */
void instance_command(struct instance *in, struct instance_backend *b, const struct runtime_command *list, size_t count,
                      uint64_t event_us);
bool instance_commanded(const struct instance *in, const struct instance_backend *b); /* no command waits for b */
/* The server that the command under way takes out of rotation; NULL: none. */
const char *instance_taking_out(const struct instance *in, const struct instance_backend *b);

/* What it tells: see instance_report.c. */
void instance_count_reconcile(struct instance *in, const char *result);
int64_t
instance_wall_minus_mono_ms(const struct instance *in); /* constant: a moment to come is told the same each time */

#endif
