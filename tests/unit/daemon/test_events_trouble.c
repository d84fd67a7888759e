/* src/daemon/events: with an API that is slow, full, away, contradicts itself or does not allow it. */
#include "events_world.h"

FIXTURE(setup, teardown)

TEST(one_that_the_api_has_forgotten_is_made_anew)
{
    happens(HISTORY_IN_SYNC, "in sync");
    all_is_written();
    in_sync_is_asked();
    ck_assert(w.again);
    answer(EVENT_GONE);
    ck_assert(asked() && !w.again && w.count == 2);
    answer(EVENT_WRITTEN);
    in_sync_is_asked();
    ck_assert(w.again && w.count == 3);
}

/* The answer to the first request was lost. */
TEST(one_that_is_there_already_is_repeated)
{
    in_sync_is_answered(EVENT_LATER);
    ck_assert(asked() && !w.again);
    answer(EVENT_EXISTS);
    ck_assert(w.busy && w.again && w.count == 1);
    answer(EVENT_WRITTEN);
    ck_assert_uint_eq(result("written"), 1);
}

/* An API that says now this, now that, is not asked without a pause, nor for ever. */
TEST(an_api_that_contradicts_itself)
{
    unsigned tries = 0;
    uint64_t began_ms = clock_mono_ms();
    happens(HISTORY_IN_SYNC, "in sync");
    for (; asked(); tries++)
        answer(w.again ? EVENT_GONE : EVENT_EXISTS);
    ck_assert_uint_le(tries, 30);
    ck_assert_uint_gt(clock_mono_ms() - began_ms, 10000);
    ck_assert_uint_eq(result("dropped"), 1);
}

TEST(denied_is_said_once_and_tried_seldom)
{
    happens(HISTORY_IN_SYNC, "in sync");
    happens(HISTORY_REMOVAL_DELAYED, "held");
    happens_to("shop", HISTORY_IN_SYNC, "in sync");
    ck_assert(asked());
    answer(EVENT_DENIED);
    ck_assert(logged("Events may not be written"));
    ck_assert(logged("verbs [create, patch]"));
    ck_assert(logged("namespace=ing"));
    ck_assert_uint_eq(result("denied"), 2);
    ck_assert_msg(asked(), "the other namespace may be allowed");
    ck_assert_str_eq(w.service, "shop");
    answer(EVENT_WRITTEN);
    forget_log();
    for (int i = 0; i < 9; i++) {
        pass(MINUTE_MS);
        happens(HISTORY_REMOVAL_DELAYED, "held");
        ck_assert(!asked());
    }
    pass(MINUTE_MS);
    happens(HISTORY_REMOVAL_DELAYED, "held");
    ck_assert(asked());
    answer(EVENT_DENIED);
    ck_assert(!logged("may not be written"));
    pass(10 * MINUTE_MS);
    happens(HISTORY_REMOVAL_DELAYED, "held");
    ck_assert(asked() && !w.again);
    answer(EVENT_WRITTEN);
    happens(HISTORY_REMOVAL_DELAYED, "held");
    ck_assert(asked());
}

TEST(an_operator_says_go_on)
{
    in_sync_is_answered(EVENT_DENIED);
    forget_log();
    events_poke(w.events);
    in_sync_is_answered(EVENT_DENIED);
    ck_assert_msg(logged("may not be written"), "who asks gets an answer");
    happens_to("shop", HISTORY_IN_SYNC, "in sync");
    ck_assert(asked());
    answer_after(EVENT_LATER, 200000);
    uint64_t then_ms = clock_mono_ms();
    events_poke(w.events);
    ck_assert(asked() && clock_mono_ms() == then_ms);
    events_poke(w.events); /* while one is under way */
    events_poke(NULL);
}

TEST(granted_is_said_too)
{
    in_sync_is_answered(EVENT_DENIED);
    pass(11 * MINUTE_MS);
    happens(HISTORY_IN_SYNC, "in sync");
    all_is_written();
    ck_assert(logged("Kubernetes Events are written again"));
}

TEST(an_api_that_is_away_is_waited_for_and_then_it_is_dropped)
{
    unsigned tries = 0;
    uint64_t began_ms = clock_mono_ms();
    happens(HISTORY_IN_SYNC, "in sync");
    for (; asked(); tries++)
        answer(EVENT_LATER);
    ck_assert_uint_ge(clock_mono_ms() - began_ms, 5 * MINUTE_MS);
    ck_assert_uint_lt(clock_mono_ms() - began_ms, 7 * MINUTE_MS);
    ck_assert_msg(tries >= 4 && tries <= 30, "%u", tries);
    ck_assert_uint_eq(result("dropped"), 1);
    ck_assert(logged("cannot write a Kubernetes Event"));
    in_sync_is_asked();
    ck_assert(!w.again && w.count == 2);
    answer(EVENT_WRITTEN);
    ck_assert(logged("Kubernetes Events are written again"));
}

/* The outage was logged once, by what noticed it first. */
TEST(an_outage_is_not_said_of_events_too)
{
    kube_client_outage(w.client)->lost_ms = clock_mono_ms();
    happens(HISTORY_IN_SYNC, "in sync");
    while (asked())
        answer(EVENT_LATER);
    ck_assert_uint_eq(result("dropped"), 1);
    ck_assert(!logged("Event"));
    kube_client_outage(w.client)->lost_ms = 0;
    in_sync_is_answered(EVENT_WRITTEN);
    ck_assert(!logged("Event"));
}

TEST(retry_after_is_kept)
{
    in_sync_is_asked();
    uint64_t then_ms = clock_mono_ms();
    answer_after(EVENT_LATER, 90000);
    happens(HISTORY_REMOVAL_DELAYED, "held"); /* does not go before that either */
    ck_assert(asked());
    ck_assert_uint_ge(clock_mono_ms() - then_ms, 90000);
    all_is_written();
    ck_assert_uint_eq(result("written"), 2);
}

TEST(retry_after_has_an_end)
{
    in_sync_is_asked();
    uint64_t then_ms = clock_mono_ms();
    answer_after(EVENT_LATER, INT32_MAX * 1000ll);
    happens(HISTORY_REMOVAL_DELAYED, "held");
    pass(MINUTE_MS);
    happens(HISTORY_APPLY_FAILED, "refused");
    ck_assert(asked());
    ck_assert_uint_le(clock_mono_ms() - then_ms, 6 * MINUTE_MS);
    ck_assert_uint_ge(clock_mono_ms() - then_ms, 4 * MINUTE_MS);
    ck_assert_str_eq(w.reason, "ApplyFailed");
}

TEST(no_credentials_yet)
{
    w.no_credentials = true;
    happens(HISTORY_IN_SYNC, "in sync");
    pass(3000);
    ck_assert(!w.busy);
    w.no_credentials = false;
    ck_assert(asked());
}

TEST(what_is_refused_keeps_nothing_up)
{
    happens(HISTORY_IN_SYNC, "in sync");
    happens(HISTORY_REMOVAL_DELAYED, "held");
    ck_assert(asked());
    answer(EVENT_REFUSED);
    ck_assert(logged("Kubernetes Event refused"));
    ck_assert_uint_eq(result("refused"), 1);
    ck_assert(asked());
    ck_assert_str_eq(w.reason, "RemovalDelayed");
}

TEST(the_end_waits_for_nothing)
{
    in_sync_is_asked();
    happens(HISTORY_REMOVAL_DELAYED, "it waits");
    events_free(w.events);
    w.events = NULL;
    ck_assert(w.freed);
    happens(HISTORY_IN_SYNC, "nobody hears it");
    ck_assert_uint_eq(w.posts, 1);
}
