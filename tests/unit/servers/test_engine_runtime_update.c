/* The servers engine: what goes without a reload, what has to wait for a transaction, and what may not be; in the world
 * of engine_world.h. */
#include "runtime_update_world.h"

#include "../test.h"

/* ---- with a reload and without ---- */

FIXTURE(three_in_sync, world_end)

TEST(a_drain_is_told_and_nothing_is_written)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    assert_trace("d");
    ck_assert(in_sync());
    assert_file("n1 n2 n3");
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_runtime, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.runtime_commands, "drain", "applied", API_URL, NULL), 1);
    desired("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_trace("y");
    assert_running("n1 n2 n3");
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert_uint_eq(w.commits + w.fast, 0);
}

/* Of the file nothing is sure then, and what is written for it is a conflict; drains need neither. */
TEST(a_writer_who_never_rests_keeps_no_drain_up)
{
    w.restless = true;
    w.looks = 0;
    instance_refresh(w.target.instance);
    pass(MINUTES_MS);
    ck_assert_uint_ge(w.looks, 20);
    ck_assert_uint_le(w.looks, 1000); /* six at most for each reading, which has pauses */
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    assert_running("n1! n2 n3");
    desired("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    ck_assert(!logged("cannot read HAProxy's configuration"));
    ck_assert_uint_eq(w.commits + w.reloads, 0);
    w.restless = false;
    pass(RESYNC_MS);
    desired("n2 n3", "DELETED slice");
    settle();
    assert_file("n1* n2 n3");
    ck_assert(in_sync());
}

TEST(out_is_parked_without_a_reload_and_comes_back_so)
{
    ck_assert_str_eq(verification(), "untested");
    desired("n2 n3", "DELETED slice");
    settle();
    assert_trace("mFR");
    assert_file("n1* n2 n3");
    assert_running("n1* n2 n3");
    ck_assert(in_sync());
    ck_assert_str_eq(verification(), "verified");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_commit, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_configured, "be", API_URL, NULL), 2);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_parked, "be", API_URL, NULL), 1);
    desired("n1 n2 n3", "ADDED slice");
    settle();
    assert_trace("FR");
    assert_running("n1 n2 n3");
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert_uint_eq(w.reloads, 0);
    ck_assert(logged("runtime updates verified"));
}

TEST(from_a_drain_to_the_park)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    desired("n2 n3", "DELETED slice");
    settle();
    assert_trace("dmFR");
    assert_running("n1* n2 n3");
    desired("n1 n2 n3", "ADDED slice");
    settle();
    assert_trace("FR");
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(w.reloads, 0);
}

TEST(several_go_one_after_the_other)
{
    desired("n3", "DELETED slice");
    settle();
    assert_trace("mmFFR");
    assert_running("n1* n2* n3");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_commit, NULL), 1);
    ck_assert(in_sync());
}

TEST(a_new_server_is_a_transaction_and_later_ones_gather)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    assert_trace("B+CR");
    desired("n1 n2 n3 n4 n5", "ADDED slice");
    settle();
    desired("n1 n2 n3 n4 n5 n6", "ADDED slice");
    settle();
    assert_trace("");
    pass(1900);
    ck_assert_uint_eq(count('B'), 0);
    pass(200);
    ck_assert_uint_eq(count('B'), 1);
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1 n2 n3 n4 n5 n6");
    ck_assert_uint_eq(w.commits, 2);
}

/* What takes effect at once does not wait for a transaction that has to. */
TEST(while_a_transaction_waits_the_runtime_update_goes_on)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    pass(RELOAD_DELAY_MS + 500);
    buf_clear(&w.trace);
    desired("n2 n3 n4 n5", "MODIFIED slice");
    settle();
    assert_trace("mFR");
    assert_running("n1* n2 n3 n4");
    pass(RELOAD_DELAY_MS + 4000);
    assert_settled("n1* n2 n3 n4 n5");
}

TEST(a_transaction_takes_drains_into_the_file)
{
    desired("n1* n2 n3 n4", "MODIFIED slice");
    settle();
    assert_trace("dB~+CR");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1* n2 n3 n4"); /* no moment after the reload in which it gets connections */
    buf_clear(&w.trace);
    desired("n2 n3 n4", "DELETED slice");
    settle();
    assert_trace("");
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    assert_trace("FR");
    assert_settled("n1 n2 n3 n4");
}

