/* The servers engine: draining, and servers that are not removed all at once; in the world of engine_world.h. */
#include "rules_world.h"
#include "scenes.h"

FIXTURE(NULL, world_end)

#define FOUR_SERVERS "begin 1 braked | desired n1 n2 n3 n4 | pass 5000 | settled n1 n2 n3 n4 | clear | forget | "

static const struct scene scenes[] = {
    /* ---- draining ---- */
    {"draining is maintenance and then removal",
     "begin 1 | desired n1 n2 | pass 5000 | clear | desired n1* n2 | settle | trace B~CR | pass 5000 | "
     "settled n1* n2 | logged changed=\"n1(maintenance on (draining))\" why=\"n1: a reason\" | "
     "metric servers_draining/be 1 | metric servers_desired/be 1 | clear | desired n2 | pass 5000 | settled n2 | "
     "desired n1 n2 | pass 5000 | settled n1 n2"},
    {"back from draining",
     "begin 1 | desired n1 n2 | pass 5000 | desired n1* n2 | pass 5000 | desired n1 n2 | pass 5000 | settled n1 n2 | "
     "logged changed=\"n1(maintenance off)\""},
    {"a draining server that is not there is not made", "begin 1 | desired n1 n2* | pass 5000 | trace | settled n1"},

    /* ---- the loss limit ---- */
    {"too many at once are held and then let go", FOUR_SERVERS
     "desired n1 because three are gone | settle | trace | out-of-sync | "
     "ready 3 of 4 live servers lost unannounced within one RESYNC_PERIOD | metric servers_removal_delayed/be 3 | "
     "logged level=warn msg=\"too many servers would be removed; removal delayed\" | pass resync-1000 | "
     "running n1 n2 n3 n4 | pass 1000+5000 | settled n1 | logged cause=\"three are gone\" | "
     "metric servers_removal_delayed/be 0"},
    {"what comes back in time was never gone", FOUR_SERVERS
     "desired n1 | pass resync/2 | desired n1 n2 n3 n4 | pass 5000 | settled n1 n2 n3 n4 | pass 2resync | commits 1"},
    {"half of them is not too many", FOUR_SERVERS "desired n1 n2 | pass 5000 | settled n1 n2"},
    {"new ones do not wait for the loss limit", FOUR_SERVERS
     "desired n5 n6 | pass 5000 | running n1 n2 n3 n4 n5 n6 | out-of-sync | "
     "ready 4 of 4 live servers lost unannounced within one RESYNC_PERIOD | "
     "logged added=n5(10.0.0.5:80),n6(10.0.0.6:80) | logged removal_delayed=\"n1, n2, n3, n4\" | pass resync+5000 | "
     "settled n5 n6 | unlogged keeps reverting"},
    /* With them the old ones are just half: that makes their loss no smaller. */
    {"new ones do not release the loss limit",
     "begin 1 braked | desired n1 n2 | pass 5000 | desired n3 n4 | pass resync-1000 | running n1 n2 n3 n4 | "
     "pass 1000+5000 | settled n3 n4"},
    /* The API takes the new one and forgets it, while the loss limit holds the others: no reason to write it again and again. */
    {"what does not stick beside the loss limit is left alone", FOUR_SERVERS
     "set stubborn | desired n1 n5 | pass resync/6 | logged committed change missing | commits <=3 | unset stubborn | "
     "pass 2min | settled n1 n5"},
    {"what is undecided holds nothing",
     FOUR_SERVERS "desired n1 | settle | metric servers_removal_delayed/be 3 | desired ? | settle | "
                  "metric servers_removal_delayed/be 0 | metric servers_configured/be 4"},
    {"a drain is announced",
     FOUR_SERVERS "desired n1 n2* n3* n4* | pass 5000 | settled n1 n2* n3* n4* | desired n1 | pass 5000 | settled n1"},

    /* One server each 300 ms, of nine: half of them may go within RESYNC_PERIOD. Until just before the fifth one's own time. */
    {"one by one is no way round the limit",
     "begin 1 braked | desired n1 n2 n3 n4 n5 n6 n7 n8 n9 | pass 5000 | desired n2 n3 n4 n5 n6 n7 n8 n9 | pass 300 | "
     "desired n3 n4 n5 n6 n7 n8 n9 | pass 300 | desired n4 n5 n6 n7 n8 n9 | pass 300 | desired n5 n6 n7 n8 n9 | "
     "pass 300 | desired n6 n7 n8 n9 | pass 300 | desired n7 n8 n9 | pass 300 | desired n8 n9 | pass 300 | "
     "desired n9 | pass 300 | pass resync-1300 | running n5 n6 n7 n8 n9 | metric servers_removal_delayed/be 4 | "
     "ready 8 of 9 live servers lost unannounced within one RESYNC_PERIOD | ready ; removal delayed: n5 until  | "
     "pass 6300 | settled n9"},
    {"nothing left is for ALLOW_EMPTY to decide", "begin 1 braked empty | desired | pass 5000 | settled"},
    {"so it stays without", "begin 1 braked | desired | pass 5000 | ready keeping the last servers"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

TEST(an_old_pause_does_not_hide_the_end_of_the_loss_limit)
{
    struct plan_rules rules = braked();
    rules.loss_window_ms = RESYNC_MS / 6;
    begin_with(1, rules);
    desired("n1 n2 n3 n4", "event");
    pass(5000);
    for (int i = 0; i < 3; i++) {
        stranger("n1 n2 n3 n7");
        pass(RESYNC_MS + 5000);
    }
    assert_ready(false, "another writer keeps reverting the daemon's changes");
    pass(12 * MINUTES_MS);
    assert_settled("n1 n2 n3 n4");
    buf_clear(&w.trace);
    until('R'); /* a resync, so that the next one is later than the loss limit's end */
    desired("n1", "three are gone");
    pass(RESYNC_MS / 6 + 3000);
    assert_settled("n1");
}
