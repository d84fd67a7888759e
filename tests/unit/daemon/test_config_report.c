/* src/daemon/config/config_report: annotations and Events of what the engine did, in virtual time. The Secret, who
 * writes to it, and who takes Events are this file's. */
#include "daemon/config/config_report.h"
#include "settings/settings.h"

#include "base/clock.h"
#include "configuration/document.h"
#include "daemon/config/config_source.h"
#include "daemon/events.h"
#include "kube/writer.h"
#include "model/objects.h"
#include "report/metric_table.h"

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct secret_object secret;
    struct object_annotation notes[8];
    bool gone; /* there is no Secret */
    unsigned sent;
    char *path, *version; /* of the last request */
    void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err);
    void *arg;
    struct buf events;
    unsigned event_count;
    struct metric_table metrics;
    struct settings settings;
    struct daemon in;
    struct config_report *r;
    struct document *document;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"
#include "configuration_play.h"

/* ---- what it calls ---- */

const struct secret_object *config_source_object(const struct config_source *s)
{
    return w.gone ? NULL : &w.secret;
}

void events_tell(struct events *e, enum event_reason reason, const char *text)
{
    w.event_count++;
    buf_clear(&w.events);
    buf_printf(&w.events, "%d %s", (int)reason, text);
}

struct annotator *annotator_new(struct kube_client *client,
                                void (*done)(void *arg, enum annotate_outcome outcome, const struct error *err),
                                void *arg)
{
    w.done = done;
    w.arg = arg;
    return (struct annotator *)&w;
}

void annotator_free(struct annotator *a)
{
}

static const char *note(const char *name)
{
    cleanup(mem_free_ptr) char *whole = mem_printf(SECRET_ANNOTATIONS "%s", name);
    for (size_t i = 0; i < w.secret.annotation_count; i++)
        if (str_eq(w.notes[i].name, whole) || str_eq(w.notes[i].name, name))
            return w.notes[i].value;
    return NULL;
}

/* It is on the Secret at once; the watch brings it when the test says so. */
int annotator_send(struct annotator *a, const char *path, const char *version, const struct annotation *list,
                   size_t count, struct error *err)
{
    free(w.path);
    free(w.version);
    w.path = mem_strdup(path);
    w.version = version != NULL ? mem_strdup(version) : NULL;
    w.sent++;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        ck_assert_int_eq(version == NULL, !str_has_prefix(list[i].name, SECRET_ANNOTATIONS));
        while (k < w.secret.annotation_count && !str_eq(w.notes[k].name, list[i].name))
            k++;
        ck_assert_uint_lt(k, array_len(w.notes));
        if (k == w.secret.annotation_count) {
            w.secret.annotation_count++;
            w.notes[k].name = mem_strdup(list[i].name);
        }
        free(w.notes[k].value);
        w.notes[k].value = list[i].value != NULL ? mem_strdup(list[i].value) : NULL;
    }
    return 0;
}

static void forget_notes(void)
{
    for (size_t i = 0; i < array_len(w.notes); i++) {
        free(w.notes[i].name);
        free(w.notes[i].value);
        w.notes[i] = (struct object_annotation){0};
    }
    w.secret.annotation_count = 0;
}

/* ---- what a test does ---- */

static void world_begin_as(bool dry_run, const char *configmap)
{
    static char first[] = "7";
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    w.secret.version = first;
    w.secret.annotations = w.notes;
    metric_table_init(&w.metrics, "0");
    static char namespace[] = "ns", name[] = "s";
    w.settings = (struct settings){.config_source = SETTINGS_CONFIG_SECRET,
                                   .config_secret_namespace = namespace,
                                   .config_secret_name = name,
                                   .config_report = SETTINGS_REPORT_ANNOTATION,
                                   .config_report_configmap = (char *)(uintptr_t)configmap,
                                   .dry_run = dry_run};
    w.in = (struct daemon){.settings = &w.settings, .kube = (struct kube_client *)&w, .metrics = &w.metrics};
    w.r = config_report_new(&w.in, 2, NULL, NULL);
    w.document = document_new(DOCUMENT_FOR_APIS, "Secret", "global\n", 7, NULL, NULL, &flaw);
    ck_assert_msg(w.document != NULL, "%s", flaw.message);
}

