/* src/dataplane/codec*: what the API says, our fields out of it and back, everything else untouched. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "dataplane/codec.h"
#include "model/diff.h"

#define RECORDINGS "../shared/data/dataplane/"

static void read_file(struct buf *b, const char *path)
{
    buf_init(b, 0);
    ck_assert_msg(buf_read_file(b, path) == 0, "%s: %m", path);
}

/* Same JSON, whatever the order of keys. */
static void assert_json(const char *got, const char *expected)
{
    yyjson_doc *a = yyjson_read(got, strlen(got), 0), *b = yyjson_read(expected, strlen(expected), 0);
    ck_assert_msg(a != NULL && b != NULL && yyjson_equals(yyjson_doc_get_root(a), yyjson_doc_get_root(b)),
                  "got      %s\nexpected %s", got, expected);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
}

static int read_servers(const char *json, struct backend *b, struct error *err)
{
    return codec_read_servers(json, strlen(json), b, err);
}

/* ---- servers ---- */

START_TEST(servers_of_a_capture)
{
    struct buf json;
    struct backend b;
    struct error err = {0};
    read_file(&json, "tests/data/dataplane/servers.json");
    backend_init(&b);
    ck_assert_msg(codec_read_servers(json.data, json.len, &b, &err) == 0, "%s", err.message);
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
    backend_fini(&b);
    buf_fini(&json);
}
END_TEST

START_TEST(an_empty_list_has_two_forms)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    ck_assert_int_eq(read_servers("[{\"name\":\"a\",\"address\":\"x\"}]", &b, &err), 0);
    ck_assert_uint_eq(b.server_count, 1);
    ck_assert_int_eq(read_servers("[]", &b, &err), 0); /* 3.0 */
    ck_assert_uint_eq(b.server_count, 0);
    ck_assert_int_eq(read_servers("[{\"name\":\"a\",\"address\":\"x\"}]", &b, &err), 0);
    ck_assert_int_eq(read_servers("null", &b, &err), 0); /* 3.4 */
    ck_assert_uint_eq(b.server_count, 0);
    ck_assert_int_eq(codec_read_templates("null", 4, &b, &err), 0);
    ck_assert_int_eq(codec_read_templates("[]", 2, &b, &err), 0);
    backend_fini(&b);
}
END_TEST

static const struct {
    const char *json, *message;
} bad_servers[] = {
    {"", "the list of servers is no JSON"},
    {"[", "the list of servers is no JSON"},
    {"<html>502</html>", "the list of servers is no JSON"},
    {"{}", "the list of servers is object, expected an array"},
    {"7", "expected an array"},
    {"[1]", "server 1 of the list is uint, expected an object"},
    {"[{\"name\":\"a\",\"address\":\"x\"},null]", "server 2 of the list is null"},
    {"[{\"address\":\"x\"}]", "server 1 of the list: field \"name\" is missing or empty"},
    {"[{\"name\":\"\",\"address\":\"x\"}]", "field \"name\" is missing or empty"},
    {"[{\"name\":7,\"address\":\"x\"}]", "server 1 of the list: field \"name\" is uint, expected a string"},
    {"[{\"name\":\"a b\",\"address\":\"x\"}]", "field \"name\" is \"a b\", expected a name without white space"},
    {"[{\"name\":\"a\\nb\",\"address\":\"x\"}]", "expected a name without white space"},
    {"[{\"name\":\"a\x7f\",\"address\":\"x\"}]", "expected a name without white space"},
    {"[{\"name\":\"a\\u0000b\",\"address\":\"x\"}]", "field \"name\" holds a NUL"},
    {"[{\"name\":\"a\"}]", "server a: field \"address\" is missing or empty"},
    {"[{\"name\":\"a\",\"address\":[]}]", "server a: field \"address\" is array, expected a string"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":70000}]", "server a: field \"port\" is 70000, expected 0 to 65535"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":-1}]", "server a: field \"port\" is -1, expected 0 to 65535"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":\"80\"}]", "server a: field \"port\" is string, expected a whole"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":80.5}]", "server a: field \"port\" is real, expected a whole number"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":18446744073709551615}]", "server a: field \"port\" is over"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"port\":99999999999999999999999}]", "server a: field \"port\" is raw"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"weight\":-1}]", "server a: field \"weight\" is -1"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"weight\":true}]", "server a: field \"weight\" is true, expected a whole"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"check\":true}]", "server a: field \"check\" is true, expected a string"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"check\":\"yes\"}]", "field \"check\" is \"yes\", expected \"enabled\" or"},
    {"[{\"name\":\"a\",\"address\":\"x\",\"backup\":\"on\"}]", "server a: field \"backup\""},
    {"[{\"name\":\"a\",\"address\":\"x\",\"maintenance\":1}]", "server a: field \"maintenance\""},
    {"[{\"name\":\"a\",\"address\":\"x\",\"send-proxy-v2\":\"\\n\"}]", "server a: field \"send-proxy-v2\" is \" \""},
};

