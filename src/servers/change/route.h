/*
 * Which way each change goes. Pure.
 *
 *   runtime command  the running HAProxy only (PUT runtime server: 1-2 ms, lost at the next reload): a server that
 *   drains,
 *                    one that leaves, one that is back from a drain, a state that a reload forgot
 *   runtime update   file and running HAProxy in one request without a reload (PUT server?version=): address, port,
 *                    weight, maintenance
 *   transaction      all else, with a reload
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "servers/change/admin_states.h"

/* More writes than these (each runs `haproxy -c`) are slower than the one reload of a transaction. */
#define ROUTE_UPDATES_MAX 64

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
