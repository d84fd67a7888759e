#include "daemon/config/config_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "base/text.h"
#include "configuration/document.h"
#include "configuration/event.h"
#include "configuration/retry.h"
#include "daemon/config/config_source.h"
#include "daemon/events.h"
#include "host/timer.h"
#include "kube/writer.h"
#include "kube/client.h"
#include "model/objects.h"
#include "report/history.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#define SETTLE_MS 1000 /* what is on its way is worth no write */
#define DENIED_PAUSE_MS 600000
#define MESSAGE_MAX_BYTES 1024

/* What one target, or the source, has of the document. */
struct reported {
    bool counts; /* there is such a target */
    enum configuration_event_kind kind;
    const char *class; /* of the last failure */
    bool writing;      /* it was on its way into the file then */
    char *text;        /* of the last Event, NULL: none */
};

enum note { STATUS, STATUS_MESSAGE, OBSERVED, APPLIED, FAILED, UPDATED, APPLIED_AT, NOTES };

static const char *const note_names[NOTES] = {
    [STATUS] = SECRET_ANNOTATIONS "status",
    [STATUS_MESSAGE] = SECRET_ANNOTATIONS "status-message",
    [OBSERVED] = SECRET_ANNOTATIONS "last-observed-hash",
    [APPLIED] = SECRET_ANNOTATIONS "last-applied-hash",
    [FAILED] = SECRET_ANNOTATIONS "last-failed-hash",
    [UPDATED] = SECRET_ANNOTATIONS "last-update-time",
    [APPLIED_AT] = SECRET_ANNOTATIONS "last-applied-time",
};

/* ---- the metrics of that operator ---- */

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

