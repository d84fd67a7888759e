/* An informer over real sockets: a scripted API server in this process, byte for byte what the wire may bring; what the informer reported
 * while it talked to it; and texts that say what Kubernetes does. */
#pragma once

#include "kube/informer.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "base/clock.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "model/cache.h"
#include "model/objects.h"
#include "net/http.h"

#include "../log_file.h"

/* ---- a scripted API server ---- */

enum after { HOLD, END, CUT };

/* What one request gets. Steps are used in order; a request beyond them, or not as expected, fails the test. */
struct step {
    const char *expect; /* in the request line */
    const char *status; /* status line and headers in place of "200 OK" and JSON */
    const char *body;
    size_t len;       /* of the body; 0: it is a string */
    enum after after; /* HOLD: the body goes on; END: it is complete; CUT: the connection is reset in the middle */
    size_t split;     /* bytes in each chunk; 0: all in one */
};

static struct {
    struct evconnlistener *listener;
    const struct step *steps;
    size_t count, next;
    struct bufferevent *open[32];
    size_t opened;
    struct bufferevent *last; /* the connection of the last request */
    struct buf requests;      /* heads of all requests */
} peer;

static inline void add_chunks(struct evbuffer *out, const char *body, size_t len, size_t split)
{
    for (size_t at = 0; at < len;) {
        size_t n = split == 0 || split > len - at ? len - at : split;
        evbuffer_add_printf(out, "%zx\r\n", n);
        evbuffer_add(out, body + at, n);
        evbuffer_add(out, "\r\n", 2);
        at += n;
    }
}

static inline void drop(struct bufferevent *bev)
{
    for (size_t i = 0; i < peer.opened; i++)
        if (peer.open[i] == bev)
            peer.open[i] = NULL;
    peer.last = peer.last == bev ? NULL : peer.last;
    bufferevent_free(bev);
}

static inline void on_written(struct bufferevent *bev, void *arg)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(bev), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    drop(bev);
}

static inline void answer(struct bufferevent *bev, const struct step *s)
{
    struct evbuffer *out = bufferevent_get_output(bev);
    evbuffer_add_printf(out, "HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n",
                        s->status != NULL ? s->status : "200 OK\r\nContent-Type: application/json");
    if (s->body != NULL)
        add_chunks(out, s->body, s->len != 0 ? s->len : strlen(s->body), s->split);
    if (s->after == END)
        evbuffer_add_printf(out, "0\r\n\r\n");
}

static inline void on_peer_read(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);
    while (evbuffer_search(in, "\r\n\r\n", 4, NULL).pos >= 0) {
        cleanup(mem_free_ptr) char *line = evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
        buf_printf(&peer.requests, "%s\n", line);
        for (bool end = false; !end;) {
            cleanup(mem_free_ptr) char *header = evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF);
            buf_printf(&peer.requests, "%s\n", header);
            end = header[0] == '\0';
        }
        ck_assert_msg(peer.next < peer.count, "a request too many: %s", line);
        const struct step *s = &peer.steps[peer.next++];
        ck_assert_msg(strstr(line, s->expect) != NULL, "request %zu: %s has no %s", peer.next, line, s->expect);
        peer.last = bev;
        if (s->after == CUT)
            bufferevent_setcb(bev, on_peer_read, on_written, NULL, NULL);
        answer(bev, s);
    }
}

static inline void on_peer_event(struct bufferevent *bev, short what, void *arg)
{
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        drop(bev);
}

