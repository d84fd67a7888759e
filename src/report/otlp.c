#include "report/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"
#include "report/trace.h"

#define SCOPE "haproxy-k8s-sync"
#define NUMBER_BYTES 24
#define KIND_INTERNAL 1 /* enum SpanKind */
#define STATUS_ERROR 2  /* enum StatusCode */

void otlp_resource_set(struct otlp_resource *r, const char *key, const char *value)
{
    size_t i = 0;
    while (i < r->count && !str_eq(r->list[i].key, key))
        i++;
    if (i == r->count) {
        r->list = mem_resize(r->list, r->count + 1, sizeof(r->list[0]));
        r->list[r->count++] = (struct otlp_attribute){.key = mem_strdup(key)};
    }
    free(r->list[i].value);
    r->list[i].value = mem_strdup(value);
}

void otlp_resource_fini(struct otlp_resource *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->list[i].key);
        free(r->list[i].value);
    }
    free(r->list);
    *r = (struct otlp_resource){0};
}

/* ---- the request ---- */

static void otlp_put_number(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, int64_t n)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof(text), "%" PRId64, n);
    json_put_text(doc, obj, key, text);
}

static void otlp_put_id(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key,
                        const unsigned char *id, size_t len)
{
    char text[2 * TRACE_ID_BYTES + 1];
    for (size_t i = 0; i < len; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    json_put_text(doc, obj, key, text);
}

static struct yyjson_mut_val *otlp_add_key(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const char *key)
{
    struct yyjson_mut_val *pair = json_add_object(doc, list);
    json_put_text(doc, pair, "key", key);
    return json_put_object(doc, pair, "value");
}

static void otlp_add_attribute(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const struct span_attribute *a)
{
    struct yyjson_mut_val *value = otlp_add_key(doc, list, a->key);
    if (a->type == SPAN_TEXT)
        json_put_text(doc, value, "stringValue", a->text);
    else if (a->type == SPAN_BOOL)
        json_put_bool(doc, value, "boolValue", a->number != 0);
    else
        otlp_put_number(doc, value, "intValue", a->number);
}

static void otlp_add_span(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const struct span_view *v)
{
    struct yyjson_mut_val *span = json_add_object(doc, list);
    otlp_put_id(doc, span, "traceId", v->trace, sizeof(v->trace));
    otlp_put_id(doc, span, "spanId", v->id, sizeof(v->id));
    if (!v->is_root)
        otlp_put_id(doc, span, "parentSpanId", v->parent, sizeof(v->parent));
    json_put_text(doc, span, "name", v->name);
    json_put_count(doc, span, "kind", KIND_INTERNAL);
    otlp_put_number(doc, span, "startTimeUnixNano", (int64_t)v->begin_ns);
    otlp_put_number(doc, span, "endTimeUnixNano", (int64_t)v->end_ns);
    struct yyjson_mut_val *attributes = json_put_list(doc, span, "attributes");
    for (size_t i = 0; i < v->attribute_count; i++)
        otlp_add_attribute(doc, attributes, &v->attributes[i]);
    struct yyjson_mut_val *status = json_put_object(doc, span, "status");
    if (!v->failed)
        return;
    if (v->message != NULL)
        json_put_text(doc, status, "message", v->message);
    json_put_count(doc, status, "code", STATUS_ERROR);
}

char *otlp_encode(const struct otlp_resource *resource, const char *version, struct span *const *list, size_t count)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *of = json_add_object(doc, json_put_list(doc, root, "resourceSpans"));
    struct yyjson_mut_val *attributes = json_put_list(doc, json_put_object(doc, of, "resource"), "attributes");
    for (size_t i = 0; i < resource->count; i++)
        json_put_text(doc, otlp_add_key(doc, attributes, resource->list[i].key), "stringValue",
                      resource->list[i].value);
    struct yyjson_mut_val *by = json_add_object(doc, json_put_list(doc, of, "scopeSpans"));
    struct yyjson_mut_val *scope = json_put_object(doc, by, "scope");
    json_put_text(doc, scope, "name", SCOPE);
    json_put_text(doc, scope, "version", version);
    struct yyjson_mut_val *spans = json_put_list(doc, by, "spans");
    for (size_t i = 0; i < count; i++) {
        const struct span_view v = span_view(list[i]);
        otlp_add_span(doc, spans, &v);
    }
    return json_take(doc);
}

/* ---- the answer ---- */

/* A number, or a string of one: both are JSON of an int64. */
uint64_t otlp_rejected(const char *body, size_t len)
{
    struct error err = {0};
    uint64_t n = 0;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(body, len, 0, "the answer", &err);
    yyjson_val *partial = doc != NULL ? yyjson_obj_get(yyjson_doc_get_root(doc), "partialSuccess") : NULL;
    yyjson_val *rejected = yyjson_obj_get(partial, "rejectedSpans");
    const char *text = yyjson_get_str(rejected);
    if (yyjson_is_uint(rejected))
        return yyjson_get_uint(rejected);
    return text != NULL && str_parse_uint(text, UINT32_MAX, &n) == 0 ? n : 0;
}
