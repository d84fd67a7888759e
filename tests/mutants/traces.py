"""Traces: trees that are whole, a ring with a cap, a collector that gets what it asks for and nobody waits for."""

from .mutant import Mutant, room

TRACE = "report/trace.c"
EXPORTER = "report/otlp_exporter.c"
CHANGE = "daemon/config/config_trace.c"

room("traces", ("test_trace", "test_otlp_exporter", "test_config_trace"), (
    Mutant("the ring grows past its end", TRACE, "if (t->count == t->options.max_spans) {", "if (false) {"),
    Mutant("what is dropped is not counted", TRACE, 'metric_add(t->options.results, 1, "dropped", NULL);', ";"),
    Mutant("a child begins before its parent", TRACE, "at_us > parent->begin_us ? at_us : parent->begin_us", "at_us"),
    Mutant("a span ends before it begins", TRACE, "at_us > s->begin_us ? at_us : s->begin_us", "at_us"),
    Mutant("a trace grows for ever", TRACE, "++parent->root->spans > TRACE_SPANS_MAX", "++parent->root->spans > 2 * TRACE_SPANS_MAX"),
    Mutant("Retry-After does not count", EXPORTER, "after_ms >= 0 ? (uint64_t)after_ms : backoff_next_ms(&x->backoff)", "backoff_next_ms(&x->backoff)"),
    Mutant("what is refused is sent again", EXPORTER, "bool retryable = r->status == 429 ||", "bool retryable = r->status >= 400 ||"),
    Mutant("a batch is tried for ever", EXPORTER, "< BATCH_AGE_MAX_MS;", "> 0;"),
    Mutant("the end waits for retries", EXPORTER, "retryable && young && !x->finishing;", "retryable && young;"),
    Mutant("the end has no limit", EXPORTER, "    timer_set(&x->end, within_ms);\n", ""),
    Mutant("a rejection lasts until all run it", CHANGE, "(t->failed || !t->writes)", "!t->writes"),
    Mutant("a change is open for ever", CHANGE, "    config_trace_close(arg, \"unfinished\");\n", "    (void)arg;\n"),
    Mutant("what is replaced goes on", CHANGE, "    config_trace_close(t, \"superseded\");\n", ""),
    Mutant("who is gone is waited for", CHANGE, "        if (timer_is_set(&t->limit))\n            config_trace_settle(t);\n", ""),
    Mutant("who comes later is in no trace", CHANGE, "(w->done || new)) {", "w->done) {"),
    Mutant("who came is forgotten with the next change", CHANGE, "(struct way){.there = t->ways[i].there};", "(struct way){.there = i < t->first_count};"),
    Mutant("the last cause counts", CHANGE, "if (t == NULL || t->next_cause != NULL)", "if (t == NULL)"),
))
