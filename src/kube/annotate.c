#include "kube/annotate.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "json/write.h"
#include "kube/client.h"
#include "net/http.h"

#define REQUEST_MS 10000
#define ANSWER_MAX_BYTES (4u << 20) /* the object as the API has it */

struct annotator {
    struct kube_client *client;
    struct http_request *request;
    char *path; /* of the request, for messages */
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
    free(a->path);
    free(a);
}

static void annotator_on_done(void *arg, const struct http_response *r, const struct error *failure)
{
    struct annotator *a = arg;
    struct error err = {0};
    a->request = NULL;
    if (kube_client_result(a->client, r, failure, "PATCH", a->path, NULL, &err) == 0) {
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
        json_put_text(doc, holder, "resourceVersion", version);
        holder = json_put_object(doc, holder, "annotations");
    }
    for (size_t i = 0; i < count; i++)
        json_put_text(doc, holder, list[i].name, list[i].value);
    cleanup(mem_free_ptr) char *body = json_take(doc);
    free(a->path);
    a->path = mem_strdup(path);
    struct http_request_options options = {.method = "PATCH",
                                           .path = a->path,
                                           .content_type = "application/merge-patch+json",
                                           .body = body,
                                           .body_len = strlen(body),
                                           .max_body_bytes = ANSWER_MAX_BYTES,
                                           .total_timeout_ms = REQUEST_MS};
    a->request = kube_client_start(a->client, &options, &callbacks, a, err);
    return a->request != NULL ? 0 : -1;
}
