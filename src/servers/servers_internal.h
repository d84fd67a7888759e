/*
 * The inside of the servers engine, for its own files: servers.c (life, what a reading means, and what is desired), decide.c
 * (what each backend needs), write.c (transactions and runtime updates), other_writer.c (whether they stick),
 * runtime_commands.c (states of servers in HAProxy alone), shutdown.c (what drains is saved in the file), report.c (gauges,
 * trace, history, log, /readyz).
 */
#pragma once

#include "base/backoff.h"
#include "base/buf.h"
#include "base/error.h"
#include "haproxy/instance.h"
#include "report/history.h"
#include "servers/change/loss_limit.h"
#include "servers/change/parking.h"
#include "servers/change/plan.h"
#include "servers/change/revert_pause.h"
#include "servers/change_log.h"
#include "servers/servers.h"

struct metric;

/* What is reported of a backend, and what the history has of it, so that each event is added once; report.c. */
struct servers_report {
    bool in_sync;
    uint64_t since_ms;    /* it is in sync, or is not */
    struct error problem; /* kind NONE: none; for /readyz */
    struct log_limit problem_limit, trouble_limit;

    bool news; /* it was written to, kept or had a problem since it was in sync last: the next time gets an entry */
    struct buf written; /* what was */
    unsigned more;      /* writes that did not fit in there */
    char *cause;        /* of the last of them; NULL: none that is known */
    uint64_t event_us;  /* arrival of the event that the first of them was for; 0: none */

    bool holds;  /* no usable endpoint, in the history */
    size_t held; /* by the loss limit, in the history */

    int64_t settled_version; /* it was in sync at, moved on by writes for other backends; -1: not since it was written
                              * to */
    uint64_t settled_number;
    char *drift; /* what is written because of another writer, until it is repaired; NULL: nothing */

    struct {
        struct span *root, *verify; /* of a change that HAProxy is not seen to run yet; NULL: there is none */
    } trace;
};

/* What was refused is tried again so soon where something else is desired by now. */
#define REJECTED_PAUSE_MS 1000

enum write_part { WRITE_ALL, WRITE_OTHERS, WRITE_REMOVALS };

/* What was written last, to find changes that are missing or were reverted by another writer. */
struct last_write {
    int64_t version;    /* of the last commit, until it was read back; -1 */
    uint64_t number;    /* of what was desired then */
    size_t held_back;   /* by the loss limit, from that commit */
    bool commanded;     /* draining servers were not in it, because runtime commands were sent */
    int64_t ours;       /* of the last write, until another writer undid it; -1: none that can be compared with */
    char *reverted_how; /* the last time; NULL: never */

    bool by_update; /* since the last reading there was a runtime update */
    char *updated;  /* the server that was updated last, until a reading shows that it stuck; NULL: none */
    uint64_t updated_number;

    int64_t rejected_version; /* what was refused, was refused at this one; -1 */
    struct backoff reject_backoff;
    uint64_t updates_after_ms; /* a runtime update was refused, too: until then none is tried either */
    uint64_t apart_until_ms;   /* removals and all else are written apart, */
    enum write_part next_part; /* beginning with this */
    uint64_t write_after_ms;   /* nothing is written before, unless what is desired or the version changes */
};

/* One backend. */
struct servers_backend {
    struct servers *engine;
    struct instance_backend *at; /* what was read of it */
    const char *name;

    const struct desired *desired; /* by the names that its servers have here */
    bool named;                    /* by the nodes, and the same reading would name them so again */
    const struct desired *by_node; /* as Kubernetes gave it: the same, where these are the names of the nodes */
    char *adopted;                 /* under which names servers were found here, as logged last; NULL: none */
    bool have_desired;
    uint64_t number;          /* of what is desired */
    char *cause;              /* of it, until HAProxy has it; NULL: it had it, and something else moved since */
    uint64_t event_us;        /* arrival of the oldest event that no write has carried yet; 0: none */
    uint64_t latest_event_us; /* of the newest, which is what a command is for; 0: nothing is left of it to be done */

