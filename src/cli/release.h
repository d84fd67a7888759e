/*
 * `release`: gives up the backends of the settings in each HAProxy, as a way back to another controller or to none
 * (servers/release.h). Without `yes` it prints what it would do, and writes nothing. It refuses while a daemon runs,
 * which would put it all back. Kubernetes is asked for the Lease alone.
 */
#ifndef CLI_RELEASE_H
#define CLI_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct event_base;
struct kube_access;
struct release_report;
struct settings;

#define RELEASE_STATUS_TO_DO 2 /* there is something to do, and `yes` was not given */

struct release_command_options {
    bool servers, yes;
    const char *daemon;               /* as in cli/daemon_memory.h */
    const struct kube_access *access; /* for the Lease; NULL: it is not asked for */
    uint64_t timeout_ms;              /* for the reading, and for the write and its reload */
    const char *version;              /* of the program */
    /* Called once, unless it was not begun; what it gets is valid in the call. */
    void (*show)(void *arg, const struct release_report *report);
    void *arg;
};

/* Runs the loop of base. *ret_status: 0 nothing is left to be done, RELEASE_STATUS_TO_DO, 1 not all could be done. -1: not
 * begun, and why: a daemon runs, or there is no way to a HAProxy (as clients_make). */
int release_command(struct event_base *base, struct settings *settings, const struct log *log,
                    const struct release_command_options *options, int *ret_status, struct error *err) must_check;

#endif
