#include "report/otlp_exporter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/timer.h"
#include "json/read.h"
#include "json/write.h"
#include "net/http.h"
#include "report/prometheus.h"

#define BATCH_SPANS 256
#define BATCH_DELAY_MS 1000 /* after the first span of a batch: more come with it */
#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS 30000
#define RETRY_MIN_MS 200
#define BATCH_AGE_MAX_MS 300000 /* an older one is given up */
#define ANSWER_MAX_BYTES 65536
#define CONNECT_TIMEOUT_MS 5000
#define LOG_PERIOD_MS 600000
#define SCOPE "haproxy-k8s-sync"
#define NUMBER_BYTES 24
#define KIND_INTERNAL 1 /* enum SpanKind */
#define STATUS_ERROR 2  /* enum StatusCode */

/* ---- who sends them ---- */

void otlp_resource_set(struct otlp_resource *r, const char *key, const char *value)
{
    size_t i = 0;
    while (i < r->count && !str_eq(r->list[i].key, key))
        i++;
    if (i == r->count) {
        r->list = mem_resize(r->list, r->count + 1, sizeof(r->list[0]));
        r->list[r->count++] = (struct otlp_attribute){.key = mem_strdup(key)};
    }
    free(r->list[i].value);
    r->list[i].value = mem_strdup(value);
}

void otlp_resource_fini(struct otlp_resource *r)
{
    for (size_t i = 0; i < r->count; i++) {
        mem_free_all(r->list[i].key, r->list[i].value);
    }
    free(r->list);
    *r = (struct otlp_resource){0};
}

/* ---- the request ---- */

static void otlp_put_number(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t n)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof(text), "%" PRId64, n);
    json_fields(doc, obj, json_str(key, text));
}

static void otlp_put_id(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const unsigned char *id, size_t len)
{
    char text[2 * TRACE_ID_BYTES + 1];
    for (size_t i = 0; i < len; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    json_fields(doc, obj, json_str(key, text));
}

static yyjson_mut_val *otlp_add_key(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *key)
{
    yyjson_mut_val *pair = json_add_object(doc, list);
    json_fields(doc, pair, json_str("key", key));
    return json_put_object(doc, pair, "value");
}

static void otlp_add_span(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct span_view *v)
{
    yyjson_mut_val *span = json_add_object(doc, list);
    otlp_put_id(doc, span, "traceId", v->trace, sizeof(v->trace));
    otlp_put_id(doc, span, "spanId", v->id, sizeof(v->id));
    if (!v->is_root)
        otlp_put_id(doc, span, "parentSpanId", v->parent, sizeof(v->parent));
    json_fields(doc, span, json_str("name", v->name), json_uint("kind", KIND_INTERNAL));
    otlp_put_number(doc, span, "startTimeUnixNano", (int64_t)v->begin_ns);
    otlp_put_number(doc, span, "endTimeUnixNano", (int64_t)v->end_ns);
    yyjson_mut_val *attributes = json_put_list(doc, span, "attributes");
    for (size_t i = 0; i < v->attribute_count; i++) {
        const struct span_attribute *a = &v->attributes[i];
        yyjson_mut_val *value = otlp_add_key(doc, attributes, a->key);
        if (a->type == SPAN_TEXT)
            json_fields(doc, value, json_str("stringValue", a->text));
        else if (a->type == SPAN_BOOL)
            json_fields(doc, value, json_bool("boolValue", a->number != 0));
        else
            otlp_put_number(doc, value, "intValue", a->number);
    }
    yyjson_mut_val *status = json_put_object(doc, span, "status");
    if (!v->failed)
        return;
    if (v->message != NULL)
        json_fields(doc, status, json_str("message", v->message));
    json_fields(doc, status, json_uint("code", STATUS_ERROR));
}

char *otlp_encode(const struct otlp_resource *resource, const char *version, struct span *const *list, size_t count)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *of = json_add_object(doc, json_put_list(doc, root, "resourceSpans"));
    yyjson_mut_val *attributes = json_put_list(doc, json_put_object(doc, of, "resource"), "attributes");
    for (size_t i = 0; i < resource->count; i++)
        json_fields(doc, otlp_add_key(doc, attributes, resource->list[i].key),
                    json_str("stringValue", resource->list[i].value));
    yyjson_mut_val *by = json_add_object(doc, json_put_list(doc, of, "scopeSpans"));
    json_fields(doc, json_put_object(doc, by, "scope"), json_str("name", SCOPE), json_str("version", version));
    yyjson_mut_val *spans = json_put_list(doc, by, "spans");
    for (size_t i = 0; i < count; i++) {
        const struct span_view v = span_view(list[i]);
        otlp_add_span(doc, spans, &v);
    }
    return json_take(doc);
}

