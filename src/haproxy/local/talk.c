#include "haproxy/local/talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define READ_BYTES 65536

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

static int talk_run(struct talk *t, const struct sockaddr_un *address, const struct buf *line, struct buf *answer,
                    const char **ret_step)
{
    *ret_step = "connect to";
    if (talk_connect(t, address) != 0)
        return -1;
    *ret_step = "send a command to";
    if (talk_send(t, line->data, line->len) != 0)
        return -1;
    /* A master leaves the connection open after the answer unless it sees the end of what is asked. */
    *ret_step = "read the answer of";
    if (shutdown(t->fd, SHUT_WR) != 0 && errno != ENOTCONN)
        return -1;
    return talk_receive(t, answer);
}

int local_talk(const char *path, const char *before, const char *command, uint64_t timeout_ms, int watched,
               struct buf *answer, struct error *err)
{
    cleanup(talk_close) struct talk t = {.fd = -1, .watched = watched, .until_ms = clock_mono_ms() + timeout_ms};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *step;
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return error_set(err, ERROR_RETRY, "cannot connect to %s: %m", path);
    }
    for (size_t i = 0; path[i] != '\0'; i++)
        address.sun_path[i] = path[i];
    cleanup(buf_wipe) struct buf line = {.secret = true};
    buf_printf(&line, "%s%s\n", before, command);
    if (talk_run(&t, &address, &line, answer, &step) == 0)
        return 0;
    int saved = errno;
    (void)error_set(err, ERROR_RETRY, "cannot %s %s: %m", step, path);
    errno = saved;
    return -1;
}
