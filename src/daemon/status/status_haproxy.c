#include "daemon/status/status_parts.h"

#include <yyjson.h>

#include "base/mem.h"
#include "report/checks.h"
#include "base/str.h"
#include "json/write.h"
#include "daemon/targets.h"
#include "servers/servers_internal.h"

/* ---- one server ---- */

enum place {
    PLACE_LIVE,
    PLACE_DRAINING,
    PLACE_LEAVING,
    PLACE_PARKED,
    PLACE_SPARE,
    PLACE_UNMANAGED,
    PLACE_OTHERS,
    PLACES
};

static const char *const place_names[] = {
    [PLACE_LIVE] = "live",
    [PLACE_DRAINING] = "draining",
    [PLACE_LEAVING] = "leaving",
    [PLACE_PARKED] = "parked",
    [PLACE_SPARE] = "spare",
    [PLACE_UNMANAGED] = "unmanaged",
    [PLACE_OTHERS] = "another_cluster",
};

struct server_view {
    const struct backend_server *line;
    const struct runtime_server *running; /* NULL: not known, or not there */
    enum runtime_admin theirs;
    enum place place;
};

static struct server_view view_of(const struct servers_backend *s, const struct backend_server *line)
{
    const struct admin_state *mark = admin_states_find(&s->states, line->name);
    struct server_view v = {.line = line,
                            .running = s->at->runtime.readable ? runtime_find(&s->at->runtime, line->name) : NULL,
                            .theirs = mark != NULL ? mark->theirs : RUNTIME_READY};
    const struct diff_rules *rules = &s->engine->options.rules.diff;
    bool desired = desired_find(s->desired, line->name) != NULL;
    bool rests = line->maintenance || (v.running != NULL && v.running->admin != RUNTIME_READY);
    if (diff_server_is_foreign(line, rules, s->desired))
        v.place = diff_server_is_others(line, rules) ? PLACE_OTHERS : PLACE_UNMANAGED;
    else if (!desired && line->maintenance)
        v.place = desired_find_spare(s->desired, line->name) != NULL ? PLACE_SPARE : PLACE_PARKED;
    else if (!desired && s->have_desired && s->desired->state == DESIRED_OK)
        v.place = PLACE_LEAVING;
    else
        v.place = rests && v.theirs == RUNTIME_READY ? PLACE_DRAINING : PLACE_LIVE;
    return v;
}

static bool is_down(const struct server_view *v)
{
    return v->place == PLACE_LIVE && v->running != NULL && runtime_fails_check(v->running);
}

static void status_haproxy_add_server(const struct servers_backend *s, const struct status_haproxies *h,
                                      yyjson_mut_doc *doc, yyjson_mut_val *list, const struct server_view *v)
{
    const struct plan_delayed *held = plan_find_delayed(&s->plan, v->line->name);
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("name", v->line->name));
    const char *node = desired_node(s->desired, v->line->name);
    if (node != NULL && !str_eq(node, v->line->name))
        json_fields(doc, obj, json_str("node", node));
    json_fields(doc, obj, json_str("address", v->line->address),
                json_int("port", v->line->port != 0 ? v->line->port : -1), json_int("weight", v->line->weight),
                json_str("state", place_names[v->place]),
                json_str("line", v->line->maintenance ? "maintenance" : "live"),
                json_str("running", v->running != NULL ? runtime_admin_name(v->running->admin) : NULL));
    bool checked = v->running != NULL && v->running->admin != RUNTIME_MAINT;
    json_fields(doc, obj,
                json_str("health", !checked                          ? NULL
                                   : runtime_fails_check(v->running) ? "down"
                                                                     : "up"),
                json_ms("down_since", v->running != NULL && v->running->down_since_s != 0
                                          ? (int64_t)v->running->down_since_s * 1000 + h->wall_minus_mono_ms
                                          : 0),
                json_str("overridden", v->theirs != RUNTIME_READY ? runtime_admin_name(v->theirs) : NULL),
                json_ms("removal_delayed_until", held != NULL ? (int64_t)held->until_ms + h->wall_minus_mono_ms : 0));
}

