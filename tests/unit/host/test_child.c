/* host/child with real programs: the shell and what every system has beside it. */
#include "host/child.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "host/timer.h"

#include "../folder.h"

static struct event_base *base;
/* Each case of how it ends runs both ways: reported by a pidfd, and asked for. */
static bool without_pidfd;

#define TEST_BOTH(name)              \
    static void name##_either(void); \
    TEST_EACH(name, 2)               \
    {                                \
        without_pidfd = _i == 1;     \
        name##_either();             \
    }                                \
    static void name##_either(void)

/* What on_done got, copied. */
static struct {
    unsigned times;
    enum child_outcome outcome;
    int status;
    char *out, *said, *text;
    size_t out_len;
} seen;

static struct child_options last;

static void forget(void)
{
    free(seen.out);
    free(seen.said);
    free(seen.text);
    memset(&seen, 0, sizeof(seen));
}

static int open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static int fds_before;

static void set_up(void)
{
    folder_make();
    without_pidfd = false;
    base = event_base_new();
    /* As process 1 of a container: what loses its parent becomes ours. */
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    fds_before = open_fds();
}

static void tear_down(void)
{
    ck_assert_int_eq(open_fds(), fds_before);
    folder_remove();
    forget();
    event_base_free(base);
}

static void on_done(void *arg, const struct child_result *r)
{
    ck_assert_ptr_eq(arg, &seen);
    forget();
    seen.times = 1;
    seen.outcome = r->outcome;
    seen.status = r->status;
    seen.out = mem_strdup(buf_str(r->out));
    seen.out_len = r->out->len;
    seen.said = mem_strdup(r->said);
    seen.text = child_result_text(r, &last);
    event_base_loopbreak(base);
}

static const struct child_options usual = {.max_out_bytes = 1000, .timeout_ms = 60000};

static struct child *start(const char *command, char *const *args, const struct child_options *o)
{
    static char a[] = "A=1", path[] = "PATH=/usr/bin:/bin", *const env[] = {a, path, NULL};
    forget();
    last = *o;
    last.command = command;
    last.args = args;
    last.env = last.env != NULL ? last.env : env;
    last.without_pidfd = without_pidfd;
    struct child *c = child_start(base, &last, on_done, &seen, &flaw);
    ck_assert_msg(c != NULL, "%s", c == NULL ? flaw.message : "");
    ck_assert_uint_eq(seen.times, 0);
    return c;
}

static struct child *start_shell(const char *script, const struct child_options *o)
{
    static char *args[4];
    args[0] = (char[]){"-c"};
    args[1] = (char *)(uintptr_t)script;
    args[2] = NULL;
    return start("sh", args, o);
}

static void none_is_left(void)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

static void run(const char *script, const struct child_options *o)
{
    (void)start_shell(script, o);
    event_base_dispatch(base);
    ck_assert_uint_eq(seen.times, 1);
}

/* ---- its end ---- */

static const struct {
    const char *script;
    enum child_outcome outcome;
    int status;
    const char *out, *said, *text;
} ends[] = {
    {"echo hello", CHILD_EXITED, 0, "hello\n", "", "exit status 0"},
    {"echo hello; echo >&2 no luck; exit 3", CHILD_EXITED, 3, "hello\n", "no luck", "exit status 3"},
    {"cat; echo done", CHILD_EXITED, 0, "done\n", "", "exit status 0"}, /* nothing on standard input */
    {"echo $A-$HOME-", CHILD_EXITED, 0, "1--\n", "", "exit status 0"},
    {"kill -SEGV $$", CHILD_SIGNALED, SIGSEGV, "", "", "killed by signal 11 (Segmentation fault)"},
    {"printf a; kill -KILL $$", CHILD_SIGNALED, SIGKILL, "a", "", "killed by signal 9 (Killed)"},
    {"exec >&-; exec 2>&-; exit 7", CHILD_EXITED, 7, "", "", "exit status 7"},
    {"printf %01000d 0", CHILD_EXITED, 0, NULL, "", "exit status 0"},
    {"printf %01001d 0", CHILD_OVER_CAP, 0, NULL, "", "printed more than 1000 bytes"},
    {"while :; do echo again; done", CHILD_OVER_CAP, SIGKILL, NULL, "", "printed more than 1000 bytes"},
    {"trap '' PIPE TERM HUP; while :; do echo again; done", CHILD_OVER_CAP, SIGKILL, NULL, "",
     "printed more than 1000 bytes"},
};

