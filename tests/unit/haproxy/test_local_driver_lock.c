/* src/haproxy/local/driver with a HAProxy that runs: what an earlier daemon left, and one that lives beside this one. */
#include "local_haproxy.h"

#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/local/driver.h"
#include "haproxy/readout.h"
#include "haproxy/reload.h"

static struct driver *driver;
static struct readout readout;
static bool runtime, master_reloads, turns;
static unsigned refused_turns;

static struct {
    unsigned told, went_on;
    bool waited;
    struct error error;
    enum transaction_result result;
    enum update_result update;
    char *reload_id;
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
    last.error = r->error;
}

static void on_written(void *arg, const struct written *w)
{
    (void)arg;
    last.told++;
    last.result = w->result;
    last.error = w->error;
    free(last.reload_id);
    last.reload_id = w->reload_id != NULL ? mem_strdup(w->reload_id) : NULL;
}

static void on_updated(void *arg, const struct updated *u)
{
    (void)arg;
    last.told++;
    last.update = u->result;
    last.error = u->error;
}

static void on_reload(void *arg)
{
    (void)arg;
    last.told++;
}

static void on_go_on(void *arg, bool waited)
{
    (void)arg;
    last.went_on++;
    last.waited = waited;
}

static const struct driver_events events = {.was_read = on_read,
                                            .written = on_written,
                                            .replaced = on_replaced,
                                            .updated = on_updated,
                                            .reload_told = on_reload,
                                            .go_on = on_go_on};

static void await_told(void)
{
    while (last.told == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.told, 1);
    last.told = 0;
}

static void await_going_on(bool waited)
{
    while (last.went_on == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert(last.waited == waited);
    last.went_on = 0;
}

static void make_driver(void)
{
    const struct local_driver_options o = {.helper = helper,
                                           .commands = runtime ? helper : NULL,
                                           .file = config,
                                           .has_master = runtime,
                                           .has_stats = true,
                                           .by_master = master_reloads,
                                           .takes_turns = turns,
                                           .deadline_ms = 5000};
    driver = local_driver_new(base, &o);
    driver->events = &events;
}

static void on_answered(void *arg, const char *request, const struct local_answer *a)
{
    (void)arg;
    refused_turns += str_eq(request, "lock") && a->status == LOCAL_LOCKED;
}

static void start_helper(void)
{
    const struct local_helper_events of = {.answered = on_answered};
    struct error err = {0};
    helper = local_helper_start(&options, &err);
    ck_assert_msg(helper != NULL, "%s", err.message);
    local_helper_attach(helper, base, &of);
}

static void set_up_driver(void)
{
    static const char *const names[] = {"web"};
    set_up();
    runtime = master_reloads = true;
    turns = false;
    memset(&last, 0, sizeof(last));
    make_driver();
    readout_init(&readout, names, 1);
}

static void tear_down_driver(void)
{
    driver->ops->free(driver);
    readout_fini(&readout);
    free(last.reload_id);
    tear_down();
}

/* A daemon that is killed, and the next one. */
static void die_and_start(void)
{
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGKILL), 0);
    driver->ops->free(driver);
    local_helper_free(helper);
    start_helper();
    make_driver();
}

static bool is_unloaded(void)
{
    driver->ops->read(driver, &readout);
    await_told();
    ck_assert_msg(last.error.kind == ERROR_NONE, "%s", last.error.message);
    return readout.unloaded;
}

static enum transaction_result replace(const char *more)
{
    char *all = mem_printf("%s%s", text, more);
    struct cfg_content *c = cfg_content_new(all, strlen(all));
    driver->ops->replace(driver, readout.version, &(struct replacement_request){.text = c, .before = readout.file});
    await_told();
    cfg_content_unref(c);
    return last.result;
}

static enum transaction_result ask_for_reload(void)
{
    driver->ops->write(driver, readout.version, false, true);
    await_told();
    return last.result;
}

static void await_reload(enum reload_state expected)
{
    struct reload reload = {0};
    reload_follow(&reload, last.reload_id, 0);
    driver->ops->ask_reload(driver, &reload);
    await_told();
    ck_assert_int_eq(reload.state, expected);
    reload_fini(&reload);
}

