#include "kube/decode/decode.h"

#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/text.h"
#include "json/write.h"
#include "kube/decode/decode_field.h"
#include "kube/frame.h"
#include "kube/protobuf/message.h"

#define VERSION_MAX_BYTES 1024u
#define CONTINUE_MAX_BYTES 8192u
#define UID_MAX_BYTES 128u
#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

_Static_assert(KUBE_DECODE_PADDING_BYTES >= YYJSON_PADDING_SIZE, "yyjson reads behind what it parses in place");
_Static_assert(FRAME_PADDING_BYTES >= KUBE_DECODE_PADDING_BYTES, "the splitter leaves what the decoder wants");

void kube_event_fini(struct kube_event *e)
{
    mem_free_all(e->name, e->resource_version);
    if (e->of != NULL)
        record_free(e->of->record, e->object);
    mem_free_all(e->status_reason, e->status_message);
    *e = (struct kube_event){.type = KUBE_UNKNOWN, .retry_after_seconds = -1};
}

static yyjson_doc *decode_parse(char *json, size_t len, yyjson_read_flag flags, struct error *err)
{
    yyjson_doc *doc = json_parse(json, len, flags, "it", err);
    if (doc == NULL || json_is_object(yyjson_doc_get_root(doc), "it", err) == 0)
        return doc;
    yyjson_doc_free(doc);
    return NULL;
}

static int decode_version(yyjson_val *metadata, struct kube_event *ret, struct error *err)
{
    const char *version;
    if (json_get_line(metadata, "resourceVersion", VERSION_MAX_BYTES, &version, err) != 0)
        return -1;
    if (str_empty(version))
        return error_set(err, ERROR_INVALID, "resourceVersion is absent");
    ret->resource_version = mem_strdup(version);
    return 0;
}

static int decode_name(struct decode *d, yyjson_val *metadata, struct kube_event *ret, struct error *err)
{
    const char *name, *namespace = NULL;
    if (json_get_line(metadata, "name", KUBE_NAME_MAX_BYTES, &name, err) != 0)
        return -1;
    if (str_empty(name))
        return error_set(err, ERROR_INVALID, "name is absent");
    if (d->of->by_namespace && json_get_line(metadata, "namespace", KUBE_NAME_MAX_BYTES, &namespace, err) != 0)
        return -1;
    ret->name = str_empty(namespace) ? mem_strdup(name) : mem_printf("%s/%s", namespace, name);
    d->name = ret->name;
    return 0;
}

/* As much as there is goes into *ret, so that the version counts even where the name cannot be used. */
static int decode_meta(struct decode *d, yyjson_val *object, bool version_needed, struct kube_event *ret,
                       struct error *err)
{
    yyjson_val *metadata;
    struct error version_error;
    if (json_get_object(object, "metadata", &metadata, err) != 0)
        return -1;
    int version = decode_version(metadata, ret, version_needed ? &version_error : NULL);
    if (decode_name(d, metadata, ret, err) != 0)
        return error_prefix(err, "metadata");
    if (version != 0 && version_needed) {
        *err = version_error;
        return error_prefix(err, "metadata");
    }
    const char *uid;
    if (json_get_line(metadata, "uid", UID_MAX_BYTES, &uid, err) != 0)
        return error_prefix(err, "metadata");
    d->uid = uid;
    d->uid_hash = uid != NULL ? hash_bytes(HASH_START, uid, strlen(uid)) : 0;
    return 0;
}

/* ADDED, MODIFIED, DELETED. Whatever is wrong in it ends in `skipped` or `partial`. */
static void decode_change(yyjson_val *object, bool version_needed, struct kube_event *ret)
{
    struct decode d = {.of = ret->of, .partial = &ret->partial};
    int result = decode_meta(&d, object, version_needed, ret, &ret->skipped);
    if (result == 0 && ret->type != KUBE_DELETED) {
        ret->object = mem_alloc(ret->of->record->bytes);
        *(char **)ret->object = mem_strdup(d.name);
        result = ret->of->decode(&d, object, ret->object, &ret->skipped);
        if (result != 0) {
            record_free(ret->of->record, ret->object);
            ret->object = NULL;
        }
    }
    if (result != 0) {
        error_prefix(&ret->skipped, "%s %s is skipped", ret->of->kind,
                     d.name != NULL ? d.name : "without a usable name");
        error_clear(&ret->partial);
    } else if (d.left_out > 0) {
        error_prefix(&ret->partial, "%s %s: %zu left out, the first", ret->of->kind, d.name, d.left_out);
    }
}

