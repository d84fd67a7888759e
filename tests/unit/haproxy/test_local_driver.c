/* src/haproxy/local/driver with a HAProxy that runs (2.6 tells the end of no reload, 2.7 and later do). */
#include "local_driver.h"

#include <sys/stat.h>

START_TEST(what_is_there_is_read)
{
    read_it();
    ck_assert_str_eq(readout.file->text, text);
    ck_assert_int_eq(readout.version, 1);
    struct cli_processes now = processes();
    ck_assert_int_eq(readout.worker_pid, now.worker_pid);
    cli_processes_fini(&now);
    ck_assert_int_ge(readout.worker_uptime_s, 0);
    ck_assert_int_gt(readout.haproxy[0], '0');
    ck_assert(!readout.worker_silent && !readout.unloaded && readout.file_problem == NULL);
    read_it();
    ck_assert_int_eq(readout.version, 1);
    put(config, "global\n");
    read_it();
    ck_assert_int_eq(readout.version, 2);
    ck_assert_str_eq(readout.file->text, "global\n");
}
END_TEST

/* Byte for byte what was given, and nothing runs it before it is loaded. */
START_TEST(a_configuration_is_validated_written_and_loaded)
{
    struct cfg_content *c =
        content_of("   # \"as it stands\"\n\tserver  s2\t127.0.0.1:2 # here\n.if defined(X)\n.endif\n");
    read_it();
    int64_t pid = readout.worker_pid, version = readout.version;
    ck_assert_int_eq(replace(version, c, false), TRANSACTION_PREVIEWED);
    assert_file_is(text);
    ck_assert_int_eq(replace(version, c, true), TRANSACTION_COMMITTED);
    ck_assert_int_eq(last.version, version + 1);
    ck_assert_ptr_eq(last.file, c);
    assert_file_is(c->text);
    read_it();
    ck_assert(readout.unloaded && readout.version == version + 1 && readout.worker_pid == pid);
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    ck_assert(!readout.unloaded && readout.worker_pid != pid);
    cfg_content_unref(c);
}
END_TEST

/* How often `haproxy -c` ran, by a program in its place that keeps count. */
static size_t checks(const char *count)
{
    struct buf b = {0};
    size_t len = buf_read_file(&b, count) == 0 ? b.len : 0;
    buf_fini(&b);
    return len;
}

START_TEST(a_text_is_checked_once)
{
    struct error err = {0};
    cleanup(mem_free_ptr) char *script = mem_printf("%s/script", folder), *count = mem_printf("%s/count", folder);
    cleanup(mem_free_ptr) char *lines = mem_printf("#!/bin/sh\nprintf x >> %s\nexec %s \"$@\"\n", count, haproxy);
    put(script, lines);
    ck_assert_int_eq(chmod(script, 0755), 0);
    driver->ops->free(driver);
    local_helper_free(helper);
    options.haproxy = script;
    helper = local_helper_start(&options, &err);
    local_helper_attach(helper, base, NULL);
    make_driver();
    struct cfg_content *one = content_of("# one\n"), *two = content_of("# two\n");
    read_it();
    ck_assert_int_eq(replace(readout.version, one, false), TRANSACTION_PREVIEWED);
    ck_assert_int_eq(replace(readout.version, one, true), TRANSACTION_COMMITTED);
    ck_assert_uint_eq(checks(count), 1);
    read_it();
    ck_assert_int_eq(replace(readout.version, one, false), TRANSACTION_PREVIEWED);
    ck_assert_int_eq(replace(readout.version, two, true), TRANSACTION_COMMITTED); /* another one */
    ck_assert_uint_eq(checks(count), 3);
    assert_file_is(two->text);
    cfg_content_unref(one);
    cfg_content_unref(two);
}
END_TEST

START_TEST(what_haproxy_refuses_is_told_by_line)
{
    struct cfg_content *c = content_of("    nonsense here\n");
    read_it();
    for (int writes = 0; writes < 2; writes++) {
        ck_assert_int_eq(replace(readout.version, c, writes != 0), TRANSACTION_REJECTED);
        ck_assert_msg(strncmp(last.why.message, "line 12: unknown keyword 'nonsense'", 35) == 0, "%s",
                      last.why.message);
        ck_assert_ptr_null(strstr(last.why.message, "ALERT"));
        assert_file_is(text);
    }
    cfg_content_unref(c);
}
END_TEST

