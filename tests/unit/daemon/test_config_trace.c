/* src/daemon/config/config_trace: from what happens to trees of spans, in virtual time. */
#include "daemon/config/config_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/event.h"
#include "report/trace.h"

#define ONE "global\n  description one\n"
#define TWO "global\n  description two\n"

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct tracer *tracer;
    struct config_trace *t;
    struct document *one, *two;
} w;

#define VIRTUAL_TIME (&w)
#define VIRTUAL_SLOW_US 7
#include "../../virtual_time.h"
#include "../test.h"

static void happens_as(enum configuration_event_kind kind, size_t target, const char *why, const char *reason,
                       const struct document *d)
{
    static const char *const urls[] = {"http://a", "http://b"};
    struct error err = {0};
    bool of_none = kind == CONFIGURATION_CHANGED || kind == CONFIGURATION_ROLLED_BACK;
    if (why != NULL)
        (void)error_set(&err, ERROR_INVALID, "%s", why);
    const struct configuration_event e = {.kind = kind,
                                          .target = target,
                                          .url = of_none ? NULL : urls[target],
                                          .document = d,
                                          .reason = reason,
                                          .error = why != NULL ? &err : NULL};
    config_trace_take(w.t, &e);
}

static void happens(enum configuration_event_kind kind, size_t target, const char *why)
{
    happens_as(kind, target, why, NULL, w.one);
}

static void written(size_t target, const char *reason)
{
    happens_as(CONFIGURATION_WRITTEN, target, NULL, reason, w.one);
}

static void rendered(struct document *d)
{
    const struct config_trace_render r = {.templates = 2, .objects = 3};
    config_trace_rendering(w.t, "set", &r);
    config_trace_rendered(w.t, true, NULL);
    config_trace_document(w.t, d, true);
}

static void applies(size_t target, const char *way)
{
    happens(CONFIGURATION_VALIDATING, target, NULL);
    happens(CONFIGURATION_VALIDATED, target, NULL);
    happens(CONFIGURATION_WRITING, target, NULL);
    written(target, way);
    if (str_eq(way, CONFIGURATION_WAY_RELOAD))
        happens(CONFIGURATION_LOADED, target, NULL);
    happens(CONFIGURATION_APPLIED, target, NULL);
}

static const char *text_of(const struct span_view *v, const char *key)
{
    for (size_t i = 0; i < v->attribute_count; i++)
        if (str_eq(v->attributes[i].key, key))
            return v->attributes[i].text;
    return NULL;
}

static void print_span(const struct span_view *v, struct buf *out)
{
    static const char *const keys[] = {"change.cause", "change.result", "target.url", "apply.way", "retry.error"};
    buf_printf(out, "%s%s", out->len > 0 ? "; " : "", v->is_root ? "root" : v->name);
    for (size_t i = 0; i < array_len(keys); i++)
        if (text_of(v, keys[i]) != NULL)
            buf_printf(out, " %s", text_of(v, keys[i]));
    if (v->failed)
        buf_printf(out, " !%s", v->message);
}

/* What has ended since, in the order of its end; that it is a forest of whole trees is checked where all has ended. */
static void assert_spans(bool whole, const char *expected)
{
    struct span *list[128];
    struct buf out = {0};
    size_t count = tracer_take(w.tracer, list, array_len(list));
    for (size_t i = 0; i < count; i++) {
        const struct span_view v = span_view(list[i]);
        bool found = v.is_root;
        print_span(&v, &out);
        ck_assert_uint_le(v.begin_ns, v.end_ns);
        for (size_t k = i + 1; k < count && !found; k++) {
            const struct span_view p = span_view(list[k]);
            found = p.is_root && memcmp(p.trace, v.trace, sizeof(p.trace)) == 0 &&
                    memcmp(p.id, v.parent, sizeof(p.id)) == 0;
            ck_assert(!found || (p.begin_ns <= v.begin_ns && v.end_ns <= p.end_ns));
        }
        ck_assert_msg(found || !whole, "no root behind %s", buf_str(&out));
    }
    ck_assert_str_eq(buf_str(&out), expected);
    for (size_t i = 0; i < count; i++)
        span_free(list[i]);
    buf_fini(&out);
}