START_TEST(a_bad_server_is_named_and_the_old_list_stays)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    ck_assert_int_eq(read_servers("[{\"name\":\"kept\",\"address\":\"x\"}]", &b, &err), 0);
    ck_assert_int_eq(read_servers(bad_servers[_i].json, &b, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(err.message, bad_servers[_i].message) != NULL, "%s\n%s", bad_servers[_i].json, err.message);
    ck_assert_uint_eq(b.server_count, 1);
    ck_assert_str_eq(b.servers[0].name, "kept");
    backend_fini(&b);
}
END_TEST

/* ---- templates ---- */

START_TEST(templates_and_their_ranges)
{
    static const struct {
        const char *range;
        unsigned first, last;
    } rows[] = {{"3", 1, 3}, {"5-8", 5, 8}, {"0-0", 0, 0}, {"1", 1, 1}, {"7-7", 7, 7}, {"4294967295", 1, 4294967295u}};
    static const char *const bad[] = {"", "x", "-3", "3-", "8-5", "1-2-3", "0", "4294967296", " 3", "+3", "3-x"};
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    for (size_t i = 0; i < array_len(rows); i++) {
        char *json = mem_printf("[{\"prefix\":\"slot\",\"num_or_range\":\"%s\",\"fqdn\":\"x\"}]", rows[i].range);
        ck_assert_msg(codec_read_templates(json, strlen(json), &b, &err) == 0, "%s", err.message);
        ck_assert_uint_eq(b.template_count, 1);
        ck_assert_str_eq(b.templates[0].prefix, "slot");
        ck_assert_uint_eq(b.templates[0].first, rows[i].first);
        ck_assert_uint_eq(b.templates[0].last, rows[i].last);
        free(json);
    }
    for (size_t i = 0; i < array_len(bad); i++) {
        char *json = mem_printf("[{\"prefix\":\"slot\",\"num_or_range\":\"%s\"}]", bad[i]);
        ck_assert_msg(codec_read_templates(json, strlen(json), &b, &err) == -1, "%s was taken", bad[i]);
        ck_assert(strstr(err.message, "\"num_or_range\"") != NULL && strstr(err.message, "server-template") != NULL);
        free(json);
    }
    ck_assert_int_eq(codec_read_templates("[{\"num_or_range\":\"3\"}]", 22, &b, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "server-template 1 of the list: field \"prefix\""));
    ck_assert_int_eq(codec_read_templates("[3]", 3, &b, &err), -1);
    ck_assert_uint_eq(b.template_count, 1);
    backend_fini(&b);
}
END_TEST

/* ---- the backend ---- */

START_TEST(backend_of_a_capture)
{
    struct buf json;
    struct backend b;
    struct error err = {0};
    read_file(&json, "tests/data/dataplane/backend.json");
    backend_init(&b);
    ck_assert_msg(codec_read_backend(json.data, json.len, &b, &err) == 0, "%s", err.message);
    ck_assert(b.exists);
    ck_assert_str_eq(b.name, "be");
    ck_assert_str_eq(b.mode, "tcp");
    ck_assert_str_eq(b.balance, "leastconn");
    ck_assert_str_eq(b.adv_check, "tcp-check");
    ck_assert(!b.default_send_proxy_v2);
    assert_json(b.json, json.data);
    const char *bare = "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"},\"balance\":null}";
    ck_assert_int_eq(codec_read_backend(bare, strlen(bare), &b, &err), 0);
    ck_assert_str_eq(b.mode, "");
    ck_assert_str_eq(b.balance, "");
    ck_assert_str_eq(b.adv_check, "");
    ck_assert(b.default_send_proxy_v2);
    backend_fini(&b);
    buf_fini(&json);
}
END_TEST

