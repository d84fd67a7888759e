/* src/haproxy/backoffs: how long nothing is sent after what failed, and what ends that. */
#include "haproxy/backoffs.h"

#include "../test.h"

#define NOW 1000000u
#define CAP_MS 15000u

/* So often that the next pause may have any length. */
static void pause_often(struct backoffs *b, int64_t at_least_ms)
{
    backoffs_init(b, 1);
    for (int i = 0; i < 20; i++)
        backoffs_pause(b, false, at_least_ms, NOW);
}

TEST(pauses_grow)
{
    struct backoffs b;
    uint64_t first_ms = 0, last_ms = 0;
    for (unsigned seed = 1; seed <= 100; seed++) {
        backoffs_init(&b, seed);
        backoffs_pause(&b, false, -1, NOW);
        first_ms += b.quiet_until_ms - NOW;
        ck_assert_uint_le(b.quiet_until_ms, NOW + 500);
        for (int i = 0; i < 10; i++)
            backoffs_pause(&b, false, -1, NOW);
        last_ms += b.quiet_until_ms - NOW;
        ck_assert_uint_le(b.quiet_until_ms, NOW + CAP_MS);
    }
    ck_assert_uint_gt(last_ms, 10 * first_ms);
}

TEST(something_else_ends_them)
{
    struct backoffs b;
    pause_often(&b, -1);
    backoffs_write_not_before(&b, NOW + 60000);
    backoffs_begin_anew(&b, NOW + 7);
    ck_assert_uint_eq(b.quiet_until_ms, NOW + 7);
    ck_assert_uint_eq(b.write_after_ms, NOW + 7);
    backoffs_begin_anew(&b, NOW + 70);
    ck_assert_uint_eq(b.quiet_until_ms, NOW + 7);
    backoffs_pause(&b, false, -1, NOW); /* as after the first failure */
    ck_assert_uint_le(b.quiet_until_ms, NOW + 500);
}

TEST(what_the_api_asked_for_stands)
{
    struct backoffs b;
    pause_often(&b, 30000);
    backoffs_begin_anew(&b, NOW);
    ck_assert_uint_eq(b.quiet_until_ms, NOW + 30000);
}

TEST(conflicts_and_no_room_keep_nothing_new_waiting)
{
    struct backoffs b;
    backoffs_init(&b, 1);
    while (backoffs_conflict(&b, NOW))
        ;
    ck_assert_uint_gt(b.quiet_until_ms, NOW);
    backoffs_begin_anew(&b, NOW);
    ck_assert_uint_eq(b.quiet_until_ms, NOW);
    backoffs_wait_for_room(&b, -1, NOW);
    ck_assert_uint_gt(b.transaction_after_ms, NOW);
    backoffs_begin_anew(&b, NOW);
    ck_assert_uint_eq(b.transaction_after_ms, NOW);
    backoffs_wait_for_room(&b, 30000, NOW);
    backoffs_begin_anew(&b, NOW);
    ck_assert_uint_eq(b.transaction_after_ms, NOW + 30000);
    backoffs_committed(&b, NOW); /* the next gathers changes */
    uint64_t gathers = b.transaction_after_ms;
    backoffs_begin_anew(&b, NOW);
    ck_assert_uint_eq(b.transaction_after_ms, gathers);
}

/* Not a pause after a failure: the next reading is to be a later one. */
TEST(what_waits_for_another_reading_waits_on)
{
    struct backoffs b;
    pause_often(&b, -1);
    b.quiet_until_ms = NOW + 400000;
    backoffs_begin_anew(&b, NOW);
    ck_assert_uint_eq(b.quiet_until_ms, NOW + 400000);
}
