/*
 * An informer: keeps what its sink holds equal to one resource of the API server, by the machine of kube/watch. A row
 * says which: the resource (its path, its decoder), where in it, and the sink; model/cache is one kind of sink.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "kube/resource.h"

struct cache;
struct event_base;
struct informer;
struct kube_client;
struct watch_deadlines;

/* What an informer does to what its sink holds. A relist is between BEGIN and END: what was not put or kept in it is gone
 * with the end; ABORT: as if it had never begun. */
enum sink_step {
    SINK_BEGIN,
    SINK_PUT,    /* object, of the resource's record, whose owner is the sink from now on */
    SINK_REMOVE, /* name */
    SINK_KEEP,   /* name: there, but not readable: what is known of it stays */
    SINK_ABORT,
    SINK_END,    /* *ret_count: how many there are now */
    SINK_FORGET, /* all of it: the watch is given up, or begins anew */
};

struct sink_change {
    enum sink_step step;
    void *object;
    const char *name;
};

/* Where the objects go. */
struct informer_sink {
    /* True where what is kept changed, and not only for the end of a relist. */
    bool (*take)(void *arg, const struct sink_change *change, size_t *ret_count);
    void *arg;
};

/* One whose record is that of the resource. */
struct informer_sink informer_sink_cache(struct cache *c) must_check;

struct informer_options {
    const struct kube_resource *resource;
    const char *namespace;      /* NULL: all, or it has none */
    const char *label_selector; /* NULL or unencoded */
    const char *field_selector; /* NULL or unencoded */
    const char *scope;    /* "ns/name" or "ns", where several watch the same resource: for logs and causes; or NULL */
    const char *scope_is; /* what it is, as the log calls it; NULL: "service" */
    /* No list: what is there comes by the watch, and then what changes. For a hint, whose sink gets no other step than PUT,
     * REMOVE and KEEP. What fails is tried again, where it is denied in a minute, and said at debug level. */
    bool changes_only;
    bool may_be_denied;                      /* the owner reports 403 and 404, by its status: the log does not */
    const struct watch_deadlines *deadlines; /* copied; NULL: the usual ones */
};

enum informer_denied { INFORMER_ALLOWED, INFORMER_FORBIDDEN, INFORMER_NOT_SERVED };

struct informer_status {
    bool synced;                 /* the sink holds a complete list */
    bool stale;                  /* synced, but not in contact now: last good state in use */
    enum informer_denied denied; /* every answer is 403 or 404: at once before the first list, for 10 s after it */
    uint64_t last_byte_ms;       /* monotonic; 0: never */
    bool outage;                 /* what keeps it from the API server keeps all watches of that server */
    char problem[512];           /* what is wrong; "" where all is well or nothing is known yet */
};

/* They come from inside libcurl's callbacks: no request may be started or cancelled there, and no informer freed.
 * Another informer may be started, stopped, poked and made to forget. */
struct informer_callbacks {
    /* What the sink holds changed (or synced for the first time). cause: "MODIFIED endpointslice web-abc12" or "list of
     * endpointslices", with a scope followed by " of ns/name"; valid in the call. received_us: when the bytes that
     * completed it arrived (monotonic). */
    void (*changed)(void *arg, const char *cause, uint64_t received_us);
    /* The status changed: for readiness and for the fallback from slices to Endpoints. */
    void (*status)(void *arg);
    /* Metrics: a watch ended / a list was started, and why (a fixed set of words, see watch.c). */
    void (*watch_restarted)(void *arg, const char *resource, const char *reason);
    void (*relisted)(void *arg, const char *resource, const char *reason);
    /* Each request, once, as soon as it is answered (a watch then goes on): code 0 for no answer; method GET. */
    void (*requested)(void *arg, int code);
};

struct informer *informer_new(struct event_base *base, struct kube_client *client, const struct informer_sink *sink,
                              const struct log *log, const struct informer_options *options,
                              const struct informer_callbacks *callbacks, void *arg) must_check;
void informer_free(struct informer *i); /* stops; the sink keeps what it has; NULL is allowed */

void informer_start(struct informer *i);
void informer_stop(struct informer *i);
/* Ask again now instead of after the backoff (SIGHUP; a periodic probe of a forbidden resource). */
void informer_poke(struct informer *i);
/* Empties the sink, and lists again: at once, or when it asks next. A stopped one lists when it is started. */
void informer_forget(struct informer *i);
/* Whether that it has no list is known and lived with, so that the log need not repeat it. */
void informer_set_quiet(struct informer *i, bool quiet);
void informer_get_status(const struct informer *i, struct informer_status *ret);