static const struct {
    const char *json, *message;
} bad_backends[] = {
    {"", "the backend is no JSON"},
    {"[]", "the backend is array, expected an object"},
    {"null", "the backend is null"},
    {"{}", "the backend: field \"name\" is missing"},
    {"{\"name\":\"b e\"}", "the backend: field \"name\" is \"b e\""},
    {"{\"name\":\"other\"}", "asked for backend be, the answer is about \"other\""},
    {"{\"name\":\"be\",\"mode\":7}", "backend be: field \"mode\" is uint, expected a string"},
    {"{\"name\":\"be\",\"balance\":\"roundrobin\"}", "backend be: field \"balance\" is string, expected an object"},
    {"{\"name\":\"be\",\"balance\":{\"algorithm\":[]}}", "balance: backend be: field \"algorithm\" is array"},
    {"{\"name\":\"be\",\"adv_check\":{}}", "backend be: field \"adv_check\" is object"},
    {"{\"name\":\"be\",\"default_server\":[]}", "backend be: field \"default_server\" is array, expected an object"},
    {"{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":1}}", "field \"send-proxy-v2\" is uint"},
};

START_TEST(a_bad_backend_is_named_and_the_old_one_stays)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    ck_assert_int_eq(codec_read_backend("{\"name\":\"be\",\"mode\":\"http\"}", 27, &b, &err), 0);
    ck_assert_int_eq(codec_read_backend(bad_backends[_i].json, strlen(bad_backends[_i].json), &b, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(err.message, bad_backends[_i].message) != NULL, "%s", err.message);
    ck_assert_str_eq(b.mode, "http");
    assert_json(b.json, "{\"name\":\"be\",\"mode\":\"http\"}");
    backend_fini(&b);
}
END_TEST

/* ---- writing a server ---- */

#define ADD DIFF_ADD
#define CHANGE DIFF_CHANGE

