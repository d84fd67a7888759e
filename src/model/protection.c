#include "model/protection.h"

#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

/* ingress-nginx, AWS', Traefik's and others end with the first one. */
static const char *const domains[] = {"ingress.kubernetes.io",     "haproxy.org", "haproxy.com",
                                      "haproxy-ingress.github.io", "nginx.org",   "nginx.com",
                                      "haproxy-k8s-sync"};
static const char *const beginnings[] = {"auth",
                                         "basic-auth",
                                         "jwt",
                                         "oauth",
                                         "allow",
                                         "whitelist",
                                         "deny",
                                         "blacklist",
                                         "inbound-cidrs",
                                         "client-ca",
                                         "client-crt",
                                         "ssl-passthrough",
                                         "tls-passthrough",
                                         "limit-rp",
                                         "limit-req",
                                         "limit-connections",
                                         "rate-limit",
                                         "global-rate-limit",
                                         "waf",
                                         "enable-modsecurity",
                                         "enable-owasp"};
static const char *const off[] = {"", "false", "off", "no", "none", "0"};

bool asks_for_protection(const char *annotation, const char *value)
{
    const char *slash = strchr(annotation, '/');
    size_t len = slash != NULL ? (size_t)(slash - annotation) : 0;
    bool known = false, asks = false;
    for (size_t i = 0; i < array_len(domains) && !known; i++) {
        size_t own = strlen(domains[i]);
        known = len >= own && strncmp(annotation + len - own, domains[i], own) == 0 &&
                (len == own || annotation[len - own - 1] == '.');
    }
    for (size_t i = 0; i < array_len(beginnings) && known && !asks; i++)
        asks = str_has_prefix(slash + 1, beginnings[i]);
    for (size_t i = 0; i < array_len(off) && asks; i++)
        asks = !str_eq(value, off[i]);
    return asks;
}
