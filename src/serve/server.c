#include "serve/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/timer.h"
#include "net/digest.h"
#include "report/prometheus.h"
#include "serve/status_feed.h"

#define MAX_CONNECTIONS 64
#define MAX_HEADER_BYTES 8192
#define MAX_BODY_BYTES 1024
#define REQUEST_MS 10000
/* While all connections are taken, the limit is this part of it, so that idle ones cannot keep the probes out: 400 of them come and go in a second. */
#define CROWDED_IDLE_PART 100 /* of one that has not sent a request */
#define CROWDED_PART 20
#define SWEEP_MS 50
#define STREAMS_SWEEP_MS 1000 /* with streams alone, which have no deadline */
#define FULL_LOG_PERIOD_MS 60000
#define FRUITLESS_MAX 8 /* connections announced in a row that could not be accepted */
#define PAUSE_MS 500

#define EXPOSITION "text/plain; version=0.0.4; charset=utf-8"
#define HTML "text/html; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"
#define EVENT_STREAM "text/event-stream"
#define STREAM_RETRY_S "30"

/*
 * evhttp neither counts its connections nor reports their end, and its timeouts restart with every byte. So we hold a
 * reference of each connection's bufferevent, and a sweep checks them periodically: evhttp leaves a bufferevent that it
 * gave up without its callbacks (after shutdown(), so the peer need not wait for us), and the sweep shuts down the
 * socket of one that is over its time, which makes evhttp give it up. A filter bufferevent would report at once, but
 * evhttp regards data as sent as soon as the filter has it.
 *
 * Out of file descriptors, a waiting connection cannot be accepted and stays announced: libevent would retry and log
 * for ever. Its error callback has evhttp as its argument, which does not lead to us; so it only stops accepting, and
 * an event of our own on the same socket counts the announcements: after some without an accepted connection, we pause
 * accepting.
 */
struct connection {
    struct bufferevent *bev;
    uint64_t accepted_ms;
    bool cut_off;
    bool asked;   /* a request came whole */
    bool streams; /* it has no deadline; the feed ends it */
    struct connection *next;
};

struct server {
    struct evhttp *http;
    struct evconnlistener *listener; /* owned by http */
    struct event_base *base;
    struct metrics *metrics;
    const struct log *log;
    struct server_callbacks callbacks;
    void *arg;
    struct status_feed *feed; /* NULL: no status page */
    char *page_policy;        /* Content-Security-Policy of the status page */
    uint16_t port;
    unsigned max_connections;
    uint64_t request_ms;
    unsigned count;
    struct connection *connections;
    struct timer sweep;
    struct event *announced;
    unsigned fruitless;
    struct timer pause;
    struct log_limit full_limit, pause_limit;
};

/* ---- the socket ---- */

/* Short: connections beyond our own limit wait here. */
#define BACKLOG 64

/* -1 with errno set. */
static int open_one(int family, const struct sockaddr *address, socklen_t len, bool both_families)
{
    int on = 1, off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* A restart must not wait for the last one's connections to leave TIME_WAIT. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (both_families && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
        bind(fd, address, len) != 0 || listen(fd, BACKLOG) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

/* What an operator can do about it. */
static const char *listen_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "; another process has that port: stop it, or choose another with LISTEN_ADDRESS";
    case EACCES:
        return "; ports below 1024 need CAP_NET_BIND_SERVICE: choose another with LISTEN_ADDRESS";
    case EADDRNOTAVAIL:
        return "; no interface of this machine has that address: choose another with LISTEN_ADDRESS";
    default:
        return "";
    }
}

/* host "": every address of both families, or of IPv4 where the machine has no IPv6; a name: the first of its addresses
 * that works. Returns the descriptor; -1: ERROR_FATAL naming the address. */
