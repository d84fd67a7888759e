/* The trace of a change of a backend's servers: from the event that it is for, over what was written, until HAProxy is seen
 * to run it (docs/traces.md). It is opened by the first write, and told of by what is noted in the history. */
#include "base/clock.h"
#include "report/trace.h"
#include "servers/servers_internal.h"

static struct span *trace_root(const struct servers_backend *s, const char *cause, uint64_t event_us, uint64_t since_us)
{
    uint64_t now_us = clock_mono_us(), at_us = event_us != 0 && event_us < since_us ? event_us : since_us;
    struct span *root = span_root(instance_options(s->engine->instance)->tracer, "servers change", at_us,
                                  clock_wall_ms() * 1000 - (now_us - at_us));
    span_text(root, "change.cause", cause != NULL ? cause : "another writer, or what runs");
    span_text(root, "change.backend", s->name);
    span_text(root, "target.url", servers_url(s));
    return root;
}

void servers_trace_write(struct servers_backend *s, const struct servers_trace_write *w)
{
    uint64_t now_us = clock_mono_us(), since_us = now_us - w->took_us;
    if (s->trace.root == NULL)
        s->trace.root = trace_root(s, w->cause, w->event_us, since_us);
    struct span *span = span_child(s->trace.root, w->name, since_us);
    span_text(span, "write.changes", w->what);
    if (w->why != NULL)
        span_fail(span, w->why);
    span_end(span, now_us);
    if (s->trace.verify == NULL)
        s->trace.verify = span_child(s->trace.root, "verify", now_us);
}

void servers_trace_end(struct servers_backend *s, const char *result, const char *why)
{
    uint64_t now_us = clock_mono_us();
    if (why != NULL) {
        span_fail(s->trace.verify, why);
        span_fail(s->trace.root, why);
    }
    span_end(s->trace.verify, now_us);
    span_text(s->trace.root, "change.result", result);
    span_end(s->trace.root, now_us);
    s->trace.root = s->trace.verify = NULL;
}

void servers_trace_refused(struct servers_backend *s, const struct error *err)
{
    if (s->trace.root == NULL)
        s->trace.root = trace_root(s, s->write_cause, s->write_event_us, clock_mono_us());
    servers_trace_end(s, "rejected", err->message);
}

void servers_end_traces(struct servers *e)
{
    for (size_t i = 0; e != NULL && i < e->options.backend_count; i++)
        servers_trace_end(&e->backends[i], "stopped", NULL);
}
