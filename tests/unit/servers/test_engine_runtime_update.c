/* The servers engine: what goes without a reload, what has to wait for a transaction, and what may not be; in the world
 * of engine_world.h. */
#include "scenes.h"

FIXTURE(three_in_sync, world_end)

static const struct scene scenes[] = {
    /* ---- with a reload and without ---- */
    {"a drain is sent and nothing is written",
     "desired n1* n2 n3 | settle | trace d | in-sync | file n1 n2 n3 | running n1! n2 n3 | "
     "metric watch_event_to_runtime 1 | metric runtime_commands/drain/applied 1 | desired n1 n2 n3 | settle | "
     "trace y | running n1 n2 n3 | pass resync | trace R | written 0"},
    {"out is parked without a reload and comes back so",
     "verification untested | desired n2 n3 | settle | trace mFR | file n1* n2 n3 | running n1* n2 n3 | in-sync | "
     "verification verified | metric watch_event_to_commit 1 | metric servers_configured/be 2 | "
     "metric servers_parked/be 1 | desired n1 n2 n3 | settle | trace FR | running n1 n2 n3 | pass resync | trace R | "
     "commits 0 | reloads 0 | logged runtime updates verified"},
    {"the log counts no parked ones",
     "desired n2 n3 | settle | running n1* n2 n3 | forget | refresh | settle | logged HAProxy is in sync | "
     "logged servers=2"},
    {"from a drain to the park",
     "desired n1* n2 n3 | settle | desired n2 n3 | settle | trace dmFR | running n1* n2 n3 | desired n1 n2 n3 | "
     "settle | trace FR | running n1 n2 n3 | reloads 0"},
    {"several go one after the other",
     "desired n3 | settle | trace mmFFR | running n1* n2* n3 | metric watch_event_to_commit 1 | in-sync"},
    {"a new server is a transaction and later ones gather",
     "desired n1 n2 n3 n4 | settle | trace B+CR | desired n1 n2 n3 n4 n5 | settle | desired n1 n2 n3 n4 n5 n6 | "
     "settle | trace | pass 1900 | count B 0 | pass 200 | count B 1 | pass reload+1000 | settled n1 n2 n3 n4 n5 n6 | "
     "commits 2"},
    /* What takes effect at once does not wait for a transaction that has to. */
    {"while a transaction waits the runtime update goes on",
     "desired n1 n2 n3 n4 | settle | pass reload+500 | clear | desired n2 n3 n4 n5 | settle | trace mFR | "
     "running n1* n2 n3 n4 | pass reload+4000 | settled n1* n2 n3 n4 n5"},
    {"a transaction takes drains into the file",
     "desired n1* n2 n3 n4 | settle | trace dB~+CR | pass reload+1000 | settled n1* n2 n3 n4 | clear | "
     "desired n2 n3 n4 | settle | trace | desired n1 n2 n3 n4 | settle | trace FR | settled n1 n2 n3 n4"},
    /* And the one that comes leaves again before it came. */
    {"all leave for one that leaves for another",
     "desired n4 | until C | settle | desired n5 | settle | running n1 n2 n3 | pass reload-500 | running n1 n2 n3 | "
     "pass 2reload+3000 | settled n1* n2* n3* n4* n5 | count md 0"},
    /* The file has the new one already, and nothing but writes is left to do. */
    {"all leave while the reload for a new one is awaited",
     "desired n1 n2 n3 n4 | until C | settle | desired n4 | settle | running n1 n2 n3 | pass reload-500 | "
     "running n1 n2 n3 | pass 1500 | settled n1* n2* n3* n4 | commits 1"},
    {"nothing is written while a call is under way",
     "set call-held | desired n2 n3 | settle | calling | trace | unset call-held | settle | trace mFR"},
    {"the desired state turns while a call is under way",
     "set call-held | desired n1* n2 n3 | desired n1 n2 n3 | unset call-held | settle | trace dy | running n1 n2 n3 | "
     "in-sync"},
    {"a call that fails is made again",
     "fault d x2 | desired n1* n2 n3 | settle | out-of-sync | unready runtime command:  | pass 5000 | "
     "running n1! n2 n3 | in-sync | ready in sync"},
    /* The API is well, but cannot reach HAProxy: what cannot be sent is written. */
    {"a call that always fails becomes a commit",
     "fault d 500 | desired n1* n2 n3 | pass 20000 | settled n1* n2 n3 | commits 1 | count d <=3"},
    /* Its read-back would show what the call made of it. */
    {"a desired state that turns while it is written",
     "desired n2 n3 | until b | desired n1 n2 n3 | not-calling | settle | running n1 n2 n3 | verification verified | "
     "commits 0 | in-sync"},
    {"a call for which there is no server",
     "fault d 404 | desired n1* n2 n3 | pass 20000 | settled n1* n2 n3 | count d <=3"},
    /* The write goes on where the call does not: it does the same, a little later. */
    {"a call that fails does not stop the write", "fault m | desired n2 n3 | pass 100 | running n1* n2 n3 | fast 1"},

    /* ---- what may not be ---- */
    {"a transaction that is refused holds up no runtime update",
     "forbidden n9 | desired n1 n2 n3 n9 | settle | pass 5000 | unready rejected the change | clear | "
     "desired n1 n3 n9 | settle | running n1 n2* n3 | file n1 n2* n3 | fast 1 | commits 0"},
    {"what the loss limit holds is not sent away",
     "world 1 braked routes | have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | in-sync | clear | desired n3 | "
     "settle | running n1 n2 n3 | file n1 n2 n3 | pass resync+1000 | running n1* n2* n3 | "
     "metric watch_event_to_runtime 0"},
    /* It was sent away, and the loss limit holds it before the file says so. */
    {"what is held serves",
     "world 1 braked routes | have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | in-sync | clear | "
     "desired n1* n2* n3 | settle | running n1! n2! n3 | desired n3 | settle | running n1 n2 n3 | file n1 n2 n3 | "
     "pass resync-1000 | running n1 n2 n3 | pass 2000 | running n1* n2* n3"},
    {"the last one is held", "desired | pass 2resync | running n1 n2 n3 | fast 0"},
    /* The API says that it was written, HAProxy was sent it already, and the file knows nothing of it. */
    {"a runtime update that is not in the file becomes a transaction",
     "set forgets-fast | desired n2 n3 n4 | pass 2reload+15000 | fast <=2 | settled n1* n2 n3 n4 | desired n2 n4 | "
     "pass 2reload+15000 | settled n1* n2 n3* n4 | fast <=4"},

    /* ---- parked ones ---- */
    {"the longest parked goes with the next transaction",
     "desired n2 n3 | settle | pass 2hour | file n1* n2 n3 | commits 0 | desired n2 n3 n4 | pass reload+1000 | "
     "settled n2 n3 n4 | commits 1"},
    {"without parking a server stops at once and is removed",
     "world 1 routes no-parking | have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | in-sync | clear | "
     "desired n2 n3 | settle | running n1* n2 n3 | file n2 n3 | pass reload+1000 | settled n2 n3"},

    /* ---- two backends ---- */
    {"a reload for one backend keeps the drains of the other",
     "world 2 routes | have n1 n2 | start | both n1 n2 / n1 n2 | pass 0 | both n1 n2 / n1* n2 | settle | "
     "running-two n1! n2 | both n1 n2 n3 / n1* n2 | pass reload+1000 | settled n1 n2 n3 | settled-two n1* n2 | "
     "commits 1"},
    {"both backends go by the runtime update",
     "world 2 routes | have n1 n2 | start | both n1 n2 / n1 n2 | pass 0 | both n2 / n1 | settle | settled n1* n2 | "
     "settled-two n1 n2* | fast 2 | commits 0"},

    /* The file has all in maintenance that runs, and what runs knows nothing of the one that comes: until the reload both stay. */
    {"all leave for a new one",
     "desired n4 | until C | settle | trace B~~~+CR | running n1 n2 n3 | pass reload-500 | running n1 n2 n3 | "
     "pass 1500 | settled n1* n2* n3* n4 | count md 0"},
    {"all drain for a new one",
     "desired n1* n2* n3* n4 | until C | settle | trace B~~~+CR | running n1 n2 n3 | pass reload-500 | "
     "running n1 n2 n3 | pass 1500 | settled n1* n2* n3* n4 | count md 0"},
    {"a call overtakes a transaction",
     "desired n1 n2 n3 n4 | until C | desired n1* n2 n3 n4 | calling | call | running n1! n2 n3 | busy C | "
     "pass reload+1000 | running n1! n2 n3 n4 | in-sync"},
    {"paused sends nothing", "set paused | desired n1* n2 | pass 2resync | written 0 | count dm 0 | running n1 n2 n3 | "
                             "metric changes_pending/be 2"},
    /* Of the file nothing is sure then, and what is written for it is a conflict; drains need neither. There are six readings of
     * most for each reading, which has pauses. */
    {"a writer who never rests keeps no drain up",
     "set restless | refresh | pass min | looks >=30 | looks <=1000 | desired n1* n2 n3 | settle | running n1! n2 n3 | "
     "desired n1 n2 n3 | settle | running n1 n2 n3 | unlogged cannot read HAProxy's configuration | commits 0 | "
     "reloads 0 | unset restless | pass resync | desired n2 n3 | settle | file n1* n2 n3 | in-sync"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

TEST(a_stream_of_runtime_updates_does_not_hold_up_a_transaction_for_ever)
{
    desired("n1 n2 n3 n4", "ADDED slice");
    pass(100);
    for (int i = 0; w.commits < 2 && i < 200; i++) {
        desired(i % 2 == 0 ? "n2 n3 n4 n5" : "n1 n2 n3 n4 n5", "MODIFIED slice");
        if (w.busy)
            answer(); /* there is always something more to be written */
        while (w.call.busy || (w.busy && step_of() != 'b'))
            w.call.busy ? answer_call() : answer();
        w.now_us += 50000;
        w.at_one_moment = 0;
    }
    ck_assert_msg(w.commits == 2, "%s", buf_str(&w.trace));
    pass(RELOAD_DELAY_MS + 10000);
    ck_assert(in_sync());
}