static void world_begin(void)
{
    world_begin_as(false, NULL);
}

static void world_end(void)
{
    config_report_free(w.r);
    document_unref(w.document);
    metric_table_fini(&w.metrics);
    buf_fini(&w.events);
    forget_notes();
    free(w.path);
    free(w.version);
}

static struct error why; /* of what fails from now on */

/* A word: what happens, and at which of the two. */
static void play_word(const char *word)
{
    enum configuration_event_kind kind;
    const char *at;
    ck_assert_msg(play_kind(word, &kind, &at), "%s", word);
    bool fails = configuration_event_failed(kind) || kind == CONFIGURATION_REJECTED || kind == CONFIGURATION_REFUSED ||
                 kind == CONFIGURATION_LOAD_FAILED || kind == CONFIGURATION_DRIFTED;
    const struct configuration_event e = {.kind = kind,
                                          .target = *at == '1',
                                          .url = *at == '\0'  ? NULL
                                                 : *at == '1' ? "http://b"
                                                              : "http://a",
                                          .document = kind != CONFIGURATION_REFUSED ? w.document : NULL,
                                          .error = fails ? &why : NULL};
    config_report_take(w.r, &e);
}

static void written(void)
{
    static char versions[][4] = {"8", "9", "10", "11", "12"};
    w.secret.version = versions[w.sent % array_len(versions)];
    w.done(w.arg, ANNOTATE_WRITTEN, NULL);
    config_report_source_changed(w.r);
    virtual_pass(2000);
}

FIXTURE(world_begin, world_end)

TEST(applied_is_said_when_all_run_it)
{
    play("changed validated0 applied0");
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(w.path, "/api/v1/namespaces/ns/secrets/s");
    ck_assert_str_eq(w.version, "7");
    ck_assert_str_eq(note("status"), "Pending");
    ck_assert_str_eq(note("status-message"), "1 of 2 HAProxies run it");
    ck_assert_str_eq(note("last-observed-hash"), w.document->hash);
    ck_assert_ptr_null(note("last-applied-hash"));
    written();
    ck_assert_uint_eq(w.sent, 1); /* it says all of that */
    play("unchanged1");
    virtual_pass(0);
    ck_assert_uint_eq(w.sent, 2);
    ck_assert_str_eq(note("status"), "Applied");
    ck_assert_ptr_null(note("status-message"));
    ck_assert_str_eq(note("last-applied-hash"), w.document->hash);
    ck_assert_ptr_nonnull(note("last-applied-time"));
    ck_assert_ptr_null(note("last-failed-hash"));
    ck_assert(metric_value(w.metrics.configuration_applied, "http://a", NULL) == 1);
    written();
    play("stored1");
    config_report_source_changed(w.r);
    virtual_pass(600000);
    ck_assert_uint_eq(w.sent, 2);
}

TEST(a_rejection_is_said_at_once_with_its_message)
{
    (void)error_set_http(&why, 400, "line 3: no");
    play("changed rejected1");
    virtual_pass(0);
    ck_assert_str_eq(note("status"), "ConfigRejected");
    ck_assert_str_eq(note("status-message"), "line 3: no");
    ck_assert_str_eq(note("last-failed-hash"), w.document->hash);
    written();
    (void)error_set(&why, ERROR_INVALID, "no such key");
    play("refused"); /* it has no hash */
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), "Error");
    ck_assert_str_eq(note("status-message"), "no such key");
    ck_assert_str_eq(note("last-failed-hash"), w.document->hash);
    written();
    play("changed applied0 applied1");
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), "Applied");
    ck_assert_ptr_null(note("last-failed-hash"));
    written();
    ck_assert_uint_eq(w.sent, 3); /* what went is not there: nothing differs */
    world_end();
    world_begin();
    play("changed refused");
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), "Error");
    ck_assert_ptr_null(note("last-failed-hash"));
}

