/* src/servers/target*: several backends in one transaction, draining, the brake, pauses, dry runs and two masters, in the world
 * of engine_world.h. */
#include "../engine_world.h"

static const struct plan_rules no_brake = {.max_loss_percent = 100};

static void setup(void)
{
}

static void teardown(void)
{
    world_end();
}

static void begin_with(size_t backends, struct plan_rules rules)
{
    world_make_with(backends, rules);
    instance_start(w.target.instance);
    if (backends == 2)
        wish_both("n1", "n1", "the first list");
    else
        wish("n1", "the first list");
    pass(0);
    buf_clear(&w.trace);
}

/* ---- several backends ---- */

START_TEST(what_changed_at_once_is_one_transaction)
{
    begin_with(2, no_brake);
    assert_settled("n1");
    wish_both("n2", "n1 n3", "MODIFIED node");
    settle();
    assert_trace("B+-+CRR");
    ck_assert_uint_eq(w.commits, 1);
    pass(5000);
    assert_settled("n2");
    assert_settled_two("n1 n3");
    ck_assert(logged("backend=be cause=\"MODIFIED node\" added=n2(10.0.0.2:80) removed=n1"));
    ck_assert(logged("backend=two cause=\"MODIFIED node\" added=n3(10.0.0.3:80)"));
}
END_TEST

START_TEST(one_that_changed_leaves_the_other_alone)
{
    begin_with(2, no_brake);
    wish_of(1, "n2", "event");
    servers_apply(w.target.servers);
    settle();
    assert_trace("B+-CRR");
    pass(5000);
    assert_settled("n1");
    assert_settled_two("n2");
}
END_TEST

START_TEST(one_that_has_no_wish_yet_keeps_no_other_up)
{
    world_make_with(2, no_brake);
    instance_start(w.target.instance);
    wish("n2", "event");
    pass(5000);
    ck_assert(set_eq(w.running.of[0], "n2"));
    ck_assert(set_eq(w.running.of[1], "n1"));
    assert_ready(false, "backend two: waiting for Kubernetes");
    assert_ready(false, "[+]target http://api backend be: in step");
}
END_TEST

START_TEST(one_that_is_missing_keeps_no_other_up)
{
    world_make_with(2, no_brake);
    w.absent[0] = true;
    instance_start(w.target.instance);
    wish_both("n2", "n2", "event");
    pass(5000);
    assert_settled_two("n2");
    assert_ready(false, "backend be: not writing to HAProxy: HAProxy has no backend be");
    assert_ready(false, "[+]target http://api backend two: in step");
    ck_assert_uint_eq(w.commits, 1);
    w.absent[0] = false;
    w.version = ++w.file_version;
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
}
END_TEST

/* HAProxy refuses the transaction for one of them: each alone, and only the wrong one stays behind, whichever it is. */
START_TEST(one_that_is_refused_keeps_no_other_up)
{
    begin_with(2, no_brake);
    w.forbidden = "n9";
    wish_both(_i == 0 ? "n9" : "n2", _i == 0 ? "n2" : "n9", "event");
    pass(MINUTES_MS);
    ck_assert_msg(set_eq(w.running.of[_i], "n1"), "%s", w.running.of[_i]);
    ck_assert_msg(set_eq(w.running.of[1 - _i], "n2"), "%s", w.running.of[1 - _i]);
    assert_ready(false, _i == 0 ? "backend be: HAProxy or its Data Plane API refuses the change"
                                : "backend two: HAProxy or its Data Plane API refuses the change");
    assert_ready(false,
                 _i == 0 ? "[+]target http://api backend two: in step" : "[+]target http://api backend be: in step");
    ck_assert_uint_le(w.transactions, 10);
    /* What comes next for the good one does not wait for the bad one. */
    wish_of(1 - (size_t)_i, "n3", "event");
    servers_apply(w.target.servers);
    pass(5000);
    ck_assert(set_eq(w.running.of[1 - _i], "n3"));
    w.forbidden = NULL;
    pass(10 * MINUTES_MS);
    ck_assert(set_eq(w.running.of[_i], "n9"));
    ck_assert(in_sync());
    assert_ready(true, "in step");
}
END_TEST

