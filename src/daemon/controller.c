#include "daemon/controller.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"
#include "host/systemd.h"
#include "net/spiffe.h"
#include "host/timer.h"
#include "serve/server.h"
#include "daemon/clients.h"
#include "daemon/config/config_engine.h"
#include "daemon/config/config_source.h"
#include "daemon/daemon.h"
#include "daemon/events.h"
#include "daemon/inspect/inspect.h"
#include "report/history.h"
#include "daemon/leadership.h"
#include "daemon/mappings.h"
#include "daemon/pod_targets.h"
#include "daemon/sources.h"
#include "daemon/status/status.h"
#include "report/checks.h"
#include "daemon/targets.h"
#include "report/metric_table.h"
#include "daemon/tracing.h"

/* After a change the next one waits for this many times the CPU time that it cost: a dying node does not wait, and a
 * storm of events does not use up the CPU. */
#define COALESCE_TIMES 20
#define COALESCE_MAX_MS 100
#define HEARTBEAT_MS 1000 /* how often the loop shows that it runs */
#define HEARTBEAT_DEAD_MS 30000
#define SHUTDOWN_DEADLINE_MS 4000
#define STATUS_TIMES 1000   /* reading the checks takes no more than 1/1000 of the time */
#define DONE_MS 50          /* how often `apply` checks whether it is */
#define LAST_TRACES_MS 1000 /* of these, when all else has ended */
#define SERVERS 3

struct controller {
    struct daemon in;
    struct metric_table metrics;
    struct events *events; /* NULL: switched off */
    struct config_engine *config;
    struct status *status;           /* NULL: there is no status page */
    struct server *servers[SERVERS]; /* NULL: not set */
    struct notify *notify;           /* NULL: not under systemd */
    struct clients clients;
    struct clients_hooks hooks;
    struct pod_targets *pods; /* NULL: no templates */
    struct tracing *tracing;  /* NULL: no traces */
    bool failed;
    struct mappings mappings;
    struct mapping_state *states; /* mappings.count */
    struct sources *sources;
    struct leadership *leadership;
    struct targets *targets; /* NULL: another replica leads */
    bool leading;            /* by the last callback of leadership */
    bool stepping_down;      /* they are ending */

    struct timer coalesce, drain, heartbeat, deadline, stepped_down, done;
    uint64_t done_by_ms;  /* monotonic; `apply` */
    uint64_t taken_up_ms; /* when a change was last taken up; 0: never */
    uint64_t pause_ms;    /* until the next one is */
    uint64_t beat_ms;
    uint64_t status_after_ms; /* the status page needs no checks before */
    bool stopping;
};

/* ---- from a change to a desired state ---- */

/* True if the targets got something new. *due_ms: when it has to be computed again by itself; 0: no need. */
static bool compute(struct controller *c, size_t which, uint64_t *due_ms)
{
    struct mapping_state *w = &c->states[which];
    cleanup(desired_unref_ptr) const struct desired *desired = mapping_update(w->mapping, c->sources, c->taken_up_ms);
    status_take(c->status, which, desired);
    if (desired->due_ms != 0 && (*due_ms == 0 || desired->due_ms < *due_ms))
        *due_ms = desired->due_ms;
    bool news = mapping_state_take(w, desired) && c->targets != NULL && !c->stepping_down;
    mapping_state_log(w, c->in.log);
    if (news)
        targets_set_desired(c->targets, which, desired, w->cause != NULL ? w->cause : "a drain ended", w->event_us);
    w->dirty = false;
    w->event_us = 0;
    mapping_state_set_cause(w, NULL);
    return news;
}