/* Nobody reads it: what is written there last is known by heart, and all of it is written again after a failure. */
TEST(a_configmap_in_the_place_of_the_secret)
{
    world_end();
    world_begin_as(false, "status");
    w.gone = true;
    play("changed validated0 applied0");
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(w.path, "/api/v1/namespaces/ns/configmaps/status");
    ck_assert_ptr_null(w.version);
    ck_assert_str_eq(note("status"), "Pending");
    play("applied1"); /* while the first one is on its way */
    virtual_pass(0);
    ck_assert_uint_eq(w.sent, 1);
    w.done(w.arg, ANNOTATE_WRITTEN, NULL);
    virtual_pass(0);
    ck_assert_uint_eq(w.sent, 2);
    ck_assert_str_eq(note("status"), "Applied");
    ck_assert_str_eq(note("last-applied-hash"), w.document->hash);
    ck_assert_ptr_nonnull(note("last-applied-time"));
    ck_assert_ptr_null(note("status-message"));
    forget_notes(); /* it was another one's answer: who made the ConfigMap anew has nothing of it */
    (void)error_set_http(&why, 500, "away");
    w.done(w.arg, ANNOTATE_LATER, &why);
    virtual_pass(60000);
    ck_assert_uint_eq(w.sent, 3);
    ck_assert_str_eq(note("status"), "Applied");
    ck_assert_str_eq(note("last-observed-hash"), w.document->hash);
    w.done(w.arg, ANNOTATE_WRITTEN, NULL);
    config_report_source_changed(w.r);
    virtual_pass(600000);
    ck_assert_uint_eq(w.sent, 3);
    /* Another replica led meanwhile, and wrote there. */
    config_report_stop(w.r);
    forget_notes();
    play("changed unchanged0 unchanged1");
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 4);
    ck_assert_str_eq(note("status"), "Applied");
}

static const struct {
    int status;
    enum error_kind kind;
    enum event_reason reason;
    const char *class;
} failures[] = {
    {401, ERROR_NONE, EVENT_AUTH_ERROR, "AuthError"},
    {403, ERROR_NONE, EVENT_AUTH_ERROR, "AuthError"},
    {409, ERROR_NONE, EVENT_CONFLICT_ERROR, "ConflictError"},
    {429, ERROR_NONE, EVENT_TRANSIENT_ERROR, "RateLimited"},
    {503, ERROR_NONE, EVENT_TRANSIENT_ERROR, "DataplaneServerError"},
    {404, ERROR_NONE, EVENT_TRANSIENT_ERROR, "UnknownError"},
    {0, ERROR_INVALID, EVENT_TLS_CONNECTION_ERROR, "TLSConnectionError"},
    {0, ERROR_RETRY, EVENT_CONNECTION_ERROR, "ConnectionError"},
};

/* "reconcile_attempts_total{phase=\"apply\"} 1", or a part of it, is on the page. */
static bool page_has(const char *line)
{
    cleanup(buf_fini) struct buf page = {0};
    cleanup(mem_free_ptr) char *whole = mem_printf("\nhaproxy_operator_%s", line);
    metrics_print(w.metrics.registry, &page);
    return strstr(buf_str(&page), whole) != NULL;
}

static void assert_class(const char *metric, const char *class, int count)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s{class=\"%s\"} %d\n", metric, class, count);
    ck_assert_msg(page_has(line), "%s", line);
}

