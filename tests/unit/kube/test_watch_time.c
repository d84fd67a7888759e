/* src/kube/watch: how long it waits after what, and when it takes silence for an end. */
#include "watch_world.h"

static uint64_t wait_of(struct watch_event e)
{
    feed(e);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    return watch_due_ms(&w) - now;
}

FIXTURE(NULL, tear_down)

TEST(backoff_doubles_up_to_its_cap)
{
    uint64_t longest[10] = {0};
    for (unsigned seed = 0; seed < 200; seed++) {
        start_anew();
        backoff_init(&w.backoff, w.backoff.base_ms, w.backoff.cap_ms, w.backoff.min_ms, seed);
        feed_type(WATCH_EVENT_START);
        for (int i = 0; i < 10; i++) {
            uint64_t wait = wait_of(refused);
            longest[i] = wait > longest[i] ? wait : longest[i];
            feed_due();
        }
    }
    for (int i = 0; i < 10; i++) {
        uint64_t cap = i < 4 ? 800u << i : 8000;
        ck_assert_msg(longest[i] <= cap && longest[i] > cap / 2, "wait %d: at most %llu of %llu", i,
                      (unsigned long long)longest[i], (unsigned long long)cap);
    }
}

static void fail_five_times(void)
{
    for (int i = 0; i < 5; i++) {
        feed(refused);
        feed_due();
    }
    ck_assert_uint_eq(w.backoff.attempts, 5);
}

/* Of a resource that hardly ever changes, too, the next outage begins with short waits. */
TEST(backoff_goes_back_after_a_watch_that_lasted)
{
    go_to(AT_OPENING_WATCH);
    fail_five_times();
    feed_head();
    now += 9999;
    feed_type(WATCH_EVENT_CLOSED);
    ck_assert_uint_ge(w.backoff.attempts, 5);
    feed_head();
    now += 10000;
    feed_type(WATCH_EVENT_LOST);
    ck_assert_uint_le(w.backoff.attempts, 1);
}

TEST(backoff_goes_back_after_news_only)
{
    go_to(AT_OPENING_WATCH);
    fail_five_times();
    feed_head();
    ck_assert_uint_eq(w.backoff.attempts, 5); /* not after a connect */
    feed_object("20");
    ck_assert_uint_eq(w.backoff.attempts, 5); /* nor after an event that we knew */
    feed_bookmark("20", false);
    ck_assert_uint_eq(w.backoff.attempts, 5);
    now += 60000;
    feed_bookmark("20", false); /* after a while it is progress, even where nothing moved */
    ck_assert_uint_eq(w.backoff.attempts, 0);
    go_to(AT_OPENING_WATCH);
    fail_five_times();
    feed_head();
    feed_object("21");
    ck_assert_uint_eq(w.backoff.attempts, 0);
}

TEST(backoff_does_not_go_back_after_a_list)
{
    go_to(AT_UNANSWERED);
    fail_five_times();
    feed_head();
    feed_object("1");
    feed_bookmark("20", true);
    ck_assert_uint_eq(w.backoff.attempts, 5);
    feed_bookmark("21", false);
    ck_assert_uint_eq(w.backoff.attempts, 0);
}

TEST(retry_after_is_honoured_in_both_forms)
{
    static const struct {
        enum watch_event_type type;
        int status;
        int64_t ms;
        uint64_t least, most;
    } cases[] = {
        {WATCH_EVENT_ANSWER, 429, 7000, 7000, 7000},
        {WATCH_EVENT_ERROR, 429, 7000, 7000, 7000},
        {WATCH_EVENT_ANSWER, 503, 7000, 7000, 7000},
        {WATCH_EVENT_ANSWER, 429, -1, 1, 800},
        {WATCH_EVENT_ANSWER, 429, 0, 1, 800},
        {WATCH_EVENT_ANSWER, 429, 1, 50, 800}, /* never sooner than we would come by ourselves */
        {WATCH_EVENT_ANSWER, 429, 3600000, WATCH_MAX_RETRY_AFTER_MS, WATCH_MAX_RETRY_AFTER_MS},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        go_to(cases[i].type == WATCH_EVENT_ERROR ? AT_FRESH_WATCH : AT_OPENING_WATCH);
        uint64_t wait = wait_of(
            (struct watch_event){.type = cases[i].type, .status = cases[i].status, .retry_after_ms = cases[i].ms});
        ck_assert_uint_ge(wait, cases[i].least);
        ck_assert_uint_le(wait, cases[i].most);
        feed_due();
        assert_path(WATCH_PATH("20"));
    }
}

