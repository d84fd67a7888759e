/*
 * One HAProxy and the way to it (haproxy/driver): reads it, follows reloads, finds drift, writes what its engines
 * (haproxy/engine) want, verifies, and backs off. It knows no Kubernetes and no rule of theirs. It converges by itself:
 * own version, backoff and dirty flag; several instances would not disturb each other. What several backends need at
 * once goes into one transaction; where HAProxy refuses that, each gets one of its own, so that only the rejected one
 * stays behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "haproxy/engine.h"
#include "haproxy/reload_poll.h"
#include "haproxy/verification.h"
#include "report/history.h"

struct buf;
struct cfg_file;
struct change;
struct changes;
struct driver;
struct event_base;
struct instance;
struct metric_table;
struct tracer;

struct instance_options {
    struct driver *driver; /* taken over, whatever comes of it */
    bool several;          /* there are other instances: the log names the target */
    bool dry; /* for a command: its engines never write; previews all the same, and the file stays as it was read */
    uint64_t resync_period_ms;
    struct metric_table *metrics;
    struct history *history; /* NULL: none */
    struct tracer *tracer;   /* NULL: no traces */
    const struct log *log;
};

/* Engines are borrowed and outlive it. NULL: two own the same, which ERROR_INVALID names. */
struct instance *instance_new(struct event_base *base, const struct instance_options *options,
                              const struct engine *const *engines, size_t count, struct error *err) must_check;
void instance_free(struct instance *in); /* NULL is allowed */

/* Reads what is there; engines decide after that. */
void instance_start(struct instance *in);
/* Does what is next, if anything: to be called after a change of anything that an engine decides by. */
void instance_step(struct instance *in);
/* Reads and compares now, without any pause. */
void instance_refresh(struct instance *in);
/* Aborts or finishes the transaction in hand, makes the last updates of its engines, then calls stopped (perhaps at
 * once). Nothing is written after. */
void instance_stop(struct instance *in, void (*stopped)(void *arg), void *arg);

/* ---- what is known of it now, as plain values for engines and reports */

#define INSTANCE_CANNOT_READ "cannot read HAProxy's configuration" /* stands before such a problem */

struct instance_view {
    const char *url;        /* of its Data Plane API, or the path of the file */
    const char *user;       /* of the login; NULL: there is none */
    const char *password;   /* of the login, never to be shown; NULL: there is none, or it is not known */
    int64_t version;        /* that all backends were read at; -1: none yet */
    bool other_wrote;       /* that version is another writer's, or from before the start */
    uint64_t read_began_ms; /* the last reading */
    bool fresh;             /* they are as read last, and nothing since may have changed them */
    bool away;              /* the last reading failed: what was read before is outdated */
    bool dirty;             /* running HAProxy may differ from haproxy.cfg */
    bool silent;            /* the API gets no answer from HAProxy */
    uint64_t answered_ms;   /* clock_mono_ms of the last reading that neither of the two kept from; 0: none yet */
    bool stopping;
    bool last_reload_known;  /* how the last one before this start ended */
    const char *last_reload; /* what that leaves to be said; NULL: nothing */
    const char *reload_id;   /* NULL: none */
    unsigned reloads;        /* that the daemon caused, so far */
    unsigned loads;          /* so far: those, and readings that found another HAProxy process, or could not tell */
    enum reload_state reload;
    const char *reload_problem; /* NULL: none */
    const char *drift;          /* how running HAProxy differs from haproxy.cfg; NULL: it does not */
    const char *file_problem;   /* why nothing may be written to the file; NULL: nothing */
    const char *file_warning;   /* why perhaps nothing may be; NULL: nothing */
    bool loaded;                /* a daemon wrote the file that was read, and noted that it runs */
    bool unloaded;              /* a replacement wrote the file, and no commit has loaded it since */
    bool behind; /* the file is older than what the Data Plane API answers: a reload failed, and it put that one back */
    const char *waits;   /* another daemon has the file: what to say of it; NULL: none has */
    bool regroups;       /* the file is kept by kinds of lines, by its Data Plane API */
    bool adds;           /* servers come and go without a reload, where HAProxy lets them */
    int64_t worker_pid;  /* -1: not known */
    const char *haproxy; /* its version as read last; "": not known */
    enum verification_state verification;
    const struct error *problem; /* of all backends together; kind NONE: none */
    enum worker_change worker;   /* since the last reading at rest */
    bool may_write;              /* no pause after a write that failed */
    bool may_begin;              /* the API has room for a transaction */
    bool gathers;                /* a transaction was just now: the next gathers changes for a while */
    bool file_allows;            /* a preview showed that a write keeps the meaning of the file */
    bool no_preview;             /* other clients' transactions leave no room for one, so that nothing may be written */
    bool one_by_one;             /* a transaction for several backends was rejected */
};

