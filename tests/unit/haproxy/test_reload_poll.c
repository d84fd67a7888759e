/* src/haproxy/reload_poll: a Reload-ID followed to its end, by answers and time alone. */
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/reload_answer.h"
#include "haproxy/reload_poll.h"

#include "../test.h"

static void answer(struct reload *r, int status, const char *body, uint64_t now_ms)
{
    const struct dataplane_answer a = {.status = status, .body = body, .body_len = strlen(body), .version = 3};
    reload_answer(r, &a, now_ms);
}

TEST(pending_then_done)
{
    struct reload r = {0};
    ck_assert(!reload_due(&r, 1000));
    reload_follow(&r, "2026-01-01-0", 1000);
    ck_assert(!reload_due(&r, 1000));
    ck_assert(reload_due(&r, r.next_ms));
    answer(&r, 200, "{\"status\":\"in_progress\"}", 1100);
    ck_assert_int_eq(r.state, RELOAD_PENDING);
    ck_assert_uint_gt(r.next_ms, 1100);
    answer(&r, 200, "{\"id\":\"2026-01-01-0\",\"status\":\"succeeded\",\"response\":\"ok\"}", 1200);
    ck_assert_int_eq(r.state, RELOAD_DONE);
    ck_assert(!reload_due(&r, 99999999));
    reload_fini(&r);
    ck_assert_int_eq(r.state, RELOAD_NONE);
}

static const struct {
    int status;
    const char *body;
    enum reload_state state;
    enum error_kind kind;
    const char *says;
} rows[] = {
    {200, "{\"status\":\"failed\",\"response\":\"[ALERT] cannot bind\"}", RELOAD_BROKEN, ERROR_INVALID,
     "[ALERT] cannot bind"},
    {200, "{\"status\":\"failed\"}", RELOAD_BROKEN, ERROR_INVALID, "failed"},
    {404, "{\"code\":404,\"message\":\"reload does not exist\"}", RELOAD_BROKEN, ERROR_GONE, "not known any more"},
    {200, "<html>", RELOAD_BROKEN, ERROR_INVALID, "r-1"},
    {500, "{}", RELOAD_PENDING, ERROR_NONE, ""},
    {401, "{}", RELOAD_PENDING, ERROR_NONE, ""},
    {0, "", RELOAD_PENDING, ERROR_NONE, ""},
};

TEST_EACH(other_ends, array_len(rows))
{
    cleanup(reload_fini) struct reload r = {0};
    reload_follow(&r, "r-1", 1000);
    answer(&r, rows[_i].status, rows[_i].body, 2000);
    ck_assert_int_eq(r.state, rows[_i].state);
    ck_assert_int_eq(r.error.kind, rows[_i].kind);
    ck_assert_msg(strstr(r.error.message, rows[_i].says) != NULL, "%s", r.error.message);
}

TEST(never_ending_is_lost)
{
    cleanup(reload_fini) struct reload r = {0};
    uint64_t now = 1000, asked = 0;
    reload_follow(&r, "r-1", now);
    for (; r.state == RELOAD_PENDING && asked < 100000; asked++) {
        now = r.next_ms;
        answer(&r, 200, "{\"status\":\"in_progress\"}", now);
    }
    ck_assert_int_eq(r.state, RELOAD_BROKEN);
    ck_assert_int_eq(r.error.kind, ERROR_RETRY);
    ck_assert_uint_ge(now - 1000, RELOAD_DEADLINE_MS);
    ck_assert_uint_lt(asked, 300);
}

TEST(newer_replaces_older)
{
    cleanup(reload_fini) struct reload r = {0};
    reload_follow(&r, "r-1", 1000);
    answer(&r, 404, "", 1100);
    reload_follow(&r, "r-2", 2000);
    ck_assert_int_eq(r.state, RELOAD_PENDING);
    ck_assert_str_eq(r.id, "r-2");
    ck_assert_int_eq(r.error.kind, ERROR_NONE);
}
