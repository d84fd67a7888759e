#include "sync/controller.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "dataplane/client.h"
#include "kube/client.h"
#include "net/http.h"
#include "net/timer.h"
#include "serve/server.h"
#include "sync/sources.h"
#include "sync/target.h"
#include "sync/telemetry.h"

#define COALESCE_MS 100   /* after a change was taken up, the next one is no sooner */
#define HEARTBEAT_MS 1000 /* how often the loop proves that it turns */
#define HEARTBEAT_DEAD_MS 30000
#define STOP_DEADLINE_MS 4000
#define SKIPS_IN_A_LINE 10

struct controller {
    struct event_base *base;
    struct config *config;
    const struct log *log;
    struct http *http;
    struct telemetry telemetry;
    struct server *server;
    struct kube_client *kube;
    struct dataplane_client *dataplane;
    struct sources *sources;
    struct target *target;
    struct mapping_rules mapping;
    struct desired last_wish;
    struct log_limit skip_limit, wait_limit;

    struct timer coalesce, heartbeat, deadline;
    uint64_t taken_up_ms; /* when a change was last taken up; 0: never */
    uint64_t event_us;    /* the oldest change that waits */
    char *cause;          /* of the newest */
    uint64_t beat_ms;
    bool stopping;
};

/* ---- from a change to a wish ---- */

static void log_skips(struct controller *c, const struct desired *wish)
{
    /* Endpoints that are just not ready are everyday life; what is left out for another reason is worth a line. */
    cleanup(buf_fini) struct buf text;
    size_t count = 0;
    unsigned held_back;
    buf_init(&text, 0);
    for (size_t i = 0; i < wish->skip_count; i++)
        if (!wish->skips[i].ordinary && count++ < SKIPS_IN_A_LINE)
            buf_printf(&text, "%s%s: %s", count > 1 ? "; " : "", wish->skips[i].subject, wish->skips[i].reason);
    if (count > 0 && log_limit_pass(&c->skip_limit, clock_mono_ms(), buf_str(&text), &held_back))
        log_warn(c->log, "endpoints left out", log_int("count", count), log_str("endpoints", buf_str(&text)));
}

/* Said again once a minute for as long as it lasts. */
static void log_wait(struct controller *c, const struct desired *wish)
{
    unsigned held_back;
    if (wish->state != DESIRED_UNDECIDED || !log_limit_pass(&c->wait_limit, clock_mono_ms(), wish->problem, &held_back))
        return;
    log_error(c->log, "cannot decide which servers HAProxy should have; nothing is written",
              log_str("why", wish->problem));
}

static void take_up(void *arg)
{
    struct controller *c = arg;
    c->taken_up_ms = clock_mono_ms();
    if (c->stopping || !sources_synced(c->sources))
        return;
    struct desired wish;
    desired_init(&wish);
    desired_compute(sources_cache(c->sources), &c->mapping, &wish);
    log_skips(c, &wish);
    log_wait(c, &wish);
    uint64_t event_us = c->event_us;
    c->event_us = 0;
    if (desired_eq(&wish, &c->last_wish)) {
        desired_fini(&wish);
        return;
    }
    desired_fini(&c->last_wish);
    desired_copy(&c->last_wish, &wish);
    target_wish(c->target, &wish, c->cause, event_us);
}

/* The first change is taken up at once, further ones at most every COALESCE_MS; the latest state wins. */
static void on_change(void *arg, const char *cause, uint64_t received_us)
{
    struct controller *c = arg;
    uint64_t now = clock_mono_ms(), free_at = c->taken_up_ms + COALESCE_MS;
    free(c->cause);
    c->cause = mem_strdup(cause);
    if (c->event_us == 0)
        c->event_us = received_us;
    timer_set_sooner(&c->coalesce, c->taken_up_ms == 0 || now >= free_at ? 0 : free_at - now);
}

/* ---- readiness, liveness, metrics ---- */

static bool ready(void *arg, struct buf *body)
{
    struct controller *c = arg;
    bool all = sources_ready(c->sources, body);
    if (c->last_wish.state == DESIRED_UNDECIDED) {
        buf_printf(body, "[-]mapping: %s\n", c->last_wish.problem);
        all = false;
    }
    if (!target_ready(c->target, body))
        all = false;
    if (c->stopping) {
        buf_add(body, "[-]stopping\n");
        all = false;
    }
    return all;
}

static bool alive(void *arg, struct buf *body)
{
    const struct controller *c = arg;
    uint64_t age_ms = clock_mono_ms() - c->beat_ms;
    bool ok = age_ms < HEARTBEAT_DEAD_MS;
    buf_printf(body, "[%c]loop: last turn %llu ms ago\n", ok ? '+' : '-', (unsigned long long)age_ms);
    return ok;
}

static void beat(void *arg)
{
    struct controller *c = arg;
    c->beat_ms = clock_mono_ms();
    timer_set(&c->heartbeat, HEARTBEAT_MS);
    if (!c->stopping)
        log_wait(c, &c->last_wish);
}

static void on_scrape(void *arg)
{
    struct controller *c = arg;
    sources_measure(c->sources, &c->telemetry);
}

