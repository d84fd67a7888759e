/* src/haproxy/local/server_command: what a reload would do to a server, as commands. */
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/local/server_command.h"

#include "../test.h"

#define N1 "  server n1 10.0.0.1:80"

#define HASHED                                                                                                 \
    "backend be: HAProxy before 3.0 gives a server that is added while it runs no share of a consistent hash " \
    "(`balance random`)"

/* says: the commands, a line each; why: NULL, or why it takes a reload. */
static const struct {
    const char *text;
    const char *says, *why;
} added[] = {
    {"backend be\n" N1 "\n", "add server be/n1 10.0.0.1:80\nenable server be/n1\n", NULL},
    {"backend be\n" N1 " check weight 5 # x\n",
     "add server be/n1 10.0.0.1:80 check weight 5\nenable health be/n1\nenable server be/n1\n", NULL},
    {"backend be\n  default-server inter 2s check weight 9\n" N1 " weight 5\n",
     "add server be/n1 10.0.0.1:80 inter 2s check weight 5\nenable health be/n1\nenable server be/n1\n", NULL},
    {"defaults\n  default-server inter 1s fall 2\nbackend be\n  default-server inter 2s\n" N1 "\n",
     "add server be/n1 10.0.0.1:80 fall 2 inter 2s\nenable server be/n1\n", NULL},
    {"defaults a\n  default-server fall 3\ndefaults b from a\n  default-server rise 4\ndefaults c\n  default-server "
     "fall 9\nbackend be from b\n" N1 "\n",
     "add server be/n1 10.0.0.1:80 fall 3 rise 4\nenable server be/n1\n", NULL},
    {"backend be\n" N1 "\n  default-server inter 2s\n", "add server be/n1 10.0.0.1:80\nenable server be/n1\n",
     NULL}, /* it comes too late */
    {"backend be\n  default-server check send-proxy-v2\n" N1 " no-check no-send-proxy-v2\n",
     "add server be/n1 10.0.0.1:80\nenable server be/n1\n", NULL},
    {"backend be\n" N1 " ssl verify none no-tlsv10 init-addr last,none resolvers x\n",
     "add server be/n1 10.0.0.1:80 ssl verify none no-tlsv10\nenable server be/n1\n", NULL},
    {"backend be\n  default-server check send-proxy-v2\n" N1
     " ssl verify none check-sni a.example agent-check agent-port 9\n",
     "add server be/n1 10.0.0.1:80 check send-proxy-v2 ssl verify none check-sni a.example agent-check agent-port 9 "
     "check-ssl check-send-proxy\nenable agent be/n1\nenable health be/n1\nenable server be/n1\n",
     NULL},
    {"backend be\n  default-server check-ssl\n" N1 " check ssl verify none no-check-ssl\n",
     "add server be/n1 10.0.0.1:80 check ssl verify none\nenable health be/n1\nenable server be/n1\n", NULL},
    {"backend be\n" N1 " check ssl verify none send-proxy port 81\n",
     "add server be/n1 10.0.0.1:80 check ssl verify none send-proxy port 81\nenable health be/n1\nenable server "
     "be/n1\n",
     NULL}, /* elsewhere it speaks plainly */
    {"backend be\n" N1 " nobody-knows\n", NULL, "server be/n1: what \"nobody-knows\" takes is not known"},
    {"backend be\n" N1 " sni \"str(a b)\"\n", NULL, "server be/n1: the value of \"sni\" fits into no command"},
    {"backend be\n" N1 " cookie a;b\n", NULL, "server be/n1: the value of \"cookie\" fits into no command"},
    {"backend other\n" N1 "\n", NULL, "server be/n1: haproxy.cfg has no server n1"},
    {"backend be\n  balance random\n" N1 "\n", NULL, HASHED},
    {"defaults\n  balance random\nbackend be\n" N1 "\n", NULL, HASHED},
};

static char *all_of(const struct server_commands *c)
{
    struct buf b = {0};
    for (size_t i = 0; i < c->count; i++)
        buf_printf(&b, "%s\n", c->list[i].text);
    return buf_take(&b);
}

