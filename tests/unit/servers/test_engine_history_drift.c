/* The servers engine: what the history says of drift that was repaired, and of what is none; in the world of
 * engine_world.h. */
#include "history_world.h"

FIXTURE(history_begin, world_end)

/* ---- drift ---- */

#define ONE "world 1 | "
#define THREE "world 1 routes | have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | in-sync | clear | "

static const struct scene scenes[] = {
    /* ---- drift ---- */
    {"a hand edit is repaired",
     ONE "synced | edit n1 n7 | pass 2resync | settled n1 | journal committed drift_repaired in_sync | "
         "entry drift_repaired text=repaired a change of another writer in version 6: removed n7 | edit n1 | "
         "pass 2resync | journal"},
    /* Between the two nobody can tell whose doing it is. */
    {"another desired state is no drift",
     ONE "synced | edit n1 | desired n1 n2 | pass min | journal committed in_sync"},
    /* A drain that was only told has to be written, since what runs cannot be read any more; and our own commit does not stick. */
    {"our own version is no drift",
     THREE "desired n1* n2 n3 | settle | set unreadable | set stubborn | pass 3resync | commits >=1 | unset stubborn | "
           "pass 60min | in-sync | configured n2 n3 n1* | no-drift"},
    {"haproxy that runs something else is repaired",
     THREE "run n1 n2 | pass 3resync | in-sync | journal reload_again drift_repaired in_sync | "
           "entry drift_repaired text~n3 | entry drift_repaired target=http://api | pass hour | journal"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, history_word);
}

static void setup_two_routes(void)
{
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
TEST(the_version_of_another_backend_is_no_drift)
{
    setup_two_routes();
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

/* Another desired state, a change of ours, a reload that failed: none of them is a stranger's doing. */
TEST(our_own_doing_is_no_drift)
{
    world_make();
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

/* Who mends it himself has repaired it himself: we may not write, and see it mended. */
TEST(what_somebody_else_mends_is_not_our_repair)
{
    three_in_sync();
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
