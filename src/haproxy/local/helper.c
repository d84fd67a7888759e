#include "haproxy/local/helper.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/local/helper_process.h"
#include "haproxy/local/message.h"
#include "host/sandbox.h"
#include "host/timer.h"

#define READ_BYTES 65536
#define END_MS 2000
#define HELPER_SOCKET 3

struct local_request {
    struct local_request *next;
    struct buf frame; /* with what of it was not sent yet */
    size_t sent;
    bool too_long;
    const char *name;
    local_answered *answered; /* NULL: cancelled */
    void *arg;
};

struct local_helper {
    pid_t pid;
    int socket; /* -1: lost */
    struct event *readable, *writable;
    struct timer step; /* what is answered without the helper, and the beginning of the next */
    struct local_request *first, **last;
    struct buf in;
    bool told_end;
    char *why_lost;
    struct local_helper_events events;
};

/* ---- the beginning ---- */

/* A handler, not SIG_IGN: programs would inherit that. These stop the daemon; the helper ends with it. */
static void helper_on_signal(int number)
{
    (void)number;
}

static void helper_set_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ};
    const struct sigaction quiet = {.sa_handler = helper_on_signal, .sa_flags = SA_RESTART};
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    const struct sigaction otherwise = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (size_t i = 0; i < array_len(numbers); i++)
        sigaction(numbers[i], &quiet, NULL);
    sigaction(SIGPIPE, &ignored, NULL);
    sigaction(SIGCHLD, &otherwise, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Nothing of the daemon's but its standard error, for what a library says before it aborts. */
static int helper_set_files(int socket)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return -1;
    if (socket == HELPER_SOCKET ? fcntl(socket, F_SETFD, FD_CLOEXEC) != 0 : dup3(socket, HELPER_SOCKET, O_CLOEXEC) < 0)
        return -1;
    return close_range(HELPER_SOCKET + 1, ~0u, 0);
}

static void helper_main(const struct local_helper_options *options, int socket, pid_t daemon)
{
    struct error err = {0};
    helper_set_signals();
    if (helper_set_files(socket) != 0 || sandbox_harden(&err) != 0 ||
        (!options->without_seccomp && sandbox_enter_wide(&err) != 0))
        _exit(EXIT_FAILURE);
    local_helper_serve(options, HELPER_SOCKET, daemon);
    _exit(EXIT_SUCCESS);
}

struct local_helper *local_helper_start(const struct local_helper_options *options, struct error *err)
{
    int ends[2];
    pid_t daemon = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        (void)error_set(err, ERROR_FATAL, "cannot make a socket pair for the helper: %m");
        return NULL;
    }
    /* A signal to the whole group must not come before its handlers are there. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        helper_main(options, ends[1], daemon);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        (void)error_set(err, ERROR_FATAL, "cannot start the helper: %m");
        close(ends[0]);
        return NULL;
    }
    struct local_helper *h = mem_alloc(sizeof(*h));
    h->pid = pid;
    h->socket = ends[0];
    h->last = &h->first;
    buf_init_secret(&h->in, LOCAL_FRAME_HEAD_BYTES + LOCAL_FRAME_MAX_BYTES);
    return h;
}

pid_t local_helper_pid(const struct local_helper *h)
{
    return h->pid;
}

/* ---- requests ---- */

static void request_free(struct local_request *r)
{
    buf_wipe(&r->frame);
    free(r);
}

/* Takes the first one out and calls it back; from the call others may be added, which are behind it. */
static void helper_tell_first(struct local_helper *h, const struct local_answer *answer)
{
    struct local_request *r = h->first;
    h->first = r->next;
    if (h->first == NULL)
        h->last = &h->first;
    if (h->events.answered != NULL)
        h->events.answered(h->events.arg, r->name, answer);
    if (r->answered != NULL)
        r->answered(r->arg, answer);
    request_free(r);
}

static void helper_lose(struct local_helper *h, const char *why)
{
    if (h->socket < 0)
        return;
    event_free(h->readable);
    event_free(h->writable);
    h->readable = h->writable = NULL;
    close(h->socket);
    h->socket = -1;
    h->why_lost = mem_printf("the helper process is gone: %s", why);
    timer_set(&h->step, 0);
}

static void helper_go_on(struct local_helper *h)
{
    if (h->socket >= 0 && h->first != NULL && !h->first->too_long && event_add(h->writable, NULL) != 0)
        abort(); /* out of memory */
}

/* Of what is answered here, one at a time, from the loop. */
static void helper_on_step(void *arg)
{
    struct local_helper *h = arg;
    struct local_answer answer = {.status = LOCAL_LOST, .data = ""};
    bool lost = h->socket < 0;
    if (h->first != NULL && (lost || h->first->too_long)) {
        answer.status = lost ? LOCAL_LOST : LOCAL_FAILED;
        answer.error_number = lost ? 0 : EFBIG;
        answer.message = lost ? h->why_lost : "too long for the helper process";
        timer_set(&h->step, 0);
        helper_tell_first(h, &answer);
        return;
    }
    helper_go_on(h);
    if (!lost || h->told_end)
        return;
    h->told_end = true;
    if (h->events.ended != NULL)
        h->events.ended(h->events.arg, h->why_lost);
}