FIXTURE(set_up, tear_down)

TEST_EACH(how_it_ended, 2 * array_len(ends))
{
    without_pidfd = _i % 2 == 1;
    run(ends[_i / 2].script, &usual);
    ck_assert_int_eq(seen.outcome, ends[_i / 2].outcome);
    ck_assert_msg(seen.status == ends[_i / 2].status || seen.outcome == CHILD_OVER_CAP, "status %d", seen.status);
    if (ends[_i / 2].out != NULL)
        ck_assert_str_eq(seen.out, ends[_i / 2].out);
    ck_assert_str_eq(seen.said, ends[_i / 2].said);
    ck_assert_str_eq(seen.text, ends[_i / 2].text);
    none_is_left();
}

TEST_BOTH(the_cap_is_a_cap)
{
    run("printf %01000d 0", &usual);
    ck_assert_uint_eq(seen.out_len, 1000);
    run("head -c 100000 /dev/zero", &usual);
    ck_assert_int_eq(seen.outcome, CHILD_OVER_CAP);
    ck_assert_uint_le(seen.out_len, 1000);
    struct child_options large = usual;
    large.max_out_bytes = 1 << 20;
    run("head -c 1048576 /dev/zero", &large);
    ck_assert_int_eq(seen.outcome, CHILD_EXITED);
    ck_assert_uint_eq(seen.out_len, 1 << 20);
}

TEST_BOTH(of_what_it_said_the_end_is_kept)
{
    run("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i + 1)); done; "
        "printf '\\033[31m\\r\\n\\t  caf\\303\\251 \\377\\n\\n' >&2; exit 1",
        &usual);
    ck_assert_str_eq(seen.text, "exit status 1");
    ck_assert_uint_lt(strlen(seen.said), 1025);
    ck_assert_uint_gt(strlen(seen.said), 900);
    ck_assert_msg(str_has_suffix(seen.said, " line 1998 line 1999 [31m caf\xc3\xa9 ?"), "%s", seen.said);
    run("printf '%1021s\\303\\251xy' '' >&2", &usual); /* cut in the middle of a character */
    ck_assert_str_eq(seen.said, "\xc3\xa9xy");
    run("printf '%1023s\\303\\251' '' | tr ' ' x | tail -c 1023 >&2; printf y >&2", &usual);
    ck_assert_msg(str_has_suffix(seen.said, "x\xc3\xa9y"), "%s", seen.said);
    run("printf '\\303\\251%01023d' 0 >&2", &usual);
    ck_assert_uint_eq(strlen(seen.said), 1023);
    ck_assert_uint_eq(seen.said[0], '0');
}

/* ---- the deadline, cancelling, and what it leaves behind ---- */

static bool is_alive(const char *pid)
{
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%d/stat", (int)strtol(pid, NULL, 10));
    struct buf stat;
    buf_init(&stat, 4096);
    bool alive = buf_read_file(&stat, path) == 0 && strstr(buf_str(&stat), ") Z ") == NULL;
    buf_fini(&stat);
    return alive;
}

TEST_BOTH(at_its_deadline_it_is_killed_with_all_its_kin)
{
    struct child_options o = usual;
    o.timeout_ms = 400;
    run("trap '' TERM INT HUP; sleep 1000 & echo $!; wait; wait", &o);
    ck_assert_int_eq(seen.outcome, CHILD_OVERDUE);
    ck_assert_int_eq(seen.status, SIGKILL);
    ck_assert_str_eq(seen.text, "still running after 0.4 s");
    ck_assert_uint_gt(seen.out_len, 1);
    while (is_alive(seen.out)) /* killed, but it takes its time */
        continue;
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    none_is_left();
}

TEST_BOTH(a_program_that_leaves_its_group_is_killed_too)
{
    struct child_options o = usual;
    o.timeout_ms = 1000;
    run("exec /usr/bin/python3 -c 'import os, time\nos.setpgid(0, os.getpgid(os.getppid()))\nprint(1, flush=True)\n"
        "time.sleep(1000)'",
        &o);
    ck_assert_int_eq(seen.outcome, CHILD_OVERDUE);
    ck_assert_str_eq(seen.out, "1\n");
    none_is_left();
}

