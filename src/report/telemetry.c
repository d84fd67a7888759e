#include "report/telemetry.h"

#include "base/str.h"

/* Those that each backend has. */
static void telemetry_init_backends(struct telemetry *t)
{
    struct metrics *m = t->registry;
    t->servers_desired = metrics_register(m, METRIC_GAUGE, "servers_desired",
                                          "Servers that HAProxy should have in rotation.", "backend,target");
    t->servers_up = metrics_register(m, METRIC_GAUGE, "servers_up",
                                     "Of the desired servers, those that HAProxy's health check does not call down; "
                                     "read once every RESYNC_PERIOD. No sample where it cannot be read.",
                                     "backend,target");
    t->servers_draining =
        metrics_register(m, METRIC_GAUGE, "servers_draining",
                         "Servers that should get no new connections until they are gone.", "backend,target");
    t->servers_actual =
        metrics_register(m, METRIC_GAUGE, "servers_actual",
                         "Servers of ours in HAProxy's configuration, but for the parked ones.", "backend,target");
    t->servers_parked =
        metrics_register(m, METRIC_GAUGE, "servers_parked",
                         "Servers of ours that are kept in maintenance until they are wanted again.", "backend,target");
    t->servers_overridden = metrics_register(
        m, METRIC_GAUGE, "servers_overridden",
        "Servers that somebody else has put into drain or maint in the running HAProxy.", "backend,target");
    t->servers_held =
        metrics_register(m, METRIC_GAUGE, "servers_held",
                         "Servers that the loss limit keeps though they are not wanted any more.", "backend,target");
    t->changes_withheld =
        metrics_register(m, METRIC_GAUGE, "changes_withheld",
                         "Changes that would be written, were it not a dry run or paused.", "backend,target");
    t->paused = metrics_register(m, METRIC_GAUGE, "paused", "1 where the Service's annotation pauses writing.",
                                 "backend,target");
    t->undone = metrics_register(m, METRIC_COUNTER, "changes_undone_total", "Changes of ours that somebody else undid.",
                                 "backend,target");
    t->in_sync = metrics_register(m, METRIC_GAUGE, "in_sync",
                                  "1 when HAProxy has the wanted servers and has loaded them.", "backend,target");
    t->last_success = metrics_register(m, METRIC_GAUGE, "last_success_timestamp_seconds",
                                       "When HAProxy was last seen in step, since the Unix epoch.", "backend,target");
}

void telemetry_init(struct telemetry *t, const char *version)
{
    struct metrics *m = metrics_new();
    t->registry = m;
    t->reconciles = metrics_register(m, METRIC_COUNTER, "reconciles_total",
                                     "Comparisons of HAProxy with the wish, by what came of them.", "result,target");
    t->transactions = metrics_register(m, METRIC_COUNTER, "transactions_total",
                                       "Data Plane API transactions by ending.", "result,target");
    t->requests =
        metrics_register(m, METRIC_COUNTER, "requests_total",
                         "Requests sent, by target, method and HTTP status (0: no answer).", "target,method,code*");
    t->event_to_commit = metrics_register(m, METRIC_HISTOGRAM, "event_to_commit_seconds",
                                          "From the arrival of a watch event until the file had what it caused.", "");
    t->event_to_runtime = metrics_register(
        m, METRIC_HISTOGRAM, "event_to_runtime_seconds",
        "From the arrival of a watch event until the running HAProxy had been told to give a server no "
        "new connections.",
        "");
    t->transaction_duration = metrics_register(m, METRIC_HISTOGRAM, "transaction_duration_seconds",
                                               "From the begin of a transaction to its end.", "");
    telemetry_init_backends(t);
    t->reloads =
        metrics_register(m, METRIC_COUNTER, "reloads_total", "HAProxy reloads followed, by ending.", "result,target");
    t->runtime_proven =
        metrics_register(m, METRIC_GAUGE, "runtime_proven",
                         "1 once a change without a reload was seen in the running HAProxy, 0 before, -1 where it "
                         "does not follow or cannot be read.",
                         "target");
    t->drifts = metrics_register(m, METRIC_COUNTER, "drifts_total",
                                 "Times that the running HAProxy was not what its file says.", "target");
    t->fast_writes = metrics_register(m, METRIC_COUNTER, "fast_writes_total",
                                      "Servers changed without a reload, by ending.", "result,target");
    t->runtime_calls =
        metrics_register(m, METRIC_COUNTER, "runtime_calls_total",
                         "States set in the running HAProxy alone, by state and ending.", "state,result,target");
    t->watch_restarts = metrics_register(m, METRIC_COUNTER, "watch_restarts_total",
                                         "Watches that ended and were begun again, by reason.", "resource,reason");
    t->relists = metrics_register(m, METRIC_COUNTER, "relists_total", "Full lists, by reason.", "resource,reason");
    t->objects = metrics_register(m, METRIC_GAUGE, "objects", "Objects in the cache.", "resource");
    t->watch_age = metrics_register(m, METRIC_GAUGE, "watch_last_byte_age_seconds",
                                    "Time since the last byte of each watch.", "resource");
    t->certificate_expiry = metrics_register(
        m, METRIC_GAUGE, "tls_certificate_expiry_seconds",
        "Time until a TLS certificate expires: of a CA's file the one that does first, our client certificate, and the "
        "server's as seen last.",
        "peer,certificate");
    t->events = metrics_register(m, METRIC_COUNTER, "events_total",
                                 "Kubernetes Events on the Services, by what became of them.", "result");
    t->log_lines_dropped = metrics_register(m, METRIC_COUNTER, "log_lines_dropped_total",
                                            "Lines of the log that nobody read in time.", "");
    t->build_info =
        metrics_register(m, METRIC_GAUGE, "build_info", "Always 1; the version is in the label.", "version");
    t->dry_run =
        metrics_register(m, METRIC_GAUGE, "dry_run", "1 where DRY_RUN keeps everything from being written.", "");
    t->leader = metrics_register(m, METRIC_GAUGE, "leader",
                                 "1 where this replica is the one that acts; without LEADER_ELECT it always is.", "");
    metric_set(t->build_info, 1, version, NULL);
    metric_set(t->dry_run, 0, NULL);
}

void telemetry_forget_targets(struct telemetry *t)
{
    struct metric *const gauges[] = {t->servers_desired, t->servers_up,   t->servers_draining,   t->servers_actual,
                                     t->servers_parked,  t->servers_held, t->servers_overridden, t->changes_withheld,
                                     t->paused,          t->in_sync,      t->runtime_proven};
    for (size_t i = 0; i < array_len(gauges); i++)
        metric_clear(gauges[i]);
}

void telemetry_fini(struct telemetry *t)
{
    metrics_free(t->registry);
}
