/* src/servers/target_runtime, target_fast and target_look: what goes without a reload, what is believed, and what somebody else did
 * to the running HAProxy. The world is engine_world.h's. */
#include "../engine_world.h"

#define HOUR_MS 3600000ull

static void assert_file(const char *set)
{
    ck_assert_msg(set_eq(w.file.of[0], set), "the file has \"%s\", not \"%s\": %s", w.file.of[0], set,
                  buf_str(&w.trace));
}

static double proven(void)
{
    return metric_value(w.telemetry.runtime_proven, API_URL, NULL);
}

/* In step with n1, n2 and n3, which were there before. */
static void in_step_with_three(void)
{
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish("n1 n2 n3", "the first list");
    pass(0);
    ck_assert(in_sync());
    buf_clear(&w.trace);
}

static void setup(void)
{
    world_make_lanes();
    in_step_with_three();
}

static void teardown(void)
{
    world_end();
}

/* ---- the two lanes ---- */

START_TEST(a_drain_is_told_and_nothing_is_written)
{
    wish("n1* n2 n3", "MODIFIED slice");
    settle();
    assert_trace("d");
    ck_assert(in_sync());
    assert_file("n1 n2 n3");
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_runtime, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.runtime_calls, "drain", "done", API_URL, NULL), 1);
    wish("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_trace("y");
    assert_running("n1 n2 n3");
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert_uint_eq(w.commits + w.fast, 0);
}
END_TEST

START_TEST(out_is_parked_without_a_reload_and_comes_back_so)
{
    ck_assert_int_eq((int)proven(), 0);
    wish("n2 n3", "DELETED slice");
    settle();
    assert_trace("mFR");
    assert_file("n1* n2 n3");
    assert_running("n1* n2 n3");
    ck_assert(in_sync());
    ck_assert_int_eq((int)proven(), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_actual, "be", API_URL, NULL), 2);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_parked, "be", API_URL, NULL), 1);
    wish("n1 n2 n3", "ADDED slice");
    settle();
    assert_trace("FR");
    assert_running("n1 n2 n3");
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert_uint_eq(w.reloads, 0);
    ck_assert(logged("changes reach the running HAProxy without a reload"));
}
END_TEST

START_TEST(from_a_drain_to_the_park)
{
    wish("n1* n2 n3", "MODIFIED slice");
    settle();
    wish("n2 n3", "DELETED slice");
    settle();
    assert_trace("dmFR");
    assert_running("n1* n2 n3");
    wish("n1 n2 n3", "ADDED slice");
    settle();
    assert_trace("FR");
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(w.reloads, 0);
}
END_TEST

START_TEST(several_go_one_after_the_other)
{
    wish("n3", "DELETED slice");
    settle();
    assert_trace("mmFFR");
    assert_running("n1* n2* n3");
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 1);
    ck_assert(in_sync());
}
END_TEST

START_TEST(a_new_server_is_a_transaction_and_later_ones_gather)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    assert_trace("B+CR");
    wish("n1 n2 n3 n4 n5", "ADDED slice");
    settle();
    wish("n1 n2 n3 n4 n5 n6", "ADDED slice");
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
END_TEST

/* What takes effect at once does not wait for a transaction that has to. */
START_TEST(while_a_transaction_waits_the_fast_lane_goes_on)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    pass(RELOAD_DELAY_MS + 500);
    buf_clear(&w.trace);
    wish("n2 n3 n4 n5", "MODIFIED slice");
    settle();
    assert_trace("mFR");
    assert_running("n1* n2 n3 n4");
    pass(RELOAD_DELAY_MS + 4000);
    assert_settled("n1* n2 n3 n4 n5");
}
END_TEST

START_TEST(a_transaction_takes_drains_into_the_file)
{
    wish("n1* n2 n3 n4", "MODIFIED slice");
    settle();
    assert_trace("dB~+CR");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1* n2 n3 n4"); /* no moment after the reload in which it gets connections */
    buf_clear(&w.trace);
    wish("n2 n3 n4", "DELETED slice");
    settle();
    assert_trace("");
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    assert_trace("FR");
    assert_settled("n1 n2 n3 n4");
}
END_TEST

