/*
 * From annotated Services to frontends and backends: who is served where, who is not and why. Each port with a node port and
 * annotations of its own is one route. A host name is one namespace's, with all its paths and ports. Of two that want the same (a host
 * name; a port with tcp, one with and one without TLS) the one that was served before keeps it, then the older one, who has a host name
 * and path at one address and port, too; the names decide between two of one age. The same objects and incumbents give the same plan, in
 * whatever order they come. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/tally.h"
#include "model/objects.h"
#include "services/option.h"
#include "services/owners.h"

#define SERVICES_REDIRECT_PORT 80
/* What one namespace may have served, the oldest Services first: one that has more leaves the files of a document to the others. */
#define SERVICES_NAMESPACE_PORTS 2000
#define SERVICES_NAMESPACE_BYTES (1u << 20) /* of host names and paths */

/* Borrowed. */
struct services_rules {
    struct option_rules options;
    const char *prefix; /* of the older system's annotations, without the dot behind it; NULL: only this program's */
    /* Whether there is such a file in the folder of certificates; NULL: not known. */
    bool (*has_certificate)(void *arg, const char *name);
    /* Whether the TLS Secret "namespace/name" can be used, else why it cannot: "it does not exist". Asked of each that a port of
     * `service` ("namespace/name") names which could be served, the oldest Service first; NULL: not known. */
    bool (*has_secret)(void *arg, const char *name, const char *service, struct buf *why);
    /* What the plan before left to whom (services_plan.owners); NULL: nothing is known. */
    const struct service_owners *incumbents;
    /* By namespace, those who keep the host names that they had: a Service of theirs is left out. NULL: none. */
    const struct service_owners *held;
    char *const *namespaces;   /* whose Services are served */
    size_t namespace_count;    /* 0: all */
    bool any_owner;            /* HOST_OWNERSHIP=any: a host name's paths may be of several namespaces */
    char *const *shared_hosts; /* those of these host names, too, lower-case */
    size_t shared_host_count;
    bool unprotected; /* FOREIGN_PROTECTION=warn: those that ask for a protection that is not there are served, too */
    /* Whether something else listens at that address ("*": all) and port, and what: "haproxy.cfg, line 12"; NULL: not known. */
    bool (*is_taken)(void *arg, const char *place, uint16_t port, struct buf *by);
    /* Whether a Service is left out, whatever it would be served by; *ret_why: what is reported to it, allocated, NULL: nothing yet. It keeps
     * what is its own. NULL: none is. */
    bool (*withheld)(void *arg, const char *service, char **ret_why);
    void *arg;
};

/* A port that HAProxy serves, or a redirect to its TLS port. */
struct service_route {
    const struct annotated_service *service; /* borrowed */
    const struct service_port *port;         /* borrowed */
    size_t rank;                             /* 0: the oldest */
    const char *place;                       /* "10.0.0.1", "*" */
    uint16_t listen_port;
    bool redirect; /* of this host name, from port 80 */
    bool refused;
    bool withheld;               /* refused so */
    struct port_options options; /* owned by the route that is no redirect */
    char *backend;               /* NULL: a redirect */
};

/* An address and a port. A listener at one address takes its connections from the one at all addresses ("*"): it serves the host
 * names of that, too. */
struct service_frontend {
    const struct service_route **routes; /* that are served: by host name, the longest path first */
    size_t count;
    const struct service_route *served; /* an own one: address, port and mode are those of all */
};

/* What is reported to a Service. */
struct service_remark {
    const struct annotated_service *service; /* borrowed */
    const char *port;                        /* borrowed; NULL: the whole Service */
    char *text;                              /* "haproxy-kubefigurator.web.listen-port: ..." */
    bool refused;                            /* that port is not served */
};

struct services_plan {
    struct service_route *routes; /* by address and port, then host name, the longest path first */
    size_t route_count;
    struct service_frontend *frontends;
    size_t frontend_count;
    /* Of what is served: "bank.example.com" -> namespace; "*:443" -> "http", "https", or "tcp NAMESPACE". */
    struct service_owners owners;
    struct tally ports, bytes;      /* by namespace */
    struct service_remark *remarks; /* by the Service's name, in the order of its ports */
    size_t remark_count;
};

/* services: in any order, borrowed for as long as the plan is used. */
void services_plan_make(const struct annotated_service *const *services, size_t count,
                        const struct services_rules *rules, struct services_plan *ret);
void services_plan_fini(struct services_plan *p);

/* "*:443", "10.0.0.1:443". Allocates. */
char *services_place(const struct service_route *r) must_check;

/* What came of each annotation of s, which p was made with, as lines for people. */
void services_explain(const struct services_plan *p, const struct annotated_service *s,
                      const struct services_rules *rules, struct buf *out);

/*
 * Files of a frontend, so that another host name or path is no other haproxy.cfg, and that no line of it is too long. Of an HTTP
 * one HOSTS: a request's host, with and without the port, to the host name. PATHS: that name and a path that ends with a slash,
 * which a request's begins with, to a backend, or to where clients are sent ("https://..."). Each key once; the longest one
 * counts (map_str and map_beg). Of one with TLS CERTIFICATES: a path and the names that it is shown for a line (crt-list).
 */
enum services_file { SERVICES_HOSTS, SERVICES_PATHS, SERVICES_CERTIFICATES };
#define SERVICES_FILES 3
#define SERVICES_REDIRECT "https://"
/* Whether a frontend that serves has it. */
bool services_has_file(const struct service_frontend *f, enum services_file which);
/* "k8s-service_all_443_hosts.map"; without dots in front of that, a Data Plane API stores it by that name. Allocates. */
char *services_file_name(const struct service_frontend *f, enum services_file which) must_check;
/* Where clients of a redirect are sent: "https://shop.example:8443". Allocates. */
char *services_redirect_text(const struct service_route *r) must_check;

/* How frontends and their backends become lines of a haproxy.cfg and of its files. Folders: certificates, of ssl-certificate;
 * maps and lists, where these files are, with a slash at the end; maps NULL: there are no files, as far as lines have room, and
 * conditions stand in the frontends. secret allocates the path of the certificate of a Secret,
 * "namespace/name"; servers adds those of a backend, each a line. */
struct services_print {
    const char *certificates, *maps, *lists;
    const char *default_certificate; /* a path: for names that no route has; NULL: they get no connection */
    char *const *trusted;            /* networks whose clients' X-Forwarded-* are kept */
    size_t trusted_count;
    char *(*secret)(void *arg, const char *name);
    void (*servers)(void *arg, const struct service_route *r, struct buf *out);
    void *arg;
};
void services_file_print(const struct service_frontend *f, enum services_file which, const struct services_print *how,
                         struct buf *out);
/* Whether what is printed so refers to that file. */
bool services_uses_file(const struct service_frontend *f, enum services_file which, const struct services_print *how);
void services_plan_print(const struct services_plan *p, const struct services_print *how, struct buf *out);
