/*
 * The JSON of an Event on an object: core/v1, which `kubectl get events` and `kubectl describe service` show with its
 * count and both times, and of which (unlike events.k8s.io/v1) a later write may change the message.
 */
#ifndef KUBE_EVENT_OBJECT_H
#define KUBE_EVENT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define EVENT_COMPONENT "haproxy-k8s-sync"
#define EVENT_MESSAGE_MAX_BYTES 1024u /* more, the API refuses in newer versions of Events */

/* Borrowed strings. */
struct event_object {
    const char *namespace;          /* of the object that it is about, and so of the Event */
    const char *name;               /* of the Event */
    const char *api_version, *kind; /* of that object: NULL, which is "v1", "Service" */
    const char *about;              /* its name */
    const char *uid;                /* `kubectl describe` finds it by that; NULL: not known */
    const char *reason;             /* "Synced" */
    bool warning;
    const char *message; /* one line of UTF-8, of EVENT_MESSAGE_MAX_BYTES */
    const char *host;    /* the pod's name */
    uint64_t first_ms;   /* since the Unix epoch */
    uint64_t last_ms;
    unsigned count;
};

/* The body of the POST that makes it. Allocates. */
char *event_encode_new(const struct event_object *e) must_check;
/* The merge patch (RFC 7396) that makes what is there say that it was seen again. Allocates. */
char *event_encode_again(const struct event_object *e) must_check;

#endif
