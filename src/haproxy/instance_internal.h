/*
 * The inside of an instance, for its own files. instance.c has the order of a round and takes what the driver reports; it
 * calls the others, none of which calls it: instance_read.c (what was read, and what it means), instance_reload.c (how
 * reloads end), instance_write.c (transactions, the whole file, files beside it), instance_update.c (runtime updates and
 * commands), instance_report.c (log, history, metrics, the view). Decisions are parts with their own functions:
 * haproxy/guard, backoffs, reload_poll, reload_confirm, verification, commands. The driver (haproxy/driver) does what they say.
 */
#pragma once

#include "base/backoff.h"
#include "base/clock.h"
#include "haproxy/commands.h"
#include "haproxy/driver.h"
#include "haproxy/guard.h"
#include "haproxy/instance.h"
#include "haproxy/backoffs.h"
#include "haproxy/readout.h"
#include "haproxy/reload_poll.h"
#include "host/timer.h"
#include "report/metric_table.h"

enum instance_phase {
    INSTANCE_IDLE,
    INSTANCE_READING,
    INSTANCE_WRITING,   /* a transaction, or deleting dead ones at start */
    INSTANCE_REPLACING, /* a whole configuration, or its validation, or files beside it */
    INSTANCE_UPDATING,  /* a runtime update */
    INSTANCE_POLLING,   /* asking for the reload's state, or what HAProxy serves */
    INSTANCE_ENDING,    /* a last update */
};

/* The running HAProxy, compared with the file. instance_read.c writes it. */
struct instance_running {
    int64_t pid, uptime_s; /* of the HAProxy that answered last; -1: not known */
    bool known;
    bool silent;               /* the API says that it gets no answer from it */
    bool back;                 /* it answers again, as another process, and no reading was concluded since */
    enum worker_change worker; /* since the last reading at rest */
    unsigned unreadable;       /* readings in a row, of a HAProxy that could be read before */
    unsigned others;           /* readings that found another process than the one before them, or could not tell */
    int64_t split_version;     /* at which the file lagged behind the API when read last; -1: it did not */
    uint64_t drift_since_ms;   /* of `drift` as it is now; writes do not change it */
    char *drift;               /* how it differs; NULL: it does not */
    /* Of a difference that is still there: a reload did not help, then commands are to set it, did not help either. */
    bool reload_in_vain, sets, set_in_vain;
    bool read_again; /* another worker answered than at the reading before, which was not one of these */
    bool said_old;   /* that HAProxy is too old */
};

/* A reload of the daemon that the API reported as ended; a reading decides. */
struct instance_reload_end {
    bool waits; /* for a reading that verifies it */
    bool done;  /* the API says so; else it does not know how it ended */
    char *id;
    uint64_t since_ms, took_us;
    struct error error;
    int64_t pid_before, uptime_before_s; /* of the worker when it was asked for; -1 */
    unsigned readings;                   /* since then, each answered by that worker */
    unsigned unconfirmed;                /* reloads in a row that succeeded by the API, with the same HAProxy process */
};

/* How the last reload before this start ended; a commit settles it, too. */
struct instance_last_reload {
    bool known;
    bool again; /* it is asked again, because another writer may have repaired what is dirty */
    unsigned polls, failures;
    uint64_t next_ms;
    char *remark; /* what it leaves to be said; NULL: nothing */
};

/* What HAProxy has loaded of the file. instance_reload.c writes it, and instance_read.c what may not be loaded. */
struct instance_loading {
    bool dirty;     /* what runs may differ from haproxy.cfg */
    bool rewritten; /* the whole file was, and the next reload loads it */
    /* When the running HAProxy last took the changes of haproxy.cfg by commands; 0: not since the last reload or another
     * process. */
    uint64_t commanded_ms;
    struct reload reload; /* that is followed */
    unsigned reloads;     /* that were followed */
    struct instance_reload_end ended;
    struct instance_last_reload last;
};

/* What was logged and not resolved. instance_report.c writes it. */
struct instance_report {
    struct error problem;
    struct log_limit problem_limit, trouble_limit; /* in the log; in the history */
    char *reload_why;                              /* that was said last; NULL: nothing */
    char *drift;                                   /* that is to be repaired; NULL: none */
    bool drift_answered;                           /* by a commit of the daemon */
};

