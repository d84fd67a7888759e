/* The server under test, f, and its clients, all on one loop: nothing moves but while it turns. */
#pragma once

#include "../test.h"
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/prometheus.h"
#include "serve/server.h"

/* How long a condition may take to come true before the test fails. */
#define PATIENCE_S 60

static struct fixture {
    struct event_base *base;
    struct metrics *metrics;
    struct server *server;
    bool alive, ready;
    size_t padding; /* bytes that readyz and status add to their answers */
    bool page;      /* there is a status page */
    unsigned built, news;
    struct log log; /* into a file in memory */
} f;

static inline void pad(struct buf *out)
{
    for (size_t n = 0; n < f.padding; n += 64)
        buf_add(out, "0123456789012345678901234567890123456789012345678901234567890123");
}

static inline bool ready(void *arg, struct buf *body)
{
    buf_printf(body, "[%c]haproxy: %s\n", f.ready ? '+' : '-', f.ready ? "in step" : "connection refused");
    pad(body);
    return f.ready;
}

static inline bool alive(void *arg, struct buf *body)
{
    return f.alive;
}

/* The status page's JSON: a number that is no news, and one that is. */
static inline void status(void *arg, struct buf *json, size_t *ret_news_at)
{
    buf_printf(json, "{\"built\":%u,", ++f.built);
    *ret_news_at = json->len;
    buf_printf(json, "\"news\":%u,\"padding\":\"", f.news);
    pad(json);
    buf_add(json, "\"}");
}

static void plan_of(void *arg, const char *query, struct buf *json)
{
    buf_printf(json, "[\"%s\"]", query);
}

static inline struct server *server_at(const char *host, uint16_t port, struct error *err)
{
    const struct server_callbacks callbacks = {
        .ready = ready, .alive = alive, .status = f.page ? status : NULL, .plan = plan_of};
    return server_new(f.base, host, port, f.metrics, &f.log, &callbacks, NULL, err);
}

static inline void fixture_init(const char *host, bool page)
{
    signal(SIGPIPE, SIG_IGN); /* as the daemon does: the answer to a reader who is gone is an error, not our end */
    f = (struct fixture){
        .base = event_base_new(), .metrics = metrics_new(), .alive = true, .ready = true, .page = page};
    f.log = (struct log){.level = LOG_LEVEL_INFO, .fd = memfd_create("log", MFD_CLOEXEC)};
    f.server = server_at(host, 0, &flaw);
    ck_assert_msg(f.server != NULL, "%s", flaw.message);
    ck_assert_uint_ne(server_port(f.server), 0);
}

static inline void fixture_begin(void)
{
    fixture_init("127.0.0.1", false);
}

static inline void fixture_end(void)
{
    server_free(f.server);
    event_base_loop(f.base, EVLOOP_NONBLOCK);
    event_base_free(f.base);
    metrics_free(f.metrics);
    close(f.log.fd);
}

/* ---- the loop ---- */

static inline void out_of_patience(evutil_socket_t fd, short what, void *arg)
{
    *(bool *)arg = true;
}

/* Turns the loop until the condition holds; fails the test where it does not come true. */
static inline void turn_until(bool (*holds)(void *arg), void *arg, const char *what)
{
    bool late = false;
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct event *timer = evtimer_new(f.base, out_of_patience, &late);
    event_add(timer, &patience);
    while (!holds(arg)) {
        event_base_loop(f.base, EVLOOP_ONCE);
        ck_assert_msg(!late, "waited %d s until %s", PATIENCE_S, what);
    }
    event_free(timer);
}

/* ---- clients on the same loop ---- */

struct client {
    struct bufferevent *bev;
    struct buf got;
    bool closed;
};

static inline void on_read(struct bufferevent *bev, void *arg)
{
    struct client *c = arg;
    char chunk[4096];
    for (size_t n; (n = bufferevent_read(bev, chunk, sizeof(chunk))) > 0;)
        buf_addn(&c->got, chunk, n);
}

static inline void on_event(struct bufferevent *bev, short what, void *arg)
{
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        ((struct client *)arg)->closed = true;
}

/* -1 with errno where nobody listens. Blocking, but the kernel accepts for the server, so it needs no loop. */
static inline int dial(uint16_t port, bool six)
{
    struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, six ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4, six ? sizeof(a6) : sizeof(a4)) != 0) {
        close(fd);
        return -1;
    }
    evutil_make_socket_nonblocking(fd);
    return fd;
}

static inline void client_init_fd(struct client *c, int fd)
{
    *c = (struct client){.bev = bufferevent_socket_new(f.base, fd, BEV_OPT_CLOSE_ON_FREE)};
    buf_init(&c->got, 0);
    bufferevent_setcb(c->bev, on_read, NULL, on_event, c);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

static inline void client_init(struct client *c, const char *text)
{
    int fd = dial(server_port(f.server), false);
    ck_assert_msg(fd >= 0, "connect: %s", strerror(errno));
    client_init_fd(c, fd);
    ck_assert_int_eq(bufferevent_write(c->bev, text, strlen(text)), 0);
}

static inline void client_fini(struct client *c)
{
    bufferevent_free(c->bev);
    buf_fini(&c->got);
}

static inline bool is_closed(void *arg)
{
    return ((struct client *)arg)->closed;
}

/* Sends the text, reads to the end. */
static inline char *ask(const char *text)
{
    struct client c;
    client_init(&c, text);
    turn_until(is_closed, &c, "the server closed");
    char *answer = buf_take(&c.got);
    client_fini(&c);
    return answer;
}

static inline char *get(const char *path)
{
    cleanup(mem_free_ptr) char *text = mem_printf("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    return ask(text);
}

static inline const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    ck_assert_msg(end != NULL, "no end of headers in \"%s\"", answer);
    return end + 4;
}

/* ": "-separated, as we write it. NULL: not there. Valid until the next call. */
static inline const char *header(const char *answer, const char *name)
{
    static char value[200];
    cleanup(mem_free_ptr) char *start = mem_printf("\r\n%s: ", name);
    const char *at = strstr(answer, start);
    if (at == NULL || at >= body_of(answer))
        return NULL;
    at += strlen(start);
    snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}

static inline void expect(const char *answer, const char *status, const char *type, const char *body)
{
    cleanup(mem_free_ptr) char *line = mem_printf("HTTP/1.1 %s", status);
    cleanup(mem_free_ptr) char *length = mem_printf("%zu", strlen(body_of(answer)));
    ck_assert_msg(str_has_prefix(answer, line), "%s, not %s", answer, status);
    ck_assert_pstr_eq(header(answer, "Content-Type"), type);
    ck_assert_pstr_eq(header(answer, "Content-Length"), length);
    ck_assert_pstr_eq(header(answer, "Cache-Control"), "no-store");
    ck_assert_msg(str_eq(header(answer, "Connection"), "close"), "%s", answer);
    if (body != NULL)
        ck_assert_str_eq(body_of(answer), body);
}

#define TEXT "text/plain; charset=utf-8"

static inline void expect_get(const char *path, const char *status, const char *type, const char *body)
{
    cleanup(mem_free_ptr) char *answer = get(path);
    expect(answer, status, type, body);
}

static inline bool no_connections(void *arg)
{
    return server_connections(f.server) == 0;
}
