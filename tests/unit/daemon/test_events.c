/* src/daemon/events: from the history to requests, with an API that is well. */
#include "events_world.h"

FIXTURE(setup, teardown)

TEST(an_entry_becomes_an_event)
{
    happens(HISTORY_IN_SYNC, "in sync with 3 servers");
    ck_assert_msg(!w.busy, "from inside the journal nothing is sent");
    ck_assert(asked());
    ck_assert(!w.again && !w.warning && w.count == 1);
    ck_assert_str_eq(w.namespace, "ing");
    ck_assert_str_eq(w.service, "web");
    ck_assert_str_eq(w.uid, "uid-web");
    ck_assert_str_eq(w.reason, "Synced");
    ck_assert_str_eq(w.message, "backend web at " URL ": in sync with 3 servers");
    ck_assert_uint_eq(w.first_ms, clock_wall_ms());
    ck_assert_msg(str_has_prefix(w.name, "web.") && strlen(w.name) == 4 + 16 &&
                      strspn(w.name + 4, "0123456789abcdef") == 16,
                  "%s", w.name);
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
    ck_assert_uint_eq(result("written"), 1);
}

TEST(again_is_a_patch_of_the_same)
{
    happens(HISTORY_IN_SYNC, "in sync");
    all_is_written();
    char name[96];
    uint64_t first_ms = w.first_ms;
    memcpy(name, w.name, sizeof(name));
    pass(MINUTE_MS);
    in_sync_is_asked();
    ck_assert(w.again && w.count == 2 && w.first_ms == first_ms && w.last_ms == clock_wall_ms());
    ck_assert_str_eq(w.name, name);
}

TEST(nothing_of_what_is_no_event)
{
    happens(HISTORY_COMMITTED, "added n1");
    happens(HISTORY_RELOAD_AGAIN, "empty commit");
    happens_to("none of ours", HISTORY_IN_SYNC, "in sync");
    ck_assert(!asked());
}

TEST(what_is_about_all_is_about_each_service_once)
{
    happens_to(NULL, HISTORY_RELOAD_FAILED, "not reloaded");
    ck_assert(asked() && w.warning && w.count == 1);
    ck_assert_str_eq(w.service, "web");
    ck_assert_str_eq(w.message, "HAProxy at " URL ": not reloaded");
    answer(EVENT_WRITTEN);
    ck_assert(asked());
    ck_assert_str_eq(w.namespace, "two");
    ck_assert_str_eq(w.service, "shop");
    ck_assert_str_eq(w.uid, ""); /* not known yet */
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
    happens_to("tls", HISTORY_IN_SYNC, "in sync");
    ck_assert(asked());
    ck_assert_str_eq(w.service, "web");
}

TEST(what_comes_while_one_is_under_way_is_sent_at_once)
{
    in_sync_is_asked();
    for (int i = 0; i < 5; i++)
        happens(HISTORY_IN_SYNC, "in sync");
    happens(HISTORY_REMOVAL_DELAYED, "held");
    answer(EVENT_WRITTEN);
    ck_assert(asked() && w.again && w.count == 6);
    answer(EVENT_WRITTEN);
    ck_assert(asked());
    ck_assert_str_eq(w.reason, "RemovalDelayed");
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
    ck_assert_uint_eq(result("merged"), 4);
    ck_assert_uint_eq(w.posts + w.patches, 3);
}

TEST(a_thousand_changes_are_few_requests)
{
    for (int i = 0; i < 1000; i++) {
        char text[64];
        snprintf(text, sizeof(text), "in step: change %d", i);
        happens(HISTORY_IN_SYNC, text);
        all_is_written();
        pass(100);
    }
    ck_assert_uint_eq(w.posts + w.patches, 25);
    ck_assert_uint_eq(w.posts, 10);
    ck_assert_str_eq(w.message, "(combined from similar events): backend web at " URL ": in step: change 24");
    ck_assert_uint_eq(result("limited"), 975);
    happens(HISTORY_APPLY_FAILED, "a trouble");
    ck_assert_msg(asked(), "a warning does not wait for that");
    ck_assert_str_eq(w.reason, "ApplyFailed");
    answer(EVENT_WRITTEN);
    pass(5 * MINUTE_MS);
    in_sync_is_asked();
    ck_assert_uint_eq(w.count, 992); /* those that were not sent are counted */
}

TEST(long_messages_are_cut)
{
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    happens(HISTORY_APPLY_FAILED, text);
    ck_assert(asked());
    ck_assert_uint_eq(strlen(w.message), EVENT_MESSAGE_MAX_BYTES);
}
