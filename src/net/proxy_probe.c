#include "net/proxy_probe.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/timer.h"

/* ---- what is said ---- */

/* Signature, version 2 and LOCAL, no address family, no further bytes. */
static const unsigned char header[16] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51,
                                         0x55, 0x49, 0x54, 0x0a, 0x20, 0x00, 0x00, 0x00};

/* A name that is never served (RFC 6761): what answers is the port's own "not found". */
static const char request[] = "GET / HTTP/1.1\r\n"
                              "Host: haproxy-k8s-sync.invalid\r\n"
                              "User-Agent: haproxy-k8s-sync-doctor\r\n"
                              "Accept: */*\r\n"
                              "Connection: close\r\n"
                              "\r\n";

/* The first message of a handshake that is not gone on with. */
static void add_client_hello(struct buf *out)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context != NULL ? SSL_new(context) : NULL;
    BIO *in = BIO_new(BIO_s_mem()), *said = BIO_new(BIO_s_mem());
    if (ssl == NULL || in == NULL || said == NULL)
        abort(); /* out of memory */
    SSL_set_bio(ssl, in, said);
    SSL_set_connect_state(ssl);
    (void)SSL_do_handshake(ssl); /* wants to read the answer, which never comes */
    char *bytes = NULL;
    long len = BIO_get_mem_data(said, &bytes);
    buf_addn(out, bytes, len > 0 ? (size_t)len : 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
}

void proxy_talk_write(enum proxy_talk talk, bool with_header, struct buf *out)
{
    if (with_header)
        buf_addn(out, (const char *)header, sizeof(header));
    if (talk == PROXY_TALK_TLS)
        add_client_hello(out);
    else
        buf_add(out, request);
}

/* ---- what is answered ---- */

#define HTTP_STATUS_LINE_BYTES 12 /* "HTTP/1.1 404" */
#define TLS_RECORD_HEAD_BYTES 5
#define TLS_ALERT_BYTES 7 /* the head, level and description */

static bool read_tls(const unsigned char *bytes, size_t len, bool spoken, enum proxy_reply *ret)
{
    bool alert = bytes[0] == 0x15;
    if (len < TLS_RECORD_HEAD_BYTES || (alert && len < TLS_ALERT_BYTES))
        return false;
    /* RFC 8446, 6.2: alerts of a peer that has understood us and wants something else: handshake_failure,
     * access_denied, internal_error, unrecognized_name, certificate_required, no_application_protocol. */
    static const unsigned char wanted[] = {40, 49, 80, 112, 116, 120};
    bool considered = !alert || memchr(wanted, bytes[6], sizeof(wanted)) != NULL;
    if (bytes[1] != 3)
        *ret = PROXY_REPLY_ODD;
    else
        *ret = spoken && considered ? PROXY_REPLY_SPOKE : PROXY_REPLY_REFUSED;
    return true;
}

bool proxy_talk_read(enum proxy_talk talk, const unsigned char *bytes, size_t len, enum proxy_reply *ret)
{
    if (len == 0)
        return false;
    if (bytes[0] == 0x16 || bytes[0] == 0x15)
        return read_tls(bytes, len, talk == PROXY_TALK_TLS, ret);
    if (memcmp(bytes, "HTTP/1.", len < 7 ? len : 7) == 0) {
        if (len < HTTP_STATUS_LINE_BYTES)
            return false;
        bool bad_request = memcmp(bytes + 9, "400", 3) == 0;
        *ret = talk == PROXY_TALK_HTTP && !bad_request ? PROXY_REPLY_SPOKE : PROXY_REPLY_REFUSED;
        return true;
    }
    /* A page without a head is what HTTP servers answer to what is no request. */
    *ret = bytes[0] == '<' ? PROXY_REPLY_REFUSED : PROXY_REPLY_ODD;
    return true;
}

/* ---- what it means ---- */

static enum proxy_reply best_of(const enum proxy_reply *of)
{
    return of[PROXY_TALK_HTTP] > of[PROXY_TALK_TLS] ? of[PROXY_TALK_HTTP] : of[PROXY_TALK_TLS];
}

