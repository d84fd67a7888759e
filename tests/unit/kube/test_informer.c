/* The informer over real sockets: a scripted API server in this process, byte for byte what the wire may bring. The machine
 * itself is test_watch's; here is what the shell adds: HTTP, frames, the cache, callbacks, log lines. */
#include "kube/informer.h"

#include <arpa/inet.h>
#include <check.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "model/cache.h"
#include "model/objects.h"
#include "net/http.h"

/* ---- a scripted API server ---- */

enum after { HOLD, END, CUT };

/* What one request gets. Steps are used in order; a request beyond them, or not as expected, fails the test. */
struct step {
    const char *expect; /* in the request line */
    const char *status; /* status line and headers in place of "200 OK" and JSON */
    const char *body;
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

static void add_chunks(struct evbuffer *out, const char *body, size_t split)
{
    size_t len = strlen(body);
    for (size_t at = 0; at < len;) {
        size_t n = split == 0 || split > len - at ? len - at : split;
        evbuffer_add_printf(out, "%zx\r\n%.*s\r\n", n, (int)n, body + at);
        at += n;
    }
}

static void drop(struct bufferevent *bev)
{
    for (size_t i = 0; i < peer.opened; i++)
        if (peer.open[i] == bev)
            peer.open[i] = NULL;
    peer.last = peer.last == bev ? NULL : peer.last;
    bufferevent_free(bev);
}

static void on_written(struct bufferevent *bev, void *arg)
{
    (void)arg;
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(bev), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    drop(bev);
}

static void answer(struct bufferevent *bev, const struct step *s)
{
    struct evbuffer *out = bufferevent_get_output(bev);
    evbuffer_add_printf(out, "HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n",
                        s->status != NULL ? s->status : "200 OK\r\nContent-Type: application/json");
    if (s->body != NULL)
        add_chunks(out, s->body, s->split);
    if (s->after == END)
        evbuffer_add_printf(out, "0\r\n\r\n");
}

static void on_peer_read(struct bufferevent *bev, void *arg)
{
    (void)arg;
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

static void on_peer_event(struct bufferevent *bev, short what, void *arg)
{
    (void)arg;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        drop(bev);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    (void)from;
    (void)len;
    (void)arg;
    ck_assert_uint_lt(peer.opened, array_len(peer.open));
    struct bufferevent *bev = bufferevent_socket_new(evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
    peer.open[peer.opened++] = bev;
    bufferevent_setcb(bev, on_peer_read, NULL, on_peer_event, NULL);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

/* More of the body that is held open. */
static void push(const char *body)
{
    ck_assert_ptr_nonnull(peer.last);
    add_chunks(bufferevent_get_output(peer.last), body, 0);
}

static void push_end(void)
{
    ck_assert_ptr_nonnull(peer.last);
    evbuffer_add_printf(bufferevent_get_output(peer.last), "0\r\n\r\n");
}

/* ---- the informer and what it told ---- */

static struct event_base *base;
static struct http *http;
static struct kube_client *client;
static struct cache *cache;
static struct informer *informer;
static struct log log_to_file = {.level = LOG_LEVEL_DEBUG, .format = LOG_FORMAT_LOGFMT};
static char log_path[32];
static char url[64];
static struct buf told; /* causes and reasons, one a line */
static unsigned status_calls;
static uint64_t received_us;

static void on_changed(void *arg, const char *cause, uint64_t when_us)
{
    (void)arg;
    buf_printf(&told, "changed: %s\n", cause);
    received_us = when_us;
}

static void on_status(void *arg)
{
    (void)arg;
    status_calls++;
}

static void on_restarted(void *arg, const char *resource, const char *reason)
{
    (void)arg;
    buf_printf(&told, "restarted: %s %s\n", resource, reason);
}

static void on_relisted(void *arg, const char *resource, const char *reason)
{
    (void)arg;
    buf_printf(&told, "listed: %s %s\n", resource, reason);
}

static void on_requested(void *arg, int code)
{
    (void)arg;
    buf_printf(&told, "requested: %d\n", code);
}

static const struct informer_callbacks callbacks = {.changed = on_changed,
                                                    .status = on_status,
                                                    .watch_restarted = on_restarted,
                                                    .relisted = on_relisted,
                                                    .requested = on_requested};

static void setup(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    struct error err = {0};
    base = event_base_new();
    memset(&peer, 0, sizeof(peer)); /* a test may run in the process of the last one */
    informer = NULL;
    status_calls = 0;
    snprintf(log_path, sizeof(log_path), "/tmp/test_informer.XXXXXX");
    peer.listener =
        evconnlistener_new_bind(base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&a, sizeof(a));
    ck_assert_ptr_nonnull(peer.listener);
    ck_assert_int_eq(getsockname(evconnlistener_get_fd(peer.listener), (struct sockaddr *)&a, &len), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(a.sin_port));
    buf_init(&peer.requests, 0);
    buf_init(&told, 0);
    log_to_file.fd = mkstemp(log_path);
    ck_assert_int_ge(log_to_file.fd, 0);
    http = http_new(base, "test/1", &err);
    ck_assert_ptr_nonnull(http);
    cache = NULL;
    struct kube_access access = {.server = url, .token = (char[]){"t"}, .source = (char[]){"test"}};
    client = kube_client_new(http, &access, &log_to_file, &err);
    ck_assert_msg(client != NULL, "%s", err.message);
}

static void teardown(void)
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
    close(log_to_file.fd);
    unlink(log_path);
}

/* The cache is one of its resource's records. */
static void start_row(const struct step *steps, size_t count, const struct informer_options *options,
                      const struct informer_callbacks *told_by)
{
    cache = cache_new(options->resource->record);
    const struct informer_sink sink = informer_sink_cache(cache);
    peer.steps = steps;
    peer.count = count;
    informer = informer_new(base, client, &sink, &log_to_file, options, told_by, NULL);
    informer_start(informer);
}

static void start(const struct step *steps, size_t count, const struct watch_deadlines *deadlines)
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
            ck_assert_msg(clock_mono_ms() < deadline, "waited 20 s for %s; told:\n%s", #condition, buf_str(&told)); \
        }                                                                                                           \
    } while (0)

static struct informer_status status(void)
{
    struct informer_status s;
    informer_get_status(informer, &s);
    return s;
}

static bool was_told(const char *line)
{
    return strstr(buf_str(&told), line) != NULL;
}

static unsigned times_told(const char *line)
{
    unsigned n = 0;
    for (const char *s = buf_str(&told); (s = strstr(s, line)) != NULL; s++)
        n++;
    return n;
}

static unsigned times_logged(const char *text)
{
    cleanup(buf_fini) struct buf log;
    buf_init(&log, 1 << 20);
    ck_assert_int_eq(buf_read_file(&log, log_path), 0);
    unsigned n = 0;
    for (const char *s = buf_str(&log); (s = strstr(s, text)) != NULL; s++)
        n++;
    return n;
}

static const char *ip_of(const char *name)
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

/* ---- tests ---- */

START_TEST(a_streaming_list_and_what_follows)
{
    START(SYNCED);
    UNTIL(status().synced);
    ck_assert_str_eq(buf_str(&told), "listed: nodes start\nrequested: 200\nchanged: list of nodes\n");
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert(!status().stale);
    ck_assert_str_eq(status().problem, "");
    ck_assert_uint_gt(status().last_byte_ms, 0);
    ck_assert_uint_eq(times_logged("synced with Kubernetes"), 1);
    ck_assert_uint_eq(times_logged("how=\"streaming list\""), 1);
    ck_assert_uint_eq(times_logged("objects=2"), 1);

    uint64_t before = clock_mono_us();
    push(MODIFIED("n1", "6", "10.0.0.1")); /* a heartbeat: nothing that is kept changed */
    push(MODIFIED("n1", "7", "10.0.0.7"));
    UNTIL(was_told("changed: MODIFIED node n1\n"));
    ck_assert_uint_eq(times_told("MODIFIED"), 1);
    ck_assert_uint_ge(received_us, before);
    push(ADDED("n3", "8", "10.0.0.3") DELETED("n2", "9"));
    UNTIL(was_told("changed: ADDED node n3\nchanged: DELETED node n2\n"));
    ck_assert_ptr_null(cache_find(cache, "n2"));
    ck_assert_str_eq(ip_of("n1"), "10.0.0.7");
}
END_TEST

START_TEST(byte_by_byte)
{
    START({.expect = "sendInitialEvents=true",
           .body = TWO_NODES MODIFIED("n2", "6", "10.0.0.22"),
           .after = HOLD,
           .split = 1});
    UNTIL(was_told("MODIFIED node n2"));
    ck_assert_uint_eq(times_told("changed: list of nodes"), 1);
    ck_assert_str_eq(ip_of("n2"), "10.0.0.22");
}
END_TEST

START_TEST(pages_where_streaming_lists_are_refused)
{
    START({.expect = "sendInitialEvents=true",
           .status = REFUSED("422 Unprocessable Entity"),
           .body = STATUS("422", "no"),
           .after = END},
          {.expect = "/api/v1/nodes?limit=500 ", .body = LIST("5", "c", NODE("n1", "1", "10.0.0.1")), .after = END},
          {.expect = "/api/v1/nodes?limit=500&continue=c ",
           .body = LIST("9", "", NODE("n2", "2", "10.0.0.2")),
           .after = END,
           .split = 1},
          {.expect = "&resourceVersion=5&", .body = MODIFIED("n1", "11", "10.0.0.7"), .after = HOLD});
    UNTIL(was_told("MODIFIED node n1"));
    ck_assert_uint_eq(times_told("changed: list of nodes"), 1);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_uint_eq(times_logged("how=\"paged list\""), 1);
    /* never packed: see start_request */
    ck_assert_ptr_null(strstr(buf_str(&peer.requests), "Accept-Encoding"));
    /* each request came to its end: one connection for them all */
    ck_assert_uint_eq(peer.opened, 1);
}
END_TEST

/* The watch is told that its version is too old, and lists again without the pause that keeps two lists apart. */
static void expire(void)
{
    push(ERROR("410", "Expired"));
    UNTIL(status().stale);
    informer_poke(informer);
    UNTIL(peer.next == 2);
}

/* The stream ends in the middle of what the machine has left behind already: that end is nobody's. */
START_TEST(pages_at_once_where_the_stream_says_no)
{
    START({.expect = "sendInitialEvents=true",
           .body = ERROR("500", "InternalError") ADDED("n9", "1", "10.0.0.9"),
           .after = HOLD},
          {.expect = "/api/v1/nodes?limit=500 ", .body = LIST("5", "", NODE("n1", "1", "10.0.0.1")), .after = END},
          {.expect = "&resourceVersion=5&", .after = HOLD});
    UNTIL(peer.next == 3);
    ck_assert(!status().stale);
    ck_assert_uint_eq(cache_count(cache), 1);
    ck_assert_uint_eq(times_told("listed:"), 2);
    ck_assert_uint_eq(times_logged("level=warn"), 0);
}
END_TEST

/* Each way that Kubernetes has to say what happened, as far as it steers. */
static const struct {
    const char *status, *body, *reason, *logged;
} sayings[] = {
    {NULL, ERROR("0", "Expired"), "expired", NULL},
    {NULL, ERROR("0", "Gone"), "expired", NULL},
    {NULL, ERROR("429", "TooManyRequests"), "throttled", NULL},
    {NULL,
     EVENT("ERROR",
           "{\"kind\":\"Status\",\"code\":429,\"reason\":\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":7}}"),
     "throttled", "retry_ms=7000.0"},
    {NULL,
     EVENT("ERROR",
           "{\"kind\":\"Status\",\"code\":504,\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}"),
     "too_large_version", NULL},
    {REFUSED("504 Gateway Timeout"),
     "{\"kind\":\"Status\",\"code\":504,\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}",
     "too_large_version", NULL},
    {REFUSED("429 Too Many Requests") "\r\nRetry-After: 9", STATUS("429", "no"), "throttled", "retry_ms=9000.0"},
    {REFUSED("429 Too Many Requests") "\r\nRetry-After: 9",
     "{\"kind\":\"Status\",\"code\":429,\"details\":{\"retryAfterSeconds\":7}}", "throttled", "retry_ms=9000.0"},
    {REFUSED("503 Service Unavailable"), "{\"kind\":\"Status\",\"code\":503,\"details\":{\"retryAfterSeconds\":7}}",
     "other_answer", "retry_ms=7000.0"},
};

START_TEST(what_kubernetes_says_is_understood)
{
    const struct step steps[] = {{.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = END},
                                 {.expect = "resourceVersion=6&",
                                  .status = sayings[_i].status,
                                  .body = sayings[_i].body,
                                  .after = sayings[_i].status != NULL ? END : HOLD}};
    start(steps, array_len(steps), NULL);
    UNTIL(status().stale);
    cleanup(mem_free_ptr) char *line = mem_printf("restarted: nodes %s\n", sayings[_i].reason);
    ck_assert_msg(was_told(line), "%s is not among\n%s", line, buf_str(&told));
    if (sayings[_i].logged != NULL)
        ck_assert_uint_eq(times_logged(sayings[_i].logged), 1);
}
END_TEST

START_TEST(a_relist_is_atomic_and_drops_what_is_gone)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES ADDED("n3", "6", "10.0.0.3"), .after = HOLD},
          {.expect = "sendInitialEvents=true", .body = ADDED("n2", "2", "10.0.0.2"), .after = HOLD});
    UNTIL(was_told("ADDED node n3"));
    expire();
    UNTIL(times_told("requested: 200") == 2);
    push(ADDED("n3", "6", "10.0.0.33"));
    for (int i = 0; i < 5; i++) /* the new ones are on their way, the old ones are what everybody sees */
        event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(cache_count(cache), 3);
    ck_assert_str_eq(ip_of("n3"), "10.0.0.3");
    push(END_OF_LIST("20"));
    UNTIL(times_told("changed: list of nodes") == 2);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_ptr_null(cache_find(cache, "n1"));
    ck_assert_str_eq(ip_of("n3"), "10.0.0.33");
    ck_assert(was_told("restarted: nodes expired\n"));
    ck_assert(was_told("listed: nodes expired\n"));
}
END_TEST

