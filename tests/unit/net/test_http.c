/* src/net/http against a scripted peer on a socket in this process. TLS is covered by tests/functional. */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/http.h"
#include "host/timer.h"

#include "../test.h"

/* The peer: answers every request with the same bytes. */
struct peer {
    struct evconnlistener *listener;
    const char *answer; /* NULL: never answers */
    bool close_after;
    struct buf requests;
    const char *last; /* it answers once this has come; NULL: the head is enough */
    unsigned connections;
    struct bufferevent *open[256];
    char url[64];
};

/* What the client saw. */
struct seen {
    struct event_base *base;
    struct http_request *request;
    unsigned done, heads;
    int status;
    bool failed;
    struct error error;
    enum http_progress progress;
    struct buf body, stream;
    char header[64];
    int64_t retry_after_ms;
    int stop_head, stop_data; /* what on_head and on_data return */
};

static struct event_base *base;
static struct http *http;
#define BODY_BYTES 200000 /* more than libcurl reads at once */

static struct peer peer;
static struct seen seen;

static void peer_close(struct peer *p, struct bufferevent *bev)
{
    for (size_t i = 0; i < array_len(p->open); i++)
        if (p->open[i] == bev)
            p->open[i] = NULL;
    bufferevent_free(bev);
}

static void on_peer_read(struct bufferevent *bev, void *arg)
{
    struct peer *p = arg;
    struct evbuffer *in = bufferevent_get_input(bev);
    size_t len = evbuffer_get_length(in);
    char *bytes = mem_alloc(len + 1);
    evbuffer_remove(in, bytes, len);
    buf_addn(&p->requests, bytes, len);
    free(bytes);
    const char *head_end = strstr(buf_str(&p->requests), "\r\n\r\n");
    bool all = p->last == NULL || str_has_suffix(buf_str(&p->requests), p->last);
    if (head_end == NULL || p->answer == NULL || !all)
        return;
    bufferevent_write(bev, p->answer, strlen(p->answer));
}

static void on_peer_written(struct bufferevent *bev, void *arg)
{
    struct peer *p = arg;
    if (p->close_after && p->answer != NULL && p->requests.len > 0)
        peer_close(p, bev);
}

