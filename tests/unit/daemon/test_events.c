/* src/daemon/events: from the journal to requests, with an API that is well, slow, full, away, or does not allow it; in virtual
 * time, the writer being this file's. */
#include "daemon/events.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/event_writer.h"
#include "model/cache.h"
#include "report/metrics.h"
#include "report/history.h"
#include "daemon/mappings.h"
#include "daemon/sources.h"

#define MINUTE_MS 60000ull
#define URL "http://lb1:5555"

static struct {
    uint64_t now_us;
    struct timer *timers[1];

    void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms, const struct error *err);
    void *arg;
    bool busy, freed;
    bool no_credentials;
    /* the request in hand, and the last one that was made */
    char namespace[16], name[96], service[16], uid[16], reason[32], message[1200];
    bool warning, again;
    unsigned count;
    uint64_t first_ms, last_ms;
    unsigned posts, patches;

    struct object_caches caches[2];
    struct metrics *registry;
    struct metric *written;
    struct history *history;
    int log_fd;
    struct log log;
    struct events *events;
} w;

/* ---- the world ---- */

#define VIRTUAL_TIME (&w)
#define VIRTUAL_WALL_MS 1795302000000u
#include "../../virtual_time.h"

struct event_writer *event_writer_new(struct kube_client *client,
                                      void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms,
                                                   const struct error *err),
                                      void *arg)
{
    (void)client;
    w.done = done;
    w.arg = arg;
    return (struct event_writer *)&w;
}

void event_writer_free(struct event_writer *writer)
{
    (void)writer;
    w.freed = true;
}

int event_writer_send(struct event_writer *writer, const struct event_object *e, bool again, struct error *err)
{
    (void)writer;
    ck_assert_msg(!w.busy, "two requests at once");
    if (w.no_credentials)
        return error_set(err, ERROR_RETRY, "waiting for the credential plugin");
    snprintf(w.namespace, sizeof(w.namespace), "%s", e->namespace);
    snprintf(w.name, sizeof(w.name), "%s", e->name);
    snprintf(w.service, sizeof(w.service), "%s", e->service);
    snprintf(w.uid, sizeof(w.uid), "%s", e->service_uid != NULL ? e->service_uid : "");
    snprintf(w.reason, sizeof(w.reason), "%s", e->reason);
    snprintf(w.message, sizeof(w.message), "%s", e->message);
    ck_assert(e->host[0] != '\0');
    w.warning = e->warning;
    w.again = again;
    w.count = e->count;
    w.first_ms = e->first_ms;
    w.last_ms = e->last_ms;
    w.busy = true;
    w.posts += !again;
    w.patches += again;
    return 0;
}

const struct object_caches *sources_caches(const struct sources *s, size_t service)
{
    (void)s;
    return &w.caches[service];
}

/* ---- what a test does ---- */

static void fire(struct timer *t)
{
    w.now_us = t->due_ms > clock_mono_ms() ? t->due_ms * 1000 : w.now_us;
    t->due_ms = 0;
    t->fn(t->arg);
}

/* Up to where something is asked, or nothing will be. */
static bool asked(void)
{
    for (struct timer *t; !w.busy && (t = virtual_next_timer(UINT64_MAX)) != NULL;)
        fire(t);
    return w.busy;
}

static void answer_after(enum event_outcome outcome, int64_t retry_after_ms)
{
    struct error err = {0};
    ck_assert_msg(w.busy, "nothing is asked");
    w.busy = false;
    if (outcome != EVENT_WRITTEN)
        error_set(&err, ERROR_RETRY, "words of the API");
    w.done(w.arg, outcome, retry_after_ms, outcome != EVENT_WRITTEN ? &err : NULL);
}

static void answer(enum event_outcome outcome)
{
    answer_after(outcome, -1);
}

static void all_is_written(void)
{
    while (asked())
        answer(EVENT_WRITTEN);
}

static void pass(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    for (struct timer *t; !w.busy && (t = virtual_next_timer(end)) != NULL;)
        fire(t);
    w.now_us = end * 1000;
}

static void happens_to(const char *backend, enum history_kind kind, const char *text)
{
    history_add(w.history, &(struct history_entry){.kind = kind, .target = URL, .backend = backend, .text = text});
}

static void happens(enum history_kind kind, const char *text)
{
    happens_to("web", kind, text);
}

