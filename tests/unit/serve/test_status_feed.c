/* src/serve/status_feed: those who follow the status, what they get, and what they cannot do to others. */
#include <event2/buffer.h>
#include <event2/http.h>

#include "status_streams.h"

/* evhttp has a deadline of its own, which is shorter here. */
void evhttp_set_timeout(struct evhttp *http, int seconds)
{
    evhttp_set_timeout_tv(http, &(struct timeval){.tv_sec = 1});
}

FIXTURE(setup, fixture_end)

TEST(a_stream_begins_with_all_and_goes_on_with_news)
{
    struct client c;
    client_init(&c, STREAM);
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
    turn_until(no_streams, NULL, "the stream was forgotten");
    turn_until(no_connections, NULL, "its connection, too");
    unsigned built = f.built;
    turn_for_ms(50);
    ck_assert_uint_le(f.built, built + 1);
}

TEST(a_change_is_sent_soon)
{
    struct status_feed_times seldom = times();
    struct client c;
    seldom.refresh_ms = NEVER_MS;
    status_feed_set_times(server_status_feed(f.server), &seldom);
    client_init(&c, STREAM);
    wait_says(&c, "\"news\":0,");
    f.news = 1;
    server_status_changed(f.server);
    wait_says(&c, "\"news\":1,");
    client_fini(&c);
}

TEST(a_beat_shows_that_it_lives)
{
    struct status_feed_times t = times();
    struct client c;
    t.refresh_ms = NEVER_MS;
    t.beat_ms = 10;
    status_feed_set_times(server_status_feed(f.server), &t);
    client_init(&c, STREAM);
    for (unsigned again = 0; again < 3; again++) {
        wait_says(&c, "event: beat\ndata: 1\n\n");
        buf_clear(&c.got);
    }
    ck_assert_uint_eq(f.built, 1);
    client_fini(&c);
}

TEST(old_clients_get_it_unchunked)
{
    struct client c;
    client_init(&c, "GET /status/stream HTTP/1.0\r\n\r\n");
    wait_says(&c, "\r\n\r\nretry: 2000\nid: 1\ndata: {");
    f.news++;
    wait_says(&c, "}\n\nid: 2\ndata: {");
    client_fini(&c);
}

TEST(eight_share_what_is_built_and_a_ninth_is_turned_away)
{
    struct client c[STATUS_FEED_STREAMS_MAX];
    for (size_t i = 0; i < array_len(c); i++)
        client_init(&c[i], STREAM);
    for (size_t i = 0; i < array_len(c); i++)
        wait_says(&c[i], "data: {");
    cleanup(mem_free_ptr) char *ninth = ask(STREAM);
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

TEST(a_place_is_free_again)
{
    struct client c[STATUS_FEED_STREAMS_MAX], next;
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < array_len(c); i++)
            client_init(&c[i], STREAM);
        for (size_t i = 0; i < array_len(c); i++)
            wait_says(&c[i], "data: {");
        for (size_t i = 0; i < array_len(c); i++)
            client_fini(&c[i]);
        turn_until(no_streams, NULL, "the streams were forgotten");
    }
    client_init(&next, STREAM);
    wait_says(&next, "data: {");
    client_fini(&next);
}

TEST(a_stream_outlives_the_deadline_of_requests)
{
    struct client c, idle;
    server_set_limits(f.server, 64, 100);
    client_init(&c, STREAM);
    client_init(&idle, "");
    turn_until(is_closed, &idle, "one who says nothing was cut off");
    turn_for_ms(1500); /* longer than evhttp's own */
    f.news++;
    wait_says(&c, "\"news\":1,");
    ck_assert(!c.closed);
    client_fini(&c);
    client_fini(&idle);
}

#define BIG (2 * 1024 * 1024) /* more than the kernel's buffers hold for one who reads nothing */

