/* What the servers engine reports of a backend: gauges, the trace of a change, the history, problems, its line in /readyz. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/driver.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "report/trace.h"
#include "servers/servers_internal.h"

#define WRITTEN_MAX_BYTES 700

void servers_report_init(struct servers_report *r)
{
    *r = (struct servers_report){.settled_version = -1,
                                 .problem_limit = {.period_ms = INSTANCE_REPEAT_LOG_MS},
                                 .trouble_limit = {.period_ms = HISTORY_REPEAT_TROUBLE_MS}};
    buf_init(&r->written, 0);
}

void servers_report_fini(struct servers_report *r)
{
    buf_fini(&r->written);
    mem_free_all(r->drift, r->cause);
}

const struct log *servers_log(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->log;
}

struct metric_table *servers_metrics(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->metrics;
}

const char *servers_url(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->driver->name;
}

const char *servers_target(const struct servers_backend *s)
{
    return instance_options(s->engine->instance)->several ? servers_url(s) : NULL;
}

struct change_log_place servers_place(const struct servers_backend *s)
{
    const struct instance_options *o = instance_options(s->engine->instance);
    return (struct change_log_place){.log = o->log,
                                     .history = o->history,
                                     .url = servers_url(s),
                                     .several = o->several,
                                     .backend = s->name,
                                     .logs_drains = instance_runtime_usable(s->engine->instance, s->at)};
}

/* ---- gauges ---- */

void servers_measure(const struct servers_backend *s, struct metric *gauge, double value)
{
    metric_set(gauge, value, s->name, servers_url(s), NULL);
}

size_t servers_count_desired(const struct servers_backend *s, enum server_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < s->by_node->server_count; i++)
        count += s->by_node->servers[i].state == state;
    return count;
}

void servers_measure_up(const struct servers_backend *s)
{
    struct metric *gauge = servers_metrics(s)->servers_up;
    size_t up = 0, live = servers_count_desired(s, SERVER_LIVE);
    if (instance_view(s->engine->instance).away || !s->at->runtime.readable || !s->have_desired) {
        metric_remove(gauge, s->name, servers_url(s), NULL);
        return;
    }
    for (size_t i = 0, at = 0; i < s->desired->server_count; i++) {
        const struct desired_server *want = &s->desired->servers[i];
        const struct runtime_server *is = runtime_find_next(&s->at->runtime, want->name, &at);
        up += want->state == SERVER_LIVE && is != NULL && !is->down;
    }
    servers_measure(s, gauge, (double)(up < live ? up : live));
}

void servers_set_in_sync(struct servers_backend *s, bool in_sync)
{
    struct metric_table *m = servers_metrics(s);
    struct servers_report *r = &s->report;
    if (r->in_sync != in_sync || r->since_ms == 0)
        r->since_ms = clock_mono_ms();
    r->in_sync = in_sync;
    servers_measure(s, m->in_sync, in_sync ? 1 : 0);
    if (in_sync)
        servers_measure(s, m->last_in_sync, (double)clock_wall_ms() / 1000.0);
}

/* ---- the trace: from the event, over what was written, until HAProxy is seen to run it (docs/traces.md) ---- */

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
    struct servers_report *r = &s->report;
    if (r->trace.root == NULL)
        r->trace.root = trace_root(s, w->cause, w->event_us, since_us);
    struct span *span = span_child(r->trace.root, w->name, since_us);
    span_text(span, "write.changes", w->what);
    if (w->why != NULL)
        span_fail(span, w->why);
    span_end(span, now_us);
    if (r->trace.verify == NULL)
        r->trace.verify = span_child(r->trace.root, "verify", now_us);
}

void servers_trace_end(struct servers_backend *s, const char *result, const char *why)
{
    uint64_t now_us = clock_mono_us();
    struct servers_report *r = &s->report;
    if (why != NULL) {
        span_fail(r->trace.verify, why);
        span_fail(r->trace.root, why);
    }
    span_end(r->trace.verify, now_us);
    span_text(r->trace.root, "change.result", result);
    span_end(r->trace.root, now_us);
    r->trace.root = r->trace.verify = NULL;
}

void servers_trace_refused(struct servers_backend *s, const struct error *err)
{
    struct servers_report *r = &s->report;
    if (r->trace.root == NULL)
        r->trace.root = trace_root(s, s->write_cause, s->write_event_us, clock_mono_us());
    servers_trace_end(s, "rejected", err->message);
}

void servers_end_traces(struct servers *e)
{
    for (struct servers_backend *s = e != NULL ? e->backends : NULL; s != NULL && s < e->end; s++)
        servers_trace_end(s, "stopped", NULL);
}

