/* The servers engine: what the running HAProxy says of itself: drift, health checks, and states that an operator set;
 * in the world of engine_world.h. */
#include "scenes.h"

FIXTURE(three_in_sync, world_end)

/* -1: there is no sample. */
static double servers_up(void)
{
    cleanup(buf_fini) struct buf page = {0};
    metrics_print(w.metrics.registry, &page);
    return strstr(buf_str(&page), "servers_up{") == NULL ? -1 : metric_value(w.metrics.servers_up, "be", API_URL, NULL);
}

static bool up_word(const char *word, char *rest)
{
    if (str_eq(word, "up"))
        expect_number(servers_up(), rest);
    return str_eq(word, "up");
}

/* A reading begins, HAProxy obeys and the call is answered, and only then comes what was read. */
#define CROSSED_BY_A_DRAIN \
    "set call-held | desired n1* n2 n3 | until v | set crossing | answer | unset crossing | unset call-held | "

/* HAProxy has obeyed, and a reading shows it, before the answer is there. */
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
    {"what failed while haproxy did not run does not wait once it runs",
     "set down | fail-reloads 1000000 | desired n1 n2 n3 n4 | pass hour | out-of-sync | fail-reloads 0 | unset down | "
     "restart | pass resync+5000 | settled n1 n2 n3 n4"},
    /* What is under way may last as long as a request, or a reload, that hangs. */
    {"what is desired anew while it is read is not in sync",
     "until R | in-sync | desired n1 n2 n3 n4 | out-of-sync | pass resync | settled n1 n2 n3 n4"},
    {"a drift that no reload mends is tried ever less often",
     "set lies | run n1 n2 | pass hour | commits >=3 | commits <=40"},
    {"a parked server that runs is sent the command to stop",
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
    {"a call whose answer is lost and that is not desired any more", OBEYED_BEFORE_THE_ANSWER
     "fault m x1 | desired n1 n2 n3 | unset call-held | pass resync | settled n1 n2 n3 | unlogged set by an operator"},

    {"another writer's commit whose reload is still to come",
     "write n1 n2 n3 n9* | pass resync | out-of-sync | restart | pass 10000 | in-sync | commits 0"},
    {"what cannot be read has no sample",
     "set unreadable | pass resync | up -1 | unset unreadable | pass 2resync | up 3 | fault R | pass resync | up -1 | "
     "desired n1 n2 | up -1"},
    {"a drain from before our start is ours where it fits",
     "world 1 routes | have n1 n2 n3 | run n1! n2! n3 | start | desired n1* n2 n3 | pass 0 | in-sync | "
     "ready n2 is in drain | desired n1 n2 n3 | settle | running n1 n2! n3"},
    {"a call that crosses a reading is made once",
     CROSSED_BY_A_DRAIN "pass resync | running n1! n2 n3 | count d 1 | metric watch_event_to_runtime 1"},
    {"what a crossed reading could not show is read again",
     CROSSED_BY_A_DRAIN "restart | pass 1000 | running n1! n2 n3 | count d 2"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, up_word);
}
