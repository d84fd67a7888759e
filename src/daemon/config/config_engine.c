#include "daemon/config/config_engine.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "configuration/configuration.h"
#include "configuration/culprits.h"
#include "configuration/store.h"
#include "daemon/certificates.h"
#include "daemon/config/config_report.h"
#include "daemon/config/config_requests.h"
#include "daemon/config/config_source.h"
#include "daemon/config/config_trace.h"
#include "daemon/config/operator_metrics.h"
#include "daemon/etcd/etcd_access.h"
#include "daemon/etcd/etcd_report.h"
#include "daemon/etcd/load_balancers.h"
#include "daemon/etcd/publisher.h"
#include "host/timer.h"
#include "report/checks.h"
#include "report/telemetry.h"
#include "settings/settings.h"

#define TAKE_MS 500
/* A load balancer that says nothing of a version for so long is waited for no longer. One that is gone left before. */
#define WAIT_MS (ETCD_REPORT_LEASE_S * 1000u)

struct config_engine {
    struct event_base *base;
    struct config_engine_options options;
    struct config_engine_callbacks callbacks;
    void *arg;
    struct store *store; /* taken while this replica leads */
    struct timer take;   /* another one has it still, whose successor this one is */
    bool waits;
    struct etcd_access *etcd;              /* NULL: not needed */
    struct etcd_report *etcd_report;       /* NULL: the source is not there */
    struct publisher *publisher;           /* NULL: it does not go there */
    struct load_balancers *load_balancers; /* the same */
    struct timer judge;                    /* what they make of a version */
    uint64_t judged, judged_since_ms;      /* that version; when it lay there first */
    struct config_source *source;
    struct config_requests *requests; /* NULL: no STATE_DIR */
    struct config_report *report;
    struct config_trace *trace; /* NULL: none */
    struct operator_metrics *operator_metrics;
    struct configuration *configuration; /* NULL: another replica leads */
    bool seen;                           /* the source knows what its HAProxies had in their files */
    struct events *events;               /* NULL: none are written */
};

static void config_engine_poke_report(const struct config_engine *e)
{
    struct culprits_verdict v;
    bool known = config_source_verdict(e->source, &v);
    etcd_report_poke(e->etcd_report, known ? &v : NULL);
}

/* ---- the source; config_engine_give has it call back with what it has ---- */

/* Whether HAProxies get what the source has. A document with places of servers is made anew first, with the places that they have:
 * another leader, or an earlier run, may have given others. */
static bool config_engine_gives(struct config_engine *e)
{
    cleanup(buf_fini) struct buf text;
    buf_init_secret(&text, 0);
    if (e->configuration == NULL || e->seen || !config_source_places(e->source))
        return e->configuration != NULL;
    if (configuration_runs(e->configuration, &text)) {
        e->seen = true;
        config_source_see(e->source, &text);
    }
    return false;
}

static void config_engine_on_read(void *arg)
{
    (void)config_engine_gives(arg);
}

static void config_engine_on_changed(void *arg, struct document *d)
{
    struct config_engine *e = arg;
    config_report_source_changed(e->report);
    e->callbacks.read(e->arg);
    bool gives = config_engine_gives(e);
    config_trace_document(e->trace, d, gives);
    publisher_set(e->publisher, d);
    if (gives)
        configuration_set(e->configuration, d);
    config_engine_poke_report(e);
}

static void config_engine_on_followed(void *arg, struct document *d)
{
    struct config_engine *e = arg;
    bool gives = config_engine_gives(e);
    config_trace_document(e->trace, d, gives);
    publisher_set(e->publisher, d);
    if (gives)
        configuration_follow(e->configuration, d);
}

