/*
 * src/configuration/target: one HAProxy whose Data Plane API fails in some way, in virtual time: when it is asked
 * again, what is said of it meanwhile, and what is logged of drift. The instance is played by the functions that the
 * engine calls.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../log_text.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/dataplane/replacement.h"
#include "haproxy/dataplane/storage.h"
#include "haproxy/instance.h"

#define DOCUMENT "global\n  description one\nuserlist u\n  user a insecure-password hunter2\n"

struct instance {
    const struct engine *engine;
    char *file;
    struct error problem;
};

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct configuration *c;
    struct store *store;
    struct log log;
    struct instance in;
    unsigned told[CONFIGURATION_EVENT_KINDS];
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

/* ---- what the engine calls ---- */

void instance_step(struct instance *in)
{
    (void)in;
}

struct instance_view instance_view(const struct instance *in)
{
    return (struct instance_view){.url = "http://a",
                                  .haproxy = "3.0",
                                  .problem = &in->problem,
                                  .fresh = true,
                                  .may_write = true,
                                  .may_begin = true,
                                  .file_allows = true,
                                  .last_reload_known = true};
}

static struct cfg_content *file_content;

struct cfg_content *instance_file(const struct instance *in)
{
    cfg_content_unref(file_content);
    file_content = cfg_content_new(mem_strdup(in->file), strlen(in->file));
    return file_content;
}

bool instance_at_rest(const struct instance *in)
{
    (void)in;
    return true;
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    (void)in;
    (void)when_ms;
}

/* ---- what a test does ---- */

static void set_document(const char *text)
{
    struct error err = {0};
    struct document *d = document_new("a file", text, strlen(text), NULL, &err);
    ck_assert_msg(d != NULL, "%s", err.message);
    configuration_set(w.c, d);
    document_unref(d);
}

static void read_it(void)
{
    w.in.engine->ops->read(w.in.engine->self);
    w.in.engine->ops->concluded(w.in.engine->self);
}

static void on_event(void *arg, const struct configuration_event *e)
{
    (void)arg;
    w.told[e->kind]++;
}

static void world_begin_as(enum configuration_drift drift, bool dry_run)
{
    struct error err = {0};
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    char name[] = "/tmp/test_target.XXXXXX";
    w.log = (struct log){.level = LOG_LEVEL_INFO, .fd = mkstemp(name)};
    ck_assert_int_ge(w.log.fd, 0);
    unlink(name);
    w.store = store_new(NULL, NULL, &err);
    w.in.file = mem_strdup("global\n");
    const struct configuration_options options = {.target_count = 1,
                                                  .drift = drift,
                                                  .dry_run = dry_run,
                                                  .store = w.store,
                                                  .listener = {.happened = on_event},
                                                  .log = &w.log};
    w.c = configuration_new(NULL, &options);
    w.in.engine = configuration_engine(w.c, 0);
    w.in.engine->ops->attach(w.in.engine->self, &w.in);
    set_document(DOCUMENT);
    read_it();
}

static void world_begin(enum configuration_drift drift)
{
    world_begin_as(drift, false);
}

static void world_end(void)
{
    configuration_free(w.c);
    store_free(w.store);
    free(w.in.file);
    cfg_content_unref(file_content);
    file_content = NULL;
    close(w.log.fd);
}

static bool would_ask(void)
{
    struct engine_wants wants = {0};
    w.in.engine->ops->decide(w.in.engine->self, &wants);
    ck_assert(wants.replacement != wants.waits);
    return wants.replacement;
}

/* It asks, and gets that: status 0 is no answer. */
static void ask(enum transaction_result result, int status, int64_t retry_after_ms)
{
    struct replacement_request request = {0};
    struct replacement r;
    ck_assert(would_ask());
    w.in.engine->ops->replace(w.in.engine->self, &request);
    replacement_init(&r);
    r.result = result;
    r.retry_after_ms = retry_after_ms;
    if (status == 0)
        (void)error_set(&r.error, ERROR_RETRY, "no answer");
    else if (status >= 300)
        (void)error_set_http(&r.error, status, "status %d", status);
    w.in.engine->ops->replaced(w.in.engine->self, &r);
    replacement_fini(&r);
}

