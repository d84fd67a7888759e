/* src/haproxy/local/config_edit: changes of a backend in haproxy.cfg itself; every other byte stays. */
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/cfg/backend_edit.h"

#include "../test.h"

static struct backend backend_of(const struct cfg_file *f)
{
    struct backend b;
    backend_init(&b);
    b.name = mem_strdup("be");
    ck_assert_msg(cfg_backend_read(f, &b, &flaw) == 0, "%s", flaw.message);
    return b;
}

/* What the file is with these changes. */
static char *edited(const char *text, const struct change *changes, size_t count)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    struct buf out = {0};
    cfg_file_parse(&f, text, strlen(text));
    ck_assert_msg(cfg_backend_edit(&f, changes, count, &edits, &flaw) == 0, "%s", flaw.message);
    cfg_file_print(&f, &edits, NULL, &out);
    return buf_take(&out);
}

#define S(w, ...)                                                                                   \
    {                                                                                               \
        .name = (char *)"n1", .address = (char *)"10.0.0.1", .port = 80, .weight = (w), __VA_ARGS__ \
    }

/* `before` and `after` are the line, or lines, of server n1 in a backend with another one. */
static const struct {
    const char *before;
    struct backend_server server;
    unsigned fields;
    const char *after;
} lines[] = {
    {"  server n1 10.0.0.9:81 check", S(100, .check = true), SERVER_ADDRESS | SERVER_PORT,
     "  server n1 10.0.0.1:80 check"},
    {"\tserver  n1\t10.0.0.9:80\tcheck # why\r", S(100, .check = true), SERVER_ADDRESS,
     "\tserver  n1\t10.0.0.1:80\tcheck # why\r"},
    {"  server \"n1\" 10.0.0.1:80", S(7), SERVER_WEIGHT, "  server \"n1\" 10.0.0.1:80 weight 7"},
    {"  server n1 10.0.0.1:80 weight 1 inter 2s weight 3#x", S(100), SERVER_WEIGHT,
     "  server n1 10.0.0.1:80 weight 100 inter 2s weight 100#x"},
    {"  server n1 10.0.0.1:80", S(100, .maintenance = true), SERVER_MAINTENANCE, "  server n1 10.0.0.1:80 disabled"},
    {"  server n1 10.0.0.1:80 enabled  check", S(100, .maintenance = true), SERVER_MAINTENANCE,
     "  server n1 10.0.0.1:80  check disabled"},
    {"  server n1 10.0.0.1:80  disabled cookie disabled", S(100), SERVER_MAINTENANCE,
     "  server n1 10.0.0.1:80 cookie disabled"},
    {"  server n1 10.0.0.1:80 disabled", S(100, .enabled = true), SERVER_MAINTENANCE,
     "  server n1 10.0.0.1:80 enabled"},
    {"  server n1 10.0.0.1:80 check inter 1s", S(100, .check = true), SERVER_CHECK,
     "  server n1 10.0.0.1:80 check inter 1s"},
    {"  server n1 10.0.0.1:80 no-check", S(100, .check = true), SERVER_CHECK, "  server n1 10.0.0.1:80 check"},
    {"  server n1 10.0.0.1:80 check port 81 inter 1s", S(100), SERVER_CHECK | SERVER_CHECK_PORT,
     "  server n1 10.0.0.1:80 inter 1s"},
    {"  server n1 10.0.0.1:80 port 81", S(100, .check_port = 82), SERVER_CHECK_PORT, "  server n1 10.0.0.1:80 port 82"},
    {"  server n1 10.0.0.1:80 check", S(100, .check_port = 82), SERVER_CHECK_PORT,
     "  server n1 10.0.0.1:80 check port 82"},
    {"  server n1 10.0.0.1:80 send-proxy-v2 check", S(100), SERVER_PROXY_V2, "  server n1 10.0.0.1:80 check"},
    {"  server n1 10.0.0.1:80 no-send-proxy-v2", S(100, .send_proxy_v2 = true), SERVER_PROXY_V2,
     "  server n1 10.0.0.1:80 send-proxy-v2"},
    {"  server n1 10.0.0.1:80 backup", S(100, .no_backup = true), SERVER_BACKUP, "  server n1 10.0.0.1:80 no-backup"},
    {"  server n1 10.0.0.1:80 sni \"str(a b)\" 'crt' \"/x y\"", S(1), SERVER_WEIGHT,
     "  server n1 10.0.0.1:80 sni \"str(a b)\" 'crt' \"/x y\" weight 1"},
    {"  server n1 10.0.0.1:80", S(1), 0, "  server n1 10.0.0.1:80"},
    {"  server n1 10.0.0.1:80 check nobody-knows x # y", S(7, .maintenance = true), SERVER_WEIGHT | SERVER_MAINTENANCE,
     "  server n1 10.0.0.1:80 check weight 7 disabled nobody-knows x # y"}, /* which may take a word */
    {"  server n1 10.0.0.1:80",
     {.name = (char *)"n1", .address = (char *)"::1", .port = 80},
     SERVER_ADDRESS,
     "  server n1 [::1]:80"},
    {"  server n1 10.0.0.1:80 check nobody-knows x",
     {.name = (char *)"n1", .address = (char *)"web", .port = 80},
     SERVER_ADDRESS,
     "  server n1 web:80 check init-addr last,libc,none nobody-knows x"}, /* though DNS is away */
    {"  server n1 10.0.0.1:80 init-addr libc",
     {.name = (char *)"n1", .address = (char *)"web", .port = 80},
     SERVER_ADDRESS,
     "  server n1 web:80 init-addr libc"},
    {"  server n1 web:80",
     {.name = (char *)"n1", .address = (char *)"web", .port = 80, .weight = 7},
     SERVER_ADDRESS | SERVER_WEIGHT,
     "  server n1 web:80 weight 7"},
    {"  server n1 10.0.0.1:80",
     {.name = (char *)"n1", .address = (char *)"web", .port = 80, .weight = 7},
     SERVER_WEIGHT,
     "  server n1 10.0.0.1:80 weight 7"},
    {"  server n1 10.0.0.1:80\n  server n1 10.0.0.1:81", S(1), SERVER_WEIGHT,
     "  server n1 10.0.0.1:80 weight 1\n  server n1 10.0.0.1:81"},
};

