/* The servers engine at the end: what only we know of HAProxy is left in its file at the end, for whoever comes next;
 * and what happens where nothing could be left. The world is engine_world.h's. */
#include "runtime_update_world.h"

#include "../test.h"

static void drain_two(void)
{
    desired("n1* n2* n3", "MODIFIED slice");
    settle();
    assert_running("n1! n2! n3");
    assert_configured("n1 n2 n3");
    buf_clear(&w.trace);
}

FIXTURE(three_in_sync, world_end)

TEST(each_drain_is_left_in_the_file)
{
    drain_two();
    stop();
    ck_assert_uint_eq(w.stopped, 0);
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("FF");
    assert_configured("n1* n2* n3");
    assert_running("n1* n2* n3");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert(logged("saved in haproxy.cfg as maintenance for the next leader"));
}

/* Its pods were ready again before the next one started. */
TEST(the_next_one_brings_them_back_without_a_reload)
{
    drain_two();
    stop();
    settle();
    start_again();
    desired("n1 n2 n3", "the first list");
    pass(5000);
    assert_settled("n1 n2 n3");
    ck_assert_uint_eq(w.commits, 0);
}

TEST(the_next_one_goes_on_with_the_drain)
{
    drain_two();
    stop();
    settle();
    start_again();
    desired("n1* n2 n3", "the first list");
    pass(5000);
    ck_assert(in_sync());
    assert_running("n1* n2 n3");
    desired("n1 n2 n3", "MODIFIED slice");
    pass(5000);
    assert_settled("n1 n2 n3");
    ck_assert_uint_eq(w.commits, 0);
}

TEST(nothing_drains_nothing_is_written)
{
    stop();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("");
}

TEST(what_an_operator_has_drained_stays_the_operators)
{
    set_sign(w.running.of[0], "n1", "!", true);
    pass(RESYNC_MS + 1000);
    buf_clear(&w.trace);
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("");
    assert_configured("n1 n2 n3");
    assert_running("n1! n2 n3");
}

TEST(a_pause_is_kept_to)
{
    drain_two();
    w.paused = true;
    desired("n1* n2* n3", "MODIFIED service");
    settle();
    buf_clear(&w.trace);
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("");
    assert_configured("n1 n2 n3");
}

/* One attempt, or another one after somebody else wrote; the end does not wait for an API that fails. */
TEST_EACH(an_api_that_fails_is_no_reason_to_stay, 6)
{
    static const int statuses[] = {0, 409, 400, 401, 500, 503};
    drain_two();
    fault((struct fault){.step = 'F', .status = statuses[_i]});
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace(statuses[_i] == 409 ? "FRF" : "F");
    ck_assert(logged("not saved in haproxy.cfg"));
}

TEST(after_a_transaction_that_was_given_up)
{
    drain_two();
    desired("n1* n2* n3 n4", "ADDED slice");
    until('B');
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(count('F'), 2);
    assert_configured("n1* n2* n3");
    ck_assert_uint_eq(w.commits, 0);
}

/* ---- it died, and left nothing ---- */

/* Its commit carries the drains. 1: the answer to it is lost; 2: it is refused, and the drains are left after it. */
TEST_EACH(in_the_middle_of_a_commit, 3)
{
    drain_two();
    desired("n1* n2* n3 n4", "ADDED slice");
    until('C');
    if (_i == 1)
        fault((struct fault){.step = 'C', .times = 1, .applied = true});
    if (_i == 2)
        fault((struct fault){.step = 'C', .status = 400, .times = 1});
    stop();
    settle();
    pass(1000);
    ck_assert_uint_eq(w.stopped, 1);
    assert_configured(_i == 2 ? "n1* n2* n3" : "n1* n2* n3 n4");
    ck_assert(!logged("not saved in haproxy.cfg"));
    ck_assert_uint_eq(count('F'), _i == 2 ? 2 : 0);
}

TEST(a_commit_without_a_drain_is_the_end)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    until('C');
    buf_clear(&w.trace);
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("C");
}

/* Somebody wrote, and nobody has looked since. */
TEST(after_somebody_else_wrote)
{
    drain_two();
    stranger("n1 n2 n3 n7");
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_configured("n1* n2* n3 n7");
    ck_assert(!logged("not saved in haproxy.cfg"));
}

TEST(a_drain_of_unknown_origin_is_an_operators_while_another_serves)
{
    drain_two();
    start_again();
    desired("n1 n2 n3", "the first list");
    pass(5000);
    assert_running("n1! n2! n3");
}

TEST(but_not_where_nothing_else_is_ready)
{
    drain_two();
    start_again();
    desired("n1 n2", "the first list"); /* n3 is gone, n1 and n2 are usable */
    pass(5000);
    assert_running("n1 n2 n3*");
    ck_assert(in_sync());
    ck_assert_uint_eq(w.commits, 0);
}

TEST(maint_by_hand_is_nobodys_drain)
{
    set_copy(w.running.of[0], "n1* n2* n3*");
    start_again();
    desired("n1 n2 n3", "the first list");
    pass(5000);
    assert_running("n1* n2* n3*");
}

/* Only what the start finds is of unknown origin. */
TEST(all_that_an_operator_drains_later_stays)
{
    set_copy(w.running.of[0], "n1! n2! n3!");
    pass(RESYNC_MS + 1000);
    assert_running("n1! n2! n3!");
}
