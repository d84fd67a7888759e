/* src/haproxy/local/driver_commands: what is said to a HAProxy that runs, and what it answers. */
#include "local_driver.h"

FIXTURE(set_up_driver, tear_down_driver)

/* Commands go elsewhere: to `socket`, or through the master; the file's helper keeps its ways. */
static struct local_helper *command_by(const char *socket)
{
    struct local_helper *file = helper;
    driver->ops->free(driver);
    options.stats_socket = socket;
    start();
    make_driver_of(file);
    return file;
}

static void command_as_before(struct local_helper *file)
{
    driver->ops->free(driver);
    local_helper_free(helper);
    helper = file;
    options.stats_socket = stats;
    make_driver();
}

/* A program that listens there instead of HAProxy, notes what is said and says that to each. */
static pid_t pretend(const char *path, const char *heard, const char *says)
{
    int fd = unix_socket(path, true);
    pid_t pid = fork();
    if (pid != 0) {
        close(fd);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int note = open(heard, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int peer; (peer = accept(fd, NULL, NULL)) >= 0; close(peer)) {
        char part[4096];
        for (ssize_t n; (n = read(peer, part, sizeof(part))) > 0;)
            if (write(note, part, (size_t)n) != n)
                _exit(1);
        if (write(peer, says, strlen(says)) < 0)
            _exit(1);
    }
    _exit(0);
}

#define N(n)                                                                           \
    {                                                                                  \
        .name = (char *)"n" #n, .address = (char *)"127.0.0.9", .port = n, .weight = 3 \
    }
static const struct backend_server n1 = N(1), n2 = N(2);

/* A connection that ends early, or another one's words: what was not answered was not done. */
TEST_EACH(each_command_has_an_answer, 3)
{
    static const char *const says[] = {"", "\n", "2.6\n\nNew server registered.\n\n2.6\n\nNew server registered.\n\n"};
    cleanup(mem_free_ptr) char *path = mem_printf("%s/pretend", folder), *heard = mem_printf("%s/heard", folder);
    pid_t pid = pretend(path, heard, says[_i]);
    struct local_helper *file = command_by(path);
    read_it();
    reloads = false;
    const struct change come[] = {change_of(CHANGE_ADD_SERVER, &n1), change_of(CHANGE_ADD_SERVER, &n2)};
    ck_assert_int_eq(write_changes(come, 2), TRANSACTION_COMMITTED);
    ck_assert_str_eq(last.reload_why, _i == 0
                                          ? "backend web: add server: HAProxy closed the connection without an answer"
                                          : "backend web: add server: HAProxy says: nothing");
    struct buf b = {0};
    ck_assert_int_eq(buf_read_file(&b, heard), 0);
    ck_assert_ptr_null(strstr(buf_str(&b), "enable"));
    buf_fini(&b);
    end_player(pid);
    command_as_before(file);
}

/* HAProxy acknowledged all of it, and carried out nothing. */
TEST(what_was_acknowledged_is_read_back)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/pretend", folder), *heard = mem_printf("%s/heard", folder);
    pid_t pid = pretend(path, heard, "2.6\n\nNew server registered.\n\n2.6\n\n");
    struct local_helper *file = command_by(path);
    read_it();
    reloads = false;
    const struct change come = change_of(CHANGE_ADD_SERVER, &n1);
    ck_assert_int_eq(write_changes(&come, 1), TRANSACTION_COMMITTED);
    ck_assert_str_eq(last.reload_why, "backend web: server n1: HAProxy does not run it");
    end_player(pid);
    command_as_before(file);
}

/* Its file cannot be written: nothing is said to HAProxy, either. */
TEST(who_cannot_write_says_nothing)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/pretend", folder), *heard = mem_printf("%s/heard", folder),
                               *lock = mem_printf("%s/.haproxy.cfg.lock", folder);
    pid_t pid = pretend(path, heard, "");
    struct local_helper *file = command_by(path);
    (void)unlink(lock);
    ck_assert_int_eq(mkdir(lock, 0700), 0);
    read_it();
    reloads = false;
    const struct change come = change_of(CHANGE_ADD_SERVER, &n1);
    ck_assert_int_eq(write_changes(&come, 1), TRANSACTION_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(last.why.message, "cannot open the lock"));
    struct stat st = {0};
    ck_assert(stat(heard, &st) != 0 || st.st_size == 0);
    ck_assert_int_eq(reload_it(), RELOAD_DONE); /* what is there can be loaded */
    end_player(pid);
    command_as_before(file);
}

/* That another reload goes on says nothing of the file. */
TEST(a_reload_beside_another_one_has_not_failed)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/pretend", folder), *heard = mem_printf("%s/heard", folder);
    pid_t pid = pretend(path, heard, "Success=0\n--\nAnother reload is still in progress.\n\n");
    options.master_socket = path;
    deadline_ms = 500;
    start_again();
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_BROKEN);
    ck_assert_msg(reload.error.kind == ERROR_RETRY, "%s", reload.error.message);
    struct buf b = {0};
    ck_assert_int_eq(buf_read_file(&b, heard), 0);
    const char *first = strstr(buf_str(&b), "reload\n");
    ck_assert(first != NULL && strstr(first + 1, "reload\n") != NULL); /* it was asked for again */
    buf_fini(&b);
    end_player(pid);
}

