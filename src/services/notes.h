/*
 * The annotations of a Service that say something of its ports, by port and option: thousands of either cost no more than to sort
 * them. Pure.
 */
#ifndef SERVICES_NOTES_H
#define SERVICES_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "model/objects.h"

#define SERVICES_OWN_PREFIX "haproxy-k8s-sync/" /* "haproxy-k8s-sync/PORT.OPTION" */

struct service_note {
    const struct object_annotation *annotation; /* borrowed */
    const char *port, *option; /* of its name; a port without a name is meant by an option without one */
    size_t port_len;
    bool own;     /* by SERVICES_OWN_PREFIX */
    bool checked; /* by who looks through them */
};

struct service_notes {
    struct service_note *list; /* of one port and option this program's own behind that of the older system */
    size_t count;
};

/* prefix: of the older system's annotations, without the dot behind it; NULL: there are none. s is borrowed. */
void service_notes_init(struct service_notes *n, const struct annotated_service *s, const char *prefix);
void service_notes_fini(struct service_notes *n);

/* Those of a port. */
struct service_note *service_notes_of(const struct service_notes *n, const char *port, size_t *ret_count);
/* What says that option of a port, this program's before that of the older system. NULL: nothing does. */
const struct object_annotation *service_notes_find(const struct service_notes *n, const char *port, const char *option);

/* "PREFIX.PORT.OPTION" or "haproxy-k8s-sync/PORT.OPTION": what follows the prefix; NULL: it is none of them. */
const char *service_note_rest(const char *annotation, const char *prefix, bool *ret_own);

#endif
