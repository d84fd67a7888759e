/* src/configuration/turns and succession: who gets a document first, and what goes back by itself. */
#include "configuration_world.h"

#include "configuration/probation.h"

static char *good; /* what was proven first */

static void begin(size_t canary, enum configuration_rollback_policy policy)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.canary = canary;
    w.rollback = policy;
    w.more = SERVES;
    restart();
    new_document(true);
    passes(ENOUGH);
    good = mem_strdup(w.text);
    all_run(good);
    ck_assert(store_good(w.store, "another") != 0);
}

static void end(void)
{
    free(good);
    good = NULL;
    stream_end();
}

static size_t running(const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < TARGETS; i++)
        count += str_eq(w.of[i].running, text);
    return count;
}

static void all_run_good(void)
{
    all_run(good);
    all_are("applied");
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(w.of[i].file, good);
}

FIXTURE(NULL, end)

TEST_EACH(the_first_ones_are_watched_before_the_others_get_it, 2)
{
    size_t canary = (size_t)_i + 1, most = 0;
    begin(canary, CONFIGURATION_ROLLBACK_AUTO);
    unsigned before = w.told[CONFIGURATION_CANARY_PASSED];
    new_document(true);
    for (unsigned i = 0; i < ENOUGH; i++) {
        pass();
        if (w.told[CONFIGURATION_CANARY_PASSED] == before)
            most = running(w.text) > most ? running(w.text) : most;
        if (w.told[CONFIGURATION_CANARY_PASSED] == before && running(w.text) == canary) {
            ck_assert_str_eq(configuration_view(w.c, 0).canary, "watched");
            ck_assert_str_eq(configuration_view(w.c, canary).canary, "waits");
            ck_assert_uint_eq(configuration_waiting_for_canary(w.c), TARGETS - canary);
        }
    }
    ck_assert_uint_eq(most, canary);
    ck_assert_uint_eq(running(w.text), TARGETS);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], before + 1);
    ck_assert_ptr_null(configuration_view(w.c, 0).canary);
    ck_assert_uint_eq(configuration_waiting_for_canary(w.c), 0);
}

/* The daemon starts anew amid the watch. */
TEST(who_has_it_already_is_watched_as_long)
{
    begin(1, CONFIGURATION_ROLLBACK_AUTO);
    unsigned before = w.told[CONFIGURATION_CANARY_PASSED];
    new_document(true);
    PASS_UNTIL(str_eq(state_of(0), "applied"));
    restart();
    PASS_UNTIL(str_eq(state_of(0), "applied"));
    ck_assert_str_eq(configuration_view(w.c, 0).canary, "watched");
    const struct configuration_view v = configuration_view(w.c, 0);
    ck_assert_uint_gt(v.canary_until_ms, (uint64_t)v.runs_since_ms + PROBATION_LEAST_MS);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], before);
    passes(ENOUGH);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], before + 1);
    ck_assert_uint_eq(running(w.text), TARGETS);
}

static const char *const troubles[] = {"missing", "dying", "empty", "unloadable"};

/* The others never had it; what had it goes back, and it is not tried again before an operator asks. */
TEST_EACH(a_canary_that_fails_stops_it, 8)
{
    const char *trouble = troubles[_i % 4];
    bool loads = !str_eq(trouble, "unloadable");
    begin(1, _i < 4 ? CONFIGURATION_ROLLBACK_AUTO : CONFIGURATION_ROLLBACK_SERVING);
    bad_document(trouble, 0);
    for (unsigned i = 0; i < ENOUGH; i++) {
        pass();
        ck_assert(!str_eq(w.of[1].file, w.text) && !str_eq(w.of[2].file, w.text));
    }
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_FAILED], 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], loads);
    ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(running(good), TARGETS);
        ck_assert_int_eq(configuration_is_rolled_back(w.c), loads);
        restart();
        passes(ENOUGH);
    }
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_FAILED], 1);
    refresh();
    for (unsigned i = 0; i < ENOUGH && w.told[CONFIGURATION_CANARY_FAILED] == 1; i++)
        pass();
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_FAILED], 2); /* as bad as before */
    new_document(true);
    passes(ENOUGH);
    ck_assert_uint_eq(running(w.text), TARGETS);
    ck_assert(!configuration_is_rolled_back(w.c));
}

/* One of two does badly: the third one never gets it. */
TEST(all_canaries_have_to_be_good)
{
    begin(2, CONFIGURATION_ROLLBACK_AUTO);
    unsigned before = w.told[CONFIGURATION_CANARY_PASSED];
    bad_document("dying", 1); /* which shows later than that the other one is good */
    bool had = false;
    for (unsigned i = 0; i < ENOUGH; i++) {
        pass();
        had = had || running(w.text) == 2;
        ck_assert(!str_eq(w.of[2].file, w.text));
    }
    ck_assert(had);
    all_run_good();
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], before);
}

