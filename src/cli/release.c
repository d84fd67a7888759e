#include "cli/release.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/page.h"
#include "base/str.h"
#include "cli/running_daemon.h"
#include "daemon/clients.h"
#include "daemon/mappings.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"
#include "haproxy/local/helper.h"
#include "host/timer.h"
#include "report/telemetry.h"
#include "servers/release.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define LOOK_MS 10 /* whether all is known */
#define ASK_MS 2000
#define STOP_MS 5000
#define NAMES_SHOWN 20

struct release_target {
    struct release *engine;
    struct instance *instance;
};

struct release_job {
    struct event_base *base;
    const struct settings *settings;
    const struct release_command_options *options;
    bool writes;
    struct clients clients;
    struct mappings mappings;
    struct telemetry telemetry;
    struct plan_rules rules;
    struct release_target *targets;
    size_t target_count, running;
    struct timer look, end;
    uint64_t until_ms;
};

/* ---- the run ---- */

static bool release_is_settled(const struct release_job *j, const struct release_target *t)
{
    for (size_t i = 0; i < j->mappings.count; i++) {
        const struct release_view v = release_view(t->engine, i);
        if (v.state == RELEASE_UNKNOWN || (v.state == RELEASE_TO_DO && j->writes))
            return false;
    }
    return true;
}

/* It cannot be read, and nothing was written that is to be followed. */
static bool release_is_away(const struct release_job *j, const struct release_target *t)
{
    for (size_t i = 0; i < j->mappings.count; i++) {
        const struct release_view v = release_view(t->engine, i);
        if (v.removed > 0 || v.undrained > 0)
            return false;
    }
    const struct instance_view v = instance_view(t->instance);
    return v.away || v.waits != NULL;
}

static void release_look(void *arg)
{
    struct release_job *j = arg;
    bool settled = true;
    for (size_t i = 0; i < j->target_count; i++)
        settled = settled && (release_is_settled(j, &j->targets[i]) || release_is_away(j, &j->targets[i]));
    if (settled || clock_mono_ms() >= j->until_ms)
        event_base_loopbreak(j->base);
    else
        timer_set(&j->look, LOOK_MS);
}

static void release_on_stopped(void *arg)
{
    struct release_job *j = arg;
    if (--j->running == 0)
        event_base_loopbreak(j->base);
}

static void release_on_end(void *arg)
{
    const struct release_job *j = arg;
    event_base_loopbreak(j->base);
}

static int release_start(struct release_job *j, struct settings *settings, const struct log *log, struct error *err)
{
    size_t count;
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(j->base, &j->clients, settings, &count);
    const struct release_options options = {.backends = j->mappings.backends,
                                            .backend_count = j->mappings.count,
                                            .rules = j->rules.diff,
                                            .servers = j->options->servers,
                                            .writes = j->writes};
    struct instance_options instance = {
        .several = count > 1, .resync_period_ms = settings->resync_period_ms, .telemetry = &j->telemetry, .log = log};
    int rc = 0;
    j->targets = mem_array(count, sizeof(j->targets[0]));
    for (size_t i = 0; i < count; i++) {
        struct release_target *t = &j->targets[j->target_count++];
        t->engine = release_new(&options);
        const struct engine *engine = release_engine(t->engine);
        instance.driver = drivers[i];
        t->instance = instance_new(j->base, &instance, &engine, 1, err);
        if (t->instance == NULL)
            rc = -1;
    }
    return rc;
}

static void release_run(struct release_job *j)
{
    j->until_ms = clock_mono_ms() + j->options->timeout_ms;
    for (size_t i = 0; i < j->target_count; i++)
        instance_start(j->targets[i].instance);
    timer_set(&j->look, LOOK_MS);
    event_base_dispatch(j->base);
}

static void release_stop(struct release_job *j)
{
    timer_cancel(&j->look);
    j->running = j->target_count + 1;
    for (size_t i = 0; i < j->target_count; i++)
        instance_stop(j->targets[i].instance, release_on_stopped, j);
    timer_set(&j->end, STOP_MS);
    if (--j->running > 0)
        event_base_dispatch(j->base);
}

/* ---- what is said ---- */

