/* Spans: src/report/trace.c, and how OTLP has them in JSON: src/report/otlp_exporter.c. IDs are this file's. */
#include <sys/random.h>

#include "../json_text.h"
#include "report/prometheus.h"
#include "report/otlp_exporter.h"
#include "report/trace.h"

#define WALL_US 1544712660000000

static unsigned char next_byte; /* of IDs: each has one of its own */

ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
    memset(buf, next_byte++, len);
    return (ssize_t)len;
}

static unsigned waits;

static void on_waits(void *arg)
{
    waits++;
}

static struct tracer *tracer_of(size_t max_spans, struct metric *results)
{
    const struct tracer_options options = {.max_spans = max_spans, .results = results, .waits = on_waits};
    waits = 0;
    next_byte = 0x10;
    return tracer_new(&options);
}

/* The mapping of the OTLP specification, as its example has it. */
TEST(golden)
{
    struct tracer *t = tracer_of(8, NULL);
    struct otlp_resource resource = {0};
    otlp_resource_set(&resource, "service.name", "another");
    otlp_resource_set(&resource, "host.name", "h");
    otlp_resource_set(&resource, "service.name", "my.service");
    struct span *root = span_root(t, "I'm a server span", 1000, WALL_US);
    struct span *child = span_child(root, "child", 1500);
    span_text(child, "my.span.attr", "some v\xc3\xa4lue \xff\n\"");
    span_number(child, "n", INT64_MIN);
    span_bool(child, "yes", true);
    span_number(child, "n", 9007199254740993); /* which no double holds */
    span_fail(child, "it broke");
    span_fail(child, "and again");
    span_end(child, 2000);
    span_end(root, 3000);
    ck_assert_uint_eq(waits, 2);
    struct span *list[8];
    ck_assert_uint_eq(tracer_take(t, list, 8), 2);
    cleanup(mem_free_ptr) char *json = otlp_encode(&resource, "1.0.0", list, 2);
    assert_json(
        json,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
        "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"my.service\"}},"
        "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h\"}}]},"
        "\"scopeSpans\":[{\"scope\":{\"name\":\"haproxy-k8s-sync\",\"version\":\"1.0.0\"},\"spans\":["
        "{\"traceId\":\"10101010101010101010101010101010\",\"spanId\":\"1212121212121212\","
        "\"parentSpanId\":\"1111111111111111\",\"name\":\"child\",\"kind\":1,"
        "\"startTimeUnixNano\":\"1544712660000500000\",\"endTimeUnixNano\":\"1544712660001000000\","
        "\"attributes\":[{\"key\":\"my.span.attr\",\"value\":{\"stringValue\":\"some v\xc3\xa4lue \\\\xff \\\"\"}},"
        "{\"key\":\"n\",\"value\":{\"intValue\":\"9007199254740993\"}},"
        "{\"key\":\"yes\",\"value\":{\"boolValue\":true}}],"
        "\"status\":{\"message\":\"it broke\",\"code\":2}},"
        "{\"traceId\":\"10101010101010101010101010101010\",\"spanId\":\"1111111111111111\","
        "\"name\":\"I'm a server span\",\"kind\":1,"
        "\"startTimeUnixNano\":\"1544712660000000000\",\"endTimeUnixNano\":\"1544712660002000000\","
        "\"attributes\":[],\"status\":{}}]}]}]}");
    span_free(list[0]);
    span_free(list[1]);
    otlp_resource_fini(&resource);
    tracer_free(t);
}

TEST(no_span_leaves_its_parent_or_ends_before_it_begins)
{
    struct tracer *t = tracer_of(8, NULL);
    struct span *root = span_root(t, "r", 1000, WALL_US), *list[2];
    struct span *child = span_child(root, "c", 500);
    span_end(child, 400);
    span_end(root, 1000);
    ck_assert_uint_eq(tracer_take(t, list, 2), 2);
    const struct span_view c = span_view(list[0]), r = span_view(list[1]);
    ck_assert_uint_eq(c.begin_ns, r.begin_ns);
    ck_assert_uint_eq(c.end_ns, c.begin_ns);
    ck_assert(r.is_root && !c.is_root && memcmp(c.parent, r.id, sizeof(r.id)) == 0);
    span_free(list[0]);
    span_free(list[1]);
    tracer_free(t);
}

