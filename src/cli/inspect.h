/*
 * A dry run of the controller, for `plan`, `explain` and `doctor`: syncs the watches once, then has each HAProxy read and decided
 * about once, all of them side by side. Writes nothing anywhere; behind a Data Plane API it makes an empty transaction, which is
 * deleted: what a write would make of the file is seen in no other way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "daemon/inspect/inspect_report.h"

struct clients;
struct event_base;
struct instance;
struct served;
struct settings;

#define INSPECT_TIMEOUT_MS 30000

struct inspect_options {
    const char *node;             /* of `explain`; NULL: `plan` */
    uint64_t timeout_ms;          /* how long Kubernetes may take, and after it each HAProxy */
    struct inspect_daemon daemon; /* that does not answer for it */
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

/* Of two texts of inspect_print_settings: "it has other backends: be2 ingress/web:https". Allocates; NULL: they are equal. */
char *inspect_other_settings(const char *theirs, const char *ours) must_check;

/* inspect_check.c: HAProxy validates the file that the plans of its target would make, as the daemon lets it before it writes;
 * nothing is written. Of all the changes that it has to accept; where it rejects these, each backend's alone, and without the
 * removals. What cannot go on is refused in its plan; where only removals cannot, the plan says so. served: what their checks say of
 * the servers that are down, where there are any; NULL: that is not asked. Asked by the driver of an instance that has stopped.
 * Runs the loop, for timeout_ms at most for each question. */
void inspect_check(struct event_base *base, const struct inspect_report *r, struct inspect_target *t,
                   const struct instance *in, uint64_t timeout_ms, struct served *served);
