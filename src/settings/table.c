#include "settings/table.h"

#include <stdint.h>
#include <stdlib.h>

#include "settings/settings.h"
#include "settings/secrets/credentials_file.h"
#include "settings/names.h"
#include "settings/types.h"
#include "settings/values.h"

#define NAME_OF "name (lower-case letters, digits and '-', at most 63 characters)"
#define HOUR_MS ((uint64_t)3600 * 1000)

/* What a row says of its type. The compiler refuses a member of another C type (distinct pointer types). */
#define MEMBER(ctype, m) offsetof(struct settings, m) + 0 * sizeof(&((struct settings *)NULL)->m == (ctype *)NULL)
#define FLAG(m, on) .type = &type_flag, .member = MEMBER(bool, m), .fallback = (on), .expected = "true or false"
#define FLAG_OFF(m) FLAG(m, "false"), .example = "true"
#define FLAG_ON(m) FLAG(m, "true"), .example = "false"
#define TEXT(m, f) .type = &type_text, .member = MEMBER(char *, m), .check = (f)
#define WORD_OR_KEEP(m, f) .type = &type_word_or_keep, .member = MEMBER(char *, m), .check = (f)
#define WORDS(m, ...)                                                                  \
    .type = &type_words, .member = MEMBER(unsigned, m), .words = (const char *const[]) \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define NUMBER(m, least, most) .type = &type_number, .member = MEMBER(unsigned, m), .min = (least), .max = (most)
#define DURATION(m, least, most) .type = &type_duration, .member = MEMBER(uint64_t, m), .min = (least), .max = (most)
#define SECRET(m) .type = &type_secret, .member = MEMBER(struct secret, m), .or_file = true
#define SPECIAL(m, t) .type = &(t), .member = offsetof(struct settings, m)

