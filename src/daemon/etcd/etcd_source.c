#include "daemon/etcd/etcd_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/published.h"
#include "daemon/config/config_source.h"
#include "daemon/etcd/etcd_access.h"
#include "daemon/etcd/publisher_kept.h"
#include "etcd/client.h"
#include "etcd/watch.h"
#include "haproxy/storage_files.h"
#include "host/timer.h"
#include "report/checks.h"
#include "settings/settings.h"

#define RETRY_MIN_MS 500
#define RETRY_MAX_MS 30000
#define TRIAL_MS 60000 /* then it is read whether it is still to be checked */

struct etcd_source {
    struct etcd_source_options options;
    const struct settings *settings;
    struct etcd_watch *watch, *trials;
    char *trial_key;
    struct timer retry;                                              /* or to read whether it is still that */
    unsigned tries;                                                  /* that failed one behind the other */
    struct etcd_call *call;                                          /* the one that is under way; NULL: none */
    void (*next)(struct etcd_source *s, const struct etcd_got *got); /* takes what it gets */
    /* What is read. */
    int64_t revision;         /* at which */
    int64_t created, changed; /* of the key then: which value it is */
    struct buf plain;
    struct published_manifest manifest;
    struct buf text, files; /* of parts */
    size_t part;            /* the next one */
    bool trial;             /* it is only to be checked */
    bool look;              /* for one of these, behind this one */
    /* How it stands. */
    uint64_t version;
    bool taken;           /* something was, once */
    bool tried;           /* that is only to be checked */
    bool connected;       /* the watch is */
    struct error problem; /* why nothing could be taken last; kind NONE: it was */
    struct error away;    /* why the watch is not connected */
};

static void source_read(struct etcd_source *s);
static void source_take_trial(struct etcd_source *s, const struct etcd_got *got);
static void source_next(struct etcd_source *s);

static void source_clear(struct etcd_source *s)
{
    etcd_call_cancel(s->call);
    s->call = NULL;
    buf_clear(&s->plain);
    buf_clear(&s->text);
    buf_clear(&s->files);
    published_manifest_fini(&s->manifest);
    s->part = 0;
    s->trial = false;
}

/* What runs stays. It is tried again, and at once when another version comes. */
static void source_fail(struct etcd_source *s, const struct error *err)
{
    struct error named = *err;
    source_clear(s);
    timer_set(&s->retry, backoff_limit_ms(RETRY_MIN_MS, RETRY_MAX_MS, s->tries++));
    (void)error_prefix(&named, "%s", s->settings->etcd.path);
    bool same = s->problem.kind != ERROR_NONE && str_eq(s->problem.message, named.message);
    s->problem = named;
    if (!same)
        s->options.failed(s->options.arg, &named);
}

static void source_refuse(struct etcd_source *s, const char *why)
{
    struct error err = {0};
    (void)error_set(&err, ERROR_INVALID, "%s", why);
    source_fail(s, &err);
}

static void source_on_got(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct etcd_source *s = arg;
    s->call = NULL;
    if (err != NULL)
        source_fail(s, err);
    else
        s->next(s, got);
}

static void source_get(struct etcd_source *s, const struct etcd_get *get,
                       void (*next)(struct etcd_source *s, const struct etcd_got *got))
{
    s->next = next;
    s->call = etcd_get(s->options.client, get, source_on_got, s);
}

static void source_take(struct etcd_source *s, const struct buf *text, struct storage_files *files)
{
    cleanup(mem_free_ptr) char *origin =
        s->manifest.version != 0
            ? mem_printf("etcd, %s, version %llu%s", s->settings->etcd.path, (unsigned long long)s->manifest.version,
                         s->trial ? ", only to be checked" : "")
            : mem_printf("etcd, %s", s->settings->etcd.path);
    bool look = s->look;
    s->version = s->manifest.version;
    s->taken = true;
    s->tries = 0;
    error_clear(&s->problem);
    timer_set(&s->retry, s->trial ? TRIAL_MS : s->settings->resync_period_ms);
    s->tried = s->trial;
    s->look = false;
    (void)s->options.made(s->options.arg, origin, buf_str(text), text->len, files);
    source_clear(s);
    if (look)
        source_get(s, &(struct etcd_get){.key = s->trial_key}, source_take_trial);
}

