/* The checks of one HAProxy and its Data Plane API, and of each backend in it. */
#ifndef CLI_DOCTOR_DOCTOR_HAPROXY_H
#define CLI_DOCTOR_DOCTOR_HAPROXY_H

#include "base/error.h"

struct settings;
struct settings_dataplane;
struct doctor_dataplane;
struct doctor_report;
struct doctor_section;
struct inspect_backend;
struct inspect_report;
struct inspect_target;
struct spiffe;
struct tls_files;

struct doctor_haproxy_input {
    const struct settings *settings;
    const struct settings_dataplane *of;  /* NULL: it is reached by its own file and sockets */
    const struct doctor_dataplane *asked; /* its client NULL: none could be made, because of no_client */
    const struct error *no_client;
    const struct tls_files *tls; /* NULL: no URL is https, or there is spiffe */
    const struct spiffe *spiffe; /* NULL: no SPIRE_AGENT_SOCKET */
    const struct inspect_report *seen;
    const struct inspect_target *target; /* of seen; NULL: it was not read, because it could not be asked */
};

void doctor_haproxy_report(const struct doctor_haproxy_input *in, struct doctor_section *s);
/* A section of its own. */
void doctor_backend_report(const struct doctor_haproxy_input *in, const struct inspect_backend *b,
                           struct doctor_report *r);

/* What makes a reload bring what haproxy.cfg does not say. */
void doctor_states_report(const struct doctor_haproxy_input *in, struct doctor_section *s);

/* ---- parts ---- */

/* Whether HAProxy runs as master and worker, so that a reload keeps its connections. */
void doctor_master_worker_report(const struct doctor_haproxy_input *in, struct doctor_section *s);
/* What it runs, whether runtime updates are possible, how its reloads end. */
void doctor_running_report(const struct doctor_haproxy_input *in, struct doctor_section *s);

#endif
