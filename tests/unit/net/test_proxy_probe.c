/* net/proxy_probe against peers of every kind, in one loop with it. */
#include "net/proxy_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <sys/socket.h>

#include "../test.h"

enum behaviour { HTTP, HTTP_PROXY, TLS, SILENT, CLOSES, RESETS, DRIBBLES, FLOODS, BANNER };

struct world {
    struct event_base *base;
    struct evconnlistener *listener;
    enum behaviour behaviour;
    uint16_t port;
    unsigned connections, open;
    bool done;
    struct proxy_replies replies;
    int os_error;
};

static const char header[] = "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

static bool wants_answer(const struct world *w, const char *said, size_t len, bool *ret_tls)
{
    bool headed = len >= 16 && memcmp(said, header, 16) == 0;
    const char *words = headed ? said + 16 : said;
    *ret_tls = (size_t)(words - said) < len && words[0] == 0x16;
    if (w->behaviour == HTTP_PROXY)
        return headed && !*ret_tls;
    return !headed && *ret_tls == (w->behaviour == TLS);
}

static void hang_up(struct world *w, struct bufferevent *b, bool reset)
{
    struct linger linger = {.l_onoff = 1};
    if (reset)
        setsockopt(bufferevent_getfd(b), SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    bufferevent_free(b);
    w->open--;
}

static void on_read(struct bufferevent *b, void *arg)
{
    static const char hello[] = "\x16\x03\x03\x00\x7a\x02\x00\x00\x76", found[] = "HTTP/1.1 404 Not Found\r\n\r\n";
    struct world *w = arg;
    char said[4096];
    size_t len = bufferevent_read(b, said, sizeof(said));
    bool tls = false;
    switch (w->behaviour) {
    case HTTP:
    case HTTP_PROXY:
    case TLS:
        if (!wants_answer(w, said, len, &tls)) {
            hang_up(w, b, false);
            return;
        }
        if (tls)
            bufferevent_write(b, hello, sizeof(hello) - 1);
        else
            bufferevent_write(b, found, sizeof(found) - 1);
        break;
    case CLOSES:
    case RESETS:
        hang_up(w, b, w->behaviour == RESETS);
        break;
    case DRIBBLES:
        bufferevent_write(b, "HTTP/1.1 ", 9);
        break;
    case FLOODS: {
        static char much[1 << 16];
        bufferevent_write(b, much, sizeof(much));
        break;
    }
    case SILENT:
    case BANNER:
        break;
    }
}

static void on_end(struct bufferevent *b, short what, void *arg)
{
    if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0)
        hang_up(arg, b, false);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    struct world *w = arg;
    struct bufferevent *b = bufferevent_socket_new(w->base, fd, BEV_OPT_CLOSE_ON_FREE);
    w->connections++;
    w->open++;
    bufferevent_setcb(b, on_read, NULL, on_end, w);
    bufferevent_enable(b, EV_READ | EV_WRITE);
    if (w->behaviour == BANNER)
        bufferevent_write(b, "SSH-2.0-OpenSSH_9.2\r\n", 21);
}

static void on_done(void *arg, const struct proxy_replies *replies, int os_error)
{
    struct world *w = arg;
    ck_assert(!w->done);
    w->done = true;
    w->replies = *replies;
    w->os_error = os_error;
    event_base_loopbreak(w->base);
}

static void world_init(struct world *w, enum behaviour behaviour)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    *w = (struct world){.base = event_base_new(), .behaviour = behaviour};
    w->listener = evconnlistener_new_bind(w->base, on_accept, w, LEV_OPT_CLOSE_ON_FREE, 16, (struct sockaddr *)&at,
                                          (int)sizeof(at));
    ck_assert_ptr_nonnull(w->listener);
    ck_assert_int_eq(getsockname(evconnlistener_get_fd(w->listener), (struct sockaddr *)&at, &len), 0);
    w->port = ntohs(at.sin_port);
}

