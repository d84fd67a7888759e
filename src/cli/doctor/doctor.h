/*
 * `doctor`: checks each part that a sync needs, and reports what fails, why, and how to fix it. Asks Kubernetes and
 * each HAProxy, reads everything as `plan` does (cli/inspect), and connects to some of the nodes as HAProxy would.
 * Writes nothing anywhere.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct settings;
struct settings_findings;
struct doctor_report;
struct event_base;
struct kube_access;

struct doctor_options {
    const struct settings_findings *findings; /* about the settings */
    const struct kube_access *access;         /* NULL: there is none, because of no_access */
    const struct error *no_access;
    const char *version; /* of haproxy-k8s-sync */
    const struct log *log;
    uint64_t timeout_ms; /* for each of: the requests, Kubernetes' objects, each HAProxy */
};

/* settings NULL: the settings cannot be used, and nothing else can be checked. Fills ret; runs the loop of base. */
void doctor_run(struct event_base *base, struct settings *settings, const struct doctor_options *options,
                struct doctor_report *ret);