/* All is there. */
static void source_finish(struct etcd_source *s)
{
    cleanup(storage_files_fini) struct storage_files files = {0};
    struct error err = {0};
    const struct published_manifest *m = &s->manifest;
    const struct buf *text =
        m->version == 0 || published_is(buf_str(&s->plain), s->plain.len, m->hash) ? &s->plain : &s->text;
    if (m->version != 0 && !published_is(buf_str(text), text->len, m->hash))
        source_refuse(s, "the configuration in etcd is not the one of its manifest");
    else if (published_files(m, buf_str(&s->files), s->files.len, &files, &err) != 0)
        source_fail(s, &err);
    else
        source_take(s, text, &files);
}

/* ---- parts ---- */

static const char *source_part_hash(const struct etcd_source *s)
{
    const struct published_manifest *m = &s->manifest;
    return s->part < m->text.count ? m->text.list[s->part] : m->files.list[s->part - m->text.count];
}

static void source_take_part(struct etcd_source *s, const struct etcd_got *got)
{
    struct error problem = {0};
    const char *hash = source_part_hash(s);
    if (got->count != 1)
        (void)error_set(&problem, ERROR_INVALID, "the part %s is missing in etcd; the producer repairs that", hash);
    else if (!published_is(got->list[0].value, got->list[0].value_len, hash))
        (void)error_set(&problem, ERROR_INVALID, "the part %s in etcd has changed; the producer repairs that", hash);
    if (problem.kind != ERROR_NONE) {
        source_fail(s, &problem);
        return;
    }
    buf_addn(s->part < s->manifest.text.count ? &s->text : &s->files, got->list[0].value, got->list[0].value_len);
    s->part++;
    source_next(s);
}

static void source_next(struct etcd_source *s)
{
    if (s->part == s->manifest.text.count + s->manifest.files.count) {
        source_finish(s);
        return;
    }
    cleanup(mem_free_ptr) char *key = etcd_key(s->settings, "parts/", source_part_hash(s));
    const struct etcd_get get = {.key = key}; /* its bytes are always the same */
    source_get(s, &get, source_take_part);
}

/* ---- the configuration, then its manifest ---- */

/* There is no manifest: of an older producer there are no versions, either. */
static void source_take_versions(struct etcd_source *s, const struct etcd_got *got)
{
    if (got->count > 0)
        source_refuse(s, "its manifest in etcd is gone: which files belong to the value is unknown; the producer "
                         "repairs it within its RESYNC_PERIOD");
    else
        source_finish(s);
}

static void source_on_manifest(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct etcd_source *s = arg;
    struct error bad = {0};
    s->call = NULL;
    if (err != NULL && err->kind == ERROR_GONE) {
        source_read(s); /* compacted in between */
        return;
    }
    if (err != NULL) {
        source_fail(s, err);
        return;
    }
    if (got->count == 0) {
        cleanup(mem_free_ptr) char *key = etcd_key(s->settings, "versions/", "");
        const struct etcd_get get = {
            .key = key, .prefix = true, .revision = s->revision, .limit = 1, .keys_only = true};
        source_get(s, &get, source_take_versions);
        return;
    }
    if (published_manifest_parse(got->list[0].value, got->list[0].value_len, &s->manifest, &bad) != 0) {
        (void)error_prefix(&bad, "its manifest in etcd cannot be read");
        source_fail(s, &bad);
        return;
    }
    bool whole = published_is(buf_str(&s->plain), s->plain.len, s->manifest.hash);
    if (!whole && !str_eq(buf_str(&s->plain), PUBLISHED_TOO_LARGE)) {
        source_refuse(s, "its value in etcd does not match its manifest: another writer changed it; the producer "
                         "repairs it within its RESYNC_PERIOD");
        return;
    }
    s->part =
        whole ? s->manifest.text.count : 0; /* parts of the configuration are read where it is not at its key itself */
    source_next(s);
}