TEST_EACH(a_failure_has_the_operators_reason_and_is_reported_once, array_len(failures))
{
    if (failures[_i].status != 0)
        (void)error_set_http(&why, failures[_i].status, "why");
    else
        (void)error_set(&why, failures[_i].kind, "why");
    play("changed failed0");
    cleanup(mem_free_ptr) char *text = mem_printf("%d http://a: configuration %.12s not possible yet; tried again: why",
                                                  (int)failures[_i].reason, w.document->hash);
    ck_assert_str_eq(buf_str(&w.events), text);
    play("failed0");
    ck_assert_uint_eq(w.event_count, 1);
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), failures[_i].class);
    ck_assert_str_eq(note("status-message"), "why");
    assert_class("transient_errors_total", failures[_i].class, 2);
    assert_class("reconcile_results_total", failures[_i].class, 2);
    ck_assert_ptr_null(note("last-failed-hash"));
    written();
    play("validated0 writing0 failed0");
    virtual_pass(2000);
    cleanup(mem_free_ptr) char *while_writing = mem_printf("Apply%s", failures[_i].class);
    ck_assert_str_eq(note("status"), while_writing);
    written();
    play("validating0 failed0");
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), failures[_i].class);
}

TEST(the_operators_metrics)
{
    (void)error_set_http(&why, 400, "line 3: no");
    ck_assert(page_has("last_successful_apply_timestamp_seconds 0\n") && !page_has("config_hash{"));
    play("changed validating0 validated0 validating1 rejected1");
    assert_class("reconcile_results_total", "ConfigRejected", 1);
    cleanup(mem_free_ptr) char *rejected =
        mem_printf("config_hash{hash=\"%s\",state=\"rejected\"} 1\n", w.document->hash);
    ck_assert(page_has(rejected) && !page_has("config_in_sync{"));
    play("changed");
    ck_assert(page_has(rejected)); /* until the next is known */
    play("validated0 writing0 unchanged0");
    ck_assert(page_has(rejected)); /* one of two runs it */
    ck_assert(!page_has("last_successful_apply_timestamp_seconds 0\n"));
    play("applied1");
    cleanup(mem_free_ptr) char *applied =
        mem_printf("config_hash{hash=\"%s\",state=\"applied\"} 1\n", w.document->hash);
    ck_assert(page_has(applied) && !page_has(rejected) && page_has("config_in_sync{secret=\"ns/s\"} 1\n"));
    assert_class("reconcile_results_total", "applied", 1);
    ck_assert(metric_value(w.metrics.configuration_results, "", "", NULL) == 0); /* of requests */
    ck_assert(page_has("reconcile_attempts_total{phase=\"validate\"} 2\n"));
    ck_assert(page_has("reconcile_attempts_total{phase=\"apply\"} 1\n"));
    (void)error_set(&why, ERROR_CONFLICT, "another writer");
    play("drifted1");
    ck_assert(page_has("config_drift_total{secret=\"ns/s\"} 1\n") && page_has("config_in_sync{secret=\"ns/s\"} 0\n"));
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), "ConfigDrift");
    play("applied1");
    ck_assert(page_has("config_in_sync{secret=\"ns/s\"} 1\n") && page_has(applied));
    (void)error_set(&why, ERROR_INVALID, "HAProxy could not load it");
    play("load-failed1");
    assert_class("reconcile_results_total", "ApplyFailed", 1);
    config_report_stop(w.r);
    ck_assert(!page_has("config_hash{") && !page_has("config_in_sync{"));
}

TEST(the_operators_metrics_of_certificates)
{
    config_report_certificate(w.r, "kubernetes", "client", 1);
    config_report_certificate(w.r, "https://lb:5555/path", "server", 2);
    config_report_certificate(w.r, "https://[2001:db8::1]:5555", "server", 3);
    config_report_certificate(w.r, "https://lb:5555", "ca", 4);
    ck_assert(page_has("dataplane_client_cert_expiry_timestamp_seconds 0\n"));
    config_report_certificate(w.r, "https://lb:5555", "client", 5);
    ck_assert(page_has("dataplane_client_cert_expiry_timestamp_seconds 5\n"));
    ck_assert(page_has("dataplane_server_cert_expiry_timestamp_seconds{gateway=\"lb\"} 2\n"));
    ck_assert(page_has("dataplane_server_cert_expiry_timestamp_seconds{gateway=\"2001:db8::1\"} 3\n"));
}