/* The file has all in maintenance that runs, and what runs knows nothing of the one that comes: until the reload both stay. */
static void assert_nobody_is_missed(const char *set, const char *after)
{
    wish(set, "MODIFIED slice");
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

START_TEST(all_leave_for_a_new_one)
{
    assert_nobody_is_missed("n4", "n1* n2* n3* n4");
}
END_TEST

START_TEST(all_drain_for_a_new_one)
{
    assert_nobody_is_missed("n1* n2* n3* n4", "n1* n2* n3* n4");
}
END_TEST

/* And the one that comes leaves again before it came. */
START_TEST(all_leave_for_one_that_leaves_for_another)
{
    wish("n4", "MODIFIED slice");
    until('C');
    settle();
    wish("n5", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    pass(RELOAD_DELAY_MS - 500);
    assert_running("n1 n2 n3");
    pass(2 * RELOAD_DELAY_MS + 3000);
    assert_settled("n1* n2* n3* n4* n5");
    ck_assert_uint_eq(count('m') + count('d'), 0);
}
END_TEST

/* The file has the new one already, and nothing but writes is left to do. */
START_TEST(all_leave_while_the_reload_for_a_new_one_is_awaited)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    until('C');
    settle();
    wish("n4", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    pass(RELOAD_DELAY_MS - 500);
    assert_running("n1 n2 n3");
    pass(1500);
    assert_settled("n1* n2* n3* n4");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(a_call_overtakes_a_transaction)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    until('C');
    wish("n1* n2 n3 n4", "MODIFIED slice");
    ck_assert(w.call.busy);
    ck_assert_str_eq(w.call.state, "drain");
    answer_call();
    assert_running("n1! n2 n3");
    ck_assert(w.busy && step_of() == 'C');
    pass(RELOAD_DELAY_MS + 1000);
    assert_running("n1! n2 n3 n4"); /* told again after the reload */
    ck_assert(in_sync());
}
END_TEST

START_TEST(nothing_is_written_while_a_call_is_under_way)
{
    w.call.held = true;
    wish("n2 n3", "DELETED slice");
    settle();
    ck_assert(w.call.busy);
    assert_trace("");
    w.call.held = false;
    settle();
    assert_trace("mFR");
}
END_TEST

START_TEST(the_wish_turns_while_a_call_is_under_way)
{
    w.call.held = true;
    wish("n1* n2 n3", "MODIFIED slice");
    wish("n1 n2 n3", "MODIFIED slice");
    w.call.held = false;
    settle();
    assert_trace("dy");
    assert_running("n1 n2 n3");
    ck_assert(in_sync());
}
END_TEST

START_TEST(a_call_that_fails_is_made_again)
{
    fault((struct fault){.step = 'd', .times = 2});
    wish("n1* n2 n3", "MODIFIED slice");
    settle();
    ck_assert(!in_sync());
    assert_ready(false, "running HAProxy");
    pass(5000);
    assert_running("n1! n2 n3");
    ck_assert(in_sync());
    assert_ready(true, "in step");
}
END_TEST

/* The API is well, but cannot tell HAProxy: what cannot be told is written. */
START_TEST(a_call_that_always_fails_becomes_a_commit)
{
    fault((struct fault){.step = 'd', .status = 500});
    wish("n1* n2 n3", "MODIFIED slice");
    pass(20000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert_uint_le(count('d'), 3);
}
END_TEST

/* Its read-back would show what the call made of it. */
START_TEST(a_wish_that_turns_while_it_is_written)
{
    wish("n2 n3", "DELETED slice");
    until('b');
    wish("n1 n2 n3", "ADDED slice");
    ck_assert(!w.call.busy);
    settle();
    assert_running("n1 n2 n3");
    ck_assert_int_eq((int)proven(), 1);
    ck_assert_uint_eq(w.commits, 0);
    ck_assert(in_sync());
}
END_TEST

START_TEST(a_call_for_which_there_is_no_server)
{
    fault((struct fault){.step = 'd', .status = 404});
    wish("n1* n2 n3", "MODIFIED slice");
    pass(20000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_le(count('d'), 3);
}
END_TEST

/* The write goes on where the call does not: it does the same, a little later. */
START_TEST(a_call_that_fails_does_not_stop_the_write)
{
    fault((struct fault){.step = 'm'});
    wish("n2 n3", "DELETED slice");
    pass(100);
    assert_running("n1* n2 n3");
    ck_assert_uint_eq(w.fast, 1);
}
END_TEST

/* ---- what is believed ---- */

START_TEST(a_write_that_does_not_reach_it_becomes_a_commit)
{
    w.deaf = true;
    wish("n2 n3", "DELETED slice");
    pass(0);
    ck_assert_uint_eq(count('F'), 0); /* the call showed it already */
    ck_assert_int_eq((int)proven(), -1);
    pass(RELOAD_DELAY_MS + 3000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert(logged("did not reach the running HAProxy"));
}
END_TEST

START_TEST(one_that_comes_back_and_does_not_reach_it)
{
    wish("n2 n3", "DELETED slice");
    settle();
    w.deaf = true;
    buf_clear(&w.trace);
    wish("n1 n2 n3", "ADDED slice");
    pass(0);
    ck_assert_uint_eq(count('F'), 1);
    assert_running("n1* n2 n3");
    pass(RELOAD_DELAY_MS + 3000);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    /* After the reload it is tried once more; then no more. */
    wish("n2 n3", "DELETED slice");
    pass(RELOAD_DELAY_MS + 10000);
    assert_settled("n1* n2 n3");
    ck_assert(logged("for an hour"));
    unsigned fast = w.fast;
    for (int i = 0; i < 5; i++) {
        wish(i % 2 == 0 ? "n1 n2 n3" : "n2 n3", "MODIFIED slice");
        pass(RELOAD_DELAY_MS + 10000);
    }
    ck_assert_uint_eq(w.fast, fast);
    assert_settled("n1 n2 n3");
    w.deaf = false;
    pass(HOUR_MS);
    wish("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, fast + 1);
    ck_assert_int_eq((int)proven(), 1);
}
END_TEST

/* Calls are obeyed, writes are not: that one leaves shows nothing of the write, since the call did it. */
START_TEST(what_a_call_did_is_no_proof_of_a_write)
{
    for (int i = 0; i < 2; i++) {
        ck_assert(!logged("for an hour"));
        w.deaf = false;
        wish("n2 n3", "DELETED slice");
        settle();
        assert_running("n1* n2 n3");
        w.deaf = true;
        wish("n1 n2 n3", "ADDED slice");
        pass(RELOAD_DELAY_MS + 10000);
        assert_settled("n1 n2 n3");
    }
    ck_assert(logged("for an hour"));
    ck_assert_int_eq((int)proven(), -1);
}
END_TEST

START_TEST(a_write_that_the_api_reloads_for)
{
    w.reloads_fast = true;
    wish("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    ck_assert_int_eq((int)proven(), -1);
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert_uint_eq(w.reloads, 1);
}
END_TEST

START_TEST(what_cannot_be_read_is_not_trusted)
{
    w.unreadable = true;
    pass(RESYNC_MS + 2000);
    ck_assert_int_eq((int)proven(), -1);
    ck_assert(logged("every change is a transaction and a reload"));
    forget_log();
    buf_clear(&w.trace);
    wish("n1* n2 n3", "MODIFIED slice");
    settle();
    assert_trace("B~CR");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1* n2 n3");
    buf_clear(&w.trace);
    wish("n2 n3", "DELETED slice");
    pass(RELOAD_DELAY_MS + 3000);
    assert_trace(""); /* it is in maintenance already */
    pass(5 * RESYNC_MS);
    ck_assert(!logged("every change is a transaction"));
    w.unreadable = false;
    pass(RESYNC_MS);
    ck_assert_int_eq((int)proven(), 0);
    ck_assert(logged("can be read again"));
    wish("n1 n2 n3", "ADDED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    ck_assert_int_eq((int)proven(), 1);
}
END_TEST

START_TEST(a_moment_without_an_answer_closes_no_lane)
{
    fault((struct fault){.step = 'v', .status = 500, .times = 2});
    pass(RESYNC_MS + 1000);
    ck_assert(!logged("every change is a transaction"));
    wish("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    ck_assert_uint_eq(w.commits, 0);
}
END_TEST

/* ---- endings of a write ---- */

START_TEST(somebody_else_wrote_meanwhile)
{
    fault((struct fault){.step = 'F', .status = 409, .times = 1});
    wish("n2 n3", "DELETED slice");
    settle();
    assert_trace("mFRFR");
    assert_running("n1* n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 1);
}
END_TEST

START_TEST(a_refused_write_waits_and_leaves_nothing_behind)
{
    fault((struct fault){.step = 'F', .status = 400, .times = 1});
    wish("n2 n3", "DELETED slice");
    settle();
    assert_trace("mFRL");
    assert_ready(false, "refuses the change");
    pass(4900);
    assert_trace("");
    pass(10000);
    assert_running("n1* n2 n3");
    ck_assert(in_sync());
}
END_TEST

/* The reload may have read the file just before. */
START_TEST(a_write_that_a_reload_misses_is_no_reason_to_doubt)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    w.deaf = true;
    fault((struct fault){.step = 'm', .status = 500, .times = 1});
    wish("n2 n3 n4", "DELETED slice");
    settle();
    w.deaf = false;
    pass(RELOAD_DELAY_MS + 10000);
    assert_settled("n1* n2 n3 n4");
    ck_assert(!logged("transactions and reloads only"));
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

/* HAProxy had read the file already when the server was written back: what it runs after the reload is nobody's wish. */
START_TEST(a_reload_that_read_the_file_before_a_write_is_no_operator)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    set_copy(w.running.of[0], "n1* n2! n3 n4");
    w.outcome[w.reload] = 's';
    w.reload = 0;
    w.running_version = w.file_version;
    w.pid++;
    pass(1000);
    assert_settled("n1 n2 n3 n4");
    ck_assert(!logged("by hand"));
    set_copy(w.running.of[0], "n1 n2! n3 n4");
    pass(RESYNC_MS);
    assert_running("n1 n2! n3 n4"); /* this one is */
}
END_TEST

/* The same, and HAProxy was looked at before the API said that the reload is done. */
START_TEST(a_look_between_a_reload_and_its_end)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    w.held = true;
    set_copy(w.running.of[0], "n1* n2 n3 n4");
    w.running_version = w.file_version;
    w.pid++;
    wish("n1 n2 n4", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    w.outcome[w.reload] = 's';
    w.reload = 0;
    w.held = false;
    pass(1000);
    assert_settled("n1 n2 n3* n4");
    ck_assert(!logged("by hand"));
}
END_TEST

START_TEST(a_lost_answer_ends_in_a_reload)
{
    fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = true});
    wish("n2 n3", "DELETED slice");
    pass(RELOAD_DELAY_MS + 10000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

/* Others have all transactions of the API. 0: an answer is lost; 1: what was written is not read back; 2: one is new. */
START_TEST(what_needs_no_transaction_does_not_wait_for_room)
{
    wish("n3", "MODIFIED slice");
    settle();
    assert_settled("n1* n2* n3");
    fault((struct fault){.step = 'B', .status = 429});
    if (_i == 0)
        fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = true});
    if (_i == 1)
        fault((struct fault){.step = 'b', .status = 500, .times = 1});
    wish(_i == 2 ? "n1 n2 n3 n4" : "n1 n2 n3", "MODIFIED slice");
    pass(5000);
    assert_running("n1 n2 n3");
    assert_file("n1 n2 n3");
    assert_ready(false, "too many open transactions");
    ck_assert(!in_sync());
    wish(_i == 2 ? "n2 n3 n4" : "n2 n3", "MODIFIED slice");
    pass(30000);
    assert_running("n1* n2 n3");
    assert_file("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert_uint_ge(count('B'), 4);
    ck_assert_uint_le(count('B'), 24);
    mend();
    pass(10000 + RELOAD_DELAY_MS);
    assert_settled(_i == 2 ? "n1* n2 n3 n4" : "n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert(in_sync());
}
END_TEST

/* There was none a moment ago: what is not proven waits for a transaction again. */
START_TEST(once_there_is_room_again_a_transaction_goes_first)
{
    fault((struct fault){.step = 'B', .status = 429, .times = 1});
    wish("n1 n2 n3 n4", "ADDED slice");
    until('C');
    pass(10);
    buf_clear(&w.trace);
    fault((struct fault){.step = 'b', .status = 500, .times = 1});
    wish("n3 n4", "MODIFIED slice");
    pass(1000);
    ck_assert_uint_eq(count('F'), 1);
    pass(10000 + 2 * RELOAD_DELAY_MS);
    assert_settled("n1* n2* n3 n4");
}
END_TEST

START_TEST(an_api_that_is_down)
{
    fault((struct fault){.step = 'F', .status = 503});
    wish("n2 n3", "DELETED slice");
    pass(1000);
    assert_ready(false, "the Data Plane API fails");
    ck_assert_uint_ge(count('F'), 1);
    ck_assert_uint_le(count('F'), 10);
    mend();
    pass(15000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
}
END_TEST

START_TEST(a_stop_lets_the_write_end)
{
    wish("n2 n3", "DELETED slice");
    until('F');
    stop();
    ck_assert_uint_eq(w.stopped, 0);
    answer();
    ck_assert(w.busy);
    answer();
    ck_assert_uint_eq(w.stopped, 1);
    assert_running("n1* n2 n3");
}
END_TEST

START_TEST(a_stop_makes_no_call)
{
    w.call.held = true;
    wish("n1* n2* n3", "MODIFIED slice");
    stop();
    ck_assert(!w.call.busy);
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(count('d'), 0);
}
END_TEST

/* ---- reloads are believed when seen ---- */

START_TEST(a_reload_that_never_came)
{
    w.lies = true;
    wish("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 200);
    ck_assert(!in_sync());
    assert_ready(false, "not what its file says");
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, "unknown", API_URL, NULL), 1);
    w.lies = false;
    pass(10000);
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

/* Nothing can be seen of an empty commit but the process. */
START_TEST(a_process_that_stays_the_same_is_believed_in_the_end)
{
    w.lies = true;
    fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = true}); /* makes an empty commit due */
    wish("n2 n3", "DELETED slice");
    pass(60000);
    ck_assert_uint_eq(w.commits, 2);
    ck_assert(logged("taking them for done"));
    ck_assert(in_sync());
    pass(5 * RESYNC_MS);
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

START_TEST(an_unknown_end_that_was_seen)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    settle();
    pass(RELOAD_DELAY_MS - 500);
    w.held = true;
    pass(400);
    w.held = false;
    w.forgotten = w.reloads; /* the API is started again, just after the reload */
    w.reload_due_ms = clock_mono_ms();
    pass(2000);
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(a_reload_forgets_drains_and_they_are_told_again)
{
    wish("n1* n2 n3", "MODIFIED slice");
    settle();
    restart_haproxy();
    assert_running("n1 n2 n3");
    pass(RESYNC_MS);
    assert_running("n1! n2 n3");
    ck_assert(logged("somebody else"));
    ck_assert_uint_eq(w.commits + w.fast, 0);
}
END_TEST

/* ---- drift ---- */

START_TEST(haproxy_runs_something_else)
{
    set_copy(w.running.of[0], "n1 n2");
    pass(RESYNC_MS);
    ck_assert(!in_sync());
    ck_assert_uint_eq(w.commits, 0); /* a stranger's reload may be on its way */
    pass(10000);
    ck_assert_uint_eq(w.commits, 1);
    assert_settled("n1 n2 n3");
    ck_assert(logged("HAProxy runs something else than its file says"));
    ck_assert_uint_eq(metric_value(w.telemetry.drifts, API_URL, NULL), 1);
}
END_TEST

START_TEST(an_empty_backend_is_no_riddle)
{
    world_end();
    world_make_lanes();
    set_copy(w.have.of[0], "");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish("n1", "the first list");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1");
    ck_assert(!logged("cannot be read"));
    ck_assert(logged("seen=true"));
    ck_assert_int_eq((int)proven(), 0);
}
END_TEST

START_TEST(a_haproxy_that_is_down_is_not_in_step)
{
    w.down = true;
    pass(RESYNC_MS + 2000);
    ck_assert(!in_sync());
    assert_ready(false, "is it running?");
    w.down = false;
    pass(RESYNC_MS + 2000);
    ck_assert(in_sync());
    assert_ready(true, "in step");
    ck_assert_uint_eq(w.commits + w.fast, 0);
}
END_TEST

START_TEST(a_strangers_commit_whose_reload_is_still_to_come)
{
    set_copy(w.have.of[0], "n1 n2 n3 n9*");
    w.file = w.have;
    w.file_version = ++w.version;
    pass(RESYNC_MS);
    ck_assert(!in_sync());
    w.running = w.file;
    w.pid++;
    pass(10000);
    ck_assert(in_sync());
    ck_assert_uint_eq(w.commits, 0);
}
END_TEST

START_TEST(a_drift_that_no_reload_mends_is_tried_ever_less_often)
{
    w.lies = true;
    set_copy(w.running.of[0], "n1 n2");
    pass(HOUR_MS);
    ck_assert_uint_ge(w.commits, 3);
    ck_assert_uint_le(w.commits, 40); /* the pauses are by chance */
}
END_TEST

START_TEST(a_parked_server_that_runs_is_told_to_stop)
{
    wish("n2 n3", "DELETED slice");
    settle();
    set_copy(w.running.of[0], "n1 n2 n3");
    pass(RESYNC_MS);
    assert_running("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
}
END_TEST

/* ---- health checks ---- */

/* -1: there is no sample. */
static double servers_up(void)
{
    cleanup(buf_fini) struct buf page;
    buf_init(&page, 0);
    metrics_print(w.telemetry.registry, &page);
    return strstr(buf_str(&page), "servers_up{") == NULL ? -1
                                                         : metric_value(w.telemetry.servers_up, "be", API_URL, NULL);
}

START_TEST(what_a_health_check_calls_down_is_not_up)
{
    ck_assert_double_eq(servers_up(), 3);
    w.failing = "n1,n3,";
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 1);
    ck_assert_double_eq(metric_value(w.telemetry.servers_desired, "be", API_URL, NULL), 3);
    ck_assert_msg(in_sync(), "its nodes are as they should be");
    assert_ready(true, "in step; HAProxy's health checks call 2 of 3 desired servers DOWN\n");
    w.failing = "n1,n2,n3,";
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 0);
    assert_ready(true, "call 3 of 3 desired servers DOWN\n");
    w.failing = NULL;
    pass(RESYNC_MS);
    assert_ready(true, "in step\n");
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 3);
}
END_TEST

START_TEST(only_what_is_desired_counts_as_up)
{
    wish("n1 n2 n3*", "MODIFIED slice");
    settle();
    ck_assert_msg(servers_up() == 2, "who drains is not desired: %g", servers_up());
    w.failing = "n1,";
    pass(RESYNC_MS);
    ck_assert_msg(servers_up() == 1, "who drains stands in for nobody: %g", servers_up());
    w.failing = NULL;
    pass(2 * RESYNC_MS);
    wish("n1 n2", "DELETED slice");
    settle();
    ck_assert_double_eq(servers_up(), 2);
    w.failing = "n3,n1,";
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 1);
    wish("n1 n2 n3", "ADDED slice");
    settle();
    ck_assert_double_eq(servers_up(), 1);
}
END_TEST

START_TEST(what_cannot_be_read_has_no_sample)
{
    w.unreadable = true;
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), -1);
    w.unreadable = false;
    pass(2 * RESYNC_MS);
    ck_assert_double_eq(servers_up(), 3);
    fault((struct fault){.step = 'R', .status = 0});
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), -1);
    wish("n1 n2", "DELETED slice");
    ck_assert_msg(servers_up() < 0, "what was read long ago");
}
END_TEST

/* ---- an operator's states ---- */

START_TEST(an_operators_state_is_left_alone_and_shown)
{
    set_copy(w.running.of[0], "n1! n2 n3*");
    pass(RESYNC_MS);
    assert_running("n1! n2 n3*");
    ck_assert(in_sync());
    assert_ready(true, "set by hand: n1 is in drain");
    ck_assert_uint_eq(metric_value(w.telemetry.servers_overridden, "be", API_URL, NULL), 2);
    ck_assert(logged("by hand"));
    forget_log();
    pass(5 * RESYNC_MS);
    ck_assert(!logged("by hand"));
    set_copy(w.running.of[0], "n1 n2 n3");
    pass(RESYNC_MS);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_overridden, "be", API_URL, NULL), 0);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(count('d') + count('m') + count('y'), 0);
}
END_TEST