TEST(the_oldest_are_dropped_and_counted)
{
    struct metrics *registry = metrics_new();
    struct metric *results = metrics_register(registry, METRIC_COUNTER, "spans", "", "result");
    struct tracer *t = tracer_of(3, results);
    struct span *list[4];
    for (uint64_t i = 1; i <= 5; i++)
        span_end(span_root(t, "r", i, i), i);
    ck_assert_uint_eq(tracer_waiting(t), 3);
    ck_assert_double_eq(metric_value(results, "dropped", NULL), 2);
    ck_assert_uint_eq(tracer_take(t, list, 2), 2);
    ck_assert_uint_eq(span_view(list[0]).begin_ns, 3000);
    ck_assert_uint_eq(span_view(list[1]).begin_ns, 4000);
    ck_assert_uint_eq(tracer_take(t, list + 2, 2), 1);
    ck_assert_uint_eq(tracer_take(t, list + 3, 1), 0);
    for (size_t i = 0; i < 3; i++)
        span_free(list[i]);
    span_end(span_root(t, "left", 1, 1), 1);
    tracer_free(t);
    metrics_free(registry);
}

TEST(what_a_trace_has_is_bounded)
{
    struct tracer *t = tracer_of(2 * TRACE_SPANS_MAX, NULL);
    struct span *root = span_root(t, "r", 1, 1), *list[2 * TRACE_SPANS_MAX];
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                       "j", "k", "l", "m", "n", "o", "p", "q", "r"};
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 0; i < TRACE_SPANS_MAX + 1; i++)
        span_end(span_child(root, "c", 1), 2);
    span_text(root, "long", text);
    span_fail(root, text);
    span_end(root, 3);
    ck_assert_uint_eq(tracer_take(t, list, 2 * TRACE_SPANS_MAX), TRACE_SPANS_MAX);
    const struct span_view v = span_view(list[TRACE_SPANS_MAX - 1]);
    ck_assert_uint_eq(strlen(v.attributes[0].text), SPAN_TEXT_MAX_BYTES);
    ck_assert_uint_eq(strlen(v.message), SPAN_MESSAGE_MAX_BYTES);
    ck_assert_str_eq(v.attributes[1].key, "spans.left_out");
    ck_assert_int_eq(v.attributes[1].number, 2);
    for (size_t i = 0; i < TRACE_SPANS_MAX; i++)
        span_free(list[i]);
    struct span *full = span_root(t, "r", 1, 1);
    for (size_t i = 0; i < array_len(keys); i++)
        span_number(full, keys[i], 1);
    ck_assert_uint_eq(span_view(full).attribute_count, SPAN_ATTRIBUTES_MAX);
    span_free(full);
    tracer_free(t);
}

TEST(ids_are_never_zero)
{
    struct tracer *t = tracer_of(1, NULL);
    next_byte = 0;
    struct span *s = span_root(t, "r", 1, 1);
    static const unsigned char none[TRACE_ID_BYTES];
    ck_assert(memcmp(span_view(s).trace, none, sizeof(none)) != 0);
    span_free(s);
    tracer_free(t);
}

TEST(nothing_records_nothing)
{
    struct span *root = span_root(NULL, "r", 1, 1);
    ck_assert_ptr_null(root);
    ck_assert_ptr_null(span_child(NULL, "c", 1));
    span_text(root, "k", "v");
    span_number(root, "k", 1);
    span_bool(root, "k", true);
    span_fail(root, "why");
    span_end(root, 1);
    tracer_free(NULL);
}

TEST(what_was_not_taken)
{
    static const struct {
        const char *body;
        uint64_t rejected;
    } rows[] = {{"", 0},
                {"{}", 0},
                {"[]", 0},
                {"nonsense", 0},
                {"{\"partialSuccess\":{}}", 0},
                {"{\"partialSuccess\":null}", 0},
                {"{\"partialSuccess\":{\"rejectedSpans\":\"7\",\"errorMessage\":\"no\"}}", 7},
                {"{\"partialSuccess\":{\"rejectedSpans\":7}}", 7},
                {"{\"partialSuccess\":{\"rejectedSpans\":-7}}", 0},
                {"{\"partialSuccess\":{\"rejectedSpans\":\"seven\"}}", 0},
                {"{\"partialSuccess\":{\"rejectedSpans\":[7]}}", 0}};
    for (size_t i = 0; i < array_len(rows); i++)
        ck_assert_uint_eq(otlp_rejected(rows[i].body, strlen(rows[i].body)), rows[i].rejected);
}
