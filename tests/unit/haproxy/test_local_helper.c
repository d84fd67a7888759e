/* haproxy/local/helper with the real file system and, where it is here, the real HAProxy. */
#include "haproxy/local/helper.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/helper_process.h"

#define HAPROXY "/usr/sbin/haproxy"
#define GOOD                                                                                                        \
    "global\n    maxconn 100\ndefaults\n    mode http\n    timeout connect 1s\n    timeout client 1s\n    timeout " \
    "server 1s\n"

#define LISTENS "listen l\n    bind 127.0.0.1:18080\n    server s 127.0.0.1:1\n"

static struct event_base *base;
static struct local_helper *helper;
static struct local_helper_options options;
static char folder[] = "/tmp/test_local_helper.XXXXXX";
static char *config, *program, *stats, *master;

static struct {
    unsigned times, ends;
    struct local_answer answer;
    char *message, *data, *why;
} seen;

static char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

static void assert_file(const char *path, const char *text)
{
    struct buf b = {0};
    ck_assert_int_eq(buf_read_file(&b, path), 0);
    ck_assert_str_eq(buf_str(&b), text);
    buf_fini(&b);
}

/* Names in the folder that are neither what a test put there nor the lock. */
static unsigned left_behind(void)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += *e->d_name == '.' && !str_eq(e->d_name, ".") && !str_eq(e->d_name, "..") &&
             !str_has_suffix(e->d_name, ".lock");
    closedir(d);
    return n;
}

static void set_up(void)
{
    memset(&options, 0, sizeof(options));
    memset(&seen, 0, sizeof(seen));
    ck_assert_ptr_nonnull(mkdtemp(folder));
    config = in_folder("haproxy.cfg");
    program = in_folder("program");
    stats = in_folder("stats");
    master = in_folder("master");
    put(config, GOOD, 0640);
    put(program, "#!/bin/sh\nexit 0\n", 0755);
    options.config_file = config;
    options.haproxy = program;
    base = event_base_new();
}

static void on_end(void *arg, const char *why)
{
    (void)arg;
    seen.ends++;
    free(seen.why);
    seen.why = mem_strdup(why);
}

static void start(void)
{
    struct error err = {0};
    helper = local_helper_start(&options, &err);
    ck_assert_msg(helper != NULL, "%s", err.message);
    local_helper_attach(helper, base, on_end, NULL);
}

static void tear_down(void)
{
    local_helper_free(helper);
    helper = NULL;
    event_base_free(base);
    free(seen.message);
    free(seen.data);
    free(seen.why);

    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    free(config);
    free(program);
    free(stats);
    free(master);
}

static void on_answer(void *arg, const struct local_answer *a)
{
    (void)arg;
    free(seen.message);
    free(seen.data);
    seen.times++;
    seen.answer = *a;
    seen.message = mem_strdup(a->message);
    seen.data = mem_alloc(a->len + 1);
    memcpy(seen.data, a->data, a->len + 1);
}

static enum local_status wait_for(struct local_request *r)
{
    unsigned before = seen.times;
    ck_assert_ptr_nonnull(r);
    while (seen.times == before)
        event_base_loop(base, EVLOOP_ONCE);
    return seen.answer.status;
}

static enum local_status write_text(const char *text, const struct local_identity *expected, unsigned flags)
{
    return wait_for(local_write_config(helper, text, strlen(text), expected, flags, on_answer, NULL));
}

static struct local_identity read_identity(void)
{
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_OK);
    return seen.answer.identity;
}

/* ---- the file ---- */

