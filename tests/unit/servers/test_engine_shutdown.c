/* The servers engine at the end: what only we know of HAProxy is left in its file at the end, for the next daemon;
 * and what happens where nothing could be left. The world is engine_world.h's. */
#include "scenes.h"

FIXTURE(three_in_sync, world_end)

#define DRAIN_TWO "desired n1* n2* n3 | settle | running n1! n2! n3 | configured n1 n2 n3 | clear | "

static const struct scene scenes[] = {
    {"each drain is left in the file", DRAIN_TWO
     "stop | stopped 0 | settle | stopped 1 | trace FF | configured n1* n2* n3 | running n1* n2* n3 | commits 0 | "
     "logged saved in haproxy.cfg as maintenance for the next leader"},
    /* Its pods were ready again before the next one started. */
    {"the next one brings them back without a reload",
     DRAIN_TWO "stop | settle | again | desired n1 n2 n3 | pass 5000 | settled n1 n2 n3 | commits 0"},
    {"the next one goes on with the drain", DRAIN_TWO
     "stop | settle | again | desired n1* n2 n3 | pass 5000 | in-sync | running n1* n2 n3 | desired n1 n2 n3 | "
     "pass 5000 | settled n1 n2 n3 | commits 0"},
    {"nothing drains nothing is written", "stop | stopped 1 | trace"},
    {"what an operator has drained stays the operators",
     "sign n1! | pass resync+1000 | clear | stop | settle | stopped 1 | trace | configured n1 n2 n3 | "
     "running n1! n2 n3"},
    {"a pause is kept to", DRAIN_TWO
     "set paused | desired n1* n2* n3 | settle | clear | stop | settle | stopped 1 | trace | configured n1 n2 n3"},
    {"after a transaction that was given up", DRAIN_TWO
     "desired n1* n2* n3 n4 | until B | stop | settle | stopped 1 | count F 2 | configured n1* n2* n3 | commits 0"},

    /* ---- it died, and left nothing ---- */
    {"a commit without a drain is the end",
     "desired n1 n2 n3 n4 | until C | clear | stop | settle | stopped 1 | trace C"},
    /* Another writer wrote, and it was not read since. */
    {"after another writer wrote", DRAIN_TWO
     "stranger n1 n2 n3 n7 | stop | settle | stopped 1 | configured n1* n2* n3 n7 | unlogged not saved in haproxy.cfg"},
    {"a drain of unknown origin is an operators while another serves",
     DRAIN_TWO "again | desired n1 n2 n3 | pass 5000 | running n1! n2! n3"},
    {"but not where nothing else is ready",
     DRAIN_TWO "again | desired n1 n2 | pass 5000 | running n1 n2 n3* | in-sync | commits 0"},
    {"maint by hand is nobodys drain", "run n1* n2* n3* | again | desired n1 n2 n3 | pass 5000 | running n1* n2* n3*"},
    /* Only what the start finds is of unknown origin. */
    {"all that an operator drains later stays", "run n1! n2! n3! | pass resync+1000 | running n1! n2! n3!"},

    {"in the middle of a commit, which carries the drains",
     DRAIN_TWO "desired n1* n2* n3 n4 | until C | stop | settle | pass 1000 | stopped 1 | configured n1* n2* n3 n4 | "
               "unlogged not saved in haproxy.cfg | count F 0"},
    {"whose answer is lost",
     DRAIN_TWO "desired n1* n2* n3 n4 | until C | fault C x1 applied | stop | settle | pass 1000 | stopped 1 | "
               "configured n1* n2* n3 n4 | unlogged not saved in haproxy.cfg | count F 0"},
    {"that is refused, and the drains are left after it",
     DRAIN_TWO "desired n1* n2* n3 n4 | until C | fault C 400 x1 | stop | settle | pass 1000 | stopped 1 | "
               "configured n1* n2* n3 | unlogged not saved in haproxy.cfg | count F 2"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

/* One attempt, or another one after another writer wrote; the end does not wait for an API that fails. */
TEST_EACH(an_api_that_fails_is_no_reason_to_stay, 6)
{
    static const int statuses[] = {0, 409, 400, 401, 500, 503};
    play_steps("two drain", DRAIN_TWO, NULL);
    fault((struct fault){.step = 'F', .status = statuses[_i]});
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    assert_trace(statuses[_i] == 409 ? "FRF" : "F");
    ck_assert(logged("not saved in haproxy.cfg"));
}
