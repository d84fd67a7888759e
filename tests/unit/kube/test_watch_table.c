/* src/kube/watch: each row of its table: an event in a state, what is done at once or after a pause, and why. */
#include "watch_world.h"

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
#define SAYS(why)                                  \
    {                                              \
        .type = WATCH_EVENT_ERROR, .reason = (why) \
    }
#define NO_CREDENTIALS                          \
    {                                           \
        .type = WATCH_EVENT_LOST, .status = 401 \
    }
#define PLAIN(kind)    \
    {                  \
        .type = (kind) \
    }
#define IN_PROTOBUF                                         \
    {                                                       \
        .type = WATCH_EVENT_GARBLED, .other_encoding = true \
    }
#define HTML                                                       \
    {                                                              \
        .type = WATCH_EVENT_HEAD, .status = 200, .readable = false \
    }
#define CUT WATCH_REPLACE_ABORT
#define KILL (WATCH_REPLACE_ABORT | WATCH_CANCEL)

static const struct row rows[] = {
    {"clean close after an event", AT_STABLE_WATCH, PLAIN(WATCH_EVENT_CLOSED), true, WATCH_AGAIN, "closed", 0},
    {"clean close within 1 s, no event", AT_FRESH_WATCH, PLAIN(WATCH_EVENT_CLOSED), false, WATCH_AGAIN, "closed", 0},
    {"close right after the end bookmark", AT_STREAMED_WATCH, PLAIN(WATCH_EVENT_CLOSED), false, WATCH_AGAIN, "closed",
     0},
    {"reset after an event", AT_STABLE_WATCH, PLAIN(WATCH_EVENT_LOST), true, WATCH_AGAIN, "lost", 0},
    {"reset within 1 s, no event", AT_FRESH_WATCH, PLAIN(WATCH_EVENT_LOST), false, WATCH_AGAIN, "lost", 0},
    {"connection refused", AT_OPENING_WATCH, PLAIN(WATCH_EVENT_LOST), false, WATCH_AGAIN, "unreachable", 0},
    {"no credentials yet", AT_OPENING_WATCH, NO_CREDENTIALS, false, WATCH_AGAIN, "no_credentials", 0},
    {"429 to a watch", AT_OPENING_WATCH, ANSWER(429), false, WATCH_AGAIN, "throttled", 0},
    {"429 in the stream", AT_STABLE_WATCH, IN_STREAM(429), false, WATCH_AGAIN, "throttled", WATCH_CANCEL},
    {"410 to a watch after news", AT_STABLE_WATCH, ANSWER(410), true, STREAM, "expired", 0},
    {"410 to a watch, no news since the list", AT_OPENING_WATCH, ANSWER(410), false, STREAM, "expired", 0},
    {"410 in the stream", AT_STABLE_WATCH, IN_STREAM(410), true, STREAM, "expired", WATCH_CANCEL},
    {"\"Expired\" in the stream", AT_STABLE_WATCH, SAYS("Expired"), true, STREAM, "expired", WATCH_CANCEL},
    {"\"Gone\" in the stream", AT_STABLE_WATCH, SAYS("Gone"), true, STREAM, "expired", WATCH_CANCEL},
    {"504 too large version", AT_STABLE_WATCH, TOO_LARGE(WATCH_EVENT_ANSWER), true, STREAM, "too_large_version", 0},
    {"504 too large version in the stream", AT_STABLE_WATCH, TOO_LARGE(WATCH_EVENT_ERROR), true, STREAM,
     "too_large_version", WATCH_CANCEL},
    {"another 504", AT_OPENING_WATCH, ANSWER(504), false, WATCH_AGAIN, "other_answer", 0},
    {"500 in the stream", AT_STABLE_WATCH, IN_STREAM(500), true, STREAM, "stream_error", WATCH_CANCEL},
    {"500 in the stream, no news", AT_FRESH_WATCH, IN_STREAM(500), false, STREAM, "stream_error", WATCH_CANCEL},
    {"an ERROR of no known code", AT_STABLE_WATCH, IN_STREAM(0), true, STREAM, "stream_error", WATCH_CANCEL},
    {"undecodable event", AT_STABLE_WATCH, PLAIN(WATCH_EVENT_GARBLED), true, STREAM, "garbled", WATCH_CANCEL},
    {"undecodable in its encoding", AT_FRESH_WATCH, IN_PROTOBUF, true, STREAM, "garbled", WATCH_CANCEL},
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
    {"streaming list: undecodable in its encoding", AT_STREAMING, IN_PROTOBUF, true, STREAM, "garbled", KILL},
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
    {"list: undecodable in its encoding", AT_PAGE2, IN_PROTOBUF, true, PAGES, "garbled", KILL},
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
    static const char *const paths[] = {[STREAM] = STREAMING_PATH, [PAGES] = PAGE1_PATH, [WHOLE] = WHOLE_PATH};
    assert_path(r->then != WATCH_AGAIN       ? paths[r->then]
                : r->from == AT_STABLE_WATCH ? WATCH_PATH("21")
                                             : WATCH_PATH("20"));
    ck_assert_int_eq(watch_request_is_list(&w), r->then == PAGES || r->then == WHOLE);
}

FIXTURE(NULL, tear_down)

TEST_EACH(each_row_of_the_table, array_len(rows))
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
        ck_assert_msg(w.state == WATCH_WAITING, "%s: state %d", r->name, (int)w.state);
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

TEST(what_a_server_wrote_is_printable_and_cut)
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
