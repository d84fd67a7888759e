#include "cli/inspect.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/checks.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "model/cache.h"
#include "servers/names.h"
#include "host/timer.h"
#include "daemon/clients.h"
#include "cli/daemon_memory.h"
#include "cli/inspect_check.h"
#include "cli/inspect_decide.h"
#include "cli/inspect_haproxy.h"
#include "cli/did_you_mean.h"
#include "cli/inspect_report.h"
#include "daemon/mappings.h"
#include "daemon/sources.h"

/* For so many servers of a backend the rules are asked one by one. */
#define REASONS_MAX 100

/* An API server that has just started refuses all requests for a moment, and a refusal may be followed by another way
 * to ask. */
#define REFUSED_READ_MS 500
#define REFUSED_READS 6

struct inspect {
    struct event_base *base;
    const struct inspect_options *options;
    const struct clients *clients;
    struct mappings mappings;
    struct plan_rules rules;
    uint64_t park_ttl_ms;
    struct sources *sources;           /* NULL: Kubernetes is not asked */
    struct inspect_haproxy *haproxies; /* as the clients' drivers */
    size_t haproxy_count;
    size_t haproxies_left;       /* that are being read */
    struct daemon_memory daemon; /* as of after all of that */
    struct timer synced, refused, deadline;
    unsigned refused_reads; /* in a row at which all that was missing was refused */
    bool reading;           /* HAProxy; with Kubernetes it is over */
    bool incomplete;        /* not all was synced */
    struct checks missing;  /* where that is so: how it stands */
    bool missing_logged;    /* the log has its one cause */
    const struct log *log;
};

/* ---- Kubernetes, then HAProxy ---- */

/* Side by side, each with a deadline of its own. */
static void read_haproxies(struct inspect *i)
{
    i->reading = true;
    timer_cancel(&i->synced);
    timer_cancel(&i->refused);
    timer_cancel(&i->deadline);
    i->haproxies_left = i->haproxy_count;
    if (i->haproxies_left == 0)
        event_base_loopbreak(i->base);
    for (size_t h = 0; h < i->haproxy_count; h++)
        inspect_haproxy_start(&i->haproxies[h], i->options->timeout_ms);
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
    if (!i->reading && all_synced(i))
        read_haproxies(i);
}

static void on_changed(void *arg, size_t service, const char *cause, uint64_t received_us)
{
    struct inspect *i = arg;
    (void)service, (void)cause, (void)received_us;
    timer_set_sooner(&i->synced, 0);
}

static void on_deadline(void *arg)
{
    struct inspect *i = arg;
    i->incomplete = i->sources != NULL;
    bool logged = false;
    if (i->incomplete && !sources_outage(i->sources, &i->missing, &logged))
        sources_ready(i->sources, &i->missing);
    i->missing_logged = logged && i->log != NULL && i->log->level <= LOG_LEVEL_WARN;
    read_haproxies(i);
}

/* Does not wait for what will not come: an API server that is not there, or refuses the credentials, is hardly so for
 * the next seconds alone. */
static void check_refusals(void *arg)
{
    struct inspect *i = arg;
    i->refused_reads = sources_refused(i->sources) ? i->refused_reads + 1 : 0;
    if (sources_away(i->sources) || i->refused_reads >= (i->options->refusals_count ? 1 : REFUSED_READS))
        on_deadline(i);
    else
        timer_set(&i->refused, REFUSED_READ_MS);
}

static void on_daemon(void *arg)
{
    const struct inspect *i = arg;
    event_base_loopbreak(i->base);
}

/* The daemon last: what it has commanded that was read is what it remembers then. */
static void on_haproxy(void *arg)
{
    struct inspect *i = arg;
    if (--i->haproxies_left == 0 && !daemon_memory_ask(&i->daemon, i->base, i->options->timeout_ms, on_daemon, i))
        event_base_loopbreak(i->base);
}

/* ---- the report ---- */

