/*
 * The state of a target, shared by target.c (what to do next), target_look.c (what was read, and what a reload's end is
 * worth), target_decide.c (what each backend needs), target_write.c (a transaction, and what a failed write means),
 * target_guard.c (whether a write is harmless), target_fast.c (a write without a reload), target_tell.c (telling the running
 * HAProxy alone), target_handover.c (the last
 * writes before the end), target_reload.c (following a reload), target_report.c (log, /readyz, gauges) and target_journal.c
 * (the journal).
 */
#ifndef SERVERS_TARGET_INTERNAL_H
#define SERVERS_TARGET_INTERNAL_H

#include "base/backoff.h"
#include "base/buf.h"
#include "base/error.h"
#include "haproxy/dataplane/runtime_update.h"
#include "haproxy/dataplane/transaction.h"
#include "servers/change/route.h"
#include "servers/change/parking.h"
#include "net/digest.h"
#include "host/timer.h"
#include "servers/decision.h"
#include "report/history.h"
#include "haproxy/reader.h"
#include "servers/change/plan.h"
#include "haproxy/reload.h"
#include "servers/change/conflict.h"
#include "servers/target.h"

struct metric;

enum target_phase {
    TARGET_IDLE,
    TARGET_OBSERVING,
    TARGET_WRITING,      /* a transaction, or deleting dead ones at start */
    TARGET_FAST,         /* a write without a reload */
    TARGET_POLLING,      /* asking for the reload's state */
    TARGET_HANDING_OVER, /* the end: what only we know goes into the file */
};

/* Whether changes without a reload reach the running HAProxy. */
enum trust {
    TRUST_UNTRIED,
    TRUST_PROVEN,
    TRUST_DOUBTED,   /* one did not: transactions only, until the next reload */
    TRUST_DISPROVEN, /* another one did not: until trust_until_ms */
};

/* The states of servers that the running HAProxy is to be told, one after the other. */
struct call {
    struct slot *slot;
    char *name;
    enum runtime_admin state;
    const char *why;   /* constant */
    uint64_t event_us; /* of the event that brought it about; 0: none */
};

struct calls {
    struct call *list; /* the first one is under way where busy */
    size_t count;
    bool busy;
    uint64_t not_before_ms; /* after one that failed */
    unsigned failures;      /* in a row, each after a look that went well */
};

/* Whether a write would change the meaning of the file that it is in. */
struct guard {
    int64_t passed, refused; /* versions of the file: one that a write leaves as it is, one that it would not; -1 */
    int64_t unsure; /* the one that a write of ours, whose answer was lost, has probably made of one that passed; -1 */
    /* Digest of its text when read last, as an edit while the API is down moves no version; "": we wrote since. */
    char file[DIGEST_SHA256_TEXT_BYTES];
    bool blind;    /* the API does not show what it would write: the file is judged by its lines alone */
    char *problem; /* why nothing is written; NULL */
};

/* What the journal knows of a backend, so that it is told each thing once. */
struct story {
    bool news; /* it was written to, held or in trouble since it was in step last: to be so again is worth an entry */
    struct buf written; /* what was */
    unsigned more;      /* writes that did not fit in there */
    char *cause;        /* of the last of them; NULL: none that is known */
    uint64_t event_us;  /* arrival of the event that the first of them was for; 0: none */

    bool holds;  /* no usable endpoint, as was told */
    size_t held; /* by the brake, as was told */

    int64_t settled_version; /* it was in step at, whoever else wrote for us since; -1: not since we wrote to it */
    uint64_t settled_wish_number;
    char *drift; /* what is written because of somebody else, until it is mended; NULL: nothing */

    struct log_limit trouble_limit;
};

/* One backend. */
struct slot {
    struct target *target;
    const char *name;

    const struct desired *by_node; /* as Kubernetes gave it; shared */
    const struct desired *wish;    /* by the names that its servers have here: the same one, or one of its own */
    char *adopted;                 /* under which names servers were found here, as logged last; NULL: none */
    bool have_wish;
    uint64_t wish_number;
    char *cause;              /* of the wish, until HAProxy has it; NULL: it had it, and something else moved since */
    uint64_t event_us;        /* arrival of the oldest event that no write has carried yet; 0: none */
    uint64_t latest_event_us; /* of the newest, which is what a call is for; 0: nothing is left of it to be done */

    struct backend actual;   /* as the API said last */
    struct error unreadable; /* of actual; kind NONE: it can be believed */
    bool looked;             /* actual was read at least once */

