/* The servers engine on one HAProxy: a desired state and a refresh at any time, drift, a hold, a refusal, and the
 * latency of an event; in the world of engine_world.h. */
#include "scenes.h"

FIXTURE(world_make_watched, world_end)

static double sum_of_latencies(void)
{
    cleanup(buf_fini) struct buf page = {0};
    metrics_print(w.metrics.registry, &page);
    const char *at = strstr(buf_str(&page), "watch_event_to_commit_seconds_sum ");
    ck_assert_ptr_nonnull(at);
    return strtod(strchr(at, ' '), NULL);
}

/* "latency <1" seconds in all; "meanwhile 20000" ms pass while nothing is answered. */
static bool latency_word(const char *word, char *rest)
{
    if (str_eq(word, "latency"))
        expect_number(sum_of_latencies(), rest);
    else if (str_eq(word, "meanwhile"))
        w.now_us += ms_of(rest) * 1000;
    else
        return false;
    return true;
}

static const struct scene scenes[] = {
    /* ---- all is well ---- */
    {"nothing is written before the first desired state",
     "start | pass 0 | trace RH | pass resync | trace R | out-of-sync | unready waiting for Kubernetes"},
    {"in sync from the start", "synced | commits 0 | pass resync | trace R | metric reconciles/in_sync 2"},
    {"a change is one transaction and its reload is followed",
     "synced | desired n2 because MODIFIED slice | out-of-sync | settle | trace B+-CR | "
     "ready committed, waiting for reload r-1 | out-of-sync | pass reload+1000 | trace PR | settled n2 | "
     "logged cause=\"MODIFIED slice\" | unlogged taking over the backend | metric reloads/succeeded 1"},
    {"a takeover names what it removes", "start | desired n2 | pass min | settled n2 | logged taking over the backend"},

    /* ---- what does not stick, and strangers ---- */
    {"a change that does not stick is not hammered",
     "synced | set stubborn | desired n2 | pass reload+1000 | commits 1 | unready committed change missing | "
     "pass 30min | commits >=3 | commits <=30 | out-of-sync | unset stubborn | pass 6min | settled n2"},
    {"a desired state while our commit is read back is no sign that it did not stick",
     "synced | desired n2 | until R | desired n3 | settle | trace B+-CR | pass 5000 | settled n3 | commits 2 | "
     "unlogged committed change missing"},
    {"drift is repaired and not put down to an old event",
     "synced | desired n2 because old event | pass 5000 | forget | stranger n7 | pass resync+5000 | settled n2 | "
     "logged backend changed | unlogged old event"},

    /* ---- hold, refuse, wait ---- */
    {"hold keeps the last good servers",
     "synced | desired | settle | trace | ready keeping the last servers | out-of-sync | pass 10min | "
     "transactions 0 | metric reconciles/no_endpoint 1 | desired n2 | pass 5000 | settled n2"},
    {"hold repeats a failed reload",
     "synced | fail-reloads 1 | desired n2 | settle | desired | ready keeping the last servers | pass 1500 | "
     "unready reload failed | pass 10000 | ready keeping the last servers | running n2 | out-of-sync"},
    {"hold is not ready while the api is away",
     "synced | desired | fault R | pass resync | unready cannot read | mend | pass 15000 | "
     "ready keeping the last servers"},
    {"latency is that of the oldest event that waits",
     "synced | fault C 400 x1 | desired n2 | until + | meanwhile 20000 | desired n3 | pass min | settled n3 | "
     "metric watch_event_to_commit 1 | latency >20"},
    {"latency is that of the oldest event that a pause held up",
     "synced | fault B 503 x1 after 20000 | desired n2 | pass 15000 | desired n3 | pass 15000 | settled n3 | "
     "latency >20"},
    {"latency of an event during a write is its own",
     "synced | desired n2 | until + | meanwhile 20000 | desired n3 | pass 5000 | settled n3 | "
     "metric watch_event_to_commit 2 | latency <23"},
    {"refuse writes nothing until it is mended",
     "synced | set unsupported | refresh | desired n2 | pass 10min | transactions 0 | out-of-sync | "
     "unready not writing to HAProxy | metric reconciles/refused <=23 | unset unsupported | pass resync+5000 | "
     "settled n2"},
    {"refuse follows the reload that is pending",
     "synced | desired n2 | until R | set unsupported | pass 5000 | metric reloads/succeeded 1 | "
     "metric reconciles/refused <=2 | unready not writing to HAProxy | out-of-sync | unset unsupported | "
     "pass resync | settled n2"},
    {"undecided writes nothing",
     "synced | desired ? | pass min | transactions 0 | out-of-sync | desired n1 | settled n1"},

    /* ---- desired states and signals at any time ---- */
    {"a comparison ends every wait",
     "synced | fault B 503 x1 after 3600000 | desired n2 | pass min | commits 0 | refresh | settle | commits 1 | "
     "fault + 422 x2 | desired n3 | pass 2500 | commits 1 | refresh | settle | commits 2"},
    {"what was refused is tried again when the file changed",
     "synced | pass resync-1000 | fault + 422 | desired n2 | settle | stranger n1 n4 | trace B+DRB+DR | pass 1500 | "
     "trace RB+DR"},

    /* An edit by hand that leaves the version as it is: what stuck once is not said not to stick. */
    {"drift at the version of our own commit is repaired at once",
     "synced | desired n2 | pass 5000 | settled n2 | have n2 n9 | clear | refresh | settle | trace RB-CR | "
     "pass 5000 | settled n2 | unlogged committed change missing"},
    /* Another desired state: soon; another version: now; a stream of desired states: one a second. */
    {"what was refused is tried again when something changed",
     "synced | fault + 422 | desired n2 | settle | trace B+DRB+DR | desired n3 | settle | trace | pass 1000 | trace "
     "B+DR | "
     "stranger n1 n4 | refresh | settle | trace RB+DR | times 50 desired n6; pass 100; desired n5; pass 100 | "
     "count B <=10"},

    /* ---- removals, and all else, where they are refused together ---- */
    {"an addition that is refused holds up no removal",
     "have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | forbidden n9 | clear | desired n1 n2 n9 | settle | "
     "trace B+-CDRB+CDRB-CR | file n1 n2 | logged trying the removals apart | pass reload+1000 | running n1 n2 | "
     "unlogged committed change missing | commits 1 | pass min | transactions <=12 | forbidden | pass 10min | "
     "settled n1 n2 n9"},
    {"a removal that is refused holds up no addition",
     "have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | fault - 422 | clear | desired n1 n2 n4 | settle | "
     "trace B+-DRB+CR | file n1 n2 n3 n4 | pass reload+1000 | running n1 n2 n3 n4 | out-of-sync | "
     "unlogged committed change missing | mend | pass 10min | settled n1 n2 n4"},
    {"a removal alone has no other part",
     "have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | fault - 422 | clear | desired n1 n2 | settle | trace B-DR"},
    {"they are in one write again after ten minutes",
     "have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | fault - 422 x1 | desired n1 n2 n4 | pass 9min | "
     "settled n1 n2 n4 | clear | desired n1 n2 n5 | settle | trace B+CR | pass 9min | settled n1 n2 n5 | clear | "
     "desired n1 n2 n6 | settle | trace B+-CR"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, latency_word);
}

