/*
 * Reports what the configuration engine did: as Events on the Secret that the document comes from (where it comes from
 * one), as metrics, and where that is asked for as annotations of the Secret or as data of a ConfigMap beside it, which
 * nobody reads: it is written when something differs from what was written there last. Names and values are those of an
 * operator for such Secrets. Nothing is written that the Secret says already, nor by a dry run.
 */
#ifndef DAEMON_CONFIG_REPORT_H
#define DAEMON_CONFIG_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

struct config_report;
struct config_source;
struct configuration_event;
struct event_base;
struct events;
struct kube_client;
struct telemetry;

/* Borrowed. */
struct config_report_options {
    size_t target_count;      /* that are there from the start */
    struct kube_client *kube; /* NULL: nothing is annotated */
    const char *configmap;    /* that is written in the Secret's place; NULL: none */
    const struct config_source *source;
    const char *secret_namespace, *secret_name;
    struct events *events; /* NULL: none */
    struct telemetry *telemetry;
    struct operator_metrics *operator_metrics; /* NULL: none */
    struct history *history;                   /* NULL: none */
    bool dry_run;
    const struct log *log;
};

struct config_report *config_report_new(struct event_base *base,
                                        const struct config_report_options *options) must_check;
void config_report_free(struct config_report *r); /* NULL is allowed */
void config_report_take(struct config_report *r, const struct configuration_event *e);
/* The Secret is another one; it may lack what was written. */
void config_report_source_changed(struct config_report *r);
/* This replica leads no longer: another one writes. */
void config_report_stop(struct config_report *r);

#endif
