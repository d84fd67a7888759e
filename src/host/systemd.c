#include "host/systemd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define NEXT_MIN_MS 50
#define WATCHDOG_MAX_US (UINT64_C(3600000000) * 24 * 365)

struct notify {
    int fd;
    struct sockaddr_un to; /* for each datagram anew: another process may listen there by then */
    socklen_t to_len;
    char *name; /* as in NOTIFY_SOCKET */
    const struct log *log;
    bool in_vain; /* the last datagram did not get there, and that was logged */

    uint64_t next_ms;     /* until the next notify_send */
    uint64_t watchdog_ms; /* half of its interval: when the next sign of life is due; 0: no watchdog */
    uint64_t alive_ms;    /* when the last one was sent */
    enum notify_phase phase;
    char *status; /* what was sent last; NULL: nothing */
};

/* ---- the socket ---- */

struct notify *notify_new(const struct log *log)
{
    static const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
    const char *name = getenv(names[0]);
    struct notify *n = NULL;
    if (name != NULL && name[0] != '\0') {
        n = mem_alloc(sizeof(*n));
        *n = (struct notify){.fd = -1, .name = mem_strdup(name), .log = log};
        size_t len = strlen(name);
        if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(n->to.sun_path)) {
            log_warn(log, "cannot notify systemd: NOTIFY_SOCKET is not a socket path", log_str("socket", name));
        } else {
            n->to.sun_family = AF_UNIX;
            memcpy(n->to.sun_path, name, len + 1);
            if (name[0] == '@')
                n->to.sun_path[0] = '\0';
            /* A name of the abstract namespace ends with its length, a path with its NUL. */
            n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/' ? 1 : 0));
            n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            cleanup(mem_free_ptr) char *why = n->fd < 0 ? mem_printf("%m") : NULL;
            if (n->fd < 0)
                log_warn(log, "cannot notify systemd: no socket", log_str("error", why));
        }
        const char *interval = getenv(names[1]), *whose = getenv(names[2]);
        uint64_t us = 0, pid = 0;
        /* WATCHDOG_PID is that of another process where that one started us. */
        if (interval != NULL && str_parse_uint(interval, WATCHDOG_MAX_US, &us) == 0 &&
            (whose == NULL || (str_parse_uint(whose, INT32_MAX, &pid) == 0 && pid == (uint64_t)getpid())))
            n->watchdog_ms = us / 1000 / 2;
        if (n->fd < 0) {
            notify_free(n);
            n = NULL;
        }
    }
    for (size_t i = 0; i < array_len(names); i++)
        unsetenv(names[i]);
    return n;
}

void notify_free(struct notify *n)
{
    if (n == NULL)
        return;
    if (n->fd >= 0)
        close(n->fd);
    mem_free_all(n->name, n->status, n);
}

/* ---- sending ---- */

static int send_text(struct notify *n, const struct buf *text)
{
    ssize_t sent =
        sendto(n->fd, text->data, text->len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&n->to, n->to_len);
    if (sent < 0) {
        cleanup(mem_free_ptr) char *why = mem_printf("%m");
        if (!n->in_vain)
            log_warn(n->log, "cannot notify systemd; retrying", log_str("socket", n->name), log_str("error", why));
        n->in_vain = true;
        return -1;
    }
    if (n->in_vain)
        log_info(n->log, "notifying systemd works again", log_str("socket", n->name));
    n->in_vain = false;
    return 0;
}

uint64_t notify_next_ms(struct notify *n, uint64_t wanted_ms)
{
    if (n == NULL)
        return wanted_ms;
    n->next_ms = wanted_ms;
    if (n->watchdog_ms != 0 && n->watchdog_ms < wanted_ms)
        n->next_ms = n->watchdog_ms > NEXT_MIN_MS ? n->watchdog_ms : NEXT_MIN_MS;
    return n->next_ms;
}

void notify_send(struct notify *n, enum notify_phase phase, const char *status, uint64_t now_ms)
{
    cleanup(buf_fini) struct buf text = {0};
    if (n == NULL)
        return;
    bool alive = n->watchdog_ms != 0 && now_ms + n->next_ms > n->alive_ms + n->watchdog_ms;
    if (phase != n->phase)
        buf_add(&text, phase == NOTIFY_READY ? "READY=1\n" : phase == NOTIFY_STOPPING ? "STOPPING=1\n" : "");
    if (!str_eq(status, n->status))
        buf_printf(&text, "STATUS=%s\n", status);
    if (alive)
        buf_add(&text, "WATCHDOG=1\n");
    if (text.len == 0 || send_text(n, &text) != 0)
        return;
    n->phase = phase;
    free(n->status);
    n->status = mem_strdup(status);
    if (alive)
        n->alive_ms = now_ms;
}

void notify_reloading(struct notify *n, uint64_t now_us)
{
    cleanup(buf_fini) struct buf text = {0};
    if (n == NULL || n->phase != NOTIFY_READY)
        return;
    /* The time is for systemd 253 and later, Type=notify-reload. */
    buf_printf(&text, "RELOADING=1\nMONOTONIC_USEC=%llu\n", (unsigned long long)now_us);
    if (send_text(n, &text) == 0)
        n->phase = NOTIFY_STARTING;
}
