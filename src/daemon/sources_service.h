/*
 * What is watched for one Service: its EndpointSlices, its Endpoints where slices are denied, and the Service itself.
 *
 * Denied means 403 or 404 of the resource. The informer retries with its backoff (30 s at most), so granting a right
 * needs no restart.
 */
#ifndef DAEMON_SOURCES_SERVICE_H
#define DAEMON_SOURCES_SERVICE_H

#include <stdbool.h>

#include "host/timer.h"
#include "daemon/source.h"
#include "daemon/sources.h"

enum service_source { SOURCE_SLICES, SOURCE_ENDPOINTS, SOURCE_SERVICE, SERVICE_SOURCES };

struct service_sources {
    struct source all[SERVICE_SOURCES];
    struct object_caches caches; /* of `nodes` and `all` */
    const struct source *nodes;  /* borrowed */
    const struct log *log;
    char *scope;        /* "ns/name"; NULL if there is only one Service */
    bool fallback;      /* Endpoints are watched because slices are denied */
    bool trusted;       /* slices were still denied after Endpoints had synced */
    bool denied;        /* the Service may not be read, and that was logged */
    struct timer timer; /* settle: from the loop, never from inside a callback */
    void (*changed)(void *arg, struct service_sources *s, const char *cause, uint64_t received_us);
    void *arg;
};

struct service_sources_options {
    const struct sources_service *service;
    bool one_of_several;
    const struct source *nodes;
    struct telemetry *telemetry;
    const struct log *log;
    void (*changed)(void *arg, struct service_sources *s, const char *cause, uint64_t received_us);
    void *arg;
};

void service_sources_init(struct service_sources *s, struct event_base *base, struct kube_client *client,
                          const struct service_sources_options *options);
void service_sources_fini(struct service_sources *s); /* a zeroed one is allowed */

void service_sources_start(struct service_sources *s);
void service_sources_stop(struct service_sources *s);
void service_sources_poke(struct service_sources *s);
/* Decides, from the loop, what had to wait until the Nodes have synced. */
void service_sources_settle(struct service_sources *s);

bool service_sources_synced(const struct service_sources *s);
bool service_sources_denied(const struct service_sources *s);
/* Something is neither synced nor refused yet. */
bool service_sources_pending(const struct service_sources *s);
bool service_sources_in_use(const struct service_sources *s, enum service_source which);
bool service_sources_ready(const struct service_sources *s, struct checks *checks);

#endif
