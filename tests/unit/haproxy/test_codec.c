/* src/haproxy/dataplane/codec: what the API says of backends, servers and templates; what is wrong with it is named. */
#include "haproxy/dataplane/codec.h"
#include "../json_text.h"

static struct backend b;
static struct buf json; /* of a file */
static struct error err;

static void setup(void)
{
    backend_init(&b);
    error_clear(&err);
}

static void teardown(void)
{
    backend_fini(&b);
    buf_fini(&json);
}

FIXTURE(setup, teardown)

static void read_file(const char *path)
{
    ck_assert_msg(buf_read_file(&json, path) == 0, "%s: %m", path);
}

static int read_servers(const char *text)
{
    return codec_read_servers(text, strlen(text), &b, &err);
}

static int read_templates(const char *text)
{
    return codec_read_templates(text, strlen(text), &b, &err);
}

static int read_backend(const char *text)
{
    return codec_read_backend(text, strlen(text), &b, &err);
}

TEST(servers_of_a_capture)
{
    read_file("tests/data/dataplane/servers.json");
    ck_assert_msg(read_servers(json.data) == 0, "%s", err.message);
    ck_assert_uint_eq(b.server_count, 4);
    ck_assert_str_eq(b.servers[0].name, "old");
    ck_assert_str_eq(b.servers[0].address, "127.0.9.1");
    ck_assert_uint_eq(b.servers[0].port, 30443);
    ck_assert_int_eq(b.servers[0].weight, 100);
    ck_assert(b.servers[0].check && !b.servers[0].backup && !b.servers[0].maintenance && !b.servers[0].send_proxy_v2);
    ck_assert(b.servers[1].backup && !b.servers[1].check);
    ck_assert_int_eq(b.servers[1].weight, -1);
    ck_assert(b.servers[2].maintenance && b.servers[2].send_proxy_v2);
    ck_assert_str_eq(b.servers[3].address, "unix@/run/app.sock");
    ck_assert_uint_eq(b.servers[3].port, 0);
    ck_assert(!b.servers[3].check);
    assert_json(b.servers[0].json, "{\"check\":\"enabled\",\"weight\":100,\"address\":\"127.0.9.1\",\"name\":\"old\","
                                   "\"port\":30443}");
}

TEST(the_words_that_answer_a_default_server)
{
    ck_assert_int_eq(
        read_servers("[{\"name\":\"a\",\"address\":\"x\",\"maintenance\":\"disabled\"},"
                     "{\"name\":\"b\",\"address\":\"x\",\"backup\":\"disabled\"},"
                     "{\"name\":\"c\",\"address\":\"x\",\"maintenance\":\"enabled\",\"backup\":\"enabled\"},"
                     "{\"name\":\"d\",\"address\":\"x\",\"maintenance\":null,\"backup\":\"\"}]"),
        0);
    for (size_t i = 0; i < b.server_count; i++) {
        ck_assert_int_eq(b.servers[i].enabled, i == 0);
        ck_assert_int_eq(b.servers[i].no_backup, i == 1);
        ck_assert_int_eq(b.servers[i].maintenance, i == 2);
        ck_assert_int_eq(b.servers[i].backup, i == 2);
    }
}

TEST(the_checks_port)
{
    ck_assert_int_eq(read_servers("[{\"name\":\"a\",\"address\":\"x\",\"port\":1,\"health_check_port\":32000},"
                                  "{\"name\":\"b\",\"address\":\"x\",\"port\":1},"
                                  "{\"name\":\"c\",\"address\":\"x\",\"health_check_port\":null}]"),
                     0);
    ck_assert_uint_eq(b.servers[0].check_port, 32000);
    ck_assert_uint_eq(b.servers[0].port, 1);
    ck_assert_uint_eq(b.servers[1].check_port + b.servers[2].check_port, 0);
}

TEST(an_empty_list_has_two_forms)
{
    ck_assert_int_eq(read_servers("[{\"name\":\"a\",\"address\":\"x\"}]"), 0);
    ck_assert_uint_eq(b.server_count, 1);
    ck_assert_int_eq(read_servers("[]"), 0); /* 3.0 */
    ck_assert_uint_eq(b.server_count, 0);
    ck_assert_int_eq(read_servers("[{\"name\":\"a\",\"address\":\"x\"}]"), 0);
    ck_assert_int_eq(read_servers("null"), 0); /* 3.4 */
    ck_assert_uint_eq(b.server_count, 0);
    ck_assert_int_eq(read_templates("null"), 0);
    ck_assert_int_eq(read_templates("[]"), 0);
}

