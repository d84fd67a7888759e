/*
 * JSON, or protobuf, of the Kubernetes API -> model objects. Wrong types, absent required fields and impossible values are errors
 * that name the object and the field (ERROR_INVALID); unknown fields and enum values are ignored (API conventions).
 *
 * What happens to what is wrong, so that one bad object never stops the others:
 *   no JSON, no event at all                        -1
 *   an object without a usable name or body         `skipped`, object NULL: its state before that stays
 *   one endpoint, port, address or setting of many  left out, the rest is kept; `partial` says which and how many
 *
 * What takes a node or a Service out of use is never left out, since that would put it back into use. The exclude label
 * and the paused annotation count with a value of any type, unless it is a string that is a false bool; so does
 * deletionTimestamp. Where they cannot be found at all (labels or annotations that are no object, taints that are no
 * array or one of them no object) the object is skipped: a node that was eligible stays so, one that was not stays out,
 * and one that was never read gets no server. The same where a node's InternalIP cannot be read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kube/resource.h"

/* kube_decode_event and kube_decode_item parse in place: this many NUL bytes have to follow json[len], as frame_feed
 * leaves them behind each object. */
#define KUBE_DECODE_PADDING_BYTES 4u
/* A DNS subdomain has no more; longer ones are not from an API server. */
#define KUBE_NAME_MAX_BYTES 253u
/* Ports, endpoints and subsets of one object together. etcd takes 1.5 MB for an object, which is fewer. */
#define KUBE_MAX_PARTS 65536u

enum kube_event_type {
    KUBE_ADDED,
    KUBE_MODIFIED,
    KUBE_DELETED,
    KUBE_BOOKMARK,
    KUBE_ERROR,
    KUBE_UNKNOWN, /* a type of a newer API: its object is not read */
};

/* A decoded watch event or list item. Owned members; free with kube_event_fini. */
struct kube_event {
    enum kube_event_type type;
    /* metadata.name, behind "namespace/" where the resource is by_namespace; NULL for BOOKMARK, ERROR and UNKNOWN, and where it cannot be used (then `skipped` says so). */
    char *name;
    /* metadata.resourceVersion; always there in a BOOKMARK; NULL for ERROR and UNKNOWN; else NULL where the object has
     * none that can be used: a watch event is `skipped` then, a list item is not (the list has a version). */
    char *resource_version;
    bool initial_events_end; /* BOOKMARK with k8s.io/initial-events-end: "true" */
    const struct kube_resource *of;
    void *object;         /* of its record; ADDED or MODIFIED; NULL where it could not be used, or was taken away */
    struct error skipped; /* kind != NONE: the object is not usable, and why */
    struct error partial; /* kind != NONE: the object is usable, but something in it was left out; for the log */
    /* ERROR events (meta/v1 Status) */
    int status_code;         /* 0 where absent */
    char *status_reason;     /* "Expired", ... or "" */
    char *status_message;    /* shortened where it is long */
    bool cause_too_large;    /* details.causes has ResourceVersionTooLarge */
    int retry_after_seconds; /* details.retryAfterSeconds, -1 where absent */
};

void kube_event_fini(struct kube_event *e);

/* One frame of a watch stream. json is changed (parsed in place, see KUBE_DECODE_PADDING_BYTES). -1: not even an event:
 * ERROR_INVALID, and *ret holds nothing. */
int kube_decode_event(const struct kube_resource *of, char *json, size_t len, struct kube_event *ret,
                      struct error *err) must_check;

/* One element of a LIST's items: as an ADDED event. */
int kube_decode_item(const struct kube_resource *of, char *json, size_t len, struct kube_event *ret,
                     struct error *err) must_check;

/* What is around the items: metadata.resourceVersion and metadata.continue ("" on the last page). A Status instead of a
 * list is an error with its message. */
struct kube_list_meta {
    char *resource_version;
    char *continue_token;
};
int kube_decode_list_meta(const char *json, size_t len, struct kube_list_meta *ret, struct error *err) must_check;
void kube_list_meta_fini(struct kube_list_meta *m);

/* The same of protobuf (KUBE_PROTOBUF): a frame of a watch, an element of a list's items, the list's metadata. `of` has
 * a message of its own. The bytes are not changed. -1: malformed, or of another kind. */
int kube_decode_event_protobuf(const struct kube_resource *of, const char *bytes, size_t len, struct kube_event *ret,
                               struct error *err) must_check;
int kube_decode_item_protobuf(const struct kube_resource *of, const char *bytes, size_t len, struct kube_event *ret,
                              struct error *err) must_check;
int kube_decode_list_meta_protobuf(const char *bytes, size_t len, struct kube_list_meta *ret,
                                   struct error *err) must_check;

/* The body of a failed request (a Status in either encoding, any other JSON, a proxy's HTML, nothing): *ret becomes an ERROR event with
 * the status_* members filled; free with kube_event_fini. Never fails: what is no Status has code 0, reason "" and the
 * beginning of the text as its message. */
void kube_decode_status(const char *body, size_t len, struct kube_event *ret);
