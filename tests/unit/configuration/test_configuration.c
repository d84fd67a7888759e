/*
 * src/configuration/configuration: one document for several HAProxies, in random streams against a model. Each HAProxy
 * is played by the functions of haproxy/instance that the engine calls; what happens to it (validation, write, load) is
 * decided by words of the document and by chance.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../dice.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/dataplane/replacement.h"
#include "haproxy/instance.h"

#define TARGETS 3
#define ROUNDS 200
#define STREAMS 30

struct instance {
    size_t number;
    const struct engine *engine;
    char *file, *running;
    char *memory; /* what its API answers and commits: after a failed reload not what is in the file */
    bool up, fresh, dirty;
    bool known;      /* how reloads before the start ended */
    bool loses;      /* the next one */
    char *validated; /* the text that it took last; NULL: none */
    char *rejected;  /* the text that it rejected last; NULL: none, or it may be asked again */
    unsigned version;
    uint64_t anew_ms; /* pauses of what failed end then */
};

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct configuration *c;
    struct instance of[TARGETS];
    char *text; /* the latest document; NULL: none */
    bool calm;  /* no chance any more */
    bool require_all, dry_run, allow_lockout;
    enum configuration_drift drift;
    uint64_t min_interval_ms;
    struct store *store; /* outlives the engine */
    unsigned documents, writes, loads, drifts;
    struct dice dice;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

/* ---- what the engine calls ---- */

static void target_step(struct instance *in);

void instance_step(struct instance *in)
{
    target_step(in);
}

struct instance_view instance_view(const struct instance *in)
{
    static const char *const urls[TARGETS] = {"http://a", "http://b", "http://c"};
    static const char *const versions[] = {"3.0.1", "3.0.2"};
    return (struct instance_view){.url = urls[in->number],
                                  .haproxy = versions[in->version],
                                  .fresh = in->fresh,
                                  .dirty = in->dirty,
                                  .may_write = true,
                                  .may_begin = true,
                                  .file_allows = true,
                                  .last_reload_known = in->known};
}

static struct buf file_text;

const struct buf *instance_file(const struct instance *in)
{
    buf_clear(&file_text);
    buf_add(&file_text, in->file);
    return &file_text;
}

bool instance_at_rest(const struct instance *in)
{
    return !in->dirty && str_eq(in->file, in->running);
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    in->anew_ms = when_ms;
}

/* ---- the model ---- */

static bool chance(unsigned of)
{
    return !w.calm && dice_below(&w.dice, of) == 0;
}

/* "reject1": the second HAProxy rejects it. */
static bool says(const char *text, const char *word, const struct instance *in)
{
    cleanup(mem_free_ptr) char *all = mem_printf("%s%zu", word, in->number);
    return strstr(text, all) != NULL;
}

static void become(char **text, const char *to)
{
    char *copy = mem_strdup(to);
    free(*text);
    *text = copy;
}

static enum transaction_result validate(struct instance *in, const char *text)
{
    if (!str_eq(text, w.text))
        ck_abort_msg("asked about what is not wanted any more: %s", text);
    if (chance(6))
        return TRANSACTION_UNAVAILABLE;
    ck_assert_msg(!str_eq(in->rejected, text), "%zu is asked again about what it rejected", in->number);
    if (says(text, "reject", in)) {
        become(&in->rejected, text);
        return TRANSACTION_REJECTED;
    }
    become(&in->validated, text);
    return TRANSACTION_PREVIEWED;
}

static void check_write(const struct instance *in, const char *text)
{
    ck_assert_msg(!w.dry_run, "a dry run writes");
    if (!str_eq(text, w.text))
        return; /* the one from before goes back */
    ck_assert_msg(in->validated != NULL && str_eq(in->validated, text), "written before it was validated");
    for (size_t i = 0; i < TARGETS; i++) {
        const struct instance *other = &w.of[i];
        const struct configuration_view v = configuration_view(w.c, i);
        ck_assert_msg(!str_eq(v.state, "rejected"), "written although %zu rejects it", i);
        ck_assert_msg(!w.require_all || (other->validated != NULL && str_eq(other->validated, text)) ||
                          str_eq(other->file, text) || str_eq(v.state, "applied") || str_eq(v.state, "drifted"),
                      "written although %zu has not validated it", i);
        ck_assert_msg(!other->up || !says(text, "reject", other) || !w.calm, "written although %zu would reject it", i);
    }
}