static inline void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    ck_assert_uint_lt(peer.opened, array_len(peer.open));
    struct bufferevent *bev = bufferevent_socket_new(evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
    peer.open[peer.opened++] = bev;
    bufferevent_setcb(bev, on_peer_read, NULL, on_peer_event, NULL);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

/* More of the body that is held open. */
static inline void push(const char *body)
{
    ck_assert_ptr_nonnull(peer.last);
    add_chunks(bufferevent_get_output(peer.last), body, strlen(body), 0);
}

static inline void push_bytes(const char *bytes, size_t len)
{
    ck_assert_ptr_nonnull(peer.last);
    add_chunks(bufferevent_get_output(peer.last), bytes, len, 0);
}

static inline void push_end(void)
{
    ck_assert_ptr_nonnull(peer.last);
    evbuffer_add_printf(bufferevent_get_output(peer.last), "0\r\n\r\n");
}

/* ---- the informer and what it reported ---- */

static struct event_base *base;
static struct http *http;
static struct kube_client *client;
static struct cache *cache;
static struct informer *informer;
static char url[64];
static struct buf told; /* causes and reasons, one a line */
static unsigned status_calls;
static uint64_t received_us;

static inline void on_changed(void *arg, const char *cause, uint64_t when_us)
{
    buf_printf(&told, "changed: %s\n", cause);
    received_us = when_us;
}

static inline void on_status(void *arg)
{
    status_calls++;
}

static inline void on_restarted(void *arg, const char *resource, const char *reason)
{
    buf_printf(&told, "restarted: %s %s\n", resource, reason);
}

static inline void on_relisted(void *arg, const char *resource, const char *reason)
{
    buf_printf(&told, "listed: %s %s\n", resource, reason);
}

static inline void on_requested(void *arg, int code)
{
    buf_printf(&told, "requested: %d\n", code);
}

static const struct informer_callbacks callbacks = {.changed = on_changed,
                                                    .status = on_status,
                                                    .watch_restarted = on_restarted,
                                                    .relisted = on_relisted,
                                                    .requested = on_requested};

static inline void setup(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    base = event_base_new();
    memset(&peer, 0, sizeof(peer)); /* a test may run in the process of the last one */
    informer = NULL;
    status_calls = 0;
    peer.listener =
        evconnlistener_new_bind(base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&a, sizeof(a));
    ck_assert_ptr_nonnull(peer.listener);
    ck_assert_int_eq(getsockname(evconnlistener_get_fd(peer.listener), (struct sockaddr *)&a, &len), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(a.sin_port));
    buf_init(&peer.requests, 0);
    buf_init(&told, 0);
    log_begin();
    http = http_new(base, "test/1", &flaw);
    ck_assert_ptr_nonnull(http);
    cache = NULL;
    struct kube_access access = {.server = url, .token = (char[]){"t"}, .source = (char[]){"test"}};
    client = kube_client_new(http, &access, &log_to_file, &flaw);
    ck_assert_msg(client != NULL, "%s", flaw.message);
}

static inline void teardown(void)
{
    informer_free(informer);
    kube_client_free(client);
    http_free(http);
    cache_free(cache);
    for (size_t i = 0; i < peer.opened; i++)
        if (peer.open[i] != NULL)
            bufferevent_free(peer.open[i]);
    if (peer.listener != NULL)
        evconnlistener_free(peer.listener);
    event_base_free(base);
    buf_fini(&peer.requests);
    buf_fini(&told);
    log_end();
}

static inline void start_sink(const struct step *steps, size_t count, const struct informer_options *options,
                              const struct informer_sink *sink, const struct informer_callbacks *commanded_by)
{
    peer.steps = steps;
    peer.count = count;
    informer = informer_new(base, client, sink, &log_to_file, options, commanded_by, NULL);
    informer_start(informer);
}

/* The cache is one of its resource's records. */
static inline void start_row(const struct step *steps, size_t count, const struct informer_options *options,
                             const struct informer_callbacks *commanded_by)
{
    cache = cache_new(options->resource->record);
    const struct informer_sink sink = informer_sink_cache(cache);
    start_sink(steps, count, options, &sink, commanded_by);
}

static inline void start(const struct step *steps, size_t count, const struct watch_deadlines *deadlines)
{
    const struct informer_options options = {.resource = &kube_nodes, .deadlines = deadlines};
    start_row(steps, count, &options, &callbacks);
}

#define START(...)                                    \
    static const struct step steps[] = {__VA_ARGS__}; \
    start(steps, array_len(steps), NULL)

/* Turns the loop until the condition holds. */
#define UNTIL(condition)                                                                                            \
    do {                                                                                                            \
        uint64_t deadline = clock_mono_ms() + 20000;                                                                \
        while (!(condition)) {                                                                                      \
            struct timeval tick = {.tv_usec = 20000};                                                               \
            event_base_loopexit(base, &tick);                                                                       \
            event_base_loop(base, EVLOOP_ONCE);                                                                     \
            ck_assert_msg(clock_mono_ms() < deadline, "waited 20 s for %s; seen:\n%s", #condition, buf_str(&told)); \
        }                                                                                                           \
    } while (0)

static inline struct informer_status status(void)
{
    struct informer_status s;
    informer_get_status(informer, &s);
    return s;
}

static inline bool was_commanded(const char *line)
{
    return strstr(buf_str(&told), line) != NULL;
}

static inline unsigned count_of(const struct buf *in, const char *text)
{
    unsigned n = 0;
    for (const char *s = buf_str(in); (s = strstr(s, text)) != NULL; s++)
        n++;
    return n;
}

#define times_commanded(line) count_of(&told, line)

static inline const char *ip_of(const char *name)
{
    const struct node *n = cache_find(cache, name);
    return n != NULL && n->address_count > 0 ? n->addresses[0].text : NULL;
}

/* ---- texts ---- */

#define META(name, version) \
    "\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version "\"}"
#define ADDRESS(ip) "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"" ip "\"}]}"
#define NODE(name, version, ip) "{" META(name, version) "," ADDRESS(ip) "}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define ADDED(name, version, ip) EVENT("ADDED", NODE(name, version, ip))
#define MODIFIED(name, version, ip) EVENT("MODIFIED", NODE(name, version, ip))
#define DELETED(name, version) EVENT("DELETED", NODE(name, version, "10.0.0.9"))
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define END_OF_LIST(version)                                          \
    EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version \
                      "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")
#define ERROR(code, reason)                                                                              \
    EVENT("ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"" reason \
                   "\",\"code\":" code "}")
#define LIST(version, next, items)                                                                  \
    "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next \
    "\"},\"items\":[" items "]}\n"
#define STATUS(code, message) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"" message "\",\"code\":" code "}\n"
#define REFUSED(line) line "\r\nContent-Type: application/json"

#define TWO_NODES ADDED("n1", "1", "10.0.0.1") ADDED("n2", "2", "10.0.0.2") END_OF_LIST("5")
#define SYNCED                                                               \
    {                                                                        \
        .expect = "sendInitialEvents=true", .body = TWO_NODES, .after = HOLD \
    }
