/* The servers engine: what the running HAProxy says of itself: drift, health checks, and states that an operator set;
 * in the world of engine_world.h. */
#include "scenes.h"

#include "../test.h"

/* ---- drift ---- */

FIXTURE(three_in_sync, world_end)

/* -1: there is no sample. */
static double servers_up(void)
{
    cleanup(buf_fini) struct buf page;
    buf_init(&page, 0);
    metrics_print(w.telemetry.registry, &page);
    return strstr(buf_str(&page), "servers_up{") == NULL ? -1
                                                         : metric_value(w.telemetry.servers_up, "be", API_URL, NULL);
}

static bool up_word(const char *word, char *rest)
{
    if (str_eq(word, "up"))
        expect_number(servers_up(), rest);
    return str_eq(word, "up");
}

/* HAProxy has obeyed, and a look shows it, before the answer is there. */
#define OBEYED_BEFORE_THE_ANSWER "set call-held | desired n2 n3 | sign n1* | pass resync | calling | "

#define ASSERT_IT_WAS_OURS                                                                                 \
    "unset call-held | pass 5000 | running n1* n2 n3 | file n1* n2 n3 | desired n1 n2 n3 | pass resync | " \
    "settled n1 n2 n3 | unlogged set by an operator | "

static const struct scene scenes[] = {
    /* ---- drift ---- */
    {"haproxy runs something else",
     "run n1 n2 | pass resync | out-of-sync | commits 0 | pass 10000 | commits 1 | settled n1 n2 n3 | "
     "logged running HAProxy differs from haproxy.cfg | metric drifts 1"},
    {"an empty backend is no riddle",
     "world routes | have | start | desired n1 | pass reload+1000 | settled n1 | unlogged cannot be read | "
     "logged verified=true | verification untested"},
    {"a haproxy that is down is not in sync",
     "set down | pass resync+2000 | out-of-sync | unready is it running? | unset down | pass resync+2000 | in-sync | "
     "ready in sync | written 0"},
    /* What is under way may last as long as a request, or a reload, that hangs. */
    {"what is desired anew while it is read is not in sync",
     "until R | in-sync | desired n1 n2 n3 n4 | out-of-sync | pass resync | settled n1 n2 n3 n4"},
    {"a drift that no reload mends is tried ever less often",
     "set lies | run n1 n2 | pass hour | commits >=3 | commits <=40"},
    {"a parked server that runs is told to stop",
     "desired n2 n3 | settle | run n1 n2 n3 | pass resync | running n1* n2 n3 | commits 0"},

    /* ---- health checks ---- */
    {"what a health check calls down is not up",
     "up 3 | failing n1,n3, | pass resync | up 1 | metric servers_desired/be 3 | in-sync | "
     "ready in sync; HAProxy's health checks report 2 of 3 desired servers DOWN\n | failing n1,n2,n3, | pass resync | "
     "up 0 | ready report 3 of 3 desired servers DOWN\n | failing | pass resync | ready in sync\n | pass resync | up "
     "3"},
    {"only what is desired counts as up",
     "desired n1 n2 n3* | settle | up 2 | failing n1, | pass resync | up 1 | failing | pass 2resync | desired n1 n2 | "
     "settle | up 2 | failing n3,n1, | pass resync | up 1 | desired n1 n2 n3 | settle | up 1"},

    /* ---- an operator's states ---- */
    /* Who set what is judged by what is desired: once that is known, by a reading that finds what was there already, too. */
    {"what an operator sets while nothing is decided",
     "desired ? | sign n1! | pass resync+1000 | metric servers_overridden/be 0 | desired n1 n2 n3 | pass 2resync | "
     "running n1! n2 n3 | ready overridden: n1 is in drain"},
    {"an operators state is left alone and shown",
     "run n1! n2 n3* | pass resync | running n1! n2 n3* | in-sync | ready overridden: n1 is in drain | "
     "metric servers_overridden/be 2 | logged set by an operator | forget | pass 5resync | "
     "unlogged set by an operator | run n1 n2 n3 | pass resync | metric servers_overridden/be 0 | running n1 n2 n3 | "
     "count dmy 0"},
    {"our reload does not end an operators state",
     "run n1! n2 n3 | pass resync | desired n1 n2 n3 n4 | pass reload+1000 | running n1! n2 n3 n4 | run n1 n2 n3 n4 | "
     "pass 2resync | running n1 n2 n3 n4"},
    {"a takeover by the runtime update names each once",
     "world routes | have n1 n2 n3 | start | desired n3 | until F | logged server=n1 | "
     "logged taking over the backend | logged server=n2 | forget | settle | file n1* n2* n3 | "
     "unlogged taking over the backend"},
    {"a call that is seen before its answer is ours", OBEYED_BEFORE_THE_ANSWER ASSERT_IT_WAS_OURS},
    {"a call whose answer is lost is ours", OBEYED_BEFORE_THE_ANSWER "fault m x1 | " ASSERT_IT_WAS_OURS},
    {"a call whose answer is lost and that is not wanted any more", OBEYED_BEFORE_THE_ANSWER
     "fault m x1 | desired n1 n2 n3 | unset call-held | pass resync | settled n1 n2 n3 | unlogged set by an operator"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, up_word);
}

TEST(another_writers_commit_whose_reload_is_still_to_come)
{
    set_copy(w.have.of[0], "n1 n2 n3 n9*");
    w.file = w.have;
    w.file_version = ++w.version;
    pass(RESYNC_MS);
    ck_assert(!in_sync());
    w.running = w.file;
    w.pid++;
    pass(10000);
    ck_assert(in_sync());
    ck_assert_uint_eq(w.commits, 0);
}

/* ---- health checks ---- */

TEST(what_cannot_be_read_has_no_sample)
{
    w.unreadable = true;
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), -1);
    w.unreadable = false;
    pass(2 * RESYNC_MS);
    ck_assert_double_eq(servers_up(), 3);
    fault((struct fault){.step = 'R', .status = 0});
    pass(RESYNC_MS);
    ck_assert_double_eq(servers_up(), -1);
    desired("n1 n2", "DELETED slice");
    ck_assert_msg(servers_up() < 0, "what was read long ago");
}

/* ---- an operator's states ---- */

TEST(a_drain_from_before_our_start_is_ours_where_it_fits)
{
    world_end();
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.have;
    set_copy(w.running.of[0], "n1! n2! n3");
    instance_start(w.target.instance);
    desired("n1* n2 n3", "the first list");
    pass(0);
    ck_assert(in_sync());
    assert_ready(true, "n2 is in drain");
    desired("n1 n2 n3", "MODIFIED slice");
    settle();
    assert_running("n1 n2! n3");
}

/* A look reads, HAProxy obeys and the call is answered, and only then comes what the look has read. */
static void crossed_by_a_drain(void)
{
    w.call.held = true;
    desired("n1* n2 n3", "MODIFIED slice");
    until('v');
    w.crossing = true;
    answer();
    w.crossing = w.call.held = false;
}

TEST(a_call_that_crosses_a_look_is_made_once)
{
    crossed_by_a_drain();
    pass(RESYNC_MS);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(count('d'), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.watch_event_to_runtime, NULL), 1);
}

TEST(what_a_crossed_look_could_not_show_is_looked_at_again)
{
    crossed_by_a_drain();
    restart_haproxy();
    pass(1000);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(count('d'), 2);
}
