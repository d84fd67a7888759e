/* Up to three scripted servers that stand in for the members of an etcd cluster, byte for byte what the wire may
 * bring; the requests that came, and a client for them. */
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <sys/socket.h>

#include "etcd_world.h"

enum after {
    END,    /* the answer is complete */
    HOLD,   /* its body goes on */
    CUT,    /* the connection is reset in the middle */
    SILENT, /* nothing is answered */
    LOSE,   /* the connection is closed without an answer */
};

/* What one request gets. They are used in order; one too many, or not as expected, fails the test. */
struct step {
    const char *expect; /* in the request: line, headers and body */
    const char *status; /* NULL: "200 OK" */
    const char *body;
    enum after after;
    size_t split; /* bytes in each piece; 0: all in one */
};

struct member {
    struct evconnlistener *listener;
    unsigned port;
    char url[64];
    const struct step *steps;
    size_t count, next;
    struct bufferevent *open[32];
    size_t opened;
    struct bufferevent *last;
};

static struct member members[3];
static struct buf requests; /* "0 POST /v3/kv/range TOKEN BODY" for each */
static char log_path[32];

static inline void member_drop(struct member *m, struct bufferevent *bev)
{
    for (size_t i = 0; i < m->opened; i++)
        if (m->open[i] == bev)
            m->open[i] = NULL;
    m->last = m->last == bev ? NULL : m->last;
    bufferevent_free(bev);
}

static inline struct member *member_of(struct bufferevent *bev)
{
    for (size_t i = 0; i < array_len(members); i++)
        for (size_t k = 0; k < members[i].opened; k++)
            if (members[i].open[k] == bev)
                return &members[i];
    ck_abort_msg("whose connection is it?");
}

static inline void on_cut(struct bufferevent *bev, void *arg)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(bev), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    member_drop(member_of(bev), bev);
}

static inline void add_pieces(struct bufferevent *bev, const char *body, size_t split)
{
    size_t len = strlen(body);
    for (size_t at = 0; at < len;) {
        size_t n = split == 0 || split > len - at ? len - at : split;
        evbuffer_add_printf(bufferevent_get_output(bev), "%zx\r\n%.*s\r\n", n, (int)n, body + at);
        at += n;
    }
}

static inline void member_answer(struct member *m, struct bufferevent *bev, const struct step *s)
{
    m->last = bev;
    if (s->after == SILENT)
        return;
    if (s->after == LOSE) {
        on_cut(bev, NULL);
        return;
    }
    evbuffer_add_printf(bufferevent_get_output(bev),
                        "HTTP/1.1 %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
                        s->status != NULL ? s->status : "200 OK");
    if (s->body != NULL)
        add_pieces(bev, s->body, s->split);
    if (s->after == END)
        evbuffer_add_printf(bufferevent_get_output(bev), "0\r\n\r\n");
    if (s->after == CUT)
        bufferevent_setcb(bev, NULL, on_cut, NULL, NULL);
}

static inline char *header_value(const char *head, const char *name)
{
    const char *at = strstr(head, name);
    return at != NULL ? mem_strndup(at + strlen(name), strcspn(at + strlen(name), "\r")) : mem_strdup("-");
}

static inline void on_request(struct member *m, struct bufferevent *bev, char *head, const char *body)
{
    cleanup(mem_free_ptr) char *token = header_value(head, "Authorization: ");
    cleanup(mem_free_ptr) char *whole = mem_printf("%s%s", head, body);
    ck_assert_ptr_nonnull(strstr(head, "Grpc-Metadata-Hasleader: true"));
    buf_printf(&requests, "%d %.*s %s %s\n", (int)(m - members), (int)strcspn(head + 5, " "), head + 5, token, body);
    ck_assert_msg(m->next < m->count, "a request too many: %s", whole);
    const struct step *s = &m->steps[m->next++];
    ck_assert_msg(strstr(whole, s->expect) != NULL, "request %zu: %s has no %s", m->next, whole, s->expect);
    member_answer(m, bev, s);
}

static inline void on_member_read(struct bufferevent *bev, void *arg)
{
    struct member *m = arg;
    struct evbuffer *in = bufferevent_get_input(bev);
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    if (end.pos < 0)
        return;
    cleanup(mem_free_ptr) char *head = mem_alloc((size_t)end.pos + 5);
    evbuffer_copyout(in, head, (size_t)end.pos + 4);
    cleanup(mem_free_ptr) char *length = header_value(head, "Content-Length: ");
    size_t len = strtoul(length, NULL, 10);
    if (evbuffer_get_length(in) < (size_t)end.pos + 4 + len)
        return;
    cleanup(mem_free_ptr) char *body = mem_alloc(len + 1);
    evbuffer_drain(in, (size_t)end.pos + 4);
    evbuffer_remove(in, body, len);
    on_request(m, bev, head, body);
}

static inline void on_member_event(struct bufferevent *bev, short what, void *arg)
{
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        member_drop(arg, bev);
}

static inline void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    struct member *m = arg;
    ck_assert_uint_lt(m->opened, array_len(m->open));
    struct bufferevent *bev = bufferevent_socket_new(evconnlistener_get_base(l), fd, BEV_OPT_CLOSE_ON_FREE);
    m->open[m->opened++] = bev;
    bufferevent_setcb(bev, on_member_read, NULL, on_member_event, m);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
}