static unsigned result(const char *which)
{
    return (unsigned)metric_value(w.written, which, NULL);
}

static bool logged(const char *text)
{
    cleanup(buf_fini) struct buf all;
    char piece[4096];
    ssize_t n;
    buf_init(&all, 0);
    for (off_t at = 0; (n = pread(w.log_fd, piece, sizeof(piece), at)) > 0; at += n)
        buf_addn(&all, piece, (size_t)n);
    return strstr(buf_str(&all), text) != NULL;
}

static void forget_log(void)
{
    ck_assert_int_eq(ftruncate(w.log_fd, 0), 0);
    ck_assert_int_eq(lseek(w.log_fd, 0, SEEK_SET), 0);
}

/* Backends web and tls are for the Service ing/web, shop for two/shop. */
static struct mapping mappings_list[] = {
    {.backend = "web", .service = 0}, {.backend = "tls", .service = 0}, {.backend = "shop", .service = 1}};
static struct sources_service services[] = {{"ing", "web"}, {"two", "shop"}};
static const struct mappings mappings = {.list = mappings_list, .count = 3, .services = services, .service_count = 2};

static void knows(size_t cache, const char *name, const char *uid)
{
    struct service *s = mem_alloc(sizeof(*s));
    s->name = mem_strdup(name);
    s->uid = mem_strdup(uid);
    cache_put(w.caches[cache].services, s);
}

static void setup(void)
{
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000;
    w.caches[0].services = cache_new(&service_record);
    w.caches[1].services = cache_new(&service_record);
    knows(0, "web", "uid-web");
    w.registry = metrics_new();
    w.written = metrics_register(w.registry, METRIC_COUNTER, "events_total", "help", "result");
    w.history = history_new();
    w.log_fd = memfd_create("log", 0);
    w.log = (struct log){.level = LOG_LEVEL_DEBUG, .fd = w.log_fd};
    const struct events_options options = {
        .history = w.history, .mappings = &mappings, .written = w.written, .log = &w.log};
    w.events = events_new(NULL, &options);
}

static void teardown(void)
{
    events_free(w.events);
    history_free(w.history);
    metrics_free(w.registry);
    cache_free(w.caches[0].services);
    cache_free(w.caches[1].services);
    close(w.log_fd);
}

/* ---- all is well ---- */

START_TEST(an_entry_becomes_an_event)
{
    happens(HISTORY_IN_STEP, "in step with 3 servers");
    ck_assert_msg(!w.busy, "from inside the journal nothing is sent");
    ck_assert(asked());
    ck_assert(!w.again && !w.warning && w.count == 1);
    ck_assert_str_eq(w.namespace, "ing");
    ck_assert_str_eq(w.service, "web");
    ck_assert_str_eq(w.uid, "uid-web");
    ck_assert_str_eq(w.reason, "Synced");
    ck_assert_str_eq(w.message, "backend web at " URL ": in step with 3 servers");
    ck_assert_uint_eq(w.first_ms, clock_wall_ms());
    ck_assert_msg(str_has_prefix(w.name, "web.") && strlen(w.name) == 4 + 16 &&
                      strspn(w.name + 4, "0123456789abcdef") == 16,
                  "%s", w.name);
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
    ck_assert_uint_eq(result("written"), 1);
}
END_TEST

START_TEST(again_is_a_patch_of_the_same)
{
    happens(HISTORY_IN_STEP, "in step");
    all_is_written();
    char name[96];
    uint64_t first_ms = w.first_ms;
    memcpy(name, w.name, sizeof(name));
    pass(MINUTE_MS);
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    ck_assert(w.again && w.count == 2 && w.first_ms == first_ms && w.last_ms == clock_wall_ms());
    ck_assert_str_eq(w.name, name);
}
END_TEST

START_TEST(nothing_of_what_is_no_event)
{
    happens(HISTORY_COMMITTED, "added n1");
    happens(HISTORY_RELOAD_AGAIN, "empty commit");
    happens_to("none of ours", HISTORY_IN_STEP, "in step");
    ck_assert(!asked());
}
END_TEST

