/*
 * Who set which admin state in the running HAProxy: the daemon or an operator. A drain or maint at runtime that the daemon
 * did not set is an operator's: it is left alone, remembered, and set again where a reload forgot it, until the operator
 * ends it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/backend.h"
#include "haproxy/runtime.h"
#include "servers/change/diff.h"
#include "servers/desired/desired.h"

struct admin_state {
    char *name;
    enum runtime_admin theirs; /* an operator has set it; READY: nothing */
    enum runtime_admin ours;   /* the daemon has set it; READY: nothing */
    bool parked;               /* theirs: the line is in maintenance now, and forgets it when it comes back */
    bool lost;                 /* theirs: HAProxy forgot it, and it was not ended; it is to be set again */
    bool in_file; /* the line was in maintenance: where it is not any more, and HAProxy is, that is no operator's */
    bool unseen;  /* a command has set the state `commanded`, and no reading has shown it yet */
    enum runtime_admin commanded;
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
    bool known;                /* at least once, with a desired state to compare with */
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
/* A command has set some state. */
bool admin_states_holds(const struct admin_states *m);
/* A reload is on its way that ends all of those, and no reading will show it. */
void admin_states_reloads(struct admin_states *m);
const struct admin_state *admin_states_find(const struct admin_states *m, const char *name); /* NULL: nothing was set */
/* As admin_states_find, with those that only say what the rows do not show yet. */
const struct admin_state *admin_states_any(const struct admin_states *m, const char *name);

/* The state of the server as far as is known: the row may be older than the last command. mark: NULL allowed. */
enum runtime_admin admin_state_now(const struct admin_state *mark, const struct runtime_server *row);
/* "n1 is in drain, n2 in maint": what operators have set and HAProxy shows, with at most ten of them; NULL: nothing. Of
 * lines in maintenance it is only remembered. Allocates. */
char *admin_states_overrides(const struct admin_states *m, size_t *ret_count) must_check;