static struct document *document_of(const char *text)
{
    struct error err = {0};
    struct document *d = document_new("/own.cfg", text, strlen(text), NULL, &err);
    ck_assert_msg(d != NULL, "%s", err.message);
    return d;
}

static void begin_with(size_t targets, bool writes)
{
    const struct tracer_options options = {.max_spans = 128, .ratio = 1};
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    w.tracer = tracer_new(&options);
    w.t = config_trace_new(NULL, w.tracer, targets, writes);
    w.one = document_of(ONE);
    w.two = document_of(TWO);
}

/* Whatever was begun has ended by then. */
static void end(void)
{
    struct span *list[128];
    config_trace_free(w.t);
    size_t count = tracer_take(w.tracer, list, array_len(list));
    for (size_t i = 0; i < count; i++)
        span_free(list[i]);
    tracer_free(w.tracer);
    document_unref(w.one);
    document_unref(w.two);
}

TEST(a_template_on_its_way_to_two)
{
    begin_with(2, true);
    config_trace_caused(w.t, "Ingress shop/web");
    config_trace_caused(w.t, "another");
    rendered(w.one);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    applies(0, CONFIGURATION_WAY_RELOAD);
    assert_spans(false, "render; validate http://a; apply http://a reload; reload http://a; verify http://a");
    happens(CONFIGURATION_UNCHANGED, 1, NULL);
    assert_spans(false, "root Ingress shop/web applied");
    rendered(w.one); /* who had failed meanwhile gives the same again */
    assert_spans(true, "render; root tried again unchanged");
    end();
}

TEST(without_a_reload)
{
    begin_with(1, true);
    config_trace_document(w.t, w.one, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_WRITING, 0, NULL);
    written(0, CONFIGURATION_WAY_RUNTIME);
    written(0, CONFIGURATION_WAY_RUNTIME); /* its files, too */
    happens(CONFIGURATION_APPLIED, 0, NULL);
    assert_spans(true, "apply http://a runtime; verify http://a; root /own.cfg applied");
    end();
}

TEST(what_could_not_be_told_is_loaded)
{
    begin_with(1, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_WRITING, 0, NULL);
    written(0, CONFIGURATION_WAY_RUNTIME);
    written(0, CONFIGURATION_WAY_RELOAD);
    happens(CONFIGURATION_FAILED, 0, "no answer"); /* of a reading */
    happens(CONFIGURATION_LOADED, 0, NULL);
    happens(CONFIGURATION_LOADED, 0, NULL);
    happens(CONFIGURATION_APPLIED, 0, NULL);
    assert_spans(true,
                 "apply http://a runtime; verify superseded http://a; reload http://a no answer; verify http://a; "
                 "root /own.cfg applied");
    end();
}

TEST(a_rejection_ends_it_when_the_others_have_answered)
{
    begin_with(2, true);
    rendered(w.one);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 1, NULL);
    happens(CONFIGURATION_REJECTED, 0, "line 3");
    assert_spans(false, "render; validate http://a !line 3");
    happens(CONFIGURATION_VALIDATED, 1, NULL);
    assert_spans(false, "validate http://b; root tried again rejected !line 3");
    happens(CONFIGURATION_VALIDATING, 0, NULL); /* SIGHUP */
    happens(CONFIGURATION_VALIDATED, 0, NULL);
    happens(CONFIGURATION_WRITING, 0, NULL);
    written(0, CONFIGURATION_WAY_RELOAD);
    happens(CONFIGURATION_LOAD_FAILED, 0, "a port");
    assert_spans(true,
                 "validate http://a; apply http://a reload; reload http://a !a port; root http://a again load_failed "
                 "!a port");
    end();
}

