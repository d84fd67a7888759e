/* src/haproxy/local/driver and the servers of a HAProxy that runs, with and without a reload. */
#include "local_driver.h"

#include "haproxy/drift.h"

FIXTURE(set_up_driver, tear_down_driver)

TEST(servers_are_read_from_the_file_and_from_what_runs)
{
    read_it();
    ck_assert(readout.found[0].backend.exists && readout.found[0].unreadable.kind == ERROR_NONE);
    ck_assert_int_eq(readout.found[0].backend.version, readout.version);
    ck_assert_str_eq(line_of("s1")->address, "127.0.0.1");
    ck_assert(readout.found[0].runtime.readable);
    ck_assert(row_of("s1")->port == 1 && row_of("s1")->admin == RUNTIME_READY);
    cleanup(mem_free_ptr) char *broken = mem_printf("%s    balance \"$X\"\n", text);
    put(config, broken, 0644);
    read_it(); /* of one backend alone */
    ck_assert_int_eq(readout.found[0].unreadable.kind, ERROR_INVALID);
    ck_assert_ptr_nonnull(strstr(readout.found[0].unreadable.message, "reading backend web: haproxy.cfg, line 13"));
}

/* The servers that HAProxy runs, each with its place, weight, state and health check. */
static char *rows(void)
{
    struct buf b = {0};
    for (size_t i = 0; i < readout.found[0].runtime.count; i++) {
        const struct runtime_server *s = &readout.found[0].runtime.servers[i];
        buf_printf(&b, "%s %s:%u w%d %s\n", s->name, s->address, s->port, s->weight, runtime_admin_name(s->admin));
    }
    return buf_take(&b);
}

/* What a reload would make of the file. */
TEST(servers_come_and_go_without_a_reload)
{
    cleanup(mem_free_ptr) char *with =
        mem_printf("%.*s    default-server inter 30s weight 7\n    server s1 127.0.0.1:1\n",
                   (int)(strstr(text, "    server s1") - text), text);
    put(config, with, 0644);
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    int64_t pid = readout.worker_pid;
    reloads = false;
    const struct backend_server
        n1 = {.name = (char *)"n1", .address = (char *)"127.0.0.9", .port = 9, .weight = 3, .check = true},
        n2 = {.name = (char *)"n2", .address = (char *)"::1", .port = 8, .weight = 100, .maintenance = true};
    cleanup(backend_server_fini) struct backend_server s1 = {0};
    backend_server_copy(&s1, line_of("s1"));
    const struct change come[] = {change_of(CHANGE_ADD_SERVER, &n1), change_of(CHANGE_ADD_SERVER, &n2)};
    write_without_reload(come, 2);
    read_it();
    ck_assert(!readout.unloaded && readout.version == last.version && readout.worker_pid == pid);
    ck_assert_uint_eq(readout.found[0].backend.server_count, 3);
    cleanup(mem_free_ptr) char *now = rows();
    ck_assert_str_eq(now, "n1 127.0.0.9:9 w3 ready\nn2 ::1:8 w100 maint\ns1 127.0.0.1:1 w7 ready\n");
    reloads = true;
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    cleanup(mem_free_ptr) char *after = rows();
    ck_assert_str_eq(after, now);
    pid = readout.worker_pid;
    reloads = false;
    const struct change go[] = {
        change_of(CHANGE_REMOVE_SERVER, &s1),
        {.kind = CHANGE_SET_SERVER, .backend = &readout.found[0].backend, .server = &n2, .fields = SERVER_WEIGHT}};
    write_without_reload(go, 2);
    read_it();
    ck_assert(row_of("s1") == NULL && readout.found[0].backend.server_count == 2 && readout.worker_pid == pid);
}

static struct {
    int server, client, served; /* sockets */
    struct backend_server s1;
    char *text, *behind, *front;
} use;

static void use_end(void)
{
    close(use.client);
    close(use.served);
    use.client = use.served = -1;
}

static void use_fini(void)
{
    close(use.server);
    backend_server_fini(&use.s1);
    free(use.text);
    free(use.behind);
    free(use.front);
}

