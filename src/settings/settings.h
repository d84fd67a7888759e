/*
 * All settings of the daemon, parsed once from the environment into one validated struct. No field is found
 * by name anywhere else. What says how each is read and shown is its row in settings/table.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "model/choices.h"
#include "model/node_rules.h"
#include "settings/secrets/secret.h"

#define SETTINGS_EXIT_CODE 78 /* EX_CONFIG of sysexits.h */
#define SETTINGS_MAX 128      /* rows of the table */

enum settings_health_check { SETTINGS_HEALTH_CHECK_BACKEND, SETTINGS_HEALTH_CHECK_NODE_PORT };

enum settings_config_rollback { SETTINGS_ROLLBACK_AUTO, SETTINGS_ROLLBACK_SERVING, SETTINGS_ROLLBACK_REPORT };
enum settings_config_drift { SETTINGS_DRIFT_REPORT, SETTINGS_DRIFT_REPAIR, SETTINGS_DRIFT_IGNORE };
enum settings_config_source {
    SETTINGS_CONFIG_NONE,
    SETTINGS_CONFIG_FILE,
    SETTINGS_CONFIG_SECRET,
    SETTINGS_CONFIG_TEMPLATE,
    SETTINGS_CONFIG_SERVICES,
    SETTINGS_CONFIG_ETCD
};
/* Where it goes. */
enum settings_config_report { SETTINGS_REPORT_EVENTS, SETTINGS_REPORT_ANNOTATION };
enum settings_host_ownership { SETTINGS_HOSTS_OF_NAMESPACE, SETTINGS_HOSTS_OF_ANY };
enum settings_foreign_protection { SETTINGS_FOREIGN_REFUSE, SETTINGS_FOREIGN_WARN };
enum settings_config_target { SETTINGS_TARGET_HAPROXY, SETTINGS_TARGET_ETCD };

/* Where a template set is: a folder, a ConfigMap, or the four objects of templates over pods, which have a namespace alone;
 * all NULL: not given. */
struct settings_template_from {
    char *folder; /* absolute */
    char *namespace, *name;
};

/* One backend and the Service's port that it is for. */
struct settings_mapping {
    char *namespace;
    char *service;
    char *port; /* name or number; NULL: the Service's only one */
    char *backend;
};

#define SETTINGS_MAPPINGS_MAX 64

struct settings_ports {
    struct port_range *list;
    size_t count; /* 0: all ports */
};

/* One HAProxy, by its Data Plane API. */
struct settings_dataplane {
    /* "http(s)://host:port[/prefix]" or "unix:/path": validated, no userinfo, no query, no trailing slash, so that it
     * can be shown and that a path can be put behind it. */
    char *url;
    char *socket; /* unix path, NULL for TCP */
    /* Of its line in HAPROXY_DATAPLANE_CREDENTIALS_FILE (which may turn from user name and password to a token, and
     * back, when it is read again), else copies of those of the variables. */
    struct secret username, password, token;
};

#define SETTINGS_DATAPLANES_MAX 16

/* None twice. */
struct settings_names {
    char **list;
    size_t count;
};

/* Folders of its files, in the order of haproxy/storage_files. */
enum settings_folder { SETTINGS_FOLDER_MAPS, SETTINGS_FOLDER_CERTS, SETTINGS_FOLDER_FILES };
#define SETTINGS_FOLDERS 3

/* A HAProxy on this machine, by its own file and sockets. */
struct settings_local {
    char *file;                         /* absolute; NULL: none, the HAProxies are behind Data Plane APIs */
    char *master_socket, *stats_socket; /* absolute; NULL: none */
    char *program;                      /* a path, or a name in PATH */
    char *environment_file;             /* NULL: HAProxy is asked */
    struct settings_names check_files;  /* absolute */
    char *storage_dir;                  /* absolute; NULL: that of the file, see settings_local_folder */
    char *reload_command;               /* words; NULL: by the master socket */
};

/* Traces, by the variables that OpenTelemetry has for all programs. */
struct settings_traces {
    char *endpoint;        /* "http(s)://host:port[/prefix]"; NULL: none */
    struct secret headers; /* settings_pairs_parse takes it */
    char *ca_file;         /* NULL: the system's trust store */
    char *attributes;      /* settings_pairs_parse takes it; NULL: none */
};

/* key=value,key=value, as W3C Baggage has it: values may be percent-encoded. */
struct settings_pair {
    char *key, *value;
};

struct settings_pairs {
    struct settings_pair *list;
    size_t count;
};

