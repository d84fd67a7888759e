#include "daemon/config/operator_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/event.h"
#include "configuration/retry.h"
#include "report/metrics.h"

enum metric_of {
    ATTEMPTS,
    RESULTS,
    TRANSIENT,
    HASH,
    LAST_APPLY,
    DRIFT,
    IN_SYNC,
    SERVER_CERTIFICATE,
    CLIENT_CERTIFICATE,
    METRICS,
};

struct operator_metrics {
    struct metric *metrics[METRICS];
    char *source;
};

static const struct {
    enum metric_type type;
    const char *name, *help, *labels;
} rows[METRICS] = {
    [ATTEMPTS] = {METRIC_COUNTER, "reconcile_attempts_total",
                  "Validations and writes of a configuration that were sent, by phase (validate, apply).", "phase"},
    [RESULTS] = {METRIC_COUNTER, "reconcile_results_total",
                 "Configurations by their result: applied (verified), ConfigRejected, ApplyFailed (not loaded), or the "
                 "class of a failure.",
                 "class"},
    [TRANSIENT] = {METRIC_COUNTER, "transient_errors_total", "Failures after which it is tried again, by class.",
                   "class"},
    [HASH] = {METRIC_GAUGE, "config_hash",
              "Always 1: the SHA-256 of the configuration that was applied or rejected last.", "hash,state"},
    [LAST_APPLY] = {METRIC_GAUGE, "last_successful_apply_timestamp_seconds",
                    "When a HAProxy was last verified to run a configuration, in seconds since the Unix epoch.", ""},
    [DRIFT] = {METRIC_COUNTER, "config_drift_total",
               "Times that haproxy.cfg differed from the configuration that was applied.", "secret"},
    [IN_SYNC] = {METRIC_GAUGE, "config_in_sync", "0 while haproxy.cfg differs from the configuration that was applied.",
                 "secret"},
    [SERVER_CERTIFICATE] = {METRIC_GAUGE, "dataplane_server_cert_expiry_timestamp_seconds",
                            "When the certificate of this Data Plane API, as last seen, expires, in seconds since the "
                            "Unix epoch.",
                            "gateway"},
    [CLIENT_CERTIFICATE] =
        {METRIC_GAUGE, "dataplane_client_cert_expiry_timestamp_seconds",
         "When the daemon's client certificate expires, in seconds since the Unix epoch; 0: there is none.", ""},
};

struct operator_metrics *operator_metrics_new(struct metrics *registry, const char *source)
{
    struct operator_metrics *m = mem_alloc(sizeof(*m));
    for (size_t i = 0; i < METRICS; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("haproxy_operator_%s", rows[i].name);
        m->metrics[i] = metrics_register_whole(registry, rows[i].type, name, rows[i].help, rows[i].labels);
    }
    m->source = mem_strdup(source);
    return m;
}

void operator_metrics_free(struct operator_metrics *m)
{
    if (m == NULL)
        return;
    free(m->source);
    free(m);
}

void operator_metrics_take(struct operator_metrics *m, const struct configuration_event *e)
{
    /* NULL: it is no result. */
    static const char *const classes[CONFIGURATION_EVENT_KINDS] = {[CONFIGURATION_APPLIED] = "applied",
                                                                   [CONFIGURATION_REFUSED] = "ConfigRejected",
                                                                   [CONFIGURATION_REJECTED] = "ConfigRejected",
                                                                   [CONFIGURATION_LOAD_FAILED] = "ApplyFailed"};
    const char *class =
        configuration_event_failed(e->kind) ? retry_class_name(retry_class_of(e->error)) : classes[e->kind];
    if (e->kind == CONFIGURATION_VALIDATING || e->kind == CONFIGURATION_WRITING)
        metric_add(m->metrics[ATTEMPTS], 1, e->kind == CONFIGURATION_WRITING ? "apply" : "validate", NULL);
    if (class != NULL)
        metric_add(m->metrics[RESULTS], 1, class, NULL);
    if (configuration_event_failed(e->kind))
        metric_add(m->metrics[TRANSIENT], 1, class, NULL);
    if (e->kind == CONFIGURATION_APPLIED || e->kind == CONFIGURATION_UNCHANGED)
        metric_set(m->metrics[LAST_APPLY], (double)clock_wall_ms() / 1000.0, NULL);
    if (e->kind == CONFIGURATION_DRIFTED)
        metric_add(m->metrics[DRIFT], 1, m->source, NULL);
}

void operator_metrics_state(struct operator_metrics *m, const char *hash, const char *state, bool drifted)
{
    if (state != NULL && hash != NULL) {
        metric_clear(m->metrics[HASH]);
        metric_set(m->metrics[HASH], 1, hash, state, NULL);
    }
    if (drifted || str_eq(state, "applied"))
        metric_set(m->metrics[IN_SYNC], drifted ? 0 : 1, m->source, NULL);
}

void operator_metrics_stop(struct operator_metrics *m)
{
    metric_clear(m->metrics[HASH]);
    metric_clear(m->metrics[IN_SYNC]);
}

/* The host of the URL, as its user wrote it, without brackets. */
void operator_metrics_certificate(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    const struct operator_metrics *m = arg;
    const char *host = strstr(peer, "://");
    if (host == NULL)
        return;
    host += strlen("://");
    bool literal = host[0] == '[';
    cleanup(mem_free_ptr) char *gateway = mem_strndup(host + literal, strcspn(host + literal, literal ? "]" : ":/"));
    if (str_eq(which, "server"))
        metric_set(m->metrics[SERVER_CERTIFICATE], (double)not_after_s, gateway, NULL);
    else if (str_eq(which, "client"))
        metric_set(m->metrics[CLIENT_CERTIFICATE], (double)not_after_s, NULL);
}
