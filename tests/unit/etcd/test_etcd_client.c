/* etcd/client against members that answer by a script: which endpoint is asked, what is sent twice and what never,
 * and what is said. */
#include "etcd_double.h"

#include "etcd/client_internal.h"

static struct etcd_client *client;

static void setup(void)
{
    client = NULL;
    double_setup();
}

static void teardown(void)
{
    etcd_client_free(client);
    double_teardown();
}

static const struct etcd_get get_x = {.key = "x"};

static struct outcome got_x(void)
{
    struct outcome o = do_get(client, &get_x);
    if (o.err.kind == ERROR_NONE) {
        ck_assert_uint_eq(o.got.count, 1);
        ck_assert_str_eq(o.got.list[0].value, "y");
    }
    outcome_fini(&o);
    return o;
}

static void assert_says(const struct outcome *o, enum error_kind kind, const char *part)
{
    ck_assert_msg(o->err.kind == kind, "%s: %s", error_kind_name(o->err.kind), o->err.message);
    ck_assert_msg(strstr(o->err.message, part) != NULL, "\"%s\" has no \"%s\"", o->err.message, part);
}

/* ---- from endpoint to endpoint ---- */

FIXTURE(setup, teardown)

TEST(the_next_one_where_nobody_listens)
{
    NOBODY(0);
    MEMBER(1, {.expect = "/v3/kv/range", .body = GOT_X("7")}, {.expect = "/v3/kv/txn", .body = DONE("8")});
    client = double_client(2, NULL, 0);
    GOOD(got_x());
    struct outcome o = do_put(client, "x", "y"); /* it begins where it was answered */
    GOOD(o);
    ck_assert_int_eq(o.revision, 8);
}

TEST(the_next_call_begins_where_one_was_refused)
{
    MEMBER(0, {.expect = "txn", .after = LOSE},
           {.expect = "range",
            .status = "400 No",
            .body = REFUSAL("etcdserver: mvcc: required revision is a future revision", "11")},
           {.expect = "range", .body = GOT_X("7")});
    MEMBER(1, {.expect = "no request"});
    client = double_client(2, NULL, 0);
    struct outcome o = do_put(client, "x", "y"); /* lost: what begins now begins at the other one */
    assert_says(&o, ERROR_RETRY, "carried out");
    o = (struct outcome){0};
    ck_assert_ptr_nonnull(etcd_newest(client, 0, "x", false, on_got, &o));
    UNTIL(o.done);
    assert_says(&o, ERROR_INVALID, "future");
    GOOD(got_x());
}

TEST(a_write_goes_on_where_it_was_not_sent)
{
    NOBODY(0);
    MEMBER(1, {.expect = "/v3/kv/txn", .status = "503 No", .body = REFUSAL("etcdserver: no leader", "14")});
    MEMBER(2, {.expect = "/v3/kv/txn", .body = DONE("8")});
    client = double_client(3, NULL, 0);
    GOOD(do_put(client, "x", "y"));
}

TEST_EACH(a_write_whose_answer_was_lost_is_not_sent_again, 7)
{
    static const struct step lost[] = {
        {.expect = "/v3/kv/txn", .after = LOSE},
        {.expect = "/v3/kv/txn", .body = "{\"head", .after = CUT},
        {.expect = "/v3/kv/txn", .status = "503 No", .body = REFUSAL("etcdserver: request timed out", "14")},
        {.expect = "/v3/kv/txn", .status = "500 No", .body = REFUSAL("context deadline exceeded", "2")},
        {.expect = "/v3/kv/txn", .status = "503 No", .body = "<html>gateway</html>"},
        {.expect = "/v3/kv/txn", .status = "202 Accepted", .body = "later"},
        {.expect = "/v3/kv/txn", .body = "<html>done</html>"},
    };
    member_start(0, &lost[_i], 1);
    MEMBER(1, {.expect = "range", .body = GOT_X("7")});
    client = double_client(2, NULL, 0);
    struct outcome o = do_put(client, "x", "y");
    assert_says(&o, _i < 5 ? ERROR_RETRY : ERROR_INVALID, "may have been carried out");
    assert_says(&o, o.err.kind, members[0].url);
    ck_assert_uint_eq(members[1].next, 0);
    GOOD(got_x()); /* and the next call begins elsewhere */
    ck_assert_uint_eq(members[0].next, 1);
}

