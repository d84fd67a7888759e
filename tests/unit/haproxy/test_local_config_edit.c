/* src/haproxy/local/config_edit: changes of a backend in haproxy.cfg itself; every other byte stays. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../dice.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/local/config.h"
#include "haproxy/local/config_edit.h"

static struct backend backend_of(const struct cfg_file *f)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    b.name = mem_strdup("be");
    ck_assert_msg(local_config_read(f, &b, &err) == 0, "%s", err.message);
    return b;
}

/* What the file is with these changes. */
static char *edited(const char *text, const struct change *changes, size_t count)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    struct buf out = {0};
    struct error err = {0};
    cfg_file_parse(&f, text, strlen(text));
    ck_assert_msg(local_config_edit(&f, changes, count, &edits, &err) == 0, "%s", err.message);
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

START_TEST(a_server_is_changed_in_place)
{
    cleanup(mem_free_ptr) char *before = mem_printf(BEFORE "%s" AFTER, lines[_i].before);
    cleanup(mem_free_ptr) char *after = mem_printf(BEFORE "%s" AFTER, lines[_i].after);
    struct backend b = {.name = (char *)"be"};
    const struct change c = {
        .kind = CHANGE_SET_SERVER, .backend = &b, .server = &lines[_i].server, .fields = lines[_i].fields};
    cleanup(mem_free_ptr) char *is = edited(before, &c, 1);
    ck_assert_str_eq(is, after);
}
END_TEST

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

START_TEST(a_server_is_added)
{
    struct backend b = {.name = (char *)"be"};
    const struct change c = {.kind = CHANGE_ADD_SERVER, .backend = &b, .server = &added[_i].server};
    cleanup(mem_free_ptr) char *is = edited(added[_i].before, &c, 1);
    ck_assert_str_eq(is, added[_i].after);
}
END_TEST

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

START_TEST(settings_are_changed_in_place)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cfg_file_parse(&f, settings[_i].before, strlen(settings[_i].before));
    cleanup(backend_fini) struct backend b = backend_of(&f);
    const struct change c = {.kind = CHANGE_SET_BACKEND, .backend = &b, .settings = settings[_i].settings};
    cleanup(mem_free_ptr) char *is = edited(settings[_i].before, &c, 1);
    ck_assert_str_eq(is, settings[_i].after);
}
END_TEST

START_TEST(a_backend_is_made_at_the_end)
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
END_TEST

