/* The servers engine: draining, and servers that are not removed all at once; in the world of engine_world.h. */
#include "rules_world.h"

#include "../test.h"

/* ---- draining ---- */

FIXTURE(NULL, world_end)

TEST(draining_is_maintenance_and_then_removal)
{
    begin_with(1, no_loss_limit);
    desired("n1 n2", "event");
    pass(5000);
    buf_clear(&w.trace);
    desired("n1* n2", "a pod terminates");
    settle();
    assert_trace("B~CR");
    pass(5000);
    assert_settled("n1* n2");
    ck_assert(logged("changed=\"n1(maintenance on (draining))\" why=\"n1: a reason\""));
    ck_assert_uint_eq(metric_value(w.telemetry.servers_draining, "be", API_URL, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_desired, "be", API_URL, NULL), 1);
    buf_clear(&w.trace);
    desired("n2", "a drain ended");
    pass(5000);
    assert_settled("n2");
    desired("n1 n2", "event");
    pass(5000);
    assert_settled("n1 n2");
}

TEST(back_from_draining)
{
    begin_with(1, no_loss_limit);
    desired("n1 n2", "event");
    pass(5000);
    desired("n1* n2", "a pod terminates");
    pass(5000);
    desired("n1 n2", "a pod is ready");
    pass(5000);
    assert_settled("n1 n2");
    ck_assert(logged("changed=\"n1(maintenance off)\""));
}

TEST(a_draining_server_that_is_not_there_is_not_made)
{
    begin_with(1, no_loss_limit);
    desired("n1 n2*", "event");
    pass(5000);
    assert_trace("");
    assert_settled("n1");
}

/* ---- the loss limit ---- */

static void four_servers(void)
{
    begin_with(1, braked());
    desired("n1 n2 n3 n4", "event");
    pass(5000);
    assert_settled("n1 n2 n3 n4");
    buf_clear(&w.trace);
    forget_log();
}

TEST(too_many_at_once_are_held_and_then_let_go)
{
    four_servers();
    desired("n1", "three are gone");
    settle();
    assert_trace("");
    ck_assert(!in_sync());
    assert_ready(true, "3 of 4 live servers lost unannounced within one RESYNC_PERIOD");
    ck_assert_uint_eq(metric_value(w.telemetry.servers_removal_delayed, "be", API_URL, NULL), 3);
    ck_assert(logged("level=warn msg=\"too many servers would be removed; removal delayed\""));
    pass(RESYNC_MS - 1000);
    ck_assert(set_eq(w.running.of[0], "n1 n2 n3 n4"));
    pass(1000 + 5000);
    assert_settled("n1");
    ck_assert(logged("cause=\"three are gone\""));
    ck_assert_uint_eq(metric_value(w.telemetry.servers_removal_delayed, "be", API_URL, NULL), 0);
}

/* One server each 300 ms, of nine: half of them may go within RESYNC_PERIOD. */
TEST(one_by_one_is_no_way_round_the_limit)
{
    static const char *const left[] = {"n2 n3 n4 n5 n6 n7 n8 n9",
                                       "n3 n4 n5 n6 n7 n8 n9",
                                       "n4 n5 n6 n7 n8 n9",
                                       "n5 n6 n7 n8 n9",
                                       "n6 n7 n8 n9",
                                       "n7 n8 n9",
                                       "n8 n9",
                                       "n9"};
    begin_with(1, braked());
    desired("n1 n2 n3 n4 n5 n6 n7 n8 n9", "event");
    pass(5000);
    for (size_t i = 0; i < array_len(left); i++) {
        desired(left[i], "one is gone");
        pass(300);
    }
    pass(RESYNC_MS - 300 * 4 - 100); /* until just before the fifth one's own time */
    ck_assert_msg(set_eq(w.running.of[0], "n5 n6 n7 n8 n9"), "%s", w.running.of[0]);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_removal_delayed, "be", API_URL, NULL), 4);
    assert_ready(true, "8 of 9 live servers lost unannounced within one RESYNC_PERIOD");
    assert_ready(true, "; removal delayed: n5 until ");
    pass(100 + 300 * 4 + 5000);
    assert_settled("n9");
}

