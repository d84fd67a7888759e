/* src/haproxy/instance: reloads of ours, of others and from before the start, followed to their end, and what an
 * earlier run left; in the world of engine_world.h. */
#include "../engine_world.h"
#include "../test.h"

/* ---- reloads ---- */

static void a_reload_is_repeated(const char *result, const char *problem)
{
    settle();
    until('P');
    for (int i = 0; i < 400 && !logged("reload failed"); i++)
        pass(500);
    assert_ready(false, problem);
    ck_assert(!in_sync());
    mend();
    w.held = false;
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert(logged("reload without a change"));
    ck_assert_uint_eq(w.commits, 2);
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, result, API_URL, NULL), 1);
}

FIXTURE(world_make_watched, world_end)

TEST(a_failed_reload_is_repeated)
{
    world_in_sync();
    w.fail_reloads = 1;
    desired("n2", "event");
    a_reload_is_repeated("failed", "words of HAProxy");
}

TEST(a_forgotten_reload_is_repeated)
{
    world_in_sync();
    desired("n2", "event");
    settle();
    restart_api();
    a_reload_is_repeated("unknown", "not known any more");
}

TEST(a_reload_that_never_ends_is_repeated)
{
    world_in_sync();
    w.held = true;
    desired("n2", "event");
    a_reload_is_repeated("unknown", "did not finish in time");
}

TEST(reloads_that_always_fail_become_rare)
{
    world_in_sync();
    w.fail_reloads = 1000000;
    desired("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_le(w.commits, 60);
    ck_assert_uint_ge(w.commits, 8);
    ck_assert(!in_sync());
    w.fail_reloads = 0;
    pass(2 * MINUTES_MS);
    assert_settled("n2");
}

/* The answer to the second commit is lost while the reload of the first is
 * still to come: that one's success says nothing about the second. */
TEST(an_older_reload_does_not_vouch_for_a_lost_commit)
{
    world_in_sync();
    desired("n2", "one");
    settle();
    tick_reload();
    w.now_us += RELOAD_DELAY_MS * 1000;
    tick_reload(); /* the first is over, and nobody has asked yet */
    fault((struct fault){.step = 'C', .applied = true, .times = 1});
    w.fail_reloads = 1;
    desired("n3", "two");
    settle();
    pass(5 * MINUTES_MS);
    assert_settled("n3");
}

TEST(a_desired_state_does_not_wait_for_a_reload)
{
    world_in_sync();
    w.held = true;
    desired("n2", "one");
    settle();
    desired("n3", "two");
    pass(2500); /* it gathers for as long */
    ck_assert_uint_eq(w.commits, 2);
    w.held = false;
    pass(5000);
    assert_settled("n3");
}

/* ---- a file that lags behind the API ---- */

TEST(another_writers_failed_reload_is_repeated)
{
    world_in_sync();
    w.version++;
    w.file_version--;
    set_copy(w.running.of[0], "n4");
    w.look = NULL; /* nobody can know before the next look */
    pass(RESYNC_MS + 10000);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 1);
}

TEST(a_file_that_always_lags_is_not_reloaded_all_the_time)
{
    world_in_sync();
    w.stale_file = true;
    w.version++;
    pass(20 * MINUTES_MS);
    ck_assert_uint_le(w.commits, 80);
    w.stale_file = false;
    pass(2 * MINUTES_MS);
    assert_settled("n1");
}

/* ---- what was before the start ---- */

TEST(what_was_written_and_not_loaded_is_loaded)
{
    w.file_head = "# haproxy-k8s-sync: version 5 is loaded by the next one\n";
    instance_start(w.target.instance);
    desired("n1", "list");
    settle();
    ck_assert(!in_sync());
    ck_assert(logged("haproxy.cfg was written and not loaded"));
    pass(MINUTES_MS + RESYNC_MS);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 1);
}