static void take_up(void *arg)
{
    struct controller *c = arg;
    uint64_t began_us = clock_cpu_us();
    bool any = false, any_synced = false;
    uint64_t due_ms = 0;
    c->taken_up_ms = clock_mono_ms();
    if (c->stopping)
        return;
    for (size_t i = 0; i < c->mappings.count; i++) {
        struct mapping_state *w = &c->states[i];
        uint64_t last_due_ms = w->last != NULL ? w->last->due_ms : 0;
        bool due = last_due_ms != 0 && last_due_ms <= c->taken_up_ms;
        bool synced = sources_synced(c->sources, w->mapping->service);
        any_synced = any_synced || synced;
        if ((w->dirty || due) && synced)
            any = compute(c, i, &due_ms) || any;
        else if (last_due_ms != 0 && (due_ms == 0 || last_due_ms < due_ms))
            due_ms = last_due_ms;
    }
    if (due_ms != 0)
        timer_set(&c->drain, due_ms > c->taken_up_ms ? due_ms - c->taken_up_ms : 1);
    else
        timer_cancel(&c->drain);
    if (any)
        targets_apply(c->targets); /* all changes of this moment in one transaction */
    uint64_t pause_ms = (clock_cpu_us() - began_us) * COALESCE_TIMES / 1000;
    c->pause_ms = pause_ms > COALESCE_MAX_MS ? COALESCE_MAX_MS : pause_ms;
    if (any_synced)
        leadership_start(c->leadership); /* a replica without caches is no candidate */
}

/* The first change is handled at once, further ones after a pause; the latest state wins. */
static void on_change(void *arg, size_t service, const char *cause, uint64_t received_us)
{
    struct controller *c = arg;
    uint64_t now = clock_mono_ms(), free_at = c->taken_up_ms + c->pause_ms;
    for (size_t i = 0; i < c->mappings.count; i++) {
        struct mapping_state *w = &c->states[i];
        bool concerned =
            service == SOURCES_ALL ? sources_synced(c->sources, w->mapping->service) : w->mapping->service == service;
        if (!concerned)
            continue;
        w->dirty = true;
        mapping_state_set_cause(w, cause);
        if (w->event_us == 0)
            w->event_us = received_us;
    }
    timer_set_sooner(&c->coalesce, c->taken_up_ms == 0 || now >= free_at ? 0 : free_at - now);
}

/* ---- readiness, liveness, metrics ---- */

static bool check_all(const struct controller *c, struct checks *checks)
{
    bool all = sources_ready(c->sources, checks);
    all = config_engine_ready(c->config, checks) && all;
    for (size_t i = 0; i < c->mappings.count; i++) {
        const struct mapping_state *w = &c->states[i];
        if (w->last == NULL || w->last->state != DESIRED_UNDECIDED)
            continue;
        checks_add(checks, CHECK_FAIL, mem_printf("mapping of backend %s", w->mapping->backend),
                   mem_strdup(w->last->problem), NULL);
        all = false;
    }
    all = leadership_ready(c->leadership, checks) && all;
    all = certificates_ready(&c->clients, checks) && all;
    all = pod_targets_ready(c->pods, checks) && all;
    all = (c->targets == NULL || targets_ready(c->targets, checks)) && all;
    all = config_engine_applied(c->config, checks) && all;
    if (c->stopping)
        checks_add(checks, CHECK_FAIL, mem_strdup("stopping"), NULL, NULL);
    return all && !c->stopping;
}

static bool controller_ready(void *arg, struct buf *body)
{
    cleanup(checks_fini) struct checks checks = {0};
    bool all = check_all(arg, &checks);
    checks_print(&checks, body);
    return all;
}

static void notify_systemd(const struct controller *c)
{
    cleanup(checks_fini) struct checks checks = {0};
    if (c->notify == NULL)
        return;
    cleanup(mem_free_ptr) char *line = checks_status(&checks, check_all(c, &checks));
    notify_send(c->notify, c->stopping ? NOTIFY_STOPPING : NOTIFY_READY,
                c->stopping ? "stopping; HAProxy keeps its servers" : line, clock_mono_ms());
}

static bool alive(void *arg, struct buf *body)
{
    const struct controller *c = arg;
    uint64_t age_ms = clock_mono_ms() - c->beat_ms;
    bool ok = age_ms < HEARTBEAT_DEAD_MS;
    buf_printf(body, "[%c]loop: last turn %llu ms ago\n", ok ? '+' : '-', (unsigned long long)age_ms);
    return ok;
}

static void print_status(void *arg, struct buf *json, size_t *ret_news_at)
{
    struct controller *c = arg;
    cleanup(checks_fini) struct checks checks = {0};
    struct status_now now = {.targets = c->targets, .checks = &checks, .stopping = c->stopping};
    now.ready = check_all(c, &checks);
    status_look(c->status, &checks);
    status_print(c->status, &now, json, ret_news_at);
}

