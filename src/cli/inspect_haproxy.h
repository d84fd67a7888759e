/*
 * Reads one HAProxy once for `plan` and `explain`: the backends in its file, what it runs of them, and whether its last
 * reload failed, so that it may not run what haproxy.cfg says. GETs, and behind a Data Plane API an
 * empty transaction, which is deleted: what a write would make of the file is seen in no other way. Then it can be asked
 * what it says of the file that a plan would make.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/timer.h"
#include "haproxy/driver.h"
#include "haproxy/readout.h"
#include "haproxy/served.h"

struct diff_rules;
struct inspect_target;

struct inspect_haproxy {
    struct driver *driver;
    const struct diff_rules *rules;
    struct readout readout;
    struct inspect_target *target; /* filled, but for what inspect_decide makes of it; so are as many backends of it: */
    size_t count;
    struct timer again, deadline;
    bool read_again, seen;
    bool wants_checks;    /* set after init: what their checks say of the servers that are down, where there are any */
    bool asks_checks;     /* that was asked for */
    struct served served; /* that */
    uint64_t timeout_ms;
    void (*done)(void *arg);
    void *arg;
};

/* The driver is taken over; names, rules and target are borrowed; done is called once, timeout_ms after the start at the
 * latest. */
void inspect_haproxy_init(struct inspect_haproxy *h, struct event_base *base, struct driver *driver,
                          const char *const *names, size_t count, struct inspect_target *target,
                          void (*done)(void *arg), void *arg); /* rules is the caller's to set */
void inspect_haproxy_fini(struct inspect_haproxy *h);
void inspect_haproxy_start(struct inspect_haproxy *h, uint64_t timeout_ms);

/* HAProxy validates the file that the plans of its target would make, as the daemon lets it before it writes; nothing is
 * written. Of all the changes that it has to accept; where it rejects these, each backend's alone, and without the removals.
 * What cannot go on is refused in its plan; where only removals cannot, the plan says so. Runs the loop, as long as the
 * reading might take for each check. Once, after the reading. */
void inspect_haproxy_check(const struct inspect_haproxy *h, struct event_base *base);
