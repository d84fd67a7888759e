#include "servers/servers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "report/metric_table.h"
#include "servers/names.h"
#include "servers/servers_internal.h"

#define REPEAT_NOT_WRITTEN_MS 3600000

/* ---- what the instance asks ---- */

static void servers_attach(void *engine, struct instance *in)
{
    struct servers *e = engine;
    e->instance = in;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        s->at = instance_backend(in, s->name);
        servers_set_in_sync(s, false);
    }
}

static bool servers_have_desired(const void *engine)
{
    const struct servers *e = engine;
    for (const struct servers_backend *s = e->backends; s < e->end; s++)
        if (s->have_desired)
            return true;
    return false;
}

/* Whether any backend may be written to: otherwise dead transactions are not deleted either. */
static bool servers_may_ever_write(const void *engine)
{
    const struct servers *e = engine;
    for (const struct servers_backend *s = e->backends; s < e->end && !e->options.rules.dry_run; s++)
        if (s->have_desired && !s->desired->paused)
            return true;
    return false;
}

static uint64_t servers_due(const void *engine, uint64_t now)
{
    const struct servers *e = engine;
    uint64_t due = 0;
    for (const struct servers_backend *s = e->backends; s < e->end; s++) {
        engine_sooner(&due, s->last.write_after_ms, now);
        engine_sooner(&due, s->plan.held_back > 0 ? s->plan.delayed_until_ms : 0, now);
        engine_sooner(&due, s->pause.until_ms, now);
        engine_sooner(&due, servers_overdue_ms(s), now);
    }
    return due;
}

static void servers_resync(void *engine)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        if (s->states.count > 0)
            servers_replan(s);
        admin_states_age(&s->states);
    }
}

static void servers_refresh(void *engine)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        servers_replan(s);
        servers_write_sooner(s, 0);
        s->asked = true;
        revert_pause_end(&s->pause);
        log_limit_reset(&s->report.problem_limit);
        log_limit_reset(&s->no_endpoint_limit);
        log_limit_reset(&s->not_written_limit);
    }
}

static bool servers_manages(const void *engine, const struct instance_backend *b, const struct backend_server *line)
{
    const struct servers *e = engine;
    const struct servers_backend *s = servers_backend_of(e, b);
    return s != NULL && !diff_server_is_foreign(line, &e->options.rules.diff, s->desired);
}

/* What turned meanwhile need not wait for what the file's connection is at. */
static void servers_commands_done(void *engine)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++)
        if (s->commanded) { /* once for perhaps some thousand */
            s->commanded = false;
            servers_measure_up(s);
        }
    if (e->decisions == e->commanded_at)
        servers_command_all(e);
}

static void servers_trouble(void *engine, bool out_of_sync)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++)
        servers_note_trouble(s, out_of_sync);
}

/* ---- what a reading means ---- */

static void servers_name(struct servers_backend *s, const struct desired *before)
{
    struct desired named;
    const struct names_input in = {.desired = s->by_node,
                                   .before = before,
                                   .actual = &s->at->actual,
                                   .runtime = &s->at->runtime,
                                   .rules = &s->engine->options.rules.diff};
    if (s->at->unreadable.kind != ERROR_NONE)
        return;
    bool differs = names_apply(&in, &named);
    if (differs || s->desired != s->by_node)
        servers_replan(s);
    /* Else the names from before decide about those that come next: */
    s->named = !differs && before == s->by_node;
    desired_unref(s->desired);
    s->desired = differs ? desired_share(&named) : desired_ref(s->by_node);
    char *now = s->desired != s->by_node ? names_adopted(s->desired, &s->engine->options.rules.diff) : NULL;
    if (now != NULL && !str_eq(now, s->adopted))
        log_info(servers_log(s), "servers adopted under their names in haproxy.cfg (ADOPT_SERVERS)",
                 log_str("target", servers_url(s)), log_str("backend", s->name), log_str("servers", now));
    free(s->adopted);
    s->adopted = now;
}

static void servers_read(void *engine)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        s->last.by_update = false;
        if (!s->at->as_before) {
            servers_replan(s);
            s->remembered = false;
        }
        bool again = !s->at->as_before || !s->named;
        if (again)
            servers_name(s, s->desired);
        if (again || e->unread)
            servers_measure_up(s);
    }
    e->unread = false;
}

static bool servers_runtime_read(void *engine, bool other_worker)
{
    struct servers *e = engine;
    bool again = false;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        if (!admin_states_correct(&s->states, &s->at->runtime, other_worker))
            continue;
        again = true;
        servers_replan(s);
        servers_measure_up(s);
    }
    return again;
}

static void servers_read_failed(void *engine)
{
    struct servers *e = engine;
    e->unread = true;
    for (struct servers_backend *s = e->backends; s < e->end; s++)
        servers_measure_up(s);
}

static void servers_concluded(void *engine)
{
    struct servers *e = engine;
    bool other = instance_view(e->instance).worker != WORKER_SAME;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        bool known = s->remembered && s->at->as_before && s->states.count == 0 && s->states.worker == WORKER_SAME;
        if (!known || other)
            servers_remember(s);
    }
}

/* ---- life ---- */

