#include "kube/decode/decode.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/frame.h"

#define VERSION_MAX_BYTES 1024u
#define CONTINUE_MAX_BYTES 8192u
#define UID_MAX_BYTES 128u
#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

_Static_assert(KUBE_DECODE_PADDING_BYTES >= YYJSON_PADDING_SIZE, "yyjson reads behind what it parses in place");
_Static_assert(FRAME_PADDING_BYTES >= KUBE_DECODE_PADDING_BYTES, "the splitter leaves what the decoder wants");

void kube_event_fini(struct kube_event *e)
{
    free(e->name);
    free(e->resource_version);
    if (e->of != NULL)
        record_free(e->of->record, e->object);
    free(e->status_reason);
    free(e->status_message);
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

int decode_event(const struct kube_resource *of, yyjson_val *root, struct kube_event *ret, struct error *err)
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

void decode_item(const struct kube_resource *of, yyjson_val *root, struct kube_event *ret)
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

int decode_list_meta(yyjson_val *root, struct kube_list_meta *ret, struct error *err)
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
    free(m->resource_version);
    free(m->continue_token);
    *m = (struct kube_list_meta){NULL, NULL};
}
