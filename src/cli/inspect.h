/*
 * One read of everything, for `plan`, `explain` and `doctor`: connects, syncs the watches once, reads each HAProxy once, all
 * of them side by side, and decides by the code that the daemon decides by. Writes nothing anywhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

struct clients;
struct settings;
struct event_base;
struct inspect_report;

#define INSPECT_TIMEOUT_MS 30000

struct inspect_options {
    const char *node;    /* of `explain`; NULL: `plan` */
    uint64_t timeout_ms; /* how long Kubernetes may take, and after it each HAProxy */
    const char *daemon;  /* as in cli/daemon_memory.h; NULL: it is not asked */
    bool refusals_count; /* the API server is known to have read its roles: what it refuses is not waited for */
    bool checks;         /* what their checks say of the servers that are down */
    /* Called once; what it gets is valid in the call. What could not be read is in the report. */
    void (*show)(void *arg, const struct inspect_report *report);
    void *arg;
};

/* Runs the loop of base until all is known or the time is over. Without a Kubernetes client nothing is known of the Services;
 * there may be fewer Data Plane clients than in the settings, or none. */
void inspect_refresh(struct event_base *base, struct settings *settings, struct clients *clients, const struct log *log,
                     const struct inspect_options *options);