TEST(what_was_proven_needs_no_canary)
{
    begin(1, CONFIGURATION_ROLLBACK_AUTO);
    unsigned before = w.told[CONFIGURATION_CANARY_PASSED];
    w.drift = CONFIGURATION_DRIFT_REPAIR;
    restart();
    passes(ENOUGH);
    edit(&w.of[1], "global\n  description by-hand\n");
    passes(ENOUGH);
    all_run_good();
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], before);
}

/* After a watch that ended well, also before the daemon started anew, it is read anew what is served before the next write. */
TEST_EACH(what_an_operator_stopped_is_no_evidence_of_a_repair, 2)
{
    begin(0, CONFIGURATION_ROLLBACK_AUTO);
    w.drift = CONFIGURATION_DRIFT_REPAIR;
    restart();
    passes(ENOUGH);
    if (_i == 0) { /* watched and proven by this run */
        new_document(true);
        passes(ENOUGH);
    }
    cleanup(mem_free_ptr) char *was = mem_strdup(w.text), *edited = mem_printf("%s  maxconn 7\n", was);
    w.stopped = true;
    edit(&w.of[1], edited);
    passes(ENOUGH);
    all_run(was);
    all_are("applied");
    ck_assert_ptr_null(configuration_view(w.c, 1).evidence);
}

/* The last one: servers count where that is asked for. */
TEST_EACH(without_a_canary_all_go_back, 5)
{
    const char *trouble = _i == 4 ? "empty" : troubles[_i];
    begin(0, _i == 4 ? CONFIGURATION_ROLLBACK_SERVING : CONFIGURATION_ROLLBACK_AUTO);
    bad_document(trouble, 1);
    cleanup(mem_free_ptr) char *bad = mem_strdup(w.text);
    bool had = false;
    for (unsigned i = 0; i < ENOUGH; i++) {
        pass();
        had = had || running(bad) == (str_eq(trouble, "unloadable") ? TARGETS - 1 : TARGETS);
    }
    ck_assert(had);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_FAILED], 0);
    if (_i == 2) { /* empty, which AUTO only reports */
        ck_assert_uint_eq(running(bad), TARGETS);
        ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 1);
    } else {
        all_run_good();
        ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 1);
        ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 0);
        const struct configuration_view v = configuration_view(w.c, 1);
        ck_assert_ptr_nonnull(strstr(v.evidence, "target http://b: "));
        ck_assert_ptr_nonnull(v.withdrawn);
        ck_assert_uint_gt(v.version, 0);
        ck_assert_int_eq(v.status, STATUS_PROBLEM);
    }
}

/* The servers died, whichever HAProxy had the document: at a canary, and with all of them. */
TEST_EACH(servers_that_died_are_no_evidence, 2)
{
    begin((size_t)_i, CONFIGURATION_ROLLBACK_SERVING);
    new_document(true);
    for (unsigned i = 0; i < ENOUGH; i++) {
        pass();
        w.servers_died = w.servers_died || running(w.text) > 0;
    }
    ck_assert_uint_eq(running(w.text), TARGETS);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 0);
    ck_assert_uint_gt(w.told[CONFIGURATION_DEGRADED], 0);
}

TEST_EACH(report_puts_nothing_back, 2)
{
    begin((size_t)_i, CONFIGURATION_ROLLBACK_REPORT);
    bad_document("missing", 0);
    passes(ENOUGH);
    ck_assert_uint_eq(running(w.text), _i == 0 ? TARGETS : 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 0);
    ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_FAILED], (unsigned)_i);
    ck_assert_ptr_nonnull(configuration_view(w.c, 0).evidence);
    ck_assert(_i == 0 || str_eq(configuration_view(w.c, 0).canary, "failed"));
    for (unsigned up = 0; up < 2; up++) { /* whatever happens elsewhere */
        w.of[2].up = up != 0;
        w.of[2].fresh = false;
        passes(3);
    }
    ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 1);
    refresh(); /* it is read again */
    passes(ENOUGH);
    ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 2);
    new_document(true);
    ck_assert_ptr_null(configuration_view(w.c, 0).evidence); /* that was the other one's */
}

/* Nothing was proven yet: each gets the file that it had. */
TEST(the_first_one_goes_back_to_the_file)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.rollback = CONFIGURATION_ROLLBACK_AUTO;
    w.more = SERVES;
    restart();
    bad_document("missing", 2);
    passes(ENOUGH);
    for (unsigned again = 0; again < 2; again++) {
        for (size_t i = 0; i < TARGETS; i++) {
            ck_assert_str_eq(w.of[i].running, "global\n  description first\n");
            ck_assert_str_eq(w.of[i].file, "global\n  description first\n");
            ck_assert_str_eq(state_of(i), "rejected");
        }
        restart();
        passes(ENOUGH);
    }
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 1);
    refresh(); /* it is tried again: that its file is another one is nobody else's doing */
    passes(ENOUGH);
    ck_assert_uint_eq(w.drifts, 0);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 2);
    bad_document("missing", 1); /* what went back itself is none to go back to */
    passes(ENOUGH);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 3);
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(w.of[i].running, "global\n  description first\n");
}