/* s1 is removed while a client is served by it. */
static void remove_s1_in_use(void)
{
    use.text = mem_printf(
        "defaults\n    mode tcp\n    timeout connect 1s\n    timeout client 30s\n    timeout server 30s\n"
        "frontend used\n    bind unix@%s/used\n    default_backend web\nglobal\n    httpclient.ssl.verify none\n"
        "    stats socket %s level admin\nbackend web\n    server s1 unix@%s/s1\n    server s2 127.0.0.1:2\n",
        folder, stats, folder);
    use.behind = mem_printf("%s/s1", folder);
    use.front = mem_printf("%s/used", folder);
    put(config, use.text, 0644);
    read_it();
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    read_it();
    use.server = unix_socket(use.behind, true);
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "set server web/s2 state maint"), LOCAL_OK);
    use.client = unix_socket(use.front, false);
    use.served = accept(use.server, NULL, NULL);
    int64_t pid = readout.worker_pid;
    reloads = false;
    use.s1 = (struct backend_server){0};
    backend_server_copy(&use.s1, line_of("s1"));
    const struct change go = change_of(CHANGE_REMOVE_SERVER, &use.s1);
    write_without_reload(&go, 1);
    read_it();
    ck_assert(row_of("s1") == NULL && readout.found[0].backend.server_count == 1 && readout.worker_pid == pid);
    ck_assert(haproxy_has("s1"));
}

/* It leaves the file at once, and HAProxy once nobody uses it any more; until then it is in maintenance. */
TEST(a_server_that_is_used_goes_later)
{
    char c;
    remove_s1_in_use();
    ck_assert_int_eq(send(use.client, "a", 1, 0), 1);
    ck_assert_int_eq(recv(use.served, &c, 1, 0), 1);
    use_end();
    while (haproxy_has("s1"))
        event_base_loop(base, EVLOOP_ONCE);
    use_fini();
}

static bool any_line(const void *arg, const struct backend_server *line)
{
    return line != NULL;
}

/* What an earlier daemon took out of the file is no drift that a reload has to end; a server without a line that a client
 * may come to is. */
TEST(a_server_that_is_used_goes_whichever_daemon_took_it_out)
{
    remove_s1_in_use();
    start_again();
    read_it();
    const struct reading *r = &readout.found[0];
    ck_assert(haproxy_has("s1") && row_of("s1") == NULL && row_of("s2") != NULL);
    ck_assert_ptr_null(drift_of_backend(&r->backend, &r->runtime, any_line, NULL));
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "set server web/s1 state ready"), LOCAL_OK);
    read_it();
    char *drift = drift_of_backend(&r->backend, &r->runtime, any_line, NULL);
    ck_assert_str_eq(drift, "backend web: server s1: HAProxy runs it, haproxy.cfg has no such line");
    free(drift);
    use_end();
    use_fini();
}

TEST(a_server_that_is_back_in_the_file_stays)
{
    remove_s1_in_use();
    put(config, use.text, 0644);
    read_it();
    use_end();
    while (row_of("s1") == NULL) {
        event_base_loop(base, EVLOOP_ONCE);
        read_it();
    }
    ck_assert(haproxy_has("s1"));
    use_fini();
}

/* A write that waits for `haproxy -c` until the file "go" is there. */
TEST(who_is_new_does_not_wait_for_the_check)
{
    cleanup(mem_free_ptr) char *go = in_folder("go");
    cleanup(mem_free_ptr) char *script =
        mem_printf("#!/bin/sh\nwhile [ ! -e %s ]; do sleep 0.01; done\nexec %s \"$@\"\n", go, haproxy);
    put(program, script, 0755);
    options.haproxy = program;
    struct local_helper *file = start_another();
    driver->ops->free(driver);
    make_driver_of(file);
    read_it();
    reloads = false;
    const struct backend_server n1 = {.name = (char *)"n1", .address = (char *)"127.0.0.9", .port = 9, .weight = 3};
    const struct change list[] = {change_of(CHANGE_ADD_SERVER, &n1), change_of(CHANGE_REMOVE_SERVER, line_of("s1"))};
    ck_assert_int_eq(driver->ops->add(driver, list, 2, &flaw), 0);
    driver->ops->write(driver, readout.version, true, false);
    while (!haproxy_has("n1"))
        event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(last.told, 0);
    ck_assert(haproxy_has("s1")); /* who leaves does wait */
    assert_file_is(text);
    put(go, "", 0644);
    await_told();
    ck_assert_int_eq(last.result, TRANSACTION_COMMITTED);
    ck_assert(last.reload_id == NULL && !haproxy_has("s1"));
    driver->ops->free(driver);
    local_helper_free(file);
    make_driver();
}

/* What was written and not loaded is, before anything is said to HAProxy of what comes after it. */
TEST(what_was_not_loaded_is_loaded_first)
{
    read_it();
    struct cfg_content *c = content_of("backend more\n");
    driver->ops->replace(driver, readout.version, &(struct replacement_request){.text = c, .before = readout.file});
    await_told();
    ck_assert_int_eq(last.result, TRANSACTION_COMMITTED);
    cfg_content_unref(c);
    read_it();
    reloads = false;
    const struct backend_server n1 = {.name = (char *)"n1", .address = (char *)"127.0.0.9", .port = 9, .weight = 3};
    const struct change come = change_of(CHANGE_ADD_SERVER, &n1);
    ck_assert_int_eq(write_changes(&come, 1), TRANSACTION_COMMITTED);
    ck_assert_ptr_nonnull(last.reload_id);
}

