/* The list/watch machine without sockets: each row of its table, its deadlines, the cases of client-go's own tests, and a
 * random walk that holds the promises no event may break. */
#include "kube/watch.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define T0 1000000 /* the clock never starts at 0 */

static struct watch_server server;
static struct watch w;
static uint64_t now;
static unsigned actions; /* of the last step */

static void start_anew(void)
{
    watch_fini(&w);
    server = (struct watch_server){0};
    watch_init(&w, &server, "/api/v1/nodes", NULL, NULL, 7);
    now = T0;
}

static unsigned feed(struct watch_event e)
{
    actions = watch_step(&w, &e, now);
    return actions;
}

static unsigned feed_type(enum watch_event_type type)
{
    return feed((struct watch_event){.type = type});
}

static unsigned feed_head(void)
{
    return feed((struct watch_event){.type = WATCH_EVENT_HEAD, .status = 200, .json = true});
}

static unsigned feed_object(const char *version)
{
    return feed((struct watch_event){.type = WATCH_EVENT_OBJECT, .version = version});
}

static unsigned feed_bookmark(const char *version, bool initial_end)
{
    return feed((struct watch_event){.type = WATCH_EVENT_BOOKMARK, .version = version, .initial_end = initial_end});
}

static unsigned feed_page(const char *version, const char *continue_token)
{
    return feed((struct watch_event){.type = WATCH_EVENT_PAGE, .version = version, .continue_token = continue_token});
}

static unsigned feed_answer(int status)
{
    return feed((struct watch_event){.type = WATCH_EVENT_ANSWER, .status = status});
}

static unsigned feed_error(int status)
{
    return feed((struct watch_event){.type = WATCH_EVENT_ERROR, .status = status});
}

/* Lets the time of the next deadline come. */
static unsigned feed_due(void)
{
    ck_assert_uint_gt(watch_due_ms(&w), 0);
    if (watch_due_ms(&w) > now)
        now = watch_due_ms(&w);
    return feed_type(WATCH_EVENT_TIMER);
}

static void assert_path(const char *expected)
{
    cleanup(mem_free_ptr) char *path = watch_request_path(&w);
    char *timeout = strstr(path, "timeoutSeconds=");
    if (timeout != NULL)
        timeout[strlen("timeoutSeconds=")] = '\0';
    ck_assert_str_eq(path, expected);
}

#define STREAMING_PATH                                                                                        \
    "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true" \
    "&timeoutSeconds="
#define PAGE1_PATH "/api/v1/nodes?limit=500"
#define PAGE2_PATH "/api/v1/nodes?limit=500&continue=c1"
#define WHOLE_PATH "/api/v1/nodes"
#define WATCH_PATH(version) "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=" version "&timeoutSeconds="

#define LIST_BEGINS (WATCH_REPLACE_BEGIN | WATCH_LISTED | WATCH_REQUEST)

/* ---- places to start from ---- */

enum from {
    AT_STREAMING,  /* a streaming list, two objects in */
    AT_UNANSWERED, /* a streaming list without headers yet */
    AT_PAGE1,
    AT_PAGE2,
    AT_FRESH_WATCH,    /* a watch from version 20, just answered, synced long ago, no news since */
    AT_PROVEN_WATCH,   /* the same with an event: at version 21 */
    AT_STREAMED_WATCH, /* a streaming list that became a watch this moment: version 20 */
    AT_OPENING_WATCH,  /* a watch from version 20 without headers yet */
};

static void go_paged(void)
{
    server.no_streaming_until_ms = now + 10 * WATCH_RETRY_STREAMING_MS;
    ck_assert_uint_eq(feed_type(WATCH_EVENT_START), WATCH_REPLACE_BEGIN | WATCH_LISTED | WATCH_REQUEST);
    ck_assert_int_eq(w.state, WATCH_LISTING);
    feed_head();
}

static void go_watching(void)
{
    go_paged();
    feed_page("20", NULL);
    server.no_streaming_until_ms = 0;
    now += WATCH_LIST_SPACING_MS;
    w.started_ms = now; /* the watch is as fresh as if it had been started now */
}

static void go_to(enum from from)
{
    start_anew();
    switch (from) {
    case AT_UNANSWERED:
    case AT_STREAMING:
        ck_assert_uint_eq(feed_type(WATCH_EVENT_START), WATCH_REPLACE_BEGIN | WATCH_LISTED | WATCH_REQUEST);
        if (from == AT_UNANSWERED)
            return;
        feed_head();
        feed_object("5");
        feed_object("6");
        return;
    case AT_PAGE1:
        go_paged();
        return;
    case AT_PAGE2:
        go_paged();
        feed_page("20", "c1");
        feed_head();
        return;
    case AT_STREAMED_WATCH:
        go_to(AT_STREAMING);
        now += 3000;
        feed_bookmark("20", true);
        return;
    case AT_OPENING_WATCH:
        go_watching();
        return;
    case AT_FRESH_WATCH:
    case AT_PROVEN_WATCH:
        go_watching();
        feed_head();
        if (from == AT_PROVEN_WATCH)
            feed_object("21");
        return;
    }
}

/* ---- the table ---- */

enum then { WATCH_AGAIN, STREAM, PAGES, WHOLE };

struct row {
    const char *name;
    enum from from;
    struct watch_event event;
    bool at_once;
    enum then then;
    const char *reason;
    unsigned extra; /* actions that must be there besides */
};

#define ANSWER(code)                                 \
    {                                                \
        .type = WATCH_EVENT_ANSWER, .status = (code) \
    }
#define TOO_LARGE(kind)                                  \
    {                                                    \
        .type = (kind), .status = 504, .too_large = true \
    }
#define IN_STREAM(code)                             \
    {                                               \
        .type = WATCH_EVENT_ERROR, .status = (code) \
    }
#define PLAIN(kind)    \
    {                  \
        .type = (kind) \
    }
#define HTML                                                   \
    {                                                          \
        .type = WATCH_EVENT_HEAD, .status = 200, .json = false \
    }
#define CUT WATCH_REPLACE_ABORT
#define KILL (WATCH_REPLACE_ABORT | WATCH_CANCEL)