static enum transaction_result write_file(struct instance *in, const struct replacement_request *r)
{
    check_write(in, r->text);
    ck_assert_str_eq(r->before, in->file);
    w.writes++;
    if (chance(8))
        return TRANSACTION_CONFLICT;
    if (chance(8))
        return TRANSACTION_UNAVAILABLE;
    if (says(r->text, "harm", in))
        return TRANSACTION_HARMFUL;
    bool lost = chance(8);
    if (!lost || dice_below(&w.dice, 2) == 0) {
        become(&in->file, r->text);
        become(&in->memory, r->text);
        in->dirty = true;
    }
    return lost ? TRANSACTION_UNKNOWN : TRANSACTION_COMMITTED;
}

static void new_document(bool good);

/* While the request is under way, whose text stays as it was. */
static void change_meanwhile(const struct replacement_request *request)
{
    cleanup(mem_free_ptr) char *sent = mem_strdup(request->text);
    if (chance(12))
        new_document(dice_below(&w.dice, 2) == 0);
    ck_assert_str_eq(request->text, sent);
}

static void replace(struct instance *in)
{
    const struct engine *e = in->engine;
    struct replacement_request request = {0};
    struct replacement r;
    e->ops->replace(e->self, &request);
    replacement_init(&r);
    r.result = request.before == NULL ? validate(in, request.text) : write_file(in, &request);
    change_meanwhile(&request);
    if (r.result != TRANSACTION_PREVIEWED) {
        in->fresh = false;
        if (r.result != TRANSACTION_COMMITTED)
            (void)error_set(&r.error, ERROR_INVALID, "%s", transaction_result_name(r.result));
    }
    e->ops->replaced(e->self, &r);
    replacement_fini(&r);
}

/* An empty commit and its reload. */
static void load(struct instance *in)
{
    const struct engine *e = in->engine;
    w.loads++;
    in->fresh = false;
    become(&in->file, in->memory);
    if (in->loses || chance(10)) { /* the API was started anew: it knows of no reload */
        in->loses = false;
        e->ops->reload_failed(e->self, true);
        return;
    }
    if (says(in->file, "unloadable", in)) {
        become(&in->file, in->running); /* the API puts it back */
        e->ops->reload_failed(e->self, false);
        return;
    }
    become(&in->running, in->file);
    in->dirty = false;
}

static void target_step(struct instance *in)
{
    const struct engine *e = in->engine;
    struct engine_wants wants = {0};
    if (!in->up || chance(20)) {
        in->fresh = false;
        e->ops->read_failed(e->self);
        return;
    }
    if (!in->fresh) {
        in->fresh = true;
        e->ops->read(e->self);
        e->ops->concluded(e->self);
    }
    ck_assert_msg(in->known || !str_eq(configuration_view(w.c, in->number).state, "applied"),
                  "called applied while a reload may be under way");
    if (!in->known && !chance(2)) {
        in->known = true;
        e->ops->reloads_known(e->self);
    }
    e->ops->decide(e->self, &wants);
    if (wants.replacement && wants.reload)
        ck_abort_msg("both at once");
    if (wants.replacement)
        replace(in);
    else if (wants.reload)
        load(in);
}

/* ---- a stream ---- */

static void on_event(void *arg, const struct configuration_event *e)
{
    (void)arg;
    w.drifts += e->kind == CONFIGURATION_DRIFTED;
}

static void engine_begin(void)
{
    const struct configuration_options options = {
        .target_count = TARGETS,
        .require_all = w.require_all,
        .dry_run = w.dry_run,
        .allow_lockout = w.allow_lockout,
        .drift = w.drift,
        .min_interval_ms = w.min_interval_ms,
        .store = w.store,
        .listener = {.happened = on_event},
    };
    w.c = configuration_new(NULL, &options);
    for (size_t i = 0; i < TARGETS; i++) {
        struct instance *in = &w.of[i];
        in->engine = configuration_engine(w.c, i);
        in->fresh = in->known = false;
        free(in->validated);
        in->validated = NULL;
        in->engine->ops->attach(in->engine->self, in);
    }
}

static void give(void)
{
    struct error err = {0};
    struct document *d = document_new("a file", w.text, strlen(w.text), NULL, &err);
    ck_assert_msg(d != NULL, "%s", err.message);
    configuration_set(w.c, d);
    document_unref(d);
}

