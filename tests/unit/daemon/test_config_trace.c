/* src/daemon/config/config_trace: from what happens to trees of spans, in virtual time. */
#include "daemon/config/config_trace.h"

#include "base/clock.h"
#include "configuration/document.h"
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
#include "configuration_play.h"

static void happens(enum configuration_event_kind kind, size_t target, const char *why, const char *way,
                    const struct document *d)
{
    static const char *const urls[] = {"http://a", "http://b"};
    bool of_none = kind == CONFIGURATION_CHANGED || kind == CONFIGURATION_ROLLED_BACK;
    if (why != NULL)
        (void)error_set(&flaw, ERROR_INVALID, "%s", why);
    const struct configuration_event e = {.kind = kind,
                                          .target = target,
                                          .url = of_none ? NULL : urls[target],
                                          .document = d,
                                          .reason = way,
                                          .error = why != NULL ? &flaw : NULL};
    config_trace_take(w.t, &e);
}

static void rendering(void)
{
    const struct config_trace_render r = {.templates = 2, .objects = 3};
    config_trace_rendering(w.t, "set", &r);
}

static void rendered(struct document *d, bool leads)
{
    rendering();
    config_trace_rendered(w.t, true, NULL);
    config_trace_document(w.t, d, leads);
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

/* A word: what happens, at which of the two and why, as "rejected1:no". Capital letters: what the source does. */
static void play_word(const char *word)
{
    enum configuration_event_kind kind;
    const char *rest = word + strcspn(word, "012:"), *colon = strchr(word, ':'),
               *why = colon != NULL ? colon + 1 : NULL;
    bool reload = str_has_prefix(word, "reload");
    struct document *d = *rest == '2' ? w.two : w.one;
    (void)error_set(&flaw, ERROR_INVALID, "%s", why != NULL ? why : "");
    if (word[0] == 'D')
        config_trace_document(w.t, d, !str_has_prefix(word, "DOCUMENT-STANDBY"));
    else if (word[0] == 'R')
        rendered(d, !str_has_prefix(word, "RENDERED-STANDBY"));
    else if (word[0] == 'C')
        config_trace_caused(w.t, why);
    else if (word[0] == 'N')
        config_trace_refused(w.t, &flaw);
    else if (word[0] == 'S')
        config_trace_stop(w.t);
    else if (reload || str_has_prefix(word, "runtime"))
        happens(CONFIGURATION_WRITTEN, *rest == '1', why, reload ? CONFIGURATION_WAY_RELOAD : CONFIGURATION_WAY_RUNTIME,
                d);
    else if (play_kind(word, &kind, &rest))
        happens(kind, *rest == '1', why, NULL, d);
    else
        ck_abort_msg("%s", word);
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
    struct document *d = document_new(DOCUMENT_FOR_APIS, "/own.cfg", text, strlen(text), NULL, NULL, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    return d;
}

static void begin_with(size_t targets, bool writes)
{
    const struct tracer_options options = {.max_spans = 128};
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

#define APPLIES(n) "validating" n " validated" n " writing" n " runtime" n " applied" n
#define APPLIED(url) "validate " url "; apply " url " runtime; verify " url

/* What happens, and the spans that have ended by then; "+": others have not. */
static const struct {
    const char *name;
    size_t targets;
    struct {
        const char *script, *spans;
    } steps[4];
} rows[] = {
    {"a template on its way to two",
     2,
     {{"CAUSE:Ingress CAUSE:another RENDERED changed validating0 validated0 writing0 reload0 loaded0 applied0",
       "+render; validate http://a; apply http://a reload; reload http://a; verify http://a"},
      {"unchanged1", "+root Ingress applied"},
      {"RENDERED", "render; root tried again unchanged"}}}, /* who had failed meanwhile gives the same again */
    {"without a reload, its files, too",
     1,
     {{"DOCUMENT DOCUMENT changed writing0 runtime0 runtime0 applied0",
       "apply http://a runtime; verify http://a; root /own.cfg applied"}}},
    {"what could not be sent is loaded",
     1,
     {{"DOCUMENT changed writing0 runtime0 reload0 failed0:unread loaded0 loaded0 applied0",
       "apply http://a runtime; verify superseded http://a; reload http://a unread; verify http://a; "
       "root /own.cfg applied"}}},
    {"a rejection ends it when the others have answered",
     2,
     {{"RENDERED changed validating0 validating1 rejected0:no", "+render; validate http://a !no"},
      {"validated1", "+validate http://b; root tried again rejected !no"},
      {"validating0 validated0 writing0 reload0 load-failed0:port", /* SIGHUP */
       "validate http://a; apply http://a reload; reload http://a !port; root http://a again load_failed !port"}}},
    {"what is tried again has a span for each",
     1,
     {{"DOCUMENT changed validating0 failed0:503 failed0:away " APPLIES("0"),
       "validate http://a !503; " APPLIED("http://a") "; root /own.cfg applied"}}},
    {"a newer one replaces it; which the engine does not take while it is half way",
     1,
     {{"RENDERED changed validating0 RENDERED2 changed2",
       "+render; render; validate superseded http://a; root tried again superseded"},
      {"RENDERED RENDERED2 STOP",
       "render; render; root tried again superseded; root tried again stopped; root tried again stopped"}}},
    {"a source that cannot be used", 1, {{"NO:key NO:key", "root the source refused !key"}}},
    {"another replica leads",
     1,
     {{"DOCUMENT-STANDBY RENDERED-STANDBY", "render; root tried again standby"},
      {"DOCUMENT changed validating0 STOP", "validate stopped http://a; root /own.cfg stopped"},
      {"DOCUMENT changed unchanged0", "root /own.cfg unchanged"}}},
    {"a repair and a rollback have their own",
     2,
     {{"DOCUMENT changed unchanged0 unchanged1", "root /own.cfg unchanged"},
      {"drifted1:writer " APPLIES("1"), APPLIED("http://b") "; root http://b again applied"},
      {"changed2 changed STOP", "root rollback superseded; root end of a rollback stopped"}}},
    /* One that comes later is waited for from then on, and has a trace of its own where the change is over. */
    {"others come and go",
     1,
     {{"DOCUMENT changed validating1 unchanged0", "+"},
      {"gone1", "validate gone http://b; root /own.cfg unchanged"},
      {APPLIES("1"), APPLIED("http://b") "; root http://b is new applied"},
      {"gone1 gone0", ""}}},
    /* Those that came stay with the next change; another leader has to see them anew. */
    {"who came is waited for with the next",
     0,
     {{"DOCUMENT changed " APPLIES("0") " " APPLIES("1"),
       APPLIED("http://a") "; root /own.cfg applied; " APPLIED("http://b") "; root http://b is new applied"},
      {"DOCUMENT2 changed2 " APPLIES("1"), "+" APPLIED("http://b")},
      {"gone0", "root /own.cfg applied"},
      {"STOP DOCUMENT changed validating0 gone0", "validate gone http://a; root /own.cfg unfinished"}}},
};

FIXTURE(NULL, end)

TEST_EACH(spans, array_len(rows))
{
    begin_with(rows[_i].targets, true);
    for (size_t i = 0; i < array_len(rows[_i].steps) && rows[_i].steps[i].script != NULL; i++) {
        play(rows[_i].steps[i].script);
        const char *spans = rows[_i].steps[i].spans;
        assert_spans(spans[0] != '+', spans + (spans[0] == '+'));
    }
}

TEST(a_render_that_fails_or_is_called_off)
{
    begin_with(1, true);
    (void)error_set(&flaw, ERROR_INVALID, "haproxy.cfg:2");
    config_trace_caused(w.t, "Ingress a/b");
    rendering();
    config_trace_refused(w.t, &flaw); /* as the engine gets it */
    config_trace_rendered(w.t, false, &flaw);
    assert_spans(true, "render !haproxy.cfg:2; root Ingress a/b refused !haproxy.cfg:2");
    config_trace_refused(w.t, &flaw); /* said again, to a new leader */
    rendering();
    config_trace_render_dropped(w.t);
    config_trace_render_dropped(w.t);
    assert_spans(true, "render superseded; root tried again superseded");
    rendering();
    config_trace_rendered(w.t, true, NULL);
    play("NO:configuration");
    assert_spans(true, "render; root tried again refused !configuration");
    rendering();
    config_trace_rendered(w.t, false, NULL);
    assert_spans(true, "render; root tried again unchanged");
}

TEST(none_is_open_for_ever)
{
    begin_with(2, true);
    play("DOCUMENT changed " APPLIES("0") " validating1 DOCUMENT2"); /* which the engine never takes */
    pass(600000);
    assert_spans(false, APPLIED("http://a") "; validate unfinished http://b; "
                                            "root /own.cfg unfinished; root /own.cfg unfinished");
    play("validated1 writing1"); /* in no trace */
    assert_spans(true, "");
}

TEST(a_dry_run_ends_with_its_validation)
{
    begin_with(1, false);
    play("DOCUMENT changed validating0 validated0");
    assert_spans(true, "validate http://a; root /own.cfg validated");
}

TEST(without_a_tracer_there_is_nothing)
{
    begin_with(1, true);
    config_trace_free(w.t);
    w.t = config_trace_new(NULL, NULL, 1, true);
    play("CAUSE:x RENDERED NO:x changed STOP");
    ck_assert_uint_eq(tracer_waiting(w.tracer), 0);
    config_trace_caused(NULL, "x");
    config_trace_render_dropped(NULL);
}
