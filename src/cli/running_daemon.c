#include "cli/running_daemon.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "daemon/leadership.h"
#include "kube/client.h"
#include "kube/lease/lease.h"
#include "net/http.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"
#include "cli/run.h"

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

/* ---- one answer */

void daemon_answer_fini(struct daemon_answer *a)
{
    buf_fini(&a->body);
}

static void daemon_on_answer(void *arg, const struct http_response *r, const struct error *err)
{
    struct daemon_answer *a = arg;
    a->over = true;
    a->connected = http_response_connection(r).reached >= HTTP_REACHED_PEER;
    if (err != NULL) {
        a->error = *err;
        return;
    }
    a->status = r->status;
    buf_addn(&a->body, buf_str(r->body), r->body->len);
}

static const struct http_callbacks daemon_callbacks = {.on_done = daemon_on_answer};

void daemon_get(struct event_base *base, const char *url, const char *path, uint64_t timeout_ms,
                struct daemon_answer *ret)
{
    const uint64_t most_ms = timeout_ms < DAEMON_REQUEST_MS ? timeout_ms : DAEMON_REQUEST_MS;
    const struct http_request_options options = {.method = "GET",
                                                 .path = path,
                                                 .max_body_bytes = ANSWER_MAX_BYTES,
                                                 .connect_timeout_ms = most_ms,
                                                 .total_timeout_ms = most_ms};
    cleanup(http_endpoint_fini) struct http_endpoint endpoint = {.base_url = mem_strdup(url)};
    *ret = (struct daemon_answer){0};
    struct http *http = http_new(base, "haproxy-k8s-sync", &ret->error);
    if (http != NULL && http_start(http, &endpoint, &options, &daemon_callbacks, ret, &ret->error) != NULL)
        run_until_over(base, &ret->over);
    http_free(http);
}

/* ---- whether there is one */

static char *running_daemon_find_by_lease(struct event_base *base, const struct running_daemon_options *o,
                                          char **ret_unknown)
{
    const struct settings *s = o->settings;
    cleanup(daemon_answer_fini) struct daemon_answer a = {0};
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
    if (kube_client_start(o->kube, &options, &daemon_callbacks, &a, &a.error) != NULL)
        run_until_over(base, &a.over);
    if (a.status == 404)
        return NULL;
    if (a.status != 200 || lease_decode(buf_str(&a.body), a.body.len, &lease, &a.error) != 0) {
        *ret_unknown = a.status != 0 && a.status != 200
                           ? mem_printf("the Lease %s cannot be read: HTTP %d", name, a.status)
                           : mem_printf("the Lease %s cannot be read: %s", name, a.error.message);
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
    cleanup(daemon_answer_fini) struct daemon_answer live = {0};
    cleanup(mem_free_ptr) char *url = o->url == NULL    ? NULL
                                      : *o->url != '\0' ? mem_strdup(o->url)
                                                        : running_daemon_url(o->settings);
    *ret_unknown = NULL;
    if (url != NULL)
        daemon_get(base, url, "/livez", o->timeout_ms, &live);
    if (live.status == 200)
        return mem_printf("a daemon answers at %s", url);
    return o->kube != NULL && o->settings->leader_elect ? running_daemon_find_by_lease(base, o, ret_unknown) : NULL;
}
