#include "cli/running_daemon.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "daemon/leadership.h"
#include "kube/client.h"
#include "kube/lease/lease.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define ANSWER_MAX_BYTES ((size_t)8 << 20)

char *running_daemon_url(const struct settings *s)
{
    if (s->listen.host == NULL)
        return NULL;
    bool any6 = str_eq(s->listen.host, "::"),
         any = any6 || str_empty(s->listen.host) || str_eq(s->listen.host, "0.0.0.0");
    const char *host = any6 ? "::1" : any ? "127.0.0.1" : s->listen.host;
    cleanup(mem_free_ptr) char *place = str_host_port(host, s->listen.port);
    return mem_printf("http://%s", place);
}

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

/* ---- one answer */

struct daemon_answer {
    struct event_base *base;
    int status; /* 0: there was none */
    struct buf *body;
    struct error *error;
};

static void daemon_on_answer(void *arg, const struct http_response *r, const struct error *err)
{
    struct daemon_answer *a = arg;
    if (err != NULL) {
        *a->error = *err;
    } else {
        a->status = r->status;
        buf_addn(a->body, buf_str(r->body), r->body->len);
    }
    event_base_loopbreak(a->base);
}

static const struct http_callbacks daemon_callbacks = {.on_done = daemon_on_answer};

int daemon_get(struct event_base *base, const char *url, const char *path, uint64_t timeout_ms, struct buf *body,
               struct error *err)
{
    cleanup(daemon_request_fini) struct daemon_request q = {0};
    struct daemon_answer a = {.base = base, .body = body, .error = err};
    if (daemon_request_start(&q, base, url, path, timeout_ms, &daemon_callbacks, &a, err) == 0)
        event_base_dispatch(base);
    return a.status;
}

/* ---- whether there is one */

static char *running_daemon_find_by_lease(struct event_base *base, const struct running_daemon_options *o,
                                          char **ret_unknown)
{
    const struct settings *s = o->settings;
    cleanup(buf_fini) struct buf body = {0};
    struct error err = {0};
    struct daemon_answer a = {.base = base, .body = &body, .error = &err};
    const char *namespace = leadership_namespace(s, o->access->namespace);
    cleanup(mem_free_ptr) char *name = mem_printf("%s/%s", namespace, s->lease_name);
    cleanup(mem_free_ptr) char *path =
        mem_printf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", namespace, s->lease_name);
    struct http_request_options options = {.method = "GET",
                                           .path = path,
                                           .max_body_bytes = LEASE_MAX_BYTES,
                                           .connect_timeout_ms = o->timeout_ms,
                                           .total_timeout_ms = o->timeout_ms};
    struct lease lease;
    int64_t renewed_us, now_us;
    if (kube_client_start(o->kube, &options, &daemon_callbacks, &a, &err) != NULL)
        event_base_dispatch(base);
    if (a.status == 404)
        return NULL;
    if (a.status != 200 || lease_decode(buf_str(&body), body.len, &lease, &err) != 0) {
        *ret_unknown = a.status != 0 && a.status != 200
                           ? mem_printf("the Lease %s cannot be read: HTTP %d", name, a.status)
                           : mem_printf("the Lease %s cannot be read: %s", name, err.message);
        return NULL;
    }
    /* Its clock and ours may differ by a little: a Lease that is renewed every 2 s and lives for 15 is not judged by a
     * second. */
    now_us = (int64_t)clock_wall_ms() * 1000;
    if (lease.holder[0] == '\0' || rfc3339_parse(lease.renew_time, &renewed_us) != 0 ||
        now_us - renewed_us > (int64_t)lease.duration_s * 1000000)
        return NULL;
    return mem_printf("the Lease %s is held by %s", name, lease.holder);
}

char *running_daemon_find(struct event_base *base, const struct running_daemon_options *o, char **ret_unknown)
{
    cleanup(buf_fini) struct buf body = {0};
    struct error err = {0};
    cleanup(mem_free_ptr) char *url = o->url == NULL    ? NULL
                                      : *o->url != '\0' ? mem_strdup(o->url)
                                                        : running_daemon_url(o->settings);
    *ret_unknown = NULL;
    if (url != NULL && daemon_get(base, url, "/livez", o->timeout_ms, &body, &err) == 200)
        return mem_printf("a daemon answers at %s", url);
    return o->kube != NULL && o->settings->leader_elect ? running_daemon_find_by_lease(base, o, ret_unknown) : NULL;
}
