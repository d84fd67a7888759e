/* The servers engine on two backends: whatever happens, both end in sync, and none loses its last live server; in the
 * world of engine_world.h. */
#include "rules_world.h"
#include "../dice.h"
#include "../effort.h"
#include "../test.h"

/* ---- anything at any time ---- */

/* ALLOW_EMPTY is off: whatever is asked for, no backend ever loses its last server that is in rotation. */
static void some_server_is_live(void)
{
    for (size_t i = 0; i < w.backends; i++) {
        bool live = false;
        char copy[SET_BYTES], *rest = copy;
        set_copy(copy, w.file.of[i]);
        for (char *word; (word = strsep(&rest, " ")) != NULL;)
            live = live || (word[0] != '\0' && strchr(word, '*') == NULL);
        ck_assert_msg(live, "backend %s has no live server: \"%s\"", backend_names[i], w.file.of[i]);
    }
}

static void something_happens(struct dice *d)
{
    static const char steps[] = "RstwHLB+-~CDP";
    static const int statuses[] = {0, 400, 401, 404, 406, 409, 429, 500, 503, 200};
    static const char *const desired_states[] = {"n1", "n2",     "n1 n2",      "n2 n3",        "",  "n1 n2 n3 n4",
                                                 "?",  "n1* n2", "n1 n2* n3*", "n1 n2 n3* n4", "n9"};
    char step;
    int status;
    switch (dice_below(d, 12)) {
    case 0:
    case 1:
        mend();
        step = steps[dice_below(d, 13)];
        status = statuses[dice_below(d, 10)];
        if (status == 200 && strchr("+-~C", step) != NULL)
            break; /* what makes no sense is one thing, to be lied to another */
        fault((struct fault){
            .step = step, .status = status, .dead = dice_below(d, 4) == 0, .times = (int)dice_below(d, 4)});
        break;
    case 2:
        w.fail_reloads = dice_below(d, 3);
        break;
    case 3:
        restart_api();
        break;
    case 4:
        instance_refresh(w.target.instance);
        break;
    case 5:
        w.paused = dice_below(d, 3) == 0;
        break;
    case 6:
        w.forbidden = dice_below(d, 2) == 0 ? "n9" : NULL;
        break;
    case 7:
        stranger(dice_below(d, 2) == 0 ? "n7" : "n1 n2");
        break;
    default:
        desired_of(0, desired_states[dice_below(d, 11)], "dice");
        if (dice_below(d, 2) == 0)
            desired_of(1, desired_states[dice_below(d, 11)], "dice");
        servers_apply(w.target.servers);
    }
}

FIXTURE(NULL, world_end)

TEST_EACH(whatever_happens_both_end_in_sync, effort(40))
{
    struct dice d = {88172645463325252ull + (uint64_t)_i * 104729};
    world_make_with(2, braked());
    w.look = some_server_is_live;
    if (_i % 2 == 1)
        w.target.instance->large_file_bytes = 1;
    instance_start(w.target.instance);
    for (int i = 0; i < 300 && w.reloads < RELOADS_MAX - 100; i++) {
        something_happens(&d);
        if (dice_below(&d, 3) > 0) {
            for (unsigned n = dice_below(&d, 16); n > 0 && w.busy; n--)
                answer();
        } else {
            pass(dice_below(&d, 5000));
        }
    }
    mend();
    w.fail_reloads = 0;
    w.forbidden = NULL;
    w.paused = false;
    desired_both("n1 n5", "n2* n3", "the last");
    pass(25 * MINUTES_MS);
    assert_settled("n1 n5");
    ck_assert(set_eq(w.running.of[1], "n3") || set_eq(w.running.of[1], "n2* n3"));
    unsigned commits = w.commits;
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.commits, commits);
}