/* A trouble of all is over for the good one, though the other is refused still. */
START_TEST(a_refusal_keeps_no_old_trouble_alive)
{
    begin_with(2, no_brake);
    w.forbidden = "n9";
    wish_both("n9", "n2", "event");
    pass(MINUTES_MS);
    fault((struct fault){.step = 'R', .status = 503, .times = 2});
    instance_refresh(w.target.instance);
    settle();
    assert_ready(false, "[-]target http://api backend two: cannot read");
    pass(MINUTES_MS);
    assert_ready(false, "[+]target http://api backend two: in step");
}
END_TEST

/* Each of our own commits moves the version: that is no cure for what was refused. */
START_TEST(commits_to_the_other_do_not_ask_the_refused_one_again)
{
    begin_with(2, no_brake);
    w.forbidden = "n9";
    wish_both("n9", "n2", "event");
    pass(MINUTES_MS);
    unsigned transactions = w.transactions;
    for (int i = 0; i < 20; i++) {
        wish_of(1, i % 2 == 0 ? "n3" : "n2", "event");
        servers_apply(w.target.servers);
        pass(2000);
    }
    assert_settled_two("n2");
    ck_assert_uint_le(w.transactions, transactions + 20 + 5);
    w.forbidden = NULL;
    stranger("n1"); /* but somebody else's may be */
    pass(RESYNC_MS + 5000);
    ck_assert(set_eq(w.running.of[0], "n9"));
}
END_TEST

START_TEST(a_reload_that_fails_is_repeated_once_for_all)
{
    begin_with(2, no_brake);
    w.fail_reloads = 1;
    wish_both("n2", "n2", "event");
    pass(10000);
    assert_settled("n2");
    assert_settled_two("n2");
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

/* ---- draining ---- */

START_TEST(draining_is_maintenance_and_then_removal)
{
    begin_with(1, no_brake);
    wish("n1 n2", "event");
    pass(5000);
    buf_clear(&w.trace);
    wish("n1* n2", "a pod terminates");
    settle();
    assert_trace("B~CR");
    pass(5000);
    assert_settled("n1* n2");
    ck_assert(logged("changed=\"n1(maintenance on (draining))\" why=\"n1: a reason\""));
    ck_assert_uint_eq(metric_value(w.telemetry.servers_draining, "be", API_URL, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_desired, "be", API_URL, NULL), 1);
    buf_clear(&w.trace);
    wish("n2", "a drain ended");
    pass(5000);
    assert_settled("n2");
    wish("n1 n2", "event");
    pass(5000);
    assert_settled("n1 n2");
}
END_TEST

START_TEST(back_from_draining)
{
    begin_with(1, no_brake);
    wish("n1 n2", "event");
    pass(5000);
    wish("n1* n2", "a pod terminates");
    pass(5000);
    wish("n1 n2", "a pod is ready");
    pass(5000);
    assert_settled("n1 n2");
    ck_assert(logged("changed=\"n1(maintenance off)\""));
}
END_TEST

START_TEST(a_draining_server_that_is_not_there_is_not_made)
{
    begin_with(1, no_brake);
    wish("n1 n2*", "event");
    pass(5000);
    assert_trace("");
    assert_settled("n1");
}
END_TEST

/* ---- the brake ---- */

static struct plan_rules braked(void)
{
    return (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS};
}

static void four_servers(void)
{
    begin_with(1, braked());
    wish("n1 n2 n3 n4", "event");
    pass(5000);
    assert_settled("n1 n2 n3 n4");
    buf_clear(&w.trace);
    forget_log();
}

START_TEST(too_many_at_once_are_held_and_then_let_go)
{
    four_servers();
    wish("n1", "three are gone");
    settle();
    assert_trace("");
    ck_assert(!in_sync());
    assert_ready(true, "3 of 4 live servers lost within one RESYNC_PERIOD");
    ck_assert_uint_eq(metric_value(w.telemetry.servers_held, "be", API_URL, NULL), 3);
    ck_assert(logged("level=warn msg=\"holding servers back that would be lost\""));
    pass(RESYNC_MS - 1000);
    ck_assert(set_eq(w.running.of[0], "n1 n2 n3 n4"));
    pass(1000 + 5000);
    assert_settled("n1");
    ck_assert(logged("cause=\"three are gone\""));
    ck_assert_uint_eq(metric_value(w.telemetry.servers_held, "be", API_URL, NULL), 0);
}
END_TEST

/* One server each 300 ms, of nine: half of them may go within RESYNC_PERIOD. */
START_TEST(one_by_one_is_no_way_round_the_limit)
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
    wish("n1 n2 n3 n4 n5 n6 n7 n8 n9", "event");
    pass(5000);
    for (size_t i = 0; i < array_len(left); i++) {
        wish(left[i], "one is gone");
        pass(300);
    }
    pass(RESYNC_MS - 300 * 4 - 100); /* until just before the fifth one's own time */
    ck_assert_msg(set_eq(w.running.of[0], "n5 n6 n7 n8 n9"), "%s", w.running.of[0]);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_held, "be", API_URL, NULL), 4);
    assert_ready(true, "8 of 9 live servers lost within one RESYNC_PERIOD");
    assert_ready(true, "; held: n5 until ");
    pass(100 + 300 * 4 + 5000);
    assert_settled("n9");
}
END_TEST

