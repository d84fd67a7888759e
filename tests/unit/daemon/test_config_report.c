/* src/daemon/config/config_report: annotations and Events of what the engine did, in virtual time. The Secret, who
 * writes to it, and who takes Events are this file's. */
#include "daemon/config/config_report.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/event.h"
#include "daemon/config/config_source.h"
#include "daemon/events.h"
#include "kube/annotate.h"
#include "model/objects.h"
#include "report/telemetry.h"

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct secret_object secret;
    struct secret_annotation notes[8];
    bool gone; /* there is no Secret */
    unsigned sent;
    char *path, *version; /* of the last request */
    void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err);
    void *arg;
    struct buf events;
    unsigned event_count;
    struct telemetry telemetry;
    struct config_report *r;
    struct document *document;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

/* ---- what it calls ---- */

const struct secret_object *config_source_secret(const struct config_source *s)
{
    (void)s;
    return w.gone ? NULL : &w.secret;
}

void events_tell(struct events *e, enum event_reason reason, const char *text)
{
    (void)e;
    w.event_count++;
    buf_clear(&w.events);
    buf_printf(&w.events, "%d %s", (int)reason, text);
}

struct annotator *annotator_new(struct kube_client *client,
                                void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err),
                                void *arg)
{
    (void)client;
    w.done = done;
    w.arg = arg;
    return (struct annotator *)&w;
}

void annotator_free(struct annotator *a)
{
    (void)a;
}

static const char *note(const char *name)
{
    cleanup(mem_free_ptr) char *whole = mem_printf(SECRET_ANNOTATIONS "%s", name);
    for (size_t i = 0; i < w.secret.annotation_count; i++)
        if (str_eq(w.notes[i].name, whole))
            return w.notes[i].value;
    return NULL;
}

/* It is on the Secret at once; the watch brings it when the test says so. */
int annotator_send(struct annotator *a, const char *path, const char *version, const struct annotation *list,
                   size_t count, struct error *err)
{
    (void)a;
    (void)err;
    free(w.path);
    free(w.version);
    w.path = mem_strdup(path);
    w.version = mem_strdup(version);
    w.sent++;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < w.secret.annotation_count && !str_eq(w.notes[k].name, list[i].name))
            k++;
        ck_assert_uint_lt(k, array_len(w.notes));
        if (k == w.secret.annotation_count) {
            w.secret.annotation_count++;
            w.notes[k].name = mem_strdup(list[i].name);
        }
        free(w.notes[k].value);
        w.notes[k].value = mem_strdup(list[i].value);
    }
    return 0;
}

static void forget_notes(void)
{
    for (size_t i = 0; i < array_len(w.notes); i++) {
        free(w.notes[i].name);
        free(w.notes[i].value);
        w.notes[i] = (struct secret_annotation){0};
    }
    w.secret.annotation_count = 0;
}

/* ---- what a test does ---- */

static void pass(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    for (struct timer *t; (t = virtual_next_timer(end)) != NULL;) {
        w.now_us = t->due_ms > clock_mono_ms() ? t->due_ms * 1000 : w.now_us;
        t->due_ms = 0;
        t->fn(t->arg);
    }
    w.now_us = end * 1000;
}

static void world_begin(bool dry_run)
{
    static char first[] = "7";
    struct error err = {0};
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    w.secret.version = first;
    w.secret.annotations = w.notes;
    telemetry_init(&w.telemetry, "0");
    const struct config_report_options options = {.target_count = 2,
                                                  .kube = (struct kube_client *)&w,
                                                  .secret_namespace = "ns",
                                                  .secret_name = "s",
                                                  .telemetry = &w.telemetry,
                                                  .dry_run = dry_run};
    w.r = config_report_new(NULL, &options);
    w.document = document_new("Secret", "global\n", 7, NULL, &err);
    ck_assert_msg(w.document != NULL, "%s", err.message);
}