/* In how many ms it is asked again; by a reading each second, as the instance has them. */
static uint64_t asked_after(bool readable)
{
    uint64_t begin = clock_mono_ms();
    for (; !would_ask(); w.now_us += 1000000) {
        ck_assert_uint_lt(clock_mono_ms() - begin, 3600000);
        uint64_t due = w.in.engine->ops->due(w.in.engine->self, clock_mono_ms());
        ck_assert_msg(due > clock_mono_ms(), "nothing would wake it");
        if (readable)
            read_it();
    }
    return clock_mono_ms() - begin;
}

static const char *failure(void)
{
    return configuration_view(w.c, 0).failure;
}

/* ---- pauses ---- */

START_TEST(what_the_api_answers_is_asked_again_with_growing_pauses)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) {
        ask(TRANSACTION_UNAVAILABLE, 503, -1);
        ck_assert_str_eq(failure(), "DataplaneServerError");
        ck_assert_uint_gt(configuration_view(w.c, 0).next_try_ms, clock_mono_ms());
        read_it();
        ck_assert(configuration_view(w.c, 0).away); /* the others do not wait for it */
        uint64_t pause = asked_after(true);
        ck_assert_msg(pause >= 30000 && pause <= 301000 && pause > last, "pause %d is %llu", i,
                      (unsigned long long)pause);
        last = pause;
    }
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert_ptr_null(failure());
    ck_assert(would_ask()); /* to write it */
    ask(TRANSACTION_UNAVAILABLE, 500, -1);
    ck_assert_uint_le(asked_after(true), 31000);
    ask(TRANSACTION_COMMITTED, 201, -1);
    ck_assert_ptr_null(failure());
    ck_assert_uint_eq(w.told[CONFIGURATION_VALIDATING], 5);
    ck_assert_uint_eq(w.told[CONFIGURATION_WRITING], 2);
    world_end();
}
END_TEST

START_TEST(new_bytes_and_an_operator_end_a_pause)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            ask(TRANSACTION_UNAVAILABLE, 503, -1);
            if (k < 2)
                (void)asked_after(true);
        }
        ck_assert(!would_ask());
        if (i == 0)
            set_document(DOCUMENT "defaults d\n");
        else
            w.in.engine->ops->refresh(w.in.engine->self);
        ck_assert(would_ask());
        ck_assert_ptr_null(failure());
    }
    ask(TRANSACTION_UNAVAILABLE, 503, -1);
    ck_assert_uint_le(asked_after(true), 31000);
    world_end();
}
END_TEST

START_TEST(retry_after_holds_for_new_bytes_too)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    ask(TRANSACTION_LIMIT, 429, 100000);
    ck_assert_str_eq(failure(), "RateLimited");
    set_document(DOCUMENT "defaults d\n");
    ck_assert(!would_ask());
    ck_assert_uint_eq(asked_after(true), 100000);
    ask(TRANSACTION_LIMIT, 429, 100000);
    w.in.engine->ops->refresh(w.in.engine->self);
    ck_assert(would_ask());
    world_end();
}
END_TEST

START_TEST(an_api_that_is_back_is_asked_at_once)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    ask(TRANSACTION_UNAVAILABLE, 0, -1);
    ck_assert_str_eq(failure(), "ConnectionError");
    ck_assert(!would_ask());
    read_it(); /* one lost answer */
    ask(TRANSACTION_UNAVAILABLE, 0, -1);
    read_it();
    ck_assert(!would_ask());
    w.in.engine->ops->read_failed(w.in.engine->self);
    ck_assert(!would_ask());
    ck_assert(configuration_view(w.c, 0).away);
    read_it();
    ck_assert(would_ask());
    ck_assert(!configuration_view(w.c, 0).away);
    world_end();
}
END_TEST

