#include "net/proxy_probe.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/timer.h"

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

/* Told from the loop, never from inside proxy_probe_start. */
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

static void proxy_probe_begin(struct conversation *c, const struct sockaddr *to, int len)
{
    c->fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (c->fd < 0 || (connect(c->fd, to, (socklen_t)len) != 0 && errno != EINPROGRESS)) {
        proxy_probe_not_reached(c, errno);
        return;
    }
    proxy_talk_write(c->talk, c->headed, &c->out);
    wait_for(c, EV_WRITE);
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

static bool parse_place(const char *address, uint16_t port, struct sockaddr_storage *ret, int *ret_len)
{
    *ret_len = (int)sizeof(*ret);
    cleanup(mem_free_ptr) char *text = str_host_port(address, port);
    return evutil_parse_sockaddr_port(text, (struct sockaddr *)ret, ret_len) == 0;
}

struct proxy_probe *proxy_probe_start(struct event_base *base, const char *address, uint16_t port, uint64_t timeout_ms,
                                      void (*done)(void *arg, const struct proxy_replies *replies, int os_error),
                                      void *arg)
{
    struct sockaddr_storage to = {0};
    int len = 0;
    struct proxy_probe *p = mem_alloc(sizeof(*p));
    *p = (struct proxy_probe){.base = base, .left = CONVERSATIONS, .done = done, .arg = arg};
    timer_init(&p->deadline, base, proxy_probe_on_deadline, p);
    timer_init(&p->ended, base, proxy_probe_on_ended, p);
    bool known = parse_place(address, port, &to, &len);
    for (size_t i = 0; i < CONVERSATIONS; i++) {
        struct conversation *c = &p->all[i];
        *c = (struct conversation){
            .probe = p, .fd = -1, .talk = (enum proxy_talk)(i % PROXY_TALKS), .headed = i >= PROXY_TALKS};
        if (known)
            proxy_probe_begin(c, (struct sockaddr *)&to, len);
        else
            proxy_probe_not_reached(c, EINVAL);
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
