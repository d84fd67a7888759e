/* src/configuration/target: the files of a configuration on their way to one HAProxy. */
#include "target_world.h"

#define TWO "global\n  description two\nuserlist u\n  user a insecure-password hunter2\n"

FIXTURE(world_begin, world_end)

TEST_EACH(files_that_another_writer_changes, 3)
{
    static const char *const states[] = {[CONFIGURATION_DRIFT_REPORT] = "drifted",
                                         [CONFIGURATION_DRIFT_REPAIR] = "new",
                                         [CONFIGURATION_DRIFT_IGNORE] = "applied"};
    struct stored two = differs;
    two.differing = 2;
    world_anew((enum configuration_drift)_i, false);
    apply_with_file();
    for (int i = 0; i < 2; i++) {
        w.in.engine->ops->resync(w.in.engine->self);
        stores(STORAGE_CHECK, &two);
        ck_assert_str_eq(state(), states[_i]);
        if (_i == CONFIGURATION_DRIFT_REPAIR) {
            w.busy = true; /* HAProxy may run something else: it is validated, and loaded */
            stores(STORAGE_ADD, &added);
            ask(TRANSACTION_PREVIEWED, 202, -1);
            return;
        }
        ck_assert(!would_store());
        read_it(); /* of haproxy.cfg, which is as it was */
        ck_assert_str_eq(state(), states[_i]);
    }
    bool said = _i == CONFIGURATION_DRIFT_REPORT;
    ck_assert_uint_eq(times_logged("files of the configuration were changed by another writer"), said);
    const char *why = configuration_view(w.c, 0).reason;
    ck_assert(!said || str_eq(why, "another writer changed files of the configuration: maps/a.map and others"));
    w.in.engine->ops->resync(w.in.engine->self);
    stores(STORAGE_CHECK, &stored);
    ck_assert_str_eq(state(), "applied");
    ck_assert_ptr_null(configuration_view(w.c, 0).reason);
}

TEST(a_file_that_cannot_be_stored_is_tried_again)
{
    struct stored failed = {.result = TRANSACTION_UNAVAILABLE, .retry_after_ms = -1};
    (void)error_set_http(&failed.error, 503, "no room");
    set_document_with_file();
    stores(STORAGE_ADD, &failed);
    ck_assert_str_eq(failure(), "DataplaneServerError");
    ck_assert(!would_store());
    ck_assert_uint_eq(w.told[CONFIGURATION_NOT_STORED], 1);
    w.now_us += 31000000;
    struct stored some = stored;
    some.certificates = 1;
    stores(STORAGE_ADD, &some);
    ck_assert_ptr_null(failure());
    ck_assert_uint_eq(w.told[CONFIGURATION_STORED], 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_NOT_STORED], 1);
}

/* It waits for the end of the one before, which is a pause away. */
TEST_EACH(another_document_ends_the_pause_before_the_last_of_the_files, 2)
{
    struct stored failed = {.result = TRANSACTION_UNAVAILABLE, .retry_after_ms = _i == 0 ? -1 : 60000};
    (void)error_set_http(&failed.error, 503, "no room");
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    is_written();
    file_is(DOCUMENT);
    stores(STORAGE_END, &failed);
    ck_assert(!would_store());
    set_document_with("a 2\n");
    ck_assert_uint_eq(would_store(), _i == 0); /* else the API itself has asked for it */
    if (_i == 0)
        stores(STORAGE_END, &failed);
    set_document_with("a 2\n");
    ck_assert(!would_store()); /* the same once more */
}

TEST(files_of_what_is_rejected_go_back)
{
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    ask(TRANSACTION_REJECTED, 400, -1);
    stores(STORAGE_BACK, &stored);
    ck_assert(!would_store());
    w.in.engine->ops->refresh(w.in.engine->self);
    stores(STORAGE_ADD, &added);
}

/* What could not go back is not tried again, until files are stored anew. */
TEST(files_that_stayed_go_back_with_those_that_come_after_them)
{
    struct stored stays = stored;
    stays.changed = true;
    world_targets = 2;
    world_anew(CONFIGURATION_DRIFT_REPORT, false);
    world_targets = 1;
    const struct engine *one = w.in.engine, *another = configuration_engine(w.c, 1);
    another->ops->attach(another->self, &w.in);
    another->ops->read(another->self);
    set_document_with_file();
    for (int i = 0; i < 2; i++) {
        w.in.engine = another;
        stores(STORAGE_ADD, &stored);
        w.in.engine = one;
        stores(STORAGE_ADD, &added);
        w.in.engine = another;
        ask(TRANSACTION_REJECTED, 400, -1);
        w.in.engine = one;
        stores(STORAGE_BACK, &stays);
        ck_assert(!would_store());
        another->ops->refresh(another->self);
    }
}

