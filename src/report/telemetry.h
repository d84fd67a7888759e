/* Every metric of the daemon, registered in one place; their labels and units are in telemetry.c. */
#ifndef REPORT_TELEMETRY_H
#define REPORT_TELEMETRY_H

#include "report/metrics.h"

struct telemetry {
    struct metrics *registry;
    struct metric *in_sync;
    struct metric *last_in_sync;
    struct metric *servers_desired;
    struct metric *servers_up;
    struct metric *servers_draining;
    struct metric *servers_configured;
    struct metric *servers_parked;
    struct metric *servers_overridden;
    struct metric *servers_removal_delayed;
    struct metric *changes_pending;
    struct metric *changes_reverted;
    struct metric *paused;
    struct metric *dry_run;
    struct metric *ready;
    struct metric *check_ok;
    struct metric *leader;
    struct metric *reconciles;
    struct metric *transactions;
    struct metric *transaction_duration;
    struct metric *reloads;
    struct metric *drifts;
    struct metric *runtime_updates;
    struct metric *runtime_commands;
    struct metric *runtime_verification;
    struct metric *watch_event_to_commit;
    struct metric *watch_event_to_runtime;
    struct metric *http_requests;
    struct metric *local_requests;
    struct metric *watch_restarts;
    struct metric *relists;
    struct metric *cached_objects;
    struct metric *watch_last_byte;
    struct metric *certificate_expiration;
    struct metric *svid_expiration;
    struct metric *kubernetes_events;
    struct metric *configuration_applied;
    struct metric *configuration_last_applied;
    struct metric *configuration_results;
    struct metric *configuration_rollbacks;
    struct metric *configuration_rolled_back;
    struct metric *configuration_canary_pending;
    struct metric *template_renders;
    struct metric *template_render_duration;
    struct metric *template_objects;
    struct metric *template_object_bytes;
    struct metric *template_objects_left_out;
    struct metric *template_resource_synced;
    struct metric *template_removals_delayed;
    struct metric *template_render_ok;
    struct metric *template_last_render;
    struct metric *annotated_ports;
    struct metric *quarantined_objects;
    struct metric *publications;
    struct metric *load_balancers;
    struct metric *trace_spans;
    struct metric *log_lines_dropped;
    struct metric *build_info;
};

void telemetry_init(struct telemetry *t, const char *version);
void telemetry_fini(struct telemetry *t);

/* Drops the gauges of HAProxies: a replica that does not lead has nothing to say about them. */
void telemetry_forget_targets(struct telemetry *t);

#endif
