#include "kube/event_object.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/rfc3339.h"

static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, yyjson_mut_val *value)
{
    if (!yyjson_mut_obj_put(object, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory */
}

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text)
{
    if (text != NULL)
        put(doc, object, key, yyjson_mut_strcpy(doc, text));
}

static yyjson_mut_val *put_object(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    put(doc, to, key, object);
    return object;
}

/* Kubernetes' Time: whole seconds. */
static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, uint64_t wall_ms)
{
    char text[RFC3339_BYTES];
    rfc3339_format(wall_ms < INT64_MAX / 1000 ? (int64_t)wall_ms * 1000 : INT64_MAX, 0, text);
    put_text(doc, object, key, text);
}

static yyjson_mut_doc *begin(void)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (doc == NULL)
        abort();
    yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    return doc;
}

static char *finish(yyjson_mut_doc *doc)
{
    /* What others chose is well-formed by base/text, or was checked when it was read; where it is not after all, the API
     * says so, and nothing ends here. */
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
    yyjson_mut_doc_free(doc);
    if (text == NULL)
        abort();
    return text;
}

/* What is said of each occurrence. */
static void put_latest(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct event_object *e)
{
    put(doc, root, "count", yyjson_mut_uint(doc, e->count));
    put_time(doc, root, "lastTimestamp", e->last_ms);
    put_text(doc, root, "message", e->message);
}

char *event_encode_new(const struct event_object *e)
{
    yyjson_mut_doc *doc = begin();
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    put_text(doc, root, "apiVersion", "v1");
    put_text(doc, root, "kind", "Event");
    yyjson_mut_val *metadata = put_object(doc, root, "metadata");
    put_text(doc, metadata, "namespace", e->namespace);
    put_text(doc, metadata, "name", e->name);
    yyjson_mut_val *about = put_object(doc, root, "involvedObject");
    put_text(doc, about, "apiVersion", "v1");
    put_text(doc, about, "kind", "Service");
    put_text(doc, about, "namespace", e->namespace);
    put_text(doc, about, "name", e->service);
    put_text(doc, about, "uid", e->service_uid);
    put_text(doc, root, "type", e->warning ? "Warning" : "Normal");
    put_text(doc, root, "reason", e->reason);
    put_latest(doc, root, e);
    put_time(doc, root, "firstTimestamp", e->first_ms);
    yyjson_mut_val *source = put_object(doc, root, "source");
    put_text(doc, source, "component", EVENT_COMPONENT);
    put_text(doc, source, "host", e->host);
    put_text(doc, root, "reportingComponent", EVENT_COMPONENT);
    put_text(doc, root, "reportingInstance", e->host);
    return finish(doc);
}

char *event_encode_again(const struct event_object *e)
{
    yyjson_mut_doc *doc = begin();
    put_latest(doc, yyjson_mut_doc_get_root(doc), e);
    return finish(doc);
}
