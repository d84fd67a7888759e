/* src/configuration/configuration: a document with files, step by step. load() checks that none is loaded with files of
 * another one. */
#include "configuration_world.h"

static void begin_with_files(void)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.with_files = true;
    restart();
    new_document(true);
    passes(5);
    for (size_t i = 0; i < TARGETS; i++) {
        ck_assert_str_eq(state_of(i), "applied");
        ck_assert_uint_eq(w.of[i].map_good, 1);
    }
}

FIXTURE(begin_with_files, stream_end)

TEST(files_wait_as_their_configuration_does)
{
    w.min_interval_ms = 3600000;
    restart();
    passes(5);
    new_document(true);
    passes(5);
    unsigned stores = w.stores;
    new_document(true);
    passes(5);
    ck_assert_str_eq(state_of(0), "new");
    ck_assert_uint_eq(w.stores, stores);
    refresh(); /* an operator need not wait */
    passes(5);
    ck_assert_str_eq(state_of(0), "applied");
    ck_assert_uint_eq(w.of[0].map, 3);
}

/* A bad one comes while it is written, or once it is written: what it began is finished before. */
TEST_EACH(a_newer_one_waits_for_what_is_half_way, 2)
{
    new_document(true);
    cleanup(mem_free_ptr) char *text = mem_strdup(w.text);
    if (_i == 0)
        w.meanwhile = "reject";
    for (unsigned i = 0; i < 20 && _i == 1 && !str_eq(state_of(0), "written"); i++)
        pass();
    if (_i == 1)
        bad_document("reject", 1);
    passes(20);
    ck_assert_str_eq(state_of(1), "rejected");
    for (size_t i = 0; i < TARGETS; i++) {
        ck_assert_str_eq(w.of[i].running, text);
        ck_assert_uint_eq(w.of[i].map, 2);
        ck_assert_uint_eq(w.of[i].map_good, 2);
    }
    ck_assert_str_eq(store_version(w.store, 0)->hash, configuration_view(w.c, 0).runs);
}

/* Written without an answer, and then another HAProxy refuses it: here it is in the file, and so are its files. */
TEST(a_write_without_an_answer_keeps_its_files)
{
    bad_document("harm", 1);
    w.of[0].mute = true;
    passes(20);
    ck_assert_str_eq(state_of(1), "rejected");
    ck_assert_uint_eq(number_of(w.of[0].running), 2);
    ck_assert_uint_eq(w.of[0].map, 2);
    ck_assert_uint_eq(w.of[1].map, 1);
}

/* It was not to be reached when a newer one came, which has to wait or is bad. */
TEST_EACH(what_was_written_is_loaded_whatever_comes, 2)
{
    w.min_interval_ms = _i == 0 ? 3600000 : 0;
    restart();
    passes(5);
    new_document(true);
    cleanup(mem_free_ptr) char *text = mem_strdup(w.text);
    PASS_UNTIL(str_eq(state_of(0), "written"));
    ck_assert_str_eq(w.of[0].file, text);
    for (size_t i = 0; i < TARGETS; i++)
        w.of[i].up = false;
    pass();
    if (_i == 0)
        new_document(true);
    else
        bad_document("reject", 1);
    for (size_t i = 0; i < TARGETS; i++)
        w.of[i].up = true;
    passes(10);
    ck_assert_str_eq(w.of[0].running, text);
    ck_assert_str_eq(configuration_view(w.c, 0).runs, ""); /* who knows with which files */
}

/* Drift that is ignored, of what an earlier run applied. */
TEST(files_of_an_earlier_run_are_there)
{
    w.drift = CONFIGURATION_DRIFT_IGNORE;
    edit(&w.of[0], "global\n  description by-hand\n");
    restart();
    passes(5);
    ck_assert_str_eq(state_of(0), "applied");
    ck_assert_uint_eq(w.of[0].map, 1);
    unsigned stores = w.stores;
    w.of[0].engine->ops->resync(w.of[0].engine->self);
    passes(2);
    ck_assert_uint_eq(w.stores, stores + 1); /* read */
}

/* Its rejection is forgotten when half of its files are taken back. */
TEST(files_that_went_back_are_put_there_again)
{
    bad_document("reject", 1);
    passes(5);
    ck_assert_str_eq(state_of(1), "rejected");
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_uint_eq(w.of[i].map, 1);
    refresh();
    passes(5); /* validate() checks that they are there */
    ck_assert_str_eq(state_of(1), "rejected");
    ck_assert_uint_eq(w.of[0].map, 1);
}
