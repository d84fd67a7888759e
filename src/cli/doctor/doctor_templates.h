/* The checks of CONFIG_SOURCE=template: the set, what it watches, and a render of both, by what the daemon does it by
 * (daemon/template/template_source). */
#ifndef CLI_DOCTOR_DOCTOR_TEMPLATES_H
#define CLI_DOCTOR_DOCTOR_TEMPLATES_H

#include <stdint.h>

struct doctor_report;
struct event_base;
struct template_source_options;

/* Runs the loop of base, for at most so long. */
void doctor_templates(struct event_base *base, const struct template_source_options *options, uint64_t timeout_ms,
                      struct doctor_report *r);

#endif
