#include "daemon/config/config_engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration.h"
#include "configuration/culprits.h"
#include "configuration/file_source.h"
#include "configuration/store.h"
#include "daemon/clients.h"
#include "daemon/config/config_report.h"
#include "daemon/config/config_source.h"
#include "daemon/config/config_trace.h"
#include "daemon/etcd/etcd_access.h"
#include "daemon/etcd/etcd_report.h"
#include "daemon/etcd/etcd_source.h"
#include "daemon/etcd/load_balancers.h"
#include "daemon/etcd/publisher.h"
#include "host/timer.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#define TAKE_MS 500
#define REQUEST_MAX_BYTES 64
/* A load balancer that says nothing of a version for so long is waited for no longer. One that is gone left before. */
#define WAIT_MS (ETCD_REPORT_LEASE_S * 1000u)

struct config_engine {
    struct config_engine_options options;
    const struct daemon *in;
    const struct settings *settings;
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
    struct file_source *requests; /* NULL: no STATE_DIR */
    char *request_path;
    struct config_report *report; /* NULL: no CONFIG_SOURCE */
    struct config_trace *trace;
    struct configuration *configuration; /* NULL: another replica leads, or no CONFIG_SOURCE */
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

static void config_engine_on_failed(void *arg, const struct error *err)
{
    const struct config_engine *e = arg;
    config_report_source_changed(e->report);
    e->callbacks.read(e->arg);
    config_trace_refused(e->trace, err);
    publisher_refuse(e->publisher, err);
    if (e->settings->config_source == SETTINGS_CONFIG_ETCD && e->configuration != NULL &&
        !config_source_has(e->source) && store_count(e->store) > 0) {
        /* HAProxy gets what ran last, where it runs something else. */
        struct error lost = {0};
        cleanup(document_unref_ptr) struct document *d =
            store_document(e->store, store_version(e->store, 0)->number, &lost);
        if (d == NULL) {
            log_warn(e->in->log, "the last configuration cannot be read from STATE_DIR",
                     log_str("error", lost.message));
        } else {
            log_warn(e->in->log, "etcd cannot be read: the configuration that ran last is used until then",
                     log_str("source", d->origin), log_str("sha256", d->hash));
            configuration_set(e->configuration, d);
        }
    }
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

static int config_engine_do(const struct config_engine *e, const char *words, struct error *err)
{
    static const char rollback[] = CONFIG_REQUEST_ROLLBACK " ";
    uint64_t number;
    if (str_eq(words, CONFIG_REQUEST_APPLY)) {
        e->callbacks.compare(e->arg);
        return 0;
    }
    if (str_has_prefix(words, rollback) && str_parse_uint(words + strlen(rollback), UINT32_MAX, &number) == 0)
        return configuration_rollback(e->configuration, (unsigned)number, err);
    return error_set(err, ERROR_INVALID, "it is not one that `haproxy-k8s-sync config` makes");
}

static void config_engine_on_request(void *arg, const char *bytes, size_t len, const char *hash,
                                     struct storage_files *files)
{
    const struct config_engine *e = arg;
    struct error err = {0};
    (void)hash, (void)files;
    if (e->configuration == NULL)
        return; /* it is for another replica, which leads */
    cleanup(mem_free_ptr) char *words = mem_strndup(bytes, len > 0 && bytes[len - 1] == '\n' ? len - 1 : len);
    if (config_engine_do(e, words, &err) != 0)
        log_error(e->in->log, "request refused", log_str("request", words), log_str("file", e->request_path),
                  log_str("error", err.message));
    else
        log_info(e->in->log, "request done", log_str("request", words));
    unlinkat(store_view(e->store).folder_fd, CONFIG_REQUEST_FILE, 0);
}

static void config_engine_on_no_request(void *arg, const struct error *err)
{
    (void)arg, (void)err;
}

/* ---- what load balancers make of it ---- */

static void config_engine_judge_published(void *arg)
{
    struct config_engine *e = arg;
    const struct publisher_view v = publisher_view(e->publisher);
    struct culprits_verdict verdict;
    uint64_t now_ms = clock_mono_ms();
    if (!v.leads || v.sha256 == NULL || e->settings->dry_run)
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

static void config_engine_judge_soon(void *arg)
{
    struct config_engine *e = arg;
    timer_set_sooner(&e->judge, 0);
}

/* ---- life ---- */

static int config_engine_open(struct config_engine *e, struct error *err)
{
    static const struct config_source_callbacks of_source = {.changed = config_engine_on_changed,
                                                             .followed = config_engine_on_followed,
                                                             .failed = config_engine_on_failed,
                                                             .paused = config_engine_on_paused};
    static const struct file_source_callbacks of_requests = {.changed = config_engine_on_request,
                                                             .failed = config_engine_on_no_request};
    const struct daemon *in = e->in;
    const struct settings *settings = e->settings;
    bool any = settings->config_source != SETTINGS_CONFIG_NONE,
         publishes = settings->config_target == SETTINGS_TARGET_ETCD;
    enum document_use use = settings->local.file != NULL || publishes ? DOCUMENT_FOR_FILE : DOCUMENT_FOR_APIS;
    struct etcd_client *etcd = NULL;
    if (any && settings_use_etcd(settings)) {
        e->etcd = etcd_access_new(in->base, in->http, e->options.settings, in->log, err);
        if (e->etcd == NULL)
            return -1;
        etcd = etcd_access_client(e->etcd);
    }
    /* STATE_DIR, and what is asked for there. */
    e->store = store_new(any ? settings->state_dir : NULL, in->log, err);
    if (e->store == NULL)
        return -1;
    store_use(e->store, use);
    if (store_view(e->store).folder_fd >= 0) {
        e->request_path = mem_printf("%s/" CONFIG_REQUEST_FILE, settings->state_dir);
        const struct file_source_options requests = {
            .path = e->request_path, .max_bytes = REQUEST_MAX_BYTES, .reread_ms = settings->resync_period_ms};
        e->requests = file_source_new(in->base, &requests, &of_requests, e, err);
        if (e->requests == NULL)
            return -1;
        file_source_start(e->requests);
    }
    const struct config_source_options source = {.in = in,
                                                 .use = use,
                                                 .etcd = etcd,
                                                 .pods = e->options.pods,
                                                 .state_fd = store_view(e->store).folder_fd,
                                                 .trace = e->trace};
    e->source = config_source_new(&source, &of_source, e, err);
    if (e->source == NULL)
        return -1;
    if (etcd != NULL && publishes) {
        e->publisher = publisher_new(in, etcd, PUBLISHER_VERSIONS, config_engine_judge_soon, e);
        e->load_balancers = load_balancers_new(in, etcd, config_engine_judge_soon, e);
    } else if (etcd != NULL) {
        e->etcd_report = etcd_report_new(in, etcd, config_source_as(e->source, &etcd_source_ops));
    }
    return 0;
}

static void config_engine_take(void *arg)
{
    const struct config_engine *e = arg;
    e->callbacks.lead(e->arg);
}

struct config_engine *config_engine_new(const struct config_engine_options *options,
                                        const struct config_engine_callbacks *callbacks, void *arg, struct error *err)
{
    const struct daemon *in = options->in;
    struct config_engine *e = mem_alloc(sizeof(*e));
    *e = (struct config_engine){
        .options = *options, .in = in, .settings = in->settings, .callbacks = *callbacks, .arg = arg};
    timer_init(&e->take, in->base, config_engine_take, e);
    timer_init(&e->judge, in->base, config_engine_judge_published, e);
    e->trace = config_trace_new(in->base, in->tracer, options->target_count, !in->settings->dry_run);
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
    file_source_free(e->requests);
    config_report_free(e->report);
    config_source_free(e->source);
    etcd_access_free(e->etcd);
    config_trace_free(e->trace);
    store_free(e->store);
    mem_free_all(e->request_path, e);
}

void config_engine_report_to(struct config_engine *e, struct events *events)
{
    e->events = events;
    if (e->settings->config_source != SETTINGS_CONFIG_NONE)
        e->report = config_report_new(e->in, e->options.target_count, e->source, events);
}

void config_engine_start(struct config_engine *e)
{
    config_source_start(e->source);
    if (e->load_balancers != NULL)
        load_balancers_start(e->load_balancers);
}

void config_engine_stop(struct config_engine *e)
{
    config_source_stop(e->source);
    if (e->load_balancers != NULL)
        load_balancers_stop(e->load_balancers);
    publisher_lead(e->publisher, false);
    etcd_report_lead(e->etcd_report, NULL);
}

void config_engine_poke(struct config_engine *e)
{
    config_source_poke(e->source);
    publisher_poke(e->publisher);
}

/* ---- leading ---- */

static void config_engine_on_event(void *arg, const struct configuration_event *event)
{
    const struct config_engine *e = arg;
    bool of_target = event->kind == CONFIGURATION_VALIDATED || event->kind == CONFIGURATION_APPLIED ||
                     event->kind == CONFIGURATION_UNCHANGED || event->kind == CONFIGURATION_REJECTED ||
                     event->kind == CONFIGURATION_LOAD_FAILED;
    bool load = event->kind == CONFIGURATION_LOAD_FAILED, refused = load || event->kind == CONFIGURATION_REJECTED;
    struct culprits_verdict v = {.load = load, .why = event->error != NULL ? event->error->message : NULL};
    v.accepted = of_target && !refused && configuration_accepted(e->configuration);
    /* What one that joins refuses is its own matter. */
    if (v.accepted || (refused && !configuration_view(e->configuration, event->target).joins))
        config_source_judge(e->source, event->document, &v);
    config_report_take(e->report, event);
    config_trace_take(e->trace, event);
    config_engine_poke_report(e);
}

bool config_engine_may_lead(struct config_engine *e)
{
    bool waited = e->waits;
    e->waits = !store_take(e->store);
    if (!e->waits)
        return true;
    if (!waited)
        log_warn(e->in->log, "STATE_DIR is used by another haproxy-k8s-sync; HAProxy is left alone until that ends",
                 log_str("folder", e->settings->state_dir));
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
    const struct settings *settings = e->settings;
    if (settings->config_source == SETTINGS_CONFIG_NONE)
        return NULL;
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
        .log = e->in->log};
    e->configuration = configuration_new(e->in->base, &options);
    e->seen = false;
    etcd_report_lead(e->etcd_report, settings->dry_run ? NULL : e->configuration);
    return e->configuration;
}

void config_engine_give(struct config_engine *e)
{
    config_source_lead(e->source, true, e->events);
    config_source_begin(e->source);
    if (e->requests != NULL)
        file_source_poke(e->requests); /* what was asked for while no replica led */
}

void config_engine_end_traces(struct config_engine *e)
{
    config_trace_stop(e->trace);
}

void config_engine_step_down(struct config_engine *e)
{
    config_trace_stop(e->trace);
    timer_cancel(&e->take);
    e->waits = false;
    config_source_lead(e->source, false, NULL);
    publisher_lead(e->publisher, false);
    etcd_report_lead(e->etcd_report, NULL);
    configuration_free(e->configuration);
    e->configuration = NULL;
    store_give_back(e->store);
    if (e->report != NULL)
        config_report_stop(e->report);
}

/* ---- how it stands ---- */

bool config_engine_ready(const struct config_engine *e, struct checks *checks)
{
    return config_source_ready(e->source, checks);
}

void config_engine_measure(const struct config_engine *e, const struct clients *clients)
{
    const struct metric_table *t = e->in->metrics;
    if (e->report == NULL)
        return;
    certificates_each(clients, config_report_certificate, e->report);
    config_source_measure(e->source);
    if (e->publisher != NULL)
        load_balancers_measure(e->load_balancers, publisher_view(e->publisher).version);
    metric_clear(t->configuration_rolled_back);
    metric_clear(t->configuration_canary_pending);
    if (e->configuration == NULL)
        return; /* another replica leads */
    metric_set(t->configuration_rolled_back, configuration_is_rolled_back(e->configuration) ? 1 : 0, NULL);
    metric_set(t->configuration_canary_pending, (double)configuration_waiting_for_canary(e->configuration), NULL);
}

bool config_engine_applied(const struct config_engine *e, struct checks *checks)
{
    if (e->waits)
        checks_add(checks, CHECK_FAIL, mem_strdup("STATE_DIR"), mem_strdup("used by another haproxy-k8s-sync"), NULL);
    if (!publisher_ready(e->publisher, checks))
        return false;
    if (e->waits || e->configuration == NULL)
        return !e->waits;
    bool held = !e->seen && config_source_has(e->source) && config_source_places(e->source);
    return configuration_ready(e->configuration,
                               held ? "waits for HAProxy, where servers have places that they keep" : NULL, checks);
}

const struct publisher *config_engine_publisher(const struct config_engine *e)
{
    return e->publisher;
}

const struct load_balancers *config_engine_load_balancers(const struct config_engine *e)
{
    return e->load_balancers;
}

const struct config_source *config_engine_source(const struct config_engine *e)
{
    return e->source;
}

int config_engine_state_fd(const struct config_engine *e)
{
    return store_view(e->store).folder_fd;
}