START_TEST(what_is_about_all_is_about_each_service_once)
{
    happens_to(NULL, HISTORY_RELOAD_FAILED, "not reloaded");
    ck_assert(asked() && w.warning && w.count == 1);
    ck_assert_str_eq(w.service, "web");
    ck_assert_str_eq(w.message, "HAProxy at " URL ": not reloaded");
    answer(EVENT_WRITTEN);
    ck_assert(asked());
    ck_assert_str_eq(w.namespace, "two");
    ck_assert_str_eq(w.service, "shop");
    ck_assert_str_eq(w.uid, ""); /* not known yet */
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
    happens_to("tls", HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    ck_assert_str_eq(w.service, "web");
}
END_TEST

START_TEST(what_comes_while_one_is_under_way_is_told_at_once)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    for (int i = 0; i < 5; i++)
        happens(HISTORY_IN_STEP, "in step");
    happens(HISTORY_HELD_BACK, "held");
    answer(EVENT_WRITTEN);
    ck_assert(asked() && w.again && w.count == 6);
    answer(EVENT_WRITTEN);
    ck_assert(asked());
    ck_assert_str_eq(w.reason, "HeldBack");
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
    ck_assert_uint_eq(result("merged"), 4);
    ck_assert_uint_eq(w.posts + w.patches, 3);
}
END_TEST

START_TEST(a_thousand_changes_are_few_requests)
{
    for (int i = 0; i < 1000; i++) {
        char text[64];
        snprintf(text, sizeof(text), "in step: change %d", i);
        happens(HISTORY_IN_STEP, text);
        all_is_written();
        pass(100);
    }
    ck_assert_uint_eq(w.posts + w.patches, 25);
    ck_assert_uint_eq(w.posts, 10);
    ck_assert_str_eq(w.message, "(combined from similar events): backend web at " URL ": in step: change 24");
    ck_assert_uint_eq(result("limited"), 975);
    happens(HISTORY_APPLY_FAILED, "a trouble");
    ck_assert_msg(asked(), "a warning does not wait for that");
    ck_assert_str_eq(w.reason, "ApplyFailed");
    answer(EVENT_WRITTEN);
    pass(5 * MINUTE_MS);
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    ck_assert_uint_eq(w.count, 992); /* those that were not sent are counted */
}
END_TEST

START_TEST(long_messages_are_cut)
{
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    happens(HISTORY_APPLY_FAILED, text);
    ck_assert(asked());
    ck_assert_uint_eq(strlen(w.message), EVENT_MESSAGE_MAX_BYTES);
}
END_TEST

/* ---- and when not ---- */

START_TEST(one_that_the_api_has_forgotten_is_made_anew)
{
    happens(HISTORY_IN_STEP, "in step");
    all_is_written();
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked() && w.again);
    answer(EVENT_GONE);
    ck_assert(asked() && !w.again && w.count == 2);
    answer(EVENT_WRITTEN);
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked() && w.again && w.count == 3);
}
END_TEST

/* The answer to the first request was lost. */
START_TEST(one_that_is_there_already_is_repeated)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    answer(EVENT_LATER);
    ck_assert(asked() && !w.again);
    answer(EVENT_EXISTS);
    ck_assert(w.busy && w.again && w.count == 1);
    answer(EVENT_WRITTEN);
    ck_assert_uint_eq(result("written"), 1);
}
END_TEST

/* An API that says now this, now that, is not asked without a pause, nor for ever. */
START_TEST(an_api_that_contradicts_itself)
{
    unsigned tries = 0;
    uint64_t began_ms = clock_mono_ms();
    happens(HISTORY_IN_STEP, "in step");
    for (; asked(); tries++)
        answer(w.again ? EVENT_GONE : EVENT_EXISTS);
    ck_assert_uint_le(tries, 30);
    ck_assert_uint_gt(clock_mono_ms() - began_ms, 10000);
    ck_assert_uint_eq(result("dropped"), 1);
}
END_TEST