/* A reload for something else, servers of a backend that changed meanwhile, or a restart by others, which only a reading shows. */
TEST_EACH(files_that_were_loaded_before_they_went_back_are_loaded_anew, 5)
{
    struct stored back = stored;
    back.written = _i == 3 ? 0 : 1;
    apply_with_file();
    w.in.loads = 4;
    set_text_with(TWO, "a 2\n");
    w.in.reload = _i == 1 ? RELOAD_PENDING : RELOAD_DONE;
    stores(STORAGE_ADD, &added);
    w.in.reload = RELOAD_DONE;
    if (_i == 2 || _i == 3)
        w.in.loads++;
    set_text_with("global\n  description bad\nuserlist u\n  user a insecure-password hunter2\n", "a 3\n");
    stores(STORAGE_ADD, &added);
    ask(TRANSACTION_REJECTED, 400, -1);
    stores(STORAGE_BACK, &back);
    if (_i == 4)
        w.in.loads++;
    for (int i = 0; i < 2; i++)
        w.in.engine->ops->runtime_read(w.in.engine->self, _i == 4);
    ck_assert_uint_eq(must_reload, _i == 1 || _i == 2 || _i == 4);
}

/* haproxy.cfg is not written for a map, and nothing is validated: HAProxy is sent it, and says whether it has it. */
TEST(a_map_alone_is_sent_to_haproxy)
{
    apply_with_file();
    unsigned writing = w.told[CONFIGURATION_WRITING], validating = w.told[CONFIGURATION_VALIDATING];
    set_document_with("a 2\n");
    stores(STORAGE_ADD, &added);
    ck_assert_str_eq(state(), "written");
    read_it(); /* in between: it does not run yet */
    ck_assert_str_eq(state(), "written");
    stores(STORAGE_RUN, &ran);
    ck_assert_str_eq(state(), "applied");
    stores(STORAGE_END, &stored);
    ck_assert(!would_store());
    ck_assert_uint_eq(must_reload, 0);
    ck_assert_uint_eq(w.told[CONFIGURATION_WRITING], writing + 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_VALIDATING], validating);
}

/* Who else may need the lines that a map loses: the haproxy.cfg from before, a HAProxy that runs something else, another one,
 * those who wait for a canary. */
TEST_EACH(maps_lose_lines_at_once_where_nobody_else_needs_them, 4)
{
    apply_with_file();
    ck_assert(!w.alone); /* STORAGE_END */
    w.in.reload = _i == 2 ? RELOAD_PENDING : RELOAD_DONE;
    if (_i == 3)
        (void)configuration_add(w.c, "another");
    set_text_with(_i == 1 ? TWO : DOCUMENT, "a 2\n");
    stores(STORAGE_ADD, &added);
    ck_assert_int_eq(w.alone, _i == 0);
}

/* Whose weight HAProxy is sent. */
TEST_EACH(maps_lose_no_lines_at_once_beside_a_server, 2)
{
    static const char one[] = DOCUMENT "backend b\n  server s 10.0.0.1:80 weight 1\n";
    static const char two[] = DOCUMENT "backend b\n  server s 10.0.0.1:80 weight 2\n";
    apply_with_file();
    set_text_with(one, "a 1\n");
    stores(STORAGE_ADD, &stored);
    is_written();
    file_is(one);
    stores(STORAGE_END, &stored);
    set_text_with(_i == 0 ? one : two, "a 2\n");
    stores(STORAGE_ADD, &added);
    ck_assert_int_eq(w.alone, _i == 0);
}

TEST_EACH(maps_lose_no_lines_at_once_before_a_canary, 2)
{
    world_canary = (size_t)_i;
    world_anew(CONFIGURATION_DRIFT_REPORT, false);
    world_canary = 0;
    put_into_file(DOCUMENT);
    w.in.loaded = true;
    read_it();
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    ck_assert_int_eq(w.alone, _i == 0);
}

/* What HAProxy did not take from us it is to judge, and to load. */
TEST_EACH(a_map_that_haproxy_does_not_take_is_loaded, 2)
{
    const struct stored not_run = {
        .result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .changed = true, .why = "no such map"};
    struct stored failed = {.result = TRANSACTION_UNAVAILABLE, .retry_after_ms = -1};
    (void)error_set_http(&failed.error, 503, "closed");
    apply_with_file();
    set_document_with("a 2\n");
    stores(STORAGE_ADD, &added);
    stores(STORAGE_RUN, _i == 0 ? &not_run : &failed);
    ck_assert_uint_eq(must_reload, 1);
    ck_assert_str_eq(state(), "new");
    w.now_us += 60000000;
    is_written();
    ck_assert(!would_store()); /* it is loaded now */
    read_it();
    ck_assert_str_eq(state(), "applied");
}