static const struct row rows[] = {
    {"clean close after an event", AT_PROVEN_WATCH, PLAIN(WATCH_EVENT_CLOSED), true, WATCH_AGAIN, "closed", 0},
    {"clean close within 1 s, no event", AT_FRESH_WATCH, PLAIN(WATCH_EVENT_CLOSED), false, WATCH_AGAIN, "closed", 0},
    {"close right after the end bookmark", AT_STREAMED_WATCH, PLAIN(WATCH_EVENT_CLOSED), false, WATCH_AGAIN, "closed",
     0},
    {"reset after an event", AT_PROVEN_WATCH, PLAIN(WATCH_EVENT_LOST), true, WATCH_AGAIN, "lost", 0},
    {"reset within 1 s, no event", AT_FRESH_WATCH, PLAIN(WATCH_EVENT_LOST), false, WATCH_AGAIN, "lost", 0},
    {"connection refused", AT_OPENING_WATCH, PLAIN(WATCH_EVENT_LOST), false, WATCH_AGAIN, "unreachable", 0},
    {"no credentials yet",
     AT_OPENING_WATCH,
     {.type = WATCH_EVENT_LOST, .status = 401},
     false,
     WATCH_AGAIN,
     "no_credentials",
     0},
    {"429 to a watch", AT_OPENING_WATCH, ANSWER(429), false, WATCH_AGAIN, "throttled", 0},
    {"429 in the stream", AT_PROVEN_WATCH, IN_STREAM(429), false, WATCH_AGAIN, "throttled", WATCH_CANCEL},
    {"410 to a watch after news", AT_PROVEN_WATCH, ANSWER(410), true, STREAM, "expired", 0},
    {"410 to a watch, no news since the list", AT_OPENING_WATCH, ANSWER(410), false, STREAM, "expired", 0},
    {"410 in the stream", AT_PROVEN_WATCH, IN_STREAM(410), true, STREAM, "expired", WATCH_CANCEL},
    {"\"Expired\" in the stream",
     AT_PROVEN_WATCH,
     {.type = WATCH_EVENT_ERROR, .reason = "Expired"},
     true,
     STREAM,
     "expired",
     WATCH_CANCEL},
    {"\"Gone\" in the stream",
     AT_PROVEN_WATCH,
     {.type = WATCH_EVENT_ERROR, .reason = "Gone"},
     true,
     STREAM,
     "expired",
     WATCH_CANCEL},
    {"504 too large version", AT_PROVEN_WATCH, TOO_LARGE(WATCH_EVENT_ANSWER), true, STREAM, "too_large_version", 0},
    {"504 too large version in the stream", AT_PROVEN_WATCH, TOO_LARGE(WATCH_EVENT_ERROR), true, STREAM,
     "too_large_version", WATCH_CANCEL},
    {"another 504", AT_OPENING_WATCH, ANSWER(504), false, WATCH_AGAIN, "other_answer", 0},
    {"500 in the stream", AT_PROVEN_WATCH, IN_STREAM(500), true, STREAM, "stream_error", WATCH_CANCEL},
    {"500 in the stream, no news", AT_FRESH_WATCH, IN_STREAM(500), false, STREAM, "stream_error", WATCH_CANCEL},
    {"an ERROR of no known code", AT_PROVEN_WATCH, IN_STREAM(0), true, STREAM, "stream_error", WATCH_CANCEL},
    {"undecodable event", AT_PROVEN_WATCH, PLAIN(WATCH_EVENT_GARBLED), true, STREAM, "garbled", WATCH_CANCEL},
    {"401 to a watch", AT_OPENING_WATCH, ANSWER(401), true, WATCH_AGAIN, "unauthorized", WATCH_CREDENTIALS},
    {"403 to a watch", AT_OPENING_WATCH, ANSWER(403), false, WATCH_AGAIN, "forbidden", 0},
    {"404 to a watch", AT_OPENING_WATCH, ANSWER(404), false, WATCH_AGAIN, "not_found", 0},
    {"400 to a watch: our version may be refused", AT_OPENING_WATCH, ANSWER(400), false, STREAM, "bad_request", 0},
    {"500 to a watch: \"abc\" as a version", AT_OPENING_WATCH, ANSWER(500), false, STREAM, "server_error", 0},
    {"503 to a watch", AT_OPENING_WATCH, ANSWER(503), false, WATCH_AGAIN, "other_answer", 0},
    {"redirect of a watch", AT_OPENING_WATCH, ANSWER(302), false, WATCH_AGAIN, "other_answer", 0},
    {"204 to a watch", AT_OPENING_WATCH, ANSWER(204), false, WATCH_AGAIN, "other_answer", 0},
    {"HTML to a watch", AT_OPENING_WATCH, HTML, false, WATCH_AGAIN, "not_json", WATCH_CANCEL},

    {"streaming list: 422", AT_UNANSWERED, ANSWER(422), true, PAGES, "bad_request", CUT},
    {"streaming list: unknown parameter", AT_UNANSWERED, ANSWER(400), true, PAGES, "bad_request", CUT},
    {"streaming list: 500 in the stream", AT_STREAMING, IN_STREAM(500), true, PAGES, "stream_error", KILL},
    {"streaming list: another ERROR", AT_STREAMING, IN_STREAM(503), false, STREAM, "stream_error", KILL},
    {"streaming list: 410 in the stream", AT_STREAMING, IN_STREAM(410), false, STREAM, "expired", KILL},
    {"streaming list: 429 in the stream", AT_STREAMING, IN_STREAM(429), false, STREAM, "throttled", KILL},
    {"streaming list: 429", AT_UNANSWERED, ANSWER(429), false, STREAM, "throttled", CUT},
    {"streaming list: refused", AT_UNANSWERED, PLAIN(WATCH_EVENT_LOST), false, STREAM, "unreachable", CUT},
    {"streaming list: cut", AT_STREAMING, PLAIN(WATCH_EVENT_LOST), false, STREAM, "lost", CUT},
    {"streaming list: closed before its end", AT_STREAMING, PLAIN(WATCH_EVENT_CLOSED), false, STREAM, "closed", CUT},
    {"streaming list: undecodable", AT_STREAMING, PLAIN(WATCH_EVENT_GARBLED), false, STREAM, "garbled", KILL},
    {"streaming list: 401", AT_UNANSWERED, ANSWER(401), true, STREAM, "unauthorized", CUT | WATCH_CREDENTIALS},
    {"streaming list: 403", AT_UNANSWERED, ANSWER(403), false, STREAM, "forbidden", CUT},
    {"streaming list: 404", AT_UNANSWERED, ANSWER(404), false, STREAM, "not_found", CUT},
    {"streaming list: 500", AT_UNANSWERED, ANSWER(500), false, STREAM, "server_error", CUT},
    {"streaming list: redirect", AT_UNANSWERED, ANSWER(301), false, STREAM, "other_answer", CUT},
    {"streaming list: HTML", AT_UNANSWERED, HTML, false, STREAM, "not_json", KILL},

    {"list: 410 on page 1", AT_PAGE1, ANSWER(410), false, PAGES, "expired", CUT},
    {"list: 410 on page 2", AT_PAGE2, ANSWER(410), true, WHOLE, "expired", CUT},
    {"list: too large version", AT_PAGE1, TOO_LARGE(WATCH_EVENT_ANSWER), false, PAGES, "too_large_version", CUT},
    {"list: truncated", AT_PAGE2, PLAIN(WATCH_EVENT_GARBLED), false, PAGES, "garbled", KILL},
    {"list: empty 200", AT_PAGE1, PLAIN(WATCH_EVENT_CLOSED), false, PAGES, "closed", CUT},
    {"list: cut", AT_PAGE2, PLAIN(WATCH_EVENT_LOST), false, PAGES, "lost", CUT},
    {"list: 429", AT_PAGE2, ANSWER(429), false, PAGES, "throttled", CUT},
    {"list: 401", AT_PAGE2, ANSWER(401), true, PAGES, "unauthorized", CUT | WATCH_CREDENTIALS},
    {"list: 403", AT_PAGE1, ANSWER(403), false, PAGES, "forbidden", CUT},
    {"list: 404", AT_PAGE1, ANSWER(404), false, PAGES, "not_found", CUT},
    {"list: 400", AT_PAGE2, ANSWER(400), false, PAGES, "bad_request", CUT},
    {"list: 502", AT_PAGE1, ANSWER(502), false, PAGES, "other_answer", CUT},
    {"list: HTML", AT_PAGE1, HTML, false, PAGES, "not_json", KILL},
};