/* etcd cannot be read, and was not since the start: HAProxy gets what ran last, where it runs something else. */
static void config_engine_fall_back(const struct config_engine *e)
{
    struct error err = {0};
    if (e->options.settings->config_source != SETTINGS_CONFIG_ETCD || e->configuration == NULL ||
        config_source_has(e->source) || store_count(e->store) == 0)
        return;
    cleanup(document_unref_ptr) struct document *d = store_document(e->store, store_version(e->store, 0)->number, &err);
    if (d == NULL) {
        log_warn(e->options.log, "the last configuration cannot be read from STATE_DIR", log_str("error", err.message));
        return;
    }
    log_warn(e->options.log, "etcd cannot be read: the configuration that ran last is used until then",
             log_str("source", d->origin), log_str("sha256", d->hash));
    configuration_set(e->configuration, d);
}

static void config_engine_on_failed(void *arg, const struct error *err)
{
    const struct config_engine *e = arg;
    config_report_source_changed(e->report);
    e->callbacks.read(e->arg);
    config_trace_refused(e->trace, err);
    publisher_refuse(e->publisher, err);
    config_engine_fall_back(e);
    if (e->configuration != NULL)
        configuration_refuse(e->configuration, err);
    config_engine_poke_report(e);
}

static void config_engine_on_paused(void *arg, bool paused)
{
    const struct config_engine *e = arg;
    if (e->configuration != NULL)
        configuration_pause(e->configuration, paused);
}

/* ---- what an operator asks for ---- */

static bool config_engine_takes(void *arg)
{
    const struct config_engine *e = arg;
    return e->configuration != NULL;
}

static void config_engine_on_apply(void *arg)
{
    const struct config_engine *e = arg;
    e->callbacks.compare(e->arg);
}

static int config_engine_on_rollback(void *arg, unsigned number, struct error *err)
{
    const struct config_engine *e = arg;
    return configuration_rollback(e->configuration, number, err);
}

/* ---- what load balancers make of it ---- */

static void config_engine_judge_published(void *arg)
{
    struct config_engine *e = arg;
    const struct publisher_view v = publisher_view(e->publisher);
    struct culprits_verdict verdict;
    uint64_t now_ms = clock_mono_ms();
    if (!v.leads || v.sha256 == NULL || e->options.settings->dry_run)
        return;
    if (e->judged != v.version)
        e->judged_since_ms = now_ms;
    e->judged = v.version;
    uint64_t until_ms = e->judged_since_ms + WAIT_MS;
    if (load_balancers_judge(e->load_balancers, v.version, v.sha256, now_ms < until_ms, &verdict))
        config_source_judge(e->source, v.document, &verdict);
    else if (now_ms < until_ms)
        timer_set(&e->judge, until_ms - now_ms);
}

static void config_engine_on_heard(void *arg)
{
    struct config_engine *e = arg;
    timer_set_sooner(&e->judge, 0);
}

/* ---- life ---- */

static void config_engine_use_etcd(struct config_engine *e)
{
    const struct config_engine_options *o = &e->options;
    struct etcd_client *client = etcd_access_client(e->etcd);
    if (o->settings->config_target == SETTINGS_TARGET_ETCD) {
        const struct publisher_options options = {.settings = o->settings,
                                                  .client = client,
                                                  .telemetry = o->telemetry,
                                                  .log = o->log,
                                                  .versions = PUBLISHER_VERSIONS,
                                                  .published = config_engine_on_heard,
                                                  .arg = e};
        e->publisher = publisher_new(e->base, &options);
        e->load_balancers = load_balancers_new(e->base, o->settings, client, o->log);
        load_balancers_listen(e->load_balancers, config_engine_on_heard, e);
        return;
    }
    const struct etcd_report_options options = {
        .settings = o->settings, .client = client, .source = config_source_etcd(e->source), .log = o->log};
    e->etcd_report = etcd_report_new(e->base, &options);
}

