/* etcd/codec and refusal over what etcd 3.4.23 and 3.6.5 sent: each answer as it came, byte for byte. */
#include "etcd/codec.h"

#include "etcd/refusal.h"

#include "../test.h"

#define HEAD_34                                                                                                    \
    "{\"header\":{\"cluster_id\":\"324952591200643719\",\"member_id\":\"3319814642761637952\",\"revision\":\"3\"," \
    "\"raft_term\":\"2\"}"
#define HEAD_36                                                                                      \
    "{\"header\":{\"cluster_id\":\"15118495548433857066\", \"member_id\":\"13668033151171901709\", " \
    "\"revision\":\"3\","                                                                            \
    " \"raft_term\":\"2\"}"

static const char range_34[] = HEAD_34
    ",\"kvs\":[{\"key\":\"L2EvMQ==\",\"create_revision\":\"2\",\"mod_revision\":\"2\",\"version\":\"1\",\"value\":"
    "\"aGVsbG8=\"},{\"key\":\"L2EvMg==\",\"create_revision\":\"3\",\"mod_revision\":\"3\",\"version\":\"1\"}],"
    "\"more\":true,\"count\":\"2\"}";
static const char range_36[] =
    HEAD_36 ", \"kvs\":[{\"key\":\"L2EvMQ==\", \"create_revision\":\"2\", \"mod_revision\":\"2\", \"version\":\"1\", "
            "\"value\":\"aGVsbG8=\"}, {\"key\":\"L2EvMg==\", \"create_revision\":\"3\", \"mod_revision\":\"3\", "
            "\"version\":\"1\"}], \"more\":true, \"count\":\"2\"}";
static const char txn_34[] =
    HEAD_34 ",\"succeeded\":true,\"responses\":[{\"response_put\":{\"header\":{\"revision\":\"4\"}}},"
            "{\"response_delete_range\":{\"header\":{\"revision\":\"4\"},\"deleted\":\"1\"}}]}";
static const char grant_34[] = HEAD_34 ",\"ID\":\"2324035650906735888\",\"TTL\":\"5\"}";
static const char token_36[] = HEAD_36 ", \"token\":\"texuLXELoMBVvESR.24\"}";

static void assert_text(char *text, const char *want)
{
    ck_assert_str_eq(text, want);
    free(text);
}

TEST(gets)
{
    assert_text(etcd_codec_get(&(struct etcd_get){.key = "/a/1"}), "{\"key\":\"L2EvMQ==\"}");
    assert_text(etcd_codec_get(&(struct etcd_get){
                    .key = "/a/", .prefix = true, .revision = INT64_MAX, .limit = 7, .keys_only = true}),
                "{\"key\":\"L2Ev\",\"range_end\":\"L2Ew\",\"revision\":\"9223372036854775807\",\"limit\":\"7\","
                "\"keys_only\":true}");
    /* All keys; the last byte that can be greater; none that can. */
    assert_text(etcd_codec_get(&(struct etcd_get){.key = "", .prefix = true}),
                "{\"key\":\"AA==\",\"range_end\":\"AA==\"}");
    assert_text(etcd_codec_get(&(struct etcd_get){.key = "a\xff\xff", .prefix = true}),
                "{\"key\":\"Yf//\",\"range_end\":\"Yg==\"}");
    assert_text(etcd_codec_get(&(struct etcd_get){.key = "\xff", .prefix = true}),
                "{\"key\":\"/w==\",\"range_end\":\"AA==\"}");
    assert_text(etcd_codec_newest("x", false), "{\"key\":\"eA==\",\"sort_order\":\"DESCEND\",\"sort_target\":\"MOD\","
                                               "\"limit\":\"1\",\"keys_only\":true}");
    assert_text(etcd_codec_watch("/a/", true, 12),
                "{\"create_request\":{\"key\":\"L2Ev\",\"range_end\":\"L2Ew\",\"start_revision\":\"12\","
                "\"progress_notify\":true,\"fragment\":true}}");
}

