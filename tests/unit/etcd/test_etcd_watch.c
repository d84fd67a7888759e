/* etcd/watch against members that answer by a script: from where a watch goes on, what ends it, and what callers may
 * do within it. */
#include "etcd_reported.h"
#include "etcd_double.h"

static struct etcd_client *client;
static struct etcd_watch *watch;

static void setup(void)
{
    client = NULL;
    watch = NULL;
    buf_init(&told, 0);
    error_clear(&told_why);
    double_setup();
}

static void teardown(void)
{
    etcd_watch_free(watch);
    etcd_client_free(client);
    double_teardown();
    buf_fini(&told);
}

static void start(size_t members_count, const char *user, int64_t revision)
{
    client = double_client(members_count, user, 0);
    watch = etcd_watch_new(world.base, client, "x/", true, &callbacks, NULL);
    etcd_watch_start(watch, revision);
}

#define A(value, revision) PUT_EVENT("eC9h", value, revision) /* x/a */
#define ONE "MQ=="
#define TWO "Mg=="

#define TOLD(text)                                     \
    do {                                               \
        UNTIL(strlen(buf_str(&told)) >= strlen(text)); \
        ck_assert_str_eq(buf_str(&told), text);        \
    } while (0)

FIXTURE(setup, teardown)

TEST_EACH(events_in_any_split, 4)
{
    static const char stream[] = CREATED("9") EVENTS("5", A(ONE, "5")) "\n" PROGRESS("8")
        EVENTS("10", A(TWO, "9") "," DELETE_EVENT("eC9h", "10"));
    static const size_t splits[] = {0, 1, 7, 200};
    const struct step step = {.expect = "/v3/watch", .body = stream, .after = HOLD, .split = splits[_i]};
    member_start(0, &step, 1);
    start(1, NULL, 5);
    TOLD("connected x/a=1 x/a=2 -x/a ");
    ck_assert_str_eq(
        buf_str(&requests),
        "0 /v3/watch - {\"create_request\":{\"key\":\"eC8=\",\"range_end\":\"eDA=\",\"start_revision\":\"5\","
        "\"progress_notify\":true,\"fragment\":true}}\n");
}

TEST(all_of_one_batch_together)
{
    MEMBER(0, {.expect = "watch",
               .body = CREATED("9") FRAGMENT("9", A(ONE, "5")) FRAGMENT("9", A(TWO, "6")) PROGRESS("4"),
               .after = HOLD});
    start(1, NULL, 5);
    UNTIL(was_told("connected"));
    ck_assert_str_eq(buf_str(&told), "connected ");
    member_push(0, EVENTS("9", A(ONE, "7")), 0);
    TOLD("connected x/a=1 x/a=2 x/a=1 ");
}

/* ---- it goes on ---- */

#define FROM(revision) "\"start_revision\":\"" revision "\""

TEST(from_behind_what_came)
{
    MEMBER(0, {.expect = FROM("5"), .body = CREATED("9") EVENTS("5", A(ONE, "5")), .after = END},
           {.expect = FROM("6"), .body = CREATED("9") EVENTS("9", A(TWO, "8")) "{\"result\":{\"head", .after = CUT},
           {.expect = FROM("9"), .body = CREATED("9") PROGRESS("20"), .after = CUT},
           {.expect = FROM("21"), .body = CREATED("20") FRAGMENT("21", A(TWO, "21")), .after = CUT},
           {.expect = FROM("21"), .body = CREATED("21") EVENTS("21", A(TWO, "21")), .after = HOLD});
    start(1, NULL, 5);
    UNTIL(members[0].next == 5 && times_in(buf_str(&told), "x/a=2") == 2);
    ck_assert_str_eq(buf_str(&told), "connected x/a=1 lost:retry connected x/a=2 lost:retry connected lost:retry "
                                     "connected lost:retry connected x/a=2 ");
}

TEST(at_the_next_endpoint)
{
    NOBODY(0);
    MEMBER(1, {.expect = FROM("5"), .body = CREATED("9"), .after = END});
    MEMBER(2, {.expect = FROM("5"), .body = CREATED("9"), .after = HOLD});
    start(3, NULL, 5);
    TOLD("lost:retry connected lost:retry connected ");
    ck_assert_uint_eq(members[2].next, 1);
}

TEST(without_a_leader)
{
    MEMBER(0,
           {.expect = "watch",
            .status = "503 No",
            .body = "{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"etcdserver: no "
                    "leader\",\"http_status\":\"No\"}}"},
           {.expect = "watch",
            .body = CREATED("9") "{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"etcdserver: no leader\","
                                 "\"http_status\":\"Service Unavailable\"}}"},
           {.expect = "watch", .body = CREATED("9"), .after = HOLD});
    start(1, NULL, 5);
    UNTIL(was_told("lost"));
    ck_assert_ptr_nonnull(strstr(told_why.message, "no leader"));
    ck_assert_ptr_nonnull(strstr(told_why.message, members[0].url));
    ck_assert_ptr_nonnull(strstr(told_why.message, "watch of \"x/\""));
    TOLD("lost:retry connected lost:retry connected ");
}