enum proxy_verdict proxy_talk_judge(const struct proxy_replies *r)
{
    enum proxy_reply plain = best_of(r->plain), headed = best_of(r->headed);
    if (plain == PROXY_REPLY_UNREACHED && headed == PROXY_REPLY_UNREACHED)
        return PROXY_UNREACHED;
    /* One of the two did not even get there: nothing to compare. */
    if (plain == PROXY_REPLY_UNREACHED || headed == PROXY_REPLY_UNREACHED)
        return PROXY_UNKNOWN;
    if (headed == PROXY_REPLY_SPOKE)
        return plain == PROXY_REPLY_SPOKE ? PROXY_EITHER : PROXY_WANTED;
    /* Without a header, one that wants it must not say anything, not even "bad request". */
    return plain >= PROXY_REPLY_REFUSED ? PROXY_UNWANTED : PROXY_UNKNOWN;
}

enum proxy_talk proxy_talk_language(const struct proxy_replies *r)
{
    static const enum proxy_talk order[] = {PROXY_TALK_TLS, PROXY_TALK_HTTP};
    for (size_t i = 0; i < array_len(order); i++)
        if (r->plain[order[i]] == PROXY_REPLY_SPOKE || r->headed[order[i]] == PROXY_REPLY_SPOKE)
            return order[i];
    return PROXY_TALKS;
}

static char *words_of(const enum proxy_reply *of)
{
    static const char *const languages[] = {[PROXY_TALK_HTTP] = "HTTP", [PROXY_TALK_TLS] = "TLS"};
    static const char *const words[] = {
        [PROXY_REPLY_UNREACHED] = "is not reached",     [PROXY_REPLY_SILENT] = "says nothing",
        [PROXY_REPLY_CLOSED] = "closes the connection", [PROXY_REPLY_ODD] = "answers neither HTTP nor TLS",
        [PROXY_REPLY_REFUSED] = "answers an error",
    };
    enum proxy_reply best = best_of(of);
    if (best == PROXY_REPLY_SPOKE)
        return mem_printf("answers %s", languages[of[PROXY_TALK_TLS] == best ? PROXY_TALK_TLS : PROXY_TALK_HTTP]);
    return mem_strdup(words[best]);
}

char *proxy_talk_seen(const struct proxy_replies *r)
{
    cleanup(mem_free_ptr) char *plain = words_of(r->plain), *headed = words_of(r->headed);
    if (strcmp(plain, headed) == 0)
        return mem_printf("with a PROXY header and without it %s", plain);
    return mem_printf("without a PROXY header it %s, with one it %s", plain, headed);
}

/* ---- the probe: it moves the bytes ---- */

#define CONVERSATIONS (PROXY_TALKS * 2)

struct conversation {
    struct proxy_probe *probe;
    enum proxy_talk talk;
    bool headed;
    int fd; /* -1: over, or never begun */
    struct event *event;
    struct buf out; /* what is still to be said */
    unsigned char in[PROXY_TALK_MAX_BYTES];
    size_t in_len;
    bool connected;
};

struct proxy_probe {
    struct event_base *base;
    struct conversation all[CONVERSATIONS];
    size_t left;
    struct proxy_replies replies;
    int os_error;
    struct timer deadline, ended;
    void (*done)(void *arg, const struct proxy_replies *replies, int os_error);
    void *arg;
};

static void converse(evutil_socket_t fd, short what, void *arg);

static void hang_up(struct conversation *c)
{
    if (c->event != NULL)
        event_free(c->event);
    c->event = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    buf_fini(&c->out);
}

/* Called back from the loop, never from inside proxy_probe_start. */
static void proxy_probe_finish(struct conversation *c, enum proxy_reply reply)
{
    struct proxy_probe *p = c->probe;
    (c->headed ? p->replies.headed : p->replies.plain)[c->talk] = reply;
    hang_up(c);
    if (--p->left == 0)
        timer_set(&p->ended, 0);
}

static void proxy_probe_not_reached(struct conversation *c, int os_error)
{
    if (c->probe->os_error == 0)
        c->probe->os_error = os_error;
    proxy_probe_finish(c, PROXY_REPLY_UNREACHED);
}

/* Nothing more comes: what the bytes so far are. */
static enum proxy_reply reply_so_far(const struct conversation *c, enum proxy_reply without_bytes)
{
    return c->in_len > 0 ? PROXY_REPLY_ODD : without_bytes;
}