START_TEST(a_list_that_is_cut_changes_nothing)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES ADDED("n3", "6", "10.0.0.3"), .after = HOLD},
          {.expect = "sendInitialEvents=true", .body = ADDED("n9", "7", "10.0.0.9"), .after = CUT},
          {.expect = "sendInitialEvents=true", .body = TWO_NODES, .after = HOLD});
    UNTIL(was_told("ADDED node n3"));
    expire();
    UNTIL(strstr(status().problem, "connection lost") != NULL);
    ck_assert_ptr_nonnull(strstr(status().problem, "/api/v1/nodes: "));
    ck_assert_ptr_null(strchr(status().problem, '?'));
    ck_assert(status().stale);
    ck_assert_uint_eq(cache_count(cache), 3);
    ck_assert_ptr_null(cache_find(cache, "n9"));
    UNTIL(!status().stale);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_uint_eq(times_logged("no contact with the Kubernetes API"), 2); /* one for each reason */
    ck_assert_uint_eq(times_logged("in contact with the Kubernetes API again"), 1);
}
END_TEST

START_TEST(a_clean_close_goes_on_from_the_last_version)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("77"), .after = END},
          {.expect = "watch=1&allowWatchBookmarks=true&resourceVersion=77&timeoutSeconds=", .after = HOLD});
    UNTIL(peer.next == 2);
    ck_assert_uint_eq(peer.opened, 1); /* by the same connection, too */
    ck_assert(was_told("restarted: nodes closed"));
    ck_assert_uint_eq(times_told("listed:"), 1);
    ck_assert(!status().stale);
    ck_assert_uint_eq(times_logged("level=warn"), 0);
}
END_TEST

