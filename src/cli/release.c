/*
 * `release`: gives up the backends of the settings in each HAProxy, as a way back to another controller or to none
 * (servers/release_command.h). Without --yes it prints what it would do, and writes nothing. It refuses while a daemon runs,
 * which would put it all back; where none can be seen for certain, live servers go with --daemon=none alone. Kubernetes is
 * asked for the Lease alone. Its JSON has
 *
 *     released    nothing is left to be done
 *     writes      it was to be done (--yes, without DRY_RUN)
 *     problems    texts: what stands against being sure that no daemon runs
 *     haproxies   url, released, problem (null)
 *     backends    of each HAProxy: backend, haproxy; verdict: released, to_do, failed, unknown; why (null); exists;
 *                 changes: what is left to be done (op, server, parked); drains: servers whose drain is to end;
 *                 overridden: servers that an operator has put into maintenance; removed, drains_ended: what was done;
 *                 kept, unmanaged: lines that stay
 */
#include <event2/event.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "cli/run.h"
#include "cli/running_daemon.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"
#include "haproxy/local/helper.h"
#include "json/write.h"
#include "servers/release_command.h"

#define SETTLED_MS 10 /* how often it is checked whether all is known */
#define ASK_MS 2000
#define STOP_MS 5000
#define STATUS_TO_DO 2 /* there is something to do, and nothing may be written */
#define NAMES_SHOWN 20

struct release_target {
    struct release *engine;
    struct instance *instance;
};

struct release_job {
    const struct command *command;
    struct session session;
    bool writes;
    struct release_target *targets;
    size_t target_count, running; /* of these, when they end */
    char *unknown;                /* why it is not sure that no daemon runs; NULL: it is */
};

/* ---- how it ended */

static int release_worse(int a, int b)
{
    return a == EXIT_FAILURE || b == EXIT_FAILURE ? EXIT_FAILURE : a != EXIT_SUCCESS ? a : b;
}

static int release_target_status(const struct release_job *j, const struct release_target *t)
{
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < j->session.mappings.count; i++) {
        const enum release_state state = release_view(t->engine, i).state;
        bool failed = state == RELEASE_FAILED || state == RELEASE_UNKNOWN || (state == RELEASE_TO_DO && j->writes);
        status = release_worse(status, failed ? EXIT_FAILURE : state == RELEASE_TO_DO ? STATUS_TO_DO : EXIT_SUCCESS);
    }
    return status;
}

/* 0 nothing is left to be done, STATUS_TO_DO, 1 not all could be done. */
static int release_status(const struct release_job *j)
{
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < j->target_count; i++)
        status = release_worse(status, release_target_status(j, &j->targets[i]));
    return status;
}

/* NULL: none. */
static const char *release_problem(const struct instance_view *v)
{
    return v->waits != NULL ? v->waits : v->problem->kind != ERROR_NONE ? v->problem->message : NULL;
}

/* ---- as text */

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

/* "2 lines removed, 1 drain ended" */
static void release_print_counts(struct page *p, size_t lines, const char *removed, size_t drains, const char *ended)
{
    if (lines > 0)
        page_printf(p, INK_PLAIN, "%zu %s %s", lines, lines == 1 ? "line" : "lines", removed);
    if (drains > 0)
        page_printf(p, INK_PLAIN, "%s%zu %s %s", lines > 0 ? ", " : "", drains, drains == 1 ? "drain" : "drains",
                    ended);
}

