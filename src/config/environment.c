#include "config/environment.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"

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
        return port > value + len + 4 && port[0] != '\0' && port[strspn(port, "0123456789")] == '\0';
    }
    return false;
}

/* What stands behind "_PORT_" in "443_TCP_ADDR". */
static bool is_port_tail(const char *tail)
{
    static const char *const names[] = {"_TCP", "_UDP", "_SCTP"};
    static const char *const ends[] = {"", "_PROTO", "_PORT", "_ADDR"};
    size_t digits = strspn(tail, "0123456789");
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

bool environment_is_service_link(const char *name, const char *value)
{
    static const char host[] = "_SERVICE_HOST", service_port[] = "_SERVICE_PORT", port[] = "_PORT";
    if (str_has_suffix(name, host))
        return true;
    const char *at = strstr(name, service_port);
    if (at != NULL && (at[strlen(service_port)] == '\0' || at[strlen(service_port)] == '_'))
        return true;
    if (str_has_suffix(name, port) && is_link_value(value))
        return true;
    /* Any of them: a Service's own name may hold "-port-" too. */
    for (at = name; (at = strstr(at, "_PORT_")) != NULL; at++)
        if (is_port_tail(at + strlen("_PORT_")))
            return true;
    return false;
}
