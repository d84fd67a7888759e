/* src/kube/watch, the list/watch machine without sockets: versions and lists from begin to end, refusals, the end; the
 * cases of client-go's own tests among them. */
#include "watch_world.h"

#define PAGE2_PATH "/api/v1/nodes?limit=500&continue=c1"
#define SLICES_PATH "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices"
#define SELECTED_PATH                                                        \
    SLICES_PATH "?labelSelector=kubernetes.io%2Fservice-name%3Dx%2Cy%21%3Dz" \
                "&fieldSelector=metadata.name%3Dn"

FIXTURE(NULL, tear_down)

TEST(every_event_moves_the_version)
{
    go_to(AT_FRESH_WATCH);
    feed_object("21");
    ck_assert_str_eq(w.version, "21");
    feed((struct watch_event){.type = WATCH_EVENT_OBJECT, .deleted = true, .version = "22"});
    ck_assert_uint_eq(actions, WATCH_DELETE);
    ck_assert_str_eq(w.version, "22");
    ck_assert_uint_eq(feed_bookmark("30", false), 0);
    ck_assert_str_eq(w.version, "30");
    feed_object("9"); /* opaque: no arithmetic, not even a comparison */
    ck_assert_str_eq(w.version, "9");
    feed_object("a/b c&d=1");
    feed_type(WATCH_EVENT_CLOSED);
    assert_path(WATCH_PATH("a%2Fb%20c%26d%3D1"));
}

TEST(a_missing_version_never_costs_the_last_one)
{
    go_to(AT_FRESH_WATCH);
    ck_assert_uint_eq(feed_object(""), WATCH_PUT);
    feed_object(NULL);
    feed_bookmark("", false);
    ck_assert_str_eq(w.version, "20");
}

TEST(a_version_beyond_all_sense_is_no_version)
{
    char longest[WATCH_MAX_VERSION_BYTES + 1];
    memset(longest, '9', sizeof(longest));
    longest[WATCH_MAX_VERSION_BYTES - 1] = '\0';
    go_to(AT_FRESH_WATCH);
    ck_assert_uint_eq(feed_object(longest), WATCH_PUT);
    ck_assert_str_eq(w.version, longest);
    longest[WATCH_MAX_VERSION_BYTES - 1] = '9';
    longest[WATCH_MAX_VERSION_BYTES] = '\0';
    feed_object(longest);
    ck_assert_str_eq(w.reason, "garbled");
    ck_assert(!(actions & WATCH_PUT));
    go_to(AT_STREAMING);
    feed_bookmark(longest, true);
    ck_assert_str_eq(w.reason, "garbled");
    go_to(AT_PAGE1);
    feed_page(longest, NULL);
    ck_assert_str_eq(w.reason, "garbled");
    go_to(AT_FRESH_WATCH);
    feed_bookmark(longest, false);
    ck_assert_str_eq(w.reason, "garbled");
}

TEST(a_streaming_list_is_published_at_its_end_bookmark)
{
    go_to(AT_UNANSWERED);
    ck_assert_uint_eq(feed_head(), 0);
    ck_assert_uint_eq(feed_object("5"), WATCH_PUT);
    ck_assert_uint_eq(feed_bookmark("6", false), 0); /* a plain one is not the end */
    ck_assert_int_eq(w.state, WATCH_STREAMING);
    ck_assert(!w.synced);
    feed((struct watch_event){.type = WATCH_EVENT_OBJECT, .version = "7", .deleted = true});
    ck_assert_uint_eq(actions, WATCH_DELETE); /* before its end, too */
    ck_assert_uint_eq(feed_object("8"), WATCH_PUT);
    ck_assert_str_eq(w.version, "");
    ck_assert_uint_eq(feed_bookmark("9", true), WATCH_REPLACE_END | WATCH_CONTACT_BACK);
    ck_assert(w.synced && w.contact);
    ck_assert_int_eq(w.state, WATCH_WATCHING); /* the same request goes on */
    ck_assert_str_eq(w.version, "9");
    ck_assert_uint_eq(feed_object("10"), WATCH_PUT);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_CLOSED), WATCH_ENDED | WATCH_REQUEST);
    assert_path(WATCH_PATH("10"));
    ck_assert_uint_eq(server.no_streaming_until_ms, 0);
}

