#include "base/protobuf.h"

void protobuf_init_within(struct protobuf *p, const void *start, const void *bytes, size_t len)
{
    p->start = start;
    p->at = bytes;
    p->end = p->at + len;
    p->depth = 0;
}

void protobuf_init(struct protobuf *p, const void *bytes, size_t len)
{
    protobuf_init_within(p, bytes, bytes, len);
}

static int refuse(struct protobuf *p, const uint8_t *at, const char *why, struct error *err)
{
    error_set(err, ERROR_INVALID, "protobuf: %s at offset %zu", why, (size_t)(at - p->start));
    p->at = p->end;
    return -1;
}

static int protobuf_varint(struct protobuf *p, uint64_t *ret, struct error *err)
{
    const uint8_t *begin = p->at;
    uint64_t value = 0;
    if (begin != p->end && *begin < 0x80) { /* as most tags and lengths are */
        *ret = *p->at++;
        return 0;
    }
    for (unsigned i = 0; i < PROTOBUF_VARINT_MAX_BYTES; i++) {
        if (p->at == p->end)
            return refuse(p, begin, "a number is cut off", err);
        uint8_t byte = *p->at++;
        if (i == PROTOBUF_VARINT_MAX_BYTES - 1 && byte > 1)
            break; /* the 65th bit, or an eleventh byte */
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *ret = value;
            return 0;
        }
    }
    return refuse(p, begin, "a number has more than 64 bits", err);
}

static int protobuf_fixed(struct protobuf *p, unsigned bytes, uint64_t *ret, struct error *err)
{
    if ((size_t)(p->end - p->at) < bytes)
        return refuse(p, p->at, "a number is cut off", err);
    *ret = 0;
    for (unsigned i = 0; i < bytes; i++)
        *ret |= (uint64_t)*p->at++ << (8 * i);
    return 0;
}

static int protobuf_data(struct protobuf *p, struct protobuf_field *f, struct error *err)
{
    const uint8_t *begin = p->at;
    uint64_t len;
    if (protobuf_varint(p, &len, err) != 0)
        return -1;
    if (len > (uint64_t)(p->end - p->at))
        return refuse(p, begin, "a length leads beyond the end", err);
    f->data = p->at;
    f->len = (size_t)len;
    p->at += len;
    return 0;
}

static int protobuf_value(struct protobuf *p, unsigned wire, struct protobuf_field *f, struct error *err)
{
    switch (wire) {
    case PROTOBUF_VARINT:
        return protobuf_varint(p, &f->value, err);
    case PROTOBUF_FIXED64:
        return protobuf_fixed(p, 8, &f->value, err);
    case PROTOBUF_BYTES:
        return protobuf_data(p, f, err);
    case PROTOBUF_FIXED32:
        return protobuf_fixed(p, 4, &f->value, err);
    default:
        return refuse(p, p->start + f->offset, wire < PROTOBUF_FIXED32 ? "a group" : "an unknown wire type", err);
    }
}

int protobuf_next(struct protobuf *p, struct protobuf_field *ret, struct error *err)
{
    const uint8_t *begin = p->at;
    uint64_t tag;
    if (p->at == p->end)
        return 0;
    if (protobuf_varint(p, &tag, err) != 0)
        return -1;
    uint64_t number = tag >> PROTOBUF_WIRE_BITS;
    unsigned wire = tag & ((1u << PROTOBUF_WIRE_BITS) - 1);
    if (number == 0 || number > PROTOBUF_NUMBER_MAX)
        return refuse(p, begin, "an impossible field number", err);
    *ret = (struct protobuf_field){
        .number = (uint32_t)number, .wire = (enum protobuf_wire)wire, .offset = (size_t)(begin - p->start)};
    return protobuf_value(p, wire, ret, err) == 0 ? 1 : -1;
}

int protobuf_expect(const struct protobuf_field *f, enum protobuf_wire wire, size_t max_len, const char *name,
                    struct error *err)
{
    if (f->wire != wire)
        return error_set(err, ERROR_INVALID, "protobuf: %s has wire type %d in place of %d at offset %zu", name,
                         (int)f->wire, (int)wire, f->offset);
    if (wire == PROTOBUF_BYTES && f->len > max_len)
        return error_set(err, ERROR_INVALID, "protobuf: %s has %zu bytes, of at most %zu, at offset %zu", name, f->len,
                         max_len, f->offset);
    return 0;
}

int protobuf_enter(const struct protobuf *outer, const struct protobuf_field *f, const char *name, struct protobuf *ret,
                   struct error *err)
{
    if (protobuf_expect(f, PROTOBUF_BYTES, SIZE_MAX, name, err) != 0)
        return -1;
    if (outer->depth >= PROTOBUF_DEPTH_MAX)
        return error_set(err, ERROR_INVALID, "protobuf: %s is nested too deep, in more than %d messages, at offset %zu",
                         name, PROTOBUF_DEPTH_MAX, f->offset);
    *ret = (struct protobuf){.start = outer->start, .at = f->data, .end = f->data + f->len, .depth = outer->depth + 1};
    return 0;
}