static void world_fini(struct world *w)
{
    /* The peer sees the end of each connection: none is left open. */
    while (w->open > 0)
        event_base_loop(w->base, EVLOOP_ONCE);
    if (w->listener != NULL)
        evconnlistener_free(w->listener);
    event_base_free(w->base);
}

static const struct {
    enum behaviour behaviour;
    enum proxy_verdict verdict;
    const char *seen;
} rows[] = {
    {HTTP, PROXY_UNWANTED, "without a PROXY header it answers HTTP, with one it closes the connection"},
    {HTTP_PROXY, PROXY_WANTED, "without a PROXY header it closes the connection, with one it answers HTTP"},
    {TLS, PROXY_UNWANTED, "without a PROXY header it answers TLS, with one it closes the connection"},
    {SILENT, PROXY_UNKNOWN, "with a PROXY header and without it says nothing"},
    {CLOSES, PROXY_UNKNOWN, "with a PROXY header and without it closes the connection"},
    {RESETS, PROXY_UNKNOWN, "with a PROXY header and without it closes the connection"},
    {DRIBBLES, PROXY_UNKNOWN, "with a PROXY header and without it answers neither HTTP nor TLS"},
    {FLOODS, PROXY_UNKNOWN, "with a PROXY header and without it answers neither HTTP nor TLS"},
    {BANNER, PROXY_UNKNOWN, "with a PROXY header and without it answers neither HTTP nor TLS"},
};

TEST_EACH(a_peer, array_len(rows))
{
    struct world w;
    world_init(&w, rows[_i].behaviour);
    /* Only these two are ended by the deadline. */
    uint64_t timeout_ms = w.behaviour == SILENT ? 200 : w.behaviour == DRIBBLES ? 1000 : 20000;
    ck_assert_ptr_nonnull(proxy_probe_start(w.base, "127.0.0.1", w.port, timeout_ms, on_done, &w));
    ck_assert(!w.done);
    event_base_dispatch(w.base);
    cleanup(mem_free_ptr) char *seen = proxy_talk_seen(&w.replies);
    ck_assert_str_eq(seen, rows[_i].seen);
    ck_assert_int_eq(proxy_talk_judge(&w.replies), rows[_i].verdict);
    ck_assert_int_eq(w.os_error, 0);
    ck_assert_uint_eq(w.connections, 4);
    world_fini(&w);
}

TEST(nobody_listens)
{
    struct world w;
    world_init(&w, SILENT);
    evconnlistener_free(w.listener);
    w.listener = NULL;
    ck_assert_ptr_nonnull(proxy_probe_start(w.base, "127.0.0.1", w.port, 5000, on_done, &w));
    event_base_dispatch(w.base);
    ck_assert_int_eq(proxy_talk_judge(&w.replies), PROXY_UNREACHED);
    ck_assert_int_eq(w.os_error, ECONNREFUSED);
    world_fini(&w);
}

TEST(no_address)
{
    static const char *const names[] = {"localhost", "", "1.2.3", "::1%x"};
    for (size_t i = 0; i < array_len(names); i++) {
        struct world w;
        world_init(&w, SILENT);
        ck_assert_ptr_nonnull(proxy_probe_start(w.base, names[i], w.port, 5000, on_done, &w));
        ck_assert(!w.done);
        event_base_dispatch(w.base);
        ck_assert_int_eq(proxy_talk_judge(&w.replies), PROXY_UNREACHED);
        ck_assert_uint_eq(w.connections, 0);
        world_fini(&w);
    }
}

TEST(given_up)
{
    struct world w;
    world_init(&w, SILENT);
    struct proxy_probe *p = proxy_probe_start(w.base, "127.0.0.1", w.port, 5000, on_done, &w);
    while (w.connections < 4)
        event_base_loop(w.base, EVLOOP_ONCE);
    proxy_probe_cancel(p);
    proxy_probe_cancel(NULL);
    world_fini(&w);
    ck_assert(!w.done);
}
