/* The servers engine: runtime updates and reloads are verified; those that are refused, lost or overtaken; in the world
 * of engine_world.h. */
#include "runtime_update_world.h"

#include "../test.h"

/* ---- what is believed ---- */

FIXTURE(three_in_sync, world_end)

TEST(a_write_that_does_not_reach_it_becomes_a_commit)
{
    w.deaf = true;
    desired("n2 n3", "DELETED slice");
    pass(0);
    ck_assert_uint_eq(count('F'), 0); /* the call showed it already */
    ck_assert_str_eq(verification(), "suspended");
    pass(RELOAD_DELAY_MS + 3000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert(logged("runtime update not applied by HAProxy"));
}

TEST(one_that_comes_back_and_does_not_reach_it)
{
    desired("n2 n3", "DELETED slice");
    settle();
    w.deaf = true;
    buf_clear(&w.trace);
    desired("n1 n2 n3", "ADDED slice");
    pass(0);
    ck_assert_uint_eq(count('F'), 1);
    assert_running("n1* n2 n3");
    pass(RELOAD_DELAY_MS + 3000);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    /* After the reload it is tried once more; then no more. */
    desired("n2 n3", "DELETED slice");
    pass(RELOAD_DELAY_MS + 10000);
    assert_settled("n1* n2 n3");
    ck_assert(logged("for an hour"));
    unsigned fast = w.fast;
    for (int i = 0; i < 5; i++) {
        desired(i % 2 == 0 ? "n1 n2 n3" : "n2 n3", "MODIFIED slice");
        pass(RELOAD_DELAY_MS + 10000);
    }
    ck_assert_uint_eq(w.fast, fast);
    assert_settled("n1 n2 n3");
    w.deaf = false;
    pass(HOUR_MS);
    desired("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, fast + 1);
    ck_assert_str_eq(verification(), "verified");
}

/* Calls are obeyed, writes are not: that one leaves shows nothing of the write, since the call did it. */
TEST(what_a_call_did_is_no_proof_of_a_write)
{
    for (int i = 0; i < 2; i++) {
        ck_assert(!logged("for an hour"));
        w.deaf = false;
        desired("n2 n3", "DELETED slice");
        settle();
        assert_running("n1* n2 n3");
        w.deaf = true;
        desired("n1 n2 n3", "ADDED slice");
        pass(RELOAD_DELAY_MS + 10000);
        assert_settled("n1 n2 n3");
    }
    ck_assert(logged("for an hour"));
    ck_assert_str_eq(verification(), "failed");
}

TEST(a_write_that_the_api_reloads_for)
{
    w.reloads_fast = true;
    desired("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    ck_assert_str_eq(verification(), "suspended");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
    ck_assert_uint_eq(w.reloads, 1);
}

TEST(what_cannot_be_read_is_not_trusted)
{
    w.unreadable = true;
    pass(RESYNC_MS + 2000);
    ck_assert_str_eq(verification(), "failed");
    ck_assert(logged("using transactions and reloads"));
    forget_log();
    buf_clear(&w.trace);
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    assert_trace("B~CR");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1* n2 n3");
    buf_clear(&w.trace);
    desired("n2 n3", "DELETED slice");
    pass(RELOAD_DELAY_MS + 3000);
    assert_trace(""); /* it is in maintenance already */
    pass(5 * RESYNC_MS);
    ck_assert(!logged("using transactions and reloads"));
    w.unreadable = false;
    pass(RESYNC_MS);
    ck_assert_str_eq(verification(), "untested");
    ck_assert(logged("running HAProxy readable again"));
    desired("n1 n2 n3", "ADDED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    ck_assert_str_eq(verification(), "verified");
}

TEST(a_moment_without_an_answer_closes_no_route)
{
    fault((struct fault){.step = 'v', .status = 500, .times = 2});
    pass(RESYNC_MS + 1000);
    ck_assert(!logged("using transactions and reloads"));
    desired("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    ck_assert_uint_eq(w.commits, 0);
}

/* ---- endings of a write ---- */

TEST(somebody_else_wrote_meanwhile)
{
    fault((struct fault){.step = 'F', .status = 409, .times = 1});
    desired("n2 n3", "DELETED slice");
    settle();
    assert_trace("mFRFR");
    assert_running("n1* n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_commit, NULL), 1);
}

TEST(a_refused_write_waits_and_leaves_nothing_behind)
{
    fault((struct fault){.step = 'F', .status = 400, .times = 1});
    desired("n2 n3", "DELETED slice");
    settle();
    assert_trace("mFRL");
    assert_ready(false, "rejected the change");
    pass(4900);
    assert_trace("");
    pass(10000);
    assert_running("n1* n2 n3");
    ck_assert(in_sync());
}

/* The reload may have read the file just before. */
TEST(a_write_that_a_reload_misses_is_no_reason_to_doubt)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    w.deaf = true;
    fault((struct fault){.step = 'm', .status = 500, .times = 1});
    desired("n2 n3 n4", "DELETED slice");
    settle();
    w.deaf = false;
    pass(RELOAD_DELAY_MS + 10000);
    assert_settled("n1* n2 n3 n4");
    ck_assert(!logged("using transactions and reloads"));
    ck_assert_uint_eq(w.commits, 2);
}

/* HAProxy had read the file already when the server was written back: what it runs after the reload is nobody's desired state. */
TEST(a_reload_that_read_the_file_before_a_write_is_no_operator)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    set_copy(w.running.of[0], "n1* n2! n3 n4");
    w.outcome[w.reload] = 's';
    w.reload = 0;
    w.running_version = w.file_version;
    w.pid++;
    pass(1000);
    assert_settled("n1 n2 n3 n4");
    ck_assert(!logged("set by an operator"));
    set_copy(w.running.of[0], "n1 n2! n3 n4");
    pass(RESYNC_MS);
    assert_running("n1 n2! n3 n4"); /* this one is */
}

/* The same, and HAProxy was looked at before the API said that the reload is done. */
TEST(a_look_between_a_reload_and_its_end)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    settle();
    w.held = true;
    set_copy(w.running.of[0], "n1* n2 n3 n4");
    w.running_version = w.file_version;
    w.pid++;
    desired("n1 n2 n4", "DELETED slice");
    settle();
    ck_assert_uint_eq(w.fast, 1);
    w.outcome[w.reload] = 's';
    w.reload = 0;
    w.held = false;
    pass(1000);
    assert_settled("n1 n2 n3* n4");
    ck_assert(!logged("set by an operator"));
}

TEST(a_lost_answer_ends_in_a_reload)
{
    fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = true});
    desired("n2 n3", "DELETED slice");
    pass(RELOAD_DELAY_MS + 10000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 1);
}

/* Others have all transactions of the API. 0: an answer is lost; 1: what was written is not read back; 2: one is new. */
TEST_EACH(what_needs_no_transaction_does_not_wait_for_room, 3)
{
    desired("n3", "MODIFIED slice");
    settle();
    assert_settled("n1* n2* n3");
    fault((struct fault){.step = 'B', .status = 429});
    if (_i == 0)
        fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = true});
    if (_i == 1)
        fault((struct fault){.step = 'b', .status = 500, .times = 1});
    desired(_i == 2 ? "n1 n2 n3 n4" : "n1 n2 n3", "MODIFIED slice");
    pass(5000);
    assert_running("n1 n2 n3");
    assert_file("n1 n2 n3");
    assert_ready(false, "too many open transactions");
    ck_assert(!in_sync());
    desired(_i == 2 ? "n2 n3 n4" : "n2 n3", "MODIFIED slice");
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

