#include "cli/daemon_memory.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "cli/inspect_report.h"
#include "cli/running_daemon.h"
#include "daemon/status/status.h"
#include "daemon/status/status_parts.h"
#include "json/read.h"
#include "servers/change/parking.h"
#include "servers/desired/server_state.h"
#include "settings/settings.h"

#define TEXT_MAX_BYTES 2000
#define COUNT_MAX 1000000

void daemon_memory_init(struct daemon_memory *m, const struct settings *settings, const char *url)
{
    *m = (struct daemon_memory){.settings = settings,
                                .wall_minus_mono_ms = (int64_t)clock_wall_ms() - (int64_t)clock_mono_ms()};
    if (url == NULL)
        return;
    m->url = *url != '\0' ? mem_strdup(url) : running_daemon_url(settings);
    if (*url == '\0' && !settings->status_page)
        m->why_not = mem_strdup("STATUS_PAGE=false");
}

void daemon_memory_fini(struct daemon_memory *m)
{
    yyjson_doc_free(m->doc);
    free(m->url);
    free(m->why_not);
    *m = (struct daemon_memory){0};
}

bool daemon_memory_used(const struct daemon_memory *m)
{
    return m != NULL && m->doc != NULL;
}

/* ---- its parts ---- */

static yyjson_val *memory_find(yyjson_val *list, const char *key, const char *value)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach (list, i, max, item)
        if (str_eq(yyjson_get_str(yyjson_obj_get(item, key)), value))
            return item;
    return NULL;
}

static yyjson_val *memory_part(const struct daemon_memory *m, const char *key)
{
    return yyjson_obj_get(yyjson_doc_get_root(m->doc), key);
}

static yyjson_val *memory_of_mapping(const struct daemon_memory *m, const char *backend)
{
    return yyjson_obj_get(memory_find(memory_part(m, "backends"), "backend", backend), "memory");
}

static yyjson_val *memory_of_backend(const struct daemon_memory *m, const char *target, const char *backend)
{
    yyjson_val *of = memory_find(memory_part(m, "haproxies"), "url", target);
    return yyjson_obj_get(memory_find(yyjson_obj_get(of, "backends"), "backend", backend), "memory");
}

/* 0: none, or before this machine was started. */
static int memory_time(const struct daemon_memory *m, yyjson_val *of, const char *key, uint64_t *ret_mono_ms,
                       struct error *err)
{
    const char *text;
    int64_t us;
    if (json_get_line(of, key, RFC3339_BYTES, &text, err) != 0)
        return -1;
    *ret_mono_ms = 0;
    if (text == NULL)
        return 0;
    if (rfc3339_parse(text, &us) != 0)
        return error_set(err, ERROR_INVALID, "%s is \"%s\", no time", key, text);
    int64_t ms = us / 1000 - m->wall_minus_mono_ms;
    *ret_mono_ms = ms > 0 ? (uint64_t)ms : 0;
    return 0;
}

typedef int memory_row(const struct daemon_memory *m, yyjson_val *row, const char *name, void *to, struct error *err);

/* Of each row of a list. */
static int memory_each(const struct daemon_memory *m, yyjson_val *of, const char *key, memory_row *take, void *to,
                       struct error *err)
{
    yyjson_val *list = NULL, *row;
    size_t i, max;
    const char *name;
    if (json_get_array(of, key, &list, err) != 0)
        return -1;
    if (list == NULL || yyjson_arr_size(list) > STATUS_LIST_MAX)
        return error_set(err, ERROR_INVALID, "%s %s", key, list == NULL ? "is absent" : "is too long");
    yyjson_arr_foreach (list, i, max, row)
        if (json_is_object(row, key, err) != 0 || json_get_line(row, "server", TEXT_MAX_BYTES, &name, err) != 0 ||
            (str_empty(name) && error_set(err, ERROR_INVALID, "a row of %s has no server", key) != 0) ||
            take(m, row, name, to, err) != 0)
            return -1;
    return 0;
}

static int memory_take_node(const struct daemon_memory *m, yyjson_val *row, const char *name, void *to,
                            struct error *err)
{
    struct server_memory is = {.name = name, .state = SERVER_OUT};
    const char *state;
    if (json_get_line(row, "state", TEXT_MAX_BYTES, &state, err) != 0 ||
        memory_time(m, row, "until", &is.until_ms, err) != 0 ||
        json_get_bool(row, "announced", false, &is.announced, err) != 0)
        return -1;
    if (str_eq(state, server_state_name(SERVER_DRAINING)))
        is.state = SERVER_DRAINING;
    else if (!str_eq(state, server_state_name(SERVER_OUT)))
        return error_set(err, ERROR_INVALID, "state is \"%s\"", state != NULL ? state : "");
    server_states_recall(to, &is, clock_mono_ms());
    return 0;
}