START_TEST(our_reload_does_not_end_an_operators_state)
{
    set_copy(w.running.of[0], "n1! n2 n3");
    pass(RESYNC_MS);
    wish("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    assert_running("n1! n2 n3 n4");
    set_copy(w.running.of[0], "n1 n2 n3 n4");
    pass(2 * RESYNC_MS);
    assert_running("n1 n2 n3 n4"); /* taken back */
}
END_TEST

START_TEST(a_drain_from_before_our_start_is_ours_where_it_fits)
{
    world_end();
    world_make_lanes();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.have;
    set_copy(w.running.of[0], "n1! n2! n3");
    instance_start(w.target.instance);
    wish("n1* n2 n3", "the first list");
    pass(0);
    ck_assert(in_sync());
    assert_ready(true, "n2 is in drain");
    wish("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2! n3");
}
END_TEST

START_TEST(a_takeover_by_the_fast_lane_names_each_once)
{
    world_end();
    world_make_lanes();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish("n3", "the first list");
    until('F');
    ck_assert(logged("server=n1") && logged("taking the backend over"));
    ck_assert(logged("server=n2"));
    forget_log();
    settle();
    assert_file("n1* n2* n3");
    ck_assert(!logged("taking the backend over"));
}
END_TEST

/* HAProxy has obeyed, and a look shows it, before the answer is there. */
static void obeyed_before_the_answer(void)
{
    w.call.held = true;
    wish("n2 n3", "DELETED slice");
    set_sign(w.running.of[0], "n1", "*", false);
    pass(RESYNC_MS);
    ck_assert(w.call.busy);
}

static void assert_it_was_ours(void)
{
    w.call.held = false;
    pass(5000);
    assert_running("n1* n2 n3");
    assert_file("n1* n2 n3");
    wish("n1 n2 n3", "ADDED slice");
    pass(RESYNC_MS);
    assert_settled("n1 n2 n3");
    ck_assert(!logged("by hand"));
}

START_TEST(a_call_that_is_seen_before_its_answer_is_ours)
{
    obeyed_before_the_answer();
    assert_it_was_ours();
}
END_TEST

START_TEST(a_call_whose_answer_is_lost_is_ours)
{
    obeyed_before_the_answer();
    fault((struct fault){.step = 'm', .status = 0, .times = 1});
    assert_it_was_ours();
}
END_TEST

START_TEST(a_call_whose_answer_is_lost_and_that_is_not_wanted_any_more)
{
    obeyed_before_the_answer();
    fault((struct fault){.step = 'm', .status = 0, .times = 1});
    wish("n1 n2 n3", "ADDED slice");
    w.call.held = false;
    pass(RESYNC_MS);
    assert_settled("n1 n2 n3");
    ck_assert(!logged("by hand"));
}
END_TEST

/* A look reads, HAProxy obeys and the call is answered, and only then comes what the look has read. */
static void crossed_by_a_drain(void)
{
    w.call.held = true;
    wish("n1* n2 n3", "MODIFIED slice");
    until('v');
    w.crossing = true;
    answer();
    w.crossing = w.call.held = false;
}

START_TEST(a_call_that_crosses_a_look_is_made_once)
{
    crossed_by_a_drain();
    pass(RESYNC_MS);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(count('d'), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_runtime, NULL), 1);
}
END_TEST