TEST(an_end_bookmark_without_a_version_is_none)
{
    go_to(AT_STREAMING);
    feed_bookmark("", true);
    ck_assert(!(actions & WATCH_REPLACE_END));
    ck_assert(actions & WATCH_REPLACE_ABORT);
    ck_assert(!w.synced);
}

TEST(three_pages_are_one_list_of_the_first_ones_version)
{
    go_to(AT_PAGE1);
    assert_path(PAGE1_PATH);
    feed_type(WATCH_EVENT_ITEM);
    ck_assert_uint_eq(actions, WATCH_PUT);
    ck_assert_uint_eq(feed_page("20", "c1"), WATCH_REQUEST);
    assert_path(PAGE2_PATH);
    feed_head();
    ck_assert_uint_eq(feed_page("25", "a+/="), WATCH_REQUEST);
    assert_path("/api/v1/nodes?limit=500&continue=a%2B%2F%3D");
    feed_head();
    feed_type(WATCH_EVENT_ITEM);
    ck_assert_uint_eq(feed_page("30", ""), WATCH_REPLACE_END | WATCH_CONTACT_BACK | WATCH_REQUEST);
    assert_path(WATCH_PATH("20"));
    ck_assert_ptr_null(w.continue_token);
}

TEST(a_page_without_a_version_is_no_list)
{
    go_to(AT_PAGE1);
    feed_page(NULL, NULL);
    ck_assert(!(actions & WATCH_REPLACE_END));
    ck_assert(actions & WATCH_REPLACE_ABORT);
    ck_assert_str_eq(w.reason, "garbled");
    go_to(AT_PAGE2);
    feed_page(NULL, NULL); /* the first page's is what counts */
    ck_assert(actions & WATCH_REPLACE_END);
    assert_path(WATCH_PATH("20"));
}

TEST(a_continue_token_has_a_cap)
{
    cleanup(mem_free_ptr) char *token = mem_alloc(WATCH_MAX_CONTINUE_BYTES + 2);
    memset(token, 'c', WATCH_MAX_CONTINUE_BYTES + 1);
    go_to(AT_PAGE1);
    feed_page("20", token);
    ck_assert_str_eq(w.reason, "garbled");
    token[WATCH_MAX_CONTINUE_BYTES] = '\0';
    go_to(AT_PAGE1);
    ck_assert_uint_eq(feed_page("20", token), WATCH_REQUEST);
}

TEST(pages_that_expire_twice_do_not_spin)
{
    go_to(AT_PAGE2);
    feed_answer(410);
    assert_path(WHOLE_PATH);
    feed_head();
    feed_page("22", "c2"); /* a server with a limit of its own */
    feed_head();
    feed_answer(410);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    feed_due();
    assert_path(WHOLE_PATH);
    feed_head();
    ck_assert(feed_page("24", "") & WATCH_REPLACE_END);
    assert_path(WATCH_PATH("24"));
    ck_assert(!w.unlimited);
}

TEST(a_server_without_streaming_lists_is_remembered)
{
    go_to(AT_UNANSWERED);
    feed_answer(422);
    ck_assert_uint_eq(server.no_streaming_until_ms, 0); /* not before pages worked */
    feed_head();
    feed_page("20", NULL);
    ck_assert_uint_eq(server.no_streaming_until_ms, now + WATCH_RETRY_STREAMING_MS);

    struct watch other;
    watch_init(&other, &server, "/api/v1/services", NULL, NULL, 1);
    unsigned got = watch_step(&other, &(struct watch_event){.type = WATCH_EVENT_START}, now);
    ck_assert(got & WATCH_REQUEST);
    ck_assert_int_eq(other.state, WATCH_LISTING);
    watch_fini(&other);

    now += WATCH_RETRY_STREAMING_MS; /* servers get upgraded */
    feed_head();
    feed_object("21");
    feed_error(410);
    assert_path(STREAMING_PATH);
}

TEST(a_server_that_refuses_everything_says_nothing_about_streaming)
{
    go_to(AT_UNANSWERED);
    feed_answer(400); /* say, for a bad selector */
    feed_answer(400);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    ck_assert_uint_eq(server.no_streaming_until_ms, 0);
    feed_due();
    assert_path(PAGE1_PATH);
}

