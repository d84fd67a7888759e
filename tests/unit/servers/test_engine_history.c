/* The servers engine: what the history says of each situation, and that it says it once; in the world of
 * engine_world.h. */
#include "history_world.h"

static void setup_braked(void)
{
    heard = 0;
    world_make_with(1, (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS});
    in_sync_with("n1 n2 n3 n4");
}

static void setup_two(void)
{
    heard = 0;
    world_make_with(2, (struct plan_rules){.max_loss_percent = 100});
    instance_start(w.target.instance);
    desired_both("n1", "n1", "the first list");
    pass(0);
    ck_assert(in_sync());
}

/* ---- nothing to tell ---- */

START_TEST(nothing_is_said_of_what_stays)
{
    world_in_sync();
    for (int i = 0; i < 20; i++) {
        desired("n1", "MODIFIED node n1: a heartbeat");
        pass(RESYNC_MS);
    }
    assert_journal("");
}
END_TEST

START_TEST(nobody_reads_it)
{
    w.options.instance.history = NULL;
    start_again();
    desired("n2", "event");
    pass(MINUTE_MS);
    assert_settled("n2");
    assert_journal("");
}
END_TEST

/* ---- what is written ---- */

START_TEST(a_change_is_told_and_its_end)
{
    world_in_sync();
    desired("n2", "MODIFIED slice");
    settle();
    assert_journal("committed");
    const struct history_entry *e = entry(HISTORY_COMMITTED);
    ck_assert_str_eq(e->target, API_URL);
    ck_assert_str_eq(e->backend, "be");
    ck_assert_str_eq(e->text, "added n2 (10.0.0.2:80); removed n1");
    ck_assert_str_eq(e->cause, "MODIFIED slice");
    ck_assert_uint_gt(e->took_us, 0);
    ck_assert_uint_gt(e->latency_us, 0);
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled("n2");
    assert_journal("in_sync");
    e = entry(HISTORY_IN_SYNC);
    ck_assert_str_eq(e->text, "in sync with 1 server: added n2 (10.0.0.2:80); removed n1");
    ck_assert_str_eq(e->cause, "MODIFIED slice");
    ck_assert_uint_ge(e->latency_us, RELOAD_DELAY_MS * 1000);
    pass(HOUR_MS);
    assert_journal("");
}
END_TEST

START_TEST(each_end_tells_of_its_own_writes)
{
    world_in_sync();
    desired("n1 n2", "ADDED slice");
    pass(MINUTE_MS);
    desired("n1", "DELETED slice");
    pass(MINUTE_MS);
    assert_journal("committed in_sync committed in_sync");
    ck_assert_str_eq(entry(HISTORY_IN_SYNC)->text, "in sync with 1 server: removed n2");
    ck_assert_str_eq(entry(HISTORY_IN_SYNC)->cause, "DELETED slice");
}
END_TEST

START_TEST(a_drain_that_is_told)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    assert_journal("runtime_command");
    const struct history_entry *e = entry(HISTORY_RUNTIME_COMMAND);
    ck_assert_str_eq(e->server, "n1");
    ck_assert_str_eq(e->state, "drain");
    ck_assert_str_eq(e->text, "n1 drains: it gets no new connections");
    ck_assert_str_eq(e->why, "a reason");
    ck_assert_str_eq(e->cause, "MODIFIED slice");
    ck_assert_uint_gt(e->latency_us, 0);
    desired("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_journal("runtime_command");
    ck_assert_str_eq(entry(HISTORY_RUNTIME_COMMAND)->state, "ready");
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    desired("n2 n3", "DELETED slice");
    settle();
    assert_journal("runtime_command runtime_command runtime_update in_sync");
    ck_assert_str_eq(entry(HISTORY_RUNTIME_COMMAND)->state, "maint");
    ck_assert_str_eq(entry(HISTORY_RUNTIME_UPDATE)->text, "parked n1");
    ck_assert_ptr_null(entry(HISTORY_RUNTIME_UPDATE)->state);
    ck_assert_str_eq(entry(HISTORY_IN_SYNC)->text, "in sync with 2 servers: parked n1");
}
END_TEST

/* It was told already; the write is no second drain. */
START_TEST(a_drain_that_goes_into_the_file)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    desired("n1* n2 n3 n4", "ADDED slice");
    pass(MINUTE_MS);
    assert_settled("n1* n2 n3 n4");
    assert_journal("runtime_command committed in_sync");
    ck_assert_ptr_null(entry(HISTORY_COMMITTED)->state);
}
END_TEST

START_TEST(a_drain_by_a_transaction)
{
    world_in_sync();
    desired("n1 n2", "ADDED slice");
    pass(MINUTE_MS);
    desired("n1* n2", "MODIFIED slice");
    pass(MINUTE_MS);
    assert_journal("committed in_sync committed in_sync");
    ck_assert_str_eq(entry(HISTORY_COMMITTED)->state, "drain");
    ck_assert_str_eq(entry(HISTORY_COMMITTED)->server, "n1");
}
END_TEST