/* HAProxy did not take a server with the write, and was reloaded at once: it has a map that is to lose lines yet. */
TEST(a_reload_that_comes_before_a_map_has_lost_its_lines)
{
    struct stored grown = added;
    grown.unfinished = true;
    apply_with_file();
    set_text_with(TWO, "a 2\n");
    stores(STORAGE_ADD, &grown);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    w.busy = true;
    ask(TRANSACTION_COMMITTED, 201, -1);
    w.busy = false;
    file_is(TWO);
    ck_assert_str_eq(state(), "written");
    stores(STORAGE_FINAL, &added);
    read_it();
    ck_assert_str_eq(state(), "written");
    stores(STORAGE_RUN, &ran);
    ck_assert_str_eq(state(), "applied");
    stores(STORAGE_END, &stored);
    ck_assert(!would_store());
    ck_assert_uint_eq(must_reload, 0);
}

/* Where nothing may be written, HAProxy would refuse what refers to files that it does not have yet. */
TEST_EACH(files_are_read_where_nothing_may_be_written, 2)
{
    static const char missing[] = "HAProxy has other files than the configuration, and nothing may be written";
    bool dry_run = _i == 1;
    world_anew(CONFIGURATION_DRIFT_REPAIR, dry_run);
    configuration_pause(w.c, !dry_run);
    set_document_with_file();
    for (int i = 0; i < 2; i++) {
        stores(STORAGE_CHECK, &differs);
        ck_assert_str_eq(state(), "new");
        const char *why = configuration_view(w.c, 0).reason;
        ck_assert_msg(strstr(why, missing) != NULL && strstr(why, dry_run ? "(DRY_RUN): maps/a.map" : "(it is paused)"),
                      "%s", why);
        ck_assert(!would_ask() && !would_store());
        w.in.engine->ops->resync(w.in.engine->self);
    }
    ck_assert_uint_eq(times_logged("configuration cannot be validated yet"), 1);
    stores(STORAGE_CHECK, &stored); /* another writer has put them there */
    ck_assert_ptr_null(configuration_view(w.c, 0).reason);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert_str_eq(state(), "valid");
    ck_assert(!would_store());
}

TEST(files_that_were_missing_are_added_after_a_pause)
{
    configuration_pause(w.c, true);
    set_document_with_file();
    stores(STORAGE_CHECK, &differs);
    configuration_pause(w.c, false);
    stores(STORAGE_ADD, &added);
    ck_assert_ptr_null(configuration_view(w.c, 0).reason);
    is_written();
}

/* A pause leaves what the document has no more. */
TEST(nothing_is_deleted_while_paused)
{
    put_into_file(DOCUMENT);
    configuration_pause(w.c, true);
    set_document_with_file();
    stores(STORAGE_CHECK, &stored);
    read_it();
    ck_assert_str_eq(state(), "applied");
    ck_assert(!would_store());
    configuration_pause(w.c, false);
    stores(STORAGE_END, &stored);
}

/* HAProxy has half of its files. */
TEST(files_go_back_amid_a_pause)
{
    struct stored failed = {.result = TRANSACTION_UNAVAILABLE, .retry_after_ms = -1};
    (void)error_set_http(&failed.error, 503, "no room");
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    ask(TRANSACTION_REJECTED, 400, -1);
    stores(STORAGE_BACK, &failed);
    ck_assert_str_eq(failure(), "DataplaneServerError");
    stores(STORAGE_BACK, &stored);
}

/* Whatever is read meanwhile: it is neither written nor unchanged before the verdict. */
TEST_EACH(files_that_cannot_be_sent_are_validated_and_loaded, 2)
{
    struct stored refused = added;
    refused.why = "maps/a.map: HAProxy says: no";
    world_anew(CONFIGURATION_DRIFT_REPAIR, false);
    apply_with_file();
    w.in.engine->ops->resync(w.in.engine->self);
    stores(STORAGE_CHECK, &differs);
    stores(STORAGE_ADD, &added);
    w.busy = _i == 1;
    stores(STORAGE_RUN, _i == 0 ? &stored : &refused);
    if (_i == 0) {
        ck_assert_str_eq(state(), "applied");
        stores(STORAGE_END, &stored);
    } else {
        read_it();
        ck_assert_str_eq(state(), "new");
        is_written();
        ck_assert_str_eq(state(), "written");
    }
    ck_assert_uint_eq(times_logged("files take a reload"), _i == 1);
    ck_assert_uint_eq(times_logged(refused.why), _i == 1);
}
