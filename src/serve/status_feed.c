#include "serve/status_feed.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/timer.h"

#define PACE_MS 1000
#define REFRESH_MS 2000
#define BEAT_MS 15000
#define STALL_MS 10000
#define PACE_TIMES 100    /* building takes no more than 1/100 of the time, */
#define PACE_MAX_MS 10000 /* unless it takes very long */
#define UNACKNOWLEDGED_MS 30000
#define INPUT_MAX_BYTES 1024
#define KERNEL_BUFFER_BYTES (128 * 1024)
#define TRIM_BYTES (64 * 1024) /* of a document: what building it took is worth giving back */
#define RETRY_MS 2000          /* a browser comes back after that */

/* Lives as long as a connection has bytes of it to send. */
struct document {
    size_t refs;
    struct buf text;
    size_t news_at;
};

struct stream {
    struct status_feed *feed;
    struct evhttp_request *req;
    struct bufferevent *bev;
    uint64_t sent_id;
    uint64_t stalled_since_ms; /* 0: all was sent */
    LIST_ENTRY(stream) entry;
};

struct status_feed {
    void (*fill)(void *arg, struct buf *json, size_t *ret_news_at);
    void *arg;
    struct status_feed_times times;
    struct document *current; /* NULL: not requested lately */
    uint64_t built_ms;
    uint64_t pace_ms;
    uint64_t id; /* of what is current; goes up with news */
    LIST_HEAD(stream_list, stream) streams;
    size_t count;
    struct timer look; /* with streams: rebuilds the document; without: drops it */
    struct timer beat;
};

/* ---- the document ---- */

static void document_unref(struct document *d)
{
    if (d == NULL || --d->refs > 0)
        return;
    buf_fini(&d->text);
    free(d);
}

static void on_sent(const void *data, size_t len, void *arg)
{
    (void)data;
    (void)len;
    document_unref(arg);
}

static void add_document(struct document *d, struct evbuffer *to)
{
    d->refs++;
    if (evbuffer_add_reference(to, d->text.data, d->text.len, on_sent, d) != 0)
        abort(); /* out of memory */
}

static void status_feed_build(struct status_feed *f)
{
    struct document *d = mem_alloc(sizeof(*d));
    uint64_t began_us = clock_cpu_us();
    d->refs = 1;
    buf_init(&d->text, 0);
    f->fill(f->arg, &d->text, &d->news_at);
    const struct document *old = f->current;
    size_t len = d->text.len - d->news_at;
    f->id += old == NULL || old->text.len - old->news_at != len ||
             memcmp(old->text.data + old->news_at, d->text.data + d->news_at, len) != 0;
    document_unref(f->current);
    f->current = d;
    f->built_ms = clock_mono_ms();
    uint64_t pace_ms = (clock_cpu_us() - began_us) * PACE_TIMES / 1000;
    if (pace_ms > PACE_MAX_MS)
        pace_ms = PACE_MAX_MS;
    f->pace_ms = pace_ms > f->times.pace_ms ? pace_ms : f->times.pace_ms;
}

static void refresh_again(struct status_feed *f)
{
    timer_set(&f->look, f->pace_ms > f->times.refresh_ms ? f->pace_ms : f->times.refresh_ms);
}

static void freshen(struct status_feed *f)
{
    if (f->current == NULL || clock_mono_ms() - f->built_ms >= f->pace_ms)
        status_feed_build(f);
    if (!timer_is_set(&f->look))
        refresh_again(f);
}

void status_feed_add_document(struct status_feed *f, struct evbuffer *to)
{
    freshen(f);
    add_document(f->current, to);
}

/* ---- streams ---- */

/* evhttp sees that the socket has ended, and gives it up. */
static void cut_off(const struct stream *s)
{
    shutdown(bufferevent_getfd(s->bev), SHUT_RDWR);
}

/* True if nothing waits to be sent. */
static bool status_feed_is_drained(struct stream *s)
{
    uint64_t now_ms = clock_mono_ms();
    if (evbuffer_get_length(bufferevent_get_output(s->bev)) == 0) {
        s->stalled_since_ms = 0;
        return true;
    }
    if (s->stalled_since_ms == 0)
        s->stalled_since_ms = now_ms;
    else if (now_ms - s->stalled_since_ms >= s->feed->times.stall_ms)
        cut_off(s);
    return false;
}

static void send_chunk(const struct stream *s, struct evbuffer *chunk)
{
    evhttp_send_reply_chunk(s->req, chunk);
    evbuffer_free(chunk);
}

static void send_document(struct stream *s, const char *before)
{
    struct evbuffer *chunk = evbuffer_new();
    if (chunk == NULL || evbuffer_add_printf(chunk, "%sid: %llu\ndata: ", before, (unsigned long long)s->feed->id) < 0)
        abort(); /* out of memory */
    add_document(s->feed->current, chunk);
    if (evbuffer_add(chunk, "\n\n", 2) != 0)
        abort();
    send_chunk(s, chunk);
    s->sent_id = s->feed->id;
}

