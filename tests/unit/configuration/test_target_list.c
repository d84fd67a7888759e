/* src/configuration/configuration: HAProxies that come and go while a document stands. */
#include "configuration_world.h"

#include "report/checks.h"

static void begin(bool with_files)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.with_files = with_files;
    w.more = SERVES;
    restart();
    leave(&w.of[2]);
    new_document(true);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[0].running, w.text);
    ck_assert_str_eq(w.of[1].running, w.text);
}

/* The first two have it, and nothing was sent to them since. */
static void others_are_left_alone(const char *text, unsigned reloads)
{
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(state_of(i), "applied");
        ck_assert_str_eq(w.of[i].running, text);
        ck_assert_uint_eq(w.of[i].reloads, reloads);
    }
}

FIXTURE(NULL, stream_end)

TEST_EACH(one_that_comes_gets_the_document_alone, 2)
{
    begin(_i == 1);
    unsigned reloads = w.of[0].reloads, writes = w.writes;
    come(&w.of[2]);
    ck_assert_str_eq(state_of(2), "new");
    ck_assert(configuration_view(w.c, 2).joins);
    passes(ENOUGH);
    ck_assert_str_eq(state_of(2), "applied");
    ck_assert_str_eq(w.of[2].running, w.text);
    ck_assert(!configuration_view(w.c, 2).joins);
    ck_assert_uint_eq(w.writes, writes + 1);
    ck_assert_uint_eq(w.of[2].map_running, w.with_files ? w.documents : 0);
    others_are_left_alone(w.text, reloads);
}

/* With these words of a document. */
static void bad_for_the_new_one(const char *word, enum configuration_rollback_policy policy)
{
    begin(false);
    w.rollback = policy;
    restart();
    passes(ENOUGH);
    bad_document(word, 2);
    for (unsigned i = 0; i < ENOUGH && !(str_eq(state_of(0), "applied") && str_eq(state_of(1), "applied")); i++)
        pass_within(100);
    come(&w.of[2]); /* while the others are watched still: all would go back */
    for (unsigned i = 0; i < ENOUGH && configuration_view(w.c, 2).status != STATUS_PROBLEM; i++)
        pass_within(200);
}

TEST_EACH(what_it_finds_bad_stays_where_it_runs, 5)
{
    static const char *const words[] = {"reject", "harm", "unloadable", "dying", "missing"};
    bad_for_the_new_one(words[_i], CONFIGURATION_ROLLBACK_SERVING);
    unsigned reloads = w.of[0].reloads;
    ck_assert(!store_is_proven(w.store, configuration_view(w.c, 0).sha256));
    passes(ENOUGH);
    others_are_left_alone(w.text, reloads);
    ck_assert_str_eq(state_of(2), _i < 3 ? "rejected" : "applied");
    ck_assert(configuration_view(w.c, 2).joins);
    ck_assert_int_eq(configuration_view(w.c, 2).status, STATUS_PROBLEM);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 0);
    ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], _i >= 3);
    ck_assert(store_good(w.store, "another") != 0); /* proven without it */
}

/* The latest is rejected by another one: it gets the one that ran last, and the next one with them. _i: 1: with files. */
TEST_EACH(one_that_comes_while_the_latest_is_rejected_gets_the_last_that_ran, 2)
{
    begin(_i == 1);
    cleanup(mem_free_ptr) char *ran = mem_strdup(w.text);
    unsigned reloads = w.of[0].reloads;
    bad_document("reject", 0);
    passes(ENOUGH);
    ck_assert_str_eq(state_of(0), "rejected");
    unsigned told = w.told[CONFIGURATION_APPLIED];
    come(&w.of[2]);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[2].running, ran);
    ck_assert(configuration_view(w.c, 2).former && configuration_view(w.c, 2).joins);
    ck_assert_str_eq(state_of(2), "applied");
    ck_assert_str_ne(configuration_view(w.c, 2).sha256, configuration_view(w.c, 0).sha256);
    ck_assert_uint_eq(w.told[CONFIGURATION_APPLIED], told); /* of the latest nothing was */
    cleanup(checks_fini) struct checks checks = {0};
    ck_assert(!configuration_ready(w.c, NULL, &checks));
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(w.of[i].running, ran);
        ck_assert_uint_eq(w.of[i].reloads, reloads);
    }
    new_document(true);
    passes(ENOUGH);
    for (size_t i = 0; i < TARGETS; i++) {
        ck_assert_str_eq(w.of[i].running, w.text);
        ck_assert(!configuration_view(w.c, i).former && !configuration_view(w.c, i).joins);
    }
}