START_TEST(what_comes_back_in_time_was_never_gone)
{
    four_servers();
    wish("n1", "three are gone");
    pass(RESYNC_MS / 2);
    wish("n1 n2 n3 n4", "they are back");
    pass(5000);
    assert_settled("n1 n2 n3 n4");
    pass(2 * RESYNC_MS);
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(half_of_them_is_not_too_many)
{
    four_servers();
    wish("n1 n2", "event");
    pass(5000);
    assert_settled("n1 n2");
}
END_TEST

START_TEST(new_ones_do_not_wait_for_the_brake)
{
    four_servers();
    wish("n5 n6", "all moved");
    pass(5000);
    ck_assert_msg(set_eq(w.running.of[0], "n1 n2 n3 n4 n5 n6"), "%s", w.running.of[0]);
    ck_assert(!in_sync());
    assert_ready(true, "4 of 4 live servers lost within one RESYNC_PERIOD");
    ck_assert(logged("added=n5(10.0.0.5:80),n6(10.0.0.6:80)"));
    ck_assert(logged("held_back=\"n1, n2, n3, n4\""));
    pass(RESYNC_MS + 5000);
    assert_settled("n5 n6");
    ck_assert(!logged("undoes"));
}
END_TEST

/* With them the old ones are just half: that makes their loss no smaller. */
START_TEST(new_ones_do_not_release_the_brake)
{
    begin_with(1, braked());
    wish("n1 n2", "event");
    pass(5000);
    wish("n3 n4", "all moved");
    pass(RESYNC_MS - 1000);
    ck_assert_msg(set_eq(w.running.of[0], "n1 n2 n3 n4"), "%s", w.running.of[0]);
    pass(1000 + 5000);
    assert_settled("n3 n4");
}
END_TEST

START_TEST(an_old_pause_does_not_hide_the_end_of_the_brake)
{
    struct plan_rules rules = braked();
    rules.loss_window_ms = RESYNC_MS / 6;
    begin_with(1, rules);
    wish("n1 n2 n3 n4", "event");
    pass(5000);
    for (int i = 0; i < 3; i++) {
        stranger("n1 n2 n3 n7");
        pass(RESYNC_MS + 5000);
    }
    assert_ready(false, "somebody else undoes our changes");
    pass(12 * MINUTES_MS);
    assert_settled("n1 n2 n3 n4");
    buf_clear(&w.trace);
    until('R'); /* a resync, so that the next one is later than the brake's end */
    wish("n1", "three are gone");
    pass(RESYNC_MS / 6 + 3000);
    assert_settled("n1");
}
END_TEST

/* The API takes the new one and forgets it, while the brake holds the others: no reason to write it again and again. */
START_TEST(what_does_not_stick_beside_the_brake_is_left_alone)
{
    four_servers();
    w.stubborn = true;
    wish("n1 n5", "three are gone");
    pass(RESYNC_MS / 6);
    ck_assert(logged("a change does not stick"));
    ck_assert_uint_le(w.commits, 3);
    w.stubborn = false;
    pass(2 * MINUTES_MS);
    assert_settled("n1 n5");
}
END_TEST

START_TEST(what_is_undecided_holds_nothing)
{
    four_servers();
    wish("n1", "three are gone");
    settle();
    ck_assert_uint_eq(metric_value(w.telemetry.servers_held, "be", API_URL, NULL), 3);
    wish("?", "event");
    settle();
    ck_assert_uint_eq(metric_value(w.telemetry.servers_held, "be", API_URL, NULL), 0);
    ck_assert_uint_eq(metric_value(w.telemetry.servers_actual, "be", API_URL, NULL), 4);
}
END_TEST

START_TEST(a_drain_is_announced)
{
    four_servers();
    wish("n1 n2* n3* n4*", "a rolling update");
    pass(5000);
    assert_settled("n1 n2* n3* n4*");
    wish("n1", "a drain ended");
    pass(5000);
    assert_settled("n1");
}
END_TEST

START_TEST(nothing_left_is_allow_empty_s_to_decide)
{
    struct plan_rules rules = braked();
    rules.diff.allow_empty = _i == 1;
    begin_with(1, rules);
    wish("", "all gone");
    pass(5000);
    if (_i == 1)
        assert_settled("");
    else
        assert_ready(true, "holding the last good servers");
}
END_TEST

/* ---- pauses and dry runs ---- */

START_TEST(a_pause_holds_what_is_to_be_written)
{
    begin_with(1, no_brake);
    w.paused = true;
    wish("n2 n3", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert(!in_sync());
    assert_ready(true, "the Service has the annotation haproxy-k8s-sync/paused: nothing is written");
    ck_assert(logged("nothing is written; this would be"));
    ck_assert(logged("added=n2(10.0.0.2:80),n3(10.0.0.3:80) removed=n1"));
    ck_assert_uint_eq(metric_value(w.telemetry.paused, "be", API_URL, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.changes_withheld, "be", API_URL, NULL), 3);
    w.paused = false;
    wish("n2 n3", "MODIFIED service");
    pass(5000);
    assert_settled("n2 n3");
    ck_assert_uint_eq(metric_value(w.telemetry.changes_withheld, "be", API_URL, NULL), 0);
}
END_TEST

START_TEST(a_paused_one_in_step_is_in_step)
{
    begin_with(1, no_brake);
    w.paused = true;
    wish("n1", "event");
    pass(0);
    assert_settled("n1");
    assert_ready(true, "in step, and paused");
    ck_assert(logged("paused by the Service's annotation"));
    w.paused = false;
    wish("n1", "event");
    ck_assert(logged("not paused any more"));
}
END_TEST

/* Whoever reads "holding" at night has to find its end, too. */
START_TEST(the_end_of_a_hold_is_told)
{
    begin_with(1, no_brake);
    forget_log();
    wish(_i == 0 ? "" : "?", "event");
    pass(0);
    ck_assert(!in_sync());
    ck_assert(!logged("in step"));
    wish("n1", "it is back");
    pass(0);
    ck_assert(logged("HAProxy is in step"));
}
END_TEST

/* A Service that nobody made and a backend that is empty: a wrong name must not look good. */
START_TEST(nothing_to_hold_is_not_ready)
{
    world_make_with(1, no_brake);
    set_copy(w.have.of[0], "");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish("", "event");
    pass(0);
    assert_ready(false, "no server yet: no usable endpoint; there is no server of ours to keep either");
    wish("n1", "event");
    pass(5000);
    assert_settled("n1");
}
END_TEST

START_TEST(sighup_is_answered_while_nothing_is_written)
{
    begin_with(1, no_brake);
    w.paused = true;
    wish("n2", "event");
    pass(0);
    forget_log();
    instance_refresh(w.target.instance);
    pass(0);
    ck_assert(logged("nothing is written; this would be"));
}
END_TEST

/* The transaction in hand goes on; nothing else does, whether it is committed or not. */
START_TEST(a_pause_while_a_transaction_is_in_hand)
{
    begin_with(1, no_brake);
    if (_i == 1)
        fault((struct fault){.step = 'C', .status = 409, .times = 1});
    wish("n2", "event");
    until('C');
    w.paused = true;
    wish("n3", "another, and a pause");
    pass(5 * MINUTES_MS);
    ck_assert_str_eq(w.have.of[0], _i == 1 ? "n1" : "n2");
    ck_assert_uint_eq(w.transactions, 1);
    ck_assert_uint_eq(w.transaction, 0);
    w.paused = false;
    wish("n3", "MODIFIED service");
    pass(5000);
    assert_settled("n3");
}
END_TEST

START_TEST(a_pause_does_not_stop_the_other_backend)
{
    begin_with(2, no_brake);
    w.paused = true;
    wish_of(0, "n2", "event");
    w.paused = false;
    wish_of(1, "n2", "event");
    servers_apply(w.target.servers);
    pass(5000);
    ck_assert(set_eq(w.running.of[0], "n1"));
    assert_settled_two("n2");
}
END_TEST

START_TEST(a_dry_run_writes_nothing_at_all)
{
    struct plan_rules rules = no_brake;
    rules.dry_run = true;
    world_make_with(1, rules);
    w.reload_list = "[{\"id\":\"r-1\",\"status\":\"failed\",\"response\":\"bad\",\"reload_timestamp\":1}]";
    instance_start(w.target.instance);
    wish("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert_uint_eq(count('D'), 0);
    ck_assert_uint_eq(count('L'), 0);
    ck_assert(!in_sync());
    assert_ready(true, "DRY_RUN=true: nothing is written");
    ck_assert(logged("added=n2(10.0.0.2:80) removed=n1"));
}
END_TEST

START_TEST(a_dry_run_that_has_nothing_to_do_is_in_step)
{
    struct plan_rules rules = no_brake;
    rules.dry_run = true;
    begin_with(1, rules);
    assert_settled("n1");
    ck_assert_uint_eq(w.transactions, 0);
}
END_TEST

/* There is no write of ours that could mend it; whoever does write here may. */
START_TEST(a_dry_run_sees_that_a_failed_reload_was_mended)
{
    struct plan_rules rules = no_brake;
    rules.dry_run = true;
    world_make_with(1, rules);
    w.reload_list = "[{\"id\":\"r-1\",\"status\":\"failed\",\"response\":\"bad\",\"reload_timestamp\":1}]";
    instance_start(w.target.instance);
    wish("n1", "event");
    pass(10 * MINUTES_MS);
    ck_assert(!in_sync());
    ck_assert(logged("nothing is written; this would be"));
    ck_assert(logged("reload=true"));
    w.reload_list = "[]"; /* the API started again: that tells nothing of HAProxy */
    pass(10 * MINUTES_MS);
    ck_assert(!in_sync());
    fault((struct fault){.step = 'H', .status = 500});
    pass(10 * MINUTES_MS);
    ck_assert(!in_sync());
    assert_ready(true, "DRY_RUN=true: nothing is written");
    mend();
    w.reload_list = "[{\"id\":\"r-2\",\"status\":\"succeeded\",\"response\":\"\",\"reload_timestamp\":2}]";
    pass(RESYNC_MS + 5000);
    assert_settled("n1");
    ck_assert_uint_eq(w.transactions, 0);
}
END_TEST

/* ---- what a commit tells ---- */

START_TEST(a_commit_names_the_cause_of_its_own_wish)
{
    begin_with(1, no_brake);
    wish("n2", "the first");
    until('C');
    wish("n3", "the second");
    pass(5000);
    assert_settled("n3");
    ck_assert(logged("cause=\"the first\" added=n2"));
    ck_assert(logged("cause=\"the second\" added=n3"));
}
END_TEST

/* What was planned for it before is no part of a transaction any more. */
START_TEST(one_that_cannot_be_read_is_in_no_empty_commit)
{
    begin_with(2, no_brake);
    w.fail_reloads = 1;
    wish_both("n2", "n2", "event");
    until('P');
    pass(1000);
    assert_ready(false, "HAProxy was not reloaded");
    fault((struct fault){.step = 's', .status = 200, .times = 1}); /* an answer about the first that makes no sense */
    stranger("n7");
    instance_refresh(w.target.instance);
    pass(5000);
    assert_settled("n2");
    assert_settled_two("n2");
    ck_assert(logged("cannot read HAProxy's configuration"));
    ck_assert(!logged("does not stick"));
}
END_TEST

/* After a failed reload the file lacks n2, which stands against any write but the empty commit; and another is wished for
 * already. */
START_TEST(an_empty_commit_that_could_do_no_more_was_to_stick_nowhere)
{
    begin_with(1, no_brake);
    w.fail_reloads = 1;
    wish("n1 n2", "event");
    until('P');
    pass(1500);
    w.file_version = w.version;
    wish_of(0, "n1 n2 n3", "another event");
    instance_refresh(w.target.instance);
    pass(5000);
    assert_settled("n1 n2 n3");
    ck_assert(logged("empty commit, to reload HAProxy again"));
    ck_assert(!logged("does not stick"));
}
END_TEST

/* ---- two masters ---- */

START_TEST(what_needed_no_write_is_undone_all_the_same)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    pass(5000);
    wish("n2 n3*", "event");
    pass(5000);
    ck_assert_uint_eq(w.commits, 1);
    stranger("n7");
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "be", API_URL, NULL), 1);
}
END_TEST

