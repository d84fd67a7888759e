/* haproxy/local with a HAProxy that runs: `haproxy -W` with its master and stats sockets; $HAPROXY, or the system's. */
#include <check.h>
#include <event2/event.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/cli.h"
#include "haproxy/local/helper.h"

static const char *haproxy;
static struct event_base *base;
static struct local_helper *helper;
static struct local_helper_options options;
static char folder[64];
static char *config, *stats, *master, *text;
static pid_t running;

static struct {
    bool answered;
    enum local_status status;
    char *message, *data;
    pid_t pid;
} seen;

static void on_answer(void *arg, const struct local_answer *a)
{
    (void)arg;
    free(seen.message);
    free(seen.data);
    seen.answered = true;
    seen.status = a->status;
    seen.pid = a->pid;
    seen.message = mem_strdup(a->message);
    seen.data = mem_strdup(a->data);
}

static enum local_status wait_for(struct local_request *r)
{
    ck_assert_ptr_nonnull(r);
    seen.answered = false;
    while (!seen.answered)
        event_base_loop(base, EVLOOP_ONCE);
    return seen.status;
}

static enum local_status command(enum local_socket socket, const char *line)
{
    return wait_for(local_command(helper, socket, line, on_answer, NULL));
}

static void put(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(content, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

static void set_up(void)
{
    struct error err = {0};
    memset(&seen, 0, sizeof(seen));
    snprintf(folder, sizeof(folder), "/tmp/test_local_haproxy.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    config = mem_printf("%s/haproxy.cfg", folder);
    stats = mem_printf("%s/stats", folder);
    master = mem_printf("%s/master", folder);
    text = mem_printf("global\n    stats socket %s level admin\ndefaults\n    mode http\n    timeout connect 1s\n"
                      "    timeout client 1s\n    timeout server 1s\nlisten web\n    bind unix@%s/web\n"
                      "    server s1 127.0.0.1:1\n",
                      stats, folder);
    put(config, text);
    options = (struct local_helper_options){
        .config_file = config, .haproxy = haproxy, .master_socket = master, .stats_socket = stats};
    running = fork();
    if (running == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        execl(haproxy, haproxy, "-W", "-S", master, "-f", config, (char *)NULL);
        _exit(127);
    }
    base = event_base_new();
    helper = local_helper_start(&options, &err);
    ck_assert_msg(helper != NULL, "%s", err.message);
    local_helper_attach(helper, base, NULL, NULL);
    while (command(LOCAL_SOCKET_STATS, "show version") != LOCAL_OK ||
           command(LOCAL_SOCKET_MASTER, "show proc") != LOCAL_OK)
        ck_assert_int_eq(waitpid(running, NULL, WNOHANG), 0);
}

static void tear_down(void)
{
    local_helper_free(helper);
    event_base_free(base);
    kill(running, SIGTERM);
    waitpid(running, NULL, 0);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    free(seen.message);
    free(seen.data);
    free(config);
    free(stats);
    free(master);
    free(text);
}

static struct cli_processes processes(void)
{
    struct cli_processes p;
    struct error err = {0};
    /* While the master executes itself anew its socket refuses, or closes without a word. */
    do
        (void)command(LOCAL_SOCKET_MASTER, "show proc");
    while (seen.status != LOCAL_OK || cli_processes_init(&p, seen.data, &err) != 0);
    return p;
}

/* What runs, by the socket that asks for it. */
static size_t servers(enum local_socket socket, const char *line)
{
    struct cli_servers s;
    struct error err = {0};
    ck_assert_int_eq(command(socket, line), LOCAL_OK);
    ck_assert_msg(cli_servers_init(&s, seen.data, &err) == 0, "%s", err.message);
    size_t count = s.count;
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(s.servers[i].backend, "web");
    cli_servers_fini(&s);
    return count;
}

static int done(const char *line, struct error *err)
{
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, line), LOCAL_OK);
    return cli_read_done(seen.data, err);
}

START_TEST(test_servers_come_and_go)
{
    struct error err = {0};
    ck_assert_uint_eq(servers(LOCAL_SOCKET_STATS, "show servers state web"), 1);
    ck_assert_uint_eq(servers(LOCAL_SOCKET_MASTER, "@1 show servers state web"), 1);
    ck_assert_msg(done("add server web/n1 127.0.0.3:80 check", &err) == 0, "%s", err.message);
    ck_assert_int_eq(done("add server web/n1 127.0.0.3:80", &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_msg(done("enable health web/n1", &err) == 0 && done("enable server web/n1", &err) == 0, "%s",
                  err.message);
    ck_assert_uint_eq(servers(LOCAL_SOCKET_STATS, "show servers state"), 2);
    ck_assert_int_eq(done("del server web/n1", &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert(done("disable server web/n1", &err) == 0 && done("del server web/n1", &err) == 0);
    ck_assert_int_eq(done("del server web/n1", &err), -1);
    ck_assert_int_eq(err.kind, ERROR_GONE);
    ck_assert_int_eq(done("add server web/n2 127.0.0.3:80 nonsense", &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
}
END_TEST

static void write_two_servers(void)
{
    char *two = mem_printf("%s    server s2 127.0.0.1:2\n", text);
    ck_assert_msg(wait_for(local_write_config(helper, two, strlen(two), NULL, 0, on_answer, NULL)) == LOCAL_OK, "%s",
                  seen.message);
    free(two);
}

static void await_new_worker(const struct cli_processes *before)
{
    for (bool is_new = false; !is_new;) {
        struct cli_processes now = processes();
        is_new = now.worker_pid != before->worker_pid && now.worker_pid != 0 && now.reloads > before->reloads;
        ck_assert_int_eq(now.master_pid, before->master_pid);
        cli_processes_fini(&now);
    }
}

START_TEST(test_file_written_and_reloaded_by_the_master)
{
    const char *log;
    struct cli_processes before = processes();
    ck_assert_int_eq(before.master_pid, running);
    write_two_servers();
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_ne(cli_read_reload(seen.data, &log), CLI_RELOAD_FAILED);
    await_new_worker(&before);
    cli_processes_fini(&before);
    while (command(LOCAL_SOCKET_MASTER, "@1 show servers state web") != LOCAL_OK)
        continue;
    ck_assert_uint_eq(servers(LOCAL_SOCKET_MASTER, "@1 show servers state web"), 2);
}
END_TEST

START_TEST(test_reload_by_signal)
{
    struct error err = {0};
    struct cli_processes before = processes();
    local_helper_free(helper);
    options.reload = LOCAL_RELOAD_SIGNAL;
    helper = local_helper_start(&options, &err);
    local_helper_attach(helper, base, NULL, NULL);
    ck_assert_msg(wait_for(local_reload(helper, on_answer, NULL)) == LOCAL_OK, "%s", seen.message);
    ck_assert_int_eq(seen.pid, running);
    await_new_worker(&before);
    cli_processes_fini(&before);
}
END_TEST

START_TEST(test_refused_reload_is_told)
{
    const char *log;
    struct cli_processes before = processes();
    ck_assert_int_eq(
        wait_for(local_write_config(helper, "nonsense\n", 9, NULL, LOCAL_WRITE_UNCHECKED, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_reload(helper, on_answer, NULL)), LOCAL_OK);
    enum cli_reload reload = cli_read_reload(seen.data, &log);
    ck_assert(reload == CLI_RELOAD_FAILED || reload == CLI_RELOAD_UNKNOWN);
    for (bool told = reload == CLI_RELOAD_FAILED; !told;) {
        struct cli_processes now = processes();
        told = now.failed_reloads > before.failed_reloads;
        cli_processes_fini(&now);
    }
    cli_processes_fini(&before);
    struct cli_processes now = processes();
    ck_assert_int_ne(now.worker_pid, 0);
    cli_processes_fini(&now);
}
END_TEST

int main(void)
{
    const char *given = getenv("HAPROXY");
    haproxy = given != NULL ? given : "/usr/sbin/haproxy";
    if (access(haproxy, X_OK) != 0) {
        printf("skipped: no %s here\n", haproxy);
        return EXIT_SUCCESS;
    }
    Suite *s = suite_create("local_haproxy");
    TCase *t = tcase_create("running");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, test_servers_come_and_go);
    tcase_add_test(t, test_file_written_and_reloaded_by_the_master);
    tcase_add_test(t, test_reload_by_signal);
    tcase_add_test(t, test_refused_reload_is_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
