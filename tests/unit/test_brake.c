/* src/sync/brake: what is held and for how long; then any course of losses. */
#include <check.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "sync/brake.h"

#include "dice.h"

#define PERIOD_MS 60000

START_TEST(shares)
{
    static const struct {
        size_t live, lost;
        unsigned percent;
        bool holds;
    } rows[] = {
        {4, 0, 50, false},    {4, 1, 50, false},   {4, 2, 50, false}, /* not more than half */
        {4, 3, 50, true},     {4, 4, 50, true},    {3, 1, 50, false}, {3, 2, 50, true},        {2, 1, 50, false},
        {2, 2, 50, true},     {1, 1, 50, true},    {1, 1, 99, true},  {1, 1, 100, false},      {4, 4, 100, false},
        {4, 5, 100, false},   {4, 1, 0, true},     {4, 0, 0, false},  {0, 0, 50, false},       {0, 0, 0, false},
        {0, 3, 0, false},     {3, 1, 33, true},    {3, 1, 34, false}, {2000, 1000, 50, false}, {2000, 1001, 50, true},
        {1000, 10, 1, false}, {1000, 11, 1, true},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct brake b = {0};
        uint64_t until = 1;
        bool holds = brake_holds(&b, rows[i].live, rows[i].lost, rows[i].percent, PERIOD_MS, 1000, &until);
        ck_assert_msg(holds == rows[i].holds, "%zu of %zu at %u", rows[i].lost, rows[i].live, rows[i].percent);
        ck_assert_uint_eq(until, holds ? 1000 + PERIOD_MS : 1);
    }
}
END_TEST

/* Of 10 live servers, at 50 percent: at a time so many are lost. */
static const struct {
    const char *what;
    struct {
        uint64_t at_ms;
        size_t lost;
        uint64_t until_ms; /* 0: it lets go */
    } steps[7];
} courses[] = {
    {"held for the period, then not any more",
     {{1000, 6, 61000}, {30000, 6, 61000}, {60999, 6, 61000}, {61000, 6, 0}, {99000, 6, 0}}},
    {"a time that begins at 0", {{0, 6, 60000}, {59999, 6, 60000}, {60000, 6, 0}}},
    {"a larger one begins anew", {{1000, 6, 61000}, {31000, 7, 91000}, {61000, 7, 91000}, {91000, 7, 0}}},
    {"a smaller one that is too large does not", {{1000, 8, 61000}, {31000, 6, 61000}, {61000, 6, 0}}},
    {"nor does it where it was as large before",
     {{1000, 8, 61000}, {31000, 6, 61000}, {32000, 8, 61000}, {61000, 8, 0}}},
    {"one that is over and comes back does",
     {{1000, 6, 61000}, {31000, 5, 0}, {32000, 6, 92000}, {91999, 6, 92000}, {92000, 6, 0}}},
    {"a smaller one than before, after it was over", {{1000, 9, 61000}, {2000, 0, 0}, {3000, 6, 63000}}},
    {"let go, then it grows", {{1000, 6, 61000}, {61000, 6, 0}, {70000, 7, 130000}, {130000, 7, 0}}},
    {"let go, and gone; the next one is a new one",
     {{1000, 6, 61000}, {61000, 6, 0}, {61500, 0, 0}, {62000, 6, 122000}}},
};

START_TEST(in_time)
{
    struct brake b = {0};
    for (size_t i = 0; i < array_len(courses[_i].steps) && (i == 0 || courses[_i].steps[i].at_ms != 0); i++) {
        uint64_t until = 0;
        bool holds = brake_holds(&b, 10, courses[_i].steps[i].lost, 50, PERIOD_MS, courses[_i].steps[i].at_ms, &until);
        ck_assert_msg(until == courses[_i].steps[i].until_ms, "%s, step %zu: until %llu", courses[_i].what, i,
                      (unsigned long long)until);
        ck_assert(holds == (until != 0));
    }
}
END_TEST

/* All moved: with the new ones the old ones are just half, but the loss is what it was. */
START_TEST(new_ones_make_no_loss_smaller)
{
    struct brake b = {0};
    uint64_t until = 0;
    ck_assert(brake_holds(&b, 2, 2, 50, PERIOD_MS, 1000, &until));
    ck_assert(brake_holds(&b, 4, 2, 50, PERIOD_MS, 1100, &until));
    ck_assert_uint_eq(until, 61000);
    ck_assert(!brake_holds(&b, 4, 1, 50, PERIOD_MS, 2000, &until)); /* one came back */
    ck_assert(!brake_holds(&b, 4, 2, 50, PERIOD_MS, 3000, &until)); /* another day */
}
END_TEST

START_TEST(no_period)
{
    struct brake b = {0};
    uint64_t until = 7;
    ck_assert(!brake_holds(&b, 4, 4, 50, 0, 1000, &until));
    ck_assert_uint_eq(until, 7);
}
END_TEST

/* However the losses come and go: within the limits it never holds; it never holds for longer than the period after the
 * worst of an unbroken time above them was first seen, and always until then. */
START_TEST(any_course)
{
    struct dice dice = {31337};
    for (unsigned run = 0; run < 300; run++) {
        struct brake b = {0};
        unsigned percent = dice_below(&dice, 101);
        uint64_t now_ms = dice_below(&dice, 1000), worst_since = 0, until = 0;
        size_t worst = 0;
        for (unsigned i = 0; i < 200; i++, now_ms += dice_below(&dice, PERIOD_MS / 3)) {
            size_t live = dice_one_in(&dice, 30) ? 0 : 20,
                   lost = 20 - dice_below(&dice, dice_one_in(&dice, 9) ? 21 : 6);
            bool holds = brake_holds(&b, live, lost, percent, PERIOD_MS, now_ms, &until);
            if (live == 0 || lost * 100 <= live * percent) {
                ck_assert(!holds);
                worst = 0;
                continue;
            }
            if (lost > worst) {
                worst = lost;
                worst_since = now_ms;
            }
            ck_assert(holds == (now_ms < worst_since + PERIOD_MS));
            ck_assert(!holds || until == worst_since + PERIOD_MS);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("brake");
    TCase *t = tcase_create("brake");
    tcase_add_test(t, shares);
    tcase_add_loop_test(t, in_time, 0, (int)array_len(courses));
    tcase_add_test(t, new_ones_make_no_loss_smaller);
    tcase_add_test(t, no_period);
    tcase_add_test(t, any_course);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
