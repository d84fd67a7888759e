/*
 * What is watched for one Service: Nodes, its EndpointSlices, and its Endpoints only where slices are forbidden or not
 * served. Owns the cache that they fill.
 */
#ifndef SYNC_SOURCES_H
#define SYNC_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "model/cache.h"

struct event_base;
struct kube_client;
struct sources;
struct telemetry;

/* changed: the cache is another one (cause is valid during the call); never called before sources_synced. It may be
 * called from inside libcurl: set a timer, start no request. */
struct sources *sources_new(struct event_base *base, struct kube_client *client, const char *namespace,
                            const char *service, struct telemetry *telemetry, const struct log *log,
                            void (*changed)(void *arg, const char *cause, uint64_t received_us), void *arg) must_check;
void sources_free(struct sources *s);

void sources_start(struct sources *s);
void sources_stop(struct sources *s);
void sources_poke(struct sources *s);

const struct cache *sources_cache(const struct sources *s);

/* Nodes, and slices or Endpoints, have synced once: the cache may be believed. */
bool sources_synced(const struct sources *s);

/* Adds a line for each watch; true where all that are needed are synced and in contact. */
bool sources_ready(const struct sources *s, struct buf *body);

/* Sets the gauges that are read at scrape time. */
void sources_measure(const struct sources *s, struct telemetry *t);

#endif
