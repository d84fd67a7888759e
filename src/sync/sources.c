#include "sync/sources.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "net/timer.h"
#include "sync/telemetry.h"

#define PROBE_MS 180000 /* how often forbidden slices are asked for again */

enum source { NODES, SLICES, ENDPOINTS, SOURCES };

struct sources {
    struct cache *cache;
    struct telemetry *telemetry;
    const struct log *log;
    struct informer *informers[SOURCES];
    bool fallback;       /* Endpoints are watched because slices are denied */
    struct timer settle; /* the fallback is started and ended from the loop, never from inside a callback */
    struct timer probe;
    char *endpoints_path, *slices_path, *selector, *field;
    void (*changed)(void *arg, const char *cause, uint64_t received_us);
    void *arg;
};

static struct informer_status status_of(const struct sources *s, enum source which)
{
    struct informer_status status = {0};
    informer_get_status(s->informers[which], &status);
    return status;
}

bool sources_synced(const struct sources *s)
{
    return cache_synced(s->cache, CACHE_NODES) &&
           (cache_synced(s->cache, CACHE_SLICES) || (s->fallback && cache_synced(s->cache, CACHE_ENDPOINTS)));
}

static void on_changed(void *arg, const char *cause, uint64_t received_us)
{
    struct sources *s = arg;
    if (!sources_synced(s))
        return;
    s->changed(s->arg, cause, received_us);
}

/* Slices denied: watch Endpoints. Slices back: Endpoints are not needed any more. */
static void settle(void *arg)
{
    struct sources *s = arg;
    struct informer_status slices = status_of(s, SLICES);
    if (slices.denied != INFORMER_ALLOWED && !s->fallback) {
        s->fallback = true;
        log_warn(s->log,
                 "EndpointSlices are denied; using the Service's Endpoints instead (1,000 addresses at most, "
                 "no draining state)",
                 log_str("why", slices.problem));
        informer_set_quiet(s->informers[SLICES], true);
        informer_start(s->informers[ENDPOINTS]);
        timer_set(&s->probe, PROBE_MS);
    } else if (slices.denied == INFORMER_ALLOWED && slices.synced && !slices.stale && s->fallback) {
        s->fallback = false;
        informer_set_quiet(s->informers[SLICES], false);
        log_info(s->log, "EndpointSlices are served again; Endpoints are not used any more");
        informer_stop(s->informers[ENDPOINTS]);
        cache_forget(s->cache, CACHE_ENDPOINTS);
        timer_cancel(&s->probe);
        on_changed(s, "EndpointSlices are served again", clock_mono_us());
    }
    /* Last good slices that nobody updates any more are worse than live Endpoints. */
    if (s->fallback && slices.denied != INFORMER_ALLOWED && cache_synced(s->cache, CACHE_SLICES) &&
        cache_synced(s->cache, CACHE_ENDPOINTS)) {
        cache_forget(s->cache, CACHE_SLICES);
        on_changed(s, "EndpointSlices are denied, Endpoints are in use", clock_mono_us());
    }
}

static void on_status(void *arg)
{
    struct sources *s = arg;
    timer_set_sooner(&s->settle, 0);
}

static void on_probe(void *arg)
{
    struct sources *s = arg;
    informer_poke(s->informers[SLICES]);
    timer_set(&s->probe, PROBE_MS);
}

static void on_watch_restarted(void *arg, const char *resource, const char *reason)
{
    struct sources *s = arg;
    metric_add(s->telemetry->watch_restarts, 1, resource, reason, NULL);
}

static void on_relisted(void *arg, const char *resource, const char *reason)
{
    struct sources *s = arg;
    metric_add(s->telemetry->relists, 1, resource, reason, NULL);
}

static void on_requested(void *arg, int code)
{
    struct sources *s = arg;
    char text[12];
    snprintf(text, sizeof(text), "%d", code);
    metric_add(s->telemetry->requests, 1, "kubernetes", "GET", text, NULL);
}

