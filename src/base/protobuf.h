/*
 * A walker over the wire format of protocol buffers (protobuf.dev, "Encoding"): it hands out one field of a message
 * after the other, and knows no schema. Nothing is copied: what a field holds points into the message, which stays as
 * long as its fields are in use. Every length is checked against the bytes that are there, nesting has a cap, and each
 * error names the offset in the outermost message.
 *
 *     struct protobuf p;
 *     protobuf_init(&p, bytes, len);
 *     for (struct protobuf_field f; (status = protobuf_next(&p, &f, err)) > 0;)
 *         if (f.number == 1 && protobuf_expect(&f, PROTOBUF_BYTES, 2048, "spiffe_id", err) != 0) ...
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

#define PROTOBUF_DEPTH_MAX 64
#define PROTOBUF_VARINT_MAX_BYTES 10u
#define PROTOBUF_WIRE_BITS 3 /* of a tag, its lowest; the others are the field's number */
#define PROTOBUF_NUMBER_MAX ((1u << 29) - 1)

/* Groups (3 and 4), which are no longer written, are refused. */
enum protobuf_wire { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2, PROTOBUF_FIXED32 = 5 };

struct protobuf {
    const uint8_t *start, *at, *end; /* start: of the outermost message */
    unsigned depth;                  /* of messages around it */
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_wire wire;
    uint64_t value;      /* of a number, as it stands on the wire: no zigzag is undone */
    const uint8_t *data; /* of PROTOBUF_BYTES: text, bytes, a message, packed numbers; no NUL behind them */
    size_t len;
    size_t offset; /* where the field begins */
};

void protobuf_init(struct protobuf *p, const void *bytes, size_t len);
/* Of a message that was cut out of a larger one before: offsets count from the start of that. */
void protobuf_init_within(struct protobuf *p, const void *start, const void *bytes, size_t len);

/* 1: *ret is the next field; 0: there is none; -1: ERROR_INVALID, and the walk is over. */
int protobuf_next(struct protobuf *p, struct protobuf_field *ret, struct error *err) must_check;

/* That it is of this wire type and, of PROTOBUF_BYTES, at most so long. name: for the message. ERROR_INVALID. */
int protobuf_expect(const struct protobuf_field *f, enum protobuf_wire wire, size_t max_len, const char *name,
                    struct error *err) must_check;

/* Walks the message that f is, a field of outer. ERROR_INVALID: it is none, or nested too deep. */
int protobuf_enter(const struct protobuf *outer, const struct protobuf_field *f, const char *name, struct protobuf *ret,
                   struct error *err) must_check;
