/* src/haproxy/local/driver with a HAProxy that runs: what an earlier daemon left, and one that lives beside this one. */
#include "local_driver.h"

static unsigned refused_turns;

static void await_going_on(bool expected)
{
    while (last.went_on == 0)
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert(last.waited == expected);
    last.went_on = 0;
}

static void on_answered(void *arg, const char *request, const struct local_answer *a)
{
    refused_turns += str_eq(request, "lock") && a->status == LOCAL_LOCKED;
}

static void set_up_lock(void)
{
    helper_events.answered = on_answered;
    set_up_driver();
}

/* A daemon that is killed, and the next one. */
static void die_and_start(void)
{
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGKILL), 0);
    start_again();
}

static bool is_unloaded(void)
{
    read_it();
    return readout.unloaded;
}

static enum transaction_result write_more(const char *more)
{
    struct cfg_content *c = content_of(more);
    enum transaction_result result = replace(readout.version, c, true);
    cfg_content_unref(c);
    return result;
}

static enum transaction_result ask_for_reload(void)
{
    driver->ops->write(driver, readout.version, false, true);
    await_told();
    return last.result;
}

static void weigh_s1(void)
{
    struct backend_server server = *line_of("s1"); /* borrows */
    server.weight = 7;
    ck_assert_msg(update(server, SERVER_WEIGHT, false) == UPDATE_WRITTEN, "%s", last.why.message);
}

FIXTURE(set_up_lock, tear_down_driver)

TEST(what_an_earlier_daemon_wrote_is_not_loaded)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_COMMITTED);
    for (int i = 0; i < 2; i++) {
        die_and_start();
        ck_assert(is_unloaded());
        ck_assert(is_unloaded()); /* a second reading changes nothing */
    }
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    ck_assert_int_eq(reload_ends(), RELOAD_DONE);
    ck_assert(!is_unloaded());
    die_and_start();
    ck_assert(!is_unloaded());
}

/* HAProxy refuses what is there: nothing is loaded by that. */
TEST(a_reload_that_failed_has_loaded_nothing)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_COMMITTED);
    options.master_socket = "/nowhere/at/all";
    die_and_start();
    ck_assert(is_unloaded());
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    ck_assert_int_eq(reload_ends(), RELOAD_BROKEN);
    ck_assert(is_unloaded());
    options.master_socket = master;
    die_and_start();
    ck_assert(is_unloaded());
}

/* What the running HAProxy got by commands needs no reload at the next start. */
TEST(what_runs_without_a_reload_is_loaded)
{
    ck_assert(!is_unloaded());
    weigh_s1();
    die_and_start();
    ck_assert(!is_unloaded());
    char name[] = "s9", address[] = "127.0.0.9";
    struct backend_server new = {.name = name, .address = address, .port = 9, .weight = -1};
    const struct change add = change_of(CHANGE_ADD_SERVER, &new);
    reloads = false;
    ck_assert_int_eq(write_changes(&add, 1), TRANSACTION_COMMITTED);
    if (last.reload_id != NULL)
        ck_assert_int_eq(reload_ends(), RELOAD_DONE);
    die_and_start();
    ck_assert(!is_unloaded());
}

/* A server that changes beside a file that was never loaded loads nothing of that. */
TEST(an_update_loads_no_more_than_its_server)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_COMMITTED);
    die_and_start();
    ck_assert(is_unloaded());
    weigh_s1();
    ck_assert(is_unloaded());
    die_and_start();
    ck_assert(is_unloaded());
}

/* Nobody read the file in between: the driver itself knows what it wrote. */
TEST(an_update_right_behind_a_write_loads_no_more)
{
    ck_assert(!is_unloaded());
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_COMMITTED);
    readout.version++;
    weigh_s1();
    die_and_start();
    ck_assert(is_unloaded());
}

/* The reading was asked for before the reload ended, and its answer is older than that. */
TEST(what_was_read_before_the_end_of_a_reload)
{
    static const char *const command[] = {"/bin/true", NULL};
    options.reload_command = command;
    options.master_socket = NULL;
    without_commands = true;
    die_and_start();
    ck_assert(!is_unloaded());
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_COMMITTED);
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    ck_assert(!is_unloaded());
    ck_assert_int_eq(reload_ends(), RELOAD_DONE);
    ck_assert(!is_unloaded());
}

