/* haproxy/local/cli with what HAProxy 2.6.12 and 3.4.0 answered. */
#include "haproxy/local/cli.h"
#include "haproxy/local/driver_internal.h"

#include "../test.h"

#define COLUMNS                                                                                                      \
    "# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight "                 \
    "srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state " \
    "bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr "          \
    "srv_agent_addr srv_agent_port\n"

/* What follows another server, or has no address, was set by nobody. */
static const struct {
    unsigned bits;
    enum runtime_admin admin;
    bool unresolved;
} states[] = {
    {CLI_ADMIN_FORCED_MAINTENANCE, RUNTIME_MAINT, false},
    {CLI_ADMIN_FORCED_DRAIN, RUNTIME_DRAIN, false},
    {CLI_ADMIN_FORCED_MAINTENANCE | CLI_ADMIN_UNRESOLVED, RUNTIME_MAINT, true},
    {CLI_ADMIN_UNRESOLVED, RUNTIME_READY, true},
    {CLI_ADMIN_INHERITED_MAINTENANCE, RUNTIME_READY, false},
    {CLI_ADMIN_INHERITED_DRAIN, RUNTIME_READY, false},
    {CLI_ADMIN_CONFIGURED_MAINTENANCE, RUNTIME_READY, false},
};

TEST_EACH(what_an_operator_set_is_a_state, array_len(states))
{
    const struct cli_server s = {.name = (char *)"s1", .address = (char *)"127.0.0.1", .admin = states[_i].bits};
    struct runtime_server is = local_driver_running_server(&s);
    ck_assert_msg(is.admin == states[_i].admin && is.unresolved == states[_i].unresolved, "%x", states[_i].bits);
    runtime_server_fini(&is);
}

TEST(test_servers_state)
{
    struct cli_servers s;
    ck_assert_int_eq(cli_servers_init(&s,
                                      "1\n" COLUMNS "2 web 1 s1 127.0.0.1 0 0 1 1 0 8 2 0 6 0 0 0 - 8081 - 0 0 - - 0\n"
                                      "2 web 2 s2 127.0.0.2 2 5 10 256 0 1 0 0 8 0 0 0 a.example 8082 - 0 0 - - 0\n"
                                      "3 other 1 o1 ::1 2 0 1 1 0 1 0 2 0 0 0 0 - 80 - 0 0 - - 0\n\n",
                                      &flaw),
                     0);
    ck_assert_uint_eq(s.count, 3);
    ck_assert_str_eq(s.servers[1].name, "s2");
    ck_assert_str_eq(s.servers[1].address, "127.0.0.2");
    ck_assert_str_eq(s.servers[2].address, "::1");
    ck_assert_uint_eq(s.servers[1].admin, CLI_ADMIN_FORCED_MAINTENANCE | CLI_ADMIN_CONFIGURED_MAINTENANCE);
    ck_assert_int_eq(s.servers[0].operation, CLI_STOPPED);
    ck_assert_int_eq(s.servers[1].operation, CLI_RUNNING);
    ck_assert_uint_eq(s.servers[1].weight, 10);
    ck_assert_uint_eq(s.servers[1].port, 8082);
    cli_servers_fini(&s);
    ck_assert_int_eq(cli_servers_init(&s, "1\n" COLUMNS "\n", &flaw), 0);
    ck_assert_uint_eq(s.count, 0);
    cli_servers_fini(&s);
}

TEST(test_servers_state_that_is_none)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "2\n" COLUMNS,
                                      "1\n# be_id be_name\n",
                                      "1\n" COLUMNS "2 web 1 s1 127.0.0.1 0\n",
                                      "1\n" COLUMNS "2 web 1 s1 127.0.0.1 9 0 1 1 0 8 2 0 6 0 0 0 - 8081 - 0 0 - - 0\n",
                                      "1\n" COLUMNS
                                      "2 web 1 s1 127.0.0.1 0 0 1 1 0 8 2 0 6 0 0 0 - 65536 - 0 0 - - 0\n",
                                      "Unknown command, but maybe one of the following ones is a better match:\n"};
    struct cli_servers s;
    for (size_t i = 0; i < array_len(bad); i++) {
        ck_assert_msg(cli_servers_init(&s, bad[i], &flaw) == -1, "%s", bad[i]);
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    }
    ck_assert_int_eq(cli_servers_init(&s, "Can't find backend.\n\n", &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_GONE);
    ck_assert_str_eq(flaw.message, "HAProxy says: Can't find backend.");
}

#define PROCESSES "#<PID>          <type>          <reloads>       <uptime>        <version>      \n"

TEST(test_processes)
{
    struct cli_processes p;
    ck_assert_int_eq(cli_processes_init(
                         &p,
                         PROCESSES "14816           master          2 [failed: 1]   0d00h00m03s     2.6.12-1+deb12u4\n"
                                   "# workers\n"
                                   "15026           worker          0               0d00h00m02s     2.6.12-1+deb12u4\n"
                                   "# old workers\n"
                                   "14818           worker          2               0d00h00m03s     2.6.12-1+deb12u4\n"
                                   "# programs\n\n",
                         &flaw),
                     0);
    ck_assert(p.master_pid == 14816 && p.worker_pid == 15026 && p.old_workers == 1 && p.count == 3);
    ck_assert(p.reloads == 2 && p.failed_reloads == 1 && p.processes[2].reloads == 2 && p.processes[2].is_old);
    cli_processes_fini(&p);
    ck_assert_int_eq(
        cli_processes_init(&p,
                           PROCESSES "12019           master          0 [failed: 0]   0d00h00m08s     3.4.0-64a335366\n"
                                     "# workers\n\n",
                           &flaw),
        0);
    ck_assert(p.master_pid == 12019 && p.worker_pid == 0 && p.failed_reloads == 0);
    cli_processes_fini(&p);
    static const char *const bad[] = {"",
                                      PROCESSES,
                                      PROCESSES "x master 0 0d 1\n",
                                      PROCESSES "0 master 0 0d 1\n",
                                      PROCESSES "1 master\n",
                                      PROCESSES "7 worker 0 0d 1\n",
                                      "Permission denied\n"};
    for (size_t i = 0; i < array_len(bad); i++)
        ck_assert_msg(cli_processes_init(&p, bad[i], &flaw) == -1 && flaw.kind == ERROR_INVALID, "%s", bad[i]);
}

