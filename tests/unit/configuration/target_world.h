/*
 * One HAProxy of the configuration engine (src/configuration/target), in virtual time: a world for its tests. The
 * instance is played by the functions that the engine calls.
 */
#pragma once

#include "../log_file.h"
#include "base/clock.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/driver.h"
#include "haproxy/engine.h"
#include "haproxy/instance.h"

#define DOCUMENT "global\n  description one\nuserlist u\n  user a insecure-password hunter2\n"

struct instance {
    const struct engine *engine;
    char *file;
    struct error problem;
    bool loaded, dirty, ends_unknown, differs; /* what is known of it */
    int64_t version;
    bool behind, unread, other_wrote;
    enum reload_state reload;
    unsigned loads;
};

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct configuration *c;
    struct store *store;
    struct instance in;
    bool busy;  /* a reload is to come */
    bool alone; /* as the last part was stored */
    unsigned told[CONFIGURATION_EVENT_KINDS];
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

/* ---- what the engine calls ---- */

/* An instance that does nothing by itself: the test says what happens. */
void instance_step(struct instance *in)
{
}

static unsigned must_reload; /* how often that was said */

void instance_must_reload(struct instance *in)
{
    must_reload++;
}

void instance_outdated(struct instance *in)
{
}

int instance_foresee(const struct instance *in, const struct cfg_file *to, const struct changes *changes,
                     struct buf *ret, struct error *err)
{
    for (size_t i = 0; i < changes->count; i++)
        buf_printf(ret, "change %s/%s\n", changes->list[i]->backend->name, changes->list[i]->server->name);
    return 0;
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
}

/* What is decided where HAProxy cannot be asked what it serves. */
static inline struct engine_wants decided(const struct engine *e)
{
    struct engine_wants wants = {0};
    e->ops->decide(e->self, &wants);
    if (!wants.served)
        return wants;
    (void)error_set(&flaw, ERROR_GONE, "there is no socket");
    e->ops->served(e->self, NULL, &flaw);
    wants = (struct engine_wants){0};
    e->ops->decide(e->self, &wants);
    return wants;
}

struct instance_view instance_view(const struct instance *in)
{
    return (struct instance_view){.url = "http://a",
                                  .haproxy = "3.0",
                                  .version = in->version,
                                  .behind = in->behind,
                                  .other_wrote = in->other_wrote,
                                  .problem = &in->problem,
                                  .fresh = !in->unread,
                                  .may_write = true,
                                  .may_begin = true,
                                  .file_allows = true,
                                  .last_reload_known = !in->ends_unknown,
                                  .loaded = in->loaded,
                                  .dirty = in->dirty,
                                  .reload = in->reload,
                                  .loads = in->loads};
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
    return !w.busy && !in->dirty && !in->differs && in->reload != RELOAD_PENDING;
}

/* ---- what a test does ---- */

