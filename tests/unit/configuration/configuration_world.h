/*
 * One document for several HAProxies: a world for the tests of src/configuration/configuration. Each HAProxy is played by
 * the functions of haproxy/instance that the engine calls; what happens to it (validation, write, load) is decided by
 * words of the document and by chance.
 */
#ifndef TESTS_CONFIGURATION_WORLD_H
#define TESTS_CONFIGURATION_WORLD_H

#include <check.h>
#include <inttypes.h>
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
#include "haproxy/cfg/content.h"
#include "haproxy/dataplane/replacement.h"
#include "haproxy/instance.h"

#define TARGETS 3

struct instance {
    size_t number;
    const struct engine *engine;
    char *file, *running;
    char *memory; /* what its API answers and commits: after a failed reload not what is in the file */
    bool up, fresh, dirty;
    bool known;      /* how reloads before the start ended */
    bool loses;      /* the next one */
    bool loading;    /* a reload is under way, */
    bool followed;   /* and the engine is told of its end */
    int64_t at;      /* the version of the file; */
    int64_t mark;    /* of the last that was written and is to be loaded */
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
    unsigned documents, writes, loads, drifts, refusals, recoveries;
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

static bool says_unloaded(const struct instance *in)
{
    return in->mark == in->at && !str_eq(in->file, in->running);
}

struct instance_view instance_view(const struct instance *in)
{
    static const char *const urls[TARGETS] = {"http://a", "http://b", "http://c"};
    static const char *const versions[] = {"3.0.1", "3.0.2"};
    return (struct instance_view){.url = urls[in->number],
                                  .version = in->at,
                                  .haproxy = versions[in->version],
                                  .fresh = in->fresh,
                                  .dirty = in->dirty,
                                  .unloaded = says_unloaded(in),
                                  .may_write = true,
                                  .may_begin = true,
                                  .file_allows = true,
                                  .reload = in->loading ? RELOAD_PENDING : RELOAD_DONE,
                                  .last_reload_known = in->known};
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
    return !in->dirty && !in->loading && str_eq(in->file, in->running);
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
    const char *text = r->text->text;
    check_write(in, text);
    ck_assert_msg(!in->loading, "written while a reload is under way, whose end is then whose?");
    ck_assert_str_eq(r->before->text, in->file);
    w.writes++;
    if (chance(8))
        return TRANSACTION_CONFLICT;
    if (chance(8))
        return TRANSACTION_UNAVAILABLE;
    if (says(text, "harm", in)) { /* the file that is there was written again */
        become(&in->memory, in->file);
        in->dirty = true;
        in->at += 2;
        return TRANSACTION_HARMFUL;
    }
    bool lost = chance(8);
    if (!lost || dice_below(&w.dice, 2) == 0) {
        become(&in->file, text);
        become(&in->memory, text);
        in->dirty = true;
        in->mark = ++in->at;
    }
    return lost ? TRANSACTION_UNKNOWN : TRANSACTION_COMMITTED;
}

static void new_document(bool good);

/* While the request is under way, whose text stays as it was. */
static void change_meanwhile(const struct replacement_request *request)
{
    cleanup(mem_free_ptr) char *sent = mem_strdup(request->text->text);
    if (chance(12))
        new_document(dice_below(&w.dice, 2) == 0);
    ck_assert_str_eq(request->text->text, sent);
}

static void replace(struct instance *in)
{
    const struct engine *e = in->engine;
    struct replacement_request request = {0};
    struct replacement r;
    e->ops->replace(e->self, &request);
    replacement_init(&r);
    r.result = request.before == NULL ? validate(in, request.text->text) : write_file(in, &request);
    change_meanwhile(&request);
    if (r.result != TRANSACTION_PREVIEWED) {
        in->fresh = false;
        if (r.result != TRANSACTION_COMMITTED)
            (void)error_set(&r.error, ERROR_INVALID, "%s", transaction_result_name(r.result));
    }
    e->ops->replaced(e->self, &r);
    replacement_fini(&r);
}

/* An empty commit; its reload ends at a later step. */
static void load(struct instance *in)
{
    w.loads++;
    in->at++;
    in->fresh = in->dirty = false;
    in->loading = in->followed = true;
    become(&in->file, in->memory);
}

static void loaded(struct instance *in)
{
    const struct engine *e = in->engine;
    in->loading = in->fresh = false;
    bool lost = in->loses || chance(10); /* the API was started anew: it knows of no reload */
    if (lost || says(in->file, "unloadable", in)) {
        if (!lost)
            become(&in->file, in->running); /* the API puts it back */
        in->loses = false;
        in->dirty = true;
        if (in->followed)
            e->ops->reload_failed(e->self, lost);
    } else {
        become(&in->running, in->file);
    }
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
    if (in->loading && (w.calm || chance(2)))
        loaded(in);
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
    w.refusals += e->kind == CONFIGURATION_REFUSED;
    w.recoveries += e->kind == CONFIGURATION_RECOVERED;
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
        in->fresh = in->known = in->followed = false; /* the list of reloads says how it ended */
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

/* One HAProxy alone finds it bad. */
static void bad_document(const char *word, unsigned for_target)
{
    free(w.text);
    w.text = mem_printf("global\n  description document-%u-%s%u\n", ++w.documents, word, for_target);
    give();
}

static void new_document(bool good)
{
    static const char *const words[] = {"reject", "harm", "unloadable"};
    if (!good) {
        const char *word = words[dice_below(&w.dice, 3)];
        bad_document(word, dice_below(&w.dice, TARGETS));
        return;
    }
    free(w.text);
    w.text = mem_printf("global\n  description document-%u\n", ++w.documents);
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
    in->at++;
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
    cfg_content_unref(file_content);
    file_content = NULL;
    free(w.text);
}

static const char *state_of(size_t i)
{
    return configuration_view(w.c, i).state;
}

#endif
