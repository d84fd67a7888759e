/* src/servers/change/revert_pause: when being undone is a fight, and for how long we stay out of it. */

#include "servers/change/revert_pause.h"

#include "../../test.h"

#define MIN 60000u

/* Undone at these times (in ms, from 1 on); `!` in `fights`: then a pause began. */
static const struct {
    const char *what;
    uint64_t at_ms[8];
    const char *fights;
} rows[] = {
    {"once", {1}, "."},
    {"twice", {1, 2}, ".."},
    {"three times at once", {1, 1, 1}, "..!"},
    {"three times in ten minutes", {1, 5 * MIN, 1 + 10 * MIN}, "..!"},
    {"and a moment more", {1, 5 * MIN, 2 + 10 * MIN}, "..."},
    {"then the window slides", {1, 5 * MIN, 2 + 10 * MIN, 15 * MIN}, "...!"},
    {"every six minutes", {1, 6 * MIN, 12 * MIN, 18 * MIN, 24 * MIN, 30 * MIN}, "......"},
    {"every five minutes", {MIN, 6 * MIN, 11 * MIN}, "..!"},
    {"in the pause nothing counts", {1, 1, 1, 2, 5 * MIN, 10 * MIN}, "..!..."},
    {"after it one more is enough", {1, 1, 1, 1 + 10 * MIN}, "..!!"},
    {"and again, as long as it goes on", {1, 1, 1, 11 * MIN, 21 * MIN, 31 * MIN}, "..!!!!"},
    {"to the end of the ten minutes after it", {1, 1, 1, 1 + 20 * MIN}, "..!!"},
    {"not later", {1, 1, 1, 2 + 20 * MIN, 21 * MIN, 22 * MIN}, "..!..!"},
    {"a second pause has its own time after it", {1, 1, 1, 15 * MIN, 35 * MIN}, "..!!!"},
};

TEST_EACH(fights, array_len(rows))
{
    struct revert_pause r = {0};
    uint64_t until = 0;
    for (size_t i = 0; rows[_i].fights[i] != '\0'; i++) {
        uint64_t now = rows[_i].at_ms[i];
        ck_assert_msg(revert_pause_holds(&r, now) == (now < until), "%s, %zu: pauses", rows[_i].what, i);
        bool fight = revert_pause_count(&r, now);
        ck_assert_msg(fight == (rows[_i].fights[i] == '!'), "%s, %zu", rows[_i].what, i);
        if (fight)
            until = now + REVERT_PAUSE_MS;
        ck_assert_uint_eq(r.until_ms > now ? r.until_ms : 0, until > now ? until : 0);
    }
    ck_assert(until == 0 || revert_pause_holds(&r, until - 1));
    ck_assert(!revert_pause_holds(&r, until));
}

TEST(forgotten)
{
    struct revert_pause r = {0};
    ck_assert(!revert_pause_holds(&r, 0));
    for (unsigned i = 0; i < REVERT_PAUSE_TIMES; i++)
        revert_pause_count(&r, MIN);
    ck_assert(revert_pause_holds(&r, MIN));
    revert_pause_end(&r);
    ck_assert(!revert_pause_holds(&r, MIN));
    for (unsigned i = 1; i < REVERT_PAUSE_TIMES; i++)
        ck_assert(!revert_pause_count(&r, 2 * MIN));
    revert_pause_end(&r);
    ck_assert(!revert_pause_count(&r, 2 * MIN));
}
