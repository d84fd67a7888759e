/*
 * One document for several HAProxies: a world for the tests of src/configuration/configuration. Each HAProxy is played by
 * the functions of haproxy/instance that the engine calls; what happens to it (validation, write, load) is decided by
 * words of the document and by chance.
 */
#pragma once

#include "../test.h"
#include <inttypes.h>

#include "../dice.h"
#include "base/clock.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"
#include "haproxy/served.h"
#include "net/digest.h"

#define TARGETS 3
#define SERVES "frontend fe\n  bind :80\nbackend be\n  server s 1.1.1.1:1\n"
#define ENOUGH 30 /* passes until all is done and proven */

struct instance {
    size_t number;
    const struct engine *engine;
    char *file, *running;
    char *back;   /* what its API puts back when a reload fails: what was good last */
    char *memory; /* what its API answers and commits: after a failed reload not what is in the file */
    bool up, fresh, dirty;
    bool away;        /* the last reading failed */
    bool known;       /* how reloads before the start ended */
    bool loses;       /* the next one */
    bool fails;       /* each write */
    bool mute;        /* the next write is carried out, and not answered */
    int64_t pid;      /* of the worker */
    unsigned reloads; /* that the engine asked for */
    bool loading;     /* a reload is under way, */
    bool followed;    /* and the engine is called at its end */
    int64_t at;       /* the version of the file; */
    int64_t mark;     /* of the last that was written and is to be loaded */
    char *validated;  /* the text that it took last; NULL: none */
    char *rejected;   /* the text that it rejected last; NULL: none, or it may be asked again */
    unsigned version;
    uint64_t anew_ms; /* pauses of what failed end then */
    /* The map beside it, of the document with that number (0: none): stored, loaded last, and of the last document
     * that was said to run, which the daemon knows. grown: it still has the lines that are to go. */
    unsigned map, map_running, map_good;
    uint64_t adds_to; /* documents (a bit each) that it serves on, as lines were only added since */
    bool grown, grown_running;
    bool unseen;                                                   /* another writer wrote it, and did not load it */
    char *name;                                                    /* that it is remembered by; NULL: its URL */
    bool gone;                                                     /* it was removed, */
    enum { STAYS, LEAVES_AMID_REQUEST, LEAVES_AMID_WRITE } leaves; /* or is to be while the next one is under way */
    bool hangs;                                                    /* nothing is answered any more */
    bool ends;                                                     /* its engine is there still */
    bool added; /* it serves both the last that was said to run and the one that it is of */
    /* Who wrote to it ended amid that, and the next run knows only what ran before; or it was not to be reached amid
     * that, and the others do not wait. */
    bool orphan;
};

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct configuration *c;
    struct instance of[TARGETS];
    char *text;            /* the latest document; NULL: none */
    const char *meanwhile; /* the kind of bad document that comes while the next write is under way; NULL: none */
    bool meanwhile_checks; /* or the next validation */
    bool calm;             /* no chance any more */
    bool dry_run, allow_lockout;
    bool with_files; /* each document brings a map of its own */
    bool by_runtime; /* some of them need no reload */
    bool stays;      /* a file that could not be loaded: there is no API that puts back the one before */
    size_t count;    /* of targets */
    unsigned pods;   /* that came so far */
    enum configuration_drift drift;
    enum configuration_rollback_policy rollback;
    size_t canary;
    const char *more;  /* of each document; NULL: nothing */
    bool servers_died; /* behind all of them */
    bool stopped;      /* an operator stopped the frontend, for good */
    unsigned told[CONFIGURATION_EVENT_KINDS];
    uint64_t min_interval_ms;
    struct store *store; /* outlives the engine */
    unsigned documents, writes, loads, stores, drifts, refusals, recoveries;
    unsigned ran, files_ran; /* without a reload */
    unsigned validations;
    char *former; /* the last good document; NULL: none */
    struct dice dice;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

/* ---- what the engine calls ---- */

static void target_step(struct instance *in);

void instance_step(struct instance *in)
{
    ck_assert_msg(!in->gone, "%zu is gone, and is to go on", in->number);
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
                                  .away = in->away,
                                  .dirty = in->dirty,
                                  .adds = true,
                                  .unloaded = says_unloaded(in),
                                  .behind = !str_eq(in->file, in->memory),
                                  .may_write = true,
                                  .may_begin = true,
                                  .file_allows = true,
                                  .reloads = in->reloads,
                                  .loads = in->reloads,
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
    return !in->dirty && !in->loading && (in->unseen || str_eq(in->file, in->running));
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    in->anew_ms = when_ms;
}