TEST(what_is_tried_again_has_a_span_for_each)
{
    begin_with(1, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 0, NULL);
    happens(CONFIGURATION_FAILED, 0, "503");
    happens(CONFIGURATION_FAILED, 0, "no connection");
    applies(0, CONFIGURATION_WAY_RUNTIME);
    assert_spans(true, "validate http://a !503; validate http://a; apply http://a runtime; verify http://a; "
                       "root /own.cfg applied");
    end();
}

TEST(a_newer_one_replaces_it)
{
    begin_with(1, true);
    rendered(w.one);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 0, NULL);
    rendered(w.two);
    happens_as(CONFIGURATION_CHANGED, 0, NULL, NULL, w.two);
    assert_spans(false, "render; render; validate superseded http://a; root tried again superseded");
    rendered(w.one); /* the engine is half way, and does not take it */
    rendered(w.two);
    config_trace_stop(w.t);
    assert_spans(true,
                 "render; render; root tried again superseded; root tried again stopped; root tried again stopped");
    end();
}

TEST(a_render_that_fails_or_is_called_off)
{
    const struct config_trace_render r = {0};
    struct error err = {0};
    begin_with(1, true);
    (void)error_set(&err, ERROR_INVALID, "haproxy.cfg:2");
    config_trace_caused(w.t, "Ingress a/b");
    config_trace_rendering(w.t, "set", &r);
    config_trace_refused(w.t, &err); /* as the engine is told */
    config_trace_rendered(w.t, false, &err);
    assert_spans(true, "render !haproxy.cfg:2; root Ingress a/b refused !haproxy.cfg:2");
    config_trace_refused(w.t, &err); /* said again, to a new leader */
    config_trace_rendering(w.t, "set", &r);
    config_trace_render_dropped(w.t);
    config_trace_render_dropped(w.t);
    assert_spans(true, "render superseded; root tried again superseded");
    config_trace_rendering(w.t, "set", &r);
    config_trace_rendered(w.t, true, NULL);
    (void)error_set(&err, ERROR_INVALID, "no configuration");
    config_trace_refused(w.t, &err);
    assert_spans(true, "render; root tried again refused !no configuration");
    config_trace_rendering(w.t, "set", &r);
    config_trace_rendered(w.t, false, NULL);
    assert_spans(true, "render; root tried again unchanged");
    end();
}

TEST(a_source_that_cannot_be_used)
{
    struct error err = {0};
    begin_with(1, true);
    (void)error_set(&err, ERROR_INVALID, "no such key");
    config_trace_refused(w.t, &err);
    config_trace_refused(w.t, &err);
    assert_spans(true, "root the source refused !no such key");
    end();
}

TEST(another_replica_leads)
{
    const struct config_trace_render r = {0};
    begin_with(1, true);
    config_trace_document(w.t, w.one, false);
    config_trace_rendering(w.t, "set", &r);
    config_trace_rendered(w.t, true, NULL);
    config_trace_document(w.t, w.one, false);
    assert_spans(true, "render; root tried again standby");
    config_trace_document(w.t, w.one, true); /* this one does now */
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 0, NULL);
    config_trace_stop(w.t); /* no longer */
    assert_spans(true, "validate stopped http://a; root /own.cfg stopped");
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_UNCHANGED, 0, NULL);
    assert_spans(true, "root /own.cfg unchanged");
    end();
}

TEST(a_repair_and_a_rollback_have_their_own)
{
    begin_with(2, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_UNCHANGED, 0, NULL);
    happens(CONFIGURATION_UNCHANGED, 1, NULL);
    assert_spans(true, "root /own.cfg unchanged");
    happens(CONFIGURATION_DRIFTED, 1, "another writer");
    applies(1, CONFIGURATION_WAY_RUNTIME);
    assert_spans(true, "validate http://b; apply http://b runtime; verify http://b; root http://b again applied");
    happens_as(CONFIGURATION_CHANGED, 0, NULL, NULL, w.two);
    happens_as(CONFIGURATION_CHANGED, 0, NULL, NULL, w.one);
    config_trace_stop(w.t);
    assert_spans(true, "root rollback superseded; root end of a rollback stopped");
    end();
}

