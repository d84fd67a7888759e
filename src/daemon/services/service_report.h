/* What is served of annotated Services, kept for /status: which host name and path goes where. */
#ifndef DAEMON_SERVICES_SERVICE_REPORT_H
#define DAEMON_SERVICES_SERVICE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct services_plan;

#define SERVICE_REPORT_MAX 500 /* routes that are kept, of all frontends together */

struct reported_route {
    char *host, *path;     /* NULL: of TCP; all paths */
    char *service, *port;  /* "namespace/name"; "" where the port has no name */
    char *backend, *sends; /* one of them is NULL; sends: "https://shop.example:8443", clients are redirected there */
};

struct reported_frontend {
    char *address; /* "*": all */
    uint16_t port;
    bool tcp, tls;
    size_t route_count;
    struct reported_route *routes; /* the first `kept` of them */
    size_t kept;
};

/* A zeroed one is empty. */
struct service_report {
    struct reported_frontend *frontends; /* those with a route that is kept */
    size_t count;
    size_t frontend_count; /* of all */
};

void service_report_fini(struct service_report *r);
/* In place of what it has. */
void service_report_take(struct service_report *r, const struct services_plan *p);

#endif