START_TEST(denied_is_said_once_and_tried_seldom)
{
    happens(HISTORY_IN_STEP, "in step");
    happens(HISTORY_HELD_BACK, "held");
    happens_to("shop", HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    answer(EVENT_DENIED);
    ck_assert(logged("Events may not be written"));
    ck_assert(logged("verbs [create, patch]"));
    ck_assert(logged("namespace=ing"));
    ck_assert_uint_eq(result("denied"), 2);
    ck_assert_msg(asked(), "the other namespace may be allowed");
    ck_assert_str_eq(w.service, "shop");
    answer(EVENT_WRITTEN);
    forget_log();
    for (int i = 0; i < 9; i++) {
        pass(MINUTE_MS);
        happens(HISTORY_HELD_BACK, "held");
        ck_assert(!asked());
    }
    pass(MINUTE_MS);
    happens(HISTORY_HELD_BACK, "held");
    ck_assert(asked());
    answer(EVENT_DENIED);
    ck_assert(!logged("may not be written"));
    pass(10 * MINUTE_MS);
    happens(HISTORY_HELD_BACK, "held");
    ck_assert(asked() && !w.again);
    answer(EVENT_WRITTEN);
    happens(HISTORY_HELD_BACK, "held");
    ck_assert(asked());
}
END_TEST

START_TEST(an_operator_says_go_on)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    answer(EVENT_DENIED);
    forget_log();
    events_poke(w.events);
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    answer(EVENT_DENIED);
    ck_assert_msg(logged("may not be written"), "whoever asks gets an answer");
    happens_to("shop", HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    answer_after(EVENT_LATER, 200000);
    uint64_t then_ms = clock_mono_ms();
    events_poke(w.events);
    ck_assert(asked() && clock_mono_ms() == then_ms);
    events_poke(w.events); /* while one is under way */
    events_poke(NULL);
}
END_TEST

START_TEST(granted_is_said_too)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    answer(EVENT_DENIED);
    pass(11 * MINUTE_MS);
    happens(HISTORY_IN_STEP, "in step");
    all_is_written();
    ck_assert(logged("Events are written again"));
}
END_TEST

START_TEST(an_api_that_is_away_is_waited_for_and_then_it_is_dropped)
{
    unsigned tries = 0;
    uint64_t began_ms = clock_mono_ms();
    happens(HISTORY_IN_STEP, "in step");
    for (; asked(); tries++)
        answer(EVENT_LATER);
    ck_assert_uint_ge(clock_mono_ms() - began_ms, 5 * MINUTE_MS);
    ck_assert_uint_lt(clock_mono_ms() - began_ms, 7 * MINUTE_MS);
    ck_assert_msg(tries >= 4 && tries <= 30, "%u", tries);
    ck_assert_uint_eq(result("dropped"), 1);
    ck_assert(logged("an Event cannot be written now"));
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked() && !w.again && w.count == 2);
    answer(EVENT_WRITTEN);
    ck_assert(logged("Events are written again"));
}
END_TEST

START_TEST(retry_after_is_kept)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    uint64_t then_ms = clock_mono_ms();
    answer_after(EVENT_LATER, 90000);
    happens(HISTORY_HELD_BACK, "held"); /* does not go before that either */
    ck_assert(asked());
    ck_assert_uint_ge(clock_mono_ms() - then_ms, 90000);
    all_is_written();
    ck_assert_uint_eq(result("written"), 2);
}
END_TEST

START_TEST(retry_after_has_an_end)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    uint64_t then_ms = clock_mono_ms();
    answer_after(EVENT_LATER, INT32_MAX * 1000ll);
    happens(HISTORY_HELD_BACK, "held");
    pass(MINUTE_MS);
    happens(HISTORY_APPLY_FAILED, "refused");
    ck_assert(asked());
    ck_assert_uint_le(clock_mono_ms() - then_ms, 6 * MINUTE_MS);
    ck_assert_uint_ge(clock_mono_ms() - then_ms, 4 * MINUTE_MS);
    ck_assert_str_eq(w.reason, "ApplyFailed");
}
END_TEST

START_TEST(no_credentials_yet)
{
    w.no_credentials = true;
    happens(HISTORY_IN_STEP, "in step");
    pass(3000);
    ck_assert(!w.busy);
    w.no_credentials = false;
    ck_assert(asked());
}
END_TEST

START_TEST(what_is_refused_keeps_nothing_up)
{
    happens(HISTORY_IN_STEP, "in step");
    happens(HISTORY_HELD_BACK, "held");
    ck_assert(asked());
    answer(EVENT_REFUSED);
    ck_assert(logged("Kubernetes refuses an Event"));
    ck_assert_uint_eq(result("refused"), 1);
    ck_assert(asked());
    ck_assert_str_eq(w.reason, "HeldBack");
}
END_TEST