static int config_engine_open(struct config_engine *e, struct error *err)
{
    static const struct config_source_callbacks source = {.changed = config_engine_on_changed,
                                                          .followed = config_engine_on_followed,
                                                          .failed = config_engine_on_failed,
                                                          .paused = config_engine_on_paused};
    static const struct config_requests_callbacks requests = {
        .takes = config_engine_takes, .apply = config_engine_on_apply, .rollback = config_engine_on_rollback};
    const struct config_engine_options *o = &e->options;
    bool publishes = o->settings->config_target == SETTINGS_TARGET_ETCD;
    enum document_use use = o->settings->local.file != NULL || publishes ? DOCUMENT_FOR_FILE : DOCUMENT_FOR_APIS;
    if (settings_use_etcd(o->settings) &&
        (e->etcd = etcd_access_new(e->base, o->http, o->settings, o->log, err)) == NULL)
        return -1;
    e->store = store_new(o->settings->state_dir, o->log, err);
    if (e->store == NULL)
        return -1;
    const struct config_source_options options = {.settings = o->settings,
                                                  .use = use,
                                                  .kube = o->kube,
                                                  .etcd = e->etcd != NULL ? etcd_access_client(e->etcd) : NULL,
                                                  .pods = o->pods,
                                                  .state_fd = store_folder_fd(e->store),
                                                  .telemetry = o->telemetry,
                                                  .trace = e->trace,
                                                  .log = o->log};
    store_use(e->store, use);
    if (store_is_kept(e->store)) {
        e->requests = config_requests_new(e->base, o->settings->state_dir, store_folder_fd(e->store),
                                          o->settings->resync_period_ms, &requests, e, o->log, err);
        if (e->requests == NULL)
            return -1;
    }
    e->source = config_source_new(e->base, &options, &source, e, err);
    if (e->source == NULL)
        return -1;
    if (e->etcd != NULL)
        config_engine_use_etcd(e);
    return 0;
}

static void config_engine_take(void *arg)
{
    const struct config_engine *e = arg;
    e->callbacks.lead(e->arg);
}

struct config_engine *config_engine_new(struct event_base *base, const struct config_engine_options *options,
                                        const struct config_engine_callbacks *callbacks, void *arg, struct error *err)
{
    struct config_engine *e = mem_alloc(sizeof(*e));
    e->base = base;
    e->options = *options;
    e->callbacks = *callbacks;
    e->arg = arg;
    timer_init(&e->take, base, config_engine_take, e);
    timer_init(&e->judge, base, config_engine_judge_published, e);
    e->trace = config_trace_new(base, options->tracer, options->target_count, !options->settings->dry_run);
    if (config_engine_open(e, err) == 0)
        return e;
    config_engine_free(e);
    return NULL;
}

void config_engine_free(struct config_engine *e)
{
    if (e == NULL)
        return;
    timer_fini(&e->take);
    timer_fini(&e->judge);
    etcd_report_free(e->etcd_report);
    publisher_free(e->publisher);
    load_balancers_free(e->load_balancers);
    configuration_free(e->configuration);
    config_requests_free(e->requests);
    config_report_free(e->report);
    operator_metrics_free(e->operator_metrics);
    config_source_free(e->source);
    etcd_access_free(e->etcd);
    config_trace_free(e->trace);
    store_free(e->store);
    free(e);
}

void config_engine_report_to(struct config_engine *e, struct events *events)
{
    if (e == NULL)
        return;
    const struct settings *settings = e->options.settings;
    e->events = events;
    bool by_secret = settings->config_source == SETTINGS_CONFIG_SECRET;
    cleanup(mem_free_ptr) char *source =
        by_secret ? mem_printf("%s/%s", settings->config_secret_namespace, settings->config_secret_name)
                  : mem_strdup(settings->config_file != NULL ? settings->config_file : "templates");
    e->operator_metrics = operator_metrics_new(e->options.telemetry->registry, source);
    bool annotates = by_secret && (settings->config_report_configmap != NULL ||
                                   settings->config_report == SETTINGS_REPORT_ANNOTATION);
    const struct config_report_options options = {.target_count = e->options.target_count,
                                                  .kube = annotates ? e->options.kube : NULL,
                                                  .configmap = settings->config_report_configmap,
                                                  .source = e->source,
                                                  .secret_namespace = settings->config_secret_namespace,
                                                  .secret_name = settings->config_secret_name,
                                                  .events = events,
                                                  .telemetry = e->options.telemetry,
                                                  .operator_metrics = e->operator_metrics,
                                                  .history = e->options.history,
                                                  .dry_run = settings->dry_run,
                                                  .log = e->options.log};
    e->report = config_report_new(e->base, &options);
}