START_TEST(what_cannot_be_read_has_a_class)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    (void)error_set_http(&w.in.problem, 401, "no");
    ck_assert_ptr_null(failure());
    w.in.engine->ops->read_failed(w.in.engine->self);
    ck_assert_str_eq(failure(), "AuthError");
    ck_assert_uint_eq(configuration_view(w.c, 0).next_try_ms, 0);
    world_end();
}
END_TEST

START_TEST(conflicts_are_tried_again_at_once)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    for (int i = 0; i < 3; i++)
        ask(TRANSACTION_CONFLICT, 409, -1);
    ck_assert(would_ask());
    ask(TRANSACTION_CONFLICT, 409, -1);
    ck_assert_str_eq(failure(), "ConflictError");
    ck_assert_uint_ge(asked_after(true), 30000);
    world_end();
}
END_TEST

/* ---- files ---- */

static bool would_store(void)
{
    struct engine_wants wants = {0};
    w.in.engine->ops->decide(w.in.engine->self, &wants);
    return wants.storage;
}

/* It stores that part next, and gets that. */
static void stores(enum storage_part part, const struct storage *s)
{
    struct storage_request request = {0};
    ck_assert(would_store());
    w.in.engine->ops->store(w.in.engine->self, &request);
    ck_assert_int_eq((int)request.part, (int)part);
    ck_assert_uint_eq(request.files->count, 1);
    w.in.engine->ops->stored(w.in.engine->self, s);
}

static const struct storage stored = {.result = TRANSACTION_COMMITTED, .retry_after_ms = -1};
static const struct storage added = {.result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .changed = true};

static void set_document_with_file(void)
{
    struct error err = {0};
    struct storage_files files = {0};
    ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, "a.map", "a 1\n", 4, &err), 0);
    struct document *d = document_new("a file", DOCUMENT, strlen(DOCUMENT), &files, &err);
    ck_assert_msg(d != NULL, "%s", err.message);
    configuration_set(w.c, d);
    document_unref(d);
}

static void apply_with_file(void)
{
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    ck_assert_uint_eq(w.told[CONFIGURATION_STORED], 0); /* a map alone */
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ask(TRANSACTION_COMMITTED, 201, -1);
    free(w.in.file);
    w.in.file = mem_strdup(DOCUMENT);
    read_it();
    stores(STORAGE_END, &stored);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "applied");
    ck_assert(!would_store());
}

START_TEST(files_that_another_writer_changes)
{
    static const char *const states[] = {[CONFIGURATION_DRIFT_REPORT] = "drifted",
                                         [CONFIGURATION_DRIFT_REPAIR] = "new",
                                         [CONFIGURATION_DRIFT_IGNORE] = "applied"};
    const struct storage differs = {
        .result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .differing = 2, .differs = (char[]){"maps/a.map"}};
    world_begin((enum configuration_drift)_i);
    apply_with_file();
    for (int i = 0; i < 2; i++) {
        w.in.engine->ops->resync(w.in.engine->self);
        stores(STORAGE_CHECK, &differs);
        ck_assert_str_eq(configuration_view(w.c, 0).state, states[_i]);
        if (_i == CONFIGURATION_DRIFT_REPAIR) {
            stores(STORAGE_ADD, &added);
            ask(TRANSACTION_PREVIEWED, 202, -1);
            world_end();
            return;
        }
        ck_assert(!would_store());
        read_it(); /* of haproxy.cfg, which is as it was */
        ck_assert_str_eq(configuration_view(w.c, 0).state, states[_i]);
    }
    bool said = _i == CONFIGURATION_DRIFT_REPORT;
    ck_assert_uint_eq(log_count(w.log.fd, "files of the configuration were changed by another writer"), said);
    const char *why = configuration_view(w.c, 0).reason;
    ck_assert(!said || str_eq(why, "another writer changed files of the configuration: maps/a.map and others"));
    w.in.engine->ops->resync(w.in.engine->self);
    stores(STORAGE_CHECK, &stored);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "applied");
    ck_assert_ptr_null(configuration_view(w.c, 0).reason);
    world_end();
}
END_TEST

