#include "daemon/mappings.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "servers/desired/explain.h"
#include "servers/desired/update.h"

#define SKIPS_IN_A_LINE 10
#define REPEAT_LOG_MS 60000
#define REPEAT_NOTE_MS 86400000 /* a setting without effect is no problem */

/* ---- rules, by the settings ---- */

struct mapping_rules rules_for_mapping(const struct settings *settings, const struct settings_mapping *mapping)
{
    return (struct mapping_rules){
        .namespace = mapping->namespace,
        .service = mapping->service,
        .port = mapping->port,
        .fixed_port = settings->backend_port,
        .node_mode = settings->node_mode,
        .nodes = settings->nodes,
        .weights = settings->weights,
        .node_port_check = settings->health_check == SETTINGS_HEALTH_CHECK_NODE_PORT,
        .drain_timeout_ms = settings->drain_timeout_ms,
        .node_selector = settings->nodes_watched,
        .park_nodes = settings->park_nodes && settings->park_ttl_ms > 0,
    };
}

struct plan_rules rules_for_plan(const struct settings *settings)
{
    return (struct plan_rules){
        .diff = {.balance = settings->balance,
                 .adv_check = settings->adv_check,
                 .proxy_v2 = settings->proxy_v2,
                 .keep_settings = settings->config_source != SETTINGS_CONFIG_NONE,
                 .keep_servers = settings->keep_servers.list,
                 .adopt = settings->adopt,
                 .server_name_format = settings->server_name_format,
                 .cluster = settings_share_backends(settings) ? settings->cluster_name : NULL,
                 .keep_count = settings->keep_servers.count,
                 .allow_empty = settings->allow_empty,
                 .create_backend = settings->create_backend,
                 .own_check_port = settings->health_check == SETTINGS_HEALTH_CHECK_NODE_PORT},
        .max_loss_percent = settings->max_loss_percent,
        .loss_window_ms = settings->resync_period_ms,
        .dry_run = settings->dry_run,
    };
}

static bool rules_manage(const void *settings, const char *server, bool backup)
{
    const struct plan_rules rules = rules_for_plan(settings);
    const struct backend_server line = {.name = server, .backup = backup};
    const struct diff_owner owner = {.rules = &rules.diff};
    return diff_manages(&owner, &line);
}

/* ---- mappings ---- */

void mappings_init(struct mappings *m, const struct settings *settings)
{
    size_t count = settings->mapping_count;
    *m = (struct mappings){.list = mem_array(count, sizeof(m->list[0])),
                           .count = count,
                           .backends = mem_array(count, sizeof(m->backends[0])),
                           .services = mem_array(count, sizeof(m->services[0]))};
    struct keep_backend *keep = mem_array(count + settings->config_keep_backends.count, sizeof(keep[0]));
    m->keep.list = keep;
    for (size_t i = 0; i < count; i++)
        keep[m->keep.count++] = (struct keep_backend){settings->mappings[i].backend, rules_manage, settings};
    for (size_t i = 0; i < settings->config_keep_backends.count; i++)
        keep[m->keep.count++] = (struct keep_backend){.name = settings->config_keep_backends.list[i]};
    for (size_t i = 0; i < count; i++) {
        const struct settings_mapping *of = &settings->mappings[i];
        size_t service = 0;
        while (service < m->service_count && !(str_eq(m->services[service].namespace, of->namespace) &&
                                               str_eq(m->services[service].name, of->service)))
            service++;
        if (service == m->service_count)
            m->services[m->service_count++] = (struct sources_service){of->namespace, of->service};
        m->list[i] = (struct mapping){.backend = of->backend,
                                      .service = service,
                                      .rules = rules_for_mapping(settings, of),
                                      .states = server_states_new(),
                                      .memory = desired_memory_new()};
        m->backends[i] = of->backend;
    }
}

void mappings_fini(struct mappings *m)
{
    for (size_t i = 0; i < m->count; i++) {
        server_states_free(m->list[i].states);
        desired_memory_free(m->list[i].memory);
    }
    mem_free_all((void *)m->keep.list, m->list, m->backends, m->services);
    *m = (struct mappings){0};
}