/* A kept connection that turns out dead is where libcurl would send it again by itself. */
TEST(not_even_by_a_connection_that_was_kept)
{
    MEMBER(0, {.expect = "/v3/kv/range", .body = GOT_X("7")}, {.expect = "/v3/kv/txn", .after = LOSE},
           {.expect = "/v3/kv/txn", .body = DONE("8")});
    client = double_client(1, NULL, 0);
    GOOD(got_x());
    struct outcome o = do_put(client, "x", "y");
    assert_says(&o, ERROR_RETRY, "may have been carried out");
    ck_assert_uint_eq(members[0].next, 2);
}

TEST_EACH(a_read_is_asked_elsewhere, 9)
{
    static const struct step wrong[] = {
        {.expect = "range", .after = LOSE},
        {.expect = "range", .body = "{\"head", .after = CUT},
        {.expect = "range", .body = "{\"header\":{\"revision\":\"5\"},\"kvs\":[{"},
        {.expect = "range", .body = "<html>welcome</html>"},
        {.expect = "range", .status = "404 Not Found", .body = "Not Found\n"},
        {.expect = "range", .status = "503 No", .body = REFUSAL("etcdserver: request timed out", "14")},
        {.expect = "range", .status = "301 Moved", .body = "there"},
        {.expect = "range", .status = "429 No", .body = REFUSAL("etcdserver: too many requests", "8")},
        {.expect = "range", .body = "{" HEADER("0") "}"},
    };
    member_start(0, &wrong[_i], 1);
    MEMBER(1, {.expect = "range", .body = GOT_X("7")});
    client = double_client(2, NULL, 0);
    GOOD(got_x());
    ck_assert_uint_eq(members[0].next, 1);
}

TEST(one_that_says_nothing_takes_its_share_of_the_time)
{
    MEMBER(0, {.expect = "range", .after = SILENT});
    MEMBER(1, {.expect = "range", .body = GOT_X("7")});
    client = double_client(2, NULL, 2000);
    GOOD(got_x());
}

TEST(nobody_answers)
{
    NOBODY(0);
    MEMBER(1, {.expect = "range", .body = "<html>"});
    client = double_client(2, NULL, 0);
    struct outcome o = got_x();
    assert_says(&o, ERROR_RETRY, "etcd: no endpoint answers: POST http://127.0.0.1");
    assert_says(&o, ERROR_RETRY, members[0].url);
    assert_says(&o, ERROR_RETRY, "Connection refused");
    assert_says(&o, ERROR_RETRY, members[1].url);
    assert_says(&o, ERROR_RETRY, "is this etcd? It answered: <html>");
}

TEST(no_etcd_at_all)
{
    MEMBER(0, {.expect = "range", .body = "<html>"});
    MEMBER(1, {.expect = "range", .status = "404 Not Found", .body = "no"});
    client = double_client(2, NULL, 0);
    struct outcome o = got_x();
    assert_says(&o, ERROR_INVALID, "no endpoint answers: POST");
}

TEST(a_leader_is_awaited)
{
    MEMBER(0, {.expect = "txn", .status = "503 No", .body = REFUSAL("etcdserver: no leader", "14")},
           {.expect = "txn", .status = "503 No", .body = REFUSAL("etcdserver: no leader", "14")},
           {.expect = "txn", .body = DONE("8")});
    client = double_client(1, NULL, 0);
    GOOD(do_put(client, "x", "y"));
}

TEST(but_not_for_ever)
{
    static const struct step no = {
        .expect = "range", .status = "503 No", .body = REFUSAL("etcdserver: no leader", "14")};
    const struct step many[] = {no, no, no, no, no, no, no, no};
    member_start(0, many, array_len(many));
    client = double_client(1, NULL, 1500);
    struct outcome o = got_x();
    assert_says(&o, ERROR_RETRY, "etcdserver: no leader");
    ck_assert_uint_gt(members[0].next, 1);
}