TEST(writes)
{
    const struct etcd_compare compares[] = {{.key = "a"}, {.key = "b", .mod_revision = 9}};
    const struct etcd_put puts[] = {{.key = "a", .value = "\0\xff", .value_len = 2, .lease = 5},
                                    {.key = "b", .value = ""}};
    const struct etcd_delete gone = {.key = "c"};
    assert_text(etcd_codec_txn(&(struct etcd_txn){.compares = compares,
                                                  .compare_count = 2,
                                                  .puts = puts,
                                                  .put_count = 2,
                                                  .deletes = &gone,
                                                  .delete_count = 1}),
                "{\"compare\":[{\"key\":\"YQ==\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"0\"},"
                "{\"key\":\"Yg==\",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"9\"}],"
                "\"success\":[{\"request_delete_range\":{\"key\":\"Yw==\"}},"
                "{\"request_put\":{\"key\":\"YQ==\",\"value\":\"AP8=\",\"lease\":\"5\"}},"
                "{\"request_put\":{\"key\":\"Yg==\",\"value\":\"\"}}]}");
    assert_text(etcd_codec_txn(&(struct etcd_txn){0}), "{\"compare\":[],\"success\":[]}");
    assert_text(etcd_codec_grant(60), "{\"TTL\":\"60\"}");
    assert_text(etcd_codec_lease(INT64_MAX), "{\"ID\":\"9223372036854775807\"}");
    assert_text(etcd_codec_authenticate("u\"", "p\\\n\x01"), "{\"name\":\"u\\\"\",\"password\":\"p\\\\\\n\\u0001\"}");
}

TEST_EACH(keys_and_values, 2)
{
    const char *answers[] = {range_34, range_36};
    struct etcd_got got;
    ck_assert_msg(etcd_codec_read_got(answers[_i], strlen(answers[_i]), &got, &flaw) == 0, "%s", flaw.message);
    ck_assert_int_eq(got.revision, 3);
    ck_assert_uint_eq(got.count, 2);
    ck_assert(got.more);
    ck_assert_str_eq(got.list[0].key, "/a/1");
    ck_assert_uint_eq(got.list[0].key_len, 4);
    ck_assert_str_eq(got.list[0].value, "hello");
    ck_assert_int_eq(got.list[0].create_revision, 2);
    ck_assert_int_eq(got.list[1].mod_revision, 3);
    ck_assert_int_eq(got.list[1].version, 1);
    ck_assert_str_eq(got.list[1].value, "");
    etcd_got_fini(&got);
    ck_assert_int_eq(etcd_codec_read_got(HEAD_34 "}", strlen(HEAD_34 "}"), &got, &flaw), 0);
    ck_assert_uint_eq(got.count, 0);
    etcd_got_fini(&got);
}

TEST(other_answers)
{
    static const char alive[] =
        "{\"result\":{\"header\":{\"revision\":\"5\"},\"ID\":\"12345\",\"TTL\":\"7\"}}\n{\"result\":{}}\n";
    static const char ended[] = "{\"result\":{\"header\":{\"revision\":\"5\"},\"ID\":\"12345\"}}\n";
    bool succeeded = false;
    int64_t revision, id, ttl_s;
    char *token = NULL;
    ck_assert_int_eq(etcd_codec_read_txn(txn_34, strlen(txn_34), &succeeded, &revision, &flaw), 0);
    ck_assert(succeeded);
    ck_assert_int_eq(revision, 3);
    ck_assert_int_eq(etcd_codec_read_txn(HEAD_36 "}", strlen(HEAD_36 "}"), &succeeded, &revision, &flaw), 0);
    ck_assert(!succeeded);
    ck_assert_int_eq(etcd_codec_read_grant(grant_34, strlen(grant_34), &id, &ttl_s, &flaw), 0);
    ck_assert_int_eq(id, 2324035650906735888);
    ck_assert_int_eq(ttl_s, 5);
    ck_assert_int_eq(etcd_codec_read_keep_alive(alive, strlen(alive), &ttl_s, &flaw), 0);
    ck_assert_int_eq(ttl_s, 7);
    ck_assert_int_eq(etcd_codec_read_keep_alive(ended, strlen(ended), &ttl_s, &flaw), 0);
    ck_assert_int_eq(ttl_s, 0);
    ck_assert_int_eq(etcd_codec_read_token(token_36, strlen(token_36), &token, &flaw), 0);
    ck_assert_str_eq(token, "texuLXELoMBVvESR.24");
    mem_wipe_free(token);
}

