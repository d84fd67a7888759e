#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* poll(2) promises room for PIPE_BUF bytes. What is beyond that needs pages of the pipe of its own: of those in use,
 * two neighbours are more than one page full, except where a reader stopped in the first. */
static bool has_room(int fd, size_t len)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int size, queued = 0;
    if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
        return false;
    if (len <= PIPE_BUF || (size = fcntl(fd, F_GETPIPE_SZ)) < 0) /* no pipe */
        return true;
    return ioctl(fd, FIONREAD, &queued) == 0 &&
           len + 2 * (size_t)queued + 3 * (size_t)sysconf(_SC_PAGESIZE) <= (size_t)size;
}

/* O_NONBLOCK would be no way: it belongs to the open file, which a shell or another program may share. */
bool fd_put(int fd, const char *text, size_t len)
{
    ssize_t n;
    do {
        n = send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == ENOTSOCK)
            n = has_room(fd, len) ? write(fd, text, len) : 0;
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

bool fd_write_all(int fd, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, bytes + at, len - at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}