static const struct {
    enum metric_type type;
    const char *name, *help, *labels;
} metric_rows[METRICS] = {
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

struct config_report {
    const struct daemon *in;
    const struct settings *settings;
    size_t target_count; /* that are there from the start */
    const struct config_source *source_of;
    struct events *events;           /* NULL: none */
    struct metric *metrics[METRICS]; /* the operator's */
    char *origin;                    /* of its label `secret`: "namespace/name" or the path of a file */
    struct reported *reported;       /* by their numbers */
    size_t reported_count;
    struct reported source;
    char *hash;                  /* of the document; NULL: none yet */
    struct error problem;        /* the last one of any target or of the source */
    struct annotator *annotator; /* NULL: none */
    char *written[NOTES];        /* in the ConfigMap; NULL: not known */
    bool busy, active;           /* something happened since this replica leads */
    char *written_version;       /* what was written last was written to the Secret of this version */
    struct timer timer;
    struct backoff backoff;
    struct log_limit limit;
};

/* ---- Events and metrics ---- */

static const struct {
    const char *result; /* of the metric, NULL: none */
    enum event_reason reason;
    const char *text;
} kinds[CONFIGURATION_EVENT_KINDS] = {
    [CONFIGURATION_CHANGED] = {"changed", EVENT_NONE, ""},
    [CONFIGURATION_RECOVERED] = {"recovered", EVENT_NONE, ""},
    [CONFIGURATION_REFUSED] = {"refused", EVENT_CONFIG_REJECTED, "refused"},
    [CONFIGURATION_VALIDATED] = {"validated", EVENT_VALIDATION_PASSED, "validated"},
    [CONFIGURATION_APPLIED] = {"applied", EVENT_APPLY_SUCCEEDED, "applied; HAProxy runs it"},
    [CONFIGURATION_UNCHANGED] = {"unchanged", EVENT_CONFIG_UNCHANGED, "unchanged; HAProxy runs it"},
    [CONFIGURATION_REJECTED] = {"rejected", EVENT_CONFIG_REJECTED, "rejected"},
    [CONFIGURATION_LOAD_FAILED] = {"load_failed", EVENT_APPLY_FAILED,
                                   "could not be loaded; the previous one is restored"},
    [CONFIGURATION_DRIFTED] = {"drifted", EVENT_CONFIG_DRIFT, "changed by another writer"},
    [CONFIGURATION_FAILED] = {"failed", EVENT_TRANSIENT_ERROR, "not possible yet; tried again"},
    [CONFIGURATION_NOT_STORED] = {"failed", EVENT_TRANSIENT_ERROR, "files not stored yet; tried again"},
    [CONFIGURATION_STORED] = {NULL, EVENT_CERT_SYNCED, "certificates stored"},
    [CONFIGURATION_VALIDATING] = {NULL, EVENT_NONE, ""},
    [CONFIGURATION_WRITING] = {NULL, EVENT_NONE, ""},
    [CONFIGURATION_WRITTEN] = {NULL, EVENT_NONE, ""},
    [CONFIGURATION_LOADED] = {NULL, EVENT_NONE, ""},
    [CONFIGURATION_CANARY_PASSED] = {"canary_passed", EVENT_CANARY_PASSED,
                                     "works on the HAProxies that got it first; the others get it"},
    [CONFIGURATION_CANARY_FAILED] = {"canary_failed", EVENT_CANARY_FAILED,
                                     "causes problems on a HAProxy that got it first; no other one gets it"},
    [CONFIGURATION_DEGRADED] = {"degraded", EVENT_CONFIG_DEGRADED, "causes problems; nothing is rolled back"},
    [CONFIGURATION_ROLLED_BACK] = {"rolled_back", EVENT_CONFIG_ROLLED_BACK, "rolled back automatically"},
};

/* Of what is tried again. */
static const enum event_reason failures[RETRY_CLASSES] = {
    [RETRY_AUTH] = EVENT_AUTH_ERROR,
    [RETRY_CONFLICT] = EVENT_CONFLICT_ERROR,
    [RETRY_RATE_LIMITED] = EVENT_TRANSIENT_ERROR,
    [RETRY_SERVER] = EVENT_TRANSIENT_ERROR,
    [RETRY_UNKNOWN] = EVENT_TRANSIENT_ERROR,
    [RETRY_TLS] = EVENT_TLS_CONNECTION_ERROR,
    [RETRY_CONNECTION] = EVENT_CONNECTION_ERROR,
};

static void config_report_event(struct config_report *r, struct reported *t, const struct configuration_event *e)
{
    enum event_reason reason =
        configuration_event_failed(e->kind) ? failures[retry_class_of(e->error)] : kinds[e->kind].reason;
    for (size_t i = 0; e->kind == CONFIGURATION_NOT_STORED && i < e->document->files.count; i++)
        if (e->document->files.list[i].kind == STORAGE_CERTIFICATE)
            reason = EVENT_CERT_SYNC_FAILED;
    const char *why = e->error != NULL ? e->error->message : "";
    cleanup(mem_free_ptr) char *text =
        mem_printf("%s%s%s%.12s %s%s%s", e->url != NULL ? e->url : "", e->url != NULL ? ": " : "",
                   e->document != NULL ? "configuration " : "configuration",
                   e->document != NULL ? e->document->hash : "", kinds[e->kind].text, why[0] != '\0' ? ": " : "", why);
    if (reason == EVENT_NONE || str_eq(text, t->text)) /* the same again is no news */
        return;
    free(t->text);
    t->text = mem_strdup(text);
    if (!r->settings->dry_run)
        events_tell(r->events, reason, text);
}

static void config_report_measure_as_operator(const struct config_report *r, const struct configuration_event *e)
{
    /* NULL: it is no result. */
    static const char *const classes[CONFIGURATION_EVENT_KINDS] = {[CONFIGURATION_APPLIED] = "applied",
                                                                   [CONFIGURATION_REFUSED] = "ConfigRejected",
                                                                   [CONFIGURATION_REJECTED] = "ConfigRejected",
                                                                   [CONFIGURATION_LOAD_FAILED] = "ApplyFailed"};
    bool failed = configuration_event_failed(e->kind);
    const char *class = failed ? retry_class_name(retry_class_of(e->error)) : classes[e->kind];
    if (e->kind == CONFIGURATION_VALIDATING || e->kind == CONFIGURATION_WRITING)
        metric_add(r->metrics[ATTEMPTS], 1, e->kind == CONFIGURATION_WRITING ? "apply" : "validate", NULL);
    if (class != NULL)
        metric_add(r->metrics[RESULTS], 1, class, NULL);
    if (failed)
        metric_add(r->metrics[TRANSIENT], 1, class, NULL);
    if (e->kind == CONFIGURATION_APPLIED || e->kind == CONFIGURATION_UNCHANGED)
        metric_set(r->metrics[LAST_APPLY], (double)clock_wall_ms() / 1000.0, NULL);
    if (e->kind == CONFIGURATION_DRIFTED)
        metric_add(r->metrics[DRIFT], 1, r->origin, NULL);
}

static void config_report_measure(const struct config_report *r, const struct configuration_event *e)
{
    const struct metric_table *t = r->in->metrics;
    const char *target = e->url != NULL ? e->url : "";
    bool runs = e->kind == CONFIGURATION_APPLIED || e->kind == CONFIGURATION_UNCHANGED;
    config_report_measure_as_operator(r, e);
    if (kinds[e->kind].result == NULL)
        return;
    metric_add(t->configuration_results, 1, kinds[e->kind].result, target, NULL);
    if (e->kind == CONFIGURATION_ROLLED_BACK || e->kind == CONFIGURATION_LOAD_FAILED)
        metric_add(t->configuration_rollbacks, 1, e->reason, NULL);
    if (e->kind == CONFIGURATION_CHANGED)
        metric_clear(t->configuration_applied);
    else if (e->url != NULL && !configuration_event_failed(e->kind) && !configuration_event_of_watch(e->kind))
        metric_set(t->configuration_applied, runs ? 1 : 0, target, NULL);
    if (runs)
        metric_set(t->configuration_last_applied, (double)clock_wall_ms() / 1000.0, target, NULL);
}

/* ---- the annotations ---- */

static size_t config_report_count(const struct config_report *r, enum configuration_event_kind kind)
{
    size_t count = r->source.kind == kind ? 1 : 0;
    for (size_t i = 0; i < r->reported_count; i++)
        count += r->reported[i].counts && r->reported[i].kind == kind ? 1 : 0;
    return count;
}

static size_t config_report_targets(const struct config_report *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->reported_count; i++)
        count += r->reported[i].counts;
    return count;
}

