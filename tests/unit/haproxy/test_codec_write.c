/* src/haproxy/dataplane/codec_write: our fields into what was there, everything else untouched. */
#include "haproxy/dataplane/codec.h"
#include "../json_text.h"
#include "servers/change/diff.h"

static struct buf out;
static struct error err;

static void setup(void)
{
    buf_init(&out, 0);
    error_clear(&err);
}

static void teardown(void)
{
    buf_fini(&out);
}

FIXTURE(setup, teardown)

static const struct {
    struct {
        const char *address;
        uint16_t port;
        int weight;
        bool check, send_proxy_v2, maintenance, enabled, no_backup;
        uint16_t check_port;
        const char *rest;
    } is;
    const char *old, *expected;
} writes[] = {
    {{.address = "10.0.0.1", .port = 30443, .weight = 100, .check = true},
     NULL,
     "{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":30443,\"check\":\"enabled\",\"weight\":100}"},
    {{.address = "fd00::1", .port = 1, .weight = -1, .check = true, .send_proxy_v2 = true},
     NULL,
     "{\"name\":\"n1\",\"address\":\"fd00::1\",\"port\":1,\"check\":\"enabled\",\"weight\":100,\"send-proxy-v2\":"
     "\"enabled\"}"},
    /* a new line has what its siblings have, one that is there what it has */
    {{.address = "::1", .port = 80, .weight = 1, .rest = "{\"ssl\":\"enabled\"}"},
     NULL,
     "{\"ssl\":\"enabled\",\"name\":\"n1\",\"address\":\"::1\",\"port\":80,\"weight\":1}"},
    {{.address = "a", .port = 80, .weight = 1, .rest = "{\"ssl\":\"enabled\"}"},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"id\":\"7\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"id\":\"7\"}"},
    /* what is not ours stays: fields, lists, numbers beyond 64 bits, nested objects */
    {{.address = "10.0.0.2", .port = 80, .weight = 7, .check = true, .maintenance = true},
     "{\"inter\":7000,\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":81,\"weight\":7,\"maintenance\":\"enabled\","
     "\"proxy-v2-options\":[\"crc32c\"],\"future\":{\"a\":[1,null]}}",
     "{\"inter\":7000,\"name\":\"n1\",\"address\":\"10.0.0.2\",\"port\":80,\"weight\":7,\"maintenance\":\"enabled\","
     "\"proxy-v2-options\":[\"crc32c\"],\"future\":{\"a\":[1,null]},\"check\":\"enabled\"}"},
    /* a weight is explicit even where the line had none, and 0 is a weight */
    {{.address = "a", .port = 80, .weight = -1, .check = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\",\"weight\":100}"},
    {{.address = "a", .port = 80, .weight = 0, .check = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\",\"weight\":0}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"check\":\"enabled\",\"weight\":0}"},
    /* off takes our word away, and leaves an operator's no-... */
    {{.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"enabled\",\"send-proxy-v2\":\"enabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}"},
    {{.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"disabled\",\"send-proxy-v2\":"
     "\"disabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"disabled\",\"send-proxy-v2\":"
     "\"disabled\"}"},
    {{.address = "a", .port = 80, .weight = 1, .check = true, .send_proxy_v2 = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"disabled\",\"send-proxy-v2\":"
     "\"disabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"check\":\"enabled\",\"send-proxy-v2\":"
     "\"enabled\"}"},
    {{.address = "unix@/x", .port = 0, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"unix@/x\",\"weight\":1}"},
    /* maintenance: on, off, and the `enabled` of an operator */
    {{.address = "a", .port = 80, .weight = 1, .maintenance = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"maintenance\":\"enabled\"}"},
    {{.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"maintenance\":\"enabled\",\"address\":\"a\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}"},
    {{.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"maintenance\":\"disabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"maintenance\":\"disabled\"}"},
    /* the answers to a default-server */
    {{.address = "::1", .port = 80, .weight = 1, .enabled = true, .no_backup = true},
     NULL,
     "{\"name\":\"n1\",\"address\":\"::1\",\"port\":80,\"weight\":1,\"maintenance\":\"disabled\",\"backup\":"
     "\"disabled\"}"},
    {{.address = "a", .port = 80, .weight = 1, .enabled = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"maintenance\":\"enabled\"}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"maintenance\":\"disabled\"}"},
    {{.address = "a", .port = 80, .weight = 1, .enabled = true, .maintenance = true},
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1,\"maintenance\":\"enabled\"}"},
    /* the check's port */
    {{.address = "10.0.0.1", .port = 80, .weight = 1, .check = true, .check_port = 32000},
     NULL,
     "{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"health_check_port\":32000,"
     "\"weight\":1}"},
    {{.address = "a", .port = 80, .weight = 1, .check_port = 32001},
     "{\"name\":\"n1\",\"address\":\"a\",\"health_check_port\":1,\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"a\",\"health_check_port\":32001,\"port\":80,\"weight\":1}"},
    {{.address = "a", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"a\",\"health_check_port\":1,\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"a\",\"port\":80,\"weight\":1}"},
    /* a DNS name that we put there: HAProxy is to start without DNS, unless the line says how it is to start */
    {{.address = "n1.example", .port = 80, .weight = 1},
     NULL,
     "{\"name\":\"n1\",\"address\":\"n1.example\",\"init-addr\":\"last,libc,none\",\"port\":80,\"weight\":1}"},
    {{.address = "n1.example", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"n1.example\",\"port\":80,\"weight\":1,\"init-addr\":\"last,libc,none\"}"},
    {{.address = "n1.example", .port = 80, .weight = 1},
     "{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"init-addr\":\"libc\",\"port\":80,\"weight\":1}",
     "{\"name\":\"n1\",\"address\":\"n1.example\",\"init-addr\":\"libc\",\"port\":80,\"weight\":1}"},
};

TEST_EACH(only_our_fields_of_a_server_are_written, array_len(writes))
{
    struct backend_server c = {.name = (char *)(uintptr_t) "n1",
                               .address = (char *)(uintptr_t)writes[_i].is.address,
                               .port = writes[_i].is.port,
                               .weight = writes[_i].is.weight,
                               .rest = writes[_i].is.rest,
                               .check = writes[_i].is.check,
                               .send_proxy_v2 = writes[_i].is.send_proxy_v2,
                               .maintenance = writes[_i].is.maintenance,
                               .enabled = writes[_i].is.enabled,
                               .no_backup = writes[_i].is.no_backup,
                               .check_port = writes[_i].is.check_port,
                               .json = (char *)(uintptr_t)writes[_i].old};
    ck_assert_msg(codec_write_server(&c, &out, &err) == 0, "%s", err.message);
    assert_json(buf_str(&out), writes[_i].expected);
    ck_assert_int_eq(codec_write_server(&c, &out, &err), 0); /* again into the same buffer: not appended */
    assert_json(buf_str(&out), writes[_i].expected);
}

TEST(the_order_of_fields_stays)
{
    struct backend_server c = {
        .name = (char *)(uintptr_t) "n1",
        .address = (char *)(uintptr_t) "10.0.0.2",
        .port = 81,
        .weight = 9,
        .json = (char *)(uintptr_t) "{\"weight\":5,\"big\":99999999999999999999999,\"port\":80,\"address\":\"a\","
                                    "\"name\":\"n1\",\"slowstart\":3}"};
    ck_assert_int_eq(codec_write_server(&c, &out, &err), 0);
    ck_assert_str_eq(buf_str(&out),
                     "{\"weight\":9,\"big\":99999999999999999999999,\"port\":81,\"address\":\"10.0.0.2\","
                     "\"name\":\"n1\",\"slowstart\":3}");
}

TEST(what_cannot_be_written_says_so)
{
    struct backend_server c = {.name = (char *)(uintptr_t) "n1", .address = (char *)(uintptr_t) "a"};
    c.json = (char *)(uintptr_t) "{";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "server n1 is not JSON"));
    c.json = (char *)(uintptr_t) "[]";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    c.json = NULL;
    c.address = (char *)(uintptr_t) "\xff\xfe";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "server n1 cannot be written as JSON"));
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    c.address = (char *)(uintptr_t) "a\"\\\n";
    ck_assert_int_eq(codec_write_server(&c, &out, &err), 0);
    assert_json(buf_str(&out),
                "{\"name\":\"n1\",\"address\":\"a\\\"\\\\\\n\",\"init-addr\":\"last,libc,none\",\"weight\":0}");
    buf_fini(&out);
    buf_init(&out, 10);
    ck_assert_int_eq(codec_write_server(&c, &out, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "limit of 10"));
}

static const struct {
    const char *balance, *adv_check;
    bool proxy;
    const char *old, *expected; /* old NULL: it does not exist */
    bool own_httpchk;
} backends[] = {
    {NULL, NULL, false, "{\"name\":\"be\",\"mode\":\"http\",\"x\":[1]}",
     "{\"name\":\"be\",\"mode\":\"http\",\"x\":[1]}", false},
    {"roundrobin", "tcp-check", true,
     "{\"adv_check\":\"tcp-check\",\"balance\":{\"algorithm\":\"leastconn\"},\"default_server\":{\"fall\":2,\"inter\":"
     "5000},"
     "\"from\":\"unnamed_defaults_1\",\"mode\":\"tcp\",\"name\":\"be\",\"server_timeout\":77000,"
     "\"stick_table\":{\"expire\":300000,\"size\":10240,\"type\":\"ip\"}}",
     "{\"adv_check\":\"tcp-check\",\"balance\":{\"algorithm\":\"roundrobin\"},\"default_server\":{\"fall\":2,\"inter\":"
     "5000,"
     "\"send-proxy-v2\":\"enabled\"},\"from\":\"unnamed_defaults_1\",\"mode\":\"tcp\",\"name\":\"be\","
     "\"server_timeout\":77000,\"stick_table\":{\"expire\":300000,\"size\":10240,\"type\":\"ip\"}}",
     false},
    /* the same algorithm keeps its parameters, another one drops them */
    {"hash", NULL, false, "{\"name\":\"be\",\"balance\":{\"algorithm\":\"hash\",\"hash_expression\":\"src\"}}",
     "{\"name\":\"be\",\"balance\":{\"algorithm\":\"hash\",\"hash_expression\":\"src\"}}", false},
    {"source", NULL, false, "{\"name\":\"be\",\"balance\":{\"algorithm\":\"hash\",\"hash_expression\":\"src\"}}",
     "{\"name\":\"be\",\"balance\":{\"algorithm\":\"source\"}}", false},
    {NULL, "tcp-check", false, "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}",
     "{\"name\":\"be\",\"adv_check\":\"tcp-check\"}", false},
    {NULL, "httpchk", false, "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}",
     "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/\"}}", false},
    /* only `true` touches the default-server; what an operator put there stays */
    {NULL, NULL, false, "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"}}",
     "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"}}", false},
    {NULL, NULL, false, "{\"name\":\"be\",\"default_server\":{\"rise\":2}}",
     "{\"name\":\"be\",\"default_server\":{\"rise\":2}}", false},
    {NULL, NULL, true, "{\"name\":\"be\",\"default_server\":null}",
     "{\"name\":\"be\",\"default_server\":{\"send-proxy-v2\":\"enabled\"}}", false},
    {"roundrobin", "tcp-check", true, NULL,
     "{\"name\":\"be\",\"mode\":\"tcp\",\"balance\":{\"algorithm\":\"roundrobin\"},\"adv_check\":\"tcp-check\","
     "\"default_server\":{\"send-proxy-v2\":\"enabled\"}}",
     false},
    {NULL, NULL, false, NULL, "{\"name\":\"be\",\"mode\":\"tcp\"}", false},
    /* an httpchk of ours: what to ask for, unless an operator wrote that down */
    {NULL, "httpchk", false,
     "{\"name\":\"be\",\"adv_check\":\"mysql-check\",\"mysql_check_params\":{\"username\":\"u\"}}",
     "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"method\":\"GET\",\"uri\":\"/healthz\"}}", true},
    {NULL, "httpchk", false, "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"mode\":\"tcp\"}",
     "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"mode\":\"tcp\",\"httpchk_params\":{\"method\":\"GET\",\"uri\":\"/"
     "healthz\"}}",
     true},
    {NULL, "httpchk", false, "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/ready\"}}",
     "{\"name\":\"be\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"uri\":\"/ready\"}}", true},
    {NULL, "httpchk", false, NULL,
     "{\"name\":\"be\",\"mode\":\"tcp\",\"adv_check\":\"httpchk\",\"httpchk_params\":{\"method\":\"GET\",\"uri\":\"/"
     "healthz\"}}",
     true},
};

TEST_EACH(only_our_fields_of_a_backend_are_written, array_len(backends))
{
    struct backend b = {.name = (char *)(uintptr_t) "be", .exists = backends[_i].old != NULL};
    const struct backend_settings settings = {.balance = backends[_i].balance,
                                              .adv_check = backends[_i].adv_check,
                                              .httpchk_healthz = backends[_i].own_httpchk,
                                              .proxy_v2 = backends[_i].proxy};
    b.json = (char *)(uintptr_t)backends[_i].old;
    ck_assert_msg(codec_write_backend(&b, &settings, NULL, 0, &out, &err) == 0, "%s", err.message);
    assert_json(buf_str(&out), backends[_i].expected);
}

static struct backend_server new_server(const char *name, const char *address)
{
    return (struct backend_server){.name = (char *)(uintptr_t)name,
                                   .address = (char *)(uintptr_t)address,
                                   .port = 80,
                                   .weight = -1,
                                   .check = true};
}

TEST(a_backend_with_the_servers_that_are_new)
{
    struct backend_server n1 = new_server("n\"1", "fd00::1"), n3 = new_server("n3", "n3.example");
    const struct backend_server *servers[] = {&n1, &n3};
    struct backend b = {.name = (char *)(uintptr_t) "be"};
    const struct backend_settings settings = {
        .balance = "leastconn", .adv_check = "httpchk", .httpchk_healthz = true, .proxy_v2 = true};
    n1.maintenance = n1.send_proxy_v2 = true;
    n3.weight = 0;
    n3.check_port = 31000;
    ck_assert_msg(codec_write_backend(&b, &settings, servers, 2, &out, &err) == 0, "%s", err.message);
    assert_json(buf_str(&out),
                "{\"name\":\"be\",\"mode\":\"tcp\",\"balance\":{\"algorithm\":\"leastconn\"},"
                "\"adv_check\":\"httpchk\",\"httpchk_params\":{\"method\":\"GET\",\"uri\":\"/healthz\"},"
                "\"default_server\":{\"send-proxy-v2\":\"enabled\"},\"servers\":{"
                "\"n\\\"1\":{\"name\":\"n\\\"1\",\"address\":\"fd00::1\",\"port\":80,\"check\":\"enabled\","
                "\"weight\":100,\"maintenance\":\"enabled\",\"send-proxy-v2\":\"enabled\"},"
                "\"n3\":{\"name\":\"n3\",\"address\":\"n3.example\",\"port\":80,\"check\":\"enabled\","
                "\"weight\":0,\"health_check_port\":31000,\"init-addr\":\"last,libc,none\"}}}");
    n1.name = (char *)(uintptr_t) "\xff";
    ck_assert_int_eq(codec_write_backend(&b, &settings, servers, 2, &out, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(err.message, "backend be cannot be written") != NULL, "%s", err.message);
}