/* The file has all in maintenance that runs, and what runs knows nothing of the one that comes: until the reload both stay. */
static void assert_nobody_is_missed(const char *set, const char *after)
{
    desired(set, "MODIFIED slice");
    until('C');
    settle();
    assert_trace("B~~~+CR");
    assert_running("n1 n2 n3");
    pass(RELOAD_DELAY_MS - 500);
    assert_running("n1 n2 n3");
    pass(1500);
    assert_settled(after);
    ck_assert_uint_eq(count('m') + count('d'), 0);
}

TEST(all_leave_for_a_new_one)
{
    assert_nobody_is_missed("n4", "n1* n2* n3* n4");
}

TEST(all_drain_for_a_new_one)
{
    assert_nobody_is_missed("n1* n2* n3* n4", "n1* n2* n3* n4");
}

/* And the one that comes leaves again before it came. */
TEST(all_leave_for_one_that_leaves_for_another)
{
    desired("n4", "MODIFIED slice");
    until('C');
    settle();
    desired("n5", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    pass(RELOAD_DELAY_MS - 500);
    assert_running("n1 n2 n3");
    pass(2 * RELOAD_DELAY_MS + 3000);
    assert_settled("n1* n2* n3* n4* n5");
    ck_assert_uint_eq(count('m') + count('d'), 0);
}

/* The file has the new one already, and nothing but writes is left to do. */
TEST(all_leave_while_the_reload_for_a_new_one_is_awaited)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    until('C');
    settle();
    desired("n4", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    pass(RELOAD_DELAY_MS - 500);
    assert_running("n1 n2 n3");
    pass(1500);
    assert_settled("n1* n2* n3* n4");
    ck_assert_uint_eq(w.commits, 1);
}

TEST(a_call_overtakes_a_transaction)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    until('C');
    desired("n1* n2 n3 n4", "MODIFIED slice");
    ck_assert(w.call.busy);
    ck_assert_str_eq(w.call.state, "drain");
    answer_call();
    assert_running("n1! n2 n3");
    ck_assert(w.busy && step_of() == 'C');
    pass(RELOAD_DELAY_MS + 1000);
    assert_running("n1! n2 n3 n4"); /* told again after the reload */
    ck_assert(in_sync());
}

TEST(nothing_is_written_while_a_call_is_under_way)
{
    w.call.held = true;
    desired("n2 n3", "DELETED slice");
    settle();
    ck_assert(w.call.busy);
    assert_trace("");
    w.call.held = false;
    settle();
    assert_trace("mFR");
}

TEST(the_desired_state_turns_while_a_call_is_under_way)
{
    w.call.held = true;
    desired("n1* n2 n3", "MODIFIED slice");
    desired("n1 n2 n3", "MODIFIED slice");
    w.call.held = false;
    settle();
    assert_trace("dy");
    assert_running("n1 n2 n3");
    ck_assert(in_sync());
}

TEST(a_call_that_fails_is_made_again)
{
    fault((struct fault){.step = 'd', .times = 2});
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    ck_assert(!in_sync());
    assert_ready(false, "runtime command: ");
    pass(5000);
    assert_running("n1! n2 n3");
    ck_assert(in_sync());
    assert_ready(true, "in sync");
}

/* The API is well, but cannot tell HAProxy: what cannot be told is written. */
TEST(a_call_that_always_fails_becomes_a_commit)
{
    fault((struct fault){.step = 'd', .status = 500});
    desired("n1* n2 n3", "MODIFIED slice");
    pass(20000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert_uint_le(count('d'), 3);
}

/* Its read-back would show what the call made of it. */
TEST(a_desired_state_that_turns_while_it_is_written)
{
    desired("n2 n3", "DELETED slice");
    until('b');
    desired("n1 n2 n3", "ADDED slice");
    ck_assert(!w.call.busy);
    settle();
    assert_running("n1 n2 n3");
    ck_assert_str_eq(verification(), "verified");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert(in_sync());
}

TEST(a_call_for_which_there_is_no_server)
{
    fault((struct fault){.step = 'd', .status = 404});
    desired("n1* n2 n3", "MODIFIED slice");
    pass(20000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_le(count('d'), 3);
}

/* The write goes on where the call does not: it does the same, a little later. */
TEST(a_call_that_fails_does_not_stop_the_write)
{
    fault((struct fault){.step = 'm'});
    desired("n2 n3", "DELETED slice");
    pass(100);
    assert_running("n1* n2 n3");
    ck_assert_uint_eq(w.fast, 1);
}

/* ---- what may not be ---- */

TEST(paused_tells_nothing)
{
    w.paused = true;
    desired("n1* n2", "MODIFIED slice");
    pass(2 * RESYNC_MS);
    ck_assert_uint_eq(w.commits + w.fast + count('d') + count('m'), 0);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.changes_pending, "be", API_URL, NULL), 2);
}