static size_t config_report_running(const struct config_report *r)
{
    return config_report_count(r, CONFIGURATION_APPLIED) + config_report_count(r, CONFIGURATION_UNCHANGED);
}

static void config_report_forget_written(struct config_report *r)
{
    for (size_t i = 0; i < NOTES; i++) {
        free(r->written[i]);
        r->written[i] = NULL;
    }
}

/* The operator's words for what is wrong; NULL: nothing is. */
static char *config_report_trouble(const struct config_report *r)
{
    static const struct {
        enum configuration_event_kind kind;
        const char *status;
    } words[] = {{CONFIGURATION_REFUSED, "Error"},
                 {CONFIGURATION_REJECTED, "ConfigRejected"},
                 {CONFIGURATION_LOAD_FAILED, "ApplyFailed"},
                 {CONFIGURATION_DRIFTED, "ConfigDrift"},
                 {CONFIGURATION_ROLLED_BACK, "RolledBack"}};
    for (size_t i = 0; i < array_len(words); i++)
        if (config_report_count(r, words[i].kind) > 0)
            return mem_strdup(words[i].status);
    for (size_t i = 0; i < r->reported_count; i++)
        if (r->reported[i].counts && configuration_event_failed(r->reported[i].kind))
            return mem_printf("%s%s", r->reported[i].writing ? "Apply" : "", r->reported[i].class);
    return NULL;
}

/* Whether it says so: what is to go is not there. o NULL: the ConfigMap. */
static bool config_report_says(const struct config_report *r, const struct secret_object *o, enum note note,
                               const char *value)
{
    const char *has = o == NULL ? r->written[note] : NULL;
    for (size_t i = 0; o != NULL && i < o->annotation_count && has == NULL; i++)
        if (str_eq(o->annotations[i].name, note_names[note]))
            has = o->annotations[i].value;
    return value == NULL || str_eq(value, has != NULL ? has : "");
}

