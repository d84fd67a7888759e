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
#ifndef MODEL_LANE_H
#define MODEL_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/backend.h"
#include "model/desired.h"
#include "model/diff.h"
#include "model/runtime.h"

/* More writes than these (each runs `haproxy -c`) are slower than the one reload of a transaction. */
#define LANE_WRITES_MAX 64

/* ---- who set which runtime state ---- */

struct lane_mark {
    char *name;
    enum runtime_admin state; /* DRAIN or MAINT */
    bool ours;                /* otherwise an operator's */
    bool asked;               /* ours: the call was made, and no look has shown it yet */
};

struct lane_memory {
    struct lane_mark *marks; /* ordered by name */
    size_t count;
    bool looked; /* at least once */
};

void lane_memory_fini(struct lane_memory *m); /* a zeroed one is allowed */
/* After each reading of file and runtime. other_worker: HAProxy was reloaded or restarted since the last look, so that states
 * are gone without anybody's wish; what an operator had set stays remembered then, else it counts as taken back. At the
 * first look, a drain that fits the wish (it drains, or is out) counts as ours. */
void lane_memory_look(struct lane_memory *m, const struct backend *actual, const struct runtime *r,
                      const struct desired *wish, const struct diff_rules *rules, bool other_worker);
/* A call of ours was answered with success. READY forgets the mark. */
void lane_memory_called(struct lane_memory *m, const char *name, enum runtime_admin state);
/* A write or a transaction has put the line into maintenance, or out of it, by a fast write: file and runtime say the same. */
void lane_memory_written(struct lane_memory *m, const char *name);
const struct lane_mark *lane_memory_find(const struct lane_memory *m, const char *name); /* NULL: none */
/* "n1 is in drain, n2 in maint": what operators have set; NULL: nothing. Allocates. */
char *lane_memory_overrides(const struct lane_memory *m, size_t *ret_count) must_check;

/* ---- the choice ---- */

struct lane_input {
    const struct backend *actual;
    const struct runtime *runtime; /* read with it */
    const struct desired *wish;
    const struct diff *diff; /* of those, with rules.runtime where `open` */
    const struct diff_rules *rules;
    const struct lane_memory *memory;
    bool open;      /* the running HAProxy is known, or not known not, to follow; false: transactions only */
    bool may_write; /* something of diff is to be written now (not held, withheld, refused) */
};

struct lane_call {
    const char *name; /* borrowed from actual */
    enum runtime_admin state;
    const char *
        why; /* constant: "it drains", "it leaves", "it is wanted again", "an operator's state, lost by a reload", ... */
};

struct lane_write {
    size_t change;         /* index into diff->changes */
    bool keep_maintenance; /* first address and port alone: a server must not come back at its old address */
};

struct lane_choice {
    struct lane_call *calls;
    size_t call_count;
    struct lane_write *writes; /* first what comes back and what moves, then what leaves */
    size_t write_count;
    bool transaction; /* something is left that needs one */
    char *why;        /* with transaction: "server n4 is new"; NULL: none */
};

/* Not open, or the runtime is not readable: no calls, no writes. Calls are made for what is in diff, or for what no
 * diff shows: drains, and parked servers that run; never for servers that are not ours, nor for names that the backend has
 * twice. */
void lane_choose(const struct lane_input *in, struct lane_choice *ret);
void lane_choice_fini(struct lane_choice *c);

#endif