static void new_document(bool good)
{
    static const char *const words[] = {"reject", "harm", "unloadable"};
    free(w.text);
    w.text = mem_printf("global\n  description document-%u%s%s%u\n", ++w.documents, good ? "" : "-",
                        good ? "" : words[dice_below(&w.dice, 3)], good ? 0 : dice_below(&w.dice, TARGETS));
    give();
}

static void restart(void)
{
    configuration_free(w.c);
    engine_begin();
    if (w.text != NULL)
        give();
}

static void ask_again(struct instance *in)
{
    free(in->rejected);
    in->rejected = NULL;
}

/* SIGHUP */
static void refresh(void)
{
    for (size_t i = 0; i < TARGETS; i++) {
        ask_again(&w.of[i]);
        w.of[i].fresh = false;
        w.of[i].engine->ops->refresh(w.of[i].engine->self);
    }
}

static void upgrade(struct instance *in)
{
    in->version = 1 - in->version;
    ask_again(in);
    in->fresh = false;
}

/* Another writer, who loads it, too. */
static void edit(struct instance *in, const char *text)
{
    become(&in->file, text);
    become(&in->memory, text);
    become(&in->running, text);
    in->fresh = in->dirty = false;
}

/* So much that no pause after a failure is longer than some of them. */
static void pass_time(void)
{
    struct timer *t = virtual_next_timer(clock_mono_ms());
    if (t != NULL) {
        t->due_ms = 0;
        t->fn(t->arg);
    }
    w.now_us += 100 * 1000000ull;
}

static void pass(void)
{
    for (size_t i = 0; i < TARGETS; i++)
        target_step(&w.of[i]);
    pass_time();
}

static void stream_begin(unsigned seed)
{
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000;
    w.dice.state = seed * 7919 + 1;
    w.require_all = dice_below(&w.dice, 3) == 0;
    w.dry_run = dice_below(&w.dice, 10) == 0;
    w.drift = (enum configuration_drift)dice_below(&w.dice, 3);
    struct error err = {0};
    w.store = store_new(NULL, NULL, &err);
    ck_assert_msg(w.store != NULL, "%s", err.message);
    for (size_t i = 0; i < TARGETS; i++)
        w.of[i] = (struct instance){.number = i,
                                    .up = true,
                                    .file = mem_strdup("global\n  description first\n"),
                                    .running = mem_strdup("global\n  description first\n"),
                                    .memory = mem_strdup("global\n  description first\n")};
    engine_begin();
}

static void stream_end(void)
{
    configuration_free(w.c);
    for (size_t i = 0; i < TARGETS; i++) {
        free(w.of[i].file);
        free(w.of[i].running);
        free(w.of[i].memory);
        free(w.of[i].validated);
        free(w.of[i].rejected);
    }
    store_free(w.store);
    buf_fini(&file_text);
    free(w.text);
}

static void play(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned what = dice_below(&w.dice, 40);
        if (what == 0)
            new_document(dice_below(&w.dice, 2) == 0);
        else if (what == 1)
            restart();
        else if (what < 5)
            w.of[what % TARGETS].up = dice_below(&w.dice, 3) != 0;
        else if (what == 5)
            refresh();
        else if (what == 6)
            upgrade(&w.of[dice_below(&w.dice, TARGETS)]);
        else if (what == 7 && !w.of[round % TARGETS].dirty)
            edit(&w.of[round % TARGETS], "global\n  description by-hand\n");
        pass();
    }
    w.calm = true;
    for (size_t i = 0; i < TARGETS; i++)
        w.of[i].up = true;
}

static const char *state_of(size_t i)
{
    return configuration_view(w.c, i).state;
}

START_TEST(in_the_end_all_run_what_is_good)
{
    stream_begin((unsigned)_i);
    play();
    new_document(true);
    for (unsigned i = 0; i < 20; i++)
        pass();
    for (size_t i = 0; i < TARGETS; i++) {
        ck_assert_str_eq(state_of(i), w.dry_run ? "valid" : "applied");
        ck_assert_int_eq(str_eq(w.of[i].running, w.text), !w.dry_run);
        ck_assert(w.dry_run || (str_eq(w.of[i].file, w.text) && !w.of[i].dirty));
    }
    ck_assert_msg(w.dry_run || (w.writes > 0 && w.loads > 0), "nothing happened");
    unsigned writes = w.writes, loads = w.loads;
    for (unsigned i = 0; i < 20; i++)
        pass();
    ck_assert_uint_eq(w.writes, writes); /* it rests */
    ck_assert_uint_eq(w.loads, loads);
    stream_end();
}
END_TEST