/* Where the API has never written the file, what it puts back has no checksum: it is read as an edit by hand, at another version
 * or, as the file knows of none, at that of our commit. */
START_TEST(what_a_failed_reload_takes_back_is_undone_by_nobody)
{
    bool same_version = _i == 0, read_back_before = _i == 2;
    begin_with(1, no_brake);
    wish("n2", "event");
    until('C');
    answer();
    if (read_back_before)
        settle();
    w.fail_reloads = 1;
    w.reload_due_ms = 0;
    tick_reload(); /* it has failed, and we have not asked yet */
    w.version += same_version ? 0 : 1;
    w.have = w.file;
    w.file_version = w.version;
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 1);
    pass(1000);
    assert_ready(false, "HAProxy was not reloaded");
    pass(20000);
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 2);
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "be", API_URL, NULL), 0);
    ck_assert(!logged("does not stick"));
}
END_TEST

START_TEST(what_is_undone_before_our_reload_counts_once_that_is_over)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    settle();
    stranger("n7");
    instance_refresh(w.target.instance);
    pass(5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "be", API_URL, NULL), 1);
}
END_TEST

START_TEST(what_is_undone_three_times_is_left_alone)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    pass(5000);
    assert_settled("n2");
    for (int i = 0; i < 2; i++) {
        stranger("n7");
        pass(RESYNC_MS + 5000);
        assert_settled("n2");
    }
    unsigned commits = w.commits;
    stranger("n7");
    pass(RESYNC_MS + 5000);
    ck_assert_uint_eq(w.commits, commits);
    ck_assert(!in_sync());
    assert_ready(false, "somebody else undoes our changes");
    cleanup(mem_free_ptr) char *version = mem_printf("version %lld has", (long long)w.version);
    assert_ready(false, version);
    assert_ready(false, "server n2: it is gone");
    ck_assert(logged("cause=\"somebody else wrote version"));
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "be", API_URL, NULL), 3);
    wish("n3", "not now");
    pass(5 * MINUTES_MS);
    ck_assert_uint_eq(w.commits, commits);
    assert_ready(false, "server n2: it is gone"); /* what was undone, not what is wanted since */
    pass(6 * MINUTES_MS);
    assert_settled("n3");
}
END_TEST

