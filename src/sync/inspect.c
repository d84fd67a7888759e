#include "sync/inspect.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "net/timer.h"
#include "sync/clients.h"
#include "sync/inspect_haproxy.h"
#include "sync/inspect_near.h"
#include "sync/inspect_report.h"
#include "sync/mappings.h"
#include "sync/rules.h"
#include "sync/sources.h"

/* For so many servers of a backend the rules are asked one by one. */
#define REASONS_MAX 100

struct inspect {
    struct event_base *base;
    const struct inspect_options *options;
    struct clients clients;
    struct mappings mappings;
    struct plan_rules rules;
    struct sources *sources;
    struct inspect_haproxy haproxy;
    struct timer synced, deadline;
    char *missing; /* not all was synced in time */
};

/* ---- Kubernetes, then HAProxy ---- */

static void read_haproxy(struct inspect *i)
{
    timer_cancel(&i->synced);
    timer_cancel(&i->deadline);
    inspect_haproxy_start(&i->haproxy, i->options->timeout_ms);
}

static bool all_synced(const struct inspect *i)
{
    for (size_t k = 0; k < i->mappings.service_count; k++)
        if (!sources_synced(i->sources, k))
            return false;
    return true;
}

static void on_synced(void *arg)
{
    struct inspect *i = arg;
    if (i->missing == NULL && !inspect_haproxy_started(&i->haproxy) && all_synced(i))
        read_haproxy(i);
}

static void on_changed(void *arg, size_t service, const char *cause, uint64_t received_us)
{
    struct inspect *i = arg;
    (void)service, (void)cause, (void)received_us;
    timer_set_sooner(&i->synced, 0);
}

/* The lines of /readyz that are not well. */
static char *missing_lines(const struct inspect *i)
{
    cleanup(buf_fini) struct buf all, missing;
    buf_init(&all, 0);
    buf_init(&missing, 0);
    sources_ready(i->sources, &all);
    for (const char *line = buf_str(&all); *line != '\0';) {
        size_t len = strcspn(line, "\n") + 1; /* each ends with one */
        if (str_has_prefix(line, "[-]"))
            buf_addn(&missing, line, len);
        line += len;
    }
    return buf_take(&missing);
}

static void on_deadline(void *arg)
{
    struct inspect *i = arg;
    i->missing = missing_lines(i);
    read_haproxy(i);
}

static void on_haproxy(void *arg)
{
    struct inspect *i = arg;
    event_base_loopbreak(i->base);
}

/* ---- the report ---- */

static void fill_service(const struct inspect *i, const struct mapping *m, struct inspect_backend *b)
{
    const struct cache *cache = sources_cache(i->sources, m->service);
    b->service = cache_service(cache, m->rules.service);
    b->service_state = b->service != NULL                               ? INSPECT_SERVICE_KNOWN
                       : sources_service_denied(i->sources, m->service) ? INSPECT_SERVICE_DENIED
                       : cache_synced(cache, CACHE_SERVICES)            ? INSPECT_SERVICE_ABSENT
                                                                        : INSPECT_SERVICE_WAITING;
}

static void fill_plan(struct inspect *i, size_t which, struct inspect_backend *b)
{
    struct observed *found = &i->haproxy.found[which];
    struct brake brake = {0};
    if (found->unreadable.kind != ERROR_NONE) {
        b->unseen = found->unreadable;
        return;
    }
    b->seen = true;
    b->actual = found->backend;
    backend_init(&found->backend);
    plan_make(&b->actual, &b->wish, &i->rules, i->haproxy.dirty, &brake, clock_mono_ms(), &b->plan);
}

static void add_reason(struct inspect_backend *b, const char *server, const char *text)
{
    b->reasons[b->reason_count++] = (struct inspect_reason){.server = mem_strdup(server), .text = mem_strdup(text)};
}

