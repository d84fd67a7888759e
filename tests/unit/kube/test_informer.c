/* The informer's shell: the machine itself is test_watch's; here is what is added to it: HTTP, frames, the cache, callbacks, log lines. */
#include "informer_peer.h"

FIXTURE(setup, teardown)

TEST(a_streaming_list_and_what_follows)
{
    START(SYNCED);
    UNTIL(status().synced);
    ck_assert_str_eq(buf_str(&told), "listed: nodes start\nrequested: 200\nchanged: list of nodes\n");
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert(!status().stale);
    ck_assert_str_eq(status().problem, "");
    ck_assert_uint_gt(status().last_byte_ms, 0);
    ck_assert_uint_eq(times_logged("synced with Kubernetes"), 1);
    ck_assert_uint_eq(times_logged("how=\"streaming list\""), 1);
    ck_assert_uint_eq(times_logged("objects=2"), 1);

    uint64_t before = clock_mono_us();
    push(MODIFIED("n1", "6", "10.0.0.1")); /* a heartbeat: nothing that is kept changed */
    push(MODIFIED("n1", "7", "10.0.0.7"));
    UNTIL(was_commanded("changed: MODIFIED node n1\n"));
    ck_assert_uint_eq(times_commanded("MODIFIED"), 1);
    ck_assert_uint_ge(received_us, before);
    push(ADDED("n3", "8", "10.0.0.3") DELETED("n2", "9"));
    UNTIL(was_commanded("changed: ADDED node n3\nchanged: DELETED node n2\n"));
    ck_assert_ptr_null(cache_find(cache, "n2"));
    ck_assert_str_eq(ip_of("n1"), "10.0.0.7");
}

TEST(pages_where_streaming_lists_are_refused)
{
    START({.expect = "sendInitialEvents=true",
           .status = REFUSED("422 Unprocessable Entity"),
           .body = STATUS("422", "no"),
           .after = END},
          {.expect = "/api/v1/nodes?limit=500 ", .body = LIST("5", "c", NODE("n1", "1", "10.0.0.1")), .after = END},
          {.expect = "/api/v1/nodes?limit=500&continue=c ",
           .body = LIST("9", "", NODE("n2", "2", "10.0.0.2")),
           .after = END,
           .split = 1},
          {.expect = "&resourceVersion=5&", .body = MODIFIED("n1", "11", "10.0.0.7"), .after = HOLD});
    UNTIL(was_commanded("MODIFIED node n1"));
    ck_assert_uint_eq(times_commanded("changed: list of nodes"), 1);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_uint_eq(times_logged("how=\"paged list\""), 1);
    /* never packed: see start_request */
    ck_assert_ptr_null(strstr(buf_str(&peer.requests), "Accept-Encoding"));
    /* each request came to its end: one connection for them all */
    ck_assert_uint_eq(peer.opened, 1);
}

/* The watch gets the answer that its version is too old, and lists again without the pause that keeps two lists apart. */
static void expire(void)
{
    push(ERROR("410", "Expired"));
    UNTIL(status().stale);
    informer_poke(informer);
    UNTIL(peer.next == 2);
}

/* The stream ends in the middle of what the machine has left behind already: that end is nobody's. */
TEST(pages_at_once_where_the_stream_says_no)
{
    START({.expect = "sendInitialEvents=true",
           .body = ERROR("500", "InternalError") ADDED("n9", "1", "10.0.0.9"),
           .after = HOLD},
          {.expect = "/api/v1/nodes?limit=500 ", .body = LIST("5", "", NODE("n1", "1", "10.0.0.1")), .after = END},
          {.expect = "&resourceVersion=5&", .after = HOLD});
    UNTIL(peer.next == 3);
    ck_assert(!status().stale);
    ck_assert_uint_eq(cache_count(cache), 1);
    ck_assert_uint_eq(times_commanded("listed:"), 2);
    ck_assert_uint_eq(times_logged("level=warn"), 0);
}

/* Each way that Kubernetes has to say what happened, as far as it steers. */
static const struct {
    const char *status, *body, *reason, *logged;
} sayings[] = {
    {NULL, ERROR("0", "Expired"), "expired", NULL},
    {NULL, ERROR("429", "TooManyRequests"), "throttled", NULL},
    {NULL,
     EVENT("ERROR",
           "{\"kind\":\"Status\",\"code\":429,\"reason\":\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":7}}"),
     "throttled", "retry_ms=7000.0"},
    {NULL,
     EVENT("ERROR",
           "{\"kind\":\"Status\",\"code\":504,\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}"),
     "too_large_version", NULL},
    {REFUSED("504 Gateway Timeout"),
     "{\"kind\":\"Status\",\"code\":504,\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}",
     "too_large_version", NULL},
    {REFUSED("429 Too Many Requests") "\r\nRetry-After: 9",
     "{\"kind\":\"Status\",\"code\":429,\"details\":{\"retryAfterSeconds\":7}}", "throttled", "retry_ms=9000.0"},
    {REFUSED("503 Service Unavailable"), "{\"kind\":\"Status\",\"code\":503,\"details\":{\"retryAfterSeconds\":7}}",
     "other_answer", "retry_ms=7000.0"},
};