static int listen_open(const char *host, uint16_t port, struct error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list = NULL;
    bool v6 = strchr(host, ':') != NULL;
    char service[8];
    int fd = -1;
    if (str_empty(host)) {
        const struct sockaddr_in6 six = {
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT};
        const struct sockaddr_in four = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_ANY)}};
        fd = open_one(AF_INET6, (const struct sockaddr *)&six, sizeof(six), true);
        if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
            fd = open_one(AF_INET, (const struct sockaddr *)&four, sizeof(four), false);
    } else {
        snprintf(service, sizeof(service), "%u", port);
        int failed = getaddrinfo(host, service, &hints, &list);
        if (failed != 0)
            return error_set(err, ERROR_FATAL, "cannot listen on %s:%u: %s; see LISTEN_ADDRESS", host, port,
                             gai_strerror(failed));
        for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
            fd = open_one(a->ai_family, a->ai_addr, a->ai_addrlen, false);
    }
    int saved = errno;
    if (list != NULL)
        freeaddrinfo(list);
    errno = saved; /* for %m */
    if (fd < 0)
        return error_set(err, ERROR_FATAL, "cannot listen on %s%s%s:%u: %m%s", v6 ? "[" : "", host, v6 ? "]" : "", port,
                         listen_advice(saved));
    return fd;
}

/* The port it got; 0: none. */
static uint16_t listen_port(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&address)->sin_port) : 0;
}

/* ---- connections ---- */

static void server_release(struct connection *c)
{
    bufferevent_decref(c->bev);
    free(c);
}

/* Forgets the connections that are gone, closes those that are late. */
static void sweep(struct server *s)
{
    uint64_t now_ms = clock_mono_ms();
    for (struct connection **at = &s->connections, *c; (c = *at) != NULL;) {
        void *evhttps_own = NULL;
        bufferevent_getcb(c->bev, NULL, NULL, NULL, &evhttps_own);
        if (evhttps_own == NULL) { /* given up */
            *at = c->next;
            s->count--;
            server_release(c);
            continue;
        }
        at = &c->next;
        uint64_t limit_ms = s->request_ms;
        if (s->count >= s->max_connections)
            limit_ms /= c->asked ? CROWDED_PART : CROWDED_IDLE_PART;
        if (c->cut_off || c->streams || now_ms - c->accepted_ms < limit_ms)
            continue;
        log_debug(s->log, "closing an HTTP connection that took too long", log_int("limit_ms", limit_ms));
        shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
        c->cut_off = true;
    }
}

static void start_accepting(struct server *s)
{
    if (s->count >= s->max_connections || timer_is_set(&s->pause))
        return;
    evconnlistener_enable(s->listener);
    if (event_add(s->announced, NULL) != 0)
        abort(); /* out of memory */
}

static void stop_accepting(struct server *s)
{
    evconnlistener_disable(s->listener); /* libevent asks after each connection, so this one was the last */
    event_del(s->announced);
}

static void on_sweep(void *arg)
{
    struct server *s = arg;
    sweep(s);
    start_accepting(s);
    if (s->count > 0)
        timer_set(&s->sweep, s->count > status_feed_streams(s->feed) ? SWEEP_MS : STREAMS_SWEEP_MS);
}

/* Called by evhttp for each connection that was accepted, before it knows the socket. */
static struct bufferevent *on_accept(struct event_base *base, void *arg)
{
    struct server *s = arg;
    if (s->count + 1 >= s->max_connections)
        sweep(s); /* only those that are really open count; not the new one, which has no callbacks yet either */
    struct connection *c = mem_alloc(sizeof(*c));
    c->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (c->bev == NULL)
        abort(); /* out of memory */
    bufferevent_incref(c->bev);
    c->accepted_ms = clock_mono_ms();
    c->next = s->connections;
    s->connections = c;
    s->fruitless = 0;
    if (++s->count >= s->max_connections) {
        unsigned held_back;
        stop_accepting(s);
        status_feed_cut_all(s->feed); /* browsers reconnect */
        if (log_limit_pass(&s->full_limit, clock_mono_ms(), "full", &held_back))
            log_warn(s->log, "HTTP connection limit reached; new connections wait", log_int("connections", s->count),
                     log_int("port", s->port));
    }
    timer_set_sooner(&s->sweep, SWEEP_MS);
    return c->bev;
}

/* ---- connections that cannot be accepted ---- */

static void on_pause_over(void *arg)
{
    struct server *s = arg;
    s->fruitless = 0;
    start_accepting(s);
}

