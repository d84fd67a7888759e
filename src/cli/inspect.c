#include "cli/inspect.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/did_you_mean.h"
#include "cli/run.h"
#include "cli/running_daemon.h"
#include "daemon/inspect/inspect.h"
#include "daemon/inspect/inspect_report.h"
#include "daemon/sources.h"
#include "haproxy/served.h"
#include "json/read.h"
#include "report/checks.h"
#include "servers/servers_internal.h"

/* An API server that has just started refuses all requests for a moment, and a refusal may be followed by another way
 * to ask. */
#define REFUSED_READ_MS 500
#define REFUSED_READS 6
#define SETTLED_MS 10 /* how often it is checked whether all is known */
#define AGAIN_MS 1000 /* what is inconsistent is read again, once: a reload causes that for a moment */
#define STOP_MS 1000
#define WATCH_S 3

/* How far one HAProxy is. */
struct inspect_reading {
    uint64_t decisions; /* that do not count any more, as it was read again since */
    uint64_t again_ms;  /* it is read again then; 0: not */
    bool again;         /* it was */
    bool settled;
    struct error late; /* else */
    struct served served;
};

struct inspect {
    struct event_base *base;
    const struct inspect_options *options;
    const struct clients *clients;
    const struct log *log;
    struct mappings mappings;
    struct sources *sources; /* NULL: Kubernetes is not asked */
    struct targets *targets;
    struct inspect_reading *readings; /* as the targets, and those of the report */
    size_t running;                   /* while stopping */
    struct inspect_report report;
    bool syncing;           /* the caches fill */
    unsigned refused_reads; /* in a row at which all that was missing was refused */
};

/* ---- Kubernetes */

static bool inspect_all_synced(const struct inspect *i)
{
    bool all = true;
    for (size_t k = 0; all && k < i->mappings.service_count; k++)
        all = sources_synced(i->sources, k);
    return all;
}

static void inspect_on_changed(void *arg, size_t service, const char *cause, uint64_t received_us)
{
    const struct inspect *i = arg;
    (void)service, (void)cause, (void)received_us;
    if (i->syncing && inspect_all_synced(i))
        event_base_loopbreak(i->base);
}

/* Does not wait for what will not come: an API server that is not there, or refuses the credentials, is hardly so for
 * the next seconds alone. */
static bool inspect_kubernetes_settled(void *arg)
{
    struct inspect *i = arg;
    i->refused_reads = sources_refused(i->sources) ? i->refused_reads + 1 : 0;
    return inspect_all_synced(i) || sources_away(i->sources) ||
           i->refused_reads >= (i->options->refusals_count ? 1 : REFUSED_READS);
}

static void inspect_read_kubernetes(struct inspect *i, const struct settings *settings)
{
    const struct daemon in = {.base = i->base, .settings = settings, .kube = i->clients->kube, .log = i->log};
    struct inspect_report *r = &i->report;
    /* Of a whole configuration there is nothing to read but HAProxies. */
    if (i->clients->kube == NULL || i->mappings.service_count == 0) {
        for (size_t k = 0; k < r->mapping_count; k++) {
            struct desired unknown;
            desired_init(&unknown);
            unknown.state = DESIRED_NOT_SYNCED;
            unknown.problem = mem_strdup("Kubernetes could not be read");
            r->mappings[k].desired = desired_share(&unknown);
        }
        return;
    }
    i->sources = sources_new(&in, i->mappings.services, i->mappings.service_count, inspect_on_changed, i);
    i->syncing = true;
    sources_start(i->sources);
    run_until(i->base, i->options->timeout_ms, REFUSED_READ_MS, inspect_kubernetes_settled, i);
    i->syncing = false;
    r->incomplete = !inspect_all_synced(i);
    r->away = r->incomplete && sources_outage(i->sources, &r->missing);
    if (r->incomplete && !r->away)
        sources_ready(i->sources, &r->missing);
    for (size_t k = 0; k < r->mapping_count; k++)
        r->mappings[k].desired = mapping_update(&i->mappings.list[k], i->sources, clock_mono_ms());
}