START_TEST(a_reset_in_the_middle_of_an_event_costs_that_event_only)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("77") "{\"type\":\"MODIF", .after = CUT},
          {.expect = "resourceVersion=77&", .body = MODIFIED("n1", "78", "10.0.0.7"), .after = HOLD});
    UNTIL(was_told("MODIFIED node n1"));
    ck_assert(was_told("restarted: nodes lost"));
    ck_assert_uint_eq(times_told("listed:"), 1);
}
END_TEST

static void on_other_done(void *arg, const struct http_response *r, const struct error *err)
{
    ck_assert(err == NULL && r->status == 200);
    *(bool *)arg = true;
}

/* Those that are kept may be as dead as the one that failed: none of them is tried again. */
START_TEST(after_a_failure_the_connection_is_a_new_one)
{
    static const struct http_callbacks other = {.on_done = on_other_done};
    struct http_endpoint endpoint = {.base_url = url};
    struct http_request_options options = {.method = "GET", .path = "/other"};
    struct error err;
    bool done = false;
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES MODIFIED("n1", "21", "10.0.0.7"), .after = HOLD},
          {.expect = "/other", .body = "{}", .after = END},
          {.expect = "sendInitialEvents=true", .body = TWO_NODES, .after = HOLD});
    UNTIL(was_told("MODIFIED node n1"));
    struct bufferevent *watch = peer.last;
    ck_assert_ptr_nonnull(http_start(http, &endpoint, &options, &other, &done, &err));
    UNTIL(done);
    ck_assert_uint_eq(peer.opened, 2); /* and the second is kept */
    peer.last = watch;
    push("rubbish\n");
    UNTIL(peer.next == 3);
    ck_assert_uint_eq(peer.opened, 3);
}
END_TEST

