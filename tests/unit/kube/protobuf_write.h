/*
 * JSON of the Kubernetes API written as protobuf, by the same tables that are read with: what a test says in JSON is then
 * also tried in protobuf. The numbers in these tables are held to a real API server by tests/e2e and by the recordings in
 * tests/data/kubernetes.
 *
 * What a table does not have is written as a field that nobody knows, of each wire type in turn, so that skipping is tried, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/protobuf.h"
#include "base/rfc3339.h"
#include "kube/protobuf/message.h"
#include "kube/resource.h"

#define PROTO_UNKNOWN_FIELD 1000u

static inline void proto_write_varint(struct buf *to, uint64_t value)
{
    char bytes[10];
    size_t len = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[len++] = (char)((value & 0x7f) | 0x80);
    bytes[len++] = (char)value;
    buf_addn(to, bytes, len);
}

static inline void proto_write_number(struct buf *to, unsigned number, uint64_t value)
{
    proto_write_varint(to, number << 3 | PROTOBUF_VARINT);
    proto_write_varint(to, value);
}

static inline void proto_write_bytes(struct buf *to, unsigned number, const void *bytes, size_t len)
{
    proto_write_varint(to, number << 3 | PROTOBUF_BYTES);
    proto_write_varint(to, len);
    if (len > 0)
        buf_addn(to, bytes, len);
}

static inline void proto_write_buf(struct buf *to, unsigned number, struct buf *from)
{
    proto_write_bytes(to, number, buf_str(from), from->len);
    buf_fini(from);
}

static inline void proto_write_unknown(struct buf *to, unsigned turn, const char *key)
{
    unsigned number = PROTO_UNKNOWN_FIELD + turn;
    switch (turn % 4) {
    case 0:
        proto_write_bytes(to, number, key, strlen(key));
        break;
    case 1:
        proto_write_number(to, number, UINT64_MAX);
        break;
    default:
        proto_write_varint(to, number << 3 | (turn % 4 == 2 ? PROTOBUF_FIXED64 : PROTOBUF_FIXED32));
        buf_addn(to, "\x80\xff\x00\x7f\x01\x02\x03\x04", turn % 4 == 2 ? 8 : 4);
        break;
    }
}

static inline bool proto_write_message(struct buf *to, const struct proto_message *of, yyjson_val *object);

static inline bool proto_write_map(struct buf *to, unsigned number, yyjson_val *map)
{
    size_t i, max;
    yyjson_val *key, *value;
    if (!yyjson_is_obj(map))
        return false;
    yyjson_obj_foreach (map, i, max, key, value) {
        struct buf entry = {0};
        if (!yyjson_is_str(value))
            return false;
        proto_write_bytes(&entry, 1, yyjson_get_str(key), yyjson_get_len(key));
        proto_write_bytes(&entry, 2, yyjson_get_str(value), yyjson_get_len(value));
        proto_write_buf(to, number, &entry);
    }
    return true;
}

static inline bool proto_write_time(struct buf *to, unsigned number, yyjson_val *value)
{
    struct buf time = {0};
    int64_t us;
    if (!yyjson_is_str(value) || rfc3339_parse(yyjson_get_str(value), &us) != 0 || us < 0 || us % 1000000 != 0)
        return false;
    proto_write_number(&time, 1, (uint64_t)(us / 1000000));
    proto_write_number(&time, 2, 0);
    proto_write_buf(to, number, &time);
    return true;
}

/* What no API server says in JSON: what Go leaves out. */
static inline bool proto_is_left_out(const struct proto_field *field, yyjson_val *value)
{
    return !field->keeps_zero && !field->list &&
           ((yyjson_is_str(value) && yyjson_get_len(value) == 0) ||
            (yyjson_is_int(value) && yyjson_get_uint(value) == 0));
}

static inline bool proto_write_value(struct buf *to, const struct proto_field *field, yyjson_val *value)
{
    struct buf inner = {0};
    switch ((enum proto_kind)field->kind) {
    case PROTO_TEXT:
        if (!yyjson_is_str(value))
            return false;
        proto_write_bytes(to, field->number, yyjson_get_str(value), yyjson_get_len(value));
        return true;
    case PROTO_BOOL:
        if (!yyjson_is_bool(value))
            return false;
        proto_write_number(to, field->number, yyjson_get_bool(value));
        return true;
    case PROTO_INT:
        if (!yyjson_is_int(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX))
            return false;
        proto_write_number(to, field->number, yyjson_get_uint(value)); /* the same 64 bits */
        return true;
    case PROTO_MAP:
        return proto_write_map(to, field->number, value);
    case PROTO_TIME:
        return proto_write_time(to, field->number, value);
    case PROTO_MESSAGE:
        break;
    }
    bool can = proto_write_message(&inner, field->message, value);
    proto_write_buf(to, field->number, &inner);
    return can;
}

