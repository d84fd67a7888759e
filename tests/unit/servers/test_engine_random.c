/* The servers engine on one HAProxy: whatever happens, it ends in sync; in the world of engine_world.h. */
#include "../engine_world.h"
#include "../dice.h"
#include "../effort.h"
#include "../test.h"

/* ---- anything at any time ---- */

/* By hand, which the API notices. */
static void edit_unsupported(bool is_there)
{
    if (w.unsupported == is_there)
        return;
    w.unsupported = is_there;
    w.file_version += w.file_version == w.version;
    w.version++;
    w.transaction = 0;
}

static void something_happens(struct dice *d)
{
    static const char steps[] = "RstwHLB+-CDP";
    static const int statuses[] = {0, 0, 400, 401, 404, 406, 409, 422, 429, 500, 502, 503};
    static const char *const desired_states[] = {"n1", "n2", "n1 n2", "n2 n3", "", "n1 n2 n3 n4", "?"};
    struct fault f;
    switch (dice_below(d, 12)) {
    case 0:
    case 1:
        mend();
        f = (struct fault){.step = steps[dice_below(d, 12)],
                           .status = statuses[dice_below(d, 12)],
                           .applied = dice_below(d, 2) == 0,
                           .dead = dice_below(d, 4) == 0,
                           .times = (int)dice_below(d, 4)};
        /* What was carried out is never answered by another refusal than the one of
     * libcurl's second try. */
        f.applied = f.applied && (f.status < 400 || f.status == 404 || f.status >= 500);
        fault(f);
        break;
    case 2:
        mend();
        break;
    case 3:
        w.fail_reloads = dice_below(d, 3);
        break;
    case 4:
        restart_api();
        break;
    case 5:
        instance_refresh(w.target.instance);
        break;
    case 6:
        w.renewed = dice_below(d, 3);
        break;
    case 7:
        edit_unsupported(dice_below(d, 2) == 0);
        break;
    default:
        desired(desired_states[dice_below(d, 7)], "dice");
    }
}

FIXTURE(world_make_watched, world_end)

TEST_EACH(whatever_happens_it_ends_in_sync, effort(40))
{
    struct dice d = {88172645463325252ull + (uint64_t)_i * 7919};
    instance_start(w.target.instance);
    for (int i = 0; i < 300; i++) {
        something_happens(&d);
        if (dice_below(&d, 3) > 0) {
            for (unsigned n = dice_below(&d, 12); n > 0 && w.busy; n--)
                answer();
        } else {
            pass(dice_below(&d, 5000));
        }
        if (w.reloads > RELOADS_MAX - 100)
            break;
    }
    mend();
    w.fail_reloads = 0;
    edit_unsupported(false);
    desired("n1 n5", "the last");
    pass(12 * MINUTES_MS);
    assert_settled("n1 n5");
    buf_clear(&w.trace);
    unsigned commits = w.commits;
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.commits, commits);
    ck_assert_uint_eq(count('R'), 20);
    ck_assert_uint_eq(w.trace.len, 20);
}
