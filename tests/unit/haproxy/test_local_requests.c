/* haproxy/local/helper: files of folders, sockets, reloads, and how it begins and ends. */
#include <errno.h>
#include <fcntl.h>

#include "haproxy/local/helper_process.h"
#include "haproxy/local/message.h"
#include "local_world.h"

FIXTURE(set_up, tear_down)

TEST(test_files_of_folders)
{
    static const char *const bad[] = {"", ".", "..", ".a", "a/b", "../a", "a\nb"};
    cleanup(mem_free_ptr) char *maps = in_folder("maps"), *b = in_folder("maps/b");
    const char *const folders[] = {maps, NULL};
    ck_assert_int_eq(mkdir(maps, 0755), 0);
    options.folders = folders;
    start();
    for (size_t i = 0; i < array_len(bad); i++)
        ck_assert_int_eq(wait_for(local_put_file(helper, 0, bad[i], "x", 1, on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(wait_for(local_put_file(helper, 1, "a", "x", 1, on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(wait_for(local_put_file(helper, 0, "b", "x\0y", 3, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_put_file(helper, 0, "a", "z", 1, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_read_folder_file(helper, 0, "b", on_answer, NULL)), LOCAL_OK);
    ck_assert(seen.answer.len == 3 && memcmp(seen.data, "x\0y", 3) == 0);
    ck_assert_int_eq(wait_for(local_delete_file(helper, 0, "b", on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_delete_file(helper, 0, "b", on_answer, NULL)), LOCAL_OK);
    ck_assert_int_ne(access(b, F_OK), 0);
    ck_assert_int_eq(wait_for(local_read_folder_file(helper, 0, "a", on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(seen.data, "z");
}

/* The other side may be an attacker's by now: the names are checked where the files are, and a folder is one of the options. */
TEST(test_files_outside_of_folders)
{
    cleanup(mem_free_ptr) char *maps = in_folder("maps"), *below = in_folder("maps/below"),
                               *file = in_folder("maps/below/file");
    const char *const folders[] = {maps, NULL};
    ck_assert_int_eq(mkdir(maps, 0755), 0);
    ck_assert_int_eq(mkdir(below, 0755), 0);
    put(file, "x", 0640);
    options.folders = folders;
    start();
    ck_assert_int_eq(wait_for(local_read_folder_file(helper, 0, "below/file", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(wait_for(local_delete_file(helper, 0, "below/file", on_answer, NULL)), LOCAL_FAILED);
    assert_file(file, "x");
    ck_assert_int_eq(wait_for(local_read_folder_file(helper, 0, "../haproxy.cfg", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_str_eq(seen.data, "");
    ck_assert_int_eq(wait_for(local_delete_file(helper, 0, "../haproxy.cfg", on_answer, NULL)), LOCAL_FAILED);
    assert_file(config, GOOD);
    ck_assert_int_eq(wait_for(local_read_folder_file(helper, 1000000000, "a", on_answer, NULL)), LOCAL_FAILED);
}

/* Says `answer` to one command, in pieces; times 0: without an end. Puts what it got into the file "got". */
static pid_t serve(int fd, const char *answer, bool close_after, bool endless)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char got[256];
    size_t len = 0;
    int c = accept(fd, NULL, NULL);
    /* As a master does: up to the end of what is asked. */
    for (ssize_t n; (n = read(c, got + len, sizeof(got) - 1 - len)) > 0;)
        len += (size_t)n;
    got[len] = '\0';
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

TEST(test_commands_to_sockets)
{
    cleanup(mem_free_ptr) char *got = in_folder("got");
    int fd = unix_socket(master, true);
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
}

/* A check says it back. */
#define SAYS_ENVIRONMENT                                                                                         \
    "#!/bin/sh\ncase $* in *-L*) echo $3;; esac\n"                                                               \
    "echo "                                                                                                      \
    "\"$A|$B|$C|$HAPROXY_X|$HAPROXY_CLI|$HAPROXY_PROCESSES$HAPROXY_MWORKER_REEXEC$NOTIFY_SOCKET|$PATH|$HAPROXY_" \
    "MWORKER\"\nexit 1\n"
#define ENVIRONMENT                                  \
    "HAPROXY_CLI=s\nB=two\nHAPROXY_PROCESSES=3\nof " \
    "that\nPATH=/p\nlines\nHAPROXY_X=3\nHAPROXY_MWORKER_REEXEC=1\nNOTIFY_SOCKET=/x\nC=d\n"
#define SETS "global\n setenv A x\n"

static const struct {
    const char *file, *answer; /* of HAProxy */
    const char *config, *text; /* what HAProxy has, and what is checked */
    const char *says;
} environments[] = {
    {"A=1\n" ENVIRONMENT, NULL, "", "", "1|two|d|3|s||/p|1"},
    {"# of HAProxy\nA=\"q r\"\n\n; more\nB='s'\nC='t\nPATH=/p", NULL, "", "", "q r|s|'t||||/p|1"},
    {NULL, "HAPROXY_BRANCH=3.0\nA=1\n" ENVIRONMENT "\n", SETS, "", "1|two|d|3|s||/p\nlines|1"},
    /* What its file sets it has not at first, from then on. */
    {NULL, "HAPROXY_BRANCH=3.1\nA=1\n" ENVIRONMENT "\n", SETS, "", "|two|d|3|||/p\nlines|1"},
    {NULL, "HAPROXY_BRANCH=3.1\n" ENVIRONMENT "\n", "global\n presetenv B x\n presetenv C d\n", "",
     "|two||3|||/p\nlines|1"},
    {NULL, "HAPROXY_BRANCH=3.1\n" ENVIRONMENT "\n", "global\n presetenv C \"$B\"\n", "", "|two||3|||/p\nlines|1"},
    {NULL, "HAPROXY_MWORKER=2\nPATH=/p\n", "", "", "||||||/p|2"},
    /* Of -L; a file that names it can be read only without. */
    {NULL, "HAPROXY_LOCALPEER=me\nPATH=/p\n", "", "", "me\n||||||/p|1"},
    {NULL, "HAPROXY_LOCALPEER=me\nPATH=/p\n", "global\n localpeer me\n", "", "||||||/p|1"},
    {NULL, "HAPROXY_LOCALPEER=me\nPATH=/p\n", "", "global\n localpeer you\n", "||||||/p|1"},
    {"HAPROXY_LOCALPEER=me\nPATH=/p\n", NULL, "", "", "me\n||||||/p|1"},
};

TEST_EACH(test_checks_in_the_environment_of_haproxy, array_len(environments))
{
    cleanup(mem_free_ptr) char *file = in_folder("environment"), *got = in_folder("got");
    bool asks = environments[_i].file == NULL;
    int fd = unix_socket(stats, true);
    put(program, SAYS_ENVIRONMENT, 0755);
    put(config, environments[_i].config, 0640);
    put(file, asks ? "" : environments[_i].file, 0600);
    options.environment_file = asks ? NULL : file;
    options.stats_socket = options.master_socket = stats;
    start();
    pid_t pid = asks ? serve(fd, environments[_i].answer, true, false) : 0;
    ck_assert_int_eq(write_text(environments[_i].text, NULL, 0), LOCAL_REJECTED);
    cleanup(mem_free_ptr) char *says = mem_printf("%s\n", environments[_i].says);
    ck_assert_str_eq(seen.message, says);
    if (asks) {
        assert_file(got, "show env\n");
        waitpid(pid, NULL, 0);
    }
    close(fd);
}

/* In its place, and the environment comes with the answer. */
TEST(test_the_file_that_is_there_is_checked)
{
    put(program, "#!/bin/sh\nfor last; do :; done\ncat $last\nexit 1\n", 0755);
    start();
    ck_assert_int_eq(wait_for(local_check_config(helper, on_answer, NULL)), LOCAL_REJECTED);
    ck_assert_str_eq(seen.message, GOOD);
    ck_assert(strncmp(seen.data, "PATH=", strlen("PATH=")) == 0);
    assert_config(GOOD);
}

TEST(test_sockets_that_do_not_answer)
{
    cleanup(mem_free_ptr) char *many = mem_alloc(60001);
    memset(many, 'x', 60000);
    options.stats_socket = stats;
    options.command_timeout_ms = 300;
    int fd = unix_socket(stats, true);
    start();
    pid_t pid = serve(fd, "begun", false, false);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, ETIMEDOUT);
    ck_assert_str_eq(seen.data, "");
    end_player(pid);
    pid = serve(fd, "", true, false);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, ECONNRESET);
    waitpid(pid, NULL, 0);
    pid = serve(fd, many, false, true);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert(seen.answer.error_number == EFBIG || seen.answer.error_number == ETIMEDOUT);
    end_player(pid);
    close(fd);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_STATS, "x", on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, ECONNREFUSED);
    ck_assert_int_eq(wait_for(local_command(helper, LOCAL_SOCKET_MASTER, "x", on_answer, NULL)), LOCAL_FAILED);
}

TEST(test_that_ends_is_reported)
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
    ck_assert_uint_eq(seen.times, 1); /* not the cancelled one */
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_LOST);
    ck_assert_uint_eq(seen.ends, 1);
}

/* What the daemon had open is not open there; no set-user-ID program gives it more rights. */
TEST(test_has_a_filter_and_nothing_open)
{
    int secret = open(config, O_RDONLY); /* not even closed by exec */
    start();
    close(secret);
    (void)read_identity();
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%d/status", (int)local_helper_pid(helper));
    cleanup(buf_fini) struct buf status = {0};
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
}

TEST(test_signals_to_the_group_do_not_end_it)
{
    start();
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGTERM), 0);
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGHUP), 0);
    ck_assert_uint_eq(read_identity().size, strlen(GOOD));
}

/* What is no message ends it, before it is done or remembered. */
TEST_EACH(test_hostile_requests_end_it, 3)
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

TEST(test_requests_that_are_none)
{
    struct local_ask got, ask = {.kind = LOCAL_KIND_NOTE_LOADED, .name = "a", .bytes = "b", .len = 1};
    cleanup(buf_fini) struct buf b = {0};
    ck_assert_int_eq(local_message_put_ask(&b, &ask), 0);
    size_t len = b.len - LOCAL_FRAME_HEAD_BYTES;
    ck_assert_int_eq(local_message_get_ask(b.data + LOCAL_FRAME_HEAD_BYTES, len, &got), 0);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_eq(local_message_get_ask(b.data + LOCAL_FRAME_HEAD_BYTES, i, &got), -1);
    buf_addn(&b, "", 1);
    ck_assert_int_eq(local_message_get_ask(b.data + LOCAL_FRAME_HEAD_BYTES, len + 1, &got), -1);
    b.data[LOCAL_FRAME_HEAD_BYTES] = LOCAL_KIND_RELEASE_CONFIG + 1; /* no kind that there is */
    ck_assert_int_eq(local_message_get_ask(b.data + LOCAL_FRAME_HEAD_BYTES, len, &got), -1);
}

TEST(test_reload_by_command)
{
    static const char *const command[] = {"/bin/sh", "-c", "echo said; exit 3", NULL};
    options.reload_command = command;
    start();
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_REJECTED);
    ck_assert_str_eq(seen.data, "said\n");
    ck_assert_str_eq(seen.message, "/bin/sh: exit status 3: said\n");
}

/* The daemon goes while the checker runs: neither it nor the temporary file stays. */
TEST(test_leaves_nothing_when_the_daemon_goes)
{
    cleanup(mem_free_ptr) char *started = in_folder("started"),
                               *text = mem_printf("#!/bin/sh\necho $$ >%s/s && mv %s/s %s/started\nexec sleep 1000\n",
                                                  folder, folder, folder);
    put(program, text, 0755);
    start();
    ck_assert_ptr_nonnull(local_write_config(helper, "x", 1, NULL, 0, on_answer, NULL));
    while (access(started, F_OK) != 0)
        event_base_loop(base, EVLOOP_NONBLOCK);
    local_helper_free(helper);
    helper = NULL;
    ck_assert_uint_eq(left_behind(), 0);
    assert_file(config, GOOD);
    cleanup(buf_fini) struct buf pid = {0}, stat = {0};
    ck_assert_int_eq(buf_read_file(&pid, started), 0);
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%.*s/stat", (int)pid.len - 1, pid.data);
    /* Gone, or a zombie until init has reaped it. */
    ck_assert(buf_read_file(&stat, path) != 0 || strstr(stat.data, ") Z ") != NULL);
}