START_TEST(half_an_event_at_a_clean_end_is_a_lost_connection)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("77") "{\"type\":\"MODIF", .after = END},
          {.expect = "resourceVersion=77&", .after = HOLD});
    UNTIL(peer.next == 2);
    ck_assert(was_told("restarted: nodes lost"));
}
END_TEST

START_TEST(rubbish_in_the_stream_is_a_relist)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = HOLD},
          {.expect = "sendInitialEvents=true", .body = TWO_NODES, .after = HOLD});
    UNTIL(status().synced);
    push("<html>\n");
    UNTIL(status().stale);
    informer_poke(informer);
    UNTIL(times_logged("synced with Kubernetes") == 2);
    ck_assert(was_told("restarted: nodes garbled\n"));
    ck_assert(was_told("listed: nodes garbled\n"));
    ck_assert_uint_eq(times_told("changed:"), 1); /* the same nodes */
}
END_TEST

START_TEST(an_object_that_cannot_be_used_stops_nobody)
{
#define BAD_NODE(version) "{" META("n1", version) ",\"status\":5}"
    START({.expect = "sendInitialEvents=true",
           .body = TWO_NODES EVENT("MODIFIED", BAD_NODE("6")) MODIFIED("n2", "7", "10.0.0.22"),
           .after = HOLD});
    UNTIL(was_told("MODIFIED node n2"));
    ck_assert_uint_eq(times_told("listed:"), 1);
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1"); /* the last good state */
    ck_assert_uint_eq(times_logged("not as expected"), 1);
    ck_assert_uint_eq(times_logged("node n1"), 1);
    push(EVENT("MODIFIED", BAD_NODE("8")) EVENT("DELETED", BAD_NODE("9")));
    UNTIL(was_told("DELETED node n1"));
    ck_assert_uint_eq(times_logged("not as expected"), 1);
    ck_assert_ptr_null(cache_find(cache, "n1"));
}
END_TEST