/* After a pause once is enough: a fight costs one reload in ten minutes. */
START_TEST(a_fight_that_goes_on_stays_cheap)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    pass(5000);
    for (int i = 0; i < 120; i++) {
        if (!set_eq(w.have.of[0], "n7"))
            stranger("n7");
        pass(MINUTES_MS);
    }
    ck_assert_uint_le(w.commits, 3 + 12);
    ck_assert_uint_ge(w.commits, 3 + 8);
}
END_TEST

START_TEST(an_operator_says_go_on)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    pass(5000);
    for (int i = 0; i < 3; i++) {
        stranger("n7");
        pass(RESYNC_MS + 5000);
    }
    assert_ready(false, "somebody else undoes our changes");
    instance_refresh(w.target.instance);
    pass(5000);
    assert_settled("n2");
}
END_TEST

START_TEST(a_fight_about_one_backend_leaves_the_other_alone)
{
    begin_with(2, no_brake);
    wish_both("n2", "n2", "event");
    pass(5000);
    for (int i = 0; i < 3; i++) {
        stranger("n7");
        pass(RESYNC_MS + 5000);
    }
    for (int i = 0; i < 4; i++) {
        wish_of(1, i % 2 == 0 ? "n3" : "n2", "event");
        servers_apply(w.target.servers);
        pass(5000);
        assert_settled_two(i % 2 == 0 ? "n3" : "n2");
    }
    ck_assert_str_eq(w.have.of[0], "n7");
    assert_ready(false, "backend be: somebody else undoes our changes");
    assert_ready(false, "[+]target http://api backend two: in step");
    pass(10 * MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "be", API_URL, NULL), 3);
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "two", API_URL, NULL), 0);
}
END_TEST

