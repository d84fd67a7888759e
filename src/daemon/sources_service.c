#include "daemon/sources_service.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kube/outage.h"
#include "report/checks.h"
#include "base/mem.h"
#include "kube/client.h"
#include "model/cache.h"

static bool is_synced(const struct service_sources *s, enum service_source which)
{
    return cache_synced(s->all[which].cache);
}

bool service_sources_in_use(const struct service_sources *s, enum service_source which)
{
    return which == SOURCE_SERVICE || (which == SOURCE_ENDPOINTS) == s->fallback;
}

bool service_sources_denied(const struct service_sources *s)
{
    return s->denied && !is_synced(s, SOURCE_SERVICE);
}

static bool endpoints_known(const struct service_sources *s)
{
    return is_synced(s, SOURCE_SLICES) || (s->fallback && s->trusted && is_synced(s, SOURCE_ENDPOINTS));
}

bool service_sources_synced(const struct service_sources *s)
{
    return s->nodes->synced_us != 0 && endpoints_known(s) && (is_synced(s, SOURCE_SERVICE) || s->denied);
}

static bool is_pending(const struct service_sources *s, enum service_source which)
{
    return !is_synced(s, which) && source_status(&s->all[which]).denied == INFORMER_ALLOWED;
}

bool service_sources_pending(const struct service_sources *s)
{
    return is_pending(s, SOURCE_SERVICE) ||
           (!endpoints_known(s) && is_pending(s, s->fallback ? SOURCE_ENDPOINTS : SOURCE_SLICES));
}

static void service_sources_changed(struct service_sources *s, const char *cause, uint64_t received_us)
{
    if (service_sources_synced(s))
        s->changed(s->arg, s, cause, received_us);
}

/* ---- slices, or else Endpoints ---- */

static void start_fallback(struct service_sources *s, const struct informer_status *slices)
{
    s->fallback = true;
    log_warn(
        s->log,
        "EndpointSlices are denied; using the Service's Endpoints instead (1,000 addresses at most, no draining state)",
        log_str("service", s->scope), log_str("why", slices->problem));
    informer_set_quiet(s->all[SOURCE_SLICES].informer, true);
    informer_start(s->all[SOURCE_ENDPOINTS].informer);
}

static void end_fallback(struct service_sources *s)
{
    s->fallback = s->trusted = false;
    informer_set_quiet(s->all[SOURCE_SLICES].informer, false);
    log_info(s->log, "EndpointSlices are readable again; Endpoints are not used any more",
             log_str("service", s->scope));
    informer_stop(s->all[SOURCE_ENDPOINTS].informer);
    source_forget(&s->all[SOURCE_ENDPOINTS]);
    service_sources_changed(s, "EndpointSlices are readable again", clock_mono_us());
}

/* ---- the Service itself ---- */

static uint64_t others_synced_us(const struct service_sources *s)
{
    uint64_t nodes = s->nodes->synced_us;
    uint64_t endpoints = s->all[is_synced(s, SOURCE_SLICES) ? SOURCE_SLICES : SOURCE_ENDPOINTS].synced_us;
    if (nodes == 0 || !endpoints_known(s))
        return 0;
    return nodes > endpoints ? nodes : endpoints;
}

static void settle_service(struct service_sources *s)
{
    struct source *service = &s->all[SOURCE_SERVICE];
    struct informer_status status = source_status(service);
    if (status.denied != INFORMER_ALLOWED && !s->denied && source_refused_since(service, others_synced_us(s))) {
        s->denied = true;
        log_warn(s->log,
                 status.synced ? "the Service may not be read any more; its last state stays in use"
                               : "the Service may not be read; continuing without it",
                 log_str("service", s->scope), log_str("why", status.problem),
                 log_if(status.denied == INFORMER_FORBIDDEN, log_str("hint", kube_refusal_hint(status.problem))));
        informer_set_quiet(service->informer, true);
        service_sources_changed(s, "the Service may not be read", clock_mono_us());
    } else if (status.denied == INFORMER_ALLOWED && s->denied && status.synced && !status.stale) {
        s->denied = false;
        informer_set_quiet(service->informer, false);
        log_info(s->log, "the Service is readable now", log_str("service", s->scope));
        service_sources_changed(s, "the Service is readable now", clock_mono_us());
    }
}

