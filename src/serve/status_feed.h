/*
 * The JSON document of the status page, and its streams of server-sent events.
 *
 * Built only while there are readers, at most once in a pace (1 s, longer if building it takes long), and shared by all
 * readers. A stream begins with the whole document and gets it again when it has changed; otherwise an event "beat"
 * every 15 s shows that the stream lives.
 *
 * Bounded: 8 streams; each has at most one unsent document (later ones are skipped, the latest follows), and is closed
 * if its reader has not received it in 10 s, or does not acknowledge for 30 s.
 *
 * evhttp's traps: a request whose connection fails while it is answered is not freed by evhttp, one whose connection is
 * freed with the server is. Only the close callback comes in both cases. The read callback is off while an answer goes
 * out, but not the reading: a limit keeps unread data small.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

struct evbuffer;
struct event_base;
struct evhttp_request;
struct status_feed;

#define STATUS_FEED_STREAMS_MAX 8

/* fill writes one JSON object without a line break in it. What is before *ret_news_at changes with time alone and is no
 * change. */
struct status_feed *status_feed_new(struct event_base *base,
                                    void (*fill)(void *arg, struct buf *json, size_t *ret_news_at),
                                    void *arg) must_check;
/* Before the evhttp is freed, which then closes the streams' connections. NULL is allowed. */
void status_feed_free(struct status_feed *f);

/* Adds the document, no older than a pace. */
void status_feed_add_document(struct status_feed *f, struct evbuffer *to);

/* Something may be new. From anywhere: nothing is built before the loop turns. NULL is allowed. */
void status_feed_changed(struct status_feed *f);

/* Answers the request (a GET) with a stream and sets the timeouts of its connection aside. The caller sets its
 * headers and checks that there are fewer than STATUS_FEED_STREAMS_MAX. */
void status_feed_follow(struct status_feed *f, struct evhttp_request *req);

size_t status_feed_streams(const struct status_feed *f); /* NULL: 0 */
void status_feed_cut_all(struct status_feed *f);         /* NULL is allowed */

/* For tests, which have no 15 s. */
struct status_feed_times {
    uint64_t pace_ms;    /* from one building to the next, at least */
    uint64_t refresh_ms; /* the same, at most, while there are streams */
    uint64_t beat_ms;    /* between two beats */
    uint64_t stall_ms;   /* for one document to go out */
};
void status_feed_set_times(struct status_feed *f, const struct status_feed_times *times);