/* Listed, but not readable: it is there, so what is known of it stays, and so does its server. */
START_TEST(an_object_that_cannot_be_used_in_a_relist_stays_as_it_was)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES ADDED("n3", "6", "10.0.0.3"), .after = HOLD},
          {.expect = "sendInitialEvents=true",
           .body = EVENT("ADDED", BAD_NODE("7")) EVENT("ADDED", "{" META("n9", "8") ",\"spec\":5}")
               ADDED("n2", "2", "10.0.0.2") END_OF_LIST("20"),
           .after = HOLD},
          {.expect = "sendInitialEvents=true", .body = ADDED("n2", "2", "10.0.0.2") END_OF_LIST("30"), .after = HOLD});
    UNTIL(was_told("ADDED node n3"));
    expire();
    UNTIL(times_told("changed: list of nodes") == 2);
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert_ptr_null(cache_find(cache, "n3"));
    ck_assert_ptr_null(cache_find(cache, "n9"));
    ck_assert_uint_eq(times_logged("node n1 is skipped"), 1);
    expire();
    UNTIL(times_told("changed: list of nodes") == 3);
    ck_assert_ptr_null(cache_find(cache, "n1"));
}
END_TEST

START_TEST(an_event_of_a_newer_api_is_passed_over)
{
    START({.expect = "sendInitialEvents=true",
           .body = TWO_NODES EVENT("FROBBED", NODE("n1", "6", "10.0.0.7")) MODIFIED("n2", "7", "10.0.0.22"),
           .after = HOLD});
    UNTIL(was_told("MODIFIED node n2"));
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert_uint_eq(times_told("listed:"), 1);
}
END_TEST

START_TEST(forbidden_is_told_and_kept_asking)
{
#define FORBIDDEN_NODES STATUS("403", "nodes is forbidden: User \\\"low\\\" cannot list")
    START(
        {.expect = "sendInitialEvents=true", .status = REFUSED("403 Forbidden"), .body = FORBIDDEN_NODES, .after = END},
        {.expect = "sendInitialEvents=true",
         .status = REFUSED("403 Forbidden"),
         .body = STATUS("403", "still forbidden"),
         .after = END},
        SYNCED);
    UNTIL(status().denied == INFORMER_FORBIDDEN);
    ck_assert(!status().synced);
    ck_assert_ptr_nonnull(strstr(status().problem, "HTTP 403: nodes is forbidden: User \"low\" cannot list"));
    ck_assert_uint_eq(status_calls, 1);
    UNTIL((informer_poke(informer), peer.next == 2));
    UNTIL(strstr(status().problem, "HTTP 403: still forbidden") !=
          NULL); /* this answer's text and not the last one's */
    UNTIL((informer_poke(informer), status().synced));
    ck_assert_int_eq(status().denied, INFORMER_ALLOWED);
    ck_assert_str_eq(status().problem, "");
    ck_assert_uint_eq(times_logged("level=warn"), 1); /* said once */
    ck_assert_uint_eq(times_logged("in contact with the Kubernetes API again"), 1);
    ck_assert_uint_eq(times_told("requested: 403"), 2);
}
END_TEST

/* ---- one Service of several ---- */

#define SERVICE_PATH "GET /api/v1/namespaces/ns/services?fieldSelector=metadata.name%3Dweb&"
#define SERVICE(name, version, port) \
    "{" META(name, version) ",\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":443,\"nodePort\":" port "}]}}"

static void start_service(const struct step *steps, size_t count)
{
    const struct informer_options options = {.resource = &kube_services,
                                             .namespace = "ns",
                                             .field_selector = "metadata.name=web",
                                             .scope = "ns/web",
                                             .may_be_denied = true};
    start_row(steps, count, &options, &callbacks);
}

