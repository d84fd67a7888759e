/*
 * Events on objects: core/v1, which `kubectl get events` and `kubectl describe service` show with its count and both times,
 * and of which (unlike events.k8s.io/v1) a later write may change the message. They are written one request at a time, and
 * it says what each answer means. What to write, and when again, is daemon/events' to decide.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

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

struct event_writer;
struct kube_client;

enum event_outcome {
    EVENT_WRITTEN,
    EVENT_GONE,    /* 404 of a repeat: the API has forgotten it (after an hour, by default); it is to be made anew */
    EVENT_EXISTS,  /* 409 of a new one: by a request whose answer was lost, mostly; it is to be repeated */
    EVENT_DENIED,  /* 403: no right to, or the namespace is going */
    EVENT_LATER,   /* no answer, 401, 409 of a repeat, 408, 429, 5xx */
    EVENT_REFUSED, /* the same again will be refused: 400, 422, 404 of a new one (there is no such namespace), ... */
};

/* done: from the loop, once for each event_writer_send that returned 0, unless cancelled; the next one may be sent from
 * there. retry_after_ms: -1 where the API says nothing. err: NULL with EVENT_WRITTEN. */
struct event_writer *event_writer_new(struct kube_client *client,
                                      void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms,
                                                   const struct error *err),
                                      void *arg) must_check;
void event_writer_free(struct event_writer *w); /* cancels what is under way; NULL is allowed */

/* e is borrowed for the time of the call. again: it is there, and gets its count, last time and message. One at a time.
 * -1: the request could not even be started (no credentials yet, ...), which is as EVENT_LATER. */
int event_writer_send(struct event_writer *w, const struct event_object *e, bool again, struct error *err) must_check;

/* Annotations of one object, by a merge patch (RFC 7396) of its metadata at the version that was read: what another writer
 * wrote since is not overwritten, and annotations that are not named stay as they are; or the same of the data of a
 * ConfigMap that is not watched. One request at a time. */
struct annotator;

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
