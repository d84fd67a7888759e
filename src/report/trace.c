#include "report/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/prometheus.h"

struct span {
    struct tracer *of;
    struct span *root; /* itself, where it is one */
    unsigned char trace[TRACE_ID_BYTES], id[SPAN_ID_BYTES], parent[SPAN_ID_BYTES];
    const char *name;
    uint64_t begin_us, end_us;
    uint64_t wall_minus_mono_us; /* of the whole trace; wraps */
    bool failed;
    char *message;
    struct span_attribute attributes[SPAN_ATTRIBUTES_MAX];
    size_t attribute_count;
    unsigned spans; /* of a root: in its trace so far */
};

struct tracer {
    struct tracer_options options;
    struct span **ring; /* options.max_spans */
    size_t first, count;
};

struct tracer *tracer_new(const struct tracer_options *options)
{
    struct tracer *t = mem_alloc(sizeof(*t));
    t->options = *options;
    t->ring = mem_array(options->max_spans, sizeof(t->ring[0]));
    return t;
}

void tracer_free(struct tracer *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->count; i++)
        span_free(t->ring[(t->first + i) % t->options.max_spans]);
    mem_free_all(t->ring, t);
}

/* ---- a span ---- */

/* An ID of nothing but zeros is none. */
static void span_random(unsigned char *ret, size_t len)
{
    if (getrandom(ret, len, 0) != (ssize_t)len)
        memset(ret, 0, len);
    ret[len - 1] |= ret[0] == 0 ? 1 : 0;
}

struct span *span_root(struct tracer *t, const char *name, uint64_t at_us, uint64_t wall_us)
{
    unsigned char trace[TRACE_ID_BYTES];
    if (t == NULL)
        return NULL;
    span_random(trace, sizeof(trace));
    struct span *s = mem_alloc(sizeof(*s));
    *s = (struct span){
        .of = t, .root = s, .name = name, .begin_us = at_us, .wall_minus_mono_us = wall_us - at_us, .spans = 1};
    memcpy(s->trace, trace, sizeof(trace));
    span_random(s->id, sizeof(s->id));
    return s;
}

struct span *span_child(struct span *parent, const char *name, uint64_t at_us)
{
    if (parent == NULL || ++parent->root->spans > TRACE_SPANS_MAX)
        return NULL;
    struct span *s = mem_alloc(sizeof(*s));
    *s = (struct span){.of = parent->of,
                       .root = parent->root,
                       .name = name,
                       .begin_us = at_us > parent->begin_us ? at_us : parent->begin_us,
                       .wall_minus_mono_us = parent->wall_minus_mono_us};
    memcpy(s->trace, parent->trace, sizeof(s->trace));
    memcpy(s->parent, parent->id, sizeof(s->parent));
    span_random(s->id, sizeof(s->id));
    return s;
}

/* The attribute of that key, perhaps a new one; NULL: there is no room, or no span. */
static struct span_attribute *span_attribute(struct span *s, const char *key, enum span_value type)
{
    size_t i = 0;
    if (s == NULL)
        return NULL;
    while (i < s->attribute_count && strcmp(s->attributes[i].key, key) != 0)
        i++;
    if (i == SPAN_ATTRIBUTES_MAX)
        return NULL;
    struct span_attribute *a = &s->attributes[i];
    s->attribute_count = i == s->attribute_count ? i + 1 : s->attribute_count;
    free(a->text);
    *a = (struct span_attribute){.key = key, .type = type};
    return a;
}

void span_text(struct span *s, const char *key, const char *value)
{
    struct span_attribute *a = value != NULL ? span_attribute(s, key, SPAN_TEXT) : NULL;
    if (a != NULL)
        a->text = text_shown(value, TEXT_MESSAGE, SPAN_TEXT_MAX_BYTES);
}

void span_number(struct span *s, const char *key, int64_t value)
{
    struct span_attribute *a = span_attribute(s, key, SPAN_NUMBER);
    if (a != NULL)
        a->number = value;
}

void span_bool(struct span *s, const char *key, bool value)
{
    struct span_attribute *a = span_attribute(s, key, SPAN_BOOL);
    if (a != NULL)
        a->number = value;
}

void span_fail(struct span *s, const char *why)
{
    if (s == NULL || s->failed)
        return;
    s->failed = true;
    s->message = why != NULL ? text_shown(why, TEXT_MESSAGE, SPAN_MESSAGE_MAX_BYTES) : NULL;
}

void span_end(struct span *s, uint64_t at_us)
{
    if (s == NULL)
        return;
    struct tracer *t = s->of;
    s->end_us = at_us > s->begin_us ? at_us : s->begin_us;
    if (s->spans > TRACE_SPANS_MAX)
        span_number(s, "spans.left_out", s->spans - TRACE_SPANS_MAX);
    if (t->count == t->options.max_spans) {
        span_free(t->ring[t->first]);
        t->first = (t->first + 1) % t->options.max_spans;
        t->count--;
        if (t->options.results != NULL)
            metric_add(t->options.results, 1, "dropped", NULL);
    }
    t->ring[(t->first + t->count++) % t->options.max_spans] = s;
    s->root = NULL; /* which may be gone before this one is taken */
    if (t->options.waits != NULL)
        t->options.waits(t->options.arg);
}

void span_free(struct span *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->attribute_count; i++)
        free(s->attributes[i].text);
    mem_free_all(s->message, s);
}

/* ---- those that wait ---- */

size_t tracer_waiting(const struct tracer *t)
{
    return t->count;
}

size_t tracer_take(struct tracer *t, struct span **ret, size_t max)
{
    size_t n = 0;
    for (; n < max && t->count > 0; n++, t->count--) {
        ret[n] = t->ring[t->first];
        t->first = (t->first + 1) % t->options.max_spans;
    }
    return n;
}

struct span_view span_view(const struct span *s)
{
    static const unsigned char none[SPAN_ID_BYTES];
    struct span_view v = {.is_root = memcmp(s->parent, none, sizeof(none)) == 0,
                          .name = s->name,
                          .begin_ns = (s->begin_us + s->wall_minus_mono_us) * 1000,
                          .end_ns = (s->end_us + s->wall_minus_mono_us) * 1000,
                          .failed = s->failed,
                          .message = s->message,
                          .attributes = s->attributes,
                          .attribute_count = s->attribute_count};
    memcpy(v.trace, s->trace, sizeof(v.trace));
    memcpy(v.id, s->id, sizeof(v.id));
    memcpy(v.parent, s->parent, sizeof(v.parent));
    return v;
}
