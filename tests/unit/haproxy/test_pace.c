/* src/haproxy/pace: how long nothing is sent after what failed, and what ends that. */
#include "haproxy/pace.h"

#include "../test.h"

#define NOW 1000000u
#define CAP_MS 15000u

/* So often that the next pause may have any length. */
static void pause_often(struct pace *p, int64_t at_least_ms)
{
    pace_init(p, 1);
    for (int i = 0; i < 20; i++)
        pace_pause(p, false, at_least_ms, NOW);
}

TEST(pauses_grow)
{
    struct pace p;
    uint64_t first_ms = 0, last_ms = 0;
    for (unsigned seed = 1; seed <= 100; seed++) {
        pace_init(&p, seed);
        pace_pause(&p, false, -1, NOW);
        first_ms += p.quiet_until_ms - NOW;
        ck_assert_uint_le(p.quiet_until_ms, NOW + 500);
        for (int i = 0; i < 10; i++)
            pace_pause(&p, false, -1, NOW);
        last_ms += p.quiet_until_ms - NOW;
        ck_assert_uint_le(p.quiet_until_ms, NOW + CAP_MS);
    }
    ck_assert_uint_gt(last_ms, 10 * first_ms);
}

TEST(something_else_ends_them)
{
    struct pace p;
    pause_often(&p, -1);
    pace_write_not_before(&p, NOW + 60000);
    pace_begin_anew(&p, NOW + 7);
    ck_assert_uint_eq(p.quiet_until_ms, NOW + 7);
    ck_assert_uint_eq(p.write_after_ms, NOW + 7);
    pace_begin_anew(&p, NOW + 70);
    ck_assert_uint_eq(p.quiet_until_ms, NOW + 7);
    pace_pause(&p, false, -1, NOW); /* as after the first failure */
    ck_assert_uint_le(p.quiet_until_ms, NOW + 500);
}

TEST(what_the_api_asked_for_stands)
{
    struct pace p;
    pause_often(&p, 30000);
    pace_begin_anew(&p, NOW);
    ck_assert_uint_eq(p.quiet_until_ms, NOW + 30000);
}

TEST(conflicts_and_no_room_keep_nothing_new_waiting)
{
    struct pace p;
    pace_init(&p, 1);
    while (pace_conflict(&p, NOW))
        ;
    ck_assert_uint_gt(p.quiet_until_ms, NOW);
    pace_begin_anew(&p, NOW);
    ck_assert_uint_eq(p.quiet_until_ms, NOW);
    pace_wait_for_room(&p, -1, NOW);
    ck_assert_uint_gt(p.transaction_after_ms, NOW);
    pace_begin_anew(&p, NOW);
    ck_assert_uint_eq(p.transaction_after_ms, NOW);
    pace_wait_for_room(&p, 30000, NOW);
    pace_begin_anew(&p, NOW);
    ck_assert_uint_eq(p.transaction_after_ms, NOW + 30000);
    pace_committed(&p, NOW); /* the next gathers changes */
    uint64_t gathers = p.transaction_after_ms;
    pace_begin_anew(&p, NOW);
    ck_assert_uint_eq(p.transaction_after_ms, gathers);
}

/* Not a pause after a failure: the next reading is to be a later one. */
TEST(what_waits_for_another_reading_waits_on)
{
    struct pace p;
    pause_often(&p, -1);
    p.quiet_until_ms = NOW + 400000;
    pace_begin_anew(&p, NOW);
    ck_assert_uint_eq(p.quiet_until_ms, NOW + 400000);
}