/* Its answer is whole when it ends, whichever process still holds the pipe. */
TEST_BOTH(what_it_leaves_running_is_not_waited_for)
{
    run("sleep 1000 & echo $!", &usual);
    ck_assert_int_eq(seen.outcome, CHILD_EXITED);
    while (is_alive(seen.out))
        continue;
    child_reap_inherited();
    while (waitpid(-1, NULL, WNOHANG) == 0)
        child_reap_inherited();
    none_is_left();
}

/* Dead before it, and never waited for by it. */
TEST_BOTH(what_it_did_not_wait_for_is_reaped)
{
    /* Not the shell: that one would wait for it. */
    run("sleep 0.05 & exec /usr/bin/python3 -c 'import sys\nwhile b\") Z \" not in open(sys.argv[1], \"rb\").read(): "
        "pass' "
        "/proc/$!/stat",
        &usual);
    ck_assert_str_eq(seen.text, "exit status 0");
    none_is_left();
}

/* Which of its ends the loop sees first is the kernel's choice, and poll(2)'s is a random one in libevent. */
TEST_BOTH(its_last_words_are_heard)
{
    struct event_config *config = event_config_new();
    event_config_avoid_method(config, "epoll");
    event_base_free(base);
    base = event_base_new_with_config(config);
    event_config_free(config);
    ck_assert_str_ne(event_base_get_method(base), "epoll");
    fds_before = open_fds();
    for (int i = 0; i < 30; i++) {
        siginfo_t info;
        (void)start_shell("echo last; echo words >&2", &usual);
        ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
        event_base_dispatch(base);
        ck_assert_str_eq(seen.out, "last\n");
        ck_assert_str_eq(seen.said, "words");
    }
}

static void on_line(void *arg)
{
    event_base_loopbreak(base);
}

TEST_BOTH(cancelled_it_is_gone)
{
    cleanup(mem_free_ptr) char *file = in_folder("program");
    cleanup(mem_free_ptr) char *script =
        mem_printf("trap '' TERM; echo $$ >%s.x; mv %s.x %s; sleep 1000; :", file, file, file);
    struct child *c = start_shell(script, &usual);
    struct timer t;
    timer_init(&t, base, on_line, NULL);
    while (access(file, F_OK) != 0) {
        timer_set(&t, 5);
        event_base_dispatch(base);
    }
    timer_fini(&t);
    struct buf pid;
    buf_init(&pid, 100);
    ck_assert_int_eq(buf_read_file(&pid, file), 0);
    ck_assert(is_alive(buf_str(&pid)));
    child_cancel(c);
    ck_assert(!is_alive(buf_str(&pid)));
    while (waitpid(-1, NULL, 0) > 0) /* its sleep, which is ours now */
        continue;
    ck_assert_uint_eq(seen.times, 0);
    ck_assert_int_eq(event_base_loop(base, EVLOOP_NONBLOCK), 1); /* nothing of it is in the loop */
    buf_fini(&pid);
}

TEST_BOTH(cancelled_after_its_end_it_is_gone_too)
{
    struct child *c = start_shell("exit 1", &usual);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    child_cancel(c);
    none_is_left();
    child_cancel(NULL);
}

static void on_done_again(void *arg, const struct child_result *r)
{
    ck_assert_str_eq(buf_str(r->out), "first\n");
    ck_assert_ptr_eq(arg, &seen);
    (void)start_shell("echo second", &usual);
}

TEST_BOTH(the_next_may_start_from_the_end_of_one)
{
    char *args[] = {(char[]){"first"}, NULL};
    last = usual;
    last.command = "/bin/echo";
    last.args = args;
    last.env = args + 1;
    ck_assert_ptr_nonnull(child_start(base, &last, on_done_again, &seen, &flaw));
    event_base_dispatch(base);
    ck_assert_str_eq(seen.out, "second\n");
    none_is_left();
}

/* ---- what it gets from us ---- */

TEST(no_descriptor_of_ours)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0); /* without O_CLOEXEC, as a careless library would */
    int far = fcntl(fds[0], F_DUPFD, 200);
    ck_assert_int_ge(far, 200);
    run("exec ls /proc/self/fd", &usual);
    ck_assert_str_eq(seen.out, "0\n1\n2\n3\n"); /* 3: what ls reads */
    run("readlink /proc/self/fd/0", &usual);
    ck_assert_str_eq(seen.out, "/dev/null\n");
    close(far);
    close(fds[0]);
    close(fds[1]);
}

