/* The settings in effect, as check-config prints them. */
#include <stdbool.h>
#include <string.h>

#include "settings/settings.h"
#include "settings/fields.h"

#define NOT_SHOWN "***"

static void add_duration(struct buf *out, uint64_t ms)
{
    if (ms == 0)
        buf_add(out, "0s");
    else if (ms % 1000 != 0)
        buf_printf(out, "%llums", (unsigned long long)ms);
    else if (ms % 60000 != 0)
        buf_printf(out, "%llus", (unsigned long long)(ms / 1000));
    else
        buf_printf(out, "%llum", (unsigned long long)(ms / 60000));
}

static void add_listen_address(struct buf *out, const struct settings *c)
{
    bool brackets = strchr(c->listen_host, ':') != NULL;
    buf_printf(out, "%s%s%s:%u", brackets ? "[" : "", c->listen_host, brackets ? "]" : "", (unsigned)c->listen_port);
}

static void add_keep_servers(struct buf *out, const struct settings *c)
{
    for (size_t i = 0; i < c->keep_server_count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", c->keep_servers[i]);
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_DEBUG:
        return "debug";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_WARN:
        return "warn";
    case LOG_LEVEL_ERROR:
        return "error";
    }
    return "";
}

static const char *node_mode_name(enum settings_node_mode m)
{
    return m == SETTINGS_NODE_MODE_ALL ? "all" : "endpoints";
}

static const char *weights_name(enum settings_weights w)
{
    return w == SETTINGS_WEIGHTS_EQUAL ? "equal" : w == SETTINGS_WEIGHTS_ENDPOINTS ? "endpoints" : "keep";
}

static const char *adopt_name(enum settings_adopt a)
{
    return a == SETTINGS_ADOPT_RENAME ? "rename" : a == SETTINGS_ADOPT_NO ? "no" : "keep";
}

static const char *ip_family_name(enum settings_ip_family f)
{
    switch (f) {
    case SETTINGS_IP_DUAL:
        return "dual";
    case SETTINGS_IP_IPV4:
        return "IPv4";
    case SETTINGS_IP_IPV6:
        return "IPv6";
    case SETTINGS_IP_IPV4_FIRST:
        return "IPv4,IPv6";
    case SETTINGS_IP_IPV6_FIRST:
        return "IPv6,IPv4";
    }
    return "";
}

