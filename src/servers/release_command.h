/*
 * What `haproxy-k8s-sync release` does: gives the backends of one HAProxy up, as an engine in place of the servers engine.
 * The live servers stay as they are, the parked lines are removed, a drain at runtime ends; or, with `servers`, all the
 * lines that it manages are removed. It writes once what is to be done, and again where another writer was first; it keeps
 * nothing that way.
 *
 * A server in maintenance at runtime alone, with a line that is not, is an operator's, and stays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/backend.h"
#include "haproxy/engine.h"
#include "haproxy/runtime.h"
#include "servers/change/diff.h"

/* It owns all of it: it is printed when the next reading has taken the place of the one that it was made of. */
struct release_plan {
    struct backend_server *removed; /* in the order of the file, as the others */
    size_t removed_count;
    const char **undrained; /* names of servers that are live in the file and drain at runtime */
    size_t undrained_count;
    const char **by_operator; /* in maintenance at runtime alone */
    size_t by_operator_count;
    size_t kept;        /* managed lines that stay */
    size_t others;      /* lines that are not managed: they stay, too; those of another cluster among them */
    size_t others_live; /* of these, in rotation and no backup */
    char *refused;      /* why nothing may be written; NULL: nothing stands against it. Then there is nothing above */
};

void release_plan_make(const struct backend *actual, const struct runtime *runtime, const struct diff_rules *rules,
                       bool servers, struct release_plan *ret);
void release_plan_fini(struct release_plan *p);           /* a zeroed one is allowed; empty afterwards */
bool release_plan_is_empty(const struct release_plan *p); /* nothing is left to be done, and nothing is refused */

struct release;

struct release_options {
    const char *const *backends; /* names, each once; borrowed, as are the strings in rules */
    size_t backend_count;
    struct diff_rules rules; /* which lines are managed */
    bool servers;            /* all of them are removed */
    bool writes;             /* false: it only says what would be done */
};

enum release_state {
    RELEASE_UNKNOWN, /* not read yet */
    RELEASE_TO_DO,   /* its plan is to be carried out, or its reload has not ended */
    RELEASE_DONE,    /* nothing is left to be done */
    RELEASE_FAILED,  /* it cannot be: `why` */
};

/* One backend. Valid until the engine is called again. */
struct release_view {
    const char *backend;
    enum release_state state;
    const char *why;                 /* FAILED; else NULL */
    bool exists;                     /* in haproxy.cfg */
    const struct release_plan *plan; /* of the last reading */
    size_t removed, undrained;       /* what was done */
};

struct release *release_new(const struct release_options *options) must_check;
void release_free(struct release *r); /* after its instance; NULL is allowed */
const struct engine *release_engine(const struct release *r);
struct release_view release_view(const struct release *r, size_t backend);