static void on_peer_event(struct bufferevent *bev, short what, void *arg)
{
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        peer_close(arg, bev);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    struct peer *p = arg;
    ck_assert_uint_lt(p->connections, array_len(p->open));
    struct bufferevent *bev = bufferevent_socket_new(evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
    p->open[p->connections++] = bev;
    bufferevent_setcb(bev, on_peer_read, on_peer_written, on_peer_event, p);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

static void listen_tcp(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    peer.listener =
        evconnlistener_new_bind(base, on_accept, &peer, LEV_OPT_CLOSE_ON_FREE, 256, (struct sockaddr *)&a, sizeof(a));
    ck_assert_ptr_nonnull(peer.listener);
    ck_assert_int_eq(getsockname(evconnlistener_get_fd(peer.listener), (struct sockaddr *)&a, &len), 0);
    snprintf(peer.url, sizeof(peer.url), "http://127.0.0.1:%u", ntohs(a.sin_port));
}

static void setup(void)
{
    base = event_base_new();
    http = http_new(base, "test/1", &flaw);
    ck_assert_ptr_nonnull(http);
    peer = (struct peer){.close_after = true};
    buf_init(&peer.requests, 0);
    seen = (struct seen){.base = base};
    buf_init(&seen.body, 0);
    buf_init(&seen.stream, 0);
    listen_tcp();
}

static void teardown(void)
{
    http_free(http);
    for (size_t i = 0; i < array_len(peer.open); i++)
        if (peer.open[i] != NULL)
            bufferevent_free(peer.open[i]);
    if (peer.listener != NULL)
        evconnlistener_free(peer.listener);
    event_base_free(base);
    buf_fini(&peer.requests);
    buf_fini(&seen.body);
    buf_fini(&seen.stream);
}

static int on_head(void *arg, const struct http_response *r)
{
    struct seen *s = arg;
    s->heads++;
    s->status = r->status;
    return s->stop_head;
}

static int on_data(void *arg, const char *bytes, size_t len)
{
    struct seen *s = arg;
    buf_addn(&s->stream, bytes, len);
    return s->stop_data;
}

static void on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct seen *s = arg;
    s->done++;
    s->status = r->status;
    s->progress = r->progress;
    s->failed = err != NULL;
    if (err != NULL)
        s->error = *err;
    buf_addn(&s->body, buf_str(r->body), r->body->len);
    const char *value = http_response_header(r, "x-test");
    snprintf(s->header, sizeof(s->header), "%s", value != NULL ? value : "(none)");
    s->retry_after_ms = http_response_retry_after_ms(r);
    event_base_loopbreak(s->base);
}

static const struct http_callbacks collect = {.on_done = on_done};
static const struct http_callbacks stream = {.on_head = on_head, .on_data = on_data, .on_done = on_done};

static void on_too_long(void *arg)
{
    ck_abort_msg("the request did not end");
}

static const struct http_endpoint to_peer = {.base_url = peer.url};

static void run_to(const struct http_endpoint *endpoint, const struct http_request_options *options,
                   const struct http_callbacks *callbacks)
{
    struct timer guard;
    timer_init(&guard, base, on_too_long, NULL);
    timer_set(&guard, 20000);
    seen.done = 0;
    seen.request = http_start(http, endpoint, options, callbacks, &seen, &flaw);
    ck_assert_msg(seen.request != NULL, "%s", flaw.message);
    event_base_dispatch(base);
    timer_fini(&guard);
    ck_assert_uint_eq(seen.done, 1);
}

static void run(const struct http_request_options *options, const struct http_callbacks *callbacks)
{
    run_to(&to_peer, options, callbacks);
}

static void get(const struct http_callbacks *callbacks)
{
    struct http_request_options options = {.method = "GET", .path = "/x?y=1", .max_body_bytes = 1000};
    run(&options, callbacks);
}

static const struct http_request_options root = {.method = "GET", .path = "/"};

FIXTURE(setup, teardown)

TEST(answer_is_collected)
{
    peer.answer = "HTTP/1.1 404 Not Found\r\nX-Test: value\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nhello";
    get(&collect);
    ck_assert(!seen.failed);
    ck_assert_int_eq(seen.status, 404);
    ck_assert_int_eq(seen.progress, HTTP_ANSWERED);
    ck_assert_str_eq(buf_str(&seen.body), "hello");
    ck_assert_str_eq(seen.header, "value");
    ck_assert_int_eq(seen.retry_after_ms, 7000);
    ck_assert_ptr_nonnull(strstr(buf_str(&peer.requests), "GET /x?y=1 HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&peer.requests), "User-Agent: test/1\r\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&peer.requests), "Accept: application/json\r\n"));
    ck_assert_ptr_null(strstr(buf_str(&peer.requests), "Authorization"));
}

