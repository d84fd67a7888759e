/* src/haproxy/local/driver with a HAProxy that runs (2.6 tells the end of no reload, 2.7 and later do). */
#include "local_haproxy.h"

#include "haproxy/cfg/content.h"
#include "haproxy/local/driver.h"
#include "haproxy/readout.h"
#include "haproxy/reload.h"

static struct driver *driver;
static struct readout readout;
static struct reload reload;

static struct {
    unsigned told;
    struct error error; /* of a reading or a command */
    enum transaction_result result;
    struct error why; /* of a write */
    int64_t version;
    char *reload_id;
    struct cfg_content *file;
} last;

static void on_read(void *arg, const struct error *err)
{
    (void)arg;
    last.told++;
    last.error = err != NULL ? *err : (struct error){0};
}

static void on_replaced(void *arg, const struct replaced *r)
{
    (void)arg;
    last.told++;
    last.result = r->result;
    last.why = r->error;
    last.version = r->version;
    last.file = r->file;
}

static void on_written(void *arg, const struct written *w)
{
    (void)arg;
    last.told++;
    last.result = w->result;
    last.version = w->version;
    free(last.reload_id);
    last.reload_id = mem_strdup(w->reload_id);
}

static void on_commanded(void *arg, uint64_t took_us, const struct error *err)
{
    (void)took_us;
    on_read(arg, err);
}

static void on_reload(void *arg)
{
    (void)arg;
    last.told++;
}

static const struct driver_events events = {.was_read = on_read,
                                            .written = on_written,
                                            .replaced = on_replaced,
                                            .commanded = on_commanded,
                                            .reload_told = on_reload};

/* Each is told once, and never within the call that asks for it. */
static void await_told(void)
{
    ck_assert_uint_eq(last.told, 0);
    while (last.told == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.told, 1);
    last.told = 0;
}

static void make_driver(void)
{
    const struct local_driver_options o = {.helper = helper,
                                           .commands = helper,
                                           .file = config,
                                           .has_master = options.master_socket != NULL,
                                           .by_master = options.reload == LOCAL_RELOAD_MASTER,
                                           .deadline_ms = 2000};
    driver = local_driver_new(base, &o);
    driver->events = &events;
}

static void set_up_driver(void)
{
    static const char *const names[] = {"web"};
    set_up();
    memset(&last, 0, sizeof(last));
    make_driver();
    readout_init(&readout, names, 0);
}

static void tear_down_driver(void)
{
    driver->ops->free(driver);
    readout_fini(&readout);
    reload_fini(&reload);
    free(last.reload_id);
    tear_down();
}

static void read_it(void)
{
    driver->ops->read(driver, &readout);
    await_told();
    ck_assert_msg(last.error.kind == ERROR_NONE, "%s", last.error.message);
}

static struct cfg_content *content_of(const char *more)
{
    char *all = mem_printf("%s%s", text, more);
    return cfg_content_new(all, strlen(all));
}

static enum transaction_result replace(int64_t version, struct cfg_content *c, bool writes)
{
    driver->ops->replace(driver, version,
                         &(struct replacement_request){.text = c, .before = writes ? readout.file : NULL});
    await_told();
    return last.result;
}

/* How the reload of what is there ends. */
static enum reload_state reload_it(void)
{
    driver->ops->write(driver, readout.version, false);
    await_told();
    ck_assert_int_eq(last.result, TRANSACTION_COMMITTED);
    reload_follow(&reload, last.reload_id, 0);
    driver->ops->ask_reload(driver, &reload);
    await_told();
    enum reload_state state = reload.state;
    reload_follow(&reload, last.reload_id, 0);
    driver->ops->ask_reload(driver, &reload); /* of one that has ended */
    await_told();
    ck_assert_int_eq(reload.state, state);
    return state;
}

static void assert_file_is(const char *expected)
{
    struct buf b = {0};
    ck_assert_int_eq(buf_read_file(&b, config), 0);
    ck_assert_str_eq(buf_str(&b), expected);
    buf_fini(&b);
}

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

START_TEST(what_haproxy_refuses_is_told_by_line)
{
    struct cfg_content *c = content_of("    nonsense here\n");
    read_it();
    for (int writes = 0; writes < 2; writes++) {
        ck_assert_int_eq(replace(readout.version, c, writes != 0), TRANSACTION_REJECTED);
        ck_assert_msg(strncmp(last.why.message, "line 11: unknown keyword 'nonsense'", 35) == 0, "%s",
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
    ck_assert_ptr_nonnull(strstr(reload.error.message, "failed"));
    read_it();
    ck_assert_int_eq(readout.worker_pid, pid);
}
END_TEST

START_TEST(a_reload_by_signal_is_seen_by_who_runs)
{
    struct error err = {0};
    driver->ops->free(driver);
    local_helper_free(helper);
    options.reload = LOCAL_RELOAD_SIGNAL;
    helper = local_helper_start(&options, &err);
    local_helper_attach(helper, base, NULL, NULL);
    make_driver();
    read_it();
    int64_t pid = readout.worker_pid;
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    ck_assert_int_ne(readout.worker_pid, pid);
}
END_TEST

/* Commands wait for nothing, and a state that HAProxy does not know is no state. */
START_TEST(a_server_is_put_into_a_state)
{
    driver->ops->command(driver, "web", "s1", RUNTIME_MAINT);
    await_told();
    ck_assert_msg(last.error.kind == ERROR_NONE, "%s", last.error.message);
    driver->ops->command(driver, "web", "s9", RUNTIME_MAINT);
    await_told();
    ck_assert_int_eq(last.error.kind, ERROR_GONE);
}
END_TEST

/* The file is read whoever runs. */
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
    tcase_add_test(t, what_haproxy_refuses_is_told_by_line);
    tcase_add_test(t, a_file_that_somebody_wrote_is_never_overwritten);
    tcase_add_test(t, a_reload_that_haproxy_refuses_is_told);
    tcase_add_test(t, a_reload_by_signal_is_seen_by_who_runs);
    tcase_add_test(t, a_server_is_put_into_a_state);
    tcase_add_test(t, a_haproxy_that_is_gone_is_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
