/*
 * Messages of the Kubernetes API (application/vnd.kubernetes.protobuf), as far as a table of their fields says, become
 * the JSON values that the API server sends for the same object: one decoder then serves both. What no row names is
 * skipped without being parsed or copied.
 *
 * A scalar that Go leaves out of JSON where it is zero is left out here, too; `keeps_zero` marks the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct protobuf;
struct yyjson_mut_doc;
struct yyjson_mut_val;

enum proto_kind {
    PROTO_TEXT,    /* string: UTF-8, or it is an error */
    PROTO_BOOL,    /* bool: any number but 0 is true */
    PROTO_INT,     /* int32, int64 */
    PROTO_MESSAGE, /* an object */
    PROTO_TIME,    /* k8s.io.apimachinery.pkg.apis.meta.v1.Time: RFC 3339, in whole seconds; absent where it is empty */
    PROTO_MAP,     /* map<string, string>: an object, whose values may be "" */
};

struct proto_field {
    const char *name;
    const struct proto_message *message; /* of PROTO_MESSAGE */
    uint16_t number;
    uint8_t kind;
    bool list;       /* repeated: an array */
    bool keeps_zero; /* there wherever it is sent: a pointer in Go, or without "omitempty" */
};

#define PROTO_FIELDS_MAX 16u

struct proto_message {
    const struct proto_field *fields; /* by their numbers */
    size_t count;                     /* at most PROTO_FIELDS_MAX */
};

/* Adds what `from` still holds to an object. Texts stay borrowed from the message. ERROR_INVALID, with the path of the
 * field and the offset in the outermost message: malformed, another wire type, a single field that is there twice, no
 * UTF-8; `to` then has what was read before. */
int proto_read(const struct proto_message *of, struct protobuf *from, struct yyjson_mut_doc *doc,
               struct yyjson_mut_val *to, struct error *err) must_check;

/* The messages that are read, field by field as far as kube/decode reads them (schema.c). */
extern const struct proto_message proto_node, proto_service, proto_endpoint_slice, proto_endpoints, proto_pod,
    proto_lease;
/* Of every list: its metadata; and what the API server sends instead of an object or list. */
extern const struct proto_message proto_list_meta, proto_status;

#define PROTO_LIST_METADATA 1u /* of every XList: ListMeta metadata = 1, repeated X items = 2 */
#define PROTO_LIST_ITEMS 2u

#define PROTO_MAGIC "k8s" /* and the NUL behind it */
#define PROTO_MAGIC_BYTES 4u
#define PROTO_KIND_MAX_BYTES 64u

/*
 * What is around each object: runtime.Unknown behind four bytes of magic, and WatchEvent in a watch
 * (k8s.io/apimachinery/pkg/runtime/generated.proto and pkg/apis/meta/v1/generated.proto; API concepts, "Protobuf
 * encoding of Kubernetes objects"). Everything is borrowed from the bytes that were read.
 */

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
