/* src/configuration/configuration: one document for several HAProxies, in random streams against a model. */
#include "configuration_world.h"

#include "../effort.h"

#define ROUNDS 200
#define STREAMS 100
#define LONG_ENOUGH 40 /* passes, also for two that get it first */

/* HAProxies come and go: the lowest number that is free is the next one's. */
static void come_or_go(unsigned what)
{
    struct instance *in = &w.of[dice_below(&w.dice, (unsigned)w.count)];
    if (what == 9 && !in->gone)
        leave(in);
    else if (what == 10 && !in->gone)
        in->leaves = LEAVES_AMID_REQUEST;
    for (size_t i = 0; i < w.count && what == 11; i++)
        if (w.of[i].gone) {
            come(&w.of[i]);
            return;
        }
}

static void all_come(void)
{
    for (size_t i = 0; i < w.count; i++) {
        w.of[i].leaves = STAYS;
        if (w.of[i].gone)
            come(&w.of[i]);
    }
}

static void play(void)
{
    w.with_files = dice_below(&w.dice, 2) == 0;
    w.by_runtime = dice_below(&w.dice, 2) == 0;
    w.count = w.by_runtime && dice_below(&w.dice, 2) == 0 ? 1 : TARGETS;
    w.rollback = (enum configuration_rollback_policy)dice_below(&w.dice, 3);
    w.canary = dice_below(&w.dice, TARGETS);
    w.stays = dice_below(&w.dice, 2) == 0;
    restart();
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned what = dice_below(&w.dice, 40);
        if (what == 0)
            new_document(dice_below(&w.dice, 2) == 0);
        else if (what == 1)
            restart();
        else if (what < 5)
            w.of[what % w.count].up = dice_below(&w.dice, 3) != 0;
        else if (what == 5)
            refresh();
        else if (what == 6)
            upgrade(&w.of[dice_below(&w.dice, (unsigned)w.count)]);
        else if (what == 7 && !w.of[round % w.count].gone && !w.of[round % w.count].dirty &&
                 !w.of[round % w.count].loading)
            edit_by_hand(&w.of[round % w.count]);
        else if (what == 8)
            former_document();
        else if (what < 12)
            come_or_go(what);
        pass();
    }
    w.calm = true;
    all_come();
    for (size_t i = 0; i < w.count; i++)
        w.of[i].up = true;
}

FIXTURE(NULL, stream_end)

TEST_EACH(in_the_end_all_run_what_is_good, effort(STREAMS))
{
    stream_begin((unsigned)_i);
    play();
    new_document(true);
    passes(LONG_ENOUGH);
    for (size_t i = 0; i < w.count; i++) {
        /* A dry run stores no files, and judges nothing without them. */
        ck_assert_str_eq(state_of(i), !w.dry_run ? "applied" : w.with_files ? "new" : "valid");
        ck_assert(!w.with_files || w.dry_run || (w.of[i].map == w.documents && w.of[i].map_running == w.documents));
        ck_assert_int_eq(str_eq(w.of[i].running, w.text), !w.dry_run);
        ck_assert(w.dry_run || (str_eq(w.of[i].file, w.text) && !w.of[i].dirty));
    }
    ck_assert_msg(w.dry_run || (w.writes > 0 && w.loads > 0), "nothing happened");
    unsigned writes = w.writes, loads = w.loads;
    passes(LONG_ENOUGH);
    ck_assert_uint_eq(w.writes, writes); /* it rests */
    ck_assert_uint_eq(w.loads, loads);
}

/* They are those of what runs. HAProxy may have loaded more of a map than it has by now, never less. */
static void check_files(const struct instance *in)
{
    if (w.with_files && !in->orphan)
        ck_assert_msg(in->map == number_of(in->running) && !in->grown, "%zu has map %u%s, runs %s", in->number, in->map,
                      in->grown ? " and more" : "", in->running);
}