static void fill_mapping(const struct inspect *i, const struct mapping *from, struct inspect_mapping *m)
{
    const char *node = i->options->node;
    m->backend = from->backend;
    m->rules = &from->rules;
    m->source = from->service;
    if (i->sources == NULL) {
        m->desired.state = DESIRED_NOT_SYNCED;
        m->desired.problem = mem_strdup("Kubernetes could not be read");
        return;
    }
    const struct cache *services = sources_caches(i->sources, from->service)->services;
    m->service = cache_find(services, from->rules.service);
    m->service_state = m->service != NULL                                  ? INSPECT_SERVICE_KNOWN
                       : sources_service_denied(i->sources, from->service) ? INSPECT_SERVICE_DENIED
                       : cache_synced(services)                            ? INSPECT_SERVICE_ABSENT
                                                                           : INSPECT_SERVICE_WAITING;
    mapping_compute(from, i->sources, clock_mono_ms(), &m->desired);
    if (node == NULL)
        return;
    m->node_known = mapping_explain(from, i->sources, node, &m->explanation) == 0;
    m->is_node = str_ip_family(node) == 0 || cache_find(sources_nodes(i->sources), node) != NULL;
}

static void add_reason(struct inspect_backend *b, const char *server, const char *text)
{
    b->reasons[b->reason_count++] = (struct inspect_reason){.server = mem_strdup(server), .text = mem_strdup(text)};
}

/* The desired state has only nodes of the Service. For the others, the rules say why. */
static void fill_reasons(const struct inspect *i, const struct mapping *from, struct inspect_backend *b)
{
    const struct desired *desired = b->desired;
    b->reasons = mem_array(b->actual.server_count, sizeof(b->reasons[0]));
    for (size_t k = 0; i->sources != NULL && k < b->actual.server_count && b->reason_count < REASONS_MAX; k++) {
        cleanup(explanation_fini) struct explanation e = {.state = SERVER_OUT};
        const char *server = b->actual.servers[k].name;
        if (desired_find(desired, server) != NULL || desired_why_out(desired, server) != NULL)
            continue;
        const char *node = desired_node(desired, server);
        bool known = mapping_explain(from, i->sources, node != NULL ? node : server, &e) == 0;
        if (known && e.state == SERVER_OUT)
            add_reason(b, server, e.verdict);
        else if (!known && sources_synced(i->sources, from->service))
            add_reason(b, server, "no node and no endpoint has this name");
    }
}

static void fill_backend(const struct inspect *i, const struct inspect_target *t, const struct mapping *from,
                         struct reading *found, struct inspect_backend *b)
{
    cleanup(desired_fini) struct desired before;
    desired_init(&before);
    if (found->unreadable.kind != ERROR_NONE) {
        b->unseen = found->unreadable;
        return;
    }
    b->seen = true;
    b->actual = found->backend;
    b->runtime = found->runtime;
    backend_init(&found->backend);
    runtime_init(&found->runtime);
    daemon_memory_recall_names(&i->daemon, t->url, from->backend, &before);
    const struct names_input names = {.desired = b->desired,
                                      .before = &before,
                                      .actual = &b->actual,
                                      .runtime = &b->runtime,
                                      .rules = &i->rules.diff};
    if (names_apply(&names, &b->named))
        b->desired = &b->named;
    fill_reasons(i, from, b);
}

static void fill_target(struct inspect *i, struct inspect_haproxy *h, struct inspect_target *t)
{
    const struct inspect_rules rules = {.plan = &i->rules,
                                        .park_ttl_ms = i->park_ttl_ms,
                                        .node_exists = i->sources != NULL ? sources_node_exists : NULL,
                                        .node_arg = i->sources,
                                        .now_ms = clock_mono_ms(),
                                        .daemon = &i->daemon};
    t->url = h->driver->name;
    t->dirty = h->dirty;
    t->file = h->readout.file;
    t->adds = h->driver->adds;
    t->regroups = h->driver->regroups;
    t->served = &h->served;
    t->drift = mem_strdup(h->drift);
    t->warning = mem_strdup(h->warning);
    t->file_problem = mem_strdup(h->readout.file_problem != NULL ? h->readout.file_problem : h->harm);
    t->file_warning = mem_strdup(h->readout.defaults_problem);
    for (size_t k = 0; k < i->mappings.count; k++)
        fill_backend(i, t, &i->mappings.list[k], &h->found[k], &t->backends[k]);
    inspect_decide(t, i->mappings.count, &rules);
}

static char *nearest_names(const struct inspect *i, const char *node)
{
    cleanup(nearest_fini) struct nearest n;
    nearest_init(&n, node);
    nearest_of_nodes(&n, sources_caches(i->sources, 0));
    for (size_t k = 0; k < i->mappings.service_count; k++)
        nearest_of_endpoints(&n, sources_caches(i->sources, k));
    return nearest_text(&n);
}