static void check_change(const char *text, bool files_before, const struct change *change, const char *says,
                         const char *why)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(server_commands_fini) struct server_commands c = {0};
    cfg_file_parse(&f, text, strlen(text));
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    cfg_lines_find(&lines, &f, "be");
    int rc = server_commands_add(&c, &lines, "2.6.12", files_before, change, &flaw);
    server_commands_order(&c);
    if (why != NULL) {
        ck_assert_int_eq(rc, -1);
        ck_assert_str_eq(flaw.message, why);
        return;
    }
    ck_assert_msg(rc == 0, "%s", flaw.message);
    cleanup(mem_free_ptr) char *is = all_of(&c);
    ck_assert_str_eq(is, says);
}

TEST_EACH(a_server_that_comes, array_len(added))
{
    const struct backend b = {.name = (char *)"be"};
    const struct backend_server s = {.name = (char *)"n1", .address = (char *)"10.0.0.1", .port = 80, .weight = 5};
    const struct change c = {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &s};
    check_change(added[_i].text, false, &c, added[_i].says, added[_i].why);
}

#define COMMANDS "add server be/n1 10.0.0.1:80\nenable server be/n1\n"
#define ELSEWHERE "backend be: its defaults may be in a file of HAPROXY_CHECK_FILES, so they are unknown"

/* HAProxy reads other files before this one. */
static const struct {
    const char *text;
    const char *says, *why;
} behind[] = {
    {"backend be\n" N1 "\n", NULL, ELSEWHERE},
    {"backend be from x\n" N1 "\n", NULL, ELSEWHERE},
    {"defaults y from x\nbackend be\n" N1 "\n", NULL, ELSEWHERE},
    {"defaults\nbackend be from x\n" N1 "\n", NULL, ELSEWHERE},
    {"backend be\n" N1 "\ndefaults\n", NULL, ELSEWHERE},
    {"defaults\nbackend be\n" N1 "\n", COMMANDS, NULL},
    {"defaults x\ndefaults y from x\nbackend be from y\n" N1 "\n", COMMANDS, NULL},
};

TEST_EACH(a_server_whose_defaults_are_elsewhere, array_len(behind))
{
    const struct backend b = {.name = (char *)"be"};
    const struct backend_server s = {.name = (char *)"n1", .address = (char *)"10.0.0.1", .port = 80};
    const struct change c = {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &s};
    check_change(behind[_i].text, true, &c, behind[_i].says, behind[_i].why);
}

/* Where what stands in front is known, it goes with the command. */
static const struct {
    const char *before, *text, *says;
} known[] = {
    {"defaults\n  default-server weight 7\n", "backend be\n" N1 "\n", "add server be/n1 10.0.0.1:80 weight 7\n"},
    {"defaults\n  default-server weight 7\ndefaults\n", "backend be\n" N1 "\n", "add server be/n1 10.0.0.1:80\n"},
    {"defaults x\n  default-server weight 7\ndefaults\n", "backend be from x\n" N1 "\n",
     "add server be/n1 10.0.0.1:80 weight 7\n"},
    {"defaults x\n  default-server weight 7\ndefaults y from x\n  default-server maxconn 9\n",
     "backend be\n  default-server weight 3\n" N1 "\n", "add server be/n1 10.0.0.1:80 maxconn 9 weight 3\n"},
    {"defaults\n  default-server weight 7\n", "defaults\nbackend be\n" N1 "\n", "add server be/n1 10.0.0.1:80\n"},
    {"", "backend be\n" N1 "\n", "add server be/n1 10.0.0.1:80\n"},
    {"", "backend be\n  balance random\n" N1 "\n", "add server be/n1 10.0.0.1:80\n"},
};

TEST_EACH(a_server_whose_defaults_are_known, array_len(known))
{
    const struct backend b = {.name = (char *)"be"};
    const struct backend_server s = {.name = (char *)"n1", .address = (char *)"10.0.0.1", .port = 80};
    const struct change change = {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &s};
    cleanup(cfg_file_fini) struct cfg_file before = {0}, f = {0};
    cleanup(server_commands_fini) struct server_commands c = {0};
    cfg_file_parse(&before, known[_i].before, strlen(known[_i].before));
    cfg_file_parse_behind(&f, known[_i].text, strlen(known[_i].text), &before);
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    cfg_lines_find(&lines, &f, "be");
    ck_assert_msg(server_commands_add(&c, &lines, "3.0.1", false, &change, &flaw) == 0, "%s", flaw.message);
    cleanup(mem_free_ptr) char *is = all_of(&c);
    cleanup(mem_free_ptr) char *says = mem_printf("%senable server be/n1\n", known[_i].says);
    ck_assert_str_eq(is, says);
}

