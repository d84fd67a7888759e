/*
 * The connections of one run: one libcurl multi, Kubernetes and the Data Plane APIs on it, or helper processes for a
 * HAProxy on this machine. Each API has two
 * connections: one reads and writes the configuration, one step at a time; the other commands the running HAProxy,
 * which must not wait for that.
 */
#pragma once

#include "daemon/daemon.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/local/helper.h"

struct driver;
struct local_helper;
struct settings_dataplane;
struct spiffe;
struct tls_files;

struct clients_dataplane {
    struct dataplane_client *file;
    struct dataplane_client *runtime;
    struct settings_dataplane *own; /* of one that was added; NULL: it is one of the settings */
};

/* What each Data Plane client gets, and each helper process. */
struct clients_hooks {
    struct dataplane_client_events events;
    struct dataplane_gate gate;
    struct local_helper_events helper;
    void (*identity_news)(void *arg); /* struct spiffe_options; may be NULL */
    void *arg;
};

struct clients {
    struct http *http;
    struct kube_client *kube;
    struct clients_dataplane *dataplanes; /* as in settings, and in its order; then those that were added */
    size_t dataplane_count;
    struct tls_files *dataplane_tls; /* NULL: no URL is https, or there is spiffe */
    struct spiffe *spiffe;           /* NULL: no SPIRE_AGENT_SOCKET */
    /* Of a HAProxy on this machine: one for its file, its checks and its reloads, one for what must not wait for these.
     * NULL: there is none. */
    struct local_helper *local_file, *local_commands;
};

/* settings and log outlive them. requested gets the client's URL as its target. ERROR_INVALID: certificates or a
 * token that cannot be used; ERROR_FATAL: no memory for libcurl. -1: *ret is to be freed still. */
int clients_make(struct event_base *base, struct settings *settings, const struct kube_access *access,
                 const char *version, const struct clients_hooks *hooks, const struct log *log, struct clients *ret,
                 struct error *err) must_check;
void clients_free(struct clients *c); /* a zeroed one is allowed */

/* The helper processes, where the settings name a HAProxy on this machine: the first thing of all, they are forked. A part
 * of clients_make. -1: as there. */
int clients_local(struct event_base *base, const struct settings *settings, const struct clients_hooks *hooks,
                  struct clients *ret, struct error *err) must_check;

/* The way to each HAProxy, in the order of the settings; new ones with each call, for targets_new. free() the list. */
struct driver **clients_drivers(struct event_base *base, const struct clients *c, const struct settings *settings,
                                size_t *ret_count) must_check;

/* One more Data Plane API, with the credentials and the TLS of all. url: http(s)://HOST:PORT. ERROR_INVALID: its name and
 * password, or its files, cannot be used. */
int clients_add(struct event_base *base, struct clients *c, const struct settings *settings, const char *url,
                const struct clients_hooks *hooks, const struct log *log, struct clients_dataplane *ret,
                struct error *err) must_check;
void clients_remove(struct clients *c, const struct dataplane_client *file); /* after its driver */

/* One connection to a Data Plane API, by the http and the TLS of c. */
struct dataplane_client *clients_dataplane(struct event_base *base, const struct clients *c,
                                           struct settings_dataplane *d, const struct clients_hooks *hooks,
                                           const struct log *log, struct error *err) must_check;

/* HAPROXY_DATAPLANE_CA_FILE and its like, read now. *ret is NULL where no URL is https, or SPIFFE stands in. Warns if nothing is
 * verified. ERROR_INVALID naming the variable and its file. */
int clients_dataplane_tls(const struct settings *settings, const struct log *log, struct tls_files **ret,
                          struct error *err) must_check;

/* Where the settings ask for it: the identity that the Data Plane APIs are spoken to with, in c. A part of clients_make.
 * The first requests need it: a caller without other work runs the loop until it came, or turned out not to
 * (clients_settle). */
void clients_spiffe(struct event_base *base, const struct settings *settings, const struct clients_hooks *hooks,
                    const struct log *log, struct clients *c);
void clients_settle(struct event_base *base, const struct clients *c);

/* ---- certificates that are in use or were seen, and how it stands about the identity from SPIFFE ---- */

/* Checks the files, too: between two requests of a watch there may be minutes. */
void certificates_measure(const struct clients *clients, struct metric_table *metrics, const struct log *log);

/* Calls fn for each that is in use or was seen. peer: "kubernetes" or a URL; which: "ca", "client" or "server". */
void certificates_each(const struct clients *c,
                       void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s), void *arg);

/* The check of the identity, where there is to be one: false without one that can be used. */
bool certificates_ready(const struct clients *c, struct checks *checks);
