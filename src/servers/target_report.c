/* What a target tells: its troubles, each once and then seldom, its lines in /readyz, and its gauges. */
#include "base/clock.h"
#include "report/checks.h"
#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

void target_count_reconcile(struct target *t, const char *result)
{
    metric_add(t->options.telemetry->reconciles, 1, result, dataplane_client_url(t->options.client), NULL);
}

const char *slot_target(const struct slot *s)
{
    const struct target *t = s->target;
    return t->options.several ? dataplane_client_url(t->options.client) : NULL;
}

void slot_measure(const struct slot *s, struct metric *gauge, double value)
{
    metric_set(gauge, value, s->name, dataplane_client_url(s->target->options.client), NULL);
}

size_t slot_count_desired(const struct slot *s, enum server_state state)
{
    const struct desired *d = s->by_node;
    size_t count = 0;
    for (size_t i = 0; i < d->server_count; i++)
        count += d->servers[i].state == state;
    return count;
}

/* An operator's maint is told elsewhere. */
static void add_down(const struct slot *s, struct buf *text)
{
    size_t down = 0, live = slot_count_desired(s, SERVER_LIVE);
    for (size_t i = 0; i < s->wish->server_count; i++) {
        const struct runtime_server *is = runtime_find(&s->runtime, s->wish->servers[i].name);
        down += s->wish->servers[i].state == SERVER_LIVE && is != NULL && runtime_fails_check(is);
    }
    if (down > 0)
        buf_printf(text, "; HAProxy's health checks call %zu of %zu desired servers DOWN", down, live);
}

void slot_measure_up(const struct slot *s)
{
    struct metric *gauge = s->target->options.telemetry->servers_up;
    size_t up = 0, live = slot_count_desired(s, SERVER_LIVE);
    if (s->target->away || !s->runtime.readable || !s->have_wish) {
        metric_remove(gauge, s->name, dataplane_client_url(s->target->options.client), NULL);
        return;
    }
    for (size_t i = 0; i < s->wish->server_count; i++) {
        const struct desired_server *want = &s->wish->servers[i];
        const struct runtime_server *is = runtime_find(&s->runtime, want->name);
        up += want->state == SERVER_LIVE && is != NULL && !is->down;
    }
    slot_measure(s, gauge, (double)(up < live ? up : live));
}

void slot_set_in_step(struct slot *s, bool in_step)
{
    struct telemetry *m = s->target->options.telemetry;
    s->in_step = in_step;
    slot_measure(s, m->in_sync, in_step ? 1 : 0);
    if (in_step)
        slot_measure(s, m->last_success, (double)clock_wall_ms() / 1000.0);
}

/* backend NULL: all of them. */
static void report(const struct target *t, const char *backend, struct error *problem, struct log_limit *limit,
                   const char *what, const struct error *err)
{
    unsigned held_back = 0;
    *problem = *err;
    error_prefix(problem, "%s", what);
    if (!log_limit_pass_message(limit, clock_mono_ms(), problem->message, &held_back))
        return;
    log_error(t->options.log, what, log_str("target", dataplane_client_url(t->options.client)),
              log_str("backend", backend), log_str("kind", error_kind_name(err->kind)), log_str("error", err->message),
              log_if(held_back > 0, log_int("times_before", held_back)));
}

static void report_over(const struct target *t, const char *backend, struct error *problem, struct log_limit *limit)
{
    if (problem->kind != ERROR_NONE)
        log_info(t->options.log, "trouble is over", log_str("target", dataplane_client_url(t->options.client)),
                 log_str("backend", backend), log_str("was", problem->message));
    error_clear(problem);
    log_limit_reset(limit);
}

/* With one backend it is that one's, and the log names it. */
static const char *only_backend(const struct target *t)
{
    return t->options.backend_count == 1 ? t->slots[0].name : NULL;
}