#define BEFORE "# be\nglobal\n  maxconn 1\n\nbackend other\n  server n1 1.1.1.1:1\nbackend be # x\n  mode tcp\n"
#define AFTER "\n\n  # server n1 x\n  server n2 10.0.0.2:80\n\nfrontend f\n  bind :1"

TEST_EACH(a_server_is_changed_in_place, array_len(lines))
{
    cleanup(mem_free_ptr) char *before = mem_printf(BEFORE "%s" AFTER, lines[_i].before);
    cleanup(mem_free_ptr) char *after = mem_printf(BEFORE "%s" AFTER, lines[_i].after);
    struct backend b = {.name = (char *)"be"};
    const struct change c = {
        .kind = CHANGE_SET_SERVER, .backend = &b, .server = &lines[_i].server, .fields = lines[_i].fields};
    cleanup(mem_free_ptr) char *is = edited(before, &c, 1);
    ck_assert_str_eq(is, after);
}

static const struct {
    const char *before;
    struct backend_server server;
    const char *after;
} added[] = {
    {"backend be\n\tserver a 1.1.1.1:1\n\n# end\n", S(100, .check = true),
     "backend be\n\tserver a 1.1.1.1:1\n\tserver n1 10.0.0.1:80 check weight 100\n\n# end\n"},
    {"backend be\r\n  server a 1.1.1.1:1\r\n", S(100, .maintenance = true),
     "backend be\r\n  server a 1.1.1.1:1\r\n  server n1 10.0.0.1:80 weight 100 disabled\r\n"},
    {"backend be\n  server a 1.1.1.1:1", S(-1), "backend be\n  server a 1.1.1.1:1\n  server n1 10.0.0.1:80 weight 100"},
    {"backend be\n   mode tcp\nbackend x\n",
     S(100, .check = true, .check_port = 9, .send_proxy_v2 = true, .no_backup = true, .enabled = true),
     "backend be\n   mode tcp\n   server n1 10.0.0.1:80 check port 9 weight 100 no-backup enabled "
     "send-proxy-v2\nbackend x\n"},
    {"backend be\n  server a 1.1.1.1:1 ssl\n", S(100, .check = true, .rest = "ssl"),
     "backend be\n  server a 1.1.1.1:1 ssl\n  server n1 10.0.0.1:80 check ssl weight 100\n"},
    {"backend be\nbackend x\n", S(100), "backend be\n    server n1 10.0.0.1:80 weight 100\nbackend x\n"},
    {"backend be\n  mode tcp\n.if x\nfrontend f\n.endif\n", S(100),
     "backend be\n  mode tcp\n  server n1 10.0.0.1:80 weight 100\n.if x\nfrontend f\n.endif\n"},
    {"backend be\n.notice y\n  mode tcp\n.if x\nfrontend f\n.endif\n", S(100),
     "backend be\n.notice y\n  mode tcp\n  server n1 10.0.0.1:80 weight 100\n.if x\nfrontend f\n.endif\n"},
    {"backend be\n.if x\nfrontend f\n.endif\n", S(100),
     "backend be\n    server n1 10.0.0.1:80 weight 100\n.if x\nfrontend f\n.endif\n"},
    {"backend be\n",
     {.name = (char *)"n 1", .address = (char *)"web", .port = 80, .weight = 1},
     "backend be\n    server \"n 1\" web:80 weight 1 init-addr last,libc,none\n"},
};