static void add_address_types(struct buf *out, const struct settings *c)
{
    static const char *const names[SETTINGS_ADDRESS_TYPES] = {
        [SETTINGS_INTERNAL_IP] = "InternalIP", [SETTINGS_EXTERNAL_IP] = "ExternalIP", [SETTINGS_HOSTNAME] = "Hostname"};
    for (size_t i = 0; i < c->address_type_count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", names[c->address_types[i]]);
}

void settings_print_mappings(const struct settings *c, struct buf *out)
{
    for (size_t i = 0; i < c->mapping_count; i++) {
        const struct settings_mapping *m = &c->mappings[i];
        buf_printf(out, "%s%s/%s%s%s=%s", i > 0 ? ", " : "", m->namespace, m->service, m->port != NULL ? ":" : "",
                   m->port != NULL ? m->port : "", m->backend);
    }
}

void settings_print_dataplanes(const struct settings *c, struct buf *out)
{
    for (size_t i = 0; i < c->dataplane_count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", c->dataplanes[i].url);
}

static const char *or_else(const char *s, const char *otherwise)
{
    return s != NULL ? s : otherwise;
}

static const char *true_false(bool b)
{
    return b ? "true" : "false";
}

static const char *secret_shown(const struct secret *s, bool masked)
{
    return !secret_is_set(s) ? "" : masked ? NOT_SHOWN : or_else(s->value, "");
}

/* Whether INGRESS_SERVICES stands in for it. */
static bool is_replaced(const struct settings *c, enum setting_id id)
{
    bool single = id == SETTINGS_INGRESS_NAMESPACE || id == SETTINGS_INGRESS_SERVICE_NAME ||
                  id == SETTINGS_INGRESS_SERVICE_PORT || id == SETTINGS_BACKEND_NAME;
    return single && c->ingress_services != NULL;
}

/* As string_value, of those of settings/values_access.c. */
static const char *access_value(const struct settings *c, enum setting_id id)
{
    switch (id) {
    case SETTINGS_DATAPLANE_CA_FILE:
        return or_else(c->dataplane_ca_file, "");
    case SETTINGS_DATAPLANE_CERT_FILE:
        return or_else(c->dataplane_cert_file, "");
    case SETTINGS_DATAPLANE_KEY_FILE:
        return or_else(c->dataplane_key_file, "");
    case SETTINGS_DATAPLANE_SERVER_NAME:
        return or_else(c->dataplane_server_name, "");
    case SETTINGS_DATAPLANE_INSECURE:
        return true_false(c->dataplane_insecure);
    case SETTINGS_LEADER_ELECT:
        return true_false(c->leader_elect);
    case SETTINGS_LEASE_NAME:
        return c->lease_name;
    case SETTINGS_LEASE_NAMESPACE:
        return or_else(c->lease_namespace, "");
    case SETTINGS_PROXY_FROM_ENVIRONMENT:
        return true_false(c->proxy_from_environment);
    case SETTINGS_SECCOMP:
        return true_false(c->seccomp);
    case SETTINGS_EMIT_EVENTS:
        return true_false(c->emit_events);
    case SETTINGS_STATUS_PAGE:
        return true_false(c->status_page);
    default:
        return NULL;
    }
}

/* The value where it is a string; "" where unset; NULL where it is something else. */
static const char *string_value(const struct settings *c, enum setting_id id)
{
    switch (id) {
    case SETTINGS_INGRESS_NAMESPACE:
        return c->ingress_namespace;
    case SETTINGS_INGRESS_SERVICE_NAME:
        return c->ingress_service;
    case SETTINGS_INGRESS_SERVICE_PORT:
        return or_else(c->ingress_port, "");
    case SETTINGS_NODE_MODE:
        return node_mode_name(c->node_mode);
    case SETTINGS_NODE_SELECTOR:
        return or_else(c->node_selector, "");
    case SETTINGS_IP_FAMILY:
        return ip_family_name(c->ip_family);
    case SETTINGS_DATAPLANE_USERNAME:
        return secret_shown(&c->dataplane_username, false);
    case SETTINGS_DATAPLANE_PASSWORD:
        return secret_shown(&c->dataplane_password, true);
    case SETTINGS_DATAPLANE_TOKEN:
        return secret_shown(&c->dataplane_token, true);
    case SETTINGS_DATAPLANE_CREDENTIALS_FILE:
        return or_else(c->dataplane_credentials_file, "");
    case SETTINGS_BACKEND_NAME:
        return c->backend_name;
    case SETTINGS_SEND_PROXY_V2:
        return true_false(c->proxy_v2);
    case SETTINGS_BALANCE:
        return or_else(c->balance, "keep");
    case SETTINGS_SERVER_WEIGHTS:
        return weights_name(c->weights);
    case SETTINGS_ADOPT_SERVERS:
        return adopt_name(c->adopt);
    case SETTINGS_SERVER_NAME_FORMAT:
        return c->server_name_format;
    case SETTINGS_ADV_CHECK:
        return or_else(c->adv_check, "keep");
    case SETTINGS_HEALTH_CHECK:
        return c->health_check == SETTINGS_HEALTH_CHECK_NODE_PORT ? "node-port" : "backend";
    case SETTINGS_CREATE_BACKEND:
        return true_false(c->create_backend);
    case SETTINGS_PARK_NODES:
        return true_false(c->park_nodes);
    case SETTINGS_ALLOW_EMPTY:
        return true_false(c->allow_empty);
    case SETTINGS_DRY_RUN:
        return true_false(c->dry_run);
    case SETTINGS_KUBECONFIG:
        return or_else(c->kubeconfig, "");
    case SETTINGS_LOG_FORMAT:
        return c->log_format == LOG_FORMAT_JSON ? "json" : "logfmt";
    case SETTINGS_LOG_LEVEL:
        return level_name(c->log_level);
    default:
        return access_value(c, id);
    }
}

/* The value in the variable's own syntax, so that the output could be an environment again. */
static void add_value(struct buf *out, const struct settings *c, enum setting_id id)
{
    const char *string = string_value(c, id);
    if (is_replaced(c, id))
        return;
    if (string != NULL)
        buf_add(out, string);
    else if (id == SETTINGS_INGRESS_SERVICES && c->ingress_services != NULL)
        settings_print_mappings(c, out);
    else if (id == SETTINGS_DATAPLANE_URL)
        settings_print_dataplanes(c, out);
    else if (id == SETTINGS_NODE_ADDRESS_TYPES)
        add_address_types(out, c);
    else if (id == SETTINGS_BACKEND_PORT && c->backend_port != 0)
        buf_printf(out, "%u", (unsigned)c->backend_port);
    else if (id == SETTINGS_KEEP_SERVERS)
        add_keep_servers(out, c);
    else if (id == SETTINGS_DRAIN_TIMEOUT)
        add_duration(out, c->drain_timeout_ms);
    else if (id == SETTINGS_PARK_TTL)
        add_duration(out, c->park_ttl_ms);
    else if (id == SETTINGS_MAX_LOSS_PERCENT)
        buf_printf(out, "%u", c->max_loss_percent);
    else if (id == SETTINGS_RESYNC_PERIOD)
        add_duration(out, c->resync_period_ms);
    else if (id == SETTINGS_LISTEN_ADDRESS)
        add_listen_address(out, c);
}

static const char *secret_path(const struct settings *c, enum setting_id id)
{
    return id == SETTINGS_DATAPLANE_USERNAME   ? c->dataplane_username.path
           : id == SETTINGS_DATAPLANE_PASSWORD ? c->dataplane_password.path
           : id == SETTINGS_DATAPLANE_TOKEN    ? c->dataplane_token.path
                                               : NULL;
}

static bool has_line(const struct settings_dataplane *d)
{
    return d->token.url != NULL;
}

/* Whether each URL has credentials of its own. */
static bool is_unused(const struct settings *c, enum setting_id id)
{
    if (id != SETTINGS_DATAPLANE_USERNAME && id != SETTINGS_DATAPLANE_PASSWORD && id != SETTINGS_DATAPLANE_TOKEN)
        return false;
    for (size_t i = 0; i < c->dataplane_count; i++)
        if (!has_line(&c->dataplanes[i]))
            return false;
    return c->dataplane_count > 0 && settings_is_given(c, id);
}

/* Where the value comes from. */
static void add_remark(struct buf *out, const struct settings *c, enum setting_id id)
{
    const struct setting *f = setting(id);
    const char *path = secret_path(c, id);
    if (is_unused(c, id))
        buf_add(out, "not used: each URL has its line in the credentials file");
    else if (path != NULL)
        buf_printf(out, "from the file %s", path);
    else if (is_replaced(c, id))
        buf_add(out, "not used beside INGRESS_SERVICES");
    else if (settings_is_given(c, id))
        buf_add(out, "from the environment");
    else
        buf_printf(out, "default%s%s", f->fallback == NULL ? ": " : "", f->fallback == NULL ? f->unset : "");
}

static void add_dataplanes(struct buf *out, const struct settings *c)
{
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const struct settings_dataplane *d = &c->dataplanes[i];
        buf_printf(out, "# HAProxy %s: ", d->url);
        if (secret_is_set(&d->token))
            buf_add(out, "token " NOT_SHOWN);
        else if (secret_is_set(&d->username))
            buf_printf(out, "user name %s, password " NOT_SHOWN, secret_shown(&d->username, false));
        else
            buf_add(out, "no credentials");
        if (has_line(d))
            buf_printf(out, " by its line in %s", d->token.path);
        else if (secret_is_set(&d->token) || secret_is_set(&d->username))
            buf_printf(out, " by %s",
                       secret_is_set(&d->token) ? "HAPROXY_DATAPLANE_TOKEN"
                                                : "HAPROXY_DATAPLANE_USERNAME and _PASSWORD");
        buf_add(out, "\n");
    }
}

static void add_backends(struct buf *out, const struct settings *c)
{
    for (size_t i = 0; i < c->mapping_count; i++) {
        const struct settings_mapping *m = &c->mappings[i];
        buf_printf(out, "# backend %s: Service %s/%s", m->backend, m->namespace, m->service);
        if (m->port != NULL)
            buf_printf(out, ", port %s", m->port);
        if (c->backend_port != 0)
            buf_printf(out, ", servers on port %u", (unsigned)c->backend_port);
        else if (m->port == NULL)
            buf_add(out, ", its only port");
        buf_add(out, "\n");
    }
}

void settings_print(const struct settings *c, struct buf *out)
{
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++) {
        enum setting_id id = (enum setting_id)i;
        buf_printf(out, "%s=", setting(id)->name);
        add_value(out, c, id);
        buf_add(out, "  # ");
        add_remark(out, c, id);
        buf_add(out, "\n");
    }
    add_dataplanes(out, c);
    add_backends(out, c);
}