TEST(test_more_processes_than_there_can_be)
{
    struct cli_processes p;
    cleanup(buf_fini) struct buf text = {0};
    buf_add(&text, PROCESSES "1 master 0 0d 1\n");
    for (unsigned i = 0; i < 9999; i++)
        buf_add(&text, "7 worker 0 0d 1\n");
    ck_assert_int_eq(cli_processes_init(&p, buf_str(&text), &flaw), 0);
    ck_assert_uint_eq(p.count, 10000);
    cli_processes_fini(&p);
    buf_add(&text, "7 worker 0 0d 1\n");
    ck_assert_int_eq(cli_processes_init(&p, buf_str(&text), &flaw), -1);
}

TEST(test_info)
{
    struct cli_info info;
    ck_assert_int_eq(cli_info_read(&info,
                                   "Name: HAProxy\nVersion: 2.6.12-1+deb12u4\nRelease_date: 2026/01/05\nPid: 77\n"
                                   "Uptime: 0d 0h03m09s\nUptime_sec: 189\nPid: \n\n",
                                   &flaw),
                     0);
    ck_assert(info.pid == 77 && info.uptime_s == 189);
    ck_assert_str_eq(info.version, "2.6.12-1+deb12u4");
    ck_assert_int_eq(cli_info_read(&info, "Pid: 1", &flaw), 0);
    ck_assert(info.pid == 1 && info.uptime_s == -1);
    ck_assert_str_eq(info.version, "");
    static const char *const bad[] = {"",         "Name: HAProxy\n", "Pid: x\n",         "Pid:7\n",
                                      "Pids 8\n", "Pid: 0\n",        "Process_num: 1\n", "Permission denied\n"};
    for (size_t i = 0; i < array_len(bad); i++)
        ck_assert_msg(cli_info_read(&info, bad[i], &flaw) == -1 && flaw.kind == ERROR_INVALID, "%s", bad[i]);
}

TEST(test_reload)
{
    const char *log;
    ck_assert_int_eq(cli_read_reload("Success=1\n--\n[NOTICE]   (12019) : Loading success.\n\n", &log),
                     CLI_RELOAD_DONE);
    ck_assert_str_eq(log, "[NOTICE]   (12019) : Loading success.\n\n");
    ck_assert_int_eq(cli_read_reload("Success=0\n--\n[ALERT] x\n", &log), CLI_RELOAD_FAILED);
    ck_assert_str_eq(log, "[ALERT] x\n");
    ck_assert_int_eq(cli_read_reload("Success=0\n", &log), CLI_RELOAD_FAILED);
    ck_assert_str_eq(log, "");
    ck_assert_int_eq(cli_read_reload("Success=0\n--\nAnother reload is still in progress.\n", &log), CLI_RELOAD_BUSY);
    ck_assert_int_eq(cli_read_reload("", &log), CLI_RELOAD_UNKNOWN);
    ck_assert_int_eq(cli_read_reload("Success=", &log), CLI_RELOAD_UNKNOWN);
    ck_assert_int_eq(cli_read_reload("Success=2\n", &log), CLI_RELOAD_UNKNOWN);
}

static const struct {
    const char *answer;
    enum error_kind kind;
} done[] = {
    {"", ERROR_RETRY}, /* closed before it answered */
    {"\n", ERROR_NONE},
    {"New server registered.\n\n", ERROR_NONE},
    {"Server deleted.\n", ERROR_NONE},
    {"IP changed from '127.0.0.1' to '127.0.0.9', port changed from '8081' to '99' by 'stats socket command'\n\n",
     ERROR_NONE},
    {"no need to change the addr, no need to change the port by 'stats socket command'\n\n", ERROR_NONE},
    {"nothing changed\n\n", ERROR_NONE},
    {"No such server.\n\n", ERROR_GONE},
    {"No such backend.\n", ERROR_GONE},
    {"Already exists a server with the same name in backend.\n\n", ERROR_CONFLICT},
    {"Only servers in maintenance mode can be deleted.\n", ERROR_CONFLICT},
    {"Server still has connections attached to it, cannot remove it.\n", ERROR_CONFLICT},
    {"This server cannot be removed at runtime due to other configuration elements pointing to it.\n", ERROR_INVALID},
    {"Invalid addr '999' by 'stats socket command'\n\n", ERROR_INVALID},
    {"unknown keyword 'nonsense'.\n\n", ERROR_INVALID},
    {"'resolvers' option is not accepted for dynamic server\n\n", ERROR_INVALID},
    {"Absolute weight can only be between 0 and 256 inclusive.\n\n", ERROR_INVALID},
    {"Permission denied\n\n", ERROR_AUTH},
};

TEST_EACH(test_done, array_len(done))
{
    struct error err = {0};
    ck_assert_int_eq(cli_read_done(done[_i].answer, &err), done[_i].kind == ERROR_NONE ? 0 : -1);
    ck_assert_int_eq(err.kind, done[_i].kind);
}