/* As 3.4 has it. */
TEST(an_error_without_a_line_break)
{
    MEMBER(0,
           {.expect = "watch",
            .body = CREATED("9") "{\"error\":{\"grpc_code\":14,\"message\":\"etcdserver: no leader\"}}"},
           {.expect = "watch", .body = CREATED("9"), .after = HOLD});
    start(1, NULL, 5);
    UNTIL(was_told("lost"));
    ck_assert_msg(strstr(told_why.message, "no leader") != NULL, "%s", told_why.message);
}

TEST_EACH(what_is_no_stream_of_etcd, 9)
{
    static const struct {
        const char *status, *body, *says;
    } rows[] = {
        {NULL, "<html>\n", "is this etcd? It sent: <html>"},
        {NULL, CREATED("9") "{\"result\":{\"header\":{\"revision\":\"x\"}}}\n", "revision is \"x\""},
        {NULL, "{\"result\":7}\n", "result is a number"},
        {NULL, "{}\n", "neither result nor error"},
        {NULL, EVENTS("9", "{\"kv\":{\"key\":\"%%\",\"mod_revision\":\"4\"}}"), "events[0]: key is no base64"},
        {NULL, EVENTS("9", "{\"type\":\"MOVE\",\"kv\":{\"key\":\"eA==\",\"mod_revision\":\"4\"}}"), "type is \"MOVE\""},
        {"404 Not Found", "Not Found\n", "--enable-grpc-gateway"},
        {"200 OK", "", "the watch ended"},
        {"302 Found", "<html>", "status 302"},
    };
    const struct step steps[] = {{.expect = "watch", .status = rows[_i].status, .body = rows[_i].body},
                                 {.expect = "watch", .body = CREATED("9"), .after = HOLD}};
    member_start(0, steps, 2);
    start(1, NULL, 5);
    UNTIL(was_told("lost"));
    ck_assert_msg(strstr(told_why.message, rows[_i].says) != NULL, "%s", told_why.message);
    UNTIL(members[0].next == 2);
}

/* ---- all is read anew ---- */

TEST(compacted)
{
    MEMBER(0, {.expect = FROM("5"), .body = CREATED("9") COMPACTED("7"), .after = HOLD},
           {.expect = FROM("8"), .body = CREATED("9") EVENTS("9", A(ONE, "9")), .after = HOLD});
    start(1, NULL, 5);
    TOLD("connected compacted:7 ");
    etcd_watch_start(watch, 8);
    TOLD("connected compacted:7 x/a=1 ");
}

TEST(a_member_that_is_behind_is_no_cluster_set_back)
{
    MEMBER(0, {.expect = FROM("50"), .body = CREATED("9"), .after = HOLD},
           {.expect = "\"sort_order\":\"DESCEND\",\"sort_target\":\"MOD\",\"limit\":\"1\",\"keys_only\":true",
            .body = GOT_X("49")});
    start(1, NULL, 50);
    UNTIL(members[0].next == 2);
    member_drop(&members[0], members[0].open[0]);
    UNTIL(was_told("lost"));
    ck_assert_str_eq(buf_str(&told), "connected lost:retry ");
}

TEST(a_cluster_that_was_set_back)
{
    MEMBER(0, {.expect = FROM("50"), .body = CREATED("9"), .after = HOLD}, {.expect = "DESCEND", .body = GOT_X("9")});
    start(1, NULL, 50);
    TOLD("connected compacted:9 ");
}

/* It is asked itself, and nobody else. */
TEST(a_member_that_does_not_answer_a_check)
{
    MEMBER(0, {.expect = FROM("50"), .body = CREATED("9"), .after = HOLD}, {.expect = "DESCEND", .after = LOSE});
    MEMBER(1, {.expect = FROM("50"), .body = CREATED("49"), .after = HOLD});
    start(2, NULL, 50);
    TOLD("connected lost:retry connected ");
    ck_assert_uint_eq(members[1].next, 1);
}

TEST(a_line_that_is_too_long)
{
    cleanup(mem_free_ptr) char *long_line = mem_alloc((17u << 20) + 1);
    memset(long_line, ' ', 17u << 20);
    long_line[0] = '{';
    const struct step step = {.expect = "watch", .body = long_line, .after = HOLD};
    member_start(0, &step, 1);
    start(1, NULL, 5);
    TOLD("lost:invalid compacted:5 ");
    ck_assert_ptr_nonnull(strstr(told_why.message, "more than 16777216 bytes"));
}

static void state_then_stop(void *arg, bool connected, const struct error *err)
{
    on_state(arg, connected, err);
    if (!connected)
        etcd_watch_stop(watch);
}

