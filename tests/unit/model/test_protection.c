/* src/model/protection: which annotations of other controllers protect. */

#include "model/protection.h"

#include "../test.h"

static const struct {
    const char *name, *value;
    bool asks;
} rows[] = {
    {"nginx.ingress.kubernetes.io/auth-type", "basic", true},
    {"nginx.ingress.kubernetes.io/auth-url", "https://sso.example.com", true},
    {"nginx.ingress.kubernetes.io/auth-tls-secret", "a/ca", true},
    {"nginx.ingress.kubernetes.io/auth-tls-verify-client", "off", false},
    {"nginx.ingress.kubernetes.io/whitelist-source-range", "10.0.0.0/8", true},
    {"nginx.ingress.kubernetes.io/denylist-source-range", "10.0.0.0/8", true},
    {"nginx.ingress.kubernetes.io/ssl-passthrough", "true", true},
    {"nginx.ingress.kubernetes.io/ssl-passthrough", "false", false},
    {"nginx.ingress.kubernetes.io/limit-rps", "5", true},
    {"nginx.ingress.kubernetes.io/limit-rpm", "0", false},
    {"nginx.ingress.kubernetes.io/limit-rate-after", "5", false},
    {"nginx.ingress.kubernetes.io/enable-modsecurity", "true", true},
    {"nginx.ingress.kubernetes.io/proxy-body-size", "1m", false},
    {"nginx.org/basic-auth-secret", "a", true},
    {"nginx.com/jwt-key", "a", true},
    {"haproxy.org/allow-list", "10.0.0.0/8", true},
    {"haproxy.org/blacklist", "10.0.0.0/8", true},
    {"haproxy.org/rate-limit-requests", "9", true},
    {"haproxy.com/client-ca", "a/ca", true},
    {"haproxy.org/load-balance", "leastconn", false},
    {"ingress.kubernetes.io/auth-secret", "a", true},
    {"alb.ingress.kubernetes.io/inbound-cidrs", "10.0.0.0/8", true},
    {"haproxy-ingress.github.io/allowlist-source-range", "10.0.0.0/8", true},
    {"haproxy-ingress.github.io/oauth", "oauth2_proxy", true},
    {"haproxy-ingress.github.io/waf", "modsecurity", true},
    {"haproxy-k8s-sync/allow-list", "10.0.0.0/8", true},
    {"haproxy-k8s-sync/balance", "source", false},
    {"haproxy.org/auth-type", "", false},
    {"example.com/auth-type", "basic", false},
    {"not-haproxy.org/auth-type", "basic", false},
    {"haproxy.org.example.com/auth-type", "basic", false},
    {"haproxy.org", "basic", false},
    {"auth-type", "basic", false},
    {"", "", false},
};

TEST_EACH(protections, array_len(rows))
{
    ck_assert_msg(asks_for_protection(rows[_i].name, rows[_i].value) == rows[_i].asks, "%s", rows[_i].name);
}
