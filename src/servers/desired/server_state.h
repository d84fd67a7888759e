/*
 * The states of the servers of one backend, one machine for each: live -> draining -> out, over time that is handed in.
 *
 *   sign \ state    live or unknown        draining                          out
 *   USABLE, ENDING  live                   live                              live
 *   LEAVING         draining, clock starts draining until the clock ends,    out
 *                                          then out
 *   EXCLUDED        out (announced)        out (announced)                   out
 *   gone (not seen) out                    out (announced)                   forgotten after STATES_REMEMBER_MS
 *
 * What is out comes back only where it is to be used. For ENDING too: it is said only where no endpoint is ready
 * anywhere (desired), and then a server that serves until its end is better than none, though it may go down soon after
 * HAProxy took it up again.
 *
 * A pass sees each server once; what it does not see is gone. What was seen ENDING or LEAVING before it went, or was
 * excluded, was announced: the loss limit does not count it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum server_state { SERVER_LIVE, SERVER_DRAINING, SERVER_OUT };

enum server_sign {
    SIGN_USABLE,   /* it is to be used */
    SIGN_ENDING,   /* the same, though only something terminating is left: its end is announced */
    SIGN_LEAVING,  /* nothing ready, something serving and terminating, and others can do the work */
    SIGN_EXCLUDED, /* announced to get no traffic: its node's label, taint or deletion, or all terminate */
    SIGN_GONE,     /* nothing usable, nothing announced: not ready, node not known, no address */
};

/* How long a server that is out is remembered. */
#define STATES_REMEMBER_MS 600000

struct server_states;

struct server_step {
    enum server_state state;
    bool announced;    /* with OUT */
    uint64_t until_ms; /* with DRAINING: when it will be out by itself */
};

struct server_states *server_states_new(void) must_check;
void server_states_free(struct server_states *s); /* NULL is allowed */

/* Begins a pass. drain_timeout_ms 0: LEAVING is out at once (announced). */
void server_states_begin(struct server_states *s, uint64_t now_ms, uint64_t drain_timeout_ms);
/* Goes on with the last pass instead, at another time, for who knows what it saw: all that was seen in it counts as seen,
 * as it is. What is not simply live must be seen again. */
void server_states_resume(struct server_states *s, uint64_t now_ms, uint64_t drain_timeout_ms);
/* In this pass it is not there any more; NULL is allowed. */
void server_states_unsee(struct server_states *s, const char *name);
/* A name that is not remembered and GONE is OUT, unannounced, and not remembered for it. */
struct server_step server_states_see(struct server_states *s, const char *name, enum server_sign sign);
/* Calls `gone` (may be NULL) for each that is remembered and was not seen in this pass, ordered by name; gone must not
 * change the states. */
void server_states_end(struct server_states *s, void (*gone)(void *arg, const char *name, bool announced), void *arg);

/* After the end: the going of that one was announced after all (its node is excluded). */
void server_states_announce(struct server_states *s, const char *name);

/* What is remembered of a server that is not simply live; for tests. */
struct server_memory {
    const char *name;
    enum server_state state; /* DRAINING or OUT */
    bool announced;          /* with OUT */
    uint64_t until_ms;       /* with DRAINING */
};
/* So many; *ret: a list for free(), with names borrowed until the next pass. */
size_t server_states_memory(const struct server_states *s, struct server_memory **ret);

/* When a pass is due by itself because a clock ends; 0: never. */
uint64_t server_states_due_ms(const struct server_states *s);

const char *server_state_name(enum server_state state); /* "live", "draining", "out" */
