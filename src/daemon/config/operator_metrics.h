/*
 * The metrics of an operator for haproxy.cfg in a Secret, by its names and labels, beside the daemon's own (report/telemetry): its
 * users have alerts and dashboards on them. They are on the page where CONFIG_SOURCE is set. Of several HAProxies,
 * counters count each.
 */
#ifndef DAEMON_CONFIG_OPERATOR_METRICS_H
#define DAEMON_CONFIG_OPERATOR_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct configuration_event;
struct metrics;
struct operator_metrics;

/* The registry is borrowed. source: the value of `secret`, "namespace/name" or the path of a file. */
struct operator_metrics *operator_metrics_new(struct metrics *registry, const char *source) must_check;
void operator_metrics_free(struct operator_metrics *m); /* NULL is allowed */

void operator_metrics_take(struct operator_metrics *m, const struct configuration_event *e);
/* Of the document as a whole; state NULL: neither of the two. */
void operator_metrics_state(struct operator_metrics *m, const char *hash, const char *state, bool drifted);
/* Another replica leads: it has what is to be said of the document. */
void operator_metrics_stop(struct operator_metrics *m);
/* Of daemon/certificates; peer: a URL, or "kubernetes". */
void operator_metrics_certificate(void *arg, const char *peer, const char *which, int64_t not_after_s);

#endif
