/*
 * Which way each change goes. Pure.
 *
 *   call   the running HAProxy alone is told (PUT runtime server: 1-2 ms, lost at the next reload): a server that drains,
 *          one that leaves, one that is back from a drain of ours, a state that a reload forgot
 *   write  file and running HAProxy in one request without a reload (PUT server?version=): address, port, weight,
 *          maintenance
 *   transaction   all else, with a reload
 *
 * A runtime drain or maint that is not ours is an operator's: it is left alone, remembered, and set again where a reload
 * forgot it, until the operator takes it back.
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
    enum runtime_admin ours;   /* a call of ours has set it; READY: nothing */
    bool parked;               /* theirs: the line is in maintenance now, and forgets it when it comes back */
    bool lost;                 /* theirs: HAProxy forgot it without anybody's wish; it is to be set again */
    bool in_file; /* the line was in maintenance: where it is not any more, and HAProxy is, that is no operator's */
    bool asked;   /* a call has set the state `told`, and no look has shown it yet */
    enum runtime_admin told;
    bool crossed;            /* asked, while a look was under way */
    enum runtime_admin late; /* a call got no answer: the API may carry it out yet, and that is ours ... */
    unsigned late_periods;   /* ... for so many more of admin_states_age */
};

/* Which HAProxy answers, against the last look; of several changes the last of these counts. */

struct admin_states {
    struct admin_state *marks; /* ordered by name */
    size_t count;
    bool looked;               /* at least once, with a wish to compare with */
    enum worker_change worker; /* since the last look that could see anything */
};

void admin_states_fini(struct admin_states *m); /* a zeroed one is allowed */
/* After each reading of file and runtime; the same reading may be looked at again when the first wish comes. worker:
 * with another one than at the last look states are gone without anybody's wish; what an operator had set stays remembered
 * then, and while the line is in maintenance; else it counts as taken back. At the first look
 * with a wish of state OK, a drain that fits the wish (it drains, or is out) counts as ours; any drain does where no server
 * of ours is ready though one is wanted live, since an earlier run may have died with it, and nothing would serve.
 *
 * A reading may be older than a call that was answered while it was under way: the first look after a call that does not
 * show it settles nothing, the one after it does. Nothing changes where the runtime is not readable. */
void admin_states_look(struct admin_states *m, const struct backend *actual, const struct runtime *r,
                       const struct desired *desired, const struct diff_rules *rules, enum worker_change worker);
/* A call of ours is on its way: what it sets may be seen before its answer, or though that gets lost, and is ours. Nothing is
 * believed to be so yet, nor forgotten. */
void admin_states_calls(struct admin_states *m, const char *name, enum runtime_admin state);
/* It got no answer: what it sets may be seen for a while though another look came first. */
void admin_states_unanswered(struct admin_states *m, const char *name, enum runtime_admin state);
/* Once in RESYNC_PERIOD: an API that hangs is not waited for without end, as who sets that state later is an operator. */
void admin_states_age(struct admin_states *m);
/* A call of ours was answered with success. Of a state that is an operator's, it stays that. READY forgets both. */
void admin_states_called(struct admin_states *m, const char *name, enum runtime_admin state);
/* It was answered while a look is under way, which may have read what was before. */
void admin_states_crossed(struct admin_states *m, const char *name);
/* With what such a look has read: those are what they were told, unless another process answers, which never was. True: something
 * else was read, so that the next look is due. */
bool admin_states_correct(struct admin_states *m, struct runtime *r, bool other_worker) must_check;
/* A fast write has put the line into maintenance, or out of it, or changed what else it says: file and running HAProxy say
 * the same. The caller's row of it is to say so, too. */
void admin_states_written(struct admin_states *m, const char *name);
/* A call of ours has set some state. */
bool admin_states_holds(const struct admin_states *m);
/* A reload is on its way that takes all those along, and no look will show it. */
void admin_states_reloads(struct admin_states *m);
const struct admin_state *admin_states_find(const struct admin_states *m,
                                            const char *name); /* NULL: nobody set anything */
/* "n1 is in drain, n2 in maint": what operators have set and is to be seen in HAProxy, with at most ten of them; NULL:
 * nothing. Of lines in maintenance it is only remembered. Allocates. */
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
    const char *being_written; /* by a write under way; nothing is told of it either */
    const char *being_stopped; /* told to drain or maint by a call under way */
    bool open;                 /* the running HAProxy is known, or not known not, to follow; false: transactions only */
    bool
        may_write; /* it may be written to and told things now (no pause, dry run, hold, refusal), whether or not diff has
                     * anything */
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

/* Not open, or the runtime is not readable: no calls, no writes. Not may_write: nothing at all. Calls are made for what is in
 * diff, or for what no diff shows: drains, states that were forgotten, and parked servers that run; never for servers that
 * are not ours, nor for names that the backend has twice or the running HAProxy does not have.
 *
 * What takes a server away waits while HAProxy would be left without any that is ready (backup servers do not count): a call
 * for a write or a transaction to bring one, or for its reload; a write for the transaction, which swaps them in one reload,
 * or for the reload of the one before. Where nothing is to bring one, the write goes. Nothing chosen, and no transaction either,
 * though diff has something: that waits for a reload. */
void route_choose(const struct route_input *in, struct route *ret);
void route_fini(struct route *c); /* a zeroed one is allowed */

#endif