    struct runtime runtime;        /* what HAProxy runs, as the API said last */
    bool was_readable;             /* at the last look */
    bool told_unreadable;          /* that it cannot be read was logged */
    struct admin_states memory;    /* who set which state in it */
    struct route choice;           /* which way the changes of plan go */
    uint64_t transaction_since_ms; /* it needs one; 0: it does not */
    struct parking *parking;       /* NULL: servers that are out are removed */
    char *overrides;               /* what operators have set, as logged last; NULL: nothing */

    struct plan plan;
    struct loss_limit loss_limit;
    struct conflict conflict;
    char *undone_how;      /* the last time; NULL: never */
    bool took_over;        /* it was in step once: what goes from now on goes for a reason that the log has */
    struct buf taken_over; /* those that the log named before that */

    bool wrote_fast; /* since the last look */
    char *
        fast_name; /* the server that was written last without a reload, until a look shows that it stuck; NULL: none */
    uint64_t fast_wish_number;
    bool harmless; /* a transaction with its changes was committed since somebody else wrote: the next need no look */
    bool writing;  /* the transaction in hand carries its plan */
    char *write_cause; /* of the wish that the transaction in hand is for; another may have come since */
    uint64_t write_event_us, write_wish_number;
    int64_t committed_version; /* of our last commit, until it was seen to stick; -1 */
    uint64_t committed_wish_number;
    size_t committed_held_back; /* by the brake, from that commit */
    bool committed_told;        /* who drains was not in it, since HAProxy was told */
    int64_t ours_version;       /* of our last commit, until somebody undid it; -1: none that can be compared with */

    struct backoff reject_backoff; /* the API or HAProxy refuses what we want */
    uint64_t write_wait_until_ms;  /* it is not written before, unless the wish or the version changes */
    int64_t rejected_version;

    bool in_step, holding;
    bool asked;           /* somebody waits for an answer (our start, SIGHUP): "in step" is worth a line */
    struct error problem; /* kind NONE: none; for /readyz */
    struct log_limit problem_limit, skip_limit, hold_limit, withheld_limit;
    struct story story;
};

struct target {
    struct target_options options;
    struct timer timer; /* the next thing to do by itself */
    struct timer resync;
    enum target_phase phase;
    struct slot *slots; /* options.backend_count */

    bool seen;             /* `actual` is what the API said last, and nothing since made that doubtful */
    bool away;             /* the last look failed: what was read before says nothing of now */
    int64_t version;       /* that all of `actual` was read at */
    int64_t split_version; /* the version at which the file lagged behind the API when last looked at; -1: it did not */
    struct reader reader;
    int64_t wall_minus_mono_ms; /* constant, so that a moment to come is told the same each time */

    struct transaction transaction;
    uint64_t write_started_us;
    bool one_by_one;        /* several backends in one transaction were refused: which of them is it? */
    bool last_reload_known; /* how the last reload before our start ended */
    bool last_reload_again; /* it is asked for since then to see whether somebody mended what we left dirty */
    unsigned last_reload_polls, last_reload_failures;
    uint64_t last_reload_next_ms;
    bool dead_deleted;  /* what earlier runs left behind was looked for */
    unsigned conflicts; /* in a row */

    struct runtime_update runtime_update; /* the write without a reload in hand, for fast_slot */
    struct timer read_again;
    struct transaction_action reading; /* what it sends */
    struct slot *fast_slot;            /* never NULL: the one that such a write was made for last */
    struct route_update fast;
    bool unverified; /* there were such since the last look: what the file has is still to be read back */
    struct calls calls;
    enum trust trust;
    unsigned doubts; /* since it was proven */
    uint64_t trust_until_ms;
    uint64_t structural_not_before_ms; /* of transactions: the first at once, later ones gather changes */
    bool
        no_room; /* the API had none for one more: until structural_not_before_ms what needs none goes on, and none is begun */
    struct backoff room_backoff;

    int64_t worker_pid, worker_uptime_s; /* of the HAProxy that answered last; -1: not known */
    bool worker_known;
    bool lost;                 /* the API says that it gets no answer from it */
    enum worker_change worker; /* since the memories looked last */
    unsigned unreadable_looks; /* in a row, of a running HAProxy that could be read before */
    int64_t drift_version;     /* at which it ran something else than the file when last looked at; -1: it did not */
    uint64_t drift_since_ms;   /* that it did so, at that version */
    char *drift;               /* what */
    char *drift_found;         /* the one that is to be repaired; NULL: none */
    bool drift_answered;       /* by a commit of ours */
    struct backoff drift_backoff;