/* Where configurations lie between a producer and load balancers. */
struct settings_etcd {
    struct settings_names endpoints; /* URLs with a port, no slash at their ends */
    char *path;                      /* "/a/b", no slash at its end */
    char *ca_file;                   /* NULL: the system's trust store */
    char *cert_file, *key_file;      /* both or none */
    char *user;                      /* NULL: no authentication */
    struct secret password;
    char *name; /* of this load balancer; NULL: the host's */
};

struct settings_listen {
    char *host; /* "" for every address */
    uint16_t port;
};

struct settings {
    /* INGRESS_SERVICES, or what the single variables make; no backend twice, in the order given; at least one, but with a
     * config_source perhaps none. */
    struct settings_mapping *mappings;
    size_t mapping_count;
    /* The single variables as they were given or by default; where INGRESS_SERVICES is given, of no effect. */
    char *ingress_namespace;
    char *ingress_service;
    char *ingress_port;     /* NULL: none */
    char *ingress_services; /* as it was given; NULL: not */

    enum settings_config_source config_source;
    char *config_file;      /* absolute; NULL: none */
    char *config_files_dir; /* absolute; NULL: none */
    bool config_file_watch;
    char *config_secret_namespace, *config_secret_name; /* NULL: none */
    char *config_secret_key;
    enum settings_config_report config_report;
    char *config_report_configmap; /* NULL: none */
    enum settings_config_drift config_drift;
    uint64_t config_min_interval_ms;
    unsigned config_canary; /* fewer than there are targets; 0: none */
    uint64_t config_canary_time_ms;
    enum settings_config_rollback config_rollback;
    char *state_dir; /* absolute; NULL: none */
    bool config_allow_lockout;
    struct settings_names config_keep_backends; /* none of the mappings' */
    struct settings_names config_certs_secrets;
    struct settings_template_from template_from;
    uint64_t template_timeout_ms;
    struct secret statistics_password;
    char *services_label; /* label selector, checked */
    char *annotation_prefix;
    char *cluster_name; /* NULL: none */
    struct settings_ports services_ports;
    char *services_certificates_dir;           /* absolute */
    struct settings_names services_namespaces; /* count 0: all */
    struct settings_names services_addresses;  /* "*", IP literals */
    struct settings_names services_secret_namespaces;
    char *services_default_certificate; /* absolute; NULL: none */
    enum settings_host_ownership host_ownership;
    char *host_owners_configmap; /* in the Lease's namespace; NULL: none */
    enum settings_foreign_protection foreign_protection;
    struct settings_names shared_hosts;    /* lower-case */
    struct settings_names trusted_proxies; /* addresses and networks (CIDR) */
    enum settings_config_target config_target;
    struct settings_etcd etcd;

    char *node_selector; /* label selector, checked; NULL: all Nodes */
    char *node_exclude_label;
    char *
        nodes_watched; /* label selector: node_selector, and not those with an exclude label of the user's; NULL: all */
    struct node_rules nodes; /* no type twice */
    enum node_mode node_mode;
    enum server_weights weights;
    enum adopt adopt;
    char *server_name_format;
    uint64_t drain_timeout_ms;
    unsigned max_loss_percent; /* 0 to 100 */
    bool dry_run;

    struct settings_local local;

    /* HAPROXY_DATAPLANE_URL: at least one, none twice, in the order given; none where there is a local.file, or
     * settings_haproxies_are_pods. */
    struct settings_dataplane *dataplanes;
    size_t dataplane_count;
    char *dataplane_credentials_file; /* NULL: none */
    /* What the variables give; in use by the dataplanes that have no line in that file, which have copies. The value of
     * one that is in a file is in those alone. */
    struct secret dataplane_username, dataplane_password, dataplane_token;

    /* TLS of every https URL among them: files, read again when they change; NULL: none. cert and key: both or none. */
    char *dataplane_ca_file; /* NULL: the system's trust store */
    char *dataplane_cert_file;
    char *dataplane_key_file;
    char *dataplane_server_name; /* to verify and to send as SNI; NULL: the URL's host */
    bool dataplane_insecure;     /* no verification at all */
    char *spire_socket;          /* path, perhaps behind unix://; then the others above are not set; NULL: none */
    char *spiffe_peer_id;        /* NULL: any of the daemon's own trust domain */

