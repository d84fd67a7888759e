#include "kube/protobuf/message.h"

#include <string.h>
#include <yyjson.h>

#include "base/protobuf.h"
#include "base/rfc3339.h"
#include "base/text.h"

#define SECOND_US INT64_C(1000000)
#define LAST_SECOND INT64_C(253402300799) /* of the year 9999, the last that RFC 3339 has */

struct decoding {
    yyjson_mut_doc *doc;
    yyjson_mut_val *to;
    const struct protobuf *from;
    const struct proto_field *field;
    yyjson_mut_val **list; /* of a repeated field or a map: the array or object; NULL there: not made yet */
};

static int text_of(const struct protobuf_field *f, yyjson_mut_doc *doc, yyjson_mut_val **ret, struct error *err)
{
    const char *text = (const char *)f->data;
    if (protobuf_expect(f, PROTOBUF_BYTES, SIZE_MAX, "text", err) != 0)
        return -1;
    size_t good = text_utf8_len(text, f->len);
    if (good < f->len)
        return error_set(err, ERROR_INVALID, "protobuf: byte %zu of the text at offset %zu is no UTF-8", good,
                         f->offset);
    *ret = yyjson_mut_strn(doc, text != NULL ? text : "", f->len);
    return 0;
}

static int message_of(const struct decoding *r, const struct protobuf_field *f, yyjson_mut_val **ret, struct error *err)
{
    struct protobuf inner;
    if (protobuf_enter(r->from, f, "message", &inner, err) != 0)
        return -1;
    *ret = yyjson_mut_obj(r->doc);
    if (proto_read(r->field->message, &inner, r->doc, *ret, err) == 0)
        return 0;
    if (!r->field->list) /* what was read of it may say whose error this is */
        yyjson_mut_obj_add_val(r->doc, r->to, r->field->name, *ret);
    return -1;
}

/* meta.v1.Time: seconds = 1, nanos = 2. The zero time of Go is an empty message, and null in JSON. */
static int time_of(const struct decoding *r, const struct protobuf_field *f, yyjson_mut_val **ret, struct error *err)
{
    struct protobuf inner;
    struct protobuf_field part;
    int64_t seconds = 0;
    int more;
    if (protobuf_enter(r->from, f, "time", &inner, err) != 0)
        return -1;
    while ((more = protobuf_next(&inner, &part, err)) > 0) {
        if (part.number != 1)
            continue;
        if (protobuf_expect(&part, PROTOBUF_VARINT, 0, "seconds", err) != 0)
            return -1;
        seconds = (int64_t)part.value;
    }
    if (more < 0)
        return -1;
    *ret = NULL;
    if (f->len == 0)
        return 0;
    char text[RFC3339_BYTES];
    rfc3339_format(seconds < 0 ? 0 : seconds > LAST_SECOND ? LAST_SECOND * SECOND_US : seconds * SECOND_US, 0, text);
    *ret = yyjson_mut_strcpy(r->doc, text);
    return 0;
}

/* map<string, string>: a message for each entry, key = 1, value = 2; one that is absent is "". */
static int add_entry(const struct decoding *r, const struct protobuf_field *f, struct error *err)
{
    struct protobuf inner;
    struct protobuf_field part;
    yyjson_mut_val *key = NULL, *value = NULL;
    int more;
    if (protobuf_enter(r->from, f, "entry", &inner, err) != 0)
        return -1;
    while ((more = protobuf_next(&inner, &part, err)) > 0)
        if ((part.number == 1 && text_of(&part, r->doc, &key, err) != 0) ||
            (part.number == 2 && text_of(&part, r->doc, &value, err) != 0))
            return -1;
    if (more < 0)
        return -1;
    if (*r->list == NULL) {
        *r->list = yyjson_mut_obj(r->doc);
        yyjson_mut_obj_add_val(r->doc, r->to, r->field->name, *r->list);
    }
    yyjson_mut_obj_add(*r->list, key != NULL ? key : yyjson_mut_str(r->doc, ""),
                       value != NULL ? value : yyjson_mut_str(r->doc, ""));
    return 0;
}

static int value_of(const struct decoding *r, const struct protobuf_field *f, yyjson_mut_val **ret, struct error *err)
{
    switch ((enum proto_kind)r->field->kind) {
    case PROTO_TEXT:
        return text_of(f, r->doc, ret, err);
    case PROTO_BOOL:
        if (protobuf_expect(f, PROTOBUF_VARINT, 0, "bool", err) != 0)
            return -1;
        *ret = yyjson_mut_bool(r->doc, f->value != 0);
        return 0;
    case PROTO_INT:
        if (protobuf_expect(f, PROTOBUF_VARINT, 0, "number", err) != 0)
            return -1;
        /* int32, too, is sent as the 64 bits of its value. */
        *ret = f->value <= INT64_MAX ? yyjson_mut_uint(r->doc, f->value) : yyjson_mut_sint(r->doc, (int64_t)f->value);
        return 0;
    case PROTO_TIME:
        return time_of(r, f, ret, err);
    case PROTO_MESSAGE:
    case PROTO_MAP:
        break;
    }
    return message_of(r, f, ret, err);
}

static int add_field(const struct decoding *r, const struct protobuf_field *f, struct error *err)
{
    yyjson_mut_val *value = NULL;
    if (r->field->kind == PROTO_MAP)
        return add_entry(r, f, err);
    if (value_of(r, f, &value, err) != 0)
        return -1;
    enum proto_kind kind = r->field->kind;
    bool zero = kind == PROTO_TEXT ? f->len == 0 : (kind == PROTO_BOOL || kind == PROTO_INT) && f->value == 0;
    bool omitted = zero && !r->field->keeps_zero && !r->field->list; /* by Go, which says "omitempty" */
    if (value == NULL || omitted)
        return 0;
    if (!r->field->list) {
        yyjson_mut_obj_add_val(r->doc, r->to, r->field->name, value);
        return 0;
    }
    if (*r->list == NULL) {
        *r->list = yyjson_mut_arr(r->doc);
        yyjson_mut_obj_add_val(r->doc, r->to, r->field->name, *r->list);
    }
    yyjson_mut_arr_append(*r->list, value);
    return 0;
}

int proto_read(const struct proto_message *of, struct protobuf *from, struct yyjson_mut_doc *doc,
               struct yyjson_mut_val *to, struct error *err)
{
    yyjson_mut_val *lists[PROTO_FIELDS_MAX] = {NULL};
    bool seen[PROTO_FIELDS_MAX] = {false};
    struct protobuf_field f;
    int more;
    while ((more = protobuf_next(from, &f, err)) > 0) {
        size_t row = 0;
        while (row < of->count && of->fields[row].number < f.number)
            row++;
        if (row == of->count || of->fields[row].number != f.number)
            continue;
        const struct proto_field *field = &of->fields[row];
        if (seen[row] && !field->list && field->kind != PROTO_MAP)
            return error_set(err, ERROR_INVALID, "protobuf: %s is there twice, the second at offset %zu", field->name,
                             f.offset);
        seen[row] = true;
        if (add_field(&(struct decoding){doc, to, from, field, &lists[row]}, &f, err) != 0)
            return error_prefix(err, "%s", field->name);
    }
    return more;
}

/* ---- what is around each object ---- */

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