static void fill(struct inspect *i, struct inspect_report *r)
{
    inspect_report_init(r, i->haproxy_count, i->mappings.count);
    r->rules = &i->rules.diff;
    r->sources = i->sources;
    r->node = i->options->node;
    r->daemon = &i->daemon;
    r->incomplete = i->incomplete;
    r->missing = i->missing;
    i->missing = (struct checks){0};
    r->missing_logged = i->missing_logged;
    for (size_t k = 0; k < r->mapping_count; k++) {
        daemon_memory_recall_states(&i->daemon, k, i->mappings.list[k].states);
        fill_mapping(i, &i->mappings.list[k], &r->mappings[k]);
    }
    for (size_t k = 0; k < r->target_count; k++)
        fill_target(i, &i->haproxies[k], &r->targets[k]);
    if (r->node != NULL && i->sources != NULL && inspect_explain_status(r) != EXIT_SUCCESS)
        r->nearest = nearest_names(i, r->node);
}

/* ---- life ---- */

static void begin_sources(struct inspect *i, const struct settings *settings, const struct log *log)
{
    const struct daemon in = {.base = i->base, .settings = settings, .kube = i->clients->kube, .log = log};
    /* Of a whole configuration there is nothing to read but HAProxies. */
    if (i->clients->kube == NULL || i->mappings.service_count == 0) {
        timer_set(&i->deadline, 0);
        return;
    }
    i->sources = sources_new(&in, i->mappings.services, i->mappings.service_count, on_changed, i);
    sources_start(i->sources);
    timer_set(&i->refused, REFUSED_READ_MS);
    timer_set(&i->deadline, i->options->timeout_ms);
}

static void begin(struct inspect *i, struct settings *settings, const struct log *log)
{
    timer_init(&i->synced, i->base, on_synced, i);
    timer_init(&i->refused, i->base, check_refusals, i);
    timer_init(&i->deadline, i->base, on_deadline, i);
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(i->base, i->clients, settings, &i->haproxy_count);
    i->haproxies = mem_array(i->haproxy_count, sizeof(i->haproxies[0]));
    for (size_t h = 0; h < i->haproxy_count; h++) {
        inspect_haproxy_init(&i->haproxies[h], i->base, drivers[h], i->mappings.backends, i->mappings.count,
                             &i->rules.diff, on_haproxy, i);
        i->haproxies[h].wants_checks = i->options->checks;
    }
    begin_sources(i, settings, log);
}

void inspect_refresh(struct event_base *base, struct settings *settings, struct clients *clients, const struct log *log,
                     const struct inspect_options *options)
{
    struct inspect i = {.base = base,
                        .options = options,
                        .clients = clients,
                        .log = log,
                        .rules = rules_for_plan(settings),
                        .park_ttl_ms = settings->park_ttl_ms};
    struct inspect_report report;
    mappings_init(&i.mappings, settings);
    daemon_memory_init(&i.daemon, settings, options->daemon);
    begin(&i, settings, log);
    event_base_dispatch(base);
    if (i.sources != NULL)
        sources_stop(i.sources); /* what they have is shown from here on, and does not change meanwhile */
    fill(&i, &report);
    for (size_t k = 0; options->node == NULL && k < report.target_count; k++)
        inspect_check(base, i.haproxies[k].driver, i.haproxies[k].readout.version, options->timeout_ms,
                      &report.targets[k], report.mapping_count);
    options->show(options->arg, &report);
    inspect_report_fini(&report);
    if (i.sources != NULL)
        sources_free(i.sources);
    for (size_t h = 0; h < i.haproxy_count; h++)
        inspect_haproxy_fini(&i.haproxies[h]);
    free(i.haproxies);
    timer_fini(&i.synced);
    timer_fini(&i.refused);
    timer_fini(&i.deadline);
    daemon_memory_fini(&i.daemon);
    mappings_fini(&i.mappings);
}

int inspect_run(struct event_base *base, struct settings *settings, const struct kube_access *access,
                const char *version, const struct log *log, const struct inspect_options *options, struct error *err)
{
    struct clients clients;
    const struct clients_hooks hooks = {0};
    int status = clients_make(base, settings, access, version, &hooks, log, &clients, err);
    clients_settle(base, &clients);
    if (status == 0)
        inspect_refresh(base, settings, &clients, log, options);
    clients_free(&clients);
    return status;
}