static void print_plan(void *arg, const char *query, struct buf *json)
{
    const struct controller *c = arg;
    const struct plan_rules rules = rules_for_plan(c->in.settings);
    const struct inspect_of of = {.settings = c->in.settings,
                                  .mappings = &c->mappings,
                                  .sources = c->sources,
                                  .targets = c->stopping || c->stepping_down ? NULL : c->targets,
                                  .rules = &rules};
    inspect_answer(&of, c->states, query, json);
}

static void beat(void *arg)
{
    struct controller *c = arg;
    c->beat_ms = clock_mono_ms();
    timer_set(&c->heartbeat, notify_next_ms(c->notify, HEARTBEAT_MS));
    notify_systemd(c);
    /* Whether the status page is read or not, it says since when something is wrong. */
    if (c->status != NULL && c->beat_ms >= c->status_after_ms) {
        cleanup(checks_fini) struct checks checks = {0};
        uint64_t began_us = clock_cpu_us();
        check_all(c, &checks);
        status_look(c->status, &checks);
        c->status_after_ms = c->beat_ms + (clock_cpu_us() - began_us) * STATUS_TIMES / 1000;
    }
    log_report_losses(c->in.log);
    for (size_t i = 0; !c->stopping && i < c->mappings.count; i++)
        mapping_state_log_wait(&c->states[i], c->in.log);
}

static void on_scrape(void *arg)
{
    struct controller *c = arg;
    struct metric *lost = c->metrics.log_lines_dropped;
    metric_add(lost, (double)log_dropped(c->in.log) - metric_value(lost, NULL), NULL);
    sources_measure(c->sources, &c->metrics);
    certificates_measure(&c->clients, &c->metrics, c->in.log);
    config_engine_measure(c->config, &c->clients);
    cleanup(checks_fini) struct checks checks = {0};
    metric_set(c->metrics.ready, check_all(c, &checks) ? 1 : 0, NULL);
    metric_clear(c->metrics.check_ok);
    for (size_t i = 0; i < checks.count; i++)
        metric_set(c->metrics.check_ok, checks.list[i].state != CHECK_FAIL ? 1 : 0, checks.list[i].name, NULL);
}

static void on_dataplane_request(void *arg, const char *url, const char *method, int status)
{
    struct controller *c = arg;
    char code[12];
    snprintf(code, sizeof(code), "%d", status);
    metric_add(c->metrics.http_requests, 1, url, method, code, NULL);
}

static void on_helper_request(void *arg, const char *request, const struct local_answer *a)
{
    struct controller *c = arg;
    metric_add(c->metrics.local_requests, 1, c->in.settings->local.file, request, local_status_name(a->status), NULL);
}

/* Nothing can be written without it, and what became of the last write is not known. */
static void on_helper_lost(void *arg, const char *why)
{
    struct controller *c = arg;
    log_error(c->in.log, "the helper process ended; stopping, to be started again", log_str("error", why));
    c->failed = true;
    controller_shutdown(c);
}

bool controller_failed(const struct controller *c)
{
    return c->failed;
}

/* ---- once ---- */

static void controller_look_whether_done(void *arg)
{
    struct controller *c = arg;
    cleanup(checks_fini) struct checks checks = {0};
    bool done = check_all(c, &checks) && c->targets != NULL;
    if (c->stopping)
        return;
    if (!done && clock_mono_ms() < c->done_by_ms) {
        timer_set(&c->done, DONE_MS);
        return;
    }
    c->failed = !done;
    for (size_t i = 0; i < checks.count && !done; i++) {
        cleanup(mem_free_ptr) char *line = checks_line(&checks.list[i]);
        if (checks.list[i].state == CHECK_FAIL)
            log_error(c->in.log, "not done in time", log_str("error", line));
    }
    controller_shutdown(c);
}

void controller_shutdown_when_done(struct controller *c, uint64_t within_ms)
{
    c->done_by_ms = clock_mono_ms() + within_ms;
    timer_set(&c->done, DONE_MS);
}

/* ---- leading ---- */

