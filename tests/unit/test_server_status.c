/* src/serve/server, status_feed, web_page: the status page, its JSON, and those who follow it. */
#include <check.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/digest.h"
#include "serve/status_feed.h"

#include "server_peer.h"

#define STREAM "GET /status/stream HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
#define NEVER_MS 3600000

static struct fixture f;

/* All of it fast, but what a test wants to be slow. */
static struct status_feed_times times(void)
{
    return (struct status_feed_times){.pace_ms = 1, .look_ms = 10, .beat_ms = NEVER_MS, .stall_ms = NEVER_MS};
}

static void setup(void)
{
    const struct status_feed_times fast = times();
    signal(SIGPIPE, SIG_IGN);
    fixture_init_with(&f, "127.0.0.1", true);
    status_feed_set_times(server_status_feed(f.server), &fast);
}

static void teardown(void)
{
    fixture_fini(&f);
}

/* ---- waiting ---- */

struct saying {
    const struct client *client;
    const char *text;
    size_t checked; /* bytes in which it does not begin */
};

static bool says(void *arg)
{
    struct saying *s = arg;
    if (strstr(buf_str(&s->client->got) + s->checked, s->text) != NULL)
        return true;
    size_t len = s->client->got.len, most = strlen(s->text);
    s->checked = len > most ? len - most : 0;
    return false;
}

static void wait_says(const struct client *c, const char *text)
{
    struct saying s = {.client = c, .text = text};
    turn_until(&f, says, &s, text);
}

static bool is_past(void *arg)
{
    return clock_mono_ms() >= *(const uint64_t *)arg;
}

static void turn_for_ms(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    struct timeval each = {.tv_usec = 1000};
    struct event *tick = event_new(f.base, -1, EV_PERSIST, out_of_patience, &(bool){false});
    event_add(tick, &each);
    turn_until(&f, is_past, &end, "time passed");
    event_free(tick);
}

static bool has_built_more(void *arg)
{
    return f.built >= *(const unsigned *)arg;
}

static void wait_built(unsigned more)
{
    unsigned wanted = f.built + more;
    turn_until(&f, has_built_more, &wanted, "it was built again");
}

static size_t streams(void)
{
    return status_feed_streams(server_status_feed(f.server));
}

static bool no_streams(void *arg)
{
    (void)arg;
    return streams() == 0;
}

