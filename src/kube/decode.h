/*
 * JSON of the Kubernetes API -> model objects. Wrong types, absent required fields and impossible values are errors that
 * name the object and the field (ERROR_INVALID); unknown fields and enum values are ignored as the API conventions ask.
 */
#ifndef KUBE_DECODE_H
#define KUBE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/objects.h"

enum kube_event_type {
    KUBE_ADDED,
    KUBE_MODIFIED,
    KUBE_DELETED,
    KUBE_BOOKMARK,
    KUBE_ERROR,
    KUBE_UNKNOWN, /* a type of a newer API: its object is not looked at */
};

enum kube_object_kind { KUBE_NODE, KUBE_SLICE, KUBE_ENDPOINTS };

/* A decoded watch event or list item. Owned members; free with kube_event_fini. */
struct kube_event {
    enum kube_event_type type;
    char *name;               /* metadata.name; NULL for BOOKMARK and ERROR */
    char *resource_version;   /* metadata.resourceVersion; NULL for ERROR */
    bool initial_events_end;  /* BOOKMARK with k8s.io/initial-events-end: "true" */
    struct node *node;        /* KUBE_NODE, ADDED or MODIFIED; NULL where it could not be used */
    struct endpoint_set *set; /* KUBE_SLICE, KUBE_ENDPOINTS, likewise */
    struct error skipped;     /* kind != NONE: name and version are good, but the object is not usable, and why */
    /* ERROR events (meta/v1 Status) */
    int status_code;
    char *status_reason; /* "Expired", ... or "" */
    char *status_message;
    bool cause_too_large;    /* details.causes has ResourceVersionTooLarge */
    int retry_after_seconds; /* details.retryAfterSeconds, -1 where absent */
};

void kube_event_fini(struct kube_event *e);

/* One frame of a watch stream. json is changed (parsed in situ). -1: not even an event: ERROR_INVALID. */
int kube_decode_event(enum kube_object_kind kind, char *json, size_t len, struct kube_event *ret,
                      struct error *err) must_check;

/* One element of a LIST's items: as an ADDED event. */
int kube_decode_item(enum kube_object_kind kind, char *json, size_t len, struct kube_event *ret,
                     struct error *err) must_check;

/* What is around the items: metadata.resourceVersion and metadata.continue ("" on the last page). */
struct kube_list_meta {
    char *resource_version;
    char *continue_token;
};
int kube_decode_list_meta(const char *json, size_t len, struct kube_list_meta *ret, struct error *err) must_check;
void kube_list_meta_fini(struct kube_list_meta *m);

/* A Status body of a failed request (any JSON or none): fills the status_* members of ret; never fails. */
void kube_decode_status(const char *body, size_t len, struct kube_event *ret);

#endif
