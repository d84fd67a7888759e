/* The servers engine: what turns while something else is under way, and what must not be left behind by it: calls that
 * nobody wants any more, waits without an end, reloads for nothing. The world is engine_world.h's. */
#include "runtime_update_world.h"

#include "../test.h"

/* ---- calls that nobody wants any more ---- */

FIXTURE(three_in_sync, world_end)

TEST(what_waits_behind_a_call_is_forgotten_where_the_desired_state_turns)
{
    w.call.held = true;
    desired("n1* n2* n3", "MODIFIED slice");
    desired("n1* n2 n3", "MODIFIED slice");
    w.call.held = false;
    settle();
    assert_trace("d");
    assert_running("n1! n2 n3");
    ck_assert(in_sync());
}

TEST(what_waits_behind_a_call_is_not_told_in_a_pause)
{
    w.call.held = true;
    desired("n1* n2* n3", "MODIFIED slice");
    w.paused = true;
    desired("n1* n2* n3", "MODIFIED service");
    w.call.held = false;
    settle();
    assert_trace("d");
    assert_running("n1! n2 n3");
}

/* Until its answer all is as desired again, and after it nothing is. */
TEST(a_desired_state_that_turns_back_while_a_server_is_called_back)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    w.call.held = true;
    desired("n1 n2 n3", "MODIFIED slice");
    desired("n1* n2 n3", "MODIFIED slice");
    w.call.held = false;
    settle();
    assert_trace("dyd");
    assert_running("n1! n2 n3");
    ck_assert(in_sync());
}

/* Of thousands of servers an API tells some hundred in that time: the transaction takes the others along. */
TEST_EACH(slow_commands_do_not_keep_a_transaction_up, 2)
{
    w.call.held = true;
    desired("n1 n2* n3* n4", "MODIFIED slice");
    pass(_i == 0 ? 3900 : 4100);
    ck_assert(w.call.busy && w.transactions == 0);
    answer_call();
    if (_i == 0) { /* they take effect sooner, so they have their time */
        ck_assert(w.call.busy && w.transactions == 0);
        answer_call();
    }
    ck_assert(!w.call.busy && w.busy);
    w.call.held = false;
    pass(RELOAD_DELAY_MS + 1000);
    ck_assert(in_sync());
    assert_trace(_i == 0 ? "ddB~~+CRPR" : "dB~~+CRmPR");
    assert_running("n1 n2* n3* n4");
}

/* The transaction may take its time: thirty seconds for each of its requests. */
TEST(a_desired_state_that_turns_during_a_call_and_a_transaction)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    until('C');
    desired("n1* n2 n3 n4", "MODIFIED slice");
    ck_assert(w.call.busy);
    desired("n1 n2 n3 n4", "MODIFIED slice");
    answer_call();
    ck_assert_str_eq(w.running.of[0], "n1! n2 n3");
    ck_assert(w.call.busy);
    answer_call();
    ck_assert_str_eq(w.running.of[0], "n1 n2 n3");
    ck_assert(w.busy && step_of() == 'C');
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1 n2 n3 n4");
}

/* No call can take it back, and the file says nothing of it. */
TEST(a_drain_of_ours_while_haproxy_cannot_be_read_any_more)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    w.unreadable = true;
    desired("n1 n2 n3", "MODIFIED slice");
    pass(RELOAD_DELAY_MS + 2 * RESYNC_MS);
    assert_running("n1 n2 n3");
    ck_assert_uint_le(w.commits, 1);
    pass(10 * RESYNC_MS);
    ck_assert_uint_le(w.commits, 1);
    assert_ready(true, "in sync");
}

TEST(a_drain_that_goes_on_while_haproxy_cannot_be_read_any_more)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    w.unreadable = true;
    pass(3 * RESYNC_MS);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    desired("n1 n2 n3", "MODIFIED slice");
    pass(10 * RESYNC_MS);
    assert_settled("n1 n2 n3");
    ck_assert_uint_eq(w.commits, 2);
}

/* ---- calls without an answer ---- */

/* That it was to be set again is not forgotten with the first attempt. */
TEST(an_operators_state_that_cannot_be_set_again_at_once)
{
    set_copy(w.running.of[0], "n1! n2 n3");
    pass(RESYNC_MS);
    assert_ready(true, "n1 is in drain");
    fault((struct fault){.step = 'd', .status = 500, .times = 2});
    restart_haproxy();
    pass(RESYNC_MS + 10000);
    assert_running("n1! n2 n3");
    ck_assert(in_sync());
}

