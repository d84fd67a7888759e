/*
 * Sends spans to an OpenTelemetry collector by OTLP/HTTP in JSON: a batch at a time, each soon after its first span
 * ended. What a collector asks to be sent again (429, 502, 503, 504, and where there was no answer) is, by Retry-After or
 * backoff, for some minutes; whatever else it answers costs that batch. Nothing waits for it: while it is away spans wait
 * in the tracer, which drops the oldest ones.
 *
 * A body has the spans in JSON (opentelemetry-proto, ExportTraceServiceRequest; the mapping of the OTLP specification): IDs in lower-case
 * hex, 64-bit numbers and times as strings, enums as numbers.
 */
#pragma once

#include <stdint.h>

#include "base/log.h"
#include "report/trace.h"

struct event_base;
struct http;
struct http_endpoint;
struct http_request_options;
struct otlp_exporter;

struct otlp_attribute {
    char *key, *value;
};

/* Who sends them. */
struct otlp_resource {
    struct otlp_attribute *list;
    size_t count;
};

/* In the place of what has that key. key and value are copied. */
void otlp_resource_set(struct otlp_resource *r, const char *key, const char *value);
void otlp_resource_fini(struct otlp_resource *r);

/* version: of this program. Allocates. */
char *otlp_encode(const struct otlp_resource *resource, const char *version, struct span *const *list,
                  size_t count) must_check;

/* How many of them the answer to a request that went well says it did not take (partialSuccess.rejectedSpans). */
uint64_t otlp_rejected(const char *body, size_t len) must_check;

/* Borrowed, but for the plain values. */
struct otlp_exporter_options {
    struct http *http;
    const struct http_endpoint *endpoint;
    const char *path;
    const char *url; /* for the log */
    uint64_t timeout_ms;
    const struct otlp_resource *resource;
    const char *version;
    size_t max_spans;       /* that wait */
    struct metric *results; /* trace_spans_total */
    /* Adds what goes with each request (headers); may be NULL. */
    void (*prepare)(void *arg, struct http_request_options *options);
    void *arg;
    const struct log *log;
};

struct otlp_exporter *otlp_exporter_new(struct event_base *base,
                                        const struct otlp_exporter_options *options) must_check;
void otlp_exporter_free(struct otlp_exporter *x); /* NULL is allowed; what was not sent is lost */
struct tracer *otlp_exporter_tracer(struct otlp_exporter *x);

/* The end: what waits is sent, and nothing is tried twice. done is called once, from the loop, no later than in within_ms. */
void otlp_exporter_finish(struct otlp_exporter *x, uint64_t within_ms, void (*done)(void *arg), void *arg);
