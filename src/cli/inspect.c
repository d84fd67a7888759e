#include "cli/inspect.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/checks.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/cache.h"
#include "servers/names.h"
#include "cli/daemon_memory.h"
#include "cli/did_you_mean.h"
#include "cli/inspect_haproxy.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "cli/run.h"
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
    struct sources *sources; /* NULL: Kubernetes is not asked */
    struct inspect_report report;
    struct inspect_haproxy *haproxies; /* as the clients' drivers, and the targets of the report */
    size_t haproxy_count;
    size_t haproxies_left;       /* that are being read */
    struct daemon_memory daemon; /* as of after all of that */
    bool syncing;                /* the caches fill */
    unsigned refused_reads;      /* in a row at which all that was missing was refused */
    const struct log *log;
};

/* ---- Kubernetes, then each HAProxy, then the daemon ---- */

static bool all_synced(const struct inspect *i)
{
    bool all = true;
    for (size_t k = 0; all && k < i->mappings.service_count; k++)
        all = sources_synced(i->sources, k);
    return all;
}

static void on_changed(void *arg, size_t service, const char *cause, uint64_t received_us)
{
    const struct inspect *i = arg;
    (void)service, (void)cause, (void)received_us;
    if (i->syncing && all_synced(i))
        event_base_loopbreak(i->base);
}

/* Does not wait for what will not come: an API server that is not there, or refuses the credentials, is hardly so for
 * the next seconds alone. */
static bool kubernetes_is_settled(void *arg)
{
    struct inspect *i = arg;
    i->refused_reads = sources_refused(i->sources) ? i->refused_reads + 1 : 0;
    return all_synced(i) || sources_away(i->sources) ||
           i->refused_reads >= (i->options->refusals_count ? 1 : REFUSED_READS);
}

static void read_kubernetes(struct inspect *i, const struct settings *settings)
{
    const struct daemon in = {.base = i->base, .settings = settings, .kube = i->clients->kube, .log = i->log};
    struct inspect_report *r = &i->report;
    bool logged = false;
    /* Of a whole configuration there is nothing to read but HAProxies. */
    if (i->clients->kube == NULL || i->mappings.service_count == 0)
        return;
    i->sources = sources_new(&in, i->mappings.services, i->mappings.service_count, on_changed, i);
    i->syncing = true;
    sources_start(i->sources);
    run_until(i->base, i->options->timeout_ms, REFUSED_READ_MS, kubernetes_is_settled, i);
    i->syncing = false;
    r->incomplete = !all_synced(i);
    if (r->incomplete && !sources_outage(i->sources, &r->missing, &logged))
        sources_ready(i->sources, &r->missing);
    r->missing_logged = logged && i->log != NULL && i->log->level <= LOG_LEVEL_WARN;
}

static void on_haproxy(void *arg)
{
    struct inspect *i = arg;
    if (--i->haproxies_left == 0)
        event_base_loopbreak(i->base);
}

/* Side by side, each with a deadline of its own. The daemon last: what it has commanded that was read is what it remembers
 * then. */
static void read_haproxies(struct inspect *i)
{
    i->haproxies_left = i->haproxy_count;
    for (size_t h = 0; h < i->haproxy_count; h++)
        inspect_haproxy_start(&i->haproxies[h], i->options->timeout_ms);
    if (i->haproxies_left > 0)
        event_base_dispatch(i->base);
    if (i->haproxy_count > 0)
        daemon_memory_ask(&i->daemon, i->base, i->options->timeout_ms);
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
        const char *why = known && e.state == SERVER_OUT ? e.verdict
                          : !known && sources_synced(i->sources, from->service)
                              ? "no node and no endpoint has this name"
                              : NULL;
        if (why != NULL)
            b->reasons[b->reason_count++] =
                (struct inspect_reason){.server = mem_strdup(server), .text = mem_strdup(why)};
    }
}

/* By the names that its servers have there. */
static void fill_backend(const struct inspect *i, const char *target, const struct mapping *from,
                         struct inspect_backend *b)
{
    cleanup(desired_fini) struct desired before;
    desired_init(&before);
    daemon_memory_recall_names(&i->daemon, target, from->backend, &before);
    const struct names_input names = {.desired = b->desired,
                                      .before = &before,
                                      .actual = &b->actual,
                                      .runtime = &b->runtime,
                                      .rules = &i->rules.diff};
    if (names_apply(&names, &b->named))
        b->desired = &b->named;
    fill_reasons(i, from, b);
}