TEST(a_call_that_never_gets_an_answer_becomes_a_commit)
{
    fault((struct fault){.step = 'd'});
    desired("n1* n2 n3", "MODIFIED slice");
    pass(60000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert_uint_le(count('d'), 3);
}

/* An API that is away says nothing about calls; and however long it was, its return finds us soon. */
TEST(calls_after_a_long_time_without_an_api)
{
    fault((struct fault){.step = 'd'});
    fault((struct fault){.step = 'R'});
    for (int i = 0; i < 2000; i++) {
        desired(i % 2 == 0 ? "n1* n2 n3" : "n1 n2 n3", "MODIFIED slice");
        pass(1000);
    }
    desired("n1* n2 n3", "MODIFIED slice");
    mend();
    pass(20000);
    assert_running("n1! n2 n3");
    ck_assert(in_sync());
    ck_assert_uint_eq(w.commits, 0);
}

/* ---- nobody would be left ---- */

TEST(the_last_one_stays_until_the_reload_that_brings_another)
{
    world_end();
    world_make_updates();
    in_sync_with("n1");
    desired("n1 n4", "ADDED slice");
    settle();
    desired("n4", "DELETED slice");
    settle();
    pass(RELOAD_DELAY_MS - 100);
    assert_running("n1");
    pass(4000);
    assert_settled("n1* n4");
    ck_assert_uint_eq(w.commits, 1);
}

/* ---- the runtime update closes ---- */

/* Who drains is not in the file while it is open, and is to be then: nobody's doing. */
TEST(a_route_that_closes_at_the_look_after_a_write)
{
    desired("n1* n3", "MODIFIED slice");
    until('b');
    answer();
    w.unreadable = true;
    pass(RELOAD_DELAY_MS + 4000);
    ck_assert(!logged("committed change missing"));
    assert_settled("n1* n2* n3");
    ck_assert_uint_eq(w.commits, 1);
}

TEST(a_route_that_closes_after_another_writer_wrote_something_else)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    desired("n1* n2 n3 n4", "MODIFIED slice");
    settle();
    stranger("n1 n2 n3 n4");
    pass(RESYNC_MS);
    assert_running("n1! n2 n3 n4");
    w.unreadable = true;
    pass(2 * RESYNC_MS);
    assert_settled("n1* n2 n3 n4");
    ck_assert_uint_eq(metric_value(w.telemetry.changes_reverted, "be", API_URL, NULL), 0);
}

/* ---- drift ---- */

/* Two looks at the same version, but in one moment: a stranger's reload may still be on its way. */
TEST(a_drift_that_is_looked_at_twice_at_once)
{
    set_copy(w.running.of[0], "n1 n2");
    pass(RESYNC_MS);
    instance_refresh(w.target.instance);
    pass(5000);
    ck_assert_uint_eq(w.commits, 0);
    pass(5000);
    ck_assert_uint_eq(w.commits, 1);
    assert_settled("n1 n2 n3");
}

TEST(a_drift_that_may_not_be_mended)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    w.paused = true;
    desired("n1 n2 n3 n4", "MODIFIED service");
    set_copy(w.running.of[0], "n1 n2");
    pass(10 * RESYNC_MS);
    ck_assert(!logged("HAProxy was reloaded externally"));
    ck_assert(!in_sync());
    ck_assert_uint_eq(metric_value(w.telemetry.drifts, API_URL, NULL), 1);
    ck_assert_uint_eq(w.commits, 1);
    restart_haproxy();
    pass(2 * RESYNC_MS);
    ck_assert(logged("HAProxy was reloaded externally"));
    ck_assert(in_sync());
}

static void unreadable_around_reloads(void)
{
    w.unreadable = w.reloads > 0 && clock_mono_ms() < w.reload_due_ms + 3000;
}

TEST(a_drift_that_no_reload_mends_and_that_is_not_seen_at_once)
{
    w.lies = true;
    w.look = unreadable_around_reloads;
    set_copy(w.running.of[0], "n1 n2");
    pass(HOUR_MS);
    ck_assert_uint_ge(w.commits, 3);
    ck_assert_uint_le(w.commits, 40); /* the pauses are by chance */
}

/* ---- the process ---- */

static void same_process(void)
{
    w.pid = 100;
}

/* In a container of its own it may be number 1 each time. */
TEST(a_process_that_always_has_the_same_number)
{
    w.look = same_process;
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(20000);
    unsigned commits = w.commits;
    forget_log();
    for (int i = 5; i < 8; i++) {
        desired(i == 5 ? "n1 n2 n3 n4 n5" : i == 6 ? "n1 n2 n3 n4 n5 n6" : "n1 n2 n3 n4 n5 n6 n7", "ADDED slice");
        pass(20000);
    }
    assert_settled("n1 n2 n3 n4 n5 n6 n7");
    ck_assert_uint_eq(w.commits, commits + 3);
    ck_assert(!logged("two reloads in a row"));
}

TEST(a_process_that_cannot_be_asked_for)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    fault((struct fault){.step = 'i', .status = 500});
    pass(20000);
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(w.commits, 1);
}

/* ---- several backends ---- */

/* One that has a lot to write leaves the others their turn. */
TEST(each_backend_has_its_turn)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    set_copy(w.have.of[0], "n1* n2* n3* n4* n5");
    set_copy(w.have.of[1], "n1* n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired_both("n5", "n2", "the first list");
    pass(0);
    desired_both("n1 n2 n3 n4 n5", "n1 n2", "MODIFIED slice");
    until('F');
    ck_assert_uint_eq(backend_of(), 0);
    answer();
    until('F');
    ck_assert_uint_eq(backend_of(), 1);
    settle();
    ck_assert_uint_eq(w.fast, 5);
    assert_settled("n1 n2 n3 n4 n5");
    assert_settled_two("n1 n2");
}

/* An HAProxy that hangs costs one wait, not one for each backend. */
TEST(what_runs_is_asked_for_once_where_nobody_answers)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    fault((struct fault){.step = 'v', .times = 100});
    instance_start(w.target.instance);
    desired_both("n1", "n1", "the first list");
    settle();
    ck_assert_int_eq(w.faults[0].times, 99);
    mend();
    fault((struct fault){.step = 'i', .times = 1});
    fault((struct fault){.step = 'v', .times = 100});
    instance_refresh(w.target.instance);
    settle();
    ck_assert_int_eq(w.faults[1].times, 100);
    ck_assert(logged("no answer"));
}
