/* A list/watch machine without sockets, its clock, what it is fed, and the places that a test starts from. */
#pragma once

#include "kube/watch.h"

#include "../test.h"

#define T0 1000000 /* the clock never starts at 0 */

static struct watch_server server;
static struct watch w;
static uint64_t now;
static unsigned actions; /* of the last step */

static inline void start_anew(void)
{
    watch_fini(&w);
    server = (struct watch_server){0};
    watch_init(&w, &server, "/api/v1/nodes", NULL, NULL, 7);
    now = T0;
}

static inline unsigned feed(struct watch_event e)
{
    actions = watch_step(&w, &e, now);
    return actions;
}

static inline unsigned feed_type(enum watch_event_type type)
{
    return feed((struct watch_event){.type = type});
}

static inline unsigned feed_head(void)
{
    return feed((struct watch_event){.type = WATCH_EVENT_HEAD, .status = 200, .readable = true});
}

static inline unsigned feed_object(const char *version)
{
    return feed((struct watch_event){.type = WATCH_EVENT_OBJECT, .version = version});
}

static inline unsigned feed_bookmark(const char *version, bool initial_end)
{
    return feed((struct watch_event){.type = WATCH_EVENT_BOOKMARK, .version = version, .initial_end = initial_end});
}

static inline unsigned feed_page(const char *version, const char *continue_token)
{
    return feed((struct watch_event){.type = WATCH_EVENT_PAGE, .version = version, .continue_token = continue_token});
}

static inline unsigned feed_answer(int status)
{
    return feed((struct watch_event){.type = WATCH_EVENT_ANSWER, .status = status});
}

static inline unsigned feed_error(int status)
{
    return feed((struct watch_event){.type = WATCH_EVENT_ERROR, .status = status});
}

/* Lets the time of the next deadline come. */
static inline unsigned feed_due(void)
{
    ck_assert_uint_gt(watch_due_ms(&w), 0);
    if (watch_due_ms(&w) > now)
        now = watch_due_ms(&w);
    return feed_type(WATCH_EVENT_TIMER);
}

static inline void assert_path(const char *expected)
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
#define WHOLE_PATH "/api/v1/nodes"
#define WATCH_PATH(version) "/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=" version "&timeoutSeconds="

#define LIST_BEGINS (WATCH_REPLACE_BEGIN | WATCH_LISTED | WATCH_REQUEST)

enum from {
    AT_STREAMING,  /* a streaming list, two objects in */
    AT_UNANSWERED, /* a streaming list without headers yet */
    AT_PAGE1,
    AT_PAGE2,
    AT_FRESH_WATCH,    /* a watch from version 20, just answered, synced long ago, no news since */
    AT_STABLE_WATCH,   /* the same with an event: at version 21 */
    AT_STREAMED_WATCH, /* a streaming list that became a watch this moment: version 20 */
    AT_OPENING_WATCH,  /* a watch from version 20 without headers yet */
};

static inline void go_paged(void)
{
    server.no_streaming_until_ms = now + 10 * WATCH_RETRY_STREAMING_MS;
    ck_assert_uint_eq(feed_type(WATCH_EVENT_START), WATCH_REPLACE_BEGIN | WATCH_LISTED | WATCH_REQUEST);
    ck_assert_int_eq(w.state, WATCH_LISTING);
    feed_head();
}

static inline void go_watching(void)
{
    go_paged();
    feed_page("20", NULL);
    server.no_streaming_until_ms = 0;
    now += WATCH_LIST_SPACING_MS;
    w.started_ms = now; /* the watch is as fresh as if it had been started now */
}

static inline void go_to(enum from from)
{
    start_anew();
    switch (from) {
    case AT_UNANSWERED:
    case AT_STREAMING:
        ck_assert_uint_eq(feed_type(WATCH_EVENT_START), LIST_BEGINS);
        if (from == AT_UNANSWERED)
            return;
        feed_head();
        feed_object("5");
        feed_object("6");
        return;
    case AT_PAGE1:
    case AT_PAGE2:
        go_paged();
        if (from == AT_PAGE1)
            return;
        feed_page("20", "c1");
        feed_head();
        return;
    case AT_STREAMED_WATCH:
        go_to(AT_STREAMING);
        now += 3000;
        feed_bookmark("20", true);
        return;
    case AT_OPENING_WATCH:
    case AT_FRESH_WATCH:
    case AT_STABLE_WATCH:
        go_watching();
        if (from == AT_OPENING_WATCH)
            return;
        feed_head();
        if (from == AT_STABLE_WATCH)
            feed_object("21");
        return;
    }
}

static const struct watch_event refused = {.type = WATCH_EVENT_LOST, .detail = "connection refused"};

static inline void tear_down(void)
{
    watch_fini(&w);
}