TEST(certificates_have_the_operators_reasons)
{
    (void)error_set_http(&why, 503, "busy");
    play("changed");
    ck_assert_int_eq(storage_files_add(&w.document->files, STORAGE_MAP, "hosts.map", "a b\n", 4, &flaw), 0);
    play("not-stored0");
    cleanup(mem_free_ptr) char *map =
        mem_printf("%d http://a: configuration %.12s files not stored yet; tried again: busy", EVENT_TRANSIENT_ERROR,
                   w.document->hash);
    ck_assert_str_eq(buf_str(&w.events), map);
    virtual_pass(2000);
    ck_assert_str_eq(note("status"), "DataplaneServerError");
    ck_assert_ptr_null(note("last-failed-hash"));
    w.document->files.list[0].kind = STORAGE_CERTIFICATE;
    play("not-stored1");
    cleanup(mem_free_ptr) char *failed =
        mem_printf("%d http://b: configuration %.12s files not stored yet; tried again: busy", EVENT_CERT_SYNC_FAILED,
                   w.document->hash);
    ck_assert_str_eq(buf_str(&w.events), failed);
    assert_class("transient_errors_total", "DataplaneServerError", 2);
    play("stored1");
    cleanup(mem_free_ptr) char *stored =
        mem_printf("%d http://b: configuration %.12s certificates stored", EVENT_CERT_SYNCED, w.document->hash);
    ck_assert_str_eq(buf_str(&w.events), stored);
    ck_assert(metric_value(w.metrics.configuration_results, "failed", "http://b", NULL) == 1);
}

/* HAProxy goes on with what it runs. */
TEST(an_api_that_is_away_takes_nothing_back)
{
    (void)error_set(&why, ERROR_RETRY, "away");
    play("changed applied0 applied1");
    virtual_pass(0);
    written();
    play("failed1");
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    ck_assert_str_eq(note("status"), "Applied");
}

TEST(what_is_not_written_is_tried_again)
{
    (void)error_set_http(&why, 403, "no right");
    w.gone = true;
    play("changed");
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 0);
    w.gone = false;
    config_report_source_changed(w.r);
    virtual_pass(0);
    ck_assert_uint_eq(w.sent, 1);
    /* what was written has not come back by the watch: the version is the one that was written to */
    forget_notes();
    w.done(w.arg, ANNOTATE_WRITTEN, NULL);
    config_report_source_changed(w.r);
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 1);
    static char next[] = "8";
    w.secret.version = next;
    config_report_source_changed(w.r);
    virtual_pass(0);
    ck_assert_uint_eq(w.sent, 2);
    forget_notes();
    w.done(w.arg, ANNOTATE_CONFLICT, &why);
    virtual_pass(60000);
    ck_assert_uint_eq(w.sent, 3);
    forget_notes();
    w.done(w.arg, ANNOTATE_DENIED, &why);
    virtual_pass(599000);
    ck_assert_uint_eq(w.sent, 3);
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 4);
    forget_notes();
    w.done(w.arg, ANNOTATE_LATER, &why);
    config_report_stop(w.r); /* another one leads */
    virtual_pass(700000);
    ck_assert_uint_eq(w.sent, 4);
}

TEST(a_dry_run_says_nothing)
{
    (void)error_set_http(&why, 400, "no");
    world_end();
    world_begin_as(true, NULL);
    play("changed rejected0");
    virtual_pass(2000);
    ck_assert_uint_eq(w.sent, 0);
    ck_assert_uint_eq(w.event_count, 0);
    ck_assert(metric_value(w.metrics.configuration_results, "rejected", "http://a", NULL) == 1);
}