static void pause_accepting(struct server *s)
{
    unsigned held_back;
    stop_accepting(s);
    timer_set(&s->pause, PAUSE_MS);
    /* libevent has the reason and does not pass it on; most likely it is the same for another descriptor. */
    int fd = eventfd(0, EFD_CLOEXEC);
    cleanup(mem_free_ptr) char *why = mem_printf("%m");
    if (log_limit_pass(&s->pause_limit, clock_mono_ms(), "pause", &held_back))
        log_warn(s->log,
                 "cannot accept HTTP connections; probes may fail until file descriptors are free: "
                 "raise the limit (ulimit -n), or find out who connects so often",
                 log_int("port", s->port), log_str("error", fd < 0 ? why : NULL), log_int("connections", s->count),
                 log_if(held_back > 0, log_int("repeated", held_back)));
    if (fd >= 0)
        close(fd);
}

/* Fires in addition to libevent's own event, before or after it. */
static void on_announced(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    (void)fd;
    (void)what;
    if (++s->fruitless > FRUITLESS_MAX)
        pause_accepting(s);
    else
        start_accepting(s);
}

static void on_accept_failed(struct evconnlistener *listener, void *evhttps_own)
{
    (void)evhttps_own;
    evconnlistener_disable(listener);
}

/* ---- the status page ---- */

/* status.html, one file in the binary as it is. What it shows comes from other servers: the policy lets its own style and
 * script run, by their hashes, and nothing else, and lets it fetch from here alone.
 * The assembler reads the file, which the Makefile knows, from the root of the tree, where all compilers run. */
__asm__(".pushsection .rodata\n"
        "web_page_html:\n"
        ".incbin \"src/serve/status.html\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char web_page_html[] __attribute__((visibility("hidden")));

/* Of what stands between the first <tag> and its end, which is what a browser hashes. */
static void page_hash(const char *html, const char *tag, char ret[DIGEST_SHA256_TEXT_BYTES])
{
    cleanup(mem_free_ptr) char *open = mem_printf("<%s>", tag), *close = mem_printf("</%s>", tag);
    const char *from = strstr(html, open);
    const char *to = from != NULL ? strstr(from, close) : NULL;
    if (to == NULL)
        abort(); /* the page was built without its style or script */
    from += strlen(open);
    digest_sha256(from, (size_t)(to - from), ret);
}

/* ---- answers: whole, with the same headers each time, and without the body for HEAD ---- */

static void answer_add_headers(struct evhttp_request *req, const char *type)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Cross-Origin-Resource-Policy", "same-origin");
    evhttp_add_header(headers, "Connection", "close");
}

static struct evbuffer *answer_content(void)
{
    struct evbuffer *content = evbuffer_new();
    if (content == NULL)
        abort(); /* out of memory */
    return content;
}

static bool answer_is_head(const struct evhttp_request *req)
{
    return evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;
}

/* Takes over content. */
static void answer_with(struct evhttp_request *req, int status, const char *type, struct evbuffer *content)
{
    size_t len = evbuffer_get_length(content);
    cleanup(mem_free_ptr) char *length = mem_printf("%zu", len);
    if (answer_is_head(req) && evbuffer_drain(content, len) != 0)
        abort();
    answer_add_headers(req, type);
    evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Length", length);
    evhttp_send_reply(req, status, NULL, content);
    evbuffer_free(content);
}

static void answer(struct evhttp_request *req, int status, const char *type, const char *body, size_t len)
{
    struct evbuffer *content = answer_content();
    if (evbuffer_add(content, body, len) != 0)
        abort(); /* out of memory */
    answer_with(req, status, type, content);
}

static void answer_text(struct evhttp_request *req, int status, const char *text)
{
    answer(req, status, TEXT, text, strlen(text));
}

/* ---- requests ---- */

static void health(struct server *s, struct evhttp_request *req)
{
    cleanup(buf_fini) struct buf body = {0};
    bool ok = s->callbacks.alive(s->arg, &body);
    if (body.len == 0)
        buf_add(&body, ok ? "ok\n" : "not alive\n");
    answer_text(req, ok ? 200 : 500, buf_str(&body));
}

static void server_ready(struct server *s, struct evhttp_request *req)
{
    cleanup(buf_fini) struct buf body = {0};
    bool ok = s->callbacks.ready(s->arg, &body);
    buf_add(&body, ok ? "ready\n" : "not ready\n");
    answer_text(req, ok ? 200 : 503, buf_str(&body));
}

static void metrics(struct server *s, struct evhttp_request *req)
{
    cleanup(buf_fini) struct buf page = {0};
    metrics_print(s->metrics, &page);
    answer(req, 200, EXPOSITION, buf_str(&page), page.len);
}

