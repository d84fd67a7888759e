#include "settings/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/environment.h"
#include "settings/table.h"
#include "settings/types.h"

/* A mistake that explains itself better than `expected` would: NULL for none. */
static const char *settings_explain(const struct setting *row, const char *value)
{
    size_t len = strlen(value);
    if (!row->is_list && (isspace((unsigned char)value[0]) || isspace((unsigned char)value[len - 1])))
        return "there is white space around the value";
    if (len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0])
        return "the quotes are part of the value; leave them out";
    return NULL;
}

/* name: which of the row's names it was given by. */
static void settings_parse_value(const struct setting *row, const char *name, const char *value, struct settings *s,
                                 struct settings_findings *found)
{
    cleanup(buf_fini) struct buf note = {0};
    bool is_alias = name == row->alias;
    cleanup(mem_free_ptr) char *own = is_alias ? alias_translated(row, value) : mem_strdup(value);
    bool bad = (row->check != NULL && row->check(own, &note) != 0) || row->type->parse(row, own, s, &note) != 0;
    cleanup(mem_free_ptr) char *shown = finding_name_value(name, value);
    const char *why = bad ? settings_explain(row, value) : NULL;
    why = why != NULL ? why : buf_str(&note);
    if (bad)
        finding_error(found, "%s: expected %s%s%s", shown,
                      is_alias && row->alias_expected != NULL ? row->alias_expected : row->expected,
                      str_empty(why) ? "" : "; ", why);
    else if (!str_empty(why))
        finding_warning(found, "%s: %s", shown, why);
}

static bool settings_is_injected(char *const *env, const struct setting *row, const char *value,
                                 struct settings_findings *found)
{
    if (!environment_is_injected(env, row->name, value))
        return false;
    cleanup(mem_free_ptr) char *shown = finding_name_value(row->name, value);
    finding_warning(found,
                    "%s: this comes from a Kubernetes Service of that name, not from you, and is ignored; set "
                    "enableServiceLinks: false in the pod's spec",
                    shown);
    return true;
}

static void settings_parse_row(char *const *env, const struct setting *row, struct settings *s,
                               struct settings_findings *found)
{
    const char *name = row->name, *value = environment_get(env, name);
    if (str_empty(value) || settings_is_injected(env, row, value, found)) {
        name = row->alias;
        value = alias_get(env, row);
    }
    if (value != NULL) {
        setting_set_given(s, row);
    } else if (row != SETTING(dataplanes) || (s->local.file == NULL && s->config_source != SETTINGS_CONFIG_TEMPLATE &&
                                              s->config_target != SETTINGS_TARGET_ETCD)) {
        /* With MODE=local the operator's API runs on the same machine, as ours does by default. */
        bool alias = s->beside_mode && row->alias_fallback != NULL &&
                     !(row == SETTING(dataplanes) && s->config_source == SETTINGS_CONFIG_FILE);
        value = alias ? row->alias_fallback : row->fallback;
        name = alias && row->alias != NULL ? row->alias : row->name;
    }
    if (value != NULL)
        settings_parse_value(row, name, value, s, found);
}

static void settings_wipe(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (char *const *at = env; *at != NULL; at++)
        if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
            explicit_bzero(*at + len + 1, strlen(*at + len + 1));
}

void settings_wipe_environment(char *const *env)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        if (row->or_file)
            settings_wipe(env, row->name);
        if (row->or_file && row->alias != NULL)
            settings_wipe(env, row->alias);
    }
}

