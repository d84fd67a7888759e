/* The checks of one Service: the object, its port, its endpoints, the nodes, and what servers come of it. Pure. */
#ifndef CLI_DOCTOR_DOCTOR_SERVICE_H
#define CLI_DOCTOR_DOCTOR_SERVICE_H

#include <stddef.h>

struct settings;
struct doctor_names;
struct doctor_report;
struct inspect_report;

/* Of all of them, where Kubernetes was not read: that is said once. */
void doctor_services_report_unread(const struct inspect_report *seen, struct doctor_report *r);

/* Where it was: of mapping `at` of what was seen. names: which Services there are, where that one is not. */
void doctor_service_report(const struct inspect_report *seen, size_t at, const struct settings *settings,
                           const struct doctor_names *names, struct doctor_report *r);

#endif
