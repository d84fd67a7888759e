/* What HAProxy's health checks say of the desired servers of a backend, and what usually causes that. Pure. */
#ifndef CLI_DOCTOR_DOCTOR_HEALTH_H
#define CLI_DOCTOR_DOCTOR_HEALTH_H

struct doctor_section;
struct inspect_backend;
struct served;

/* Adds one check; none where nothing is known of them. served NULL or without them: what the checks say is not known.
 * stats_socket NULL: the usual one. */
void doctor_health_report(const struct inspect_backend *b, const struct served *served, const char *stats_socket,
                          struct doctor_section *s);

#endif
