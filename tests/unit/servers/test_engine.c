/* The servers engine on one HAProxy: a desired state and a refresh at any time, drift, a hold, a refusal, and the
 * latency of an event; in the world of engine_world.h. */
#include "../engine_world.h"
#include "../test.h"

/* ---- all is well ---- */

FIXTURE(world_make_watched, world_end)

TEST(nothing_is_written_before_the_first_desired_state)
{
    instance_start(w.target.instance);
    pass(0);
    assert_trace("RH");
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert(!in_sync());
    assert_ready(false, "waiting for Kubernetes");
}

TEST(in_sync_from_the_start)
{
    world_in_sync();
    ck_assert_uint_eq(w.commits, 0);
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert_uint_eq(metric_value(w.telemetry.reconciles, "in_sync", API_URL, NULL), 2);
}

TEST(a_change_is_one_transaction_and_its_reload_is_followed)
{
    world_in_sync();
    desired("n2", "MODIFIED slice");
    ck_assert(!in_sync());
    settle();
    assert_trace("B+-CR");
    assert_ready(true, "committed, waiting for reload r-1");
    ck_assert(!in_sync());
    pass(RELOAD_DELAY_MS + 1000);
    assert_trace("PR");
    assert_settled("n2");
    ck_assert(logged("cause=\"MODIFIED slice\""));
    ck_assert(!logged("taking over the backend"));
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, "succeeded", API_URL, NULL), 1);
}

/* What falls due while a step is at work is neither lost nor left to the next comparison. */
TEST_EACH(a_slow_machine_misses_nothing, 5)
{
    static const unsigned slow_us[] = {100, 1000, 10000, 60000, 130000};
    instance_start(w.target.instance);
    w.slow_us = slow_us[_i];
    w.fail_reloads = 1;
    desired("n2", "event");
    pass(RESYNC_MS - 10000);
    w.slow_us = 0;
    settle();
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 2);
}

TEST(a_takeover_names_what_it_removes)
{
    instance_start(w.target.instance);
    desired("n2", "list");
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert(logged("taking over the backend"));
}

/* ---- what does not stick, and strangers ---- */

TEST(a_change_that_does_not_stick_is_not_hammered)
{
    world_in_sync();
    w.stubborn = true;
    desired("n2", "event");
    pass(RELOAD_DELAY_MS + 1000); /* a reload that fails would explain it */
    ck_assert_uint_eq(w.commits, 1);
    assert_ready(false, "committed change missing");
    pass(30 * MINUTES_MS);
    ck_assert_uint_ge(w.commits, 3);
    ck_assert_uint_le(w.commits, 30);
    ck_assert(!in_sync());
    w.stubborn = false;
    pass(6 * MINUTES_MS);
    assert_settled("n2");
}

TEST(a_desired_state_while_our_commit_is_read_back_is_no_sign_that_it_did_not_stick)
{
    world_in_sync();
    desired("n2", "one");
    until('R');
    desired("n3", "two");
    settle();
    assert_trace("B+-CR");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(w.commits, 2);
    ck_assert(!logged("committed change missing"));
}

/* An edit by hand that leaves the version as it is: what stuck once is not said
 * not to stick. */
TEST(drift_at_the_version_of_our_own_commit_is_repaired_at_once)
{
    world_in_sync();
    desired("n2", "event");
    pass(5000);
    assert_settled("n2");
    set_copy(w.have.of[0], "n2 n9");
    set_copy(w.file.of[0], "n2 n9");
    set_copy(w.running.of[0], "n2 n9");
    buf_clear(&w.trace);
    instance_refresh(w.target.instance);
    settle();
    assert_trace("RB-CR");
    pass(5000);
    assert_settled("n2");
    ck_assert(!logged("committed change missing"));
}

TEST(drift_is_repaired_and_not_put_down_to_an_old_event)
{
    world_in_sync();
    desired("n2", "old event");
    pass(5000);
    forget_log();
    stranger("n7");
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
    ck_assert(logged("backend changed"));
    ck_assert(!logged("old event"));
}

TEST_EACH(another_writer_in_each_step, 8)
{
    static const char steps[] = "RstwB+-C";
    world_in_sync();
    desired("n2", "event");
    instance_refresh(w.target.instance);
    until(steps[_i]);
    stranger("n7 n8");
    pass(MINUTES_MS);
    assert_settled("n2");
}

/* ---- hold, refuse, wait ---- */

TEST(hold_keeps_the_last_good_servers)
{
    world_in_sync();
    desired("", "event");
    settle();
    assert_trace("");
    assert_ready(true, "keeping the last servers");
    ck_assert(!in_sync());
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert_uint_eq(metric_value(w.telemetry.reconciles, "no_endpoint", API_URL, NULL), 1);
    desired("n2", "event");
    pass(5000);
    assert_settled("n2");
}

TEST(hold_repeats_a_failed_reload)
{
    world_in_sync();
    w.fail_reloads = 1;
    desired("n2", "event");
    settle();
    desired("", "event");
    assert_ready(true, "keeping the last servers");
    pass(1500);
    assert_ready(false, "reload failed");
    pass(10000);
    assert_ready(true, "keeping the last servers");
    ck_assert_str_eq(w.running.of[0], "n2");
    ck_assert(!in_sync());
}

TEST(hold_is_not_ready_while_the_api_is_away)
{
    world_in_sync();
    desired("", "event");
    fault((struct fault){.step = 'R'});
    pass(RESYNC_MS);
    assert_ready(false, "cannot read");
    mend();
    pass(15000);
    assert_ready(true, "keeping the last servers");
}