static void assert_request(const struct row *r)
{
    unsigned list = WATCH_REPLACE_BEGIN | WATCH_LISTED;
    ck_assert_msg(actions & WATCH_REQUEST, "%s: no request", r->name);
    ck_assert_msg((actions & list) == (r->then == WATCH_AGAIN ? 0 : list), "%s: list actions %x", r->name, actions);
    switch (r->then) {
    case WATCH_AGAIN:
        assert_path(r->from == AT_PROVEN_WATCH ? WATCH_PATH("21") : WATCH_PATH("20"));
        ck_assert(!watch_request_is_list(&w));
        break;
    case STREAM:
        assert_path(STREAMING_PATH);
        ck_assert(!watch_request_is_list(&w));
        break;
    case PAGES:
        assert_path(PAGE1_PATH);
        ck_assert(watch_request_is_list(&w));
        break;
    case WHOLE:
        assert_path(WHOLE_PATH);
        ck_assert(watch_request_is_list(&w));
        break;
    }
}

START_TEST(each_row_of_the_table)
{
    const struct row *r = &rows[_i];
    go_to(r->from);
    bool watching = w.state == WATCH_WATCHING;
    feed(r->event);
    ck_assert_msg(strcmp(w.reason, r->reason) == 0, "%s: reason %s", r->name, w.reason);
    ck_assert_msg((actions & r->extra) == r->extra, "%s: actions %x lack %x", r->name, actions, r->extra);
    ck_assert_msg(!(actions & WATCH_ENDED) == !watching, "%s: WATCH_ENDED", r->name);
    ck_assert_msg(!(actions & WATCH_CREDENTIALS) == !(r->extra & WATCH_CREDENTIALS), "%s: credentials", r->name);
    ck_assert_msg(!(actions & WATCH_CANCEL) == !(r->extra & WATCH_CANCEL), "%s: cancel", r->name);
    if (!r->at_once) {
        ck_assert_msg(w.state == WATCH_WAITING, "%s: %s", r->name, watch_state_name(w.state));
        ck_assert_msg(!(actions & (WATCH_REQUEST | WATCH_REPLACE_BEGIN)), "%s: not at once", r->name);
        ck_assert_msg(actions & WATCH_CONTACT_LOST, "%s: says nothing", r->name);
        ck_assert(!w.contact);
        ck_assert_uint_gt(watch_due_ms(&w), now);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_TIMER), 0); /* too early */
        feed_due();
    } else {
        ck_assert_msg(!(actions & WATCH_CONTACT_LOST), "%s: contact lost", r->name);
    }
    assert_request(r);
}
END_TEST

START_TEST(what_a_server_wrote_is_printable_and_cut)
{
    char *longer = mem_alloc(5000);
    memset(longer, 'x', 4999);
    memcpy(longer, "a\n\x1b[2J", 6);
    go_to(AT_OPENING_WATCH);
    feed((struct watch_event){.type = WATCH_EVENT_ANSWER, .status = 403, .detail = longer});
    free(longer);
    ck_assert_ptr_nonnull(strstr(w.detail, "watch: forbidden: a "));
    ck_assert_ptr_null(strchr(w.detail, '\n'));
    ck_assert_ptr_null(strchr(w.detail, '\x1b'));
    ck_assert_uint_lt(strlen(w.detail), sizeof(w.detail));
}
END_TEST

/* ---- waiting ---- */

static uint64_t wait_of(struct watch_event e)
{
    feed(e);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    return watch_due_ms(&w) - now;
}

static const struct watch_event refused = {.type = WATCH_EVENT_LOST, .detail = "connection refused"};

START_TEST(backoff_doubles_up_to_its_cap)
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
END_TEST

static void fail_five_times(void)
{
    for (int i = 0; i < 5; i++) {
        feed(refused);
        feed_due();
    }
    ck_assert_uint_eq(w.backoff.attempts, 5);
}

