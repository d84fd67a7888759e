#include "kube/writer.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "json/write.h"
#include "kube/client.h"
#include "net/http.h"

#define REQUEST_MS 10000
#define ANNOTATED_MAX_BYTES (4u << 20) /* the object as the API has it */
#define ANSWER_MAX_BYTES (256u << 10)  /* the object as the API has it, with what admission added */

/* ---- the JSON of an Event ---- */

/* Kubernetes' Time: whole seconds. */
static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, uint64_t wall_ms)
{
    char text[RFC3339_BYTES];
    rfc3339_format(wall_ms < INT64_MAX / 1000 ? (int64_t)wall_ms * 1000 : INT64_MAX, 0, text);
    json_fields(doc, object, json_str(key, text));
}

/* What is said of each occurrence. */
static void put_latest(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct event_object *e)
{
    json_fields(doc, root, json_uint("count", e->count));
    put_time(doc, root, "lastTimestamp", e->last_ms);
    json_fields(doc, root, json_str("message", e->message));
}

char *event_encode_new(const struct event_object *e)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("apiVersion", "v1"), json_str("kind", "Event"));
    json_fields(doc, json_put_object(doc, root, "metadata"), json_str("namespace", e->namespace),
                json_str("name", e->name));
    yyjson_mut_val *about = json_put_object(doc, root, "involvedObject");
    json_fields(doc, about, json_str("apiVersion", e->api_version != NULL ? e->api_version : "v1"),
                json_str("kind", e->kind), json_str("namespace", e->namespace), json_str("name", e->about));
    if (e->uid != NULL)
        json_fields(doc, about, json_str("uid", e->uid));
    json_fields(doc, root, json_str("type", e->warning ? "Warning" : "Normal"), json_str("reason", e->reason));
    put_latest(doc, root, e);
    put_time(doc, root, "firstTimestamp", e->first_ms);
    json_fields(doc, json_put_object(doc, root, "source"), json_str("component", EVENT_COMPONENT),
                json_str("host", e->host));
    json_fields(doc, root, json_str("reportingComponent", EVENT_COMPONENT), json_str("reportingInstance", e->host));
    return json_take(doc);
}

char *event_encode_again(const struct event_object *e)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_latest(doc, root, e);
    return json_take(doc);
}

/* ---- writing them ---- */

struct event_writer {
    struct kube_client *client;
    struct http_request *request;
    bool again; /* it is a repeat */
    void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms, const struct error *err);
    void *arg;
};

struct event_writer *event_writer_new(struct kube_client *client,
                                      void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms,
                                                   const struct error *err),
                                      void *arg)
{
    struct event_writer *w = mem_alloc(sizeof(*w));
    w->client = client;
    w->done = done;
    w->arg = arg;
    return w;
}

void event_writer_free(struct event_writer *w)
{
    if (w == NULL)
        return;
    http_cancel(w->request);
    free(w);
}

static enum event_outcome outcome_of(int status, bool again)
{
    switch (status) {
    case 200:
    case 201:
    case 202:
        return EVENT_WRITTEN;
    case 403:
        return EVENT_DENIED;
    case 404:
    case 410:
        return again ? EVENT_GONE : EVENT_REFUSED;
    case 409:
        return again ? EVENT_LATER : EVENT_EXISTS;
    case 401:
    case 408:
    case 429:
        return EVENT_LATER;
    default:
        return status >= 500 ? EVENT_LATER : EVENT_REFUSED;
    }
}

static void event_writer_on_done(void *arg, const struct http_response *r, const struct error *failure)
{
    struct event_writer *w = arg;
    struct error err = {0};
    int64_t retry_after_ms;
    w->request = NULL;
    int rc = kube_client_result(w->client, r, failure, &retry_after_ms, &err);
    w->done(w->arg, failure != NULL ? EVENT_LATER : outcome_of(r->status, w->again), retry_after_ms,
            rc != 0 ? &err : NULL);
}

int event_writer_send(struct event_writer *w, const struct event_object *e, bool again, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = event_writer_on_done};
    cleanup(mem_free_ptr) char *body = again ? event_encode_again(e) : event_encode_new(e);
    cleanup(mem_free_ptr) char *namespace = str_url_encode(e->namespace), *name = str_url_encode(e->name);
    cleanup(mem_free_ptr) char *path =
        mem_printf("/api/v1/namespaces/%s/events%s%s", namespace, again ? "/" : "", again ? name : "");
    w->again = again;
    struct http_request_options options = {.method = again ? "PATCH" : "POST",
                                           .path = path,
                                           .content_type = again ? "application/merge-patch+json" : "application/json",
                                           .body = body,
                                           .body_len = strlen(body),
                                           .max_body_bytes = ANSWER_MAX_BYTES,
                                           .total_timeout_ms = REQUEST_MS};
    w->request = kube_client_start(w->client, &options, &callbacks, w, err);
    return w->request != NULL ? 0 : -1;
}

/* ---- annotations ---- */

struct annotator {
    struct kube_client *client;
    struct http_request *request;
    void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err);
    void *arg;
};

struct annotator *annotator_new(struct kube_client *client,
                                void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err),
                                void *arg)
{
    struct annotator *a = mem_alloc(sizeof(*a));
    a->client = client;
    a->done = done;
    a->arg = arg;
    return a;
}

void annotator_free(struct annotator *a)
{
    if (a == NULL)
        return;
    http_cancel(a->request);
    free(a);
}

static void annotator_on_done(void *arg, const struct http_response *r, const struct error *failure)
{
    struct annotator *a = arg;
    struct error err = {0};
    a->request = NULL;
    if (kube_client_result(a->client, r, failure, NULL, &err) == 0) {
        a->done(a->arg, ANNOTATE_WRITTEN, NULL);
        return;
    }
    int status = failure == NULL ? r->status : 0;
    a->done(a->arg, status == 409 ? ANNOTATE_CONFLICT : status == 403 ? ANNOTATE_DENIED : ANNOTATE_LATER, &err);
}

int annotator_send(struct annotator *a, const char *path, const char *version, const struct annotation *list,
                   size_t count, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = annotator_on_done};
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *holder = json_put_object(doc, root, version != NULL ? "metadata" : "data");
    if (version != NULL) {
        json_fields(doc, holder, json_str("resourceVersion", version));
        holder = json_put_object(doc, holder, "annotations");
    }
    for (size_t i = 0; i < count; i++)
        json_fields(doc, holder, json_str(list[i].name, list[i].value));
    cleanup(mem_free_ptr) char *body = json_take(doc);
    struct http_request_options options = {.method = "PATCH",
                                           .path = path,
                                           .content_type = "application/merge-patch+json",
                                           .body = body,
                                           .body_len = strlen(body),
                                           .max_body_bytes = ANNOTATED_MAX_BYTES,
                                           .total_timeout_ms = REQUEST_MS};
    a->request = kube_client_start(a->client, &options, &callbacks, a, err);
    return a->request != NULL ? 0 : -1;
}
