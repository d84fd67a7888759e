/* src/haproxy/local/driver with a HAProxy that runs (2.6 reports the end of no reload, 2.7 and later do). */
#include "local_driver.h"

FIXTURE(set_up_driver, tear_down_driver)

TEST(what_is_there_is_read)
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
    put(config, "global\n", 0644);
    read_it();
    ck_assert_int_eq(readout.version, 2);
    ck_assert_str_eq(readout.file->text, "global\n");
}

/* Byte for byte what was given, and nothing runs it before it is loaded. */
TEST(a_configuration_is_validated_written_and_loaded)
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

TEST(a_text_is_checked_once)
{
    count_checks();
    struct cfg_content *one = content_of("# one\n"), *two = content_of("# two\n");
    ck_assert_int_eq(replace(readout.version, one, false), TRANSACTION_PREVIEWED);
    ck_assert_int_eq(replace(readout.version, one, true), TRANSACTION_COMMITTED);
    ck_assert_uint_eq(checks(), 1);
    read_it();
    ck_assert_int_eq(replace(readout.version, one, false), TRANSACTION_PREVIEWED);
    ck_assert_int_eq(replace(readout.version, two, true), TRANSACTION_COMMITTED); /* another one */
    ck_assert_uint_eq(checks(), 3);
    assert_file_is(two->text);
    cfg_content_unref(one);
    cfg_content_unref(two);
}

TEST(what_haproxy_refuses_is_reported_by_line)
{
    struct cfg_content *c = content_of("    nonsense here\n");
    read_it();
    for (int writes = 0; writes < 2; writes++) {
        ck_assert_int_eq(replace(readout.version, c, writes != 0), TRANSACTION_REJECTED);
        ck_assert_msg(strncmp(last.why.message, "line 13: unknown keyword 'nonsense'", 35) == 0, "%s",
                      last.why.message);
        ck_assert_ptr_null(strstr(last.why.message, "ALERT"));
        assert_file_is(text);
    }
    cfg_content_unref(c);
}

TEST(a_file_that_another_writer_wrote_is_never_overwritten)
{
    struct cfg_content *c = content_of("    # ours\n");
    char *theirs = mem_printf("%s    # theirs\n", text);
    read_it();
    put(config, theirs, 0644);
    ck_assert_int_eq(replace(readout.version, c, true), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
    read_it();
    ck_assert_int_eq(replace(readout.version - 1, c, true), TRANSACTION_CONFLICT); /* of another version */
    assert_file_is(theirs);
    ck_assert_int_eq(replace(readout.version, c, true), TRANSACTION_COMMITTED);
    assert_file_is(c->text);
    free(theirs);
    cfg_content_unref(c);
}

TEST(a_reload_that_haproxy_refuses_is_reported)
{
    read_it();
    int64_t pid = readout.worker_pid;
    put(config, "nonsense\n", 0644);
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_msg(reload.error.kind == ERROR_INVALID, "%s", reload.error.message);
    bool says_why = strncmp(readout.haproxy, "2.6", 3) != 0; /* from 2.7 on the master does, with its line */
    const char *why = says_why ? "failed, HAProxy says: line 1: unknown keyword 'nonsense'" : "failed";
    ck_assert_msg(strstr(reload.error.message, why) != NULL, "%s", reload.error.message);
    read_it();
    ck_assert_int_eq(readout.worker_pid, pid);
}

static void reload_by(const char *const *command)
{
    options.reload_command = command;
    start_again();
    read_it();
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
TEST_EACH(a_command_that_fails_is_no_command_that_cannot_be_run, array_len(commanded))
{
    const char *const words[] = {commanded[_i].program, "-c", commanded[_i].script, NULL};
    reload_by(words);
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_msg(strstr(reload.error.message, commanded[_i].why) != NULL, "%s", reload.error.message);
    ck_assert_int_eq(reload.error.kind, commanded[_i].kind);
}

/* It comes about later than we waited for it: the next reading shows that, and asks for no other one. */
TEST(a_reload_that_was_lost_is_found)
{
    static const char *const words[] = {"/bin/sh", "-c", "kill -9 $$", NULL};
    struct cfg_content *c = content_of("backend more\n");
    reload_by(words);
    struct cli_processes before = processes(); /* a master that has begun executes itself anew before it says that */
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
    start_again();
    read_it();
    ck_assert(!readout.unloaded); /* noted, too */
    cfg_content_unref(c);
}

TEST(a_reload_by_command_is_seen_by_who_runs)
{
    struct cli_processes before = processes();
    cleanup(mem_free_ptr) char *kill = mem_printf("kill -USR2 %d", (int)before.master_pid);
    const char *const words[] = {"/bin/sh", "-c", kill, NULL};
    cli_processes_fini(&before);
    reload_by(words);
    int64_t pid = readout.worker_pid;
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    ck_assert_int_ne(readout.worker_pid, pid);
}

static void put_socket_back(evutil_socket_t fd, short what, void *arg)
{
    ck_assert_int_eq(rename(arg, master), 0);
}

/* As where it executes itself anew: its socket is closed and opened again. */
TEST(a_master_that_does_not_listen_yet_is_asked_again)
{
    cleanup(mem_free_ptr) char *away = mem_printf("%s.away", master);
    read_it();
    int64_t pid = readout.worker_pid;
    ck_assert_int_eq(rename(master, away), 0);
    const struct timeval soon = {.tv_usec = 200000};
    ck_assert_int_eq(event_base_once(base, -1, EV_TIMEOUT, put_socket_back, away, &soon), 0);
    ck_assert_msg(reload_it() == RELOAD_DONE, "%s", reload.error.message);
    read_it();
    ck_assert_int_ne(readout.worker_pid, pid);
}

/* It may have been started anew since, with other servers than those that were read before. */
TEST(what_could_not_be_read_gets_a_reload)
{
    cleanup(mem_free_ptr) char *away = mem_printf("%s.away", stats);
    const struct backend_server n1 = {.name = (char *)"n1", .address = (char *)"127.0.0.9", .port = 9, .weight = 1};
    const struct change come = change_of(CHANGE_ADD_SERVER, &n1);
    read_it();
    ck_assert_int_eq(rename(stats, away), 0);
    read_it();
    ck_assert_int_eq(rename(away, stats), 0);
    reloads = false;
    ck_assert_int_eq(write_changes(&come, 1), TRANSACTION_COMMITTED);
    ck_assert_msg(last.reload_id != NULL && strstr(last.reload_why, "could not be read") != NULL, "%s",
                  last.reload_why);
}

TEST(a_haproxy_that_is_gone_is_reported)
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
