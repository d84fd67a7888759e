/* What became of a document, as it happens: for /status, the history, Kubernetes Events and metrics. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct document;

enum configuration_event_kind {
    CONFIGURATION_CHANGED, /* the source has another document; of no target */
    CONFIGURATION_REFUSED, /* the source has what cannot be used (`error`): nothing was sent; no document, no target */
    CONFIGURATION_RECOVERED,     /* what the source has can be used again: it is the document; of no target */
    CONFIGURATION_VALIDATED,     /* this target accepts it */
    CONFIGURATION_APPLIED,       /* this target runs it, verified */
    CONFIGURATION_UNCHANGED,     /* its file meant the same before, and it runs that */
    CONFIGURATION_REJECTED,      /* it does not accept it, or it was refused for it: the same is not tried again */
    CONFIGURATION_LOAD_FAILED,   /* written, and HAProxy could not load it: the one from before goes back */
    CONFIGURATION_DRIFTED,       /* another writer changed what was applied */
    CONFIGURATION_FAILED,        /* tried again; error.kind and http_status say what kind of failure it is */
    CONFIGURATION_NOT_STORED,    /* the same of its files: nothing was validated */
    CONFIGURATION_STORED,        /* its certificates, on this target */
    CONFIGURATION_VALIDATING,    /* this target is asked, */
    CONFIGURATION_WRITING,       /* or it is sent there to be written */
    CONFIGURATION_WRITTEN,       /* its file has it; `reason` says how HAProxy gets it */
    CONFIGURATION_LOADED,        /* by a reload, as far as its API knows: what runs is read next */
    CONFIGURATION_CANARY_PASSED, /* the first ones do well with it, the others get it; of no target */
    CONFIGURATION_CANARY_FAILED, /* this one, which got it first, does badly with it: no other one gets it */
    CONFIGURATION_DEGRADED,      /* this one does badly with it, and nothing is rolled back */
    CONFIGURATION_ROLLED_BACK,   /* `reason`, `error`; of no target: all go back */
    CONFIGURATION_GONE,          /* this target was removed: its number is another one's from now on */
    CONFIGURATION_EVENT_KINDS,
};

#define CONFIGURATION_WAY_RUNTIME "runtime" /* it has it already */
#define CONFIGURATION_WAY_RELOAD "reload"   /* one follows */

struct configuration_event {
    enum configuration_event_kind kind;
    size_t target;                   /* its number */
    const char *url;                 /* of the target; NULL: of none */
    const struct document *document; /* NULL: none */
    const struct error *error;       /* why; NULL: none */
    /* of ROLLED_BACK and LOAD_FAILED: "reload", "worker", "listener", "backend"; of WRITTEN: CONFIGURATION_WAY_...; else
     * NULL */
    const char *reason;
};

/* What is tried again. */
static inline bool configuration_event_failed(enum configuration_event_kind kind)
{
    return kind == CONFIGURATION_FAILED || kind == CONFIGURATION_NOT_STORED;
}

/* On the way; what the target has is as before. */
static inline bool configuration_event_is_step(enum configuration_event_kind kind)
{
    return kind == CONFIGURATION_STORED || kind == CONFIGURATION_WRITTEN || kind == CONFIGURATION_LOADED;
}

/* Of a target that runs the document all the same. */
static inline bool configuration_event_of_watch(enum configuration_event_kind kind)
{
    return kind == CONFIGURATION_CANARY_PASSED || kind == CONFIGURATION_CANARY_FAILED || kind == CONFIGURATION_DEGRADED;
}

/* Called from inside the engine: it may call nothing of it but configuration_view and configuration_accepted. */
struct configuration_listener {
    void (*happened)(void *arg, const struct configuration_event *e); /* NULL: not called */
    void (*read)(void *arg); /* of a target: configuration_runs may say something else by now; NULL: not called */
    void *arg;
};
