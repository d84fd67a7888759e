/* What a request does: what it says, the programs that it runs, and the sockets of HAProxy's that it asks. */
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/local/helper_internal.h"

#define READ_BYTES 65536

/* ---- what is said ---- */

void helper_fail(struct helper_work *w, const char *fmt, ...)
{
    int saved = errno;
    va_list ap;
    va_start(ap, fmt);
    free(w->message);
    w->message = mem_vprintf(fmt, ap);
    va_end(ap);
    w->answer.status = LOCAL_FAILED;
    w->answer.error_number = saved;
}

void helper_warn_unsynced(struct helper_work *w, const struct local_place *p)
{
    char *before = w->message;
    w->message = mem_printf("%s/%s is written, and may be lost if the machine goes down now: its folder cannot be "
                            "synced to the disk: %m\n%s",
                            p->folder_path, p->name, before != NULL ? before : "");
    free(before);
}

/* ---- programs ---- */

static void helper_on_ended(void *arg, const struct child_result *r)
{
    struct helper_work *w = arg;
    w->child = NULL;
    w->ended = true;
    w->outcome = r->outcome;
    w->exit_status = r->status;
    w->outcome_text = child_result_text(r, w->running);
    if (buf_append(&w->data, r->out->data != NULL ? r->out->data : "", r->out->len) != 0)
        buf_clear(&w->data);
}

static void helper_on_peer_gone(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct helper_work *w = arg;
    w->helper->peer_gone = true;
}

int helper_run(struct helper_work *w, const struct child_options *o)
{
    struct error err = {0};
    struct event *gone = event_new(w->helper->base, w->helper->socket, EV_CLOSED, helper_on_peer_gone, w);
    if (gone == NULL || event_add(gone, NULL) != 0)
        abort(); /* out of memory */
    w->ended = false;
    w->running = o;
    free(w->outcome_text);
    w->outcome_text = NULL;
    w->child = child_start(w->helper->base, o, helper_on_ended, w, &err);
    int saved = errno;
    bool started = w->child != NULL;
    while (started && !w->ended && !w->helper->peer_gone)
        event_base_loop(w->helper->base, EVLOOP_ONCE);
    if (started && !w->ended)
        child_cancel(w->child);
    event_free(gone);
    errno = saved;
    if (!started)
        helper_fail(w, "%s", err.message);
    else if (!w->ended)
        helper_fail(w, "%s: ended, because the daemon is gone", o->command);
    return started && w->ended ? 0 : -1;
}

/* ---- a socket of HAProxy's ---- */

struct talk {
    int fd, watched;
    uint64_t until_ms;
};

static void talk_close(const struct talk *t)
{
    int saved = errno;
    if (t->fd >= 0)
        close(t->fd);
    errno = saved;
}

/* Until fd is ready for `events`. -1: the time is over, or who asked is gone. */
static int talk_wait(const struct talk *t, short events)
{
    for (;;) {
        uint64_t now = clock_mono_ms();
        struct pollfd fds[2] = {{.fd = t->fd, .events = events}, {.fd = t->watched, .events = POLLRDHUP}};
        errno = ETIMEDOUT;
        if (now >= t->until_ms)
            return -1;
        int n = poll(fds, array_len(fds), (int)(t->until_ms - now));
        if (n < 0 && errno != EINTR)
            return -1;
        errno = ECANCELED;
        if (n > 0 && fds[1].revents != 0)
            return -1;
        if (n > 0 && fds[0].revents != 0)
            return 0;
    }
}

/* With its queue full a unix socket does not take part in poll: it is tried again. */
static int talk_connect(struct talk *t, const struct sockaddr_un *address)
{
    t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0)
        return -1;
    while (connect(t->fd, (const struct sockaddr *)address, sizeof(*address)) != 0) {
        if (errno != EAGAIN && errno != EINTR)
            return -1;
        struct pollfd gone = {.fd = t->watched, .events = POLLRDHUP};
        bool over = clock_mono_ms() >= t->until_ms;
        if (over || poll(&gone, 1, 10) > 0) {
            errno = over ? ETIMEDOUT : ECANCELED;
            return -1;
        }
    }
    return 0;
}

static int talk_send(const struct talk *t, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(t->fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR && (errno != EAGAIN || talk_wait(t, POLLOUT) != 0))
            return -1;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* A master that executes itself anew may reset the connection: what came before is its answer. */
static int talk_receive(const struct talk *t, struct buf *answer)
{
    char part[READ_BYTES];
    for (;;) {
        ssize_t n = recv(t->fd, part, sizeof(part), 0);
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return 0;
        if (n < 0 && errno != EINTR && (errno != EAGAIN || talk_wait(t, POLLIN) != 0))
            return -1;
        if (n > 0 && buf_append(answer, part, (size_t)n) != 0) {
            errno = EFBIG;
            return -1;
        }
    }
}

int helper_talk(const struct helper *h, enum local_socket socket, const char *command, uint64_t timeout_ms,
                struct buf *answer, struct error *err)
{
    const struct local_helper_options *o = h->options;
    bool stats = socket == LOCAL_SOCKET_STATS, through_master = stats && o->stats_socket == NULL;
    const char *path = stats && !through_master ? o->stats_socket : o->master_socket, *doing = "connect to";
    cleanup(talk_close) struct talk t = {.fd = -1, .watched = h->socket, .until_ms = clock_mono_ms() + timeout_ms};
    cleanup(buf_wipe) struct buf line = {.secret = true};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    errno = 0;
    if (path == NULL)
        return error_set(err, ERROR_RETRY, "no %s socket is configured",
                         stats ? "stats socket and no master" : "master");
    errno = ENAMETOOLONG;
    int rc = strlen(path) < sizeof(address.sun_path) ? 0 : -1;
    if (rc == 0) {
        memcpy(address.sun_path, path, strlen(path));
        rc = talk_connect(&t, &address);
    }
    if (rc == 0) {
        doing = "send a command to";
        buf_printf(&line, "%s%s\n", through_master ? "@1 " : "", command);
        rc = talk_send(&t, line.data, line.len);
    }
    if (rc == 0) {
        doing = "read the answer of";
        /* A master leaves the connection open after the answer unless it sees the end of what is asked. */
        rc = shutdown(t.fd, SHUT_WR) == 0 || errno == ENOTCONN ? talk_receive(&t, answer) : -1;
    }
    if (rc == 0)
        return 0;
    int saved = errno;
    (void)error_set(err, ERROR_RETRY, "cannot %s %s: %m", doing, path);
    buf_clear(answer);
    errno = saved;
    return -1;
}