static void status_feed_on_refresh(void *arg)
{
    struct status_feed *f = arg;
    if (f->count == 0) {
        /* No reader is left. */
        bool big = f->current != NULL && f->current->text.len > TRIM_BYTES;
        document_unref(f->current);
        f->current = NULL;
        if (big)
            malloc_trim(0);
        return;
    }
    status_feed_build(f);
    for (struct stream *s = LIST_FIRST(&f->streams); s != NULL; s = LIST_NEXT(s, entry))
        if (status_feed_is_drained(s) && s->sent_id != f->id)
            send_document(s, "");
    refresh_again(f);
}

static void on_beat(void *arg)
{
    struct status_feed *f = arg;
    for (struct stream *s = LIST_FIRST(&f->streams); s != NULL; s = LIST_NEXT(s, entry)) {
        if (!status_feed_is_drained(s))
            continue;
        struct evbuffer *chunk = evbuffer_new();
        if (chunk == NULL || evbuffer_add_printf(chunk, "event: beat\ndata: %llu\n\n", (unsigned long long)f->id) < 0)
            abort(); /* out of memory */
        send_chunk(s, chunk);
    }
    if (f->count > 0)
        timer_set(&f->beat, f->times.beat_ms);
}

/* The first thing that evhttp does when it gives a connection up. */
static void status_feed_on_closed(struct evhttp_connection *connection, void *arg)
{
    struct stream *s = arg;
    (void)connection;
    if (evhttp_request_get_connection(s->req) == NULL)
        evhttp_request_free(s->req); /* it failed, and evhttp does not free the request */
    LIST_REMOVE(s, entry);
    s->feed->count--;
    free(s);
}

void status_feed_follow(struct status_feed *f, struct evhttp_request *req)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(req);
    struct stream *s = mem_alloc(sizeof(*s));
    *s = (struct stream){.feed = f, .req = req, .bev = evhttp_connection_get_bufferevent(connection)};
    LIST_INSERT_HEAD(&f->streams, s, entry);
    f->count++;
    evhttp_connection_set_closecb(connection, status_feed_on_closed, s);
    /* We end it, not evhttp: with a reader it goes on for ever. */
    int fd = bufferevent_getfd(s->bev), bytes = KERNEL_BUFFER_BYTES;
    unsigned silent_ms = UNACKNOWLEDGED_MS;
    bufferevent_set_timeouts(s->bev, NULL, NULL);
    bufferevent_setwatermark(s->bev, EV_READ, 0, INPUT_MAX_BYTES);
    /* Without them a lost reader is noticed later. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof(silent_ms));
    freshen(f);
    evhttp_send_reply_start(req, 200, NULL);
    cleanup(mem_free_ptr) char *retry = mem_printf("retry: %d\n", RETRY_MS);
    send_document(s, retry);
    if (!timer_is_set(&f->beat))
        timer_set(&f->beat, f->times.beat_ms);
}

void status_feed_changed(struct status_feed *f)
{
    if (f == NULL || f->count == 0)
        return;
    uint64_t age_ms = clock_mono_ms() - f->built_ms;
    timer_set_sooner(&f->look, age_ms < f->pace_ms ? f->pace_ms - age_ms : 0);
}

size_t status_feed_streams(const struct status_feed *f)
{
    return f != NULL ? f->count : 0;
}

void status_feed_cut_all(struct status_feed *f)
{
    if (f == NULL)
        return;
    for (struct stream *s = LIST_FIRST(&f->streams); s != NULL; s = LIST_NEXT(s, entry))
        cut_off(s);
}

/* ---- life ---- */

struct status_feed *status_feed_new(struct event_base *base,
                                    void (*fill)(void *arg, struct buf *json, size_t *ret_news_at), void *arg)
{
    struct status_feed *f = mem_alloc(sizeof(*f));
    *f = (struct status_feed){
        .fill = fill,
        .arg = arg,
        .times = {.pace_ms = PACE_MS, .refresh_ms = REFRESH_MS, .beat_ms = BEAT_MS, .stall_ms = STALL_MS},
        .pace_ms = PACE_MS,
    };
    LIST_INIT(&f->streams);
    timer_init(&f->look, base, status_feed_on_refresh, f);
    timer_init(&f->beat, base, on_beat, f);
    return f;
}

void status_feed_free(struct status_feed *f)
{
    if (f == NULL)
        return;
    for (struct stream *s = LIST_FIRST(&f->streams), *next; s != NULL; s = next) {
        next = LIST_NEXT(s, entry);
        evhttp_connection_set_closecb(evhttp_request_get_connection(s->req), NULL, NULL);
        free(s); /* the request goes with its connection */
    }
    document_unref(f->current);
    timer_fini(&f->look);
    timer_fini(&f->beat);
    free(f);
}

void status_feed_set_times(struct status_feed *f, const struct status_feed_times *times)
{
    f->times = *times;
    f->pace_ms = times->pace_ms;
}