TEST_EACH(a_server_is_added, array_len(added))
{
    struct backend b = {.name = (char *)"be"};
    const struct change c = {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &added[_i].server};
    cleanup(mem_free_ptr) char *is = edited(added[_i].before, &c, 1);
    ck_assert_str_eq(is, added[_i].after);
}

static const struct {
    const char *before;
    struct backend_settings settings;
    const char *after;
} settings[] = {
    {"backend be\n  server a a:1\n", {.balance = "leastconn"}, "backend be\n  balance leastconn\n  server a a:1\n"},
    {"backend be\n  balance hdr(x) # y\n", {.balance = "leastconn"}, "backend be\n  balance leastconn # y\n"},
    {"backend be\n  balance  leastconn\n", {.balance = "leastconn"}, "backend be\n  balance  leastconn\n"},
    {"backend be\n  balance uri\n  balance source\n",
     {.balance = "first"},
     "backend be\n  balance uri\n  balance first\n"},
    {"backend be\n  option httplog\n",
     {.adv_check = "tcp-check"},
     "backend be\n  option tcp-check\n  option httplog\n"},
    {"backend be\n  option httpchk GET /x\n", {.adv_check = "tcp-check"}, "backend be\n  option tcp-check\n"},
    {"backend be\n  option tcp-check\n",
     {.adv_check = "httpchk", .httpchk_healthz = true},
     "backend be\n  option httpchk GET /healthz\n"},
    {"backend be\n  option httpchk\n",
     {.adv_check = "httpchk", .httpchk_healthz = true},
     "backend be\n  option httpchk GET /healthz\n"},
    {"backend be\n  option httpchk GET /x\n",
     {.adv_check = "httpchk", .httpchk_healthz = true},
     "backend be\n  option httpchk GET /x\n"},
    {"backend be\n  default-server inter 1s\n  server a a:1\n",
     {.proxy_v2 = true},
     "backend be\n  default-server inter 1s send-proxy-v2\n  server a a:1\n"},
    {"backend be\n  server a a:1\n  default-server inter 1s\n",
     {.proxy_v2 = true},
     "backend be\n  default-server send-proxy-v2\n  server a a:1\n  default-server inter 1s\n"},
    {"backend be\n  default-server no-send-proxy-v2\n",
     {.proxy_v2 = true},
     "backend be\n  default-server send-proxy-v2\n"},
};

TEST_EACH(settings_are_changed_in_place, array_len(settings))
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cfg_file_parse(&f, settings[_i].before, strlen(settings[_i].before));
    cleanup(backend_fini) struct backend b = backend_of(&f);
    const struct change c = {.kind = CHANGE_SET_BACKEND, .backend = &b, .settings = settings[_i].settings};
    cleanup(mem_free_ptr) char *is = edited(settings[_i].before, &c, 1);
    ck_assert_str_eq(is, settings[_i].after);
}

TEST(a_backend_is_made_at_the_end)
{
    const struct backend_server server = S(100, .check = true),
                                second = {.name = (char *)"n2", .address = (char *)"10.0.0.2", .port = 80, .weight = 1};
    struct backend b = {.name = (char *)"be"};
    const struct change all[] = {{.kind = CHANGE_MAKE_BACKEND,
                                  .backend = &b,
                                  .settings = {.balance = "leastconn", .adv_check = "tcp-check", .proxy_v2 = true}},
                                 {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &server},
                                 {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &second}};
    cleanup(mem_free_ptr) char *is = edited("global\nfrontend f\n  bind :1\n", all, array_len(all));
    ck_assert_str_eq(is, "global\nfrontend f\n  bind :1\n\nbackend be\n    mode tcp\n    balance leastconn\n    option "
                         "tcp-check\n    default-server send-proxy-v2\n    server n1 10.0.0.1:80 check weight "
                         "100\n    server n2 10.0.0.2:80 weight 1\n");
}

TEST(what_is_not_there_or_there_already_is_an_error)
{
    const struct backend_server server = S(100);
    struct backend b = {.name = (char *)"be"};
    const struct change bad[] = {{.kind = CHANGE_SET_SERVER, .backend = &b, .server = &server, .fields = SERVER_WEIGHT},
                                 {.kind = CHANGE_REMOVE_SERVER, .backend = &b, .server = &server},
                                 {.kind = CHANGE_SET_BACKEND, .backend = &b},
                                 {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &server}};
    static const char *const texts[] = {"backend be\n server n2 a\n", "backend x\n server n1 a\n", "backend x\n",
                                        "backend be\n server n1 a\n"};
    for (size_t i = 0; i < array_len(bad); i++) {
        cleanup(cfg_file_fini) struct cfg_file f = {0};
        cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
        cfg_file_parse(&f, texts[i], strlen(texts[i]));
        ck_assert_int_eq(cfg_backend_edit(&f, &bad[i], 1, &edits, &flaw), -1);
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    }
}
