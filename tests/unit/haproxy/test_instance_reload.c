/* src/haproxy/instance: reloads of ours, of others and from before the start, followed to their end, and what an
 * earlier run left; in the world of engine_world.h. */
#include "../servers/scenes.h"

/* "behind": the file is older than what the API says; "newer": the API's version is another; "unloaded": so says the
 * file; "await TEXT": in the log; "elapse 500": without a reading of the time; "tick": a reload that is due. */
static bool reload_word(const char *word, char *rest)
{
    if (str_eq(word, "restart-api"))
        restart_api();
    else if (str_eq(word, "behind")) {
        w.version++;
        w.file_version--;
        w.look = NULL; /* nobody can know before the next reading */
    } else if (str_eq(word, "newer"))
        w.version++;
    else if (str_eq(word, "unloaded"))
        w.file_head = "# haproxy-k8s-sync: version 5 is loaded by the next one\n";
    else if (str_eq(word, "await"))
        for (int i = 0; i < 400 && !logged(rest); i++)
            pass(500);
    else if (str_eq(word, "elapse"))
        w.now_us += ms_of(rest) * 1000;
    else if (str_eq(word, "tick"))
        tick_reload();
    else
        return false;
    return true;
}

#define REPEATED(problem, result)                                                                                  \
    "settle | until P | await reload failed | unready " problem " | out-of-sync | mend | unset held | pass min | " \
    "settled n2 | logged reload without a change | commits 2 | metric reloads/" result " 1"
#define PENDING "reload-list pending | start | desired n1 | pass 10000 | "

static const struct scene scenes[] = {
    {"a failed reload is repeated", "synced | fail-reloads 1 | desired n2 | " REPEATED("words of HAProxy", "failed")},
    {"a forgotten reload is repeated",
     "synced | desired n2 | settle | restart-api | " REPEATED("not known any more", "unknown")},
    /* It said that it was 5 s old before 8 s passed. */
    {"a process that may be older than the write does not prove its load",
     "begin 1 routes | desired n1 n2 | settle | restart-api | restart | until P | answer | until i | elapse 8000 | "
     "pass 300 | metric reloads/unknown 1"},
    {"a reload that never ends is repeated",
     "synced | set held | desired n2 | " REPEATED("did not finish in time", "unknown")},
    {"reloads that always fail become rare",
     "synced | fail-reloads 1000000 | desired n2 | pass 10min | commits <=60 | commits >=8 | out-of-sync | "
     "fail-reloads 0 | pass 2min | settled n2"},
    /* The answer to the second commit is lost while the reload of the first is over, and nobody has asked yet. */
    {"an older reload does not vouch for a lost commit",
     "synced | desired n2 | settle | tick | elapse reload | tick | fault C x1 applied | fail-reloads 1 | desired n3 | "
     "settle | pass 5min | settled n3"},
    /* It gathers for 2.5 s. */
    {"a desired state does not wait for a reload",
     "synced | set held | desired n2 | settle | desired n3 | pass 2500 | commits 2 | unset held | pass 5000 | "
     "settled n3"},
    {"another writer's failed reload is repeated",
     "synced | behind | run n4 | pass resync+10000 | settled n1 | commits 1"},
    {"a file that always lags is not reloaded all the time",
     "synced | set stale-file | newer | pass 20min | commits <=80 | unset stale-file | pass 2min | settled n1"},
    {"what was written and not loaded is loaded",
     "unloaded | start | desired n1 | settle | out-of-sync | logged haproxy.cfg was written and not loaded | "
     "pass min+resync | settled n1 | commits 1"},
    {"one that failed before the start is repeated",
     "reload-list failed | start | desired n1 | settle | trace RHLBCR | pass 5000 | settled n1 | logged bad"},
    {"one that is pending at the start is awaited but keeps nothing up",
     PENDING "out-of-sync | unready result of the last reload | desired n2 | settle | commits 1 | pass 5000 | "
             "settled n2 | clear | pass resync | count H 0"},
    {"it succeeds", PENDING "reload-list succeeded | pass 10000 | settled n1 | commits 0"},
    {"it fails", PENDING "reload-list failed | pass 10000 | settled n1 | commits 1"},
    {"it is forgotten",
     PENDING "reload-list none | pass 10000 | settled n1 | commits 1 | logged list of reloads is empty"},
    {"an API that knows of no reload beside a HAProxy that cannot be read",
     "reload-list none | start | desired n1 | settle | commits 1 | clear | pass resync | commits 1"},
    {"it is pending for ever", PENDING "pass 3min | settled n1"},
};

FIXTURE(world_make_watched, world_end)

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, reload_word);
}

TEST_EACH(history_that_cannot_be_read_now_is_asked_again, 6)
{
    static const int statuses[] = {0, 401, 403, 429, 500, 503};
    w.reload_list = reload_list("failed");
    fault((struct fault){.step = 'H', .status = statuses[_i], .times = 3});
    instance_start(w.target.instance);
    desired("n1", "list");
    settle();
    ck_assert(!in_sync());
    assert_ready(false, "list of reloads");
    pass(MINUTES_MS);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 1);
}

TEST_EACH(history_that_this_api_does_not_have_keeps_nothing_up, 4)
{
    static const int statuses[] = {404, 405, 500, 200};
    fault((struct fault){.step = 'H', .status = statuses[_i]});
    instance_start(w.target.instance);
    desired("n2", "list");
    pass(4 * MINUTES_MS);
    assert_settled("n2");
}

TEST_EACH(dead_transactions_are_searched_for_but_need_not_be_found, 6)
{
    static const int statuses[] = {0, 401, 404, 429, 500, 200};
    fault((struct fault){.step = 'L', .status = statuses[_i]});
    instance_start(w.target.instance);
    desired("n2", "list");
    settle();
    bool away = statuses[_i] != 404 && statuses[_i] != 429; /* 200: but no list */
    ck_assert_uint_eq(count('B'), away ? 0 : 1);
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(count('L'), 1);
}

/* A begin that is refused with 500 may have left a transaction that no commit ends. The first search for it may fail (times 1), and
 * the one after the next commit (times 2), too. */
TEST_RANGE(what_a_refused_begin_left_is_searched_for_until_it_was, 1, 3)
{
    world_in_sync();
    fault((struct fault){.step = 'B', .status = 500, .times = 1});
    fault((struct fault){.step = 'L', .status = 500, .times = _i});
    unsigned before = count('L');
    desired("n2", "event");
    settle();
    ck_assert_uint_eq(count('L') - before, 1);
    pass(20000 + RESYNC_MS);
    ck_assert_uint_eq(w.commits, 1);
    assert_settled("n2");
    ck_assert_uint_eq(count('L') - before, (unsigned)_i + 1);
    pass(3 * RESYNC_MS);
    ck_assert_uint_eq(count('L') - before, (unsigned)_i + 1);
}
