/* A Kubernetes API server in this process that holds one Lease, with watches of it, and a client that talks to it. */
#pragma once

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>

#include "base/log.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/client.h"
#include "kube/lease/lease.h"
#include "net/http.h"

#include "../../log_file.h"

/* The clock of this program: no time passes but from one timer to the next, when no socket has anything. */
static struct {
    uint64_t now_us;
    struct timer *timers[16];
} lease_time = {.now_us = 1000000};
#define VIRTUAL_TIME (&lease_time)
#include "../../../virtual_time.h"

#define COLLECTION "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define MAX_WATCHES 8

struct peer {
    struct evhttp *http;
    char *json; /* the Lease; NULL: none */
    unsigned version;
    /* instead of an answer */
    int refuse_reads, refuse_writes, refuse_watches; /* status; 0: do not */
    const char *body;                                /* of every answer that is none */
    const char *retry_after;
    bool silent;
    struct evhttp_request *unanswered; /* the last one */
    struct evhttp_request *watches[MAX_WATCHES];
    /* seen */
    unsigned gets, posts, puts, watches_begun, asked;
    char authorization[64], watch_uri[256];
};

static struct event_base *base;
static struct http *http;
static struct kube_client *client;
static struct kube_access peer_access;
static struct peer peer;

/* ---- watches ---- */

static inline void on_watcher_gone(struct evhttp_connection *c, void *arg)
{
    for (size_t i = 0; i < MAX_WATCHES; i++)
        if (peer.watches[i] != NULL && evhttp_request_get_connection(peer.watches[i]) == c)
            peer.watches[i] = NULL;
}

static inline void send_event(struct evhttp_request *q, const char *type)
{
    struct evbuffer *out = evbuffer_new();
    evbuffer_add_printf(out, "{\"type\":\"%s\",\"object\":%s}\n", type, peer.json);
    evhttp_send_reply_chunk(q, out);
    evbuffer_free(out);
}

static inline void tell_watches(const char *type)
{
    for (size_t i = 0; i < MAX_WATCHES; i++)
        if (peer.watches[i] != NULL)
            send_event(peer.watches[i], type);
}

static inline void begin_watch(struct evhttp_request *q)
{
    snprintf(peer.watch_uri, sizeof(peer.watch_uri), "%s", evhttp_request_get_uri(q));
    peer.watches_begun++;
    if (peer.refuse_watches != 0) {
        evhttp_send_reply(q, peer.refuse_watches, "no", NULL);
        return;
    }
    evhttp_connection_set_closecb(evhttp_request_get_connection(q), on_watcher_gone, NULL);
    evhttp_add_header(evhttp_request_get_output_headers(q), "Content-Type", "application/json");
    evhttp_send_reply_start(q, 200, "OK");
    for (size_t i = 0; i < MAX_WATCHES; i++) {
        if (peer.watches[i] != NULL)
            continue;
        peer.watches[i] = q;
        if (peer.json != NULL)
            send_event(q, "ADDED");
        return;
    }
    ck_abort_msg("too many watches");
}

/* ---- the Lease ---- */

static inline struct lease peer_lease(void)
{
    struct lease l = {0};
    if (peer.json != NULL)
        ck_assert_msg(lease_decode(peer.json, strlen(peer.json), &l, &flaw) == 0, "%s", flaw.message);
    return l;
}

static inline void peer_store(const char *json)
{
    struct lease l = {0};
    cleanup(mem_free_ptr) char *versioned = NULL;
    if (strstr(json, "resourceVersion") == NULL) { /* a new one */
        const char *metadata = strstr(json, "\"metadata\":{");
        ck_assert_ptr_nonnull(metadata);
        size_t head = (size_t)(metadata - json) + strlen("\"metadata\":{");
        versioned = mem_printf("%.*s\"resourceVersion\":\"1\",%s", (int)head, json, json + head);
        json = versioned;
    }
    ck_assert_msg(lease_decode(json, strlen(json), &l, &flaw) == 0, "%s: %s", json, flaw.message);
    snprintf(l.version, sizeof(l.version), "%u", ++peer.version);
    char *stored = lease_encode(json, strlen(json), &l, &flaw);
    ck_assert_ptr_nonnull(stored);
    free(peer.json);
    peer.json = stored;
    tell_watches("MODIFIED");
}

static inline void reply(struct evhttp_request *q, int status, const char *text)
{
    struct evbuffer *out = evbuffer_new();
    if (peer.retry_after != NULL)
        evhttp_add_header(evhttp_request_get_output_headers(q), "Retry-After", peer.retry_after);
    evbuffer_add(out, text, strlen(text));
    evhttp_send_reply(q, status, "text", out);
    evbuffer_free(out);
}

