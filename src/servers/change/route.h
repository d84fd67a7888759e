/*
 * Which way each change goes. Pure.
 *
 *   runtime command  the running HAProxy only (PUT runtime server: 1-2 ms, lost at the next reload): a server that
 *   drains,
 *                    one that leaves, one that is back from a drain, a state that a reload forgot
 *   runtime update   file and running HAProxy in one request without a reload (PUT server?version=): address, port,
 *                    weight, maintenance
 *   transaction      all else, with a reload
 *
 * A drain or maint at runtime that the daemon did not set is an operator's: it is left alone, remembered, and set again
 * where a reload forgot it, until the operator ends it.
 */
#ifndef SERVERS_CHANGE_ROUTE_H
#define SERVERS_CHANGE_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/backend.h"
#include "servers/desired/desired.h"
#include "servers/change/diff.h"
#include "haproxy/runtime.h"

/* More writes than these (each runs `haproxy -c`) are slower than the one reload of a transaction. */
#define ROUTE_UPDATES_MAX 64

/* ---- who set which runtime state ---- */

struct admin_state {
    char *name;
    enum runtime_admin theirs; /* an operator has set it; READY: nothing */
    enum runtime_admin ours;   /* the daemon has set it; READY: nothing */
    bool parked;               /* theirs: the line is in maintenance now, and forgets it when it comes back */
    bool lost;                 /* theirs: HAProxy forgot it, and it was not ended; it is to be set again */
    bool in_file; /* the line was in maintenance: where it is not any more, and HAProxy is, that is no operator's */
    bool asked;   /* a command has set the state `told`, and no reading has shown it yet */
    enum runtime_admin told;
    bool unheeded, sent_again; /* it was ready, as HAProxy said, and the reading showed otherwise; and a second time */
    bool crossed;              /* asked, while a reading was under way */
    bool corrected;            /* ... to be ready, which the reading did not show */
    enum runtime_admin late;   /* a command got no answer: the API may still carry it out ... */
    unsigned late_periods;     /* ... for so many more of admin_states_age */
    bool unanswered;           /* ... and there was no reading since */
};

struct admin_states {
    struct admin_state *marks; /* ordered by name */
    size_t count;
    bool looked;               /* at least once, with a desired state to compare with */
    enum worker_change worker; /* since the last reading of what runs */
};

void admin_states_fini(struct admin_states *m); /* a zeroed one is allowed */
/* After each reading of file and runtime, and again with the same reading when the first desired state comes. worker:
 * with another one than at the last reading, states are gone though they were not ended; an operator's is remembered
 * then, and while the line is in maintenance; else it counts as ended. At the first call with a desired state of state
 * OK, a drain that fits it (the server drains, or is out) counts as the daemon's; so does any drain where no managed
 * server is ready though one is desired live, because an earlier run may have died with it, and nothing would serve.
 * 
 * A reading may be older than a command that was answered meanwhile: the first reading after a command that does not
 * show it settles nothing, the one after it does. Nothing changes where the runtime is not readable. */
void admin_states_refresh(struct admin_states *m, const struct backend *actual, const struct runtime *r,
                          const struct desired *desired, const struct diff_rules *rules, enum worker_change worker);
/* A command is on its way: what it sets may be read before its answer, or though that gets lost, and is the daemon's.
 * Nothing counts as set yet, nor is forgotten. */
void admin_states_calls(struct admin_states *m, const char *name, enum runtime_admin state);
/* It got no answer: what it sets may be read for a while though another reading came first. */
void admin_states_unanswered(struct admin_states *m, const char *name, enum runtime_admin state);
/* Once in RESYNC_PERIOD: an unanswered command does not count for ever; the state is an operator's if it is set
 * later. */
void admin_states_age(struct admin_states *m);
/* A command succeeded. A state that is an operator's stays so. READY forgets both. */
void admin_states_called(struct admin_states *m, const char *name, enum runtime_admin state);
/* It was answered while a reading is under way, which may show what was before. */
void admin_states_crossed(struct admin_states *m, const char *name);
/* Corrects such a reading: the servers are in the states that were set, unless another process answers, which never got
 * the commands. True: something else was read, so that the next reading is due. */
bool admin_states_correct(struct admin_states *m, struct runtime *r, bool other_worker) must_check;
/* A runtime update has changed the line, also in or out of maintenance, in which it is or is not now: file and running
 * HAProxy have the same, as the caller's row should. */
void admin_states_written(struct admin_states *m, const char *name, bool maintenance);
/* What was known before; each name once. */
void admin_states_recall(struct admin_states *m, const char *name, enum runtime_admin theirs, enum runtime_admin ours,
                         bool lost);
/* A command has set some state. */
bool admin_states_holds(const struct admin_states *m);
/* A reload is on its way that ends all of those, and no reading will show it. */
void admin_states_reloads(struct admin_states *m);
const struct admin_state *admin_states_find(const struct admin_states *m, const char *name); /* NULL: nothing was set */
/* "n1 is in drain, n2 in maint": what operators have set and HAProxy shows, with at most ten of them; NULL: nothing. Of
 * lines in maintenance it is only remembered. Allocates. */
char *admin_states_overrides(const struct admin_states *m, size_t *ret_count) must_check;

/* ---- the choice ---- */

struct route_input {
    const struct backend *actual;
    const struct runtime *runtime; /* read with it */
    const struct desired *desired;
    const struct diff *diff; /* of those, with rules.runtime where `open` and the runtime is readable */
    const struct diff_rules *rules;
    const struct admin_states *memory;
    /* Servers that are not counted on, each NULL where there is none. */
    const char *being_written; /* by an update under way; it gets no command either */
    const char *being_stopped; /* by a command under way, with drain or maint */
    bool open;                 /* runtime updates are verified or untested; false: transactions only */
    bool sets_check_port;      /* a runtime update does, as the Data Plane API has it */
    bool held_up;              /* the file cannot be written to for now, by no fault of this backend */
    bool may_write;            /* no pause, dry run, refusal and the like, whether or not diff has anything */
};

struct route_update {
    size_t change;         /* index into diff->changes */
    bool keep_maintenance; /* first address and port alone: a server must not come back at its old address */
};

struct route {
    struct runtime_command *commands; /* first those that bring servers back; each name once */
    size_t command_count;
    struct route_update
        *updates; /* first what comes back and what moves, then weights and the like, then what leaves */
    size_t update_count;
    bool transaction; /* something is left that needs one; the writes are made all the same, they take effect sooner */
    char *why;        /* with transaction: "server n4 is new"; NULL: none */
};

/* Not open, or the runtime is not readable: no commands, no updates. Not may_write: nothing at all. Commands are for
 * what is in diff, or for what no diff shows: drains, states that were forgotten, and parked servers that run; never
 * for unmanaged servers, nor for names that the backend has twice or the running HAProxy does not have.
 * 
 * What takes a server out waits while no other would be ready (backup servers do not count): a command for an update or
 * a transaction that brings one, or for its reload; an update for the transaction, which swaps them in one reload, or
 * for the reload of the one before. Where nothing is to bring one, the update goes. Nothing chosen, and no transaction
 * either, though diff has something: that waits for a reload. */
void route_choose(const struct route_input *in, struct route *ret);
void route_fini(struct route *c); /* a zeroed one is allowed */

#endif
