/* What the servers engine reports: the problems of a backend, rate-limited, its line in /readyz, and its gauges. */
#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/driver.h"
#include "report/checks.h"
#include "report/telemetry.h"
#include "servers/servers_internal.h"

const struct log *servers_log(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->log;
}

struct telemetry *servers_telemetry(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->telemetry;
}

const char *servers_url(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->driver->name;
}

const char *servers_target(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->several ? servers_url(s) : NULL;
}

/* ---- gauges ---- */

void servers_measure(const struct servers_backend *s, struct metric *gauge, double value)
{
    metric_set(gauge, value, s->name, servers_url(s), NULL);
}

size_t servers_count_desired(const struct servers_backend *s, enum server_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < s->by_node->server_count; i++)
        count += s->by_node->servers[i].state == state;
    return count;
}

void servers_measure_up(const struct servers_backend *s)
{
    struct metric *gauge = servers_telemetry(s)->servers_up;
    size_t up = 0, live = servers_count_desired(s, SERVER_LIVE);
    if (instance_view(s->engine->instance).away || !s->at->runtime.readable || !s->have_desired) {
        metric_remove(gauge, s->name, servers_url(s), NULL);
        return;
    }
    for (size_t i = 0, at = 0; i < s->desired->server_count; i++) {
        const struct desired_server *want = &s->desired->servers[i];
        const struct runtime_server *is = runtime_find_next(&s->at->runtime, want->name, &at);
        up += want->state == SERVER_LIVE && is != NULL && !is->down;
    }
    servers_measure(s, gauge, (double)(up < live ? up : live));
}

void servers_measure_all_up(void *engine)
{
    struct servers *e = engine;
    e->unread = true;
    for (size_t i = 0; i < e->options.backend_count; i++)
        servers_measure_up(&e->backends[i]);
}

void servers_set_in_sync(struct servers_backend *s, bool in_sync)
{
    struct telemetry *m = servers_telemetry(s);
    if (s->in_sync != in_sync || s->since_ms == 0)
        s->since_ms = clock_mono_ms();
    s->in_sync = in_sync;
    servers_measure(s, m->in_sync, in_sync ? 1 : 0);
    if (in_sync)
        servers_measure(s, m->last_in_sync, (double)clock_wall_ms() / 1000.0);
}

/* ---- problems ---- */

void servers_trouble(void *engine, bool out_of_sync)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        if (out_of_sync)
            servers_set_in_sync(&e->backends[i], false);
        e->backends[i].notes.news = true;
    }
}

void servers_problem(struct servers_backend *s, const char *what, const struct error *err)
{
    servers_set_in_sync(s, false);
    instance_log_problem(s->engine->instance, s->name, &s->problem, &s->problem_limit, what, err);
    servers_note_problem(s, what, err->message);
    servers_trace_end(s, "failed", err->message);
}

void servers_problem_over(struct servers_backend *s)
{
    instance_log_problem_over(s->engine->instance, s->name, &s->problem, &s->problem_limit);
    log_limit_reset(&s->notes.trouble_limit);
}

/* ---- /readyz ---- */

/* Adds what stands behind the name. */
static enum check_state report_check(const struct servers_backend *s, struct buf *text)
{
    const struct instance_view v = instance_view(s->engine->instance);
    const struct error *problem = s->problem.kind != ERROR_NONE ? &s->problem : v.problem;
    if (problem->kind != ERROR_NONE) {
        buf_add(text, problem->message);
        return CHECK_FAIL;
    }
    if (s->holding) {
        /* A wrong name keeps nothing: a rollout with it must not become ready. */
        bool nothing = s->plan.verdict == PLAN_NO_ENDPOINT && s->plan.diff.managed_count == 0;
        cleanup(mem_free_ptr) char *held =
            plan_delayed_text(&s->plan, instance_wall_minus_mono_ms(s->engine->instance));
        buf_printf(text, "%s%s%s%s",
                   nothing                               ? "no server yet: "
                   : s->plan.verdict == PLAN_NO_ENDPOINT ? "keeping the last servers: "
                                                         : "",
                   s->plan.why, held != NULL ? "; removal delayed: " : "", held != NULL ? held : "");
        return nothing ? CHECK_FAIL : CHECK_WARN;
    }
    if (s->in_sync) {
        buf_add(text, "in sync");
        size_t plain = text->len;
        buf_printf(text, "%s%s%s%s%s", s->desired->paused ? ", paused" : "",
                   s->engine->options.rules.dry_run ? ", dry run" : "", s->overrides != NULL ? "; overridden: " : "",
                   s->overrides != NULL ? s->overrides : "",
                   s->at->runtime_lost ? "; haproxy.cfg only, the running HAProxy cannot be read" : "");
        /* An operator's maint is reported elsewhere. */
        size_t down = 0, live = servers_count_desired(s, SERVER_LIVE);
        for (size_t i = 0; i < s->desired->server_count; i++) {
            const struct runtime_server *is = runtime_find(&s->at->runtime, s->desired->servers[i].name);
            down += s->desired->servers[i].state == SERVER_LIVE && is != NULL && runtime_fails_check(is);
        }
        if (down > 0)
            buf_printf(text, "; HAProxy's health checks report %zu of %zu desired servers DOWN", down, live);
        return text->len == plain ? CHECK_OK : CHECK_WARN;
    }
    if (v.reload == RELOAD_PENDING && s->have_desired) {
        buf_printf(text, "committed, waiting for reload %s", v.reload_id);
        return CHECK_WARN;
    }
    buf_add(text, !s->have_desired                         ? "waiting for Kubernetes"
                  : s->desired->state == DESIRED_UNDECIDED ? "nothing is written while the mapping is undecided"
                  : !v.fresh                               ? "not compared yet"
                  : !v.last_reload_known                   ? "waiting for the result of the last reload"
                                                           : "changing");
    return CHECK_FAIL;
}

char *servers_check_name(const struct servers *e, const char *backend)
{
    return mem_printf("target %s backend %s", instance_view(e->instance).url, backend);
}

bool servers_ready(const struct servers *e, struct checks *checks)
{
    bool all = true;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        const struct servers_backend *s = &e->backends[i];
        struct buf text = {0};
        enum check_state state = report_check(s, &text);
        checks_add(checks, state, servers_check_name(e, s->name), buf_take(&text), NULL);
        all = all && state != CHECK_FAIL;
    }
    return all;
}