/* Of a resource that hardly ever changes, too, the next outage begins with short waits. */
START_TEST(backoff_goes_back_after_a_watch_that_lasted)
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
END_TEST

START_TEST(backoff_goes_back_after_news_only)
{
    go_to(AT_OPENING_WATCH);
    fail_five_times();
    feed_head();
    ck_assert_uint_eq(w.backoff.attempts, 5); /* not after a connect */
    feed_object("20");
    ck_assert_uint_eq(w.backoff.attempts, 5); /* nor after an event that we knew */
    feed_object("21");
    ck_assert_uint_eq(w.backoff.attempts, 0);
}
END_TEST

START_TEST(backoff_does_not_go_back_after_a_list)
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
END_TEST

START_TEST(a_bookmark_after_a_while_is_progress_even_where_nothing_moved)
{
    go_to(AT_OPENING_WATCH);
    fail_five_times();
    feed_head();
    feed_bookmark("20", false);
    ck_assert_uint_eq(w.backoff.attempts, 5);
    now += 60000;
    feed_bookmark("20", false);
    ck_assert_uint_eq(w.backoff.attempts, 0);
}
END_TEST

START_TEST(retry_after_is_honoured_in_both_forms)
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
END_TEST

/* A server that restarts cuts many watches: those that stood for a while go on at once, though nobody asked them since. */
START_TEST(a_watch_that_stood_for_a_while_goes_on_at_once_however_it_ends)
{
    static const enum watch_event_type ends[] = {WATCH_EVENT_CLOSED, WATCH_EVENT_LOST};
    for (size_t i = 0; i < array_len(ends); i++) {
        for (uint64_t stood_ms = WATCH_PROVEN_MS - 1; stood_ms <= WATCH_PROVEN_MS; stood_ms++) {
            go_to(AT_OPENING_WATCH);
            feed_head();
            now += stood_ms;
            feed_type(ends[i]);
            ck_assert_int_eq(w.state, stood_ms < WATCH_PROVEN_MS ? WATCH_WAITING : WATCH_WATCHING);
        }
    }
}
END_TEST

START_TEST(a_poke_ends_the_waiting)
{
    go_to(AT_OPENING_WATCH);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_POKE), 0); /* nothing to do while a request is under way */
    feed_answer(403);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_POKE), WATCH_REQUEST);
    assert_path(WATCH_PATH("20"));
    go_to(AT_UNANSWERED);
    feed_answer(403);
    feed_type(WATCH_EVENT_POKE);
    assert_path(STREAMING_PATH);
}
END_TEST

/* ---- deadlines ---- */

START_TEST(hanging_before_headers)
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
END_TEST

START_TEST(silence_after_bookmarks_is_death)
{
    go_to(AT_PROVEN_WATCH);
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
    ck_assert_uint_eq(watch_due_ms(&w), now + WATCH_PROVEN_MS);
    feed_due();
    ck_assert_uint_eq(actions, WATCH_CONTACT_BACK);
    ck_assert_uint_eq(watch_due_ms(&w),
                      now - WATCH_PROVEN_MS + watch_usual_deadlines.silence_ms); /* remembered in the next watch */
}
END_TEST

/* As the watch of a server does that was restored from a backup and has not reached our version yet. */
START_TEST(a_watch_that_never_says_a_word_is_listed_again)
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
    ck_assert_str_eq(w.reason, "mute");
    ck_assert(actions & WATCH_CONTACT_LOST);
    assert_path(STREAMING_PATH);
    feed_head();
    feed_bookmark("9", true);
    ck_assert_str_eq(w.version, "9");
}
END_TEST

START_TEST(a_server_that_does_not_end_the_watch)
{
    go_to(AT_PROVEN_WATCH);
    uint64_t end = w.started_ms + w.timeout_s * 1000 + watch_usual_deadlines.grace_ms;
    ck_assert_uint_eq(watch_due_ms(&w), end);
    now = end;
    feed_type(WATCH_EVENT_BYTES);
    feed_type(WATCH_EVENT_TIMER);
    ck_assert_uint_eq(actions, WATCH_CANCEL | WATCH_ENDED | WATCH_REQUEST);
    ck_assert_str_eq(w.reason, "deadline");
    assert_path(WATCH_PATH("21"));
}
END_TEST

START_TEST(a_streaming_list_that_stalls_becomes_pages)
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
END_TEST

START_TEST(a_streaming_list_that_trickles_for_ever_becomes_pages)
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
END_TEST

START_TEST(a_page_that_stalls_or_trickles_is_given_up)
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
END_TEST

START_TEST(timeouts_are_spread)
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
END_TEST

/* ---- versions ---- */

START_TEST(every_event_moves_the_version)
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
END_TEST

START_TEST(a_missing_version_never_costs_the_last_one)
{
    go_to(AT_FRESH_WATCH);
    ck_assert_uint_eq(feed_object(""), WATCH_PUT);
    feed_object(NULL);
    feed_bookmark("", false);
    ck_assert_str_eq(w.version, "20");
}
END_TEST

START_TEST(a_version_beyond_all_sense_is_no_version)
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
END_TEST

/* ---- whole stories; the cases of client-go's own tests among them ---- */

START_TEST(a_streaming_list_is_published_at_its_end_bookmark)
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
END_TEST

START_TEST(an_end_bookmark_without_a_version_is_none)
{
    go_to(AT_STREAMING);
    feed_bookmark("", true);
    ck_assert(!(actions & WATCH_REPLACE_END));
    ck_assert(actions & WATCH_REPLACE_ABORT);
    ck_assert(!w.synced);
}
END_TEST

START_TEST(three_pages_are_one_list_of_the_first_ones_version)
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
END_TEST

START_TEST(a_page_without_a_version_is_no_list)
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
END_TEST

START_TEST(a_continue_token_has_a_cap)
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
END_TEST

START_TEST(pages_that_expire_twice_do_not_spin)
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
END_TEST

START_TEST(a_server_without_streaming_lists_is_remembered)
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
END_TEST