void config_engine_start(struct config_engine *e)
{
    if (e == NULL)
        return;
    config_source_start(e->source);
    load_balancers_start(e->load_balancers);
}

void config_engine_stop(struct config_engine *e)
{
    if (e == NULL)
        return;
    config_source_stop(e->source);
    load_balancers_stop(e->load_balancers);
    publisher_lead(e->publisher, false);
    etcd_report_lead(e->etcd_report, NULL);
}

void config_engine_poke(struct config_engine *e)
{
    if (e == NULL)
        return;
    config_source_poke(e->source);
    publisher_poke(e->publisher);
}

/* ---- leading ---- */

static void config_engine_judge(const struct config_engine *e, const struct configuration_event *event)
{
    bool load = event->kind == CONFIGURATION_LOAD_FAILED;
    struct culprits_verdict v = {.load = load, .why = event->error != NULL ? event->error->message : NULL};
    if (load || event->kind == CONFIGURATION_REJECTED) {
        if (configuration_view(e->configuration, event->target).joins)
            return; /* its own matter */
    } else {
        v.accepted = configuration_accepted(e->configuration);
    }
    if (load || event->kind == CONFIGURATION_REJECTED || v.accepted)
        config_source_judge(e->source, event->document, &v);
}

static void config_engine_on_event(void *arg, const struct configuration_event *event)
{
    const struct config_engine *e = arg;
    bool of_target = event->kind == CONFIGURATION_VALIDATED || event->kind == CONFIGURATION_APPLIED ||
                     event->kind == CONFIGURATION_UNCHANGED || event->kind == CONFIGURATION_REJECTED ||
                     event->kind == CONFIGURATION_LOAD_FAILED;
    if (of_target)
        config_engine_judge(e, event);
    config_report_take(e->report, event);
    config_trace_take(e->trace, event);
    config_engine_poke_report(e);
}

bool config_engine_may_lead(struct config_engine *e)
{
    bool waited = e != NULL && e->waits;
    if (e == NULL)
        return true;
    e->waits = !store_take(e->store);
    if (!e->waits)
        return true;
    if (!waited)
        log_warn(e->options.log, "STATE_DIR is used by another haproxy-k8s-sync; HAProxy is left alone until that ends",
                 log_str("folder", e->options.settings->state_dir));
    timer_set(&e->take, TAKE_MS);
    return false;
}

struct configuration *config_engine_lead(struct config_engine *e)
{
    static const enum configuration_drift drifts[] = {[SETTINGS_DRIFT_REPORT] = CONFIGURATION_DRIFT_REPORT,
                                                      [SETTINGS_DRIFT_REPAIR] = CONFIGURATION_DRIFT_REPAIR,
                                                      [SETTINGS_DRIFT_IGNORE] = CONFIGURATION_DRIFT_IGNORE};
    static const enum configuration_rollback_policy rollbacks[] = {
        [SETTINGS_ROLLBACK_AUTO] = CONFIGURATION_ROLLBACK_AUTO,
        [SETTINGS_ROLLBACK_SERVING] = CONFIGURATION_ROLLBACK_SERVING,
        [SETTINGS_ROLLBACK_REPORT] = CONFIGURATION_ROLLBACK_REPORT};
    if (e == NULL)
        return NULL;
    const struct settings *settings = e->options.settings;
    if (e->publisher != NULL) {
        publisher_lead(e->publisher, true);
        return NULL;
    }
    const struct configuration_options options = {
        .target_count = e->options.target_count,
        .dry_run = settings->dry_run,
        .allow_lockout = settings->config_allow_lockout,
        .keep = e->options.keep,
        .drift = drifts[settings->config_drift],
        .canary = settings->config_canary,
        .canary_time_ms = settings->config_canary_time_ms,
        .rollback = rollbacks[settings->config_rollback],
        .min_interval_ms = settings->config_min_interval_ms,
        .store = e->store,
        .listener = {.happened = config_engine_on_event, .read = config_engine_on_read, .arg = e},
        .log = e->options.log};
    e->configuration = configuration_new(e->base, &options);
    e->seen = false;
    etcd_report_lead(e->etcd_report, settings->dry_run ? NULL : e->configuration);
    return e->configuration;
}

