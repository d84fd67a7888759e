/*
 * The parts of `doctor`: what each asks and keeps, and which sections it adds. Data Plane APIs are asked side by side, and
 * while another part waits for its answers. Each leaves nothing behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "daemon/clients.h"
#include "net/http.h"
#include "cli/doctor/doctor_connection.h"
#include "cli/doctor/doctor_local.h"
#include "cli/doctor/doctor_rights.h"

struct checks;
struct doctor_dataplane;
struct doctor_options;
struct doctor_report;
struct doctor_section;
struct event_base;
struct inspect_backend;
struct inspect_report;
struct inspect_target;
struct nearest;
struct served;
struct settings;
struct settings_dataplane;
struct spiffe;

/* What all parts share; written by cli/doctor/doctor alone. */
struct doctor {
    struct event_base *base;
    struct settings *settings;
    const struct doctor_options *options;
    struct doctor_report *report;
    struct clients clients; /* the Data Plane clients as in settings, some of them NULL */
    struct error no_kube, no_dataplanes, no_local;
};

/* How one of the requests ended. */
struct doctor_reply {
    bool asked;         /* there was an end */
    bool unsent;        /* it could not even be started: there are no credentials to send with it */
    int status;         /* 0: no answer */
    struct error error; /* kind NONE: what was asked for came */
};

/* ---- Kubernetes ---- */

/* Whether it can be reached, its version, the user that it sees, and each right. */
struct doctor_kubernetes {
    struct http_connection connection; /* of the first request */
    struct doctor_reply reached, self, rights_reply;
    char *version; /* "v1.34.4"; NULL: not known */
    char *user;    /* NULL: not known */
    struct doctor_skew skew;
    struct doctor_rights rights;
};

void doctor_kubernetes_ask(struct doctor_kubernetes *k, struct doctor *d); /* there is a client; waits */
void doctor_kubernetes_fini(struct doctor_kubernetes *k);                  /* a zeroed one is allowed */
/* It can be asked for objects: connected, a Kubernetes API, and it does not refuse all requests. */
bool doctor_kubernetes_usable(const struct doctor_kubernetes *k);
/* The names of a list of objects, by that key of their metadata. What is refused, or no list, adds none: the names are a
 * help and no check. Waits, a few seconds at most. */
void doctor_kubernetes_names(struct doctor *d, const char *path, const char *key, struct nearest *into);
struct doctor_section *doctor_kubernetes_report(const struct doctor_kubernetes *k, const struct doctor *d);
/* Which of its objects were not received although no other check explains it. seen: the checks of the watches. */
void doctor_kubernetes_report_missing(const struct checks *seen, const struct doctor_report *r,
                                      struct doctor_section *s);

/* ---- Services ---- */

void doctor_services_report(const struct inspect_report *seen, struct doctor *d);

/* ---- HAProxy ---- */

/* Asks one Data Plane API what a plan does not: one GET after the other, nothing else. Several do so side by side, until
 * each was waited for. NULL client: there is none. */
struct doctor_dataplane *doctor_dataplane_start(struct doctor *d, struct dataplane_client *client) must_check;
void doctor_dataplane_wait(struct doctor_dataplane *p);
void doctor_dataplane_free(struct doctor_dataplane *p); /* NULL is allowed */
/* It is a Data Plane API of version 3 that accepts the credentials. */
bool doctor_dataplane_usable(const struct doctor_dataplane *p);
const struct doctor_skew *doctor_dataplane_skew(const struct doctor_dataplane *p);
/* target: NULL: it was not read, because it could not be asked. */
void doctor_dataplane_report(const struct doctor_dataplane *p, const struct doctor *d,
                             const struct settings_dataplane *of, const struct inspect_report *seen,
                             const struct inspect_target *target, struct doctor_section *s);

/* Whether that process of this machine is a HAProxy, and its parent. False also where /proc cannot be read. */
bool doctor_is_haproxy(uint64_t pid, uint64_t *ret_parent);

/* By the helper process that the daemon would use; waits. facts begins zeroed. */
void doctor_local_ask(struct local_facts *facts, struct doctor *d);

/* What makes a reload bring what haproxy.cfg does not say; and a section for each backend of that HAProxy. of: NULL: it is
 * reached by its own file and sockets; target: NULL: it was not read. */
void doctor_backends_report(const struct doctor *d, const struct settings_dataplane *of,
                            const struct inspect_report *seen, const struct inspect_target *target,
                            struct doctor_section *s);
/* What HAProxy's health checks say of the desired servers of a backend, and what usually causes that: a check, none where
 * nothing is known. served NULL or without them: what the checks say is not known. stats_socket NULL: the usual one.
 * Pure. */
void doctor_health_report(const struct inspect_backend *b, const struct served *served, const char *stats_socket,
                          struct doctor_section *s);

/* The PROXY protocol on both sides; connects to some of the nodes, and waits. */
void doctor_proxy_report(const struct inspect_report *seen, struct doctor *d);

/* ---- others ---- */

/* etcd: of each member GET /version, which needs no rights; then ETCD_PATH and its manifest, as the daemon reads them. The
 * right to write shows only when the daemon does. Waits. */
void doctor_etcd_report(struct doctor *d);

/* The running daemon, asked at LISTEN_ADDRESS by /readyz and /status: does it run, is it ready and in sync, is it of this
 * version. That none runs is no failure: doctor is of use before the first start, too. Waits. */
void doctor_daemon_report(struct doctor *d);

/* CONFIG_SOURCE=template: the set, what it watches, and a render of both, by what the daemon does it by
 * (daemon/template/template_source). Waits. */
void doctor_templates_report(struct doctor *d, const struct doctor_kubernetes *k);

/* The Workload API, and the daemon's identity. */
void doctor_spiffe_report(const struct spiffe *spiffe, struct doctor_report *r);
