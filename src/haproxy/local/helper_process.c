#include "haproxy/local/helper_process.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/local/files.h"
#include "haproxy/local/helper_internal.h"
#include "haproxy/local/message.h"
#include "host/child.h"

#define COMMAND_TIMEOUT_MS 10000
#define RELOAD_TIMEOUT_MS 60000
#define NEW_FOLDER_MODE 0750
#define READ_BYTES 65536

static uint64_t helper_command_timeout(const struct local_helper_options *o)
{
    return o->command_timeout_ms > 0 ? o->command_timeout_ms : COMMAND_TIMEOUT_MS;
}

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

/* What it printed is in w->data. -1: not started, or nobody waits for it any more. */
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

/* One command on a socket of HAProxy's, from beginning to end, waiting: what came until HAProxy closed the connection goes
 * into answer, which has a cap. watched: a socket whose other end's close ends the wait. ERROR_RETRY; errno is set. */
static int local_talk(const char *path, const char *before, const char *command, uint64_t timeout_ms, int watched,
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

/* ---- sockets ---- */

int helper_talk(struct helper_work *w, enum local_socket socket, const char *command, uint64_t timeout_ms)
{
    const struct local_helper_options *o = w->helper->options;
    bool through_master = socket == LOCAL_SOCKET_STATS && o->stats_socket == NULL;
    const char *path = socket == LOCAL_SOCKET_STATS && !through_master ? o->stats_socket : o->master_socket;
    struct error err = {0};
    errno = 0;
    if (path == NULL)
        helper_fail(w, "no %s socket is configured",
                    socket == LOCAL_SOCKET_MASTER ? "master" : "stats socket and no master");
    if (path == NULL)
        return -1;
    if (local_talk(path, through_master ? "@1 " : "", command, timeout_ms, w->helper->socket, &w->data, &err) == 0)
        return 0;
    buf_clear(&w->data);
    helper_fail(w, "%s", err.message);
    return -1;
}

/* ---- reload ---- */

static void helper_reload_by_command(struct helper_work *w)
{
    const struct local_helper_options *o = w->helper->options;
    const struct child_options run = {.command = o->reload_command[0],
                                      .args = (char *const *)(uintptr_t)(o->reload_command + 1),
                                      .env = w->helper->environment,
                                      .max_out_bytes = LOCAL_ANSWER_MAX_BYTES,
                                      .timeout_ms = RELOAD_TIMEOUT_MS,
                                      .together = true};
    errno = 0;
    if (helper_run(w, &run) != 0)
        return;
    errno = 0;
    if (w->outcome != CHILD_EXITED || w->exit_status != 0)
        helper_fail(w, "%s: %s%s%.1000s", run.command, w->outcome_text, w->data.len > 0 ? ": " : "", buf_str(&w->data));
    if (w->outcome == CHILD_EXITED && w->exit_status != 0)
        w->answer.status = LOCAL_REJECTED;
}

static void helper_reload(struct helper_work *w)
{
    if (w->helper->options->reload_command != NULL)
        helper_reload_by_command(w);
    else if (helper_talk(w, LOCAL_SOCKET_MASTER, "reload", RELOAD_TIMEOUT_MS) != 0)
        return; /* w says why */
}

/* ---- files of folders ---- */

/* It is to be there after a machine went down. */
static int helper_make_folder(const char *folder)
{
    cleanup(local_place_fini) struct local_place above = {.folder = -1};
    cleanup(mem_free_ptr) char *path = mem_printf("%s/..", folder);
    if (mkdir(folder, NEW_FOLDER_MODE) != 0 || local_place_in_folder(&above, path, "") != 0)
        return -1;
    return fsync(above.folder);
}

static int helper_folder(struct helper_work *w, const struct local_ask *a, struct local_place *p)
{
    const char *const *folders = w->helper->options->folders;
    unsigned count = 0;
    while (folders != NULL && folders[count] != NULL)
        count++;
    *p = (struct local_place){.folder = -1};
    errno = EINVAL;
    if (a->where >= count || !local_message_name_fits(a->name)) {
        helper_fail(w, "no such file can be in a folder");
        return -1;
    }
    const char *folder = folders[a->where];
    int rc = local_place_in_folder(p, folder, a->name);
    bool makes = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_PUT_FILE;
    if (makes && helper_make_folder(folder) == 0)
        rc = local_place_in_folder(p, folder, a->name);
    bool nothing = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_DELETE_FILE; /* to delete */
    if (rc != 0 && !nothing)
        helper_fail(w, "cannot %s the folder %s: %m%s", makes ? "make" : "open", folder,
                    makes ? "; make it, with the right for the daemon to write there" : "");
    return rc;
}

static void helper_fail_file(struct helper_work *w, const char *doing, const struct local_place *p)
{
    if (errno == ELOOP)
        helper_fail(w, "%s/%s is a symbolic link, which is not followed: a file is to be in its place", p->folder_path,
                    p->name);
    else
        helper_fail(w, "cannot %s %s/%s: %m", doing, p->folder_path, p->name);
}

static void helper_put_in_place(struct helper_work *w, const struct local_place *p, const char *temporary)
{
    enum local_swap swap = local_file_swap(p, temporary, NULL);
    if (swap == LOCAL_SWAPPED_UNSYNCED)
        helper_warn_unsynced(w, p);
    if (swap == LOCAL_SWAP_FAILED)
        helper_fail_file(w, "rename to", p);
    else if (local_file_read(p, NULL, &w->answer.identity) != 0)
        helper_fail_file(w, "read again", p);
}

static void helper_put_file(struct helper_work *w, const struct local_place *p, const struct local_ask *a)
{
    cleanup(mem_free_ptr) char *temporary = mem_printf(".%s.new", p->name);
    const char *step;
    if (local_file_write_beside(p, temporary, a->bytes, a->len, &step) != 0)
        helper_fail_file(w, step, p);
    else
        helper_put_in_place(w, p, temporary);
}

static void helper_delete_file(struct helper_work *w, const struct local_place *p)
{
    struct stat st;
    if (fstatat(p->folder, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return;
    if (unlinkat(p->folder, p->name, 0) != 0 || fsync(p->folder) != 0)
        helper_fail_file(w, "delete", p);
}

static void helper_read(struct helper_work *w, const struct local_place *p)
{
    if (local_file_read(p, &w->data, &w->answer.identity) == 0)
        return;
    int saved = errno;
    buf_clear(&w->data);
    errno = saved;
    helper_fail_file(w, "read", p);
}

static void helper_folder_file(struct helper_work *w, const struct local_ask *a)
{
    cleanup(local_place_fini) struct local_place p;
    if (helper_folder(w, a, &p) != 0)
        return;
    if (a->kind == LOCAL_KIND_PUT_FILE)
        helper_put_file(w, &p, a);
    else if (a->kind == LOCAL_KIND_DELETE_FILE)
        helper_delete_file(w, &p);
    else
        helper_read(w, &p);
}

/* ---- one request after the other ---- */

static void helper_do(struct helper_work *w, const struct local_ask *a)
{
    switch (a->kind) {
    case LOCAL_KIND_READ_CONFIG:
        helper_config_read(w);
        return;
    case LOCAL_KIND_WRITE_CONFIG:
        helper_config_write(w, a);
        return;
    case LOCAL_KIND_LOCK_CONFIG:
        if (helper_config_lock(w) == 0)
            w->answer.pid = w->helper->daemon;
        return;
    case LOCAL_KIND_RELEASE_CONFIG:
        helper_config_release(w);
        return;
    case LOCAL_KIND_NOTE_LOADED:
        helper_config_note_loaded(w, a);
        return;
    case LOCAL_KIND_COMMAND:
        errno = 0;
        if (a->where > LOCAL_SOCKET_STATS || strlen(a->bytes) != a->len || a->len > LOCAL_COMMAND_MAX_BYTES)
            helper_fail(w, "no such command");
        else if (helper_talk(w, (enum local_socket)a->where, a->bytes, helper_command_timeout(w->helper->options)) ==
                     0 &&
                 w->data.len == 0) { /* what has nothing to say is an empty line */
            errno = ECONNRESET;
            helper_fail(w, "HAProxy closed the connection without an answer");
        }
        return;
    case LOCAL_KIND_RELOAD:
        helper_reload(w);
        return;
    case LOCAL_KIND_PUT_FILE:
    case LOCAL_KIND_DELETE_FILE:
    case LOCAL_KIND_READ_FILE:
        helper_folder_file(w, a);
        return;
    }
}

static int helper_receive(int fd, char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, bytes, len, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int helper_send(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -1;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int helper_answer(struct helper *p, const struct local_ask *a)
{
    cleanup(buf_wipe) struct buf out = {.secret = true};
    struct helper_work w = {.helper = p, .answer = {.status = LOCAL_OK}};
    buf_init_secret(&w.data, a->kind == LOCAL_KIND_READ_CONFIG || a->kind == LOCAL_KIND_READ_FILE
                                 ? LOCAL_FILE_MAX_BYTES
                                 : LOCAL_ANSWER_MAX_BYTES);
    helper_do(&w, a);
    w.answer.message = w.message != NULL ? w.message : "";
    w.answer.data = buf_str(&w.data);
    w.answer.len = w.data.len;
    int rc = local_message_put_answer(&out, &w.answer);
    rc = rc != 0 ? rc : helper_send(p->socket, out.data, out.len);
    buf_wipe(&w.data);
    free(w.message);
    free(w.outcome_text);
    return rc;
}

static int helper_serve_one(struct helper *p)
{
    char head[LOCAL_FRAME_HEAD_BYTES];
    size_t len;
    struct local_ask a;
    if (helper_receive(p->socket, head, sizeof(head)) != 0 || local_message_length(head, &len) != 0)
        return -1;
    char *bytes = mem_alloc(len + 1);
    int rc = helper_receive(p->socket, bytes, len);
    rc = rc != 0 ? rc : local_message_get_ask(bytes, len, &a);
    rc = rc != 0 ? rc : helper_answer(p, &a);
    explicit_bzero(bytes, len);
    free(bytes);
    return rc;
}

void local_helper_serve(const struct local_helper_options *options, int socket, pid_t daemon)
{
    const char *path = getenv("PATH");
    cleanup(mem_free_ptr) char *name = mem_printf("PATH=%s", path != NULL ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
    char *const environment[] = {name, NULL};
    struct helper p = {.options = options,
                       .environment = environment,
                       .socket = socket,
                       .daemon = daemon,
                       .lock = -1,
                       .base = event_base_new()};
    if (p.base == NULL)
        abort(); /* out of memory */
    while (!p.peer_gone && helper_serve_one(&p) == 0)
        continue;
    if (p.lock >= 0)
        close(p.lock);
    event_base_free(p.base);
}
