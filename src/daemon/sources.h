/*
 * What is watched: Nodes, and for each Service its EndpointSlices, the Service itself, and its Endpoints only if
 * slices are denied. Owns the caches that they fill. Denied means 403 or 404 of the resource; the informer retries with its backoff (30 s
 * at most), so granting a right needs no restart.
 *
 * Each watch is a connection of its own: one, and two for each Service (64 Services: 129).
 */
#pragma once

#include "daemon/daemon.h"
#include "model/cache.h"
#include "model/objects.h"

struct source;
struct sources;

/* Borrowed for the time of sources_new. */
struct sources_service {
    const char *namespace;
    const char *name;
};

#define SOURCES_ALL SIZE_MAX

/* services: each of them once. changed: this service has changed; cause is valid during the call. SOURCES_ALL: the Nodes, so
 * for each that sources_synced is true of. Never called for a service before that. It may be called from inside
 * libcurl: set a timer, start no request. */
struct sources *sources_new(const struct daemon *in, const struct sources_service *services, size_t count,
                            void (*changed)(void *arg, size_t service, const char *cause, uint64_t received_us),
                            void *arg) must_check;
void sources_free(struct sources *s);

/* NULL is allowed in those below that name no service: nothing is watched. */

void sources_start(struct sources *s);
void sources_stop(struct sources *s);
void sources_poke(struct sources *s);

const struct cache *sources_nodes(const struct sources *s);
const struct object_caches *sources_caches(const struct sources *s, size_t service); /* its Service's, and the Nodes */
/* sources: a struct sources. Whether a server of that name has a node; one that is named by its address needs none. */
bool sources_node_exists(const void *sources, const char *server);

/* Nodes, slices or Endpoints, and the Service (unless it may not be read) have synced once: the caches are complete. */
bool sources_synced(const struct sources *s, size_t service);

/* The Service may not be read (403, 404 of the resource): the daemon continues without it. */
bool sources_service_denied(const struct sources *s, size_t service);

/* All that is still missing was refused (403, 404 of the resource), so waiting hardly helps. False if nothing is
 * missing. */
bool sources_refused(const struct sources *s);

/* Adds one for each watch (and for a credential plugin); true if all needed ones are synced and connected. A denied
 * Service is not needed. */
bool sources_ready(const struct sources *s, struct checks *checks);

/* Whether all that is missing is so for one cause, which keeps every watch from the API server (kube/outage.h). */
bool sources_away(const struct sources *s);
/* The same; then adds one check, in place of those of sources_ready. */
bool sources_outage(const struct sources *s, struct checks *checks);

/* Calls fn for each watch that is in use. */
void sources_each(const struct sources *s, void (*fn)(void *arg, const struct source *of), void *arg);

/* Sets the gauges that are read at scrape time. */
void sources_measure(const struct sources *s, struct metric_table *t);