static const struct {
    enum diff_op op;
    struct {
        const char *address;
        uint16_t port;
        int weight;
        bool check, send_proxy_v2;
    } is;
    const char *old, *expected;
} writes[] = {
    {ADD,
     {.address = "10.0.0.1", .port = 30443, .weight = 100, .check = true},
     NULL,
     "{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":30443,\"check\":\"enabled\",\"weight\":100}"},
    {ADD,
     {.address = "fd00::1", .port = 1, .weight = -1, .check = true, .send_proxy_v2 = true},
     NULL,
     "{\"name\":\"n1\",\"address\":\"fd00::1\",\"port\":1,\"check\":\"enabled\",\"weight\":100,\"send-proxy-v2\":"
     "\"enabled\"}"},
    /* what is not ours stays: fields, an operator's maintenance, lists, numbers beyond 64 bits, nested objects */
    {CHANGE,
     {.address = "10.0.0.2", .port = 80, .weight = 7, .check = true},
     "{\"inter\":7000,\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":81,\"weight\":7,\"maintenance\":\"enabled\","
     "\"proxy-v2-options\":[\"crc32c\"],\"future\":{\"a\":[1,null]}}",
     "{\"inter\":7000,\"name\":\"n1\",\"address\":\"10.0.0.2\",\"port\":80,\"weight\":7,\"maintenance\":\"enabled\","
     "\"proxy-v2-options\":[\"crc32c\"],\"future\":{\"a\":[1,null]},\"check\":\"enabled\"}"},
    /* a weight is explicit even where the line had none, and 0 is a weight */
    {CHANGE,
     {.address = "a", .port = 80, .weight = -1, .check = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\",\"weight\":100}"},
    {CHANGE,
     {.address = "a", .port = 80, .weight = 0, .check = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\",\"weight\":0}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\",\"weight\":0}"},
    /* off takes our word away, and leaves an operator's no-... */
    {CHANGE,
     {.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"enabled\",\"send-proxy-v2\":\"enabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}"},
    {CHANGE,
     {.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"disabled\",\"send-proxy-v2\":"
     "\"disabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"disabled\",\"send-proxy-v2\":"
     "\"disabled\"}"},
    {CHANGE,
     {.address = "a", .port = 80, .weight = 1, .check = true, .send_proxy_v2 = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"disabled\",\"send-proxy-v2\":"
     "\"disabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"enabled\",\"send-proxy-v2\":"
     "\"enabled\"}"},
    {CHANGE,
     {.address = "unix@/x", .port = 0, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"unix@/x\",\"weight\":1}"},
    /* an ADD is made from nothing, whatever lies in json */
    {ADD,
     {.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"old\",\"maintenance\":\"enabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}"},
};

START_TEST(only_our_fields_of_a_server_are_written)
{
    struct diff_change c = {.op = writes[_i].op};
    struct buf out;
    struct error err = {0};
    c.server = (struct backend_server){.name = (char *)(uintptr_t) "n1",
                                       .address = (char *)(uintptr_t)writes[_i].is.address,
                                       .port = writes[_i].is.port,
                                       .weight = writes[_i].is.weight,
                                       .check = writes[_i].is.check,
                                       .send_proxy_v2 = writes[_i].is.send_proxy_v2,
                                       .json = (char *)(uintptr_t)writes[_i].old};
    buf_init(&out, 0);
    ck_assert_msg(codec_write_server(&c, &out, &err) == 0, "%s", err.message);
    assert_json(buf_str(&out), writes[_i].expected);
    ck_assert_int_eq(codec_write_server(&c, &out, &err), 0); /* again into the same buffer: not appended */
    assert_json(buf_str(&out), writes[_i].expected);
    buf_fini(&out);
}
END_TEST

START_TEST(the_order_of_fields_stays)
{
    struct diff_change c = {.op = DIFF_CHANGE};
    struct buf out;
    struct error err = {0};
    c.server = (struct backend_server){
        .name = (char *)(uintptr_t) "n1",
        .address = (char *)(uintptr_t) "b",
        .port = 81,
        .weight = 9,
        .json = (char *)(uintptr_t) "{\"weight\":5,\"big\":99999999999999999999999,\"port\":80,\"address\":\"a\","
                                    "\"name\":\"n1\",\"slowstart\":3}"};
    buf_init(&out, 0);
    ck_assert_int_eq(codec_write_server(&c, &out, &err), 0);
    ck_assert_str_eq(buf_str(&out), "{\"weight\":9,\"big\":99999999999999999999999,\"port\":81,\"address\":\"b\","
                                    "\"name\":\"n1\",\"slowstart\":3}");
    buf_fini(&out);
}
END_TEST

START_TEST(what_cannot_be_written_says_so)
{
    struct diff_change c = {.op = DIFF_CHANGE};
    struct buf out;
    struct error err = {0};
    c.server = (struct backend_server){.name = (char *)(uintptr_t) "n1", .address = (char *)(uintptr_t) "a"};
    buf_init(&out, 0);
    c.server.json = (char *)(uintptr_t) "{";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "server n1 is no JSON"));
    c.server.json = (char *)(uintptr_t) "[]";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    c.server.json = NULL;
    c.server.address = (char *)(uintptr_t) "\xff\xfe";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "server n1 cannot be written as JSON"));
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    c.server.address = (char *)(uintptr_t) "a\"\\\n";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), 0);
    assert_json(buf_str(&out), "{\"name\":\"n1\",\"address\":\"a\\\"\\\\\\n\",\"weight\":0}");
    buf_fini(&out);
    buf_init(&out, 10);
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "limit of 10"));
    buf_fini(&out);
}
END_TEST

/* ---- writing the backend ---- */