static int memory_take_alias(const struct daemon_memory *m, yyjson_val *row, const char *name, void *to,
                             struct error *err)
{
    const char *node;
    (void)m;
    if (json_get_line(row, "node", TEXT_MAX_BYTES, &node, err) != 0)
        return -1;
    desired_add_alias(to, name, node != NULL ? node : name);
    return 0;
}

static int memory_take_loss(const struct daemon_memory *m, yyjson_val *row, const char *name, void *to,
                            struct error *err)
{
    struct loss_limit_loss loss = {0};
    int64_t of;
    if (memory_time(m, row, "until", &loss.until_ms, err) != 0 ||
        json_get_int(row, "of", 0, COUNT_MAX, 0, &of, err) != 0 ||
        json_get_bool(row, "delayed", false, &loss.held, err) != 0)
        return -1;
    loss.live = (size_t)of;
    loss_limit_recall(to, name, &loss);
    return 0;
}

static int memory_take_parked(const struct daemon_memory *m, yyjson_val *row, const char *name, void *to,
                              struct error *err)
{
    struct parking_memory is = {.server = name};
    if (memory_time(m, row, "since", &is.since_ms, err) != 0 || json_get_bool(row, "spare", false, &is.spare, err) != 0)
        return -1;
    if (to != NULL)
        parking_recall(to, &is);
    return 0;
}

static int memory_admin(yyjson_val *row, const char *key, enum runtime_admin *ret, struct error *err)
{
    const char *text;
    if (json_get_line(row, key, TEXT_MAX_BYTES, &text, err) != 0)
        return -1;
    for (*ret = RUNTIME_READY; *ret <= RUNTIME_MAINT; (*ret)++)
        if (str_eq(text, runtime_admin_name(*ret)))
            return 0;
    return error_set(err, ERROR_INVALID, "%s is \"%s\"", key, text != NULL ? text : "");
}

static int memory_take_admin_state(const struct daemon_memory *m, yyjson_val *row, const char *name, void *to,
                                   struct error *err)
{
    enum runtime_admin theirs, ours;
    bool lost;
    (void)m;
    if (memory_admin(row, "operator", &theirs, err) != 0 || memory_admin(row, "commanded", &ours, err) != 0 ||
        json_get_bool(row, "lost", false, &lost, err) != 0)
        return -1;
    admin_states_recall(to, name, theirs, ours, lost);
    return 0;
}

static int memory_take_backend(const struct daemon_memory *m, yyjson_val *of, struct inspect_backend *to,
                               struct error *err)
{
    struct inspect_memory *d = &to->daemon;
    int64_t lost, lost_of;
    if (json_get_bool(of, "runtime_updates", true, &d->runtime_updates, err) != 0 ||
        json_get_bool(of, "reload_due", false, &d->reload_due, err) != 0 ||
        json_get_line(of, "file_problem", TEXT_MAX_BYTES, &d->file_problem, err) != 0 ||
        memory_time(m, of, "paused_until", &d->paused_until_ms, err) != 0 ||
        json_get_line(of, "reverted", TEXT_MAX_BYTES, &d->reverted, err) != 0 ||
        json_get_int(of, "lost", 0, COUNT_MAX, 0, &lost, err) != 0 ||
        json_get_int(of, "lost_of", 0, COUNT_MAX, 0, &lost_of, err) != 0 ||
        json_get_bool(of, "admin_states_known", false, &to->memory.known, err) != 0 ||
        memory_each(m, of, "losses", memory_take_loss, &d->loss_limit, err) != 0 ||
        memory_each(m, of, "parked", memory_take_parked, to->parking, err) != 0)
        return -1;
    d->used = true;
    d->loss_limit.over = (size_t)lost;
    d->loss_limit.of = (size_t)lost_of;
    return memory_each(m, of, "admin_states", memory_take_admin_state, &to->memory, err);
}

/* ---- what is used ---- */

void daemon_memory_recall_states(const struct daemon_memory *m, size_t mapping, struct server_states *to)
{
    if (daemon_memory_used(m))
        (void)memory_each(m, memory_of_mapping(m, m->settings->mappings[mapping].backend), "nodes", memory_take_node,
                          to, NULL);
}

void daemon_memory_recall_names(const struct daemon_memory *m, const char *target, const char *backend,
                                struct desired *to)
{
    if (daemon_memory_used(m))
        (void)memory_each(m, memory_of_backend(m, target, backend), "nodes", memory_take_alias, to, NULL);
}

void daemon_memory_recall(const struct daemon_memory *m, const char *target, struct inspect_backend *to)
{
    if (daemon_memory_used(m))
        (void)memory_take_backend(m, memory_of_backend(m, target, to->of->backend), to, NULL);
}

/* ---- whether it is ---- */

