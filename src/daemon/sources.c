#include "daemon/sources.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/source.h"
#include "host/timer.h"
#include "kube/client.h"
#include "kube/outage.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "settings/settings.h"

enum service_source { SOURCE_SLICES, SOURCE_ENDPOINTS, SOURCE_SERVICE, SERVICE_SOURCES };

/* What is watched for one Service. */
struct service_sources {
    struct sources *of;
    struct source all[SERVICE_SOURCES];
    struct object_caches caches; /* of the Nodes and `all` */
    char *scope;                 /* "ns/name"; NULL if there is only one Service */
    bool fallback;               /* Endpoints are watched because slices are denied */
    bool trusted;                /* slices were still denied after Endpoints had synced */
    bool denied;                 /* the Service may not be read, and that was logged */
    struct timer timer;          /* settle: from the loop, never from inside a callback */
};

struct sources {
    struct kube_client *client;
    const struct log *log;
    struct source nodes;
    struct service_sources *services;
    size_t service_count;
    void (*changed)(void *arg, size_t service, const char *cause, uint64_t received_us);
    void *arg;
};

/* ---- how one Service stands ---- */

static bool is_synced(const struct service_sources *s, enum service_source which)
{
    return cache_synced(s->all[which].cache);
}

static bool service_sources_in_use(const struct service_sources *s, enum service_source which)
{
    return which == SOURCE_SERVICE || (which == SOURCE_ENDPOINTS) == s->fallback;
}

static bool endpoints_known(const struct service_sources *s)
{
    return is_synced(s, SOURCE_SLICES) || (s->fallback && s->trusted && is_synced(s, SOURCE_ENDPOINTS));
}

static bool service_sources_synced(const struct service_sources *s)
{
    return s->of->nodes.synced_us != 0 && endpoints_known(s) && (is_synced(s, SOURCE_SERVICE) || s->denied);
}

static bool is_pending(const struct service_sources *s, enum service_source which)
{
    return !is_synced(s, which) && source_status(&s->all[which]).denied == INFORMER_ALLOWED;
}

static void service_sources_changed(void *arg, const char *cause, uint64_t received_us)
{
    struct service_sources *s = arg;
    const struct sources *of = s->of;
    if (service_sources_synced(s))
        of->changed(of->arg, (size_t)(s - of->services), cause, received_us);
}

/* ---- what is decided about one Service ---- */

static void settle_service(struct service_sources *s)
{
    struct source *service = &s->all[SOURCE_SERVICE];
    struct informer_status status = source_status(service);
    uint64_t nodes_us = s->of->nodes.synced_us,
             endpoints_us = s->all[is_synced(s, SOURCE_SLICES) ? SOURCE_SLICES : SOURCE_ENDPOINTS].synced_us,
             others_us = nodes_us > endpoints_us ? nodes_us : endpoints_us;
    if (nodes_us == 0 || !endpoints_known(s))
        others_us = 0;
    if (status.denied != INFORMER_ALLOWED && !s->denied && source_refused_since(service, others_us)) {
        s->denied = true;
        log_warn(s->of->log,
                 status.synced ? "the Service may not be read any more; its last state stays in use"
                               : "the Service may not be read; continuing without it",
                 log_str("service", s->scope), log_str("why", status.problem),
                 log_if(status.denied == INFORMER_FORBIDDEN, log_str("hint", kube_refusal_hint(status.problem))));
        informer_set_quiet(service->informer, true);
        service_sources_changed(s, "the Service may not be read", clock_mono_us());
    } else if (status.denied == INFORMER_ALLOWED && s->denied && status.synced && !status.stale) {
        s->denied = false;
        informer_set_quiet(service->informer, false);
        log_info(s->of->log, "the Service is readable now", log_str("service", s->scope));
        service_sources_changed(s, "the Service is readable now", clock_mono_us());
    }
}

static void settle(void *arg)
{
    struct service_sources *s = arg;
    struct source *slices = &s->all[SOURCE_SLICES];
    struct source *endpoints = &s->all[SOURCE_ENDPOINTS];
    struct informer_status status = source_status(slices);
    if (status.denied == INFORMER_ALLOWED) {
        if (s->fallback && status.synced && !status.stale) {
            s->fallback = s->trusted = false;
            informer_set_quiet(slices->informer, false);
            log_info(s->of->log, "EndpointSlices are readable again; Endpoints are not used any more",
                     log_str("service", s->scope));
            informer_stop(endpoints->informer);
            source_forget(endpoints);
            service_sources_changed(s, "EndpointSlices are readable again", clock_mono_us());
        }
    } else if (!s->fallback) {
        if (source_refused_since(slices, s->of->nodes.synced_us)) {
            s->fallback = true;
            log_warn(s->of->log,
                     "EndpointSlices are denied; using the Service's Endpoints instead (1,000 addresses at most, no "
                     "draining state)",
                     log_str("service", s->scope), log_str("why", status.problem));
            informer_set_quiet(slices->informer, true);
            informer_start(endpoints->informer);
        }
    } else if (!s->trusted && source_refused_since(slices, endpoints->synced_us)) {
        s->trusted = true;
        source_forget(slices); /* old slices without updates are worse than live Endpoints */
        service_sources_changed(s, "EndpointSlices are denied, Endpoints are in use", clock_mono_us());
    }
    settle_service(s);
}