static void source_take_value(struct etcd_source *s, const struct etcd_kv *kv, int64_t revision)
{
    source_clear(s);
    s->revision = revision;
    s->created = kv->create_revision;
    s->changed = kv->mod_revision;
    buf_addn(&s->plain, kv->value, kv->value_len);
    cleanup(mem_free_ptr) char *key = etcd_key(s->settings, "manifest", "");
    const struct etcd_get get = {.key = key, .revision = revision};
    s->call = etcd_get(s->options.client, &get, source_on_manifest, s);
}

static void source_none(struct etcd_source *s)
{
    source_refuse(
        s, "there is no such key in etcd; expected a producer (CONFIG_TARGET=etcd) with the same ETCD_PATH; what runs "
           "stays");
}

static void source_take_plain(struct etcd_source *s, const struct etcd_got *got)
{
    s->revision = got->revision;
    etcd_watch_start(s->watch, s->revision + 1);
    etcd_watch_start(s->trials, s->revision + 1);
    if (got->count == 0)
        source_none(s);
    else
        source_take_value(s, &got->list[0], got->revision);
}

static void source_read(struct etcd_source *s)
{
    source_clear(s);
    s->look = true;
    source_get(s, &(struct etcd_get){.key = s->settings->etcd.path}, source_take_plain);
}

/* ---- whether it is still that ---- */

/* Of a trial: so that one that ended unseen is no longer tried. */
static void source_on_looked(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct etcd_source *s = arg;
    bool same = err != NULL || (s->tried ? got->count > 0
                                         : got->count == 1 && got->list[0].create_revision == s->created &&
                                               got->list[0].mod_revision == s->changed);
    s->call = NULL;
    if (same)
        timer_set(&s->retry, s->tried ? TRIAL_MS : s->settings->resync_period_ms);
    else
        source_read(s);
}

/* A watch does not notice that etcd was set back and is further by now than what was read. */
static void source_look(void *arg)
{
    struct etcd_source *s = arg;
    if (s->problem.kind != ERROR_NONE) {
        source_read(s);
        return;
    }
    const struct etcd_get get = {.key = s->tried ? s->trial_key : s->settings->etcd.path, .keys_only = true};
    source_clear(s);
    s->call = etcd_get(s->options.client, &get, source_on_looked, s);
}

/* ---- what changes ---- */

static void source_on_changed(void *arg, const struct etcd_event *events, size_t count, int64_t revision)
{
    struct etcd_source *s = arg;
    const struct etcd_event *last = &events[count - 1]; /* the latest wins */
    (void)revision;
    s->tries = 0;
    timer_cancel(&s->retry);
    if (last->deleted) {
        source_clear(s);
        source_none(s);
    } else {
        source_take_value(s, last->kv, last->kv->mod_revision);
    }
}

/* ---- what is only to be checked ---- */

static void source_take_trial_manifest(struct etcd_source *s, const struct etcd_kv *kv)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    if (published_manifest_parse(kv->value, kv->value_len, &m, NULL) != 0 || m.version <= s->version)
        return;
    timer_cancel(&s->retry);
    source_clear(s);
    s->manifest = m;
    m = (struct published_manifest){0};
    s->trial = true;
    source_next(s);
}

/* Where this read fails, all is read again: otherwise a trial would be missed until another one comes. */
static void source_take_trial(struct etcd_source *s, const struct etcd_got *got)
{
    if (got->count == 1)
        source_take_trial_manifest(s, &got->list[0]);
}

static void source_on_trials_changed(void *arg, const struct etcd_event *events, size_t count, int64_t revision)
{
    struct etcd_source *s = arg;
    (void)revision;
    if (events[count - 1].deleted)
        source_read(s);
    else
        source_take_trial_manifest(s, events[count - 1].kv);
}