static void config_report_send(struct config_report *r, const struct secret_object *o, char *notes[NOTES])
{
    struct annotation list[NOTES];
    char now[RFC3339_BYTES];
    size_t count = 0;
    struct error err = {0};
    rfc3339_format((int64_t)clock_wall_ms() * 1000, 0, now);
    notes[UPDATED] = mem_strdup(now);
    if (!config_report_says(r, o, APPLIED, notes[APPLIED]))
        notes[APPLIED_AT] = mem_strdup(now);
    for (size_t i = 0; i < NOTES; i++) {
        if (notes[i] == NULL)
            continue;
        list[count++] = (struct annotation){note_names[i] + (o == NULL ? strlen(SECRET_ANNOTATIONS) : 0),
                                            notes[i][0] != '\0' ? notes[i] : NULL};
        free(r->written[i]);
        r->written[i] = mem_strdup(notes[i]);
    }
    cleanup(mem_free_ptr) char *path = mem_printf(
        "/api/v1/namespaces/%s/%s/%s", r->settings->config_secret_namespace, o == NULL ? "configmaps" : "secrets",
        o == NULL ? r->settings->config_report_configmap : r->settings->config_secret_name);
    r->busy = annotator_send(r->annotator, path, o != NULL ? o->version : NULL, list, count, &err) == 0;
    if (r->busy)
        return;
    config_report_forget_written(r);
    timer_set(&r->timer, backoff_next_ms(&r->backoff));
}

static void config_report_write(void *arg)
{
    struct config_report *r = arg;
    char *notes[NOTES] = {NULL};
    bool differs = false;
    bool on_secret = r->settings->config_report_configmap == NULL;
    const struct secret_object *o = on_secret ? config_source_object(r->source_of) : NULL;
    if (r->busy || !r->active || (on_secret && (o == NULL || o->version == NULL)))
        return;
    /* Ours has not come back by the watch yet. */
    if (on_secret && str_eq(r->written_version, o->version))
        return;
    /* What the Secret should say: a NULL stays as it is, "" goes. */
    size_t targets = config_report_targets(r), running = config_report_running(r);
    char *trouble = config_report_trouble(r);
    bool applied = trouble == NULL && running == targets;
    bool judged =
        config_report_count(r, CONFIGURATION_REJECTED) > 0 || config_report_count(r, CONFIGURATION_LOAD_FAILED) > 0;
    notes[STATUS_MESSAGE] = trouble != NULL ? text_shown(r->problem.message, TEXT_LINE, MESSAGE_MAX_BYTES)
                            : applied       ? mem_strdup("")
                                            : mem_printf("%zu of %zu HAProxies run it", running, targets);
    notes[STATUS] = trouble != NULL ? trouble : mem_strdup(applied ? "Applied" : "Pending");
    notes[OBSERVED] = r->hash != NULL ? mem_strdup(r->hash) : NULL;
    notes[APPLIED] = applied && r->hash != NULL ? mem_strdup(r->hash) : NULL;
    notes[FAILED] = applied ? mem_strdup("") : judged && r->hash != NULL ? mem_strdup(r->hash) : NULL;
    for (enum note i = 0; i < UPDATED; i++)
        differs = differs || !config_report_says(r, o, i, notes[i]);
    if (differs) {
        free(r->written_version);
        r->written_version = o != NULL ? mem_strdup(o->version) : NULL;
        config_report_send(r, o, notes);
    }
    for (size_t i = 0; i < NOTES; i++)
        free(notes[i]);
}

static void config_report_on_done(void *arg, enum annotate_outcome outcome, const struct error *err)
{
    struct config_report *r = arg;
    unsigned held_back;
    r->busy = false;
    bool on_secret = r->settings->config_report_configmap == NULL;
    if (outcome == ANNOTATE_WRITTEN) {
        backoff_reset(&r->backoff);
        if (!on_secret) /* of a Secret the watch brings it, and config_report_source_changed compares again */
            timer_set_sooner(&r->timer, 0);
        return;
    }
    free(r->written_version);
    r->written_version = NULL;
    config_report_forget_written(r);
    timer_set(&r->timer, outcome == ANNOTATE_DENIED ? DENIED_PAUSE_MS : backoff_next_ms(&r->backoff));
    if (outcome != ANNOTATE_CONFLICT && !kube_client_has_logged(r->in->kube, err->message) &&
        log_limit_pass_message(&r->limit, clock_mono_ms(), err->message, &held_back))
        log_warn(r->in->log,
                 on_secret ? "cannot write annotations of the Secret" : "cannot write CONFIG_REPORT_CONFIGMAP",
                 log_str("namespace", r->settings->config_secret_namespace),
                 log_str("secret", r->settings->config_secret_name), log_str("error", err->message),
                 log_str("hint", outcome != ANNOTATE_DENIED ? NULL
                                 : on_secret ? "the right patch on this one Secret, or CONFIG_REPORT=events"
                                             : "the right patch on this one ConfigMap"),
                 log_if(held_back > 0, log_int("repeated", held_back)));
}