static const struct {
    const char *balance, *adv_check;
    enum proxy_v2 proxy;
    const char *old, *expected; /* old NULL: it does not exist */
} backends[] = {
    {NULL, NULL, PROXY_V2_OFF, "{\"name\":\"be\",\"mode\":\"http\",\"x\":[1]}",
     "{\"name\":\"be\",\"mode\":\"http\",\"x\":[1]}"},
    {"roundrobin", "tcp-check", PROXY_V2_DEFAULT_SERVER,
     "{\"adv_check\":\"tcp-check\",\"balance\":{\"algorithm\":\"leastconn\"},\"default_server\":{\"fall\":2,\"inter\":"
     "5000},"
     "\"from\":\"unnamed_defaults_1\",\"mode\":\"tcp\",\"name\":\"be\",\"server_timeout\":77000,"
     "\"stick_table\":{\"expire\":300000,\"size\":10240,\"type\":\"ip\"}}",
     "{\"adv_check\":\"tcp-check\",\"balance\":{\"algorithm\":\"roundrobin\"},\"default_server\":{\"fall\":2,\"inter\":"
     "5000,"
     "\"send-proxy-v2\":\"enabled\"},\"from\":\"unnamed_defaults_1\",\"mode\":\"tcp\",\"name\":\"be\","
     "\"server_timeout\":77000,\"stick_table\":{\"expire\":300000,\"size\":10240,\"type\":\"ip\"}}"},
    /* the same algorithm keeps its parameters, another one drops them */
    {"hash", NULL, PROXY_V2_OFF, "{\"name\":\"be\",\"balance\":{\"algorithm\":\"hash\",\"hash_expression\":\"src\"}}",
     "{\"name\":\"be\",\"balance\":{\"algorithm\":\"hash\",\"hash_expression\":\"src\"}}"},
    {"source", NULL, PROXY_V2_OFF, "{\"name\":\"be\",\"balance\":{\"algorithm\":\"hash\",\"hash_expression\":\"src\"}}",
     "{\"name\":\"be\",\"balance\":{\"algorithm\":\"source\"}}"},
    {NULL, "tcp-check", PROXY_V2_OFF, "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}",
     "{\"name\":\"be\",\"adv_check\":\"tcp-check\"}"},
    {NULL, "httpchk", PROXY_V2_OFF, "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}",
     "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}"},
    /* only `true` touches the default-server; what an operator put there stays */
    {NULL, NULL, PROXY_V2_SERVER, "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"}}",
     "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"}}"},
    {NULL, NULL, PROXY_V2_SERVER, "{\"name\":\"be\",\"default_server\":{\"rise\":2}}",
     "{\"name\":\"be\",\"default_server\":{\"rise\":2}}"},
    {NULL, NULL, PROXY_V2_DEFAULT_SERVER, "{\"name\":\"be\",\"default_server\":null}",
     "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"}}"},
    {"roundrobin", "tcp-check", PROXY_V2_DEFAULT_SERVER, NULL,
     "{\"name\":\"be\",\"mode\":\"tcp\",\"balance\":{\"algorithm\":\"roundrobin\"},\"adv_check\":\"tcp-check\","
     "\"default_server\":{\"send-proxy-v2\":\"enabled\"}}"},
    {NULL, NULL, PROXY_V2_OFF, NULL, "{\"name\":\"be\",\"mode\":\"tcp\"}"},
};

START_TEST(only_our_fields_of_a_backend_are_written)
{
    struct backend b = {.name = (char *)(uintptr_t) "be", .exists = backends[_i].old != NULL};
    struct diff_rules rules = {
        .balance = backends[_i].balance, .adv_check = backends[_i].adv_check, .proxy_v2 = backends[_i].proxy};
    struct buf out;
    struct error err = {0};
    b.json = (char *)(uintptr_t)backends[_i].old;
    buf_init(&out, 0);
    ck_assert_msg(codec_write_backend(&b, &rules, &out, &err) == 0, "%s", err.message);
    assert_json(buf_str(&out), backends[_i].expected);
    buf_fini(&out);
}
END_TEST

/* ---- transactions and reloads ---- */