/* A server that restarts cuts many watches: those that stood for a while go on at once, though nobody asked them since. */
TEST(a_watch_that_stood_for_a_while_goes_on_at_once_however_it_ends)
{
    static const enum watch_event_type ends[] = {WATCH_EVENT_CLOSED, WATCH_EVENT_LOST};
    for (size_t i = 0; i < array_len(ends); i++) {
        for (uint64_t stood_ms = WATCH_STABLE_MS - 1; stood_ms <= WATCH_STABLE_MS; stood_ms++) {
            go_to(AT_OPENING_WATCH);
            feed_head();
            now += stood_ms;
            feed_type(ends[i]);
            ck_assert_int_eq(w.state, stood_ms < WATCH_STABLE_MS ? WATCH_WAITING : WATCH_WATCHING);
        }
    }
}

TEST(hanging_before_headers)
{
    go_to(AT_OPENING_WATCH);
    ck_assert_uint_eq(watch_due_ms(&w), now + watch_usual_deadlines.answer_ms);
    feed((struct watch_event){.type = WATCH_EVENT_HEAD, .status = 503}); /* and no body follows */
    ck_assert_uint_eq(watch_due_ms(&w), now + watch_usual_deadlines.answer_ms);
    feed_due();
    ck_assert_uint_eq(actions, WATCH_CANCEL | WATCH_ENDED | WATCH_CONTACT_LOST);
    ck_assert_str_eq(w.reason, "no_answer");
    feed_due();
    assert_path(WATCH_PATH("20"));
}

TEST(silence_after_bookmarks_is_death)
{
    go_to(AT_STABLE_WATCH);
    ck_assert_uint_ge(watch_due_ms(&w), now + 300000); /* no bookmark was seen: who knows */
    feed_bookmark("22", false);
    now += 10;
    feed_type(WATCH_EVENT_BYTES);
    ck_assert_uint_eq(watch_due_ms(&w), now + watch_usual_deadlines.silence_ms);
    now += watch_usual_deadlines.silence_ms - 1;
    ck_assert_uint_eq(feed_type(WATCH_EVENT_TIMER), 0);
    feed_due();
    ck_assert_uint_eq(actions, WATCH_CANCEL | WATCH_ENDED | WATCH_CONTACT_LOST | WATCH_REQUEST);
    ck_assert_str_eq(w.reason, "silent");
    assert_path(WATCH_PATH("22"));
    feed_head();
    ck_assert_uint_eq(watch_due_ms(&w), now + WATCH_STABLE_MS);
    feed_due();
    ck_assert_uint_eq(actions, WATCH_CONTACT_BACK);
    ck_assert_uint_eq(watch_due_ms(&w),
                      now - WATCH_STABLE_MS + watch_usual_deadlines.silence_ms); /* remembered in the next watch */
}

/* As the watch of a server does that was restored from a backup and has not reached our version yet. */
TEST(a_watch_that_never_says_a_word_is_listed_again)
{
    go_to(AT_STREAMED_WATCH);
    feed_type(WATCH_EVENT_BYTES);
    feed_object("21");
    now += 2000;
    feed_type(WATCH_EVENT_CLOSED);
    assert_path(WATCH_PATH("21"));
    feed_head();
    ck_assert_uint_eq(watch_due_ms(&w), now + watch_usual_deadlines.silence_ms); /* the end bookmark is one, too */
    feed_due();
    ck_assert_str_eq(w.reason, "no_data");
    ck_assert(actions & WATCH_CONTACT_LOST);
    assert_path(STREAMING_PATH);
    feed_head();
    feed_bookmark("9", true);
    ck_assert_str_eq(w.version, "9");
}