START_TEST(what_an_earlier_daemon_wrote_is_not_loaded)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_COMMITTED);
    for (int i = 0; i < 2; i++) {
        die_and_start();
        ck_assert(is_unloaded());
        ck_assert(is_unloaded()); /* a second look changes nothing */
    }
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    await_reload(RELOAD_DONE);
    ck_assert(!is_unloaded());
    die_and_start();
    ck_assert(!is_unloaded());
}
END_TEST

/* HAProxy refuses what is there: nothing is loaded by that. */
START_TEST(a_reload_that_failed_has_loaded_nothing)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_COMMITTED);
    options.master_socket = "/nowhere/at/all";
    die_and_start();
    ck_assert(is_unloaded());
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    await_reload(RELOAD_BROKEN);
    ck_assert(is_unloaded());
    options.master_socket = master;
    die_and_start();
    ck_assert(is_unloaded());
}
END_TEST

/* What the running HAProxy got by commands needs no reload at the next start. */
START_TEST(what_runs_without_a_reload_is_loaded)
{
    ck_assert(!is_unloaded());
    struct backend_server server = readout.found[0].backend.servers[0]; /* borrows */
    server.weight = 7;
    const struct update_request r = {.backend = "web", .server = &server, .fields = SERVER_WEIGHT};
    struct error err = {0};
    ck_assert_int_eq(driver->ops->update(driver, readout.version, &r, &err), 0);
    await_told();
    ck_assert_msg(last.update == UPDATE_WRITTEN, "%s", last.error.message);
    die_and_start();
    ck_assert(!is_unloaded());
    char name[] = "s9", address[] = "127.0.0.9";
    struct backend_server new = {.name = name, .address = address, .port = 9, .weight = -1};
    const struct change add = {.kind = CHANGE_ADD_SERVER, .backend = &readout.found[0].backend, .server = &new};
    ck_assert_int_eq(driver->ops->add(driver, &add, 1, &err), 0);
    driver->ops->write(driver, readout.version, false, false);
    await_told();
    ck_assert_int_eq(last.result, TRANSACTION_COMMITTED);
    if (last.reload_id != NULL)
        await_reload(RELOAD_DONE);
    die_and_start();
    ck_assert(!is_unloaded());
}
END_TEST

/* A server that changes beside a file that was never loaded loads nothing of that. */
START_TEST(an_update_loads_no_more_than_its_server)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_COMMITTED);
    die_and_start();
    ck_assert(is_unloaded());
    struct backend_server server = readout.found[0].backend.servers[0]; /* borrows */
    server.weight = 7;
    const struct update_request r = {.backend = "web", .server = &server, .fields = SERVER_WEIGHT};
    struct error err = {0};
    ck_assert_int_eq(driver->ops->update(driver, readout.version, &r, &err), 0);
    await_told();
    ck_assert_msg(last.update == UPDATE_WRITTEN, "%s", last.error.message);
    ck_assert(is_unloaded());
    die_and_start();
    ck_assert(is_unloaded());
}
END_TEST

/* Nobody read the file in between: the driver itself knows what it wrote. */
START_TEST(an_update_right_behind_a_write_loads_no_more)
{
    ck_assert(!is_unloaded());
    struct backend_server server = readout.found[0].backend.servers[0]; /* borrows */
    server.weight = 7;
    const struct update_request r = {.backend = "web", .server = &server, .fields = SERVER_WEIGHT};
    struct error err = {0};
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_COMMITTED);
    ck_assert_int_eq(driver->ops->update(driver, readout.version + 1, &r, &err), 0);
    await_told();
    ck_assert_msg(last.update == UPDATE_WRITTEN, "%s", last.error.message);
    die_and_start();
    ck_assert(is_unloaded());
}
END_TEST

/* The reading was asked for before the reload ended, and its answer is older than that. */
START_TEST(what_was_read_before_the_end_of_a_reload)
{
    static const char *const command[] = {"/bin/true", NULL};
    options.reload = LOCAL_RELOAD_COMMAND;
    options.reload_command = command;
    runtime = master_reloads = false;
    die_and_start();
    ck_assert(!is_unloaded());
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_COMMITTED);
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    ck_assert(!is_unloaded());
    await_reload(RELOAD_DONE);
    ck_assert(!is_unloaded());
}
END_TEST