    bool remembered;               /* the states are by the last reading, if that was the last to differ */
    bool commanded;                /* since its gauges were set */
    struct admin_states states;    /* who set which state in the running HAProxy */
    struct route route;            /* which way the changes of plan go */
    uint64_t transaction_since_ms; /* it needs one; 0: it does not */
    uint64_t leaves_none_since_ms; /* its plan does; 0: it does not */
    struct parking *parking;       /* NULL: servers that are out are removed */
    char *overrides;               /* what operators have set, as logged last; NULL: nothing */

    struct plan plan;
    struct {
        bool stands;      /* plan and route: nothing is to be done, and what they were made of has not changed since */
        bool open;        /* then; as in route_input */
        uint64_t parking; /* then: its changes */
        uint64_t made;    /* so many plans, for tests */
    } planned;
    struct loss_limit loss_limit;
    struct revert_pause pause;
    bool took_over;        /* it was in sync once: what goes from now on goes for a reason that the log has */
    struct buf taken_over; /* those that the log named before that */

    enum write_part part; /* of its plan that is in the transaction */
    bool may_part, removals_may_go_first;
    bool chosen;                /* its plan is to go into the next transaction */
    struct route_update update; /* the one in hand */
    char *write_cause;          /* of what the write in hand is for; another may have come since */
    uint64_t write_event_us, write_number;
    struct last_write last;

    bool holding; /* it stays as it is on purpose */
    bool asked;   /* "in sync" is to be logged (after the start, SIGHUP) */
    struct log_limit skip_limit, no_endpoint_limit, not_written_limit;
    struct servers_report report;
};

struct servers {
    struct servers_options options;
    struct engine engine;
    struct engine_claim *claims;
    struct instance *instance;
    struct servers_backend *backends, *end;             /* options.backend_count */
    bool unread;                                        /* the last reading failed: gauges of what runs are gone */
    uint64_t decisions, commanded_at;                   /* so many; so many when the last command was answered */
    struct servers_backend *last_updated, *next_update; /* by a runtime update: each has its turn */
};

/* decide.c */
/* NULL: another engine's. */
struct servers_backend *servers_backend_of(const struct servers *e, const struct instance_backend *b);
/* Something that its plan depends on has changed: what is desired, there, running, or who set which state. */
void servers_replan(struct servers_backend *s);
void servers_commanded(struct servers_backend *s); /* a command was answered */
/* After a reading, or when the first desired state comes after one. */
void servers_remember(struct servers_backend *s);
/* When the transaction that it needs waits for nothing else any more; 0: it needs none. */
uint64_t servers_overdue_ms(const struct servers_backend *s);
void servers_decide(void *engine, struct engine_wants *ret_wants);
struct backend_decision_input servers_decision_input(struct servers_backend *s);
/* What the running HAProxy is to be commanded by that route, but for what is under way. */
void servers_command(struct servers_backend *s, const struct plan *p, const struct route *r);
/* What it needs now, and which way that goes. False: nothing, as before: the plan of s stands. ret: zeroed, or earlier ones. */
bool servers_choose(struct servers_backend *s, struct plan *ret_plan, struct route *ret);

/* other_writer.c */
void last_write_init(struct last_write *w, unsigned seed);
void last_write_fini(struct last_write *w);
/* It is in sync: what differs from now on is another writer's doing. */
void servers_stuck(struct servers_backend *s);
/* True: the API took a change and answers as if it had not. The same again would be a commit and a reload for nothing,
 * and is a problem. */
bool servers_judge_missing(struct servers_backend *s);
/* Counts that what was written for this desired state is gone, at another writer's version. False: it is not. */
bool servers_count_revert(struct servers_backend *s);
/* True: writes pause, because that was too often, or a pause is not over; which is a problem. */
bool servers_pause_writes(struct servers_backend *s);
bool servers_may_write(const struct servers_backend *s);
void servers_write_sooner(struct servers_backend *s, uint64_t when_ms); /* at the latest */
void servers_write_later(struct servers_backend *s);                    /* it was refused at this version */
bool servers_update_did_not_stick(const struct servers_backend *s);

