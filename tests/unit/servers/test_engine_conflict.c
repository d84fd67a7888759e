/* The servers engine: another writer reverts its changes, and what a commit says of itself; in the world of
 * engine_world.h. */
#include "rules_world.h"
#include "scenes.h"

FIXTURE(NULL, world_end)

static const struct scene scenes[] = {
    /* ---- what a commit shows ---- */
    {"a commit names the cause of its own desired state",
     "begin 1 | desired n2 because the first | until C | desired n3 because the second | pass 5000 | settled n3 | "
     "logged cause=\"the first\" added=n2 | logged cause=\"the second\" added=n3"},

    /* ---- another writer ---- */
    {"what needed no write is undone all the same",
     "begin 1 | desired n2 | pass 5000 | desired n2 n3* | pass 5000 | commits 1 | stranger n7 | pass resync+5000 | "
     "settled n2 | metric changes_reverted/be 1"},
    {"what is undone before our reload counts once that is over",
     "begin 1 | desired n2 | settle | stranger n7 | refresh | pass 5000 | settled n2 | metric changes_reverted/be 1"},
    {"an operator says go on",
     "begin 1 | desired n2 | pass 5000 | stranger n7 | pass resync+5000 | stranger n7 | pass resync+5000 | "
     "stranger n7 | pass resync+5000 | unready another writer keeps reverting the daemon's changes | refresh | "
     "pass 5000 | settled n2"},
    {"the other side comes round",
     "begin 1 | desired n2 | pass 5000 | stranger n7 | pass resync+5000 | stranger n7 | pass resync+5000 | "
     "stranger n7 | pass resync+5000 | unready another writer keeps reverting the daemon's changes | stranger n2 | "
     "pass resync+5000 | settled n2 | desired n3 | pass 5000 | settled n3"},

    {"a hand edit now and then is repaired",
     "begin 1 | desired n2 | pass 5000 | times 6 stranger n7; pass 6min; settled n2"},
    {"our own changes to another backend undo nothing",
     "begin 2 | both n2 / n2 | pass 5000 | times 3 two n3; pass 5000; two n2; pass 5000 | in-sync | "
     "metric changes_reverted/be 0 | metric changes_reverted/two 0"},
    {"a fight about one backend leaves the other alone",
     "begin 2 | both n2 / n2 | pass 5000 | times 3 stranger n7; pass resync+5000 | "
     "times 2 two n3; pass 5000; settled-two n3; two n2; pass 5000; settled-two n2 | configured n7 | "
     "unready backend be: another writer keeps reverting the daemon's changes | "
     "unready [+]target http://api backend two: in sync | pass 10min | settled n2 | metric changes_reverted/be 3 | "
     "metric changes_reverted/two 0"},
    /* The last is what was undone, not what is desired since. */
    {"what is undone three times is left alone",
     "begin 1 | desired n2 | pass 5000 | settled n2 | times 2 stranger n7; pass resync+5000; settled n2 | commits 3 | "
     "stranger n7 | pass resync+5000 | commits 3 | out-of-sync | "
     "unready another writer keeps reverting the daemon's changes | unready version 11 differs | "
     "unready server n2: it is gone | logged cause=\"another writer wrote version | metric changes_reverted/be 3 | "
     "desired n3 | pass 5min | commits 3 | unready server n2: it is gone | pass 6min | settled n3"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

/* After a failed reload the file lacks n2, which stands against any write but the empty commit; and another is wished for
 * already. */
TEST(an_empty_commit_that_could_do_no_more_was_to_stick_nowhere)
{
    begin_with(1, no_loss_limit);
    w.fail_reloads = 1;
    desired("n1 n2", "event");
    until('P');
    pass(1500);
    w.file_version = w.version;
    desired_of(0, "n1 n2 n3", "another event");
    instance_refresh(w.target.instance);
    pass(5000);
    assert_settled("n1 n2 n3");
    ck_assert(logged("reload without a change"));
    ck_assert(!logged("committed change missing"));
}

/* Its server lines stayed, but a default-server may make others necessary. */
TEST(what_another_engine_wrote_is_no_other_writers)
{
    begin_with(1, no_loss_limit);
    desired("n2", "event");
    pass(5000);
    const struct engine *e = servers_engine(w.target.servers);
    int64_t was = w.version;
    stranger("n7");
    e->ops->rewritten(e->self, was, w.version);
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.metrics.changes_reverted, "be", API_URL, NULL), 0);
    stranger("n7");
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.metrics.changes_reverted, "be", API_URL, NULL), 1);
}

/* Where the API has never written the file, what it puts back has no checksum: it is read as an edit by hand, at another version
 * or, as the file knows of none, at that of our commit. */
TEST_EACH(what_a_failed_reload_takes_back_is_undone_by_nobody, 3)
{
    bool same_version = _i == 0, read_back_before = _i == 2;
    begin_with(1, no_loss_limit);
    desired("n2", "event");
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
    assert_ready(false, "reload failed");
    pass(20000);
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 2);
    ck_assert_uint_eq(metric_value(w.metrics.changes_reverted, "be", API_URL, NULL), 0);
    ck_assert(!logged("committed change missing"));
}

/* After a pause once is enough: a fight costs one reload in ten minutes. */
TEST(a_fight_that_goes_on_stays_cheap)
{
    begin_with(1, no_loss_limit);
    desired("n2", "event");
    pass(5000);
    for (int i = 0; i < 120; i++) {
        if (!set_eq(w.have.of[0], "n7"))
            stranger("n7");
        pass(MINUTES_MS);
    }
    ck_assert_uint_le(w.commits, 3 + 12);
    ck_assert_uint_ge(w.commits, 3 + 8);
}
