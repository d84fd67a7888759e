/* src/haproxy/dataplane/codec_runtime: what the running HAProxy has, in the words of several Data Plane APIs. */
#include <yyjson.h>

#include "haproxy/dataplane/codec.h"

#include "../test.h"

/* Data Plane API 3.0: six fields, and no weight. */
#define OF_30                                                                             \
    "{\"address\":\"127.0.9.1\",\"admin_state\":\"ready\",\"id\":\"1\",\"name\":\"old\"," \
    "\"operational_state\":\"down\",\"port\":30443}"
/* Newer ones show all of `show servers state`. */
#define OF_34                                                                                        \
    "{\"address\":\"127.0.9.1\",\"admin_state\":\"drain\",\"agent_addr\":\"-\",\"agent_port\":0,"    \
    "\"agent_state\":0,\"backend_forced_id\":0,\"backend_id\":3,\"backend_name\":\"be\","            \
    "\"check_addr\":\"-\",\"check_health\":0,\"check_port\":0,\"check_result\":2,\"check_state\":6," \
    "\"check_status\":8,\"forced_id\":0,\"fqdn\":\"-\",\"id\":\"1\",\"iweight\":100,"                \
    "\"last_time_change\":1,\"name\":\"old\",\"operational_state\":\"down\",\"port\":30443,"         \
    "\"srvrecord\":\"-\",\"use_ssl\":false,\"uweight\":7,\"weight\":7}"

static const struct {
    const char *json;
    const char *name, *address; /* name NULL: refused */
    int port, weight;
    enum runtime_admin admin;
    const char *text; /* in the error */
} rows[] = {
    {OF_30, "old", "127.0.9.1", 30443, -1, RUNTIME_READY, NULL},
    {OF_34, "old", "127.0.9.1", 30443, 7, RUNTIME_DRAIN, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"maint\",\"operational_state\":\"down\"}", "a", "", 0, -1, RUNTIME_MAINT, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"operational_state\":\"up\"}", "a", "", 0, -1, RUNTIME_READY, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"operational_state\":\"stopping\"}", "a", "", 0, -1, RUNTIME_READY,
     NULL},
    /* what runs is in no maintenance, whatever the API says */
    {"{\"name\":\"a\",\"admin_state\":\"maint\",\"operational_state\":\"up\"}", "a", "", 0, -1, RUNTIME_DRAIN, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"maint\",\"operational_state\":\"stopping\"}", "a", "", 0, -1, RUNTIME_DRAIN,
     NULL},
    {"{\"name\":\"a\",\"admin_state\":\"maint\"}", "a", "", 0, -1, RUNTIME_MAINT, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"maint\",\"address\":null,\"port\":null,\"weight\":null}", "a", "", 0, -1,
     RUNTIME_MAINT, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"address\":\"fd00::1\",\"port\":65535,\"weight\":0}", "a", "fd00::1",
     65535, 0, RUNTIME_READY, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"address\":\"[fd00::1]\"}", "a", "fd00::1", 0, -1, RUNTIME_READY,
     NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"address\":\"[]\"}", "a", "", 0, -1, RUNTIME_READY, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"address\":\"[\"}", "a", "[", 0, -1, RUNTIME_READY, NULL},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"address\":\"a]\"}", "a", "a]", 0, -1, RUNTIME_READY, NULL},
    {"{\"admin_state\":\"ready\"}", NULL, NULL, 0, 0, 0, "name is missing"},
    {"{\"name\":\"\",\"admin_state\":\"ready\"}", NULL, NULL, 0, 0, 0, "name is missing or empty"},
    {"{\"name\":7,\"admin_state\":\"ready\"}", NULL, NULL, 0, 0, 0, "name is a number"},
    {"{\"name\":\"a\"}", NULL, NULL, 0, 0, 0, "running server a: admin_state is missing"},
    {"{\"name\":\"a\",\"admin_state\":\"asleep\"}", NULL, NULL, 0, 0, 0,
     "running server a: admin_state is \"asleep\", not ready, drain or maint"},
    {"{\"name\":\"a\",\"admin_state\":\"Ready\"}", NULL, NULL, 0, 0, 0, "\"Ready\""},
    {"{\"name\":\"a\",\"admin_state\":true}", NULL, NULL, 0, 0, 0, "running server a: admin_state is a boolean"},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"port\":65536}", NULL, NULL, 0, 0, 0,
     "running server a: port is 65536"},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"port\":\"80\"}", NULL, NULL, 0, 0, 0, "port is a string"},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"weight\":-1}", NULL, NULL, 0, 0, 0, "weight is -1"},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"weight\":4294967296}", NULL, NULL, 0, 0, 0, "weight"},
    {"{\"name\":\"a\",\"admin_state\":\"ready\",\"address\":1}", NULL, NULL, 0, 0, 0, "address"},
    {"{\"name\":\"a\\u0000b\",\"admin_state\":\"ready\"}", NULL, NULL, 0, 0, 0, "NUL"},
    {"null", NULL, NULL, 0, 0, 0, "is null, not an object"},
    {"[]", NULL, NULL, 0, 0, 0, "is an array, not an object"},
    {"", NULL, NULL, 0, 0, 0, "is not JSON"},
    {"<html>", NULL, NULL, 0, 0, 0, "the running server is not JSON"},
};

static void check_row(const struct runtime_server *s, int i)
{
    ck_assert_msg(str_eq(s->name, rows[i].name) && str_eq(s->address, rows[i].address), "%s: %s at %s", rows[i].json,
                  s->name, s->address);
    ck_assert_msg(s->port == rows[i].port && s->weight == rows[i].weight, "%s: port %u, weight %d", rows[i].json,
                  s->port, s->weight);
    ck_assert_msg(s->admin == rows[i].admin, "%s: %s", rows[i].json, runtime_admin_name(s->admin));
    ck_assert_msg(s->down == (strstr(rows[i].json, "\"operational_state\":\"down\"") != NULL), "%s: %d", rows[i].json,
                  s->down);
}

