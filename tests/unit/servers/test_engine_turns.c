/* The servers engine: what turns while something else is under way, and what must not be left behind by it: calls that
 * nobody wants any more, waits without an end, reloads for nothing. The world is engine_world.h's. */
#include "scenes.h"

FIXTURE(three_in_sync, world_end)

static const struct scene scenes[] = {
    /* ---- calls that nobody wants any more ---- */
    {"what waits behind a call is forgotten where the desired state turns",
     "set call-held | desired n1* n2* n3 | desired n1* n2 n3 | unset call-held | settle | trace d | "
     "running n1! n2 n3 | in-sync"},
    {"what waits behind a call is not sent in a pause",
     "set call-held | desired n1* n2* n3 | set paused | desired n1* n2* n3 | unset call-held | settle | trace d | "
     "running n1! n2 n3"},
    /* Until its answer all is as desired again, and after it nothing is. */
    {"a desired state that turns back while a server is called back",
     "desired n1* n2 n3 | settle | set call-held | desired n1 n2 n3 | desired n1* n2 n3 | unset call-held | settle | "
     "trace dyd | running n1! n2 n3 | in-sync"},
    /* The transaction may take its time: thirty seconds for each of its requests. */
    {"a desired state that turns during a call and a transaction",
     "desired n1 n2 n3 n4 | until C | desired n1* n2 n3 n4 | calling | desired n1 n2 n3 n4 | call | "
     "running n1! n2 n3 | calling | call | running n1 n2 n3 | busy C | pass reload+1000 | settled n1 n2 n3 n4"},
    /* No call can take it back, and the file says nothing of it. */
    {"a drain of ours while haproxy cannot be read any more",
     "desired n1* n2 n3 | settle | set unreadable | desired n1 n2 n3 | pass reload+2resync | running n1 n2 n3 | "
     "commits <=1 | pass 10resync | commits <=1 | ready in sync"},
    {"a drain that goes on while haproxy cannot be read any more",
     "desired n1* n2 n3 | settle | set unreadable | pass 3resync | settled n1* n2 n3 | commits 1 | desired n1 n2 n3 | "
     "pass 10resync | settled n1 n2 n3 | commits 2"},

    /* ---- calls without an answer ---- */
    /* That it was to be set again is not forgotten with the first attempt. */
    {"an operators state that cannot be set again at once",
     "run n1! n2 n3 | pass resync | ready n1 is in drain | fault d 500 x2 | restart | pass resync+10000 | "
     "running n1! n2 n3 | in-sync"},
    {"a call that never gets an answer becomes a commit",
     "fault d | desired n1* n2 n3 | pass 60000 | settled n1* n2 n3 | commits 1 | count d <=3"},

    /* ---- nobody would be left ---- */
    {"the last one stays until the reload that brings another",
     "world routes | have n1 | start | desired n1 | pass 0 | in-sync | clear | desired n1 n4 | settle | desired n4 | "
     "settle | pass reload-100 | running n1 | pass 4000 | settled n1* n4 | commits 1"},

    /* ---- the runtime update closes ---- */
    /* Who drains is not in the file while it is open, and is to be then: nobody's doing. */
    {"a route that closes at the reading after a write",
     "desired n1* n3 | until b | answer | set unreadable | pass reload+4000 | unlogged committed change missing | "
     "settled n1* n2* n3 | commits 1"},
    {"a route that closes after another writer wrote something else",
     "desired n1 n2 n3 n4 | pass reload+1000 | desired n1* n2 n3 n4 | settle | stranger n1 n2 n3 n4 | pass resync | "
     "running n1! n2 n3 n4 | set unreadable | pass 2resync | settled n1* n2 n3 n4 | metric changes_reverted/be 0"},

    /* ---- drift ---- */
    /* Two readings of the same version, but in one moment: a stranger's reload may still be on its way. */
    {"a drift that is read twice at once",
     "run n1 n2 | pass resync | refresh | pass 5000 | commits 0 | pass 5000 | commits 1 | settled n1 n2 n3"},
    {"a drift that may not be mended",
     "desired n1 n2 n3 n4 | pass reload+1000 | set paused | desired n1 n2 n3 n4 | run n1 n2 | pass 10resync | "
     "unlogged HAProxy was reloaded externally | out-of-sync | metric drifts 1 | commits 1 | restart | pass 2resync | "
     "logged HAProxy was reloaded externally | in-sync"},

    /* ---- the process ---- */
    {"a process that cannot be asked for",
     "desired n1 n2 n3 n4 | settle | fault i 500 | pass 20000 | settled n1 n2 n3 n4 | commits 1"},

    /* Of thousands of servers an API sends some hundred in that time: the transaction takes the others along. */
    {"commands have their time, as they take effect sooner",
     "set call-held | desired n1 n2* n3* n4 | pass 3900 | calling | transactions 0 | call | calling | "
     "transactions 0 | call | not-calling | unset call-held | pass reload+1000 | in-sync | trace ddB~~+CRPR | "
     "running n1 n2* n3* n4"},
    {"slow commands do not keep a transaction up",
     "set call-held | desired n1 n2* n3* n4 | pass 4100 | calling | transactions 0 | call | not-calling | "
     "unset call-held | pass reload+1000 | in-sync | trace dB~~+CRmPR | running n1 n2* n3* n4"},
    /* An API that is away says nothing about calls; and however long it was, its return finds us soon. */
    {"calls after a long time without an API",
     "fault d | fault R | times 1000 desired n1* n2 n3; pass 1000; desired n1 n2 n3; pass 1000 | desired n1* n2 n3 | "
     "mend | pass 20000 | running n1! n2 n3 | in-sync | commits 0"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

static void unreadable_around_reloads(void)
{
    w.unreadable = w.reloads > 0 && clock_mono_ms() < w.reload_due_ms + 3000;
}

TEST(a_drift_that_no_reload_mends_and_that_is_not_seen_at_once)
{
    w.lies = true;
    w.look = unreadable_around_reloads;
    set_copy(w.running.of[0], "n1 n2");
    pass(HOUR_MS);
    ck_assert_uint_ge(w.commits, 3);
    ck_assert_uint_le(w.commits, 40); /* the pauses are by chance */
}

static void same_process(void)
{
    w.pid = 100;
}

/* In a container of its own it may be number 1 each time. */
TEST(a_process_that_always_has_the_same_number)
{
    w.look = same_process;
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(20000);
    unsigned commits = w.commits;
    forget_log();
    for (int i = 5; i < 8; i++) {
        desired(i == 5 ? "n1 n2 n3 n4 n5" : i == 6 ? "n1 n2 n3 n4 n5 n6" : "n1 n2 n3 n4 n5 n6 n7", "ADDED slice");
        pass(20000);
    }
    assert_settled("n1 n2 n3 n4 n5 n6 n7");
    ck_assert_uint_eq(w.commits, commits + 3);
    ck_assert(!logged("two reloads in a row"));
}

/* One that has a lot to write leaves the others their turn. */
TEST(each_backend_has_its_turn)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    set_copy(w.have.of[0], "n1* n2* n3* n4* n5");
    set_copy(w.have.of[1], "n1* n2");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired_both("n5", "n2", "the first list");
    pass(0);
    desired_both("n1 n2 n3 n4 n5", "n1 n2", "MODIFIED slice");
    until('F');
    ck_assert_uint_eq(backend_of(), 0);
    answer();
    until('F');
    ck_assert_uint_eq(backend_of(), 1);
    settle();
    ck_assert_uint_eq(w.fast, 5);
    assert_settled("n1 n2 n3 n4 n5");
    assert_settled_two("n1 n2");
}

/* An HAProxy that hangs costs one wait, not one for each backend. */
TEST(what_runs_is_asked_for_once_where_nobody_answers)
{
    world_end();
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, HOUR_MS, true);
    fault((struct fault){.step = 'v', .times = 100});
    instance_start(w.target.instance);
    desired_both("n1", "n1", "the first list");
    settle();
    ck_assert_int_eq(w.faults[0].times, 99);
    mend();
    fault((struct fault){.step = 'i', .times = 1});
    fault((struct fault){.step = 'v', .times = 100});
    instance_refresh(w.target.instance);
    settle();
    ck_assert_int_eq(w.faults[1].times, 100);
    ck_assert(logged("no answer"));
}
