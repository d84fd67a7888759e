/* etcd/watch_machine without a socket, in virtual time: what each event is answered with, and when it wants to be
 * asked again. */
#include "etcd/watch_machine.h"

#include "../test.h"

static struct etcd_watch_machine m;
static uint64_t now;

static unsigned feed(enum etcd_watch_event_type type, int64_t revision)
{
    const struct etcd_watch_input e = {.type = type, .revision = revision};
    return etcd_watch_step(&m, &e, now);
}

static unsigned checked(int64_t newest, int64_t revision)
{
    const struct etcd_watch_input e = {.type = ETCD_WATCH_CHECKED, .newest = newest, .revision = revision};
    return etcd_watch_step(&m, &e, now);
}

/* As they come: bytes, and what they say. */
static unsigned came(enum etcd_watch_event_type type, int64_t revision)
{
    unsigned actions = feed(type, revision);
    ck_assert_uint_eq(feed(ETCD_WATCH_BYTES, 0), 0);
    return actions;
}

/* To when it wants to be asked. */
static unsigned timer(void)
{
    uint64_t due = etcd_watch_due_ms(&m);
    ck_assert_uint_ne(due, 0);
    now = due > now ? due : now;
    return feed(ETCD_WATCH_TIMER, 0);
}

static void setup(void)
{
    now = 1000000;
    etcd_watch_machine_init(&m, 1);
}

static void run_from(int64_t revision)
{
    ck_assert_uint_eq(feed(ETCD_WATCH_START, revision), ETCD_WATCH_CANCEL | ETCD_WATCH_REQUEST);
    ck_assert_uint_eq(feed(ETCD_WATCH_CREATED, revision), ETCD_WATCH_REPORT_CONNECTED);
}

#define LOSS (ETCD_WATCH_CANCEL | ETCD_WATCH_REPORT_LOST | ETCD_WATCH_NEXT_ENDPOINT)

FIXTURE(setup, NULL)

TEST(what_comes_moves_the_revision)
{
    run_from(10);
    ck_assert_uint_eq(feed(ETCD_WATCH_EVENTS, 12), ETCD_WATCH_REPORT_CHANGED);
    ck_assert_int_eq(m.next, 13);
    ck_assert_uint_eq(feed(ETCD_WATCH_PROGRESS, 20), 0);
    ck_assert_int_eq(m.next, 21);
    ck_assert_uint_eq(feed(ETCD_WATCH_PROGRESS, 15), 0); /* never back */
    ck_assert_int_eq(m.next, 21);
    ck_assert_uint_eq(feed(ETCD_WATCH_LOST, 0), LOSS);
    ck_assert_uint_eq(timer(), ETCD_WATCH_REQUEST);
    ck_assert_int_eq(m.next, 21);
}

TEST(from_now_on)
{
    (void)feed(ETCD_WATCH_START, 0);
    ck_assert_uint_eq(feed(ETCD_WATCH_CREATED, 30), ETCD_WATCH_REPORT_CONNECTED);
    ck_assert_int_eq(m.next, 31);
}

TEST(stopped_it_does_nothing)
{
    ck_assert_uint_eq(etcd_watch_due_ms(&m), 0);
    for (int type = ETCD_WATCH_STOP; type <= ETCD_WATCH_CHECK_FAILED; type++)
        ck_assert_uint_eq(feed((enum etcd_watch_event_type)type, 5) & ~(unsigned)ETCD_WATCH_CANCEL, 0);
    run_from(10);
    ck_assert_uint_eq(feed(ETCD_WATCH_STOP, 0), ETCD_WATCH_CANCEL);
    ck_assert_uint_eq(etcd_watch_due_ms(&m), 0);
    ck_assert_uint_eq(feed(ETCD_WATCH_EVENTS, 12), 0);
}

TEST(waits_grow_until_news_come)
{
    run_from(10);
    uint64_t longest = 0;
    for (int i = 0; i < 40; i++) {
        ck_assert_uint_eq(feed(ETCD_WATCH_LOST, 0), LOSS);
        uint64_t wait = etcd_watch_due_ms(&m) - now;
        ck_assert(wait >= ETCD_WATCH_BACKOFF_MIN_MS && wait <= ETCD_WATCH_BACKOFF_CAP_MS);
        longest = wait > longest ? wait : longest;
        ck_assert_uint_eq(timer(), ETCD_WATCH_REQUEST);
        ck_assert_uint_eq(feed(ETCD_WATCH_CREATED, 10), ETCD_WATCH_REPORT_CONNECTED);
    }
    ck_assert_uint_gt(longest, ETCD_WATCH_BACKOFF_CAP_MS / 2);
    (void)feed(ETCD_WATCH_EVENTS, 11);
    (void)feed(ETCD_WATCH_LOST, 0);
    ck_assert_uint_le(etcd_watch_due_ms(&m) - now, ETCD_WATCH_BACKOFF_BASE_MS);
}

TEST(a_stream_that_lasted_is_soon_asked_for_again)
{
    run_from(10);
    for (int i = 0; i < 10; i++) {
        (void)feed(ETCD_WATCH_LOST, 0);
        (void)timer();
        (void)feed(ETCD_WATCH_CREATED, 10);
    }
    now += ETCD_WATCH_STABLE_MS;
    (void)feed(ETCD_WATCH_LOST, 0);
    ck_assert_uint_le(etcd_watch_due_ms(&m) - now, ETCD_WATCH_BACKOFF_BASE_MS);
}

