/* Annotations of one object, by a merge patch (RFC 7396) of its metadata at the version that was read: what somebody
 * else wrote since is not overwritten, and annotations that are not named stay as they are; or the same of the data of a
 * ConfigMap that nobody reads. One request at a time. */
#ifndef KUBE_ANNOTATE_H
#define KUBE_ANNOTATE_H

#include <stddef.h>

#include "base/error.h"

struct annotator;
struct kube_client;

struct annotation {
    const char *name, *value; /* value NULL: it goes */
};

enum annotate_outcome {
    ANNOTATE_WRITTEN,
    ANNOTATE_CONFLICT, /* 409: it has another version by now */
    ANNOTATE_DENIED,   /* 403 */
    ANNOTATE_LATER,    /* anything else; also 404: it may come again */
};

/* done: from the loop, once for each annotator_send that returned 0, unless cancelled. err: NULL with
 * ANNOTATE_WRITTEN. */
struct annotator *annotator_new(struct kube_client *client,
                                void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err),
                                void *arg) must_check;
void annotator_free(struct annotator *a); /* cancels what is under way; NULL is allowed */

/* path: of the object, "/api/v1/namespaces/ns/secrets/name". version NULL: of a ConfigMap, whose data it is. -1: the
 * request could not even be started. */
int annotator_send(struct annotator *a, const char *path, const char *version, const struct annotation *list,
                   size_t count, struct error *err) must_check;

#endif
