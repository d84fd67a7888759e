/* The servers engine: what the running HAProxy says of itself: drift, health checks, and states that an operator set;
 * in the world of engine_world.h. */
#include "runtime_update_world.h"

#include "../test.h"

/* ---- drift ---- */

FIXTURE(three_in_sync, world_end)

TEST(haproxy_runs_something_else)
{
    set_copy(w.running.of[0], "n1 n2");
    pass(RESYNC_MS);
    ck_assert(!in_sync());
    ck_assert_uint_eq(w.commits, 0); /* a stranger's reload may be on its way */
    pass(10000);
    ck_assert_uint_eq(w.commits, 1);
    assert_settled("n1 n2 n3");
    ck_assert(logged("running HAProxy differs from haproxy.cfg"));
    ck_assert_uint_eq(metric_value(w.telemetry.drifts, API_URL, NULL), 1);
}

TEST(an_empty_backend_is_no_riddle)
{
    world_end();
    world_make_updates();
    set_copy(w.have.of[0], "");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("n1", "the first list");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n1");
    ck_assert(!logged("cannot be read"));
    ck_assert(logged("verified=true"));
    ck_assert_str_eq(verification(), "untested");
}

TEST(a_haproxy_that_is_down_is_not_in_sync)
{
    w.down = true;
    pass(RESYNC_MS + 2000);
    ck_assert(!in_sync());
    assert_ready(false, "is it running?");
    w.down = false;
    pass(RESYNC_MS + 2000);
    ck_assert(in_sync());
    assert_ready(true, "in sync");
    ck_assert_uint_eq(w.commits + w.fast, 0);
}

/* What is under way may last as long as a request, or a reload, that hangs. */
TEST(what_is_desired_anew_while_it_is_read_is_not_in_sync)
{
    until('R');
    ck_assert(in_sync());
    desired("n1 n2 n3 n4", "event");
    ck_assert(!in_sync());
    pass(RESYNC_MS);
    assert_settled("n1 n2 n3 n4");
}

TEST(another_writers_commit_whose_reload_is_still_to_come)
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

TEST(a_drift_that_no_reload_mends_is_tried_ever_less_often)
{
    w.lies = true;
    set_copy(w.running.of[0], "n1 n2");
    pass(HOUR_MS);
    ck_assert_uint_ge(w.commits, 3);
    ck_assert_uint_le(w.commits, 40); /* the pauses are by chance */
}

TEST(a_parked_server_that_runs_is_told_to_stop)
{
    desired("n2 n3", "DELETED slice");
    settle();
    set_copy(w.running.of[0], "n1 n2 n3");
    pass(RESYNC_MS);
    assert_running("n1* n2 n3");
    ck_assert_uint_eq(w.commits, 0);
}

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

TEST(what_a_health_check_calls_down_is_not_up)
{
    ck_assert_double_eq(servers_up(), 3);
    w.failing = "n1,n3,";
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 1);
    ck_assert_double_eq(metric_value(w.telemetry.servers_desired, "be", API_URL, NULL), 3);
    ck_assert_msg(in_sync(), "its nodes are as they should be");
    assert_ready(true, "in sync; HAProxy's health checks report 2 of 3 desired servers DOWN\n");
    w.failing = "n1,n2,n3,";
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 0);
    assert_ready(true, "report 3 of 3 desired servers DOWN\n");
    w.failing = NULL;
    pass(RESYNC_MS);
    assert_ready(true, "in sync\n");
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 3);
}

TEST(only_what_is_desired_counts_as_up)
{
    desired("n1 n2 n3*", "MODIFIED slice");
    settle();
    ck_assert_msg(servers_up() == 2, "who drains is not desired: %g", servers_up());
    w.failing = "n1,";
    pass(RESYNC_MS);
    ck_assert_msg(servers_up() == 1, "who drains stands in for nobody: %g", servers_up());
    w.failing = NULL;
    pass(2 * RESYNC_MS);
    desired("n1 n2", "DELETED slice");
    settle();
    ck_assert_double_eq(servers_up(), 2);
    w.failing = "n3,n1,";
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), 1);
    desired("n1 n2 n3", "ADDED slice");
    settle();
    ck_assert_double_eq(servers_up(), 1);
}

TEST(what_cannot_be_read_has_no_sample)
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
    desired("n1 n2", "DELETED slice");
    ck_assert_msg(servers_up() < 0, "what was read long ago");
}

/* ---- an operator's states ---- */