START_TEST(a_scope_is_in_causes_and_in_the_log)
{
    static const struct step steps[] = {{.expect = SERVICE_PATH "watch=1&sendInitialEvents=true",
                                         .body = EVENT("ADDED", SERVICE("web", "1", "30443")) END_OF_LIST("5"),
                                         .after = HOLD}};
    start_service(steps, array_len(steps));
    UNTIL(was_told("changed: list of services of ns/web\n"));
    ck_assert_uint_eq(((const struct service *)cache_find(cache, "web"))->ports[0].node_port, 30443);
    ck_assert_uint_eq(times_logged("resource=services service=ns/web objects=1"), 1);
    push(EVENT("MODIFIED", SERVICE("web", "6", "31000")) EVENT("ADDED", SERVICE("odd", "7", "31001")));
    UNTIL(was_told("changed: MODIFIED service ns/web\nchanged: ADDED service odd of ns/web\n"));
    ck_assert_uint_eq(((const struct service *)cache_find(cache, "web"))->ports[0].node_port, 31000);
    push(EVENT("DELETED", SERVICE("web", "8", "31000")));
    UNTIL(was_told("changed: DELETED service ns/web\n"));
    ck_assert_ptr_null(cache_find(cache, "web"));
    ck_assert(status().synced);
}
END_TEST

START_TEST(a_denial_that_may_be_is_not_complained_about)
{
    static const struct step steps[] = {{.expect = SERVICE_PATH,
                                         .status = REFUSED("403 Forbidden"),
                                         .body = STATUS("403", "services is forbidden"),
                                         .after = END},
                                        {.expect = SERVICE_PATH,
                                         .status = REFUSED("404 Not Found"),
                                         .body = STATUS("404", "no services here"),
                                         .after = END},
                                        {.expect = SERVICE_PATH,
                                         .status = REFUSED("500 Internal Server Error"),
                                         .body = STATUS("500", "etcd is slow"),
                                         .after = END}};
    start_service(steps, array_len(steps));
    UNTIL(status().denied == INFORMER_FORBIDDEN);
    ck_assert_ptr_nonnull(strstr(status().problem, "services is forbidden"));
    UNTIL((informer_poke(informer), status().denied == INFORMER_NOT_SERVED));
    ck_assert_uint_eq(times_logged("level=warn"), 0);
    ck_assert_uint_eq(times_logged("level=debug msg=\"still no list\" resource=services service=ns/web"), 2);
    UNTIL((informer_poke(informer), strstr(status().problem, "etcd is slow") != NULL));
    ck_assert_uint_eq(times_logged("level=warn"), 1); /* any other trouble is */
}
END_TEST

START_TEST(an_endless_refusal_is_a_refusal)
{
    cleanup(mem_free_ptr) char *page = mem_alloc(100001);
    memset(page, 'x', 100000);
    const struct step steps[] = {{.expect = "sendInitialEvents=true",
                                  .status = "403 Forbidden\r\nContent-Type: text/plain",
                                  .body = page,
                                  .after = END}};
    start(steps, array_len(steps), NULL);
    UNTIL(status().denied == INFORMER_FORBIDDEN);
    ck_assert_ptr_nonnull(strstr(status().problem, "HTTP 403: xxx"));
}
END_TEST

static void write_token(const char *path, const char *token)
{
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(fd, token, strlen(token)), (ssize_t)strlen(token));
    close(fd);
    utimensat(AT_FDCWD, path, old, 0);
}

/* The file looks the same: only a 401 makes us read it again. */
START_TEST(a_refused_token_is_read_again)
{
    struct error err = {0};
    cleanup(mem_free_ptr) char *path = mem_printf("%s.token", log_path);
    struct kube_access access = {.server = url, .token_path = path, .source = (char[]){"test"}};
    write_token(path, "first");
    kube_client_free(client);
    client = kube_client_new(http, &access, &log_to_file, &err);
    ck_assert_msg(client != NULL, "%s", err.message);
    write_token(path, "other");
    START({.expect = "sendInitialEvents=true",
           .status = REFUSED("401 Unauthorized"),
           .body = STATUS("401", "no"),
           .after = END},
          SYNCED);
    UNTIL(status().synced);
    unlink(path);
    ck_assert_uint_eq(times_told("requested: 401"), 1);
    const char *first = strstr(buf_str(&peer.requests), "Authorization: Bearer first");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first, "Authorization: Bearer other"));
    ck_assert_uint_eq(times_logged("level=warn"), 0); /* tokens rotate: nothing is wrong */
}
END_TEST

START_TEST(a_resource_that_is_not_served)
{
    START({.expect = "sendInitialEvents=true",
           .status = "404 Not Found\r\nContent-Type: text/plain",
           .body = "404 page not found\n",
           .after = END});
    UNTIL(status().denied == INFORMER_NOT_SERVED);
    ck_assert_ptr_nonnull(strstr(status().problem, "not served: HTTP 404: 404 page not found"));
}
END_TEST