TEST_EACH(what_kubernetes_says_is_understood, array_len(sayings))
{
    const struct step steps[] = {{.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = END},
                                 {.expect = "resourceVersion=6&",
                                  .status = sayings[_i].status,
                                  .body = sayings[_i].body,
                                  .after = sayings[_i].status != NULL ? END : HOLD}};
    start(steps, array_len(steps), NULL);
    UNTIL(status().stale);
    cleanup(mem_free_ptr) char *line = mem_printf("restarted: nodes %s\n", sayings[_i].reason);
    ck_assert_msg(was_commanded(line), "%s is not among\n%s", line, buf_str(&told));
    if (sayings[_i].logged != NULL)
        ck_assert_uint_eq(times_logged(sayings[_i].logged), 1);
}

TEST(a_relist_is_atomic_and_drops_what_is_gone)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES ADDED("n3", "6", "10.0.0.3"), .after = HOLD},
          {.expect = "sendInitialEvents=true", .body = ADDED("n2", "2", "10.0.0.2"), .after = HOLD});
    UNTIL(was_commanded("ADDED node n3"));
    expire();
    UNTIL(times_commanded("requested: 200") == 2);
    push(ADDED("n3", "6", "10.0.0.33"));
    for (int i = 0; i < 5; i++) /* the new ones are on their way, the old ones are what everybody sees */
        event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(cache_count(cache), 3);
    ck_assert_str_eq(ip_of("n3"), "10.0.0.3");
    push(END_OF_LIST("20"));
    UNTIL(times_commanded("changed: list of nodes") == 2);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert_ptr_null(cache_find(cache, "n1"));
    ck_assert_str_eq(ip_of("n3"), "10.0.0.33");
    ck_assert(was_commanded("restarted: nodes expired\n"));
    ck_assert(was_commanded("listed: nodes expired\n"));
}

TEST(a_clean_close_goes_on_from_the_last_version)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("77"), .after = END},
          {.expect = "watch=1&allowWatchBookmarks=true&resourceVersion=77&timeoutSeconds=", .after = HOLD});
    UNTIL(peer.next == 2);
    ck_assert_uint_eq(peer.opened, 1); /* by the same connection, too */
    ck_assert(was_commanded("restarted: nodes closed"));
    ck_assert_uint_eq(times_commanded("listed:"), 1);
    ck_assert(!status().stale);
    ck_assert_uint_eq(times_logged("level=warn"), 0);
}

static void on_other_done(void *arg, const struct http_response *r, const struct error *err)
{
    ck_assert(err == NULL && r->status == 200);
    *(bool *)arg = true;
}

/* Those that are kept may be as dead as the one that failed: none of them is tried again. */
TEST(after_a_failure_the_connection_is_a_new_one)
{
    static const struct http_callbacks other = {.on_done = on_other_done};
    struct http_endpoint endpoint = {.base_url = url};
    struct http_request_options options = {.method = "GET", .path = "/other"};
    bool done = false;
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES MODIFIED("n1", "21", "10.0.0.7"), .after = HOLD},
          {.expect = "/other", .body = "{}", .after = END},
          {.expect = "sendInitialEvents=true", .body = TWO_NODES, .after = HOLD});
    UNTIL(was_commanded("MODIFIED node n1"));
    struct bufferevent *watch = peer.last;
    ck_assert_ptr_nonnull(http_start(http, &endpoint, &options, &other, &done, &flaw));
    UNTIL(done);
    ck_assert_uint_eq(peer.opened, 2); /* and the second is kept */
    peer.last = watch;
    push("rubbish\n");
    UNTIL(peer.next == 3);
    ck_assert_uint_eq(peer.opened, 3);
}

TEST(an_object_that_cannot_be_used_stops_nobody)
{
#define BAD_NODE(version) "{" META("n1", version) ",\"status\":5}"
    START({.expect = "sendInitialEvents=true",
           .body = TWO_NODES EVENT("MODIFIED", BAD_NODE("6")) MODIFIED("n2", "7", "10.0.0.22"),
           .after = HOLD});
    UNTIL(was_commanded("MODIFIED node n2"));
    ck_assert_uint_eq(times_commanded("listed:"), 1);
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1"); /* the last good state */
    ck_assert_uint_eq(times_logged("unexpected object"), 1);
    ck_assert_uint_eq(times_logged("node n1"), 1);
    push(EVENT("MODIFIED", BAD_NODE("8")) EVENT("DELETED", BAD_NODE("9")));
    UNTIL(was_commanded("DELETED node n1"));
    ck_assert_uint_eq(times_logged("unexpected object"), 1);
    ck_assert_ptr_null(cache_find(cache, "n1"));
}

