/* src/cli/inspect_haproxy against a Data Plane API of one process, with virtual time. */

#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/driver.h"
#include "servers/change/diff.h"
#include "cli/inspect_haproxy.h"
#include "cli/inspect_report.h"

static struct world {
    uint64_t now_us;
    struct timer *timers[6];
    char path[128];
    void (*on_answer)(void *arg, const struct dataplane_answer *a);
    void *arg;
    unsigned looks;          /* begun */
    unsigned split_till;     /* in so many of them the file is older than what the API says */
    const char *reloads;     /* NULL: 404 */
    const char *file, *runs; /* servers in the file and in what runs, as JSON lists */
    unsigned runs_from;      /* in readings before this one the running HAProxy has none of them */
    const char *dead;        /* no answer to a path with this in it */
    const char *silent;      /* nothing at all */
    const char *will;        /* what a write would make of the file; NULL: what it is */
    bool deletes;
    unsigned done;
} w;

/* ---- in place of time and haproxy/dataplane/client ---- */

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"
#include "../test.h"
#include "../api_about.h"

void dataplane_send(struct dataplane_client *c, const char *method, const char *path, const char *json,
                    void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    /* An empty transaction, which is deleted, shows what a write would do. */
    bool empty = strstr(path, "/transactions") != NULL && (str_eq(method, "POST") || str_eq(method, "DELETE"));
    ck_assert_msg(empty || str_eq(method, "GET"), "%s %s", method, path);
    ck_assert_ptr_null(json);
    ck_assert_ptr_null(w.on_answer);
    w.deletes = str_eq(method, "DELETE");
    snprintf(w.path, sizeof(w.path), "%s", path);
    w.on_answer = on_answer;
    w.arg = arg;
}

/* It only reads. */
void dataplane_send_bytes(struct dataplane_client *c, const char *method, const char *path, const char *content_type,
                          const char *body, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                          void *arg)
{
    ck_abort_msg("%s", method);
}

void dataplane_send_text(struct dataplane_client *c, const char *path, const char *actions, const char *head,
                         const char *text, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                         void *arg)
{
    ck_abort_msg("%s", path);
}

bool dataplane_credentials_refused(struct dataplane_client *c)
{
    return false;
}

const char *dataplane_client_user(const struct dataplane_client *c)
{
    return NULL;
}

const char *dataplane_client_password(const struct dataplane_client *c)
{
    return NULL;
}

char *dataplane_answer_take(const struct dataplane_answer *a)
{
    return mem_strndup(a->body, a->body_len);
}

void dataplane_cancel(struct dataplane_client *c)
{
    w.on_answer = NULL;
}

struct dataplane_client *dataplane_client_twin(const struct dataplane_client *c)
{
    return NULL;
}

void dataplane_client_free(struct dataplane_client *c)
{
}

const char *dataplane_client_url(const struct dataplane_client *c)
{
    return "http://api";
}

/* ---- the API ---- */

static const char *body_of(const char *path)
{
    if (str_has_suffix(path, "/backends/be"))
        return "{\"name\":\"be\",\"mode\":\"tcp\"}";
    if (str_has_suffix(path, "/raw")) {
        w.looks++;
        return w.looks <= w.split_till ? "# _version=6\nbackend be\n" : "# _version=7\nbackend be\n";
    }
    if (strstr(path, "/raw?transaction_id=") != NULL)
        return w.will != NULL ? w.will : "# _version=7\nbackend be\n";
    if (str_has_suffix(path, "/transactions?version=7"))
        return "{\"_version\":7,\"id\":\"t\",\"status\":\"in_progress\"}";
    if (str_has_suffix(path, "/reloads"))
        return w.reloads;
    if (str_has_suffix(path, "/configuration/backends/be/servers"))
        return w.file;
    if (str_has_suffix(path, "/runtime/backends/be/servers"))
        return w.looks < w.runs_from ? "[]" : w.runs;
    if (str_has_suffix(path, "/info"))
        return "{\"info\":{\"pid\":7,\"uptime\":9}}";
    return "[]";
}