TEST(what_comes_back_in_time_was_never_gone)
{
    four_servers();
    desired("n1", "three are gone");
    pass(RESYNC_MS / 2);
    desired("n1 n2 n3 n4", "they are back");
    pass(5000);
    assert_settled("n1 n2 n3 n4");
    pass(2 * RESYNC_MS);
    ck_assert_uint_eq(w.commits, 1);
}

TEST(half_of_them_is_not_too_many)
{
    four_servers();
    desired("n1 n2", "event");
    pass(5000);
    assert_settled("n1 n2");
}

TEST(new_ones_do_not_wait_for_the_loss_limit)
{
    four_servers();
    desired("n5 n6", "all moved");
    pass(5000);
    ck_assert_msg(set_eq(w.running.of[0], "n1 n2 n3 n4 n5 n6"), "%s", w.running.of[0]);
    ck_assert(!in_sync());
    assert_ready(true, "4 of 4 live servers lost unannounced within one RESYNC_PERIOD");
    ck_assert(logged("added=n5(10.0.0.5:80),n6(10.0.0.6:80)"));
    ck_assert(logged("removal_delayed=\"n1, n2, n3, n4\""));
    pass(RESYNC_MS + 5000);
    assert_settled("n5 n6");
    ck_assert(!logged("keeps reverting"));
}

/* With them the old ones are just half: that makes their loss no smaller. */
TEST(new_ones_do_not_release_the_loss_limit)
{
    begin_with(1, braked());
    desired("n1 n2", "event");
    pass(5000);
    desired("n3 n4", "all moved");
    pass(RESYNC_MS - 1000);
    ck_assert_msg(set_eq(w.running.of[0], "n1 n2 n3 n4"), "%s", w.running.of[0]);
    pass(1000 + 5000);
    assert_settled("n3 n4");
}

TEST(an_old_pause_does_not_hide_the_end_of_the_loss_limit)
{
    struct plan_rules rules = braked();
    rules.loss_window_ms = RESYNC_MS / 6;
    begin_with(1, rules);
    desired("n1 n2 n3 n4", "event");
    pass(5000);
    for (int i = 0; i < 3; i++) {
        stranger("n1 n2 n3 n7");
        pass(RESYNC_MS + 5000);
    }
    assert_ready(false, "another writer keeps reverting the daemon's changes");
    pass(12 * MINUTES_MS);
    assert_settled("n1 n2 n3 n4");
    buf_clear(&w.trace);
    until('R'); /* a resync, so that the next one is later than the loss limit's end */
    desired("n1", "three are gone");
    pass(RESYNC_MS / 6 + 3000);
    assert_settled("n1");
}

/* The API takes the new one and forgets it, while the loss limit holds the others: no reason to write it again and again. */
TEST(what_does_not_stick_beside_the_loss_limit_is_left_alone)
{
    four_servers();
    w.stubborn = true;
    desired("n1 n5", "three are gone");
    pass(RESYNC_MS / 6);
    ck_assert(logged("committed change missing"));
    ck_assert_uint_le(w.commits, 3);
    w.stubborn = false;
    pass(2 * MINUTES_MS);
    assert_settled("n1 n5");
}

TEST(what_is_undecided_holds_nothing)
{
    four_servers();
    desired("n1", "three are gone");
    settle();
    ck_assert_uint_eq(metric_value(w.telemetry.servers_removal_delayed, "be", API_URL, NULL), 3);
    desired("?", "event");
    settle();
    ck_assert_uint_eq(metric_value(w.telemetry.servers_removal_delayed, "be", API_URL, NULL), 0);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_configured, "be", API_URL, NULL), 4);
}

TEST(a_drain_is_announced)
{
    four_servers();
    desired("n1 n2* n3* n4*", "a rolling update");
    pass(5000);
    assert_settled("n1 n2* n3* n4*");
    desired("n1", "a drain ended");
    pass(5000);
    assert_settled("n1");
}

TEST_EACH(nothing_left_is_allow_empty_s_to_decide, 2)
{
    struct plan_rules rules = braked();
    rules.diff.allow_empty = _i == 1;
    begin_with(1, rules);
    desired("", "all gone");
    pass(5000);
    if (_i == 1)
        assert_settled("");
    else
        assert_ready(true, "keeping the last servers");
}