/* The wish tells only of nodes that have something to do with the Service. Of the others, the rules tell. */
static void fill_reasons(const struct inspect *i, const struct mapping *m, struct inspect_backend *b)
{
    b->reasons = mem_array(b->actual.server_count, sizeof(b->reasons[0]));
    for (size_t k = 0; k < b->actual.server_count && b->reason_count < REASONS_MAX; k++) {
        cleanup(explanation_fini) struct explanation e = {.state = SERVER_OUT};
        const char *server = b->actual.servers[k].name;
        if (desired_find(&b->wish, server) != NULL || desired_why_out(&b->wish, server) != NULL)
            continue;
        bool known = mapping_explain(m, i->sources, server, &e) == 0;
        if (known && e.state == SERVER_OUT)
            add_reason(b, server, e.verdict);
        else if (!known && sources_synced(i->sources, m->service))
            add_reason(b, server, "no node and no endpoint of that name is known");
    }
}

static void fill_explanation(const struct inspect *i, const struct mapping *m, struct inspect_backend *b)
{
    const char *node = i->options->node;
    b->node_known = mapping_explain(m, i->sources, node, &b->explanation) == 0;
    b->is_node = str_ip_family(node) == 0 || cache_node(sources_nodes(i->sources), node) != NULL;
}

static void fill_backend(struct inspect *i, size_t which, struct inspect_backend *b)
{
    const struct mapping *m = &i->mappings.list[which];
    *b = (struct inspect_backend){.name = m->backend, .rules = &m->rules};
    backend_init(&b->actual);
    desired_init(&b->wish);
    fill_service(i, m, b);
    mapping_compute(m, i->sources, clock_mono_ms(), &b->wish);
    fill_plan(i, which, b);
    fill_reasons(i, m, b);
    if (i->options->node != NULL)
        fill_explanation(i, m, b);
}

static char *nearest_names(const struct inspect *i, const char *node)
{
    cleanup(nearest_fini) struct nearest n;
    nearest_init(&n, node);
    nearest_look_at_nodes(&n, sources_nodes(i->sources));
    for (size_t k = 0; k < i->mappings.service_count; k++)
        nearest_look_at_endpoints(&n, sources_cache(i->sources, k));
    return nearest_text(&n);
}

static void fill(struct inspect *i, struct inspect_report *r)
{
    *r = (struct inspect_report){.backends = mem_array(i->mappings.count, sizeof(r->backends[0])),
                                 .count = i->mappings.count,
                                 .rules = &i->rules.diff,
                                 .node = i->options->node,
                                 .missing = mem_strdup(i->missing),
                                 .warning = mem_strdup(i->haproxy.warning)};
    for (size_t k = 0; k < r->count; k++)
        fill_backend(i, k, &r->backends[k]);
    if (r->node != NULL && inspect_explain_status(r) != EXIT_SUCCESS)
        r->nearest = nearest_names(i, r->node);
}

/* ---- life ---- */

static void begin(struct inspect *i, struct config *config, const struct log *log)
{
    const struct sources_options options = {.services = i->mappings.services,
                                            .service_count = i->mappings.service_count,
                                            .node_selector = config->node_selector,
                                            .log = log};
    i->sources = sources_new(i->base, i->clients.kube, &options, on_changed, i);
    timer_init(&i->synced, i->base, on_synced, i);
    timer_init(&i->deadline, i->base, on_deadline, i);
    inspect_haproxy_init(&i->haproxy, i->base, i->clients.dataplanes[0].file, i->mappings.backends, i->mappings.count,
                         on_haproxy, i);
    sources_start(i->sources);
    timer_set(&i->deadline, i->options->timeout_ms);
}

static void end(struct inspect *i)
{
    sources_free(i->sources);
    inspect_haproxy_fini(&i->haproxy);
    timer_fini(&i->synced);
    timer_fini(&i->deadline);
    free(i->missing);
}

int inspect_run(struct event_base *base, struct config *config, const struct kube_access *access, const char *version,
                const struct log *log, const struct inspect_options *options, struct error *err)
{
    struct inspect i = {.base = base, .options = options, .rules = rules_for_plan(config)};
    const struct dataplane_client_events events = {0};
    int status = clients_make(base, config, access, version, &events, log, &i.clients, err);
    if (status == 0) {
        struct inspect_report report;
        mappings_init(&i.mappings, config);
        begin(&i, config, log);
        event_base_dispatch(base);
        fill(&i, &report);
        options->show(options->arg, &report);
        inspect_report_fini(&report);
        end(&i);
        mappings_fini(&i.mappings);
    }
    clients_free(&i.clients);
    return status;
}