/* The notable ones come first: perhaps not all can be listed. */
static void status_haproxy_put_servers(const struct servers_backend *s, struct status_haproxies *h, yyjson_mut_doc *doc,
                                       yyjson_mut_val *obj)
{
    yyjson_mut_val *servers = json_put_object(doc, obj, "servers"), *list = yyjson_mut_arr(doc);
    size_t count[PLACES] = {0}, overridden = 0, up = 0, down = 0, listed = 0;
    size_t max = h->left < STATUS_LIST_MAX ? h->left : STATUS_LIST_MAX;
    for (int notable = 1; notable >= 0; notable--) {
        for (size_t i = 0; i < s->at->actual.server_count; i++) {
            const struct server_view v = view_of(s, &s->at->actual.servers[i]);
            bool is_notable =
                v.place == PLACE_DRAINING || v.place == PLACE_LEAVING || v.theirs != RUNTIME_READY || is_down(&v);
            if (is_notable != (notable == 1))
                continue;
            count[v.place]++;
            overridden += v.theirs != RUNTIME_READY;
            /* Takes connections as far as its check goes; without a check it does. */
            up += v.place == PLACE_LIVE && v.running != NULL && !v.running->down;
            down += is_down(&v);
            if (listed < max) {
                status_haproxy_add_server(s, h, doc, list, &v);
                listed++;
            }
        }
    }
    h->left -= listed;
    for (int i = 0; i < PLACES; i++)
        json_fields(doc, servers, json_uint(place_names[i], count[i]));
    json_fields(doc, servers, json_int("up", s->at->runtime.readable ? (int64_t)up : -1), json_uint("down", down),
                json_uint("overridden", overridden), json_uint("listed", listed));
    json_put(doc, servers, "list", list);
}

/* ---- one backend ---- */

static enum status_state status_haproxy_state_of(const struct instance_view *v, const struct servers_backend *s)
{
    bool undecided = s->have_desired && s->desired->state == DESIRED_UNDECIDED; /* an operator has to act */
    if (s->report.problem.kind != ERROR_NONE || v->problem->kind != ERROR_NONE || undecided)
        return STATUS_PROBLEM;
    if (s->holding)
        return s->plan.verdict == PLAN_NO_ENDPOINT && s->plan.diff.managed_count == 0 ? STATUS_PROBLEM
               : s->plan.verdict == PLAN_NOT_WRITTEN                                  ? STATUS_NOT_WRITTEN
                                                                                      : STATUS_REMOVAL_DELAYED;
    if (s->report.in_sync)
        return STATUS_IN_SYNC;
    bool waits = !s->have_desired || s->desired->state == DESIRED_NOT_SYNCED;
    return waits || !s->at->was_read || !v->last_reload_known ? STATUS_WAITING : STATUS_CHANGING;
}

/* Its line in /readyz; NULL: none. Allocates. */
static char *status_haproxy_text_of(const struct servers *e, const char *backend, const struct status_haproxies *h)
{
    cleanup(mem_free_ptr) char *name = servers_check_name(e, backend);
    const struct check *check = checks_find(h->checks, name);
    return check != NULL ? checks_text(check) : NULL;
}

static enum status_state status_haproxy_add_backend(const struct instance_view *v, struct servers_backend *s,
                                                    struct status_haproxies *h, yyjson_mut_doc *doc,
                                                    yyjson_mut_val *list)
{
    cleanup(mem_free_ptr) char *text = status_haproxy_text_of(s->engine, s->name, h);
    enum status_state state = status_haproxy_state_of(v, s);
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("backend", s->name), json_str("state", status_state_name(state)),
                json_str("text", text), json_bool("readable", s->at->runtime.readable),
                json_ms("since", (int64_t)s->report.since_ms + h->wall_minus_mono_ms));
    yyjson_mut_val *held = json_put_object(doc, obj, "removal_delayed");
    bool any = s->plan.held_back > 0;
    json_fields(doc, held, json_uint("servers", s->plan.held_back),
                json_str("names", any ? s->plan.delayed_names : NULL),
                json_ms("until", any ? (int64_t)s->plan.delayed_until_ms + h->wall_minus_mono_ms : 0));
    json_fields(doc, obj, json_str("overridden", s->overrides));
    status_haproxy_put_servers(s, h, doc, obj);
    return state;
}

/* ---- one HAProxy ---- */

