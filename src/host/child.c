#include "host/child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "host/timer.h"

#define SAID_BYTES 1024u
#define READ_BYTES 4096u
#define ASK_EVERY_MS 50
#define CANCEL_MS 1000
#define COPY_FAILED 70 /* EX_SOFTWARE of sysexits.h */

/* One of its two outputs: our end of the pipe. */
struct output {
    struct child *child;
    int fd; /* -1: closed */
    struct event *event;
    struct buf text;
};

struct child {
    pid_t pid;
    int pidfd; /* -1: there is none */
    struct event *ended;
    struct timer deadline, ask; /* ask: where there is no pidfd */
    struct output out, err;
    enum child_outcome outcome; /* CHILD_EXITED until we kill it */
    void (*on_done)(void *arg, const struct child_result *result);
    void *arg;
};

/* It may have left its group. Its number is not used again before it is reaped. */
static void kill_all(const struct child *c)
{
    (void)kill(-c->pid, SIGKILL);
    (void)kill(c->pid, SIGKILL);
}

/* ---- its outputs ---- */

static void output_close(struct output *o)
{
    if (o->event != NULL)
        event_free(o->event);
    o->event = NULL;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

static void kill_for(struct child *c, enum child_outcome why)
{
    if (c->outcome == CHILD_EXITED)
        c->outcome = why;
    kill_all(c);
}

/* Until it is empty for now or at its end, where no listener may be left. */
static void output_read(struct output *o)
{
    struct child *c = o->child;
    char bytes[READ_BYTES];
    ssize_t n = 0;
    while (o->fd >= 0 && c->outcome != CHILD_OVER_CAP && ((n = read(o->fd, bytes, sizeof(bytes))) > 0)) {
        bool fits = buf_append(&o->text, bytes, (size_t)n) == 0;
        if (o == &c->out && !fits)
            kill_for(c, CHILD_OVER_CAP);
        if (o == &c->err && o->text.len > SAID_BYTES)
            buf_consume(&o->text, o->text.len - SAID_BYTES);
    }
    explicit_bzero(bytes, sizeof(bytes));
    if (c->outcome == CHILD_OVER_CAP || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        output_close(o);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    output_read(arg);
}

/* One line, without the rest of a character that was cut off before it. */
static char *said(const struct buf *text)
{
    const char *s = buf_str(text);
    while (((unsigned char)*s & 0xc0) == 0x80)
        s++;
    return text_shown(s, TEXT_LINE, TEXT_WHOLE);
}

/* ---- its end ---- */

static void child_free(struct child *c)
{
    output_close(&c->out);
    output_close(&c->err);
    buf_wipe(&c->out.text);
    buf_wipe(&c->err.text);
    if (c->ended != NULL)
        event_free(c->ended);
    if (c->pidfd >= 0)
        close(c->pidfd);
    timer_fini(&c->deadline);
    timer_fini(&c->ask);
    free(c);
}

/* Whether it is over; it stays in the kernel's list, so that its group's number is not used again. */
static bool is_over(const struct child *c)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == c->pid;
}

/* What it left in its group is our child only where we are process 1 of a container. */
static int child_reap(const struct child *c)
{
    int status = 0;
    kill_all(c);
    waitpid(c->pid, &status, WNOHANG);
    while (waitpid(-c->pid, NULL, WNOHANG) > 0)
        continue;
    return status;
}

static void child_check(void *arg)
{
    struct child *c = arg;
    if (!is_over(c)) {
        timer_set(&c->ask, ASK_EVERY_MS);
        return;
    }
    output_read(&c->out);
    output_read(&c->err);
    int status = child_reap(c);
    cleanup(mem_free_ptr) char *words = said(&c->err.text);
    struct child_result result = {.outcome = c->outcome, .out = &c->out.text, .said = words};
    if (c->outcome == CHILD_EXITED && WIFSIGNALED(status))
        result.outcome = CHILD_SIGNALED;
    result.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    c->on_done(c->arg, &result);
    child_free(c);
}

static void child_on_ended(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    child_check(arg);
}

static void child_on_deadline(void *arg)
{
    kill_for(arg, CHILD_OVERDUE);
}

void child_cancel(struct child *c)
{
    if (c == NULL)
        return;
    kill_all(c);
    uint64_t until = clock_mono_ms() + CANCEL_MS;
    for (uint64_t now; !is_over(c) && (now = clock_mono_ms()) < until;) {
        struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
        /* Without a pidfd this is a pause. */
        (void)poll(&p, 1, c->pidfd >= 0 ? (int)(until - now) : 5);
    }
    child_reap(c);
    child_free(c);
}

char *child_result_text(const struct child_result *r, const struct child_options *options)
{
    switch (r->outcome) {
    case CHILD_SIGNALED:
        return mem_printf("killed by signal %d (%s)", r->status, strsignal(r->status));
    case CHILD_OVERDUE:
        return mem_printf("still running after %.3g s", (double)options->timeout_ms / 1000);
    case CHILD_OVER_CAP:
        return mem_printf("printed more than %zu bytes", options->max_out_bytes);
    case CHILD_EXITED:
        break;
    }
    return mem_printf("exit status %d", r->status);
}

void child_reap_inherited(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

/* ---- its beginning ---- */

/* Our end does not block; the child's does, as programs expect. */
static int make_pipe(int ret[2])
{
    if (pipe2(ret, O_CLOEXEC) != 0)
        return -1;
    if (fcntl(ret[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    int saved = errno;
    close(ret[0]);
    close(ret[1]);
    errno = saved;
    return -1;
}

/* 0, or what is wrong as errno has it. */
static int spawn(const struct child_options *options, int out, int err, pid_t *ret)
{
    size_t count = 0;
    while (options->args[count] != NULL)
        count++;
    cleanup(mem_free_ptr) char **argv = mem_array(count + 2, sizeof(argv[0]));
    cleanup(mem_free_ptr) char *command = mem_strdup(options->command);
    argv[0] = command;
    memcpy(argv + 1, options->args, count * sizeof(argv[0]));
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    /* The descriptors that libraries and we ourselves open are closed by exec already; closefrom is for those that a
     * caller forgets. The order matters where our own first three were closed and the pipes are among them: the ends that
     * are used here are never 0. */
    int rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    rc = rc != 0 ? rc : posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    rc = rc != 0 ? rc : posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
    rc = rc != 0 ? rc : posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    rc = rc != 0 ? rc : posix_spawnattr_setsigmask(&attributes, &none);
    rc = rc != 0 ? rc : posix_spawnattr_setsigdefault(&attributes, &defaults);
    rc = rc != 0 ? rc : posix_spawnattr_setpgroup(&attributes, 0);
    short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    rc = rc != 0 ? rc : posix_spawnattr_setflags(&attributes, flags);
    /* It returns when the program runs, or cannot. */
    rc = rc != 0 ? rc : posix_spawnp(ret, command, &files, &attributes, argv, options->env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

/* What a program would find: its outputs, nothing else that is open, signals as the system has them. */
static int run_copy(const struct child_options *options, int out, int err)
{
    sigset_t none;
    sigemptyset(&none);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)signal(SIGPIPE, SIG_DFL);
    if (setpgid(0, 0) != 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(err, STDERR_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0u, 0) != 0 ||
        sigprocmask(SIG_SETMASK, &none, NULL) != 0)
        return COPY_FAILED;
    return options->run(options->run_arg);
}

/* As spawn(). */
static int copy(const struct child_options *options, int out, int err, pid_t *ret)
{
    *ret = fork();
    if (*ret == 0)
        _exit(run_copy(options, out, err));
    if (*ret < 0)
        return errno;
    (void)setpgid(*ret, *ret); /* both processes do, since either may be first */
    return 0;
}

static int say_not_started(const char *command, int why, struct error *err)
{
    const char *path = getenv("PATH");
    bool is_path = strchr(command, '/') != NULL;
    char reason[128];
    const char *text = strerror_r(why, reason, sizeof(reason));
    if (!is_path && (why == ENOENT || why == EACCES))
        return error_set(err, ERROR_RETRY, "%s cannot be started: %s: searched in PATH, which is %s", command, text,
                         path != NULL ? path : "not set");
    if (why == ENOENT && access(command, F_OK) == 0)
        return error_set(
            err, ERROR_RETRY,
            "%s cannot be started: the file exists, but its interpreter (in the first line) or its loader does not",
            command);
    if (why == E2BIG)
        return error_set(err, ERROR_RETRY, "%s cannot be started: its arguments or its environment are too long",
                         command);
    return error_set(err, ERROR_RETRY, "%s cannot be started: %s", command, text);
}

static void output_open(struct output *o, struct child *c, struct event_base *base, int fd)
{
    o->child = c;
    o->fd = fd;
    o->event = event_new(base, fd, EV_READ | EV_PERSIST, on_output, o);
    if (o->event == NULL || event_add(o->event, NULL) != 0)
        abort(); /* out of memory */
}

struct child *child_start(struct event_base *base, const struct child_options *options,
                          void (*on_done)(void *arg, const struct child_result *result), void *arg, struct error *err)
{
    int out[2], error_out[2];
    if (make_pipe(out) != 0) {
        say_not_started(options->command, errno, err);
        return NULL;
    }
    if (make_pipe(error_out) != 0) {
        say_not_started(options->command, errno, err);
        close(out[0]);
        close(out[1]);
        return NULL;
    }
    pid_t pid = 0;
    int rc = (options->run != NULL ? copy : spawn)(options, out[1], options->together ? out[1] : error_out[1], &pid);
    close(out[1]);
    close(error_out[1]);
    if (rc != 0) {
        close(out[0]);
        close(error_out[0]);
        say_not_started(options->command, rc, err);
        return NULL;
    }
    struct child *c = mem_alloc(sizeof(*c));
    c->pid = pid;
    c->on_done = on_done;
    c->arg = arg;
    buf_init_secret(&c->out.text, options->max_out_bytes);
    buf_init_secret(&c->err.text, SAID_BYTES + READ_BYTES);
    output_open(&c->out, c, base, out[0]);
    output_open(&c->err, c, base, error_out[0]);
    timer_init(&c->deadline, base, child_on_deadline, c);
    timer_init(&c->ask, base, child_check, c);
    timer_set(&c->deadline, options->timeout_ms);
    c->pidfd = options->without_pidfd ? -1 : (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd < 0) {
        timer_set(&c->ask, ASK_EVERY_MS);
        return c;
    }
    c->ended = event_new(base, c->pidfd, EV_READ | EV_PERSIST, child_on_ended, c);
    if (c->ended == NULL || event_add(c->ended, NULL) != 0)
        abort(); /* out of memory */
    return c;
}