START_TEST(a_server_that_refuses_everything_says_nothing_about_streaming)
{
    go_to(AT_UNANSWERED);
    feed_answer(400); /* say, for a bad selector */
    feed_answer(400);
    ck_assert_int_eq(w.state, WATCH_WAITING);
    ck_assert_uint_eq(server.no_streaming_until_ms, 0);
    feed_due();
    assert_path(PAGE1_PATH);
}
END_TEST

START_TEST(streaming_lists_that_are_cut_again_and_again_become_pages)
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
END_TEST

START_TEST(failing_lists_keep_the_last_good_state)
{
    go_to(AT_PROVEN_WATCH);
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
END_TEST

START_TEST(relists_are_spaced_where_each_event_is_followed_by_trouble)
{
    go_to(AT_PROVEN_WATCH);
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
END_TEST

START_TEST(a_list_at_once_needs_news_since_the_last_one)
{
    go_to(AT_PROVEN_WATCH);
    feed_error(410);
    ck_assert(actions & WATCH_REQUEST);
    feed_head();
    feed_bookmark("30", true);
    now += 10 * WATCH_LIST_SPACING_MS;
    feed_error(410);
    ck_assert_int_eq(w.state, WATCH_WAITING);
}
END_TEST

START_TEST(denied_is_told_and_ends_with_the_next_good_answer)
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
END_TEST

/* An API server that starts says 403 to everybody until it has read its roles. */
START_TEST(denied_after_sync_is_believed_after_a_while)
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
END_TEST

START_TEST(a_rotated_token_costs_one_retry_and_a_refused_one_backs_off)
{
    go_to(AT_PROVEN_WATCH);
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
END_TEST

START_TEST(stop_leaves_nothing_behind)
{
    static const enum from places[] = {AT_UNANSWERED, AT_STREAMING, AT_PAGE2, AT_PROVEN_WATCH};
    for (size_t i = 0; i < array_len(places); i++) {
        go_to(places[i]);
        bool list = w.state != WATCH_WATCHING;
        ck_assert_uint_eq(feed_type(WATCH_EVENT_STOP), WATCH_CANCEL | (list ? WATCH_REPLACE_ABORT : 0));
        ck_assert_int_eq(w.state, WATCH_IDLE);
        ck_assert_uint_eq(watch_due_ms(&w), 0);
        ck_assert(!w.contact);
        ck_assert_uint_eq(feed_object("99"), 0);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_TIMER), 0);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_POKE), 0);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_STOP), 0);
        w.backoff.attempts = 5;
        ck_assert(feed_type(WATCH_EVENT_START) & WATCH_REQUEST);
        ck_assert_uint_eq(w.backoff.attempts, 0);
    }
    go_to(AT_OPENING_WATCH);
    feed(refused);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_STOP), 0); /* no request is under way */
    ck_assert_uint_eq(watch_due_ms(&w), 0);
}
END_TEST

START_TEST(a_forgotten_cache_is_listed_again)
{
    go_to(AT_OPENING_WATCH);
    feed_answer(403);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_FORGET), 0);
    ck_assert(!w.synced);
    ck_assert_ptr_nonnull(strstr(w.detail, "forbidden")); /* still what keeps it from a list */
    feed_due();
    assert_path(STREAMING_PATH);
    go_to(AT_OPENING_WATCH);
    ck_assert_uint_eq(feed_type(WATCH_EVENT_FORGET), WATCH_CANCEL | LIST_BEGINS);
    ck_assert(!w.synced);
    ck_assert_str_eq(w.reason, "forgotten");
    assert_path(STREAMING_PATH);
}
END_TEST

/* What of the list was read went with the cache: the second page alone would pass for all of it. */
START_TEST(a_cache_that_is_forgotten_in_the_middle_of_a_list_is_listed_from_the_start)
{
    static const enum from places[] = {AT_UNANSWERED, AT_STREAMING, AT_PAGE1, AT_PAGE2};
    for (size_t i = 0; i < array_len(places); i++) {
        go_to(places[i]);
        bool pages = watch_request_is_list(&w);
        ck_assert_uint_eq(feed_type(WATCH_EVENT_FORGET), WATCH_CANCEL | WATCH_REPLACE_ABORT | LIST_BEGINS);
        ck_assert_str_eq(w.reason, "forgotten");
        assert_path(pages ? PAGE1_PATH : STREAMING_PATH);
    }
}
END_TEST

START_TEST(selectors_are_encoded)
{
    watch_fini(&w);
    watch_init(&w, &server, "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices",
               "kubernetes.io/service-name=x,y!=z", "metadata.name=n", 3);
    now = T0;
    server.no_streaming_until_ms = now + 1;
    feed_type(WATCH_EVENT_START);
    assert_path("/apis/discovery.k8s.io/v1/namespaces/a/endpointslices"
                "?labelSelector=kubernetes.io%2Fservice-name%3Dx%2Cy%21%3Dz&fieldSelector=metadata.name%3Dn&limit=500");
    w.unlimited = true;
    assert_path("/apis/discovery.k8s.io/v1/namespaces/a/endpointslices"
                "?labelSelector=kubernetes.io%2Fservice-name%3Dx%2Cy%21%3Dz&fieldSelector=metadata.name%3Dn");
    feed_head();
    feed_page("20", NULL);
    assert_path("/apis/discovery.k8s.io/v1/namespaces/a/endpointslices"
                "?labelSelector=kubernetes.io%2Fservice-name%3Dx%2Cy%21%3Dz&fieldSelector=metadata.name%3Dn"
                "&watch=1&allowWatchBookmarks=true&resourceVersion=20&timeoutSeconds=");
}
END_TEST

/* ---- a random walk ---- */

/* What the outside may believe, kept from the actions alone. */
struct model {
    bool in_flight, replacing, synced;
    unsigned starts_at_same_ms;
    uint64_t last_start_ms;
};

static unsigned pick(unsigned *seed, unsigned n)
{
    return (unsigned)rand_r(seed) % n;
}

/* What ends most of what is under way would let the walk get nowhere. */
static bool is_rare(enum watch_event_type type)
{
    bool of_list = type == WATCH_EVENT_ITEM || type == WATCH_EVENT_PAGE;
    bool of_stream = type == WATCH_EVENT_OBJECT || type == WATCH_EVENT_BOOKMARK || type == WATCH_EVENT_ERROR;
    bool list = w.state == WATCH_LISTING;
    return type == WATCH_EVENT_STOP || type == WATCH_EVENT_FORGET || (of_list && !list) || (of_stream && list);
}

