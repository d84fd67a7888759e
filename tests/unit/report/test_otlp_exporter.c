/* Batches, retries and the end: src/report/otlp_exporter.c in virtual time. The collector is this file. */
#include "report/otlp_exporter.h"

#include "../log_text.h"
#include "base/clock.h"
#include "net/http.h"
#include "report/prometheus.h"

#define MAX_SPANS 600

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct metrics *registry;
    struct metric *results;
    struct otlp_resource resource;
    struct log log;
    struct otlp_exporter *x;
    unsigned asked;
    uint64_t asked_ms; /* the last time */
    size_t spans;      /* of the last one */
    bool open;         /* it waits for an answer */
    bool unbuilt;      /* no request can be built */
    int64_t retry_after_ms;
    struct http_callbacks callbacks;
    void *arg;
    bool ended;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

struct http_request *http_start(struct http *http, const struct http_endpoint *endpoint,
                                const struct http_request_options *options, const struct http_callbacks *callbacks,
                                void *arg, struct error *err)
{
    ck_assert(!w.open); /* one at a time */
    ck_assert_uint_gt(options->total_timeout_ms, 0);
    ck_assert_uint_le(options->max_body_bytes, 65536);
    w.asked++;
    w.asked_ms = clock_mono_ms();
    w.spans = 0;
    for (const char *at = options->body; (at = strstr(at, "\"spanId\"")) != NULL; at++)
        w.spans++;
    if (w.unbuilt) {
        (void)error_set(err, ERROR_INVALID, "a bad certificate");
        return NULL;
    }
    w.callbacks = *callbacks;
    w.arg = arg;
    w.open = true;
    return (struct http_request *)&w;
}

void http_cancel(struct http_request *request)
{
    w.open = w.open && request == NULL;
}

int64_t http_response_retry_after_ms(const struct http_response *r)
{
    return w.retry_after_ms;
}

static void pass(uint64_t ms)
{
    uint64_t until_ms = clock_mono_ms() + ms;
    for (struct timer *t; (t = virtual_next_timer(until_ms)) != NULL;) {
        w.now_us = t->due_ms * 1000 > w.now_us ? t->due_ms * 1000 : w.now_us;
        t->due_ms = 0;
        t->fn(t->arg);
    }
    w.now_us = until_ms * 1000;
}

/* status 0: no answer. */
static void answer(int status, const char *text)
{
    struct buf body = {0};
    buf_add(&body, text);
    const struct http_response r = {.status = status, .body = &body};
    ck_assert(w.open);
    w.open = false;
    if (status == 0)
        (void)error_set(&flaw, ERROR_RETRY, "connection refused");
    w.callbacks.on_done(w.arg, &r, status == 0 ? &flaw : NULL);
    buf_fini(&body);
}

static void spans(size_t count)
{
    for (size_t i = 0; i < count; i++)
        span_end(span_root(otlp_exporter_tracer(w.x), "r", clock_mono_us(), clock_wall_ms() * 1000), clock_mono_us());
}

static double counted(const char *result)
{
    return metric_value(w.results, result, NULL);
}

static void on_end(void *arg)
{
    ck_assert(!w.ended);
    w.ended = true;
}

static void begin(void)
{
    char name[] = "/tmp/test_otlp.XXXXXX";
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    w.retry_after_ms = -1;
    w.log = (struct log){.level = LOG_LEVEL_INFO, .fd = mkstemp(name)};
    ck_assert_int_ge(w.log.fd, 0);
    unlink(name);
    w.registry = metrics_new();
    w.results = metrics_register(w.registry, METRIC_COUNTER, "spans", "", "result");
    const struct otlp_exporter_options options = {.path = "/v1/traces",
                                                  .url = "http://c",
                                                  .timeout_ms = 10000,
                                                  .resource = &w.resource,
                                                  .version = "1",
                                                  .max_spans = MAX_SPANS,
                                                  .results = w.results,
                                                  .log = &w.log};
    w.x = otlp_exporter_new(NULL, &options);
}

static void end(void)
{
    otlp_exporter_free(w.x);
    ck_assert(!w.open);
    metrics_free(w.registry);
    close(w.log.fd);
}

FIXTURE(begin, end)

TEST(a_batch_goes_soon_and_a_full_one_at_once)
{
    pass(60000);
    ck_assert_uint_eq(w.asked, 0);
    spans(2);
    pass(900);
    ck_assert_uint_eq(w.asked, 0);
    spans(1);
    pass(100);
    ck_assert_uint_eq(w.asked, 1);
    ck_assert_uint_eq(w.spans, 3);
    spans(300); /* while that is under way */
    pass(5000);
    ck_assert_uint_eq(w.asked, 1);
    answer(200, "{}");
    pass(0);
    ck_assert_uint_eq(w.asked, 2);
    ck_assert_uint_eq(w.spans, 256);
    answer(202, "");
    pass(1000);
    ck_assert_uint_eq(w.spans, 44);
    answer(200, "{\"partialSuccess\":{\"rejectedSpans\":\"4\"}}");
    ck_assert_double_eq(counted("exported"), 299);
    ck_assert_double_eq(counted("rejected"), 4);
    pass(600000);
    ck_assert_uint_eq(w.asked, 3);
}

