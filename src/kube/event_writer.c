#include "kube/event_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/decode/decode.h"
#include "net/http.h"

#define REQUEST_MS 10000
#define ANSWER_MAX_BYTES (256u << 10) /* the object as the API has it, with what admission added */

struct event_writer {
    struct kube_client *client;
    struct http_request *request;
    bool again; /* it is a repeat */
    char *path; /* of the request, for messages */
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
    free(w->path);
    free(w);
}

static const char *method_of(const struct event_writer *w)
{
    return w->again ? "PATCH" : "POST";
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

static void event_writer_on_answer(struct event_writer *w, const struct http_response *r)
{
    enum event_outcome outcome = outcome_of(r->status, w->again);
    if (outcome == EVENT_WRITTEN) {
        w->done(w->arg, outcome, -1, NULL);
        return;
    }
    cleanup(kube_event_fini) struct kube_event status = {0};
    struct error err = {0};
    kube_decode_status(buf_str(r->body), r->body->len, &status);
    int64_t retry_after_ms = http_response_retry_after_ms(r);
    if (retry_after_ms < 0 && status.retry_after_seconds >= 0)
        retry_after_ms = (int64_t)status.retry_after_seconds * 1000;
    error_set_http(&err, r->status, "%s %s%s: HTTP %d%s%s", method_of(w), kube_client_server(w->client), w->path,
                   r->status, str_empty(status.status_message) ? "" : ": ", status.status_message);
    w->done(w->arg, outcome, retry_after_ms, &err);
}

static void event_writer_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct event_writer *w = arg;
    w->request = NULL;
    kube_client_note_answer(w->client, r, err);
    if (err != NULL)
        w->done(w->arg, EVENT_LATER, -1, err);
    else
        event_writer_on_answer(w, r);
}

static char *path_of(const struct event_object *e, bool again)
{
    cleanup(mem_free_ptr) char *namespace = str_url_encode(e->namespace), *name = str_url_encode(e->name);
    return mem_printf("/api/v1/namespaces/%s/events%s%s", namespace, again ? "/" : "", again ? name : "");
}

int event_writer_send(struct event_writer *w, const struct event_object *e, bool again, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = event_writer_on_done};
    cleanup(mem_free_ptr) char *body = again ? event_encode_again(e) : event_encode_new(e);
    free(w->path);
    w->path = path_of(e, again);
    w->again = again;
    struct http_request_options options = {.method = method_of(w),
                                           .path = w->path,
                                           .content_type = again ? "application/merge-patch+json" : "application/json",
                                           .body = body,
                                           .body_len = strlen(body),
                                           .max_body_bytes = ANSWER_MAX_BYTES,
                                           .total_timeout_ms = REQUEST_MS};
    w->request = kube_client_start(w->client, &options, &callbacks, w, err);
    return w->request != NULL ? 0 : -1;
}
