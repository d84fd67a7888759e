/*
 * The engine that gives the backends of one HAProxy up (servers/change/release_plan.h), in place of the servers engine.
 * It writes once what is to be done, and again where another writer was first; it keeps nothing that way.
 */
#ifndef SERVERS_RELEASE_H
#define SERVERS_RELEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/engine.h"
#include "servers/change/release_plan.h"

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

#endif