TEST_EACH(one_server, array_len(rows))
{
    struct runtime_server s = {.port = 4711};
    int status = codec_read_runtime_server(rows[_i].json, strlen(rows[_i].json), &s, &flaw);
    if (rows[_i].name != NULL) {
        ck_assert_msg(status == 0, "%s: %s", rows[_i].json, flaw.message);
        check_row(&s, _i);
        runtime_server_fini(&s);
        return;
    }
    ck_assert_msg(status == -1, "%s was believed", rows[_i].json);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, rows[_i].text) != NULL, "%s: %s", rows[_i].json, flaw.message);
    ck_assert_msg(s.port == 4711 && s.name == NULL, "%s: the output was touched", rows[_i].json);
}

TEST_EACH(one_server_in_a_list, array_len(rows))
{
    cleanup(mem_free_ptr) char *json = mem_printf("[%s]", rows[_i].json);
    cleanup(runtime_fini) struct runtime r;
    runtime_init(&r);
    bool empty = rows[_i].json[0] == '\0';
    int status = codec_read_runtime(json, strlen(json), &r, &flaw);
    ck_assert_msg((status == 0) == (rows[_i].name != NULL || empty), "%s: %s", json, flaw.message);
    ck_assert(r.readable == (status == 0));
    ck_assert_uint_eq(r.count, rows[_i].name != NULL);
    if (rows[_i].name != NULL)
        check_row(&r.servers[0], _i);
}

TEST(a_list_is_sorted_and_replaces_what_was_known)
{
    static const char first[] = "[{\"name\":\"n10\",\"admin_state\":\"ready\"},{\"name\":\"n1\",\"admin_state\":"
                                "\"drain\"},{\"name\":\"n2\",\"admin_state\":\"maint\"}]";
    static const char bad[] = "[{\"name\":\"z\",\"admin_state\":\"ready\"},{\"name\":\"y\"}]";
    cleanup(runtime_fini) struct runtime r;
    runtime_init(&r);
    r.why = mem_strdup("it was not asked for");
    ck_assert_int_eq(codec_read_runtime(first, strlen(first), &r, &flaw), 0);
    ck_assert(r.readable && r.why == NULL && r.count == 3);
    ck_assert_str_eq(r.servers[0].name, "n1");
    ck_assert_str_eq(r.servers[1].name, "n10");
    ck_assert_str_eq(r.servers[2].name, "n2");
    ck_assert_int_eq(r.servers[0].admin, RUNTIME_DRAIN);
    ck_assert_int_eq(codec_read_runtime(bad, strlen(bad), &r, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "running server y"));
    ck_assert_msg(r.count == 3 && str_eq(r.servers[2].name, "n2"), "a failed reading leaves what was known");
    ck_assert_int_eq(codec_read_runtime("null", 4, &r, &flaw), 0);
    ck_assert(r.readable && r.count == 0);
    ck_assert_int_eq(codec_read_runtime("{}", 2, &r, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "not an array"));
    ck_assert_int_eq(codec_read_runtime("[null]", 6, &r, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "running server 1 of the list is null"));
}

static const struct {
    const char *json;
    int64_t pid, uptime_s; /* pid 0: refused */
    const char *text;
} workers[] = {
    {"{\"info\":{\"pid\":4711,\"uptime\":12,\"version\":\"2.8.25\"},\"runtimeAPI\":\"/s\"}", 4711, 12, NULL},
    {"{\"info\":{\"pid\":4711,\"uptime\":0}}", 4711, 0, NULL},
    {"{\"info\":{\"pid\":4711}}", 4711, -1, NULL},
    {"{\"info\":{\"uptime\":12}}", 0, 0, "pid is missing"},
    {"{\"info\":{\"pid\":0}}", 0, 0, "pid is 0"},
    {"{\"info\":{\"pid\":\"4711\"}}", 0, 0, "pid is a string"},
    {"{\"info\":{\"pid\":1,\"uptime\":-3}}", 0, 0, "uptime is -3"},
    {"{\"error\":\"dial unix /s: connection refused\",\"runtimeAPI\":\"/s\"}", 0, 0,
     "there is no \"info\": dial unix /s: connection refused"},
    {"{\"info\":null}", 0, 0, "there is no \"info\""},
    {"{}", 0, 0, "there is no \"info\""},
    {"[{\"info\":{\"pid\":1}}]", 0, 0, "is an array, not an object"},
    {"<html>", 0, 0, "is not JSON"},
};

TEST_EACH(which_process_answered, array_len(workers))
{
    struct codec_worker w = {.pid = -7, .uptime_s = -7};
    int status = codec_read_worker(workers[_i].json, strlen(workers[_i].json), &w, &flaw);
    ck_assert_msg((status == 0) == (workers[_i].pid != 0), "%s: %s", workers[_i].json, flaw.message);
    ck_assert_int_eq(w.pid, status == 0 ? workers[_i].pid : -7);
    ck_assert_int_eq(w.uptime_s, status == 0 ? workers[_i].uptime_s : -7);
    ck_assert_str_eq(w.version, strstr(workers[_i].json, "2.8.25") != NULL ? "2.8.25" : "");
    if (status != 0) {
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        ck_assert_msg(strstr(flaw.message, workers[_i].text) != NULL, "%s: %s", workers[_i].json, flaw.message);
    }
}