START_TEST(what_a_crossed_look_could_not_show_is_looked_at_again)
{
    crossed_by_a_drain();
    restart_haproxy();
    pass(1000);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(count('d'), 2);
}
END_TEST

/* ---- what may not be ---- */

START_TEST(paused_tells_nothing)
{
    w.paused = true;
    wish("n1* n2", "MODIFIED slice");
    pass(2 * RESYNC_MS);
    ck_assert_uint_eq(w.commits + w.fast + count('d') + count('m'), 0);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.changes_withheld, "be", API_URL, NULL), 2);
}
END_TEST

START_TEST(what_the_brake_holds_is_not_told_to_leave)
{
    world_end();
    world_make_as(1, (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS}, HOUR_MS, true);
    in_step_with_three();
    wish("n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    assert_file("n1 n2 n3");
    pass(RESYNC_MS + 1000);
    assert_running("n1* n2* n3");
    /* The time that they were held is no latency. */
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_runtime, NULL), 0);
}
END_TEST

/* It was told to leave, and the loss limit holds it before the file says so. */
START_TEST(what_is_held_serves)
{
    world_end();
    world_make_as(1, (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS}, HOUR_MS, true);
    in_step_with_three();
    wish("n1* n2* n3", "MODIFIED slice");
    settle();
    assert_running("n1! n2! n3");
    wish("n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2 n3");
    assert_file("n1 n2 n3");
    pass(RESYNC_MS - 1000);
    assert_running("n1 n2 n3");
    pass(2000);
    assert_running("n1* n2* n3");
}
END_TEST