TEST_EACH(what_etcd_says_is_reported, 12)
{
    static const struct {
        const char *message;
        int code, status;
        enum error_kind kind;
        const char *says;
    } rows[] = {
        {"etcdserver: mvcc: required revision has been compacted", 11, 400, ERROR_GONE, "compacted"},
        {"etcdserver: permission denied", 7, 403, ERROR_AUTH, "the key \"x\""},
        {"etcdserver: user name is empty", 3, 400, ERROR_AUTH, "set ETCD_USER"},
        {"etcdserver: mvcc: database space exceeded", 8, 429, ERROR_RETRY, "alarm disarm"},
        {"etcdserver: mvcc: required revision is a future revision", 11, 400, ERROR_INVALID, "future"},
        {"connection error: desc = x", 14, 503, ERROR_RETRY, "clientAuth"},
    };
    /* As 3.4 has it, and as 3.6. */
    cleanup(mem_free_ptr) char *body =
        mem_printf("{%s\"message\":\"%s\",\"code\":%d}", _i % 2 == 0 ? "\"error\":\"x\"," : "\"details\":[], ",
                   rows[_i / 2].message, rows[_i / 2].code);
    cleanup(mem_free_ptr) char *status = mem_printf("%d No", rows[_i / 2].status);
    const struct step step = {.expect = "range", .status = status, .body = body};
    member_start(0, &step, 1);
    client = double_client(1, NULL, 500);
    struct outcome o = got_x();
    assert_says(&o, rows[_i / 2].kind, rows[_i / 2].says);
    assert_says(&o, rows[_i / 2].kind, members[0].url);
    ck_assert_int_eq(o.err.http_status, rows[_i / 2].status);
}

/* ---- answers ---- */

TEST(a_lease_that_is_gone)
{
    MEMBER(0, {.expect = "keepalive", .body = "{\"result\":{" HEADER("5") ",\"ID\":\"7\"}}\n"},
           {.expect = "keepalive",
            .body =
                "{\"error\":{\"grpc_code\":5,\"http_code\":404,\"message\":\"etcdserver: requested lease not found\","
                "\"http_status\":\"Not Found\"}}"},
           {.expect = "keepalive", .body = "{\"result\":{" HEADER("5") ",\"ID\":\"7\",\"TTL\":\"12\"}}\n", .split = 1});
    client = double_client(1, NULL, 0);
    struct outcome o = do_lease(client, 7, etcd_lease_keep_alive);
    GOOD(o);
    ck_assert_int_eq(o.ttl_s, 0);
    o = do_lease(client, 7, etcd_lease_keep_alive);
    GOOD(o);
    ck_assert_int_eq(o.ttl_s, 0);
    o = do_lease(client, 7, etcd_lease_keep_alive);
    GOOD(o);
    ck_assert_int_eq(o.ttl_s, 12);
}

/* ---- the token ---- */

TEST(a_token_is_fetched_once)
{
    MEMBER(0, {.expect = "{\"name\":\"u\",\"password\":\"pass\\\"word\"}", .body = TOKEN("t.1")},
           {.expect = "Authorization: t.1\r", .body = GOT_X("7")},
           {.expect = "Authorization: t.1\r", .body = DONE("8")});
    client = double_client(1, "u", 0);
    struct outcome a = {0};
    ck_assert_ptr_nonnull(etcd_get(client, &get_x, on_got, &a)); /* both wait for it */
    GOOD(do_put(client, "x", "y"));
    UNTIL(a.done);
    outcome_fini(&a);
}

TEST(another_token_where_it_is_refused)
{
    MEMBER(0, {.expect = "authenticate", .body = TOKEN("t.1")},
           {.expect = "t.1", .status = "401 No", .body = REFUSAL("etcdserver: invalid auth token", "16")},
           {.expect = "authenticate", .body = TOKEN("t.2")}, {.expect = "Authorization: t.2", .body = DONE("8")},
           {.expect = "t.2", .status = "400 No", .body = REFUSAL("etcdserver: revision of auth store is old", "3")},
           {.expect = "authenticate", .body = TOKEN("t.3")},
           {.expect = "t.3", .status = "401 No", .body = REFUSAL("etcdserver: invalid auth token", "16")});
    client = double_client(1, "u", 0);
    GOOD(do_put(client, "x", "y"));
    struct outcome o = got_x(); /* a second time it is not tried */
    assert_says(&o, ERROR_AUTH, "though the token is new");
}

