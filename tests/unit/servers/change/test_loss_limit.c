/* src/servers/change/loss_limit: what is held and for how long. */

#include "servers/change/loss_limit.h"

#include "../../test.h"

#define PERIOD_MS 60000
#define SERVERS 10 /* a .. j, by bits */

static const char *const names[SERVERS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

static unsigned bits_of(const char *letters)
{
    unsigned bits = 0;
    for (; *letters != '\0'; letters++)
        bits |= 1u << (*letters - 'a');
    return bits;
}

static bool is_among(const void *arg, const char *server)
{
    return (*(const unsigned *)arg >> (server[0] - 'a')) & 1;
}

static void report(struct loss_limit *b, unsigned lost, unsigned returned, size_t live, unsigned percent,
                   uint64_t now_ms)
{
    const char *list[SERVERS];
    struct loss_limit_report r = {.lost = list,
                                  .live = live,
                                  .max_percent = percent,
                                  .period_ms = PERIOD_MS,
                                  .now_ms = now_ms,
                                  .returned = is_among,
                                  .arg = &returned};
    for (unsigned i = SERVERS; i-- > 0;)
        if ((lost >> i) & 1)
            list[r.lost_count++] = names[i];
    loss_limit_report(b, &r);
}

static unsigned held(const struct loss_limit *b, uint64_t now_ms)
{
    unsigned bits = 0;
    uint64_t until;
    for (unsigned i = 0; i < SERVERS; i++)
        bits |= (unsigned)loss_limit_delays(b, names[i], now_ms, &until) << i;
    return bits;
}

TEST(shares)
{
    static const struct {
        size_t live, lost;
        unsigned percent;
        bool holds;
    } rows[] = {
        {4, 0, 50, false}, {4, 1, 50, false},  {4, 2, 50, false}, /* not more than half */
        {4, 3, 50, true},  {4, 4, 50, true},   {3, 1, 50, false}, {3, 2, 50, true},    {2, 1, 50, false},
        {2, 2, 50, true},  {1, 1, 50, true},   {1, 1, 99, true},  {1, 1, 100, false},  {4, 4, 100, false},
        {4, 1, 0, true},   {4, 0, 0, false},   {0, 0, 50, false}, {0, 0, 0, false},    {3, 1, 33, true},
        {3, 1, 34, false}, {10, 1, 10, false}, {10, 2, 10, true}, {2000, 9, 1, false},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct loss_limit b = {0};
        uint64_t until = 1;
        unsigned lost = (1u << rows[i].lost) - 1;
        report(&b, lost, ~lost, rows[i].live, rows[i].percent, 1000);
        ck_assert_msg(held(&b, 1000) == (rows[i].holds ? lost : 0), "%zu of %zu at %u", rows[i].lost, rows[i].live,
                      rows[i].percent);
        ck_assert(loss_limit_delays(&b, "a", 1000, &until) == rows[i].holds);
        ck_assert_uint_eq(until, rows[i].holds ? 1000 + PERIOD_MS : 1);
        loss_limit_fini(&b);
    }
}

/* Half may go. What may leave has left by the next step, unless it stands in `still`. */
static const struct {
    const char *what;
    const char *live; /* servers at the beginning */
    struct {
        uint64_t at_ms;
        const char *unwanted; /* "-": what is desired is not known */
        const char *held;     /* of them */
        const char *still;    /* live in the file though they might have left */
    } steps[12];
} courses[] = {
    {"one by one: four of nine leave, each later one is held until its own time",
     "abcdefghi",
     {{300, "a", "", NULL},
      {600, "ab", "", NULL},
      {900, "abc", "", NULL},
      {1200, "abcd", "", NULL},
      {1500, "abcde", "e", NULL},
      {1800, "abcdef", "ef", NULL},
      {2100, "abcdefg", "efg", NULL},
      {61499, "abcdefg", "efg", NULL}, /* the first ones do not count any more: that lets nobody go */
      {61500, "abcdefg", "fg", NULL},
      {61800, "abcdefg", "g", NULL},
      {62100, "abcdefg", "", NULL}}},
    {"one report that takes it over the limit is held as a whole",
     "abcdefghi",
     {{0, "abcdefgh", "abcdefgh", NULL}, {59999, "abcdefgh", "abcdefgh", NULL}, {60000, "abcdefgh", "", NULL}}},
    {"what left before counts",
     "abcdefghi",
     {{0, "ab", "", NULL}, {1000, "abcde", "cde", NULL}, {60999, "abcde", "cde", NULL}, {61000, "abcde", "", NULL}}},
    {"what is held counts",
     "abcdefghi",
     {{0, "abcde", "abcde", NULL},
      {1000, "abcdef", "abcdef", NULL},
      {60000, "abcdef", "f", NULL},
      {61000, "abcdef", "", NULL}}},
    {"what was held and left does not count",
     "abcdefghij",
     {{0, "abcdef", "abcdef", NULL},
      {60000, "abcdef", "", NULL},
      {60001, "abcdefg", "", NULL},
      {60002, "abcdefgh", "", NULL},
      {60003, "abcdefghi", "i", NULL}}},
    {"a return uncounts, and lets nobody go",
     "abcd",
     {{0, "a", "", NULL},
      {1000, "ab", "", NULL},
      {2000, "abc", "c", NULL},
      {3000, "c", "c", NULL},
      {4000, "cd", "cd", NULL},
      {61999, "cd", "cd", NULL},
      {62000, "cd", "d", NULL}}},
    {"after returns there is room", "abcd", {{0, "ab", "", NULL}, {1000, "", "", NULL}, {2000, "cd", "", NULL}}},
    {"held, back, lost again: its time begins anew",
     "abcd",
     {{0, "abc", "abc", NULL},
      {30000, "ab", "ab", NULL},
      {31000, "abc", "abc", NULL},
      {60000, "abc", "c", NULL},
      {91000, "abc", "", NULL}}},
    {"over and gone; the next one is a new one",
     "abcd",
     {{0, "abc", "abc", NULL}, {60000, "abc", "", NULL}, {61000, "", "", NULL}, {62000, "abc", "abc", NULL}}},
    {"what may leave and does not is no part of the live ones",
     "abcdefghi",
     {{0, "abcd", "", NULL},
      {60000, "abcd", "", "abcd"},   /* they count no more, and are in the file still */
      {61000, "abcdef", "", "abcd"}, /* two of five */
      {62000, "abcdefg", "g", "abcd"}}},
    {"not known for a while: delays begin anew",
     "abcdefghi",
     {{0, "abc", "", NULL},
      {1000, "abcdef", "def", NULL},
      {30000, "-", "", NULL},
      {31000, "abcdef", "def", NULL},
      {61000, "abcdef", "def", NULL},
      {91000, "abcdef", "", NULL}}},
    {"not known for a while: who comes before the next report makes no loss smaller",
     "ab",
     {{0, "ab", "ab", NULL},
      {1000, "-", "", NULL},
      {2000, "ab", "ab", "cdef"},
      {3000, "abc", "abc", NULL},
      {61999, "abc", "abc", NULL},
      {62000, "abc", "c", NULL}}},
    {"not known for a while: what left counts on",
     "abcdefghi",
     {{0, "ab", "", NULL}, {30000, "-", "", NULL}, {31000, "abcde", "cde", NULL}}},
    {"what is held is among the live ones",
     "abcdefghi",
     {{0, "abcde", "abcde", NULL},
      {30000, "abcdef", "abcdef", NULL},
      {60000, "abcdef", "f", NULL},
      {61000, "abcdefgh", "f", NULL}}},
    {"one that left, and is back by another hand after its time, is lost anew",
     "abcd",
     {{0, "a", "", NULL}, {60000, "a", "", NULL}, {70000, "abc", "abc", "a"}}},
    {"not known, after its time",
     "abcd",
     {{0, "abc", "abc", NULL}, {60000, "-", "", NULL}, {60001, "abc", "abc", NULL}}},
};

TEST_EACH(in_time, array_len(courses))
{
    struct loss_limit b = {0};
    unsigned live = bits_of(courses[_i].live), at_first = live;
    for (size_t i = 0; i < array_len(courses[_i].steps) && courses[_i].steps[i].unwanted != NULL; i++) {
        const char *unwanted = courses[_i].steps[i].unwanted, *still = courses[_i].steps[i].still;
        uint64_t now_ms = courses[_i].steps[i].at_ms;
        if (strcmp(unwanted, "-") == 0) {
            loss_limit_suspend(&b);
            continue;
        }
        unsigned gone = bits_of(unwanted);
        live |= at_first & ~gone; /* what is desired is there, and what is to be there still */
        live |= still != NULL ? bits_of(still) : 0;
        report(&b, live & gone, ~gone, (size_t)__builtin_popcount(live), 50, now_ms);
        unsigned is = held(&b, now_ms);
        ck_assert_msg(is == bits_of(courses[_i].steps[i].held), "%s, step %zu: holds %x", courses[_i].what, i, is);
        live &= ~gone | is;
    }
    loss_limit_fini(&b);
}

/* All moved: with the new ones the old ones are just half, but the loss is what it was. */
TEST(new_ones_make_no_loss_smaller)
{
    struct loss_limit b = {0};
    report(&b, bits_of("ab"), 0, 2, 50, 1000);
    report(&b, bits_of("ab"), 0, 6, 50, 1100);
    ck_assert_uint_eq(held(&b, 1100), bits_of("ab"));
    report(&b, bits_of("abc"), 0, 6, 50, 1200);
    ck_assert_uint_eq(held(&b, 1200), bits_of("abc"));
    ck_assert_uint_eq(b.over, 3);
    ck_assert_uint_eq(b.of, 2);
    loss_limit_fini(&b);
}

/* By another hand it went out of the file, or into maintenance. */
TEST(a_held_one_that_is_gone_is_forgotten)
{
    struct loss_limit b = {0};
    report(&b, bits_of("abc"), 0, 4, 50, 0);
    report(&b, bits_of("bc"), 0, 3, 50, 1000);
    ck_assert_uint_eq(b.count, 2);
    report(&b, bits_of("abc"), 0, 4, 50, 2000);
    ck_assert_uint_eq(held(&b, 61999), bits_of("a"));
    loss_limit_fini(&b);
}

TEST(announced_later)
{
    struct loss_limit b = {0};
    report(&b, bits_of("ab"), 0, 4, 50, 0);
    report(&b, bits_of("c"), bits_of("ab"), 2, 50, 1000); /* they left, and now it is said that they would */
    ck_assert_uint_eq(held(&b, 1000), 0);
    loss_limit_fini(&b);
}

TEST(no_limit)
{
    struct loss_limit b = {0};
    report(&b, bits_of("abc"), 0, 4, 50, 0);
    ck_assert_uint_eq(b.count, 3);
    report(&b, bits_of("abc"), 0, 4, 100, 0);
    ck_assert_uint_eq(b.count, 0);
    loss_limit_fini(&b);
    const char *lost[] = {"a"};
    const struct loss_limit_report r = {.lost = lost, .lost_count = 1, .live = 1, .now_ms = 5};
    loss_limit_report(&b, &r); /* no period */
    ck_assert_uint_eq(held(&b, 5), 0);
    loss_limit_fini(&b);
}
