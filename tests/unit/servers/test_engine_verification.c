/* The servers engine: runtime updates and reloads are verified; those that are refused, lost or overtaken; in the world
 * of engine_world.h. */
#include "scenes.h"

FIXTURE(three_in_sync, world_end)

static const struct scene scenes[] = {
    /* ---- what is believed ---- */
    {"a write that does not reach it becomes a commit",
     "set deaf | desired n2 n3 | pass 0 | count F 0 | verification suspended | pass reload+3000 | settled n1* n2 n3 | "
     "commits 1 | logged runtime update not applied by HAProxy"},
    /* Calls are obeyed, writes are not: that one leaves shows nothing of the write, since the call did it. */
    {"what a call did is no proof of a write",
     "unlogged for an hour | unset deaf | desired n2 n3 | settle | running n1* n2 n3 | set deaf | desired n1 n2 n3 | "
     "pass reload+10000 | settled n1 n2 n3 | unlogged for an hour | unset deaf | desired n2 n3 | settle | "
     "running n1* n2 n3 | set deaf | desired n1 n2 n3 | pass reload+10000 | settled n1 n2 n3 | logged for an hour | "
     "verification failed"},
    {"a write that the api reloads for",
     "set reloads-fast | desired n2 n3 | settle | fast 1 | verification suspended | pass reload+1000 | "
     "settled n1* n2 n3 | commits 0 | reloads 1"},
    {"what cannot be read is not trusted",
     "set unreadable | pass resync+2000 | verification failed | logged using transactions and reloads | forget | "
     "clear | desired n1* n2 n3 | settle | trace B~CR | pass reload+1000 | settled n1* n2 n3 | clear | "
     "desired n2 n3 | pass reload+3000 | trace | pass 5resync | unlogged using transactions and reloads | "
     "unset unreadable | pass resync | verification untested | logged running HAProxy readable again | "
     "desired n1 n2 n3 | settle | fast 1 | verification verified"},
    {"a moment without an answer closes no route",
     "fault v 500 x2 | pass resync+1000 | unlogged using transactions and reloads | desired n2 n3 | settle | fast 1 | "
     "commits 0"},

    /* ---- endings of a write ---- */
    {"another writer wrote meanwhile",
     "fault F 409 x1 | desired n2 n3 | settle | trace mFRFR | running n1* n2 n3 | metric watch_event_to_commit 1"},
    {"a refused write waits and leaves nothing behind",
     "fault F 400 x1 | desired n2 n3 | settle | trace mFRL | unready rejected the change | pass 4900 | trace | "
     "pass 10000 | running n1* n2 n3 | in-sync"},
    /* The reload may have read the file just before. */
    {"a write that a reload misses is no reason to doubt",
     "desired n1 n2 n3 n4 | settle | set deaf | fault m 500 x1 | desired n2 n3 n4 | settle | unset deaf | "
     "pass reload+10000 | settled n1* n2 n3 n4 | unlogged using transactions and reloads | commits 2"},
    {"a lost answer ends in a reload",
     "fault F x1 applied | desired n2 n3 | pass reload+10000 | settled n1* n2 n3 | commits 1"},
    /* There was none a moment ago: what is not proven waits for a transaction again. */
    {"once there is room again a transaction goes first",
     "fault B 429 x1 | desired n1 n2 n3 n4 | until C | pass 10 | clear | fault b 500 x1 | desired n3 n4 | pass 1000 | "
     "count F 1 | pass 10000+2reload | settled n1* n2* n3 n4"},
    {"an api that is down",
     "fault F 503 | desired n2 n3 | pass 1000 | unready the Data Plane API answered with an error | count F >=1 | "
     "count F <=10 | mend | pass 15000 | settled n1* n2 n3 | commits 0"},
    {"a stop makes no call",
     "set call-held | desired n1* n2* n3 | stop | not-calling | settle | stopped 1 | count d 0"},

    /* ---- reloads are believed when seen ---- */
    {"a reload that never came",
     "set lies | desired n1 n2 n3 n4 | pass reload+1200 | out-of-sync | unready does not run haproxy.cfg | "
     "metric reloads/unknown 1 | unset lies | pass 10000 | settled n1 n2 n3 n4 | commits 2"},
    /* The worker from before answers once more: no reload that failed. */
    {"an old worker that answers for a moment",
     "set lies | desired n1 n2 n3 n4 | pass reload+200 | out-of-sync | restart | pass 1000 | settled n1 n2 n3 n4 | "
     "commits 1 | unlogged reload failed"},
    /* Nothing can be seen of an empty commit but the process. */
    {"a process that stays the same is believed in the end",
     "set lies | fault F x1 applied | desired n2 n3 | pass 60000 | commits 2 | "
     "logged accepting such reloads from now on | in-sync | pass 5resync | commits 2"},
    {"a reload forgets drains and they are sent again",
     "desired n1* n2 n3 | settle | restart | running n1 n2 n3 | pass resync | running n1! n2 n3 | "
     "logged reloaded or restarted externally | written 0"},

    /* Others have all transactions of the API. */
    {"what needs no transaction does not wait for room: an answer is lost",
     "desired n3 | settle | settled n1* n2* n3 | fault B 429 | fault F x1 applied | desired n1 n2 n3 | pass 5000 | "
     "running n1 n2 n3 | file n1 n2 n3 | unready too many open transactions | out-of-sync | desired n2 n3 | "
     "pass 30000 | running n1* n2 n3 | file n1* n2 n3 | commits 0 | count B >=4 | count B <=24 | mend | "
     "pass reload+10000 | settled n1* n2 n3 | commits 1 | in-sync"},
    {"or what was written is not read back",
     "desired n3 | settle | settled n1* n2* n3 | fault B 429 | fault b 500 x1 | desired n1 n2 n3 | pass 5000 | "
     "running n1 n2 n3 | file n1 n2 n3 | unready too many open transactions | out-of-sync | desired n2 n3 | "
     "pass 30000 | running n1* n2 n3 | file n1* n2 n3 | commits 0 | count B >=4 | count B <=24 | mend | "
     "pass reload+10000 | settled n1* n2 n3 | commits 1 | in-sync"},
    {"or one is new",
     "desired n3 | settle | settled n1* n2* n3 | fault B 429 | desired n1 n2 n3 n4 | pass 5000 | running n1 n2 n3 | "
     "file n1 n2 n3 | unready too many open transactions | out-of-sync | desired n2 n3 n4 | pass 30000 | "
     "running n1* n2 n3 | file n1* n2 n3 | commits 0 | count B >=4 | count B <=24 | mend | pass reload+10000 | "
     "settled n1* n2 n3 n4 | commits 1 | in-sync"},
    /* After the reload it is tried once more; then no more. */
    {"one that comes back and does not reach it",
     "desired n2 n3 | settle | set deaf | clear | desired n1 n2 n3 | pass 0 | count F 1 | running n1* n2 n3 | "
     "pass reload+3000 | running n1 n2 n3 | commits 1 | desired n2 n3 | pass reload+10000 | settled n1* n2 n3 | "
     "logged for an hour | fast 2 | times 2 desired n1 n2 n3; pass reload+10000; desired n2 n3; pass reload+10000 | "
     "desired n1 n2 n3 | pass reload+10000 | fast 2 | settled n1 n2 n3 | unset deaf | pass hour | desired n2 n3 | "
     "settle | fast 3 | verification verified"},
    {"a stop lets the write end",
     "desired n2 n3 | until F | stop | stopped 0 | answer | stopped 0 | answer | stopped 1 | running n1* n2 n3"},
    /* What runs may be ahead of the file that was read before it: it is read again, once. */
    {"another worker is read twice",
     "pass 2resync | infos 3 | restart | pass resync | infos 5 | set answers-in-turns | pass 10resync | "
     "infos >=15 | infos <=27"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
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

/* The same, and HAProxy was read before the API said that the reload is done. */
TEST(a_reading_between_a_reload_and_its_end)
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
    pass(120000); /* HAProxy counts whole seconds: its process may be older than the write, and is reloaded again */
    settle();
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(w.commits, 2);
}