TEST(body_and_credentials_are_sent)
{
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    struct http_request_options options = {.method = "PUT",
                                           .path = "/p",
                                           .content_type = "application/json",
                                           .body = "{}",
                                           .body_len = 2,
                                           .basic_user = "admin",
                                           .basic_password = "pa:ss"};
    run(&options, &collect);
    const char *sent = buf_str(&peer.requests);
    ck_assert(str_has_prefix(sent, "PUT /p HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(sent, "Authorization: Basic YWRtaW46cGE6c3M=\r\n"));
    ck_assert_ptr_nonnull(strstr(sent, "Content-Type: application/json\r\n"));
    ck_assert(str_has_suffix(sent, "\r\n\r\n{}"));
}

TEST(a_body_behind_a_head_is_sent_as_it_lies)
{
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char *body = mem_alloc(BODY_BYTES + 1);
    memset(body, 'x', BODY_BYTES);
    peer.last = "y";
    body[BODY_BYTES - 1] = 'y';
    struct http_request_options options = {.method = "POST",
                                           .path = "/p",
                                           .content_type = "text/plain",
                                           .body = body,
                                           .body_len = BODY_BYTES,
                                           .body_head = "# head\n",
                                           .likely_body_bytes = 1u << 20};
    run(&options, &collect);
    const char *sent = buf_str(&peer.requests);
    ck_assert(str_has_prefix(sent, "POST /p HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(sent, "Content-Length: 200007\r\n"));
    const char *begin = strstr(sent, "\r\n\r\n# head\nx");
    ck_assert_ptr_nonnull(begin);
    ck_assert_str_eq(begin + strlen("\r\n\r\n# head\n"), body);
    ck_assert_str_eq(buf_str(&seen.body), "ok");
    free(body);
}

TEST(bearer_and_empty_post)
{
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    struct http_request_options options = {.method = "POST", .path = "/", .bearer_token = "t0k"};
    run(&options, &collect);
    ck_assert_ptr_nonnull(strstr(buf_str(&peer.requests), "Authorization: Bearer t0k\r\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&peer.requests), "Content-Length: 0\r\n"));
}

#define TOKEN "eyJhbGciOi.JSUzI1NiJ9"
#define REPEATED "GET / HTTP/1.1\r\nAuthorization: Bearer " TOKEN "\r\nX: " TOKEN
#define HIDDEN "GET / HTTP/1.1\r\nAuthorization: Bearer ***\r\nX: ***"

static const struct {
    const char *answer, *seen;
    bool streamed;
} repeated[] = {
    {"HTTP/1.1 401 No\r\nContent-Length: 85\r\n\r\n" REPEATED, HIDDEN, false},
    {"HTTP/1.1 500 No\r\nContent-Length: 85\r\n\r\n" REPEATED, HIDDEN, true},
    {"HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n<html>" TOKEN, "<html>***", false},
    {"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n\"" TOKEN "\"", "\"" TOKEN "\"", false}, /* what succeeds stays */
};

TEST_EACH(credentials_that_are_repeated_are_hidden, array_len(repeated))
{
    peer.answer = repeated[_i].answer;
    struct http_request_options options = {.method = "GET", .path = "/", .bearer_token = TOKEN};
    run(&options, repeated[_i].streamed ? &stream : &collect);
    ck_assert(!seen.failed);
    ck_assert_ptr_nonnull(strstr(buf_str(&peer.requests), "Authorization: Bearer " TOKEN "\r\n"));
    ck_assert_str_eq(buf_str(repeated[_i].streamed ? &seen.stream : &seen.body), repeated[_i].seen);
}

TEST(a_password_that_an_error_repeats_is_hidden)
{
    peer.answer = "HTTP/1.1 404 No\r\nContent-Length: 31\r\n\r\nBasic YWRtaW46cGE6c3M=&#x3D;...";
    struct http_request_options options = {
        .method = "GET", .path = "/", .basic_user = "admin", .basic_password = "pa:ss"};
    run(&options, &collect);
    ck_assert_str_eq(buf_str(&seen.body), "Basic ***=&#x3D;...");
}

TEST(delete_has_no_body)
{
    peer.answer = "HTTP/1.1 204 No Content\r\n\r\n";
    struct http_request_options options = {.method = "DELETE", .path = "/d"};
    run(&options, &collect);
    ck_assert_int_eq(seen.status, 204);
    ck_assert(str_has_prefix(buf_str(&peer.requests), "DELETE /d HTTP/1.1\r\n"));
}

TEST(stream_is_handed_on_as_it_comes)
{
    peer.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    get(&stream);
    ck_assert(!seen.failed);
    ck_assert_uint_eq(seen.heads, 1);
    ck_assert_str_eq(buf_str(&seen.stream), "abcde");
    ck_assert_uint_eq(seen.body.len, 0);
}

TEST(stream_can_be_stopped)
{
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    seen.stop_data = 1;
    get(&stream);
    ck_assert(seen.failed);
    ck_assert_int_eq(seen.error.kind, ERROR_INVALID);
}

TEST(head_can_stop_it)
{
    peer.answer = "HTTP/1.1 500 Oops\r\nContent-Length: 3\r\n\r\nabc";
    seen.stop_head = 1;
    get(&stream);
    ck_assert(seen.failed);
    ck_assert_uint_eq(seen.stream.len, 0);
    ck_assert_int_eq(seen.status, 500);
}

static const int redirects[] = {300, 301, 302, 303, 305, 307, 308};

TEST_EACH(redirects_are_not_followed, array_len(redirects))
{
    cleanup(mem_free_ptr) char *answer = mem_printf(
        "HTTP/1.1 %d Elsewhere\r\nLocation: %s/elsewhere\r\nContent-Length: 0\r\n\r\n", redirects[_i], peer.url);
    peer.answer = answer;
    get(&collect);
    ck_assert_int_eq(seen.status, redirects[_i]);
    ck_assert_uint_eq(peer.connections, 1);
    ck_assert_ptr_null(strstr(buf_str(&peer.requests), "elsewhere"));
}

TEST(over_the_cap_is_an_error)
{
    cleanup(buf_fini) struct buf answer = {0};
    buf_add(&answer, "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n");
    for (int i = 0; i < 1001; i++)
        buf_add(&answer, "x");
    peer.answer = buf_str(&answer);
    get(&collect);
    ck_assert(seen.failed);
    ck_assert_int_eq(seen.error.kind, ERROR_INVALID);
    ck_assert_ptr_nonnull(strstr(seen.error.message, "larger than 1000 bytes"));
}

TEST(cut_answer_was_sent)
{
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc";
    get(&collect);
    ck_assert(seen.failed);
    ck_assert_int_eq(seen.error.kind, ERROR_RETRY);
    ck_assert_int_eq(seen.progress, HTTP_SENT);
}

TEST(garbage_is_an_error)
{
    peer.answer = "\x16\x03\x01 this is no HTTP\r\n\r\n";
    get(&collect);
    ck_assert(seen.failed);
    ck_assert_ptr_nonnull(strstr(seen.error.message, "GET http://127.0.0.1:"));
}

TEST(nobody_listens)
{
    evconnlistener_free(peer.listener);
    peer.listener = NULL;
    get(&collect);
    ck_assert(seen.failed);
    ck_assert_int_eq(seen.error.kind, ERROR_RETRY);
    ck_assert_int_eq(seen.progress, HTTP_NOT_SENT);
    ck_assert_int_eq(seen.status, 0);
}

TEST(silence_ends_by_the_total_timeout)
{
    peer.answer = NULL;
    struct http_request_options options = {.method = "GET", .path = "/", .total_timeout_ms = 400};
    run(&options, &collect);
    ck_assert(seen.failed);
    ck_assert_int_eq(seen.error.kind, ERROR_RETRY);
    ck_assert_int_eq(seen.progress, HTTP_SENT);
}

TEST(connection_is_kept)
{
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    peer.close_after = false;
    struct http_request_options options = {.method = "GET", .path = "/"};
    for (int i = 0; i < 3; i++)
        run(&options, &collect);
    ck_assert_uint_eq(peer.connections, 1);
    options.new_connection = true;
    run(&options, &collect);
    ck_assert_uint_eq(peer.connections, 2);
    options.new_connection = false; /* those are kept, too */
    for (int i = 0; i < 2; i++)
        run(&options, &collect);
    ck_assert_uint_eq(peer.connections, 2);
}

/* 64 Services, each with three watches, the Nodes and the Lease. */
TEST(connection_is_kept_beside_as_many_watches_as_there_can_be)
{
    enum { WATCHES = 64 * 3 + 2 };
    struct http_request *watches[WATCHES];
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    peer.close_after = false;
    for (size_t i = 0; i < WATCHES; i++) {
        watches[i] = http_start(http, &to_peer, &root, &stream, &seen, &flaw);
        ck_assert_msg(watches[i] != NULL, "%s", flaw.message);
    }
    while (seen.heads < WATCHES)
        event_base_loop(base, EVLOOP_ONCE);
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (int i = 0; i < 3; i++)
        run(&root, &collect);
    ck_assert_uint_eq(peer.connections, WATCHES + 1);
    for (size_t i = 0; i < WATCHES; i++)
        http_cancel(watches[i]);
}

TEST(cancelled_says_nothing)
{
    struct http_request *q = http_start(http, &to_peer, &root, &collect, &seen, &flaw);
    ck_assert_ptr_nonnull(q);
    while (peer.requests.len == 0)
        event_base_loop(base, EVLOOP_ONCE);
    http_cancel(q);
    http_cancel(NULL);
    for (int i = 0; i < 3; i++)
        event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(seen.done, 0);
}

TEST(bad_server_name_is_named)
{
    char url[] = "https://127.0.0.1:1", name[] = "a b/c";
    struct http_tls tls = {.server_name = name};
    struct http_endpoint endpoint = {.base_url = url, .tls = &tls};
    ck_assert_ptr_null(http_start(http, &endpoint, &root, &collect, &seen, &flaw));
    ck_assert_ptr_nonnull(strstr(flaw.message, "a b/c"));
}

TEST(unix_socket)
{
    char path[] = "/tmp/test_http_XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(path));
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", path);
    struct evconnlistener *l =
        evconnlistener_new_bind(base, on_accept, &peer, LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&a, sizeof(a));
    ck_assert_ptr_nonnull(l);
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char url[] = "http://localhost";
    struct http_endpoint endpoint = {.base_url = url, .unix_socket = a.sun_path};
    run_to(&endpoint, &root, &collect);
    ck_assert_str_eq(buf_str(&seen.body), "ok");
    evconnlistener_free(l);
    unlink(a.sun_path);
    rmdir(path);
}

TEST(proxy_of_the_environment_is_ignored)
{
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    peer.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    get(&collect);
    ck_assert_str_eq(buf_str(&seen.body), "ok");
}