static void helper_on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct local_helper *h = arg;
    struct local_request *r = h->first;
    if (r == NULL || r->sent == r->frame.len)
        return;
    ssize_t n = send(fd, r->frame.data + r->sent, r->frame.len - r->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        helper_lose(h, "its socket is closed");
        return;
    }
    r->sent += n > 0 ? (size_t)n : 0;
    if (r->sent < r->frame.len) {
        helper_go_on(h);
    } else {
        buf_wipe(&r->frame);
        r->sent = 0;
    }
}

/* ---- answers ---- */

/* 1: there was one, 0: not whole yet, -1: it is none. */
static int helper_take_answer(struct local_helper *h)
{
    size_t len;
    struct local_answer answer;
    if (h->in.len < LOCAL_FRAME_HEAD_BYTES)
        return 0;
    if (h->first == NULL || local_message_length(h->in.data, &len) != 0)
        return -1;
    if (h->in.len < LOCAL_FRAME_HEAD_BYTES + len)
        return 0;
    /* One is asked at a time: more than its answer is none. */
    if (h->in.len > LOCAL_FRAME_HEAD_BYTES + len ||
        local_message_get_answer(h->in.data + LOCAL_FRAME_HEAD_BYTES, len, &answer) != 0)
        return -1;
    struct buf held = h->in;
    buf_init_secret(&h->in, LOCAL_FRAME_HEAD_BYTES + LOCAL_FRAME_MAX_BYTES);
    timer_set(&h->step, 0);
    helper_tell_first(h, &answer);
    buf_wipe(&held);
    return 1;
}

static void helper_on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct local_helper *h = arg;
    char part[READ_BYTES];
    ssize_t n = recv(fd, part, sizeof(part), 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        helper_lose(h, "it ended");
        return;
    }
    bool fits = n <= 0 || buf_append(&h->in, part, (size_t)n) == 0;
    explicit_bzero(part, sizeof(part));
    if (!fits || (n > 0 && helper_take_answer(h) < 0))
        helper_lose(h, "what it sent is no answer");
}

void local_helper_attach(struct local_helper *h, struct event_base *base, const struct local_helper_events *events)
{
    if (events != NULL)
        h->events = *events;
    timer_init(&h->step, base, helper_on_step, h);
    h->readable = event_new(base, h->socket, EV_READ | EV_PERSIST, helper_on_readable, h);
    h->writable = event_new(base, h->socket, EV_WRITE, helper_on_writable, h);
    if (h->readable == NULL || h->writable == NULL || event_add(h->readable, NULL) != 0)
        abort(); /* out of memory */
}

/* It sees that nothing comes any more, tidies up, and leaves: then our end is closed, too. That can be waited for behind
 * the filter, where neither wait nor kill is allowed. One that does not is stuck in a call that only the kernel ends. */
static bool helper_await_end(int socket)
{
    char part[READ_BYTES];
    uint64_t now, until = clock_mono_ms() + END_MS;
    bool over = shutdown(socket, SHUT_WR) != 0;
    while (!over && (now = clock_mono_ms()) < until) {
        struct pollfd p = {.fd = socket, .events = POLLIN};
        if (poll(&p, 1, (int)(until - now)) > 0) {
            ssize_t n = recv(socket, part, sizeof(part), 0);
            over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
        }
    }
    explicit_bzero(part, sizeof(part));
    return over;
}

void local_helper_free(struct local_helper *h)
{
    if (h == NULL)
        return;
    while (h->first != NULL) {
        struct local_request *r = h->first;
        h->first = r->next;
        request_free(r);
    }
    if (h->readable != NULL) {
        event_free(h->readable);
        event_free(h->writable);
    }
    timer_fini(&h->step);
    if (h->socket >= 0) {
        if (!helper_await_end(h->socket))
            (void)kill(h->pid, SIGKILL);
        close(h->socket);
    }
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    buf_wipe(&h->in);
    mem_free_all(h->why_lost, h);
}

/* ---- what is asked ---- */

const char *local_status_name(enum local_status s)
{
    static const char *const names[] = {
        [LOCAL_OK] = "ok",         [LOCAL_REJECTED] = "rejected", [LOCAL_CHANGED] = "changed",
        [LOCAL_LOCKED] = "locked", [LOCAL_FAILED] = "failed",     [LOCAL_LOST] = "lost",
    };
    return names[s];
}

