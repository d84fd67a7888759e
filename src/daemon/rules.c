#include "daemon/rules.h"

#include "settings/settings.h"

static struct node_rules node_rules_of(const struct config *config)
{
    static const enum node_address_type types[] = {[CONFIG_INTERNAL_IP] = NODE_INTERNAL_IP,
                                                   [CONFIG_EXTERNAL_IP] = NODE_EXTERNAL_IP,
                                                   [CONFIG_HOSTNAME] = NODE_HOSTNAME};
    static const enum ip_family_rule families[] = {[CONFIG_IP_DUAL] = IP_FAMILY_DUAL,
                                                   [CONFIG_IP_IPV4] = IP_FAMILY_IPV4,
                                                   [CONFIG_IP_IPV6] = IP_FAMILY_IPV6,
                                                   [CONFIG_IP_IPV4_FIRST] = IP_FAMILY_IPV4_FIRST,
                                                   [CONFIG_IP_IPV6_FIRST] = IP_FAMILY_IPV6_FIRST};
    struct node_rules rules = {.type_count = config->address_type_count, .family = families[config->ip_family]};
    for (size_t i = 0; i < rules.type_count; i++)
        rules.types[i] = types[config->address_types[i]];
    return rules;
}

struct mapping_rules rules_for_mapping(const struct config *config, const struct config_mapping *mapping)
{
    static const enum server_weights weights[] = {[CONFIG_WEIGHTS_KEEP] = WEIGHTS_KEEP,
                                                  [CONFIG_WEIGHTS_EQUAL] = WEIGHTS_EQUAL,
                                                  [CONFIG_WEIGHTS_ENDPOINTS] = WEIGHTS_ENDPOINTS};
    return (struct mapping_rules){
        .namespace = mapping->namespace,
        .service = mapping->service,
        .port = mapping->port,
        .fixed_port = config->backend_port,
        .node_mode = config->node_mode == CONFIG_NODE_MODE_ALL ? NODE_MODE_ALL : NODE_MODE_ENDPOINTS,
        .nodes = node_rules_of(config),
        .weights = weights[config->weights],
        .node_port_check = config->health_check == CONFIG_HEALTH_CHECK_NODE_PORT,
        .drain_timeout_ms = config->drain_timeout_ms,
        .node_selector = config->node_selector,
        .park_nodes = config->park_nodes && config->park_ttl_ms > 0,
    };
}

static enum adopt adopt_of(enum config_adopt a)
{
    static const enum adopt as[] = {
        [CONFIG_ADOPT_KEEP] = ADOPT_KEEP, [CONFIG_ADOPT_RENAME] = ADOPT_RENAME, [CONFIG_ADOPT_NO] = ADOPT_NO};
    return as[a];
}

struct plan_rules rules_for_plan(const struct config *config)
{
    return (struct plan_rules){
        .diff = {.balance = config->balance,
                 .adv_check = config->adv_check,
                 .proxy_v2 = config->proxy_v2,
                 .keep_servers = config->keep_servers,
                 .adopt = adopt_of(config->adopt),
                 .server_name_format = config->server_name_format,
                 .keep_count = config->keep_server_count,
                 .allow_empty = config->allow_empty,
                 .create_backend = config->create_backend,
                 .own_check_port = config->health_check == CONFIG_HEALTH_CHECK_NODE_PORT},
        .max_loss_percent = config->max_loss_percent,
        .brake_ms = config->resync_period_ms,
        .dry_run = config->dry_run,
    };
}