static void source_on_trials_state(void *arg, bool connected, const struct error *err)
{
    (void)arg, (void)connected, (void)err; /* the other watch reports it */
}

static void source_on_compacted(void *arg, int64_t compact_revision)
{
    struct etcd_source *s = arg;
    log_info(s->options.in->log, "etcd was compacted after the last read; reading again",
             log_int("compact_revision", compact_revision));
    source_read(s);
}

static void source_on_state(void *arg, bool connected, const struct error *err)
{
    struct etcd_source *s = arg;
    if (connected && !s->connected && s->away.kind != ERROR_NONE)
        log_info(s->options.in->log, "etcd is followed again", log_str("path", s->settings->etcd.path));
    if (!connected && s->connected)
        log_warn(s->options.in->log, "etcd does not answer; HAProxy keeps its configuration",
                 log_str("path", s->settings->etcd.path), log_str("error", err != NULL ? err->message : NULL));
    s->connected = connected;
    s->away = err != NULL ? *err : (struct error){0};
}

/* ---- life ---- */

struct etcd_source *etcd_source_new(const struct etcd_source_options *options)
{
    static const struct etcd_watch_callbacks watch = {
        .changed = source_on_changed, .compacted = source_on_compacted, .state = source_on_state};
    static const struct etcd_watch_callbacks trials = {
        .changed = source_on_trials_changed, .compacted = source_on_compacted, .state = source_on_trials_state};
    struct event_base *base = options->in->base;
    struct etcd_source *s = mem_alloc(sizeof(*s));
    s->options = *options;
    s->settings = options->in->settings;
    timer_init(&s->retry, base, source_look, s);
    s->watch = etcd_watch_new(base, options->client, s->settings->etcd.path, false, &watch, s);
    s->trial_key = etcd_key(s->settings, "versions/", KEPT_TRIAL);
    s->trials = etcd_watch_new(base, options->client, s->trial_key, false, &trials, s);
    return s;
}

static void etcd_source_free(void *source)
{
    struct etcd_source *s = source;
    source_clear(s);
    etcd_watch_free(s->watch);
    etcd_watch_free(s->trials);
    free(s->trial_key);
    timer_fini(&s->retry);
    buf_fini(&s->plain);
    buf_fini(&s->text);
    buf_fini(&s->files);
    free(s);
}

static void etcd_source_stop(void *source)
{
    struct etcd_source *s = source;
    source_clear(s);
    timer_cancel(&s->retry);
    etcd_watch_stop(s->watch);
    etcd_watch_stop(s->trials);
}

/* Reads it anew. */
static void etcd_source_poke(void *source)
{
    struct etcd_source *s = source;
    s->tries = 0;
    source_read(s);
}

static bool etcd_source_ready(const void *source, struct checks *checks)
{
    const struct etcd_source *s = source;
    bool ok = s->taken && s->connected;
    const char *why = !s->taken && s->problem.kind != ERROR_NONE ? s->problem.message
                      : s->away.kind != ERROR_NONE               ? s->away.message
                      : ok                                       ? "followed"
                                                                 : "not read yet";
    checks_add(checks, ok ? CHECK_OK : CHECK_FAIL, mem_strdup("etcd"), mem_strdup(why), NULL);
    return ok;
}

const struct source_ops etcd_source_ops = {.free = etcd_source_free,
                                           .start = etcd_source_poke,
                                           .stop = etcd_source_stop,
                                           .poke = etcd_source_poke,
                                           .ready = etcd_source_ready,
                                           .may_have_no_files = true};

bool etcd_source_trial(const struct etcd_source *s)
{
    return s->trial;
}

uint64_t etcd_source_version(const struct etcd_source *s)
{
    return s->version;
}

const char *etcd_source_problem(const struct etcd_source *s)
{
    return s->problem.kind != ERROR_NONE ? s->problem.message : NULL;
}