START_TEST(transactions)
{
    struct codec_transaction *list = NULL, one = {0};
    size_t count = 99;
    struct error err = {0};
    const char *two =
        "[{\"_version\":1,\"id\":\"a\",\"status\":\"in_progress\"},{\"id\":\"b\",\"status\":\"outdated\"}]";
    ck_assert_int_eq(codec_read_transactions(two, strlen(two), &list, &count, &err), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(list[0].id, "a");
    ck_assert_str_eq(list[1].status, "outdated");
    codec_transactions_free(list, count);
    for (size_t i = 0; i < 2; i++) {
        const char *empty = i == 0 ? "[]" : "null";
        ck_assert_int_eq(codec_read_transactions(empty, strlen(empty), &list, &count, &err), 0);
        ck_assert_uint_eq(count, 0);
        codec_transactions_free(list, count);
    }
    ck_assert_int_eq(codec_read_transaction("{\"id\":\"x\"}", 10, &one, &err), 0);
    ck_assert_str_eq(one.id, "x");
    ck_assert_str_eq(one.status, "");
    codec_transaction_fini(&one);
    static const char *const bad[] = {
        "", "[]", "{}", "{\"id\":\"\"}", "{\"id\":7}", "{\"id\":null}", "\"id\"", "{\"id\":\"a\",\"status\":1}"};
    for (size_t i = 0; i < array_len(bad); i++) {
        ck_assert_int_eq(codec_read_transaction(bad[i], strlen(bad[i]), &one, &err), -1);
        ck_assert(err.kind == ERROR_INVALID && strstr(err.message, "the transaction") != NULL);
        char *in_list = mem_printf("[{\"id\":\"good\"},%s]", bad[i]);
        ck_assert_int_eq(codec_read_transactions(in_list, strlen(in_list), &list, &count, &err), -1);
        free(in_list);
    }
}
END_TEST

START_TEST(reloads)
{
    struct codec_reload_status r = {0};
    struct error err = {0};
    const char *progress = "{\"status\":\"in_progress\"}";
    const char *failed = "{\"id\":\"2026-11-21-0\",\"status\":\"failed\",\"response\":\"[ALERT] no\"}";
    const char *done = "{\"id\":\"x\",\"reload_timestamp\":1,\"status\":\"succeeded\",\"response\":null}";
    ck_assert_int_eq(codec_read_reload(progress, strlen(progress), &r, &err), 0);
    ck_assert_int_eq(r.state, RELOAD_IN_PROGRESS);
    ck_assert_str_eq(r.response, "");
    codec_reload_fini(&r);
    ck_assert_int_eq(codec_read_reload(failed, strlen(failed), &r, &err), 0);
    ck_assert_int_eq(r.state, RELOAD_FAILED);
    ck_assert_str_eq(r.response, "[ALERT] no");
    codec_reload_fini(&r);
    ck_assert_int_eq(codec_read_reload(done, strlen(done), &r, &err), 0);
    ck_assert_int_eq(r.state, RELOAD_SUCCEEDED);
    codec_reload_fini(&r);
    static const char *const bad[] = {
        "", "[]", "{}", "{\"status\":\"maybe\"}", "{\"status\":1}", "{\"status\":\"failed\",\"response\":[]}"};
    for (size_t i = 0; i < array_len(bad); i++) {
        ck_assert_int_eq(codec_read_reload(bad[i], strlen(bad[i]), &r, &err), -1);
        ck_assert(err.kind == ERROR_INVALID && strstr(err.message, "the reload") != NULL);
    }
}
END_TEST

/* ---- messages ---- */

static const struct {
    const char *body, *expected;
} messages[] = {
    {"", ""},
    {"{\"code\":409,\"message\":\"version mismatch\"}", "version mismatch"},
    {"{\"code\":400,\"message\":\"validation error:\\n\\n  msg=\\\"x\\\"\\n\"}", "validation error: msg=\"x\""},
    {"{\"code\":400,\"message\":\"\"}", "{\"code\":400,\"message\":\"\"}"},
    {"{\"code\":400,\"message\":7}", "{\"code\":400,\"message\":7}"},
    {"plain\r\ntext\x1b[2J\x7f", "plain text [2J"},
    {"<html><head><title>502 Bad Gateway</title><style>b{c:d}</style></head><body><script>x<y</script>\n<h1>nginx</h1>"
     "</body></html>",
     "502 Bad Gateway nginx"},
    {"  <!DOCTYPE html>\n<p>a&amp;b", "a&amp;b"},
    {"<", ""},
    {"<b", ""},
    {"<script>never ends", ""},
    {"<style", ""},
    {"<scripting>shown", "shown"},
    {"a < b", "a < b"},
    {"{broken", "{broken"},
    {"0123456789012345678901234567890123456789", "0123456789012345678901234567"
                                                 "..."},
    {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x\xc3\xa4"
     "\xc3\xa4\xc3\xa4",
     "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x..."},
};

START_TEST(a_message_is_short_and_safe)
{
    char text[32];
    codec_error_message(messages[_i].body, strlen(messages[_i].body), text, sizeof(text));
    ck_assert_str_eq(text, messages[_i].expected);
}
END_TEST

START_TEST(a_message_fits_any_room)
{
    const char *body = "{\"message\":\"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac and so on\"}";
    for (size_t max = 0; max < 40; max++) {
        char *room = mem_alloc(max + 1);
        memset(room, 'x', max + 1);
        codec_error_message(body, strlen(body), room, max);
        ck_assert_int_eq(room[max], 'x');
        ck_assert(max == 0 || memchr(room, '\0', max) != NULL);
        size_t text_len = max < 20 ? strspn(room, "\xe2\x82\xac") : 9;
        ck_assert_msg(text_len % 3 == 0, "room for %zu: %s", max, room);
        free(room);
    }
    char text[64];
    codec_error_message("a\0b", 3, text, sizeof(text));
    ck_assert_str_eq(text, "a b");
}
END_TEST

/* ---- what real ones answered ---- */

/* Read, and written back unchanged, is what was read, with the weight made explicit. */
static size_t round_trip_servers(const char *body)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    ck_assert_msg(read_servers(body, &b, &err) == 0, "%s\n%s", body, err.message);
    size_t count = b.server_count;
    for (size_t i = 0; i < count; i++) {
        struct diff_change c = {.op = DIFF_CHANGE, .server = b.servers[i]};
        struct buf out;
        buf_init(&out, 0);
        ck_assert_msg(codec_write_server(&c, &out, &err) == 0, "%s", err.message);
        if (b.servers[i].weight >= 0)
            assert_json(buf_str(&out), b.servers[i].json);
        else
            ck_assert_ptr_nonnull(strstr(buf_str(&out), "\"weight\":100"));
        buf_fini(&out);
    }
    backend_fini(&b);
    return count;
}

