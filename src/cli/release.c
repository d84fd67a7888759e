#include "cli/release.h"

#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/release_print.h"
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
    char *unknown; /* why it is not sure that no daemon runs; NULL: it is */
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

static struct release_report_target release_report_target(const struct release_job *j, const struct release_target *t)
{
    const struct instance_view v = instance_view(t->instance);
    struct release_view *backends = mem_array(j->mappings.count, sizeof(backends[0]));
    for (size_t i = 0; i < j->mappings.count; i++)
        backends[i] = release_view(t->engine, i);
    return (struct release_report_target){.url = v.url,
                                          .problem = v.waits != NULL                 ? v.waits
                                                     : v.problem->kind != ERROR_NONE ? v.problem->message
                                                                                     : NULL,
                                          .backends = backends};
}

static int release_show(const struct release_job *j)
{
    const struct release_command_options *o = j->options;
    struct release_report_target *targets = mem_array(j->target_count, sizeof(targets[0]));
    for (size_t i = 0; i < j->target_count; i++)
        targets[i] = release_report_target(j, &j->targets[i]);
    const struct release_report report = {.targets = targets,
                                          .target_count = j->target_count,
                                          .backend_count = j->mappings.count,
                                          .writes = j->writes,
                                          .yes = o->yes,
                                          .servers = o->servers,
                                          .unknown = j->unknown};
    o->show(o->arg, &report);
    int status = release_report_status(&report);
    for (size_t i = 0; i < j->target_count; i++)
        free((void *)(uintptr_t)targets[i].backends);
    free(targets);
    return status;
}

/* ---- whether it may ---- */

static int release_check_daemon(struct release_job *j, struct error *err)
{
    const struct release_command_options *o = j->options;
    const struct running_daemon_options ask = {.settings = j->settings,
                                               .access = o->access,
                                               .kube = j->clients.kube,
                                               .url = o->daemon,
                                               .timeout_ms = o->timeout_ms < ASK_MS ? o->timeout_ms : ASK_MS};
    cleanup(mem_free_ptr) char *found = running_daemon_find(j->base, &ask, &j->unknown);
    if (found != NULL)
        return error_set(
            err, ERROR_CONFLICT,
            "%s, and would put back what this command removes: stop it first (kubectl scale deployment NAME "
            "--replicas=0, or systemctl stop haproxy-k8s-sync)",
            found);
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
        j.until_ms = clock_mono_ms() + j.options->timeout_ms;
        for (size_t i = 0; i < j.target_count; i++)
            instance_start(j.targets[i].instance);
        timer_set(&j.look, LOOK_MS);
        event_base_dispatch(j.base);
        *ret_status = release_show(&j);
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
    free(j.unknown);
    if (rc == 0 && j.writes && *ret_status == EXIT_SUCCESS && settings->local.file != NULL &&
        !settings_share_backends(settings))
        local_forget_lock(settings->local.file);
    return rc;
}
