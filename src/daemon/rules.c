#include "daemon/rules.h"

#include "settings/settings.h"

static struct node_rules node_rules_of(const struct settings *settings)
{
    static const enum node_address_type types[] = {[SETTINGS_INTERNAL_IP] = NODE_INTERNAL_IP,
                                                   [SETTINGS_EXTERNAL_IP] = NODE_EXTERNAL_IP,
                                                   [SETTINGS_HOSTNAME] = NODE_HOSTNAME};
    static const enum ip_family_rule families[] = {[SETTINGS_IP_DUAL] = IP_FAMILY_DUAL,
                                                   [SETTINGS_IP_IPV4] = IP_FAMILY_IPV4,
                                                   [SETTINGS_IP_IPV6] = IP_FAMILY_IPV6,
                                                   [SETTINGS_IP_IPV4_FIRST] = IP_FAMILY_IPV4_FIRST,
                                                   [SETTINGS_IP_IPV6_FIRST] = IP_FAMILY_IPV6_FIRST};
    struct node_rules rules = {.type_count = settings->address_type_count, .family = families[settings->ip_family]};
    for (size_t i = 0; i < rules.type_count; i++)
        rules.types[i] = types[settings->address_types[i]];
    return rules;
}

struct mapping_rules rules_for_mapping(const struct settings *settings, const struct settings_mapping *mapping)
{
    static const enum server_weights weights[] = {[SETTINGS_WEIGHTS_KEEP] = WEIGHTS_KEEP,
                                                  [SETTINGS_WEIGHTS_EQUAL] = WEIGHTS_EQUAL,
                                                  [SETTINGS_WEIGHTS_ENDPOINTS] = WEIGHTS_ENDPOINTS};
    return (struct mapping_rules){
        .namespace = mapping->namespace,
        .service = mapping->service,
        .port = mapping->port,
        .fixed_port = settings->backend_port,
        .node_mode = settings->node_mode == SETTINGS_NODE_MODE_ALL ? NODE_MODE_ALL : NODE_MODE_ENDPOINTS,
        .nodes = node_rules_of(settings),
        .weights = weights[settings->weights],
        .node_port_check = settings->health_check == SETTINGS_HEALTH_CHECK_NODE_PORT,
        .drain_timeout_ms = settings->drain_timeout_ms,
        .node_selector = settings->node_selector,
        .park_nodes = settings->park_nodes && settings->park_ttl_ms > 0,
    };
}

static enum adopt adopt_of(enum settings_adopt a)
{
    static const enum adopt as[] = {
        [SETTINGS_ADOPT_KEEP] = ADOPT_KEEP, [SETTINGS_ADOPT_RENAME] = ADOPT_RENAME, [SETTINGS_ADOPT_NO] = ADOPT_NO};
    return as[a];
}

struct plan_rules rules_for_plan(const struct settings *settings)
{
    return (struct plan_rules){
        .diff = {.balance = settings->balance,
                 .adv_check = settings->adv_check,
                 .proxy_v2 = settings->proxy_v2,
                 .keep_servers = settings->keep_servers,
                 .adopt = adopt_of(settings->adopt),
                 .server_name_format = settings->server_name_format,
                 .keep_count = settings->keep_server_count,
                 .allow_empty = settings->allow_empty,
                 .create_backend = settings->create_backend,
                 .own_check_port = settings->health_check == SETTINGS_HEALTH_CHECK_NODE_PORT},
        .max_loss_percent = settings->max_loss_percent,
        .loss_window_ms = settings->resync_period_ms,
        .dry_run = settings->dry_run,
    };
}