    char *backend_name;    /* the single variable, or its default */
    unsigned backend_port; /* 0: the Service's nodePort, or else the endpoint's own */
    bool proxy_v2;         /* in the backend's default-server */
    char *balance;         /* NULL: keep */
    char *adv_check;       /* NULL: keep */
    enum settings_health_check health_check;
    struct settings_names keep_servers; /* globs */
    bool create_backend;
    bool allow_empty;
    uint64_t park_ttl_ms; /* 0: servers that are out are removed at once */
    bool park_nodes;
    uint64_t resync_period_ms;

    bool leader_elect;
    char *lease_name;
    char *lease_namespace; /* NULL: the pod's own, or outside of one that of the first Service */

    bool seccomp;

    char *kubeconfig; /* colon-separated list of files; NULL: in-cluster */

    bool emit_events; /* Kubernetes Events on the Service */

    struct settings_listen listen;
    struct settings_listen metrics_listen, probe_listen; /* further ones; host NULL: none */
    bool status_page;
    enum log_format log_format;
    enum log_level log_level;
    struct settings_traces traces;

    bool beside_mode; /* MODE is set: the names and defaults of an operator count (struct setting) */

    bool given[SETTINGS_MAX]; /* n: row n of settings/table.c was, in whichever form; the others are defaults */
};

/* The effective settings, one NAME=value a line and where it comes from behind "  # ", secrets masked; then a line of
 * remark for each HAProxy and each backend, "# HAProxy http://a:5555: user name admin, password *** by its line in
 * FILE", "# backend web: Service ns/web, port https". What check-config prints. */
void settings_print(const struct settings *c, struct buf *out);

/* The mappings as INGRESS_SERVICES would have them: "ns/web:https=be_https, ns/api=api". For the log. */
void settings_print_mappings(const struct settings *c, struct buf *out);

/* As TEMPLATE_FROM has it; "" where there is none. */
void settings_print_template_from(const struct settings *c, struct buf *out);
/* SERVER_NAME_FORMAT has {cluster}: other clusters have servers in the same backends. */
bool settings_share_backends(const struct settings *s);
bool settings_template_pods(const struct settings *c); /* TEMPLATE_FROM=pods: */

/* The URLs as HAPROXY_DATAPLANE_URL would have them: "http://a:5555,unix:/run/b.sock"; "" where there is none. For the
 * log. */
void settings_print_dataplanes(const struct settings *c, struct buf *out);

/* Whether anything of it is in Kubernetes. */
bool settings_need_kubernetes(const struct settings *c);

/* No probes, no metrics, no page. */
void settings_listen_nowhere(struct settings *s);

/* By CONFIG_SOURCE or CONFIG_TARGET. */
bool settings_use_etcd(const struct settings *s);

/* The first namespace that the settings name: where the daemon is expected. */
const char *settings_first_namespace(const struct settings *c);

/* They are none of the settings': CONFIG_SOURCE is template, and neither HAPROXY_DATAPLANE_URL nor HAPROXY_CONFIG_FILE is
 * given. So the template set's `targets` says which pods they are. */
bool settings_haproxies_are_pods(const struct settings *s);
void settings_dataplane_fini(struct settings_dataplane *d);

/* What a HAProxy is called: its URL, or the path of its file. */
size_t settings_haproxy_count(const struct settings *s);
const char *settings_haproxy_name(const struct settings *s, size_t i);

/* Where files of that kind are put: in HAPROXY_STORAGE_DIR, or in the folder of the file; without one where a Data Plane API puts them by default.
 * Allocates. */
char *settings_local_folder(const struct settings_local *l, enum settings_folder kind);

/* Where traces go, as a URL; NULL: there are none. Allocates. */
char *settings_traces_url(const struct settings_traces *t);
/* -1: *ret_why says why, and holds no part of the text (a constant); *ret is empty then. */
int settings_pairs_parse(const char *text, struct settings_pairs *ret, const char **ret_why) must_check;
void settings_pairs_fini(struct settings_pairs *p); /* wipes */
/* The same of headers: their names are those that HTTP allows. NULL: they can be sent. */
const char *settings_headers_refuse(const char *text);

/* Whether any of the URLs is an https one. */
bool dataplanes_any_https(const struct settings *c);

/* The text of `help settings`: what each of them is for, what it expects, its default. */
void settings_print_help(struct buf *out);
/* The same of one of them, by the name of its variable. -1: there is none; *ret_nearest is then what may be meant, "DRY_RUN,
 * PARK_TTL", allocated, or NULL. */
int settings_print_help_of(const char *name, struct buf *out, char **ret_nearest) must_check;