static int make_targets(struct controller *c, struct error *err)
{
    const struct targets_options options = {
        .servers = {.backends = c->mappings.backends,
                    .backend_count = c->mappings.count,
                    .rules = rules_for_plan(c->in.settings),
                    .park_ttl_ms = c->in.settings->park_ttl_ms,
                    .node_exists = sources_node_exists,
                    .node_arg = c->sources},
        .instance = {.resync_period_ms = c->in.settings->resync_period_ms,
                     .metrics = &c->metrics,
                     .history = c->in.history,
                     .tracer = c->in.tracer,
                     .log = c->in.log},
        .configuration = config_engine_lead(c->config),
    };
    size_t count;
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(c->in.base, &c->clients, c->in.settings, &count);
    c->targets = targets_new(c->in.base, &options, drivers, count, err);
    return c->targets != NULL ? 0 : -1;
}

/* The new targets get each desired state. */
static void on_lead(void *arg)
{
    struct controller *c = arg;
    c->leading = true;
    if (c->stopping || c->stepping_down)
        return; /* on_stepped_down goes on */
    if (!config_engine_may_lead(c->config))
        return; /* on_config_lead goes on */
    if (c->clients.spiffe != NULL && !spiffe_settled(c->clients.spiffe))
        return; /* on_identity goes on */
    struct error err = {0};
    if (make_targets(c, &err) != 0) {
        log_error(c->in.log, "cannot manage HAProxy", log_str("error", err.message));
        return;
    }
    targets_start(c->targets);
    pod_targets_lead(c->pods, c->targets);
    config_engine_give(c->config);
    for (size_t i = 0; i < c->mappings.count; i++) {
        struct mapping_state *w = &c->states[i];
        mapping_state_forget_sent(w);
        w->dirty = true;
        if (w->cause == NULL)
            mapping_state_set_cause(w, "this replica leads now");
    }
    timer_set_sooner(&c->coalesce, 0);
}

static void on_traced(void *arg)
{
    struct controller *c = arg;
    event_base_loopbreak(c->in.base);
}

static void on_released(void *arg)
{
    struct controller *c = arg;
    config_engine_end_traces(c->config);
    targets_end_traces(c->targets);
    tracing_finish(c->tracing, LAST_TRACES_MS, on_traced, c);
}

static void on_targets_stopped(void *arg)
{
    struct controller *c = arg;
    leadership_release(c->leadership, on_released, c);
}

/* They ended, or their time is up. */
static void on_stepped_down(void *arg)
{
    struct controller *c = arg;
    timer_cancel(&c->stepped_down);
    targets_free(c->targets);
    c->targets = NULL;
    config_engine_step_down(c->config);
    c->stepping_down = false;
    metric_table_forget_targets(&c->metrics);
    if (c->stopping)
        on_targets_stopped(c);
    else if (c->leading)
        on_lead(c);
}

/* Called from inside them. */
static void on_targets_ended(void *arg)
{
    struct controller *c = arg;
    timer_set(&c->stepped_down, 0);
}

static void on_step_down(void *arg)
{
    struct controller *c = arg;
    c->leading = false;
    if (c->targets == NULL)
        config_engine_step_down(c->config); /* it waited for STATE_DIR */
    if (c->stopping || c->targets == NULL || c->stepping_down)
        return;
    c->stepping_down = true;
    timer_set(&c->stepped_down, SHUTDOWN_DEADLINE_MS);
    pod_targets_lead(c->pods, NULL);
    targets_stop(c->targets, on_targets_ended, c);
}

static bool controller_may_write(void *arg)
{
    const struct controller *c = arg;
    return leadership_may_write(c->leadership);
}

static bool may_take_back(void *arg)
{
    const struct controller *c = arg;
    return leadership_may_take_back(c->leadership);
}

static void on_config_read(void *arg)
{
    const struct controller *c = arg;
    leadership_start(c->leadership); /* without a source that was read once, a replica is no candidate */
}

static void on_config_lead(void *arg)
{
    const struct controller *c = arg;
    if (c->leading && c->targets == NULL)
        on_lead(arg);
}

/* The agent was asked for the first time, or an identity came that was missing. */
static void on_identity(void *arg)
{
    struct controller *c = arg;
    if (c->leading && c->targets == NULL)
        on_lead(c);
    else if (c->targets != NULL && !c->stepping_down)
        targets_refresh(c->targets);
}

static void on_config_compare(void *arg)
{
    controller_compare(arg);
}

static void on_status_changed(void *arg)
{
    server_status_changed(((struct controller *)arg)->servers[0]);
}

