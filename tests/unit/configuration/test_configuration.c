/* src/configuration/configuration: what becomes of a document, step by step. */
#include "configuration_world.h"

FIXTURE(NULL, stream_end)

/* A restart does not ask again: another version of HAProxy does, and SIGHUP. (validate() checks the rest.) */
TEST(a_rejection_is_remembered)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.text = mem_strdup("global\n  description reject1\n");
    give();
    passes(5);
    ck_assert_str_eq(state_of(1), "rejected");
    restart();
    passes(5);
    ck_assert_str_eq(state_of(1), "rejected");
    ck_assert_str_eq(configuration_view(w.c, 1).reason, "rejected");
    ck_assert_str_eq(state_of(0), "valid");
    ck_assert_uint_eq(w.writes, 0);
    for (int how = 0; how < 2; how++) {
        struct instance *in = &w.of[1];
        if (how == 0)
            upgrade(in);
        else
            refresh();
        passes(5);
        ck_assert_msg(in->rejected != NULL, "it was not asked again");
        ck_assert_str_eq(state_of(1), "rejected");
    }
}

TEST_EACH(what_another_writer_changes, 3)
{
    static const char *const states[] = {[CONFIGURATION_DRIFT_REPORT] = "drifted",
                                         [CONFIGURATION_DRIFT_REPAIR] = "applied",
                                         [CONFIGURATION_DRIFT_IGNORE] = "applied"};
    begin_applied((enum configuration_drift)_i);
    ck_assert_str_eq(state_of(1), "applied");
    for (int with_restart = 0; with_restart < 2; with_restart++) {
        edit(&w.of[1], "global\n  description by-hand\n  maxconn 7\n");
        unsigned writes = w.writes;
        w.drifts = 0;
        if (with_restart)
            restart();
        passes(5);
        bool repairs = w.drift == CONFIGURATION_DRIFT_REPAIR;
        w.of[1].fresh = false; /* a resync: it was said */
        passes(5);
        /* what an earlier run applied is repaired as any other document is applied */
        ck_assert_uint_eq(w.drifts, w.drift == CONFIGURATION_DRIFT_IGNORE || (with_restart && repairs) ? 0 : 1);
        ck_assert_str_eq(state_of(1), states[w.drift]);
        ck_assert_uint_eq(w.writes, writes + (repairs ? 1 : 0));
        ck_assert_int_eq(str_eq(w.of[1].running, w.text), repairs);
        const char *why = configuration_view(w.c, 1).reason;
        ck_assert_msg(w.drift != CONFIGURATION_DRIFT_REPORT || strstr(why, "global: description") != NULL, "%s", why);
        edit(&w.of[1], w.text);
        passes(5);
        ck_assert_str_eq(state_of(1), "applied");
    }
}

TEST(a_rollback_holds_until_the_source_changes)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    ck_assert_int_ne(configuration_rollback(w.c, 1, &flaw), 0);
    new_document(true);
    passes(5);
    cleanup(mem_free_ptr) char *first = mem_strdup(w.text);
    new_document(true);
    passes(5);
    cleanup(mem_free_ptr) char *second = mem_strdup(w.text);
    ck_assert_int_ne(configuration_rollback(w.c, 3, &flaw), 0);
    ck_assert_msg(strstr(flaw.message, "there is no version 3") != NULL, "%s", flaw.message);
    ck_assert_int_eq(configuration_rollback(w.c, 1, &flaw), 0);
    become(&w.text, first);
    passes(5);
    for (int with_restart = 0; with_restart < 2; with_restart++) {
        ck_assert_str_eq(w.of[2].running, first);
        ck_assert_str_eq(state_of(2), "applied");
        ck_assert_uint_eq(configuration_view(w.c, 2).version, 1);
        configuration_free(w.c);
        engine_begin();
        ck_assert_int_ne(configuration_rollback(w.c, 1, &flaw), 0);
        ck_assert_str_eq(flaw.message, "the source was not read yet");
        become(&w.text, second);
        give();
        become(&w.text, first);
        passes(5);
    }
    new_document(true);
    passes(5);
    ck_assert_str_eq(w.of[2].running, w.text);
    ck_assert_uint_eq(configuration_view(w.c, 2).version, 0);
    become(&w.text, second);
    give();
    passes(5);
    ck_assert_str_eq(w.of[2].running, second); /* it was desired again, after something else */
}

/* A writer that changes an object all the time: of the documents that follow one another, none of which could be judged in that time, one is
 * tried to its end every now and then. */