/* ---- one conversation ---- */

static void wait_for(struct conversation *c, short what)
{
    if (c->event != NULL)
        event_free(c->event);
    c->event = event_new(c->probe->base, c->fd, what, converse, c);
    if (c->event == NULL || event_add(c->event, NULL) != 0)
        abort(); /* out of memory */
}

static void on_writable(struct conversation *c)
{
    int os_error = 0;
    socklen_t len = sizeof(os_error);
    if (!c->connected && (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &os_error, &len) != 0 || os_error != 0)) {
        proxy_probe_not_reached(c, os_error);
        return;
    }
    c->connected = true;
    while (c->out.len > 0) {
        ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            wait_for(c, EV_WRITE);
            return;
        }
        if (n < 0)
            break; /* it hung up on us: its answer may be there all the same */
        buf_consume(&c->out, (size_t)n);
    }
    wait_for(c, EV_READ);
}

static void on_readable(struct conversation *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, 0);
    enum proxy_reply reply;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        wait_for(c, EV_READ);
        return;
    }
    if (n <= 0) {
        proxy_probe_finish(c, reply_so_far(c, PROXY_REPLY_CLOSED));
        return;
    }
    c->in_len += (size_t)n;
    if (proxy_talk_read(c->talk, c->in, c->in_len, &reply))
        proxy_probe_finish(c, reply);
    else
        wait_for(c, EV_READ);
}

static void converse(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    if ((what & EV_WRITE) != 0)
        on_writable(arg);
    else
        on_readable(arg);
}

/* ---- all of them ---- */

static void proxy_probe_on_deadline(void *arg)
{
    struct proxy_probe *p = arg;
    for (size_t i = 0; i < CONVERSATIONS; i++) {
        struct conversation *c = &p->all[i];
        if (c->fd >= 0)
            proxy_probe_finish(c, c->connected ? reply_so_far(c, PROXY_REPLY_SILENT) : PROXY_REPLY_UNREACHED);
    }
}

static void proxy_probe_on_ended(void *arg)
{
    struct proxy_probe *p = arg;
    void (*done)(void *, const struct proxy_replies *, int) = p->done;
    void *done_arg = p->arg;
    struct proxy_replies replies = p->replies;
    int os_error = p->os_error;
    proxy_probe_cancel(p);
    done(done_arg, &replies, os_error);
}

struct proxy_probe *proxy_probe_start(struct event_base *base, const char *address, uint16_t port, uint64_t timeout_ms,
                                      void (*done)(void *arg, const struct proxy_replies *replies, int os_error),
                                      void *arg)
{
    struct sockaddr_storage to = {0};
    int len = (int)sizeof(to);
    struct proxy_probe *p = mem_alloc(sizeof(*p));
    *p = (struct proxy_probe){.base = base, .left = CONVERSATIONS, .done = done, .arg = arg};
    timer_init(&p->deadline, base, proxy_probe_on_deadline, p);
    timer_init(&p->ended, base, proxy_probe_on_ended, p);
    cleanup(mem_free_ptr) char *place = str_host_port(address, port);
    bool known = evutil_parse_sockaddr_port(place, (struct sockaddr *)&to, &len) == 0;
    for (size_t i = 0; i < CONVERSATIONS; i++) {
        struct conversation *c = &p->all[i];
        *c = (struct conversation){
            .probe = p, .fd = -1, .talk = (enum proxy_talk)(i % PROXY_TALKS), .headed = i >= PROXY_TALKS};
        if (known)
            c->fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
        if (!known) {
            proxy_probe_not_reached(c, EINVAL);
        } else if (c->fd < 0 || (connect(c->fd, (struct sockaddr *)&to, (socklen_t)len) != 0 && errno != EINPROGRESS)) {
            proxy_probe_not_reached(c, errno);
        } else {
            proxy_talk_write(c->talk, c->headed, &c->out);
            wait_for(c, EV_WRITE);
        }
    }
    timer_set(&p->deadline, timeout_ms);
    return p;
}

void proxy_probe_cancel(struct proxy_probe *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < CONVERSATIONS; i++)
        hang_up(&p->all[i]);
    timer_fini(&p->deadline);
    timer_fini(&p->ended);
    free(p);
}