static struct watch_event random_event(unsigned *seed)
{
    static const int codes[] = {200, 200, 204, 301, 400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504, 0};
    static const char *const versions[] = {"1", "2", "3", "4000000000000000000000", "x y", "", NULL};
    static const char *const reasons[] = {"Expired", "Gone", "InternalError", "", NULL};
    return (struct watch_event){
        .type = pick(seed, WATCH_EVENTS),
        .status = codes[pick(seed, array_len(codes))],
        .json = pick(seed, 4) != 0,
        .deleted = pick(seed, 4) == 0,
        .initial_end = pick(seed, 2) == 0,
        .too_large = pick(seed, 4) == 0,
        .retry_after_ms = (int64_t)pick(seed, 20000) - 10000,
        .version = versions[pick(seed, array_len(versions))],
        .continue_token = pick(seed, 2) ? "more" : "",
        .reason = reasons[pick(seed, array_len(reasons))],
        .detail = pick(seed, 2) ? "some detail" : NULL,
    };
}

static void check_replace(struct model *m, const struct watch_event *e)
{
    bool was_replacing = m->replacing;
    if (e->type == WATCH_EVENT_FORGET) /* as the cache has it: what was put aside is gone, too */
        m->synced = m->replacing = false;
    if (actions & (WATCH_PUT | WATCH_DELETE))
        ck_assert(m->replacing || m->synced); /* never published before the first list is complete */
    ck_assert((actions & (WATCH_PUT | WATCH_DELETE)) != (WATCH_PUT | WATCH_DELETE));
    if (actions & WATCH_REPLACE_ABORT) {
        ck_assert(was_replacing);
        m->replacing = false;
    }
    if (actions & WATCH_REPLACE_END) {
        ck_assert(m->replacing);
        m->replacing = false;
        m->synced = true;
    }
    if (actions & WATCH_REPLACE_BEGIN) {
        ck_assert(!m->replacing);
        m->replacing = true;
    }
    ck_assert_int_eq(m->replacing, w.state == WATCH_STREAMING || w.state == WATCH_LISTING);
}

static void check_request(struct model *m, const struct watch_event *e)
{
    if (e->type >= WATCH_EVENT_PAGE && e->type <= WATCH_EVENT_LOST)
        m->in_flight = false; /* whatever the machine makes of it */
    if (actions & WATCH_CANCEL) {
        ck_assert(m->in_flight);
        m->in_flight = false;
    }
    if (actions & WATCH_REQUEST) {
        ck_assert(!m->in_flight);
        m->in_flight = true;
        m->starts_at_same_ms = m->last_start_ms == now ? m->starts_at_same_ms + 1 : 0;
        m->last_start_ms = now;
        cleanup(mem_free_ptr) char *path = watch_request_path(&w);
        ck_assert(w.state != WATCH_WATCHING || strstr(path, "resourceVersion=&") == NULL);
        ck_assert_ptr_null(strstr(path, "resourceVersion=0"));
    }
    ck_assert_int_eq(m->in_flight, w.state != WATCH_IDLE && w.state != WATCH_WAITING);
}

/* ---- each pair of state and event ---- */

/* What the table in kube/watch.h says of a pair. */
enum cell {
    NONE,   /* means nothing here: no action, the state stays */
    NOTED,  /* no action, the state stays, but it is remembered */
    STORED, /* to the cache */
    SYNC,   /* the list is complete: changes follow */
    STOPS,  /* nothing is under way any more */
    LISTS,  /* a list begins at once; what was under way is cancelled */
    GOES,   /* the wait is over */
    ENDS,   /* the request is over: a pause, or the next one */
    KILLS,  /* the same, and it has to be cancelled */
};

/* A pair is looked at from each of these. */
static const struct place {
    enum watch_state state;
    enum from from;
    bool then_fails; /* and then no connection: WAITING */
    bool then_stops;
} pair_places[] = {
    {WATCH_IDLE, AT_PROVEN_WATCH, false, true},       {WATCH_IDLE, AT_STREAMING, false, true},
    {WATCH_STREAMING, AT_UNANSWERED, false, false},   {WATCH_STREAMING, AT_STREAMING, false, false},
    {WATCH_LISTING, AT_PAGE1, false, false},          {WATCH_LISTING, AT_PAGE2, false, false},
    {WATCH_WATCHING, AT_OPENING_WATCH, false, false}, {WATCH_WATCHING, AT_FRESH_WATCH, false, false},
    {WATCH_WATCHING, AT_PROVEN_WATCH, false, false},  {WATCH_WATCHING, AT_STREAMED_WATCH, false, false},
    {WATCH_WAITING, AT_OPENING_WATCH, true, false},   {WATCH_WAITING, AT_STREAMING, true, false},
    {WATCH_WAITING, AT_PAGE2, true, false},
};