void instance_must_reload(struct instance *in)
{
    in->dirty = true;
}

void instance_outdated(struct instance *in)
{
    in->fresh = false;
}

int instance_foresee(const struct instance *in, const struct cfg_file *to, const struct changes *changes,
                     struct buf *ret, struct error *err)
{
    for (size_t i = 0; i < changes->count; i++)
        buf_printf(ret, "change %s/%s\n", changes->list[i]->backend->name, changes->list[i]->server->name);
    return 0;
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

/* "document-7": 7; 0: it is none. */
static unsigned number_of(const char *text)
{
    static const char word[] = "document-";
    const char *at = strstr(text, word);
    return at != NULL ? (unsigned)strtoul(at + strlen(word), NULL, 10) : 0;
}

static size_t present(void)
{
    size_t count = 0;
    for (size_t i = 0; i < w.count; i++)
        count += !w.of[i].gone;
    return count;
}

static inline void leave(struct instance *in)
{
    configuration_remove(w.c, in->number);
    in->gone = in->ends = true;
    in->leaves = STAYS;
}

static inline void forget(struct instance *in)
{
    if (in->ends)
        configuration_forget(w.c, in->engine);
    in->ends = false;
}

/* The latest, or one that it waits for: with files that are half way somewhere, or when one came after another for long. Or one that was gone back to. A new
 * one gets the last that ran while the latest is rejected. */
static bool wanted(const struct instance *in, const char *text)
{
    char hash[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(text, strlen(text), hash);
    size_t first = 0;
    while (w.of[first].gone || (first != in->number && configuration_view(w.c, first).former))
        first++;
    const struct configuration_view v = configuration_view(w.c, first), own = configuration_view(w.c, in->number);
    return (own.former && str_eq(hash, own.sha256)) || str_eq(text, w.text) ||
           ((w.with_files || v.version != 0 || v.overtaken) && str_eq(hash, v.sha256));
}

static enum transaction_result validate(struct instance *in, const char *text)
{
    w.validations++;
    if (!wanted(in, text))
        ck_abort_msg("asked about what is not desired any more: %s", text);
    ck_assert_msg(!w.with_files || in->map == number_of(text), "%zu is asked before it has the files", in->number);
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

/* What HAProxy itself checks, and what it cannot refuse, need no verdict before. */
static bool needs_verdict(const struct replacement_request *r)
{
    return r->changes == NULL || (present() > 1 && !r->plain);
}

/* It has nothing to say about it: numbers alone change. */
static bool could_be_plain(const struct instance *in, const char *text)
{
    const char *is = strstr(in->running, "  server"), *is_to_be = strstr(text, "  server");
    bool has_files = !w.with_files || (in->map == number_of(text) && in->map == in->map_good && !in->grown);
    return w.by_runtime && has_files && str_eq(in->file, in->running) && is != NULL && is_to_be != NULL &&
           strncmp(is, is_to_be, strlen("  server s0")) == 0;
}

static void check_write(const struct instance *in, const struct replacement_request *r)
{
    const char *text = r->text->text;
    ck_assert_msg(!w.dry_run, "a dry run writes");
    ck_assert_msg(r->changes == NULL || (w.by_runtime && str_eq(in->file, in->running)),
                  "%zu is sent how %s differs, and runs %s", in->number, in->file, in->running);
    if (!wanted(in, text) || r->restores)
        return; /* the one from before goes back */
    bool judged = in->validated != NULL && str_eq(in->validated, text);
    ck_assert_msg(judged || !needs_verdict(r), "written before it was validated");
    if (configuration_view(w.c, in->number).former)
        return; /* it is what others run, whatever they make of the latest */
    for (size_t i = 0; i < w.count; i++) {
        const struct instance *other = &w.of[i];
        if (other->gone || configuration_view(w.c, i).joins)
            continue;
        const struct configuration_view v = configuration_view(w.c, i);
        ck_assert_msg(!str_eq(v.state, "rejected"), "written although %zu rejects it", i);
        bool had_it = str_eq(v.state, "written") || str_eq(v.state, "applied") || str_eq(v.state, "drifted");
        bool has_judged = other->validated != NULL && str_eq(other->validated, text);
        ck_assert_msg(other == in || v.away || had_it || has_judged || str_eq(other->file, text) ||
                          could_be_plain(other, text),
                      "written although %zu has not validated it", i);
        ck_assert_msg(!other->up || v.away || !says(text, "reject", other) || !w.calm,
                      "written although %zu would reject it", i);
    }
}

static enum transaction_result replace_file(struct instance *in, const struct replacement_request *r, bool *ret_runs)
{
    const char *text = r->text->text;
    check_write(in, r);
    ck_assert_msg(!in->loading, "written while a reload is under way, whose end is then whose?");
    ck_assert_str_eq(r->before->text, in->file);
    w.writes++;
    if (chance(8))
        return TRANSACTION_CONFLICT;
    if (in->fails || chance(8))
        return TRANSACTION_UNAVAILABLE;
    if (says(text, "harm", in)) { /* the file that is there was written again */
        become(&in->memory, in->file);
        in->dirty = true;
        in->at += 2;
        return TRANSACTION_HARMFUL;
    }
    bool lost = in->mute || chance(8);
    if (!lost || in->mute || dice_below(&w.dice, 2) == 0) {
        become(&in->file, text);
        become(&in->memory, text);
        in->at++;
        in->unseen = false;
        in->dirty = true;
        in->mark = in->at;
    }
    in->mute = false;
    if (lost || r->changes == NULL || chance(3)) /* it is loaded then */
        return lost ? TRANSACTION_UNKNOWN : TRANSACTION_COMMITTED;
    in->dirty = false; /* the running HAProxy has all of it, too */
    in->mark = 0;
    become(&in->running, text);
    become(&in->back, text);
    *ret_runs = true;
    w.ran++;
    return TRANSACTION_COMMITTED;
}

static void new_document(bool good);
static void bad_document(const char *word, unsigned for_target);
static const char *state_of(size_t i);

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
    struct replaced r = {.result = TRANSACTION_UNKNOWN, .version = -1, .retry_after_ms = -1};
    e->ops->replace(e->self, &request);
    const char *word = request.before != NULL || w.meanwhile_checks ? w.meanwhile : NULL;
    w.meanwhile = word != NULL ? NULL : w.meanwhile;
    if (request.before == NULL)
        r.result = validate(in, request.text->text);
    if (word != NULL)
        bad_document(word, 1);
    if (request.before != NULL)
        r.result = replace_file(in, &request, &r.runs);
    change_meanwhile(&request);
    if (in->leaves == LEAVES_AMID_REQUEST || (in->leaves == LEAVES_AMID_WRITE && request.before != NULL))
        leave(in);
    if (r.result != TRANSACTION_PREVIEWED) {
        in->fresh = false;
        if (r.result != TRANSACTION_COMMITTED)
            (void)error_set(&r.error, ERROR_INVALID, "%s", transaction_result_name(r.result));
    }
    e->ops->replaced(e->self, &r);
}

/* ---- the map beside it ---- */

static enum transaction_result store_part(struct instance *in, enum storage_part part, unsigned n, struct stored *s)
{
    for (size_t i = 0; i < w.count && part == STORAGE_ADD; i++)
        ck_assert_msg(w.of[i].gone || configuration_view(w.c, i).joins || !str_eq(state_of(i), "rejected") ||
                          configuration_view(w.c, in->number).former,
                      "files of what %zu rejects are added", i);
    if (part == STORAGE_ADD) {
        in->grown = in->map_good != n && dice_below(&w.dice, 2) == 0;
        s->unfinished = in->grown;
        in->added = true;
        in->adds_to |= 1ull << in->map % 64;
        in->map = n;
    } else if (part == STORAGE_FINAL) {
        ck_assert_uint_eq(in->map, n);
        in->grown = in->added = false;
        in->adds_to = 0;
    } else if (part == STORAGE_RUN) {
        ck_assert_msg(in->map == n && !in->grown, "%zu is to run files that it does not have", in->number);
        ck_assert_msg(number_of(in->running) == n, "%zu is to run files of what it does not run", in->number);
        s->changed = chance(3);
        s->why = s->changed ? "the model would not" : NULL;
        in->map_running = s->changed ? in->map_running : n;
        in->grown_running = in->grown_running && s->changed;
        w.files_ran += !s->changed;
    } else if (part == STORAGE_END) {
        ck_assert_str_eq(state_of(in->number), "applied");
        ck_assert_msg(in->map == n && !in->grown, "%zu is done with files that it does not have", in->number);
        in->map_good = n;
        in->orphan = false;
    } else if (part == STORAGE_BACK) {
        in->map = in->map_good;
        in->grown = in->added = false;
        in->adds_to = 0;
    } else if (in->map != n || in->grown) {
        s->differing = 1;
        s->differs = "maps/m.map";
    }
    return chance(10) ? TRANSACTION_UNAVAILABLE : TRANSACTION_COMMITTED;
}

static void store(struct instance *in)
{
    const struct engine *e = in->engine;
    struct storage_request request = {0};
    struct stored s = {.result = TRANSACTION_UNKNOWN, .retry_after_ms = -1};
    w.stores++;
    e->ops->store(e->self, &request);
    ck_assert_uint_eq(request.files->count, 1);
    s.result = store_part(in, request.part, number_of(request.files->list[0].bytes), &s);
    s.changed = request.part == STORAGE_RUN && s.result == TRANSACTION_COMMITTED ? s.changed
                                                                                 : in->map != in->map_good || in->grown;
    if (s.result != TRANSACTION_COMMITTED)
        (void)error_set(&s.error, ERROR_RETRY, "%s", transaction_result_name(s.result));
    if (chance(12))
        new_document(dice_below(&w.dice, 2) == 0);
    e->ops->stored(e->self, &s);
}

/* An empty commit; its reload ends at a later step. */
static void load(struct instance *in)
{
    w.loads++;
    unsigned n = number_of(in->memory);
    if (w.with_files && !in->orphan && n > 0)
        ck_assert_msg(in->map == n || (in->added && (in->map_good == n || (in->adds_to >> n % 64 & 1) != 0)),
                      "%zu loads files of %u with %s", in->number, in->map, in->memory);
    in->at++;
    in->fresh = in->dirty = false;
    in->loading = in->followed = true;
    in->reloads++;
    become(&in->file, in->memory);
}

static void loaded(struct instance *in)
{
    const struct engine *e = in->engine;
    in->loading = in->fresh = false;
    bool lost = in->loses || chance(10); /* the API was started anew: it knows of no reload */
    if (lost || says(in->file, "unloadable", in)) {
        if (!lost && !w.stays)
            become(&in->file, in->back);
        in->loses = false;
        in->dirty = true;
        if (in->followed)
            e->ops->reload_failed(e->self, lost);
    } else {
        become(&in->running, in->file);
        become(&in->back, in->file);
        in->unseen = false;
        in->pid++;
        in->map_running = in->map;
        in->grown_running = in->grown;
    }
}

static bool is_half_way(const struct instance *in)
{
    return in->dirty || in->loading || in->map != in->map_good || in->grown;
}

/* By words of what runs: "dying1", "missing1", "empty1". */
static void serve(struct instance *in)
{
    const struct engine *e = in->engine;
    struct served s = {.pid = in->pid, .version = -1, .lists = true};
    s.answers = !says(in->running, "dying", in);
    if (strstr(in->running, "frontend fe") != NULL && s.answers)
        served_add_frontend(&s, "fe", !says(in->running, "missing", in) && !w.stopped);
    if (strstr(in->running, "backend be") != NULL && s.answers)
        served_add_backend(&s, "be", says(in->running, "empty", in) || w.servers_died ? 0 : 2);
    e->ops->served(e->self, &s, NULL);
    served_fini(&s);
}

static struct engine_wants decide(struct instance *in)
{
    const struct engine *e = in->engine;
    struct engine_wants wants = {.served = true};
    for (unsigned i = 0; wants.served; i++) {
        wants = (struct engine_wants){0};
        e->ops->decide(e->self, &wants);
        ck_assert_msg(i < 2, "it is asked without an end what it serves");
        if (wants.served)
            serve(in);
    }
    return wants;
}

static void target_step(struct instance *in)
{
    const struct engine *e = in->engine;
    if (in->hangs)
        return;
    if (!in->up || chance(20)) {
        in->fresh = false;
        in->away = true;
        in->orphan = in->orphan || is_half_way(in);
        e->ops->read_failed(e->self);
        return;
    }
    if (in->loading && (w.calm || chance(2)))
        loaded(in);
    if (!in->fresh) {
        in->fresh = true;
        in->away = false;
        e->ops->read(e->self);
        e->ops->concluded(e->self);
    }
    ck_assert_msg(in->known || !str_eq(configuration_view(w.c, in->number).state, "applied"),
                  "called applied while a reload may be under way");
    if (!in->known && !chance(2)) {
        in->known = true;
        e->ops->reloads_known(e->self);
    }
    const struct engine_wants wants = decide(in);
    if (wants.replacement + wants.reload + wants.storage > 1)
        ck_abort_msg("several at once");
    if (wants.storage)
        store(in);
    else if (wants.replacement)
        replace(in);
    else if (wants.reload)
        load(in);
}

/* ---- a stream ---- */

static void on_event(void *arg, const struct configuration_event *e)
{
    w.told[e->kind]++;
    w.drifts += e->kind == CONFIGURATION_DRIFTED;
    w.refusals += e->kind == CONFIGURATION_REFUSED;
    w.recoveries += e->kind == CONFIGURATION_RECOVERED;
}

static void engine_begin(void)
{
    const struct configuration_options options = {
        .dry_run = w.dry_run,
        .allow_lockout = w.allow_lockout,
        .drift = w.drift,
        .canary = w.canary,
        .canary_time_ms = 30000,
        .rollback = w.rollback,
        .min_interval_ms = w.min_interval_ms,
        .store = w.store,
        .listener = {.happened = on_event},
    };
    w.c = configuration_new(NULL, &options);
    for (size_t i = 0; i < w.count; i++) {
        struct instance *in = &w.of[i];
        ck_assert_uint_eq(configuration_add(w.c, in->name), i);
        in->engine = configuration_engine(w.c, i);
        in->orphan = in->orphan || is_half_way(in);
        in->fresh = in->known = in->followed = false; /* the list of reloads says how it ended */
        free(in->validated);
        in->validated = NULL;
        in->engine->ops->attach(in->engine->self, in);
        in->ends = false;
    }
    for (size_t i = 0; i < w.count; i++)
        if (w.of[i].gone)
            leave(&w.of[i]);
}

static void free_texts(struct instance *in)
{
    char **const texts[] = {&in->file, &in->running, &in->memory, &in->back, &in->validated, &in->rejected};
    for (size_t i = 0; i < array_len(texts); i++)
        free(*texts[i]);
}

static void first_state(struct instance *in)
{
    static const char first[] = "global\n  description first\n";
    free_texts(in);
    *in = (struct instance){.number = in->number,
                            .name = in->name,
                            .up = true,
                            .back = mem_strdup(first),
                            .pid = 100,
                            .file = mem_strdup(first),
                            .running = mem_strdup(first),
                            .memory = mem_strdup(first)};
}

/* Another one in its place, which has nothing of it. */
static inline void come(struct instance *in)
{
    forget(in);
    first_state(in);
    free(in->name);
    in->name = mem_printf("pod %u", ++w.pods);
    ck_assert_uint_eq(configuration_add(w.c, in->name), in->number);
    in->engine = configuration_engine(w.c, in->number);
    in->engine->ops->attach(in->engine->self, in);
}

static void give(void)
{
    struct storage_files files = {0};
    cleanup(mem_free_ptr) char *map = mem_printf("document-%u x\n", number_of(w.text));
    if (w.with_files)
        ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, "m.map", map, strlen(map), &flaw), 0);
    struct document *d =
        document_new(DOCUMENT_FOR_APIS, "a file", w.text, strlen(w.text), NULL, w.with_files ? &files : NULL, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    configuration_set(w.c, d);
    document_unref(d);
}

/* One HAProxy alone finds it bad. */
static void bad_document(const char *word, unsigned for_target)
{
    free(w.text);
    w.text = mem_printf("global\n  description document-%u-%s%u\n%s", ++w.documents, word, for_target,
                        w.more != NULL ? w.more : "");
    give();
}

#define GOOD "description good" /* of those by_runtime */

static void new_document(bool good)
{
    static const char *const words[] = {"reject", "harm", "unloadable"};
    if (!good) {
        const char *word = words[dice_below(&w.dice, 3)];
        bad_document(word, dice_below(&w.dice, (unsigned)w.count));
        return;
    }
    if (w.text != NULL && strstr(w.text, GOOD) != NULL)
        become(&w.former, w.text);
    free(w.text);
    w.documents++;
    /* Of those that differ in numbers alone, or in who is there, HAProxy gets commands. */
    w.text = w.by_runtime
                 ? mem_printf("global\n  " GOOD "\nbackend b\n  # document-%u\n  balance roundrobin\n"
                              "  server s%u 127.0.0.1:80 weight %u\n",
                              w.documents, dice_below(&w.dice, 3) == 0, w.documents % 250 + 1)
                 : mem_printf("global\n  description document-%u\n%s", w.documents, w.more != NULL ? w.more : "");
    give();
}

/* As it was before. */
static inline void former_document(void)
{
    if (w.former == NULL)
        return;
    become(&w.text, w.former);
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
static inline void refresh(void)
{
    for (size_t i = 0; i < w.count; i++) {
        if (w.of[i].gone)
            continue;
        ask_again(&w.of[i]);
        w.of[i].fresh = false;
        w.of[i].engine->ops->refresh(w.of[i].engine->self);
    }
}

static inline void upgrade(struct instance *in)
{
    in->version = 1 - in->version;
    ask_again(in);
    in->fresh = false;
}

/* Another writer, who loads it, too, or does not. */
static inline void edit(struct instance *in, const char *text)
{
    become(&in->file, text);
    become(&in->memory, text);
    become(&in->back, text);
    in->unseen = w.by_runtime && dice_below(&w.dice, 2) == 0;
    if (!in->unseen) {
        become(&in->running, text);
        in->pid++;
    }
    in->at++;
    in->fresh = in->dirty = false;
}

static inline void edit_by_hand(struct instance *in)
{
    const char *weight = strstr(in->file, " weight ");
    cleanup(mem_free_ptr) char *text = weight != NULL
                                           ? mem_printf("%.*s weight 256\n", (int)(weight - in->file), in->file)
                                           : mem_strdup("global\n  description by-hand\n");
    edit(in, text);
}

static void pass_some_time(uint64_t ms)
{
    struct timer *t = virtual_next_timer(clock_mono_ms());
    if (t != NULL) {
        t->due_ms = 0;
        t->fn(t->arg);
    }
    w.now_us += ms * 1000;
}

static void pass_within(uint64_t ms)
{
    for (size_t i = 0; i < w.count; i++)
        if (!w.of[i].gone)
            target_step(&w.of[i]);
    pass_some_time(ms);
    for (size_t i = 0; i < w.count; i++)
        forget(&w.of[i]);
}

/* So much that no pause after a failure is longer than some of them. */
static void pass(void)
{
    pass_within(100000);
}

static void stream_begin(unsigned seed)
{
    memset(&w, 0, sizeof(w));
    w.count = TARGETS;
    w.now_us = 1000000;
    w.dice.state = seed * 7919 + 1;
    (void)dice_below(&w.dice, 3); /* seeds that failed once play as they did */
    w.dry_run = dice_below(&w.dice, 10) == 0;
    w.drift = (enum configuration_drift)dice_below(&w.dice, 3);
    w.rollback = CONFIGURATION_ROLLBACK_REPORT;
    w.store = store_new(NULL, NULL, &flaw);
    ck_assert_msg(w.store != NULL, "%s", flaw.message);
    for (size_t i = 0; i < w.count; i++)
        w.of[i].number = i;
    for (size_t i = 0; i < w.count; i++)
        first_state(&w.of[i]);
    engine_begin();
}

static inline void passes(unsigned n)
{
    while (n-- > 0)
        pass();
}

#define PASS_UNTIL(condition)                                               \
    do {                                                                    \
        for (unsigned passed_ = 0; passed_ < 40 && !(condition); passed_++) \
            pass();                                                         \
        ck_assert_msg(condition, "never: %s", #condition);                  \
    } while (0)

/* Without chance, and without a policy that the test does not set itself. */
static inline void begin_calm(enum configuration_drift drift)
{
    stream_begin(1);
    w.calm = true;
    w.dry_run = false;
    w.drift = drift;
    restart();
}

/* And a good document that all run. */
static inline void begin_applied(enum configuration_drift drift)
{
    begin_calm(drift);
    new_document(true);
    passes(5);
}

static void stream_end(void)
{
    configuration_free(w.c);
    for (size_t i = 0; i < TARGETS; i++) {
        free(w.of[i].name);
        free_texts(&w.of[i]);
    }
    store_free(w.store);
    cfg_content_unref(file_content);
    file_content = NULL;
    free(w.text);
    free(w.former);
}

static const char *state_of(size_t i)
{
    return configuration_view(w.c, i).state;
}

static inline void all_are(const char *state)
{
    for (size_t i = 0; i < w.count; i++)
        ck_assert_str_eq(state_of(i), state);
}

static inline void all_run(const char *text)
{
    for (size_t i = 0; i < w.count; i++)
        ck_assert_str_eq(w.of[i].running, text);
}