void config_report_source_changed(struct config_report *r)
{
    if (r->annotator != NULL && r->active)
        timer_set_sooner(&r->timer, 0);
}

/* ---- what happened ---- */

static void config_report_forget_all(struct config_report *r)
{
    r->source.kind = CONFIGURATION_CHANGED;
    for (size_t i = 0; i < r->reported_count; i++)
        r->reported[i].kind = CONFIGURATION_CHANGED;
}

static void config_report_remember(const struct config_report *r, const struct configuration_event *e)
{
    static const int as[CONFIGURATION_EVENT_KINDS] = {[CONFIGURATION_APPLIED] = HISTORY_CONFIG_APPLIED,
                                                      [CONFIGURATION_REFUSED] = HISTORY_CONFIG_REJECTED,
                                                      [CONFIGURATION_REJECTED] = HISTORY_CONFIG_REJECTED,
                                                      [CONFIGURATION_LOAD_FAILED] = HISTORY_CONFIG_REJECTED,
                                                      [CONFIGURATION_DRIFTED] = HISTORY_CONFIG_DRIFTED,
                                                      [CONFIGURATION_CANARY_FAILED] = HISTORY_CONFIG_ROLLED_BACK,
                                                      [CONFIGURATION_DEGRADED] = HISTORY_CONFIG_ROLLED_BACK,
                                                      [CONFIGURATION_ROLLED_BACK] = HISTORY_CONFIG_ROLLED_BACK};
    if (as[e->kind] == 0) /* HISTORY_COMMITTED, which is no such */
        return;
    cleanup(mem_free_ptr) char *text =
        e->document != NULL ? mem_printf("%s, %.12s: %s", e->document->origin, e->document->hash, kinds[e->kind].text)
                            : mem_printf("configuration %s", kinds[e->kind].text);
    const struct history_entry entry = {.kind = (enum history_kind)as[e->kind],
                                        .target = e->url != NULL ? e->url : "",
                                        .text = text,
                                        .why = e->error != NULL ? e->error->message : NULL};
    history_add(r->in->history, &entry);
}

void config_report_take(struct config_report *r, const struct configuration_event *e)
{
    struct reported *t = &r->source;
    if (e->url != NULL) {
        if (e->target >= r->reported_count) {
            r->reported = mem_resize(r->reported, e->target + 1, sizeof(r->reported[0]));
            memset(&r->reported[r->reported_count], 0, (e->target + 1 - r->reported_count) * sizeof(r->reported[0]));
            r->reported_count = e->target + 1;
        }
        t = &r->reported[e->target];
        t->counts = true;
    }
    if (e->kind == CONFIGURATION_GONE) {
        free(t->text);
        *t = (struct reported){0};
        return;
    }
    r->active = true;
    config_report_measure(r, e);
    config_report_remember(r, e);
    if (e->kind == CONFIGURATION_CHANGED) {
        free(r->hash);
        r->hash = mem_strdup(e->document->hash);
        config_report_forget_all(r);
    }
    config_report_event(r, t, e);
    /* What t has now; HAProxy goes on with what it runs while its API is away. */
    bool runs = t->kind == CONFIGURATION_APPLIED || t->kind == CONFIGURATION_UNCHANGED;
    bool failed = configuration_event_failed(e->kind);
    if (e->error != NULL)
        r->problem = *e->error;
    if (failed && !runs)
        t->class = retry_class_name(retry_class_of(e->error));
    if (e->kind == CONFIGURATION_VALIDATING || e->kind == CONFIGURATION_WRITING)
        t->writing = e->kind == CONFIGURATION_WRITING;
    else if (!configuration_event_is_step(e->kind) && !configuration_event_of_watch(e->kind) && !(failed && runs))
        t->kind = e->kind;
    /* For the operator's metrics: neither, while it is on its way. */
    bool drifted = config_report_count(r, CONFIGURATION_DRIFTED) > 0;
    bool rejected = config_report_count(r, CONFIGURATION_REJECTED) > 0;
    bool applied = config_report_running(r) == config_report_targets(r);
    if ((rejected || applied) && r->hash != NULL) {
        metric_clear(r->metrics[HASH]);
        metric_set(r->metrics[HASH], 1, r->hash, rejected ? "rejected" : "applied", NULL);
    }
    if (drifted || (applied && !rejected))
        metric_set(r->metrics[IN_SYNC], drifted ? 0 : 1, r->origin, NULL);
    if (r->annotator != NULL)
        timer_set_sooner(&r->timer, e->kind == CONFIGURATION_REJECTED || applied ? 0 : SETTLE_MS);
}