static struct desired_input input_of(const struct mapping *m, const struct sources *sources)
{
    return (struct desired_input){.caches = sources_caches(sources, m->service),
                                  .service_denied = sources_service_denied(sources, m->service),
                                  .rules = &m->rules};
}

const struct desired *mapping_update(const struct mapping *m, const struct sources *sources, uint64_t now_ms)
{
    struct desired_input in = input_of(m, sources);
    in.states = m->states;
    in.now_ms = now_ms;
    return desired_update(m->memory, &in);
}

int mapping_explain(const struct mapping *m, const struct sources *sources, const char *node, struct explanation *ret)
{
    struct desired_input in = input_of(m, sources);
    *ret = (struct explanation){.state = SERVER_OUT};
    return sources_synced(sources, m->service) ? explain_node(&in, node, ret) : -1;
}

/* ---- one on its way to the targets ---- */

void mapping_state_init(struct mapping_state *w, const struct mapping *mapping)
{
    *w = (struct mapping_state){.mapping = mapping};
    w->skip_limit.period_ms = w->wait_limit.period_ms = REPEAT_LOG_MS;
    w->note_limit.period_ms = REPEAT_NOTE_MS;
}

void mapping_state_fini(struct mapping_state *w)
{
    desired_unref(w->last);
    mem_free_all(w->last_announced, w->cause);
}

void mapping_state_set_cause(struct mapping_state *w, const char *cause)
{
    free(w->cause);
    w->cause = mem_strdup(cause);
}

bool mapping_state_take(struct mapping_state *w, const struct desired *desired)
{
    /* Names of the servers whose end was announced. The announcement may come after they went: no server differs then, but the
     * loss limit has to stop delaying their removal. */
    struct buf names = {0};
    for (size_t i = 0; i < desired->skip_count; i++)
        if (desired->skips[i].announced && desired->skips[i].server != NULL)
            buf_printf(&names, "%s ", desired->skips[i].server);
    char *announced = buf_take(&names);
    bool same = w->last != NULL && desired_eq(desired, w->last) && str_eq(announced, w->last_announced);
    desired_unref(w->last);
    w->last = desired_ref(desired);
    free(w->last_announced);
    w->last_announced = announced;
    return !same;
}

void mapping_state_forget_sent(struct mapping_state *w)
{
    free(w->last_announced);
    w->last_announced = NULL;
}

void mapping_state_log_wait(struct mapping_state *w, const struct log *log)
{
    const struct desired *desired = w->last;
    unsigned held_back;
    if (desired == NULL || desired->state != DESIRED_UNDECIDED ||
        !log_limit_pass(&w->wait_limit, clock_mono_ms(), desired->problem, &held_back))
        return;
    log_error(log, "mapping undecided; nothing is written", log_str("backend", w->mapping->backend),
              log_str("why", desired->problem));
}

void mapping_state_log(struct mapping_state *w, const struct log *log)
{
    const struct desired *desired = w->last;
    /* Endpoints that are not ready are ordinary; what is left out for another reason is logged. */
    cleanup(buf_fini) struct buf text = {0};
    size_t count = 0;
    unsigned held_back;
    for (size_t i = 0; i < desired->skip_count; i++)
        if (!desired->skips[i].ordinary && count++ < SKIPS_IN_A_LINE) {
            cleanup(mem_free_ptr) char *skip = desired_skip_text(desired, &desired->skips[i]);
            buf_printf(&text, "%s%s", count > 1 ? "; " : "", skip);
        }
    if (count > 0 && log_limit_pass(&w->skip_limit, clock_mono_ms(), buf_str(&text), &held_back))
        log_warn(log, "nodes or endpoints left out", log_str("backend", w->mapping->backend), log_int("count", count),
                 log_str("what", buf_str(&text)));
    mapping_state_log_wait(w, log);
    if (desired->note != NULL && log_limit_pass(&w->note_limit, clock_mono_ms(), desired->note, &held_back))
        log_warn(log, "a setting has no effect", log_str("backend", w->mapping->backend),
                 log_str("what", desired->note));
}