START_TEST(a_file_that_cannot_be_stored_is_tried_again)
{
    struct storage failed = {.result = TRANSACTION_UNAVAILABLE, .retry_after_ms = -1};
    (void)error_set_http(&failed.error, 503, "no room");
    world_begin(CONFIGURATION_DRIFT_REPORT);
    set_document_with_file();
    stores(STORAGE_ADD, &failed);
    ck_assert_str_eq(failure(), "DataplaneServerError");
    ck_assert(!would_store());
    ck_assert_uint_eq(w.told[CONFIGURATION_NOT_STORED], 1);
    w.now_us += 31000000;
    struct storage some = stored;
    some.certificates = 1;
    stores(STORAGE_ADD, &some);
    ck_assert_ptr_null(failure());
    ck_assert_uint_eq(w.told[CONFIGURATION_STORED], 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_NOT_STORED], 1);
    world_end();
}
END_TEST

START_TEST(files_of_what_is_rejected_go_back)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    ask(TRANSACTION_REJECTED, 400, -1);
    stores(STORAGE_BACK, &stored);
    ck_assert(!would_store());
    w.in.engine->ops->refresh(w.in.engine->self);
    stores(STORAGE_ADD, &added);
    world_end();
}
END_TEST

/* Where nothing may be written, HAProxy would refuse what refers to files that it does not have yet. */
START_TEST(files_are_looked_at_where_nothing_may_be_written)
{
    static const char missing[] = "HAProxy does not have its files as it has them, and nothing may be written";
    const struct storage differs = {
        .result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .differing = 1, .differs = (char[]){"maps/a.map"}};
    bool dry_run = _i == 1;
    world_begin_as(CONFIGURATION_DRIFT_REPAIR, dry_run);
    configuration_pause(w.c, !dry_run);
    set_document_with_file();
    for (int i = 0; i < 2; i++) {
        stores(STORAGE_CHECK, &differs);
        ck_assert_str_eq(configuration_view(w.c, 0).state, "new");
        const char *why = configuration_view(w.c, 0).reason;
        ck_assert_msg(strstr(why, missing) != NULL && strstr(why, dry_run ? "(DRY_RUN): maps/a.map" : "(it is paused)"),
                      "%s", why);
        ck_assert(!would_ask() && !would_store());
        w.in.engine->ops->resync(w.in.engine->self);
    }
    ck_assert_uint_eq(log_count(w.log.fd, "configuration cannot be validated yet"), 1);
    stores(STORAGE_CHECK, &stored); /* another writer has put them there */
    ck_assert_ptr_null(configuration_view(w.c, 0).reason);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "valid");
    ck_assert(!would_store());
    world_end();
}
END_TEST

START_TEST(files_that_were_missing_are_added_after_a_pause)
{
    const struct storage differs = {
        .result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .differing = 1, .differs = (char[]){"maps/a.map"}};
    world_begin(CONFIGURATION_DRIFT_REPORT);
    configuration_pause(w.c, true);
    set_document_with_file();
    stores(STORAGE_CHECK, &differs);
    configuration_pause(w.c, false);
    stores(STORAGE_ADD, &added);
    ck_assert_ptr_null(configuration_view(w.c, 0).reason);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ask(TRANSACTION_COMMITTED, 201, -1);
    world_end();
}
END_TEST

/* A pause leaves what the document has no more. */
START_TEST(nothing_is_deleted_while_paused)
{
    world_begin(CONFIGURATION_DRIFT_REPORT);
    free(w.in.file);
    w.in.file = mem_strdup(DOCUMENT);
    configuration_pause(w.c, true);
    set_document_with_file();
    stores(STORAGE_CHECK, &stored);
    read_it();
    ck_assert_str_eq(configuration_view(w.c, 0).state, "applied");
    ck_assert(!would_store());
    configuration_pause(w.c, false);
    stores(STORAGE_END, &stored);
    world_end();
}
END_TEST

/* ---- a pause by the source ---- */

