/* The servers engine at the end: what only we know of HAProxy is left in its file at the end, for whoever comes next;
 * and what happens where nothing could be left. The world is engine_world.h's. */
#include "runtime_update_world.h"

static void drain_two(void)
{
    desired("n1* n2* n3", "MODIFIED slice");
    settle();
    assert_running("n1! n2! n3");
    assert_configured("n1 n2 n3");
    buf_clear(&w.trace);
}

START_TEST(each_drain_is_left_in_the_file)
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
END_TEST

/* Its pods were ready again before the next one started. */
START_TEST(the_next_one_brings_them_back_without_a_reload)
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
END_TEST

START_TEST(the_next_one_goes_on_with_the_drain)
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
END_TEST

START_TEST(nothing_drains_nothing_is_written)
{
    stop();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("");
}
END_TEST

START_TEST(what_an_operator_has_drained_stays_the_operators)
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
END_TEST

START_TEST(a_pause_is_kept_to)
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
END_TEST

/* One attempt, or another one after somebody else wrote; the end does not wait for an API that fails. */
START_TEST(an_api_that_fails_is_no_reason_to_stay)
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
END_TEST

START_TEST(after_a_transaction_that_was_given_up)
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
END_TEST

/* ---- it died, and left nothing ---- */

/* Its commit carries the drains. 1: the answer to it is lost; 2: it is refused, and the drains are left after it. */
START_TEST(in_the_middle_of_a_commit)
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
END_TEST

START_TEST(a_commit_without_a_drain_is_the_end)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    until('C');
    buf_clear(&w.trace);
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace("C");
}
END_TEST

/* Somebody wrote, and nobody has looked since. */
START_TEST(after_somebody_else_wrote)
{
    drain_two();
    stranger("n1 n2 n3 n7");
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_configured("n1* n2* n3 n7");
    ck_assert(!logged("not saved in haproxy.cfg"));
}
END_TEST

START_TEST(a_drain_of_unknown_origin_is_an_operators_while_another_serves)
{
    drain_two();
    start_again();
    desired("n1 n2 n3", "the first list");
    pass(5000);
    assert_running("n1! n2! n3");
}
END_TEST

START_TEST(but_not_where_nothing_else_is_ready)
{
    drain_two();
    start_again();
    desired("n1 n2", "the first list"); /* n3 is gone, n1 and n2 are usable */
    pass(5000);
    assert_running("n1 n2 n3*");
    ck_assert(in_sync());
    ck_assert_uint_eq(w.commits, 0);
}
END_TEST

START_TEST(maint_by_hand_is_nobodys_drain)
{
    set_copy(w.running.of[0], "n1* n2* n3*");
    start_again();
    desired("n1 n2 n3", "the first list");
    pass(5000);
    assert_running("n1* n2* n3*");
}
END_TEST

/* Only what the start finds is of unknown origin. */
START_TEST(all_that_an_operator_drains_later_stays)
{
    set_copy(w.running.of[0], "n1! n2! n3!");
    pass(RESYNC_MS + 1000);
    assert_running("n1! n2! n3!");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_shutdown");
    TCase *tc = tcase_create("engine_shutdown");
    tcase_add_checked_fixture(tc, three_in_sync, world_end);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    tcase_add_test(tc, each_drain_is_left_in_the_file);
    tcase_add_test(tc, the_next_one_brings_them_back_without_a_reload);
    tcase_add_test(tc, the_next_one_goes_on_with_the_drain);
    tcase_add_test(tc, nothing_drains_nothing_is_written);
    tcase_add_test(tc, what_an_operator_has_drained_stays_the_operators);
    tcase_add_test(tc, a_pause_is_kept_to);
    tcase_add_loop_test(tc, an_api_that_fails_is_no_reason_to_stay, 0, 6);
    tcase_add_test(tc, after_a_transaction_that_was_given_up);
    tcase_add_loop_test(tc, in_the_middle_of_a_commit, 0, 3);
    tcase_add_test(tc, after_somebody_else_wrote);
    tcase_add_test(tc, a_commit_without_a_drain_is_the_end);
    tcase_add_test(tc, a_drain_of_unknown_origin_is_an_operators_while_another_serves);
    tcase_add_test(tc, but_not_where_nothing_else_is_ready);
    tcase_add_test(tc, maint_by_hand_is_nobodys_drain);
    tcase_add_test(tc, all_that_an_operator_drains_later_stays);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