/* There was none a moment ago: what is not proven waits for a transaction again. */
TEST(once_there_is_room_again_a_transaction_goes_first)
{
    fault((struct fault){.step = 'B', .status = 429, .times = 1});
    desired("n1 n2 n3 n4", "ADDED slice");
    until('C');
    pass(10);
    buf_clear(&w.trace);
    fault((struct fault){.step = 'b', .status = 500, .times = 1});
    desired("n3 n4", "MODIFIED slice");
    pass(1000);
    ck_assert_uint_eq(count('F'), 1);
    pass(10000 + 2 * RELOAD_DELAY_MS);
    assert_settled("n1* n2* n3 n4");
}

TEST(an_api_that_is_down)
{
    fault((struct fault){.step = 'F', .status = 503});
    desired("n2 n3", "DELETED slice");
    pass(1000);
    assert_ready(false, "the Data Plane API answered with an error");
    ck_assert_uint_ge(count('F'), 1);
    ck_assert_uint_le(count('F'), 10);
    mend();
    pass(15000);
    assert_settled("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
}

TEST(a_stop_lets_the_write_end)
{
    desired("n2 n3", "DELETED slice");
    until('F');
    stop();
    ck_assert_uint_eq(w.stopped, 0);
    answer();
    ck_assert(w.busy);
    answer();
    ck_assert_uint_eq(w.stopped, 1);
    assert_running("n1* n2 n3");
}

TEST(a_stop_makes_no_call)
{
    w.call.held = true;
    desired("n1* n2* n3", "MODIFIED slice");
    stop();
    ck_assert(!w.call.busy);
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(count('d'), 0);
}

/* ---- reloads are believed when seen ---- */

TEST(a_reload_that_never_came)
{
    w.lies = true;
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1200);
    ck_assert(!in_sync());
    assert_ready(false, "does not run haproxy.cfg");
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, "unknown", API_URL, NULL), 1);
    w.lies = false;
    pass(10000);
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(w.commits, 2);
}

/* The worker from before answers once more: no reload that failed. */
TEST(an_old_worker_that_answers_for_a_moment)
{
    w.lies = true;
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 200);
    ck_assert(!in_sync());
    restart_haproxy(); /* for the daemon the same as a new worker */
    pass(1000);
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert(!logged("reload failed"));
}

/* Nothing can be seen of an empty commit but the process. */
TEST(a_process_that_stays_the_same_is_believed_in_the_end)
{
    w.lies = true;
    fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = true}); /* makes an empty commit due */
    desired("n2 n3", "DELETED slice");
    pass(60000);
    ck_assert_uint_eq(w.commits, 2);
    ck_assert(logged("accepting such reloads from now on"));
    ck_assert(in_sync());
    pass(5 * RESYNC_MS);
    ck_assert_uint_eq(w.commits, 2);
}

TEST(an_unknown_end_that_was_seen)
{
    desired("n1 n2 n3 n4", "ADDED slice");
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

TEST(a_reload_forgets_drains_and_they_are_told_again)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    restart_haproxy();
    assert_running("n1 n2 n3");
    pass(RESYNC_MS);
    assert_running("n1! n2 n3");
    ck_assert(logged("reloaded or restarted externally"));
    ck_assert_uint_eq(w.commits + w.fast, 0);
}

/* What runs may be ahead of the file that was read before it: it is read again, once. */
TEST(another_worker_is_looked_at_twice)
{
    pass(2 * RESYNC_MS);
    unsigned before = w.infos;
    restart_haproxy();
    pass(RESYNC_MS);
    ck_assert_uint_eq(w.infos, before + 2);
    w.answers_in_turns = true;
    pass(10 * RESYNC_MS);
    ck_assert_uint_ge(w.infos, before + 2 + 10);
    ck_assert_uint_le(w.infos, before + 2 + 2 * 11);
}
