/*
 * A Lease (coordination.k8s.io/v1) as far as leader election needs it, in JSON, and in a watch also in protobuf. What else is in the object (labels,
 * annotations, owners, members of a newer API) belongs to others, and comes back unchanged in what is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct informer;
struct kube_client;
struct kube_resource;
struct log;

#define LEASE_MAX_BYTES (2u << 20) /* etcd takes 1.5 MB for an object */
#define LEASE_MAX_HOLDER_BYTES 512u
#define LEASE_MAX_VERSION_BYTES 1025u /* as in kube/watch */
#define LEASE_TIME_BYTES 40u          /* RFC 3339, "2006-01-02T15:04:05.000000Z" and a few more digits or a zone */

/* A plain value; "" and 0 where a member is absent. Times are texts: none is ever compared with a clock. */
struct lease {
    char holder[LEASE_MAX_HOLDER_BYTES + 1];
    char acquire_time[LEASE_TIME_BYTES + 1];
    char renew_time[LEASE_TIME_BYTES + 1];
    char version[LEASE_MAX_VERSION_BYTES + 1]; /* metadata.resourceVersion, opaque */
    int32_t duration_s;
    int32_t transitions;
};

/* ERROR_INVALID, with *ret untouched: no JSON, no Lease, no version, a member of a wrong type or out of its range. */
int lease_decode(const char *json, size_t len, struct lease *ret, struct error *err) must_check;

/* The spec is the same; the version may be another one (a label was edited). */
bool lease_same_record(const struct lease *a, const struct lease *b);

/* Leases as a watch has them: who holds one, and nothing else. */
extern const struct kube_resource kube_leases;
/* Whether such an object says that the Lease has no holder (any more). NULL does not. */
bool lease_is_free(const void *object);

/*
 * A watch of one Lease, for a standby: reports at once that it was released, so that a clean change of the leader does
 * not wait for the next read. A hint, and nothing else: the standby then reads the Lease, and reads it every two seconds
 * all the same. free_now may come from inside libcurl. to: borrowed.
 */
struct lease_hint {
    void (*free_now)(void *arg);
    void *arg;
    /* private to lease.c */
    const struct log *log;
    struct informer *watch;
    bool denied; /* which was said */
};
struct informer *lease_watch_new(struct event_base *base, struct kube_client *client, const struct log *log,
                                 const char *namespace, const char *name, struct lease_hint *to) must_check;

/* The body of a POST. Allocates; the length is that of the string. */
char *lease_encode_new(const char *namespace, const char *name, const struct lease *l) must_check;

/* The body of a PUT: the object as it was read (a text that lease_decode took), with the members of l. NULL:
 * ERROR_INVALID. */
char *lease_encode(const char *read_json, size_t len, const struct lease *l, struct error *err) must_check;