static double sum_of_latencies(void)
{
    cleanup(buf_fini) struct buf page;
    buf_init(&page, 0);
    metrics_print(w.telemetry.registry, &page);
    const char *at = strstr(buf_str(&page), "watch_event_to_commit_seconds_sum ");
    ck_assert_ptr_nonnull(at);
    return strtod(strchr(at, ' '), NULL);
}

TEST_EACH(latency_is_that_of_what_was_written, 3)
{
    static const char *const without_a_write[] = {"", "?", "n1"};
    world_in_sync();
    desired(without_a_write[_i], "event");
    pass(10 * MINUTES_MS);
    desired("n2", "event");
    pass(5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_commit, NULL), 1);
    ck_assert_double_lt(sum_of_latencies(), 1);
}

TEST(latency_is_that_of_the_oldest_event_that_waits)
{
    world_in_sync();
    fault((struct fault){.step = 'C', .status = 400, .times = 1});
    desired("n2", "one");
    until('+');
    w.now_us += 20000000;
    desired("n3", "two");
    pass(MINUTES_MS);
    assert_settled("n3");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_commit, NULL), 1);
    ck_assert_double_gt(sum_of_latencies(), 20);
}

TEST(latency_is_that_of_the_oldest_event_that_a_pause_held_up)
{
    world_in_sync();
    fault((struct fault){.step = 'B', .status = 503, .after_ms = 20000, .times = 1});
    desired("n2", "one");
    pass(15000);
    desired("n3", "two");
    pass(15000);
    assert_settled("n3");
    ck_assert_double_ge(sum_of_latencies(), 20);
}

TEST(latency_of_an_event_during_a_write_is_its_own)
{
    world_in_sync();
    desired("n2", "one");
    until('+');
    w.now_us += 20000000;
    desired("n3", "two");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_commit, NULL), 2);
    ck_assert_double_lt(sum_of_latencies(), 23); /* two seconds of it gathering */
}

TEST(refuse_writes_nothing_until_it_is_mended)
{
    world_in_sync();
    w.unsupported = true;
    instance_refresh(w.target.instance);
    desired("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert(!in_sync());
    assert_ready(false, "not writing to HAProxy");
    ck_assert_uint_le(metric_value(w.telemetry.reconciles, "refused", API_URL, NULL), 23);
    w.unsupported = false;
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
}

TEST(refuse_follows_the_reload_that_is_pending)
{
    world_in_sync();
    desired("n2", "event");
    until('R');
    w.unsupported = true;
    pass(5000);
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, "succeeded", API_URL, NULL), 1);
    ck_assert_uint_le(metric_value(w.telemetry.reconciles, "refused", API_URL, NULL), 2);
    assert_ready(false, "not writing to HAProxy");
    ck_assert(!in_sync());
    w.unsupported = false;
    pass(RESYNC_MS);
    assert_settled("n2");
}

TEST(undecided_writes_nothing)
{
    world_in_sync();
    desired("?", "event");
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert(!in_sync());
    desired("n1", "event");
    assert_settled("n1");
}

/* ---- desired states and signals at any time ---- */

TEST_EACH(a_desired_state_in_each_step, 11)
{
    static const char steps[] = "RstwHLB+-CP";
    instance_start(w.target.instance);
    desired("n2", "one");
    until(steps[_i]);
    desired("n3", "two");
    pass(MINUTES_MS);
    assert_settled("n3");
    ck_assert_uint_le(w.commits, 2);
}

TEST_EACH(the_first_desired_state_in_each_step, 5)
{
    static const char steps[] = "RstwH";
    instance_start(w.target.instance);
    until(steps[_i]);
    desired("n3", "list");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(w.commits, 1);
}

TEST_EACH(a_comparison_in_each_step, 11)
{
    static const char steps[] = "RstwHLB+-CP";
    instance_start(w.target.instance);
    desired("n2", "one");
    until(steps[_i]);
    instance_refresh(w.target.instance);
    w.now_us += RESYNC_MS * 1000;
    fire(virtual_next_timer(clock_mono_ms()));
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 1);
}

TEST(a_comparison_ends_every_wait)
{
    world_in_sync();
    fault((struct fault){.step = 'B', .status = 503, .after_ms = 3600000, .times = 1});
    desired("n2", "event");
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.commits, 0);
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 1);
    fault((struct fault){.step = '+', .status = 422, .times = 1});
    desired("n3", "event");
    pass(2500);
    ck_assert_uint_eq(w.commits, 1);
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 2);
}

TEST(what_was_refused_is_tried_again_when_something_changed)
{
    world_in_sync();
    fault((struct fault){.step = '+', .status = 422});
    desired("n2", "one");
    settle();
    assert_trace("B+DR");
    desired("n3", "two");
    settle();
    assert_trace("");
    pass(1000);
    assert_trace("B+DR"); /* another desired state: soon */
    stranger("n1 n4");
    instance_refresh(w.target.instance);
    settle();
    assert_trace("RB+DR"); /* another version: now */
    for (int i = 0; i < 100; i++) {
        desired(i % 2 ? "n5" : "n6", "stream");
        pass(100);
    }
    ck_assert_uint_le(count('B'), 10); /* a stream of desired states: one a second */
}

TEST(what_was_refused_is_tried_again_when_the_file_changed)
{
    world_in_sync();
    pass(RESYNC_MS - 1000);
    fault((struct fault){.step = '+', .status = 422});
    desired("n2", "one");
    settle();
    stranger("n1 n4");
    assert_trace("B+DR");
    pass(1500); /* the resync; the wait is longer */
    assert_trace("RB+DR");
}