/* It rejects that one, too: it gets none, and is not asked again. */
TEST(one_that_rejects_the_last_that_ran_gets_none)
{
    begin(false);
    bad_document("reject", 2);
    passes(ENOUGH);
    cleanup(mem_free_ptr) char *ran = mem_strdup(w.text);
    ck_assert_str_eq(w.of[0].running, ran);
    bad_document("reject", 0);
    passes(ENOUGH);
    come(&w.of[2]);
    passes(ENOUGH);
    ck_assert_str_ne(w.of[2].running, ran);
    unsigned validations = w.validations;
    passes(ENOUGH);
    ck_assert_uint_eq(w.validations, validations);
}

/* It rejected the one that runs elsewhere when another came meanwhile, which is rejected, too: it gets none. The model fails
 * where it is asked again. */
TEST(what_it_rejects_while_another_comes_is_known)
{
    begin(false);
    bad_document("reject", 2);
    passes(ENOUGH);
    cleanup(mem_free_ptr) char *ran = mem_strdup(w.text);
    come(&w.of[2]);
    w.meanwhile = "reject";
    w.meanwhile_checks = true;
    passes(ENOUGH);
    ck_assert_str_eq(state_of(1), "rejected");
    ck_assert_ptr_nonnull(w.of[2].rejected);
    ck_assert_str_eq(w.of[2].rejected, ran);
    ck_assert_str_ne(w.of[2].running, ran);
}

/* The last that ran is written to it, and not loaded, when an operator asks for the latest again. The model fails where it is
 * loaded beside the files of another. */
TEST(what_is_half_way_to_it_is_loaded_first)
{
    begin(true);
    cleanup(mem_free_ptr) char *ran = mem_strdup(w.text);
    bad_document("reject", 1);
    passes(ENOUGH);
    come(&w.of[2]);
    PASS_UNTIL(str_eq(w.of[2].file, ran));
    ck_assert(w.of[2].dirty);
    refresh();
    passes(ENOUGH);
    ck_assert_str_eq(w.of[2].running, ran);
    ck_assert_uint_eq(w.of[2].map, number_of(ran));
}

/* The latest is the only one that ran, and went back where it did. */
TEST(one_that_comes_gets_none_that_went_back)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.more = SERVES;
    w.rollback = CONFIGURATION_ROLLBACK_SERVING;
    restart();
    leave(&w.of[2]);
    bad_document("dying", 0);
    passes(ENOUGH);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 1);
    ck_assert_str_ne(w.of[1].running, w.text);
    ck_assert_uint_eq(store_count(w.store), 1);
    come(&w.of[2]);
    passes(ENOUGH);
    ck_assert_str_ne(w.of[2].running, w.text);
    ck_assert(!configuration_view(w.c, 2).former);
}

/* Nor does it count in what comes after. */
TEST_EACH(one_that_never_did_well_holds_no_document_up, 2)
{
    begin(_i == 1);
    restart();
    passes(ENOUGH);
    come(&w.of[2]);
    w.of[2].up = false;
    new_document(true);
    passes(ENOUGH);
    for (size_t i = 0; i < 2; i++)
        ck_assert_str_eq(w.of[i].running, w.text);
    w.of[2].up = true;
    bad_document("reject", 2);
    passes(ENOUGH);
    for (size_t i = 0; i < 2; i++)
        ck_assert_str_eq(w.of[i].running, w.text);
    ck_assert_str_eq(state_of(2), "rejected");
    new_document(true);
    passes(ENOUGH);
    all_run(w.text);
}

/* The others wait for one that has half of a document with files; for none that is gone. */
TEST(one_that_goes_half_way_holds_nothing_up)
{
    begin(true);
    come(&w.of[2]);
    passes(ENOUGH);
    new_document(true);
    PASS_UNTIL(str_eq(state_of(1), "written"));
    const char *sha256 = configuration_view(w.c, 0).sha256;
    new_document(true);
    ck_assert_ptr_eq(configuration_view(w.c, 0).sha256, sha256); /* it waits */
    for (size_t i = 0; i < TARGETS; i++)
        leave(&w.of[i]);
    come(&w.of[0]);
    ck_assert_uint_eq(w.of[0].number, 0);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[0].running, w.text);
    ck_assert(!configuration_view(w.c, 0).joins); /* none was there that had it */
}