TEST_EACH(one_of_many_is_tried_to_its_end, 2)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    w.min_interval_ms = _i == 0 ? 0 : 2000;
    restart();
    passes(5);
    unsigned writes = w.writes, loads = w.loads;
    for (unsigned i = 0; i < 200; i++) { /* 10 s */
        new_document(true);
        pass_within(50);
    }
    ck_assert_uint_ge(w.writes - writes, 3 * TARGETS);
    ck_assert_uint_ge(w.loads - loads, 3 * TARGETS);
    passes(5);
    all_run(w.text); /* and then the latest */
}

/* One of them is being tried to its end: an operator's rollback is for now. */
TEST(a_rollback_waits_for_none_of_them)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    for (unsigned i = 0; i < 200 && !configuration_view(w.c, 0).overtaken; i++) { /* 10 s */
        pass_within(50);
        new_document(true);
    }
    ck_assert(configuration_view(w.c, 0).overtaken);
    ck_assert_msg(configuration_rollback(w.c, 1, &flaw) == 0, "%s", flaw.message);
    ck_assert_uint_eq(configuration_view(w.c, 0).version, 1);
}

/* It is not in the file, and nothing is to be loaded. */
TEST(what_failed_to_be_written_is_loaded_by_no_later_run)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    for (size_t i = 0; i < w.count; i++)
        w.of[i].fails = true;
    new_document(true);
    unsigned writes = w.writes, loads = w.loads;
    passes(5);
    ck_assert_uint_gt(w.writes, writes);
    become(&w.text, good);
    restart();
    passes(5);
    ck_assert_uint_eq(w.loads, loads);
}

/* What one HAProxy rejects no other gets: the next document need not wait for it. */
TEST(what_was_rejected_keeps_no_other)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    bad_document("reject", 1);
    for (unsigned i = 0; i < 80; i++) { /* 4 s */
        pass_within(50);
        if (i == 40)
            new_document(true);
        else if (i == 39)
            ck_assert_str_eq(state_of(1), "rejected");
    }
    ck_assert_str_eq(state_of(1), "applied");
}

/* The first at once, then the latest. */
TEST(what_follows_too_soon_waits)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.min_interval_ms = 3600000;
    restart();
    new_document(true);
    passes(5);
    ck_assert_str_eq(state_of(0), "applied");
    new_document(true);
    passes(5);
    new_document(true);
    passes(5);
    const struct engine *e = w.of[0].engine;
    ck_assert_str_eq(state_of(0), "new");
    ck_assert_uint_gt(e->ops->due(e->self, 1), 3600000);
    refresh(); /* an operator need not wait */
    passes(5);
    all_run(w.text);
    ck_assert_uint_eq(w.writes, 2 * TARGETS);
}

/* It cost HAProxy no reload. */
TEST(what_follows_a_refusal_does_not_wait)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.min_interval_ms = 3600000;
    restart();
    bad_document("reject", 1);
    passes(5);
    ck_assert_str_eq(state_of(1), "rejected");
    new_document(true);
    passes(5);
    all_are("applied");
}

/* It was written when a bad one came: it is loaded all the same, and said to run. Another writer's file is not it. */
TEST_EACH(what_a_bad_one_supersedes_is_known_to_run, 2)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    new_document(true);
    PASS_UNTIL(str_eq(state_of(0), "written"));
    cleanup(mem_free_ptr) char *hash = mem_strdup(configuration_view(w.c, 0).sha256);
    if (_i == 1)
        edit(&w.of[0], "global\n  description by-hand\n");
    become(&w.text, "global\n  description reject2\n");
    give();
    passes(10);
    ck_assert_str_eq(configuration_view(w.c, 0).runs, _i == 1 ? "" : hash);
    ck_assert_str_eq(configuration_view(w.c, 1).runs, hash);
    ck_assert_str_eq(store_version(w.store, 0)->hash, hash);
}

/* Its write was under way when a bad one came. */
TEST(what_a_bad_one_supersedes_amid_its_write_is_known_to_run)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    new_document(true);
    w.meanwhile = "reject";
    cleanup(mem_free_ptr) char *text = mem_strdup(w.text);
    cleanup(mem_free_ptr) char *hash = mem_strdup(configuration_view(w.c, 0).sha256);
    passes(10);
    ck_assert_str_eq(w.of[0].running, text);
    ck_assert_str_eq(configuration_view(w.c, 0).runs, hash);
    ck_assert_str_eq(state_of(1), "rejected");
}

/* Nobody else put it there: it goes back, whatever was sent after it, and refused. */
TEST(what_cannot_be_loaded_goes_back_after_another_was_refused)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    w.stays = true;
    bad_document("unloadable", 0);
    PASS_UNTIL(says(w.of[0].file, "unloadable", &w.of[0]));
    bad_document("harm", 0);
    PASS_UNTIL(str_eq(state_of(0), "rejected"));
    passes(10);
    ck_assert_str_eq(w.of[0].file, good);
    ck_assert_str_eq(w.of[0].running, good);
}