TEST(no_answer)
{
    (void)feed(ETCD_WATCH_START, 10);
    ck_assert_uint_eq(feed(ETCD_WATCH_TIMER, 0), 0);
    ck_assert_uint_eq(timer(), LOSS);
    ck_assert_str_eq(m.reason, "no answer in 15 s");
    ck_assert_uint_eq(timer(), ETCD_WATCH_REQUEST);
    ck_assert_ptr_null(m.reason);
}

TEST(a_check_while_nothing_comes)
{
    run_from(10);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(timer(), ETCD_WATCH_CHECK);
        ck_assert_uint_eq(feed(ETCD_WATCH_TIMER, 0), 0); /* one at a time */
        ck_assert_uint_eq(checked(9, 500), 0);           /* others wrote elsewhere */
        ck_assert_uint_eq(etcd_watch_due_ms(&m), now + ETCD_WATCH_CHECK_MS);
    }
    now += ETCD_WATCH_CHECK_MS - 1;
    (void)came(ETCD_WATCH_EVENTS, 12);
    ck_assert_uint_eq(etcd_watch_due_ms(&m), now + ETCD_WATCH_CHECK_MS);
}

TEST(a_change_that_does_not_come)
{
    run_from(10);
    ck_assert_uint_eq(timer(), ETCD_WATCH_CHECK);
    ck_assert_uint_eq(checked(15, 20), 0);
    ck_assert_uint_eq(came(ETCD_WATCH_EVENTS, 12), ETCD_WATCH_REPORT_CHANGED); /* an older one */
    ck_assert_uint_eq(timer(), LOSS);
    ck_assert_ptr_nonnull(strstr(m.reason, "missed a change"));
}

TEST(a_change_that_comes_a_little_later)
{
    run_from(10);
    (void)timer();
    ck_assert_uint_eq(checked(15, 20), 0);
    ck_assert_uint_eq(came(ETCD_WATCH_EVENTS, 15), ETCD_WATCH_REPORT_CHANGED);
    ck_assert_uint_eq(timer(), ETCD_WATCH_CHECK);
}

TEST(a_change_that_takes_its_time)
{
    run_from(10);
    (void)timer();
    ck_assert_uint_eq(checked(15, 20), 0);
    for (int i = 0; i < 100; i++) { /* one long line over a slow way */
        now += ETCD_WATCH_DEAF_MS - 1;
        ck_assert_uint_eq(feed(ETCD_WATCH_BYTES, 0), 0);
        ck_assert_uint_eq(feed(ETCD_WATCH_TIMER, 0), 0);
    }
    ck_assert_uint_eq(came(ETCD_WATCH_EVENTS, 15), ETCD_WATCH_REPORT_CHANGED);
    ck_assert_uint_eq(etcd_watch_due_ms(&m), now + ETCD_WATCH_CHECK_MS);
}

TEST(a_check_that_nobody_answers)
{
    run_from(10);
    (void)timer();
    ck_assert_uint_eq(feed(ETCD_WATCH_CHECK_FAILED, 0), LOSS);
    ck_assert_ptr_null(m.reason); /* the check's own */
}

TEST(silence_for_too_long)
{
    run_from(10);
    uint64_t began = now;
    unsigned checks = 0, actions;
    while ((actions = timer()) == ETCD_WATCH_CHECK) {
        checks++;
        ck_assert_uint_eq(checked(9, 500), 0);
    }
    ck_assert_uint_eq(actions, LOSS);
    ck_assert_uint_eq(now - began, ETCD_WATCH_SILENCE_MS);
    ck_assert_uint_gt(checks, 40);
}

TEST(set_back)
{
    (void)feed(ETCD_WATCH_START, 100);
    ck_assert_uint_eq(feed(ETCD_WATCH_CREATED, 99), ETCD_WATCH_REPORT_CONNECTED); /* all that there is */
    (void)feed(ETCD_WATCH_LOST, 0);
    (void)timer();
    ck_assert_uint_eq(feed(ETCD_WATCH_CREATED, 98), ETCD_WATCH_REPORT_CONNECTED | ETCD_WATCH_CHECK);
    ck_assert_uint_eq(checked(40, 99), 0); /* that member alone is behind */
    ck_assert_uint_eq(timer(), ETCD_WATCH_CHECK);
    ck_assert_uint_eq(checked(40, 98), ETCD_WATCH_CANCEL | ETCD_WATCH_REPORT_COMPACTED);
    ck_assert_int_eq(m.oldest, 98);
    ck_assert_uint_eq(etcd_watch_due_ms(&m), 0);
}

TEST(compacted)
{
    run_from(10);
    ck_assert_uint_eq(feed(ETCD_WATCH_COMPACTED, 30), ETCD_WATCH_CANCEL | ETCD_WATCH_REPORT_COMPACTED);
    ck_assert_int_eq(m.oldest, 30);
    run_from(30);
    ck_assert_uint_eq(feed(ETCD_WATCH_UNREADABLE, 0),
                      ETCD_WATCH_CANCEL | ETCD_WATCH_REPORT_LOST | ETCD_WATCH_REPORT_COMPACTED);
    ck_assert_int_eq(m.oldest, 30);
}

TEST(one_new_token_at_a_time)
{
    (void)feed(ETCD_WATCH_START, 10);
    unsigned anew = ETCD_WATCH_CANCEL | ETCD_WATCH_RENEW_TOKEN | ETCD_WATCH_REQUEST;
    ck_assert_uint_eq(feed(ETCD_WATCH_NO_TOKEN, 0), anew);
    ck_assert_uint_eq(feed(ETCD_WATCH_NO_TOKEN, 0), LOSS | ETCD_WATCH_RENEW_TOKEN);
    (void)timer();
    (void)feed(ETCD_WATCH_CREATED, 10);
    ck_assert_uint_eq(feed(ETCD_WATCH_NO_TOKEN, 0), anew);
}
