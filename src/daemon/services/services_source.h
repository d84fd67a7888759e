/*
 * The source of CONFIG_SOURCE=services: annotated Services, EndpointSlices and the Nodes, each watched once for all namespaces, and
 * what stands before (CONFIG_FILE); of them services/plan makes a configuration, and service_rows the servers in it. The first change is taken up at once, those that follow
 * within 100 ms together. What is wrong with a Service is reported by the log, and by an Event on it from the replica that leads;
 * the rest goes on. Without any Service that is served what runs stays, unless ALLOW_EMPTY says otherwise.
 */
#ifndef DAEMON_SERVICES_SERVICES_SOURCE_H
#define DAEMON_SERVICES_SERVICES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"

struct buf;
struct checks;
struct event_base;
struct events;
struct kube_client;
struct quarantine;
struct remarks;
struct service_report;
struct services_source;
struct settings;
struct storage_files;
struct storage_known;
struct telemetry;

/* Borrowed. */
struct services_source_options {
    const struct settings *settings;
    struct kube_client *kube;
    struct storage_known *known; /* certificates; NULL: they are parsed each time */
    struct quarantine *quarantine;
    int state_fd; /* of STATE_DIR, where the owners of hosts are kept; -1: they are not */
    struct telemetry *telemetry;
    const struct log *log;
};

/* From the loop. */
struct services_source_callbacks {
    /* Another text, other files, or after a failure. files: the callee's to empty. -1: it can be no configuration, which was told. */
    int (*made)(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files);
    void (*failed)(void *arg, const struct error *err); /* it names the source */
};

/* NULL, ERROR_FATAL: no inotify. */
struct services_source *services_source_new(struct event_base *base, const struct services_source_options *options,
                                            const struct services_source_callbacks *callbacks, void *arg,
                                            struct error *err) must_check;
/* NULL is allowed in all of these. */
void services_source_free(struct services_source *s);
void services_source_start(struct services_source *s);
void services_source_stop(struct services_source *s);
void services_source_poke(struct services_source *s);
/* This replica leads; NULL: no longer. */
void services_source_tell_to(struct services_source *s, struct events *events);
void services_source_measure(const struct services_source *s); /* for a scrape */
bool services_source_ready(const struct services_source *s, struct checks *checks);

struct services_view {
    size_t services, served, refused; /* Services with the label; ports of theirs, the second for a reason */
    const struct service_report *report;
    const struct remarks *remarks;
    const char *problem; /* why there is no configuration; NULL: there is one, or it is not known yet */
    size_t no_endpoint;  /* backends that keep their last servers, or have every node: nothing is desired there */
    size_t delayed;      /* those with servers whose removal the loss limit delays */
};
struct services_view services_source_view(const struct services_source *s);

/* Adds what came of each annotation of one of them, "namespace/name" (services/plan); false: it is none of them. */
bool services_source_explain(const struct services_source *s, const char *name, struct buf *out);

#endif