START_TEST(html_is_no_answer_and_a_redirect_is_not_followed)
{
    START({.expect = "sendInitialEvents=true",
           .status = "200 OK\r\nContent-Type: text/html",
           .body = "<html>log in</html>",
           .after = END},
          {.expect = "sendInitialEvents=true",
           .status = "302 Found\r\nLocation: http://127.0.0.1:1/steal",
           .body = "",
           .after = END});
    UNTIL(strstr(status().problem, "not JSON") != NULL);
    ck_assert_ptr_nonnull(strstr(status().problem, "text/html"));
    informer_poke(informer);
    UNTIL(strstr(status().problem, "HTTP 302") != NULL);
    ck_assert(!status().synced);
}
END_TEST

START_TEST(an_empty_or_truncated_list_is_none)
{
    START({.expect = "sendInitialEvents=true",
           .status = REFUSED("400 Bad Request"),
           .body = STATUS("400", "no"),
           .after = END},
          {.expect = "limit=500", .body = "", .after = END},
          {.expect = "limit=500",
           .body = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" NODE("n1", "1", "10.0.0.1"),
           .after = END},
          {.expect = "limit=500", .body = "{\"metadata\":{},\"items\":[]}", .after = END},
          {.expect = "limit=500", .body = LIST("5", "", ""), .after = END}, {.expect = "resourceVersion=5&"});
    UNTIL(peer.next == 2);
    for (size_t n = 3; n <= 5; n++) {
        UNTIL((informer_poke(informer), peer.next == n));
        ck_assert_uint_eq(cache_count(cache), 0);
    }
    UNTIL(status().synced); /* and a list of nothing is one */
    ck_assert_uint_eq(times_told("changed: list of nodes"), 1);
}
END_TEST

START_TEST(a_warning_is_passed_on_once)
{
    START({.expect = "sendInitialEvents=true",
           .status = "200 OK\r\nContent-Type: application/json\r\nWarning: 299 - \"Endpoints is deprecated\"",
           .body = TWO_NODES BOOKMARK("6"),
           .after = END},
          {.expect = "resourceVersion=6",
           .status =
               "200 OK\r\nContent-Type: application/json; charset=utf-8\r\nWarning: 299 - \"Endpoints is deprecated\"",
           .body = BOOKMARK("7"),
           .after = HOLD});
    UNTIL(times_told("requested: 200") == 2);
    ck_assert_uint_eq(times_logged("Endpoints is deprecated"), 1);
}
END_TEST

START_TEST(a_half_open_connection_is_noticed)
{
    static const struct step steps[] = {
        {.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = HOLD},
        {.expect = "resourceVersion=6&", .body = "{\"type\"", .after = HOLD},
        {.expect = "resourceVersion=6&", .after = HOLD},
        {.expect = "sendInitialEvents=true", .after = HOLD}};
    struct watch_deadlines quick = watch_usual_deadlines;
    quick.silence_ms = 300;
    start(steps, array_len(steps), &quick);
    UNTIL((informer_poke(informer), peer.next == 4));
    ck_assert_uint_eq(times_told("restarted: nodes silent"), 2); /* the second said something, if no whole event */
    ck_assert_uint_eq(times_told("restarted: nodes mute"), 1);
    ck_assert_uint_eq(times_told("listed:"), 2);
    UNTIL(peer.open[0] == NULL && peer.open[1] == NULL);
}
END_TEST

START_TEST(a_server_that_never_answers_is_given_up)
{
    static const struct step steps[] = {{.expect = "sendInitialEvents=true", .status = "100 Continue", .after = HOLD},
                                        SYNCED};
    struct watch_deadlines quick = watch_usual_deadlines;
    quick.answer_ms = 300;
    start(steps, array_len(steps), &quick);
    UNTIL(strstr(status().problem, "no answer in time") != NULL);
    ck_assert_uint_eq(times_told("requested: 0"), 1);
    UNTIL(status().synced);
}
END_TEST

START_TEST(a_forgotten_cache_is_listed_again)
{
    START(
        {.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = HOLD},
        {.expect = "resourceVersion=6&", .status = REFUSED("403 Forbidden"), .body = STATUS("403", "no"), .after = END},
        SYNCED);
    UNTIL(status().synced);
    push_end();
    UNTIL(strstr(status().problem, "forbidden") != NULL);
    ck_assert_int_eq(status().denied, INFORMER_ALLOWED); /* it may be an API server that is just starting */
    unsigned calls = status_calls;
    informer_forget(informer);
    ck_assert_uint_eq(status_calls, calls + 1); /* it is not synced any more */
    informer_poke(informer);
    UNTIL(status().synced);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert(was_told("listed: nodes forgotten"));
}
END_TEST

/* What it read of the list is gone: it reads it from the start, by another request. */
START_TEST(a_cache_that_is_forgotten_while_it_lists_is_listed_again)
{
    START({.expect = "sendInitialEvents=true", .body = ADDED("n1", "1", "10.0.0.1"), .after = HOLD}, SYNCED);
    UNTIL(status().last_byte_ms != 0);
    informer_forget(informer);
    UNTIL(status().synced);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert(was_told("listed: nodes forgotten"));
    ck_assert_uint_eq(peer.next, 2);
}
END_TEST

