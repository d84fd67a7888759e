#include "settings/environment.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/names.h"
#include "settings/settings.h"
#include "settings/table.h"

#define API_PATH "/v3" /* behind the operator's URL; we add it */

const char *environment_get(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env != NULL; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static const char *const protocols[] = {"tcp", "udp", "sctp"};

/* "tcp://10.96.0.5:443", "udp://[fd00::5]:53" */
static bool is_link_value(const char *value)
{
    for (size_t i = 0; i < array_len(protocols); i++) {
        size_t len = strlen(protocols[i]);
        if (!str_has_prefix(value, protocols[i]) || !str_has_prefix(value + len, "://"))
            continue;
        const char *port = strrchr(value, ':') + 1;
        return port > value + len + 4 && name_made_of(port, NAME_DIGITS);
    }
    return false;
}

/* What stands behind "_PORT_" in "443_TCP_ADDR". */
static bool is_port_tail(const char *tail)
{
    static const char *const names[] = {"_TCP", "_UDP", "_SCTP"};
    static const char *const ends[] = {"", "_PROTO", "_PORT", "_ADDR"};
    size_t digits = strspn(tail, NAME_DIGITS);
    if (digits == 0)
        return false;
    for (size_t i = 0; i < array_len(names); i++) {
        if (!str_has_prefix(tail + digits, names[i]))
            continue;
        for (size_t k = 0; k < array_len(ends); k++)
            if (str_eq(tail + digits + strlen(names[i]), ends[k]))
                return true;
    }
    return false;
}

static const char service_host[] = "_SERVICE_HOST", service_port[] = "_SERVICE_PORT", link_port[] = "_PORT";

bool environment_is_service_link(const char *name, const char *value)
{
    if (str_has_suffix(name, service_host))
        return true;
    const char *at = strstr(name, service_port);
    if (at != NULL && (at[strlen(service_port)] == '\0' || at[strlen(service_port)] == '_') &&
        name_made_of(value, NAME_DIGITS))
        return true;
    if (str_has_suffix(name, link_port) && is_link_value(value))
        return true;
    /* Any of them: a Service's own name may hold "-port-" too. */
    for (at = name; (at = strstr(at, "_PORT_")) != NULL; at++)
        if (is_port_tail(at + strlen("_PORT_")))
            return true;
    return false;
}

bool environment_is_injected(char *const *env, const char *name, const char *value)
{
    if (str_has_suffix(name, link_port) && is_link_value(value))
        return true;
    if (!str_has_suffix(name, service_port))
        return false;
    /* X_SERVICE_PORT never comes alone: X_SERVICE_HOST and X_PORT=tcp://host:port, of the same port, come with it. A
     * value that was set in the pod's spec takes its place; then these two are of another port. */
    int len = (int)(strlen(name) - strlen(service_port));
    cleanup(mem_free_ptr) char *host_name = mem_printf("%.*s%s", len, name, service_host);
    cleanup(mem_free_ptr) char *port_name = mem_printf("%.*s%s", len, name, link_port);
    const char *port = environment_get(env, port_name);
    return !str_empty(environment_get(env, host_name)) && port != NULL && is_link_value(port) &&
           str_eq(strrchr(port, ':') + 1, value);
}

/* ---- names of an operator ---- */

bool aliases_count(char *const *env)
{
    return !str_empty(environment_get(env, SETTING(config_source)->alias));
}

const char *alias_get(char *const *env, const struct setting *row)
{
    const char *value = row->alias != NULL && aliases_count(env) ? environment_get(env, row->alias) : NULL;
    return str_empty(value) ? NULL : value;
}

/* Without the path, which the daemon appends, and with the port, which HAPROXY_DATAPLANE_URL must have. */
static char *alias_url(const char *value)
{
    size_t len = strlen(value), slash = str_has_suffix(value, API_PATH "/") ? 1 : 0;
    bool path = slash == 1 || str_has_suffix(value, API_PATH);
    cleanup(mem_free_ptr) char *url = mem_strndup(value, path ? len - strlen(API_PATH) - slash : len);
    const char *host = strstr(url, "://");
    if (host == NULL)
        return mem_strdup(url);
    host += strlen("://");
    size_t address = host[0] == '[' ? strcspn(host, "]") : 0, authority = address + strcspn(host + address, "/");
    bool has_port = memchr(host + address, ':', authority - address) != NULL;
    return mem_printf("%.*s%s%s", (int)(host - url + (ptrdiff_t)authority), url,
                      has_port                          ? ""
                      : str_has_prefix(url, "https://") ? ":443"
                                                        : ":80",
                      host + authority);
}

char *alias_translated(const struct setting *row, const char *value)
{
    for (size_t i = 0; row->alias_words != NULL && row->alias_words[i] != NULL; i++)
        if (str_eq(value, row->alias_words[i]))
            return mem_strdup(row->words[i]);
    if (row->alias_words != NULL)
        return mem_strdup(""); /* it is none of them */
    return row == SETTING(dataplanes) ? alias_url(value) : mem_strdup(value);
}

char *setting_alias_text(const struct setting *row)
{
    const char *fallback = row->alias_fallback;
    return mem_printf("%s%s%s%s", row->alias != NULL ? row->alias : "",
                      row->alias != NULL && fallback != NULL ? ", " : "", fallback != NULL ? "default " : "",
                      fallback != NULL ? fallback : "");
}

void aliases_check(char *const *env, struct settings_findings *found)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        const char *own = environment_get(env, row->name), *alias = alias_get(env, row);
        if (str_empty(own) || alias == NULL)
            continue;
        char *translated = alias_translated(row, alias);
        if (!str_eq(own, translated))
            finding_error(found,
                          "%s and %s are two names of one setting and have different values: expected one of them",
                          row->name, row->alias);
        mem_wipe_free(translated);
    }
    if (aliases_count(env) && !str_empty(environment_get(env, "KUBE_APISERVER")))
        finding_error(found, "KUBE_APISERVER: name the API server in the file that KUBECONFIG names");
}