START_TEST(a_hand_edit_now_and_then_is_repaired)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    pass(5000);
    for (int i = 0; i < 6; i++) {
        stranger("n7");
        pass(6 * MINUTES_MS);
        assert_settled("n2");
    }
}
END_TEST

START_TEST(our_own_changes_to_another_backend_undo_nothing)
{
    begin_with(2, no_brake);
    wish_both("n2", "n2", "event");
    pass(5000);
    for (int i = 0; i < 6; i++) {
        wish_of(1, i % 2 == 0 ? "n3" : "n2", "event");
        servers_apply(w.target.servers);
        pass(5000);
    }
    ck_assert(in_sync());
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "be", API_URL, NULL), 0);
    ck_assert_uint_eq(metric_value(w.telemetry.undone, "two", API_URL, NULL), 0);
}
END_TEST

START_TEST(the_other_side_comes_round)
{
    begin_with(1, no_brake);
    wish("n2", "event");
    pass(5000);
    for (int i = 0; i < 3; i++) {
        stranger("n7");
        pass(RESYNC_MS + 5000);
    }
    assert_ready(false, "somebody else undoes our changes");
    stranger("n2");
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
    wish("n3", "event");
    pass(5000);
    assert_settled("n3");
}
END_TEST

/* ---- anything at any time ---- */