START_TEST(a_cache_that_is_forgotten_while_it_watches_is_listed_again)
{
    START(SYNCED, SYNCED);
    UNTIL(status().synced);
    informer_forget(informer);
    ck_assert(!status().synced);
    UNTIL(status().synced);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_uint_eq(peer.next, 2);
    push(DELETED("n1", "7"));
    UNTIL(was_told("changed: DELETED node n1"));
}
END_TEST

START_TEST(stop_leaves_nothing_behind)
{
    START({.expect = "sendInitialEvents=true", .body = ADDED("n1", "1", "10.0.0.1"), .after = HOLD}, SYNCED);
    UNTIL(was_told("requested: 200"));
    informer_stop(informer);
    UNTIL(peer.last == NULL); /* the connection is closed */
    ck_assert(!cache_replace_end(cache));
    ck_assert_uint_eq(cache_count(cache), 0);
    ck_assert(!was_told("changed:"));
    informer_start(informer);
    UNTIL(status().synced);
    ck_assert_uint_eq(cache_count(cache), 2);
    informer_stop(informer);
    ck_assert(status().stale); /* nobody looks any more */
    UNTIL(peer.last == NULL);
}
END_TEST

START_TEST(free_in_the_middle_of_a_request)
{
    START({.expect = "sendInitialEvents=true", .body = ADDED("n1", "1", "10.0.0.1"), .after = HOLD});
    UNTIL(was_told("requested: 200"));
    informer_free(informer);
    informer = NULL;
    UNTIL(peer.last == NULL);
}
END_TEST

static void stop_it(void *arg)
{
    (void)arg;
    informer_stop(informer);
}

START_TEST(stop_from_inside_a_callback)
{
    static const struct step steps[] = {SYNCED};
    const struct informer_callbacks stopping = {.status = stop_it};
    const struct informer_options options = {.resource = &kube_nodes};
    start_row(steps, array_len(steps), &options, &stopping);
    UNTIL(peer.next == 1);
    UNTIL(peer.last == NULL);
    ck_assert(status().stale);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("informer");
    TCase *t = tcase_create("wire");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_streaming_list_and_what_follows);
    tcase_add_test(t, byte_by_byte);
    tcase_add_test(t, pages_where_streaming_lists_are_refused);
    tcase_add_test(t, pages_at_once_where_the_stream_says_no);
    tcase_add_loop_test(t, what_kubernetes_says_is_understood, 0, (int)array_len(sayings));
    tcase_add_test(t, a_relist_is_atomic_and_drops_what_is_gone);
    tcase_add_test(t, a_list_that_is_cut_changes_nothing);
    tcase_add_test(t, a_clean_close_goes_on_from_the_last_version);
    tcase_add_test(t, a_reset_in_the_middle_of_an_event_costs_that_event_only);
    tcase_add_test(t, after_a_failure_the_connection_is_a_new_one);
    tcase_add_test(t, half_an_event_at_a_clean_end_is_a_lost_connection);
    tcase_add_test(t, rubbish_in_the_stream_is_a_relist);
    tcase_add_test(t, an_object_that_cannot_be_used_stops_nobody);
    tcase_add_test(t, an_object_that_cannot_be_used_in_a_relist_stays_as_it_was);
    tcase_add_test(t, an_event_of_a_newer_api_is_passed_over);
    tcase_add_test(t, forbidden_is_told_and_kept_asking);
    tcase_add_test(t, a_scope_is_in_causes_and_in_the_log);
    tcase_add_test(t, a_denial_that_may_be_is_not_complained_about);
    tcase_add_test(t, an_endless_refusal_is_a_refusal);
    tcase_add_test(t, a_refused_token_is_read_again);
    tcase_add_test(t, a_resource_that_is_not_served);
    tcase_add_test(t, html_is_no_answer_and_a_redirect_is_not_followed);
    tcase_add_test(t, an_empty_or_truncated_list_is_none);
    tcase_add_test(t, a_warning_is_passed_on_once);
    tcase_add_test(t, a_half_open_connection_is_noticed);
    tcase_add_test(t, a_server_that_never_answers_is_given_up);
    tcase_add_test(t, a_forgotten_cache_is_listed_again);
    tcase_add_test(t, a_cache_that_is_forgotten_while_it_lists_is_listed_again);
    tcase_add_test(t, a_cache_that_is_forgotten_while_it_watches_is_listed_again);
    tcase_add_test(t, stop_leaves_nothing_behind);
    tcase_add_test(t, free_in_the_middle_of_a_request);
    tcase_add_test(t, stop_from_inside_a_callback);
    suite_add_tcase(s, t);

    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