static void many(int count)
{
    static const enum history_kind kinds[] = {HISTORY_IN_STEP,       HISTORY_HELD_BACK,      HISTORY_APPLY_FAILED,
                                              HISTORY_RELOAD_FAILED, HISTORY_DRIFT_REPAIRED, HISTORY_IN_STEP};
    for (int i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof(text), "change %d", i);
        happens_to(i % 2 == 0 ? "web" : "shop", kinds[i % 6], text);
    }
}

START_TEST(the_queue_has_an_end)
{
    happens(HISTORY_IN_STEP, "the first");
    ck_assert(asked());
    many(500);
    ck_assert(w.busy); /* for all this time */
    ck_assert_uint_gt(result("dropped") + result("merged") + result("limited"), 500 - 64);
    answer(EVENT_WRITTEN);
    all_is_written();
    ck_assert_uint_le(w.posts + w.patches, 65);
    ck_assert_uint_eq(result("written") + result("dropped") + result("merged") + result("limited"), 501);
}
END_TEST

/* So many different ones: of each reason ten. */
static void fill(const char *backend, enum history_kind kind)
{
    for (int i = 0; i < 10; i++) {
        char text[32];
        snprintf(text, sizeof(text), "change %d", i);
        happens_to(backend, kind, text);
    }
}

START_TEST(what_is_under_way_is_not_dropped)
{
    happens_to("shop", HISTORY_IN_STEP, "the first");
    ck_assert(asked());
    fill("web", HISTORY_HELD_BACK);
    fill("web", HISTORY_IN_STEP);
    fill("web", HISTORY_DRIFT_REPAIRED);
    fill("web", HISTORY_APPLY_FAILED);
    fill("shop", HISTORY_HELD_BACK);
    fill("shop", HISTORY_APPLY_FAILED);
    ck_assert_uint_eq(result("dropped"), 0);
    fill("shop", HISTORY_RELOAD_FAILED);
    ck_assert_uint_eq(result("dropped"), 2); /* 1 + 65 */
    ck_assert(logged("Kubernetes takes Events too slowly"));
    answer(EVENT_WRITTEN);
    ck_assert(asked());
    ck_assert_str_eq(w.message, "backend web at " URL ": change 2"); /* the oldest two gave way */
    all_is_written();
    happens_to("shop", HISTORY_IN_STEP, "the first");
    ck_assert(asked() && w.again && w.count == 2);
}
END_TEST

START_TEST(the_end_waits_for_nothing)
{
    happens(HISTORY_IN_STEP, "in step");
    ck_assert(asked());
    many(10);
    events_free(w.events);
    w.events = NULL;
    ck_assert(w.freed);
    happens(HISTORY_IN_STEP, "nobody hears it");
    ck_assert_uint_eq(w.posts, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("daemon/events");
    TCase *t = tcase_create("well");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, an_entry_becomes_an_event);
    tcase_add_test(t, again_is_a_patch_of_the_same);
    tcase_add_test(t, nothing_of_what_is_no_event);
    tcase_add_test(t, what_is_about_all_is_about_each_service_once);
    tcase_add_test(t, what_comes_while_one_is_under_way_is_told_at_once);
    tcase_add_test(t, a_thousand_changes_are_few_requests);
    tcase_add_test(t, long_messages_are_cut);
    suite_add_tcase(s, t);
    t = tcase_create("not well");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_that_the_api_has_forgotten_is_made_anew);
    tcase_add_test(t, one_that_is_there_already_is_repeated);
    tcase_add_test(t, an_api_that_contradicts_itself);
    tcase_add_test(t, denied_is_said_once_and_tried_seldom);
    tcase_add_test(t, an_operator_says_go_on);
    tcase_add_test(t, granted_is_said_too);
    tcase_add_test(t, an_api_that_is_away_is_waited_for_and_then_it_is_dropped);
    tcase_add_test(t, retry_after_is_kept);
    tcase_add_test(t, retry_after_has_an_end);
    tcase_add_test(t, no_credentials_yet);
    tcase_add_test(t, what_is_refused_keeps_nothing_up);
    tcase_add_test(t, the_queue_has_an_end);
    tcase_add_test(t, what_is_under_way_is_not_dropped);
    tcase_add_test(t, the_end_waits_for_nothing);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
