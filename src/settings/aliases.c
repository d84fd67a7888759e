#include "settings/aliases.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/environment.h"
#include "settings/settings.h"
#include "settings/table.h"

#define API_PATH "/v3" /* behind the operator's URL; we add it */

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
