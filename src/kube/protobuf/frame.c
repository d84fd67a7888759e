#include "kube/protobuf/frame.h"

#include <string.h>

#include "base/protobuf.h"
#include "base/str.h"
#include "kube/protobuf/message.h"

#define WATCH_LENGTH_BYTES 4u
#define TYPE_META_MAX_BYTES 1024u
#define LIST_SUFFIX "List"

enum state {
    WATCH_LENGTH, /* of the next event */
    MAGIC,        /* LIST: before anything else */
    TAG,          /* LIST: before a field of the Unknown, or of the list in it */
    NUMBER,       /* a field that is a number: skipped */
    LENGTH,       /* of a field */
    SKIP,
    COLLECT, /* what is read as a whole: an object, metadata, typeMeta */
    GIVEN_UP,
};

struct input {
    const char *bytes;
    size_t len, at;
    int (*fn)(void *arg, const char *object, size_t len, struct error *err);
    void *arg;
};

void proto_frame_init(struct proto_frame *f, enum frame_mode mode, const char *kind, size_t max_object_bytes)
{
    size_t max = max_object_bytes != 0 ? max_object_bytes : FRAME_MAX_OBJECT_BYTES;
    *f = (struct proto_frame){
        .mode = mode, .kind = kind, .max_object_bytes = max, .state = mode == FRAME_LIST ? MAGIC : WATCH_LENGTH};
    buf_init(&f->part, max);
    buf_init(&f->meta, max);
}

void proto_frame_fini(struct proto_frame *f)
{
    buf_fini(&f->part);
    buf_fini(&f->meta);
    f->state = GIVEN_UP;
}

static unsigned long long position(const struct proto_frame *f, const struct input *in)
{
    return (unsigned long long)(f->offset + in->at);
}

static int refuse(const struct proto_frame *f, const struct input *in, const char *why, struct error *err)
{
    return error_set(err, ERROR_INVALID, "protobuf: %s, at byte %llu of the answer", why, position(f, in));
}

static void next_state(struct proto_frame *f, enum state state)
{
    f->state = state;
    f->got = 0;
    f->number = 0;
}

/* ---- what is read as a whole ---- */

static int take_part(struct proto_frame *f, const struct input *in, const char *bytes, size_t len, struct error *err)
{
    unsigned long long begin = position(f, in) - len;
    bool is_object = f->mode == FRAME_WATCH || (f->in_list && f->field == PROTO_LIST_ITEMS);
    int result;
    if (is_object) {
        f->frames++;
        result = in->fn(in->arg, bytes, len, err);
    } else if (f->in_list) {
        result = buf_append(&f->meta, bytes, len); /* never over the cap: len is not */
    } else {
        char kind[PROTO_KIND_MAX_BYTES];
        size_t stem = strlen(f->kind);
        result = proto_kind_read(bytes, len, kind, err);
        if (result != 0)
            error_prefix(err, "typeMeta");
        else if (strncmp(kind, f->kind, stem) != 0 || !str_eq(kind + stem, LIST_SUFFIX))
            result = error_set(err, ERROR_INVALID, "the answer is a \"%s\", not a %s%s", kind, f->kind, LIST_SUFFIX);
    }
    return result == 0 ? 0 : error_prefix(err, "at byte %llu of the answer", begin);
}

/* Straight from what arrived where it is all there. */
static int collect(struct proto_frame *f, struct input *in, struct error *err)
{
    size_t here = in->len - in->at, left = (size_t)f->left;
    if (left > here) {
        f->left -= here;
        in->at += here;
        return buf_append(&f->part, in->bytes + in->at - here, here); /* never over the cap: f->left was not */
    }
    const char *begin = in->bytes + in->at;
    size_t len = left;
    in->at += left;
    if (f->part.len > 0) {
        if (buf_append(&f->part, begin, left) != 0)
            return -1;
        begin = f->part.data;
        len = f->part.len;
    }
    next_state(f, f->mode == FRAME_WATCH ? WATCH_LENGTH : TAG);
    int result = take_part(f, in, begin, len, err);
    frame_give_back(&f->part);
    return result;
}

static int begin_part(struct proto_frame *f, const struct input *in, uint64_t len, size_t max, struct error *err)
{
    if (len > max)
        return error_set(err, ERROR_INVALID,
                         "at byte %llu of the answer: an object has %llu bytes, at most %zu are accepted",
                         position(f, in), (unsigned long long)len, max);
    next_state(f, COLLECT);
    f->left = len;
    return 0;
}

/* ---- a list ---- */

static void skip(struct proto_frame *f, uint64_t len)
{
    next_state(f, SKIP);
    f->left = len;
}

