/*
 * All HAProxies: each gets every wish and converges by itself (servers/target); one that is down delays no other.
 */
#ifndef DAEMON_TARGETS_H
#define DAEMON_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "servers/target.h"

struct checks;
struct clients_dataplane;
struct targets;

/* options: of each of them; its clients are filled in from list. What the options borrow outlives the targets. */
struct targets *targets_new(struct event_base *base, const struct target_options *options,
                            const struct clients_dataplane *list, size_t count) must_check;
void targets_free(struct targets *t); /* NULL is allowed */

/* As those of servers/target. */
void targets_start(struct targets *t);
void targets_wish(struct targets *t, size_t backend, const struct desired *wish, const char *cause,
                  uint64_t received_us);
void targets_go(struct targets *t);
void targets_compare(struct targets *t);
/* stopped is called once, when the last one has stopped (perhaps at once). */
void targets_stop(struct targets *t, void (*stopped)(void *arg), void *arg);
size_t targets_count(const struct targets *t);
const struct target *targets_at(const struct targets *t, size_t i);
/* True where any of them is ready: the others are listed all the same. */
bool targets_ready(const struct targets *t, struct checks *checks);

#endif
