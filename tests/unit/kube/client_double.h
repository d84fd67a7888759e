/* What the writers of the API have below them, in place of kube/client: it keeps what was asked, and a test answers. */
#pragma once

#include "../test.h"

#include "kube/client.h"
#include "net/http.h"

static struct {
    char method[8], path[128], content_type[64];
    char *body;
    uint64_t timeout_ms;
    const struct http_callbacks *callbacks;
    void *arg;
    unsigned sent, cancelled, refused;
    bool no_credentials;
    int64_t retry_after_ms;
} api;

#define REQUEST ((struct http_request *)&api)

struct http_request *kube_client_start(struct kube_client *c, struct http_request_options *o,
                                       const struct http_callbacks *callbacks, void *arg, struct error *err)
{
    if (api.no_credentials) {
        error_set(err, ERROR_RETRY, "waiting for the credential plugin");
        return NULL;
    }
    snprintf(api.method, sizeof(api.method), "%s", o->method);
    snprintf(api.path, sizeof(api.path), "%s", o->path);
    snprintf(api.content_type, sizeof(api.content_type), "%s", o->content_type);
    free(api.body);
    api.body = mem_strndup(o->body, o->body_len);
    api.timeout_ms = o->total_timeout_ms;
    api.callbacks = callbacks;
    api.arg = arg;
    api.sent++;
    return REQUEST;
}

void kube_client_note_answer(struct kube_client *c, const struct http_response *r, const struct error *err)
{
    api.refused += err == NULL && r->status == 401;
}

const char *kube_client_server(const struct kube_client *c)
{
    return "https://api";
}

void http_cancel(struct http_request *q)
{
    api.cancelled += q != NULL;
}

char *http_response_name(const struct http_response *r)
{
    return mem_printf("%s https://api%s", api.method, api.path);
}

int64_t http_response_retry_after_ms(const struct http_response *r)
{
    return api.retry_after_ms;
}

static inline void api_answer(int status, const char *body)
{
    cleanup(buf_fini) struct buf b = {0};
    buf_add(&b, body);
    const struct http_response r = {.status = status, .body = &b};
    api.callbacks->on_done(api.arg, &r, NULL);
}
