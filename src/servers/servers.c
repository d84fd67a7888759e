#include "servers/servers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/telemetry.h"
#include "servers/servers_internal.h"

#define REPEAT_NOT_WRITTEN_MS 3600000

static void servers_attach(void *engine, struct instance *in)
{
    struct servers *e = engine;
    e->instance = in;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        e->backends[i].at = instance_backend(in, e->backends[i].name);
        servers_set_in_sync(&e->backends[i], false);
    }
}

struct servers_backend *servers_backend_of(struct servers *e, const struct instance_backend *b)
{
    for (size_t i = 0; i < e->options.backend_count; i++)
        if (e->backends[i].at == b)
            return &e->backends[i];
    return NULL;
}

/* ---- what the instance asks ---- */

static bool servers_have_desired(const void *engine)
{
    const struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++)
        if (e->backends[i].have_desired)
            return true;
    return false;
}

/* Whether any backend may be written to: otherwise dead transactions are not deleted either. */
static bool servers_may_ever_write(const void *engine)
{
    const struct servers *e = engine;
    if (e->options.rules.dry_run)
        return false;
    for (size_t i = 0; i < e->options.backend_count; i++)
        if (e->backends[i].have_desired && !e->backends[i].desired->paused)
            return true;
    return false;
}

static uint64_t servers_due(const void *engine, uint64_t now)
{
    const struct servers *e = engine;
    uint64_t due = 0;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        const struct servers_backend *s = &e->backends[i];
        engine_sooner(&due, s->last.write_after_ms, now);
        engine_sooner(&due, s->plan.held_back > 0 ? s->plan.delayed_until_ms : 0, now);
        engine_sooner(&due, s->conflict.until_ms, now);
        engine_sooner(&due, servers_overdue_ms(s), now);
    }
    return due;
}

static void servers_resync(void *engine)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        if (e->backends[i].states.count > 0)
            servers_replan(&e->backends[i]);
        admin_states_age(&e->backends[i].states);
    }
}

static void servers_refresh(void *engine)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        servers_replan(s);
        servers_write_sooner(s, 0);
        s->asked = true;
        conflict_forget(&s->conflict);
        log_limit_reset(&s->problem_limit);
        log_limit_reset(&s->no_endpoint_limit);
        log_limit_reset(&s->not_written_limit);
    }
}

static bool servers_manages(const void *engine, const struct instance_backend *b, const struct backend_server *line)
{
    const struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++)
        if (e->backends[i].at == b)
            return !diff_server_is_foreign(line, &e->options.rules.diff, e->backends[i].desired);
    return false;
}

static const struct engine_ops servers_ops = {
    .name = "servers",
    .attach = servers_attach,
    .read = servers_read,
    .runtime_read = servers_runtime_read,
    .concluded = servers_concluded,
    .read_failed = servers_measure_all_up,
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

/* ---- life ---- */

struct servers *servers_new(const struct servers_options *options)
{
    struct servers *e = mem_alloc(sizeof(*e));
    unsigned seed = backoff_random_seed();
    e->options = *options;
    e->backends = mem_array(options->backend_count, sizeof(e->backends[0]));
    e->claims = mem_array(options->backend_count, sizeof(e->claims[0]));
    unsigned parts = ENGINE_SERVERS | (options->rules.diff.keep_settings ? 0 : ENGINE_SETTINGS);
    for (size_t i = 0; i < options->backend_count; i++) {
        struct desired nothing;
        desired_init(&nothing);
        e->backends[i].engine = e;
        e->backends[i].name = options->backends[i];
        e->backends[i].by_node = desired_share(&nothing);
        e->backends[i].desired = desired_ref(e->backends[i].by_node);
        buf_init(&e->backends[i].taken_over, 0);
        e->backends[i].parking = e->options.park_ttl_ms > 0 ? parking_new(e->options.park_ttl_ms) : NULL;
        last_write_init(&e->backends[i].last, (seed + (unsigned)i));
        e->backends[i].asked = true;
        e->backends[i].problem_limit.period_ms = e->backends[i].skip_limit.period_ms =
            e->backends[i].no_endpoint_limit.period_ms = INSTANCE_REPEAT_LOG_MS;
        e->backends[i].not_written_limit.period_ms = REPEAT_NOT_WRITTEN_MS;
        notes_init(&e->backends[i].notes);
        e->claims[i] = (struct engine_claim){.backend = options->backends[i], .parts = parts};
    }
    e->last_updated = options->backend_count - 1;
    e->engine =
        (struct engine){.ops = &servers_ops, .self = e, .claims = e->claims, .claim_count = options->backend_count};
    return e;
}

void servers_free(struct servers *e)
{
    if (e == NULL)
        return;
    servers_end_traces(e);
    for (size_t i = 0; i < e->options.backend_count; i++) {
        plan_fini(&e->backends[i].plan);
        loss_limit_fini(&e->backends[i].loss_limit);
        desired_unref(e->backends[i].desired);
        desired_unref(e->backends[i].by_node);
        free(e->backends[i].adopted);
        admin_states_fini(&e->backends[i].states);
        route_fini(&e->backends[i].route);
        parking_free(e->backends[i].parking);
        buf_fini(&e->backends[i].taken_over);
        last_write_fini(&e->backends[i].last);
        notes_fini(&e->backends[i].notes);
        free(e->backends[i].overrides);
        free(e->backends[i].cause);
        free(e->backends[i].write_cause);
    }
    free(e->backends);
    free(e->claims);
    free(e);
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
    if (desired->paused != s->desired->paused)
        log_info(servers_log(s), desired->paused ? "paused by the Service's annotation" : "no longer paused",
                 log_str("backend", s->name), log_str("target", servers_target(s)), log_str("cause", cause));
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
    struct telemetry *m = servers_telemetry(s);
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
