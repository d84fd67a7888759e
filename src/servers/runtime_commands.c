/* Runtime commands, and the last updates before the end. */
#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/driver.h"
#include "report/telemetry.h"
#include "servers/servers_internal.h"

/* ---- what is to be commanded ---- */

void servers_command_all(struct servers *e)
{
    if (instance_view(e->instance).away) /* what was read is outdated, and it does not answer either */
        return;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        cleanup(plan_fini) struct plan plan = {0};
        cleanup(route_fini) struct route route = {0};
        if (!s->have_desired || !s->at->was_read || s->at->unreadable.kind != ERROR_NONE ||
            !servers_choose(s, &plan, &route))
            continue;
        if (plan.verdict != PLAN_IN_SYNC)
            servers_set_in_sync(s,
                                false); /* what is under way may take a minute, and only then is it written, or said */
        if (instance_runtime_usable(e->instance, s->at))
            servers_command(s, &plan, &route);
    }
}

/* ---- what came of it ---- */

void servers_command_sent(void *engine, const struct instance_backend *b, const struct runtime_command *c)
{
    struct servers_backend *s = servers_backend_of(engine, b);
    servers_replan(s);
    admin_states_calls(&s->states, c->name, c->state);
}

/* By the model, for the log; NULL: it has nothing to say of that server. Allocates. */
static char *runtime_reason(const struct servers_backend *s, const char *name)
{
    const struct desired_server *want = desired_find(s->desired, name);
    const struct desired_skip *out = desired_why_out(s->desired, name);
    if (want != NULL)
        return desired_server_reason(s->desired, want);
    return out != NULL ? desired_skip_reason(s->desired, out) : NULL;
}

static void runtime_note(struct servers_backend *s, const struct runtime_command *c, uint64_t took_us,
                         uint64_t event_us)
{
    static const char *const words[] = {[RUNTIME_READY] = "is back in rotation",
                                        [RUNTIME_DRAIN] = "drains: it gets no new connections",
                                        [RUNTIME_MAINT] = "is out of rotation"};
    cleanup(mem_free_ptr) char *reason = runtime_reason(s, c->name);
    cleanup(mem_free_ptr) char *text = mem_printf("%s %s", c->name, words[c->state]);
    /* that it drains is said */
    cleanup(mem_free_ptr) char *why = reason == NULL              ? mem_strdup(c->why)
                                      : c->state == RUNTIME_DRAIN ? mem_strdup(reason)
                                                                  : mem_printf("%s: %s", c->why, reason);
    servers_note(s, (struct history_entry){.kind = HISTORY_RUNTIME_COMMAND,
                                           .server = c->name,
                                           .state = runtime_admin_name(c->state),
                                           .text = text,
                                           .why = why,
                                           .cause = s->cause,
                                           .took_us = took_us,
                                           .latency_us = event_us});
}

void servers_command_done(void *engine, const struct instance_backend *b, const struct runtime_command *c, bool crossed,
                          uint64_t took_us, uint64_t arrived_us)
{
    struct servers_backend *s = servers_backend_of(engine, b);
    uint64_t event_us = arrived_us != 0 ? clock_mono_us() - arrived_us : 0;
    servers_commanded(s);
    admin_states_called(&s->states, c->name, c->state);
    if (crossed)
        admin_states_crossed(&s->states, c->name);
    if (event_us != 0 && c->state != RUNTIME_READY)
        metric_observe(servers_telemetry(s)->watch_event_to_runtime, (double)event_us / 1e6, NULL);
    cleanup(mem_free_ptr) char *reason = runtime_reason(s, c->name);
    log_info(servers_log(s), "server state set at runtime", log_str("backend", s->name),
             log_str("target", servers_target(s)), log_str("server", c->name),
             log_str("state", runtime_admin_name(c->state)), log_str("why", c->why), log_str("reason", reason),
             log_if(event_us != 0, log_us_as_ms("event_to_runtime_ms", event_us)));
    runtime_note(s, c, took_us, event_us);
    cleanup(mem_free_ptr) char *what = mem_printf("server %s %s", c->name, runtime_admin_name(c->state));
    servers_trace_write(
        s, &(struct servers_trace_write){
               .name = "runtime command", .cause = s->cause, .what = what, .took_us = took_us, .event_us = arrived_us});
}

