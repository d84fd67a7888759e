/* What a reading means for each backend: the names of its servers, who set which state, which parts are an
 * operator's. */
#include <stdlib.h>

#include "base/str.h"
#include "report/telemetry.h"
#include "servers/names.h"
#include "servers/servers_internal.h"

void servers_name(struct servers_backend *s, const struct desired *before)
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

void servers_read(void *engine)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
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

bool servers_runtime_read(void *engine, bool other_worker)
{
    struct servers *e = engine;
    bool again = false;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        if (!admin_states_correct(&s->states, &s->at->runtime, other_worker))
            continue;
        again = true;
        servers_replan(s);
        servers_measure_up(s);
    }
    return again;
}

void servers_remember(struct servers_backend *s)
{
    const struct instance *in = s->engine->instance;
    bool decided = s->have_desired && (s->desired->state == DESIRED_OK || s->desired->state == DESIRED_EMPTY);
    servers_replan(s);
    s->remembered = instance_at_rest(in) && decided && s->at->actual.exists && s->at->unreadable.kind == ERROR_NONE;
    if (s->remembered)
        admin_states_refresh(&s->states, &s->at->actual, &s->at->runtime, s->desired, &s->engine->options.rules.diff,
                             instance_view(in).worker);
    size_t count = 0;
    char *now = admin_states_overrides(&s->states, &count);
    if (now != NULL && !str_eq(now, s->overrides))
        log_warn(servers_log(s),
                 "admin states set by an operator; left alone until set to ready (a daemon killed during a drain "
                 "leaves the same)",
                 log_str("target", servers_url(s)), log_str("backend", s->name), log_str("what", now));
    else if (now == NULL && s->overrides != NULL)
        log_info(servers_log(s), "admin states set by an operator are cleared", log_str("target", servers_url(s)),
                 log_str("backend", s->name));
    free(s->overrides);
    s->overrides = now;
    servers_measure(s, servers_telemetry(s)->servers_overridden, (double)count);
}

void servers_concluded(void *engine)
{
    struct servers *e = engine;
    bool other = instance_view(e->instance).worker != WORKER_SAME;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        bool known = s->remembered && s->at->as_before && s->states.count == 0 && s->states.worker == WORKER_SAME;
        if (!known || other)
            servers_remember(s);
    }
}
