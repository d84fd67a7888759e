/* The shutdown of the servers engine (SIGTERM, or another leader): what drains is saved in haproxy.cfg.
 *
 * A drain that the daemon set is in the running HAProxy only, where the next leader would take it for an operator's: if
 * its pod were ready again by then, the server would stay out of rotation for good. So each of these lines is put into
 * maintenance in the file, without a reload, which the next leader may end.
 */
#include "base/clock.h"
#include "haproxy/driver.h"
#include "servers/servers_internal.h"

static const struct backend_server *shutdown_first_drained(const struct servers_backend *s)
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
                ? shutdown_first_drained(s)
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