/* No steps: nobody listens there. */
static inline void member_start(size_t i, const struct step *steps, size_t count)
{
    struct member *m = &members[i];
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(m->port)};
    socklen_t len = sizeof(a);
    m->steps = steps;
    m->count = count;
    m->next = 0;
    m->listener = evconnlistener_new_bind(world.base, on_accept, m, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 8,
                                          (struct sockaddr *)&a, sizeof(a));
    ck_assert_ptr_nonnull(m->listener);
    ck_assert_int_eq(getsockname(evconnlistener_get_fd(m->listener), (struct sockaddr *)&a, &len), 0);
    m->port = ntohs(a.sin_port);
    snprintf(m->url, sizeof(m->url), "http://127.0.0.1:%u", m->port);
    if (count == 0) {
        evconnlistener_free(m->listener);
        m->listener = NULL;
    }
}

#define MEMBER(i, ...)                                    \
    static const struct step steps_##i[] = {__VA_ARGS__}; \
    member_start(i, steps_##i, array_len(steps_##i))
#define NOBODY(i) member_start(i, NULL, 0)

/* More of a body that is held open. */
static inline void member_push(size_t i, const char *text, size_t split)
{
    ck_assert_ptr_nonnull(members[i].last);
    add_pieces(members[i].last, text, split);
}

static inline void double_setup(void)
{
    memset(&world, 0, sizeof(world));
    memset(members, 0, sizeof(members));
    snprintf(log_path, sizeof(log_path), "/tmp/test_etcd_log.XXXXXX");
    world.log = (struct log){.level = LOG_LEVEL_INFO, .fd = mkstemp(log_path)};
    buf_init(&requests, 0);
    world.base = event_base_new();
    world.http = http_new(world.base, "test/1", &flaw);
}

static inline void double_teardown(void)
{
    http_free(world.http);
    for (size_t i = 0; i < array_len(members); i++) {
        for (size_t k = 0; k < members[i].opened; k++)
            if (members[i].open[k] != NULL)
                bufferevent_free(members[i].open[k]);
        if (members[i].listener != NULL)
            evconnlistener_free(members[i].listener);
    }
    event_base_free(world.base);
    buf_fini(&requests);
    close(world.log.fd);
    unlink(log_path);
}

/* Of the first so many members. */
static inline struct etcd_client *double_client(size_t count, const char *user, uint64_t timeout_ms)
{
    char *endpoints[] = {members[0].url, members[1].url, members[2].url};
    const struct etcd_client_options o = {.endpoints = endpoints,
                                          .endpoint_count = count,
                                          .user = user,
                                          .password = user != NULL ? "pass\"word" : NULL,
                                          .timeout_ms = timeout_ms,
                                          .log = &world.log};
    struct etcd_client *c = etcd_client_new(world.http, &o, &flaw);
    ck_assert_msg(c != NULL, "%s", flaw.message);
    return c;
}

static inline size_t times_in(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, part)) != NULL; s++)
        n++;
    return n;
}

static inline size_t times_logged(const char *part)
{
    cleanup(buf_fini) struct buf log;
    buf_init(&log, 1 << 20);
    ck_assert_int_eq(buf_read_file(&log, log_path), 0);
    return times_in(buf_str(&log), part);
}

#define HEADER(revision) \
    "\"header\":{\"cluster_id\":\"1\",\"member_id\":\"2\",\"revision\":\"" revision "\",\"raft_term\":\"2\"}"
#define GOT_X(revision)                                                                                              \
    "{" HEADER(revision) ",\"kvs\":[{\"key\":\"eA==\",\"create_revision\":\"2\",\"mod_revision\":\"3\",\"version\":" \
                         "\"2\",\"value\":\"eQ==\"}],\"count\":\"1\"}"
#define DONE(revision) "{" HEADER(revision) ",\"succeeded\":true}"
#define REFUSAL(message, code) "{\"error\":\"" message "\",\"message\":\"" message "\",\"code\":" code "}"
#define TOKEN(token) "{" HEADER("1") ",\"token\":\"" token "\"}"
#define CREATED(revision) "{\"result\":{" HEADER(revision) ",\"created\":true}}\n"
#define PUT_EVENT(key, value, revision)                                                                           \
    "{\"kv\":{\"key\":\"" key "\",\"create_revision\":\"2\",\"mod_revision\":\"" revision "\",\"version\":\"1\"," \
    "\"value\":\"" value "\"}}"
#define DELETE_EVENT(key, revision) \
    "{\"type\":\"DELETE\",\"kv\":{\"key\":\"" key "\",\"mod_revision\":\"" revision "\"}}"
#define EVENTS(revision, events) "{\"result\":{" HEADER(revision) ",\"events\":[" events "]}}\n"
#define FRAGMENT(revision, events) "{\"result\":{" HEADER(revision) ",\"fragment\":true,\"events\":[" events "]}}\n"
#define PROGRESS(revision) "{\"result\":{" HEADER(revision) "}}\n"
#define COMPACTED(revision) "{\"result\":{" HEADER("9") ",\"canceled\":true,\"compact_revision\":\"" revision "\"}}\n"
#define CANCELED(reason)                                                                                              \
    "{\"result\":{" HEADER("9") ",\"watch_id\":\"-1\",\"created\":true,\"canceled\":true,\"cancel_reason\":\"" reason \
                                "\"}}\n"