static void answer(void)
{
    static const struct error gone = {.kind = ERROR_RETRY, .message = "connection reset"};
    void (*on_answer)(void *, const struct dataplane_answer *) = w.on_answer;
    const char *body = body_of(w.path);
    struct dataplane_answer a = {.status = body != NULL ? 200 : 404, .version = 7, .body = body != NULL ? body : ""};
    a.status = w.deletes ? 204 : str_has_suffix(w.path, "/transactions?version=7") ? 201 : a.status;
    a.body_len = strlen(a.body);
    snprintf(a.excerpt, sizeof(a.excerpt), "%s", body != NULL ? "" : "no such page");
    if (w.dead != NULL && strstr(w.path, w.dead) != NULL)
        a = (struct dataplane_answer){.body = "", .version = -1, .error = &gone};
    w.on_answer = NULL;
    on_answer(w.arg, &a);
}

/* Until nothing is under way any more. */
static void run(void)
{
    for (unsigned i = 0; w.done == 0; i++) {
        ck_assert_uint_lt(i, 50);
        if (w.on_answer != NULL && (w.silent == NULL || strstr(w.path, w.silent) == NULL)) {
            answer();
            continue;
        }
        struct timer *next = virtual_next_timer(UINT64_MAX);
        ck_assert_ptr_nonnull(next);
        w.now_us = next->due_ms * 1000;
        next->due_ms = 0;
        next->fn(next->arg);
    }
}

static void on_done(void *arg)
{
    w.done++;
}

static struct inspect_haproxy h;
static struct inspect_report report;
static struct inspect_target *t;
static const struct inspect_backend *be;

static void setup(void)
{
    static const char *const names[] = {"be"};
    static const struct diff_rules rules;
    w = (struct world){.now_us = 1000000, .reloads = "[]", .file = "[]", .runs = "[]"};
    inspect_report_init(&report, 1, 1);
    t = &report.targets[0];
    be = &t->backends[0];
    inspect_haproxy_init(&h, NULL, dataplane_driver_new(NULL, NULL, (struct dataplane_client *)&w), names, 1, t,
                         on_done, NULL);
    h.rules = &rules;
    inspect_haproxy_start(&h, 5000);
}

static void teardown(void)
{
    ck_assert_uint_eq(w.done, 1);
    ck_assert_msg(virtual_next_timer(UINT64_MAX) == NULL, "a timer is left");
    inspect_report_fini(&report);
    inspect_haproxy_fini(&h);
}

static void expect(bool read, bool dirty, const char *warning)
{
    ck_assert_msg(be->seen == read, "%s", be->unseen.message);
    ck_assert(!read || be->actual.exists);
    ck_assert(t->dirty == dirty);
    ck_assert_msg(str_eq(t->warning, warning), "%s", t->warning != NULL ? t->warning : "no warning");
}

FIXTURE(setup, teardown)

TEST(all_is_well)
{
    run();
    expect(true, false, NULL);
    ck_assert_uint_eq(w.looks, 1);
}

TEST(what_a_write_would_harm)
{
    w.will = "# _version=7\nbackend other\n";
    run();
    expect(true, false, NULL);
    ck_assert_msg(t->file_problem != NULL && str_has_prefix(t->file_problem, "line 2 (backend be) would be lost"), "%s",
                  t->file_problem);
}

/* The API answers the version of a hand edit a moment before the file has it. */
TEST(a_file_that_is_behind_for_a_moment)
{
    w.split_till = 1;
    run();
    expect(true, false, NULL);
    ck_assert_uint_eq(w.looks, 2);
    ck_assert_uint_eq(clock_mono_ms(), 2000);
}

TEST(a_reload_that_failed)
{
    w.reloads =
        "[{\"id\":\"2026-01-01-1\",\"status\":\"failed\",\"response\":\"[ALERT] no room\",\"reload_timestamp\":1}]";
    run();
    expect(true, true, "HAProxy's last reload failed: [ALERT] no room");
}

TEST(a_reload_to_come)
{
    w.reloads = "[{\"id\":\"2026-01-01-1\",\"status\":\"in_progress\"}]";
    run();
    expect(true, false, "a reload of HAProxy is pending; if it fails, more changes will be needed");
}