TEST_EACH(what_is_no_answer, 22)
{
    static const struct {
        const char *json, *says;
    } rows[] = {
        {"", "is not JSON"},
        {"[]", "the answer is an array, not an object"},
        {"{}", "header is missing"},
        {"{\"header\":7}", "header is a number, not an object"},
        {"{\"header\":{}}", "header: revision is 0, not above 0"},
        {"{\"header\":{\"revision\":\"-3\"}}", "revision is -3"},
        {"{\"header\":{\"revision\":\"9223372036854775808\"}}", "not a 64-bit number"},
        {"{\"header\":{\"revision\":\" 5\"}}", "revision is \" 5\""},
        {"{\"header\":{\"revision\":\"5 \"}}", "revision is \"5 \""},
        {"{\"header\":{\"revision\":\"+5\"}}", "revision is \"+5\""},
        {"{\"header\":{\"revision\":\"\"}}", "revision is \"\""},
        {"{\"header\":{\"revision\":1.5}}", "revision is 1.5, not a whole number"},
        {"{\"header\":{\"revision\":true}}", "revision is a boolean"},
        {HEAD_34 ",\"kvs\":{}}", "kvs is an object, not an array"},
        {HEAD_34 ",\"kvs\":[7]}", "kvs[0]: kv is a number, not an object"},
        {HEAD_34 ",\"kvs\":[{}]}", "kvs[0]: key is missing or empty"},
        {HEAD_34 ",\"kvs\":[{\"key\":\"eA==\"}]}", "kvs[0]: mod_revision is 0"},
        {HEAD_34 ",\"kvs\":[{\"key\":\"eA==\",\"mod_revision\":\"1\"},{\"key\":\"e\",\"mod_revision\":\"1\"}]}",
         "kvs[1]: key is no base64: \"e\""},
        {HEAD_34 ",\"kvs\":[{\"key\":\"eA==\",\"mod_revision\":\"1\",\"value\":\"e-A=\"}]}", "value is no base64"},
        {HEAD_34 ",\"kvs\":[{\"key\":\"eA==\",\"mod_revision\":\"1\",\"value\":{}}]}", "value is an object"},
        {HEAD_34 ",\"kvs\":[{\"key\":\"eA==\\u0000\",\"mod_revision\":\"1\"}]}", "key holds a NUL"},
        {HEAD_34 ",\"more\":1}", "more is a number"},
    };
    struct etcd_got got;
    ck_assert_int_eq(etcd_codec_read_got(rows[_i].json, strlen(rows[_i].json), &got, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, rows[_i].says) != NULL, "%s", flaw.message);
    ck_assert_ptr_null(got.list);
}

TEST(no_lease_and_no_token)
{
    static const char no_id[] = HEAD_34 ",\"TTL\":\"5\"}", no_ttl[] = HEAD_34 ",\"ID\":\"5\"}", no_result[] = "{}";
    static const char control[] = HEAD_34 ",\"token\":\"a\\r\\nX: y\"}", none[] = HEAD_34 "}";
    int64_t id, ttl_s;
    char *token;
    ck_assert_int_eq(etcd_codec_read_grant(no_id, strlen(no_id), &id, &ttl_s, &flaw), -1);
    ck_assert_int_eq(etcd_codec_read_grant(no_ttl, strlen(no_ttl), &id, &ttl_s, &flaw), -1);
    ck_assert_str_eq(flaw.message, "the answer has no lease: ID 5, TTL 0");
    ck_assert_int_eq(etcd_codec_read_keep_alive(no_result, strlen(no_result), &ttl_s, &flaw), -1);
    ck_assert_str_eq(flaw.message, "result is missing");
    ck_assert_int_eq(etcd_codec_read_token(control, strlen(control), &token, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "control character"));
    ck_assert_int_eq(etcd_codec_read_token(none, strlen(none), &token, &flaw), -1);
    ck_assert_str_eq(flaw.message, "token is missing or empty");
}

static struct etcd_watch_message read_line(const char *line)
{
    struct etcd_watch_message m;
    ck_assert_msg(etcd_codec_read_watch(line, strlen(line), &m, &flaw) == 0, "%s", flaw.message);
    return m;
}

#define STREAM_HEAD                                                                                         \
    "{\"result\":{\"header\":{\"cluster_id\":\"324952591200643719\",\"member_id\":\"3319814642761637952\"," \
    "\"revision\":\"5\","                                                                                   \
    "\"raft_term\":\"2\"}"