const struct setting setting_table[] = {
    {
        .name = "INGRESS_NAMESPACE",
        TEXT(ingress_namespace, name_check_label),
        .fallback = "ingress-nginx",
        .expected = "a namespace's " NAME_OF,
        .help = "Namespace of the Service that is watched.",
        .example = "ingress-nginx",
        .single = true,
    },
    {
        .name = "INGRESS_SERVICE_NAME",
        TEXT(ingress_service, check_service),
        .fallback = "ingress-nginx",
        .expected = "a Service's " NAME_OF,
        .help = "The Service whose endpoints say which nodes HAProxy sends traffic to.",
        .example = "ingress-nginx-controller",
        .single = true,
    },
    {
        .name = "INGRESS_SERVICE_PORT",
        TEXT(ingress_port, name_check_port),
        .unset = "the Service's only port",
        .expected = "the name or number of a port of the Service",
        .help = "Which port of the Service the servers are for; needed where it has several, unless "
                "HAPROXY_BACKEND_PORT is set. A number is the Service's own port, neither its nodePort nor its "
                "targetPort, and tells nothing where the Service cannot be read: a name does.",
        .example = "https",
        .single = true,
    },
    {
        .name = "INGRESS_SERVICES",
        SPECIAL(ingress_services, type_services),
        .unset = "one Service, by the variables above",
        .expected =
            "1 to 64 entries namespace/service[:port][=backend], separated by commas or white space, no backend twice",
        .help = "Several backends in one daemon: which port of which Service each is for. Without :port it is the "
                "Service's only one; without =backend, the backend is called like the Service. It stands for "
                "INGRESS_NAMESPACE, INGRESS_SERVICE_NAME, INGRESS_SERVICE_PORT and HAPROXY_BACKEND_NAME, which must "
                "not be set beside it. Each of the namespaces must grant the rights of deploy/rbac.yaml.",
        .example = "ingress-nginx/web:https=be_https,ingress-nginx/web:http=be_http",
        .is_list = true,
    },
    {
        .name = "NODE_MODE",
        WORDS(node_mode, [NODE_MODE_ENDPOINTS] = "endpoints", [NODE_MODE_ALL] = "all"),
        .fallback = "endpoints",
        .expected = "endpoints or all",
        .help = "Which nodes get a server. endpoints: those with a usable endpoint of the Service. all: every node, as "
                "long as the Service has a usable endpoint, since behind a node port every node's kube-proxy leads to "
                "it; with externalTrafficPolicy Local, or without node ports, that is not so, and endpoints is used. "
                "Nodes that are being deleted, are tainted for it, or are labelled "
                "node.kubernetes.io/exclude-from-external-load-balancers never get one.",
        .example = "all",
    },
    {
        .name = "NODE_SELECTOR",
        SPECIAL(node_selector, type_selector),
        .unset = "all nodes",
        .expected = "a label selector as kubectl get -l takes it, such as node-role=edge,zone in (a,b),!legacy",
        .help = "Only nodes whose labels match can get a server. The API server selects them: of others, the daemon "
                "hears nothing.",
        .example = "node-role.kubernetes.io/edge,zone in (a,b)",
        .is_list = true,
    },
    {
        .name = "NODE_ADDRESS_TYPES",
        SPECIAL(nodes.types, type_address_types),
        .fallback = "InternalIP",
        .expected = "InternalIP, ExternalIP or Hostname, or several of them in order of preference, separated by "
                    "commas or spaces",
        .help = "Which of a node's addresses HAProxy connects to: those of the first type that the node has, in a "
                "family that IP_FAMILY allows. A Hostname is looked up by HAProxy as it loads its configuration, and "
                "it refuses to load a name that it cannot find.",
        .example = "ExternalIP,InternalIP",
        .is_list = true,
    },
    {
        .name = "IP_FAMILY",
        WORDS(nodes.family, [IP_FAMILY_DUAL] = "dual", [IP_FAMILY_IPV4] = "IPv4", [IP_FAMILY_IPV6] = "IPv6",
              [IP_FAMILY_IPV4_FIRST] = "IPv4,IPv6", [IP_FAMILY_IPV6_FIRST] = "IPv6,IPv4"),
        .fallback = "dual",
        .expected = "dual, IPv4, IPv6, or both in order of preference: IPv4,IPv6 or IPv6,IPv4",
        .help = "Which addresses of a node are used. IPv4 and IPv6: only these. Both: either, and of two the first "
                "named. dual: either, and of two the Service's first family or, where the Service cannot be read, what "
                "the node lists first. Through a nodePort, families that the Service does not have are never used.",
        .example = "IPv4,IPv6",
    },
    {
        .name = "HAPROXY_DATAPLANE_URL",
        SPECIAL(dataplanes, type_dataplanes),
        .fallback = "http://haproxy:5555",
        .expected = "http://host:port, https://host:port, or a unix socket as unix:/path; or up to 16 of them, "
                    "separated by commas, none twice",
        .help = "Where HAProxy's Data Plane API (version 3) listens. Several HAProxies: the URLs of all; each is kept "
                "in step by itself, and one that is down delays no other. IPv6 addresses in brackets; a path only "
                "where a proxy in front of the API wants one. User name, password and, for https, CA and certificate "
                "have variables of their own.",
        .example = "http://haproxy-a:5555,https://[2001:db8::5]:5555",
        .is_list = true,
    },
    {
        .name = "HAPROXY_DATAPLANE_USERNAME",
        SECRET(dataplane_username),
        .unset = "no basic authentication",
        .expected = "a user name without ':' and control characters",
        .help = "User of the Data Plane API, together with HAPROXY_DATAPLANE_PASSWORD. The file of the _FILE form is "
                "read again when it changes; so are those of the two variables below.",
        .example = "admin",
    },
    {
        .name = "HAPROXY_DATAPLANE_PASSWORD",
        SECRET(dataplane_password),
        .unset = "no basic authentication",
        .expected = "a password without control characters",
        .help = "Password of that user.",
        .example = "change-me",
        .masked = true,
    },
    {
        .name = "HAPROXY_DATAPLANE_TOKEN",
        SECRET(dataplane_token),
        .unset = "no bearer token",
        .expected = "a token of visible ASCII characters, without the word Bearer",
        .help = "Bearer token, instead of user name and password, for a proxy that asks for one in front of the Data "
                "Plane API (the API itself knows basic authentication only).",
        .example = "change-me",
        .masked = true,
    },
    {
        .name = "HAPROXY_DATAPLANE_CREDENTIALS_FILE",
        TEXT(dataplane_credentials_file, NULL),
        .unset = "the variables above, for each URL",
        .expected = "the path of a file with lines " CREDENTIALS_LINE_EXPECTED ", at most one for a URL",
        .help = "Credentials for each URL: its line in this file goes before the variables above, and URLs without a "
                "line use those. Empty lines and those that begin with # are skipped. The file is read again when it "
                "changes; which URLs have a line is settled at the start.",
        .example = "/etc/haproxy-k8s-sync/credentials",
    },
    {
        .name = "HAPROXY_DATAPLANE_CA_FILE",
        TEXT(dataplane_ca_file, check_path),
        .unset = "the system's trust store",
        .expected = "the path of a file with certificates in PEM form",
        .help =
            "The CA that the Data Plane API's certificate has to be of, for https URLs. This file and the two below "
            "are read again when they change; a new one that cannot be used is reported, and the old one stays in use.",
        .example = "/etc/haproxy-k8s-sync/tls/ca.crt",
    },
    {
        .name = "HAPROXY_DATAPLANE_CERT_FILE",
        TEXT(dataplane_cert_file, check_path),
        .unset = "no client certificate",
        .expected = "the path of a file with a certificate, and its chain, in PEM form",
        .help = "Client certificate for a Data Plane API that asks for one, together with HAPROXY_DATAPLANE_KEY_FILE.",
        .example = "/etc/haproxy-k8s-sync/tls/tls.crt",
    },
    {
        .name = "HAPROXY_DATAPLANE_KEY_FILE",
        TEXT(dataplane_key_file, check_path),
        .unset = "no client certificate",
        .expected = "the path of a file with a private key in PEM form, without a passphrase",
        .help = "Private key of that certificate.",
        .example = "/etc/haproxy-k8s-sync/tls/tls.key",
    },
    {
        .name = "HAPROXY_DATAPLANE_SERVER_NAME",
        TEXT(dataplane_server_name, check_host_name),
        .unset = "the host in the URL",
        .expected = "a host name",
        .help = "The name that the Data Plane API's certificate has to be for, and that is asked for by SNI, where it "
                "is not the one in the URL.",
        .example = "haproxy.example.com",
    },
    {
        .name = "HAPROXY_DATAPLANE_INSECURE",
        FLAG_OFF(dataplane_insecure),
        .help = "Whether the Data Plane API's certificate is not verified at all: who can get between can then read "
                "the password and change HAProxy. For a test bench.",
    },
    {
        .name = "HAPROXY_BACKEND_NAME",
        TEXT(backend_name, name_check_backend),
        .unset = "the name of the Service",
        .expected = "a backend's name (letters, digits, '-', '_', '.' and ':')",
        .help = "The HAProxy backend whose servers are kept equal to the nodes.",
        .example = "ingress",
        .single = true,
    },
    {
        .name = "HAPROXY_BACKEND_PORT",
        NUMBER(backend_port, 1, UINT16_MAX),
        .unset = "the Service's nodePort, or else the endpoint's own port",
        .expected = "a port number, 1 to 65535",
        .help = "Port of every server. Not set, it is the nodePort of the Service's port, where the Service is of type "
                "NodePort or LoadBalancer; otherwise, or where the Service cannot be read, the endpoint's own port, "
                "which is right only where the endpoint's address is the node's (host network). Where none of these "
                "is, or there are several ports to choose from, nothing is written and /readyz says why. Not for "
                "several entries in INGRESS_SERVICES.",
        .example = "30443",
    },
    {
        .name = "HAPROXY_SEND_PROXY_V2",
        FLAG_OFF(proxy_v2),
        .check = check_true_or_false,
        .help = "Whether servers get the client's address by PROXY protocol version 2, which they must expect then: "
                "true puts send-proxy-v2 into the backend's default-server (servers that are not ours inherit it).",
    },
    {
        .name = "HAPROXY_BALANCE",
        WORD_OR_KEEP(balance, check_balance),
        .fallback = "roundrobin",
        .expected = "roundrobin, static-rr, leastconn, first, source, random, uri, rdp-cookie or keep",
        .help = "The backend's balance algorithm; keep leaves what HAProxy's configuration has. Algorithms that need "
                "an argument (hash, hdr, url_param) are to be written there, with keep here.",
        .example = "leastconn",
    },
    {
        .name = "SERVER_WEIGHTS",
        WORDS(weights, [WEIGHTS_KEEP] = "keep", [WEIGHTS_EQUAL] = "equal", [WEIGHTS_ENDPOINTS] = "endpoints"),
        .fallback = "keep",
        .expected = "keep, equal or endpoints",
        .help =
            "Weights of the servers. keep: what is there stays, and a new one gets the weight that all others have, "
            "100 where they differ. equal: 100 for all. endpoints: the number of ready endpoints on the node, at most "
            "256; through a node port with externalTrafficPolicy Cluster, where every node spreads over all endpoints "
            "anyway, it is as equal. Going back to keep leaves the weights that were counted: take equal once.",
        .example = "endpoints",
    },
    {
        .name = "ADOPT_SERVERS",
        WORDS(adopt, [ADOPT_KEEP] = "keep", [ADOPT_RENAME] = "rename", [ADOPT_NO] = "no"),
        .fallback = "keep",
        .expected = "keep, rename or no",
        .help = "What becomes of a server that is at the address and port of a wanted one already, under another name, "
                "such as another controller's. keep: it is adopted under its name and weight, without a reload. "
                "rename: a new one is made beside it, and when that serves, the old one goes. no: it is a stranger "
                "that goes like any other that is not wanted, and the loss limit counts it. Backup servers and "
                "HAPROXY_KEEP_SERVERS are never adopted.",
        .example = "rename",
        .safety = true,
    },
    {
        .name = "SERVER_NAME_FORMAT",
        TEXT(server_name_format, check_server_name_format),
        .fallback = "{node}",
        .expected = "letters, digits, '_', '.', ':', '-' and the placeholders {node}, {address} and {port}, each at "
                    "most once, with {node} or {address} among them, at most 64 characters",
        .help = "The names of new servers. {node} is the node's name, or the address of an endpoint without a node; "
                "{address} and {port} are the server's own. An existing server keeps its name as ADOPT_SERVERS says.",
        .example = "{node}-{port}",
    },
    {
        .name = "HAPROXY_ADV_CHECK",
        WORD_OR_KEEP(adv_check, check_adv_check),
        .fallback = "tcp-check",
        .expected = "tcp-check, httpchk, ssl-hello-chk, ldap-check, mysql-check, redis-check, smtpchk or keep",
        .help = "How HAProxy checks the servers' health; keep leaves what its configuration has. A check that needs an "
                "argument (pgsql-check) is to be written there, with keep here.",
        .example = "httpchk",
    },
    {
        .name = "HAPROXY_HEALTH_CHECK",
        WORDS(
            health_check, [SETTINGS_HEALTH_CHECK_BACKEND] = "backend", [SETTINGS_HEALTH_CHECK_NODE_PORT] = "node-port"),
        .fallback = "backend",
        .expected = "backend or node-port",
        .help = "What health checks ask. backend: the server's own port, in the way of HAPROXY_ADV_CHECK. node-port: "
                "by HTTP the Service's healthCheckNodePort, where kube-proxy says whether its node has a ready "
                "endpoint. A Service of type LoadBalancer with externalTrafficPolicy Local has that port; with any "
                "other it is as backend.",
        .example = "node-port",
    },
    {
        .name = "HAPROXY_KEEP_SERVERS",
        SPECIAL(keep_servers, type_globs),
        .unset = "none",
        .expected = "names of servers, with *, ? and [...] as in a shell, separated by commas or spaces",
        .help = "Servers of the backend that are never touched. All others are ours, except those marked backup: they "
                "are changed, parked and removed to match the nodes.",
        .example = "static-*,legacy",
        .is_list = true,
        .safety = true,
    },
    {
        .name = "HAPROXY_CREATE_BACKEND",
        FLAG_OFF(create_backend),
        .help = "Whether a missing backend is created. Otherwise it is an error, repeated until somebody creates it.",
    },
    {
        .name = "DRAIN_TIMEOUT",
        DURATION(drain_timeout_ms, 0, 24 * HOUR_MS),
        .fallback = "30s",
        .expected = "a duration from 0 to 24h, such as 30s or 2m",
        .help = "How long a server drains at most: when the endpoints of a node are all terminating but still serve, "
                "and another node has ready ones, the running HAProxy is told to drain the server (no new connections, "
                "the open ones live on), or it is put into maintenance where that cannot be done without a reload. "
                "After that time, or as soon as the endpoints are gone, it is out: see PARK_TTL. With a ready one it "
                "is back. 0: out at once.",
        .example = "2m",
    },
    {
        .name = "PARK_TTL",
        DURATION(park_ttl_ms, 0, 720 * HOUR_MS),
        .fallback = "1h",
        .expected = "a duration from 0 to 720h, such as 30m or 12h",
        .help = "How long a server that is out stays in HAProxy's configuration, in maintenance, so that its return "
                "needs no reload. After that it is removed with the next change that needs a reload anyway; so it is "
                "when its node is gone. At most 64 are kept. 0: removed at once, with a reload.",
        .example = "12h",
    },
    {
        .name = "PARK_NODES",
        FLAG_OFF(park_nodes),
        .help = "Whether the other nodes that could get a server (at most 64) have one in maintenance from the start, "
                "so that even the first pod on a node needs no reload.",
    },
    {
        .name = "ALLOW_EMPTY",
        FLAG_OFF(allow_empty),
        .help = "Whether the last server is taken out when no usable endpoint is left. Otherwise the last good servers "
                "stay in use until there is one again.",
        .safety = true,
    },
    {
        .name = "MAX_LOSS_PERCENT",
        NUMBER(max_loss_percent, 0, 100),
        .fallback = "50",
        .expected = "a whole number from 0 to 100",
        .help = "How many percent of the servers in use may be taken out within one RESYNC_PERIOD without notice, at "
                "once or one by one. More is more often a fault of the control plane than a wish: what goes beyond it "
                "stays in use, each server for one RESYNC_PERIOD from its own loss, while additions and changes are "
                "written. Parked servers are not in use and do not count. Notice is an endpoint that terminates, or a "
                "node that is being deleted, tainted for it, or excluded by its label. 100: never held back. The last "
                "servers are a matter of ALLOW_EMPTY.",
        .example = "25",
        .safety = true,
    },
    {
        .name = "DRY_RUN",
        FLAG_OFF(dry_run),
        .help = "Whether HAProxy is left as it is: everything runs, and what would be changed is logged and shown in "
                "/metrics. To watch it beside another controller first.",
        .safety = true,
    },
    {
        .name = "RESYNC_PERIOD",
        DURATION(resync_period_ms, 1000, 24 * HOUR_MS),
        .fallback = "30s",
        .expected = "a duration from 1s to 24h, such as 30s, 1m30s or 2h",
        .help = "How often the real state of HAProxy, its configuration file and what runs, is compared with what it "
                "should be, and drift repaired. Changes in Kubernetes do not wait for it.",
        .example = "1m",
    },
    {
        .name = "LEADER_ELECT",
        FLAG_OFF(leader_elect),
        .help = "Whether several replicas of this daemon agree by a Lease on one that acts, while the others keep "
                "their caches warm and wait. Needs the rights on leases in deploy/rbac.yaml. Without it, only one may "
                "run. A DRY_RUN is no candidate.",
        .safety = true,
    },
    {
        .name = "LEASE_NAME",
        TEXT(lease_name, check_lease_name),
        .fallback = "haproxy-k8s-sync",
        .expected = "a Lease's name (lower-case letters, digits, '-' and '.', at most 253 characters)",
        .help = "The Lease. Replicas that stand in for each other have the same one; daemons for other backends or "
                "other HAProxies need another.",
        .example = "haproxy-k8s-sync-internal",
    },
    {
        .name = "LEASE_NAMESPACE",
        TEXT(lease_namespace, name_check_label),
        .unset = "the pod's own, or outside of a pod that of the first Service",
        .expected = "a namespace's " NAME_OF,
        .help = "Namespace of the Lease.",
        .example = "ingress-nginx",
    },
    {
        .name = "KUBECONFIG",
        TEXT(kubeconfig, check_kubeconfig),
        .unset = "the service account of the pod",
        .expected = "paths of kubeconfig files, separated by ':'",
        .help = "How to reach the Kubernetes API from outside a pod. Its exec plugins are run (v1, v1beta1), without a "
                "terminal.",
        .example = "/etc/haproxy-k8s-sync/kubeconfig",
    },
    {
        .name = "PROXY_FROM_ENVIRONMENT",
        FLAG_OFF(proxy_from_environment),
        .help = "Whether http_proxy, https_proxy and no_proxy (libcurl's rules; HTTPS_PROXY and NO_PROXY, too) are "
                "used for both APIs. Otherwise they are not looked at, and a proxy is used only where the kubeconfig "
                "has a proxy-url.",
    },
    {
        .name = "SECCOMP",
        FLAG_OFF(seccomp),
        .help = "Whether the daemon locks itself in once it is set up: it can then start no program, open no file for "
                "writing, and make no system call that it has no use for. The image, the manifests, the chart and the "
                "Debian package turn it on. Not together with a credential plugin in the kubeconfig, which is a "
                "program to be started.",
        .safety = true,
    },
    {
        .name = "EMIT_EVENTS",
        FLAG_OFF(emit_events),
        .help = "Whether what happens to HAProxy is told as Kubernetes Events on the Service, too (`kubectl describe "
                "service`): Synced, Draining, HeldBack, ApplyFailed, ReloadFailed, DriftRepaired. Needs the rights on "
                "events in deploy/rbac.yaml. With DRY_RUN nothing is told.",
    },
    {
        .name = "LISTEN_ADDRESS",
        SPECIAL(listen_host, type_listen_address),
        .fallback = ":8080",
        .expected = ":port, IPv4:port or [IPv6]:port, such as :8080, 127.0.0.1:8080 or [::1]:8080",
        .help = "Where /healthz, /livez, /readyz, /metrics and the status page are served; without an address: on all "
                "of them.",
        .example = "127.0.0.1:8080",
    },
    {
        .name = "STATUS_PAGE",
        FLAG_ON(status_page),
        .help = "Whether the status page (/) and its JSON (/status) are served at LISTEN_ADDRESS: names and addresses "
                "of nodes, URLs of the Data Plane APIs, and the last decisions, for everybody who can reach it.",
    },
    {
        .name = "LOG_FORMAT",
        WORDS(log_format, [LOG_FORMAT_LOGFMT] = "logfmt", [LOG_FORMAT_JSON] = "json"),
        .fallback = "logfmt",
        .expected = "logfmt or json",
        .help = "Format of the log lines.",
        .example = "json",
    },
    {
        .name = "LOG_LEVEL",
        WORDS(log_level, [LOG_LEVEL_DEBUG] = "debug", [LOG_LEVEL_INFO] = "info", [LOG_LEVEL_WARN] = "warn",
              [LOG_LEVEL_ERROR] = "error"),
        .fallback = "info",
        .expected = "debug, info, warn or error",
        .help = "The least important lines that are logged.",
        .example = "debug",
    },
    {.name = NULL},
};

_Static_assert(array_len(setting_table) - 1 <= SETTINGS_MAX, "struct settings has a bit for each in `given`");

const struct setting *setting_of(size_t member)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->member == member)
            return row;
    abort(); /* a member that is no setting: a mistake of ours */
}

static uint64_t setting_bit(const struct setting *row)
{
    return (uint64_t)1 << (row - setting_table);
}

bool setting_is_given(const struct settings *s, const struct setting *row)
{
    return (s->given & setting_bit(row)) != 0;
}

void setting_set_given(struct settings *s, const struct setting *row)
{
    s->given |= setting_bit(row);
}