TEST(stopped_where_it_is_lost)
{
    static const struct etcd_watch_callbacks then = {on_changed, on_compacted, state_then_stop};
    cleanup(mem_free_ptr) char *long_line = mem_alloc((17u << 20) + 1);
    memset(long_line, ' ', 17u << 20);
    const struct step step = {.expect = "watch", .body = long_line, .after = HOLD};
    member_start(0, &step, 1);
    client = double_client(1, NULL, 0);
    watch = etcd_watch_new(world.base, client, "x/", true, &then, NULL);
    etcd_watch_start(watch, 5);
    UNTIL(was_told("lost"));
    ck_assert_str_eq(buf_str(&told), "lost:invalid ");
}

TEST(a_check_of_a_stream_that_is_no_more)
{
    MEMBER(0, {.expect = FROM("50"), .body = CREATED("9"), .after = HOLD}, {.expect = "DESCEND", .after = SILENT},
           {.expect = FROM("10"), .body = CREATED("90") EVENTS("90", A(ONE, "90")), .after = HOLD},
           {.expect = "range", .body = GOT_X("7")});
    start(1, NULL, 50);
    UNTIL(members[0].next == 2);
    size_t check = 0;
    while (members[0].open[check] != members[0].last)
        check++;
    etcd_watch_start(watch, 10);
    UNTIL(was_told("x/a=1"));
    if (members[0].open[check] != NULL) /* otherwise it was ended already */
        member_answer(&members[0], members[0].open[check], &(struct step){.body = GOT_X("9")});
    struct outcome o = do_get(client, &(struct etcd_get){.key = "x"}); /* so that it has come by then */
    GOOD(o);
    outcome_fini(&o);
    ck_assert_str_eq(buf_str(&told), "connected x/a=1 ");
}

/* ---- who we are ---- */

#define BAD_TOKEN CANCELED("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token")

TEST(another_token_where_it_is_refused)
{
    MEMBER(0, {.expect = "authenticate", .body = TOKEN("t.1")}, {.expect = "t.1", .body = BAD_TOKEN, .after = HOLD},
           {.expect = "authenticate", .body = TOKEN("t.2")},
           {.expect = "Authorization: t.2", .body = CREATED("9"), .after = END},
           {.expect = "t.2", .body = BAD_TOKEN, .after = HOLD}, {.expect = "authenticate", .body = TOKEN("t.3")},
           {.expect = "t.3", .body = BAD_TOKEN, .after = HOLD}, {.expect = "authenticate", .body = TOKEN("t.4")},
           {.expect = "t.4", .body = CREATED("9"), .after = HOLD});
    start(1, "u", 5);
    TOLD("connected lost:retry lost:auth connected ");
}

TEST(not_allowed)
{
    MEMBER(0,
           {.expect = "watch",
            .body = CANCELED("rpc error: code = PermissionDenied desc = etcdserver: permission denied"),
            .after = HOLD},
           {.expect = "watch", .body = CREATED("9"), .after = HOLD});
    start(1, NULL, 5);
    UNTIL(was_told("lost"));
    ck_assert_ptr_nonnull(strstr(told_why.message, "permission denied"));
    TOLD("lost:auth connected ");
}

TEST(no_token_comes)
{
    MEMBER(0,
           {.expect = "authenticate",
            .status = "400 No",
            .body = REFUSAL("etcdserver: authentication failed, invalid user ID or password", "3")},
           {.expect = "authenticate", .body = TOKEN("t.1")}, {.expect = "t.1", .body = CREATED("9"), .after = HOLD});
    start(1, "u", 5);
    TOLD("lost:auth connected ");
}

/* ---- what callers do within it ---- */

static void changed_then(void *arg, const struct etcd_event *events, size_t count, int64_t revision)
{
    on_changed(arg, events, count, revision);
    const char *what = arg;
    if (strcmp(what, "stop") == 0)
        etcd_watch_stop(watch);
    else if (strcmp(what, "start") == 0)
        etcd_watch_start(watch, 70);
    if (strcmp(what, "free") == 0) {
        etcd_watch_free(watch);
        watch = NULL;
    }
}

TEST_EACH(within_a_callback, 3)
{
    static char whats[][8] = {"stop", "start", "free"};
    static const struct etcd_watch_callbacks then = {changed_then, on_compacted, on_state};
    MEMBER(0,
           {.expect = FROM("5"), .body = CREATED("9") EVENTS("5", A(ONE, "5")) EVENTS("6", A(TWO, "6")), .after = HOLD},
           {.expect = FROM("70"), .body = CREATED("69"), .after = HOLD});
    client = double_client(1, NULL, 0);
    watch = etcd_watch_new(world.base, client, "x/", true, &then, whats[_i]);
    etcd_watch_start(watch, 5);
    UNTIL(was_told("x/a=1"));
    UNTIL(members[0].next == (_i == 1 ? 2 : 1));
    for (int i = 0; i < 5; i++)
        event_base_loop(world.base, EVLOOP_NONBLOCK);
    ck_assert_str_eq(buf_str(&told), "connected x/a=1 ");
}