static void settle(void *arg)
{
    struct service_sources *s = arg;
    struct source *slices = &s->all[SOURCE_SLICES];
    struct informer_status status = source_status(slices);
    if (status.denied == INFORMER_ALLOWED) {
        if (s->fallback && status.synced && !status.stale)
            end_fallback(s);
    } else if (!s->fallback) {
        if (source_refused_since(slices, s->nodes->synced_us))
            start_fallback(s, &status);
    } else if (!s->trusted && source_refused_since(slices, s->all[SOURCE_ENDPOINTS].synced_us)) {
        s->trusted = true;
        source_forget(slices); /* old slices without updates are worse than live Endpoints */
        service_sources_changed(s, "EndpointSlices are denied, Endpoints are in use", clock_mono_us());
    }
    settle_service(s);
}

/* ---- from the watches ---- */

static void service_sources_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    service_sources_changed(arg, cause, received_us);
}

void service_sources_settle(struct service_sources *s)
{
    timer_set_sooner(&s->timer, 0);
}

static void service_sources_on_moved(void *arg)
{
    service_sources_settle(arg);
}

/* ---- life ---- */

void service_sources_init(struct service_sources *s, struct event_base *base, struct kube_client *client,
                          const struct service_sources_options *options)
{
    const struct sources_service *of = options->service;
    *s = (struct service_sources){
        .nodes = options->nodes, .log = options->log, .changed = options->changed, .arg = options->arg};
    if (options->one_of_several)
        s->scope = mem_printf("%s/%s", of->namespace, of->name);
    timer_init(&s->timer, base, settle, s);
    cleanup(mem_free_ptr) char *label = mem_printf("kubernetes.io/service-name=%s", of->name);
    cleanup(mem_free_ptr) char *field = mem_printf("metadata.name=%s", of->name);
    const struct informer_options watches[SERVICE_SOURCES] = {
        [SOURCE_SLICES] = {.resource = &kube_slices, .label_selector = label},
        [SOURCE_ENDPOINTS] = {.resource = &kube_endpoints, .field_selector = field},
        [SOURCE_SERVICE] = {.resource = &kube_services, .field_selector = field, .may_be_denied = true},
    };
    for (int i = 0; i < SERVICE_SOURCES; i++) {
        struct informer_options watch = watches[i];
        watch.namespace = of->namespace;
        watch.scope = s->scope;
        s->all[i] = (struct source){.scope = s->scope,
                                    .telemetry = options->telemetry,
                                    .changed = service_sources_on_changed,
                                    .moved = service_sources_on_moved,
                                    .arg = s};
        source_init(&s->all[i], base, client, options->log, &watch, NULL);
    }
    s->caches = (struct object_caches){.nodes = options->nodes->cache,
                                       .slices = s->all[SOURCE_SLICES].cache,
                                       .endpoints = s->all[SOURCE_ENDPOINTS].cache,
                                       .services = s->all[SOURCE_SERVICE].cache};
}

void service_sources_fini(struct service_sources *s)
{
    for (int i = 0; i < SERVICE_SOURCES; i++)
        source_fini(&s->all[i]);
    timer_fini(&s->timer);
    free(s->scope);
}

void service_sources_start(struct service_sources *s)
{
    informer_start(s->all[SOURCE_SLICES].informer);
    informer_start(s->all[SOURCE_SERVICE].informer);
}

void service_sources_stop(struct service_sources *s)
{
    for (int i = 0; i < SERVICE_SOURCES; i++)
        informer_stop(s->all[i].informer);
    timer_cancel(&s->timer);
}

void service_sources_poke(struct service_sources *s)
{
    for (int i = 0; i < SERVICE_SOURCES; i++)
        informer_poke(s->all[i].informer); /* nothing if it was not started */
}

/* ---- readiness ---- */

bool service_sources_ready(const struct service_sources *s, struct checks *checks)
{
    bool ready = source_ready(&s->all[s->fallback ? SOURCE_ENDPOINTS : SOURCE_SLICES], true, checks);
    return source_ready(&s->all[SOURCE_SERVICE], !s->denied, checks) && ready;
}
