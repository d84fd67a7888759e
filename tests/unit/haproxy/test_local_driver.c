/* src/haproxy/local/driver with a HAProxy that runs (2.6 tells the end of no reload, 2.7 and later do). */
#include "local_haproxy.h"

#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
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
    enum update_result update;
    bool maintenance; /* of the line that was updated */
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
    last.why = w->error;
    last.version = w->version;
    free(last.reload_id);
    last.reload_id = mem_strdup(w->reload_id);
}

static void on_updated(void *arg, const struct updated *u)
{
    (void)arg;
    last.told++;
    last.update = u->result;
    last.maintenance = u->wanted->maintenance;
    last.why = u->error;
    last.version = u->version;
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
                                            .updated = on_updated,
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
    readout_init(&readout, names, 1);
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

/* ---- servers ---- */

static const struct backend_server *line_of(const char *name)
{
    const struct backend_server *found = backend_find(&readout.found[0].backend, name);
    ck_assert_ptr_nonnull(found);
    return found;
}

static const struct runtime_server *row_of(const char *name)
{
    return runtime_find(&readout.found[0].runtime, name);
}

static enum transaction_result write_changes(const struct change *list, size_t count)
{
    struct error err = {0};
    ck_assert_msg(driver->ops->add(driver, list, count, &err) == 0, "%s", err.message);
    driver->ops->write(driver, readout.version, true);
    await_told();
    return last.result;
}

START_TEST(servers_are_read_from_the_file_and_from_what_runs)
{
    read_it();
    ck_assert(readout.found[0].backend.exists && readout.found[0].unreadable.kind == ERROR_NONE);
    ck_assert_int_eq(readout.found[0].backend.version, readout.version);
    ck_assert_str_eq(line_of("s1")->address, "127.0.0.1");
    ck_assert(readout.found[0].runtime.readable);
    ck_assert(row_of("s1")->port == 1 && row_of("s1")->admin == RUNTIME_READY);
    char *broken = mem_printf("%s    balance \"$X\"\n", text);
    put(config, broken);
    read_it(); /* of one backend alone */
    ck_assert_int_eq(readout.found[0].unreadable.kind, ERROR_INVALID);
    ck_assert_ptr_nonnull(strstr(readout.found[0].unreadable.message, "reading backend web: haproxy.cfg, line 12"));
    free(broken);
}
END_TEST

START_TEST(changes_are_written_and_loaded)
{
    read_it();
    const struct backend_server added = {.name = (char *)"n1", .address = (char *)"127.0.0.9", .port = 9, .weight = 3};
    const struct change list[] = {
        {.kind = CHANGE_ADD_SERVER, .backend = &readout.found[0].backend, .server = &added},
        {.kind = CHANGE_REMOVE_SERVER, .backend = &readout.found[0].backend, .server = line_of("s1")}};
    ck_assert_int_eq(write_changes(list, 2), TRANSACTION_COMMITTED);
    reload_follow(&reload, last.reload_id, 0);
    driver->ops->ask_reload(driver, &reload);
    await_told();
    ck_assert_int_eq(reload.state, RELOAD_DONE);
    read_it();
    ck_assert_int_eq(readout.version, last.version);
    ck_assert_uint_eq(readout.found[0].backend.server_count, 1);
    ck_assert(row_of("s1") == NULL && row_of("n1") != NULL && row_of("n1")->port == 9);
}
END_TEST

/* Not one of several, and nothing of it is left for the next write. */
START_TEST(changes_that_haproxy_refuses_are_not_written)
{
    read_it();
    const struct change bad = {
        .kind = CHANGE_SET_BACKEND, .backend = &readout.found[0].backend, .settings.balance = "nonsense"};
    ck_assert_int_eq(write_changes(&bad, 1), TRANSACTION_REJECTED);
    ck_assert_msg(strncmp(last.why.message, "line 11: balance only supports", 30) == 0, "%s", last.why.message);
    assert_file_is(text);
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    assert_file_is(text);
    const struct backend_server nobody = {.name = (char *)"nobody"};
    const struct change gone = {.kind = CHANGE_REMOVE_SERVER, .backend = &readout.found[0].backend, .server = &nobody};
    struct error err = {0};
    ck_assert_int_eq(driver->ops->add(driver, &gone, 1, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
}
END_TEST

START_TEST(changes_of_another_file_are_a_conflict)
{
    read_it();
    const struct change c = {
        .kind = CHANGE_SET_BACKEND, .backend = &readout.found[0].backend, .settings.balance = "leastconn"};
    readout.version--;
    ck_assert_int_eq(write_changes(&c, 1), TRANSACTION_CONFLICT);
    readout.version++;
    char *theirs = mem_printf("%s    # theirs\n", text);
    put(config, theirs);
    ck_assert_int_eq(write_changes(&c, 1), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
    free(theirs);
}
END_TEST

static enum update_result update(struct backend_server s, unsigned fields, bool keep)
{
    struct error err = {0};
    const struct update_request r = {.backend = "web", .server = &s, .fields = fields, .keep_maintenance = keep};
    ck_assert_msg(driver->ops->update(driver, readout.version, &r, &err) == 0, "%s", err.message);
    await_told();
    return last.update;
}

START_TEST(one_server_changes_without_a_reload)
{
    read_it();
    int64_t pid = readout.worker_pid;
    struct backend_server s = *line_of("s1");
    s.address = (char *)"127.0.0.7";
    s.port = 7;
    s.weight = 5;
    ck_assert_msg(update(s, SERVER_ADDRESS | SERVER_PORT | SERVER_WEIGHT, false) == UPDATE_WRITTEN, "%s",
                  last.why.message);
    read_it();
    ck_assert_int_eq(readout.version, last.version);
    ck_assert(line_of("s1")->port == 7 && line_of("s1")->weight == 5 && !readout.unloaded);
    ck_assert_str_eq(row_of("s1")->address, "127.0.0.7");
    ck_assert(row_of("s1")->port == 7 && row_of("s1")->weight == 5);
    s = *line_of("s1");
    s.maintenance = true;
    ck_assert_int_eq(update(s, SERVER_MAINTENANCE, false), UPDATE_WRITTEN);
    read_it();
    ck_assert(line_of("s1")->maintenance && row_of("s1")->admin == RUNTIME_MAINT);
    s = *line_of("s1");
    s.maintenance = false;
    s.port = 8;
    ck_assert_int_eq(update(s, SERVER_MAINTENANCE | SERVER_PORT, true), UPDATE_WRITTEN); /* the port alone */
    ck_assert(last.maintenance);
    read_it();
    ck_assert(line_of("s1")->maintenance && row_of("s1")->admin == RUNTIME_MAINT && row_of("s1")->port == 8);
    s = *line_of("s1");
    s.maintenance = false;
    ck_assert_int_eq(update(s, SERVER_MAINTENANCE, false), UPDATE_WRITTEN);
    read_it();
    ck_assert(!line_of("s1")->maintenance && row_of("s1")->admin == RUNTIME_READY);
    ck_assert_int_eq(readout.worker_pid, pid);
}
END_TEST

/* The file has it; a reload is to bring it about. */
START_TEST(what_haproxy_does_not_run_is_not_verified)
{
    char *more = mem_printf("%s    server s2 127.0.0.1:2\n", text);
    put(config, more);
    read_it();
    struct backend_server s = *line_of("s2");
    s.port = 3;
    ck_assert_int_eq(update(s, SERVER_PORT, false), UPDATE_UNVERIFIED);
    ck_assert_ptr_nonnull(strstr(last.why.message, "server s2 is as desired in haproxy.cfg, but not verified"));
    read_it();
    ck_assert_uint_eq(line_of("s2")->port, 3);
    free(more);
    /* Nor what it runs in another way. */
    more = mem_printf("%.*s disabled\n", (int)strlen(text) - 1, text);
    put(config, more);
    read_it();
    s = *line_of("s1");
    s.weight = 9;
    ck_assert_int_eq(update(s, SERVER_WEIGHT, false), UPDATE_UNVERIFIED);
    ck_assert_ptr_nonnull(strstr(last.why.message, "HAProxy has it in ready, not in maint"));
    free(more);
}
END_TEST

START_TEST(a_server_of_another_file_is_a_conflict)
{
    read_it();
    struct backend_server s = *line_of("s1");
    s.port = 3;
    char *theirs = mem_printf("%s    # theirs\n", text);
    readout.version--;
    ck_assert_int_eq(update(s, SERVER_PORT, false), UPDATE_CONFLICT);
    assert_file_is(text);
    readout.version++;
    put(config, theirs);
    ck_assert_int_eq(update(s, SERVER_PORT, false), UPDATE_CONFLICT);
    assert_file_is(theirs);
    struct error err = {0};
    free(theirs);
    theirs = mem_printf("%s    server a;b 127.0.0.1:2\n", text);
    put(config, theirs);
    read_it();
    s.name = (char *)"a;b";
    const struct update_request r = {.backend = "web", .server = &s, .fields = SERVER_PORT};
    ck_assert_int_eq(driver->ops->update(driver, readout.version, &r, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    free(theirs);
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
    tcase_add_test(t, servers_are_read_from_the_file_and_from_what_runs);
    tcase_add_test(t, changes_are_written_and_loaded);
    tcase_add_test(t, changes_that_haproxy_refuses_are_not_written);
    tcase_add_test(t, changes_of_another_file_are_a_conflict);
    tcase_add_test(t, one_server_changes_without_a_reload);
    tcase_add_test(t, what_haproxy_does_not_run_is_not_verified);
    tcase_add_test(t, a_server_of_another_file_is_a_conflict);
    tcase_add_test(t, a_server_is_put_into_a_state);
    tcase_add_test(t, a_haproxy_that_is_gone_is_told);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