static void controller_on_deadline(void *arg)
{
    struct controller *c = arg;
    log_warn(c->in.log, "no answer about the last change in time; stopping without it");
    event_base_loopbreak(c->in.base);
}

/* ---- the parts ---- */

/* What all parts have in common, and timers: all that needs no other part. */
static struct controller *controller_begin(struct event_base *base, const struct settings *settings,
                                           const struct kube_access *access, const char *version, const struct log *log)
{
    struct controller *c = mem_alloc(sizeof(*c));
    c->in = (struct daemon){.base = base,
                            .settings = settings,
                            .version = version,
                            .metrics = &c->metrics,
                            .history = history_new(),
                            .access = access,
                            .log = log};
    c->hooks = (struct clients_hooks){
        .events = {.requested = on_dataplane_request, .arg = c},
        .gate = {.may_write = controller_may_write, .may_take_back = may_take_back, .arg = c},
        .helper = {.answered = on_helper_request, .ended = on_helper_lost, .arg = c},
        .identity_news = on_identity,
        .arg = c,
    };
    c->beat_ms = clock_mono_ms();
    c->notify = notify_new(log);
    timer_init(&c->coalesce, base, take_up, c);
    timer_init(&c->drain, base, take_up, c);
    timer_init(&c->heartbeat, base, beat, c);
    timer_init(&c->deadline, base, controller_on_deadline, c);
    timer_init(&c->done, base, controller_look_whether_done, c);
    timer_init(&c->stepped_down, base, on_stepped_down, c);
    metric_table_init(&c->metrics, version);
    if (settings->cluster_name != NULL)
        metrics_label(c->metrics.registry, "cluster", settings->cluster_name);
    metric_set(c->metrics.dry_run, settings->dry_run ? 1 : 0, NULL);
    metrics_on_scrape(c->metrics.registry, on_scrape, c);
    mappings_init(&c->mappings, settings);
    c->states = mem_array(c->mappings.count, sizeof(c->states[0]));
    for (size_t i = 0; i < c->mappings.count; i++)
        mapping_state_init(&c->states[i], &c->mappings.list[i]);
    return c;
}

/* Where all is, and those of METRICS_ADDRESS and PROBE_ADDRESS. */
static int make_servers(struct controller *c, struct error *err)
{
    const struct settings *s = c->in.settings;
    const struct settings_listen *places[SERVERS] = {&s->listen, &s->metrics_listen, &s->probe_listen};
    static const unsigned parts[SERVERS] = {SERVER_ALL, SERVER_METRICS, SERVER_PROBES};
    for (size_t i = 0; i < SERVERS; i++) {
        const struct server_callbacks callbacks = {.parts = parts[i],
                                                   .ready = controller_ready,
                                                   .alive = alive,
                                                   .status = i == 0 && c->status != NULL ? print_status : NULL,
                                                   .plan = print_plan};
        if (places[i]->host == NULL)
            continue;
        c->servers[i] = server_new(c->in.base, places[i]->host, places[i]->port, c->metrics.registry, c->in.log,
                                   &callbacks, c, err);
        if (c->servers[i] == NULL)
            return -1;
    }
    return 0;
}

static int make_parts(struct controller *c, struct settings *settings, struct error *err)
{
    static const struct leadership_callbacks of_leadership = {.lead = on_lead, .step_down = on_step_down};
    static const struct config_engine_callbacks of_config = {
        .read = on_config_read, .lead = on_config_lead, .compare = on_config_compare};
    const struct daemon *in = &c->in;
    if (clients_make(in->base, settings, in->access, in->version, &c->hooks, in->log, &c->clients, err) != 0)
        return -1;
    c->in.http = c->clients.http;
    c->in.kube = c->clients.kube;
    c->tracing = tracing_new(in, settings);
    c->in.tracer = tracing_tracer(c->tracing);
    if (c->mappings.count > 0)
        c->sources = sources_new(in, c->mappings.services, c->mappings.service_count, on_change, c);
    c->leadership = leadership_new(in, &of_leadership, c);
    if (settings->config_source == SETTINGS_CONFIG_TEMPLATE)
        c->pods = pod_targets_new(in, &c->clients, &c->hooks);
    const struct config_engine_options config = {.in = in,
                                                 .settings = settings,
                                                 .pods = c->pods,
                                                 .target_count = settings_haproxy_count(settings),
                                                 .keep = c->mappings.keep};
    c->config = config_engine_new(&config, &of_config, c, err);
    if (c->config == NULL)
        return -1;
    c->events = events_new(in, &c->mappings, c->sources, config_engine_source(c->config), config_source_object);
    config_engine_report_to(c->config, c->events);
    const struct status_parts parts = {.mappings = &c->mappings,
                                       .sources = c->sources,
                                       .leadership = c->leadership,
                                       .clients = &c->clients,
                                       .config = c->config};
    if (settings->status_page)
        c->status = status_new(in, &parts, on_status_changed, c);
    return make_servers(c, err);
}