static const struct engine_ops servers_ops = {
    .name = "servers",
    .attach = servers_attach,
    .read = servers_read,
    .runtime_read = servers_runtime_read,
    .concluded = servers_concluded,
    .read_failed = servers_read_failed,
    .resync = servers_resync,
    .refresh = servers_refresh,
    .has_desired = servers_have_desired,
    .may_write = servers_may_ever_write,
    .due = servers_due,
    .decide = servers_decide,
    .manages = servers_manages,
    .collect = servers_collect,
    .may_change = servers_may_change,
    .committed = servers_committed,
    .not_committed = servers_not_committed,
    .rejected = servers_rejected,
    .reload_failed = servers_reload_failed,
    .rewritten = servers_rewritten,
    .update = servers_update,
    .updated = servers_updated,
    .command_sent = servers_command_sent,
    .command_done = servers_command_done,
    .command_failed = servers_command_failed,
    .commands_done = servers_commands_done,
    .last_update = servers_last_update,
    .last_updated = servers_last_updated,
    .trouble = servers_trouble,
};

struct servers *servers_new(const struct servers_options *options)
{
    struct servers *e = mem_alloc(sizeof(*e));
    unsigned seed = backoff_random_seed();
    e->options = *options;
    e->backends = mem_array(options->backend_count, sizeof(e->backends[0]));
    e->claims = mem_array(options->backend_count, sizeof(e->claims[0]));
    unsigned parts = ENGINE_SERVERS | (options->rules.diff.keep_settings ? 0 : ENGINE_SETTINGS);
    e->end = e->backends + options->backend_count;
    for (size_t i = 0; i < options->backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        struct desired nothing;
        desired_init(&nothing);
        s->engine = e;
        s->name = options->backends[i];
        s->by_node = desired_share(&nothing);
        s->desired = desired_ref(s->by_node);
        buf_init(&s->taken_over, 0);
        s->parking = e->options.park_ttl_ms > 0 ? parking_new(e->options.park_ttl_ms) : NULL;
        last_write_init(&s->last, seed + (unsigned)i);
        s->asked = true;
        s->skip_limit.period_ms = s->no_endpoint_limit.period_ms = INSTANCE_REPEAT_LOG_MS;
        s->not_written_limit.period_ms = REPEAT_NOT_WRITTEN_MS;
        servers_report_init(&s->report);
        e->claims[i] = (struct engine_claim){.backend = options->backends[i], .parts = parts};
    }
    e->last_updated = e->end - 1;
    e->engine =
        (struct engine){.ops = &servers_ops, .self = e, .claims = e->claims, .claim_count = options->backend_count};
    return e;
}

void servers_free(struct servers *e)
{
    if (e == NULL)
        return;
    servers_end_traces(e);
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        plan_fini(&s->plan);
        loss_limit_fini(&s->loss_limit);
        desired_unref(s->desired);
        desired_unref(s->by_node);
        free(s->adopted);
        admin_states_fini(&s->states);
        route_fini(&s->route);
        parking_free(s->parking);
        buf_fini(&s->taken_over);
        last_write_fini(&s->last);
        servers_report_fini(&s->report);
        mem_free_all(s->overrides, s->cause, s->write_cause);
    }
    mem_free_all(e->backends, e->claims, e);
}

const struct engine *servers_engine(const struct servers *e)
{
    return &e->engine;
}

/* ---- what is desired ---- */

void servers_set_desired(struct servers *e, size_t backend, const struct desired *desired, const char *cause,
                         uint64_t received_us)
{
    struct servers_backend *s = &e->backends[backend];
    if (desired->paused != s->desired->paused) {
        const char *text = desired->paused ? "paused by the Service's annotation" : "no longer paused";
        log_info(servers_log(s), text, log_str("backend", s->name), log_str("target", servers_target(s)),
                 log_str("cause", cause));
        servers_note(s, (struct history_entry){.kind = HISTORY_PAUSED, .text = text, .cause = cause});
    }
    cleanup(desired_unref_ptr) const struct desired *before = s->desired;
    desired_unref(s->by_node);
    servers_replan(s);
    s->by_node = desired_ref(desired);
    s->desired = desired_ref(desired);
    servers_name(s, before);
    plan_note_returns(s->desired, &s->loss_limit);
    s->have_desired = true;
    s->number++;
    free(s->cause);
    s->cause = mem_strdup(cause);
    if (s->event_us == 0)
        s->event_us = received_us;
    s->latest_event_us = received_us;
    /* What was refused is not what is desired now; but a stream of changes must not become a stream of refusals. */
    uint64_t soon_ms = s->last.rejected_version >= 0 ? clock_mono_ms() + REJECTED_PAUSE_MS : 0;
    servers_write_sooner(s, soon_ms);
    instance_write_sooner(e->instance, soon_ms);
    struct metric_table *m = servers_metrics(s);
    servers_measure(s, m->servers_desired, (double)servers_count_desired(s, SERVER_LIVE));
    servers_measure(s, m->servers_draining, (double)servers_count_desired(s, SERVER_DRAINING));
    servers_measure(s, m->paused, s->desired->paused ? 1 : 0);
    servers_measure_up(s);
}

void servers_apply(struct servers *e)
{
    uint64_t before = e->decisions;
    instance_step(e->instance);
    if (e->decisions == before) /* something is under way: commands need not wait for it */
        servers_command_all(e);
}