START_TEST(drift_is_not_repaired_while_paused)
{
    world_begin(CONFIGURATION_DRIFT_REPAIR);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ask(TRANSACTION_COMMITTED, 201, -1);
    free(w.in.file);
    w.in.file = mem_strdup(DOCUMENT);
    read_it();
    configuration_pause(w.c, true);
    ck_assert(configuration_view(w.c, 0).paused && store_paused(w.store));
    free(w.in.file);
    w.in.file = mem_strdup("global\n");
    read_it();
    ck_assert_str_eq(configuration_view(w.c, 0).state, "drifted");
    ck_assert_uint_eq(log_count(w.log.fd, "it is left so while paused"), 1);
    configuration_pause(w.c, false);
    ck_assert(!configuration_view(w.c, 0).paused && !store_paused(w.store));
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ask(TRANSACTION_COMMITTED, 201, -1);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "written");
    /* what an earlier run said of a pause is over with the first word of the source */
    store_pause(w.store, true);
    configuration_pause(w.c, false);
    ck_assert(!store_paused(w.store));
    world_end();
}
END_TEST

/* ---- drift ---- */

START_TEST(drift_is_logged_by_lines_without_secrets)
{
    static const char *const lines[] = {"section=global line=\"- description other\"",
                                        "section=global line=\"+ description one\"",
                                        "section=\"userlist u\" line=\"- user a insecure-password ***\"",
                                        "section=\"userlist u\" line=\"+ user a insecure-password ***\""};
    world_begin(CONFIGURATION_DRIFT_REPORT);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ask(TRANSACTION_COMMITTED, 201, -1);
    free(w.in.file);
    w.in.file = mem_strdup(DOCUMENT);
    read_it();
    ck_assert_str_eq(configuration_view(w.c, 0).state, "applied");
    free(w.in.file);
    w.in.file = mem_strdup("global\n  description other # hunter3\nuserlist u\n  user a insecure-password hunter4\n");
    read_it();
    ck_assert_str_eq(configuration_view(w.c, 0).state, "drifted");
    for (size_t i = 0; i < array_len(lines); i++)
        ck_assert_msg(log_count(w.log.fd, lines[i]) == 1, "%s", lines[i]);
    ck_assert_uint_eq(log_count(w.log.fd, "hunter"), 0);
    ck_assert_uint_eq(log_count(w.log.fd, "haproxy.cfg differs"), 4);
    read_it(); /* the same is no news */
    ck_assert_uint_eq(log_count(w.log.fd, "haproxy.cfg differs"), 4);
    /* of many lines some */
    struct buf many = {0};
    buf_add(&many, DOCUMENT "frontend f\n");
    for (int i = 0; i < 30; i++)
        buf_printf(&many, "  bind :%d\n", 1000 + i);
    free(w.in.file);
    w.in.file = buf_take(&many);
    log_forget(w.log.fd);
    read_it();
    ck_assert_uint_eq(log_count(w.log.fd, "haproxy.cfg differs"), 20);
    ck_assert_uint_eq(log_count(w.log.fd, "more_lines=11"), 1);
    world_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("target");
    TCase *tc = tcase_create("target");
    tcase_add_test(tc, what_the_api_answers_is_asked_again_with_growing_pauses);
    tcase_add_test(tc, new_bytes_and_an_operator_end_a_pause);
    tcase_add_test(tc, retry_after_holds_for_new_bytes_too);
    tcase_add_test(tc, an_api_that_is_back_is_asked_at_once);
    tcase_add_test(tc, what_cannot_be_read_has_a_class);
    tcase_add_test(tc, conflicts_are_tried_again_at_once);
    tcase_add_loop_test(tc, files_that_another_writer_changes, 0, 3);
    tcase_add_test(tc, a_file_that_cannot_be_stored_is_tried_again);
    tcase_add_test(tc, files_of_what_is_rejected_go_back);
    tcase_add_loop_test(tc, files_are_looked_at_where_nothing_may_be_written, 0, 2);
    tcase_add_test(tc, files_that_were_missing_are_added_after_a_pause);
    tcase_add_test(tc, nothing_is_deleted_while_paused);
    tcase_add_test(tc, drift_is_not_repaired_while_paused);
    tcase_add_test(tc, drift_is_logged_by_lines_without_secrets);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
