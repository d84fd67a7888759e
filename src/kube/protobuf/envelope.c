#include "kube/protobuf/envelope.h"

#include <string.h>

#include "base/protobuf.h"

/* TypeMeta: apiVersion = 1, kind = 2. */
static int kind_of(struct protobuf *p, char ret[PROTO_KIND_MAX_BYTES], struct error *err)
{
    struct protobuf_field f;
    int more;
    while ((more = protobuf_next(p, &f, err)) > 0) {
        if (f.number != 2)
            continue;
        if (protobuf_expect(&f, PROTOBUF_BYTES, PROTO_KIND_MAX_BYTES - 1, "kind", err) != 0)
            return -1;
        memcpy(ret, f.data, f.len);
        ret[f.len] = '\0';
    }
    return more;
}

int proto_kind_read(const void *bytes, size_t len, char ret[PROTO_KIND_MAX_BYTES], struct error *err)
{
    struct protobuf p;
    ret[0] = '\0';
    protobuf_init(&p, bytes, len);
    return kind_of(&p, ret, err);
}

static int read_part(const struct protobuf *p, const struct protobuf_field *f, struct proto_unknown *ret,
                     struct error *err)
{
    struct protobuf inner;
    switch (f->number) {
    case UNKNOWN_TYPE_META:
        return protobuf_enter(p, f, "typeMeta", &inner, err) != 0 ? -1 : kind_of(&inner, ret->kind, err);
    case UNKNOWN_RAW:
        if (protobuf_expect(f, PROTOBUF_BYTES, SIZE_MAX, "raw", err) != 0)
            return -1;
        ret->raw = (struct proto_bytes){f->data, f->len};
        return 0;
    case UNKNOWN_CONTENT_ENCODING:
        return protobuf_expect(f, PROTOBUF_BYTES, 0, "contentEncoding", err);
    default:
        return 0;
    }
}

int proto_unknown_read(const void *start, const void *bytes, size_t len, struct proto_unknown *ret, struct error *err)
{
    struct protobuf p;
    struct protobuf_field f;
    int more;
    *ret = (struct proto_unknown){.kind = "", .raw = {bytes, 0}};
    if (len < PROTO_MAGIC_BYTES || memcmp(bytes, PROTO_MAGIC, PROTO_MAGIC_BYTES) != 0)
        return error_set(err, ERROR_INVALID, "it does not begin as protobuf of Kubernetes does");
    protobuf_init_within(&p, start, (const uint8_t *)bytes + PROTO_MAGIC_BYTES, len - PROTO_MAGIC_BYTES);
    while ((more = protobuf_next(&p, &f, err)) > 0)
        if (read_part(&p, &f, ret, err) != 0)
            return -1;
    return more;
}

/* RawExtension: raw = 1. */
static int raw_of(const struct protobuf *p, const struct protobuf_field *f, struct proto_bytes *ret, struct error *err)
{
    struct protobuf inner;
    struct protobuf_field part;
    int more;
    if (protobuf_enter(p, f, "object", &inner, err) != 0)
        return -1;
    while ((more = protobuf_next(&inner, &part, err)) > 0) {
        if (part.number != 1)
            continue;
        if (protobuf_expect(&part, PROTOBUF_BYTES, SIZE_MAX, "raw", err) != 0)
            return -1;
        *ret = (struct proto_bytes){part.data, part.len};
    }
    return more;
}

/* WatchEvent: type = 1, object = 2. */
int proto_watch_event_read(const void *bytes, size_t len, struct proto_watch_event *ret, struct error *err)
{
    struct protobuf p;
    struct protobuf_field f;
    int more;
    *ret = (struct proto_watch_event){{NULL, 0}, {NULL, 0}};
    protobuf_init(&p, bytes, len);
    while ((more = protobuf_next(&p, &f, err)) > 0) {
        if (f.number == 1) {
            if (protobuf_expect(&f, PROTOBUF_BYTES, SIZE_MAX, "type", err) != 0)
                return -1;
            ret->type = (struct proto_bytes){f.data, f.len};
        } else if (f.number == 2 && raw_of(&p, &f, &ret->object, err) != 0) {
            return -1;
        }
    }
    return more;
}