/* From inside libcurl's callbacks: it is decided from the loop. */
static void service_sources_on_moved(void *arg)
{
    timer_set_sooner(&((struct service_sources *)arg)->timer, 0);
}

/* ---- the Nodes ---- */

static void sources_on_nodes_changed(void *arg, const char *cause, uint64_t received_us)
{
    const struct sources *s = arg;
    bool any = false;
    for (size_t i = 0; i < s->service_count; i++)
        any = any || service_sources_synced(&s->services[i]);
    if (any)
        s->changed(s->arg, SOURCES_ALL, cause, received_us);
}

/* Also when they have synced: the Services' watches may wait for that. */
static void sources_on_nodes_moved(void *arg)
{
    const struct sources *s = arg;
    for (size_t i = 0; i < s->service_count; i++)
        service_sources_on_moved(&s->services[i]);
}

/* ---- life ---- */

static void service_sources_init(struct service_sources *s, const struct daemon *in, const struct sources_service *of)
{
    if (s->of->service_count > 1)
        s->scope = mem_printf("%s/%s", of->namespace, of->name);
    timer_init(&s->timer, in->base, settle, s);
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
                                    .metrics = in->metrics,
                                    .changed = service_sources_changed,
                                    .moved = service_sources_on_moved,
                                    .arg = s};
        source_init(&s->all[i], in->base, in->kube, in->log, &watch, NULL);
    }
    s->caches = (struct object_caches){.nodes = s->of->nodes.cache,
                                       .slices = s->all[SOURCE_SLICES].cache,
                                       .endpoints = s->all[SOURCE_ENDPOINTS].cache,
                                       .services = s->all[SOURCE_SERVICE].cache};
}

struct sources *sources_new(const struct daemon *in, const struct sources_service *services, size_t count,
                            void (*changed)(void *arg, size_t service, const char *cause, uint64_t received_us),
                            void *arg)
{
    const struct informer_options nodes = {.resource = &kube_nodes, .label_selector = in->settings->nodes_watched};
    struct sources *s = mem_alloc(sizeof(*s));
    *s = (struct sources){.client = in->kube,
                          .log = in->log,
                          .nodes = {.metrics = in->metrics,
                                    .changed = sources_on_nodes_changed,
                                    .moved = sources_on_nodes_moved,
                                    .arg = s},
                          .services = mem_array(count, sizeof(s->services[0])),
                          .service_count = count,
                          .changed = changed,
                          .arg = arg};
    source_init(&s->nodes, in->base, in->kube, in->log, &nodes, NULL);
    for (size_t i = 0; i < count; i++) {
        s->services[i].of = s;
        service_sources_init(&s->services[i], in, &services[i]);
    }
    return s;
}

void sources_free(struct sources *s)
{
    if (s == NULL)
        return;
    source_fini(&s->nodes);
    for (size_t i = 0; i < s->service_count; i++) {
        for (int which = 0; which < SERVICE_SOURCES; which++)
            source_fini(&s->services[i].all[which]);
        timer_fini(&s->services[i].timer);
        free(s->services[i].scope);
    }
    mem_free_all(s->services, s);
}

void sources_start(struct sources *s)
{
    if (s == NULL)
        return;
    informer_start(s->nodes.informer);
    for (size_t i = 0; i < s->service_count; i++) {
        informer_start(s->services[i].all[SOURCE_SLICES].informer);
        informer_start(s->services[i].all[SOURCE_SERVICE].informer);
    }
}

void sources_stop(struct sources *s)
{
    if (s == NULL)
        return;
    informer_stop(s->nodes.informer);
    for (size_t i = 0; i < s->service_count; i++) {
        for (int which = 0; which < SERVICE_SOURCES; which++)
            informer_stop(s->services[i].all[which].informer);
        timer_cancel(&s->services[i].timer);
    }
}

void sources_poke(struct sources *s)
{
    if (s == NULL)
        return;
    informer_poke(s->nodes.informer);
    for (size_t i = 0; i < s->service_count; i++)
        for (int which = 0; which < SERVICE_SOURCES; which++)
            informer_poke(s->services[i].all[which].informer); /* nothing if it was not started */
}

/* ---- caches ---- */

const struct cache *sources_nodes(const struct sources *s)
{
    return s->nodes.cache;
}

bool sources_node_exists(const void *sources, const char *server)
{
    return cache_find(sources_nodes(sources), server) != NULL || str_ip_family(server) != 0;
}

const struct object_caches *sources_caches(const struct sources *s, size_t service)
{
    return &s->services[service].caches;
}

