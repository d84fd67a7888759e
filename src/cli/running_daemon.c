#include "cli/running_daemon.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "cli/daemon_memory.h"
#include "cli/daemon_request.h"
#include "daemon/leadership.h"
#include "kube/client.h"
#include "kube/lease/lease.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

struct running_daemon {
    struct event_base *base;
    int status; /* 0: there was no answer */
    struct buf body;
    struct error error;
};

static void running_daemon_on_answer(void *arg, const struct http_response *r, const struct error *err)
{
    struct running_daemon *d = arg;
    if (err != NULL) {
        d->error = *err;
    } else {
        d->status = r->status;
        buf_addn(&d->body, buf_str(r->body), r->body->len);
    }
    event_base_loopbreak(d->base);
}

static const struct http_callbacks running_daemon_callbacks = {.on_done = running_daemon_on_answer};

static char *running_daemon_ask(struct running_daemon *d, const char *url, uint64_t timeout_ms)
{
    cleanup(daemon_request_fini) struct daemon_request ask = {0};
    struct error err = {0};
    if (daemon_request_start(&ask, d->base, url, "/livez", timeout_ms, &running_daemon_callbacks, d, &err) == 0)
        event_base_dispatch(d->base);
    return d->status == 200 ? mem_printf("a daemon answers at %s", url) : NULL;
}

/* Its clock and ours may differ by a little: a Lease that is renewed every 2 s and lives for 15 is not judged by a
 * second. */
static char *running_daemon_judge_lease(const struct lease *l, const char *name)
{
    int64_t renewed_us;
    int64_t now_us = (int64_t)clock_wall_ms() * 1000;
    if (l->holder[0] == '\0' || rfc3339_parse(l->renew_time, &renewed_us) != 0 ||
        now_us - renewed_us > (int64_t)l->duration_s * 1000000)
        return NULL;
    return mem_printf("the Lease %s is held by %s", name, l->holder);
}

static char *running_daemon_ask_lease(struct running_daemon *d, const struct running_daemon_options *o,
                                      char **ret_unknown)
{
    const struct settings *s = o->settings;
    const char *namespace = leadership_namespace(s, o->access->namespace);
    cleanup(mem_free_ptr) char *name = mem_printf("%s/%s", namespace, s->lease_name);
    cleanup(mem_free_ptr) char *path =
        mem_printf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", namespace, s->lease_name);
    struct http_request_options options = {.method = "GET",
                                           .path = path,
                                           .max_body_bytes = LEASE_MAX_BYTES,
                                           .connect_timeout_ms = o->timeout_ms,
                                           .total_timeout_ms = o->timeout_ms};
    struct error err = {0};
    struct lease lease;
    if (kube_client_start(o->kube, &options, &running_daemon_callbacks, d, &err) != NULL)
        event_base_dispatch(d->base);
    else
        d->error = err;
    if (d->status == 404)
        return NULL;
    if (d->status == 200 && lease_decode(buf_str(&d->body), d->body.len, &lease, &d->error) == 0)
        return running_daemon_judge_lease(&lease, name);
    *ret_unknown = d->status != 0 && d->status != 200
                       ? mem_printf("the Lease %s cannot be read: HTTP %d", name, d->status)
                       : mem_printf("the Lease %s cannot be read: %s", name, d->error.message);
    return NULL;
}

char *running_daemon_find(struct event_base *base, const struct running_daemon_options *o, char **ret_unknown)
{
    struct running_daemon at_address = {.base = base}, by_lease = {.base = base};
    char *found = NULL;
    *ret_unknown = NULL;
    if (o->url != NULL) {
        cleanup(mem_free_ptr) char *url = *o->url != '\0' ? mem_strdup(o->url) : daemon_memory_url(o->settings);
        found = url != NULL ? running_daemon_ask(&at_address, url, o->timeout_ms) : NULL;
    }
    if (found == NULL && o->kube != NULL && o->settings->leader_elect)
        found = running_daemon_ask_lease(&by_lease, o, ret_unknown);
    buf_fini(&at_address.body);
    buf_fini(&by_lease.body);
    return found;
}