START_TEST(while_another_daemon_has_the_file)
{
    ck_assert(!is_unloaded());
    ck_assert_ptr_null(driver->waits);
    struct local_helper *ours = helper;
    start_helper();
    ck_assert_int_eq(wait_for(local_lock_config(helper, on_answer, NULL)), LOCAL_OK);
    struct local_helper *theirs = helper;
    helper = ours;
    char *waits =
        mem_printf("another daemon (pid %d) writes %s; this one waits until that ends", (int)getpid(), config);
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_UNAVAILABLE);
    ck_assert_str_eq(last.error.message, waits);
    ck_assert_str_eq(driver->waits, waits);
    struct cli_processes before = processes();
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_UNAVAILABLE); /* who may not write does not reload, either */
    ck_assert_str_eq(last.error.message, waits);
    struct cli_processes now = processes();
    ck_assert_int_eq(now.worker_pid, before.worker_pid);
    cli_processes_fini(&before);
    cli_processes_fini(&now);
    ck_assert_uint_eq(last.went_on, 0);
    local_helper_free(theirs);
    await_going_on(true);
    ck_assert_ptr_null(driver->waits);
    ck_assert_int_eq(replace("    # two\n"), TRANSACTION_COMMITTED);
    free(waits);
}
END_TEST

/* It lives, and is about to load what it wrote; then it dies. */
START_TEST(while_another_daemon_loads_what_it_wrote)
{
    struct local_helper *ours = helper;
    start_helper();
    char *two = mem_printf("%s    # two\n", text);
    ck_assert_int_eq(wait_for(local_write_config(helper, two, strlen(two), NULL, 0, on_answer, NULL)), LOCAL_OK);
    struct local_helper *theirs = helper;
    helper = ours;
    ck_assert(!is_unloaded());
    await_going_on(false);
    ck_assert(!is_unloaded());
    local_helper_free(theirs);
    await_going_on(false);
    ck_assert(is_unloaded());
    free(two);
}
END_TEST

/* Once ours has let it go. */
static void lock_as(struct local_helper *theirs)
{
    enum local_status is;
    while ((is = wait_for(local_lock_config(theirs, on_answer, NULL))) == LOCAL_LOCKED)
        continue;
    ck_assert_int_eq(is, LOCAL_OK);
}

/* It reads once the other one has loaded what it wrote, and keeps the file no longer than that takes itself. */
START_TEST(daemons_that_take_turns)
{
    turns = true;
    die_and_start();
    ck_assert(!is_unloaded());
    struct local_helper *ours = helper;
    start_helper();
    struct local_helper *theirs = helper;
    char *two = mem_printf("%s    # two\n", text);
    lock_as(theirs);
    ck_assert_int_eq(wait_for(local_write_config(theirs, two, strlen(two), NULL, 0, on_answer, NULL)), LOCAL_OK);
    const struct local_identity written = seen.identity;
    helper = ours;
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_CONFLICT);
    ck_assert_ptr_null(driver->waits);
    refused_turns = 0;
    driver->ops->read(driver, &readout);
    while (refused_turns < 2)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.told, 0);
    local_request_cancel(local_note_loaded(theirs, &written, NULL, NULL));
    local_release_config(theirs);
    await_told();
    ck_assert(!readout.unloaded && readout.loaded);
    lock_as(theirs);
    local_release_config(theirs);
    ck_assert(!is_unloaded());
    ck_assert_int_eq(replace("    # three\n"), TRANSACTION_COMMITTED);
    ck_assert_int_eq(wait_for(local_lock_config(theirs, on_answer, NULL)), LOCAL_LOCKED); /* until that is loaded */
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    await_reload(RELOAD_DONE);
    lock_as(theirs);
    local_helper_free(theirs); /* which keeps it until it ends, as one that dies does */
    ck_assert(!is_unloaded() && readout.loaded);
    free(two);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("local_driver_lock");
    TCase *t = tcase_create("local_driver_lock");
    if (!find_haproxy())
        return EXIT_SUCCESS;
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up_driver, tear_down_driver);
    tcase_add_test(t, what_an_earlier_daemon_wrote_is_not_loaded);
    tcase_add_test(t, a_reload_that_failed_has_loaded_nothing);
    tcase_add_test(t, what_runs_without_a_reload_is_loaded);
    tcase_add_test(t, an_update_loads_no_more_than_its_server);
    tcase_add_test(t, an_update_right_behind_a_write_loads_no_more);
    tcase_add_test(t, what_was_read_before_the_end_of_a_reload);
    tcase_add_test(t, while_another_daemon_has_the_file);
    tcase_add_test(t, while_another_daemon_loads_what_it_wrote);
    tcase_add_test(t, daemons_that_take_turns);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