static void pass(uint64_t ms)
{
    uint64_t until_ms = clock_mono_ms() + ms;
    for (struct timer *t; (t = virtual_next_timer(until_ms)) != NULL;) {
        t->due_ms = 0;
        t->fn(t->arg);
    }
    w.now_us = until_ms * 1000;
}

TEST(none_is_open_for_ever)
{
    begin_with(2, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    applies(0, CONFIGURATION_WAY_RUNTIME);
    happens(CONFIGURATION_VALIDATING, 1, NULL);
    config_trace_document(w.t, w.two, true); /* which the engine never takes */
    pass(600000);
    assert_spans(false, "validate http://a; apply http://a runtime; verify http://a; validate unfinished http://b; "
                        "root /own.cfg unfinished; root /own.cfg unfinished");
    happens(CONFIGURATION_VALIDATED, 1, NULL); /* in no trace */
    happens(CONFIGURATION_WRITING, 1, NULL);
    assert_spans(true, "");
    end();
}

/* One that comes later is waited for from then on, and has a trace of its own where the change is over. */
TEST(others_come_and_go)
{
    begin_with(1, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 1, NULL);
    happens(CONFIGURATION_UNCHANGED, 0, NULL);
    assert_spans(false, "");
    happens(CONFIGURATION_GONE, 1, NULL);
    assert_spans(true, "validate gone http://b; root /own.cfg unchanged");
    applies(1, CONFIGURATION_WAY_RUNTIME);
    assert_spans(true, "validate http://b; apply http://b runtime; verify http://b; root http://b is new applied");
    happens(CONFIGURATION_GONE, 1, NULL);
    happens(CONFIGURATION_GONE, 0, NULL);
    assert_spans(true, "");
    end();
}

/* Those that came stay with the next change; another leader has to see them anew. */
TEST(who_came_is_waited_for_with_the_next)
{
    begin_with(0, true);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    applies(0, CONFIGURATION_WAY_RUNTIME);
    applies(1, CONFIGURATION_WAY_RUNTIME);
    assert_spans(true, "validate http://a; apply http://a runtime; verify http://a; root /own.cfg applied; "
                       "validate http://b; apply http://b runtime; verify http://b; root http://b is new applied");
    config_trace_document(w.t, w.two, true);
    happens_as(CONFIGURATION_CHANGED, 0, NULL, NULL, w.two);
    applies(1, CONFIGURATION_WAY_RUNTIME);
    assert_spans(false, "validate http://b; apply http://b runtime; verify http://b");
    happens(CONFIGURATION_GONE, 0, NULL);
    assert_spans(true, "root /own.cfg applied");
    config_trace_stop(w.t);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 0, NULL);
    happens(CONFIGURATION_GONE, 0, NULL);
    assert_spans(true, "validate gone http://a; root /own.cfg unfinished");
    end();
}

TEST(a_dry_run_ends_with_its_validation)
{
    begin_with(1, false);
    config_trace_document(w.t, w.one, true);
    happens(CONFIGURATION_CHANGED, 0, NULL);
    happens(CONFIGURATION_VALIDATING, 0, NULL);
    happens(CONFIGURATION_VALIDATED, 0, NULL);
    assert_spans(true, "validate http://a; root /own.cfg validated");
    end();
}

TEST(without_a_tracer_there_is_nothing)
{
    struct config_trace *t = config_trace_new(NULL, NULL, 1, true);
    struct error err = {0};
    const struct config_trace_render r = {0};
    ck_assert_ptr_null(t);
    config_trace_caused(t, "x");
    config_trace_rendering(t, "x", &r);
    config_trace_rendered(t, true, NULL);
    config_trace_render_dropped(t);
    config_trace_document(t, NULL, true);
    config_trace_refused(t, &err);
    config_trace_take(t, NULL);
    config_trace_stop(t);
    config_trace_free(t);
}
