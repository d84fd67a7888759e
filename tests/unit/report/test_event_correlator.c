/* src/report/event_correlator: what is one Event, what is combined, and how many requests that may be. */
#include "report/event_correlator.h"

#include "../test.h"

#define MINUTE_MS 60000u
#define SYNCED 1u
#define FAILED 2u
#define FIRST_ID 1000u
#define WALL_MS 1795302000000u

static struct correlator c;
static struct correlated got;
static uint64_t now_ms;

static void setup(void)
{
    now_ms = 5;
    correlator_init(&c, false, FIRST_ID, now_ms);
}

static void take(unsigned reason, const char *message)
{
    correlator_take(&c, reason, reason == FAILED, message, now_ms, WALL_MS + now_ms, &got);
}

static void take_number(unsigned reason, unsigned n)
{
    char message[32];
    snprintf(message, sizeof(message), "message %u", n);
    take(reason, message);
}

FIXTURE(setup, NULL)

TEST(the_same_again_is_counted)
{
    take(SYNCED, "a");
    uint64_t id = got.id, first = got.first_wall_ms;
    ck_assert(got.send && !got.combined && got.count == 1 && id == FIRST_ID && first == WALL_MS + 5);
    for (unsigned i = 2; i < 8; i++) {
        now_ms += 9 * MINUTE_MS;
        take(SYNCED, "a");
        ck_assert(got.send && !got.combined && got.count == i && got.id == id && got.first_wall_ms == first);
    }
}

TEST(another_message_or_reason_is_another_event)
{
    take(SYNCED, "a");
    uint64_t a = got.id;
    take(SYNCED, "b");
    uint64_t b = got.id;
    take(FAILED, "a");
    ck_assert(a != b && b != got.id && a != got.id && got.count == 1);
    take(SYNCED, "a");
    ck_assert(got.id == a && got.count == 2);
}

/* The API has forgotten it, or will have when we ask. */
TEST(after_an_hour_it_is_a_new_one)
{
    take(SYNCED, "a");
    uint64_t id = got.id;
    now_ms += CORRELATOR_FORGET_MS;
    take(SYNCED, "a");
    ck_assert(got.id == id && got.count == 2);
    now_ms += CORRELATOR_FORGET_MS + 1;
    take(SYNCED, "a");
    ck_assert(got.id != id && got.count == 1 && got.first_wall_ms == WALL_MS + now_ms);
    ck_assert(!correlator_is_written(&c, got.id));
}

TEST(many_different_ones_are_combined)
{
    for (unsigned i = 1; i < CORRELATOR_ALIKE; i++) {
        take_number(SYNCED, i);
        ck_assert_msg(!got.combined && got.count == 1, "%u", i);
    }
    take_number(SYNCED, 10);
    uint64_t id = got.id;
    ck_assert(got.combined && got.count == 1);
    take_number(SYNCED, 11);
    ck_assert(got.combined && got.count == 2 && got.id == id);
    take_number(SYNCED, 3); /* one that was there before they were too many */
    ck_assert(!got.combined && got.count == 2 && got.id != id);
    take_number(FAILED, 12); /* another reason */
    ck_assert(!got.combined && got.count == 1);
}

TEST(combining_ends_when_none_comes_for_ten_minutes)
{
    for (unsigned i = 1; i <= CORRELATOR_ALIKE; i++)
        take_number(SYNCED, i);
    for (unsigned i = 0; i < 10; i++) {
        now_ms += CORRELATOR_ALIKE_MS;
        take_number(SYNCED, 100 + i);
        ck_assert(got.combined);
    }
    now_ms += CORRELATOR_ALIKE_MS + 1;
    take_number(SYNCED, 200);
    ck_assert(!got.combined);
}

TEST(a_burst_and_then_one_in_five_minutes)
{
    for (unsigned i = 0; i < CORRELATOR_BURST; i++) {
        take(SYNCED, "a");
        ck_assert_msg(got.send, "%u", i);
    }
    take(SYNCED, "a");
    ck_assert(!got.send && got.count == CORRELATOR_BURST + 1);
    take(FAILED, "a"); /* warnings have their own */
    ck_assert(got.send);
    now_ms += CORRELATOR_REFILL_MS - 1;
    take(SYNCED, "a");
    ck_assert(!got.send);
    now_ms += 1;
    take(SYNCED, "a");
    ck_assert(got.send && got.count == CORRELATOR_BURST + 3); /* what was not sent is counted */
    take(SYNCED, "a");
    ck_assert(!got.send);
    now_ms += 1000u * CORRELATOR_REFILL_MS;
    for (unsigned i = 0; i < CORRELATOR_BURST + 5; i++) {
        take(SYNCED, "a");
        ck_assert_msg(got.send == (i < CORRELATOR_BURST), "%u", i);
    }
}

TEST(what_the_api_has)
{
    take(SYNCED, "a");
    uint64_t id = got.id;
    ck_assert(!correlator_is_written(&c, id));
    correlator_set_written(&c, id, true);
    ck_assert(correlator_is_written(&c, id));
    correlator_set_written(&c, id + 1, true); /* nobody's */
    take(SYNCED, "a");
    ck_assert(correlator_is_written(&c, got.id));
    correlator_set_written(&c, id, false);
    ck_assert(!correlator_is_written(&c, id));
}

/* Six reasons with all they can have at once fit; more than that pushes out the oldest, and nothing else. */
TEST(the_oldest_gives_way)
{
    uint64_t ids[6 * CORRELATOR_ALIKE];
    size_t n = 0;
    for (unsigned reason = 1; reason < 7; reason++)
        for (unsigned i = 0; i < CORRELATOR_ALIKE; i++, now_ms++) {
            take_number(reason, i);
            ids[n++] = got.id;
            correlator_set_written(&c, got.id, true);
        }
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(correlator_is_written(&c, ids[i]), "%zu gave way", i);
    now_ms += CORRELATOR_ALIKE_MS + 1;
    for (unsigned i = 0; i < 5; i++)
        take_number(SYNCED, 100 + i);
    ck_assert(!correlator_is_written(&c, ids[0]));
    ck_assert(correlator_is_written(&c, ids[1]) && correlator_is_written(&c, ids[n - 1]));
}
