/*
 * Writes Events (kube/event_object), one request at a time, and says what each answer means. What to write, and when
 * again, is daemon/events' to decide.
 */
#ifndef KUBE_EVENT_WRITER_H
#define KUBE_EVENT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kube/event_object.h"

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

#endif