START_TEST(test_is_replaced_through_a_link_with_owner_and_mode)
{
    char *real = in_folder("real.cfg");
    struct stat st;
    ck_assert_int_eq(rename(config, real), 0);
    ck_assert_int_eq(symlink("real.cfg", config), 0);
    ck_assert_int_eq(chmod(real, 0604), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown(real, 12, 34), 0);
    start();
    struct local_identity before = read_identity();
    ck_assert_str_eq(seen.data, GOOD);
    ck_assert_int_eq(write_text(GOOD "# two\n", &before, 0), LOCAL_OK);
    ck_assert_int_eq(lstat(config, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(stat(real, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0604);
    if (geteuid() == 0)
        ck_assert(st.st_uid == 12 && st.st_gid == 34);
    assert_file(real, GOOD "# two\n");
    ck_assert_uint_eq(left_behind(), 0);
    struct local_identity written = seen.answer.identity, now = read_identity();
    ck_assert(local_identity_same(&written, &now) && !local_identity_same(&before, &now));
    free(real);
}
END_TEST

START_TEST(test_changed_by_hand_is_not_overwritten)
{
    start();
    struct local_identity before = read_identity();
    put(config, "# by hand\n", 0640);
    ck_assert_int_eq(write_text(GOOD, &before, 0), LOCAL_CHANGED);
    assert_file(config, "# by hand\n");
    ck_assert_uint_eq(seen.answer.identity.size, strlen("# by hand\n"));
    ck_assert_uint_eq(left_behind(), 0);
}
END_TEST

/* The checker itself writes the file: that is after our first look at it. */
START_TEST(test_changed_while_it_is_checked_is_not_overwritten)
{
    char *text = mem_printf("#!/bin/sh\necho '# by hand' >%s\n", config);
    put(program, text, 0755);
    start();
    struct local_identity before = read_identity();
    ck_assert_int_eq(write_text(GOOD "# two\n", &before, 0), LOCAL_CHANGED);
    assert_file(config, "# by hand\n");
    ck_assert_uint_eq(left_behind(), 0);
    free(text);
}
END_TEST

START_TEST(test_only_validated_stays_as_it_is)
{
    start();
    struct local_identity before = read_identity();
    ck_assert_int_eq(write_text("# two\n", &before, LOCAL_WRITE_ONLY_VALIDATE), LOCAL_OK);
    assert_file(config, GOOD);
    ck_assert_uint_eq(left_behind(), 0);
}
END_TEST

START_TEST(test_program_gets_all_files_in_order)
{
    static const char *const before[] = {"/a", NULL}, *const after[] = {"/y", "/z", NULL};
    put(program, "#!/bin/sh\necho \"$*\"\ncat \"$5\"\nexit 1\n", 0755);
    options.files_before = before;
    options.files_after = after;
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_REJECTED);
    char *wanted = mem_printf("-c -f /a -f %s -f /y -f /z\n# two\n", config);
    ck_assert_str_eq(seen.message, wanted);
    assert_file(config, GOOD);
    ck_assert_uint_eq(left_behind(), 0);
    free(wanted);
}
END_TEST

START_TEST(test_program_that_is_missing)
{
    options.haproxy = "/nowhere/haproxy";
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_ptr_nonnull(strstr(seen.message, "/nowhere/haproxy"));
    assert_file(config, GOOD);
    ck_assert_uint_eq(left_behind(), 0);
}
END_TEST

START_TEST(test_program_that_hangs_is_killed_with_its_children)
{
    char *text = mem_printf("#!/bin/sh\nsleep 1000 &\necho $! >%s/pid\nwait\n", folder);
    char *pid_file = in_folder("pid");
    put(program, text, 0755);
    options.check_timeout_ms = 500;
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_ptr_nonnull(strstr(seen.message, "still running"));
    ck_assert_uint_eq(left_behind(), 0);
    struct buf b = {0};
    uint64_t pid = 0;
    ck_assert_int_eq(buf_read_file(&b, pid_file), 0);
    b.data[b.len - 1] = '\0';
    ck_assert_int_eq(str_parse_uint(b.data, INT32_MAX, &pid), 0);
    char *path = mem_printf("/proc/%u/stat", (unsigned)pid);
    struct buf stat = {0};
    /* Gone, or a zombie until init has looked. */
    ck_assert(buf_read_file(&stat, path) != 0 || strstr(stat.data, ") Z ") != NULL);
    buf_fini(&stat);
    buf_fini(&b);
    free(path);
    free(pid_file);
    free(text);
}
END_TEST

START_TEST(test_nothing_stays_when_the_disk_is_full)
{
    struct rlimit old, few;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    few = old;
    few.rlim_cur = 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
    start();
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    char *text = mem_alloc(10001);
    memset(text, '#', 10000);
    ck_assert_int_eq(write_text(text, NULL, 0), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, EFBIG);
    assert_file(config, GOOD);
    ck_assert_uint_eq(left_behind(), 0);
    free(text);
}
END_TEST

START_TEST(test_of_20_mb_there_and_back)
{
    size_t len = (size_t)20 << 20;
    char *text = mem_alloc(len + 1);
    memset(text, '#', len);
    start();
    ck_assert_int_eq(wait_for(local_write_config(helper, text, len, NULL, 0, on_answer, NULL)), LOCAL_OK);
    struct local_identity now = read_identity();
    ck_assert_uint_eq(now.size, len);
    ck_assert(seen.answer.len == len && memcmp(seen.data, text, len) == 0);
    free(text);
}
END_TEST

START_TEST(test_has_one_daemon)
{
    start();
    struct local_helper *first = helper;
    ck_assert_int_eq(wait_for(local_lock_config(first, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_lock_config(first, on_answer, NULL)), LOCAL_OK);
    start();
    ck_assert_int_eq(wait_for(local_lock_config(helper, on_answer, NULL)), LOCAL_LOCKED);
    ck_assert_int_eq(seen.answer.pid, getpid());
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_LOCKED);
    assert_file(config, GOOD);
    local_helper_free(first);
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
}
END_TEST

START_TEST(test_by_haproxy_itself)
{
    if (access(HAPROXY, X_OK) != 0) {
        printf("skipped: no %s here\n", HAPROXY);
        return;
    }
    options.haproxy = HAPROXY;
    start();
    ck_assert_int_eq(write_text(GOOD "nonsense\n", NULL, 0), LOCAL_REJECTED);
    char *wanted = mem_printf("[%s:8]", config);
    ck_assert_msg(strstr(seen.message, wanted) != NULL, "%s", seen.message);
    ck_assert_ptr_null(strstr(seen.message, ".new"));
    ck_assert_int_eq(write_text(GOOD, NULL, 0), LOCAL_REJECTED); /* nothing to listen on */
    ck_assert_int_eq(write_text(GOOD LISTENS, NULL, 0), LOCAL_OK);
    assert_file(config, GOOD LISTENS);
    free(wanted);
}
END_TEST

/* ---- folders ---- */

START_TEST(test_files_of_folders)
{
    static const char *const bad[] = {"", ".", "..", ".a", "a/b", "../a", "a\nb"};
    char *maps = in_folder("maps");
    const char *const folders[] = {maps, NULL};
    ck_assert_int_eq(mkdir(maps, 0755), 0);
    options.folders = folders;
    start();
    for (size_t i = 0; i < array_len(bad); i++)
        ck_assert_int_eq(wait_for(local_put_file(helper, 0, bad[i], "x", 1, on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(wait_for(local_put_file(helper, 1, "a", "x", 1, on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(wait_for(local_put_file(helper, 0, "b", "x\0y", 3, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_put_file(helper, 0, "a", "z", 1, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_list_files(helper, 0, on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(seen.data, "a\nb\n");
    ck_assert_int_eq(wait_for(local_read_folder_file(helper, 0, "b", on_answer, NULL)), LOCAL_OK);
    ck_assert(seen.answer.len == 3 && memcmp(seen.data, "x\0y", 3) == 0);
    ck_assert_int_eq(wait_for(local_delete_file(helper, 0, "b", on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_delete_file(helper, 0, "b", on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_list_files(helper, 0, on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(seen.data, "a\n");
    free(maps);
}
END_TEST

/* ---- sockets ---- */

static int listen_at(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path, path, strlen(path) + 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    return fd;
}

/* Says `answer` to one command, in pieces; times 0: without an end. Puts what it got into the file "got". */
static pid_t serve(int fd, const char *answer, bool close_after, bool endless)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char got[256];
    int c = accept(fd, NULL, NULL);
    ssize_t n = read(c, got, sizeof(got) - 1);
    got[n > 0 ? n : 0] = '\0';
    put(in_folder("got"), got, 0600);
    signal(SIGPIPE, SIG_DFL);
    do
        for (size_t i = 0; answer[i] != '\0'; i += endless ? strlen(answer) : 1)
            if (write(c, answer + i, endless ? strlen(answer) : 1) < 0)
                _exit(0);
    while (endless);
    while (!close_after)
        pause();
    _exit(0);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

START_TEST(test_commands_to_sockets)
{
    char *got = in_folder("got");
    int fd = listen_at(master);
    options.master_socket = master;
    start();
    pid_t pid = serve(fd, "one\ntwo\n\n", true, false);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "show info", on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(seen.data, "one\ntwo\n\n");
    assert_file(got, "@1 show info\n");
    waitpid(pid, NULL, 0);
    pid = serve(fd, "Success=1\n--\nlog\n", true, false);
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(seen.data, "Success=1\n--\nlog\n");
    assert_file(got, "reload\n");
    waitpid(pid, NULL, 0);
    close(fd);
    free(got);
}
END_TEST

START_TEST(test_sockets_that_do_not_answer)
{
    char *many = mem_alloc(60001);
    memset(many, 'x', 60000);
    options.stats_socket = stats;
    options.command_timeout_ms = 300;
    int fd = listen_at(stats);
    start();
    pid_t pid = serve(fd, "begun", false, false);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, ETIMEDOUT);
    ck_assert_str_eq(seen.data, "");
    end(pid);
    pid = serve(fd, many, false, true);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert(seen.answer.error_number == EFBIG || seen.answer.error_number == ETIMEDOUT);
    end(pid);
    close(fd);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, ECONNREFUSED);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_MASTER, "x", on_answer, NULL)), LOCAL_FAILED);
    free(many);
}
END_TEST

/* ---- the helper ---- */

START_TEST(test_that_ends_is_told)
{
    start();
    struct local_request *cancelled = local_read_config(helper, on_answer, NULL);
    struct local_request *r = local_read_config(helper, on_answer, NULL);
    local_request_cancel(cancelled);
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGSTOP), 0);
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGKILL), 0);
    ck_assert_int_eq(wait_for(r), LOCAL_LOST);
    ck_assert_uint_eq(seen.times, 1);
    while (seen.ends == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_LOST);
    ck_assert_uint_eq(seen.ends, 1);
}
END_TEST

/* What the daemon had open is not open there; no set-user-ID program gives it more rights. */
START_TEST(test_has_a_filter_and_nothing_open)
{
    int secret = open(config, O_RDONLY); /* not even closed by exec */
    start();
    close(secret);
    (void)read_identity();
    char *path = mem_printf("/proc/%d/status", (int)local_helper_pid(helper));
    struct buf status = {0};
    ck_assert_int_eq(buf_read_file(&status, path), 0);
    ck_assert_ptr_nonnull(strstr(buf_str(&status), "\nNoNewPrivs:\t1\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&status), "\nSeccomp:\t2\n"));
    free(path);
    path = mem_printf("/proc/%d/fd", (int)local_helper_pid(helper));
    DIR *d = opendir(path);
    if (d == NULL) {
        printf("skipped: its descriptors are looked at by root alone\n");
    } else {
        char target[256];
        for (const struct dirent *e; (e = readdir(d)) != NULL;) {
            ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
            target[n > 0 ? n : 0] = '\0';
            ck_assert_msg(strstr(target, folder) == NULL, "%s -> %s", e->d_name, target);
        }
        closedir(d);
    }
    buf_fini(&status);
    free(path);
}
END_TEST

START_TEST(test_signals_to_the_group_do_not_end_it)
{
    start();
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGTERM), 0);
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGHUP), 0);
    ck_assert_uint_eq(read_identity().size, strlen(GOOD));
}
END_TEST

/* What is no message ends it, before it is done or remembered. */
START_TEST(test_hostile_requests_end_it)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {{"\xff\xff\xff\xff", 4}, {"\4\0\0\0abcd", 8}, {"\0\0\0\0", 4}};
    int ends[2];
    char byte;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        local_helper_serve(&options, ends[1], getppid());
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_eq(write(ends[0], bad[_i].bytes, bad[_i].len), (ssize_t)bad[_i].len);
    ck_assert_int_le(read(ends[0], &byte, 1), 0);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(ends[0]);
}
END_TEST

START_TEST(test_reload_by_signal_and_by_command)
{
    static const char *const command[] = {"/bin/sh", "-c", "echo said; exit 3", NULL};
    char *pid_file = in_folder("pid");
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    char *text = mem_printf("%d\n", (int)getpid());
    put(pid_file, text, 0600);
    options.pid_file = pid_file;
    options.reload = LOCAL_RELOAD_SIGNAL;
    start();
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(seen.answer.pid, getpid());
    int number;
    ck_assert_int_eq(sigwait(&usr2, &number), 0);
    put(pid_file, "1\n", 0600);
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_FAILED);
    local_helper_free(helper);
    options.reload = LOCAL_RELOAD_COMMAND;
    options.reload_command = command;
    start();
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_FAILED);
    ck_assert_str_eq(seen.data, "said\n");
    ck_assert_str_eq(seen.message, "/bin/sh: exit status 3");
    free(text);
    free(pid_file);
}
END_TEST

/* The daemon goes while the checker runs: neither it nor the temporary file stays. */
START_TEST(test_leaves_nothing_when_the_daemon_goes)
{
    char *started = in_folder("started"), *text = mem_printf("#!/bin/sh\n: >%s/started\nexec sleep 1000\n", folder);
    put(program, text, 0755);
    start();
    ck_assert_ptr_nonnull(local_write_config(helper, "x", 1, NULL, 0, on_answer, NULL));
    while (access(started, F_OK) != 0)
        event_base_loop(base, EVLOOP_NONBLOCK);
    local_helper_free(helper);
    helper = NULL;
    ck_assert_uint_eq(left_behind(), 0);
    assert_file(config, GOOD);
    free(started);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("local_helper");
    TCase *file = tcase_create("file"), *rest = tcase_create("rest");
    tcase_set_timeout(file, 60);
    tcase_set_timeout(rest, 60);
    tcase_add_checked_fixture(file, set_up, tear_down);
    tcase_add_checked_fixture(rest, set_up, tear_down);
    tcase_add_test(file, test_is_replaced_through_a_link_with_owner_and_mode);
    tcase_add_test(file, test_changed_by_hand_is_not_overwritten);
    tcase_add_test(file, test_changed_while_it_is_checked_is_not_overwritten);
    tcase_add_test(file, test_only_validated_stays_as_it_is);
    tcase_add_test(file, test_program_gets_all_files_in_order);
    tcase_add_test(file, test_program_that_is_missing);
    tcase_add_test(file, test_program_that_hangs_is_killed_with_its_children);
    tcase_add_test(file, test_nothing_stays_when_the_disk_is_full);
    tcase_add_test(file, test_of_20_mb_there_and_back);
    tcase_add_test(file, test_has_one_daemon);
    tcase_add_test(file, test_by_haproxy_itself);
    tcase_add_test(rest, test_files_of_folders);
    tcase_add_test(rest, test_commands_to_sockets);
    tcase_add_test(rest, test_sockets_that_do_not_answer);
    tcase_add_test(rest, test_that_ends_is_told);
    tcase_add_test(rest, test_has_a_filter_and_nothing_open);
    tcase_add_test(rest, test_signals_to_the_group_do_not_end_it);
    tcase_add_loop_test(rest, test_hostile_requests_end_it, 0, 3);
    tcase_add_test(rest, test_reload_by_signal_and_by_command);
    tcase_add_test(rest, test_leaves_nothing_when_the_daemon_goes);
    suite_add_tcase(s, file);
    suite_add_tcase(s, rest);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