/* Listed, but not readable: it is there, so what is known of it stays, and so does its server. */
TEST(an_object_that_cannot_be_used_in_a_relist_stays_as_it_was)
{
    START({.expect = "sendInitialEvents=true", .body = TWO_NODES ADDED("n3", "6", "10.0.0.3"), .after = HOLD},
          {.expect = "sendInitialEvents=true",
           .body = EVENT("ADDED", BAD_NODE("7")) EVENT("ADDED", "{" META("n9", "8") ",\"spec\":5}")
               ADDED("n2", "2", "10.0.0.2") END_OF_LIST("20"),
           .after = HOLD},
          {.expect = "sendInitialEvents=true", .body = ADDED("n2", "2", "10.0.0.2") END_OF_LIST("30"), .after = HOLD});
    UNTIL(was_commanded("ADDED node n3"));
    expire();
    UNTIL(times_commanded("changed: list of nodes") == 2);
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert_ptr_null(cache_find(cache, "n3"));
    ck_assert_ptr_null(cache_find(cache, "n9"));
    ck_assert_uint_eq(times_logged("node n1 is skipped"), 1);
    expire();
    UNTIL(times_commanded("changed: list of nodes") == 3);
    ck_assert_ptr_null(cache_find(cache, "n1"));
}

TEST(a_half_open_connection_is_noticed)
{
    static const struct step steps[] = {
        {.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = HOLD},
        {.expect = "resourceVersion=6&", .body = "{\"type\"", .after = HOLD},
        {.expect = "resourceVersion=6&", .after = HOLD},
        {.expect = "sendInitialEvents=true", .after = HOLD}};
    struct watch_deadlines quick = watch_usual_deadlines;
    quick.silence_ms = 300;
    start(steps, array_len(steps), &quick);
    UNTIL((informer_poke(informer), peer.next == 4));
    ck_assert_uint_eq(times_commanded("restarted: nodes silent"), 2); /* the second said something, if no whole event */
    ck_assert_uint_eq(times_commanded("restarted: nodes no_data"), 1);
    ck_assert_uint_eq(times_commanded("listed:"), 2);
    UNTIL(peer.open[0] == NULL && peer.open[1] == NULL);
}

TEST(a_forgotten_cache_is_listed_again)
{
    START(
        {.expect = "sendInitialEvents=true", .body = TWO_NODES BOOKMARK("6"), .after = HOLD},
        {.expect = "resourceVersion=6&", .status = REFUSED("403 Forbidden"), .body = STATUS("403", "no"), .after = END},
        SYNCED);
    UNTIL(status().synced);
    push_end();
    UNTIL(strstr(status().problem, "forbidden") != NULL);
    ck_assert_int_eq(status().denied, INFORMER_ALLOWED); /* it may be an API server that is just starting */
    unsigned calls = status_calls;
    informer_forget(informer);
    ck_assert_uint_eq(status_calls, calls + 1); /* it is not synced any more */
    informer_poke(informer);
    UNTIL(status().synced);
    ck_assert_uint_eq(cache_count(cache), 2);
    ck_assert(was_commanded("listed: nodes forgotten"));
}

TEST(stop_leaves_nothing_behind)
{
    START({.expect = "sendInitialEvents=true", .body = ADDED("n1", "1", "10.0.0.1"), .after = HOLD}, SYNCED);
    UNTIL(was_commanded("requested: 200"));
    informer_stop(informer);
    UNTIL(peer.last == NULL); /* the connection is closed */
    ck_assert(!cache_replace_end(cache));
    ck_assert_uint_eq(cache_count(cache), 0);
    ck_assert(!was_commanded("changed:"));
    informer_start(informer);
    UNTIL(status().synced);
    ck_assert_uint_eq(cache_count(cache), 2);
    informer_stop(informer);
    ck_assert(status().stale); /* nobody reads any more */
    UNTIL(peer.last == NULL);
}

TEST(free_in_the_middle_of_a_request)
{
    START({.expect = "sendInitialEvents=true", .body = ADDED("n1", "1", "10.0.0.1"), .after = HOLD});
    UNTIL(was_commanded("requested: 200"));
    informer_free(informer);
    informer = NULL;
    UNTIL(peer.last == NULL);
}

static void stop_it(void *arg)
{
    informer_stop(informer);
}

TEST(stop_from_inside_a_callback)
{
    static const struct step steps[] = {SYNCED};
    const struct informer_callbacks stopping = {.status = stop_it};
    const struct informer_options options = {.resource = &kube_nodes};
    start_row(steps, array_len(steps), &options, &stopping);
    UNTIL(peer.next == 1);
    UNTIL(peer.last == NULL);
    ck_assert(status().stale);
}