static int memory_check_complete(yyjson_val *memory, struct error *err)
{
    bool complete;
    if (json_is_object(memory, "memory", err) != 0 || json_get_bool(memory, "complete", false, &complete, err) != 0)
        return -1;
    return complete ? 0 : error_set(err, ERROR_INVALID, "it remembers more than its /status lists");
}

static int memory_check_backends(const struct daemon_memory *m, struct error *err)
{
    const struct settings *s = m->settings;
    yyjson_val *list = memory_part(m, "backends");
    bool same = yyjson_arr_size(list) == s->mapping_count;
    for (size_t i = 0; same && i < s->mapping_count; i++) {
        const struct settings_mapping *of = &s->mappings[i];
        yyjson_val *service = yyjson_obj_get(memory_find(list, "backend", of->backend), "service");
        same = str_eq(yyjson_get_str(yyjson_obj_get(service, "namespace")), of->namespace) &&
               str_eq(yyjson_get_str(yyjson_obj_get(service, "name")), of->service) &&
               str_eq(yyjson_get_str(yyjson_obj_get(service, "port")), of->port);
        if (!same)
            break;
        /* All that will be asked of it, tried; so is that of a backend below. */
        yyjson_val *memory = memory_of_mapping(m, of->backend);
        struct server_states *states = server_states_new();
        int status = memory_check_complete(memory, err);
        if (status == 0)
            status = memory_each(m, memory, "nodes", memory_take_node, states, err);
        server_states_free(states);
        if (status != 0)
            return -1;
    }
    return same ? 0 : error_set(err, ERROR_INVALID, "it has other backends");
}

static int memory_check_targets(const struct daemon_memory *m, struct error *err)
{
    const struct settings *s = m->settings;
    yyjson_val *list = memory_part(m, "haproxies");
    bool same = yyjson_arr_size(list) == settings_haproxy_count(s);
    for (size_t i = 0; same && i < settings_haproxy_count(s); i++)
        same = memory_find(list, "url", settings_haproxy_name(s, i)) != NULL;
    if (!same)
        return error_set(err, ERROR_INVALID, "it has other HAProxies");
    for (size_t i = 0; i < settings_haproxy_count(s); i++)
        for (size_t k = 0; k < s->mapping_count; k++) {
            yyjson_val *memory = memory_of_backend(m, settings_haproxy_name(s, i), s->mappings[k].backend);
            struct inspect_backend backend = {.parking = NULL};
            cleanup(desired_fini) struct desired names;
            desired_init(&names);
            if (memory_check_complete(memory, err) != 0)
                return -1;
            int status = memory_take_backend(m, memory, &backend, err);
            if (status == 0)
                status = memory_each(m, memory, "nodes", memory_take_alias, &names, err);
            admin_states_fini(&backend.memory);
            loss_limit_fini(&backend.daemon.loss_limit);
            if (status != 0)
                return -1;
        }
    return 0;
}

static int memory_check(const struct daemon_memory *m, struct error *err)
{
    yyjson_val *root = yyjson_doc_get_root(m->doc), *leader;
    int64_t schema;
    bool stopping, leading;
    if (json_is_object(root, "the answer", err) != 0 ||
        json_get_int(root, "schema_version", 0, COUNT_MAX, -1, &schema, err) != 0)
        return -1;
    if (schema != STATUS_SCHEMA_VERSION)
        return error_set(err, ERROR_INVALID, "its status is that of another version of haproxy-k8s-sync");
    if (json_get_bool(root, "stopping", true, &stopping, err) != 0 ||
        json_get_object(root, "leader", &leader, err) != 0 ||
        json_get_bool(leader, "leading", false, &leading, err) != 0)
        return -1;
    if (stopping || !leading)
        return error_set(err, ERROR_INVALID, stopping ? "it is stopping" : "it is not the leader");
    return memory_check_backends(m, err) != 0 ? -1 : memory_check_targets(m, err);
}

void daemon_memory_take(struct daemon_memory *m, const char *json, size_t len)
{
    struct error err = {0};
    m->doc = json_parse(json, len, 0, "its status", &err);
    if (m->doc != NULL && memory_check(m, &err) == 0)
        return;
    yyjson_doc_free(m->doc);
    m->doc = NULL;
    m->why_not = mem_strdup(err.message);
}

/* ---- asking ---- */

void daemon_memory_ask(struct daemon_memory *m, struct event_base *base, uint64_t timeout_ms)
{
    cleanup(daemon_answer_fini) struct daemon_answer a = {0};
    if (m->url == NULL || m->why_not != NULL)
        return;
    daemon_get(base, m->url, "/status", timeout_ms, &a);
    if (a.status == 0)
        m->why_not = mem_strdup(a.error.message);
    else if (a.status != 200)
        m->why_not = mem_printf("it answers /status with HTTP %d", a.status);
    else
        daemon_memory_take(m, buf_str(&a.body), a.body.len);
}