static void round_trip_backend(const char *body)
{
    struct backend b;
    struct error err = {0};
    struct buf out;
    struct diff_rules rules = {0};
    backend_init(&b);
    buf_init(&out, 0);
    ck_assert_msg(codec_read_backend(body, strlen(body), &b, &err) == 0, "%s\n%s", body, err.message);
    rules.balance = b.balance[0] != '\0' ? b.balance : NULL;
    rules.adv_check = b.adv_check[0] != '\0' ? b.adv_check : NULL;
    ck_assert_int_eq(codec_write_backend(&b, &rules, &out, &err), 0);
    assert_json(buf_str(&out), body);
    backend_fini(&b);
    buf_fini(&out);
}

struct tally {
    size_t servers, backends, templates, transactions, reloads, errors;
};

static void try_success(const char *method, const char *path, const char *body, struct tally *n)
{
    struct error err = {0};
    struct backend b;
    struct codec_reload_status r = {0};
    struct codec_transaction *list = NULL, one = {0};
    size_t count = 0, len = strlen(body);
    bool get = str_eq(method, "GET"), inside = strstr(path, "/configuration/backends/") != NULL;
    backend_init(&b);
    if (strstr(path, "/runtime/") != NULL || strstr(path, "/raw") != NULL)
        return;
    if (get && inside && strstr(path, "/servers") != NULL && strstr(path, "/servers/") == NULL) {
        n->servers += round_trip_servers(body);
    } else if (get && inside && strstr(path, "/server_templates") != NULL) {
        ck_assert_int_eq(codec_read_templates(body, len, &b, &err), 0);
        n->templates += b.template_count;
    } else if (get && inside && strstr(path, "/servers/") == NULL) {
        round_trip_backend(body);
        n->backends++;
    } else if (get && strstr(path, "/transactions") != NULL && strstr(path, "/transactions/") == NULL) {
        ck_assert_int_eq(codec_read_transactions(body, len, &list, &count, &err), 0);
        codec_transactions_free(list, count);
        n->transactions += count;
    } else if (strstr(path, "/transactions") != NULL && !str_eq(method, "DELETE")) {
        ck_assert_msg(codec_read_transaction(body, len, &one, &err) == 0, "%s", err.message);
        codec_transaction_fini(&one);
        n->transactions++;
    } else if (get && strstr(path, "/reloads/") != NULL) {
        ck_assert_msg(codec_read_reload(body, len, &r, &err) == 0, "%s", err.message);
        codec_reload_fini(&r);
        n->reloads++;
    }
    backend_fini(&b);
}