/* The parts are made each in its turn (make_parts), as it needs what stands before it:
 *   clients     first the helper processes, which are forked; then http and what goes over it
 *   tracing     is asked for by all that is done for a change
 *   sources     of Kubernetes, where servers are managed
 *   leadership, pods
 *   config      has STATE_DIR, and follows CONFIG_SOURCE; pods follow its templates' targets
 *   events      of the sources' Services and the config's object; the config reports to them
 *   status      shows all of these
 *   servers     answer from then on
 * Nothing is asked of Kubernetes or HAProxy before controller_start. They end in the opposite order (controller_free). */
struct controller *controller_new(struct event_base *base, struct settings *settings, const struct kube_access *access,
                                  const char *version, const struct log *log, struct error *err)
{
    struct controller *c = controller_begin(base, settings, access, version, log);
    if (make_parts(c, settings, err) == 0)
        return c;
    controller_free(c);
    return NULL;
}

int controller_state_fd(const struct controller *c)
{
    return config_engine_state_fd(c->config);
}

void controller_free(struct controller *c)
{
    if (c == NULL)
        return;
    status_free(c->status);
    for (size_t i = 0; i < SERVERS; i++)
        server_free(c->servers[i]);
    targets_free(c->targets);
    config_engine_free(c->config);
    events_free(c->events);
    sources_free(c->sources);
    leadership_free(c->leadership);
    pod_targets_free(c->pods);
    tracing_free(c->tracing);
    clients_free(&c->clients);
    metric_table_fini(&c->metrics);
    notify_free(c->notify);
    history_free(c->in.history);
    timer_fini(&c->coalesce);
    timer_fini(&c->drain);
    timer_fini(&c->heartbeat);
    timer_fini(&c->deadline);
    timer_fini(&c->done);
    timer_fini(&c->stepped_down);
    for (size_t i = 0; i < c->mappings.count; i++)
        mapping_state_fini(&c->states[i]);
    free(c->states);
    mappings_fini(&c->mappings);
    free(c);
}

void controller_start(struct controller *c)
{
    timer_set(&c->heartbeat, 0); /* the loop runs */
    sources_start(c->sources);
    config_engine_start(c->config);
    if (!c->in.settings->leader_elect)
        leadership_start(c->leadership); /* HAProxy is read while the caches fill */
}

void controller_compare(struct controller *c)
{
    if (c->stopping)
        return;
    log_info(c->in.log, "refreshing now (SIGHUP, or `config apply`)");
    for (size_t i = 0; i < c->mappings.count; i++)
        log_limit_reset(&c->states[i].wait_limit);
    sources_poke(c->sources);
    leadership_poke(c->leadership);
    events_poke(c->events);
    if (c->targets != NULL && !c->stepping_down)
        targets_refresh(c->targets);
    config_engine_poke(c->config);
    pod_targets_poke(c->pods);
    notify_reloading(c->notify, clock_mono_us());
    notify_systemd(c);
}

void controller_shutdown(struct controller *c)
{
    if (c->stopping)
        return;
    c->stopping = true;
    log_info(c->in.log, "stopping; HAProxy keeps its servers");
    timer_set(&c->deadline, SHUTDOWN_DEADLINE_MS);
    notify_systemd(c);
    sources_stop(c->sources);
    config_engine_stop(c->config);
    pod_targets_stop(c->pods);
    pod_targets_lead(c->pods, NULL);
    if (c->stepping_down)
        return; /* they are ending, perhaps with a transaction to delete: on_stepped_down goes on */
    if (c->targets != NULL)
        targets_stop(c->targets, on_targets_stopped, c);
    else
        on_targets_stopped(c);
}