/* Means the same as what could not be loaded: that it is in the file is no sign that it runs. */
TEST(what_goes_back_is_not_taken_for_the_latest)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    bad_document("unloadable", 0);
    PASS_UNTIL(str_eq(state_of(0), "restoring"));
    cleanup(mem_free_ptr) char *commented = mem_printf("%s# a comment\n", w.text);
    become(&w.text, commented);
    give();
    for (unsigned i = 0; i < 20; i++) {
        pass();
        ck_assert_str_ne(state_of(0), "applied");
        ck_assert_str_ne(state_of(0), "drifted");
    }
    ck_assert_str_eq(state_of(0), "rejected");
    ck_assert_str_eq(w.of[0].running, good);
    ck_assert_str_eq(w.of[0].file, good);
}

/* A writer that changes the file then is not set right by bytes that were rejected. */
TEST(drift_is_not_repaired_with_what_was_rejected)
{
    begin_applied(CONFIGURATION_DRIFT_REPAIR);
    bad_document("reject", 1);
    passes(5);
    unsigned writes = w.writes;
    for (size_t i = 0; i < TARGETS; i++)
        edit(&w.of[i], "global\n  description by-hand\n");
    passes(10);
    ck_assert_uint_eq(w.writes, writes);
    ck_assert_str_eq(state_of(1), "rejected");
}

/* The same text with another map is another document. */
TEST(a_rejection_is_one_of_the_files_too)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    for (int map = 1; map <= 2; map++) {
        struct storage_files files = {0};
        const char *lines = map == 1 ? "a 1\n" : "a 2\n", *text = "global\n  description reject1\n";
        ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, "m.map", lines, 4, &flaw), 0);
        struct document *d = document_new(DOCUMENT_FOR_APIS, "a file", text, strlen(text), NULL, &files, &flaw);
        ck_assert_ptr_nonnull(d);
        ck_assert_ptr_null(store_rejection(w.store, d->id, "http://b", "3.0.1"));
        store_reject(w.store, d->id, "http://b", "3.0.1", "no");
        for (int with_restart = 0; with_restart < 2; with_restart++) {
            if (with_restart)
                restart();
            become(&w.text, text);
            configuration_set(w.c, d);
            passes(5);
            ck_assert_str_eq(state_of(1), "rejected");
            ck_assert_ptr_null(w.of[1].rejected); /* it was not asked */
        }
        document_unref(d);
        free(w.text);
        w.text = NULL;
    }
}

/* Who was started anew knows nothing against the document. */
TEST(a_lost_reload_is_no_rejection)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    new_document(true);
    w.of[1].loses = true;
    for (unsigned i = 0; i < 20; i++) {
        pass();
        ck_assert_msg(str_eq(state_of(1), "valid") || str_eq(state_of(1), "written") || str_eq(state_of(1), "applied"),
                      "%s", state_of(1));
    }
    ck_assert_str_eq(state_of(1), "applied");
    ck_assert_uint_eq(w.loads, TARGETS + 1);
}

/* The daemon is started anew between the write and its reload; then another document comes, or none. */
TEST_EACH(what_an_earlier_run_wrote_and_cannot_be_loaded_goes_back, 8)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.with_files = _i / 2 % 2 == 1;
    w.stays = _i >= 4;
    new_document(true);
    passes(10);
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    bad_document("unloadable", 0);
    PASS_UNTIL(w.of[0].dirty);
    ck_assert_str_eq(w.of[0].file, w.text);
    ck_assert_str_eq(w.of[0].running, good);
    restart();
    if (_i % 2 == 1)
        bad_document("reject", 1);
    passes(20);
    ck_assert_str_eq(w.of[0].file, good);
    ck_assert_str_eq(w.of[0].memory, good);
    ck_assert(!w.of[0].dirty && !w.of[0].loading);
    ck_assert_str_eq(state_of(_i % 2 == 1 ? 1 : 0), "rejected");
}

/* The source has the document from before again, and another one is in the file, which HAProxy has loaded by now. */
TEST(what_an_earlier_run_was_loading_is_no_other_writers)
{
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    new_document(true);
    PASS_UNTIL(w.of[0].dirty);
    w.of[0].dirty = false;
    become(&w.of[0].running, w.of[0].file);
    w.of[0].at++;
    become(&w.text, good);
    restart();
    passes(10);
    ck_assert_uint_eq(w.drifts, 0);
    ck_assert_str_eq(w.of[0].running, good);
    ck_assert_str_eq(state_of(0), "applied");
}