TEST(streaming_lists_that_are_cut_again_and_again_become_pages)
{
    go_to(AT_STREAMING);
    for (int i = 1; i < WATCH_STREAMING_TRIES; i++) {
        feed_type(WATCH_EVENT_LOST);
        ck_assert_int_eq(w.state, WATCH_WAITING);
        feed_due();
        assert_path(STREAMING_PATH);
        feed_head();
    }
    feed_type(WATCH_EVENT_LOST);
    assert_path(PAGE1_PATH);
    /* In a row: a complete one in between counts. */
    go_to(AT_STREAMING);
    w.cut_streams = WATCH_STREAMING_TRIES - 1;
    feed_bookmark("20", true);
    feed_object("21");
    now += WATCH_LIST_SPACING_MS;
    feed_error(410);
    assert_path(STREAMING_PATH);
    feed_head();
    feed_type(WATCH_EVENT_LOST);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    /* A refused connection says nothing about streaming. */
    go_to(AT_UNANSWERED);
    for (int i = 0; i < 20; i++) {
        feed(refused);
        feed_due();
        assert_path(STREAMING_PATH);
    }
}

TEST(failing_lists_keep_the_last_good_state)
{
    go_to(AT_STABLE_WATCH);
    feed_answer(410);
    ck_assert(actions & WATCH_REPLACE_BEGIN);
    for (int i = 0; i < 3; i++) {
        feed_head();
        feed_object("30");
        feed_type(WATCH_EVENT_LOST);
        ck_assert(actions & WATCH_REPLACE_ABORT);
        ck_assert(w.synced);
        ck_assert(!w.contact);
        if (w.state == WATCH_WAITING)
            feed_due();
        ck_assert(actions & WATCH_REPLACE_BEGIN);
    }
    ck_assert_str_eq(w.version, "21");
}

TEST(relists_are_spaced_where_each_event_is_followed_by_trouble)
{
    go_to(AT_STABLE_WATCH);
    feed_error(500);
    ck_assert(actions & WATCH_REQUEST);
    feed_head();
    feed_bookmark("30", true);
    now += 10;
    feed_object("31");
    feed_error(500);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    ck_assert_uint_ge(watch_due_ms(&w), w.listed_ms + WATCH_LIST_SPACING_MS);
    ck_assert_uint_le(watch_due_ms(&w), w.listed_ms + WATCH_LIST_SPACING_MS + 800);
}

TEST(a_list_at_once_needs_news_since_the_last_one)
{
    go_to(AT_STABLE_WATCH);
    feed_error(410);
    ck_assert(actions & WATCH_REQUEST);
    feed_head();
    feed_bookmark("30", true);
    now += 10 * WATCH_LIST_SPACING_MS;
    feed_error(410);
    ck_assert_int_eq(w.state, WATCH_WAITING);
}

TEST(denied_is_reported_and_ends_with_the_next_good_answer)
{
    static const int denials[] = {403, 404};
    for (size_t i = 0; i < array_len(denials); i++) {
        go_to(AT_UNANSWERED);
        feed_answer(denials[i]); /* never synced: no reason to doubt */
        ck_assert_int_eq(w.denied_status, denials[i]);
        feed_due();
        feed(refused);
        ck_assert_int_eq(w.denied_status, denials[i]); /* no other answer came */
        feed_due();
        feed_answer(503);
        ck_assert_int_eq(w.denied_status, 0);
        feed_due();
        feed_answer(denials[i]);
        feed_due();
        feed_head();
        ck_assert_int_eq(w.denied_status, 0);
    }
}

/* An API server that starts says 403 to everybody until it has read its roles. */
TEST(denied_after_sync_is_believed_after_a_while)
{
    go_to(AT_OPENING_WATCH);
    feed_answer(403);
    ck_assert_int_eq(w.denied_status, 0);
    ck_assert(w.synced);
    ck_assert(!w.contact);
    uint64_t first = now;
    feed_due();
    feed(refused); /* no answer at all changes nothing */
    now = first + WATCH_DENIED_MS - 1;
    feed_type(WATCH_EVENT_POKE);
    feed_answer(403);
    ck_assert_int_eq(w.denied_status, 0);
    now = first + WATCH_DENIED_MS;
    feed_type(WATCH_EVENT_POKE);
    feed_answer(404);
    ck_assert_int_eq(w.denied_status, 404);
    feed_due();
    assert_path(WATCH_PATH("20"));
    feed_head();
    ck_assert_int_eq(w.denied_status, 0);
    ck_assert(!w.contact); /* not yet: it may end at once */
    feed_due();
    ck_assert_uint_eq(actions, WATCH_CONTACT_BACK);
    feed_type(WATCH_EVENT_CLOSED);
    feed_answer(403); /* and all over again */
    ck_assert_int_eq(w.denied_status, 0);
}