/* The runtime update under way, or the last one. instance_update.c writes it. */
struct instance_update {
    struct instance_backend *backend;
    char *server; /* of it */
};

struct instance {
    struct instance_options options;
    const struct engine **engines;
    struct engine_wants *wants; /* of each, as it decided last */
    size_t engine_count;
    size_t last_engine; /* that made a runtime update last: the next one is another's */
    struct instance_backend *backends;
    const char **names; /* of these, for the reader */
    size_t backend_count;
    struct timer timer; /* the next thing to do by itself */
    struct timer resync;
    enum instance_phase phase;
    int64_t wall_minus_mono_ms;

    bool fresh, away;
    uint64_t answered_ms;           /* the last reading that got an answer from the API and from HAProxy; 0: none yet */
    int64_t version, wrote_version; /* the latter: by this daemon, last */
    uint64_t reread_ms;             /* what could not be understood is read again then; 0: no need */
    uint64_t read_began_ms;
    uint64_t read_back_ms; /* not before that are updates read back: for the time that the last reading took */
    unsigned as_last;      /* readings in a row that found the file as it was, and did not ask for the backends */
    bool unverified;       /* runtime updates since the last reading: what the file has is still to be read back */
    bool decided;          /* a transaction is to be begun, in a round of the loop of its own: both take their time */
    bool left_dirty;       /* and nothing may be written: a dry run, a pause, a refusal */
    bool renewed;          /* new credentials were tried at once, without a result yet */

    size_t large_file_bytes; /* from so many on it is not kept for transactions that may come; tests have fewer */
    bool file_let_go;        /* though some are not reviewed: for these it is read again, */
    bool file_needed;        /* and kept */
    bool no_preview;         /* the last one found no room among other clients' transactions */
    struct readout readout;
    struct instance_running running;
    struct instance_loading loading;

    struct backoffs backoffs;
    struct guard guard;
    uint64_t write_started_us;
    bool one_by_one; /* a transaction for several backends was rejected: one transaction for each backend */

    const struct engine *asking; /* what HAProxy serves, or whose file, or files beside it, are written */
    struct instance_update update;
    struct verification verification;
    struct commands commands;

    struct instance_report report;