/* ---- a Status ---- */

#define REASON_MAX_BYTES 131u
#define MESSAGE_MAX_BYTES 515u
/* A Status is a few hundred bytes; what is longer is a page that is only quoted from. */
#define STATUS_BODY_MAX_BYTES (256u << 10)

/* The beginning of a text, on one line. Allocates. */
static char *shorten(const char *text, size_t len, size_t max_bytes)
{
    struct buf out = {0};
    text_addn(&out, text, len, TEXT_FLAT, max_bytes);
    return buf_take(&out);
}

static char *status_text_of(yyjson_val *of, const char *key, size_t max_bytes)
{
    yyjson_val *value = yyjson_obj_get(of, key);
    return yyjson_is_str(value) ? shorten(yyjson_get_str(value), yyjson_get_len(value), max_bytes) : mem_strdup("");
}

static int status_number_of(yyjson_val *of, const char *key, int fallback)
{
    yyjson_val *value = yyjson_obj_get(of, key);
    return yyjson_is_uint(value) && yyjson_get_uint(value) <= INT_MAX ? (int)yyjson_get_uint(value) : fallback;
}

static void decode_status(yyjson_val *object, struct kube_event *ret)
{
    size_t i, max;
    yyjson_val *details = yyjson_obj_get(object, "details"), *cause;
    ret->status_code = status_number_of(object, "code", 0);
    ret->status_reason = status_text_of(object, "reason", REASON_MAX_BYTES);
    ret->status_message = status_text_of(object, "message", MESSAGE_MAX_BYTES);
    ret->retry_after_seconds = status_number_of(details, "retryAfterSeconds", -1);
    yyjson_arr_foreach (yyjson_obj_get(details, "causes"), i, max, cause) {
        if (yyjson_equals_str(yyjson_obj_get(cause, "reason"), "ResourceVersionTooLarge"))
            ret->cause_too_large = true;
    }
}

/* ---- events and items ---- */

static int event_of(yyjson_val *root, struct kube_event *ret, struct error *err)
{
    yyjson_val *object = yyjson_obj_get(root, "object");
    const char *type = yyjson_get_str(yyjson_obj_get(root, "type"));
    if (type == NULL)
        return error_set(err, ERROR_INVALID, "type is %s, not a string", json_type(yyjson_obj_get(root, "type")));
    static const char *const names[] = {[KUBE_ADDED] = "ADDED",
                                        [KUBE_MODIFIED] = "MODIFIED",
                                        [KUBE_DELETED] = "DELETED",
                                        [KUBE_BOOKMARK] = "BOOKMARK",
                                        [KUBE_ERROR] = "ERROR"};
    ret->type = KUBE_ADDED;
    while (ret->type < KUBE_UNKNOWN && !str_eq(type, names[ret->type]))
        ret->type++;
    if (ret->type == KUBE_UNKNOWN)
        return 0;
    if (ret->type == KUBE_ERROR) {
        decode_status(object, ret);
        return 0;
    }
    if (!yyjson_is_obj(object))
        return error_set(err, ERROR_INVALID, "%s: object is %s, not an object", type, json_type(object));
    if (ret->type != KUBE_BOOKMARK) {
        decode_change(object, true, ret);
        return 0;
    }
    yyjson_val *metadata;
    if (json_get_object(object, "metadata", &metadata, err) != 0)
        return error_prefix(err, "BOOKMARK");
    if (decode_version(metadata, ret, err) != 0)
        return error_prefix(err, "BOOKMARK: metadata");
    yyjson_val *annotations = yyjson_obj_get(metadata, "annotations");
    ret->initial_events_end = yyjson_equals_str(yyjson_obj_get(annotations, INITIAL_EVENTS_END), "true");
    return 0;
}

static int decode_event(const struct kube_resource *of, yyjson_val *root, struct kube_event *ret, struct error *err)
{
    *ret = (struct kube_event){.of = of, .type = KUBE_UNKNOWN, .retry_after_seconds = -1};
    if (event_of(root, ret, err) == 0)
        return 0;
    kube_event_fini(ret);
    return -1;
}

