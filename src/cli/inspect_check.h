/*
 * What HAProxy says of the file that a plan would make: it is asked as the daemon asks it before it writes. Validates, and writes
 * nothing.
 */
#ifndef CLI_INSPECT_CHECK_H
#define CLI_INSPECT_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct driver;
struct event_base;
struct inspect_target;

/* The changes that HAProxy has to accept: all of t's, and where it rejects these, each backend's alone, and without the removals. What
 * cannot go on is refused in its plan; where only removals cannot, the plan says so. Runs the loop; timeout_ms: of each check.
 * The driver's events are others from then on. */
void inspect_check(struct event_base *base, struct driver *driver, int64_t version, uint64_t timeout_ms,
                   struct inspect_target *t, size_t backend_count);

#endif
