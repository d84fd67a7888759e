/* The connections of one run: one libcurl multi, Kubernetes and the Data Plane API on it. */
#ifndef SYNC_CLIENTS_H
#define SYNC_CLIENTS_H

#include "base/error.h"
#include "base/log.h"
#include "dataplane/client.h"

struct config;
struct event_base;
struct http;
struct kube_access;
struct kube_client;

struct clients {
    struct http *http;
    struct kube_client *kube;
    struct dataplane_client *dataplane;
};

/* config and log outlive them. ERROR_FATAL: certificates unreadable, no memory for libcurl. -1: *ret is to be freed still. */
int clients_make(struct event_base *base, struct config *config, const struct kube_access *access, const char *version,
                 const struct dataplane_client_events *events, const struct log *log, struct clients *ret,
                 struct error *err) must_check;
void clients_free(struct clients *c); /* a zeroed one is allowed */

#endif