TEST(a_wrong_password)
{
    MEMBER(0, {.expect = "authenticate",
               .status = "400 No",
               .body = REFUSAL("etcdserver: authentication failed, invalid user ID or password", "3")});
    client = double_client(1, "u", 0);
    struct outcome o = got_x();
    assert_says(&o, ERROR_AUTH, "user \"u\", or the password");
    assert_says(&o, ERROR_AUTH, "ETCD_USER and ETCD_PASSWORD");
    ck_assert_ptr_null(strstr(o.err.message, "pass\"word"));
}

TEST(authentication_that_is_off_comes_on)
{
    MEMBER(0,
           {.expect = "authenticate",
            .status = "412 No",
            .body = REFUSAL("etcdserver: authentication is not enabled", "9")},
           {.expect = "range", .body = GOT_X("7")}, {.expect = "range", .body = GOT_X("7")},
           {.expect = "range", .status = "400 No", .body = REFUSAL("etcdserver: user name is empty", "3")},
           {.expect = "authenticate", .body = TOKEN("t.1")}, {.expect = "Authorization: t.1", .body = GOT_X("7")},
           {.expect = "t.1", .status = "401 No", .body = REFUSAL("etcdserver: invalid auth token", "16")},
           {.expect = "authenticate",
            .status = "400 No",
            .body = REFUSAL("etcdserver: authentication is not enabled", "9")},
           {.expect = "range", .body = GOT_X("7")});
    client = double_client(1, "u", 0);
    for (int i = 0; i < 4; i++)
        GOOD(got_x());
    ck_assert_uint_eq(times_in(buf_str(&requests), "/v3/kv/range - "), 4);
    ck_assert_uint_eq(times_logged("has no authentication enabled"), 1);
}

TEST(no_token_comes)
{
    MEMBER(0, {.expect = "authenticate", .after = SILENT});
    client = double_client(1, "u", 1000);
    struct outcome o = got_x();
    ck_assert_int_eq(o.err.kind, ERROR_RETRY);
    ck_assert_ptr_nonnull(strstr(o.err.message, members[0].url));
}

/* ---- the end ---- */

TEST(a_call_that_is_cancelled_calls_nothing_back)
{
    MEMBER(0, {.expect = "range", .after = SILENT}, {.expect = "range", .body = GOT_X("7")});
    client = double_client(1, NULL, 0);
    struct outcome o = {0};
    struct etcd_call *call = etcd_get(client, &get_x, on_got, &o);
    UNTIL(members[0].next == 1);
    etcd_call_cancel(call);
    call = etcd_get(client, &get_x, on_got, &o);
    etcd_call_cancel(call); /* before it was sent */
    etcd_call_cancel(NULL);
    GOOD(got_x());
    ck_assert(!o.done);
}

static void on_got_free(void *arg, const struct etcd_got *got, const struct error *err)
{
    on_got(arg, got, err);
    etcd_client_free(client);
    client = NULL;
}

TEST(the_client_may_go_while_it_calls_back)
{
    MEMBER(0, {.expect = "range", .body = GOT_X("7")}, {.expect = "range", .after = SILENT});
    client = double_client(1, NULL, 0);
    struct outcome o = {0}, never = {0};
    ck_assert_ptr_nonnull(etcd_get(client, &get_x, on_got_free, &o));
    UNTIL(members[0].next == 1 || o.done);
    if (client != NULL)
        ck_assert_ptr_nonnull(etcd_get(client, &get_x, on_got, &never));
    UNTIL(o.done);
    ck_assert_ptr_null(client);
    ck_assert(!never.done);
    outcome_fini(&o);
}

TEST(a_token_on_its_way_when_the_client_goes)
{
    MEMBER(0, {.expect = "authenticate", .after = SILENT});
    client = double_client(1, "u", 0);
    struct outcome o = {0};
    ck_assert_ptr_nonnull(etcd_get(client, &get_x, on_got, &o));
    UNTIL(members[0].next == 1);
    etcd_client_free(client);
    client = NULL;
    ck_assert(!o.done);
}