/* What one HAProxy refuses runs nowhere for long, and its place says why. */
START_TEST(in_the_end_none_runs_what_is_bad_for_it)
{
    stream_begin((unsigned)_i + 1000);
    w.dry_run = false;
    restart();
    play();
    new_document(true);
    for (unsigned i = 0; i < 20; i++)
        pass();
    cleanup(mem_free_ptr) char *good = mem_strdup(w.text);
    new_document(false);
    for (unsigned i = 0; i < 20; i++)
        pass();
    for (size_t i = 0; i < TARGETS; i++) {
        const struct instance *in = &w.of[i];
        bool rejects = says(w.text, "reject", in),
             bad = rejects || says(w.text, "harm", in) || says(w.text, "unloadable", in);
        ck_assert_msg(!bad || str_eq(state_of(i), "rejected"), "%s: %s", w.text, state_of(i));
        ck_assert_msg(!bad || str_eq(in->running, good), "%s: runs %s", w.text, in->running);
        ck_assert_msg(!bad || str_eq(in->file, good), "%s: has %s", w.text, in->file);
        ck_assert_msg(str_eq(in->file, in->memory), "its API commits something else: %s", in->memory);
        ck_assert(!in->dirty);
        if (strstr(w.text, "reject") != NULL)
            ck_assert_msg(str_eq(in->running, good), "%s is rejected by one, and %zu runs it", w.text, i);
    }
    stream_end();
}
END_TEST

/* It gets what the others have once it is back. */
START_TEST(one_that_does_not_answer_keeps_no_other_waiting)
{
    stream_begin((unsigned)_i);
    w.calm = true;
    w.dry_run = false;
    w.require_all = _i == 1;
    restart();
    w.of[1].up = false;
    new_document(true);
    for (unsigned i = 0; i < 20; i++)
        pass();
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(state_of(i), i == 1 ? "new" : w.require_all ? "valid" : "applied");
    ck_assert_uint_eq(w.writes, w.require_all ? 0 : 2);
    w.of[1].up = true;
    for (unsigned i = 0; i < 20; i++)
        pass();
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(state_of(i), "applied");
    stream_end();
}
END_TEST

static void passes(unsigned n)
{
    while (n-- > 0)
        pass();
}

/* Without chance, and without a policy that the test does not set itself. */
static void begin_calm(enum configuration_drift drift)
{
    stream_begin(1);
    w.calm = true;
    w.dry_run = w.require_all = false;
    w.drift = drift;
    restart();
}

/* A restart does not ask again: another version of HAProxy does, and SIGHUP. (validate() checks the rest.) */
START_TEST(a_rejection_is_remembered)
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
    stream_end();
}
END_TEST

START_TEST(what_another_writer_changes)
{
    static const char *const states[] = {[CONFIGURATION_DRIFT_REPORT] = "drifted",
                                         [CONFIGURATION_DRIFT_REPAIR] = "applied",
                                         [CONFIGURATION_DRIFT_IGNORE] = "applied"};
    begin_calm((enum configuration_drift)_i);
    new_document(true);
    passes(5);
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
    stream_end();
}
END_TEST

START_TEST(a_rollback_holds_until_the_source_changes)
{
    struct error err = {0};
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    ck_assert_int_ne(configuration_rollback(w.c, 1, &err), 0);
    new_document(true);
    passes(5);
    cleanup(mem_free_ptr) char *first = mem_strdup(w.text);
    new_document(true);
    passes(5);
    cleanup(mem_free_ptr) char *second = mem_strdup(w.text);
    ck_assert_int_ne(configuration_rollback(w.c, 3, &err), 0);
    ck_assert_msg(strstr(err.message, "there is no version 3") != NULL, "%s", err.message);
    ck_assert_int_eq(configuration_rollback(w.c, 1, &err), 0);
    become(&w.text, first);
    passes(5);
    for (int with_restart = 0; with_restart < 2; with_restart++) {
        ck_assert_str_eq(w.of[2].running, first);
        ck_assert_str_eq(state_of(2), "applied");
        ck_assert_uint_eq(configuration_view(w.c, 2).version, 1);
        configuration_free(w.c);
        engine_begin();
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
    ck_assert_str_eq(w.of[2].running, second); /* it was wanted again, after something else */
    stream_end();
}
END_TEST

/* The first at once, then the latest. */
START_TEST(what_follows_too_soon_waits)
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
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(w.of[i].running, w.text);
    ck_assert_uint_eq(w.writes, 2 * TARGETS);
    stream_end();
}
END_TEST