static void target_problem_of(struct target *t, enum history_kind kind, const char *what, const struct error *err)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        slot_set_in_step(&t->slots[i], false);
    report(t, only_backend(t), &t->problem, &t->problem_limit, what, err);
    target_note_problem(t, kind, what, err->message);
}

void target_problem(struct target *t, const char *what, const struct error *err)
{
    target_problem_of(t, HISTORY_APPLY_FAILED, what, err);
}

void target_reload_problem(struct target *t, const char *what, const struct error *err)
{
    target_problem_of(t, HISTORY_RELOAD_FAILED, what, err);
}

void slot_problem(struct slot *s, const char *what, const struct error *err)
{
    slot_set_in_step(s, false);
    report(s->target, s->name, &s->problem, &s->problem_limit, what, err);
    slot_note_problem(s, what, err->message);
}

void target_problem_over(struct target *t)
{
    report_over(t, only_backend(t), &t->problem, &t->problem_limit);
    log_limit_reset(&t->trouble_limit);
}

void slot_problem_over(struct slot *s)
{
    report_over(s->target, s->name, &s->problem, &s->problem_limit);
    log_limit_reset(&s->story.trouble_limit);
}

/* ---- /readyz ---- */

static const char *unfinished(const struct target *t, const struct slot *s)
{
    return !s->have_wish                         ? "waiting for Kubernetes"
           : s->wish->state == DESIRED_UNDECIDED ? "nothing is written until the mapping is decided"
           : !t->seen                            ? "not compared yet"
           : !t->last_reload_known               ? "waiting for the end of a reload from before the start"
                                                 : "changing";
}

/* Adds what stands behind the name. */
static enum check_state slot_check(const struct target *t, const struct slot *s, struct buf *text)
{
    const struct error *problem = s->problem.kind != ERROR_NONE ? &s->problem : &t->problem;
    if (problem->kind != ERROR_NONE) {
        buf_add(text, problem->message);
        return CHECK_FAIL;
    }
    if (s->holding) {
        /* A name that is not right holds nothing: a rollout with it must not look good. */
        bool nothing = s->plan.verdict == PLAN_HOLD && s->plan.diff.ours_count == 0;
        cleanup(mem_free_ptr) char *held = plan_held_text(&s->plan, t->wall_minus_mono_ms);
        buf_printf(text, "%s%s%s%s",
                   nothing                        ? "no server yet: "
                   : s->plan.verdict == PLAN_HOLD ? "holding the last good servers: "
                                                  : "",
                   s->plan.why, held != NULL ? "; held: " : "", held != NULL ? held : "");
        return nothing ? CHECK_FAIL : CHECK_WARN;
    }
    if (s->in_step) {
        buf_add(text, "in step");
        size_t plain = text->len;
        buf_printf(text, "%s%s%s%s%s", s->wish->paused ? ", and paused" : "",
                   t->options.rules.dry_run ? ", and a dry run" : "", s->overrides != NULL ? "; set by hand: " : "",
                   s->overrides != NULL ? s->overrides : "",
                   s->told_unreadable ? "; by its file alone, what it runs cannot be read" : "");
        add_down(s, text);
        return text->len == plain ? CHECK_OK : CHECK_WARN;
    }
    if (t->reload.state == RELOAD_PENDING && s->have_wish) {
        buf_printf(text, "committed, waiting for reload %s", t->reload.id);
        return CHECK_WARN;
    }
    buf_add(text, unfinished(t, s));
    return CHECK_FAIL;
}

char *target_check_name(const struct target *t, const char *backend)
{
    return mem_printf("target %s backend %s", dataplane_client_url(t->options.client), backend);
}

bool target_ready(const struct target *t, struct checks *checks)
{
    bool all = true;
    for (size_t i = 0; i < t->options.backend_count; i++) {
        const struct slot *s = &t->slots[i];
        struct buf text;
        buf_init(&text, 0);
        enum check_state state = slot_check(t, s, &text);
        checks_add(checks, state, target_check_name(t, s->name), buf_take(&text), NULL);
        all = all && state != CHECK_FAIL;
    }
    return all;
}