/* What one HAProxy refuses runs nowhere for long, and its place says why. */
TEST_EACH(in_the_end_none_runs_what_is_bad_for_it, effort(STREAMS))
{
    stream_begin((unsigned)_i + 1000);
    w.dry_run = false;
    restart();
    play();
    new_document(true);
    passes(LONG_ENOUGH);
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    new_document(false);
    passes(LONG_ENOUGH);
    for (size_t i = 0; i < w.count; i++) {
        const struct instance *in = &w.of[i];
        bool rejects = says(w.text, "reject", in),
             bad = rejects || says(w.text, "harm", in) || says(w.text, "unloadable", in);
        bool back = configuration_view(w.c, i).version != 0, loads = strstr(w.text, "unloadable") == NULL;
        ck_assert_msg(!bad || back || str_eq(state_of(i), "rejected"), "%s: %s", w.text, state_of(i));
        if (!loads && w.rollback != CONFIGURATION_ROLLBACK_REPORT)
            ck_assert_msg(str_eq(in->running, good), "%s could not be loaded by one, and %zu runs it", w.text, i);
        ck_assert_msg(!bad || str_eq(in->running, good), "%s: runs %s", w.text, in->running);
        ck_assert_msg(!bad || str_eq(in->file, good), "%s: has %s", w.text, in->file);
        ck_assert_msg(str_eq(in->file, in->memory), "its API commits something else: %s", in->memory);
        ck_assert(!in->dirty);
        check_files(in);
        if (strstr(w.text, "reject") != NULL)
            ck_assert_msg(str_eq(in->running, good), "%s is rejected by one, and %zu runs it", w.text, i);
    }
}

/* Whatever comes while it is written and loaded: what HAProxy cannot load does not stay in the file. */
TEST_EACH(in_the_end_no_file_is_one_that_cannot_be_loaded, effort(STREAMS))
{
    static const char *const words[] = {"reject", "harm", "unloadable"};
    stream_begin((unsigned)_i + 2000);
    w.dry_run = false;
    restart();
    play();
    new_document(true);
    passes(LONG_ENOUGH);
    w.calm = dice_below(&w.dice, 2) == 0;
    bad_document("unloadable", dice_below(&w.dice, (unsigned)w.count));
    for (unsigned i = dice_below(&w.dice, 10); i > 0; i--)
        pass();
    if (_i % 3 == 0)
        restart();
    bad_document(words[dice_below(&w.dice, 3)], dice_below(&w.dice, (unsigned)w.count));
    for (unsigned i = dice_below(&w.dice, 4); i > 0; i--)
        pass();
    w.calm = true;
    passes(LONG_ENOUGH);
    for (size_t i = 0; i < w.count; i++) {
        const struct instance *in = &w.of[i];
        ck_assert_msg(!says(in->memory, "unloadable", in), "%zu: %s; state %s", i, in->memory, state_of(i));
        ck_assert_msg(str_eq(in->file, in->running) && !in->dirty, "%zu has %s, runs %s", i, in->file, in->running);
        check_files(in);
    }
}

/* Nothing that commands can change is loaded: one document after the other, of which HAProxy takes all. */
TEST_EACH(what_needs_no_reload_costs_none, 4)
{
    begin_calm(CONFIGURATION_DRIFT_REPAIR);
    w.by_runtime = true;
    w.with_files = _i / 2 == 1;
    w.count = _i % 2 == 1 ? TARGETS : 1;
    restart();
    new_document(true);
    passes(20);
    unsigned loads = w.loads, validations = w.validations;
    ck_assert_uint_eq(loads, w.count); /* what it ran before nobody knows */
    for (unsigned i = 0; i < 50; i++) {
        new_document(true);
        passes(6);
        for (size_t n = 0; n < w.count; n++) {
            ck_assert_str_eq(state_of(n), "applied");
            ck_assert_str_eq(w.of[n].running, w.text);
            check_files(&w.of[n]);
        }
    }
    ck_assert_uint_eq(w.loads, loads);
    ck_assert_uint_eq(w.ran, 50 * w.count);
    ck_assert(w.count > 1 || w.validations == validations); /* it checks what it is sent */
    ck_assert_uint_eq(w.files_ran, w.with_files ? 50 * w.count : 0);
}

/* It gets what the others have once it is back. */
TEST(one_that_does_not_answer_keeps_no_other_waiting)
{
    stream_begin(0);
    w.calm = true;
    w.dry_run = false;
    restart();
    w.of[1].up = false;
    new_document(true);
    passes(LONG_ENOUGH);
    for (size_t i = 0; i < w.count; i++)
        ck_assert_str_eq(state_of(i), i == 1 ? "new" : "applied");
    ck_assert_uint_eq(w.writes, 2);
    w.of[1].up = true;
    passes(LONG_ENOUGH);
    all_are("applied");
}