/* It was written when a bad one came: it is loaded all the same, and said to run. Another writer's file is not it. */
START_TEST(what_a_bad_one_supersedes_is_known_to_run)
{
    begin_calm(CONFIGURATION_DRIFT_REPORT);
    new_document(true);
    for (unsigned i = 0; i < 20 && !str_eq(state_of(0), "written"); i++)
        pass();
    ck_assert_str_eq(state_of(0), "written");
    cleanup(mem_free_ptr) char *hash = mem_strdup(configuration_view(w.c, 0).sha256);
    if (_i == 1)
        edit(&w.of[0], "global\n  description by-hand\n");
    become(&w.text, "global\n  description reject2\n");
    give();
    passes(10);
    ck_assert_str_eq(configuration_view(w.c, 0).runs, _i == 1 ? "" : hash);
    ck_assert_str_eq(configuration_view(w.c, 1).runs, hash);
    ck_assert_str_eq(store_version(w.store, 0)->hash, hash);
    stream_end();
}
END_TEST

/* Who was started anew knows nothing against the document. */
START_TEST(a_lost_reload_is_no_rejection)
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
    stream_end();
}
END_TEST

/* What was held against other bytes says nothing of these; but bytes that change all the time do not set the pace. */
START_TEST(a_new_document_ends_a_pause)
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
    stream_end();
}
END_TEST

/* It is validated meanwhile: whoever paused it sees whether it could go on. */
START_TEST(what_is_paused_is_written_nowhere)
{
    stream_begin(5);
    w.calm = true;
    w.dry_run = w.require_all = false;
    restart();
    configuration_pause(w.c, true);
    new_document(true);
    for (unsigned i = 0; i < 20; i++)
        pass();
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(state_of(i), "valid");
    ck_assert_uint_eq(w.writes, 0);
    configuration_pause(w.c, false);
    for (unsigned i = 0; i < 20; i++)
        pass();
    for (size_t i = 0; i < TARGETS; i++)
        ck_assert_str_eq(state_of(i), "applied");
    stream_end();
}
END_TEST

/* What one HAProxy is managed by, and the document lacks. */
START_TEST(what_would_lock_out_is_written_nowhere)
{
    stream_begin((unsigned)_i);
    w.calm = true;
    w.dry_run = w.require_all = false;
    w.allow_lockout = _i == 1;
    become(&w.of[1].file, "global\n  stats socket /run/a.sock level admin\n");
    become(&w.of[1].running, w.of[1].file);
    restart();
    new_document(true);
    for (unsigned i = 0; i < 20; i++)
        pass();
    ck_assert_str_eq(state_of(1), w.allow_lockout ? "applied" : "rejected");
    ck_assert_uint_eq(w.writes, w.allow_lockout ? TARGETS : 0);
    const char *why = configuration_view(w.c, 1).reason;
    ck_assert_msg(w.allow_lockout || strstr(why, "stats socket /run/a.sock") != NULL, "%s", why);
    ck_assert_msg(w.allow_lockout || w.of[1].validated == NULL, "it was sent");
    stream_end();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("configuration");
    TCase *t = tcase_create("configuration");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, in_the_end_all_run_what_is_good, 0, STREAMS);
    tcase_add_loop_test(t, in_the_end_none_runs_what_is_bad_for_it, 0, STREAMS);
    tcase_add_loop_test(t, one_that_does_not_answer_keeps_no_other_waiting, 0, 2);
    tcase_add_test(t, what_is_paused_is_written_nowhere);
    tcase_add_loop_test(t, what_would_lock_out_is_written_nowhere, 0, 2);
    tcase_add_test(t, a_rejection_is_remembered);
    tcase_add_loop_test(t, what_another_writer_changes, 0, 3);
    tcase_add_test(t, a_rollback_holds_until_the_source_changes);
    tcase_add_test(t, what_follows_too_soon_waits);
    tcase_add_test(t, a_lost_reload_is_no_rejection);
    tcase_add_loop_test(t, what_a_bad_one_supersedes_is_known_to_run, 0, 2);
    tcase_add_test(t, a_new_document_ends_a_pause);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