static void world_end(void)
{
    config_report_free(w.r);
    document_unref(w.document);
    telemetry_fini(&w.telemetry);
    buf_fini(&w.events);
    forget_notes();
    free(w.path);
    free(w.version);
}

static void happens(enum configuration_event_kind kind, size_t target, const struct error *err)
{
    static const char *const urls[] = {"http://a", "http://b", NULL};
    const struct configuration_event e = {.kind = kind,
                                          .target = target,
                                          .url = urls[target],
                                          .document = kind != CONFIGURATION_REFUSED ? w.document : NULL,
                                          .error = err};
    config_report_take(w.r, &e);
}

#define OF_NONE 2

static void written(void)
{
    static char versions[][4] = {"8", "9", "10", "11", "12"};
    w.secret.version = versions[w.sent % array_len(versions)];
    w.done(w.arg, ANNOTATE_WRITTEN, NULL);
    config_report_source_changed(w.r);
    pass(2000);
}

START_TEST(applied_is_said_when_all_run_it)
{
    world_begin(false);
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    happens(CONFIGURATION_VALIDATED, 0, NULL);
    happens(CONFIGURATION_APPLIED, 0, NULL);
    pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(w.path, "/api/v1/namespaces/ns/secrets/s");
    ck_assert_str_eq(w.version, "7");
    ck_assert_str_eq(note("status"), "Pending");
    ck_assert_str_eq(note("status-message"), "1 of 2 HAProxies run it");
    ck_assert_str_eq(note("last-observed-hash"), w.document->hash);
    ck_assert_ptr_null(note("last-applied-hash"));
    written();
    ck_assert_uint_eq(w.sent, 1); /* it says all of that */
    happens(CONFIGURATION_UNCHANGED, 1, NULL);
    pass(0);
    ck_assert_uint_eq(w.sent, 2);
    ck_assert_str_eq(note("status"), "Applied");
    ck_assert_str_eq(note("last-applied-hash"), w.document->hash);
    ck_assert_ptr_nonnull(note("last-applied-time"));
    ck_assert_ptr_null(note("last-failed-hash"));
    ck_assert(metric_value(w.telemetry.configuration_applied, "http://a", NULL) == 1);
    written();
    config_report_source_changed(w.r);
    pass(600000);
    ck_assert_uint_eq(w.sent, 2);
    world_end();
}
END_TEST

START_TEST(a_rejection_is_said_at_once_with_its_message)
{
    struct error err = {0};
    (void)error_set_http(&err, 400, "line 3: no");
    world_begin(false);
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    happens(CONFIGURATION_REJECTED, 1, &err);
    pass(0);
    ck_assert_str_eq(note("status"), "Rejected");
    ck_assert_str_eq(note("status-message"), "line 3: no");
    ck_assert_str_eq(note("last-failed-hash"), w.document->hash);
    written();
    (void)error_set(&err, ERROR_INVALID, "no such key");
    happens(CONFIGURATION_REFUSED, OF_NONE, &err); /* it has no hash */
    pass(2000);
    ck_assert_str_eq(note("status-message"), "no such key");
    world_end();
    world_begin(false);
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    happens(CONFIGURATION_REFUSED, OF_NONE, &err);
    pass(2000);
    ck_assert_str_eq(note("status"), "Rejected");
    ck_assert_ptr_null(note("last-failed-hash"));
    world_end();
}
END_TEST

static const struct {
    int status;
    enum error_kind kind;
    enum event_reason reason;
} failures[] = {
    {401, ERROR_NONE, EVENT_AUTH_ERROR},      {403, ERROR_NONE, EVENT_AUTH_ERROR},
    {409, ERROR_NONE, EVENT_CONFLICT_ERROR},  {429, ERROR_NONE, EVENT_TRANSIENT_ERROR},
    {503, ERROR_NONE, EVENT_TRANSIENT_ERROR}, {0, ERROR_INVALID, EVENT_TLS_CONNECTION_ERROR},
    {0, ERROR_RETRY, EVENT_CONNECTION_ERROR},
};