TEST(while_another_daemon_has_the_file)
{
    ck_assert(!is_unloaded());
    ck_assert_ptr_null(driver->waits);
    struct local_helper *theirs = start_another();
    ck_assert_int_eq(wait_for(local_lock_config(theirs, on_answer, NULL)), LOCAL_OK);
    cleanup(mem_free_ptr) char *waits =
        mem_printf("another daemon (pid %d) writes %s; this one waits until that ends", (int)getpid(), config);
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_UNAVAILABLE);
    ck_assert_str_eq(last.why.message, waits);
    ck_assert_str_eq(driver->waits, waits);
    struct cli_processes before = processes();
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_UNAVAILABLE); /* who may not write does not reload, either */
    ck_assert_str_eq(last.why.message, waits);
    struct cli_processes now = processes();
    ck_assert_int_eq(now.worker_pid, before.worker_pid);
    cli_processes_fini(&before);
    cli_processes_fini(&now);
    refused_turns = 0;
    while (refused_turns == 0) /* it asks again */
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.went_on, 0);
    local_helper_free(theirs);
    await_going_on(true);
    ck_assert_ptr_null(driver->waits);
    ck_assert_int_eq(write_more("    # two\n"), TRANSACTION_COMMITTED);
}

/* A caller that has it meanwhile waits no more. */
TEST(a_write_that_gets_the_file_ends_the_wait)
{
    ck_assert(!is_unloaded());
    struct local_helper *theirs = start_another();
    ck_assert_int_eq(wait_for(local_lock_config(theirs, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_UNAVAILABLE);
    local_release_config(theirs);
    while (ask_for_reload() == TRANSACTION_UNAVAILABLE)
        continue;
    ck_assert_int_eq(last.result, TRANSACTION_COMMITTED);
    ck_assert_ptr_null(driver->waits);
    ck_assert_uint_eq(last.went_on, 1);
    local_helper_free(theirs);
}

/* It lives, and is about to load what it wrote; then it dies. */
TEST(while_another_daemon_loads_what_it_wrote)
{
    struct local_helper *theirs = start_another();
    cleanup(mem_free_ptr) char *two = mem_printf("%s    # two\n", text);
    ck_assert_int_eq(wait_for(local_write_config(theirs, two, strlen(two), NULL, 0, on_answer, NULL)), LOCAL_OK);
    ck_assert(!is_unloaded());
    await_going_on(false);
    ck_assert(!is_unloaded());
    local_helper_free(theirs);
    await_going_on(false);
    ck_assert(is_unloaded());
}

/* Once ours has let it go. */
static void lock_as(struct local_helper *theirs)
{
    enum local_status is;
    while ((is = wait_for(local_lock_config(theirs, on_answer, NULL))) == LOCAL_LOCKED)
        continue;
    ck_assert_int_eq(is, LOCAL_OK);
}

/* It reads once the other one has loaded what it wrote, and keeps the file no longer than that takes itself. */
TEST(daemons_that_take_turns)
{
    turns = true;
    die_and_start();
    ck_assert(!is_unloaded());
    struct local_helper *theirs = start_another();
    cleanup(mem_free_ptr) char *two = mem_printf("%s    # two\n", text);
    lock_as(theirs);
    ck_assert_int_eq(wait_for(local_write_config(theirs, two, strlen(two), NULL, 0, on_answer, NULL)), LOCAL_OK);
    const struct local_identity written = seen.answer.identity;
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
    ck_assert_int_eq(write_more("    # three\n"), TRANSACTION_COMMITTED);
    ck_assert_int_eq(wait_for(local_lock_config(theirs, on_answer, NULL)), LOCAL_LOCKED); /* until that is loaded */
    ck_assert_int_eq(ask_for_reload(), TRANSACTION_COMMITTED);
    ck_assert_int_eq(reload_ends(), RELOAD_DONE);
    lock_as(theirs);
    local_helper_free(theirs); /* which keeps it until it ends, as one that dies does */
    ck_assert(!is_unloaded() && readout.loaded);
}
