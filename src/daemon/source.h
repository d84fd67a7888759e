/*
 * One watch: an informer, its metrics, and whether a refusal is certain.
 *
 * An API server that starts answers 403 to all until it has read its roles. So a refusal counts only if it is newer
 * than a successful answer of the same server: source_refused_since.
 */
#pragma once

#include "daemon/daemon.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "model/cache.h"

struct source {
    struct informer *informer;
    struct kube_client_listener listener; /* it asks again at once when credentials come */
    struct cache *cache;                  /* NULL: another sink */
    const char *resource;                 /* "nodes" */
    const char
        *scope; /* "ns/name" where there are several Services, "ns" of one namespace's objects; or NULL; borrowed */
    struct metric_table *metrics;

    uint64_t synced_us;  /* since then the cache holds a complete list (monotonic); 0: it does not */
    uint64_t refused_us; /* the last 403 or 404; 0: none */
    uint64_t asked_us;   /* asked again by source_refused_since */

    void (*changed)(void *arg, const char *cause, uint64_t received_us);
    void (*moved)(void *arg); /* its status, or another refusal; NULL: not called */
    void *arg;
};

/* The caller has filled scope, metrics and the callbacks; what comes from inside them may start no request. Without a
 * sink it gets a cache. */
void source_init(struct source *s, struct event_base *base, struct kube_client *client, const struct log *log,
                 const struct informer_options *options, const struct informer_sink *sink);
void source_fini(struct source *s); /* a zeroed one is allowed */

/* Empties its cache. The informer, unless it was stopped, lists again. */
void source_forget(struct source *s);

struct informer_status source_status(const struct source *s);

/* Whether it was refused after that moment (0: which has not come yet, so no). Where that is not known it is asked
 * again at once, and `moved` is called. Only for one that is denied. */
bool source_refused_since(struct source *s, uint64_t us);

/* Adds "watch nodes": "synced, 5 objects"; false where it is needed and not synced or not in contact. */
bool source_ready(const struct source *s, bool needed, struct checks *checks);
/* "watch nodes", "watch endpointslices of ns/name". Allocates. */
char *source_check_name(const struct source *s) must_check;
