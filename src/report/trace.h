/*
 * Spans of traces, as OpenTelemetry has them: what was done for one cause, from when to when, and how it ended. A span
 * that has ended waits in a ring until it is taken (report/otlp_exporter); where they are not taken the oldest ones are
 * dropped, and counted. Plain memory: times are handed in.
 *
 * A tracer that is NULL records nothing, nor does a span that is NULL: all functions take it. A span stays within its
 * parent by construction: all of a trace have the wall clock of its root, as it was then, and monotonic times.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define TRACE_ID_BYTES 16
#define SPAN_ID_BYTES 8
#define SPAN_ATTRIBUTES_MAX 16
#define SPAN_TEXT_MAX_BYTES 256 /* of a value: what is longer is cut */
#define SPAN_MESSAGE_MAX_BYTES 1024
#define TRACE_SPANS_MAX 128 /* of one trace, its root included: further ones are left out, and counted there */

struct metric;
struct span;
struct tracer;

enum span_value { SPAN_TEXT, SPAN_NUMBER, SPAN_BOOL };

struct span_attribute {
    const char *key;
    enum span_value type;
    char *text;
    int64_t number; /* of a bool: 0, 1 */
};

/* One that has ended. */
struct span_view {
    unsigned char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], parent[SPAN_ID_BYTES];
    bool is_root; /* parent is nothing */
    const char *name;
    uint64_t begin_ns, end_ns; /* since the Unix epoch */
    bool failed;
    const char *message; /* why; NULL: nothing is said */
    const struct span_attribute *attributes;
    size_t attribute_count;
};

struct tracer_options {
    size_t max_spans;       /* that wait */
    struct metric *results; /* trace_spans_total; NULL: nothing is counted */
    /* A span waits; may be NULL. */
    void (*waits)(void *arg);
    void *arg;
};

struct tracer *tracer_new(const struct tracer_options *options) must_check;
void tracer_free(struct tracer *t); /* after all spans have ended */

/* Keys and names are constants. wall_us: what the wall clock shows at at_us, which is of the monotonic one. NULL: this
 * trace is not recorded. */
struct span *span_root(struct tracer *t, const char *name, uint64_t at_us, uint64_t wall_us) must_check;
/* The parent has to end after it. */
struct span *span_child(struct span *parent, const char *name, uint64_t at_us) must_check;
void span_text(struct span *s, const char *key, const char *value); /* NULL: nothing is added */
void span_number(struct span *s, const char *key, int64_t value);
void span_bool(struct span *s, const char *key, bool value);
void span_fail(struct span *s, const char *why);
void span_end(struct span *s, uint64_t at_us); /* s is gone */

size_t tracer_waiting(const struct tracer *t);
/* The oldest ones of those that wait, at most max; each is the caller's to free. */
size_t tracer_take(struct tracer *t, struct span **ret, size_t max);
struct span_view span_view(const struct span *s);
void span_free(struct span *s); /* NULL is allowed */