static void page(struct server *s, struct evhttp_request *req)
{
    struct evbuffer *content = answer_content();
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    if (evbuffer_add_reference(content, web_page_html, strlen(web_page_html), NULL, NULL) != 0)
        abort(); /* out of memory */
    evhttp_add_header(headers, "Content-Security-Policy", s->page_policy);
    evhttp_add_header(headers, "X-Frame-Options", "DENY"); /* for browsers that do not know frame-ancestors */
    evhttp_add_header(headers, "Referrer-Policy", "no-referrer");
    evhttp_add_header(headers, "Cross-Origin-Opener-Policy", "same-origin");
    answer_with(req, 200, HTML, content);
}

static void status(struct server *s, struct evhttp_request *req)
{
    struct evbuffer *content = answer_content();
    status_feed_add_document(s->feed, content);
    answer_with(req, 200, JSON, content);
}

static bool answer_is_near(struct evhttp_request *req)
{
    const struct sockaddr *from = evhttp_connection_get_addr(evhttp_request_get_connection(req));
    const struct in6_addr *six = &((const struct sockaddr_in6 *)from)->sin6_addr;
    if (from == NULL || (from->sa_family != AF_INET && from->sa_family != AF_INET6))
        return false;
    if (from->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)from)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static void plan(struct server *s, struct evhttp_request *req)
{
    cleanup(buf_fini) struct buf json = {0};
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(req));
    if (!answer_is_near(req)) {
        answer_text(req, 403, "only for clients on this machine\n");
        return;
    }
    s->callbacks.plan(s->arg, query != NULL ? query : "", &json);
    answer(req, 200, JSON, buf_str(&json), json.len);
}

/* NULL: it is gone. */
static struct connection *connection_of(const struct server *s, struct evhttp_request *req)
{
    const struct bufferevent *bev = evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
    struct connection *c = s->connections;
    while (c != NULL && c->bev != bev)
        c = c->next;
    return c;
}

static void stream(struct server *s, struct evhttp_request *req)
{
    struct connection *c = connection_of(s, req);
    if (answer_is_head(req)) {
        answer(req, 200, EVENT_STREAM, "", 0);
    } else if (c == NULL || s->count >= s->max_connections || status_feed_streams(s->feed) >= STATUS_FEED_STREAMS_MAX) {
        evhttp_add_header(evhttp_request_get_output_headers(req), "Retry-After", STREAM_RETRY_S);
        answer_text(req, 503, "too many clients follow the status; ask for /status instead\n");
    } else {
        answer_add_headers(req, EVENT_STREAM);
        evhttp_add_header(evhttp_request_get_output_headers(req), "X-Accel-Buffering", "no"); /* nginx in front */
        c->streams = true;
        status_feed_follow(s->feed, req);
    }
}

static const struct route {
    const char *path;
    enum server_part part;
    void (*serve)(struct server *s, struct evhttp_request *req);
} routes[] = {
    {"/healthz", SERVER_PROBES, health},
    {"/livez", SERVER_PROBES, health},
    {"/readyz", SERVER_PROBES, server_ready},
    {"/metrics", SERVER_METRICS, metrics},
    {"/", SERVER_PAGE, page},
    {"/status", SERVER_PAGE, status},
    {"/status/stream", SERVER_PAGE, stream},
    {"/plan", SERVER_PAGE, plan},
};

#define PATHS "/healthz and /livez (alive), /readyz (in sync), /metrics (Prometheus)"
#define PATHS_OF_STATUS_PAGE \
    ", / (status page), /status (JSON), /status/stream (the same, live), /plan (for the command)"

static void on_request(struct evhttp_request *req, void *arg)
{
    struct server *s = arg;
    struct connection *c = connection_of(s, req);
    if (c != NULL)
        c->asked = true;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    enum evhttp_cmd_type method = evhttp_request_get_command(req);
    for (size_t i = 0; i < array_len(routes); i++) {
        bool served = routes[i].part == SERVER_PAGE ? s->feed != NULL
                                                    : s->callbacks.parts == 0 || (s->callbacks.parts & routes[i].part);
        if (!str_eq(path, routes[i].path) || !served)
            continue;
        if (method == EVHTTP_REQ_GET || method == EVHTTP_REQ_HEAD) {
            routes[i].serve(s, req);
            return;
        }
        evhttp_add_header(evhttp_request_get_output_headers(req), "Allow", "GET, HEAD");
        answer_text(req, 405, "only GET and HEAD are answered here\n");
        return;
    }
    answer_text(req, 404,
                s->feed != NULL ? "not found; haproxy-k8s-sync answers " PATHS PATHS_OF_STATUS_PAGE "\n"
                                : "not found; haproxy-k8s-sync answers " PATHS "\n");
}

