/* Protobuf -> the JSON values that the decoders read, which are the few that the message's table has. */
#include <string.h>

#include "base/protobuf.h"
#include "base/str.h"
#include "json/write.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/envelope.h"
#include "kube/protobuf/schema.h"

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
    json_put_text(doc, to, "kind", unknown.kind);
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

yyjson_doc *decode_protobuf_status(const char *body, size_t len)
{
    struct proto_unknown unknown;
    struct protobuf p;
    yyjson_mut_val *root;
    if (proto_unknown_read(body, body, len, &unknown, NULL) != 0)
        return NULL;
    cleanup(json_free_ptr) yyjson_mut_doc *read = json_new(&root);
    json_put_text(read, root, "kind", unknown.kind);
    protobuf_init_within(&p, body, unknown.raw.data, unknown.raw.len);
    return proto_read(&proto_status, &p, read, root, NULL) == 0 ? frozen(read) : NULL;
}
