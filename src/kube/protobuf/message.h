/*
 * Messages of the Kubernetes API (application/vnd.kubernetes.protobuf), as far as a table of their fields says, become
 * the JSON values that the API server sends for the same object: one decoder then serves both. What no row names is
 * skipped without being parsed or copied.
 *
 * A scalar that Go leaves out of JSON where it is zero is left out here, too; `keeps_zero` marks the others.
 */
#ifndef KUBE_PROTOBUF_MESSAGE_H
#define KUBE_PROTOBUF_MESSAGE_H

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

#endif