TEST(a_rotated_token_costs_one_retry_and_a_refused_one_backs_off)
{
    go_to(AT_STABLE_WATCH);
    feed_type(WATCH_EVENT_CLOSED);
    ck_assert_uint_eq(feed_answer(401), WATCH_CREDENTIALS | WATCH_ENDED | WATCH_REQUEST);
    ck_assert(w.contact);
    feed_head(); /* the new one is good */
    now += 2000;
    feed_type(WATCH_EVENT_CLOSED);
    ck_assert_uint_eq(feed_answer(401), WATCH_CREDENTIALS | WATCH_ENDED | WATCH_REQUEST);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(feed_answer(401), WATCH_CREDENTIALS | WATCH_ENDED | WATCH_CONTACT_LOST);
        ck_assert_int_eq(w.state, WATCH_WAITING);
        feed_due();
        assert_path(WATCH_PATH("21"));
    }
    feed_answer(503); /* whatever it was, it did not refuse us */
    feed_due();
    ck_assert_uint_eq(feed_answer(401), WATCH_CREDENTIALS | WATCH_ENDED | WATCH_REQUEST);
}

/* That nothing is under way any more says test_watch_pairs. */
TEST(a_start_after_a_stop_has_no_pauses)
{
    go_to(AT_STABLE_WATCH);
    feed_type(WATCH_EVENT_STOP);
    ck_assert(!w.contact && watch_due_ms(&w) == 0);
    w.backoff.attempts = 5;
    ck_assert(feed_type(WATCH_EVENT_START) & WATCH_REQUEST);
    ck_assert_uint_eq(w.backoff.attempts, 0);
}

/* What of a list was read went with the cache: the second page alone would pass for all of it. */
TEST(a_forgotten_cache_is_listed_again)
{
    static const enum from places[] = {AT_UNANSWERED, AT_STREAMING, AT_PAGE1, AT_PAGE2, AT_OPENING_WATCH};
    for (size_t i = 0; i < array_len(places); i++) {
        go_to(places[i]);
        bool pages = watch_request_is_list(&w);
        feed_type(WATCH_EVENT_FORGET);
        ck_assert_str_eq(w.reason, "forgotten");
        assert_path(pages ? PAGE1_PATH : STREAMING_PATH);
    }
    go_to(AT_OPENING_WATCH);
    feed_answer(403);
    feed_type(WATCH_EVENT_FORGET);
    ck_assert_ptr_nonnull(strstr(w.detail, "forbidden")); /* still what keeps it from a list */
    feed_due();
    assert_path(STREAMING_PATH);
}

/* No step of it is one of a list, whatever ends it; what is denied is asked for a minute later. */
TEST(changes_alone_need_no_list)
{
    start_anew();
    w.changes_only = true;
    ck_assert_uint_eq(feed_type(WATCH_EVENT_START), WATCH_REQUEST);
    assert_path("/api/v1/nodes?watch=1&resourceVersion=0&timeoutSeconds=");
    feed_head();
    ck_assert(feed_object("20") & WATCH_PUT);
    ck_assert(!w.synced && w.contact);
    feed_type(WATCH_EVENT_CLOSED);
    assert_path("/api/v1/nodes?watch=1&resourceVersion=20&timeoutSeconds=");
    feed_head();
    feed_error(410);
    feed_due();
    assert_path("/api/v1/nodes?watch=1&resourceVersion=0&timeoutSeconds=");
    ck_assert_uint_eq(feed_answer(403) & ~(unsigned)WATCH_CONTACT_LOST, WATCH_ENDED);
    ck_assert_uint_eq(watch_due_ms(&w), now + WATCH_DENIED_HINT_MS);
    now = watch_due_ms(&w);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_TIMER), WATCH_REQUEST);
}

TEST(selectors_are_encoded)
{
    watch_fini(&w);
    watch_init(&w, &server, SLICES_PATH, "kubernetes.io/service-name=x,y!=z", "metadata.name=n", 3);
    now = T0;
    server.no_streaming_until_ms = now + 1;
    feed_type(WATCH_EVENT_START);
    assert_path(SELECTED_PATH "&limit=500");
    w.unlimited = true;
    assert_path(SELECTED_PATH);
    feed_head();
    feed_page("20", NULL);
    assert_path(SELECTED_PATH "&watch=1&allowWatchBookmarks=true&resourceVersion=20&timeoutSeconds=");
}