/* ---- the answer ---- */

/* A number, or a string of one: both are JSON of an int64. */
uint64_t otlp_rejected(const char *body, size_t len)
{
    struct error err = {0};
    uint64_t n = 0;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(body, len, 0, "the answer", &err);
    yyjson_val *partial = doc != NULL ? yyjson_obj_get(yyjson_doc_get_root(doc), "partialSuccess") : NULL;
    yyjson_val *rejected = yyjson_obj_get(partial, "rejectedSpans");
    const char *text = yyjson_get_str(rejected);
    if (yyjson_is_uint(rejected))
        return yyjson_get_uint(rejected);
    return text != NULL && str_parse_uint(text, UINT32_MAX, &n) == 0 ? n : 0;
}

/* ---- a batch ---- */

struct otlp_exporter {
    struct otlp_exporter_options options;
    struct tracer *tracer;
    struct timer send;
    struct http_request *request; /* NULL: none is under way */
    char *batch;                  /* that is sent, or sent again; NULL: none */
    size_t spans;                 /* of it */
    uint64_t since_ms;
    struct backoff backoff;
    struct log_limit limit;
    struct timer end;        /* of the time to finish */
    void (*done)(void *arg); /* NULL: it is not finishing, or has finished */
    void *done_arg;
    bool finishing;
};

static void otlp_exporter_count(const struct otlp_exporter *x, const char *result, uint64_t spans)
{
    if (spans > 0)
        metric_add(x->options.results, (double)spans, result, NULL);
}

static void otlp_exporter_drop_batch(struct otlp_exporter *x)
{
    free(x->batch);
    x->batch = NULL;
    x->spans = 0;
    backoff_reset(&x->backoff);
}

static void otlp_exporter_ended(void *arg)
{
    struct otlp_exporter *x = arg;
    void (*done)(void *) = x->done;
    timer_cancel(&x->send);
    timer_cancel(&x->end);
    x->done = NULL;
    if (done != NULL)
        done(x->done_arg);
}

/* What is there by now, soon; more than a batch of it at once. */
static void otlp_exporter_schedule(void *arg)
{
    struct otlp_exporter *x = arg;
    size_t waiting = tracer_waiting(x->tracer);
    if (x->request != NULL || x->batch != NULL)
        return;
    if (waiting > 0)
        timer_set_sooner(&x->send, waiting >= BATCH_SPANS || x->finishing ? 0 : BATCH_DELAY_MS);
    else if (x->finishing)
        timer_set(&x->end, 0);
}

/* ---- how a request ended ---- */

static void otlp_exporter_say(struct otlp_exporter *x, const char *message, bool again)
{
    unsigned held_back;
    if (log_limit_pass_message(&x->limit, clock_mono_ms(), message, &held_back))
        log_warn(x->options.log, "traces not exported", log_str("url", x->options.url), log_str("error", message),
                 log_int("spans", x->spans), log_bool("retried", again),
                 log_if(held_back > 0, log_int("repeated", held_back)));
}

/* after_ms: of Retry-After; negative: it says nothing. */
static void otlp_exporter_failed(struct otlp_exporter *x, const char *message, bool retryable, int64_t after_ms)
{
    uint64_t wait_ms = after_ms >= 0 ? (uint64_t)after_ms : backoff_next_ms(&x->backoff);
    bool young = clock_mono_ms() + wait_ms - x->since_ms < BATCH_AGE_MAX_MS;
    bool again = retryable && young && !x->finishing;
    otlp_exporter_say(x, message, again);
    if (again) {
        timer_set(&x->send, wait_ms);
        return;
    }
    otlp_exporter_count(x, "failed", x->spans);
    otlp_exporter_drop_batch(x);
    if (after_ms > 0 && !x->finishing)
        timer_set(&x->send, (uint64_t)after_ms);
}