TEST(our_standard_descriptors_may_be_closed)
{
    int kept[3];
    for (int i = 0; i < 3; i++)
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
    for (int i = 0; i < 3; i++)
        close(i);
    run("cat; echo out; echo err >&2", &usual);
    for (int i = 0; i < 3; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    ck_assert_str_eq(seen.out, "out\n");
    ck_assert_str_eq(seen.said, "err");
}

TEST(signals_are_as_usual)
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    signal(SIGPIPE, SIG_IGN);
    run("exec grep -E '^Sig(Blk|Ign)' /proc/self/status", &usual);
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGPIPE, SIG_DFL);
    ck_assert_ptr_nonnull(strstr(seen.out, "SigBlk:\t0000000000000000"));
    const char *ignored = strstr(seen.out, "SigIgn:\t");
    ck_assert_msg(ignored != NULL && (strtoull(ignored + 8, NULL, 16) & (1ull << (SIGPIPE - 1))) == 0, "%s", seen.out);
}

TEST(a_group_of_its_own)
{
    run("cut -d ' ' -f 1,5 /proc/$$/stat", &usual);
    char *rest;
    long group = strtol(seen.out, &rest, 10), pid = strtol(rest, NULL, 10);
    ck_assert_int_eq(group, pid);
    ck_assert_int_ne(group, getpgrp());
}

TEST(arguments_and_environment_as_they_are)
{
    char *args[] = {(char[]){"-c"},
                    (char[]){"printf '%s|' \"$@\" \"$B\"; env | wc -l"},
                    (char[]){"x"},
                    (char[]){"a b"},
                    (char[]){""},
                    (char[]){"$A\n'"},
                    NULL};
    char *env[] = {(char[]){"B=two\nlines"}, (char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct child_options o = usual;
    o.env = env;
    (void)start("/bin/sh", args, &o);
    event_base_dispatch(base);
    ck_assert_msg(str_has_prefix(seen.out, "a b||$A\n'|two\nlines|"), "%s", seen.out);
}

/* ---- what cannot be started ---- */

static const struct {
    const char *command, *content; /* NULL: there is no such file */
    mode_t mode;
    const char *says;
} unstartable[] = {
    {"no-such-program-here", NULL, 0,
     "no-such-program-here cannot be started: No such file or directory: searched in PATH, which is /usr/bin:/bin"},
    {"/nowhere/program", NULL, 0, "/nowhere/program cannot be started: No such file or directory"},
    {"./program", "#!/bin/sh\n", 0600, "./program cannot be started: Permission denied"},
    {"./program", "#!/nowhere/python\n", 0700, "the file exists, but its interpreter"},
    {"./program", "just text\n", 0700, "cannot be started: Exec format error"},
    {"./", NULL, 0, "./ cannot be started: Permission denied"},
};

TEST_EACH(what_cannot_be_started_is_said, array_len(unstartable))
{
    cleanup(mem_free_ptr) char *file = in_folder("program");
    if (unstartable[_i].content != NULL) {
        int fd = open(file, O_WRONLY | O_CREAT, unstartable[_i].mode);
        ck_assert_int_gt(write(fd, unstartable[_i].content, strlen(unstartable[_i].content)), 0);
        close(fd);
    }
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
    char *none[] = {NULL};
    struct child_options o = usual;
    o.command = unstartable[_i].command;
    o.args = o.env = none;
    ck_assert_ptr_null(child_start(base, &o, on_done, NULL, &flaw));
    ck_assert_int_eq(flaw.kind, ERROR_RETRY);
    ck_assert_msg(strstr(flaw.message, unstartable[_i].says) != NULL, "%s", flaw.message);
    none_is_left();
    ck_assert_int_eq(chdir("/"), 0);
}

TEST(too_long_an_environment_is_said)
{
    char *variable = mem_alloc(300000);
    memset(variable, 'x', 299999);
    char *none[] = {NULL}, *env[] = {variable, NULL};
    struct child_options o = usual;
    o.command = "sh";
    o.args = none;
    o.env = env;
    ck_assert_ptr_null(child_start(base, &o, on_done, NULL, &flaw));
    ck_assert_ptr_nonnull(strstr(flaw.message, "its arguments or its environment are too long"));
    free(variable);
}