START_TEST(what_is_not_there_is_an_error)
{
    const struct backend_server server = S(100);
    struct backend b = {.name = (char *)"be"};
    const struct change bad[] = {{.kind = CHANGE_SET_SERVER, .backend = &b, .server = &server, .fields = SERVER_WEIGHT},
                                 {.kind = CHANGE_REMOVE_SERVER, .backend = &b, .server = &server},
                                 {.kind = CHANGE_SET_BACKEND, .backend = &b}};
    static const char *const texts[] = {"backend be\n server n2 a\n", "backend x\n server n1 a\n", "backend x\n"};
    for (size_t i = 0; i < array_len(bad); i++) {
        cleanup(cfg_file_fini) struct cfg_file f = {0};
        cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
        struct error err = {0};
        cfg_file_parse(&f, texts[i], strlen(texts[i]));
        ck_assert_int_eq(local_config_edit(&f, &bad[i], 1, &edits, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_INVALID);
    }
}
END_TEST

/* ---- any file ---- */

static const char *const around[] = {"",
                                     "# server n0 10.0.0.0:1 check",
                                     "  \t",
                                     "  acl x path_beg \"/a b\" '/c' # d",
                                     "\tstick-table type ip size 1m",
                                     "  http-request set-header X \"%[src]\"",
                                     "  default-server inter 2s",
                                     "  option httplog",
                                     "  timeout  server\t5s"};
static const char *const tails[] = {"",
                                    " check",
                                    " inter 1s # a  b",
                                    "  check  weight 5",
                                    " sni \"str(x y)\" disabled",
                                    "\tport 9 check",
                                    " send-proxy-v2 ",
                                    " enabled weight 1",
                                    " cookie 'a b'"};

static void put_any_line(struct buf *b, struct dice *dice, const char *end)
{
    buf_printf(b, "%s%s", around[dice_below(dice, array_len(around))], end);
}

static void put_any_server(struct buf *b, struct dice *dice, unsigned n, const char *end)
{
    buf_printf(b, "%sserver%sn%u%s10.0.0.%u:%u%s%s", dice_one_in(dice, 2) ? "  " : "\t",
               dice_one_in(dice, 4) ? "  " : " ", n, dice_one_in(dice, 4) ? "\t" : " ", n, 80 + n,
               tails[dice_below(dice, array_len(tails))], end);
}

static char *any_file(struct dice *dice, unsigned count)
{
    struct buf b = {0};
    const char *end = dice_one_in(dice, 4) ? "\r\n" : "\n";
    buf_printf(&b, "global%s  maxconn 9%sdefaults%s", end, end, end);
    for (unsigned i = dice_below(dice, 4); i > 0; i--)
        put_any_line(&b, dice, end);
    buf_printf(&b, "backend other%s", end);
    put_any_server(&b, dice, 1, end);
    buf_printf(&b, "backend be%s", end);
    for (unsigned n = 0; n < count; n++) {
        for (unsigned i = dice_below(dice, 3); i > 0; i--)
            put_any_line(&b, dice, end);
        put_any_server(&b, dice, n, end);
    }
    buf_printf(&b, "%s# c%sfrontend f%s  bind :1", end, end, end);
    if (dice_one_in(dice, 2))
        buf_add(&b, end);
    return buf_take(&b);
}

/* The model: what is to be read of it afterwards. */
static struct change any_change(struct dice *dice, struct backend *b, struct backend_server *own, unsigned n)
{
    struct change c = {.backend = b, .server = own, .kind = CHANGE_SET_SERVER};
    const struct backend_server *is = &b->servers[n];
    if (dice_one_in(dice, 6)) {
        backend_server_copy(own, is);
        c.kind = CHANGE_REMOVE_SERVER;
        return c;
    }
    backend_server_copy(own, is);
    c.fields = dice_below(dice, 2 * SERVER_PROXY_V2);
    if (c.fields & SERVER_ADDRESS)
        own->address[strlen(own->address) - 1] = (char)('0' + dice_below(dice, 10));
    if (c.fields & SERVER_PORT)
        own->port = (uint16_t)(1 + dice_below(dice, 60000));
    if (c.fields & SERVER_WEIGHT)
        own->weight = (int)dice_below(dice, 257);
    if (c.fields & SERVER_CHECK)
        own->check = dice_one_in(dice, 2);
    if (c.fields & SERVER_CHECK_PORT)
        own->check_port = (uint16_t)dice_below(dice, 3);
    if (c.fields & SERVER_PROXY_V2)
        own->send_proxy_v2 = dice_one_in(dice, 2);
    if (c.fields & SERVER_MAINTENANCE) {
        own->maintenance = dice_one_in(dice, 2);
        own->enabled = own->enabled && !own->maintenance;
    }
    return c;
}

static void assert_same_server(const struct backend_server *is, const struct backend_server *want)
{
    ck_assert_str_eq(is->name, want->name);
    ck_assert_str_eq(is->address, want->address);
    ck_assert(is->port == want->port && is->weight == want->weight && is->check == want->check);
    ck_assert(is->check_port == want->check_port && is->send_proxy_v2 == want->send_proxy_v2);
    ck_assert(is->maintenance == want->maintenance && is->enabled == want->enabled && is->backup == want->backup);
}

/* Each line but those of changed servers is there, byte for byte and in its order. */
static void assert_others_stay(const char *before, const char *after, const struct change *changes, size_t count)
{
    cleanup(cfg_file_fini) struct cfg_file a = {0}, b = {0};
    struct cfg_file_line old = {0}, new = {0};
    cleanup(cfg_line_fini) struct cfg_line words;
    bool inside = false;
    cfg_line_init(&words);
    cfg_file_parse(&a, before, strlen(before));
    cfg_file_parse(&b, after, strlen(after));
    bool more = cfg_file_next(&b, &new);
    while (cfg_file_next(&a, &old)) {
        cfg_line_split(&words, old.text, old.len);
        inside =
            words.count > 0 && old.text[0] != ' ' && old.text[0] != '\t' ? str_eq(cfg_word(&words, 1), "be") : inside;
        const struct change *c = NULL;
        for (size_t i = 0; i < count && inside && str_eq(cfg_word(&words, 0), "server"); i++)
            if (str_eq(changes[i].server->name, cfg_word(&words, 1)))
                c = &changes[i];
        if (c != NULL && c->kind == CHANGE_REMOVE_SERVER)
            continue;
        ck_assert(more);
        if (c == NULL) {
            ck_assert_msg(new.len == old.len &&memcmp(new.text, old.text, old.len) == 0, "line %u", old.number);
        } else { /* comment and blanks in front stay */
            size_t blank = strspn(old.text, " \t");
            ck_assert(memcmp(new.text, old.text, blank) == 0);
            const char *comment = memchr(old.text, '#', old.len);
            size_t len = comment != NULL ? (size_t)(old.text + old.len - comment) : 0;
            ck_assert(memcmp(new.text + new.len - len, comment != NULL ? comment : "", len) == 0);
        }
        ck_assert_uint_eq(new.end_len, old.end_len);
        more = cfg_file_next(&b, &new);
    }
    ck_assert(!more);
}

START_TEST(any_change_of_any_file)
{
    struct dice dice = {(uint64_t)_i + 1};
    unsigned count = 1 + dice_below(&dice, 6);
    cleanup(mem_free_ptr) char *before = any_file(&dice, count);
    cleanup(cfg_file_fini) struct cfg_file f = {0}, g = {0};
    cfg_file_parse(&f, before, strlen(before));
    cleanup(backend_fini) struct backend b = backend_of(&f);
    ck_assert_uint_eq(b.server_count, count);
    struct backend_server own[8] = {0};
    struct change changes[8];
    for (unsigned n = 0; n < count; n++)
        changes[n] = any_change(&dice, &b, &own[n], n);
    cleanup(mem_free_ptr) char *after = edited(before, changes, count);
    cfg_file_parse(&g, after, strlen(after));
    cleanup(backend_fini) struct backend now = backend_of(&g);
    size_t at = 0;
    for (unsigned n = 0; n < count; n++)
        if (changes[n].kind != CHANGE_REMOVE_SERVER)
            assert_same_server(&now.servers[at++], &own[n]);
    ck_assert_uint_eq(now.server_count, at);
    assert_others_stay(before, after, changes, count);
    for (unsigned n = 0; n < count; n++)
        backend_server_fini(&own[n]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("local_config_edit");
    TCase *t = tcase_create("local_config_edit");
    tcase_add_loop_test(t, a_server_is_changed_in_place, 0, (int)array_len(lines));
    tcase_add_loop_test(t, a_server_is_added, 0, (int)array_len(added));
    tcase_add_loop_test(t, settings_are_changed_in_place, 0, (int)array_len(settings));
    tcase_add_test(t, a_backend_is_made_at_the_end);
    tcase_add_test(t, what_is_not_there_is_an_error);
    tcase_add_loop_test(t, any_change_of_any_file, 0, 400);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