static void otlp_exporter_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct otlp_exporter *x = arg;
    x->request = NULL;
    if (err != NULL) {
        otlp_exporter_failed(x, err->message, err->kind == ERROR_RETRY, -1);
    } else if (r->status >= 200 && r->status < 300) {
        uint64_t rejected = otlp_rejected(buf_str(r->body), r->body->len);
        rejected = rejected < x->spans ? rejected : x->spans;
        otlp_exporter_count(x, "exported", x->spans - rejected);
        otlp_exporter_count(x, "rejected", rejected);
        if (rejected > 0)
            otlp_exporter_say(x, "the collector rejected some of them", false);
        else
            log_limit_reset(&x->limit);
        otlp_exporter_drop_batch(x);
    } else {
        cleanup(mem_free_ptr) char *message = mem_printf("the collector answered %d", r->status);
        /* As the OTLP specification lists them; no answer at all is as one of them. */
        bool retryable = r->status == 429 || r->status == 502 || r->status == 503 || r->status == 504;
        otlp_exporter_failed(x, message, retryable, http_response_retry_after_ms(r));
    }
    if (!timer_is_set(&x->send))
        otlp_exporter_schedule(x);
}

/* ---- a request ---- */

static void otlp_exporter_send(void *arg)
{
    static const struct http_callbacks callbacks = {.on_done = otlp_exporter_on_done};
    struct otlp_exporter *x = arg;
    struct error err = {0};
    if (x->request != NULL)
        return;
    if (x->batch == NULL) {
        struct span *list[BATCH_SPANS];
        size_t count = tracer_take(x->tracer, list, BATCH_SPANS);
        if (count == 0)
            return;
        x->batch = otlp_encode(x->options.resource, x->options.version, list, count);
        x->spans = count;
        x->since_ms = clock_mono_ms();
        for (size_t i = 0; i < count; i++)
            span_free(list[i]);
    }
    struct http_request_options options = {
        .method = "POST",
        .path = x->options.path,
        .content_type = "application/json",
        .body = x->batch,
        .body_len = strlen(x->batch),
        .max_body_bytes = ANSWER_MAX_BYTES,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS < x->options.timeout_ms ? CONNECT_TIMEOUT_MS : x->options.timeout_ms,
        .total_timeout_ms = x->options.timeout_ms};
    if (x->options.prepare != NULL)
        x->options.prepare(x->options.arg, &options);
    x->request = http_start(x->options.http, x->options.endpoint, &options, &callbacks, x, &err);
    if (x->request != NULL)
        return;
    otlp_exporter_failed(x, err.message, err.kind == ERROR_RETRY, -1);
    otlp_exporter_schedule(x);
}

/* ---- life ---- */

struct otlp_exporter *otlp_exporter_new(struct event_base *base, const struct otlp_exporter_options *options)
{
    struct otlp_exporter *x = mem_alloc(sizeof(*x));
    const struct tracer_options tracer = {
        .max_spans = options->max_spans, .results = options->results, .waits = otlp_exporter_schedule, .arg = x};
    x->options = *options;
    x->tracer = tracer_new(&tracer);
    x->limit.period_ms = LOG_PERIOD_MS;
    backoff_init(&x->backoff, RETRY_FIRST_MS, RETRY_MAX_MS, RETRY_MIN_MS, backoff_random_seed());
    timer_init(&x->send, base, otlp_exporter_send, x);
    timer_init(&x->end, base, otlp_exporter_ended, x);
    return x;
}

void otlp_exporter_free(struct otlp_exporter *x)
{
    if (x == NULL)
        return;
    http_cancel(x->request);
    timer_fini(&x->send);
    timer_fini(&x->end);
    free(x->batch);
    tracer_free(x->tracer);
    free(x);
}

struct tracer *otlp_exporter_tracer(struct otlp_exporter *x)
{
    return x != NULL ? x->tracer : NULL;
}

void otlp_exporter_finish(struct otlp_exporter *x, uint64_t within_ms, void (*done)(void *arg), void *arg)
{
    x->finishing = true;
    x->done = done;
    x->done_arg = arg;
    timer_set(&x->end, within_ms);
    if (x->batch != NULL && x->request == NULL)
        timer_set(&x->send, 0); /* once more, whatever it asked for */
    else
        otlp_exporter_schedule(x);
}