static void one_reads_and_one_does_not(struct client *slow, struct client *other)
{
    f.padding = BIG;
    client_init(slow, STREAM);
    bufferevent_disable(slow->bev, EV_READ);
    while (streams() == 0)
        event_base_loop(f.base, EVLOOP_ONCE);
    f.padding = 0;
    client_init(other, STREAM);
    for (f.news = 1; f.news < 20; f.news++) {
        cleanup(mem_free_ptr) char *wanted = mem_printf("\"news\":%u,", f.news);
        wait_says(other, wanted);
    }
}

TEST(a_slow_reader_is_cut_off_and_holds_up_nobody)
{
    struct status_feed_times t = times();
    struct client slow, other;
    t.stall_ms = 2500; /* longer than a busy machine keeps us from running */
    status_feed_set_times(server_status_feed(f.server), &t);
    one_reads_and_one_does_not(&slow, &other);
    turn_until(one_stream, NULL, "the slow reader was cut off");
    ck_assert(!other.closed);
    client_fini(&slow);
    client_fini(&other);
}

TEST(what_a_slow_reader_missed_is_left_out)
{
    struct client slow, other;
    one_reads_and_one_does_not(&slow, &other);
    bufferevent_enable(slow.bev, EV_READ);
    wait_says(&slow, "\"news\":20,");
    ck_assert_uint_le(count_of(&slow, "data: "), 3); /* the first, the latest, and one that may have been in between */
    client_fini(&slow);
    client_fini(&other);
}

TEST(one_who_talks_on_is_not_read)
{
    struct client c;
    char chunk[4096];
    size_t taken = 0;
    memset(chunk, 'x', sizeof(chunk));
    client_init(&c, STREAM);
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

#define LIMIT 6

TEST(streams_go_first_when_it_is_crowded)
{
    struct client stream[2], crowd[LIMIT], probe;
    server_set_limits(f.server, LIMIT, NEVER_MS);
    for (size_t i = 0; i < array_len(stream); i++) {
        client_init(&stream[i], STREAM);
        wait_says(&stream[i], "data: {");
    }
    /* They stay for half a second in a crowd: the probe is answered before. */
    for (size_t i = 0; i + array_len(stream) < LIMIT; i++)
        client_init(&crowd[i], "GET /healthz HTTP/1.1\r\n");
    for (size_t i = 0; i < array_len(stream); i++)
        turn_until(is_closed, &stream[i], "the stream was cut off");
    client_init(&probe, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    turn_until(is_closed, &probe, "the probe was answered");
    ck_assert_ptr_nonnull(strstr(buf_str(&probe.got), "\r\n\r\nok\n"));
    for (size_t i = 0; i + array_len(stream) < LIMIT; i++) {
        ck_assert_msg(!crowd[i].closed, "%zu was not in the way", i);
        client_fini(&crowd[i]);
    }
    for (size_t i = 0; i < array_len(stream); i++)
        client_fini(&stream[i]);
    client_fini(&probe);
}

TEST(no_stream_where_there_is_no_room)
{
    server_set_limits(f.server, 1, NEVER_MS); /* the one who asks makes it full */
    cleanup(mem_free_ptr) char *answer = ask(STREAM);
    expect(answer, "503", TEXT, NULL);
    expect_get("/healthz", "200", TEXT, "ok\n");
}

/* With what they wait for sent or not, with and without a turn of the loop after. */
TEST_EACH(freed_with_streams_open, 4)
{
    struct client c[3];
    f.padding = _i % 2 == 0 ? 0 : BIG;
    for (size_t i = 0; i < array_len(c); i++) {
        client_init(&c[i], STREAM);
        bufferevent_disable(c[i].bev, EV_READ);
    }
    while (streams() < array_len(c))
        event_base_loop(f.base, EVLOOP_ONCE);
    if (_i < 2)
        event_base_loop(f.base, EVLOOP_NONBLOCK);
    server_free(f.server);
    f.server = NULL;
    if (_i < 2)
        event_base_loop(f.base, EVLOOP_NONBLOCK);
    for (size_t i = 0; i < array_len(c); i++)
        client_fini(&c[i]);
}
