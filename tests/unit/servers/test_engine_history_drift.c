/* The servers engine: what the history says of drift that was repaired, and of what is none; in the world of
 * engine_world.h. */
#include "history_world.h"

/* ---- drift ---- */

static void edit(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    w.version++;
    w.file_version = w.version;
}

START_TEST(a_hand_edit_is_repaired)
{
    world_in_sync();
    edit("n1 n7");
    pass(2 * RESYNC_MS);
    assert_settled("n1");
    assert_journal("committed drift_repaired in_sync");
    ck_assert_str_eq(entry(HISTORY_DRIFT_REPAIRED)->text,
                     "repaired a change of another writer in version 6: removed n7");
    edit("n1");
    pass(2 * RESYNC_MS);
    assert_journal("");
}
END_TEST

/* Between the two nobody can tell whose doing it is. */
START_TEST(another_desired_state_is_no_drift)
{
    world_in_sync();
    edit("n1");
    desired("n1 n2", "ADDED slice");
    pass(MINUTE_MS);
    assert_journal("committed in_sync");
}
END_TEST

static void assert_no_drift(void)
{
    for (size_t i = 0; i < history_count(w.history); i++)
        ck_assert_msg(history_at(w.history, i)->kind != HISTORY_DRIFT_REPAIRED, "%s", history_at(w.history, i)->text);
}

/* A drain that was only told has to be written, since what runs cannot be read any more; and our own commit does not stick. */
START_TEST(our_own_version_is_no_drift)
{
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    w.unreadable = w.stubborn = true;
    pass(3 * RESYNC_MS);
    ck_assert_uint_gt(w.commits, 0);
    w.stubborn = false;
    pass(60 * MINUTE_MS);
    ck_assert(in_sync());
    ck_assert_str_eq(w.have.of[0], "n2 n3 n1*");
    assert_no_drift();
}
END_TEST

static void setup_two_routes(void)
{
    heard = 0;
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, 3600000, true);
    for (size_t i = 0; i < w.backends; i++)
        set_copy(w.have.of[i], "n1 n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired_both("n1 n2", "n1 n2", "the first list");
    pass(0);
    ck_assert(in_sync());
}

/* The same, and the version is another backend's, whose write made the API reload. */
START_TEST(the_version_of_another_backend_is_no_drift)
{
    desired_both("n1* n2", "n1 n2", "MODIFIED slice");
    pass(RESYNC_MS);
    assert_journal("runtime_command");
    w.reloads_fast = true;
    desired_both("n1* n2", "n1", "DELETED slice");
    pass(60 * MINUTE_MS);
    ck_assert(in_sync());
    ck_assert_str_eq(w.have.of[1], "n1 n2*");
    assert_no_drift();
}
END_TEST

/* Another desired state, a change of ours, a reload that failed: none of them is a stranger's doing. */
START_TEST(our_own_doing_is_no_drift)
{
    world_in_sync();
    w.fail_reloads = 2;
    for (int i = 0; i < 6; i++) {
        desired(i % 2 == 0 ? "n1 n2" : "n1", "event");
        pass(MINUTE_MS);
    }
    fault((struct fault){.step = 'C', .applied = true, .times = 1});
    desired("n1 n3", "event");
    pass(5 * MINUTE_MS);
    assert_settled("n1 n3");
    assert_no_drift();
}
END_TEST

START_TEST(haproxy_that_runs_something_else_is_repaired)
{
    set_copy(w.running.of[0], "n1 n2");
    pass(3 * RESYNC_MS);
    ck_assert(in_sync());
    assert_journal("reload_again drift_repaired in_sync");
    assert_says(entry(HISTORY_DRIFT_REPAIRED)->text, "n3");
    ck_assert_str_eq(entry(HISTORY_DRIFT_REPAIRED)->target, API_URL);
    pass(HOUR_MS);
    assert_journal("");
}
END_TEST

/* Who mends it himself has repaired it himself: we may not write, and see it mended. */
START_TEST(what_somebody_else_mends_is_not_our_repair)
{
    w.paused = true;
    desired("n1 n2 n3", "MODIFIED service");
    set_copy(w.running.of[0], "n1 n2");
    pass(2 * RESYNC_MS);
    ck_assert(logged("running HAProxy differs from haproxy.cfg"));
    set_copy(w.running.of[0], "n1 n2 n3");
    w.reload_list = "[{\"id\":\"r-2\",\"status\":\"succeeded\",\"response\":\"\",\"reload_timestamp\":2}]";
    pass(3 * RESYNC_MS);
    ck_assert(in_sync());
    assert_journal("not_written");
    ck_assert_str_eq(entry(HISTORY_NOT_WRITTEN)->text, "not written: reload without a change");
    w.paused = false;
    w.reload_list = NULL;
    desired("n1 n2 n3", "MODIFIED service");
    pass(2 * RESYNC_MS);
    assert_journal("");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("engine_history_drift");
    TCase *t = with(s, "one backend", setup);
    tcase_add_test(t, a_hand_edit_is_repaired);
    tcase_add_test(t, another_desired_state_is_no_drift);
    tcase_add_test(t, our_own_doing_is_no_drift);
    t = with(s, "lanes", setup_routes);
    tcase_add_test(t, our_own_version_is_no_drift);
    tcase_add_test(t, haproxy_that_runs_something_else_is_repaired);
    tcase_add_test(t, what_somebody_else_mends_is_not_our_repair);
    t = with(s, "two backends, lanes", setup_two_routes);
    tcase_add_test(t, the_version_of_another_backend_is_no_drift);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