TEST(a_server_that_does_not_end_the_watch)
{
    go_to(AT_STABLE_WATCH);
    uint64_t end = w.started_ms + w.timeout_s * 1000 + watch_usual_deadlines.grace_ms;
    ck_assert_uint_eq(watch_due_ms(&w), end);
    now = end;
    feed_type(WATCH_EVENT_BYTES);
    feed_type(WATCH_EVENT_TIMER);
    ck_assert_uint_eq(actions, WATCH_CANCEL | WATCH_ENDED | WATCH_REQUEST);
    ck_assert_str_eq(w.reason, "deadline");
    assert_path(WATCH_PATH("21"));
}

TEST(a_streaming_list_that_stalls_becomes_pages)
{
    go_to(AT_STREAMING);
    now += 5000;
    feed_object("7");
    feed_type(WATCH_EVENT_BYTES);
    ck_assert_uint_eq(watch_due_ms(&w), now + watch_usual_deadlines.list_silence_ms);
    feed_due();
    ck_assert(actions & WATCH_REPLACE_ABORT);
    ck_assert(actions & WATCH_REQUEST);
    ck_assert(actions & WATCH_CANCEL);
    assert_path(PAGE1_PATH);
}

TEST(a_streaming_list_that_trickles_for_ever_becomes_pages)
{
    go_to(AT_STREAMING);
    uint64_t end = w.started_ms + w.timeout_s * 1000 + watch_usual_deadlines.grace_ms;
    for (; now < end; now += 1000) {
        feed_type(WATCH_EVENT_BYTES);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_TIMER), 0);
    }
    feed_type(WATCH_EVENT_TIMER);
    ck_assert_str_eq(w.reason, "deadline");
    assert_path(PAGE1_PATH);
}

TEST(a_page_that_stalls_or_trickles_is_given_up)
{
    go_to(AT_PAGE2);
    feed_due();
    ck_assert_str_eq(w.reason, "silent");
    ck_assert_uint_eq(actions, WATCH_CANCEL | WATCH_REPLACE_ABORT | WATCH_CONTACT_LOST);
    go_to(AT_PAGE2);
    for (uint64_t end = now + watch_usual_deadlines.list_ms; now < end; now += 1000) {
        feed_type(WATCH_EVENT_BYTES);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_TIMER), 0);
    }
    feed_type(WATCH_EVENT_TIMER);
    ck_assert_str_eq(w.reason, "deadline");
    ck_assert_int_eq(w.state, WATCH_WAITING);
}

/* What watches do not report is listed: after so many of them in a row, with one that reports something before (1) or not. */
TEST_EACH(watches_that_end_at_once_become_a_list, 2)
{
    go_to(AT_FRESH_WATCH);
    for (int i = 0; _i == 1 && i < WATCH_SHORT_TRIES; i++) {
        if (i == WATCH_SHORT_TRIES - 1)
            feed_object("21");
        feed_type(WATCH_EVENT_CLOSED);
        if (w.state == WATCH_WAITING)
            feed_due();
        feed_head();
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i <= WATCH_SHORT_TRIES; i++) {
            feed_type(WATCH_EVENT_CLOSED);
            ck_assert_int_eq(w.state, WATCH_WAITING);
            feed_due();
            ck_assert_msg((actions & WATCH_LISTED) == (i == WATCH_SHORT_TRIES ? WATCH_LISTED : 0), "%d, %d", round, i);
            feed_head();
        }
        feed_bookmark("20", true);
    }
}

TEST(timeouts_are_spread)
{
    unsigned least = 1000, most = 0;
    go_to(AT_OPENING_WATCH);
    for (int i = 0; i < 500; i++) {
        least = w.timeout_s < least ? w.timeout_s : least;
        most = w.timeout_s > most ? w.timeout_s : most;
        feed(refused);
        feed_due();
    }
    ck_assert_uint_ge(least, 300);
    ck_assert_uint_le(most, 600);
    ck_assert_uint_lt(least, 310);
    ck_assert_uint_gt(most, 590);
}