/* ---- life ---- */

static int start_http(struct server *s, int fd, struct error *err)
{
    s->http = evhttp_new(s->base);
    s->announced = event_new(s->base, fd, EV_READ | EV_PERSIST, on_announced, s);
    s->listener = evconnlistener_new(s->base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (s->http == NULL || s->announced == NULL || s->listener == NULL ||
        evhttp_bind_listener(s->http, s->listener) == NULL) {
        if (s->listener != NULL)
            evconnlistener_free(s->listener);
        else
            close(fd);
        s->listener = NULL;
        return error_set(err, ERROR_FATAL, "cannot listen on port %u: libevent gave no listener", s->port);
    }
    evconnlistener_set_error_cb(s->listener, on_accept_failed);
    evhttp_set_bevcb(s->http, on_accept, s);
    evhttp_set_gencb(s->http, on_request, s);
    evhttp_set_max_headers_size(s->http, MAX_HEADER_BYTES);
    evhttp_set_max_body_size(s->http, MAX_BODY_BYTES);
    evhttp_set_timeout(s->http, REQUEST_MS / 1000);
    evhttp_set_allowed_methods(s->http, 0xffff); /* all come to on_request, which answers 405 */
    start_accepting(s);
    return 0;
}

struct server *server_new(struct event_base *base, const char *host, uint16_t port, struct metrics *registry,
                          const struct log *log, const struct server_callbacks *callbacks, void *arg, struct error *err)
{
    int fd = listen_open(host, port, err);
    if (fd < 0)
        return NULL;
    struct server *s = mem_alloc(sizeof(*s));
    *s = (struct server){.base = base,
                         .metrics = registry,
                         .log = log,
                         .callbacks = *callbacks,
                         .arg = arg,
                         .port = listen_port(fd),
                         .max_connections = MAX_CONNECTIONS,
                         .request_ms = REQUEST_MS,
                         .full_limit.period_ms = FULL_LOG_PERIOD_MS,
                         .pause_limit.period_ms = FULL_LOG_PERIOD_MS};
    timer_init(&s->sweep, base, on_sweep, s);
    timer_init(&s->pause, base, on_pause_over, s);
    if (callbacks->status != NULL) {
        s->feed = status_feed_new(base, callbacks->status, arg);
        char style[DIGEST_SHA256_TEXT_BYTES], script[DIGEST_SHA256_TEXT_BYTES];
        page_hash(web_page_html, "style", style);
        page_hash(web_page_html, "script", script);
        s->page_policy =
            mem_printf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; connect-src 'self'; "
                       "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                       "require-trusted-types-for 'script'",
                       style, script);
    }
    if (start_http(s, fd, err) != 0) {
        server_free(s);
        return NULL;
    }
    return s;
}

void server_free(struct server *s)
{
    if (s == NULL)
        return;
    if (s->announced != NULL)
        event_free(s->announced);
    status_feed_free(s->feed);
    if (s->http != NULL)
        evhttp_free(s->http);
    for (struct connection *c = s->connections, *next; c != NULL; c = next) {
        next = c->next;
        server_release(c);
    }
    timer_fini(&s->sweep);
    timer_fini(&s->pause);
    mem_free_all(s->page_policy, s);
}

uint16_t server_port(const struct server *s)
{
    return s->port;
}

void server_set_limits(struct server *s, unsigned max_connections, uint64_t request_ms)
{
    s->max_connections = max_connections;
    s->request_ms = request_ms;
}

unsigned server_connections(const struct server *s)
{
    return s->count;
}

void server_status_changed(struct server *s)
{
    if (s != NULL)
        status_feed_changed(s->feed);
}

struct status_feed *server_status_feed(struct server *s)
{
    return s->feed;
}
