/* What is shown of the HAProxies: how each stands, and the servers that are there. */
#ifndef DAEMON_STATUS_HAPROXY_H
#define DAEMON_STATUS_HAPROXY_H

#include <stddef.h>
#include <stdint.h>

#include "report/checks.h"

struct target;
struct yyjson_mut_doc;
struct yyjson_mut_val;

struct status_haproxies {
    const struct checks *checks;
    int64_t wall_minus_mono_ms; /* constant, so that a moment to come is the same each time */
    size_t left;                /* servers that may still be listed */
};

/* Adds one to the list; what is worse than *worst replaces it. */
void status_haproxy_add(const struct target *t, struct status_haproxies *h, struct yyjson_mut_doc *doc,
                        struct yyjson_mut_val *list, enum status_state *worst);
/* One that another replica looks after. */
void status_haproxy_add_standby(const char *url, struct yyjson_mut_doc *doc, struct yyjson_mut_val *list);

#endif