static unsigned dice(uint64_t *state, unsigned n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)((*state >> 11) % n);
}

/* ALLOW_EMPTY is off: whatever is asked for, no backend ever loses its last server that is in rotation. */
static void some_server_is_live(void)
{
    for (size_t i = 0; i < w.backends; i++) {
        bool live = false;
        char copy[SET_BYTES], *rest = copy;
        set_copy(copy, w.file.of[i]);
        for (char *word; (word = strsep(&rest, " ")) != NULL;)
            live = live || (word[0] != '\0' && strchr(word, '*') == NULL);
        ck_assert_msg(live, "backend %s has no live server: \"%s\"", backend_names[i], w.file.of[i]);
    }
}

static void something_happens(uint64_t *d)
{
    static const char steps[] = "RstwHLB+-~CDP";
    static const int statuses[] = {0, 400, 401, 404, 406, 409, 429, 500, 503, 200};
    static const char *const wishes[] = {"n1", "n2",     "n1 n2",      "n2 n3",        "",  "n1 n2 n3 n4",
                                         "?",  "n1* n2", "n1 n2* n3*", "n1 n2 n3* n4", "n9"};
    char step;
    int status;
    switch (dice(d, 12)) {
    case 0:
    case 1:
        mend();
        step = steps[dice(d, 13)];
        status = statuses[dice(d, 10)];
        if (status == 200 && strchr("+-~C", step) != NULL)
            break; /* what makes no sense is one thing, to be lied to another */
        fault((struct fault){.step = step, .status = status, .dead = dice(d, 4) == 0, .times = (int)dice(d, 4)});
        break;
    case 2:
        w.fail_reloads = dice(d, 3);
        break;
    case 3:
        restart_api();
        break;
    case 4:
        instance_refresh(w.target.instance);
        break;
    case 5:
        w.paused = dice(d, 3) == 0;
        break;
    case 6:
        w.forbidden = dice(d, 2) == 0 ? "n9" : NULL;
        break;
    case 7:
        stranger(dice(d, 2) == 0 ? "n7" : "n1 n2");
        break;
    default:
        wish_of(0, wishes[dice(d, 11)], "dice");
        if (dice(d, 2) == 0)
            wish_of(1, wishes[dice(d, 11)], "dice");
        servers_apply(w.target.servers);
    }
}

