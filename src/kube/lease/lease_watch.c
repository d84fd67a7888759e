#include "kube/lease/lease_watch.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/answer.h"
#include "kube/client.h"
#include "kube/lease/lease.h"
#include "net/http.h"
#include "host/timer.h"

#define TIMEOUT_S 240 /* asked of the server, plus some */
#define TIMEOUT_JITTER_S 60
#define GRACE_S 30
#define LASTING_MS 10000
#define DENIED_MS 60000 /* a right that is missing comes with an edit by hand */

struct lease_watch {
    struct kube_client *client;
    const struct log *log;
    char *collection, *name;
    void (*free_now)(void *arg);
    void *arg;

    struct timer timer; /* starts the next request */
    struct backoff backoff;
    uint64_t started_ms; /* the request under way */
    struct http_request *request;
    struct kube_answer answer;
    bool wanted;
    bool good;   /* its headers promise events */
    bool denied; /* said */
    bool failed; /* the last one did not come to its end */
};

static int lease_watch_on_event(void *arg, struct kube_event *e, struct error *err)
{
    struct lease_watch *w = arg;
    (void)err;
    if (lease_event_is_free(e))
        w->free_now(w->arg);
    return 0;
}

static int lease_watch_on_head(void *arg, const struct http_response *r)
{
    struct lease_watch *w = arg;
    const char *type = http_response_header(r, "Content-Type");
    w->good = r->status == 200 && kube_answer_head(&w->answer, type) != KUBE_NOT_READABLE;
    return 0;
}

static int lease_watch_on_data(void *arg, const char *bytes, size_t len)
{
    struct lease_watch *w = arg;
    struct error err;
    if (!w->good || kube_answer_feed(&w->answer, bytes, len, lease_watch_on_event, w, &err) == 0)
        return 0;
    if (w->answer.encoding == KUBE_PROTOBUF)
        kube_client_protobuf_failed(w->client, kube_leases.plural, err.message);
    return -1;
}

static void say_end(struct lease_watch *w, int status, const struct error *err)
{
    bool denied = status == 403;
    if (denied && w->denied)
        return;
    w->denied = denied;
    log_debug(w->log,
              denied ? "watching the Lease is denied; reading it every two seconds" : "watch of the Lease ended",
              log_str("lease", w->name), log_if(status != 0, log_int("status", status)),
              log_str("error", err != NULL ? err->message : NULL));
}

static void lease_watch_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct lease_watch *w = arg;
    w->request = NULL;
    w->failed = err != NULL;
    if (r->status == 401)
        kube_client_credentials_refused(w->client);
    say_end(w, r->status, err);
    if (clock_mono_ms() - w->started_ms >= LASTING_MS)
        backoff_reset(&w->backoff);
    timer_set(&w->timer, w->denied ? DENIED_MS : backoff_next_ms(&w->backoff));
}

static void lease_watch_on_timer(void *arg)
{
    static const struct http_callbacks callbacks = {
        .on_head = lease_watch_on_head, .on_data = lease_watch_on_data, .on_done = lease_watch_on_done};
    struct lease_watch *w = arg;
    if (!w->wanted || w->request != NULL)
        return;
    unsigned timeout_s = TIMEOUT_S + (unsigned)(clock_mono_us() % TIMEOUT_JITTER_S);
    kube_answer_fini(&w->answer);
    kube_answer_init(&w->answer, &kube_leases, false, LEASE_MAX_BYTES);
    w->good = false;
    w->started_ms = clock_mono_ms();
    cleanup(mem_free_ptr) char *name = str_url_encode(w->name);
    cleanup(mem_free_ptr) char *path =
        /* Version 0, whatever the cache has, and no bookmarks: else a server over etcd 3.4 ends the watch with an
         * error. */
        mem_printf("%s?watch=true&fieldSelector=metadata.name%%3D%s&resourceVersion=0&timeoutSeconds=%u", w->collection,
                   name, timeout_s);
    struct http_request_options options = {.method = "GET",
                                           .path = path,
                                           .accept =
                                               kube_answer_accept(&kube_leases, kube_client_wants_protobuf(w->client)),
                                           .new_connection = w->failed,
                                           .total_timeout_ms = (timeout_s + GRACE_S) * 1000u};
    struct error err;
    w->request = kube_client_start(w->client, &options, &callbacks, w, &err);
    if (w->request == NULL) {
        say_end(w, 0, &err);
        timer_set(&w->timer, backoff_next_ms(&w->backoff));
    }
}

void lease_watch_start(struct lease_watch *w)
{
    if (w->wanted)
        return;
    w->wanted = true;
    timer_set(&w->timer, 0);
}

void lease_watch_stop(struct lease_watch *w)
{
    w->wanted = false;
    timer_cancel(&w->timer);
    http_cancel(w->request);
    w->request = NULL;
}

struct lease_watch *lease_watch_new(struct event_base *base, struct kube_client *client, const struct log *log,
                                    const char *collection, const char *name, void (*free_now)(void *arg), void *arg)
{
    struct lease_watch *w = mem_alloc(sizeof(*w));
    w->client = client;
    w->log = log;
    w->collection = mem_strdup(collection);
    w->name = mem_strdup(name);
    w->free_now = free_now;
    w->arg = arg;
    timer_init(&w->timer, base, lease_watch_on_timer, w);
    backoff_init(&w->backoff, 1000, 30000, 500, backoff_random_seed());
    kube_answer_init(&w->answer, &kube_leases, false, LEASE_MAX_BYTES);
    return w;
}

void lease_watch_free(struct lease_watch *w)
{
    if (w == NULL)
        return;
    lease_watch_stop(w);
    timer_fini(&w->timer);
    kube_answer_fini(&w->answer);
    free(w->collection);
    free(w->name);
    free(w);
}