static const struct {
    const char *json, *message;
} bad_servers[] = {
    {"", "the list of servers is not JSON"},
    {"[", "the list of servers is not JSON"},
    {"<html>502</html>", "the list of servers is not JSON"},
    {"{}", "the list of servers is an object, not an array"},
    {"7", "not an array"},
    {"[1]", "server 1 of the list: it is a number, not an object"},
    {"[{\"name\":\"a\",\"address\":\"x\"},null]", "server 2 of the list: it is null"},
    {"[{\"address\":\"x\"}]", "server 1 of the list: name is missing or empty"},
    {"[{\"name\":\"\",\"address\":\"x\"}]", "name is missing or empty"},
    {"[{\"name\":7,\"address\":\"x\"}]", "server 1 of the list: name is a number, not a string"},
    {"[{\"name\":\"a b\",\"address\":\"x\"}]", "name is \"a b\", not a name without white space"},
    {"[{\"name\":\"a\\nb\",\"address\":\"x\"}]", "not a name without white space"},
    {"[{\"name\":\"a\x7f\",\"address\":\"x\"}]", "not a name without white space"},
    {"[{\"name\":\"a\\u0000b\",\"address\":\"x\"}]", "name holds a NUL"},
    {"[{\"name\":\"a\"}]", "server a: address is missing or empty"},
    {"[{\"name\":\"a\",\"address\":[]}]", "server a: address is an array, not a string"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":70000}]", "server a: port is 70000, not in 0..65535"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":-1}]", "server a: port is -1, not in 0..65535"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":\"80\"}]", "server a: port is a string, not a whole"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":80.5}]", "server a: port is 80.5, not a whole number"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":18446744073709551615}]", "server a: port is 18446744073709551615"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":99999999999999999999999}]", "server a: port is a number"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"health_check_port\":65536}]",
     "server a: health_check_port is 65536, not in 0..65535"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"health_check_port\":\"1\"}]", "health_check_port is a string"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"weight\":-1}]", "server a: weight is -1"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"weight\":true}]", "server a: weight is a boolean, not a whole"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"check\":true}]", "server a: check is a boolean, not a string"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"check\":\"yes\"}]", "check is \"yes\", not \"enabled\" or"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"backup\":\"on\"}]", "server a: backup"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"maintenance\":1}]", "server a: maintenance"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"send-proxy-v2\":\"\\n\"}]", "server a: send-proxy-v2 is \" \""},
};

TEST_EACH(a_bad_server_is_named_and_the_old_list_stays, array_len(bad_servers))
{
    ck_assert_int_eq(read_servers("[{\"name\":\"kept\",\"address\":\"x\"}]"), 0);
    ck_assert_int_eq(read_servers(bad_servers[_i].json), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(err.message, bad_servers[_i].message) != NULL, "%s\n%s", bad_servers[_i].json, err.message);
    ck_assert_uint_eq(b.server_count, 1);
    ck_assert_str_eq(b.servers[0].name, "kept");
}

TEST(templates_and_their_ranges)
{
    static const struct {
        const char *range;
        unsigned first, last;
    } rows[] = {{"3", 1, 3}, {"5-8", 5, 8}, {"0-0", 0, 0}, {"1", 1, 1}, {"7-7", 7, 7}, {"4294967295", 1, 4294967295u}};
    static const char *const bad[] = {"", "x", "-3", "3-", "8-5", "1-2-3", "0", "4294967296", " 3", "+3", "3-x"};
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *text =
            mem_printf("[{\"prefix\":\"slot\",\"num_or_range\":\"%s\",\"fqdn\":\"x\"}]", rows[i].range);
        ck_assert_msg(read_templates(text) == 0, "%s", err.message);
        ck_assert_uint_eq(b.template_count, 1);
        ck_assert_str_eq(b.templates[0].prefix, "slot");
        ck_assert_uint_eq(b.templates[0].first, rows[i].first);
        ck_assert_uint_eq(b.templates[0].last, rows[i].last);
    }
    for (size_t i = 0; i < array_len(bad); i++) {
        cleanup(mem_free_ptr) char *text = mem_printf("[{\"prefix\":\"slot\",\"num_or_range\":\"%s\"}]", bad[i]);
        ck_assert_msg(read_templates(text) == -1, "%s was taken", bad[i]);
        ck_assert(strstr(err.message, "num_or_range") != NULL && strstr(err.message, "server-template") != NULL);
    }
    ck_assert_int_eq(read_templates("[{\"num_or_range\":\"3\"}]"), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "server-template 1 of the list: prefix"));
    ck_assert_int_eq(read_templates("[3]"), -1);
    ck_assert_uint_eq(b.template_count, 1);
}

TEST(backend_of_a_capture)
{
    read_file("tests/data/dataplane/backend.json");
    ck_assert_msg(read_backend(json.data) == 0, "%s", err.message);
    ck_assert(b.exists);
    ck_assert_str_eq(b.name, "be");
    ck_assert_str_eq(b.mode, "tcp");
    ck_assert_str_eq(b.balance, "leastconn");
    ck_assert_str_eq(b.adv_check, "tcp-check");
    ck_assert(!b.default_send_proxy_v2);
    assert_json(b.json, json.data);
    const char *bare = "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"},\"balance\":null}";
    ck_assert_int_eq(read_backend(bare), 0);
    ck_assert_str_eq(b.mode, "");
    ck_assert_str_eq(b.balance, "");
    ck_assert_str_eq(b.adv_check, "");
    ck_assert(b.default_send_proxy_v2);
    ck_assert(!b.httpchk_params);
}

