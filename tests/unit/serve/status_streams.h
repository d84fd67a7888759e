/* The server of server_peer.h with a status page, all of whose times are short, and those who follow it. */
#pragma once

#include <event2/event.h>

#include "base/clock.h"
#include "serve/status_feed.h"

#include "server_peer.h"

#define STREAM "GET /status/stream HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
#define NEVER_MS 3600000

/* All of it fast, but what a test wants to be slow. */
static inline struct status_feed_times times(void)
{
    return (struct status_feed_times){.pace_ms = 1, .refresh_ms = 10, .beat_ms = NEVER_MS, .stall_ms = NEVER_MS};
}

static inline void setup(void)
{
    const struct status_feed_times fast = times();
    fixture_init("127.0.0.1", true);
    status_feed_set_times(server_status_feed(f.server), &fast);
}

struct saying {
    const struct client *client;
    const char *text;
    size_t checked; /* bytes in which it does not begin */
};

static inline bool says(void *arg)
{
    struct saying *s = arg;
    if (strstr(buf_str(&s->client->got) + s->checked, s->text) != NULL)
        return true;
    size_t len = s->client->got.len, most = strlen(s->text);
    s->checked = len > most ? len - most : 0;
    return false;
}

static inline void wait_says(const struct client *c, const char *text)
{
    struct saying s = {.client = c, .text = text};
    turn_until(says, &s, text);
}

static inline bool is_past(void *arg)
{
    return clock_mono_ms() >= *(const uint64_t *)arg;
}

static inline void turn_for_ms(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    struct timeval each = {.tv_usec = 1000};
    struct event *tick = event_new(f.base, -1, EV_PERSIST, out_of_patience, &(bool){false});
    event_add(tick, &each);
    turn_until(is_past, &end, "time passed");
    event_free(tick);
}

static inline bool has_built_more(void *arg)
{
    return f.built >= *(const unsigned *)arg;
}

static inline void wait_built(unsigned more)
{
    unsigned wanted = f.built + more;
    turn_until(has_built_more, &wanted, "it was built again");
}

static inline size_t streams(void)
{
    return status_feed_streams(server_status_feed(f.server));
}

static inline bool no_streams(void *arg)
{
    return streams() == 0;
}

static inline bool one_stream(void *arg)
{
    return streams() == 1;
}

static inline size_t count_of(const struct client *c, const char *what)
{
    size_t n = 0;
    for (const char *at = buf_str(&c->got); (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}