/* What was held against other bytes says nothing of these; but bytes that change all the time do not set the pace. */
TEST(a_new_document_ends_a_pause)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.min_interval_ms = 3600000;
    restart();
    new_document(true);
    uint64_t first_ms = w.of[0].anew_ms;
    ck_assert_uint_gt(first_ms, 0);
    for (unsigned i = 0; i < 3; i++) {
        new_document(true);
        ck_assert_uint_eq(w.of[0].anew_ms, first_ms + 3600000);
    }
    w.min_interval_ms = 0;
}

/* A source is read again and again. */
TEST(what_cannot_be_used_is_said_once)
{
    struct error no = {0}, other = {0};
    (void)error_set(&no, ERROR_INVALID, "a file: it is empty");
    (void)error_set(&other, ERROR_INVALID, "a file: line 2: a NUL character");
    begin_applied(CONFIGURATION_DRIFT_REPORT);
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 3; i++)
            configuration_refuse(w.c, &no);
        ck_assert_uint_eq(w.refusals, (unsigned)round * 2 - 1);
        configuration_refuse(w.c, &other);
        ck_assert_uint_eq(w.refusals, (unsigned)round * 2);
        ck_assert_str_eq(configuration_view(w.c, 0).reason, other.message);
        ck_assert_uint_eq(w.recoveries, (unsigned)round - 1);
        give(); /* it can be used again */
        give();
        ck_assert_uint_eq(w.recoveries, (unsigned)round);
        ck_assert_ptr_null(configuration_view(w.c, 0).reason);
    }
}

/* It is validated meanwhile: the operator who paused it sees whether it could go on. */
TEST(what_is_paused_is_written_nowhere)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    configuration_pause(w.c, true);
    new_document(true);
    passes(20);
    all_are("valid");
    ck_assert_uint_eq(w.writes, 0);
    configuration_pause(w.c, false);
    passes(20);
    all_are("applied");
}

TEST(a_dry_run_validates_and_writes_nothing)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.dry_run = true;
    restart();
    new_document(true);
    passes(10);
    all_are("valid");
    ck_assert_uint_eq(w.writes, 0);
}

/* What one HAProxy is managed by, and the document lacks. */
TEST_EACH(what_would_lock_out_is_written_nowhere, 2)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.allow_lockout = _i == 1;
    become(&w.of[1].file, "global\n  stats socket /run/a.sock level admin\n");
    become(&w.of[1].running, w.of[1].file);
    restart();
    new_document(true);
    passes(20);
    ck_assert_str_eq(state_of(1), w.allow_lockout ? "applied" : "rejected");
    ck_assert_uint_eq(w.writes, w.allow_lockout ? TARGETS : 0);
    const char *why = configuration_view(w.c, 1).reason;
    ck_assert_msg(w.allow_lockout || strstr(why, "stats socket /run/a.sock") != NULL, "%s", why);
    ck_assert_msg(w.allow_lockout || w.of[1].validated == NULL, "it was sent");
}

/* What HAProxy finds and what would lock out are repaired in one go. */
TEST_EACH(a_dry_run_says_all_that_is_wrong, 2)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.dry_run = true;
    become(&w.of[1].file, "global\n  stats socket /run/a.sock level admin\n");
    become(&w.of[1].running, w.of[1].file);
    restart();
    become(&w.text, _i == 0 ? "global\n  description reject1\n" : "global\n  description fine\n");
    give();
    passes(20);
    ck_assert_str_eq(state_of(1), "rejected");
    const char *why = configuration_view(w.c, 1).reason, *lacks = strstr(why, "stats socket /run/a.sock");
    ck_assert_msg(lacks != NULL && str_has_prefix(why, "rejected; and also: ") == (_i == 0), "%s", why);
}

/* All that may answer are waited for, and one that does not is none of them; each text once. */
TEST(what_the_files_have)
{
    cleanup(buf_fini) struct buf text = {0};
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    become(&w.of[2].file, "global\n  description third\n");
    w.of[0].up = w.of[1].up = false;
    target_step(&w.of[0]);
    ck_assert(!configuration_runs(w.c, &text));
    target_step(&w.of[2]);
    ck_assert(!configuration_runs(w.c, &text));
    target_step(&w.of[1]);
    ck_assert(configuration_runs(w.c, &text));
    ck_assert_str_eq(buf_str(&text), "global\n  description third\n\n");
    w.of[0].up = w.of[1].up = true;
    passes(2);
    buf_clear(&text);
    ck_assert(configuration_runs(w.c, &text));
    ck_assert_str_eq(buf_str(&text), "global\n  description first\n\nglobal\n  description third\n\n");
    restart();
    for (size_t i = 0; i < TARGETS; i++) {
        w.of[i].up = false;
        target_step(&w.of[i]);
    }
    ck_assert(!configuration_runs(w.c, &text));
}
