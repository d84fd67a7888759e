/*
 * Reports what the configuration engine did: as Events on the Secret that the document comes from (where it comes from
 * one), as metrics, and where CONFIG_REPORT asks for it as annotations of the Secret or as data of a ConfigMap, which
 * is not read: it is written when something differs from what was written there last. Nothing is written that the Secret says already,
 * nor by a dry run.
 *
 * Names and values are those of an operator for haproxy.cfg in a Secret; so are the names and labels of metrics that are on the page
 * where CONFIG_SOURCE is set, apart from the daemon's own (report/metric_table): its users have alerts and dashboards on them. Of several
 * HAProxies, counters count each.
 */
#pragma once

#include "daemon/daemon.h"

struct config_report;
struct config_source;
struct configuration_event;

/* All borrowed. target_count: that are there from the start; events NULL: none. */
struct config_report *config_report_new(const struct daemon *in, size_t target_count,
                                        const struct config_source *source, struct events *events) must_check;
void config_report_free(struct config_report *r); /* NULL is allowed */
void config_report_take(struct config_report *r, const struct configuration_event *e);
/* The Secret is another one; it may lack what was written. */
void config_report_source_changed(struct config_report *r);
/* For certificates_each; report: a struct config_report. */
void config_report_certificate(void *report, const char *peer, const char *which, int64_t not_after_s);
/* This replica leads no longer: another one writes, and has what is to be said of the document. */
void config_report_stop(struct config_report *r);
