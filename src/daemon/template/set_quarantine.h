/* Objects of a template set that HAProxy refuses a configuration for (daemon/quarantine): those of watches with `quarantine`. */
#ifndef DAEMON_TEMPLATE_SET_QUARANTINE_H
#define DAEMON_TEMPLATE_SET_QUARANTINE_H

#include <stdbool.h>

struct objects;
struct quarantine;
struct rendered;
struct template_set;

/* Before a render: shows it the objects, of which the render sees none that is left out. q NULL: it sees all. */
void set_quarantine_prepare(struct quarantine *q, const struct template_set *set, struct objects *objects);
/* quarantine: the struct quarantine of the last prepare. */
bool set_quarantine_leaves_out(void *quarantine, const char *resource, const char *object);
/* Adds what is told to those that are left out, as by warn(). */
void set_quarantine_remark(const struct quarantine *q, const struct template_set *watched, struct rendered *r);

#endif
