#include "kube/event_object.h"

#include <yyjson.h>

#include "base/rfc3339.h"
#include "json/write.h"

/* Kubernetes' Time: whole seconds. */
static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, uint64_t wall_ms)
{
    char text[RFC3339_BYTES];
    rfc3339_format(wall_ms < INT64_MAX / 1000 ? (int64_t)wall_ms * 1000 : INT64_MAX, 0, text);
    json_put_text(doc, object, key, text);
}

/* What is said of each occurrence. */
static void put_latest(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct event_object *e)
{
    json_put_count(doc, root, "count", e->count);
    put_time(doc, root, "lastTimestamp", e->last_ms);
    json_put_text(doc, root, "message", e->message);
}

char *event_encode_new(const struct event_object *e)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_put_text(doc, root, "apiVersion", "v1");
    json_put_text(doc, root, "kind", "Event");
    yyjson_mut_val *metadata = json_put_object(doc, root, "metadata");
    json_put_text(doc, metadata, "namespace", e->namespace);
    json_put_text(doc, metadata, "name", e->name);
    yyjson_mut_val *about = json_put_object(doc, root, "involvedObject");
    json_put_text(doc, about, "apiVersion", e->api_version != NULL ? e->api_version : "v1");
    json_put_text(doc, about, "kind", e->kind);
    json_put_text(doc, about, "namespace", e->namespace);
    json_put_text(doc, about, "name", e->about);
    if (e->uid != NULL)
        json_put_text(doc, about, "uid", e->uid);
    json_put_text(doc, root, "type", e->warning ? "Warning" : "Normal");
    json_put_text(doc, root, "reason", e->reason);
    put_latest(doc, root, e);
    put_time(doc, root, "firstTimestamp", e->first_ms);
    yyjson_mut_val *source = json_put_object(doc, root, "source");
    json_put_text(doc, source, "component", EVENT_COMPONENT);
    json_put_text(doc, source, "host", e->host);
    json_put_text(doc, root, "reportingComponent", EVENT_COMPONENT);
    json_put_text(doc, root, "reportingInstance", e->host);
    return json_take(doc);
}

char *event_encode_again(const struct event_object *e)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_latest(doc, root, e);
    return json_take(doc);
}