void config_engine_give(struct config_engine *e)
{
    if (e == NULL)
        return;
    config_source_lead(e->source, true);
    config_source_tell_to(e->source, e->events);
    config_source_give(e->source);
    config_requests_poke(e->requests); /* what was asked for while nobody led */
}

void config_engine_end_traces(struct config_engine *e)
{
    if (e != NULL)
        config_trace_stop(e->trace);
}

void config_engine_step_down(struct config_engine *e)
{
    if (e == NULL)
        return;
    config_trace_stop(e->trace);
    timer_cancel(&e->take);
    e->waits = false;
    config_source_lead(e->source, false);
    config_source_tell_to(e->source, NULL);
    publisher_lead(e->publisher, false);
    etcd_report_lead(e->etcd_report, NULL);
    configuration_free(e->configuration);
    e->configuration = NULL;
    store_give_back(e->store);
    config_report_stop(e->report);
}

/* ---- how it stands ---- */

bool config_engine_ready(const struct config_engine *e, struct checks *checks)
{
    return e == NULL || config_source_ready(e->source, checks);
}

void config_engine_measure(const struct config_engine *e, const struct clients *clients)
{
    if (e == NULL)
        return;
    const struct telemetry *t = e->options.telemetry;
    certificates_each(clients, operator_metrics_certificate, e->operator_metrics);
    config_source_measure(e->source);
    if (e->publisher != NULL)
        load_balancers_measure(e->load_balancers, publisher_view(e->publisher).version, t);
    metric_clear(t->configuration_rolled_back);
    metric_clear(t->configuration_canary_pending);
    if (e->configuration == NULL)
        return; /* another replica leads */
    metric_set(t->configuration_rolled_back, configuration_is_rolled_back(e->configuration) ? 1 : 0, NULL);
    metric_set(t->configuration_canary_pending, (double)configuration_waiting_for_canary(e->configuration), NULL);
}

bool config_engine_applied(const struct config_engine *e, struct checks *checks)
{
    if (e != NULL && e->waits)
        checks_add(checks, CHECK_FAIL, mem_strdup("STATE_DIR"), mem_strdup("used by another haproxy-k8s-sync"), NULL);
    if (e != NULL && !publisher_ready(e->publisher, checks))
        return false;
    if (e == NULL || e->waits || e->configuration == NULL)
        return e == NULL || !e->waits;
    bool held = !e->seen && config_source_has(e->source) && config_source_places(e->source);
    return configuration_ready(e->configuration,
                               held ? "waits for HAProxy, where servers have places that they keep" : NULL, checks);
}

const struct publisher *config_engine_publisher(const struct config_engine *e)
{
    return e != NULL ? e->publisher : NULL;
}

const struct load_balancers *config_engine_load_balancers(const struct config_engine *e)
{
    return e != NULL ? e->load_balancers : NULL;
}

const struct config_source *config_engine_source(const struct config_engine *e)
{
    return e != NULL ? e->source : NULL;
}

int config_engine_state_fd(const struct config_engine *e)
{
    return e != NULL && e->store != NULL ? store_folder_fd(e->store) : -1;
}