static struct local_request *helper_ask(struct local_helper *h, const struct local_ask *a, local_answered *answered,
                                        void *arg)
{
    static const char *const names[] = {
        [LOCAL_KIND_READ_CONFIG] = "read",        [LOCAL_KIND_WRITE_CONFIG] = "write",
        [LOCAL_KIND_LOCK_CONFIG] = "lock",        [LOCAL_KIND_COMMAND] = "command",
        [LOCAL_KIND_RELOAD] = "reload",           [LOCAL_KIND_PUT_FILE] = "put file",
        [LOCAL_KIND_DELETE_FILE] = "delete file", [LOCAL_KIND_READ_FILE] = "read file",
        [LOCAL_KIND_NOTE_LOADED] = "note loaded", [LOCAL_KIND_RELEASE_CONFIG] = "release",
    };
    struct local_request *r = mem_alloc(sizeof(*r));
    bool validates = a->kind == LOCAL_KIND_WRITE_CONFIG && (a->flags & LOCAL_WRITE_ONLY_VALIDATE) != 0;
    r->name = validates ? "validate" : names[a->kind];
    r->answered = answered;
    r->arg = arg;
    r->frame.secret = true;
    r->too_long = local_message_put_ask(&r->frame, a) != 0;
    bool is_first = h->first == NULL;
    *h->last = r;
    h->last = &r->next;
    if (is_first)
        timer_set(&h->step, 0);
    return r;
}

struct local_request *local_read_config(struct local_helper *h, local_answered *answered, void *arg)
{
    const struct local_ask a = {.kind = LOCAL_KIND_READ_CONFIG, .name = "", .bytes = ""};
    return helper_ask(h, &a, answered, arg);
}

struct local_request *local_write_config(struct local_helper *h, const char *bytes, size_t len,
                                         const struct local_identity *expected, unsigned flags,
                                         local_answered *answered, void *arg)
{
    struct local_ask a = {
        .kind = LOCAL_KIND_WRITE_CONFIG, .flags = flags, .name = "", .bytes = bytes, .len = len, .expects = expected};
    if (expected != NULL)
        a.expected = *expected;
    return helper_ask(h, &a, answered, arg);
}

struct local_request *local_check_config(struct local_helper *h, local_answered *answered, void *arg)
{
    return local_write_config(h, "", 0, NULL, LOCAL_WRITE_ONLY_VALIDATE, answered, arg);
}

struct local_request *local_lock_config(struct local_helper *h, local_answered *answered, void *arg)
{
    const struct local_ask a = {.kind = LOCAL_KIND_LOCK_CONFIG, .name = "", .bytes = ""};
    return helper_ask(h, &a, answered, arg);
}

struct local_request *local_note_loaded(struct local_helper *h, const struct local_identity *identity,
                                        local_answered *answered, void *arg)
{
    const struct local_ask a = {
        .kind = LOCAL_KIND_NOTE_LOADED, .name = "", .bytes = "", .expects = true, .expected = *identity};
    return helper_ask(h, &a, answered, arg);
}

void local_release_config(struct local_helper *h)
{
    const struct local_ask a = {.kind = LOCAL_KIND_RELEASE_CONFIG, .name = "", .bytes = ""};
    local_request_cancel(helper_ask(h, &a, NULL, NULL));
}

struct local_request *local_command(struct local_helper *h, enum local_socket socket, const char *command,
                                    local_answered *answered, void *arg)
{
    const struct local_ask a = {
        .kind = LOCAL_KIND_COMMAND, .where = socket, .name = "", .bytes = command, .len = strlen(command)};
    return helper_ask(h, &a, answered, arg);
}

struct local_request *local_reload(struct local_helper *h, local_answered *answered, void *arg)
{
    const struct local_ask a = {.kind = LOCAL_KIND_RELOAD, .name = "", .bytes = ""};
    return helper_ask(h, &a, answered, arg);
}

static struct local_request *helper_ask_file(struct local_helper *h, enum local_kind kind, unsigned folder,
                                             const char *name, local_answered *answered, void *arg)
{
    const struct local_ask a = {.kind = kind, .where = folder, .name = name, .bytes = ""};
    return helper_ask(h, &a, answered, arg);
}

struct local_request *local_put_file(struct local_helper *h, unsigned folder, const char *name, const char *bytes,
                                     size_t len, local_answered *answered, void *arg)
{
    const struct local_ask a = {.kind = LOCAL_KIND_PUT_FILE, .where = folder, .name = name, .bytes = bytes, .len = len};
    return helper_ask(h, &a, answered, arg);
}

struct local_request *local_delete_file(struct local_helper *h, unsigned folder, const char *name,
                                        local_answered *answered, void *arg)
{
    return helper_ask_file(h, LOCAL_KIND_DELETE_FILE, folder, name, answered, arg);
}

struct local_request *local_read_folder_file(struct local_helper *h, unsigned folder, const char *name,
                                             local_answered *answered, void *arg)
{
    return helper_ask_file(h, LOCAL_KIND_READ_FILE, folder, name, answered, arg);
}

void local_request_cancel(struct local_request *r)
{
    if (r != NULL)
        r->answered = NULL;
}
