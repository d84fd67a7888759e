/*
 * What is around each object: runtime.Unknown behind four bytes of magic, and WatchEvent in a watch
 * (k8s.io/apimachinery/pkg/runtime/generated.proto and pkg/apis/meta/v1/generated.proto; API concepts, "Protobuf
 * encoding of Kubernetes objects"). Everything is borrowed from the bytes that were read.
 */
#ifndef KUBE_PROTOBUF_ENVELOPE_H
#define KUBE_PROTOBUF_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PROTO_MAGIC "k8s" /* and the NUL behind it */
#define PROTO_MAGIC_BYTES 4u
#define PROTO_KIND_MAX_BYTES 64u

/* Fields of runtime.Unknown. */
enum { UNKNOWN_TYPE_META = 1, UNKNOWN_RAW = 2, UNKNOWN_CONTENT_ENCODING = 3 };

struct proto_bytes {
    const uint8_t *data; /* NULL: there is none */
    size_t len;
};

struct proto_unknown {
    char kind[PROTO_KIND_MAX_BYTES]; /* "Node"; "" where there is none */
    struct proto_bytes raw;          /* the message of that kind; empty where there is none */
};

/* start: of what the bytes were cut out of, from where offsets count. ERROR_INVALID: another beginning, malformed, or
 * encoded in a way of its own. */
int proto_unknown_read(const void *start, const void *bytes, size_t len, struct proto_unknown *ret,
                       struct error *err) must_check;
/* TypeMeta alone. */
int proto_kind_read(const void *bytes, size_t len, char ret[PROTO_KIND_MAX_BYTES], struct error *err) must_check;

struct proto_watch_event {
    struct proto_bytes type;   /* "ADDED" */
    struct proto_bytes object; /* of a RawExtension: a whole Unknown */
};

int proto_watch_event_read(const void *bytes, size_t len, struct proto_watch_event *ret, struct error *err) must_check;

#endif