/* What was made of the one before is used again for the same words alone, behind the same default-server lines. */
TEST(each_server_has_its_own_words)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5", "n6"};
    static const char text[] =
        "backend be\n  server n1 10.0.0.1:80 check inter 2s\n  server n2 10.0.0.1:80 check inter 2\n"
        "  server n3 10.0.0.1:80 check inter 2\n  default-server weight 7\n"
        "  server n4 10.0.0.1:80 check inter 2\n  server n5 10.0.0.1:80\n"
        "  server n6 10.0.0.1:80 \0 is no word of a command, however much follows\n";
    const struct backend b = {.name = (char *)"be"};
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(server_commands_fini) struct server_commands c = {0};
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    cfg_file_parse(&f, text, sizeof(text) - 1);
    cfg_lines_find(&lines, &f, "be");
    for (size_t i = 0; i < array_len(names); i++) {
        const struct backend_server s = {
            .name = (char *)(uintptr_t)names[i], .address = (char *)"10.0.0.1", .port = 80, .maintenance = true};
        const struct change change = {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &s};
        ck_assert_int_eq(server_commands_add(&c, &lines, "3.0.1", false, &change, &flaw), i == 5 ? -1 : 0);
    }
    cleanup(mem_free_ptr) char *is = all_of(&c);
    ck_assert_str_eq(is, "add server be/n1 10.0.0.1:80 check inter 2s\nenable health be/n1\n"
                         "add server be/n2 10.0.0.1:80 check inter 2\nenable health be/n2\n"
                         "add server be/n3 10.0.0.1:80 check inter 2\nenable health be/n3\n"
                         "add server be/n4 10.0.0.1:80 weight 7 check inter 2\nenable health be/n4\n"
                         "add server be/n5 10.0.0.1:80 weight 7\n");
}

#define S(...)                                                                       \
    {                                                                                \
        .name = (char *)"n1", .address = (char *)"10.0.0.1", .port = 80, __VA_ARGS__ \
    }

static const struct {
    enum change_kind kind;
    struct backend_server server;
    unsigned fields;
    const char *says, *why;
} others[] = {
    {CHANGE_ADD_SERVER, S(.maintenance = true), 0, "add server be/n1 10.0.0.1:80\n", NULL},
    {CHANGE_ADD_SERVER,
     {.name = (char *)"n1", .address = (char *)"::1", .port = 80},
     0,
     "add server be/n1 [::1]:80\nenable server be/n1\n",
     NULL},
    {CHANGE_ADD_SERVER,
     {.name = (char *)"n1", .address = (char *)"web", .port = 80},
     0,
     NULL,
     "server be/n1: its address is a name, or without a port"},
    {CHANGE_ADD_SERVER,
     {.name = (char *)"n;1", .address = (char *)"::1", .port = 80},
     0,
     NULL,
     "server be/n;1 has a name that fits into no command"},
    {CHANGE_REMOVE_SERVER, S(), 0, "set server be/n1 state maint\ndel server be/n1\n", NULL},
    {CHANGE_SET_SERVER, S(.weight = 4), SERVER_ADDRESS | SERVER_WEIGHT | SERVER_MAINTENANCE,
     "set server be/n1 addr 10.0.0.1 port 80\nset server be/n1 weight 4\nset server be/n1 state ready\n", NULL},
    {CHANGE_SET_SERVER, S(.maintenance = true), SERVER_MAINTENANCE, "set server be/n1 state maint\n", NULL},
    {CHANGE_SET_SERVER, S(), SERVER_CHECK, NULL, "server be/n1: its check or its PROXY protocol changes"},
    {CHANGE_SET_SERVER,
     {.name = (char *)"n1", .address = (char *)"web", .port = 80},
     SERVER_PORT,
     NULL,
     "server be/n1: its address is a name, or without a port"},
};

TEST_EACH(any_other_change, array_len(others))
{
    const struct backend b = {.name = (char *)"be"};
    const struct change c = {
        .kind = others[_i].kind, .backend = &b, .server = &others[_i].server, .fields = others[_i].fields};
    check_change("backend be\n" N1 "\n", others[_i].kind != CHANGE_ADD_SERVER, &c, others[_i].says, others[_i].why);
}

TEST(a_backend_takes_a_reload)
{
    const struct backend b = {.name = (char *)"be"};
    const struct change c = {.kind = CHANGE_SET_BACKEND, .backend = &b};
    check_change("backend be\n", false, &c, NULL, "backend be itself changes");
}