TEST(lines_of_a_watch)
{
    struct etcd_watch_message m = read_line(STREAM_HEAD ",\"created\":true}}");
    ck_assert(m.created && !m.canceled && !m.fragment && m.count == 0 && m.revision == 5);
    m = read_line(STREAM_HEAD "}}");
    ck_assert(!m.created && !m.canceled && m.count == 0 && m.revision == 5);
    m = read_line(STREAM_HEAD
                  ",\"events\":[{\"kv\":{\"key\":\"L2EvMQ==\",\"create_revision\":\"2\",\"mod_revision\":\"4\","
                  "\"version\":\"2\",\"value\":\"eA==\"}},{\"type\":\"DELETE\",\"kv\":{\"key\":\"L2EvMg==\","
                  "\"mod_revision\":\"4\"}}]}}");
    ck_assert_uint_eq(m.count, 2);
    ck_assert_uint_eq(m.bytes, 9);
    ck_assert_str_eq(m.items[0].kv.value, "x");
    ck_assert(!m.items[0].deleted && m.items[1].deleted);
    ck_assert_str_eq(m.items[1].kv.key, "/a/2");
    ck_assert_int_eq(m.items[1].kv.mod_revision, 4);
    etcd_watch_message_fini(&m);
    m = read_line(
        "{\"result\":{\"header\":{\"cluster_id\":\"324952591200643719\",\"member_id\":\"3319814642761637952\","
        "\"raft_term\":\"2\"},\"canceled\":true,\"compact_revision\":\"3\"}}");
    ck_assert(m.canceled && m.compact_revision == 3);
    m = read_line(STREAM_HEAD
                  ",\"watch_id\":\"-1\",\"created\":true,\"canceled\":true,\"cancel_reason\":\"rpc error: code = "
                  "PermissionDenied desc = etcdserver: permission denied\"}}");
    ck_assert(m.canceled && m.refusal.kind == ETCD_REFUSED_PERMISSION);
    m = read_line(
        "{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"etcdserver: no leader\",\"http_status\":"
        "\"Service Unavailable\"}}");
    ck_assert(m.canceled && m.refusal.kind == ETCD_REFUSED_NOT_NOW);
    m = read_line("{\"error\":{\"code\":14,\"message\":\"etcdserver: no leader\"}}");
    ck_assert(m.canceled && m.refusal.kind == ETCD_REFUSED_NOT_NOW);
    ck_assert_str_eq(m.refusal.message, "etcdserver: no leader");
}

TEST_EACH(refusals, 16)
{
    static const struct {
        int status;
        const char *body;
        enum etcd_refusal_kind kind;
        const char *message; /* NULL: the one in it */
    } rows[] = {
        {400, "{\"error\":\"a\",\"message\":\"etcdserver: mvcc: required revision has been compacted\",\"code\":11}",
         ETCD_REFUSED_COMPACTED, NULL},
        {404, "{\"code\":5, \"message\":\"etcdserver: requested lease not found\"}", ETCD_REFUSED_NO_LEASE, NULL},
        {412, "{\"error\":\"a\",\"message\":\"etcdserver: authentication is not enabled\",\"code\":9}",
         ETCD_REFUSED_AUTH_OFF, NULL},
        {400, "{\"code\":3, \"message\":\"etcdserver: user name is empty\"}", ETCD_REFUSED_NO_USER, NULL},
        {401, "{\"code\":16, \"message\":\"etcdserver: invalid auth token\"}", ETCD_REFUSED_TOKEN, NULL},
        {400, "{\"code\":3, \"message\":\"etcdserver: authentication failed, invalid user ID or password\"}",
         ETCD_REFUSED_PASSWORD, NULL},
        {403, "{\"code\":7, \"message\":\"etcdserver: permission denied\"}", ETCD_REFUSED_PERMISSION, NULL},
        {503, "{\"code\":14, \"message\":\"etcdserver: request timed out\"}", ETCD_REFUSED_UNSURE, NULL},
        {500, "{\"error\":\"a\",\"message\":\"context deadline exceeded\",\"code\":2}", ETCD_REFUSED_UNSURE, NULL},
        {503, "{\"error\":\"connection closed\",\"message\":\"connection closed\",\"code\":14}", ETCD_REFUSED_GATEWAY,
         NULL},
        {400, "{\"code\":3, \"message\":\"etcdserver: duplicate key given in txn request\"}", ETCD_REFUSED_OTHERWISE,
         NULL},
        {404, "{\"code\":5, \"message\":\"Not Found\"}", ETCD_REFUSED_UNKNOWN, NULL},
        {404, "Not Found\n", ETCD_REFUSED_UNKNOWN, "Not Found"},
        {503, "<html>\x1b[31m\n</html>", ETCD_REFUSED_UNSURE, "<html> [31m </html>"},
        {403, "", ETCD_REFUSED_UNKNOWN, ""},
        {400, "{\"message\":\"x\"}", ETCD_REFUSED_UNKNOWN, "{\"message\":\"x\"}"},
    };
    struct etcd_refusal r;
    etcd_refusal_read(rows[_i].status, rows[_i].body, strlen(rows[_i].body), &r);
    ck_assert_int_eq(r.kind, rows[_i].kind);
    if (rows[_i].message != NULL)
        ck_assert_str_eq(r.message, rows[_i].message);
    else
        ck_assert_ptr_nonnull(strstr(rows[_i].body, r.message));
}

TEST(a_long_refusal_is_cut)
{
    struct etcd_refusal r;
    char *body = mem_alloc(100001);
    memset(body, 'x', 100000);
    etcd_refusal_read(418, body, 100000, &r);
    ck_assert_uint_le(strlen(r.message), 200);
    free(body);
}