static void release_print_backend(const struct release_view *v, struct page *p)
{
    const struct release_plan *plan = v->plan;
    bool wrote = v->removed > 0 || v->undrained > 0;
    page_put(p, INK_PLAIN, "  backend ");
    page_put(p, INK_BOLD, v->backend);
    page_put(p, INK_PLAIN, ": ");
    if (v->state == RELEASE_UNKNOWN || v->state == RELEASE_FAILED)
        page_put(p, INK_RED, v->state == RELEASE_FAILED ? "failed" : "could not be read");
    else if (!v->exists)
        page_put(p, INK_YELLOW, "not in haproxy.cfg");
    else if (v->state == RELEASE_TO_DO)
        release_print_counts(p, plan->removed_count, "to remove", plan->undrained_count, "to end");
    else
        page_put(p, INK_GREEN, wrote ? "released" : "nothing to release");
    if (wrote) {
        page_put(p, INK_PLAIN, ", ");
        release_print_counts(p, v->removed, "removed", v->undrained, "ended");
    }
    if (v->exists && v->state != RELEASE_UNKNOWN && plan->refused == NULL)
        page_printf(p, INK_PLAIN, "; %zu %s", plan->kept, plan->kept == 1 ? "server stays" : "servers stay");
    if (plan->others > 0)
        page_printf(p, INK_PLAIN, ", %zu not managed", plan->others);
    page_end_line(p);
    if (v->why != NULL) {
        page_put(p, INK_PLAIN, "    ");
        page_flow_line(p, INK_RED, v->why);
    }
    for (size_t i = 0; i < plan->removed_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_RED, "remove", plan->removed[i].name,
                           plan->removed[i].maintenance ? "its line is in maintenance (parked)" : "its line is live");
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

static void release_print(const struct release_job *j, struct page *p)
{
    if (j->unknown != NULL) {
        page_flow_line(p, INK_YELLOW, j->unknown);
        page_flow_line(p, INK_YELLOW, "So a daemon may run elsewhere: make sure that none does.");
    }
    for (size_t i = 0; i < j->target_count; i++) {
        const struct instance_view is = instance_view(j->targets[i].instance);
        page_put(p, INK_BOLD, "HAProxy ");
        page_put(p, INK_BOLD, is.url);
        page_end_line(p);
        if (release_problem(&is) != NULL) {
            page_put(p, INK_PLAIN, "  ");
            page_flow_line(p, INK_RED, release_problem(&is));
        }
        for (size_t k = 0; k < j->session.mappings.count; k++) {
            const struct release_view v = release_view(j->targets[i].engine, k);
            release_print_backend(&v, p);
        }
    }
    if (release_status(j) != STATUS_TO_DO)
        return;
    page_end_line(p);
    page_flow_line(p, INK_PLAIN,
                   j->command->yes       ? "Nothing was written: DRY_RUN is true."
                   : j->command->servers ? "Nothing was written. To do it: haproxy-k8s-sync release --servers --yes"
                                         : "Nothing was written. To do it: haproxy-k8s-sync release --yes");
}

/* ---- as JSON */

static void release_put_backend(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *url,
                                const struct release_view *v)
{
    static const char *const verdicts[] = {[RELEASE_UNKNOWN] = "unknown",
                                           [RELEASE_TO_DO] = "to_do",
                                           [RELEASE_DONE] = "released",
                                           [RELEASE_FAILED] = "failed"};
    const struct release_plan *plan = v->plan;
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("backend", v->backend), json_str("haproxy", url),
                json_str("verdict", verdicts[v->state]), json_str("why", v->why), json_bool("exists", v->exists));
    yyjson_mut_val *changes = json_put_list(doc, obj, "changes");
    for (size_t i = 0; i < plan->removed_count; i++) {
        json_fields(doc, json_add_object(doc, changes), json_str("op", "remove"),
                    json_str("server", plan->removed[i].name), json_bool("parked", plan->removed[i].maintenance));
    }
    json_put_texts(doc, obj, "drains", plan->undrained, plan->undrained_count);
    json_put_texts(doc, obj, "overridden", plan->by_operator, plan->by_operator_count);
    json_fields(doc, obj, json_uint("removed", v->removed), json_uint("drains_ended", v->undrained),
                json_uint("kept", plan->kept), json_uint("unmanaged", plan->others));
}

static void release_put(const struct release_job *j, struct buf *out)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_bool("released", release_status(j) == EXIT_SUCCESS), json_bool("writes", j->writes));
    yyjson_mut_val *problems = json_put_list(doc, root, "problems");
    if (j->unknown != NULL)
        json_add(problems, json_text(doc, j->unknown));
    yyjson_mut_val *haproxies = json_put_list(doc, root, "haproxies");
    yyjson_mut_val *backends = json_put_list(doc, root, "backends");
    for (size_t i = 0; i < j->target_count; i++) {
        const struct instance_view is = instance_view(j->targets[i].instance);
        json_fields(doc, json_add_object(doc, haproxies), json_str("url", is.url),
                    json_bool("released", release_target_status(j, &j->targets[i]) == EXIT_SUCCESS),
                    json_str("problem", release_problem(&is)));
        for (size_t k = 0; k < j->session.mappings.count; k++) {
            const struct release_view v = release_view(j->targets[i].engine, k);
            release_put_backend(doc, backends, is.url, &v);
        }
    }
    json_print(doc, out);
}

/* ---- the run */

/* One is settled, or cannot be read, and nothing was written that is to be followed. */
static bool release_settled(void *arg)
{
    const struct release_job *j = arg;
    bool all = true;
    for (size_t i = 0; i < j->target_count; i++) {
        const struct instance_view is = instance_view(j->targets[i].instance);
        bool settled = true, wrote = false;
        for (size_t k = 0; k < j->session.mappings.count; k++) {
            const struct release_view v = release_view(j->targets[i].engine, k);
            settled = settled && v.state != RELEASE_UNKNOWN && !(v.state == RELEASE_TO_DO && j->writes);
            wrote = wrote || v.removed > 0 || v.undrained > 0;
        }
        all = all && (settled || (!wrote && (is.away || is.waits != NULL)));
    }
    return all;
}

