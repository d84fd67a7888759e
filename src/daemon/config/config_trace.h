/*
 * A trace of each change of a whole configuration: "configuration change", from what caused it until all HAProxies run it,
 * verified, or it is refused, or a newer one replaces it. Its spans: "render" (of templates), and for each HAProxy
 * "validate", "apply", "reload" and "verify" (docs/traces.md). What happened comes from the source and as the events of
 * configuration/event.h; nothing is decided here.
 */
#pragma once

#include "daemon/daemon.h"
struct config_trace;
struct configuration_event;
struct document;
struct error;

/* tracer NULL: nothing is recorded. writes: false with DRY_RUN: a change ends when it is validated. */
struct config_trace *config_trace_new(struct event_base *base, struct tracer *tracer, size_t target_count,
                                      bool writes) must_check;
void config_trace_free(struct config_trace *t); /* before the tracer; ends all spans; NULL is allowed */

/* ---- of the source; NULL is allowed in what is of renders */

/* What templates see has changed; of several before the next render, the first is its cause. */
void config_trace_caused(struct config_trace *t, const char *cause);

struct config_trace_render {
    size_t templates, objects;
};
void config_trace_rendering(struct config_trace *t, const char *source, const struct config_trace_render *r);
/* err NULL: it went well, with other bytes than before, or the same. Where it changed, config_trace_document follows. */
void config_trace_rendered(struct config_trace *t, bool changed, const struct error *err);
void config_trace_render_dropped(struct config_trace *t); /* it was called off */

/* What the source has now; the same again is nothing. used: this replica drives the HAProxies. */
void config_trace_document(struct config_trace *t, const struct document *d, bool used);
void config_trace_refused(struct config_trace *t, const struct error *err);

/* ---- of the engine */

void config_trace_take(struct config_trace *t, const struct configuration_event *e);
/* This replica leads no longer, or ends. */
void config_trace_stop(struct config_trace *t);