/* ---- then the controller of each HAProxy, in a dry run until it has decided */

static bool inspect_is_settled(const struct target *t, struct inspect_reading *r)
{
    const struct instance_view v = instance_view(t->instance);
    const uint64_t now = clock_mono_ms();
    const uint64_t decisions = t->servers != NULL ? t->servers->decisions : v.last_reload_known ? UINT64_MAX : 0;
    /* Where the list of reloads cannot be read, it decides later. */
    bool decided = v.away || (v.fresh && (decisions > r->decisions || v.problem->kind != ERROR_NONE));
    if (r->again_ms != 0 && now >= r->again_ms) {
        r->again_ms = 0;
        instance_refresh(t->instance);
        return false;
    }
    bool odd = v.drift != NULL && !v.dirty;
    for (size_t i = 0; t->servers != NULL && i < t->servers->options.backend_count; i++) {
        const struct instance_backend *at = t->servers->backends[i].at;
        odd = odd || (at->actual.exists && !at->runtime.readable);
    }
    if (decided && !r->again && !v.away && odd) {
        r->again = true;
        r->decisions = t->servers != NULL ? decisions : 0;
        r->again_ms = now + AGAIN_MS;
    }
    r->settled = decided && r->again_ms == 0;
    return r->settled;
}

static bool inspect_all_settled(void *arg)
{
    const struct inspect *i = arg;
    bool all = true;
    for (size_t k = 0; k < targets_count(i->targets); k++)
        all = inspect_is_settled(targets_at(i->targets, k), &i->readings[k]) && all;
    return all;
}

static void inspect_on_stopped(void *arg)
{
    struct inspect *i = arg;
    i->running = 0;
}

static bool inspect_stopped(void *arg)
{
    return ((const struct inspect *)arg)->running == 0;
}

/* Side by side, each with a deadline of its own. */
static void inspect_read_haproxies(struct inspect *i, const struct settings *settings, const struct plan_rules *rules,
                                   struct metric_table *metrics, struct driver *const *drivers)
{
    static const struct log silent = {.level = LOG_LEVEL_ERROR + 1, .fd = -1};
    struct targets_options options = {
        .servers = {.backends = i->mappings.backends,
                    .backend_count = i->mappings.count,
                    .rules = *rules,
                    .park_ttl_ms = settings->park_ttl_ms,
                    .node_exists = i->sources != NULL ? sources_node_exists : NULL,
                    .node_arg = i->sources},
        .instance = {.dry = true, .resync_period_ms = settings->resync_period_ms, .metrics = metrics, .log = &silent}};
    struct error err = {0};
    const size_t count = i->report.target_count;
    options.servers.rules.dry_run = true;
    i->targets = targets_new(i->base, &options, drivers, count, &err);
    if (i->targets == NULL)
        abort(); /* one engine claims nothing twice */
    i->readings = mem_array(count, sizeof(i->readings[0]));
    for (size_t k = 0; k < i->mappings.count; k++)
        targets_set_desired(i->targets, k, i->report.mappings[k].desired, NULL, 0);
    targets_start(i->targets);
    if (count > 0)
        run_until(i->base, i->options->timeout_ms, SETTLED_MS, inspect_all_settled, i);
    i->running = 1;
    targets_stop(i->targets, inspect_on_stopped, i);
    if (i->running > 0)
        run_until(i->base, STOP_MS, SETTLED_MS, inspect_stopped, i);
}

/* ---- the report ---- */

static void inspect_give_up(struct inspect *i, size_t k)
{
    struct inspect_target *t = &i->report.targets[k];
    struct error *late = &i->readings[k].late;
    error_set(late, ERROR_RETRY, "%s did not answer all requests within %.1f s", t->url,
              (double)i->options->timeout_ms / 1000.0);
    if (instance_view(targets_at(i->targets, k)->instance).fresh) { /* all but how the last reload ended */
        error_prefix(late, "the list of reloads cannot be read");
        t->warning = late->message;
        return;
    }
    for (size_t m = 0; m < i->report.mapping_count; m++) {
        t->backends[m].seen = false;
        t->backends[m].unseen = *late;
    }
}