static int release_check_daemon(struct release_job *j, const struct settings *settings,
                                const struct kube_access *access, struct error *err)
{
    const uint64_t timeout_ms = j->command->timeout_ms;
    const struct running_daemon_options ask = {.settings = settings,
                                               .access = access,
                                               .kube = j->session.clients.kube,
                                               .url = j->command->daemon,
                                               .timeout_ms = timeout_ms < ASK_MS ? timeout_ms : ASK_MS};
    cleanup(mem_free_ptr) char *found = running_daemon_find(j->session.base, &ask, &j->unknown);
    if (found == NULL && j->unknown != NULL && j->command->daemon != NULL && j->writes && j->command->servers)
        return error_set(
            err, ERROR_CONFLICT,
            "%s: it would notice late that its servers are gone, and traffic with them. Make sure that none "
            "runs, then say so: haproxy-k8s-sync release --servers --yes --daemon=none",
            j->unknown);
    if (found == NULL)
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "%s, and would put back what this command removes: stop it first (kubectl scale deployment NAME "
                     "--replicas=0, or systemctl stop haproxy-k8s-sync); --daemon=none where it is for other backends",
                     found);
}

static int release_start(struct release_job *j, struct settings *settings, struct error *err)
{
    struct session *s = &j->session;
    size_t count;
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(s->base, &s->clients, settings, &count);
    const struct release_options options = {.backends = s->mappings.backends,
                                            .backend_count = s->mappings.count,
                                            .rules = rules_for_plan(settings).diff,
                                            .servers = j->command->servers,
                                            .writes = j->writes};
    struct instance_options instance = {
        .several = count > 1, .resync_period_ms = settings->resync_period_ms, .metrics = &s->metrics, .log = &s->log};
    int rc = 0;
    j->targets = mem_array(count, sizeof(j->targets[0]));
    for (size_t i = 0; i < count; i++) {
        struct release_target *t = &j->targets[j->target_count++];
        t->engine = release_new(&options);
        const struct engine *engine = release_engine(t->engine);
        instance.driver = drivers[i];
        t->instance = instance_new(s->base, &instance, &engine, 1, err);
        if (t->instance == NULL)
            rc = -1;
    }
    return rc;
}

static void release_on_stopped(void *arg)
{
    struct release_job *j = arg;
    j->running--;
}

static bool release_stopped(void *arg)
{
    const struct release_job *j = arg;
    return j->running == 0;
}

int run_release(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(show_fini) struct show show = {0};
    struct error err = {0}, no_access = {0};
    struct settings *settings = r->settings;
    struct release_job j = {.command = r->command, .writes = r->command->yes && !settings->dry_run};
    struct session *s = &j.session;
    int status = EXIT_FAILURE;
    bool done = false;
    show_init(&show, r);
    if (run_manages_servers(settings, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    /* A cluster that is gone is no reason to keep its servers. */
    bool asks = settings->leader_elect && start_access(settings, r->environ, &access, &no_access) == 0;
    if (session_begin(r, asks ? &access : NULL, LOG_LEVEL_ERROR + 1, s, &err) != 0 ||
        release_check_daemon(&j, settings, &access, &err) != 0 || release_start(&j, settings, &err) != 0) {
        status = run_fail(&err, start_status(&err));
    } else {
        for (size_t i = 0; i < j.target_count; i++)
            instance_start(j.targets[i].instance);
        run_until(s->base, j.command->timeout_ms, SETTLED_MS, release_settled, &j);
        if (j.command->json)
            release_put(&j, &show.out);
        else
            release_print(&j, &show.page);
        done = release_status(&j) == EXIT_SUCCESS;
        status = show_end(&show, release_status(&j));
        j.running = j.target_count;
        for (size_t i = 0; i < j.target_count; i++)
            instance_stop(j.targets[i].instance, release_on_stopped, &j);
        if (j.running > 0)
            run_until(s->base, STOP_MS, SETTLED_MS, release_stopped, &j);
    }
    for (size_t i = 0; i < j.target_count; i++) {
        instance_free(j.targets[i].instance);
        release_free(j.targets[i].engine);
    }
    session_end(s);
    mem_free_all(j.targets, j.unknown);
    if (done && j.writes && settings->local.file != NULL && !settings_share_backends(settings))
        local_forget_lock(settings->local.file);
    return status;
}