static void release_print_line(struct page *p, enum page_ink ink, const char *verb, const char *name, const char *why)
{
    page_put(p, INK_PLAIN, "    ");
    page_put(p, ink, verb);
    page_to(p, 14);
    page_put(p, INK_BOLD, name);
    page_put(p, INK_PLAIN, "  ");
    page_flow_line(p, INK_DIM, why);
}

static void release_print_more(struct page *p, size_t count)
{
    if (count <= NAMES_SHOWN)
        return;
    page_printf(p, INK_DIM, "    and %zu more", count - NAMES_SHOWN);
    page_end_line(p);
}

static void release_print_plan(struct page *p, const struct release_plan *plan)
{
    for (size_t i = 0; i < plan->removed_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_RED, "remove", plan->removed[i]->name,
                           plan->removed[i]->maintenance ? "its line is in maintenance (parked)" : "its line is live");
    release_print_more(p, plan->removed_count);
    for (size_t i = 0; i < plan->undrained_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_GREEN, "ready", plan->undrained[i],
                           "it drains at runtime, and its line is live: the drain ends");
    release_print_more(p, plan->undrained_count);
    for (size_t i = 0; i < plan->by_operator_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_YELLOW, "leave", plan->by_operator[i],
                           "in maintenance at runtime alone: an operator set it, and it stays until the next reload");
    release_print_more(p, plan->by_operator_count);
}

/* "2 lines removed, 1 drain ended" */
static void release_print_counts(struct page *p, size_t lines, const char *removed, size_t drains, const char *ended)
{
    if (lines > 0)
        page_printf(p, INK_PLAIN, "%zu %s %s", lines, lines == 1 ? "line" : "lines", removed);
    if (drains > 0)
        page_printf(p, INK_PLAIN, "%s%zu %s %s", lines > 0 ? ", " : "", drains, drains == 1 ? "drain" : "drains",
                    ended);
}

static void release_print_state(struct page *p, const struct release_view *v)
{
    bool wrote = v->removed > 0 || v->undrained > 0;
    if (v->state == RELEASE_UNKNOWN || v->state == RELEASE_FAILED)
        page_put(p, INK_RED, v->state == RELEASE_FAILED ? "failed" : "could not be read");
    else if (!v->exists)
        page_put(p, INK_YELLOW, "not in haproxy.cfg");
    else if (v->state == RELEASE_TO_DO)
        release_print_counts(p, v->plan->removed_count, "to remove", v->plan->undrained_count, "to end");
    else
        page_put(p, INK_GREEN, wrote ? "released" : "nothing to release");
    if (wrote) {
        page_put(p, INK_PLAIN, ", ");
        release_print_counts(p, v->removed, "removed", v->undrained, "ended");
    }
}

static void release_print_head(struct page *p, const struct release_view *v)
{
    const struct release_plan *plan = v->plan;
    page_put(p, INK_PLAIN, "  backend ");
    page_put(p, INK_BOLD, v->backend);
    page_put(p, INK_PLAIN, ": ");
    release_print_state(p, v);
    if (v->exists && v->state != RELEASE_UNKNOWN && plan->refused == NULL)
        page_printf(p, INK_PLAIN, "; %zu %s", plan->kept, plan->kept == 1 ? "server stays" : "servers stay");
    if (plan->others > 0)
        page_printf(p, INK_PLAIN, ", %zu not managed", plan->others);
    page_end_line(p);
    if (v->why != NULL) {
        page_put(p, INK_PLAIN, "    ");
        page_flow_line(p, INK_RED, v->why);
    }
}