static void inspect_report_all(struct inspect *i, const struct settings *settings, const struct plan_rules *rules)
{
    struct inspect_report *r = &i->report;
    const struct inspect_of of = {.settings = settings,
                                  .mappings = &i->mappings,
                                  .sources = i->sources,
                                  .targets = i->targets,
                                  .rules = rules,
                                  .node = i->options->node};
    inspect_fill(&of, r);
    for (size_t k = 0; k < r->target_count; k++) {
        struct inspect_target *t = &r->targets[k];
        struct instance *in = targets_at(i->targets, k)->instance;
        struct served *served = i->options->checks ? &i->readings[k].served : NULL;
        if (!i->readings[k].settled)
            inspect_give_up(i, k);
        inspect_decide(r, t);
        if (r->node == NULL && !instance_view(in).away)
            inspect_check(i->base, r, t, in, i->options->timeout_ms, served);
        t->served = served;
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

void inspect_refresh(struct event_base *base, struct settings *settings, struct clients *clients, const struct log *log,
                     const struct inspect_options *options)
{
    const struct plan_rules rules = rules_for_plan(settings);
    struct inspect i = {.base = base, .options = options, .clients = clients, .log = log};
    struct metric_table metrics;
    size_t count;
    metric_table_init(&metrics, "");
    mappings_init(&i.mappings, settings);
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(base, clients, settings, &count);
    inspect_report_init(&i.report, count, i.mappings.count);
    i.report.daemon = options->daemon;
    inspect_read_kubernetes(&i, settings);
    inspect_read_haproxies(&i, settings, &rules, &metrics, drivers);
    if (i.sources != NULL)
        sources_stop(i.sources); /* what they have is shown from here on, and does not change meanwhile */
    inspect_report_all(&i, settings, &rules);
    options->show(options->arg, &i.report);
    for (size_t k = 0; k < i.report.target_count; k++)
        served_fini(&i.readings[k].served);
    inspect_report_fini(&i.report);
    targets_free(i.targets);
    free(i.readings);
    if (i.sources != NULL)
        sources_free(i.sources);
    mappings_fini(&i.mappings);
    metric_table_fini(&metrics);
}

/* ---- plan, explain ---- */

struct inspection {
    const struct run *run;
    struct inspect_page page;
    struct buf out, problems;
    int status;
};

static void inspection_on_report(void *arg, const struct inspect_report *report)
{
    struct inspection *i = arg;
    inspect_show(report, &i->page, &i->out, &i->problems);
    i->status = report->node != NULL ? inspect_explain_status(report) : inspect_plan_status(report);
}

char *inspect_other_settings(const char *theirs, const char *ours)
{
    while (*theirs != '\0' || *ours != '\0') {
        size_t len = strcspn(ours, "\n");
        size_t key = strcspn(ours, "="), same = strncmp(theirs, ours, key + (key < len)) == 0 ? key + 1 : 0;
        if (strncmp(theirs, ours, len + 1) != 0)
            return mem_printf("it has other %.*s%s%.*s", (int)key, ours, same > 0 ? ":" : "",
                              same > 0 ? (int)strcspn(theirs + same, "\n") : 0, theirs + same);
        theirs += len + (theirs[len] != '\0');
        ours += len + (ours[len] != '\0');
    }
    return NULL;
}

/* Whatever answers there. */
static bool inspection_is_text(const char *text)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\x1b') || *text == '\x7f')
            return false;
    return true;
}

/* NULL: it is printed. Allocates. */
static char *inspection_take(struct inspection *i, const struct buf *body)
{
    cleanup(buf_fini) struct buf settings = {0};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = NULL;
    struct error err = {0};
    yyjson_val *of;
    const char *why, *theirs, *out, *problems;
    int64_t status;
    doc = json_parse(buf_str(body), body->len, 0, "its plan", &err);
    if (json_object_of(doc, "its plan", &of, &err) != 0 || json_get_line(of, "why", body->len, &why, &err) != 0)
        return mem_strdup(err.message);
    if (why != NULL)
        return mem_strdup(why);
    if (json_need_string(of, "settings", &theirs, &err) != 0 || json_need_string(of, "out", &out, &err) != 0 ||
        json_get_string(of, "problems", &problems, &err) != 0 ||
        json_get_int(of, "status", 0, INSPECT_EXIT_CHANGES, INSPECT_EXIT_UNKNOWN, &status, &err) != 0)
        return mem_strdup(err.message);
    inspect_print_settings(i->run->settings, &settings);
    char *other = inspect_other_settings(theirs, buf_str(&settings));
    if (other != NULL || !inspection_is_text(out) || !inspection_is_text(problems))
        return other != NULL ? other : mem_strdup("its plan is no text");
    buf_add(&i->out, out);
    buf_add(&i->problems, problems);
    i->status = (int)status;
    return NULL;
}

static void inspection_plan(struct inspection *i, struct session *session)
{
    const struct command *command = i->run->command;
    struct settings *settings = i->run->settings;
    const char *asked = command->kind == COMMAND_PLAN ? command->daemon : NULL;
    cleanup(daemon_answer_fini) struct daemon_answer a = {0};
    cleanup(mem_free_ptr) char *url = asked == NULL    ? NULL
                                      : *asked != '\0' ? mem_strdup(asked)
                                                       : running_daemon_url(settings);
    cleanup(mem_free_ptr) char *why_not = NULL;
    if (url != NULL && *asked == '\0' && !settings->status_page) {
        why_not = mem_strdup("STATUS_PAGE=false");
    } else if (url != NULL) {
        cleanup(mem_free_ptr) char *path = inspect_query(&i->page, url);
        daemon_get(session->base, url, path, command->timeout_ms, &a);
        const char *query = strchr(a.error.message, '?'), *why = query != NULL ? strstr(query, ": ") : NULL;
        why_not = a.status == 200 ? inspection_take(i, &a.body)
                  : a.status != 0 ? mem_printf("it answers /plan with HTTP %d", a.status)
                  : why != NULL   ? mem_printf("GET %s/plan%s", url, why)
                                  : mem_strdup(a.error.message);
        if (why_not == NULL)
            return;
    }
    const struct inspect_options options = {.node = command->operand,
                                            .daemon = {.url = url, .why_not = why_not},
                                            .timeout_ms = command->timeout_ms,
                                            .show = inspection_on_report,
                                            .arg = i};
    inspect_refresh(session->base, settings, &session->clients, &session->log, &options);
}

/* The exit status; i->out and i->problems are what is to be printed. */
static int inspection_ask(struct inspection *i)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct session session;
    struct error err = {0};
    if (start_access(i->run->settings, i->run->environ, &access, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    if (session_begin(i->run, &access, LOG_LEVEL_ERROR, &session, &err) == 0)
        inspection_plan(i, &session);
    else
        i->status = run_fail(&err, start_status(&err));
    session_end(&session);
    return i->status;
}

int run_inspect(const struct run *r)
{
    cleanup(show_fini) struct show show = {0};
    cleanup(mem_free_ptr) char *last = NULL; /* of --watch */
    const struct timespec pause = {.tv_sec = WATCH_S};
    struct error err = {0};
    struct page problems;
    int status;
    if (run_manages_servers(r->settings, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    do {
        struct inspection i = {.run = r};
        show_init(&show, r);
        show_page_init(&problems, &i.problems, stderr, r->command, r->environ);
        i.page =
            (struct inspect_page){r->command->json, show.page.colour, problems.colour, show.page.width, problems.width};
        status = inspection_ask(&i);
        cleanup(mem_free_ptr) char *both = mem_printf("%s%s", buf_str(&i.out), buf_str(&i.problems));
        if (!str_eq(last, both))
            status = show_text(&i.out, stdout) == 0 && show_text(&i.problems, stderr) == 0 ? status : EXIT_FAILURE;
        free(last);
        last = mem_strdup(both);
        buf_fini(&i.out);
        buf_fini(&i.problems);
    } while (r->command->watch && status != SETTINGS_EXIT_CODE && nanosleep(&pause, NULL) == 0);
    return status;
}