START_TEST(a_failure_has_the_operators_reason_and_is_told_once)
{
    struct error err = {0};
    if (failures[_i].status != 0)
        (void)error_set_http(&err, failures[_i].status, "why");
    else
        (void)error_set(&err, failures[_i].kind, "why");
    world_begin(false);
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    happens(CONFIGURATION_FAILED, 0, &err);
    cleanup(mem_free_ptr) char *text = mem_printf("%d http://a: configuration %.12s not possible yet; tried again: why",
                                                  (int)failures[_i].reason, w.document->hash);
    ck_assert_str_eq(buf_str(&w.events), text);
    happens(CONFIGURATION_FAILED, 0, &err);
    ck_assert_uint_eq(w.event_count, 1);
    pass(2000);
    ck_assert_str_eq(note("status"), "Failed");
    world_end();
}
END_TEST

/* HAProxy goes on with what it runs. */
START_TEST(an_api_that_is_away_takes_nothing_back)
{
    struct error err = {0};
    (void)error_set(&err, ERROR_RETRY, "away");
    world_begin(false);
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    happens(CONFIGURATION_APPLIED, 0, NULL);
    happens(CONFIGURATION_APPLIED, 1, NULL);
    pass(0);
    written();
    happens(CONFIGURATION_FAILED, 1, &err);
    pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(note("status"), "Applied");
    world_end();
}
END_TEST

START_TEST(what_is_not_written_is_tried_again)
{
    struct error err = {0};
    (void)error_set_http(&err, 403, "no right");
    world_begin(false);
    w.gone = true;
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    pass(2000);
    ck_assert_uint_eq(w.sent, 0);
    w.gone = false;
    config_report_source_changed(w.r);
    pass(0);
    ck_assert_uint_eq(w.sent, 1);
    /* what was written has not come back by the watch: the version is the one that was written to */
    forget_notes();
    w.done(w.arg, ANNOTATE_WRITTEN, NULL);
    config_report_source_changed(w.r);
    pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    static char next[] = "8";
    w.secret.version = next;
    config_report_source_changed(w.r);
    pass(0);
    ck_assert_uint_eq(w.sent, 2);
    forget_notes();
    w.done(w.arg, ANNOTATE_CONFLICT, &err);
    pass(60000);
    ck_assert_uint_eq(w.sent, 3);
    forget_notes();
    w.done(w.arg, ANNOTATE_DENIED, &err);
    pass(599000);
    ck_assert_uint_eq(w.sent, 3);
    pass(2000);
    ck_assert_uint_eq(w.sent, 4);
    forget_notes();
    w.done(w.arg, ANNOTATE_LATER, &err);
    config_report_stop(w.r); /* another one leads */
    pass(700000);
    ck_assert_uint_eq(w.sent, 4);
    world_end();
}
END_TEST

START_TEST(a_dry_run_says_nothing)
{
    struct error err = {0};
    (void)error_set_http(&err, 400, "no");
    world_begin(true);
    happens(CONFIGURATION_CHANGED, OF_NONE, NULL);
    happens(CONFIGURATION_REJECTED, 0, &err);
    pass(2000);
    ck_assert_uint_eq(w.sent, 0);
    ck_assert_uint_eq(w.event_count, 0);
    ck_assert(metric_value(w.telemetry.configuration_results, "rejected", "http://a", NULL) == 1);
    world_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_report");
    TCase *tc = tcase_create("config_report");
    tcase_add_test(tc, applied_is_said_when_all_run_it);
    tcase_add_test(tc, a_rejection_is_said_at_once_with_its_message);
    tcase_add_loop_test(tc, a_failure_has_the_operators_reason_and_is_told_once, 0, (int)array_len(failures));
    tcase_add_test(tc, an_api_that_is_away_takes_nothing_back);
    tcase_add_test(tc, what_is_not_written_is_tried_again);
    tcase_add_test(tc, a_dry_run_says_nothing);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