#define HISTORY(status) "[{\"id\":\"x-1\",\"status\":\"" status "\",\"reload_timestamp\":1,\"response\":\"old words\"}]"

TEST(history_failed_is_repeated)
{
    w.reload_list = HISTORY("failed");
    instance_start(w.target.instance);
    desired("n1", "list");
    settle();
    assert_trace("RHLBCR");
    pass(5000);
    assert_settled("n1");
    ck_assert(logged("old words"));
}

TEST(history_pending_is_awaited_but_keeps_nothing_up)
{
    w.reload_list = HISTORY("in_progress");
    instance_start(w.target.instance);
    desired("n1", "list");
    pass(10000);
    ck_assert(!in_sync());
    assert_ready(false, "result of the last reload");
    desired("n2", "event");
    settle();
    ck_assert_uint_eq(w.commits, 1);
    pass(5000);
    assert_settled("n2");
    buf_clear(&w.trace);
    pass(RESYNC_MS);
    ck_assert_uint_eq(count('H'), 0);
}

TEST_EACH(history_pending_ends, 3)
{
    static const char *const ends[] = {HISTORY("succeeded"), HISTORY("failed"), "[]"};
    w.reload_list = HISTORY("in_progress");
    instance_start(w.target.instance);
    desired("n1", "list");
    pass(10000);
    w.reload_list = ends[_i];
    pass(10000);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, _i == 1 ? 1 : 0);
}

TEST(history_pending_for_ever_is_given_up)
{
    w.reload_list = HISTORY("in_progress");
    instance_start(w.target.instance);
    desired("n1", "list");
    pass(3 * MINUTES_MS);
    assert_settled("n1");
}

TEST_EACH(history_that_cannot_be_read_now_is_asked_again, 6)
{
    static const int statuses[] = {0, 401, 403, 429, 500, 503};
    w.reload_list = HISTORY("failed");
    fault((struct fault){.step = 'H', .status = statuses[_i], .times = 3});
    instance_start(w.target.instance);
    desired("n1", "list");
    settle();
    ck_assert(!in_sync());
    assert_ready(false, "list of reloads");
    pass(MINUTES_MS);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 1);
}

TEST_EACH(history_that_this_api_does_not_have_keeps_nothing_up, 4)
{
    static const int statuses[] = {404, 405, 500, 200};
    fault((struct fault){.step = 'H', .status = statuses[_i]});
    instance_start(w.target.instance);
    desired("n2", "list");
    pass(4 * MINUTES_MS);
    assert_settled("n2");
}

TEST_EACH(dead_transactions_are_looked_for_but_need_not_be_found, 6)
{
    static const int statuses[] = {0, 401, 404, 429, 500, 200};
    fault((struct fault){.step = 'L', .status = statuses[_i]});
    instance_start(w.target.instance);
    desired("n2", "list");
    settle();
    bool away = statuses[_i] != 404 && statuses[_i] != 429; /* 200: but no list */
    ck_assert_uint_eq(count('B'), away ? 0 : 1);
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(count('L'), 1);
}

/* A begin that is refused with 500 may have left a transaction that no commit ends. The first look for it may fail (times 1), and
 * the one after the next commit (times 2), too. */
TEST_RANGE(what_a_refused_begin_left_is_looked_for_until_it_was, 1, 3)
{
    world_in_sync();
    fault((struct fault){.step = 'B', .status = 500, .times = 1});
    fault((struct fault){.step = 'L', .status = 500, .times = _i});
    unsigned before = count('L');
    desired("n2", "event");
    settle();
    ck_assert_uint_eq(count('L') - before, 1);
    pass(20000 + RESYNC_MS);
    ck_assert_uint_eq(w.commits, 1);
    assert_settled("n2");
    ck_assert_uint_eq(count('L') - before, (unsigned)_i + 1);
    pass(3 * RESYNC_MS);
    ck_assert_uint_eq(count('L') - before, (unsigned)_i + 1);
}