static size_t count_of(const struct client *c, const char *what)
{
    size_t n = 0;
    for (const char *at = buf_str(&c->got); (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* ---- the page ---- */

static void expect_hash(const char *policy, const char *directive, const char *page, const char *tag)
{
    cleanup(mem_free_ptr) char *open = mem_printf("<%s>", tag), *close = mem_printf("</%s>", tag);
    const char *from = strstr(page, open) + strlen(open), *to = strstr(from, close);
    char hash[DIGEST_SHA256_TEXT_BYTES];
    digest_sha256(from, (size_t)(to - from), hash);
    cleanup(mem_free_ptr) char *wanted = mem_printf("%s 'sha256-%s';", directive, hash);
    ck_assert_msg(strstr(policy, wanted) != NULL, "%s, not %s", policy, wanted);
    ck_assert_msg(strstr(to, open) == NULL, "a second <%s> would not run", tag);
}

START_TEST(the_page_and_its_policy)
{
    cleanup(mem_free_ptr) char *answer = get(&f, "/");
    expect(answer, "200", "text/html; charset=utf-8", NULL);
    const char *page = body_of(answer);
    ck_assert(str_has_prefix(page, "<!doctype html>"));
    ck_assert_uint_gt(strlen(page), 1000);
    ck_assert_uint_le(strlen(page), 40 * 1024);
    ck_assert_pstr_eq(header(answer, "X-Frame-Options"), "DENY");
    ck_assert_pstr_eq(header(answer, "X-Content-Type-Options"), "nosniff");
    ck_assert_pstr_eq(header(answer, "Referrer-Policy"), "no-referrer");
    cleanup(mem_free_ptr) char *policy = mem_strdup(strstr(answer, "\r\nContent-Security-Policy: "));
    ck_assert_ptr_nonnull(policy);
    policy[strcspn(policy + 2, "\r") + 2] = '\0';
    expect_hash(policy, "style-src", page, "style");
    expect_hash(policy, "script-src", page, "script");
    static const char *const wanted[] = {"default-src 'none';", "connect-src 'self';", "frame-ancestors 'none';",
                                         "base-uri 'none';",    "form-action 'none';", "require-trusted-types-for"};
    for (size_t i = 0; i < array_len(wanted); i++)
        ck_assert_msg(strstr(policy, wanted[i]) != NULL, "%s: %s", wanted[i], policy);
    ck_assert_ptr_null(strstr(policy, "unsafe"));
}
END_TEST

/* What would get others' text into the page as markup, or the page's policy in its way. */
START_TEST(the_page_has_no_markup_by_script_and_nothing_from_elsewhere)
{
    static const char *const never[] = {"innerHTML", "outerHTML", "insertAdjacent", "document.write",
                                        "eval(",     "style=\"",  "onclick=",       "<link rel=\"stylesheet",
                                        "src=",      "@import",   "https://",       "url("};
    cleanup(mem_free_ptr) char *answer = get(&f, "/");
    for (size_t i = 0; i < array_len(never); i++)
        ck_assert_msg(strstr(body_of(answer), never[i]) == NULL, "%s", never[i]);
    /* The one address in it is a name, not a place. */
    for (const char *at = body_of(answer); (at = strstr(at, "http://")) != NULL; at++)
        ck_assert_msg(str_has_prefix(at, "http://www.w3.org/2000/svg"), "%.40s", at);
}
END_TEST

START_TEST(json_is_built_once_in_a_pace)
{
    struct status_feed_times slow = times();
    slow.pace_ms = NEVER_MS;
    status_feed_set_times(server_status_feed(f.server), &slow);
    ck_assert_uint_eq(f.built, 0);
    for (unsigned i = 0; i < 3; i++) {
        cleanup(mem_free_ptr) char *answer = get(&f, "/status?x=1");
        expect(answer, "200", "application/json", "{\"built\":1,\"news\":0,\"padding\":\"\"}");
    }
    slow.pace_ms = 0;
    status_feed_set_times(server_status_feed(f.server), &slow);
    cleanup(mem_free_ptr) char *answer = get(&f, "/status");
    ck_assert_str_eq(body_of(answer), "{\"built\":2,\"news\":0,\"padding\":\"\"}");
}
END_TEST

START_TEST(nothing_is_built_while_nobody_looks)
{
    f.news++;
    server_status_changed(f.server);
    turn_for_ms(50);
    ck_assert_uint_eq(f.built, 0);
    cleanup(mem_free_ptr) char *answer = get(&f, "/status");
    turn_for_ms(50);
    ck_assert_uint_eq(f.built, 1);
    server_status_changed(NULL);
}
END_TEST

START_TEST(head_and_other_methods)
{
    static const struct {
        const char *path, *type;
    } rows[] = {
        {"/", "text/html; charset=utf-8"}, {"/status", "application/json"}, {"/status/stream", "text/event-stream"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *head = mem_printf("HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n", rows[i].path),
                                   *post = mem_printf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                                                      rows[i].path);
        cleanup(mem_free_ptr) char *answer = ask(&f, head), *refused = ask(&f, post);
        ck_assert_msg(strstr(answer, " 200 ") != NULL, "%s", answer);
        ck_assert_pstr_eq(header(answer, "Content-Type"), rows[i].type);
        ck_assert_str_eq(body_of(answer), "");
        expect(refused, "405", TEXT, NULL);
        ck_assert_uint_eq(streams(), 0);
    }
    cleanup(mem_free_ptr) char *lost = get(&f, "/nothing");
    expect(lost, "404", TEXT, NULL);
    ck_assert_msg(strstr(lost, "/status/stream") != NULL, "%s: says what there is", lost);
}
END_TEST

START_TEST(switched_off)
{
    static const char *const paths[] = {"/", "/status", "/status/stream"};
    struct fixture off;
    fixture_init(&off, "127.0.0.1");
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *answer = get(&off, paths[i]);
        expect(answer, "404", TEXT, NULL);
        ck_assert_msg(strstr(body_of(answer), "/status") == NULL, "%s", answer);
    }
    server_status_changed(off.server);
    ck_assert_ptr_null(server_status_feed(off.server));
    fixture_fini(&off);
}
END_TEST

/* ---- streams ---- */

START_TEST(a_stream_begins_with_all_and_goes_on_with_news)
{
    struct client c;
    client_init(&f, &c, STREAM);
    wait_says(&c, "\n\n");
    ck_assert_pstr_eq(header(buf_str(&c.got), "Content-Type"), "text/event-stream");
    ck_assert_pstr_eq(header(buf_str(&c.got), "Cache-Control"), "no-store");
    wait_says(&c, "retry: 2000\nid: 1\ndata: {\"built\":1,\"news\":0,\"padding\":\"\"}\n\n");
    wait_built(3);
    ck_assert_uint_eq(count_of(&c, "data: "), 1);
    f.news = 7;
    wait_says(&c, "id: 2\ndata: {\"built\":");
    wait_says(&c, "\"news\":7,");
    wait_built(3);
    ck_assert_uint_eq(count_of(&c, "data: "), 2);
    ck_assert(!c.closed);
    client_fini(&c);
    turn_until(&f, no_streams, NULL, "the stream was forgotten");
    turn_until(&f, no_connections, &f, "its connection, too");
    unsigned built = f.built;
    turn_for_ms(50);
    ck_assert_uint_le(f.built, built + 1);
}
END_TEST

START_TEST(a_change_is_told_soon)
{
    struct status_feed_times seldom = times();
    struct client c;
    seldom.look_ms = NEVER_MS;
    status_feed_set_times(server_status_feed(f.server), &seldom);
    client_init(&f, &c, STREAM);
    wait_says(&c, "\"news\":0,");
    f.news = 1;
    server_status_changed(f.server);
    wait_says(&c, "\"news\":1,");
    client_fini(&c);
}
END_TEST

START_TEST(a_beat_shows_that_it_lives)
{
    struct status_feed_times t = times();
    struct client c;
    t.look_ms = NEVER_MS;
    t.beat_ms = 10;
    status_feed_set_times(server_status_feed(f.server), &t);
    client_init(&f, &c, STREAM);
    wait_says(&c, "event: beat\ndata: 1\n\n");
    ck_assert_uint_eq(f.built, 1);
    client_fini(&c);
}
END_TEST

START_TEST(old_clients_get_it_unchunked)
{
    struct client c;
    client_init(&f, &c, "GET /status/stream HTTP/1.0\r\n\r\n");
    wait_says(&c, "\r\n\r\nretry: 2000\nid: 1\ndata: {");
    f.news++;
    wait_says(&c, "}\n\nid: 2\ndata: {");
    client_fini(&c);
}
END_TEST

START_TEST(eight_share_what_is_built_and_a_ninth_is_turned_away)
{
    struct client c[STATUS_FEED_STREAMS_MAX];
    for (size_t i = 0; i < array_len(c); i++)
        client_init(&f, &c[i], STREAM);
    for (size_t i = 0; i < array_len(c); i++)
        wait_says(&c[i], "data: {");
    cleanup(mem_free_ptr) char *ninth = ask(&f, STREAM);
    expect(ninth, "503", TEXT, NULL);
    ck_assert_pstr_eq(header(ninth, "Retry-After"), "30");
    unsigned built = f.built;
    f.news++;
    for (size_t i = 0; i < array_len(c); i++)
        wait_says(&c[i], "\"news\":1,");
    ck_assert_uint_lt(f.built, built + STATUS_FEED_STREAMS_MAX);
    for (size_t i = 0; i < array_len(c); i++)
        client_fini(&c[i]);
}
END_TEST

START_TEST(a_place_is_free_again)
{
    struct client c[STATUS_FEED_STREAMS_MAX], next;
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < array_len(c); i++)
            client_init(&f, &c[i], STREAM);
        for (size_t i = 0; i < array_len(c); i++)
            wait_says(&c[i], "data: {");
        for (size_t i = 0; i < array_len(c); i++)
            client_fini(&c[i]);
        turn_until(&f, no_streams, NULL, "the streams were forgotten");
    }
    client_init(&f, &next, STREAM);
    wait_says(&next, "data: {");
    client_fini(&next);
}
END_TEST