int kube_decode_event(const struct kube_resource *of, char *json, size_t len, struct kube_event *ret, struct error *err)
{
    *ret = (struct kube_event){.of = of, .type = KUBE_UNKNOWN, .retry_after_seconds = -1};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = decode_parse(json, len, YYJSON_READ_INSITU, err);
    if (doc == NULL || decode_event(of, yyjson_doc_get_root(doc), ret, err) != 0)
        return error_prefix(err, "watch event of %s", of->kind);
    return 0;
}

static void decode_item(const struct kube_resource *of, yyjson_val *root, struct kube_event *ret)
{
    *ret = (struct kube_event){.of = of, .type = KUBE_ADDED, .retry_after_seconds = -1};
    decode_change(root, false, ret);
}

int kube_decode_item(const struct kube_resource *of, char *json, size_t len, struct kube_event *ret, struct error *err)
{
    *ret = (struct kube_event){.of = of, .type = KUBE_ADDED, .retry_after_seconds = -1};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = decode_parse(json, len, YYJSON_READ_INSITU, err);
    if (doc == NULL)
        return error_prefix(err, "list item of %s", of->kind);
    decode_item(of, yyjson_doc_get_root(doc), ret);
    return 0;
}

static int decode_list_meta(yyjson_val *root, struct kube_list_meta *ret, struct error *err)
{
    yyjson_val *metadata;
    const char *version, *token;
    if (yyjson_equals_str(yyjson_obj_get(root, "kind"), "Status")) {
        const char *message = yyjson_get_str(yyjson_obj_get(root, "message"));
        return error_set(err, ERROR_INVALID, "a Status instead: %.300s",
                         message != NULL ? message : "without a message");
    }
    if (json_get_object(root, "metadata", &metadata, err) != 0)
        return -1;
    if (json_get_line(metadata, "resourceVersion", VERSION_MAX_BYTES, &version, err) != 0 ||
        json_get_line(metadata, "continue", CONTINUE_MAX_BYTES, &token, err) != 0)
        return error_prefix(err, "metadata");
    if (str_empty(version))
        return error_set(err, ERROR_INVALID, "metadata: resourceVersion is absent");
    ret->resource_version = mem_strdup(version);
    ret->continue_token = mem_strdup(token != NULL ? token : "");
    return 0;
}

int kube_decode_list_meta(const char *json, size_t len, struct kube_list_meta *ret, struct error *err)
{
    /* Without the in-situ flag the text is copied, not changed. */
    cleanup(json_doc_free_ptr) yyjson_doc *doc = decode_parse((char *)(uintptr_t)json, len, 0, err);
    if (doc == NULL || decode_list_meta(yyjson_doc_get_root(doc), ret, err) != 0)
        return error_prefix(err, "list");
    return 0;
}

void kube_list_meta_fini(struct kube_list_meta *m)
{
    mem_free_all(m->resource_version, m->continue_token);
    *m = (struct kube_list_meta){NULL, NULL};
}

/* ---- protobuf: the JSON values that the decoders read ---- */

#define STATUS_KIND "Status"

/* As decoders take it. */
static yyjson_doc *frozen(yyjson_mut_doc *doc)
{
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    if (ret == NULL)
        abort(); /* out of memory */
    return ret;
}

/* What is known of the object by then: its metadata comes first. */
static int error_in_object(const struct kube_resource *of, yyjson_mut_val *object, struct error *err)
{
    yyjson_mut_val *name = yyjson_mut_obj_get(yyjson_mut_obj_get(object, "metadata"), "name");
    size_t len = yyjson_mut_get_len(name);
    if (len == 0 || len > KUBE_NAME_MAX_BYTES)
        return -1;
    return error_prefix(err, "%s %.*s", of->kind, (int)len, yyjson_mut_get_str(name));
}

/* ---- a watch ---- */

static int read_event(const struct kube_resource *of, const char *bytes, size_t len, yyjson_mut_doc *doc,
                      yyjson_mut_val *root, struct error *err)
{
    struct proto_watch_event event;
    if (proto_watch_event_read(bytes, len, &event, err) != 0)
        return -1;
    if (event.type.data != NULL)
        json_put(doc, root, "type", yyjson_mut_strn(doc, (const char *)event.type.data, event.type.len));
    if (event.object.data == NULL)
        return 0;
    const void *start = bytes;
    yyjson_mut_val *to = json_put_object(doc, root, "object");
    struct proto_unknown unknown;
    struct protobuf p;
    if (proto_unknown_read(start, event.object.data, event.object.len, &unknown, err) != 0)
        return error_prefix(err, "object");
    bool is_status = str_eq(unknown.kind, STATUS_KIND);
    if (!is_status && !str_eq(unknown.kind, of->message_kind))
        return error_set(err, ERROR_INVALID, "object is a \"%s\", not a %s", unknown.kind, of->message_kind);
    json_fields(doc, to, json_str("kind", unknown.kind));
    protobuf_init_within(&p, start, unknown.raw.data, unknown.raw.len);
    if (proto_read(is_status ? &proto_status : of->message, &p, doc, to, err) != 0)
        return error_in_object(of, to, err);
    return 0;
}