static void fill(struct inspect *i)
{
    struct inspect_report *r = &i->report;
    const struct inspect_rules rules = {.plan = &i->rules,
                                        .park_ttl_ms = i->park_ttl_ms,
                                        .node_exists = i->sources != NULL ? sources_node_exists : NULL,
                                        .node_arg = i->sources,
                                        .now_ms = clock_mono_ms(),
                                        .daemon = &i->daemon};
    r->rules = &i->rules.diff;
    r->sources = i->sources;
    r->node = i->options->node;
    r->daemon = &i->daemon;
    for (size_t k = 0; k < r->mapping_count; k++) {
        daemon_memory_recall_states(&i->daemon, k, i->mappings.list[k].states);
        fill_mapping(i, &i->mappings.list[k], &r->mappings[k]);
    }
    for (size_t k = 0; k < r->target_count; k++) {
        struct inspect_target *t = &r->targets[k];
        for (size_t m = 0; m < r->mapping_count; m++)
            if (t->backends[m].seen)
                fill_backend(i, t->url, &i->mappings.list[m], &t->backends[m]);
        t->dirty = t->dirty || (t->unverified && !daemon_memory_used(&i->daemon));
        inspect_decide(t, r->mapping_count, &rules);
    }
    if (r->node == NULL || i->sources == NULL || inspect_explain_status(r) == EXIT_SUCCESS)
        return;
    cleanup(nearest_fini) struct nearest n;
    nearest_init(&n, r->node);
    nearest_of_nodes(&n, sources_caches(i->sources, 0));
    for (size_t k = 0; k < i->mappings.service_count; k++)
        nearest_of_endpoints(&n, sources_caches(i->sources, k));
    r->nearest = nearest_text(&n);
}

/* ---- all of it ---- */

void inspect_refresh(struct event_base *base, struct settings *settings, struct clients *clients, const struct log *log,
                     const struct inspect_options *options)
{
    struct inspect i = {.base = base,
                        .options = options,
                        .clients = clients,
                        .log = log,
                        .rules = rules_for_plan(settings),
                        .park_ttl_ms = settings->park_ttl_ms};
    mappings_init(&i.mappings, settings);
    daemon_memory_init(&i.daemon, settings, options->daemon);
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(base, clients, settings, &i.haproxy_count);
    i.haproxies = mem_array(i.haproxy_count, sizeof(i.haproxies[0]));
    inspect_report_init(&i.report, i.haproxy_count, i.mappings.count);
    for (size_t h = 0; h < i.haproxy_count; h++) {
        inspect_haproxy_init(&i.haproxies[h], base, drivers[h], i.mappings.backends, i.mappings.count,
                             &i.report.targets[h], on_haproxy, &i);
        i.haproxies[h].rules = &i.rules.diff;
        i.haproxies[h].wants_checks = options->checks;
    }
    read_kubernetes(&i, settings);
    read_haproxies(&i);
    if (i.sources != NULL)
        sources_stop(i.sources); /* what they have is shown from here on, and does not change meanwhile */
    fill(&i);
    for (size_t h = 0; options->node == NULL && h < i.haproxy_count; h++)
        inspect_haproxy_check(&i.haproxies[h], base);
    options->show(options->arg, &i.report);
    inspect_report_fini(&i.report);
    if (i.sources != NULL)
        sources_free(i.sources);
    for (size_t h = 0; h < i.haproxy_count; h++)
        inspect_haproxy_fini(&i.haproxies[h]);
    free(i.haproxies);
    daemon_memory_fini(&i.daemon);
    mappings_fini(&i.mappings);
}

/* ---- plan, explain ---- */

struct inspection {
    const struct run *run;
    int status;
};

/* What concerns no backend goes to standard error. */
static void on_report(void *arg, const struct inspect_report *report)
{
    struct inspection *i = arg;
    const struct run *r = i->run;
    bool explains = r->command->kind == COMMAND_EXPLAIN;
    cleanup(show_fini) struct show show = {0};
    cleanup(buf_fini) struct buf problems = {0};
    struct page problem_page;
    show_init(&show, r);
    show_page_init(&problem_page, &problems, stderr, r->command, r->environ);
    if (explains)
        inspect_print_explain(report, &show.page);
    else if (r->command->json)
        inspect_print_json(report, &show.out);
    else
        inspect_print_plan(report, &show.page);
    inspect_print_problems(report, &problem_page);
    int status = show_end(&show, explains ? inspect_explain_status(report) : inspect_plan_status(report));
    i->status = show_text(&problems, stderr) == 0 ? status : EXIT_FAILURE;
}

int run_inspect(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    const struct command *command = r->command;
    struct error err = {0};
    struct session session;
    struct inspection inspection = {.run = r, .status = EXIT_FAILURE};
    const struct inspect_options options = {.daemon = command->kind == COMMAND_PLAN ? command->daemon : NULL,
                                            .node = command->operand,
                                            .timeout_ms = command->timeout_ms,
                                            .show = on_report,
                                            .arg = &inspection};
    if (run_manages_servers(r->settings, &err) != 0 || start_access(r->settings, r->environ, &access, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    if (session_begin(r, &access, LOG_LEVEL_WARN, &session, &err) == 0)
        inspect_refresh(session.base, r->settings, &session.clients, &session.log, &options);
    else
        inspection.status = run_fail(&err, start_status(&err));
    session_end(&session);
    return inspection.status;
}
