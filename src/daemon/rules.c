#include "daemon/mappings.h"

#include "base/mem.h"
#include "settings/settings.h"

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

struct keep_rules rules_for_keep(const struct settings *settings)
{
    size_t count = 0;
    struct keep_backend *list =
        mem_array(settings->mapping_count + settings->config_keep_backends.count, sizeof(list[0]));
    for (size_t i = 0; i < settings->mapping_count; i++)
        list[count++] = (struct keep_backend){settings->mappings[i].backend, rules_manage, settings};
    for (size_t i = 0; i < settings->config_keep_backends.count; i++)
        list[count++] = (struct keep_backend){.name = settings->config_keep_backends.list[i]};
    return (struct keep_rules){list, count};
}