START_TEST(a_stream_outlives_the_deadline_of_requests)
{
    struct client c, idle;
    server_set_limits(f.server, 64, 100);
    client_init(&f, &c, STREAM);
    client_init(&f, &idle, "");
    turn_until(&f, is_closed, &idle, "one who says nothing was cut off");
    turn_for_ms(200);
    f.news++;
    wait_says(&c, "\"news\":1,");
    ck_assert(!c.closed);
    client_fini(&c);
    client_fini(&idle);
}
END_TEST

#define BIG (2 * 1024 * 1024) /* more than the kernel's buffers hold for one who reads nothing */

START_TEST(a_slow_reader_is_cut_off_and_holds_up_nobody)
{
    struct status_feed_times t = times();
    struct client slow, other;
    t.stall_ms = 300;
    status_feed_set_times(server_status_feed(f.server), &t);
    f.padding = BIG;
    client_init(&f, &slow, STREAM);
    bufferevent_disable(slow.bev, EV_READ);
    while (streams() == 0)
        event_base_loop(f.base, EVLOOP_ONCE);
    f.padding = 0;
    client_init(&f, &other, STREAM);
    for (f.news = 1; f.news < 20; f.news++) {
        cleanup(mem_free_ptr) char *wanted = mem_printf("\"news\":%u,", f.news);
        wait_says(&other, wanted);
    }
    while (streams() > 1)
        event_base_loop(f.base, EVLOOP_ONCE);
    ck_assert(!other.closed);
    client_fini(&slow);
    client_fini(&other);
}
END_TEST

