/*
 * The checks of a HAProxy on this machine that is reached by its own file and sockets (HAPROXY_CONFIG_FILE). Asks what runs
 * without changing anything: the file first, then programs and sockets one after the other, by the helper process that the
 * daemon would use.
 */
#ifndef CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_H
#define CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_H

#include <stdint.h>

#include "host/timer.h"
#include "cli/doctor_local/doctor_local_facts.h"

struct child;
struct doctor_section;
struct event_base;
struct inspect_target;
struct local_helper;
struct local_request;
struct settings;

enum doctor_local_step {
    LOCAL_ASK_VERSION,
    LOCAL_ASK_CHECK,
    LOCAL_ASK_PROCESSES,
    LOCAL_ASK_MASTER_LEVEL,
    LOCAL_ASK_INFO,
    LOCAL_ASK_STATS_LEVEL,
    LOCAL_ASK_ENVIRONMENT,
    LOCAL_ASK_STEPS,
};

struct doctor_local {
    struct event_base *base;
    const struct settings *settings;
    struct local_helper *helper;
    uint64_t timeout_ms, began_us;
    void (*done)(void *arg);
    void *arg;
    enum doctor_local_step step;
    struct child *child;
    struct local_request *request;
    struct timer end;
    struct local_facts facts;
};

/* helper is borrowed, attached to base. timeout_ms: of each program. done is called once, from the loop. */
void doctor_local_start(struct doctor_local *d, struct event_base *base, const struct settings *settings,
                        struct local_helper *helper, uint64_t timeout_ms, void (*done)(void *arg), void *arg);
void doctor_local_fini(struct doctor_local *d); /* a zeroed one is allowed */

/* target: what was read of it; NULL: it was not. */
void doctor_local_report(const struct doctor_local *d, const struct inspect_target *target, struct doctor_section *s);

#endif
