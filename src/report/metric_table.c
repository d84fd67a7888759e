#include "report/metric_table.h"

#include <stddef.h>

#define AT(metric) offsetof(struct metric_table, metric)

static const struct {
    size_t at;
    enum metric_type type;
    const char *name, *help, *labels;
} rows[] = {
    {AT(in_sync), METRIC_GAUGE, "in_sync", "1 if HAProxy has loaded a configuration with the desired servers.",
     "backend,target"},
    {AT(last_in_sync), METRIC_GAUGE, "last_in_sync_timestamp_seconds",
     "When HAProxy was last seen in sync, in seconds since the Unix epoch.", "backend,target"},
    {AT(servers_desired), METRIC_GAUGE, "servers_desired", "Servers that HAProxy should have in rotation.",
     "backend,target"},
    {AT(servers_up), METRIC_GAUGE, "servers_up",
     "Desired servers that HAProxy's health check does not report as down, read every RESYNC_PERIOD. "
     "No sample if the running HAProxy cannot be read.",
     "backend,target"},
    {AT(servers_draining), METRIC_GAUGE, "servers_draining", "Servers that drain: they get no new connections.",
     "backend,target"},
    {AT(servers_configured), METRIC_GAUGE, "servers_configured",
     "Managed servers in HAProxy's configuration, without the parked ones.", "backend,target"},
    {AT(servers_parked), METRIC_GAUGE, "servers_parked",
     "Managed servers kept in HAProxy's configuration in maintenance, for reuse.", "backend,target"},
    {AT(servers_overridden), METRIC_GAUGE, "servers_overridden",
     "Servers whose admin state (drain or maint) an operator has set in the running HAProxy.", "backend,target"},
    {AT(servers_removal_delayed), METRIC_GAUGE, "servers_removal_delayed",
     "Servers whose removal the loss limit delays.", "backend,target"},
    {AT(changes_pending), METRIC_GAUGE, "changes_pending",
     "Changes that are not written because of a dry run or a pause.", "backend,target"},
    {AT(changes_reverted), METRIC_COUNTER, "changes_reverted_total",
     "Changes that another writer of the configuration reverted.", "backend,target"},
    {AT(paused), METRIC_GAUGE, "paused", "1 if the Service's annotation pauses writing.", "backend,target"},
    {AT(dry_run), METRIC_GAUGE, "dry_run", "1 if DRY_RUN is set: nothing is written.", ""},
    {AT(ready), METRIC_GAUGE, "ready", "1 if /readyz answers 200.", ""},
    {AT(check_ok), METRIC_GAUGE, "check_ok", "1 if this check of /readyz passes, 0 if it fails.", "check"},
    {AT(leader), METRIC_GAUGE, "leader", "1 if this replica leads. Without LEADER_ELECT always 1.", ""},
    {AT(reconciles), METRIC_COUNTER, "reconciles_total",
     "Comparisons of HAProxy's servers with the desired servers, by result.", "result,target"},
    {AT(transactions), METRIC_COUNTER, "transactions_total", "Data Plane API transactions, by result.",
     "result,target"},
    {AT(transaction_duration), METRIC_HISTOGRAM, "transaction_duration_seconds",
     "Duration of a transaction from its start to its commit, in seconds.", ""},
    {AT(reloads), METRIC_COUNTER, "reloads_total", "HAProxy reloads after a change, by result.", "result,target"},
    {AT(drifts), METRIC_COUNTER, "drifts_total", "Times that the running HAProxy differed from its configuration file.",
     "target"},
    {AT(runtime_updates), METRIC_COUNTER, "runtime_updates_total",
     "Servers changed in the configuration and in the running HAProxy without a reload, by result.", "result,target"},
    {AT(runtime_commands), METRIC_COUNTER, "runtime_commands_total",
     "Admin states (ready, drain, maint) set in the running HAProxy, by state and result.", "state,result,target"},
    {AT(runtime_verification), METRIC_GAUGE, "runtime_verification",
     "Whether the running HAProxy applies runtime updates: 1 for the current state, 0 for the others.", "target,state"},
    {AT(watch_event_to_commit), METRIC_HISTOGRAM, "watch_event_to_commit_seconds",
     "Time from the arrival of a watch event until HAProxy's configuration has the change, in seconds.", ""},
    {AT(watch_event_to_runtime), METRIC_HISTOGRAM, "watch_event_to_runtime_seconds",
     "Time from the arrival of a watch event until the running HAProxy gives the server no new connections, "
     "in seconds.",
     ""},
    {AT(http_requests), METRIC_COUNTER, "http_requests_total",
     "HTTP requests sent, by target, method and status code (0: no answer).", "target,method,code*"},
    {AT(local_requests), METRIC_COUNTER, "local_requests_total",
     "Requests to a HAProxy on this machine (read, validate, write, reload, command, ...), by request and result.",
     "target,request,result"},
    {AT(watch_restarts), METRIC_COUNTER, "watch_restarts_total", "Restarts of watches, by reason.", "resource,reason"},
    {AT(relists), METRIC_COUNTER, "relists_total", "Full lists, by reason.", "resource,reason"},
    {AT(cached_objects), METRIC_GAUGE, "cached_objects", "Kubernetes objects in the cache.", "resource"},
    {AT(watch_last_byte), METRIC_GAUGE, "watch_last_byte_timestamp_seconds",
     "When the last byte of a watch arrived, in seconds since the Unix epoch. With several watches of a resource, "
     "the oldest.",
     "resource"},
    {AT(certificate_expiration), METRIC_GAUGE, "tls_certificate_expiration_timestamp_seconds",
     "When a TLS certificate expires, in seconds since the Unix epoch: ca (the first of its file), client (the "
     "daemon's), server (as last seen).",
     "peer,certificate"},
    {AT(svid_expiration), METRIC_GAUGE, "spiffe_svid_expiration_timestamp_seconds",
     "When the daemon's X.509 SVID, which a SPIFFE Workload API renews, expires, in seconds since the Unix epoch.",
     "spiffe_id"},
    {AT(kubernetes_events), METRIC_COUNTER, "kubernetes_events_total",
     "Kubernetes Events about the Services, by result.", "result"},
    {AT(configuration_applied), METRIC_GAUGE, "configuration_applied",
     "1 if HAProxy runs the whole configuration that its source has, verified.", "target"},
    {AT(configuration_last_applied), METRIC_GAUGE, "configuration_last_applied_timestamp_seconds",
     "When a whole configuration was last verified to run, in seconds since the Unix epoch.", "target"},
    {AT(configuration_results), METRIC_COUNTER, "configuration_results_total",
     "Events of whole configurations: changed, refused and recovered (of their source), validated, applied, "
     "unchanged, rejected, load_failed, drifted, failed, canary_passed, canary_failed, degraded (reported, and nothing "
     "rolled back), rolled_back.",
     "result,target"},
    {AT(configuration_rollbacks), METRIC_COUNTER, "configuration_rollbacks_total",
     "Whole configurations that the daemon rolled back automatically, by reason: reload (it could not be loaded), "
     "worker (it died), listener (one is missing), backend (it lost all of its servers).",
     "reason"},
    {AT(configuration_rolled_back), METRIC_GAUGE, "configuration_rolled_back",
     "1 while a previous version runs, because the daemon rolled back the version of the source.", ""},
    {AT(configuration_canary_pending), METRIC_GAUGE, "configuration_canary_pending",
     "HAProxies that wait for CONFIG_CANARY: another one has a whole configuration first.", ""},
    {AT(template_renders), METRIC_COUNTER, "template_renders_total",
     "Renders of the template set, by result: changed, unchanged (the same output as before), failed.", "result"},
    {AT(template_render_duration), METRIC_HISTOGRAM, "template_render_seconds",
     "How long a render of the template set took, its process included.", ""},
    {AT(template_objects), METRIC_GAUGE, "template_objects",
     "Objects that the templates see, by their name in the set.", "resource"},
    {AT(template_object_bytes), METRIC_GAUGE, "template_object_bytes",
     "What is kept of these objects, in bytes of memory.", "resource"},
    {AT(template_objects_left_out), METRIC_GAUGE, "template_objects_left_out",
     "Objects that the templates left out by warn() in the last render that went well.", "resource"},
    {AT(template_resource_synced), METRIC_GAUGE, "template_resource_synced",
     "1 if all objects of the resource were read; 0: not yet, or it is not served, or may not be watched.", "resource"},
    {AT(template_removals_delayed), METRIC_GAUGE, "template_removals_delayed",
     "Objects of the resource, and endpoints of EndpointSlices, that vanished and stay for now (the loss limit).",
     "resource"},
    {AT(template_render_ok), METRIC_GAUGE, "template_render_ok",
     "1 if the template set could be read and its last render went well.", ""},
    {AT(template_last_render), METRIC_GAUGE, "template_last_render_timestamp_seconds",
     "When a render last went well, in seconds since the Unix epoch.", ""},
    {AT(annotated_ports), METRIC_GAUGE, "annotated_ports",
     "Ports of annotated Services (CONFIG_SOURCE=services), by state: served, refused (Events say why); of those "
     "served, "
     "removal_delayed (the loss limit) and no_endpoint (no pod is ready; the last servers stay).",
     "state"},
    {AT(quarantined_objects), METRIC_GAUGE, "quarantined_objects",
     "Objects (annotated Services, or those of a template set's `quarantine`) that are left out or served as they "
     "were, because HAProxy refuses a configuration with them as they are (Events say why).",
     ""},
    {AT(publications), METRIC_COUNTER, "publications_total",
     "Configurations for etcd (CONFIG_TARGET=etcd), by result: published, conflict (another producer was faster, it is "
     "read again), failed.",
     "result"},
    {AT(load_balancers), METRIC_GAUGE, "load_balancers",
     "Load balancers that take their configuration from etcd, by state: in_sync (with what is published), behind, "
     "failed.",
     "state"},
    {AT(trace_spans), METRIC_COUNTER, "trace_spans_total",
     "Spans of traces (OTEL_EXPORTER_OTLP_ENDPOINT), by result: exported, rejected (by the collector), failed (it "
     "could "
     "not be reached in time, or refused them), dropped (too many waited).",
     "result"},
    {AT(log_lines_dropped), METRIC_COUNTER, "log_lines_dropped_total",
     "Log lines dropped because their reader was too slow.", ""},
    {AT(build_info), METRIC_GAUGE, "build_info", "Always 1; the label has the version.", "version"},
};

void metric_table_init(struct metric_table *t, const char *version)
{
    t->registry = metrics_new();
    for (size_t i = 0; i < array_len(rows); i++)
        *(struct metric **)((char *)t + rows[i].at) =
            metrics_register(t->registry, rows[i].type, rows[i].name, rows[i].help, rows[i].labels);
    metric_set(t->build_info, 1, version, NULL);
    metric_set(t->dry_run, 0, NULL);
    /* Where nothing is rendered no render has failed. */
    metric_clear(t->template_render_ok);
    metric_clear(t->template_last_render);
}

void metric_table_forget_targets(struct metric_table *t)
{
    struct metric *const gauges[] = {t->servers_desired,
                                     t->servers_up,
                                     t->servers_draining,
                                     t->servers_configured,
                                     t->servers_parked,
                                     t->servers_removal_delayed,
                                     t->servers_overridden,
                                     t->changes_pending,
                                     t->paused,
                                     t->in_sync,
                                     t->configuration_applied,
                                     t->runtime_verification};
    for (size_t i = 0; i < array_len(gauges); i++)
        metric_clear(gauges[i]);
}

void metric_table_fini(struct metric_table *t)
{
    metrics_free(t->registry);
}
