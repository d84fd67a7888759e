/*
 * Prometheus text exposition (format 0.0.4): counters and gauges with labels, histograms, gauges computed at scrape time.
 * A registry is plain memory; names get the prefix "haproxy_k8s_sync_" except process_*.
 */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <stdint.h>

#include "base/buf.h"

struct metrics;
struct metric;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* label_names: up to 4, comma-separated, "" for none ("target,method,code"). Strings are borrowed (literals). */
struct metric *metrics_register(struct metrics *m, enum metric_type type, const char *name, const char *help,
                                const char *label_names);

/* Label values in the order of the names. A metric takes at most 200 label sets, then counts under "other". */
void metric_add(struct metric *x, double value, ...) __attribute__((sentinel)); /* const char * ..., NULL */
void metric_set(struct metric *x, double value, ...) __attribute__((sentinel));
void metric_observe(struct metric *x, double seconds, ...) __attribute__((sentinel));
double metric_value(struct metric *x, ...) __attribute__((sentinel)); /* 0 where not set; for tests and readiness */

/* Called before each scrape to set gauges. */
void metrics_on_scrape(struct metrics *m, void (*fn)(void *arg), void *arg);

/* The whole page, process_* figures included (start time, CPU, resident and virtual memory, fds). */
void metrics_print(struct metrics *m, struct buf *out);

#endif