START_TEST(a_file_that_somebody_wrote_is_never_overwritten)
{
    struct cfg_content *c = content_of("    # ours\n");
    char *theirs = mem_printf("%s    # theirs\n", text);
    read_it();
    put(config, theirs);
    ck_assert_int_eq(replace(readout.version, c, true), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
    ck_assert_int_eq(replace(readout.version - 1, c, true), TRANSACTION_CONFLICT); /* of another version */
    read_it();
    ck_assert_int_eq(replace(readout.version, c, true), TRANSACTION_COMMITTED);
    assert_file_is(c->text);
    free(theirs);
    cfg_content_unref(c);
}
END_TEST

START_TEST(a_reload_that_haproxy_refuses_is_told)
{
    read_it();
    int64_t pid = readout.worker_pid;
    put(config, "nonsense\n");
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_msg(reload.error.kind == ERROR_INVALID, "%s", reload.error.message);
    bool says_why = strncmp(readout.haproxy, "2.6", 3) != 0; /* from 2.7 on the master does, with its line */
    const char *why = says_why ? "failed, HAProxy says: line 1: unknown keyword 'nonsense'" : "failed";
    ck_assert_msg(strstr(reload.error.message, why) != NULL, "%s", reload.error.message);
    read_it();
    ck_assert_int_eq(readout.worker_pid, pid);
}
END_TEST

static void reload_by(enum local_reload_way way)
{
    struct error err = {0};
    driver->ops->free(driver);
    local_helper_free(helper);
    options.reload = way;
    helper = local_helper_start(&options, &err);
    local_helper_attach(helper, base, NULL);
    make_driver();
}

static const struct {
    const char *script, *program;
    enum error_kind kind;
    const char *why;
} commanded[] = {
    {"echo no such unit >&2; exit 5", "/bin/sh", ERROR_INVALID, "failed: /bin/sh: exit status 5: no such unit"},
    {"kill -9 $$", "/bin/sh", ERROR_RETRY, "is lost: /bin/sh: killed by signal 9"},
    {"", "/nowhere/reload", ERROR_RETRY, "is lost: "},
};

/* What HAProxy was not asked for says nothing of its file. */
START_TEST(a_command_that_fails_is_no_command_that_cannot_be_run)
{
    const char *const words[] = {commanded[_i].program, "-c", commanded[_i].script, NULL};
    options.reload_command = words;
    reload_by(LOCAL_RELOAD_COMMAND);
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_msg(strstr(reload.error.message, commanded[_i].why) != NULL, "%s", reload.error.message);
    ck_assert_int_eq(reload.error.kind, commanded[_i].kind);
}
END_TEST

START_TEST(a_signal_that_nobody_gets_is_lost)
{
    reload_by(LOCAL_RELOAD_SIGNAL);
    read_it();
    end_haproxy();
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_msg(reload.error.kind == ERROR_RETRY, "%s", reload.error.message);
}
END_TEST

/* It comes about later than we waited for it: whoever reads next sees that, and asks for no other one. */
START_TEST(a_reload_that_was_lost_is_found)
{
    static const char *const words[] = {"/bin/sh", "-c", "kill -9 $$", NULL};
    struct cfg_content *c = content_of("backend more\n");
    options.reload_command = words;
    reload_by(LOCAL_RELOAD_COMMAND);
    struct cli_processes before = processes(); /* a master that has begun executes itself anew before it says that */
    read_it();
    ck_assert_int_eq(replace(readout.version, c, true), TRANSACTION_COMMITTED);
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    read_it();
    ck_assert(readout.unloaded);
    (void)command(LOCAL_SOCKET_MASTER, "reload");
    await_new_worker(&before);
    cli_processes_fini(&before);
    int64_t pid = readout.worker_pid;
    do
        read_it();
    while (readout.worker_pid < 0 || readout.worker_pid == pid);
    ck_assert(!readout.unloaded);
    read_it();
    ck_assert(!readout.unloaded);
    driver->ops->free(driver);
    make_driver();
    read_it();
    ck_assert(!readout.unloaded); /* noted, too */
    cfg_content_unref(c);
}
END_TEST

START_TEST(a_reload_by_signal_is_seen_by_who_runs)
{
    reload_by(LOCAL_RELOAD_SIGNAL);
    read_it();
    int64_t pid = readout.worker_pid;
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    ck_assert_int_ne(readout.worker_pid, pid);
}
END_TEST

static void put_socket_back(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    ck_assert_int_eq(rename(arg, master), 0);
}

/* As where it executes itself anew: its socket is closed and opened again. */
START_TEST(a_master_that_does_not_listen_yet_is_asked_again)
{
    char *away = mem_printf("%s.away", master);
    read_it();
    int64_t pid = readout.worker_pid;
    ck_assert_int_eq(rename(master, away), 0);
    const struct timeval soon = {.tv_usec = 200000};
    ck_assert_int_eq(event_base_once(base, -1, EV_TIMEOUT, put_socket_back, away, &soon), 0);
    ck_assert_msg(reload_it() == RELOAD_DONE, "%s", reload.error.message);
    read_it();
    ck_assert_int_ne(readout.worker_pid, pid);
    free(away);
}
END_TEST

START_TEST(a_haproxy_that_is_gone_is_told)
{
    read_it();
    end_haproxy();
    read_it();
    ck_assert(readout.worker_silent && readout.worker_pid == -1);
    ck_assert_str_eq(readout.file->text, text);
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_int_eq(reload.error.kind, ERROR_RETRY); /* nobody knows what it would run */
    driver->ops->command(driver, "web", "s1", RUNTIME_MAINT);
    await_told();
    ck_assert_int_eq(last.error.kind, ERROR_RETRY);
}
END_TEST

int main(void)
{
    if (!find_haproxy())
        return EXIT_SUCCESS;
    Suite *s = suite_create("local_driver");
    TCase *t = tcase_create("running");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up_driver, tear_down_driver);
    tcase_add_test(t, what_is_there_is_read);
    tcase_add_test(t, a_configuration_is_validated_written_and_loaded);
    tcase_add_test(t, a_text_is_checked_once);
    tcase_add_test(t, what_haproxy_refuses_is_told_by_line);
    tcase_add_test(t, a_file_that_somebody_wrote_is_never_overwritten);
    tcase_add_test(t, a_reload_that_haproxy_refuses_is_told);
    tcase_add_loop_test(t, a_command_that_fails_is_no_command_that_cannot_be_run, 0, (int)array_len(commanded));
    tcase_add_test(t, a_signal_that_nobody_gets_is_lost);
    tcase_add_test(t, a_reload_that_was_lost_is_found);
    tcase_add_test(t, a_reload_by_signal_is_seen_by_who_runs);
    tcase_add_test(t, a_master_that_does_not_listen_yet_is_asked_again);
    tcase_add_test(t, a_haproxy_that_is_gone_is_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
