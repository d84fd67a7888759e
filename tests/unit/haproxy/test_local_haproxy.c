/* haproxy/local with a HAProxy that runs: `haproxy -W` with its master and stats sockets; $HAPROXY, or the system's. */
#include "local_haproxy.h"

/* What runs, by the socket that asks for it. */
static size_t servers(enum local_socket socket, const char *line)
{
    struct cli_servers s;
    struct error err = {0};
    ck_assert_int_eq(command(socket, line), LOCAL_OK);
    ck_assert_msg(cli_servers_init(&s, seen.data, &err) == 0, "%s", err.message);
    size_t count = s.count;
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
    ck_assert_int_eq(err.kind, ERROR_INVALID);
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
    local_helper_attach(helper, base, NULL);
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
    if (!find_haproxy())
        return EXIT_SUCCESS;
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
