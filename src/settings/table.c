#include "settings/table.h"

#include <stdint.h>
#include <stdlib.h>

#include "settings/settings.h"
#include "settings/secrets/credentials_file.h"
#include "settings/names.h"
#include "settings/types.h"

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
    {.name = "INGRESS_NAMESPACE",
     TEXT(ingress_namespace, name_check_label),
     .fallback = "ingress-nginx",
     .expected = "a namespace's " NAME_OF,
     .help = "Namespace of the Service to watch.",
     .example = "ingress-nginx",
     .single = true},
    {.name = "INGRESS_SERVICE_NAME",
     TEXT(ingress_service, check_service),
     .fallback = "ingress-nginx",
     .expected = "a Service's " NAME_OF,
     .help = "Name of the Service to watch. Its endpoints decide which nodes get a server in HAProxy.",
     .example = "ingress-nginx-controller",
     .single = true},
    {.name = "INGRESS_SERVICE_PORT",
     TEXT(ingress_port, name_check_port),
     .unset = "the Service's only port",
     .expected = "the name or number of a port of the Service",
     .help = "Port of the Service that the servers are for. Required if the Service has several ports, unless "
             "HAPROXY_BACKEND_PORT is set. A number is the Service's own port, not its nodePort or targetPort, and "
             "needs the right to read the Service; a name does not.",
     .example = "https",
     .single = true},
    {.name = "INGRESS_SERVICES",
     SPECIAL(ingress_services, type_services),
     .unset = "one Service, from the settings above",
     .expected = "1 to 64 entries namespace/service[:port][=backend], separated by commas or white space, no backend "
                 "twice",
     .help = "Several backends in one daemon: each entry maps a port of a Service to a backend. Without :port the "
             "Service's only port is used; without =backend the backend has the name of the Service. It replaces "
             "INGRESS_NAMESPACE, INGRESS_SERVICE_NAME, INGRESS_SERVICE_PORT and HAPROXY_BACKEND_NAME, which must not "
             "be set beside it. Needs the rights of deploy/rbac.yaml in each of the namespaces.",
     .example = "ingress-nginx/web:https=be_https,ingress-nginx/web:http=be_http",
     .is_list = true},
    {.name = "CONFIG_SOURCE",
     WORDS(config_source, [SETTINGS_CONFIG_NONE] = "none", [SETTINGS_CONFIG_FILE] = "file",
           [SETTINGS_CONFIG_SECRET] = "secret", [SETTINGS_CONFIG_TEMPLATE] = "template",
           [SETTINGS_CONFIG_SERVICES] = "services", [SETTINGS_CONFIG_ETCD] = "etcd"),
     .fallback = "none",
     .expected = "none, file, secret, template, services or etcd",
     .help = "Where a whole haproxy.cfg comes from. none: there is no such source, and only the servers of backends "
             "are managed. file: CONFIG_FILE. secret: the Secret CONFIG_SECRET_NAME. template: it is rendered from "
             "the template set of TEMPLATE_FROM. services: it is made of annotated Services. etcd: another "
             "haproxy-k8s-sync published it there. Each HAProxy validates the configuration first; then it is applied "
             "to all of them, loaded and verified. Servers are managed beside it only if INGRESS_SERVICES, one of the "
             "settings above or HAPROXY_BACKEND_NAME is set: the configuration has these backends without server "
             "lines, and the daemon writes the server lines alone. Without these settings the daemon reads from "
             "Kubernetes only the Secret (secret), what the set watches (template), Services, EndpointSlices and "
             "Nodes (services), or nothing (file, etcd).",
     .example = "file",
     .alias = "MODE",
     .alias_words =
         (const char *const[]){
             [SETTINGS_CONFIG_NONE] = "", [SETTINGS_CONFIG_FILE] = "local", [SETTINGS_CONFIG_SECRET] = "k8s", NULL},
     .alias_expected = "k8s or local"},
    {.name = "CONFIG_FILE",
     TEXT(config_file, check_absolute_path),
     .unset = "no file",
     .expected = "the absolute path of a haproxy.cfg",
     .help = "The haproxy.cfg of CONFIG_SOURCE=file. With CONFIG_SOURCE=services it is the part that stands before "
             "what is made of the Services. The file is followed: a change is applied at once. A change that is "
             "refused leaves HAProxy as it is.",
     .example = "/etc/haproxy-k8s-sync/haproxy.cfg",
     .alias = "LOCAL_CONFIG_PATH"},
    {.name = "CONFIG_FILES_DIR",
     TEXT(config_files_dir, check_absolute_path),
     .unset = "no files",
     .expected = "the absolute path of a folder",
     .help = "Folder of the files that CONFIG_FILE refers to: maps/NAME, certs/NAME and files/NAME. They are stored "
             "before the configuration is validated: by the Data Plane API in its own folders or, with "
             "HAPROXY_CONFIG_FILE, in HAPROXY_STORAGE_DIR. Map entries and files are deleted when the configuration "
             "no longer needs them. The folder is followed, too. Names and paths: docs/configuration-files.md.",
     .example = "/etc/haproxy-k8s-sync/haproxy.d"},
    {.name = "CONFIG_FILE_WATCH",
     FLAG_ON(config_file_watch),
     .help = "Whether CONFIG_FILE is followed. With false it is read only at the start and at SIGHUP.",
     .alias = "LOCAL_WATCH"},
    {.name = "CONFIG_SECRET_NAMESPACE",
     TEXT(config_secret_namespace, name_check_label),
     .unset = "no Secret",
     .expected = "a namespace's " NAME_OF,
     .help = "Namespace of the Secret of CONFIG_SOURCE=secret.",
     .example = "haproxy",
     .alias = "WATCH_NAMESPACE",
     .alias_fallback = "haproxy-operator",
     .flag = "namespace"},
    {.name = "CONFIG_SECRET_NAME",
     TEXT(config_secret_name, check_secret_name),
     .unset = "no Secret",
     .expected = "a Secret's name (lower-case letters, digits, '-' and '.', at most 253 characters)",
     .help = "Name of the Secret of CONFIG_SOURCE=secret. A change of the Secret is applied at once. A change that is "
             "refused, or the deletion of the Secret, leaves HAProxy as it is. Needs the rights list and watch on "
             "this one Secret. While the Secret has the annotation haproxy-k8s-sync/paused, nothing is written.",
     .example = "haproxy-config",
     .alias = "SECRET_NAME",
     .alias_fallback = "haproxy-config"},
    {.name = "CONFIG_SECRET_KEY",
     TEXT(config_secret_key, check_secret_key),
     .fallback = "haproxy.cfg",
     .expected = "a key of a Secret (letters, digits, '-', '_' and '.', at most 253 characters)",
     .help = "Key in the Secret of CONFIG_SOURCE=secret that holds the haproxy.cfg.",
     .example = "haproxy.cfg",
     .alias = "SECRET_KEY"},
    {.name = "CONFIG_REPORT",
     WORDS(config_report, [SETTINGS_REPORT_EVENTS] = "events", [SETTINGS_REPORT_ANNOTATION] = "annotation"),
     .fallback = "events",
     .expected = "events or annotation",
     .help = "Where what became of the configuration of CONFIG_SOURCE=secret is recorded. events: as Kubernetes "
             "Events on the Secret, which needs the rights on events in deploy/config/rbac.yaml and none to change a "
             "Secret. annotation: as annotations of the Secret, and as Events with EMIT_EVENTS. That needs the right "
             "patch on the Secret, and who has it can replace the haproxy.cfg.",
     .example = "annotation",
     .alias_fallback = "annotation"},
    {.name = "CONFIG_REPORT_CONFIGMAP",
     TEXT(config_report_configmap, check_secret_name),
     .unset = "none",
     .expected = "a ConfigMap's name (lower-case letters, digits, '-' and '.', at most 253 characters)",
     .help = "ConfigMap beside that Secret which gets what the annotations of the Secret would say. It has to exist. "
             "The Secret is then not annotated. Needs the right patch on this one ConfigMap.",
     .example = "haproxy-config-status"},
    {.name = "CONFIG_CERTS_SECRETS",
     SPECIAL(config_certs_secrets, type_names),
     .unset = "none",
     .expected = "1 to 64 names of Secrets, separated by commas or spaces, none twice",
     .help = "TLS Secrets in the namespace of that Secret whose certificates haproxy.cfg uses. tls.crt, ca.crt (which "
             "may be absent) and tls.key of each become one certificate, with the name of the Secret and .pem. Needs "
             "the rights list and watch on each of them.",
     .example = "shop-tls,api-tls",
     .is_list = true,
     .alias = "CERTS_SECRET_NAMES"},
    {.name = "TEMPLATE_FROM",
     SPECIAL(template_from, type_template_from),
     .unset = "no templates",
     .expected = "file: and the absolute path of a folder, configmap:namespace/name, or pods:namespace",
     .help = "Where the template set of CONFIG_SOURCE=template is: a folder, a ConfigMap, or pods:namespace. set.yaml "
             "and its templates are files of the folder or keys of the ConfigMap. The set and the objects that it "
             "watches are followed: each change is rendered and applied at once. An error in the set or in a render "
             "leaves HAProxy as it is. Needs the rights list and watch on the ConfigMap and on each resource that the "
             "set watches. pods:namespace reads the template of an older system over pods: the ConfigMaps services, "
             "certificates and config and the Secret keys of that namespace.",
     .example = "configmap:haproxy/templates"},
    {.name = "TEMPLATE_TIMEOUT",
     DURATION(template_timeout_ms, 100, HOUR_MS),
     .fallback = "10s",
     .expected = "a duration from 100ms to 1h",
     .help = "How long a render of the template set may take. A render that takes longer is ended and counts as an "
             "error.",
     .example = "30s"},
    {.name = "STATISTICS_PASSWORD",
     SECRET(statistics_password),
     .unset = "none: a template that asks for it is an error",
     .expected = "a password without control characters",
     .help = "Password that templates of TEMPLATE_FROM=pods:namespace see as stats.password. With _FILE it is read "
             "from a file, and read again when that file has changed and something is rendered.",
     .example = "change-me",
     .masked = true},
    {.name = "SERVICES_LABEL",
     SPECIAL(services_label, type_selector),
     .fallback = "haproxy-kubefigurator.enabled=yes",
     .expected = "a label selector as for kubectl get -l",
     .help = "Label selector of the Services that CONFIG_SOURCE=services serves, in all namespaces. Each of their "
             "ports that has a nodePort and annotations is served: docs/services.md.",
     .example = "haproxy-k8s-sync/enabled=yes",
     .is_list = true},
    {.name = "ANNOTATION_PREFIX",
     TEXT(annotation_prefix, check_annotation_prefix),
     .fallback = "haproxy-kubefigurator",
     .expected = "what an annotation's name begins with (letters, digits, '-', '_', '.' and one '/', at most 128 "
                 "characters)",
     .help = "Prefix of the annotations of CONFIG_SOURCE=services: PREFIX.PORTNAME.OPTION. "
             "haproxy-k8s-sync/PORTNAME.OPTION is read, too, and takes precedence.",
     .example = "example.com/haproxy"},
    {.name = "CLUSTER_NAME",
     TEXT(cluster_name, check_cluster_name),
     .unset = "none",
     .expected = "letters, digits, '-' and '.', at most 63 characters",
     .help = "The name of this cluster, where several clusters share HAProxies. It replaces {cluster} in "
             "SERVER_NAME_FORMAT and CLUSTER in the hostname of an annotation, is the label `cluster` of all metrics, "
             "and stands in /status. With CONFIG_TARGET=etcd it marks the published configuration: that of another "
             "cluster is not overwritten.",
     .example = "east"},
    {.name = "SERVICES_PORTS",
     SPECIAL(services_ports, type_ports),
     .unset = "all ports",
     .expected = "1 to 64 ports or ranges of them, such as 80,443,8000-8999",
     .help = "Ports that annotations may let HAProxy listen at.",
     .example = "80,443,8000-8999",
     .is_list = true},
    {.name = "SERVICES_CERTIFICATES_DIR",
     TEXT(services_certificates_dir, check_absolute_path),
     .fallback = "/etc/haproxy/ssl",
     .expected = "the absolute path of a folder",
     .help = "Folder on HAProxy's machine with the certificates that annotations name. Each file holds a certificate "
             "and its key.",
     .example = "/etc/haproxy/certs"},
    {.name = "SERVICES_NAMESPACES",
     SPECIAL(services_namespaces, type_names),
     .unset = "all namespaces",
     .expected = "1 to 64 names of namespaces, separated by commas or spaces, none twice",
     .help = "Namespaces whose annotated Services are served. The others' get an Event.",
     .example = "shop,bank",
     .is_list = true},
    {.name = "SERVICES_ADDRESSES",
     SPECIAL(services_addresses, type_names),
     .fallback = "*",
     .expected = "1 to 64 of * and IP addresses, separated by commas or spaces, none twice",
     .help = "Addresses that the annotation listen-ip may have. * is all addresses of the machine.",
     .example = "*,192.0.2.10",
     .is_list = true},
    {.name = "HOST_OWNERSHIP",
     WORDS(host_ownership, [SETTINGS_HOSTS_OF_NAMESPACE] = "namespace", [SETTINGS_HOSTS_OF_ANY] = "any"),
     .fallback = "namespace",
     .expected = "namespace or any",
     .help = "Who may serve paths of a host name. namespace: the namespace that has served it first, and no other. "
             "any: each namespace, the older Service or Ingress where two have the same path.",
     .example = "any"},
    {.name = "HOST_OWNERS_CONFIGMAP",
     TEXT(host_owners_configmap, name_check_subdomain),
     .unset = "none",
     .expected = "a ConfigMap's name (lower-case letters, digits, '-' and '.', at most 253 characters)",
     .help =
         "ConfigMap in the namespace of the Lease that keeps which namespace has which host name. The leader writes "
         "it, and the other replicas follow it, so that a host name stays where it is over a restart without "
         "STATE_DIR, and when another replica leads. It has to exist; nothing is made before it was read. Needs the "
         "rights list, watch and patch on this one ConfigMap.",
     .example = "haproxy-host-owners"},
    {.name = "SHARED_HOSTS",
     SPECIAL(shared_hosts, type_names),
     .unset = "none",
     .expected = "1 to 64 DNS names in lower case, *. in front of them or not, or *, separated by commas or spaces, "
                 "none twice",
     .help = "Host names that several namespaces may serve paths of, with HOST_OWNERSHIP=namespace. * is what "
             "Ingresses without a host serve.",
     .example = "www.example.com",
     .is_list = true},
    {.name = "FOREIGN_PROTECTION",
     WORDS(foreign_protection, [SETTINGS_FOREIGN_REFUSE] = "refuse", [SETTINGS_FOREIGN_WARN] = "warn"),
     .fallback = "refuse",
     .expected = "refuse or warn",
     .help = "What to do with an Ingress or Service that asks another controller for protection. Annotations of that "
             "one ask for a password, an allow-list or the like, which is not there. refuse: do not serve it. warn: "
             "serve it open to all.",
     .example = "warn"},
    {.name = "TRUSTED_PROXIES",
     SPECIAL(trusted_proxies, type_names),
     .unset = "none",
     .expected = "1 to 64 IP addresses or networks such as 10.0.0.0/8, separated by commas or spaces, none twice",
     .help = "Proxies in front of HAProxy. What they say of a client is kept: X-Forwarded-For, to which their own "
             "address is added, X-Forwarded-Proto, X-Real-IP and Forwarded. Those of all others are replaced.",
     .example = "10.0.0.0/8",
     .is_list = true},
    {.name = "SERVICES_DEFAULT_CERTIFICATE",
     TEXT(services_default_certificate, check_absolute_path),
     .unset = "none",
     .expected = "the absolute path of a file",
     .help = "File on HAProxy's machine with a certificate and its key, for clients that ask for a name that no "
             "Service has, or for none. Without it they get no connection.",
     .example = "/etc/haproxy/ssl/default.pem"},
    {.name = "SERVICES_SECRET_NAMESPACES",
     SPECIAL(services_secret_namespaces, type_names),
     .unset = "none",
     .expected = "1 to 64 names of namespaces, separated by commas or spaces, none twice",
     .help = "Namespaces whose TLS Secrets the annotations of any Service may name. The annotation is ssl-certificate "
             "with the value secret:NAMESPACE/NAME; the Secrets of a Service's own namespace are always allowed. Each "
             "Secret that is named is watched, which needs the rights list and watch on it.",
     .example = "certificates",
     .is_list = true},
    {.name = "CONFIG_TARGET",
     WORDS(config_target, [SETTINGS_TARGET_HAPROXY] = "haproxy", [SETTINGS_TARGET_ETCD] = "etcd"),
     .fallback = "haproxy",
     .expected = "haproxy or etcd",
     .help = "Where the configuration of CONFIG_SOURCE goes: to HAProxy or to etcd. From etcd, a haproxy-k8s-sync on "
             "each load balancer takes it (CONFIG_SOURCE=etcd): docs/etcd.md.",
     .example = "etcd"},
    {.name = "ETCD_ENDPOINTS",
     SPECIAL(etcd.endpoints, type_endpoints),
     .unset = "no etcd",
     .expected = "1 to 16 URLs http://host:port or https://host:port, separated by commas, none twice",
     .help = "Members of the etcd cluster (3.4 or newer) of CONFIG_SOURCE=etcd or CONFIG_TARGET=etcd. One of them is "
             "asked; if it does not answer, the next one is.",
     .example = "https://etcd-a:2379,https://etcd-b:2379",
     .is_list = true},
    {.name = "ETCD_PATH",
     TEXT(etcd.path, check_etcd_path),
     .fallback = "/stackexchange.com/haproxy-kubefigurator/config",
     .expected = "an absolute path of letters, digits and -_./ without a slash at its end",
     .help = "Key in etcd that holds the configuration. Keys below it hold the manifest, its parts and the state of "
             "each load balancer.",
     .example = "/haproxy/east"},
    {.name = "ETCD_CA_FILE",
     TEXT(etcd.ca_file, check_path),
     .unset = "the system's trust store",
     .expected = "the path of a file with certificates in PEM form",
     .help = "CA that signed etcd's certificate, for https URLs. This file, ETCD_CERT_FILE and ETCD_KEY_FILE are read "
             "again when they change.",
     .example = "/etc/haproxy-k8s-sync/etcd/ca.crt"},
    {.name = "ETCD_CERT_FILE",
     TEXT(etcd.cert_file, check_path),
     .unset = "no client certificate",
     .expected = "the path of a file with a certificate, and its chain, in PEM form",
     .help = "Client certificate, for an etcd that requires one (--client-cert-auth). Needs ETCD_KEY_FILE.",
     .example = "/etc/haproxy-k8s-sync/etcd/tls.crt"},
    {.name = "ETCD_KEY_FILE",
     TEXT(etcd.key_file, check_path),
     .unset = "no client certificate",
     .expected = "the path of a file with a private key in PEM form, without a passphrase",
     .help = "Private key of the certificate in ETCD_CERT_FILE.",
     .example = "/etc/haproxy-k8s-sync/etcd/tls.key"},
    {.name = "ETCD_USER",
     TEXT(etcd.user, check_text_line),
     .unset = "no authentication",
     .expected = "a user name without control characters",
     .help = "User of etcd, if its authentication is enabled. The name in a client certificate does not count as the "
             "user. Needs ETCD_PASSWORD.",
     .example = "haproxy"},
    {.name = "ETCD_PASSWORD",
     SECRET(etcd.password),
     .unset = "no authentication",
     .expected = "a password without control characters",
     .help = "Password of ETCD_USER. With _FILE it is read from a file, and read again when that file changes.",
     .example = "change-me",
     .masked = true},
    {.name = "ETCD_NAME",
     TEXT(etcd.name, check_etcd_name),
     .unset = "the name of the host",
     .expected = "letters, digits and -_., at most 253 characters",
     .help = "Name of this load balancer or producer in etcd. A load balancer (CONFIG_SOURCE=etcd) writes its state "
             "by this name; a producer (CONFIG_TARGET=etcd) puts it into what it publishes.",
     .example = "lb-1"},
    {.name = "CONFIG_ALLOW_LOCKOUT",
     FLAG_OFF(config_allow_lockout),
     .help = "Whether to apply a configuration that locks the daemon out of HAProxy. It lacks something that "
             "haproxy.cfg has and the daemon needs: a userlist with the login's user and password, the stats socket "
             "of the Data Plane API, the program section that runs it, or master-worker. By default such a "
             "configuration is refused."},
    {.name = "CONFIG_KEEP_BACKENDS",
     SPECIAL(config_keep_backends, type_names),
     .unset = "none",
     .expected = "1 to 64 names of backends, separated by commas or spaces, none twice",
     .help = "Backends whose server lines another daemon writes. The configuration has no server lines for them, and "
             "those in haproxy.cfg stay as they are.",
     .example = "api,legacy",
     .is_list = true},
    {.name = "CONFIG_DRIFT",
     WORDS(config_drift, [SETTINGS_DRIFT_REPORT] = "report", [SETTINGS_DRIFT_REPAIR] = "repair",
           [SETTINGS_DRIFT_IGNORE] = "ignore"),
     .fallback = "report",
     .expected = "report, repair or ignore",
     .help = "What to do when another writer has changed the haproxy.cfg that was applied. report: say so in the log, "
             "/status and /readyz. repair: write the configuration again. ignore: do nothing.",
     .example = "repair",
     .alias_fallback = "repair"},
    {.name = "CONFIG_MIN_INTERVAL",
     DURATION(config_min_interval_ms, 0, HOUR_MS),
     .fallback = "2s",
     .expected = "a duration from 0s to 1h",
     .help = "Least time between two configurations. The first change is applied at once; of the changes that follow "
             "within this time only the latest is applied.",
     .example = "10s"},
    {.name = "CONFIG_CANARY",
     NUMBER(config_canary, 0, SETTINGS_DATAPLANES_MAX),
     .fallback = "0",
     .expected = "a number below that of the HAProxies; 0: all get it at once",
     .help = "How many HAProxies get a new configuration before the others. They are watched for CONFIG_CANARY_TIME: "
             "the reload succeeded, the worker stays, the listeners are there, and backends that had servers up have "
             "some. Then the others get it. If there is a problem on one of the first, the others do not get it, and "
             "the first ones are rolled back.",
     .example = "1"},
    {.name = "CONFIG_CANARY_TIME",
     DURATION(config_canary_time_ms, 1000, HOUR_MS),
     .fallback = "30s",
     .expected = "a duration from 1s to 1h",
     .help = "How long the HAProxies of CONFIG_CANARY are watched.",
     .example = "2m"},
    {.name = "CONFIG_ROLLBACK",
     WORDS(config_rollback, [SETTINGS_ROLLBACK_AUTO] = "auto", [SETTINGS_ROLLBACK_SERVING] = "serving",
           [SETTINGS_ROLLBACK_REPORT] = "report"),
     .fallback = "auto",
     .expected = "auto, serving or report",
     .help = "What a new configuration is rolled back for, on all HAProxies, within 10 s after it runs. auto: the "
             "worker dies, or a listener is missing that the configuration did not remove. serving: also when a "
             "backend that had servers up has none, while on no other HAProxy it lost them. report: nothing; problems "
             "are only reported. A file that HAProxy cannot load is replaced by the previous one in any case. A "
             "configuration that was rolled back is not tried again until it changes, or on SIGHUP.",
     .example = "serving"},
    {.name = "STATE_DIR",
     TEXT(state_dir, check_absolute_path),
     .unset = "memory only",
     .expected = "the absolute path of a folder",
     .help = "Folder that keeps the last 10 configurations that ran, and what HAProxy rejected, over a restart. "
             "`config history` and `config rollback` use it. It is created if it is missing, readable by the daemon "
             "alone, because configurations may hold passwords, and what templates see may be Secrets. Replicas may "
             "share one: the leader uses it, and the others wait. Other daemons need a folder of their own.",
     .example = "/var/lib/haproxy-k8s-sync"},
    {.name = "NODE_MODE",
     WORDS(node_mode, [NODE_MODE_ENDPOINTS] = "endpoints", [NODE_MODE_ALL] = "all"),
     .fallback = "endpoints",
     .expected = "endpoints or all",
     .help = "Which nodes get a server. endpoints: nodes with a usable endpoint of the Service. all: every node while "
             "the Service has a usable endpoint, because kube-proxy forwards a node port from any node; with "
             "externalTrafficPolicy Local or without node ports it acts as endpoints. With CONFIG_SOURCE=services the "
             "default is all. Nodes that are being deleted, have a taint for their removal, or have the label "
             "node.kubernetes.io/exclude-from-external-load-balancers never get one.",
     .example = "all"},
    {.name = "NODE_SELECTOR",
     SPECIAL(node_selector, type_selector),
     .unset = "all nodes",
     .expected = "a label selector as for kubectl get -l, such as node-role=edge,zone in (a,b),!legacy",
     .help = "Label selector of the nodes that can get a server. The API server applies it: the daemon never receives "
             "other nodes.",
     .example = "node-role.kubernetes.io/edge,zone in (a,b)",
     .is_list = true},
    {.name = "NODE_EXCLUDE_LABEL",
     TEXT(node_exclude_label, name_check_label_key),
     .fallback = "node.kubernetes.io/exclude-from-external-load-balancers",
     .expected = "a label's name, or ignore",
     .help = "Nodes that have this label never get a server, whatever its value. ignore: the label that Kubernetes "
             "has for it counts for nothing, for clusters of control-plane nodes alone, to which kubeadm gives it.",
     .example = "ignore"},
    {.name = "NODE_ADDRESS_TYPES",
     SPECIAL(nodes.types, type_address_types),
     .fallback = "InternalIP",
     .expected = "InternalIP, ExternalIP or Hostname, or several of them in order of preference, separated by commas "
                 "or spaces",
     .help = "Type of the node address that HAProxy connects to. Of several types the first one that the node has, in "
             "a family that IP_FAMILY allows, is used. HAProxy resolves a Hostname when it loads its configuration, "
             "and fails to load if it cannot.",
     .example = "ExternalIP,InternalIP",
     .is_list = true},
    {.name = "IP_FAMILY",
     WORDS(nodes.family, [IP_FAMILY_DUAL] = "dual", [IP_FAMILY_IPV4] = "IPv4", [IP_FAMILY_IPV6] = "IPv6",
           [IP_FAMILY_IPV4_FIRST] = "IPv4,IPv6", [IP_FAMILY_IPV6_FIRST] = "IPv6,IPv4"),
     .fallback = "dual",
     .expected = "dual, IPv4, IPv6, or both in order of preference: IPv4,IPv6 or IPv6,IPv4",
     .help = "Which addresses of a node are used, by their IP family. IPv4 or IPv6: only that family. Both in order: "
             "the first one that the node has. dual: either; if the node has both, the Service's first family or, if "
             "the Service cannot be read, the one that the node lists first. With a nodePort, families that the "
             "Service does not have are never used.",
     .example = "IPv4,IPv6"},
    {.name = "HAPROXY_CONFIG_FILE",
     TEXT(local.file, check_absolute_path),
     .unset = "by their Data Plane APIs",
     .expected = "the absolute path of HAProxy's own haproxy.cfg",
     .help = "The haproxy.cfg of a HAProxy on this machine that is managed without a Data Plane API. For the servers "
             "of a Service their lines are changed, and every other byte stays; a whole configuration replaces the "
             "file byte for byte, after `haproxy -c` has accepted it. A file that another writer has changed since it "
             "was read is never overwritten, but read again. Not together with HAPROXY_DATAPLANE_URL.",
     .example = "/etc/haproxy/haproxy.cfg"},
    {.name = "HAPROXY_MASTER_SOCKET",
     TEXT(local.master_socket, check_absolute_path),
     .unset = "no master socket",
     .expected = "the absolute path of a unix socket",
     .help = "HAProxy's master socket (`haproxy -W -S`), for HAPROXY_CONFIG_FILE. Reloads are requested there, and "
             "their result is read there.",
     .example = "/run/haproxy-master.sock"},
    {.name = "HAPROXY_STATS_SOCKET",
     TEXT(local.stats_socket, check_absolute_path),
     .unset = "by the master socket",
     .expected = "the absolute path of a unix socket",
     .help = "HAProxy's stats socket (level admin), for HAPROXY_CONFIG_FILE. The state of the running HAProxy is read "
             "there, and servers are changed there.",
     .example = "/run/haproxy/admin.sock"},
    {.name = "HAPROXY_BIN",
     TEXT(local.program, check_path),
     .fallback = "haproxy",
     .expected = "the path of the haproxy program, or its name in PATH",
     .help = "The haproxy program that checks HAPROXY_CONFIG_FILE. It must be the one that runs.",
     .example = "/usr/local/sbin/haproxy"},
    {.name = "HAPROXY_ENVIRONMENT_FILE",
     TEXT(local.environment_file, check_path),
     .unset = "HAProxy is asked (`show env`)",
     .expected = "the path of a file",
     .help = "A file with the environment that HAProxy runs in. haproxy -c runs in the same, as a configuration may "
             "depend on it (`.if defined(...)`, \"$NAME\"). Lines NAME=VALUE, as a unit's EnvironmentFile; "
             "HAPROXY_LOCALPEER in it is the name of -L.",
     .example = "/etc/default/haproxy"},
    {.name = "HAPROXY_CHECK_FILES",
     SPECIAL(local.check_files, type_names),
     .unset = "none",
     .expected = "1 to 64 absolute paths, separated by commas or white space, none twice",
     .help = "Further files that this HAProxy reads (its other -f), in its order. If HAPROXY_CONFIG_FILE is in the "
             "list, it is read at that place; otherwise it is read last.",
     .example = "/etc/haproxy/static.cfg",
     .is_list = true},
    {.name = "HAPROXY_STORAGE_DIR",
     TEXT(local.storage_dir, check_absolute_path),
     .unset = "the folder of HAPROXY_CONFIG_FILE; with a Data Plane API /etc/haproxy",
     .expected = "the absolute path of a folder",
     .help = "Folder that has those of the files of a whole configuration. They are maps, ssl (each certificate with "
             "its key) and general (all other files, certificates with an Ed25519 key, and the daemon's list of all "
             "files that it stored). With HAPROXY_CONFIG_FILE the daemon creates one that is missing. With "
             "CONFIG_SOURCE template or services it says where a Data Plane API has them, which does not tell: the "
             "folder above maps_dir, ssl_certs_dir and general_storage_dir of dataplaneapi.yml.",
     .example = "/var/lib/haproxy"},
    {.name = "HAPROXY_RELOAD_COMMAND",
     TEXT(local.reload_command, check_path),
     .unset = "by the master socket",
     .expected = "a program and its arguments, separated by blanks; there is no shell",
     .help = "A command that reloads the HAProxy of HAPROXY_CONFIG_FILE, in place of its master socket. It has to end "
             "once the reload was requested; exit status 0 means that it was.",
     .example = "systemctl reload haproxy"},
    {.name = "HAPROXY_DATAPLANE_URL",
     SPECIAL(dataplanes, type_dataplanes),
     .fallback = "http://haproxy:5555",
     .expected = "http://host:port, https://host:port, or a unix socket as unix:/path; or up to 16 of them, separated "
                 "by commas, none twice",
     .help = "URL of HAProxy's Data Plane API (version 3), or of several. Each HAProxy is kept in sync independently "
             "of the others: one that is down does not delay them. With CONFIG_SOURCE=template there is no default: "
             "if neither this setting nor HAPROXY_CONFIG_FILE is set, the HAProxies are the pods that `targets` of "
             "the template set names. IPv6 addresses need brackets. Add a path only for a proxy in front of the API "
             "that needs it. Credentials and TLS files have settings of their own.",
     .example = "http://haproxy-a:5555,https://[2001:db8::5]:5555",
     .is_list = true,
     .alias = "DATAPLANE_URL",
     .alias_fallback = "https://haproxy:5555/v3"},
    {.name = "HAPROXY_DATAPLANE_USERNAME",
     SECRET(dataplane_username),
     .unset = "no basic authentication",
     .expected = "a user name without ':' and control characters",
     .help = "User of the Data Plane API. Needs HAPROXY_DATAPLANE_PASSWORD. With _FILE the value is read from a file, "
             "and read again when that file changes; the same holds for HAPROXY_DATAPLANE_PASSWORD and "
             "HAPROXY_DATAPLANE_TOKEN.",
     .example = "admin",
     .alias = "DATAPLANE_USERNAME"},
    {.name = "HAPROXY_DATAPLANE_PASSWORD",
     SECRET(dataplane_password),
     .unset = "no basic authentication",
     .expected = "a password without control characters",
     .help = "Password of HAPROXY_DATAPLANE_USERNAME.",
     .example = "change-me",
     .masked = true,
     .alias = "DATAPLANE_PASSWORD"},
    {.name = "HAPROXY_DATAPLANE_TOKEN",
     SECRET(dataplane_token),
     .unset = "no bearer token",
     .expected = "a token of visible ASCII characters, without the word Bearer",
     .help = "Bearer token, instead of user name and password, for a proxy in front of the Data Plane API. The API "
             "itself supports basic authentication only.",
     .example = "change-me",
     .masked = true},
    {.name = "HAPROXY_DATAPLANE_CREDENTIALS_FILE",
     TEXT(dataplane_credentials_file, NULL),
     .unset = "the settings above, for each URL",
     .expected = "the path of a file with lines " CREDENTIALS_LINE_EXPECTED ", at most one for a URL",
     .help = "File with the credentials of each URL. A URL with a line in it uses that line, other URLs use the "
             "settings above. Empty lines and lines that begin with # are skipped. The file is read again when it "
             "changes; which URLs have a line is fixed at the start.",
     .example = "/etc/haproxy-k8s-sync/credentials"},
    {.name = "HAPROXY_DATAPLANE_CA_FILE",
     TEXT(dataplane_ca_file, check_path),
     .unset = "the system's trust store",
     .expected = "the path of a file with certificates in PEM form",
     .help = "CA that signed the Data Plane API's certificate, for https URLs. This file, HAPROXY_DATAPLANE_CERT_FILE "
             "and HAPROXY_DATAPLANE_KEY_FILE are read again when they change. If a new one cannot be used, an error "
             "is logged and the old one stays in use.",
     .example = "/etc/haproxy-k8s-sync/tls/ca.crt",
     .alias = "DATAPLANE_CA_CERT"},
    {.name = "HAPROXY_DATAPLANE_CERT_FILE",
     TEXT(dataplane_cert_file, check_path),
     .unset = "no client certificate",
     .expected = "the path of a file with a certificate, and its chain, in PEM form",
     .help = "Client certificate, for a Data Plane API that requires one. Needs HAPROXY_DATAPLANE_KEY_FILE.",
     .example = "/etc/haproxy-k8s-sync/tls/tls.crt",
     .alias = "DATAPLANE_CLIENT_CERT"},
    {.name = "HAPROXY_DATAPLANE_KEY_FILE",
     TEXT(dataplane_key_file, check_path),
     .unset = "no client certificate",
     .expected = "the path of a file with a private key in PEM form, without a passphrase",
     .help = "Private key of the certificate in HAPROXY_DATAPLANE_CERT_FILE.",
     .example = "/etc/haproxy-k8s-sync/tls/tls.key",
     .alias = "DATAPLANE_CLIENT_KEY"},
    {.name = "HAPROXY_DATAPLANE_SERVER_NAME",
     TEXT(dataplane_server_name, check_host_name),
     .unset = "the host in the URL",
     .expected = "a host name",
     .help = "Host name to verify in the Data Plane API's certificate and to send as SNI.",
     .example = "haproxy.example.com"},
    {.name = "HAPROXY_DATAPLANE_INSECURE",
     FLAG_OFF(dataplane_insecure),
     .help = "Whether to skip the verification of the Data Plane API's certificate. Anyone in between can then read "
             "the password and change HAProxy: for test benches only.",
     .alias = "DATAPLANE_INSECURE"},
    {.name = "SPIRE_AGENT_SOCKET",
     TEXT(spire_socket, check_spire_socket),
     .unset = "no SPIFFE",
     .expected = "the absolute path of a unix socket, also as unix:///path",
     .help = "Socket of the SPIFFE Workload API, as of a SPIRE agent, in place of the TLS files above. The daemon's "
             "X.509 SVID is the client certificate for each URL. The Data Plane API's own SVID is verified by the "
             "trust bundles; the host name is not checked. SVID and trust bundles are followed as they change. Every "
             "URL must be an https one.",
     .example = "/run/spire/agent-sockets/spire-agent.sock",
     .flag = "spire-socket"},
    {.name = "SPIFFE_PEER_ID",
     TEXT(spiffe_peer_id, check_spiffe_id),
     .unset = "any SPIFFE ID of the daemon's own trust domain, named in a warning",
     .expected = "a SPIFFE ID",
     .help = "The SPIFFE ID that the Data Plane API must have, with SPIRE_AGENT_SOCKET. It may be one of a federated "
             "trust domain.",
     .example = "spiffe://example.org/haproxy/dataplane",
     .safety = true},
    {.name = "HAPROXY_BACKEND_NAME",
     TEXT(backend_name, name_check_backend),
     .unset = "the name of the Service",
     .expected = "a backend's name (letters, digits, '-', '_', '.' and ':')",
     .help = "HAProxy backend whose servers are kept equal to the nodes.",
     .example = "ingress",
     .single = true},
    {.name = "HAPROXY_BACKEND_PORT",
     NUMBER(backend_port, 1, UINT16_MAX),
     .unset = "the Service's nodePort, or else the endpoint's own port",
     .expected = "a port number, 1 to 65535",
     .help = "Port of every server. By default it is the nodePort of the Service's port if the Service is of type "
             "NodePort or LoadBalancer. Otherwise, or if the Service cannot be read, it is the endpoint's own port, "
             "which is right only if the pods use the host network. If no port or several are found, nothing is "
             "written and /readyz gives the reason. Not allowed with several entries in INGRESS_SERVICES.",
     .example = "30443"},
    {.name = "HAPROXY_SEND_PROXY_V2",
     FLAG_OFF(proxy_v2),
     .check = check_true_or_false,
     .help = "Whether to send the client's address to the servers by PROXY protocol version 2. The servers must "
             "accept it. true puts send-proxy-v2 into the backend's default-server; unmanaged servers inherit it."},
    {.name = "HAPROXY_BALANCE",
     WORD_OR_KEEP(balance, check_balance),
     .fallback = "roundrobin",
     .expected = "roundrobin, static-rr, leastconn, first, source, random, uri, rdp-cookie or keep",
     .help = "Balance algorithm of the backend. keep leaves the one in haproxy.cfg. If an algorithm needs an argument "
             "(hash, hdr, url_param), write it in haproxy.cfg and use keep.",
     .example = "leastconn"},
    {.name = "SERVER_WEIGHTS",
     WORDS(weights, [WEIGHTS_KEEP] = "keep", [WEIGHTS_EQUAL] = "equal", [WEIGHTS_ENDPOINTS] = "endpoints"),
     .fallback = "keep",
     .expected = "keep, equal or endpoints",
     .help = "Weights of the servers. keep: weights in haproxy.cfg stay, and a new server gets the weight that all "
             "others have, or 100 if they differ. equal: 100 for all. endpoints: the number of ready endpoints on the "
             "node, at most 256; with a node port and externalTrafficPolicy Cluster it acts as equal, because every "
             "node spreads connections over all endpoints. Changing back to keep leaves the counted weights: use "
             "equal once to reset them.",
     .example = "endpoints"},
    {.name = "ADOPT_SERVERS",
     WORDS(adopt, [ADOPT_KEEP] = "keep", [ADOPT_RENAME] = "rename", [ADOPT_NO] = "no"),
     .fallback = "keep",
     .expected = "keep, rename or no",
     .help = "What to do with a server that has the address and port of a desired server under another name, such as "
             "one of another controller. keep: adopt it with its name and weight, without a reload. rename: add a new "
             "server beside it, and remove the old one when the new one serves. no: remove it like any other server "
             "that is not desired; the loss limit counts it. Backup servers and HAPROXY_KEEP_SERVERS are never "
             "adopted.",
     .example = "rename",
     .safety = true},
    {.name = "SERVER_NAME_FORMAT",
     TEXT(server_name_format, check_server_name_format),
     .fallback = "{node}",
     .expected = "letters, digits, '_', '.', ':', '-' and the placeholders {node}, {address}, {port} and {cluster}, "
                 "each at most once, with {node} or {address} among them, at most 64 characters",
     .help = "Names of new servers. {node} is the node's name, or the address of an endpoint without a node; "
             "{address} and {port} are the server's own. Servers that exist keep their names, see ADOPT_SERVERS. With "
             "{cluster}, which is CLUSTER_NAME, several clusters share a backend: each manages the servers whose "
             "names have its own name there, and no others (docs/several-clusters.md). A '_' separates {cluster} from "
             "other placeholders.",
     .example = "{node}-{port}"},
    {.name = "HAPROXY_ADV_CHECK",
     WORD_OR_KEEP(adv_check, check_adv_check),
     .fallback = "tcp-check",
     .expected = "tcp-check, httpchk, ssl-hello-chk, ldap-check, mysql-check, redis-check, smtpchk or keep",
     .help = "Type of the servers' health check. keep leaves the one in haproxy.cfg. If a check needs an argument "
             "(pgsql-check), write it in haproxy.cfg and use keep.",
     .example = "httpchk"},
    {.name = "HAPROXY_HEALTH_CHECK",
     WORDS(health_check, [SETTINGS_HEALTH_CHECK_BACKEND] = "backend", [SETTINGS_HEALTH_CHECK_NODE_PORT] = "node-port"),
     .fallback = "backend",
     .expected = "backend or node-port",
     .help = "Target of the health checks. backend: the server's own port, with the check of HAPROXY_ADV_CHECK. "
             "node-port: HTTP to the Service's healthCheckNodePort, where kube-proxy reports whether its node has a "
             "ready endpoint. Only a Service of type LoadBalancer with externalTrafficPolicy Local has that port; for "
             "others it acts as backend.",
     .example = "node-port"},
    {.name = "HAPROXY_KEEP_SERVERS",
     SPECIAL(keep_servers, type_globs),
     .unset = "none",
     .expected = "names of servers, with *, ? and [...] as in a shell, separated by commas or spaces",
     .help = "Servers of the backend that are never changed. All others, except backup servers, are managed: they are "
             "changed, parked and removed to match the nodes.",
     .example = "static-*,legacy",
     .is_list = true,
     .safety = true},
    {.name = "HAPROXY_CREATE_BACKEND",
     FLAG_OFF(create_backend),
     .help = "Whether to create a missing backend. By default a missing backend is an error until it exists."},
    {.name = "DRAIN_TIMEOUT",
     DURATION(drain_timeout_ms, 0, 24 * HOUR_MS),
     .fallback = "30s",
     .expected = "a duration from 0 to 24h, such as 30s or 2m",
     .help = "How long a server drains at most. A server drains while all endpoints of its node are terminating but "
             "still serve, and another node has ready ones: it gets no new connections, and open ones continue. If it "
             "cannot be drained at runtime without a reload, it is put into maintenance instead. After DRAIN_TIMEOUT, "
             "or as soon as the endpoints are gone, it is taken out and parked (PARK_TTL). A ready endpoint ends the "
             "drain. 0: it is taken out at once.",
     .example = "2m"},
    {.name = "PARK_TTL",
     DURATION(park_ttl_ms, 0, 720 * HOUR_MS),
     .fallback = "1h",
     .expected = "a duration from 0 to 720h, such as 30m or 12h",
     .help = "How long a server that was taken out stays parked: in haproxy.cfg, in maintenance. A parked server "
             "returns without a reload. After PARK_TTL, or when its node is gone, it is removed by the next "
             "transaction. At most 64 servers are parked. 0: it is removed at once, with a reload.",
     .example = "12h"},
    {.name = "PARK_NODES",
     FLAG_OFF(park_nodes),
     .help = "Whether to park a server for each further node that could get one (at most 64). Then even the first pod "
             "on a node needs no reload. With CONFIG_SOURCE=services the default is true."},
    {.name = "ALLOW_EMPTY",
     FLAG_OFF(allow_empty),
     .help = "Whether to take out the last servers when no usable endpoint is left. By default they stay in use until "
             "there is a usable endpoint again.",
     .safety = true},
    {.name = "MAX_LOSS_PERCENT",
     NUMBER(max_loss_percent, 0, 100),
     .fallback = "50",
     .expected = "a whole number from 0 to 100",
     .help = "The loss limit: how many percent of the servers in use may be removed unannounced in one RESYNC_PERIOD. "
             "A larger loss is often a fault of the control plane: removals beyond the limit are delayed by one "
             "RESYNC_PERIOD for each server, while additions and changes are written. A removal is announced, and "
             "does not count, if the endpoint terminates or the node has a deletionTimestamp, a taint for its removal "
             "or a label that excludes it. Parked servers do not count either. 100: no delay. For the last servers "
             "see ALLOW_EMPTY.",
     .example = "25",
     .safety = true},
    {.name = "DRY_RUN",
     FLAG_OFF(dry_run),
     .help = "Whether to leave HAProxy unchanged. Everything else runs, and changes are logged and counted in "
             "/metrics instead of written. Use it first to compare with another controller.",
     .flag = "dry-run",
     .safety = true},
    {.name = "RESYNC_PERIOD",
     DURATION(resync_period_ms, 1000, 24 * HOUR_MS),
     .fallback = "30s",
     .expected = "a duration from 1s to 24h, such as 30s, 1m30s or 2h",
     .help = "How often to compare HAProxy with the desired state and repair drift. For this its configuration and "
             "its runtime state are read. Changes in Kubernetes do not wait for it.",
     .example = "1m"},
    {.name = "LEADER_ELECT",
     FLAG_OFF(leader_elect),
     .help = "Whether several replicas elect a leader by a Lease. The leader writes; the others stand by with warm "
             "caches. Needs the rights on leases in deploy/rbac.yaml. Without it only one replica may run. With "
             "DRY_RUN no Lease is used.",
     .safety = true,
     .flag = "leader-elect"},
    {.name = "LEASE_NAME",
     TEXT(lease_name, check_lease_name),
     .fallback = "haproxy-k8s-sync",
     .expected = "a Lease's name (lower-case letters, digits, '-' and '.', at most 253 characters)",
     .help = "Name of the Lease of LEADER_ELECT. Replicas of one group share it; daemons for other backends or other "
             "HAProxies need another.",
     .example = "haproxy-k8s-sync-internal",
     .alias_fallback = "haproxy-operator.tlu.bcit.ca"},
    {.name = "LEASE_NAMESPACE",
     TEXT(lease_namespace, name_check_label),
     .unset = "the pod's own, or outside of a pod that of the first Service",
     .expected = "a namespace's " NAME_OF,
     .help = "Namespace of the Lease of LEADER_ELECT.",
     .example = "ingress-nginx"},
    {.name = "KUBECONFIG",
     TEXT(kubeconfig, check_kubeconfig),
     .unset = "the service account of the pod",
     .expected = "paths of kubeconfig files, separated by ':'",
     .help = "Kubeconfig files, for access to the Kubernetes API from outside a pod. Exec credential plugins (v1, "
             "v1beta1) run without a terminal.",
     .example = "/etc/haproxy-k8s-sync/kubeconfig",
     .flag = "kubeconfig"},
    {.name = "SECCOMP",
     FLAG_OFF(seccomp),
     .help = "Whether to install a system call filter after the start. The daemon can then start no program, write no "
             "file but in STATE_DIR (by Landlock, too, where the kernel has it), and make no system call that it does "
             "not need. The image, the manifests, the chart and the Debian package turn it on. It cannot be used with "
             "a credential plugin in the kubeconfig, because that is a program.",
     .safety = true},
    {.name = "EMIT_EVENTS",
     FLAG_OFF(emit_events),
     .help = "Whether to record changes of HAProxy as Kubernetes Events on the Service. `kubectl describe service` "
             "shows them: Synced, Draining, RemovalDelayed, ApplyFailed, ReloadFailed, DriftRepaired. Events about a "
             "configuration from a Secret (CONFIG_REPORT) are recorded on that Secret. The default is true with "
             "CONFIG_SOURCE=services and template, whose tenants have no other answer. Needs the rights on events in "
             "deploy/rbac.yaml. With DRY_RUN no Events are written.",
     .alias_fallback = "true"},
    {.name = "LISTEN_ADDRESS",
     SPECIAL(listen, type_listen_address),
     .fallback = ":8080",
     .expected = ":port, IPv4:port or [IPv6]:port, such as :8080, 127.0.0.1:8080 or [::1]:8080",
     .help = "Address of /healthz, /livez, /readyz, /metrics and the status page. Without a host it listens on all "
             "addresses.",
     .example = "127.0.0.1:8080"},
    {.name = "METRICS_ADDRESS",
     SPECIAL(metrics_listen, type_listen_address),
     .unset = "/metrics at LISTEN_ADDRESS alone",
     .expected = "an address as LISTEN_ADDRESS, or 0 for none",
     .help = "Further address for /metrics alone.",
     .example = ":9090",
     .alias = "METRICS_ADDR",
     .alias_fallback = ":9090",
     .flag = "metrics-bind-address"},
    {.name = "PROBE_ADDRESS",
     SPECIAL(probe_listen, type_listen_address),
     .unset = "/healthz, /livez and /readyz at LISTEN_ADDRESS alone",
     .expected = "an address as LISTEN_ADDRESS, or 0 for none",
     .help = "Further address for /healthz, /livez and /readyz alone.",
     .example = ":8081",
     .alias = "PROBE_ADDR",
     .alias_fallback = ":8081",
     .flag = "health-probe-bind-address"},
    {.name = "STATUS_PAGE",
     FLAG_ON(status_page),
     .help = "Whether to serve the status page (/) and its JSON (/status) at LISTEN_ADDRESS. Anyone who can reach it "
             "sees names and addresses of nodes, URLs of the Data Plane APIs, and the last changes."},
    {.name = "LOG_FORMAT",
     WORDS(log_format, [LOG_FORMAT_LOGFMT] = "logfmt", [LOG_FORMAT_JSON] = "json"),
     .fallback = "logfmt",
     .expected = "logfmt or json",
     .help = "Format of the log lines.",
     .example = "json"},
    {.name = "LOG_LEVEL",
     WORDS(log_level, [LOG_LEVEL_DEBUG] = "debug", [LOG_LEVEL_INFO] = "info", [LOG_LEVEL_WARN] = "warn",
           [LOG_LEVEL_ERROR] = "error"),
     .fallback = "info",
     .expected = "debug, info, warn or error",
     .help = "Lowest level that is logged.",
     .example = "debug",
     .flag = "log-level"},
    {.name = "OTEL_EXPORTER_OTLP_ENDPOINT",
     TEXT(traces.endpoint, check_otlp_url),
     .unset = "no traces",
     .expected = "a URL http(s)://host[:port][/path] without user name and query",
     .help = "URL of an OpenTelemetry collector that takes traces by OTLP/HTTP. Traces of each change are sent as "
             "JSON to this URL with /v1/traces appended. No change waits for them. Spans: docs/traces.md.",
     .example = "http://otel-collector:4318"},
    {.name = "OTEL_EXPORTER_OTLP_HEADERS",
     SECRET(traces.headers),
     .unset = "no further headers",
     .expected = "headers as name=value, separated by commas, their values perhaps percent-encoded",
     .help = "Headers that are sent with traces, such as a credential of the collector. They are masked wherever "
             "settings are shown. With _FILE they are read from a file, and read again when that file changes.",
     .example = "authorization=Bearer%20change-me",
     .masked = true},
    {.name = "OTEL_EXPORTER_OTLP_CERTIFICATE",
     TEXT(traces.ca_file, check_path),
     .unset = "the system's trust store",
     .expected = "the path of a PEM file",
     .help = "CA certificates that an https collector is verified by. The file is read again when it changes.",
     .example = "/etc/haproxy-k8s-sync/collector-ca.pem"},
    {.name = "OTEL_RESOURCE_ATTRIBUTES",
     TEXT(traces.attributes, check_pairs),
     .unset = "none",
     .expected = "key=value, separated by commas, values perhaps percent-encoded",
     .help = "Further attributes of all traces. service.name is haproxy-k8s-sync unless it is among them. "
             "service.version, service.instance.id, host.name and, in a pod, k8s.pod.name and k8s.namespace.name are "
             "always set.",
     .example = "deployment.environment.name=production,k8s.cluster.name=edge"},
    {.name = NULL},
};

_Static_assert(array_len(setting_table) - 1 <= SETTINGS_MAX, "struct settings has a place for each in `given`");

const struct setting *setting_of(size_t member)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->member == member)
            return row;
    abort(); /* a member that is no setting: a bug */
}

bool setting_is_given(const struct settings *s, const struct setting *row)
{
    return s->given[row - setting_table];
}

unsigned setting_count_given(const struct settings *s)
{
    unsigned count = 0;
    for (size_t i = 0; i < array_len(s->given); i++)
        count += s->given[i];
    return count;
}

void setting_set_given(struct settings *s, const struct setting *row)
{
    s->given[row - setting_table] = true;
}
