#include "daemon/sources.h"

#include <stdlib.h>

#include "base/clock.h"
#include "report/checks.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/outage.h"
#include "daemon/source.h"
#include "daemon/sources_service.h"
#include "report/telemetry.h"

struct sources {
    struct kube_client *client;
    struct kube_client_listener listener;
    struct source nodes;
    struct service_sources *services;
    size_t service_count;
    void (*changed)(void *arg, size_t service, const char *cause, uint64_t received_us);
    void *arg;
};

static void sources_on_service_changed(void *arg, struct service_sources *of, const char *cause, uint64_t received_us)
{
    const struct sources *s = arg;
    s->changed(s->arg, (size_t)(of - s->services), cause, received_us);
}

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
        service_sources_settle(&s->services[i]);
}

static void sources_on_credentials(void *arg)
{
    sources_poke(arg);
}

/* ---- life ---- */

static void make_nodes(struct sources *s, struct event_base *base, struct kube_client *client,
                       const struct sources_options *options)
{
    const struct informer_options nodes = {.resource = &kube_nodes, .label_selector = options->node_selector};
    s->nodes = (struct source){.telemetry = options->telemetry,
                               .changed = sources_on_nodes_changed,
                               .moved = sources_on_nodes_moved,
                               .arg = s};
    source_init(&s->nodes, base, client, options->log, &nodes, NULL);
}

struct sources *sources_new(struct event_base *base, struct kube_client *client, const struct sources_options *options,
                            void (*changed)(void *arg, size_t service, const char *cause, uint64_t received_us),
                            void *arg)
{
    struct sources *s = mem_alloc(sizeof(*s));
    s->changed = changed;
    s->arg = arg;
    s->client = client;
    s->listener = (struct kube_client_listener){.on_credentials = sources_on_credentials, .arg = s};
    kube_client_on_credentials(client, &s->listener);
    make_nodes(s, base, client, options);
    s->service_count = options->service_count;
    s->services = mem_array(s->service_count, sizeof(s->services[0]));
    for (size_t i = 0; i < s->service_count; i++) {
        const struct service_sources_options service = {.service = &options->services[i],
                                                        .one_of_several = s->service_count > 1,
                                                        .nodes = &s->nodes,
                                                        .telemetry = options->telemetry,
                                                        .log = options->log,
                                                        .changed = sources_on_service_changed,
                                                        .arg = s};
        service_sources_init(&s->services[i], base, client, &service);
    }
    return s;
}

void sources_free(struct sources *s)
{
    if (s == NULL)
        return;
    kube_client_forget_listener(&s->listener);
    source_fini(&s->nodes);
    for (size_t i = 0; i < s->service_count; i++)
        service_sources_fini(&s->services[i]);
    free(s->services);
    free(s);
}

void sources_start(struct sources *s)
{
    if (s == NULL)
        return;
    informer_start(s->nodes.informer);
    for (size_t i = 0; i < s->service_count; i++)
        service_sources_start(&s->services[i]);
}

void sources_stop(struct sources *s)
{
    if (s == NULL)
        return;
    informer_stop(s->nodes.informer);
    for (size_t i = 0; i < s->service_count; i++)
        service_sources_stop(&s->services[i]);
}

void sources_poke(struct sources *s)
{
    if (s == NULL)
        return;
    informer_poke(s->nodes.informer);
    for (size_t i = 0; i < s->service_count; i++)
        service_sources_poke(&s->services[i]);
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
    return service_sources_denied(&s->services[service]);
}

bool sources_refused(const struct sources *s)
{
    bool missing = s->nodes.synced_us == 0;
    if (missing && source_status(&s->nodes).denied == INFORMER_ALLOWED)
        return false;
    for (size_t i = 0; i < s->service_count; i++) {
        if (service_sources_pending(&s->services[i]))
            return false;
        missing = missing || !service_sources_synced(&s->services[i]);
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
    for (size_t i = 0; i < s->service_count; i++)
        all = service_sources_ready(&s->services[i], checks) && all;
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

bool sources_outage(const struct sources *s, struct checks *checks, bool *ret_logged)
{
    struct outage_count n = {0};
    const struct kube_outage *o = kube_client_outage(s->client);
    if (!sources_count_outage(s, &n))
        return false;
    *ret_logged = o->was_said;
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

static void set_gauges(const struct gauges *g, double now_s, struct telemetry *t)
{
    if (g->resource != NULL)
        metric_set(t->cached_objects, (double)g->objects, g->resource, NULL);
    if (g->last_byte_ms != 0)
        metric_set(t->watch_last_byte, now_s - (double)(clock_mono_ms() - g->last_byte_ms) / 1000.0, g->resource, NULL);
}

void sources_measure(struct sources *s, struct telemetry *t)
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