/* False where protobuf cannot say what the JSON says: a type that the field has not, a null in a list. */
static inline bool proto_write_message(struct buf *to, const struct proto_message *of, yyjson_val *object)
{
    size_t i, max, k, elements;
    yyjson_val *key, *value, *element;
    if (!yyjson_is_obj(object))
        return false;
    yyjson_obj_foreach (object, i, max, key, value) {
        const struct proto_field *field = NULL;
        for (size_t row = 0; row < of->count; row++)
            if (yyjson_equals_str(key, of->fields[row].name))
                field = &of->fields[row];
        if (yyjson_is_null(value))
            continue;
        if (field == NULL)
            proto_write_unknown(to, (unsigned)i, yyjson_get_str(key));
        else if (yyjson_obj_get(object, yyjson_get_str(key)) != value) /* a key that is there twice */
            return false;
        else if (!field->list && (proto_is_left_out(field, value) || !proto_write_value(to, field, value)))
            return false;
        else if (field->list && !yyjson_is_arr(value))
            return false;
        if (field != NULL && field->list)
            yyjson_arr_foreach (value, k, elements, element)
                if (!proto_write_value(to, field, element))
                    return false;
    }
    return true;
}

/* A whole Unknown around a message. */
static inline void proto_write_envelope(struct buf *to, const char *kind, struct buf *raw)
{
    struct buf meta = {0};
    proto_write_bytes(&meta, 1, "v1", 2);
    proto_write_bytes(&meta, 2, kind, strlen(kind));
    buf_addn(to, PROTO_MAGIC, PROTO_MAGIC_BYTES);
    proto_write_buf(to, UNKNOWN_TYPE_META, &meta);
    proto_write_buf(to, UNKNOWN_RAW, raw);
    proto_write_bytes(to, UNKNOWN_CONTENT_ENCODING, "", 0);
    proto_write_bytes(to, 4, "", 0);
}

/* A WatchEvent, without the length in front. */
static inline bool proto_write_event(struct buf *to, const struct kube_resource *of, yyjson_val *event)
{
    yyjson_val *type = yyjson_obj_get(event, "type"), *object = yyjson_obj_get(event, "object");
    bool is_error = yyjson_equals_str(type, "ERROR");
    struct buf raw = {0}, unknown = {0}, extension = {0};
    if (!yyjson_is_str(type) || !yyjson_is_obj(object))
        return false;
    bool can = proto_write_message(&raw, is_error ? &proto_status : of->message, object);
    proto_write_envelope(&unknown, is_error ? "Status" : of->message_kind, &raw);
    proto_write_buf(&extension, 1, &unknown);
    proto_write_bytes(to, 1, yyjson_get_str(type), yyjson_get_len(type));
    proto_write_buf(to, 2, &extension);
    return can;
}

/* A frame of a watch: with its length. */
static inline void proto_write_frame(struct buf *to, const struct buf *event)
{
    char length[4];
    for (size_t i = 0; i < sizeof(length); i++)
        length[i] = (char)(event->len >> (8 * (3 - i)));
    buf_addn(to, length, sizeof(length));
    buf_addn(to, buf_str(event), event->len);
}

/* A list as it is answered. */
static inline bool proto_write_list(struct buf *to, const struct kube_resource *of, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *item;
    struct buf raw = {0}, meta = {0}, kind = {0};
    bool can = proto_write_message(&meta, &proto_list_meta, yyjson_obj_get(list, "metadata"));
    proto_write_buf(&raw, PROTO_LIST_METADATA, &meta);
    yyjson_arr_foreach (yyjson_obj_get(list, "items"), i, max, item) {
        struct buf message = {0};
        can = proto_write_message(&message, of->message, item) && can;
        proto_write_buf(&raw, PROTO_LIST_ITEMS, &message);
    }
    buf_printf(&kind, "%sList", of->message_kind);
    proto_write_envelope(to, buf_str(&kind), &raw);
    buf_fini(&kind);
    return can;
}
