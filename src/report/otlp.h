/*
 * Spans as a body of OTLP/HTTP in JSON (opentelemetry-proto, ExportTraceServiceRequest; the mapping of the OTLP
 * specification): IDs in lower-case hex, 64-bit numbers and times as strings, enums as numbers.
 */
#ifndef REPORT_OTLP_H
#define REPORT_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct span;

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

#endif