/* Of one HAProxy. */
static int release_print_target(const struct release_job *j, const struct release_target *t)
{
    struct page *p = j->options->page;
    const struct instance_view v = instance_view(t->instance);
    int status = EXIT_SUCCESS;
    page_put(p, INK_BOLD, "HAProxy ");
    page_put(p, INK_BOLD, v.url);
    page_end_line(p);
    const char *problem = v.waits != NULL ? v.waits : v.problem->kind != ERROR_NONE ? v.problem->message : NULL;
    if (problem != NULL) {
        page_put(p, INK_PLAIN, "  ");
        page_flow_line(p, INK_RED, problem);
    }
    for (size_t i = 0; i < j->mappings.count; i++) {
        const struct release_view b = release_view(t->engine, i);
        bool failed =
            b.state == RELEASE_FAILED || b.state == RELEASE_UNKNOWN || (b.state == RELEASE_TO_DO && j->writes);
        release_print_head(p, &b);
        release_print_plan(p, b.plan);
        if (failed)
            status = EXIT_FAILURE;
        else if (b.state == RELEASE_TO_DO && status == EXIT_SUCCESS)
            status = RELEASE_STATUS_TO_DO;
    }
    return status;
}

static int release_print(const struct release_job *j)
{
    const struct release_command_options *o = j->options;
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < j->target_count; i++) {
        int one = release_print_target(j, &j->targets[i]);
        if (one == EXIT_FAILURE || status == EXIT_SUCCESS)
            status = one;
    }
    if (status != RELEASE_STATUS_TO_DO)
        return status;
    page_end_line(o->page);
    if (o->yes)
        page_flow_line(o->page, INK_PLAIN, "Nothing was written: DRY_RUN is true.");
    else
        page_flow_line(o->page, INK_PLAIN,
                       o->servers ? "Nothing was written. To do it: haproxy-k8s-sync release --servers --yes"
                                  : "Nothing was written. To do it: haproxy-k8s-sync release --yes");
    return status;
}

/* ---- whether it may ---- */

static int release_check_daemon(struct release_job *j, struct error *err)
{
    const struct release_command_options *o = j->options;
    cleanup(mem_free_ptr) char *unknown = NULL;
    const struct running_daemon_options ask = {.settings = j->settings,
                                               .access = o->access,
                                               .kube = j->clients.kube,
                                               .url = o->daemon,
                                               .timeout_ms = o->timeout_ms < ASK_MS ? o->timeout_ms : ASK_MS};
    cleanup(mem_free_ptr) char *found = running_daemon_find(j->base, &ask, &unknown);
    if (found != NULL)
        return error_set(
            err, ERROR_CONFLICT,
            "%s, and would put back what this command removes: stop it first (kubectl scale deployment NAME "
            "--replicas=0, or systemctl stop haproxy-k8s-sync)",
            found);
    if (unknown != NULL) {
        page_flow_line(o->page, INK_YELLOW, unknown);
        page_flow_line(o->page, INK_YELLOW, "So a daemon may run elsewhere: make sure that none does.");
    }
    return 0;
}

int release_command(struct event_base *base, struct settings *settings, const struct log *log,
                    const struct release_command_options *options, int *ret_status, struct error *err)
{
    const struct kube_access none = {0};
    const struct clients_hooks hooks = {0};
    struct release_job j = {.base = base,
                            .settings = settings,
                            .options = options,
                            .writes = options->yes && !settings->dry_run,
                            .rules = rules_for_plan(settings)};
    timer_init(&j.look, base, release_look, &j);
    timer_init(&j.end, base, release_on_end, &j);
    telemetry_init(&j.telemetry, options->version);
    mappings_init(&j.mappings, settings);
    int rc = clients_make(base, settings, options->access != NULL ? options->access : &none, options->version, &hooks,
                          log, &j.clients, err);
    if (rc == 0) {
        clients_settle(base, &j.clients);
        rc = release_check_daemon(&j, err);
    }
    if (rc == 0)
        rc = release_start(&j, settings, log, err);
    if (rc == 0) {
        release_run(&j);
        *ret_status = release_print(&j);
        release_stop(&j);
    }
    for (size_t i = 0; i < j.target_count; i++) {
        instance_free(j.targets[i].instance);
        release_free(j.targets[i].engine);
    }
    free(j.targets);
    clients_free(&j.clients);
    mappings_fini(&j.mappings);
    telemetry_fini(&j.telemetry);
    timer_fini(&j.look);
    timer_fini(&j.end);
    if (rc == 0 && j.writes && *ret_status == EXIT_SUCCESS && settings->local.file != NULL &&
        !settings_share_backends(settings))
        local_forget_lock(settings->local.file);
    return rc;
}