static void try_line(yyjson_val *line, struct tally *n)
{
    const char *method = yyjson_get_str(yyjson_obj_get(line, "method"));
    const char *path = yyjson_get_str(yyjson_obj_get(line, "path"));
    int status = yyjson_get_int(yyjson_obj_get(line, "status"));
    if (method == NULL)
        return;
    char *body = yyjson_val_write(yyjson_obj_get(line, "response"), 0, NULL);
    if (status < 300) {
        try_success(method, path, body, n);
    } else {
        char text[512];
        const char *message = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(line, "response"), "message"));
        codec_error_message(body, strlen(body), text, sizeof(text));
        ck_assert(text[0] != '\0' && strncmp(text, message, 10) == 0 && strchr(text, '\n') == NULL);
        n->errors++;
    }
    free(body);
}

START_TEST(recorded_answers)
{
    static const char *const names[] = {"3.0.15-haproxy-2.8.jsonl", "3.4.0-haproxy-3.2.jsonl",
                                        "3.4.0-haproxy-2.6-master-socket.jsonl"};
    char *path = mem_printf("%s%s", RECORDINGS, names[_i]);
    struct tally n = {0};
    struct buf text;
    buf_init(&text, 0);
    if (buf_read_file(&text, path) != 0) {
        fprintf(stderr, "SKIPPED: recorded answers not found: %s\n", path);
        free(path);
        return;
    }
    char *at = text.data, *line;
    while ((line = strsep(&at, "\n")) != NULL) {
        yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
        if (doc != NULL)
            try_line(yyjson_doc_get_root(doc), &n);
        yyjson_doc_free(doc);
    }
    /* each form was met: otherwise the file, or this test, is not what it says */
    ck_assert_uint_ge(n.servers, 5);
    ck_assert_uint_ge(n.backends, 2);
    ck_assert_uint_ge(n.templates, 1);
    ck_assert_uint_ge(n.transactions, 30);
    ck_assert_uint_ge(n.reloads, 3);
    ck_assert_uint_ge(n.errors, 20);
    free(path);
    buf_fini(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("codec");
    TCase *t = tcase_create("codec");
    tcase_add_test(t, servers_of_a_capture);
    tcase_add_test(t, an_empty_list_has_two_forms);
    tcase_add_loop_test(t, a_bad_server_is_named_and_the_old_list_stays, 0, array_len(bad_servers));
    tcase_add_test(t, templates_and_their_ranges);
    tcase_add_test(t, backend_of_a_capture);
    tcase_add_loop_test(t, a_bad_backend_is_named_and_the_old_one_stays, 0, array_len(bad_backends));
    tcase_add_loop_test(t, only_our_fields_of_a_server_are_written, 0, array_len(writes));
    tcase_add_test(t, the_order_of_fields_stays);
    tcase_add_test(t, what_cannot_be_written_says_so);
    tcase_add_loop_test(t, only_our_fields_of_a_backend_are_written, 0, array_len(backends));
    tcase_add_test(t, transactions);
    tcase_add_test(t, reloads);
    tcase_add_loop_test(t, a_message_is_short_and_safe, 0, array_len(messages));
    tcase_add_test(t, a_message_fits_any_room);
    tcase_add_loop_test(t, recorded_answers, 0, 3);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