static void on_dataplane_request(void *arg, const char *method, int status)
{
    struct controller *c = arg;
    char code[12];
    snprintf(code, sizeof(code), "%d", status);
    metric_add(c->telemetry.requests, 1, "dataplane", method, code, NULL);
}

/* ---- life ---- */

static enum proxy_v2 proxy_v2_of(enum config_proxy_v2 p)
{
    return p == CONFIG_PROXY_V2_DEFAULT_SERVER ? PROXY_V2_DEFAULT_SERVER
           : p == CONFIG_PROXY_V2_SERVER       ? PROXY_V2_SERVER
                                               : PROXY_V2_OFF;
}

static void make_target(struct controller *c)
{
    struct config *config = c->config;
    struct target_options options = {
        .client = c->dataplane,
        .backend_name = config->backend_name,
        .rules = {.balance = config->balance,
                  .adv_check = config->adv_check,
                  .proxy_v2 = proxy_v2_of(config->proxy_v2),
                  .keep_servers = config->keep_servers,
                  .keep_count = config->keep_server_count,
                  .allow_empty = config->allow_empty,
                  .create_backend = config->create_backend},
        .resync_period_ms = config->resync_period_ms,
        .telemetry = &c->telemetry,
        .log = c->log,
    };
    c->target = target_new(c->base, &options);
}

static int make_clients(struct controller *c, const struct kube_access *access, const char *version, struct error *err)
{
    struct config *config = c->config;
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", version);
    c->http = http_new(c->base, agent, err);
    if (c->http == NULL)
        return -1;
    c->kube = kube_client_new(c->http, access, c->log, err);
    if (c->kube == NULL)
        return -1;
    const struct dataplane_client_options dataplane = {.url = config->dataplane_url,
                                                       .unix_socket = config->dataplane_socket,
                                                       .username = &config->dataplane_username,
                                                       .password = &config->dataplane_password,
                                                       .token = &config->dataplane_token,
                                                       .log = c->log,
                                                       .events = {.requested = on_dataplane_request, .arg = c}};
    c->dataplane = dataplane_client_new(c->base, c->http, &dataplane, err);
    return c->dataplane != NULL ? 0 : -1;
}

static int make_server(struct controller *c, struct error *err)
{
    const struct server_callbacks callbacks = {.ready = ready, .alive = alive};
    c->server = server_new(c->base, c->config->listen_host, c->config->listen_port, c->telemetry.registry, c->log,
                           &callbacks, c, err);
    return c->server != NULL ? 0 : -1;
}

static void on_deadline(void *arg)
{
    struct controller *c = arg;
    log_warn(c->log, "the Data Plane API did not answer in time; stopping without its answer");
    event_base_loopbreak(c->base);
}

struct controller *controller_new(struct event_base *base, struct config *config, const struct kube_access *access,
                                  const char *version, const struct log *log, struct error *err)
{
    struct controller *c = mem_alloc(sizeof(*c));
    c->base = base;
    c->config = config;
    c->log = log;
    c->mapping.fixed_port = config->backend_port;
    c->skip_limit.period_ms = c->wait_limit.period_ms = 60000;
    c->beat_ms = clock_mono_ms();
    desired_init(&c->last_wish);
    c->last_wish.state = DESIRED_NOT_SYNCED;
    timer_init(&c->coalesce, base, take_up, c);
    timer_init(&c->heartbeat, base, beat, c);
    timer_init(&c->deadline, base, on_deadline, c);
    telemetry_init(&c->telemetry, version);
    metrics_on_scrape(c->telemetry.registry, on_scrape, c);
    if (make_clients(c, access, version, err) != 0) {
        controller_free(c);
        return NULL;
    }
    make_target(c);
    c->sources = sources_new(base, c->kube, config->ingress_namespace, config->ingress_service, &c->telemetry, log,
                             on_change, c);
    if (make_server(c, err) != 0) {
        controller_free(c);
        return NULL;
    }
    return c;
}

void controller_free(struct controller *c)
{
    if (c == NULL)
        return;
    server_free(c->server);
    sources_free(c->sources);
    target_free(c->target);
    dataplane_client_free(c->dataplane);
    kube_client_free(c->kube);
    http_free(c->http);
    telemetry_fini(&c->telemetry);
    timer_fini(&c->coalesce);
    timer_fini(&c->heartbeat);
    timer_fini(&c->deadline);
    desired_fini(&c->last_wish);
    free(c->cause);
    free(c);
}

void controller_start(struct controller *c)
{
    beat(c);
    sources_start(c->sources);
    target_start(c->target);
}

void controller_compare(struct controller *c)
{
    if (c->stopping)
        return;
    log_info(c->log, "SIGHUP: comparing now");
    log_limit_reset(&c->wait_limit);
    sources_poke(c->sources);
    target_compare(c->target);
}

static void on_target_stopped(void *arg)
{
    struct controller *c = arg;
    event_base_loopbreak(c->base);
}

void controller_stop(struct controller *c)
{
    if (c->stopping)
        return;
    c->stopping = true;
    log_info(c->log, "stopping; HAProxy stays as it is");
    timer_set(&c->deadline, STOP_DEADLINE_MS);
    sources_stop(c->sources);
    target_stop(c->target, on_target_stopped, c);
}