    bool stopping, read_at_end, previewed_at_end, last_updated;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* For each engine that has the callback. */
#define ENGINES_DO(in, callback, ...)                                                     \
    do {                                                                                  \
        for (size_t e_ = 0; e_ < (in)->engine_count; e_++)                                \
            if ((in)->engines[e_]->ops->callback != NULL)                                 \
                (in)->engines[e_]->ops->callback((in)->engines[e_]->self, ##__VA_ARGS__); \
    } while (0)

#define INSTANCE_REFUSED                                                                                              \
    "the Data Plane API refused the credentials; HAPROXY_DATAPLANE_USERNAME and HAPROXY_DATAPLANE_PASSWORD (or "      \
    "HAPROXY_DATAPLANE_PASSWORD_FILE), or its line in the credentials file, must be in the userlist that it uses (a " \
    "token: what a proxy in front of it expects); haproxy-k8s-sync doctor shows how to set them"

/* Which in was given. */
static inline struct driver *instance_driver(const struct instance *in)
{
    return in->options.driver;
}

/* ---- instance_read.c */
void instance_read(struct instance *in);
void instance_read_ended(struct instance *in); /* well or not */
void instance_read_failed(struct instance *in, const struct error *err);
/* The API refused the credentials. True where there are others, to be tried at once; but only once in a row, so that a
 * file that never rests does not set the pace. */
bool instance_renew_credentials(struct instance *in);
/* What was read is what is there now; then, what runs. False: that is of another moment, and all is read again. */
void instance_take_file(struct instance *in);
bool instance_take_running(struct instance *in);
void instance_conclude(struct instance *in); /* drift is judged, and engines may judge, too */
void instance_read_again(struct instance *in, unsigned after_ms);
void instance_backend_differs(struct instance_backend *b); /* from what was read of it */
/* The daemon wrote `version`. */
void instance_wrote(struct instance *in, int64_t version);
/* And the rest is as it was read. False: another writer wrote just before, and the API allowed it. */
bool instance_wrote_next(struct instance *in, int64_t version);
void instance_wrote_server(struct instance *in, int64_t version); /* so, by a runtime update */
/* Its text, unless a transaction is still to be compared with it; a large one until there is one. Of what stays nothing
 * is parsed any more, unless an engine reads it. */
void instance_free_file(struct instance *in);
bool instance_is_split(const struct instance *in); /* after a failed reload, the file is another one than the API's */
bool instance_all_readable(const struct instance *in);
/* For certain: HAProxy counts whole seconds, and said so at some time of the reading. */
bool instance_started_since(const struct instance *in, uint64_t when_ms);
/* How running HAProxy differs from haproxy.cfg, in the backends that can be read (writing: that are being written); NULL: it
 * does not. Allocates. */
char *instance_running_problem(const struct instance *in, bool writing) must_check;
/* Where a reload did not bring what the file says. False: there is nothing to set, or it cannot be. */
bool instance_set_running(struct instance *in);

/* ---- instance_reload.c */
void instance_rewritten(struct instance *in, bool runs); /* the whole file was; runs: HAProxy took it by commands */
/* The daemon's write (NULL: applied at once) loads whatever was not loaded before. */
void instance_reload_comes(struct instance *in, const char *id);
void instance_take_reload(struct instance *in);  /* the driver was asked how it stands */
void instance_judge_reload(struct instance *in); /* by what was read, where one has ended */
void instance_take_last_reload(struct instance *in, const struct reload_history *h, const struct error *err);
/* Asks whether another writer repaired what is dirty; the step does it. */
void instance_ask_last_reload_again(struct instance *in);

/* ---- instance_write.c */
void instance_write_failed(struct instance *in, enum transaction_result result, const struct error *err,
                           int64_t retry_after_ms);
void instance_write_succeeded(struct instance *in);
/* Of the engines that want one, for changes of their own; none of them does: an empty commit. */
void instance_write_transaction(struct instance *in);
void instance_writes_none(struct instance *in); /* no write is in hand */
/* An empty transaction is to be begun, previewed and deleted before anything is written. */
bool instance_wants_preview(const struct instance *in);
void instance_replace(struct instance *in, const struct engine *e);
void instance_store(struct instance *in, const struct engine *e);
/* What the driver reports. */
char *instance_judge(void *in, const char *text, size_t len, bool previews) must_check;
void instance_take_cleaning(struct instance *in, const struct written *w);
void instance_take_preview(struct instance *in, const struct written *w);
void instance_take_transaction(struct instance *in, const struct written *w);
void instance_take_replacement(struct instance *in, const struct replaced *r);
void instance_take_storage(struct instance *in, const struct stored *s);

/* ---- instance_update.c */
int instance_send_update(struct instance *in, struct instance_backend *b, const struct update_request *request,
                         struct error *err) must_check;
void instance_take_update(struct instance *in, const struct updated *u);
void instance_take_server(struct instance *in,
                          const struct updated *u); /* what was read is still there, but for this */
void instance_forget_commands(struct instance *in);
void instance_take_command(struct instance *in, uint64_t took_us, const struct error *err); /* the first one ended */

/* ---- instance_report.c */
void instance_report_init(struct instance_report *r);
void instance_report_fini(struct instance_report *r);
const char *instance_url(const struct instance *in);
void instance_show_verification(struct instance *in);
/* Keeps the problem, logs it and puts it into the history, rate-limited. */
void instance_problem(struct instance *in, const char *what, const struct error *err);
void instance_report_problem(struct instance *in, enum history_kind kind, const char *what, const struct error *err);
void instance_problem_over(struct instance *in);
void instance_note_trouble(struct instance *in, enum history_kind kind, const char *what,
                           const char *why); /* each time */
void instance_note_drift(struct instance *in, const char *what);
void instance_note_drift_over(struct instance *in);
void instance_report_commit(struct instance *in, const struct written *w, bool empty);
void instance_report_foreign(const struct instance *in, const struct written *w); /* what it deleted to make room */
void instance_log_why(struct instance *in, const char *why); /* it takes a reload; once, as long as it is the same */