bool sources_synced(const struct sources *s, size_t service)
{
    return service_sources_synced(&s->services[service]);
}

bool sources_service_denied(const struct sources *s, size_t service)
{
    return s->services[service].denied && !is_synced(&s->services[service], SOURCE_SERVICE);
}

bool sources_refused(const struct sources *s)
{
    bool missing = s->nodes.synced_us == 0;
    if (missing && source_status(&s->nodes).denied == INFORMER_ALLOWED)
        return false;
    for (size_t i = 0; i < s->service_count; i++) {
        const struct service_sources *one = &s->services[i];
        if (is_pending(one, SOURCE_SERVICE) ||
            (!endpoints_known(one) && is_pending(one, one->fallback ? SOURCE_ENDPOINTS : SOURCE_SLICES)))
            return false;
        missing = missing || !service_sources_synced(one);
    }
    return missing;
}

bool sources_ready(const struct sources *s, struct checks *checks)
{
    if (s == NULL)
        return true;
    struct buf text = {0};
    const char *plugin;
    bool all = kube_client_ready(s->client, &plugin, &text);
    if (plugin != NULL)
        checks_add(checks, all ? CHECK_OK : CHECK_FAIL, mem_printf("credentials by %s", plugin),
                   text.len > 0 ? buf_take(&text) : NULL, NULL);
    all = source_ready(&s->nodes, true, checks) && all;
    for (size_t i = 0; i < s->service_count; i++) {
        const struct service_sources *one = &s->services[i];
        all = source_ready(&one->all[one->fallback ? SOURCE_ENDPOINTS : SOURCE_SLICES], true, checks) && all;
        all = source_ready(&one->all[SOURCE_SERVICE], !one->denied, checks) && all;
    }
    return all;
}

struct outage_count {
    size_t out, missing;
};

static void outage_count_one(void *arg, const struct source *of)
{
    struct outage_count *n = arg;
    const struct informer_status status = source_status(of);
    bool missing = !status.synced || status.stale;
    n->missing += missing;
    n->out += missing && status.outage;
}

static bool sources_count_outage(const struct sources *s, struct outage_count *n)
{
    sources_each(s, outage_count_one, n);
    return n->out > 0 && n->out == n->missing;
}

bool sources_away(const struct sources *s)
{
    struct outage_count n = {0};
    return sources_count_outage(s, &n);
}

bool sources_outage(const struct sources *s, struct checks *checks)
{
    struct outage_count n = {0};
    const struct kube_outage *o = kube_client_outage(s->client);
    if (!sources_count_outage(s, &n))
        return false;
    checks_add(checks, CHECK_FAIL, mem_printf("Kubernetes API %s", o->server), mem_strdup(o->problem), NULL);
    return true;
}

void sources_each(const struct sources *s, void (*fn)(void *arg, const struct source *of), void *arg)
{
    if (s == NULL)
        return;
    fn(arg, &s->nodes);
    for (size_t i = 0; i < s->service_count; i++)
        for (int which = 0; which < SERVICE_SOURCES; which++)
            if (service_sources_in_use(&s->services[i], which))
                fn(arg, &s->services[i].all[which]);
}

/* ---- gauges: a resource's objects of all Services together, and the oldest contact ---- */

struct gauges {
    const char *resource; /* NULL: not in use */
    size_t objects;
    uint64_t last_byte_ms; /* 0: none yet */
};

static void add_to_gauges(struct gauges *g, const struct source *of)
{
    uint64_t last_ms = source_status(of).last_byte_ms;
    g->resource = of->resource;
    g->objects += cache_count(of->cache);
    if (last_ms != 0 && (g->last_byte_ms == 0 || last_ms < g->last_byte_ms))
        g->last_byte_ms = last_ms;
}

static void set_gauges(const struct gauges *g, double now_s, struct metric_table *t)
{
    if (g->resource != NULL)
        metric_set(t->cached_objects, (double)g->objects, g->resource, NULL);
    if (g->last_byte_ms != 0)
        metric_set(t->watch_last_byte, now_s - (double)(clock_mono_ms() - g->last_byte_ms) / 1000.0, g->resource, NULL);
}

void sources_measure(const struct sources *s, struct metric_table *t)
{
    if (s == NULL)
        return;
    double now_s = (double)clock_wall_ms() / 1000.0;
    struct gauges nodes = {0};
    metric_clear(t->cached_objects);
    metric_clear(t->watch_last_byte);
    add_to_gauges(&nodes, &s->nodes);
    set_gauges(&nodes, now_s, t);
    for (int which = 0; which < SERVICE_SOURCES; which++) {
        struct gauges g = {0};
        for (size_t i = 0; i < s->service_count; i++)
            if (service_sources_in_use(&s->services[i], which))
                add_to_gauges(&g, &s->services[i].all[which]);
        set_gauges(&g, now_s, t);
    }
}
