/* What is served of annotated Services, kept for /status: which host name and path goes where. */
#ifndef DAEMON_SERVICES_SERVICE_REPORT_H
#define DAEMON_SERVICES_SERVICE_REPORT_H

#include "base/compiler.h"

struct services_plan;
struct yyjson_mut_doc;

#define SERVICE_REPORT_MAX 500 /* routes that are kept, of all frontends together */

/* {frontend_count, frontends}, as daemon/status/status.h has them; frontends with a route that is kept. It borrows nothing; to be freed by
 * json_free. */
struct yyjson_mut_doc *service_report_new(const struct services_plan *p) must_check;

#endif