void servers_command_failed(void *engine, const struct instance_backend *b, const struct runtime_command *c,
                            bool unanswered, const struct error *err)
{
    struct servers_backend *s = servers_backend_of(engine, b);
    servers_replan(s);
    if (unanswered)
        admin_states_unanswered(&s->states, c->name, c->state);
    servers_problem(s, "cannot set server state at runtime", err);
}

/* ---- the end ---- */

/*
 * A drain that the daemon set is in the running HAProxy only, where the next leader would take it for an operator's: if
 * its pod were ready again by then, the server would stay out of rotation for good. So each of these lines is put into
 * maintenance in the file, without a reload, which the next leader may end.
 */

static const struct backend_server *runtime_first_drained(const struct servers_backend *s)
{
    for (size_t i = 0; i < s->at->actual.server_count; i++) {
        const struct backend_server *line = &s->at->actual.servers[i];
        const struct admin_state *mark = line->maintenance ? NULL : admin_states_find(&s->states, line->name);
        if (mark == NULL || mark->ours == RUNTIME_READY || mark->theirs != RUNTIME_READY)
            continue;
        /* A server that is to stay, be it by the loss limit, is not taken out of rotation only because an earlier command
         * may have been carried out. */
        const struct runtime_server *row = runtime_find(&s->at->runtime, line->name);
        const struct desired_server *want = desired_find(s->desired, line->name);
        uint64_t until_ms;
        bool stays = s->desired->state != DESIRED_OK || (want != NULL && want->state == SERVER_LIVE) ||
                     loss_limit_delays(&s->loss_limit, line->name, clock_mono_ms(), &until_ms);
        if (!stays || (row != NULL && row->admin != RUNTIME_READY))
            return line;
    }
    return NULL;
}

bool servers_last_update(void *engine, const struct instance_backend **ret_b, struct backend_server *ret)
{
    struct servers *e = engine;
    for (const struct servers_backend *s = e->backends; s < e->end; s++) {
        /* What was read last is up to date as far as is known, and may be written to. */
        struct instance *in = s->engine->instance;
        const struct backend_server *line =
            (s->have_desired && s->at->was_read && s->at->unreadable.kind == ERROR_NONE &&
             instance_runtime_usable(in, s->at) && s->at->actual.version == instance_view(in).version &&
             !s->engine->options.rules.dry_run && !s->desired->paused && s->plan.verdict != PLAN_REFUSE)
                ? runtime_first_drained(s)
                : NULL;
        if (line == NULL)
            continue;
        backend_server_copy(ret, line);
        ret->maintenance = true;
        *ret_b = s->at;
        return true;
    }
    return false;
}

void servers_last_updated(void *engine, const struct instance_backend *b, const struct updated *u)
{
    const struct servers_backend *s = servers_backend_of(engine, b);
    if (s == NULL)
        return;
    if (u->result != UPDATE_WRITTEN) {
        log_warn(servers_log(s),
                 "draining server not saved in haproxy.cfg; if its pod is ready at the next start, its drain is taken "
                 "for an operator's",
                 log_str("backend", s->name), log_str("target", servers_target(s)), log_str("server", u->wanted->name),
                 log_str("error", u->error.message));
        return;
    }
    log_info(servers_log(s), "draining server saved in haproxy.cfg as maintenance for the next leader",
             log_str("backend", s->name), log_str("target", servers_target(s)), log_str("server", u->wanted->name),
             log_int("version", u->version));
    servers_note(
        s, (struct history_entry){.kind = HISTORY_RUNTIME_UPDATE,
                                  .server = u->wanted->name,
                                  .text = "draining server saved in haproxy.cfg as maintenance for the next leader",
                                  .took_us = u->write_us});
}
