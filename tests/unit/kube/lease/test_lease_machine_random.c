/*
 * At no instant may two act. Thousands of rounds of tests/unit/kube/lease_machine_world.h, each with a seed of its own; a failing one is named
 * and its steps are printed by:  LEASE_SEED=17 build/unit/test_lease_machine_random
 */

#include "lease_machine_world.h"

#include "../../effort.h"
#include "../../test.h"

#define ROUNDS 3000

static unsigned elections, depositions, conflicts, late_answers, deletions;

static void play(uint64_t seed)
{
    static struct world w;
    world_init(&w, seed);
    w.trace = getenv("LEASE_SEED") != NULL;
    world_run(&w);
    ck_assert_msg(w.wrong[0] == '\0', "LEASE_SEED=%llu: %s", (unsigned long long)seed, w.wrong);
    ck_assert_msg(world_acting(&w) == 1, "LEASE_SEED=%llu: %u act after two minutes of calm", (unsigned long long)seed,
                  world_acting(&w));
    elections += w.elections;
    depositions += w.depositions;
    conflicts += w.conflicts;
    late_answers += w.late_answers;
    deletions += w.deletions;
}

TEST(never_two_at_once)
{
    const char *only = getenv("LEASE_SEED");
    uint64_t seed = 1, count = (uint64_t)effort(ROUNDS);
    if (only != NULL) {
        ck_assert_int_eq(str_parse_uint(only, UINT32_MAX, &seed), 0);
        play(seed);
        return;
    }
    for (; seed <= count; seed++)
        play(seed);
    /* The trouble was there. */
    ck_assert_uint_gt(elections, 2 * count);
    ck_assert_uint_gt(depositions, count / 2);
    ck_assert_uint_gt(conflicts, count);
    ck_assert_uint_gt(late_answers, count);
    ck_assert_uint_gt(deletions, count / 10);
}