struct sources *sources_new(struct event_base *base, struct kube_client *client, const char *namespace,
                            const char *service, struct telemetry *telemetry, const struct log *log,
                            void (*changed)(void *arg, const char *cause, uint64_t received_us), void *arg)
{
    static const struct informer_callbacks callbacks = {.changed = on_changed,
                                                        .status = on_status,
                                                        .watch_restarted = on_watch_restarted,
                                                        .relisted = on_relisted,
                                                        .requested = on_requested};
    struct sources *s = mem_alloc(sizeof(*s));
    s->cache = cache_new();
    s->telemetry = telemetry;
    s->log = log;
    s->changed = changed;
    s->arg = arg;
    timer_init(&s->settle, base, settle, s);
    timer_init(&s->probe, base, on_probe, s);
    s->slices_path = mem_printf("/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices", namespace);
    s->endpoints_path = mem_printf("/api/v1/namespaces/%s/endpoints", namespace);
    s->selector = mem_printf("kubernetes.io/service-name=%s", service);
    s->field = mem_printf("metadata.name=%s", service);
    const struct informer_options options[SOURCES] = {
        [NODES] = {.resource = "nodes", .path = "/api/v1/nodes", .kind = KUBE_NODE, .cache_kind = CACHE_NODES},
        [SLICES] = {.resource = "endpointslices",
                    .path = s->slices_path,
                    .label_selector = s->selector,
                    .kind = KUBE_SLICE,
                    .cache_kind = CACHE_SLICES},
        [ENDPOINTS] = {.resource = "endpoints",
                       .path = s->endpoints_path,
                       .field_selector = s->field,
                       .kind = KUBE_ENDPOINTS,
                       .cache_kind = CACHE_ENDPOINTS},
    };
    for (int i = 0; i < SOURCES; i++)
        s->informers[i] = informer_new(base, client, s->cache, log, &options[i], &callbacks, s);
    return s;
}

void sources_free(struct sources *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < SOURCES; i++)
        informer_free(s->informers[i]);
    timer_fini(&s->settle);
    timer_fini(&s->probe);
    cache_free(s->cache);
    free(s->slices_path);
    free(s->endpoints_path);
    free(s->selector);
    free(s->field);
    free(s);
}

void sources_start(struct sources *s)
{
    informer_start(s->informers[NODES]);
    informer_start(s->informers[SLICES]);
}

void sources_stop(struct sources *s)
{
    for (int i = 0; i < SOURCES; i++)
        informer_stop(s->informers[i]);
    timer_cancel(&s->settle);
    timer_cancel(&s->probe);
}

static bool in_use(const struct sources *s, enum source which)
{
    return which == NODES || (which == ENDPOINTS) == s->fallback;
}

void sources_poke(struct sources *s)
{
    for (int i = 0; i < SOURCES; i++)
        if (in_use(s, i) || i == SLICES)
            informer_poke(s->informers[i]);
}

const struct cache *sources_cache(const struct sources *s)
{
    return s->cache;
}

static const char *const names[SOURCES] = {"nodes", "endpointslices", "endpoints"};
static const enum cache_kind kinds[SOURCES] = {CACHE_NODES, CACHE_SLICES, CACHE_ENDPOINTS};

bool sources_ready(const struct sources *s, struct buf *body)
{
    bool all = true;
    for (int i = 0; i < SOURCES; i++) {
        if (!in_use(s, i))
            continue;
        struct informer_status status = status_of(s, i);
        bool ok = status.synced && !status.stale;
        buf_printf(body, "[%c]watch %s: ", ok ? '+' : '-', names[i]);
        if (ok)
            buf_printf(body, "synced, %zu objects\n", cache_count(s->cache, kinds[i]));
        else
            buf_printf(body, "%s%s%s\n", status.synced ? "stale, the last good state is in use: " : "not synced: ",
                       status.problem[0] != '\0' ? status.problem : "waiting for the first answer",
                       status.denied == INFORMER_FORBIDDEN ? "; deploy/rbac.yaml grants it" : "");
        all = all && ok;
    }
    return all;
}

void sources_measure(const struct sources *s, struct telemetry *t)
{
    uint64_t now = clock_mono_ms();
    for (int i = 0; i < SOURCES; i++) {
        if (!in_use(s, i))
            continue;
        struct informer_status status = status_of(s, i);
        metric_set(t->objects, (double)cache_count(s->cache, kinds[i]), names[i], NULL);
        if (status.last_byte_ms != 0)
            metric_set(t->watch_age, (double)(now - status.last_byte_ms) / 1000.0, names[i], NULL);
    }
}
