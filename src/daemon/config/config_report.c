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
#include "daemon/config/operator_metrics.h"
#include "daemon/events.h"
#include "host/timer.h"
#include "kube/writer.h"
#include "kube/client.h"
#include "model/objects.h"
#include "report/history.h"
#include "report/telemetry.h"

#define SETTLE_MS 1000 /* what is on its way is worth no write */
#define DENIED_PAUSE_MS 600000
#define MESSAGE_MAX_BYTES 1024

/* What one target, or the source, has of the document. */
struct told {
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

struct config_report {
    struct config_report_options options;
    struct told *told; /* by their numbers */
    size_t told_count;
    struct told source;
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

static enum event_reason config_report_reason(const struct configuration_event *e)
{
    if (!configuration_event_failed(e->kind))
        return kinds[e->kind].reason;
    for (size_t i = 0; e->kind == CONFIGURATION_NOT_STORED && i < e->document->files.count; i++)
        if (e->document->files.list[i].kind == STORAGE_CERTIFICATE)
            return EVENT_CERT_SYNC_FAILED;
    return failures[retry_class_of(e->error)];
}

static void config_report_tell(struct config_report *r, struct told *t, const struct configuration_event *e)
{
    enum event_reason reason = config_report_reason(e);
    const char *why = e->error != NULL ? e->error->message : "";
    cleanup(mem_free_ptr) char *text =
        mem_printf("%s%s%s%.12s %s%s%s", e->url != NULL ? e->url : "", e->url != NULL ? ": " : "",
                   e->document != NULL ? "configuration " : "configuration",
                   e->document != NULL ? e->document->hash : "", kinds[e->kind].text, why[0] != '\0' ? ": " : "", why);
    if (reason == EVENT_NONE || str_eq(text, t->text)) /* the same again is no news */
        return;
    free(t->text);
    t->text = mem_strdup(text);
    if (!r->options.dry_run)
        events_tell(r->options.events, reason, text);
}

static void config_report_measure(const struct config_report *r, const struct configuration_event *e)
{
    const struct telemetry *t = r->options.telemetry;
    const char *target = e->url != NULL ? e->url : "";
    bool runs = e->kind == CONFIGURATION_APPLIED || e->kind == CONFIGURATION_UNCHANGED;
    if (r->options.operator_metrics != NULL)
        operator_metrics_take(r->options.operator_metrics, e);
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
    for (size_t i = 0; i < r->told_count; i++)
        count += r->told[i].counts && r->told[i].kind == kind ? 1 : 0;
    return count;
}

static size_t config_report_targets(const struct config_report *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->told_count; i++)
        count += r->told[i].counts;
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

/* NULL: not said. o NULL: the ConfigMap. */
static const char *config_report_has(const struct config_report *r, const struct secret_object *o, enum note note)
{
    if (o == NULL)
        return r->written[note];
    for (size_t i = 0; i < o->annotation_count; i++)
        if (str_eq(o->annotations[i].name, note_names[note]))
            return o->annotations[i].value;
    return NULL;
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
    for (size_t i = 0; i < r->told_count; i++)
        if (r->told[i].counts && configuration_event_failed(r->told[i].kind))
            return mem_printf("%s%s", r->told[i].writing ? "Apply" : "", r->told[i].class);
    return NULL;
}

/* What the Secret should say: a NULL stays as it is, "" goes. */
static void config_report_state(const struct config_report *r, char *ret[NOTES])
{
    size_t targets = config_report_targets(r), running = config_report_running(r);
    char *trouble = config_report_trouble(r);
    bool applied = trouble == NULL && running == targets;
    bool judged =
        config_report_count(r, CONFIGURATION_REJECTED) > 0 || config_report_count(r, CONFIGURATION_LOAD_FAILED) > 0;
    ret[STATUS_MESSAGE] = trouble != NULL ? text_shown(r->problem.message, TEXT_LINE, MESSAGE_MAX_BYTES)
                          : applied       ? mem_strdup("")
                                          : mem_printf("%zu of %zu HAProxies run it", running, targets);
    ret[STATUS] = trouble != NULL ? trouble : mem_strdup(applied ? "Applied" : "Pending");
    ret[OBSERVED] = r->hash != NULL ? mem_strdup(r->hash) : NULL;
    ret[APPLIED] = applied && r->hash != NULL ? mem_strdup(r->hash) : NULL;
    ret[FAILED] = applied ? mem_strdup("") : judged && r->hash != NULL ? mem_strdup(r->hash) : NULL;
}

/* Whether it says so: what is to go is not there. */
static bool config_report_says(const struct config_report *r, const struct secret_object *o, enum note note,
                               const char *value)
{
    const char *has = config_report_has(r, o, note);
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
    cleanup(mem_free_ptr) char *path =
        mem_printf("/api/v1/namespaces/%s/%s/%s", r->options.secret_namespace, o == NULL ? "configmaps" : "secrets",
                   o == NULL ? r->options.configmap : r->options.secret_name);
    r->busy = annotator_send(r->annotator, path, o != NULL ? o->version : NULL, list, count, &err) == 0;
    if (r->busy)
        return;
    config_report_forget_written(r);
    timer_set(&r->timer, backoff_next_ms(&r->backoff));
}

/* Sends what differs. */
static void config_report_compare(struct config_report *r, const struct secret_object *o, char *notes[NOTES])
{
    bool differs = false;
    for (enum note i = 0; i < UPDATED; i++)
        differs = differs || !config_report_says(r, o, i, notes[i]);
    if (!differs)
        return;
    free(r->written_version);
    r->written_version = o != NULL ? mem_strdup(o->version) : NULL;
    config_report_send(r, o, notes);
}

static void config_report_write(void *arg)
{
    struct config_report *r = arg;
    char *notes[NOTES] = {NULL};
    bool on_secret = r->options.configmap == NULL;
    const struct secret_object *o = on_secret ? config_source_secret(r->options.source) : NULL;
    if (r->busy || !r->active || (on_secret && (o == NULL || o->version == NULL)))
        return;
    /* Ours has not come back by the watch yet. */
    if (on_secret && str_eq(r->written_version, o->version))
        return;
    config_report_state(r, notes);
    config_report_compare(r, o, notes);
    for (size_t i = 0; i < NOTES; i++)
        free(notes[i]);
}

static void config_report_on_done(void *arg, enum annotate_outcome outcome, const struct error *err)
{
    struct config_report *r = arg;
    unsigned held_back;
    r->busy = false;
    bool on_secret = r->options.configmap == NULL;
    if (outcome == ANNOTATE_WRITTEN) {
        backoff_reset(&r->backoff);
        if (!on_secret) /* of a Secret the watch brings it, and config_report_source_changed looks again */
            timer_set_sooner(&r->timer, 0);
        return;
    }
    free(r->written_version);
    r->written_version = NULL;
    config_report_forget_written(r);
    timer_set(&r->timer, outcome == ANNOTATE_DENIED ? DENIED_PAUSE_MS : backoff_next_ms(&r->backoff));
    if (outcome != ANNOTATE_CONFLICT && !kube_client_has_logged(r->options.kube, err->message) &&
        log_limit_pass_message(&r->limit, clock_mono_ms(), err->message, &held_back))
        log_warn(r->options.log,
                 on_secret ? "cannot write annotations of the Secret" : "cannot write CONFIG_REPORT_CONFIGMAP",
                 log_str("namespace", r->options.secret_namespace), log_str("secret", r->options.secret_name),
                 log_str("error", err->message),
                 log_str("hint", outcome != ANNOTATE_DENIED ? NULL
                                 : on_secret ? "the right patch on this one Secret, or CONFIG_REPORT=events"
                                             : "the right patch on this one ConfigMap"),
                 log_if(held_back > 0, log_int("repeated", held_back)));
}

void config_report_source_changed(struct config_report *r)
{
    if (r != NULL && r->annotator != NULL && r->active)
        timer_set_sooner(&r->timer, 0);
}

/* ---- what happened ---- */

static void config_report_forget_all(struct config_report *r)
{
    r->source.kind = CONFIGURATION_CHANGED;
    for (size_t i = 0; i < r->told_count; i++)
        r->told[i].kind = CONFIGURATION_CHANGED;
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
    history_add(r->options.history, &entry);
}

static struct told *config_report_told(struct config_report *r, const struct configuration_event *e)
{
    if (e->url == NULL)
        return &r->source;
    if (e->target >= r->told_count) {
        r->told = mem_resize(r->told, e->target + 1, sizeof(r->told[0]));
        memset(&r->told[r->told_count], 0, (e->target + 1 - r->told_count) * sizeof(r->told[0]));
        r->told_count = e->target + 1;
    }
    r->told[e->target].counts = true;
    return &r->told[e->target];
}

void config_report_take(struct config_report *r, const struct configuration_event *e)
{
    if (r == NULL)
        return;
    struct told *t = config_report_told(r, e);
    if (e->kind == CONFIGURATION_GONE) {
        free(t->text);
        *t = (struct told){0};
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
    config_report_tell(r, t, e);
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
    if (r->options.operator_metrics != NULL)
        operator_metrics_state(r->options.operator_metrics, r->hash,
                               rejected  ? "rejected"
                               : applied ? "applied"
                                         : NULL,
                               drifted);
    if (r->annotator != NULL)
        timer_set_sooner(
            &r->timer,
            e->kind == CONFIGURATION_REJECTED || config_report_running(r) == config_report_targets(r) ? 0 : SETTLE_MS);
}

void config_report_stop(struct config_report *r)
{
    if (r == NULL)
        return;
    r->active = false;
    config_report_forget_written(r);
    if (r->options.operator_metrics != NULL)
        operator_metrics_stop(r->options.operator_metrics);
    config_report_forget_all(r);
    for (size_t i = r->options.target_count; i < r->told_count; i++)
        r->told[i].counts = false; /* they may be others when it leads again */
}

/* ---- life ---- */

struct config_report *config_report_new(struct event_base *base, const struct config_report_options *options)
{
    struct config_report *r = mem_alloc(sizeof(*r));
    r->options = *options;
    r->told = mem_array(options->target_count, sizeof(r->told[0]));
    r->told_count = options->target_count;
    for (size_t i = 0; i < r->told_count; i++)
        r->told[i].counts = true;
    if (options->kube != NULL && !options->dry_run)
        r->annotator = annotator_new(options->kube, config_report_on_done, r);
    timer_init(&r->timer, base, config_report_write, r);
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
    for (size_t i = 0; i < r->told_count; i++)
        free(r->told[i].text);
    free(r->source.text);
    free(r->told);
    free(r->hash);
    free(r->written_version);
    free(r);
}
