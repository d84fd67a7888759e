#include "config/fields.h"

#include "config/config.h"
#include "config/values.h"

#define NAME_OF "name (lower-case letters, digits and '-', at most 63 characters)"
#define YES_NO "true or false"

static const struct config_field fields[CONFIG_FIELD_COUNT] = {
    [CONFIG_INGRESS_NAMESPACE] =
        {
            .name = "INGRESS_NAMESPACE",
            .fallback = "ingress-nginx",
            .expected = "a namespace's " NAME_OF,
            .help = "Namespace of the Service that is watched.",
            .example = "ingress-nginx",
            .parse = value_namespace,
        },
    [CONFIG_INGRESS_SERVICE_NAME] =
        {
            .name = "INGRESS_SERVICE_NAME",
            .fallback = "ingress-nginx",
            .expected = "a Service's " NAME_OF,
            .help = "The Service whose endpoints say which nodes HAProxy sends traffic to.",
            .example = "ingress-nginx-controller",
            .parse = value_service,
        },
    [CONFIG_DATAPLANE_URL] =
        {
            .name = "HAPROXY_DATAPLANE_URL",
            .fallback = "http://haproxy:5555",
            .expected = "http://host:port, https://host:port, or a unix socket as unix:/path",
            .help =
                "Where HAProxy's Data Plane API (version 3) listens. IPv6 addresses in brackets; a path only where a "
                "proxy in front of the API wants one. User name and password have variables of their own. With https, "
                "its certificate must be of a CA that this machine (or image) trusts.",
            .example = "https://[2001:db8::5]:5555",
            .parse = value_dataplane_url,
        },
    [CONFIG_DATAPLANE_USERNAME] =
        {
            .name = "HAPROXY_DATAPLANE_USERNAME",
            .unset = "no basic authentication",
            .expected = "a user name without ':' and control characters",
            .help =
                "User of the Data Plane API, together with HAPROXY_DATAPLANE_PASSWORD. The file of the _FILE form is "
                "read again when it changes; so are those of the two variables below.",
            .example = "admin",
            .or_file = true,
        },
    [CONFIG_DATAPLANE_PASSWORD] =
        {
            .name = "HAPROXY_DATAPLANE_PASSWORD",
            .unset = "no basic authentication",
            .expected = "a password without control characters",
            .help = "Password of that user.",
            .example = "change-me",
            .or_file = true,
            .masked = true,
        },
    [CONFIG_DATAPLANE_TOKEN] =
        {
            .name = "HAPROXY_DATAPLANE_TOKEN",
            .unset = "no bearer token",
            .expected = "a token of visible ASCII characters, without the word Bearer",
            .help =
                "Bearer token, instead of user name and password, for a proxy that asks for one in front of the Data "
                "Plane API (the API itself knows basic authentication only).",
            .example = "change-me",
            .or_file = true,
            .masked = true,
        },
    [CONFIG_BACKEND_NAME] =
        {
            .name = "HAPROXY_BACKEND_NAME",
            .unset = "the name of the Service",
            .expected = "a backend's name (letters, digits, '-', '_', '.' and ':')",
            .help = "The HAProxy backend whose servers are kept equal to the nodes.",
            .example = "ingress",
            .parse = value_backend_name,
        },
    [CONFIG_BACKEND_PORT] =
        {
            .name = "HAPROXY_BACKEND_PORT",
            .unset = "the endpoint's own port",
            .expected = "a port number, 1 to 65535",
            .help =
                "Port of every server, such as the Service's node port. Unset, it is the endpoint's own port, which is "
                "right only where the endpoint's address is the node's (host network); in other cases, or with "
                "several ports, nothing is written and /readyz lists the ports.",
            .example = "30443",
            .parse = value_backend_port,
        },
    [CONFIG_SEND_PROXY_V2] =
        {
            .name = "HAPROXY_SEND_PROXY_V2",
            .fallback = "false",
            .expected = "true, false or server",
            .help =
                "Whether servers get the client's address by PROXY protocol version 2, which they must expect then: "
                "true puts send-proxy-v2 into the backend's default-server (servers that are not ours inherit it), "
                "server puts it on our servers only.",
            .example = "true",
            .parse = value_proxy_v2,
        },
    [CONFIG_BALANCE] =
        {
            .name = "HAPROXY_BALANCE",
            .fallback = "roundrobin",
            .expected = "roundrobin, static-rr, leastconn, first, source, random, uri, rdp-cookie or keep",
            .help =
                "The backend's balance algorithm; keep leaves what HAProxy's configuration has. Algorithms that need "
                "an argument (hash, hdr, url_param) are to be written there, with keep here.",
            .example = "leastconn",
            .parse = value_balance,
        },
    [CONFIG_ADV_CHECK] =
        {
            .name = "HAPROXY_ADV_CHECK",
            .fallback = "tcp-check",
            .expected = "tcp-check, httpchk, ssl-hello-chk, ldap-check, mysql-check, redis-check, smtpchk or keep",
            .help =
                "How HAProxy checks the servers' health; keep leaves what its configuration has. A check that needs an "
                "argument (pgsql-check) is to be written there, with keep here.",
            .example = "httpchk",
            .parse = value_adv_check,
        },
    [CONFIG_KEEP_SERVERS] =
        {
            .name = "HAPROXY_KEEP_SERVERS",
            .unset = "none",
            .expected = "names of servers, with *, ? and [...] as in a shell, separated by commas or spaces",
            .help =
                "Servers of the backend that are never touched. All others are ours, except those marked backup: they "
                "are changed and removed to match the nodes.",
            .example = "static-*,legacy",
            .parse = value_keep_servers,
        },
    [CONFIG_CREATE_BACKEND] =
        {
            .name = "HAPROXY_CREATE_BACKEND",
            .fallback = "false",
            .expected = YES_NO,
            .help =
                "Whether a missing backend is created. Otherwise it is an error, repeated until somebody creates it.",
            .example = "true",
            .parse = value_create_backend,
        },
    [CONFIG_ALLOW_EMPTY] =
        {
            .name = "ALLOW_EMPTY",
            .fallback = "false",
            .expected = YES_NO,
            .help =
                "Whether the last server is removed when no usable endpoint is left. Otherwise the last good servers "
                "stay until there is one again.",
            .example = "true",
            .parse = value_allow_empty,
        },
    [CONFIG_RESYNC_PERIOD] =
        {
            .name = "RESYNC_PERIOD",
            .fallback = "30s",
            .expected = "a duration from 1s to 24h, such as 30s, 1m30s or 2h",
            .help = "How often the real state of HAProxy is compared with what it should be, and drift repaired. "
                    "Changes in "
                    "Kubernetes do not wait for it.",
            .example = "1m",
            .parse = value_resync_period,
        },
    [CONFIG_KUBECONFIG] =
        {
            .name = "KUBECONFIG",
            .unset = "the service account of the pod",
            .expected = "paths of kubeconfig files, separated by ':'",
            .help = "How to reach the Kubernetes API from outside a pod. Plugins (exec, auth-provider) are not run.",
            .example = "/etc/haproxy-k8s-sync/kubeconfig",
            .parse = value_kubeconfig,
        },
    [CONFIG_LISTEN_ADDRESS] =
        {
            .name = "LISTEN_ADDRESS",
            .fallback = ":8080",
            .expected = ":port, IPv4:port or [IPv6]:port, such as :8080, 127.0.0.1:8080 or [::1]:8080",
            .help = "Where /healthz, /livez, /readyz and /metrics are served; without an address: on all of them.",
            .example = "127.0.0.1:8080",
            .parse = value_listen_address,
        },
    [CONFIG_LOG_FORMAT] =
        {
            .name = "LOG_FORMAT",
            .fallback = "logfmt",
            .expected = "logfmt or json",
            .help = "Format of the log lines.",
            .example = "json",
            .parse = value_log_format,
        },
    [CONFIG_LOG_LEVEL] =
        {
            .name = "LOG_LEVEL",
            .fallback = "info",
            .expected = "debug, info, warn or error",
            .help = "The least important lines that are logged.",
            .example = "debug",
            .parse = value_log_level,
        },
};

const struct config_field *config_field(enum config_field_id id)
{
    return &fields[id];
}

bool config_is_given(const struct config *c, enum config_field_id id)
{
    return (c->given & ((uint64_t)1 << id)) != 0;
}