START_TEST(one_who_talks_on_is_not_read)
{
    struct client c;
    char chunk[4096];
    size_t taken = 0;
    memset(chunk, 'x', sizeof(chunk));
    client_init(&f, &c, STREAM);
    wait_says(&c, "data: {");
    /* What the kernel takes on both sides is not ours to limit: it ends somewhere. */
    for (unsigned idle = 0; idle < 200 && taken < 64 * 1024 * 1024; idle++) {
        event_base_loop(f.base, EVLOOP_NONBLOCK);
        if (evbuffer_get_length(bufferevent_get_output(c.bev)) > 0)
            continue;
        bufferevent_write(c.bev, chunk, sizeof(chunk));
        taken += sizeof(chunk);
        idle = 0;
    }
    ck_assert_msg(taken < 64 * 1024 * 1024, "%zu bytes were taken", taken);
    f.news++;
    wait_says(&c, "\"news\":1,");
    client_fini(&c);
}
END_TEST

/* ---- crowds ---- */

#define LIMIT 6

START_TEST(streams_go_first_when_it_is_crowded)
{
    struct client stream[2], crowd[LIMIT], probe;
    server_set_limits(f.server, LIMIT, NEVER_MS);
    for (size_t i = 0; i < array_len(stream); i++) {
        client_init(&f, &stream[i], STREAM);
        wait_says(&stream[i], "data: {");
    }
    /* They stay for half a second in a crowd: the probe is answered before. */
    for (size_t i = 0; i + array_len(stream) < LIMIT; i++)
        client_init(&f, &crowd[i], "GET /healthz HTTP/1.1\r\n");
    for (size_t i = 0; i < array_len(stream); i++)
        turn_until(&f, is_closed, &stream[i], "the stream was cut off");
    client_init(&f, &probe, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    turn_until(&f, is_closed, &probe, "the probe was answered");
    ck_assert_ptr_nonnull(strstr(buf_str(&probe.got), "\r\n\r\nok\n"));
    for (size_t i = 0; i + array_len(stream) < LIMIT; i++) {
        ck_assert_msg(!crowd[i].closed, "%zu was not in the way", i);
        client_fini(&crowd[i]);
    }
    for (size_t i = 0; i < array_len(stream); i++)
        client_fini(&stream[i]);
    client_fini(&probe);
}
END_TEST

START_TEST(no_stream_where_there_is_no_room)
{
    server_set_limits(f.server, 1, NEVER_MS); /* the one who asks makes it full */
    cleanup(mem_free_ptr) char *answer = ask(&f, STREAM);
    expect(answer, "503", TEXT, NULL);
    cleanup(mem_free_ptr) char *probe = get(&f, "/healthz");
    expect(probe, "200", TEXT, "ok\n");
}
END_TEST

START_TEST(freed_with_streams_open)
{
    /* With what they wait for sent or not, with and without a turn of the loop after. */
    for (unsigned how = 0; how < 4; how++) {
        struct fixture own;
        struct client c[3];
        fixture_init_with(&own, "127.0.0.1", true);
        own.padding = how % 2 == 0 ? 0 : BIG;
        for (size_t i = 0; i < array_len(c); i++) {
            client_init(&own, &c[i], STREAM);
            bufferevent_disable(c[i].bev, EV_READ);
        }
        while (status_feed_streams(server_status_feed(own.server)) < array_len(c))
            event_base_loop(own.base, EVLOOP_ONCE);
        if (how < 2)
            event_base_loop(own.base, EVLOOP_NONBLOCK);
        server_free(own.server);
        if (how < 2)
            event_base_loop(own.base, EVLOOP_NONBLOCK);
        for (size_t i = 0; i < array_len(c); i++)
            client_fini(&c[i]);
        event_base_free(own.base);
        metrics_free(own.metrics);
    }
}
END_TEST

START_TEST(digest)
{
    static const struct {
        const char *text, *hash;
    } rows[] = {
        /* FIPS 180-4 */
        {"", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
        {"abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        char hash[DIGEST_SHA256_TEXT_BYTES];
        digest_sha256(rows[i].text, strlen(rows[i].text), hash);
        ck_assert_str_eq(hash, rows[i].hash);
    }
}
END_TEST

static void add_bounds(TCase *t)
{
    tcase_add_test(t, eight_share_what_is_built_and_a_ninth_is_turned_away);
    tcase_add_test(t, a_place_is_free_again);
    tcase_add_test(t, a_stream_outlives_the_deadline_of_requests);
    tcase_add_test(t, a_slow_reader_is_cut_off_and_holds_up_nobody);
    tcase_add_test(t, one_who_talks_on_is_not_read);
    tcase_add_test(t, streams_go_first_when_it_is_crowded);
    tcase_add_test(t, no_stream_where_there_is_no_room);
    tcase_add_test(t, freed_with_streams_open);
}

int main(void)
{
    Suite *s = suite_create("server_status");
    TCase *t = tcase_create("server_status");
    tcase_set_timeout(t, 3 * PATIENCE_S);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_page_and_its_policy);
    tcase_add_test(t, the_page_has_no_markup_by_script_and_nothing_from_elsewhere);
    tcase_add_test(t, json_is_built_once_in_a_pace);
    tcase_add_test(t, nothing_is_built_while_nobody_looks);
    tcase_add_test(t, head_and_other_methods);
    tcase_add_test(t, switched_off);
    tcase_add_test(t, a_stream_begins_with_all_and_goes_on_with_news);
    tcase_add_test(t, a_change_is_told_soon);
    tcase_add_test(t, a_beat_shows_that_it_lives);
    tcase_add_test(t, old_clients_get_it_unchunked);
    add_bounds(t);
    tcase_add_test(t, digest);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