static inline void set_trial_of(const char *text, struct storage_files *files, bool trial)
{
    struct document *d = document_new(DOCUMENT_FOR_APIS, "a file", text, strlen(text), NULL, files, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    d->trial = trial;
    configuration_set(w.c, d);
    document_unref(d);
}

static inline void set_document_of(const char *text, struct storage_files *files)
{
    set_trial_of(text, files, false);
}

static inline void set_document(const char *text)
{
    set_document_of(text, NULL);
}

static inline void read_it(void)
{
    w.in.engine->ops->read(w.in.engine->self);
    w.in.engine->ops->concluded(w.in.engine->self);
}

static inline void on_event(void *arg, const struct configuration_event *e)
{
    w.told[e->kind]++;
}

static size_t world_canary, world_targets = 1; /* of which all have the one instance */
static struct keep_rules world_keep;

static inline void world_open(enum configuration_drift drift, bool dry_run)
{
    must_reload = 0;
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    log_begin();
    w.store = store_new(NULL, NULL, &flaw);
    w.in.file = mem_strdup("global\n");
    const struct configuration_options options = {.target_count = world_targets,
                                                  .drift = drift,
                                                  .canary = world_canary,
                                                  .keep = world_keep,
                                                  .dry_run = dry_run,
                                                  .foresees = dry_run,
                                                  .store = w.store,
                                                  .listener = {.happened = on_event},
                                                  .log = &log_to_file};
    w.c = configuration_new(NULL, &options);
    w.in.engine = configuration_engine(w.c, 0);
    w.in.engine->ops->attach(w.in.engine->self, &w.in);
}

static inline void world_begin_as(enum configuration_drift drift, bool dry_run)
{
    world_open(drift, dry_run);
    set_document(DOCUMENT);
    read_it();
}

static inline void world_begin(void)
{
    world_begin_as(CONFIGURATION_DRIFT_REPORT, false);
}

static inline void world_end(void)
{
    configuration_free(w.c);
    store_free(w.store);
    free(w.in.file);
    cfg_content_unref(file_content);
    file_content = NULL;
    log_end();
}

static inline void world_anew(enum configuration_drift drift, bool dry_run)
{
    world_end();
    world_begin_as(drift, dry_run);
}

static inline const char *state(void)
{
    return configuration_view(w.c, 0).state;
}

static inline bool would_ask(void)
{
    const struct engine_wants wants = decided(w.in.engine);
    ck_assert(wants.replacement != wants.waits);
    return wants.replacement;
}

/* It asks, and gets that: status 0 is no answer. */
static inline void ask(enum transaction_result result, int status, int64_t retry_after_ms)
{
    struct replacement_request request = {0};
    struct replaced r = {.result = TRANSACTION_UNKNOWN, .version = -1, .retry_after_ms = -1};
    ck_assert(would_ask());
    w.in.engine->ops->replace(w.in.engine->self, &request);
    r.result = result;
    r.retry_after_ms = retry_after_ms;
    if (status == 0)
        (void)error_set(&r.error, ERROR_RETRY, "no answer");
    else if (status >= 300)
        (void)error_set_http(&r.error, status, "status %d", status);
    w.in.engine->ops->replaced(w.in.engine->self, &r);
}

static inline void is_written(void)
{
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ask(TRANSACTION_COMMITTED, 201, -1);
}

/* In how many ms it is asked again; by a reading each second, as the instance has them. */
static inline uint64_t asked_after(void)
{
    uint64_t begin = clock_mono_ms();
    for (; !would_ask(); w.now_us += 1000000) {
        ck_assert_uint_lt(clock_mono_ms() - begin, 3600000);
        uint64_t due = w.in.engine->ops->due(w.in.engine->self, clock_mono_ms());
        ck_assert_msg(due > clock_mono_ms(), "nothing would wake it");
        read_it();
    }
    return clock_mono_ms() - begin;
}

static inline const char *failure(void)
{
    return configuration_view(w.c, 0).failure;
}

static inline void put_into_file(const char *text)
{
    free(w.in.file);
    w.in.file = mem_strdup(text);
}

static inline void file_is(const char *text)
{
    put_into_file(text);
    read_it();
}

/* It was written, and HAProxy cannot load it. */
static inline void is_written_and_not_loaded(void)
{
    is_written();
    put_into_file(DOCUMENT);
    w.in.engine->ops->read(w.in.engine->self);
    w.in.engine->ops->reload_failed(w.in.engine->self, false);
}

/* ---- files ---- */

static inline bool would_store(void)
{
    return decided(w.in.engine).storage;
}

/* It stores that part next, and gets that. */
static inline void stores(enum storage_part part, const struct stored *s)
{
    struct storage_request request = {0};
    ck_assert(would_store());
    w.in.engine->ops->store(w.in.engine->self, &request);
    ck_assert_int_eq((int)request.part, (int)part);
    ck_assert_uint_eq(request.files->count, 1);
    w.alone = request.alone;
    w.in.engine->ops->stored(w.in.engine->self, s);
}

static const struct stored stored = {.result = TRANSACTION_COMMITTED, .retry_after_ms = -1};
static const struct stored differs = {
    .result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .differing = 1, .differs = (char[]){"maps/a.map"}};
static const struct stored ran = {.result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .ran = 1};
static const struct stored added = {.result = TRANSACTION_COMMITTED, .retry_after_ms = -1, .changed = true};

static inline void set_text_with(const char *text, const char *map)
{
    struct storage_files files = {0};
    ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, "a.map", map, strlen(map), &flaw), 0);
    set_document_of(text, &files);
}

static inline void set_document_with(const char *map)
{
    set_text_with(DOCUMENT, map);
}

static inline void set_document_with_file(void)
{
    set_document_with("a 1\n");
}

static inline void apply_with_file(void)
{
    set_document_with_file();
    stores(STORAGE_ADD, &added);
    ck_assert_uint_eq(w.told[CONFIGURATION_STORED], 0); /* a map alone */
    is_written();
    file_is(DOCUMENT);
    stores(STORAGE_END, &stored);
    ck_assert_str_eq(state(), "applied");
    ck_assert(!would_store());
}