TEST(servers_come_and_go_through_the_master)
{
    struct cli_processes now = processes(); /* a master that has begun executes itself anew before it says that */
    cli_processes_fini(&now);
    struct local_helper *file = command_by(NULL);
    read_it();
    int64_t pid = readout.worker_pid;
    reloads = false;
    const struct change come[] = {change_of(CHANGE_ADD_SERVER, &n1), change_of(CHANGE_ADD_SERVER, &n2)};
    write_without_reload(come, 2);
    read_it();
    ck_assert(row_of("n1")->admin == RUNTIME_READY && row_of("n2")->admin == RUNTIME_READY);
    const struct change go = change_of(CHANGE_REMOVE_SERVER, &n1);
    write_without_reload(&go, 1);
    ck_assert(!haproxy_has("n1") && haproxy_has("n2"));
    read_it();
    ck_assert_int_eq(readout.worker_pid, pid);
    command_as_before(file);
}

/* More than one line takes. */
TEST(many_servers_come_at_once)
{
    enum { MANY = 200 };
    static struct backend_server servers[MANY];
    static struct change list[MANY];
    char names[MANY][8];
    read_it();
    reloads = false;
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "n%u", i);
        servers[i] = (struct backend_server){.name = names[i], .address = (char *)"127.0.0.9", .weight = 1};
        servers[i].port = (uint16_t)(i + 1);
        servers[i].check = true;
        list[i] = change_of(CHANGE_ADD_SERVER, &servers[i]);
    }
    write_without_reload(list, MANY);
    read_it();
    for (unsigned i = 0; i < MANY; i++)
        ck_assert(row_of(names[i])->admin == RUNTIME_READY && row_of(names[i])->port == i + 1);
}

TEST(who_was_loaded_disabled_comes_back)
{
    cleanup(mem_free_ptr) char *disabled = mem_printf("%s    server s2 127.0.0.1:2 disabled\n", text);
    put(config, disabled, 0644);
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    ck_assert_int_eq(row_of("s2")->admin, RUNTIME_MAINT);
    struct backend_server s = *line_of("s2");
    s.maintenance = false;
    ck_assert_int_eq(update(s, SERVER_MAINTENANCE, false), UPDATE_WRITTEN);
    ck_assert_int_eq(admin_of("s2"), CLI_ADMIN_CONFIGURED_MAINTENANCE);
    read_it();
    ck_assert_int_eq(row_of("s2")->admin, RUNTIME_READY);
}

/* HAProxy does not move it: so it does not come back, at its old place, either. */
TEST(who_is_not_moved_does_not_come_back)
{
    cleanup(mem_free_ptr) char *at_socket = mem_printf("%s    server s2 unix@%s/s2 disabled\n", text, folder),
                               *at_address = mem_printf("%s    server s2 127.0.0.1:2 disabled\n", text);
    put(config, at_socket, 0644);
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    put(config, at_address, 0644);
    read_it();
    struct backend_server s = *line_of("s2");
    s.address = (char *)"127.0.0.3";
    s.maintenance = false;
    ck_assert_int_eq(update(s, SERVER_ADDRESS | SERVER_MAINTENANCE, false), UPDATE_UNVERIFIED);
    ck_assert_msg(strstr(last.why.message, "backend web: set server: HAProxy says: ") != NULL, "%s", last.why.message);
    ck_assert_int_ne(admin_of("s2") & CLI_ADMIN_CONFIGURED_MAINTENANCE, 0);
}

/* It does not wait for the check; where that refuses the file, it leaves again. Who was there before stays. */
TEST(who_is_not_in_the_file_is_not_in_haproxy)
{
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    reloads = false;
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "add server web/old 127.0.0.8:8"), LOCAL_OK);
    cleanup(mem_free_ptr) char *broken = mem_printf("%sbackend broken\n    nonsense\n", text);
    put(config, broken, 0644);
    read_it();
    const struct backend_server old = {.name = (char *)"old", .address = (char *)"127.0.0.8", .port = 8, .weight = 1};
    const struct change come[] = {change_of(CHANGE_ADD_SERVER, &n1), change_of(CHANGE_ADD_SERVER, &old)};
    ck_assert_int_eq(write_changes(come, 2), TRANSACTION_REJECTED);
    assert_file_is(broken);
    ck_assert(!haproxy_has("n1"));
    /* Nor is anything said to it. */
    ck_assert(haproxy_has("old") && (admin_of("old") & CLI_ADMIN_FORCED_MAINTENANCE) != 0);
    put(config, text, 0644);
    read_it();
    write_without_reload(come, 1);
    ck_assert(haproxy_has("n1"));
}
