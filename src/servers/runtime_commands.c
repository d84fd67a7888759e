/* Runtime commands. */
#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/driver.h"
#include "report/metric_table.h"
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
        metric_observe(servers_metrics(s)->watch_event_to_runtime, (double)event_us / 1e6, NULL);
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