static inline char *body_of_request(struct evhttp_request *q)
{
    struct evbuffer *in = evhttp_request_get_input_buffer(q);
    size_t len = evbuffer_get_length(in);
    return mem_strndup((const char *)evbuffer_pullup(in, -1), len);
}

static inline void answer(struct evhttp_request *q)
{
    enum evhttp_cmd_type type = evhttp_request_get_command(q);
    cleanup(mem_free_ptr) char *body = type != EVHTTP_REQ_GET ? body_of_request(q) : NULL;
    int refuse = type == EVHTTP_REQ_GET ? peer.refuse_reads : peer.refuse_writes;
    struct lease l = {0};
    if (refuse != 0) {
        reply(q, refuse, peer.body != NULL ? peer.body : "");
        return;
    }
    if (type == EVHTTP_REQ_PUT && peer.json != NULL) {
        ck_assert_msg(lease_decode(body, strlen(body), &l, &flaw) == 0, "%s: %s", body, flaw.message);
    }
    if (type == EVHTTP_REQ_POST ? peer.json != NULL
                                : peer.json != NULL && body != NULL && !str_eq(l.version, peer_lease().version)) {
        reply(q, 409, "{\"kind\":\"Status\",\"code\":409}");
        return;
    }
    if (type != EVHTTP_REQ_POST && peer.json == NULL) {
        reply(q, 404, "{\"kind\":\"Status\",\"code\":404}");
        return;
    }
    if (body != NULL)
        peer_store(body);
    reply(q, type == EVHTTP_REQ_POST ? 201 : 200, peer.body != NULL ? peer.body : peer.json);
}

static inline void on_request(struct evhttp_request *q, void *arg)
{
    const char *auth = evhttp_find_header(evhttp_request_get_input_headers(q), "Authorization");
    snprintf(peer.authorization, sizeof(peer.authorization), "%s", auth != NULL ? auth : "");
    if (strstr(evhttp_request_get_uri(q), "watch=1") != NULL) {
        begin_watch(q);
        return;
    }
    enum evhttp_cmd_type type = evhttp_request_get_command(q);
    peer.gets += type == EVHTTP_REQ_GET;
    peer.posts += type == EVHTTP_REQ_POST;
    peer.puts += type == EVHTTP_REQ_PUT;
    peer.asked++;
    ck_assert_str_eq(evhttp_request_get_uri(q), type == EVHTTP_REQ_POST ? COLLECTION : COLLECTION "/the-lease");
    peer.unanswered = peer.silent ? q : NULL;
    if (!peer.silent)
        answer(q);
}

/* ---- both ends ---- */

/* Whether something came by a socket. All of them have both ends here. */
static inline bool turn(void)
{
    event_base_get_max_events(base, EVENT_BASE_COUNT_ACTIVE, 1);
    event_base_loop(base, EVLOOP_NONBLOCK);
    return event_base_get_max_events(base, EVENT_BASE_COUNT_ACTIVE, 1) > 0;
}

/* The next thing that happens; false: nothing does any more. */
static inline bool pass(void)
{
    if (turn())
        return true;
    usleep(1000); /* libcurl has a clock of its own, and waits for a millisecond of it now and then */
    if (turn())
        return true;
    struct timer *t = virtual_next_timer(UINT64_MAX);
    if (t == NULL)
        return false;
    if (t->due_ms > clock_mono_ms())
        lease_time.now_us = t->due_ms * 1000;
    t->due_ms = 0;
    t->fn(t->arg);
    return true;
}

/* Turns the loop until it is so. */
#define await(condition)                                                      \
    do {                                                                      \
        for (unsigned turns_ = 0; !(condition); turns_++)                     \
            ck_assert_msg(turns_ < 10000 && pass(), "never: %s", #condition); \
    } while (0)

static inline void setup(void)
{
    base = event_base_new();
    http = http_new(base, "test/1", &flaw);
    ck_assert_ptr_nonnull(http);
    peer = (struct peer){.version = 100};
    peer.http = evhttp_new(base);
    evhttp_set_allowed_methods(peer.http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT);
    evhttp_set_gencb(peer.http, on_request, NULL);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(peer.http, "127.0.0.1", 0);
    ck_assert_ptr_nonnull(bound);
    struct sockaddr_in a;
    socklen_t len = sizeof(a);
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&a, &len);
    peer_access = (struct kube_access){.server = mem_printf("http://127.0.0.1:%u", ntohs(a.sin_port)),
                                       .source = mem_strdup("a test")};
    log_begin();
}

static inline void make_client(void)
{
    client = kube_client_new(http, &peer_access, &log_to_file, &flaw);
    ck_assert_msg(client != NULL, "%s", flaw.message);
}

static inline void teardown(void)
{
    kube_client_free(client);
    http_free(http);
    evhttp_free(peer.http);
    event_base_free(base);
    kube_access_fini(&peer_access);
    free(peer.json);
    log_end();
}