START_TEST(whatever_happens_both_end_in_step)
{
    uint64_t d = 88172645463325252ull + (uint64_t)_i * 104729;
    world_make_with(2, braked());
    w.look = some_server_is_live;
    instance_start(w.target.instance);
    for (int i = 0; i < 300 && w.reloads < RELOADS_MAX - 100; i++) {
        something_happens(&d);
        if (dice(&d, 3) > 0) {
            for (unsigned n = dice(&d, 16); n > 0 && w.busy; n--)
                answer();
        } else {
            pass(dice(&d, 5000));
        }
    }
    mend();
    w.fail_reloads = 0;
    w.forbidden = NULL;
    w.paused = false;
    wish_both("n1 n5", "n2* n3", "the last");
    pass(25 * MINUTES_MS);
    assert_settled("n1 n5");
    ck_assert(set_eq(w.running.of[1], "n3") || set_eq(w.running.of[1], "n2* n3"));
    unsigned commits = w.commits;
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.commits, commits);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("target_safety");
    TCase *tc = tcase_create("safety");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    tcase_add_test(tc, what_changed_at_once_is_one_transaction);
    tcase_add_test(tc, one_that_changed_leaves_the_other_alone);
    tcase_add_test(tc, one_that_has_no_wish_yet_keeps_no_other_up);
    tcase_add_test(tc, one_that_is_missing_keeps_no_other_up);
    tcase_add_loop_test(tc, one_that_is_refused_keeps_no_other_up, 0, 2);
    tcase_add_test(tc, a_refusal_keeps_no_old_trouble_alive);
    tcase_add_test(tc, commits_to_the_other_do_not_ask_the_refused_one_again);
    tcase_add_test(tc, a_reload_that_fails_is_repeated_once_for_all);
    tcase_add_test(tc, draining_is_maintenance_and_then_removal);
    tcase_add_test(tc, back_from_draining);
    tcase_add_test(tc, a_draining_server_that_is_not_there_is_not_made);
    tcase_add_test(tc, too_many_at_once_are_held_and_then_let_go);
    tcase_add_test(tc, what_comes_back_in_time_was_never_gone);
    tcase_add_test(tc, half_of_them_is_not_too_many);
    tcase_add_test(tc, one_by_one_is_no_way_round_the_limit);
    tcase_add_test(tc, new_ones_do_not_wait_for_the_brake);
    tcase_add_test(tc, new_ones_do_not_release_the_brake);
    tcase_add_test(tc, an_old_pause_does_not_hide_the_end_of_the_brake);
    tcase_add_test(tc, what_does_not_stick_beside_the_brake_is_left_alone);
    tcase_add_test(tc, what_is_undecided_holds_nothing);
    tcase_add_test(tc, a_drain_is_announced);
    tcase_add_loop_test(tc, nothing_left_is_allow_empty_s_to_decide, 0, 2);
    tcase_add_test(tc, a_pause_holds_what_is_to_be_written);
    tcase_add_test(tc, a_paused_one_in_step_is_in_step);
    tcase_add_loop_test(tc, the_end_of_a_hold_is_told, 0, 2);
    tcase_add_test(tc, nothing_to_hold_is_not_ready);
    tcase_add_test(tc, sighup_is_answered_while_nothing_is_written);
    tcase_add_loop_test(tc, a_pause_while_a_transaction_is_in_hand, 0, 2);
    tcase_add_test(tc, a_pause_does_not_stop_the_other_backend);
    tcase_add_test(tc, a_dry_run_writes_nothing_at_all);
    tcase_add_test(tc, a_dry_run_that_has_nothing_to_do_is_in_step);
    tcase_add_test(tc, a_dry_run_sees_that_a_failed_reload_was_mended);
    tcase_add_test(tc, a_commit_names_the_cause_of_its_own_wish);
    tcase_add_test(tc, one_that_cannot_be_read_is_in_no_empty_commit);
    tcase_add_test(tc, an_empty_commit_that_could_do_no_more_was_to_stick_nowhere);
    tcase_add_test(tc, what_needed_no_write_is_undone_all_the_same);
    tcase_add_loop_test(tc, what_a_failed_reload_takes_back_is_undone_by_nobody, 0, 3);
    tcase_add_test(tc, what_is_undone_before_our_reload_counts_once_that_is_over);
    tcase_add_test(tc, what_is_undone_three_times_is_left_alone);
    tcase_add_test(tc, a_fight_that_goes_on_stays_cheap);
    tcase_add_test(tc, an_operator_says_go_on);
    tcase_add_test(tc, a_fight_about_one_backend_leaves_the_other_alone);
    tcase_add_test(tc, a_hand_edit_now_and_then_is_repaired);
    tcase_add_test(tc, our_own_changes_to_another_backend_undo_nothing);
    tcase_add_test(tc, the_other_side_comes_round);
    tcase_add_loop_test(tc, whatever_happens_both_end_in_step, 0, 40);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