int kube_decode_event_protobuf(const struct kube_resource *of, const char *bytes, size_t len, struct kube_event *ret,
                               struct error *err)
{
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *read = json_new(&root);
    *ret = (struct kube_event){.of = of, .type = KUBE_UNKNOWN, .retry_after_seconds = -1};
    if (read_event(of, bytes, len, read, root, err) != 0)
        return error_prefix(err, "watch event of %s", of->kind);
    cleanup(json_doc_free_ptr) yyjson_doc *doc = frozen(read);
    if (decode_event(of, yyjson_doc_get_root(doc), ret, err) != 0)
        return error_prefix(err, "watch event of %s", of->kind);
    return 0;
}

/* ---- a list ---- */

int kube_decode_item_protobuf(const struct kube_resource *of, const char *bytes, size_t len, struct kube_event *ret,
                              struct error *err)
{
    yyjson_mut_val *root;
    struct protobuf p;
    cleanup(json_free_ptr) yyjson_mut_doc *read = json_new(&root);
    *ret = (struct kube_event){.of = of, .type = KUBE_UNKNOWN, .retry_after_seconds = -1};
    protobuf_init(&p, bytes, len);
    if (proto_read(of->message, &p, read, root, err) != 0) {
        error_in_object(of, root, err);
        return error_prefix(err, "list item of %s", of->kind);
    }
    cleanup(json_doc_free_ptr) yyjson_doc *doc = frozen(read);
    decode_item(of, yyjson_doc_get_root(doc), ret);
    return 0;
}

int kube_decode_list_meta_protobuf(const char *bytes, size_t len, struct kube_list_meta *ret, struct error *err)
{
    yyjson_mut_val *root;
    struct protobuf p;
    cleanup(json_free_ptr) yyjson_mut_doc *read = json_new(&root);
    yyjson_mut_val *metadata = json_put_object(read, root, "metadata");
    protobuf_init(&p, bytes, len);
    if (proto_read(&proto_list_meta, &p, read, metadata, err) != 0)
        return error_prefix(err, "list: metadata");
    cleanup(json_doc_free_ptr) yyjson_doc *doc = frozen(read);
    return decode_list_meta(yyjson_doc_get_root(doc), ret, err) == 0 ? 0 : error_prefix(err, "list");
}

/* ---- a failed request ---- */

/* The JSON of a body that is a Status in protobuf; `kind` says whether it is. NULL: it is no protobuf. */
static yyjson_doc *decode_protobuf_status(const char *body, size_t len)
{
    struct proto_unknown unknown;
    struct protobuf p;
    yyjson_mut_val *root;
    if (proto_unknown_read(body, body, len, &unknown, NULL) != 0)
        return NULL;
    cleanup(json_free_ptr) yyjson_mut_doc *read = json_new(&root);
    json_fields(read, root, json_str("kind", unknown.kind));
    protobuf_init_within(&p, body, unknown.raw.data, unknown.raw.len);
    return proto_read(&proto_status, &p, read, root, NULL) == 0 ? frozen(read) : NULL;
}

void kube_decode_status(const char *body, size_t len, struct kube_event *ret)
{
    *ret = (struct kube_event){.type = KUBE_ERROR, .retry_after_seconds = -1};
    size_t usable = len <= STATUS_BODY_MAX_BYTES ? len : 0;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = decode_protobuf_status(body, usable);
    if (doc == NULL)
        doc = json_parse(body, usable, 0, "the answer", NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (yyjson_equals_str(yyjson_obj_get(root, "kind"), "Status")) {
        decode_status(root, ret);
    } else {
        ret->status_reason = mem_strdup("");
        ret->status_message = shorten(body, len, MESSAGE_MAX_BYTES);
    }
}