TEST(no_answer_for_the_list_of_reloads)
{
    w.silent = "/reloads";
    run();
    expect(true, false,
           "the list of reloads cannot be read, and HAProxy runs what is compared here: http://api did not answer all "
           "requests within 5.0 s");
    ck_assert(!t->unverified);
    ck_assert_uint_eq(clock_mono_ms(), 6000);
}

/* ---- what it runs ---- */

#define LINE "[{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80}]"
#define ROW \
    "[{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80,\"admin_state\":\"ready\",\"operational_state\":\"up\"}]"
#define DRIFT "backend be: server n1: HAProxy does not run it"

static void expect_drift(const char *drift, unsigned looks)
{
    ck_assert_msg(str_eq(t->drift, drift), "%s", t->drift != NULL ? t->drift : "no drift");
    ck_assert_uint_eq(w.looks, looks);
}

TEST(it_runs_what_the_file_says)
{
    w.file = LINE;
    w.runs = ROW;
    run();
    expect(true, false, NULL);
    expect_drift(NULL, 1);
    ck_assert(be->runtime.readable);
    ck_assert_ptr_nonnull(runtime_find(&be->runtime, "n1"));
}

TEST(it_runs_something_else_for_a_moment)
{
    w.file = LINE;
    w.runs = ROW;
    w.runs_from = 2;
    run();
    expect(true, false, NULL);
    expect_drift(NULL, 2);
    ck_assert_uint_eq(clock_mono_ms(), 2000);
}

TEST(it_runs_something_else)
{
    w.file = LINE;
    run();
    expect(true, true, NULL);
    expect_drift(DRIFT, 2);
}

/* Of a file that is behind, nothing else is to be expected. */
TEST(it_runs_something_else_than_a_file_that_is_behind)
{
    w.file = LINE;
    w.split_till = 10;
    run();
    expect(true, true, NULL);
    expect_drift(NULL, 2);
}

/* That reload repairs it, or causes it: it is reported once. */
TEST_EACH(it_runs_something_else_as_a_reload_is_to_come_or_failed, 2)
{
    static const char *const reloads[] = {
        "[{\"id\":\"2026-01-01-1\",\"status\":\"in_progress\"}]",
        "[{\"id\":\"2026-01-01-1\",\"status\":\"failed\",\"response\":\"[ALERT] no room\",\"reload_timestamp\":1}]"};
    w.file = LINE;
    w.reloads = reloads[_i];
    run();
    ck_assert(t->dirty == (_i == 1));
    ck_assert_ptr_nonnull(t->warning);
    expect_drift(NULL, 2);
}

TEST(what_it_runs_cannot_be_read)
{
    w.file = LINE;
    w.runs = NULL;
    run();
    expect(
        true, false,
        "the Data Plane API knows of no reload, and the running HAProxy cannot be read; a daemon that starts reloads "
        "HAProxy once");
    ck_assert(t->unverified);
    expect_drift(NULL, 2);
    ck_assert(!be->runtime.readable);
    ck_assert_ptr_nonnull(strstr(be->runtime.why, "HTTP 404"));
}

/* The file was read by then. */
TEST_EACH(it_does_not_say_what_it_runs, 2)
{
    static const char *const silent[] = {"/runtime/info", "/runtime/backends"};
    w.file = LINE;
    w.silent = silent[_i];
    run();
    expect(
        true, false,
        "neither the list of reloads nor the running HAProxy can be read; a daemon that starts reloads HAProxy once: "
        "http://api did not answer all requests within 5.0 s");
    ck_assert(t->unverified);
    expect_drift(NULL, 1);
    ck_assert_str_eq(be->runtime.why, "http://api did not answer all requests within 5.0 s");
    ck_assert_uint_eq(be->actual.server_count, 1);
}

TEST(an_answer_that_breaks_off)
{
    w.dead = "/servers";
    run();
    expect(false, false, NULL);
    ck_assert_str_eq(be->unseen.message, "reading servers of backend be: connection reset");
}

TEST(no_answer)
{
    w.silent = "/raw";
    run();
    expect(false, false, NULL);
    ck_assert_str_eq(be->unseen.message, "http://api did not answer all requests within 5.0 s");
    ck_assert_uint_eq(clock_mono_ms(), 6000);
}