    struct reload reload;
    struct {
        bool waits; /* for a look, to be believed */
        bool done;  /* the API says so; else it does not know how it ended */
        char *id;
        uint64_t took_us;
        struct error error;
        int64_t pid_before, uptime_before; /* of the worker when it was asked for; -1 */
    } ended;
    unsigned unconfirmed; /* reloads in a row that the API called done, and HAProxy's process stayed the same */

    struct guard guard;

    bool dirty;      /* HAProxy may run something else than the file says */
    bool left_dirty; /* and we may do nothing about it: a dry run, a pause, a refusal */

    struct backoff backoff; /* the API cannot be reached or is busy */
    struct backoff reload_backoff;
    uint64_t wait_until_ms;       /* nothing is sent before */
    uint64_t write_wait_until_ms; /* nothing is written before, unless a wish changes */
    uint64_t look_again_ms;       /* what could not be understood is read again then; 0: no need */
    bool renewed;                 /* other credentials were tried at once, and nothing came of it yet */

    bool write_failing;   /* a look that succeeds in between must not make the pauses between writes short again */
    struct error problem; /* of all backends together; kind NONE: none; for /readyz */
    struct log_limit problem_limit, trouble_limit; /* in the log; in the journal */

    bool stopping, looked_at_end, previewed_at_end, handed_over;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

#define TARGET_REFUSED                                                                                          \
    "the Data Plane API refused the credentials; HAPROXY_DATAPLANE_USERNAME and _PASSWORD, or its line in the " \
    "credentials file, must be in the userlist that it uses (a token: what a proxy in front of it wants)"

/* target.c */

/* Decides what to do next; call it after anything changed. */
void target_step(struct target *t);

/* The API refused the credentials. True where there are others, to be tried at once; but only once in a row, so that a file
 * that never rests does not set the pace. */
bool target_renew_credentials(struct target *t);

/* Nothing is sent for a while. harmless: what failed has written nothing for sure, so that trying again costs HAProxy nothing,
 * and what is mended is soon noticed. */
void target_pause(struct target *t, bool harmless, int64_t at_least_ms);

/* However much one is wanted, no transaction can be begun for now. */
bool target_waits_for_room(const struct target *t);

/* Unless it waits for longer already. */
void target_write_not_before(struct target *t, uint64_t when_ms);
void slot_write_not_before(struct slot *s, uint64_t when_ms);

/* target_look.c */

/* After a look, or at the first wish after one. */
void slot_remember(struct slot *s);
/* The names in its wish anew, by what was read; before: the last names, s->wish or what was there instead of it. */
void slot_name_servers(struct slot *s, const struct desired *before);
/* The running HAProxy is read, and has what its file says. */
bool target_is_confirmed(const struct target *t);
/* What runs and is not what the file says, in the backends that can be read; NULL: nothing. Allocates. */
char *target_running_problem(const struct target *t) must_check;
void target_look(struct target *t);
void target_observed(void *arg, struct reading *found, const struct error *err);

/* target_tell.c */

/* What the running HAProxy is to be told by the choice of s, but for what is under way. */
void slot_tell(struct slot *s);
/* The same for what the wishes now are, whatever else is under way. */
void target_tell(struct target *t);
bool slot_is_told(const struct slot *s); /* nothing of it is under way */
void target_forget_calls(struct target *t);

/* target_fast.c */

/* The first write of the choice of s. */
void target_write_fast(struct slot *s);
void target_read_again(void *target); /* of its timer */
/* The running HAProxy is read, and followed so far. */
bool slot_is_open(const struct slot *s);
/* A change did not reach it. */
void target_doubt(struct target *t, const struct error *why);
void target_set_trust(struct target *t, enum trust trust);

/* target_guard.c */

void target_guard_look(struct target *t);   /* after a look */
void target_guard_forget(struct target *t); /* what was found counts no more */
bool target_guard_passed(const struct target *t);
bool target_guard_lets_write(const struct target *t);
/* We wrote what is that version now, the one after t->version. */
void target_guard_wrote(struct target *t, int64_t version);
/* An empty transaction is to be begun, looked at and deleted (target_write.c), before anything is written. */
bool target_guard_wants(const struct target *t);
/* A transaction is to be looked at before its commit: the first one of a backend since somebody else wrote. */
bool target_guard_looks_first(const struct target *t);
void target_guard_committed(struct target *t);
char *target_guard_judge(struct target *t, const struct dataplane_answer *a) must_check;
void target_guard_previewed(struct target *t);

/* target_handover.c */

/* When stopping, and idle. True while a write is under way: target_step goes on with it. */
bool target_hand_over(struct target *t);
void target_give_up_end_look(struct target *t);

/* target_decide.c */

/* The rules of s as they are now. runtime: without a reload where that is possible. */
struct plan_rules slot_rules(const struct slot *s, bool runtime);
/* Which way the changes of a plan of s go. */
void slot_choose(struct slot *s, const struct plan *p, struct route *ret);

/* Each backend that has a wish, and then one transaction for all that are to be written. */
void target_decide(struct target *t);

/* target_journal.c */

#define REPEAT_TROUBLE_MS 1800000 /* of 50 entries one trouble takes 2 an hour; an Event of Kubernetes lives for one */

void story_init(struct story *st);
void story_fini(struct story *st);
struct decision_place target_place(const struct target *t); /* of all backends, or of the only one */
struct decision_place slot_place(const struct slot *s);

/* An entry on this backend. */
void slot_note(const struct slot *s, struct history_entry e);
/* Of all backends, at each call. */
void target_note_trouble(struct target *t, enum history_kind kind, const char *what, const char *why);
/* Of all backends, or of one: while it goes on, now and then. After `problem` was set. */
void target_note_problem(struct target *t, enum history_kind kind, const char *what, const char *why);
void slot_note_problem(struct slot *s, const char *what, const char *why);

/* It was written to. what: for the entry that it is in step; NULL: an empty commit. */
void slot_note_written(struct slot *s, const char *what, uint64_t event_us);
/* Another backend was, and s has seen its last version. */
void slot_note_passed_by(struct slot *s, int64_t version);
void slot_note_in_step(struct slot *s);
void slot_note_held(struct slot *s); /* or not, by its plan */

/* It was in step, nothing else is wanted, and the file has another version. */
bool slot_is_drift(const struct slot *s);
void slot_note_drift(struct slot *s); /* by its plan, which mends it */
/* What HAProxy runs is not what its file says; or it is, after that. */
void target_note_drift(struct target *t, const char *what);
void target_note_drift_over(struct target *t);

/* target_report.c */

/* For the log: NULL where there is only one. */
const char *slot_target(const struct slot *s);

/* Keeps the problem for /readyz, logs it and puts it into the journal, rate-limited: that of all backends, or of one. */
void target_problem(struct target *t, const char *what, const struct error *err);
void target_reload_problem(struct target *t, const char *what, const struct error *err); /* a reload that failed */
void slot_problem(struct slot *s, const char *what, const struct error *err);
void target_problem_over(struct target *t);
void slot_problem_over(struct slot *s);
void slot_set_in_step(struct slot *s, bool in_step);
size_t slot_count_desired(const struct slot *s, enum server_state state);    /* one that is renamed is one */
void slot_measure(const struct slot *s, struct metric *gauge, double value); /* one that each backend has */
void slot_measure_up(const struct slot *s); /* when what is wanted, or what is known to run, is another */
void target_count_reconcile(struct target *t, const char *result);

/* target_reload.c */

void target_follow_reload(struct target *t, const char *id);
void target_poll_reload(struct target *t); /* t->reload, which is pending */
/* backoff: of the next attempt. */
void target_reload_failed(struct target *t, const struct error *err, struct backoff *backoff);
void target_count_reload(struct target *t, const char *result);
void target_ask_history(struct target *t); /* until last_reload_known */
/* Whether somebody else mended what we left dirty; the step does it. */
void target_ask_history_again(struct target *t);

/* target_write.c */

/* What to do after a write that came to nothing. count: backends that it was for. */
struct write_failure {
    enum transaction_result result;
    const struct error *error;
    int64_t retry_after_ms;
    bool gone_at_commit;
};
void target_write_failed(struct target *t, const struct write_failure *f);
void slot_rejected(struct slot *s, const char *what, const struct error *err);
/* Another one's refusal is not cured by what was written to another backend. */
void slot_passed_by(struct slot *s, int64_t version);

/* The plans of the slots that are `writing`, in one transaction; none of them: an empty commit. */
void target_write(struct target *t);
void target_delete_dead(struct target *t);
void target_preview(struct target *t);

#endif