/* That HAProxy has the worse state of the two. */
static void status_haproxy_put_configuration(const struct target *t, const struct status_haproxies *h,
                                             yyjson_mut_doc *doc, yyjson_mut_val *obj, enum status_state *state,
                                             char **text)
{
    const struct configuration_view c = configuration_view(t->configuration, t->number);
    yyjson_mut_val *put = json_put_object(doc, obj, "configuration");
    json_fields(doc, put, json_str("state", c.state), json_str("sha256", c.sha256), json_str("source", c.source),
                json_str("reason", c.reason), json_bool("paused", c.paused), json_str("failure", c.failure));
    if (c.failure != NULL && c.next_try_ms != 0)
        json_fields(doc, put, json_ms("next_try", (int64_t)c.next_try_ms + instance_wall_minus_mono_ms(t->instance)));
    json_fields(doc, put, json_int("rolled_back_to", c.version != 0 ? (int64_t)c.version : -1),
                json_str("rolled_back_from", c.withdrawn), json_str("evidence", c.evidence),
                json_str("canary", c.canary));
    if (c.canary_until_ms != 0)
        json_fields(doc, put,
                    json_ms("canary_until", (int64_t)c.canary_until_ms + instance_wall_minus_mono_ms(t->instance)));
    json_fields(doc, put, json_str("runs", c.runs[0] != '\0' ? c.runs : NULL), json_ms("runs_since", c.runs_since_ms));
    if (*text != NULL && c.status <= *state)
        return;
    cleanup(mem_free_ptr) char *name = mem_printf("target %s configuration", instance_view(t->instance).url);
    const struct check *check = checks_find(h->checks, name);
    *state = c.status;
    free(*text);
    *text = check != NULL ? checks_text(check) : NULL;
}

void status_haproxy_add(const struct target *t, struct status_haproxies *h, yyjson_mut_doc *doc, yyjson_mut_val *list,
                        enum status_state *worst)
{
    const struct instance_view v = instance_view(t->instance);
    const struct servers *e = t->servers;
    yyjson_mut_val *obj = json_add_object(doc, list), *backends = yyjson_mut_arr(doc);
    enum status_state state = STATUS_IN_SYNC;
    const char *of = NULL;
    for (size_t i = 0; e != NULL && i < e->options.backend_count; i++) {
        enum status_state one = status_haproxy_add_backend(&v, &e->backends[i], h, doc, backends);
        if (of == NULL || one > state) {
            state = one;
            of = e->backends[i].name;
        }
    }
    cleanup(mem_free_ptr) char *text = of != NULL ? status_haproxy_text_of(e, of, h) : NULL;
    json_fields(doc, obj, json_str("url", v.url));
    if (t->pod != NULL)
        json_fields(doc, obj, json_str("pod", t->pod));
    if (t->configuration != NULL)
        status_haproxy_put_configuration(t, h, doc, obj, &state, &text);
    json_fields(doc, obj, json_str("state", status_state_name(state)), json_str("text", text));
    bool answers = !v.away && !v.silent; /* else everything that is shown of it is as of then */
    json_fields(doc, obj, json_bool("answers", answers),
                json_ms("as_of", answers || v.answered_ms == 0 ? 0 : (int64_t)v.answered_ms + h->wall_minus_mono_ms),
                json_int("version", v.version), json_int("worker_pid", v.worker_pid));
    static const char *const names[] = {
        [RELOAD_NONE] = "none", [RELOAD_PENDING] = "pending", [RELOAD_DONE] = "done", [RELOAD_BROKEN] = "failed"};
    json_fields(doc, json_put_object(doc, obj, "reload"), json_str("state", names[v.reload]),
                json_str("id", v.reload_id), json_str("problem", v.reload_problem));
    json_fields(doc, obj, json_str("runtime_verification", verification_state_name(v.verification)),
                json_str("drift", v.drift));
    json_put(doc, obj, "backends", backends);
    if (state > *worst)
        *worst = state;
    if (state != STATUS_IN_SYNC)
        return;
    /* Since all that is managed in it is in sync. */
    int64_t since_ms = t->configuration != NULL ? configuration_view(t->configuration, t->number).runs_since_ms : 0;
    h->in_sync_since_ms = since_ms > h->in_sync_since_ms ? since_ms : h->in_sync_since_ms;
    for (size_t i = 0; e != NULL && i < e->options.backend_count; i++) {
        since_ms = (int64_t)e->backends[i].report.since_ms + h->wall_minus_mono_ms;
        h->in_sync_since_ms = since_ms > h->in_sync_since_ms ? since_ms : h->in_sync_since_ms;
    }
}

void status_haproxy_add_standby(const char *url, yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("url", url), json_str("state", "standby"),
                json_str("text", "managed by the leading replica"));
    json_put_list(doc, obj, "backends");
}