TEST(what_is_to_be_sent_again_is)
{
    static const int statuses[] = {429, 502, 503, 504, 0};
    spans(2);
    pass(1000);
    for (size_t i = 0; i < array_len(statuses); i++) {
        unsigned before = w.asked;
        answer(statuses[i], "");
        ck_assert_uint_eq(w.asked, before);
        pass(199);
        ck_assert_uint_eq(w.asked, before); /* never at once */
        pass(30000);
        ck_assert_uint_eq(w.asked, before + 1);
        ck_assert_uint_eq(w.spans, 2);
    }
    answer(200, "");
    ck_assert_double_eq(counted("exported"), 2);
    ck_assert_uint_eq(log_count(w.log.fd, "traces not exported"),
                      2); /* one for all statuses, which differ in a number */
}

TEST(the_collector_says_when)
{
    spans(1);
    pass(1000);
    w.retry_after_ms = 45000;
    answer(503, "");
    spans(400); /* more than a batch does not wait less */
    pass(44999);
    ck_assert_uint_eq(w.asked, 1);
    pass(1);
    ck_assert_uint_eq(w.asked, 2);
    ck_assert_uint_eq(w.spans, 1);
    w.retry_after_ms = 3600000; /* longer than a batch is kept */
    answer(429, "");
    ck_assert_double_eq(counted("failed"), 1);
    pass(3599999);
    ck_assert_uint_eq(w.asked, 2);
    pass(1);
    ck_assert_uint_eq(w.asked, 3);
    answer(200, "");
}

TEST(what_is_refused_is_dropped_and_said_once)
{
    static const int statuses[] = {400, 404, 413, 500, 301};
    for (size_t i = 0; i < array_len(statuses); i++) {
        spans(1);
        pass(1000);
        answer(statuses[i], "you are wrong");
        pass(1000);
        ck_assert_uint_eq(w.asked, i + 1);
    }
    w.unbuilt = true;
    spans(1);
    pass(1000);
    ck_assert_double_eq(counted("failed"), array_len(statuses) + 1);
    ck_assert_uint_eq(log_count(w.log.fd, "traces not exported"), 2);
    ck_assert_uint_eq(log_count(w.log.fd, "you are wrong"), 0);
}

TEST(a_dead_collector_costs_no_more_than_the_ring)
{
    for (unsigned minute = 0; minute < 30; minute++) {
        spans(100);
        for (unsigned second = 0; second < 60; second++) {
            pass(1000);
            if (w.open)
                answer(0, "");
        }
    }
    ck_assert_uint_le(tracer_waiting(otlp_exporter_tracer(w.x)), MAX_SPANS);
    ck_assert_double_gt(counted("failed"), 256); /* what was five minutes old */
    ck_assert_double_gt(counted("dropped"), 0);
    ck_assert_double_eq(counted("exported"), 0);
    ck_assert_uint_le(w.asked, 600);
    unsigned said = log_count(w.log.fd, "traces not exported");
    ck_assert(said >= 2 && said <= 8);
}

TEST(at_the_end_what_waits_is_sent_once)
{
    spans(300);
    otlp_exporter_finish(w.x, 1000, on_end, NULL);
    pass(0);
    ck_assert_uint_eq(w.spans, 256);
    answer(200, "");
    pass(0);
    ck_assert_uint_eq(w.spans, 44);
    ck_assert(!w.ended);
    answer(503, "");
    pass(0);
    ck_assert(w.ended);
    ck_assert_uint_eq(w.asked, 2);
    ck_assert_double_eq(counted("failed"), 44);
}

TEST(at_the_end_what_waited_for_a_retry_is_sent_once_more)
{
    spans(1);
    pass(1000);
    w.retry_after_ms = 60000;
    answer(503, "");
    otlp_exporter_finish(w.x, 1000, on_end, NULL);
    pass(0);
    ck_assert_uint_eq(w.asked, 2);
    answer(200, "");
    pass(0);
    ck_assert(w.ended);
}

TEST(the_end_does_not_wait)
{
    otlp_exporter_finish(w.x, 1000, on_end, NULL);
    pass(0);
    ck_assert(w.ended); /* there is nothing */
    w.ended = false;
    spans(1);
    otlp_exporter_finish(w.x, 1000, on_end, NULL);
    pass(999);
    ck_assert(w.open && !w.ended);
    pass(1);
    ck_assert(w.ended); /* without an answer */
}