/* clang-format off */
static const struct pair {
    struct watch_event event;
    enum cell cells[WATCH_STATES];
} pairs[] = {
    /*                                                           IDLE   STREAMING LISTING WATCHING WAITING */
    {{.type = WATCH_EVENT_START},                               {LISTS, NONE,    NONE,   NONE,    NONE}},
    {{.type = WATCH_EVENT_STOP},                                {NONE,  STOPS,   STOPS,  STOPS,   STOPS}},
    {{.type = WATCH_EVENT_POKE},                                {NONE,  NONE,    NONE,   NONE,    GOES}},
    {{.type = WATCH_EVENT_FORGET},                              {NOTED, LISTS,   LISTS,  LISTS,   NOTED}},
    {{.type = WATCH_EVENT_TIMER},                               {NONE,  NONE,    NONE,   NONE,    NONE}},
    {{.type = WATCH_EVENT_HEAD, .status = 200, .json = true},   {NONE,  NOTED,   NOTED,  NOTED,   NONE}},
    {{.type = WATCH_EVENT_HEAD, .status = 503},                 {NONE,  NONE,    NONE,   NONE,    NONE}},
    {{.type = WATCH_EVENT_HEAD, .status = 200},                 {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_BYTES},                               {NONE,  NOTED,   NOTED,  NOTED,   NONE}},
    {{.type = WATCH_EVENT_ITEM},                                {NONE,  KILLS,   STORED, KILLS,   NONE}},
    {{.type = WATCH_EVENT_OBJECT, .version = "30"},             {NONE,  STORED,  KILLS,  STORED,  NONE}},
    {{.type = WATCH_EVENT_OBJECT, .version = "30", .deleted = true}, {NONE, STORED, KILLS, STORED, NONE}},
    {{.type = WATCH_EVENT_BOOKMARK, .version = "30"},           {NONE,  NOTED,   KILLS,  NOTED,   NONE}},
    {{.type = WATCH_EVENT_BOOKMARK, .version = "30", .initial_end = true}, {NONE, SYNC, KILLS, NOTED, NONE}},
    {{.type = WATCH_EVENT_ERROR, .status = 410},                {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_ERROR, .status = 500},                {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_GARBLED},                             {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_PAGE, .version = "30"},               {NONE,  ENDS,    SYNC,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_PAGE, .version = "30", .continue_token = "c2"}, {NONE, ENDS, NOTED, ENDS, NONE}},
    {{.type = WATCH_EVENT_ANSWER, .status = 403},               {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_ANSWER, .status = 410},               {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_CLOSED},                              {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_LOST},                                {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
};
/* clang-format on */

static void go_to_place(const struct place *p)
{
    go_to(p->from);
    if (p->then_fails)
        feed(refused);
    if (p->then_stops)
        feed_type(WATCH_EVENT_STOP);
    ck_assert_int_eq(w.state, p->state);
}

static bool under_way(void)
{
    return w.state != WATCH_IDLE && w.state != WATCH_WAITING;
}

static void assert_cell(enum cell cell, enum watch_state was, const struct watch_event *e)
{
    unsigned put = e->deleted ? WATCH_DELETE : WATCH_PUT;
    bool was_under_way = was != WATCH_IDLE && was != WATCH_WAITING,
         was_list = was == WATCH_STREAMING || was == WATCH_LISTING;
    unsigned over = (was_under_way ? WATCH_CANCEL : 0) | (was_list ? WATCH_REPLACE_ABORT : 0);
    switch (cell) {
    case NONE:
        ck_assert_uint_eq(actions, 0);
        ck_assert_int_eq(w.state, was);
        return;
    case NOTED:
        ck_assert_uint_eq(actions & ~(unsigned)(WATCH_CONTACT_BACK | (e->type == WATCH_EVENT_PAGE ? WATCH_REQUEST : 0)),
                          0);
        ck_assert_int_eq(w.state, was);
        return;
    case STORED:
        ck_assert_uint_eq(actions & ~(unsigned)WATCH_CONTACT_BACK, put);
        ck_assert_int_eq(w.state, was);
        return;
    case SYNC:
        ck_assert(actions & WATCH_REPLACE_END);
        ck_assert(w.synced);
        ck_assert_int_eq(w.state, WATCH_WATCHING);
        return;
    case STOPS:
        ck_assert_uint_eq(actions, over);
        ck_assert_int_eq(w.state, WATCH_IDLE);
        return;
    case LISTS:
        ck_assert_uint_eq(actions, over | LIST_BEGINS);
        return;
    case GOES:
        ck_assert(actions & WATCH_REQUEST);
        ck_assert(under_way());
        return;
    case ENDS:
    case KILLS:
        ck_assert_int_eq(!(actions & WATCH_CANCEL), cell == ENDS);
        ck_assert_int_eq(!(actions & WATCH_REPLACE_ABORT), !was_list);
        ck_assert(!(actions & (WATCH_PUT | WATCH_DELETE | WATCH_REPLACE_END)));
        ck_assert_int_eq(!(actions & WATCH_REQUEST), w.state == WATCH_WAITING);
        return;
    }
}

static void feed_checked(struct model *m, struct watch_event e)
{
    feed(e);
    check_replace(m, &e);
    check_request(m, &e);
    ck_assert_int_eq(w.synced, m->synced);
}

/* A server that is well: whatever was before, the cache holds all of it in the end, and changes follow. */
static void go_on_until_synced(struct model *m)
{
    const struct watch_event head = {.type = WATCH_EVENT_HEAD, .status = 200, .json = true};
    for (int request = 0; request < 6; request++) {
        if (w.state == WATCH_IDLE)
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_START});
        if (w.state == WATCH_WAITING) {
            now = watch_due_ms(&w) > now ? watch_due_ms(&w) : now;
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_TIMER});
        }
        ck_assert(under_way());
        feed_checked(m, head);
        if (w.state == WATCH_STREAMING)
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_BOOKMARK, .version = "40", .initial_end = true});
        else if (w.state == WATCH_LISTING)
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_PAGE, .version = "40"});
        if (w.state != WATCH_WATCHING || !m->synced)
            continue;
        feed_checked(m, (struct watch_event){.type = WATCH_EVENT_OBJECT, .version = "41"});
        ck_assert(actions & WATCH_PUT);
        ck_assert(w.contact);
        return;
    }
    ck_abort_msg("never synced: %s", watch_state_name(w.state));
}

START_TEST(each_pair_of_state_and_event_has_an_answer_and_leads_to_sync)
{
    const struct place *place = &pair_places[_i];
    bool seen[WATCH_EVENTS] = {false};
    for (size_t i = 0; i < array_len(pairs); i++) {
        const struct pair *p = &pairs[i];
        go_to_place(place);
        struct model m = {.in_flight = under_way(),
                          .replacing = w.state == WATCH_STREAMING || w.state == WATCH_LISTING,
                          .synced = w.synced};
        feed_checked(&m, p->event);
        assert_cell(p->cells[place->state], place->state, &p->event);
        ck_assert(w.state == WATCH_IDLE || watch_due_ms(&w) > 0);
        if (p->event.type == WATCH_EVENT_FORGET)
            ck_assert(!w.synced);
        go_on_until_synced(&m);
        seen[p->event.type] = true;
    }
    for (size_t i = 0; i < array_len(seen); i++)
        ck_assert_msg(seen[i], "event %zu is in no row", i);
}
END_TEST