START_TEST(the_last_one_is_held)
{
    wish("", "DELETED slice");
    pass(2 * RESYNC_MS);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(w.fast, 0);
}
END_TEST

/* The API says that it was written, HAProxy was told so already, and the file knows nothing of it. */
START_TEST(a_fast_write_that_is_not_in_the_file_becomes_a_transaction)
{
    w.forgets_fast = true;
    wish("n2 n3 n4", "MODIFIED slice");
    pass(2 * RELOAD_DELAY_MS + 15000); /* it does not stick: judged after the reload, and tried again after a backoff */
    ck_assert_uint_le(w.fast, 2);
    assert_settled("n1* n2 n3 n4");
    wish("n2 n4", "MODIFIED slice");
    pass(2 * RELOAD_DELAY_MS + 15000);
    assert_settled("n1* n2 n3* n4");
    ck_assert_uint_le(w.fast, 4);
}
END_TEST

START_TEST(a_stream_of_fast_writes_does_not_hold_up_a_transaction_for_ever)
{
    wish("n1 n2 n3 n4", "ADDED slice");
    pass(100);
    for (int i = 0; w.commits < 2 && i < 200; i++) {
        wish(i % 2 == 0 ? "n2 n3 n4 n5" : "n1 n2 n3 n4 n5", "MODIFIED slice");
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
END_TEST

/* ---- parked ones ---- */

START_TEST(the_longest_parked_goes_with_the_next_transaction)
{
    wish("n2 n3", "DELETED slice");
    settle();
    pass(2 * HOUR_MS);
    assert_file("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
    wish("n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n2 n3 n4");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(without_parking_a_server_stops_at_once_and_is_removed)
{
    world_end();
    world_make_as(1, (struct plan_rules){.max_loss_percent = 100}, 0, true);
    in_step_with_three();
    wish("n2 n3", "DELETED slice");
    settle();
    assert_running("n1* n2 n3");
    assert_file("n2 n3");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n2 n3");
}
END_TEST

/* ---- two backends ---- */

START_TEST(a_reload_for_one_backend_keeps_the_drains_of_the_other)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    for (int i = 0; i < 2; i++)
        set_copy(w.have.of[i], "n1 n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish_both("n1 n2", "n1 n2", "the first list");
    pass(0);
    wish_both("n1 n2", "n1* n2", "MODIFIED slice");
    settle();
    ck_assert_str_eq(w.running.of[1], "n1! n2");
    wish_both("n1 n2 n3", "n1* n2", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1 n2 n3");
    assert_settled_two("n1* n2");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(both_backends_go_by_the_fast_lane)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    for (int i = 0; i < 2; i++)
        set_copy(w.have.of[i], "n1 n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish_both("n1 n2", "n1 n2", "the first list");
    pass(0);
    wish_both("n2", "n1", "MODIFIED slice");
    settle();
    assert_settled("n1* n2");
    assert_settled_two("n1 n2*");
    ck_assert_uint_eq(w.fast, 2);
    ck_assert_uint_eq(w.commits, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target_lanes");
    TCase *tc = tcase_create("target_lanes");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_drain_is_told_and_nothing_is_written);
    tcase_add_test(tc, out_is_parked_without_a_reload_and_comes_back_so);
    tcase_add_test(tc, from_a_drain_to_the_park);
    tcase_add_test(tc, several_go_one_after_the_other);
    tcase_add_test(tc, a_new_server_is_a_transaction_and_later_ones_gather);
    tcase_add_test(tc, while_a_transaction_waits_the_fast_lane_goes_on);
    tcase_add_test(tc, a_transaction_takes_drains_into_the_file);
    tcase_add_test(tc, all_leave_for_a_new_one);
    tcase_add_test(tc, all_drain_for_a_new_one);
    tcase_add_test(tc, all_leave_for_one_that_leaves_for_another);
    tcase_add_test(tc, all_leave_while_the_reload_for_a_new_one_is_awaited);
    tcase_add_test(tc, a_call_overtakes_a_transaction);
    tcase_add_test(tc, nothing_is_written_while_a_call_is_under_way);
    tcase_add_test(tc, the_wish_turns_while_a_call_is_under_way);
    tcase_add_test(tc, a_call_that_fails_is_made_again);
    tcase_add_test(tc, a_call_that_always_fails_becomes_a_commit);
    tcase_add_test(tc, a_wish_that_turns_while_it_is_written);
    tcase_add_test(tc, a_call_for_which_there_is_no_server);
    tcase_add_test(tc, a_call_that_fails_does_not_stop_the_write);
    tcase_add_test(tc, a_write_that_does_not_reach_it_becomes_a_commit);
    tcase_add_test(tc, one_that_comes_back_and_does_not_reach_it);
    tcase_add_test(tc, what_a_call_did_is_no_proof_of_a_write);
    tcase_add_test(tc, a_write_that_the_api_reloads_for);
    tcase_add_test(tc, what_cannot_be_read_is_not_trusted);
    tcase_add_test(tc, a_moment_without_an_answer_closes_no_lane);
    tcase_add_test(tc, somebody_else_wrote_meanwhile);
    tcase_add_test(tc, a_refused_write_waits_and_leaves_nothing_behind);
    tcase_add_test(tc, a_write_that_a_reload_misses_is_no_reason_to_doubt);
    tcase_add_test(tc, a_reload_that_read_the_file_before_a_write_is_no_operator);
    tcase_add_test(tc, a_look_between_a_reload_and_its_end);
    tcase_add_test(tc, a_lost_answer_ends_in_a_reload);
    tcase_add_loop_test(tc, what_needs_no_transaction_does_not_wait_for_room, 0, 3);
    tcase_add_test(tc, once_there_is_room_again_a_transaction_goes_first);
    tcase_add_test(tc, an_api_that_is_down);
    tcase_add_test(tc, a_stop_lets_the_write_end);
    tcase_add_test(tc, a_stop_makes_no_call);
    tcase_add_test(tc, a_reload_that_never_came);
    tcase_add_test(tc, a_process_that_stays_the_same_is_believed_in_the_end);
    tcase_add_test(tc, an_unknown_end_that_was_seen);
    tcase_add_test(tc, a_reload_forgets_drains_and_they_are_told_again);
    tcase_add_test(tc, haproxy_runs_something_else);
    tcase_add_test(tc, an_empty_backend_is_no_riddle);
    tcase_add_test(tc, a_haproxy_that_is_down_is_not_in_step);
    tcase_add_test(tc, a_strangers_commit_whose_reload_is_still_to_come);
    tcase_add_test(tc, a_drift_that_no_reload_mends_is_tried_ever_less_often);
    tcase_add_test(tc, a_parked_server_that_runs_is_told_to_stop);
    tcase_add_test(tc, what_a_health_check_calls_down_is_not_up);
    tcase_add_test(tc, only_what_is_desired_counts_as_up);
    tcase_add_test(tc, what_cannot_be_read_has_no_sample);
    tcase_add_test(tc, an_operators_state_is_left_alone_and_shown);
    tcase_add_test(tc, our_reload_does_not_end_an_operators_state);
    tcase_add_test(tc, a_drain_from_before_our_start_is_ours_where_it_fits);
    tcase_add_test(tc, a_takeover_by_the_fast_lane_names_each_once);
    tcase_add_test(tc, a_call_that_is_seen_before_its_answer_is_ours);
    tcase_add_test(tc, a_call_whose_answer_is_lost_is_ours);
    tcase_add_test(tc, a_call_whose_answer_is_lost_and_that_is_not_wanted_any_more);
    tcase_add_test(tc, a_call_that_crosses_a_look_is_made_once);
    tcase_add_test(tc, what_a_crossed_look_could_not_show_is_looked_at_again);
    tcase_add_test(tc, a_fast_write_that_is_not_in_the_file_becomes_a_transaction);
    tcase_add_test(tc, a_stream_of_fast_writes_does_not_hold_up_a_transaction_for_ever);
    tcase_add_test(tc, paused_tells_nothing);
    tcase_add_test(tc, what_the_brake_holds_is_not_told_to_leave);
    tcase_add_test(tc, what_is_held_serves);
    tcase_add_test(tc, the_last_one_is_held);
    tcase_add_test(tc, the_longest_parked_goes_with_the_next_transaction);
    tcase_add_test(tc, without_parking_a_server_stops_at_once_and_is_removed);
    tcase_add_test(tc, a_reload_for_one_backend_keeps_the_drains_of_the_other);
    tcase_add_test(tc, both_backends_go_by_the_fast_lane);
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