struct instance_view instance_view(const struct instance *in);
const struct instance_options *instance_options(const struct instance *in);
struct instance_backend *instance_backend(struct instance *in, const char *name); /* NULL: no engine claims it */

/* ---- for engines */

/* Runtime updates and commands reach this backend, as far as is known: it can be read, and verification did not
 * fail. */
bool instance_runtime_usable(struct instance *in, const struct instance_backend *b);
/* Nothing is under way that may change what runs, and it did not differ from the file. */
bool instance_at_rest(const struct instance *in);
/* In `collect`: these are for the transaction in hand. -1: they cannot be put into words, none of them is. */
int instance_change(struct instance *in, struct instance_backend *b, const struct change *list, size_t count,
                    struct error *err) must_check;
/* What is desired has changed: a pause after a rejection is over then. */
void instance_write_sooner(struct instance *in, uint64_t when_ms);
/* Something else is to be written than what failed: any pause is over then that the API did not ask for. */
void instance_begin_anew(struct instance *in, uint64_t when_ms);

/* What runs may differ from haproxy.cfg or the files beside it: an empty commit loads them. */
void instance_must_reload(struct instance *in);
void instance_outdated(struct instance *in); /* what was read may be: it is read again */

/* As driver_ops.foresee. */
int instance_foresee(const struct instance *in, const struct cfg_file *to, const struct changes *changes,
                     struct buf *ret, struct error *err) must_check;

/* haproxy.cfg as read last, for an engine that owns the rest of it; borrowed, in `read` only, but of a dry instance. NULL: it
 * is no configuration. */
struct cfg_content *instance_file(const struct instance *in);

/* Starts a runtime update; fields: of server_field. -1: it cannot be encoded, nothing was started. */
int instance_update(struct instance *in, struct instance_backend *b, const struct backend_server *server,
                    unsigned fields, bool keep_maintenance, struct error *err) must_check;
/* How the log, the history and the pages name it. */
#define INSTANCE_UPDATE_NOT_APPLIED "runtime update not applied by HAProxy"
const char *instance_updating(const struct instance *in,
                              const struct instance_backend *b); /* which server; NULL: none */

/* Queues these commands for b instead of all that still wait; list is copied, except `why`, which is constant.
 * event_us: when what they are for arrived; 0: no event. */
void instance_command(struct instance *in, struct instance_backend *b, const struct runtime_command *list, size_t count,
                      uint64_t event_us);
bool instance_commanded(const struct instance *in, const struct instance_backend *b); /* no command waits for b */
/* The server that the command under way takes out of rotation; NULL: none. */
const char *instance_taking_out(const struct instance *in, const struct instance_backend *b);

#define INSTANCE_REPEAT_LOG_MS 60000 /* the period of a limit for what goes on */
/* Keeps and logs a problem of an instance or an engine (backend NULL: of all backends), rate-limited; and that it is
 * resolved. */
void instance_log_problem(const struct instance *in, const char *backend, struct error *problem,
                          struct log_limit *limit, const char *what, const struct error *err);
void instance_log_problem_over(const struct instance *in, const char *backend, struct error *problem,
                               struct log_limit *limit);
void instance_count_reconcile(struct instance *in, const char *result);
int64_t
instance_wall_minus_mono_ms(const struct instance *in); /* constant, so that a future moment is shown the same each
                                                         * time */