/* The time of each state. */
START_TEST(each_state_ends_by_its_clock)
{
    const struct place *place = &pair_places[_i];
    go_to_place(place);
    struct model m = {.in_flight = under_way(),
                      .replacing = w.state == WATCH_STREAMING || w.state == WATCH_LISTING,
                      .synced = w.synced};
    for (int i = 0; i < 3 && w.state == place->state && w.state != WATCH_IDLE; i++) {
        now = watch_due_ms(&w) > now ? watch_due_ms(&w) : now;
        feed_checked(&m, (struct watch_event){.type = WATCH_EVENT_TIMER});
        if (actions & WATCH_REQUEST)
            break;
    }
    ck_assert(w.state == WATCH_IDLE || w.state != place->state || (actions & WATCH_REQUEST));
    go_on_until_synced(&m);
}
END_TEST

START_TEST(a_random_walk_breaks_no_promise)
{
    unsigned seed = (unsigned)_i + 1, steps_synced = 0;
    struct model m = {0};
    start_anew();
    for (int step = 0; step < 20000; step++) {
        struct watch_event e = random_event(&seed);
        if (is_rare(e.type) && pick(&seed, 50) != 0)
            continue;
        now += pick(&seed, 3) == 0 ? pick(&seed, 1500) : 0;
        if (pick(&seed, 200) == 0)
            now += 200000;
        bool had_version = w.version[0] != '\0', counts = !(e.type == WATCH_EVENT_STOP || e.type == WATCH_EVENT_START);
        feed(e);
        check_replace(&m, &e);
        check_request(&m, &e);
        ck_assert(!had_version || w.version[0] != '\0');
        ck_assert(w.state == WATCH_IDLE || watch_due_ms(&w) != 0);
        ck_assert(!counts || m.starts_at_same_ms < 12);
        ck_assert_int_eq(w.synced, m.synced);
        ck_assert(!w.contact || w.state != WATCH_WAITING);
        steps_synced += w.state == WATCH_WATCHING;
    }
    ck_assert_uint_gt(steps_synced, 100); /* the walk reaches the interesting places */
}
END_TEST

static void tear_down(void)
{
    watch_fini(&w);
}

int main(void)
{
    Suite *s = suite_create("watch");
    TCase *t = tcase_create("table");
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_loop_test(t, each_row_of_the_table, 0, (int)array_len(rows));
    tcase_add_test(t, what_a_server_wrote_is_printable_and_cut);
    suite_add_tcase(s, t);

    t = tcase_create("time");
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, backoff_doubles_up_to_its_cap);
    tcase_add_test(t, backoff_goes_back_after_news_only);
    tcase_add_test(t, backoff_goes_back_after_a_watch_that_lasted);
    tcase_add_test(t, backoff_does_not_go_back_after_a_list);
    tcase_add_test(t, a_bookmark_after_a_while_is_progress_even_where_nothing_moved);
    tcase_add_test(t, retry_after_is_honoured_in_both_forms);
    tcase_add_test(t, a_watch_that_stood_for_a_while_goes_on_at_once_however_it_ends);
    tcase_add_test(t, a_poke_ends_the_waiting);
    tcase_add_test(t, hanging_before_headers);
    tcase_add_test(t, silence_after_bookmarks_is_death);
    tcase_add_test(t, a_watch_that_never_says_a_word_is_listed_again);
    tcase_add_test(t, a_server_that_does_not_end_the_watch);
    tcase_add_test(t, a_streaming_list_that_stalls_becomes_pages);
    tcase_add_test(t, a_streaming_list_that_trickles_for_ever_becomes_pages);
    tcase_add_test(t, a_page_that_stalls_or_trickles_is_given_up);
    tcase_add_test(t, timeouts_are_spread);
    suite_add_tcase(s, t);

    t = tcase_create("stories");
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, every_event_moves_the_version);
    tcase_add_test(t, a_missing_version_never_costs_the_last_one);
    tcase_add_test(t, a_version_beyond_all_sense_is_no_version);
    tcase_add_test(t, a_streaming_list_is_published_at_its_end_bookmark);
    tcase_add_test(t, an_end_bookmark_without_a_version_is_none);
    tcase_add_test(t, three_pages_are_one_list_of_the_first_ones_version);
    tcase_add_test(t, a_page_without_a_version_is_no_list);
    tcase_add_test(t, a_continue_token_has_a_cap);
    tcase_add_test(t, pages_that_expire_twice_do_not_spin);
    tcase_add_test(t, a_server_without_streaming_lists_is_remembered);
    tcase_add_test(t, a_server_that_refuses_everything_says_nothing_about_streaming);
    tcase_add_test(t, streaming_lists_that_are_cut_again_and_again_become_pages);
    tcase_add_test(t, failing_lists_keep_the_last_good_state);
    tcase_add_test(t, relists_are_spaced_where_each_event_is_followed_by_trouble);
    tcase_add_test(t, a_list_at_once_needs_news_since_the_last_one);
    tcase_add_test(t, denied_is_told_and_ends_with_the_next_good_answer);
    tcase_add_test(t, denied_after_sync_is_believed_after_a_while);
    tcase_add_test(t, a_rotated_token_costs_one_retry_and_a_refused_one_backs_off);
    tcase_add_test(t, stop_leaves_nothing_behind);
    tcase_add_test(t, a_forgotten_cache_is_listed_again);
    tcase_add_test(t, a_cache_that_is_forgotten_in_the_middle_of_a_list_is_listed_from_the_start);
    tcase_add_test(t, selectors_are_encoded);
    suite_add_tcase(s, t);

    t = tcase_create("pairs");
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_loop_test(t, each_pair_of_state_and_event_has_an_answer_and_leads_to_sync, 0,
                        (int)array_len(pair_places));
    tcase_add_loop_test(t, each_state_ends_by_its_clock, 0, (int)array_len(pair_places));
    suite_add_tcase(s, t);

    t = tcase_create("random walk");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_loop_test(t, a_random_walk_breaks_no_promise, 0, 8);
    suite_add_tcase(s, t);

    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