/* Who set what is judged by what is desired: once that is known, by a reading that finds what was there already, too. */
TEST(what_an_operator_sets_while_nothing_is_decided)
{
    desired("?", "MODIFIED service");
    set_sign(w.running.of[0], "n1", "!", false);
    pass(RESYNC_MS + 1000);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_overridden, "be", API_URL, NULL), 0);
    desired("n1 n2 n3", "MODIFIED service");
    pass(2 * RESYNC_MS);
    assert_running("n1! n2 n3");
    assert_ready(true, "overridden: n1 is in drain");
}

TEST(an_operators_state_is_left_alone_and_shown)
{
    set_copy(w.running.of[0], "n1! n2 n3*");
    pass(RESYNC_MS);
    assert_running("n1! n2 n3*");
    ck_assert(in_sync());
    assert_ready(true, "overridden: n1 is in drain");
    ck_assert_uint_eq(metric_value(w.telemetry.servers_overridden, "be", API_URL, NULL), 2);
    ck_assert(logged("set by an operator"));
    forget_log();
    pass(5 * RESYNC_MS);
    ck_assert(!logged("set by an operator"));
    set_copy(w.running.of[0], "n1 n2 n3");
    pass(RESYNC_MS);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_overridden, "be", API_URL, NULL), 0);
    assert_running("n1 n2 n3");
    ck_assert_uint_eq(count('d') + count('m') + count('y'), 0);
}

TEST(our_reload_does_not_end_an_operators_state)
{
    set_copy(w.running.of[0], "n1! n2 n3");
    pass(RESYNC_MS);
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(RELOAD_DELAY_MS + 1000);
    assert_running("n1! n2 n3 n4");
    set_copy(w.running.of[0], "n1 n2 n3 n4");
    pass(2 * RESYNC_MS);
    assert_running("n1 n2 n3 n4"); /* taken back */
}

TEST(a_drain_from_before_our_start_is_ours_where_it_fits)
{
    world_end();
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.have;
    set_copy(w.running.of[0], "n1! n2! n3");
    instance_start(w.target.instance);
    desired("n1* n2 n3", "the first list");
    pass(0);
    ck_assert(in_sync());
    assert_ready(true, "n2 is in drain");
    desired("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2! n3");
}

TEST(a_takeover_by_the_runtime_update_names_each_once)
{
    world_end();
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("n3", "the first list");
    until('F');
    ck_assert(logged("server=n1") && logged("taking over the backend"));
    ck_assert(logged("server=n2"));
    forget_log();
    settle();
    assert_file("n1* n2* n3");
    ck_assert(!logged("taking over the backend"));
}

/* HAProxy has obeyed, and a look shows it, before the answer is there. */
static void obeyed_before_the_answer(void)
{
    w.call.held = true;
    desired("n2 n3", "DELETED slice");
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
    desired("n1 n2 n3", "ADDED slice");
    pass(RESYNC_MS);
    assert_settled("n1 n2 n3");
    ck_assert(!logged("set by an operator"));
}

TEST(a_call_that_is_seen_before_its_answer_is_ours)
{
    obeyed_before_the_answer();
    assert_it_was_ours();
}

TEST(a_call_whose_answer_is_lost_is_ours)
{
    obeyed_before_the_answer();
    fault((struct fault){.step = 'm', .status = 0, .times = 1});
    assert_it_was_ours();
}

TEST(a_call_whose_answer_is_lost_and_that_is_not_wanted_any_more)
{
    obeyed_before_the_answer();
    fault((struct fault){.step = 'm', .status = 0, .times = 1});
    desired("n1 n2 n3", "ADDED slice");
    w.call.held = false;
    pass(RESYNC_MS);
    assert_settled("n1 n2 n3");
    ck_assert(!logged("set by an operator"));
}

/* A look reads, HAProxy obeys and the call is answered, and only then comes what the look has read. */
static void crossed_by_a_drain(void)
{
    w.call.held = true;
    desired("n1* n2 n3", "MODIFIED slice");
    until('v');
    w.crossing = true;
    answer();
    w.crossing = w.call.held = false;
}

TEST(a_call_that_crosses_a_look_is_made_once)
{
    crossed_by_a_drain();
    pass(RESYNC_MS);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(count('d'), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_runtime, NULL), 1);
}

TEST(what_a_crossed_look_could_not_show_is_looked_at_again)
{
    crossed_by_a_drain();
    restart_haproxy();
    pass(1000);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(count('d'), 2);
}