void config_report_stop(struct config_report *r)
{
    r->active = false;
    config_report_forget_written(r);
    metric_clear(r->metrics[HASH]);
    metric_clear(r->metrics[IN_SYNC]);
    config_report_forget_all(r);
    for (size_t i = r->target_count; i < r->reported_count; i++)
        r->reported[i].counts = false; /* they may be others when it leads again */
}

/* ---- life ---- */

/* The host of the URL, as its user wrote it, without brackets. */
void config_report_certificate(void *report, const char *peer, const char *which, int64_t not_after_s)
{
    const struct config_report *r = report;
    const char *host = strstr(peer, "://");
    if (host == NULL)
        return;
    host += strlen("://");
    bool literal = host[0] == '[';
    cleanup(mem_free_ptr) char *gateway = mem_strndup(host + literal, strcspn(host + literal, literal ? "]" : ":/"));
    if (str_eq(which, "server"))
        metric_set(r->metrics[SERVER_CERTIFICATE], (double)not_after_s, gateway, NULL);
    else if (str_eq(which, "client"))
        metric_set(r->metrics[CLIENT_CERTIFICATE], (double)not_after_s, NULL);
}

struct config_report *config_report_new(const struct daemon *in, size_t target_count,
                                        const struct config_source *source, struct events *events)
{
    const struct settings *settings = in->settings;
    bool by_secret = settings->config_source == SETTINGS_CONFIG_SECRET;
    bool annotates = by_secret && (settings->config_report_configmap != NULL ||
                                   settings->config_report == SETTINGS_REPORT_ANNOTATION);
    struct config_report *r = mem_alloc(sizeof(*r));
    *r = (struct config_report){.in = in,
                                .settings = settings,
                                .target_count = target_count,
                                .source_of = source,
                                .events = events,
                                .reported = mem_array(target_count, sizeof(r->reported[0])),
                                .reported_count = target_count};
    r->origin = by_secret ? mem_printf("%s/%s", settings->config_secret_namespace, settings->config_secret_name)
                          : mem_strdup(settings->config_file != NULL ? settings->config_file : "templates");
    for (size_t i = 0; i < METRICS; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("haproxy_operator_%s", metric_rows[i].name);
        r->metrics[i] = metrics_register_whole(in->metrics->registry, metric_rows[i].type, name, metric_rows[i].help,
                                               metric_rows[i].labels);
    }
    for (size_t i = 0; i < r->reported_count; i++)
        r->reported[i].counts = true;
    if (annotates && !settings->dry_run)
        r->annotator = annotator_new(in->kube, config_report_on_done, r);
    timer_init(&r->timer, in->base, config_report_write, r);
    backoff_init(&r->backoff, 1000, 60000, 500, backoff_random_seed());
    r->limit.period_ms = DENIED_PAUSE_MS;
    return r;
}

void config_report_free(struct config_report *r)
{
    if (r == NULL)
        return;
    annotator_free(r->annotator);
    timer_fini(&r->timer);
    config_report_forget_written(r);
    for (size_t i = 0; i < r->reported_count; i++)
        free(r->reported[i].text);
    mem_free_all(r->source.text, r->origin, r->reported, r->hash, r->written_version, r);
}