/* ---- the history: each event once, when it begins or ends, and a lasting problem rate-limited ---- */

void servers_note(const struct servers_backend *s, struct history_entry e)
{
    e.target = servers_url(s);
    e.backend = s->name;
    history_add(instance_options(s->engine->instance)->history, &e);
}

void servers_note_written(struct servers_backend *s, const char *what, uint64_t event_us)
{
    struct servers_report *n = &s->report;
    n->news = true;
    n->settled_version = -1;
    if (n->event_us == 0)
        n->event_us = event_us;
    free(n->cause);
    n->cause = mem_strdup(s->write_cause);
    if (what == NULL)
        return;
    if (n->written.len < WRITTEN_MAX_BYTES)
        buf_printf(&n->written, "%s%s", n->written.len > 0 ? "; " : "", what);
    else
        n->more++;
}

void servers_note_passed_by(struct servers_backend *s, int64_t was, int64_t version)
{
    struct servers_report *r = &s->report;
    if (r->settled_version == was)
        r->settled_version = version;
}

void servers_note_in_sync(struct servers_backend *s)
{
    struct servers_report *n = &s->report;
    n->settled_version = s->at->actual.version;
    n->settled_number = s->number;
    if (n->drift != NULL) {
        cleanup(mem_free_ptr) char *text = mem_printf("repaired a change of another writer %s", n->drift);
        servers_note(s, (struct history_entry){.kind = HISTORY_DRIFT_REPAIRED, .text = text});
        free(n->drift);
        n->drift = NULL;
    }
    servers_trace_end(s, "in_sync", NULL);
    if (!n->news)
        return;
    cleanup(mem_free_ptr) char *more = n->more > 0 ? mem_printf("; and %u more writes", n->more) : NULL;
    size_t count = diff_configured_count(&s->plan.diff);
    cleanup(mem_free_ptr) char *text =
        mem_printf("in sync with %zu server%s%s%s%s", count, count == 1 ? "" : "s", n->written.len > 0 ? ": " : "",
                   buf_str(&n->written), more != NULL ? more : "");
    servers_note(s, (struct history_entry){.kind = HISTORY_IN_SYNC,
                                           .text = text,
                                           .cause = n->cause,
                                           .latency_us = n->event_us != 0 ? clock_mono_us() - n->event_us : 0});
    n->news = false;
    n->more = 0;
    n->event_us = 0;
    buf_clear(&n->written);
    free(n->cause);
    n->cause = NULL;
}

void servers_note_delayed(struct servers_backend *s)
{
    const struct plan *p = &s->plan;
    struct servers_report *n = &s->report;
    bool holds = p->verdict == PLAN_NO_ENDPOINT;
    bool limited = p->held_back > 0 && p->verdict != PLAN_NOT_WRITTEN && p->verdict != PLAN_REFUSE;
    if (holds && !n->holds) {
        size_t stay = s->plan.diff.live_count;
        cleanup(mem_free_ptr) char *text = stay > 0
                                               ? mem_printf("keeping the last %zu server%s", stay, stay == 1 ? "" : "s")
                                               : mem_strdup("no server in rotation");
        servers_note(s,
                     (struct history_entry){.kind = HISTORY_KEPT, .text = text, .why = s->plan.why, .cause = s->cause});
    }
    if (limited && p->held_back > n->held) {
        cleanup(mem_free_ptr) char *text = mem_printf("removal of %zu of %zu servers delayed: %s", s->plan.held_back,
                                                      s->plan.diff.live_count, s->plan.delayed_names);
        servers_note(s, (struct history_entry){
                            .kind = HISTORY_REMOVAL_DELAYED, .text = text, .why = s->plan.text, .cause = s->cause});
    }
    n->news = n->news || holds || limited;
    n->holds = holds;
    n->held = limited ? p->held_back : 0;
}

bool servers_is_drift(const struct servers_backend *s)
{
    const struct servers_report *n = &s->report;
    return n->drift == NULL && n->settled_version >= 0 && n->settled_version != s->at->actual.version &&
           n->settled_number == s->number;
}

void servers_note_drift(struct servers_backend *s)
{
    cleanup(mem_free_ptr) char *what = change_log_sentence(&s->plan.diff);
    struct servers_report *r = &s->report;
    r->drift = mem_printf("in version %lld: %s", (long long)s->at->actual.version, what);
    log_warn(servers_log(s), "another writer changed the backend", log_str("backend", s->name),
             log_str("target", servers_target(s)), log_str("repair", r->drift));
}