/* The others do badly with what the first one does well with: when it is tried again, it is the first one's turn again. */
TEST(what_went_back_to_the_file_passes_anew)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.canary = 1;
    w.rollback = CONFIGURATION_ROLLBACK_AUTO;
    w.more = SERVES;
    restart();
    bad_document("missing", 1);
    passes(2 * ENOUGH);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], 1);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 1);
    all_run("global\n  description first\n");
    refresh();
    PASS_UNTIL(str_eq(w.of[0].running, w.text));
    ck_assert_uint_eq(running(w.text), 1);
    passes(2 * ENOUGH);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_PASSED], 2);
}

/* The files of what was there before are not known: it stays, and that is said. */
TEST(without_its_files_no_file_goes_back)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    w.rollback = CONFIGURATION_ROLLBACK_AUTO;
    w.more = SERVES;
    w.with_files = true;
    restart();
    bad_document("missing", 2);
    passes(ENOUGH);
    ck_assert_uint_eq(running(w.text), TARGETS);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 0);
    ck_assert_uint_eq(w.told[CONFIGURATION_DEGRADED], 1);
}

/* What an operator asks for after it is his. */
TEST(an_operator_takes_over)
{
    begin(0, CONFIGURATION_ROLLBACK_AUTO);
    bad_document("missing", 1);
    passes(ENOUGH);
    ck_assert(configuration_is_rolled_back(w.c));
    ck_assert_msg(configuration_rollback(w.c, 1, &flaw) == 0, "%s", flaw.message);
    passes(ENOUGH);
    ck_assert(!configuration_is_rolled_back(w.c));
    refresh();
    passes(ENOUGH);
    all_run_good();
    ck_assert_uint_eq(configuration_view(w.c, 0).version, 1);
}

/* Also one that an operator asked for. */
TEST(a_rollback_is_not_rolled_back)
{
    begin(0, CONFIGURATION_ROLLBACK_REPORT);
    bad_document("missing", 1);
    passes(ENOUGH);
    cleanup(mem_free_ptr) char *bad = mem_strdup(w.text);
    new_document(true);
    passes(ENOUGH);
    w.rollback = CONFIGURATION_ROLLBACK_AUTO;
    restart();
    ck_assert_msg(configuration_rollback(w.c, 2, &flaw) == 0, "%s", flaw.message);
    become(&w.text, bad);
    passes(ENOUGH);
    ck_assert_uint_eq(running(bad), TARGETS);
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 0);
    ck_assert(!configuration_is_rolled_back(w.c));
    refresh();
    passes(ENOUGH);
    ck_assert_uint_eq(running(bad), TARGETS); /* and SIGHUP does not end it */
}

/* It is begun anew with the newer one, and what runs badly goes with it. */
TEST(a_newer_document_ends_the_watch)
{
    begin(1, CONFIGURATION_ROLLBACK_AUTO);
    bad_document("missing", 0);
    PASS_UNTIL(running(w.text) != 0);
    ck_assert_uint_eq(running(w.text), 1);
    new_document(true);
    passes(ENOUGH);
    ck_assert_uint_eq(running(w.text), TARGETS);
    ck_assert_uint_eq(w.told[CONFIGURATION_CANARY_FAILED] + w.told[CONFIGURATION_ROLLED_BACK], 0);
}

TEST(one_that_does_not_answer_is_no_canary)
{
    begin(1, CONFIGURATION_ROLLBACK_AUTO);
    w.of[0].up = false;
    w.of[0].fresh = false;
    new_document(true);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[1].running, w.text);
    ck_assert_str_eq(w.of[2].running, w.text);
    w.of[0].up = true;
    passes(ENOUGH);
    ck_assert_uint_eq(running(w.text), TARGETS);
}

/* It was the one, and cannot be written to. */
TEST(another_one_takes_its_place)
{
    begin(1, CONFIGURATION_ROLLBACK_AUTO);
    w.of[0].fails = true;
    new_document(true);
    passes(ENOUGH);
    ck_assert_str_eq(w.of[0].running, good);
    ck_assert_str_eq(w.of[1].running, w.text);
    ck_assert_str_eq(w.of[2].running, w.text);
}

/* Who goes on after a restart knows which one had it first. */
TEST_EACH(a_restart_amid_the_watch, 2)
{
    begin(1, CONFIGURATION_ROLLBACK_AUTO);
    if (_i == 0)
        new_document(true);
    else
        bad_document("missing", 0);
    PASS_UNTIL(running(w.text) != 0);
    restart();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(running(w.text), 1);
        pass();
    }
    passes(ENOUGH);
    ck_assert_uint_eq(running(_i == 0 ? w.text : good), TARGETS);
}

/* Nothing was written since, and it does badly. */
TEST(a_restart_amid_the_watch_of_all)
{
    begin(0, CONFIGURATION_ROLLBACK_AUTO);
    bad_document("missing", 1);
    PASS_UNTIL(running(w.text) == TARGETS);
    restart();
    passes(ENOUGH);
    all_run_good();
    ck_assert_uint_eq(w.told[CONFIGURATION_ROLLED_BACK], 1);
}
