/*
 * The source of CONFIG_SOURCE=services: annotated Services, EndpointSlices and the Nodes, each watched once for all namespaces, and
 * what stands before (CONFIG_FILE); of them services/plan makes a configuration, and service_rows the servers in it. The first change is taken up at once, those that follow
 * within 100 ms together. What is wrong with a Service is reported by the log, and by an Event on it from the replica that leads;
 * the rest goes on. Without any Service that is served what runs stays, unless ALLOW_EMPTY says otherwise.
 */
#pragma once

#include "daemon/daemon.h"

struct host_memory;
struct quarantine;
struct remarks;
struct services_source;
struct storage_known;
struct yyjson_mut_doc;

/* Borrowed. */
struct services_source_options {
    const struct daemon *in;
    struct storage_known *known; /* certificates; NULL: they are parsed each time */
    struct quarantine *quarantine;
    struct host_memory *hosts; /* the owners of hosts; NULL: none are known, and none are kept */
    /* From the loop. Another text, other files, or after a failure. files: the callee's to empty. -1: it can be no configuration, which
     * was logged. */
    int (*made)(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files);
    void (*failed)(void *arg, const struct error *err); /* it names the source */
    void *arg;
};

/* NULL, ERROR_FATAL: no inotify. */
struct services_source *services_source_new(const struct services_source_options *options,
                                            struct error *err) must_check;
extern const struct source_ops services_source_ops; /* of a struct services_source */

struct services_view {
    size_t services, served, refused; /* Services with the label; ports of theirs, the second for a reason */
    struct yyjson_mut_doc *report;    /* of service_report_new; borrowed */
    const struct remarks *remarks;
    const char *problem; /* why there is no configuration; NULL: there is one, or it is not known yet */
    size_t no_endpoint;  /* backends that keep their last servers, or have every node: nothing is desired there */
    size_t delayed;      /* those with servers whose removal the loss limit delays */
};
struct services_view services_source_view(const struct services_source *s);

/* Adds what came of each annotation of one of them, "namespace/name" (services/plan); false: it is none of them. */
bool services_source_explain(const struct services_source *s, const char *name, struct buf *out);
