/* Every metric of the daemon, registered in one place; their labels and units are in metric_table.c. */
#pragma once

#include "report/prometheus.h"

struct metric_table {
    struct metrics *registry;
    /* servers in HAProxy, each of a backend at a target */
    struct metric *in_sync, *last_in_sync, *servers_desired, *servers_up, *servers_draining, *servers_configured,
        *servers_parked, *servers_overridden, *servers_removal_delayed, *changes_pending, *changes_reverted, *paused;
    /* the daemon */
    struct metric *dry_run, *ready, *check_ok, *leader, *log_lines_dropped, *build_info;
    /* what it does to a HAProxy */
    struct metric *reconciles, *transactions, *transaction_duration, *reloads, *drifts, *runtime_updates,
        *runtime_commands, *runtime_verification, *watch_event_to_commit, *watch_event_to_runtime, *http_requests,
        *local_requests;
    /* Kubernetes, certificates, traces */
    struct metric *watch_restarts, *relists, *cached_objects, *watch_last_byte, *certificate_expiration,
        *svid_expiration, *kubernetes_events, *trace_spans;
    /* whole configurations */
    struct metric *configuration_applied, *configuration_last_applied, *configuration_results, *configuration_rollbacks,
        *configuration_rolled_back, *configuration_canary_pending;
    /* templates */
    struct metric *template_renders, *template_render_duration, *template_objects, *template_object_bytes,
        *template_objects_left_out, *template_resource_synced, *template_removals_delayed, *template_render_ok,
        *template_last_render;
    /* annotated Services, what HAProxy refuses, etcd */
    struct metric *annotated_ports, *quarantined_objects, *publications, *load_balancers;
};

void metric_table_init(struct metric_table *t, const char *version);
void metric_table_fini(struct metric_table *t);

/* Drops the gauges of HAProxies: a replica that does not lead has nothing to say about them. */
void metric_table_forget_targets(struct metric_table *t);