/* What it would send HAProxy for that change, to that file; or why it would not. */
static void assert_told(struct cfg_content *to, const struct change *change, const char *expected)
{
    cleanup(changes_fini) struct changes list = {0};
    cleanup(buf_fini) struct buf commands = {0};
    changes_add(&list, change);
    if (driver->ops->foresee(driver, cfg_content_file(to, NULL), &list, &commands, &flaw) != 0)
        buf_printf(&commands, "a reload: %s", flaw.message);
    ck_assert_str_eq(buf_str(&commands), expected);
}

static void assert_foreseen(int weight, const char *name, const char *expected)
{
    const struct backend_server to = {.name = (char *)(uintptr_t)name, .weight = weight};
    const struct change change = {
        .kind = CHANGE_SET_SERVER, .backend = &readout.found[0].backend, .server = &to, .fields = SERVER_WEIGHT};
    assert_told(readout.file, &change, expected);
}

TEST(what_it_would_send_has_no_secrets)
{
    const struct backend_server token = {
        .name = (char *)"token", .address = (char *)"127.0.0.9", .port = 9, .weight = 1, .maintenance = true};
    const struct change come = change_of(CHANGE_ADD_SERVER, &token);
    read_it();
    struct cfg_content *c = content_of("    server token 127.0.0.9:9 disabled agent-port 8 agent-send 2468135\n");
    assert_told(c, &come, "add server web/token 127.0.0.9:9 agent-port 8 agent-send ***\n");
    cfg_content_unref(c);
}

TEST(what_a_write_would_send_is_known_before)
{
    read_it();
    int64_t version = readout.version;
    assert_foreseen(7, "s1", "set server web/s1 weight 7\n");
    assert_foreseen(7, "s;1", "a reload: server web/s;1 has a name that fits into no command");
    read_it(); /* it said nothing to HAProxy */
    ck_assert(row_of("s1")->weight == 1 && readout.version == version);
    struct cfg_content *c = content_of("backend more\n");
    ck_assert_int_eq(replace(readout.version, c, true), TRANSACTION_COMMITTED);
    cfg_content_unref(c);
    assert_foreseen(7, "s1", "a reload: haproxy.cfg was written and is not loaded yet");
    struct driver *writer = driver;
    struct local_helper *other = start_another();
    make_driver_of(other);
    read_it();
    assert_foreseen(7, "s1", "a reload: another daemon has written haproxy.cfg, and is loading it");
    driver->ops->free(driver);
    local_helper_free(other);
    driver = writer;
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    assert_foreseen(7, "s1", "set server web/s1 weight 7\n");
    end_haproxy();
    read_it();
    assert_foreseen(7, "s1", "a reload: what HAProxy runs could not be read");
}

/* Where HAProxy or the file wants one, there is one, and why. */
TEST(what_cannot_be_without_a_reload_has_one)
{
    read_it();
    reloads = false;
    const struct change balance = {
        .kind = CHANGE_SET_BACKEND, .backend = &readout.found[0].backend, .settings.balance = "static-rr"};
    ck_assert_int_eq(write_changes(&balance, 1), TRANSACTION_COMMITTED);
    ck_assert_str_eq(last.reload_why, "backend web itself changes");
    ck_assert_int_eq(reload_ends(), RELOAD_DONE);
    read_it();
    const struct backend_server n1 = {.name = (char *)"n1", .address = (char *)"127.0.0.9", .port = 9, .weight = 3};
    const struct change come = change_of(CHANGE_ADD_SERVER, &n1);
    ck_assert_int_eq(write_changes(&come, 1), TRANSACTION_COMMITTED);
    ck_assert_msg(strncmp(last.reload_why, "backend web: add server: HAProxy says: ", 39) == 0, "%s", last.reload_why);
    (void)reload_ends();
    read_it();
    ck_assert(row_of("n1") != NULL && row_of("n1")->weight == 3);
    reloads = true; /* for another reason, which its owner knows */
    const struct change go = change_of(CHANGE_REMOVE_SERVER, &n1);
    ck_assert_int_eq(write_changes(&go, 1), TRANSACTION_COMMITTED);
    ck_assert(last.reload_id != NULL && last.reload_why == NULL);
    ck_assert_int_eq(reload_ends(), RELOAD_DONE);
}

