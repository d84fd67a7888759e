#include "cli/daemon_request.h"

#include "base/mem.h"

#define ANSWER_MAX_BYTES ((size_t)8 << 20)

int daemon_request_start(struct daemon_request *q, struct event_base *base, const char *url, const char *path,
                         uint64_t timeout_ms, const struct http_callbacks *callbacks, void *arg, struct error *err)
{
    const uint64_t most_ms = timeout_ms < DAEMON_REQUEST_MS ? timeout_ms : DAEMON_REQUEST_MS;
    const struct http_request_options options = {.method = "GET",
                                                 .path = path,
                                                 .max_body_bytes = ANSWER_MAX_BYTES,
                                                 .connect_timeout_ms = most_ms,
                                                 .total_timeout_ms = most_ms};
    *q = (struct daemon_request){.endpoint.base_url = mem_strdup(url)};
    q->http = http_new(base, "haproxy-k8s-sync", err);
    if (q->http != NULL)
        q->request = http_start(q->http, &q->endpoint, &options, callbacks, arg, err);
    return q->request != NULL ? 0 : -1;
}

void daemon_request_fini(struct daemon_request *q)
{
    http_free(q->http);
    http_endpoint_fini(&q->endpoint);
    *q = (struct daemon_request){0};
}
