/* Traces of this run: who it is and where they go, by the settings (OTEL_...); what they contain is its parts' own. */
#pragma once

#include "daemon/daemon.h"

struct tracing;

/* settings: those of `in`; the secret in them is read again where it changed. NULL: none are asked for, or (logged) the certificates for them cannot be used: HAProxy is managed without. */
struct tracing *tracing_new(const struct daemon *in, struct settings *settings) must_check;
/* NULL is allowed in all of these. */
void tracing_free(struct tracing *t);
struct tracer *tracing_tracer(struct tracing *t); /* NULL: nothing is recorded */
/* The end; done is called once, from the loop, or at once where there is nothing to send by. */
void tracing_finish(struct tracing *t, uint64_t within_ms, void (*done)(void *arg), void *arg);

/* For check-config: whether the certificates can be used. */
int tracing_check(const struct settings *settings, struct error *err) must_check;