/* Not one of several, and nothing of it is left for the next write. */
TEST(changes_that_haproxy_refuses_are_not_written)
{
    read_it();
    const struct change bad = {
        .kind = CHANGE_SET_BACKEND, .backend = &readout.found[0].backend, .settings.balance = "nonsense"};
    ck_assert_int_eq(write_changes(&bad, 1), TRANSACTION_REJECTED);
    ck_assert_msg(strncmp(last.why.message, "a line that is added behind line 11: balance only", 49) == 0, "%s",
                  last.why.message);
    assert_file_is(text);
    ck_assert_int_eq(reload_it(), RELOAD_DONE);
    assert_file_is(text);
    const struct backend_server nobody = {.name = (char *)"nobody"};
    const struct change gone = change_of(CHANGE_REMOVE_SERVER, &nobody);
    ck_assert_int_eq(driver->ops->add(driver, &gone, 1, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
}

TEST(changes_of_another_file_are_a_conflict)
{
    read_it();
    const struct change c = {
        .kind = CHANGE_SET_BACKEND, .backend = &readout.found[0].backend, .settings.balance = "leastconn"};
    readout.version--;
    ck_assert_int_eq(write_changes(&c, 1), TRANSACTION_CONFLICT);
    readout.version++;
    cleanup(mem_free_ptr) char *theirs = mem_printf("%s    # theirs\n", text);
    put(config, theirs, 0644);
    ck_assert_int_eq(write_changes(&c, 1), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
}

TEST(one_server_changes_without_a_reload)
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

/* The file has it; a reload is to bring it about. */
TEST(what_haproxy_does_not_run_is_not_verified)
{
    cleanup(mem_free_ptr) char *more = mem_printf("%s    server s2 127.0.0.1:2\n", text);
    put(config, more, 0644);
    read_it();
    struct backend_server s = *line_of("s2");
    s.port = 3;
    ck_assert_int_eq(update(s, SERVER_PORT, false), UPDATE_UNVERIFIED);
    ck_assert_ptr_nonnull(strstr(last.why.message, "server s2 is as desired in haproxy.cfg, but not verified"));
    read_it();
    ck_assert_uint_eq(line_of("s2")->port, 3);
    free(more);
    /* Nor what it runs in another way. */
    char *address = strstr(text, "s1 127.0.0.1:1");
    more = mem_printf("%.*ss1 127.0.0.9:1%s", (int)(address - text), text, address + strlen("s1 127.0.0.1:1"));
    put(config, more, 0644);
    read_it();
    s = *line_of("s1");
    s.weight = 9;
    ck_assert_int_eq(update(s, SERVER_WEIGHT, false), UPDATE_UNVERIFIED);
    ck_assert_msg(strstr(last.why.message, "not at 127.0.0.9:1") != NULL, "%s", last.why.message);
}

/* An operator put its line into maintenance, and HAProxy has not loaded that: no failure of what changes its weight alone. */
TEST(what_an_update_does_not_set_fails_it_not)
{
    cleanup(mem_free_ptr) char *edited = mem_printf("%.*s disabled\n", (int)strlen(text) - 1, text);
    put(config, edited, 0644);
    read_it();
    struct backend_server s = *line_of("s1");
    s.weight = 9;
    ck_assert_int_eq(update(s, SERVER_WEIGHT, false), UPDATE_WRITTEN);
    read_it();
    ck_assert(row_of("s1")->weight == 9 && row_of("s1")->admin == RUNTIME_READY);
}

TEST(a_server_of_another_file_is_a_conflict)
{
    read_it();
    struct backend_server s = *line_of("s1");
    s.port = 3;
    cleanup(mem_free_ptr) char *theirs = mem_printf("%s    # theirs\n", text);
    readout.version--;
    ck_assert_int_eq(update(s, SERVER_PORT, false), UPDATE_CONFLICT);
    assert_file_is(text);
    readout.version++;
    put(config, theirs, 0644);
    ck_assert_int_eq(update(s, SERVER_PORT, false), UPDATE_CONFLICT);
    assert_file_is(theirs);
    free(theirs);
    theirs = mem_printf("%s    server a;b 127.0.0.1:2\n", text);
    put(config, theirs, 0644);
    read_it();
    s.name = (char *)"a;b";
    const struct update_request r = {.backend = "web", .server = &s, .fields = SERVER_PORT};
    ck_assert_int_eq(driver->ops->update(driver, readout.version, &r, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
}

/* Commands wait for nothing, and a state that HAProxy does not know is no state. */
TEST(a_server_is_put_into_a_state)
{
    driver->ops->command(driver, "web", "s1", RUNTIME_MAINT);
    await_told();
    ck_assert_msg(last.error.kind == ERROR_NONE, "%s", last.error.message);
    driver->ops->command(driver, "web", "s9", RUNTIME_MAINT);
    await_told();
    ck_assert_int_eq(last.error.kind, ERROR_GONE);
}