/* ---- problems ---- */

void servers_note_trouble(struct servers_backend *s, bool out_of_sync)
{
    struct servers_report *r = &s->report;
    if (out_of_sync)
        servers_set_in_sync(s, false);
    r->news = true;
}

void servers_problem(struct servers_backend *s, const char *what, const struct error *err)
{
    struct servers_report *r = &s->report;
    unsigned before;
    servers_set_in_sync(s, false);
    instance_log_problem(s->engine->instance, s->name, &r->problem, &r->problem_limit, what, err);
    r->news = true;
    if (log_limit_pass_message(&r->trouble_limit, clock_mono_ms(), r->problem.message, &before))
        servers_note(s, (struct history_entry){
                            .kind = HISTORY_APPLY_FAILED, .text = what, .why = err->message, .cause = s->cause});
    servers_trace_end(s, "failed", err->message);
}

void servers_problem_over(struct servers_backend *s)
{
    instance_log_problem_over(s->engine->instance, s->name, &s->report.problem, &s->report.problem_limit);
    log_limit_reset(&s->report.trouble_limit);
}

/* ---- /readyz ---- */

/* Adds what stands behind the name. */
static enum check_state report_check(const struct servers_backend *s, struct buf *text)
{
    const struct instance_view v = instance_view(s->engine->instance);
    const struct error *problem = s->report.problem.kind != ERROR_NONE ? &s->report.problem : v.problem;
    if (problem->kind != ERROR_NONE) {
        buf_add(text, problem->message);
        return CHECK_FAIL;
    }
    if (s->holding) {
        /* A wrong name keeps nothing: a rollout with it must not become ready. */
        bool nothing = s->plan.verdict == PLAN_NO_ENDPOINT && s->plan.diff.managed_count == 0;
        cleanup(mem_free_ptr) char *held =
            plan_delayed_text(&s->plan, instance_wall_minus_mono_ms(s->engine->instance));
        buf_printf(text, "%s%s%s%s",
                   nothing                               ? "no server yet: "
                   : s->plan.verdict == PLAN_NO_ENDPOINT ? "keeping the last servers: "
                                                         : "",
                   s->plan.why, held != NULL ? "; removal delayed: " : "", held != NULL ? held : "");
        return nothing ? CHECK_FAIL : CHECK_WARN;
    }
    if (s->report.in_sync) {
        buf_add(text, "in sync");
        size_t plain = text->len;
        buf_printf(text, "%s%s%s%s%s", s->desired->paused ? ", paused" : "",
                   s->engine->options.rules.dry_run ? ", dry run" : "", s->overrides != NULL ? "; overridden: " : "",
                   s->overrides != NULL ? s->overrides : "",
                   s->at->runtime_lost ? "; haproxy.cfg only, the running HAProxy cannot be read" : "");
        /* An operator's maint is reported elsewhere. */
        size_t down = 0, live = servers_count_desired(s, SERVER_LIVE);
        for (size_t i = 0; i < s->desired->server_count; i++) {
            const struct runtime_server *is = runtime_find(&s->at->runtime, s->desired->servers[i].name);
            down += s->desired->servers[i].state == SERVER_LIVE && is != NULL && runtime_fails_check(is);
        }
        if (down > 0)
            buf_printf(text, "; HAProxy's health checks report %zu of %zu desired servers DOWN", down, live);
        return text->len == plain ? CHECK_OK : CHECK_WARN;
    }
    if (v.reload == RELOAD_PENDING && s->have_desired) {
        buf_printf(text, "committed, waiting for reload %s", v.reload_id);
        return CHECK_WARN;
    }
    buf_add(text, !s->have_desired                         ? "waiting for Kubernetes"
                  : s->desired->state == DESIRED_UNDECIDED ? "nothing is written while the mapping is undecided"
                  : !v.fresh                               ? "not compared yet"
                  : !v.last_reload_known                   ? "waiting for the result of the last reload"
                                                           : "changing");
    return CHECK_FAIL;
}

char *servers_check_name(const struct servers *e, const char *backend)
{
    return mem_printf("target %s backend %s", instance_view(e->instance).url, backend);
}

bool servers_ready(const struct servers *e, struct checks *checks)
{
    bool all = true;
    for (const struct servers_backend *s = e->backends; s < e->end; s++) {
        struct buf text = {0};
        enum check_state state = report_check(s, &text);
        checks_add(checks, state, servers_check_name(e, s->name), buf_take(&text), NULL);
        all = all && state != CHECK_FAIL;
    }
    return all;
}