/* What falls due while a step is at work is neither lost nor left to the next comparison. */
TEST_EACH(a_slow_machine_misses_nothing, 5)
{
    static const unsigned slow_us[] = {100, 1000, 10000, 60000, 130000};
    instance_start(w.target.instance);
    w.slow_us = slow_us[_i];
    w.fail_reloads = 1;
    desired("n2", "event");
    pass(RESYNC_MS - 10000);
    w.slow_us = 0;
    settle();
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 2);
}

TEST_EACH(another_writer_in_each_step, 8)
{
    static const char steps[] = "RstwB+-C";
    world_in_sync();
    desired("n2", "event");
    instance_refresh(w.target.instance);
    until(steps[_i]);
    stranger("n7 n8");
    pass(MINUTES_MS);
    assert_settled("n2");
}

TEST_EACH(latency_is_that_of_what_was_written, 3)
{
    static const char *const without_a_write[] = {"", "?", "n1"};
    world_in_sync();
    desired(without_a_write[_i], "event");
    pass(10 * MINUTES_MS);
    desired("n2", "event");
    pass(5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.metrics.watch_event_to_commit, NULL), 1);
    ck_assert_double_lt(sum_of_latencies(), 1);
}

TEST_EACH(a_desired_state_in_each_step, 11)
{
    static const char steps[] = "RstwHLB+-CP";
    instance_start(w.target.instance);
    desired("n2", "one");
    until(steps[_i]);
    desired("n3", "two");
    pass(MINUTES_MS);
    assert_settled("n3");
    ck_assert_uint_le(w.commits, 2);
}

TEST_EACH(the_first_desired_state_in_each_step, 5)
{
    static const char steps[] = "RstwH";
    instance_start(w.target.instance);
    until(steps[_i]);
    desired("n3", "list");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(w.commits, 1);
}

TEST_EACH(a_comparison_in_each_step, 11)
{
    static const char steps[] = "RstwHLB+-CP";
    instance_start(w.target.instance);
    desired("n2", "one");
    until(steps[_i]);
    instance_refresh(w.target.instance);
    w.now_us += RESYNC_MS * 1000;
    fire(virtual_next_timer(clock_mono_ms()));
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 1);
}