TEST(what_the_loss_limit_holds_is_not_told_to_leave)
{
    world_end();
    world_make_as(1, (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS}, HOUR_MS, true);
    in_sync_with("n1 n2 n3");
    desired("n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    assert_file("n1 n2 n3");
    pass(RESYNC_MS + 1000);
    assert_running("n1* n2* n3");
    /* The time that they were held is no latency. */
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_runtime, NULL), 0);
}

/* It was told to leave, and the loss limit holds it before the file says so. */
TEST(what_is_held_serves)
{
    world_end();
    world_make_as(1, (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS}, HOUR_MS, true);
    in_sync_with("n1 n2 n3");
    desired("n1* n2* n3", "MODIFIED slice");
    settle();
    assert_running("n1! n2! n3");
    desired("n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    assert_file("n1 n2 n3");
    pass(RESYNC_MS - 1000);
    assert_running("n1 n2 n3");
    pass(2000);
    assert_running("n1* n2* n3");
}

TEST(the_last_one_is_held)
{
    desired("", "DELETED slice");
    pass(2 * RESYNC_MS);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(w.fast, 0);
}

/* The API says that it was written, HAProxy was told so already, and the file knows nothing of it. */
TEST(a_runtime_update_that_is_not_in_the_file_becomes_a_transaction)
{
    w.forgets_fast = true;
    desired("n2 n3 n4", "MODIFIED slice");
    pass(2 * RELOAD_DELAY_MS + 15000); /* it does not stick: judged after the reload, and tried again after a backoff */
    ck_assert_uint_le(w.fast, 2);
    assert_settled("n1* n2 n3 n4");
    desired("n2 n4", "MODIFIED slice");
    pass(2 * RELOAD_DELAY_MS + 15000);
    assert_settled("n1* n2 n3* n4");
    ck_assert_uint_le(w.fast, 4);
}

TEST(a_stream_of_runtime_updates_does_not_hold_up_a_transaction_for_ever)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(100);
    for (int i = 0; w.commits < 2 && i < 200; i++) {
        desired(i % 2 == 0 ? "n2 n3 n4 n5" : "n1 n2 n3 n4 n5", "MODIFIED slice");
        if (w.busy)
            answer(); /* there is always something more to be written */
        while (w.call.busy || (w.busy && step_of() != 'b'))
            w.call.busy ? answer_call() : answer();
        w.now_us += 50000;
        w.at_one_moment = 0;
    }
    ck_assert_msg(w.commits == 2, "%s", buf_str(&w.trace));
    pass(RELOAD_DELAY_MS + 10000);
    ck_assert(in_sync());
}

/* ---- parked ones ---- */

TEST(the_longest_parked_goes_with_the_next_transaction)
{
    desired("n2 n3", "DELETED slice");
    settle();
    pass(2 * HOUR_MS);
    assert_file("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
    desired("n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n2 n3 n4");
    ck_assert_uint_eq(w.commits, 1);
}

TEST(without_parking_a_server_stops_at_once_and_is_removed)
{
    world_end();
    world_make_as(1, (struct plan_rules){.max_loss_percent = 100}, 0, true);
    in_sync_with("n1 n2 n3");
    desired("n2 n3", "DELETED slice");
    settle();
    assert_running("n1* n2 n3");
    assert_file("n2 n3");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n2 n3");
}

/* ---- two backends ---- */

TEST(a_reload_for_one_backend_keeps_the_drains_of_the_other)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    for (int i = 0; i < 2; i++)
        set_copy(w.have.of[i], "n1 n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired_both("n1 n2", "n1 n2", "the first list");
    pass(0);
    desired_both("n1 n2", "n1* n2", "MODIFIED slice");
    settle();
    ck_assert_str_eq(w.running.of[1], "n1! n2");
    desired_both("n1 n2 n3", "n1* n2", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1 n2 n3");
    assert_settled_two("n1* n2");
    ck_assert_uint_eq(w.commits, 1);
}

TEST(both_backends_go_by_the_runtime_update)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    for (int i = 0; i < 2; i++)
        set_copy(w.have.of[i], "n1 n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired_both("n1 n2", "n1 n2", "the first list");
    pass(0);
    desired_both("n2", "n1", "MODIFIED slice");
    settle();
    assert_settled("n1* n2");
    assert_settled_two("n1 n2*");
    ck_assert_uint_eq(w.fast, 2);
    ck_assert_uint_eq(w.commits, 0);
}