static int begin_field(struct proto_frame *f, const struct input *in, uint64_t len, struct error *err)
{
    bool metadata = f->in_list && f->field == PROTO_LIST_METADATA;
    if (f->in_list) {
        if (len > f->list_end - position(f, in))
            return refuse(f, in, "a length leads beyond the end of the list", err);
        if (metadata && f->meta_seen)
            return refuse(f, in, "a second metadata of the list", err);
        f->meta_seen |= metadata;
        if (metadata || f->field == PROTO_LIST_ITEMS)
            return begin_part(f, in, len, f->max_object_bytes, err);
        skip(f, len);
        return 0;
    }
    if (len > INT64_MAX)
        return refuse(f, in, "an impossible length", err);
    switch (f->field) {
    case UNKNOWN_TYPE_META:
        f->kind_seen = true;
        return begin_part(f, in, len, TYPE_META_MAX_BYTES, err);
    case UNKNOWN_RAW:
        if (!f->kind_seen)
            return refuse(f, in, "an object without its kind", err);
        if (f->list_seen)
            return refuse(f, in, "a second list", err);
        f->in_list = f->list_seen = true;
        f->list_end = position(f, in) + len;
        next_state(f, TAG);
        return 0;
    case UNKNOWN_CONTENT_ENCODING:
        if (len > 0)
            return refuse(f, in, "a content encoding of its own", err);
        break;
    default:
        break;
    }
    skip(f, len);
    return 0;
}

static int after_tag(struct proto_frame *f, const struct input *in, uint64_t tag, struct error *err)
{
    if (tag >> PROTOBUF_WIRE_BITS == 0 || tag >> PROTOBUF_WIRE_BITS > PROTOBUF_NUMBER_MAX)
        return refuse(f, in, "an impossible field number", err);
    f->field = (uint32_t)(tag >> PROTOBUF_WIRE_BITS);
    switch (tag & ((1u << PROTOBUF_WIRE_BITS) - 1)) {
    case PROTOBUF_VARINT:
        next_state(f, NUMBER);
        return 0;
    case PROTOBUF_BYTES:
        next_state(f, LENGTH);
        return 0;
    case PROTOBUF_FIXED64:
        skip(f, 8);
        return 0;
    case PROTOBUF_FIXED32:
        skip(f, 4);
        return 0;
    default:
        return refuse(f, in, "a group, or an unknown wire type", err);
    }
}

static int feed_varint(struct proto_frame *f, struct input *in, struct error *err)
{
    if (f->in_list && position(f, in) >= f->list_end) {
        if (f->got > 0 || f->state != TAG)
            return refuse(f, in, "a field leads beyond the end of the list", err);
        f->in_list = false;
    }
    uint8_t byte = (uint8_t)in->bytes[in->at];
    if (f->got == PROTOBUF_VARINT_MAX_BYTES - 1 && byte > 1)
        return refuse(f, in, "a number has more than 64 bits", err);
    f->number |= (uint64_t)(byte & 0x7f) << (7 * f->got++);
    in->at++;
    if ((byte & 0x80) != 0)
        return 0;
    uint64_t value = f->number;
    if (f->state == TAG)
        return after_tag(f, in, value, err);
    if (f->state == LENGTH)
        return begin_field(f, in, value, err);
    next_state(f, TAG);
    return 0;
}

/* ---- the rest ---- */

static int feed_skip(struct proto_frame *f, struct input *in, struct error *err)
{
    size_t here = in->len - in->at;
    if (f->in_list && f->left > f->list_end - position(f, in)) /* of a fixed number: lengths were checked */
        return refuse(f, in, "a field leads beyond the end of the list", err);
    size_t taken = f->left < here ? (size_t)f->left : here;
    in->at += taken;
    f->left -= taken;
    if (f->left == 0)
        next_state(f, TAG);
    return 0;
}

static int proto_frame_step(struct proto_frame *f, struct input *in, struct error *err)
{
    switch ((enum state)f->state) {
    case WATCH_LENGTH:
        f->number = f->number << 8 | (uint8_t)in->bytes[in->at++];
        return ++f->got == WATCH_LENGTH_BYTES ? begin_part(f, in, f->number, f->max_object_bytes, err) : 0;
    case MAGIC:
        if (in->bytes[in->at] != PROTO_MAGIC[f->got])
            return refuse(f, in, "it does not begin as that of Kubernetes does; is there a proxy in between?", err);
        in->at++;
        if (++f->got == PROTO_MAGIC_BYTES)
            next_state(f, TAG);
        return 0;
    case TAG:
    case NUMBER:
    case LENGTH:
        return feed_varint(f, in, err);
    case SKIP:
        return feed_skip(f, in, err);
    case COLLECT:
        return collect(f, in, err);
    case GIVEN_UP:
        break;
    }
    return error_set(err, ERROR_INVALID, "this answer was given up before");
}

int proto_frame_feed(struct proto_frame *f, const char *bytes, size_t len,
                     int (*fn)(void *arg, const char *object, size_t len, struct error *err), void *arg,
                     struct error *err)
{
    struct input in = {bytes, len, 0, fn, arg};
    /* Something that is empty ends with its length, although no more bytes may come. */
    while (in.at < in.len || ((f->state == COLLECT || f->state == SKIP) && f->left == 0))
        if (proto_frame_step(f, &in, err) != 0) {
            f->state = GIVEN_UP;
            return -1;
        }
    f->offset += len;
    return 0;
}

int proto_frame_end(struct proto_frame *f, struct error *err)
{
    unsigned long long at = (unsigned long long)f->offset;
    bool at_rest = f->got == 0 && (f->state == WATCH_LENGTH ||
                                   (f->state == TAG && f->list_seen && (!f->in_list || f->offset >= f->list_end)));
    if (f->state == GIVEN_UP)
        return error_set(err, ERROR_INVALID, "this answer was given up before");
    if (at_rest)
        return 0;
    return error_set(err, ERROR_RETRY, "the answer ended after %llu bytes and %zu objects, before it was complete", at,
                     f->frames);
}
