/*
 * Prometheus text exposition (format 0.0.4): counters and gauges with labels, histograms, gauges computed at scrape
 * time. A registry is plain memory; names get the prefix "haproxy_k8s_sync_".
 *
 * A metric without labels is there from the start, as 0; one with labels has a line for each set that was used.
 * Histograms have buckets from 1 ms to 60 s. Bytes that are no UTF-8 become '?', because a scraper refuses the whole
 * page for one of them.
 */
#pragma once

#include "base/buf.h"

struct metrics;
struct metric;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* label_names: up to 4, comma-separated, "" for none ("target,method,code*"). Strings are borrowed (literals). A name is
 * registered once. Never NULL.
 *
 * Values of labels come from the configuration or from the program, so there is a line for each set of them, however
 * many backends and HAProxies there are. Where a peer chooses those of the last label, which '*' marks, there are at
 * most 20 of them for each set of the others, each cut at 120 bytes, then "other": no peer can make the page grow
 * without end, nor take a line from another. */
struct metric *metrics_register(struct metrics *m, enum metric_type type, const char *name, const char *help,
                                const char *label_names);
/* The same without the prefix; the name is copied. */
struct metric *metrics_register_whole(struct metrics *m, enum metric_type type, const char *name, const char *help,
                                      const char *label_names);

/* Label values in the order of the names; missing ones are "". Counters ignore what is negative or no number. */
void metric_add(struct metric *x, double value, ...) __attribute__((sentinel)); /* const char * ..., NULL */
void metric_set(struct metric *x, double value, ...) __attribute__((sentinel));
void metric_observe(struct metric *x, double seconds, ...) __attribute__((sentinel));
/* Forgets one line, or every line of a metric with labels. */
void metric_remove(struct metric *x, ...) __attribute__((sentinel));
void metric_clear(struct metric *x);
/* Forgets the lines of all metrics that have this value of that label. */
void metrics_forget(struct metrics *m, const char *label, const char *value);
/* 0 where not set; the number of observations of a histogram. For tests and readiness. */
double metric_value(struct metric *x, ...) __attribute__((sentinel));

/* A label that each line of the page has from now on, process_* ones, too; before its first line. The name is borrowed. */
void metrics_label(struct metrics *m, const char *name, const char *value);

/* Called before each scrape to set gauges. */
void metrics_on_scrape(struct metrics *m, void (*fn)(void *arg), void *arg);

/* The whole page, process_* figures included (start time, CPU, resident and virtual memory, fds). */
void metrics_print(struct metrics *m, struct buf *out);