/* write.c */
void servers_collect(void *engine);
bool servers_may_change(const void *engine, const char *kind, const char *name, const char *first, const char *second);
void servers_committed(void *engine, const struct written *t);
void servers_not_committed(void *engine);
void servers_rejected(void *engine, const char *what, const struct error *err);
void servers_reload_failed(void *engine, bool lost);
void servers_rewritten(void *engine, int64_t was, int64_t version);
void servers_update(void *engine);
void servers_updated(void *engine, const struct instance_backend *b, const struct updated *u, int64_t was);

/* runtime_commands.c */
/* What the running HAProxy is to be commanded by what is desired now, whatever else is under way. */
void servers_command_all(struct servers *e);
void servers_command_sent(void *engine, const struct instance_backend *b, const struct runtime_command *c);
void servers_command_done(void *engine, const struct instance_backend *b, const struct runtime_command *c, bool crossed,
                          uint64_t took_us, uint64_t event_us);
void servers_command_failed(void *engine, const struct instance_backend *b, const struct runtime_command *c,
                            bool unanswered, const struct error *err);

/* shutdown.c */
bool servers_last_update(void *engine, const struct instance_backend **ret_b, struct backend_server *ret);
void servers_last_updated(void *engine, const struct instance_backend *b, const struct updated *u);

/* report.c */
void servers_report_init(struct servers_report *r);
void servers_report_fini(struct servers_report *r);
const struct log *servers_log(const struct servers_backend *s);
struct metric_table *servers_metrics(const struct servers_backend *s);
const char *servers_url(const struct servers_backend *s);
const char *servers_target(const struct servers_backend *s); /* for the log: NULL where there is only one */
struct change_log_place servers_place(const struct servers_backend *s);
size_t servers_count_desired(const struct servers_backend *s, enum server_state state); /* one that is renamed is one */
/* One that each backend has. */
void servers_measure(const struct servers_backend *s, struct metric *gauge, double value);
/* When what is desired, or what is known to run, is another. */
void servers_measure_up(const struct servers_backend *s);
void servers_set_in_sync(struct servers_backend *s, bool in_sync);

struct servers_trace_write {
    const char *name;  /* of the span: a constant */
    const char *cause; /* NULL: none is known */
    const char *what;  /* NULL: nothing is said */
    const char *why;   /* it failed; NULL: it did not */
    uint64_t took_us, event_us;
};
void servers_trace_write(struct servers_backend *s, const struct servers_trace_write *w); /* it has ended */
void servers_trace_end(struct servers_backend *s, const char *result, const char *why);   /* NULL: it went well */
void servers_trace_refused(struct servers_backend *s, const struct error *err);

void servers_note(const struct servers_backend *s, struct history_entry e);
/* It was written to. what: for the entry that it is in sync; NULL: an empty commit. */
void servers_note_written(struct servers_backend *s, const char *what, uint64_t event_us);
/* Another backend or engine was written; s was in sync at the version before. */
void servers_note_passed_by(struct servers_backend *s, int64_t was, int64_t version);
void servers_note_in_sync(struct servers_backend *s);
void servers_note_delayed(struct servers_backend *s); /* or not, by its plan */
/* It was in sync, nothing else is desired, and the file has another version. */
bool servers_is_drift(const struct servers_backend *s);
void servers_note_drift(struct servers_backend *s); /* by its plan, which repairs it */
void servers_note_trouble(struct servers_backend *s, bool out_of_sync);
/* Keeps the problem for /readyz, logs it and puts it into the history, rate-limited. */
void servers_problem(struct servers_backend *s, const char *what, const struct error *err);
void servers_problem_over(struct servers_backend *s);