TEST(the_next_document_waits_for_none_that_is_gone)
{
    begin(true);
    new_document(true);
    PASS_UNTIL(str_eq(state_of(1), "written"));
    w.of[1].hangs = true;
    passes(ENOUGH);
    cleanup(mem_free_ptr) char *before = mem_strdup(w.text);
    new_document(true);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[0].running, before);
    leave(&w.of[1]);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[0].running, w.text);
}

/* The answer comes when nobody asks any more, and its number is another one's. */
TEST(an_answer_that_comes_too_late_is_nobodys)
{
    begin(false);
    come(&w.of[2]);
    passes(ENOUGH);
    unsigned applied = w.told[CONFIGURATION_APPLIED];
    w.of[1].leaves = LEAVES_AMID_WRITE;
    bad_document("harm", 1);
    PASS_UNTIL(w.of[1].gone);
    ck_assert(w.of[1].gone);
    come(&w.of[1]);
    ck_assert_str_eq(state_of(1), "new");
    w.of[1].up = false;
    passes(ENOUGH);
    ck_assert_str_eq(state_of(0), "applied");
    ck_assert_str_eq(state_of(2), "applied");
    ck_assert_uint_eq(w.told[CONFIGURATION_REJECTED], 0);
    ck_assert_uint_eq(w.told[CONFIGURATION_APPLIED], applied + 2);
}

TEST(another_one_is_watched_first_where_that_one_goes)
{
    begin(false);
    w.canary = 1;
    restart();
    passes(ENOUGH);
    come(&w.of[2]);
    passes(ENOUGH);
    new_document(true);
    PASS_UNTIL(str_eq(state_of(0), "applied"));
    ck_assert_str_eq(configuration_view(w.c, 0).canary, "watched");
    unsigned passed = w.told[CONFIGURATION_CANARY_PASSED];
    leave(&w.of[0]);
    come(&w.of[0]); /* which waits as others do */
    for (unsigned i = 0; i < ENOUGH && w.told[CONFIGURATION_CANARY_PASSED] == passed; i++) {
        pass();
        if (w.told[CONFIGURATION_CANARY_PASSED] == passed)
            ck_assert(!str_eq(w.of[0].running, w.text) && !str_eq(w.of[2].running, w.text));
    }
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], passed + 1);
    ck_assert_str_eq(w.of[1].running, w.text);
    passes(ENOUGH);
    all_run(w.text);
}

/* What it is remembered by goes with it: one with the same URL has nothing yet. */
TEST(nothing_is_remembered_of_one_that_is_gone)
{
    begin(false);
    for (unsigned round = 0; round < 3; round++) {
        ck_assert_uint_eq(configuration_add(w.c, "pod"), 2);
        w.of[2].engine = configuration_engine(w.c, 2);
        w.of[2].gone = false;
        w.of[2].engine->ops->attach(w.of[2].engine->self, &w.of[2]);
        passes(ENOUGH);
        const struct store_version *v = store_version(w.store, 0);
        ck_assert_uint_eq(v->target_count, 3);
        ck_assert_str_eq(v->targets[2], "pod");
        leave(&w.of[2]);
        pass();
        ck_assert_uint_eq(v->target_count, 2);
        if (round == 1)
            edit(&w.of[2], "global\n  description first\n"); /* no other writer's */
        w.of[2].fresh = false;
    }
    ck_assert_uint_eq(w.drifts, 0);
}

/* Its reload is none that the next document is too soon after. */
TEST(it_keeps_no_document_waiting_for_an_interval)
{
    begin(false);
    w.min_interval_ms = 3600000;
    restart();
    passes(ENOUGH);
    come(&w.of[2]);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[2].running, w.text);
    new_document(true);
    passes(3);
    ck_assert_str_eq(w.of[0].running, w.text);
}

/* Written by a run that ended before its load, which fails; nothing ran before that the daemon knows, and the API has put back what it
 * loaded last. */
TEST(what_an_api_put_back_stays_where_nothing_else_is_known)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    cleanup(mem_free_ptr) char *first = mem_strdup(w.of[0].file);
    bad_document("unloadable", 0);
    PASS_UNTIL(str_eq(w.of[0].file, w.text));
    restart();
    passes(ENOUGH);
    ck_assert_str_eq(w.of[0].file, first);
    ck_assert_str_eq(w.of[0].memory, first);
    ck_assert_str_eq(state_of(0), "rejected");
}