static const struct {
    const char *json, *message;
} bad_backends[] = {
    {"", "the backend is not JSON"},
    {"[]", "the backend is an array, not an object"},
    {"null", "the backend is null"},
    {"{}", "the backend: name is missing"},
    {"{\"name\":\"b e\"}", "the backend: name is \"b e\""},
    {"{\"name\":\"other\"}", "asked for backend be, the answer is about \"other\""},
    {"{\"name\":\"be\",\"mode\":7}", "backend be: mode is a number, not a string"},
    {"{\"name\":\"be\",\"balance\":\"roundrobin\"}", "backend be: balance is a string, not an object"},
    {"{\"name\":\"be\",\"balance\":{\"algorithm\":[]}}", "backend be: balance: algorithm is an array"},
    {"{\"name\":\"be\",\"adv_check\":{}}", "backend be: adv_check is an object"},
    {"{\"name\":\"be\",\"httpchk_params\":\"/\"}", "backend be: httpchk_params is a string, not an object"},
    {"{\"name\":\"be\",\"default_server\":[]}", "backend be: default_server is an array, not an object"},
    {"{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":1}}", "send-proxy-v2 is a number"},
};

TEST(whether_an_httpchk_says_what_to_ask_for)
{
    static const struct {
        const char *json;
        bool expected;
    } cases[] = {
        {"{\"name\":\"be\",\"adv_check\":\"httpchk\"}", false},
        {"{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":null}", false},
        {"{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{}}", false},
        {"{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}", true},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        b.httpchk_params = !cases[i].expected;
        ck_assert_int_eq(read_backend(cases[i].json), 0);
        ck_assert_msg(b.httpchk_params == cases[i].expected, "%s", cases[i].json);
    }
}

TEST_EACH(a_bad_backend_is_named_and_the_old_one_stays, array_len(bad_backends))
{
    ck_assert_int_eq(read_backend("{\"name\":\"be\",\"mode\":\"http\"}"), 0);
    ck_assert_int_eq(read_backend(bad_backends[_i].json), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(err.message, bad_backends[_i].message) != NULL, "%s", err.message);
    ck_assert_str_eq(b.mode, "http");
    assert_json(b.json, "{\"name\":\"be\",\"mode\":\"http\"}");
}

TEST(several_backends_whole)
{
    static const char text[] =
        "[{\"name\":\"foreign\"},{\"name\":\"two\",\"mode\":\"http\",\"acl_list\":[{}],\"force_persist_list\":[{"
        "\"cond\":\"if\"}],"
        "\"servers\":{\"b\":{\"name\":\"b\",\"address\":\"10.0.0.2\",\"port\":80},\"a\":{\"name\":\"a\",\"address\":"
        "\"x\"}},"
        "\"server_templates\":{\"t\":{\"prefix\":\"t\",\"num_or_range\":\"3\",\"fqdn\":\"x\"}},\"tcp_check_rule_list\":"
        "[]},"
        "{\"name\":\"bad\",\"mode\":\"tcp\",\"servers\":{\"a\":{\"name\":\"a\"}}},7,null,{},{\"name\":9}]";
    static const char *const names[] = {"bad", "two", "none"};
    struct backend all[3], *const list[] = {&all[0], &all[1], &all[2]};
    for (size_t i = 0; i < array_len(all); i++) {
        backend_init(&all[i]);
        all[i].name = mem_strdup(names[i]);
        all[i].version = 7;
    }
    struct codec_list l;
    ck_assert_int_eq(codec_list_begin(&l, text, strlen(text), &err), 0);
    unsigned turns = 1;
    while (codec_list_read(&l, list, array_len(list), 2))
        turns++;
    ck_assert_uint_eq(turns, 4); /* of seven */
    codec_list_fini(&l);
    ck_assert(!all[0].exists && all[0].mode == NULL && all[0].server_count == 0);
    ck_assert(!all[2].exists);
    const struct backend *two = &all[1];
    ck_assert(two->exists && two->version == 7);
    ck_assert_str_eq(two->mode, "http");
    assert_json(two->json, "{\"name\":\"two\",\"mode\":\"http\",\"force_persist_list\":[{\"cond\":\"if\"}]}");
    ck_assert_uint_eq(two->server_count, 2);
    ck_assert_str_eq(two->servers[0].name, "b");
    assert_json(two->servers[0].json, "{\"name\":\"b\",\"address\":\"10.0.0.2\",\"port\":80}");
    ck_assert_uint_eq(two->template_count, 1);
    ck_assert_str_eq(two->templates[0].prefix, "t");
    ck_assert_int_eq(codec_list_begin(&l, "null", 4, &err), 0);
    ck_assert(!codec_list_read(&l, list, array_len(list), 2));
    codec_list_fini(&l);
    ck_assert_int_eq(codec_list_begin(&l, "{}", 2, &err), -1);
    ck_assert_ptr_null(l.doc);
    ck_assert_str_eq(err.message, "the list of backends is an object, not an array");
    for (size_t i = 0; i < array_len(all); i++)
        backend_fini(&all[i]);
}