START_TEST(many_writes_are_one_sentence_with_an_end)
{
    for (int i = 0; i < 40; i++) {
        desired(i % 2 == 0 ? "n2 n3" : "n1 n3", "MODIFIED slice");
        pass(1);
    }
    const struct history_entry *e = entry(HISTORY_IN_SYNC);
    ck_assert_uint_le(strlen(e->text), 900);
    w.held = true;
    for (int i = 0; i < 60; i++) {
        desired(i % 2 == 0 ? "n1 n2 n4" : "n1 n2 n5", "MODIFIED slice");
        pass(2500);
    }
    w.held = false;
    pass(HOUR_MS);
    e = entry(HISTORY_IN_SYNC);
    ck_assert_uint_le(strlen(e->text), 900);
    assert_says(e->text, " more writes");
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(a_trouble_that_goes_on_is_one_entry)
{
    world_in_sync();
    fault((struct fault){.step = 'R', .status = 0});
    pass(29 * MINUTE_MS);
    assert_journal("apply_failed");
    const struct history_entry *e = entry(HISTORY_APPLY_FAILED);
    ck_assert_str_eq(e->text, "cannot read HAProxy's configuration");
    assert_says(e->why, "no answer");
    ck_assert_str_eq(e->backend, "be");
    pass(2 * HOUR_MS);
    assert_journal("apply_failed apply_failed apply_failed apply_failed");
    mend();
    pass(MINUTE_MS);
    assert_settled("n1");
    assert_journal("in_sync");
    ck_assert_str_eq(entry(HISTORY_IN_SYNC)->text, "in sync with 1 server");
    fault((struct fault){.step = 'R', .status = 0});
    pass(MINUTE_MS);
    assert_journal("apply_failed");
}
END_TEST

START_TEST(a_refusal)
{
    world_in_sync();
    w.forbidden = "n2";
    desired("n1 n2", "ADDED slice");
    pass(20 * MINUTE_MS);
    assert_journal("apply_failed");
    const struct history_entry *e = entry(HISTORY_APPLY_FAILED);
    assert_says(e->text, "rejected the change");
    ck_assert_str_eq(e->backend, "be");
    ck_assert_str_eq(e->cause, "ADDED slice");
    desired("n1", "DELETED slice");
    pass(MINUTE_MS);
    assert_journal("in_sync");
}
END_TEST

START_TEST(a_reload_that_fails)
{
    world_in_sync();
    w.fail_reloads = 1;
    desired("n2", "event");
    pass(MINUTE_MS);
    assert_settled("n2");
    assert_journal("committed reload_failed reload_again in_sync");
    assert_says(entry(HISTORY_RELOAD_FAILED)->text, "reload failed");
    assert_says(entry(HISTORY_RELOAD_FAILED)->why, "words of HAProxy");
}
END_TEST

START_TEST(a_reload_that_failed_before_our_start)
{
    w.reload_list = "[{\"id\":\"r-1\",\"status\":\"failed\",\"response\":\"bad\",\"reload_timestamp\":1}]";
    instance_start(w.target.instance);
    desired("n1", "list");
    pass(MINUTE_MS);
    assert_journal("reload_failed reload_again in_sync");
    ck_assert_str_eq(entry(HISTORY_RELOAD_FAILED)->why, "bad");
}
END_TEST

START_TEST(a_write_that_does_not_reach_it)
{
    w.deaf = true;
    desired("n2 n3", "DELETED slice");
    settle();
    w.deaf = false;
    pass(MINUTE_MS);
    ck_assert(in_sync());
    assert_says(entry(HISTORY_APPLY_FAILED)->why, "n1");
    ck_assert_int_eq(history_at(w.history, 0)->kind, HISTORY_IN_SYNC);
    assert_says(entry(HISTORY_IN_SYNC)->text, "n1");
}
END_TEST

/* ---- held back ---- */

START_TEST(the_loss_limit_is_told_when_it_begins)
{
    desired("n1", "DELETED slice");
    pass(RESYNC_MS / 2);
    desired("n1", "DELETED another slice");
    pass(RESYNC_MS / 4);
    assert_journal("removal_delayed");
    const struct history_entry *e = entry(HISTORY_REMOVAL_DELAYED);
    ck_assert_str_eq(e->text, "removal of 3 of 4 servers delayed: n2, n3, n4");
    assert_says(e->why, "MAX_LOSS_PERCENT=50");
    ck_assert_str_eq(e->cause, "DELETED slice");
    pass(RESYNC_MS);
    assert_settled("n1");
    assert_journal("committed in_sync");
}
END_TEST

START_TEST(a_loss_limit_beside_a_write)
{
    desired("n1 n5", "DELETED slice");
    pass(RESYNC_MS / 2);
    assert_journal("removal_delayed committed");
    desired("n1 n2 n3 n4 n5", "ADDED slice");
    pass(MINUTE_MS);
    assert_journal("in_sync");
    desired("n1", "DELETED slice");
    pass(0);
    assert_journal("removal_delayed");
}
END_TEST

/* Nothing is written: that is said, and why; the loss limit is part of it. */
START_TEST(a_pause_is_no_loss_limit)
{
    w.paused = true;
    desired("n1 n5", "DELETED slice");
    pass(RESYNC_MS / 2);
    assert_journal("not_written");
}
END_TEST

START_TEST(no_endpoint_is_told_once)
{
    world_in_sync();
    for (int i = 0; i < 5; i++) {
        desired("", "DELETED slice");
        pass(RESYNC_MS);
    }
    assert_journal("removal_delayed");
    ck_assert_str_eq(entry(HISTORY_REMOVAL_DELAYED)->text, "keeping the last 1 server");
    assert_says(entry(HISTORY_REMOVAL_DELAYED)->why, "no usable endpoint");
    desired("n1", "ADDED slice");
    pass(0);
    assert_journal("in_sync");
    desired("", "DELETED slice");
    pass(0);
    assert_journal("removal_delayed");
}
END_TEST

START_TEST(no_server_yet)
{
    set_copy(w.have.of[0], "");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("", "list");
    pass(0);
    assert_journal("removal_delayed");
    ck_assert_str_eq(entry(HISTORY_REMOVAL_DELAYED)->text, "no server in rotation");
}
END_TEST

START_TEST(a_pause_is_told_when_what_it_withholds_changes)
{
    world_in_sync();
    w.paused = true;
    desired("n1 n2", "ADDED slice");
    for (int i = 0; i < 10; i++)
        pass(RESYNC_MS);
    assert_journal("not_written");
    ck_assert_str_eq(entry(HISTORY_NOT_WRITTEN)->text, "not written: added n2 (10.0.0.2:80)");
    assert_says(entry(HISTORY_NOT_WRITTEN)->why, "haproxy-k8s-sync/paused");
    desired("n1 n2 n3", "ADDED slice");
    pass(0);
    assert_journal("not_written");
    w.paused = false;
    desired("n1 n2 n3", "MODIFIED service");
    pass(MINUTE_MS);
    assert_journal("committed in_sync");
}
END_TEST

/* ---- two backends ---- */

START_TEST(what_is_written_to_one_is_said_of_that_one)
{
    desired_both("n1", "n2", "event");
    pass(MINUTE_MS);
    assert_journal("committed in_sync");
    ck_assert_str_eq(entry(HISTORY_COMMITTED)->backend, "two");
    ck_assert_str_eq(entry(HISTORY_IN_SYNC)->backend, "two");
    desired_both("n1 n2", "n2", "event");
    pass(MINUTE_MS);
    assert_journal("committed in_sync");
    ck_assert_str_eq(entry(HISTORY_IN_SYNC)->backend, "be");
}
END_TEST

START_TEST(what_is_wrong_with_all_is_said_once)
{
    fault((struct fault){.step = 'w', .status = 0});
    pass(RESYNC_MS + 1000);
    assert_journal("apply_failed");
    ck_assert_ptr_null(entry(HISTORY_APPLY_FAILED)->backend);
    mend();
    pass(MINUTE_MS);
    assert_journal("in_sync in_sync");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_history");
    TCase *t = with(s, "one backend", setup);
    tcase_add_test(t, nothing_is_said_of_what_stays);
    tcase_add_test(t, nobody_reads_it);
    tcase_add_test(t, a_change_is_told_and_its_end);
    tcase_add_test(t, a_drain_by_a_transaction);
    tcase_add_test(t, each_end_tells_of_its_own_writes);
    tcase_add_test(t, a_trouble_that_goes_on_is_one_entry);
    tcase_add_test(t, a_refusal);
    tcase_add_test(t, a_reload_that_fails);
    tcase_add_test(t, a_reload_that_failed_before_our_start);
    tcase_add_test(t, no_endpoint_is_told_once);
    tcase_add_test(t, no_server_yet);
    tcase_add_test(t, a_pause_is_told_when_what_it_withholds_changes);
    t = with(s, "lanes", setup_routes);
    tcase_add_test(t, a_drain_that_is_told);
    tcase_add_test(t, a_drain_that_goes_into_the_file);
    tcase_add_test(t, many_writes_are_one_sentence_with_an_end);
    tcase_add_test(t, a_write_that_does_not_reach_it);
    t = with(s, "brake", setup_braked);
    tcase_add_test(t, the_loss_limit_is_told_when_it_begins);
    tcase_add_test(t, a_loss_limit_beside_a_write);
    tcase_add_test(t, a_pause_is_no_loss_limit);
    t = with(s, "two backends", setup_two);
    tcase_add_test(t, what_is_written_to_one_is_said_of_that_one);
    tcase_add_test(t, what_is_wrong_with_all_is_said_once);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