/* Variables that are no settings here, but mean something to another program that did the same work. */
static void settings_check_environment(char *const *env, const struct settings *s, struct settings_findings *found)
{
    /* Programs in Go use these two kinds by themselves, and a user who comes from one expects it. */
    static const char *const proxies[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"};
    static const char *const trust[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};
    for (size_t i = 0; i < array_len(proxies); i++)
        if (!str_empty(environment_get(env, proxies[i])))
            finding_warning(found,
                            "%s is set and not used: name a proxy in front of the API server as proxy-url in the "
                            "kubeconfig, or unset it",
                            proxies[i]);
    bool trusts = dataplanes_any_https(s) && s->dataplane_ca_file == NULL && !s->dataplane_insecure &&
                  s->spire_socket == NULL; /* by the system's store, which these replace in a program in Go */
    for (size_t i = 0; i < array_len(trust) && trusts; i++)
        if (!str_empty(environment_get(env, trust[i])))
            finding_warning(found,
                            "%s is set and not used: set HAPROXY_DATAPLANE_CA_FILE to the CA that signed the Data "
                            "Plane API's certificate, or unset it",
                            trust[i]);
    /* An empty variable is as good as none, but here another program meant all namespaces. */
    const char *namespace = environment_get(env, SETTING(ingress_namespace)->name);
    if (namespace != NULL && namespace[0] == '\0' && s->mapping_count > 0 &&
        !setting_is_given(s, SETTING(ingress_services)))
        finding_warning(found,
                        "INGRESS_NAMESPACE is set and empty: the Service is the one in namespace %s, and in no "
                        "other; name its namespace",
                        s->mappings[0].namespace);
    if (settings_template_pods(s) && !str_empty(environment_get(env, "ETCD2BASE")))
        finding_warning(found, "ETCD2BASE is no longer needed: templates read only Kubernetes, and HAProxy is updated "
                               "without etcd; unset it");
}

static void settings_check_source(const struct settings *s, struct settings_findings *found)
{
    if (s->config_source == SETTINGS_CONFIG_FILE && s->config_file == NULL &&
        !setting_is_given(s, SETTING(config_file)))
        finding_error(found, "CONFIG_SOURCE=file needs CONFIG_FILE: expected %s", SETTING(config_file)->expected);
    const struct setting *of_secret[] = {SETTING(config_secret_namespace), SETTING(config_secret_name)};
    for (size_t i = 0; i < array_len(of_secret) && s->config_source == SETTINGS_CONFIG_SECRET; i++)
        if (!setting_is_given(s, of_secret[i]) && SETTING_MEMBER(char *const, of_secret[i], s) == NULL)
            finding_error(found, "CONFIG_SOURCE=secret needs %s: expected %s", of_secret[i]->name,
                          of_secret[i]->expected);
    if (s->config_source == SETTINGS_CONFIG_TEMPLATE && !setting_is_given(s, SETTING(template_from)))
        finding_error(found, "CONFIG_SOURCE=template needs TEMPLATE_FROM: expected %s",
                      SETTING(template_from)->expected);
    if (s->config_source == SETTINGS_CONFIG_SERVICES && !setting_is_given(s, SETTING(config_file)) &&
        s->local.file == NULL && s->config_file == NULL && s->config_target != SETTINGS_TARGET_ETCD)
        finding_error(found,
                      "CONFIG_SOURCE=services needs CONFIG_FILE where HAProxy is behind a Data Plane API: expected "
                      "the path of a haproxy.cfg with what is not made of Services (global, defaults, userlist)");
    if (s->config_source != SETTINGS_CONFIG_SECRET && setting_is_given(s, SETTING(config_secret_namespace)) &&
        setting_is_given(s, SETTING(config_secret_name)))
        finding_warning(found, "CONFIG_SECRET_NAMESPACE and CONFIG_SECRET_NAME have no effect without "
                               "CONFIG_SOURCE=secret");
}

/* Settings that count only with others. */
static void settings_check_idle(const struct settings *s, struct settings_findings *found)
{
    enum settings_config_source source = s->config_source;
    bool services = source == SETTINGS_CONFIG_SERVICES, template = source == SETTINGS_CONFIG_TEMPLATE;
    bool local = s->local.file != NULL || setting_is_given(s, SETTING(local.file));
    const struct {
        bool count;
        const char *with;
        const struct setting *rows[9]; /* then NULL */
    } groups[] = {
        {source == SETTINGS_CONFIG_FILE || services, "CONFIG_SOURCE=file or services", {SETTING(config_file)}},
        {source == SETTINGS_CONFIG_SECRET,
         "CONFIG_SOURCE=secret",
         {SETTING(config_report), SETTING(config_report_configmap)}},
        {template, "CONFIG_SOURCE=template", {SETTING(template_from)}},
        {settings_template_pods(s), "TEMPLATE_FROM=pods:NAMESPACE", {SETTING(statistics_password)}},
        {services,
         "CONFIG_SOURCE=services",
         {SETTING(services_label), SETTING(annotation_prefix), SETTING(services_ports),
          SETTING(services_certificates_dir), SETTING(services_secret_namespaces), SETTING(services_namespaces),
          SETTING(services_addresses), SETTING(services_default_certificate)}},
        {services || template,
         "CONFIG_SOURCE=services or template",
         {SETTING(host_ownership), SETTING(host_owners_configmap), SETTING(shared_hosts), SETTING(foreign_protection),
          SETTING(trusted_proxies)}},
        {settings_use_etcd(s),
         "CONFIG_SOURCE=etcd or CONFIG_TARGET=etcd",
         {SETTING(etcd.endpoints), SETTING(etcd.user), SETTING(etcd.ca_file), SETTING(etcd.cert_file),
          SETTING(etcd.key_file), SETTING(etcd.name)}},
        {local,
         "HAPROXY_CONFIG_FILE",
         {SETTING(local.master_socket), SETTING(local.stats_socket), SETTING(local.program),
          SETTING(local.environment_file), SETTING(local.check_files), SETTING(local.reload_command)}},
        /* What is made here names files by the paths that a Data Plane API gives them. */
        {local || services || template, "HAPROXY_CONFIG_FILE", {SETTING(local.storage_dir)}},
    };
    for (size_t i = 0; i < array_len(groups); i++)
        for (const struct setting *const *row = groups[i].rows; !groups[i].count && *row != NULL; row++) {
            cleanup(buf_fini) struct buf value = {0};
            (*row)->type->print(*row, s, &value);
            if (setting_is_given(s, *row) && value.len > 0 && !str_eq(buf_str(&value), (*row)->fallback))
                finding_warning(found, "%s has no effect without %s", (*row)->name, groups[i].with);
        }
}

static void settings_check_canary(const struct settings *s, struct settings_findings *found)
{
    size_t count = settings_haproxy_count(s);
    if (s->config_canary == 0 || s->config_source == SETTINGS_CONFIG_NONE || count == 0)
        return;
    if (count == 1)
        finding_error(found,
                      "CONFIG_CANARY=%u: expected 0, because there is one HAProxy alone, and no other one that "
                      "could wait for it",
                      s->config_canary);
    else if (s->config_canary >= count)
        finding_error(found,
                      "CONFIG_CANARY=%u: expected less than %zu, the number of HAProxies, so that some wait for "
                      "the first ones",
                      s->config_canary, count);
}

/* With a whole configuration, the servers engine owns the server lines alone: the settings of its backends are those
 * of the configuration. */
static void settings_check_both(struct settings *s, struct settings_findings *found)
{
    if (s->config_source == SETTINGS_CONFIG_NONE)
        return;
    const struct {
        const struct setting *row;
        bool set;
    } theirs[] = {{SETTING(balance), s->balance != NULL},
                  {SETTING(adv_check), s->adv_check != NULL},
                  {SETTING(proxy_v2), true},
                  {SETTING(health_check), s->health_check != SETTINGS_HEALTH_CHECK_BACKEND},
                  {SETTING(create_backend), s->create_backend}};
    for (size_t i = 0; i < array_len(theirs); i++)
        if (s->mapping_count > 0 && theirs[i].set && setting_is_given(s, theirs[i].row))
            finding_error(found,
                          "%s is set beside CONFIG_SOURCE: expected it unset, because all but the server lines of a "
                          "backend is as the configuration has it",
                          theirs[i].row->name);
    for (size_t i = 0; i < s->mapping_count; i++)
        for (size_t k = 0; k < s->config_keep_backends.count; k++)
            if (s->mappings[i].backend != NULL && str_eq(s->mappings[i].backend, s->config_keep_backends.list[k]))
                finding_error(found,
                              "CONFIG_KEEP_BACKENDS has %s, whose servers are those of a Service (INGRESS_..., "
                              "HAPROXY_BACKEND_NAME): expected one owner of its server lines",
                              s->config_keep_backends.list[k]);
    mem_free_all(s->balance, s->adv_check);
    s->balance = s->adv_check = NULL; /* keep */
}

/* Without a name all clusters would have one, and remove each other's servers. */
static void settings_check_cluster(const struct settings *s, struct settings_findings *found)
{
    if (settings_share_backends(s) && s->cluster_name == NULL && !setting_is_given(s, SETTING(cluster_name)))
        finding_error(found,
                      "SERVER_NAME_FORMAT has {cluster}, which needs CLUSTER_NAME: expected a name that no other "
                      "cluster on these HAProxies has (%s)",
                      SETTING(cluster_name)->expected);
}

/* Another label than Kubernetes' own: the API server leaves out those that have it. */
static void settings_take_exclude_label(struct settings *s)
{
    const char *own = s->node_exclude_label, *standard = SETTING(node_exclude_label)->fallback;
    s->nodes.ignores_label = own != NULL && !str_eq(own, standard);
    if (s->nodes.ignores_label && !str_eq(own, "ignore"))
        s->nodes_watched =
            s->node_selector != NULL ? mem_printf("%s,!%s", s->node_selector, own) : mem_printf("!%s", own);
    else
        s->nodes_watched = s->node_selector != NULL ? mem_strdup(s->node_selector) : NULL;
}

int settings_parse(char *const *env, struct settings *ret, struct settings_findings *found)
{
    struct settings s = {.beside_mode = aliases_count(env)};
    *found = (struct settings_findings){0};
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->type->parse != NULL)
            settings_parse_row(env, row, &s, found);
    aliases_check(env, found);
    credentials_parse(env, &s, found);
    services_parse(&s, found);
    /* Tenants write the objects there, and have no other answer. */
    bool tenants = s.config_source == SETTINGS_CONFIG_SERVICES || s.config_source == SETTINGS_CONFIG_TEMPLATE;
    s.emit_events = s.emit_events || (tenants && !s.dry_run && !setting_is_given(&s, SETTING(emit_events)));
    settings_check_source(&s, found);
    settings_check_idle(&s, found);
    settings_check_canary(&s, found);
    dataplanes_check_pods(&s, found);
    settings_check_both(&s, found);
    settings_check_cluster(&s, found);
    settings_take_exclude_label(&s);
    local_check(&s, found);
    etcd_check(&s, found);
    if (found->error_count == 0) {
        /* What one setting alone does not show. */
        if (s.park_nodes && s.park_ttl_ms == 0)
            finding_warning(found, "PARK_NODES=true has no effect with PARK_TTL=0, which parks nothing");
        if (s.leader_elect && s.dry_run)
            finding_warning(found,
                            "LEADER_ELECT=true has no effect with DRY_RUN=true: the Lease is for those that write");
        if (s.emit_events && s.dry_run)
            finding_warning(found,
                            "EMIT_EVENTS=true has no effect with DRY_RUN=true, which changes nothing in HAProxy");
        if (!s.leader_elect &&
            ((setting_is_given(&s, SETTING(lease_name)) && !str_eq(s.lease_name, SETTING(lease_name)->fallback)) ||
             (s.lease_namespace != NULL && s.host_owners_configmap == NULL)))
            finding_warning(found, "LEASE_NAME and LEASE_NAMESPACE have no effect without LEADER_ELECT=true");
    }
    dataplanes_check_tls(&s, found);
    settings_check_environment(env, &s, found);
    unknown_report(env, found);
    enum log_format format = s.log_format;
    if (found->error_count > 0) {
        settings_fini(&s);
        s.log_format = format; /* the errors are logged in the form that was asked for */
    }
    *ret = s;
    return found->error_count > 0 ? -1 : 0;
}

void settings_fini(struct settings *s)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->type->fini != NULL)
            row->type->fini(row, s);
    free(s->nodes_watched);
    *s = (struct settings){0};
}
