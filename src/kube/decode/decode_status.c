#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "kube/decode/decode_field.h"

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

void decode_status(yyjson_val *object, struct kube_event *ret)
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
