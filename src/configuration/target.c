/* One HAProxy of the configuration engine: the document's way to it. */
#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"

static void target_attach(void *self, struct instance *in)
{
    ((struct target *)self)->in = in;
}

/* ---- reading ---- */

static void target_tell_read(const struct target *t)
{
    const struct configuration_listener *l = &t->of->options.listener;
    if (l->read != NULL)
        l->read(l->arg);
}

static void target_read(void *self)
{
    struct target *t = self;
    struct target_has *has = &t->has;
    const struct instance_view v = instance_view(t->in);
    struct cfg_content *file = instance_file(t->in);
    cleanup(cfg_content_unref_ptr) struct cfg_content *none = file == NULL ? cfg_content_new(mem_strdup(""), 0) : NULL;
    file = file != NULL ? file : none;
    bool first = !has->read, same = cfg_content_same(file, has->file);
    if (!same)
        has->compared = DIFFERENCE_UNKNOWN;
    cfg_content_hold(&has->file, file);
    has->read = true;
    has->version = v.version;
    if (!same)
        has->file_runs = has->running != NULL && target_file_means(t, has->running);
    /* An earlier run wrote the file, and did not see it run: whatever document there is by now, it is loaded, where
     * the file does not say so itself. */
    if (first && store_was_writing(t->of->options.store, target_name(t)) && !v.unloaded) {
        has->unloaded = true;
        log_warn(t->of->options.log,
                 "haproxy.cfg was written by an earlier run, and is not known to be loaded; loading it",
                 log_str("target", target_url(t)));
        instance_must_reload(t->in);
    }
    has->unloaded = has->unloaded || v.unloaded; /* of an earlier run */
    /* An earlier run wrote it, and knows of none before; the Data Plane API has put back what it loaded last. */
    if (t->failed.restores && v.behind && cfg_content_same(has->good, t->failed.unloadable))
        cfg_content_hold(&has->good, has->file);
    retry_readable(&t->failed.retry);
    t->failed.away = retry_waits(&t->failed.retry, clock_mono_ms());
    target_left_alone(t);
    target_check(t);
    target_compare(t);
    target_go_on(t);
    if (t->of->next != NULL) /* perhaps nothing is half way any more */
        timer_set(&t->of->step, 0);
    target_tell_read(t);
}

static bool target_runtime_read(void *self, bool other_worker)
{
    struct target *t = self;
    struct target_sent *s = &t->sent;
    if (other_worker && t->has.version != t->has.running_version)
        target_runs_unknown(t);
    if (!s->files_back)
        return false;
    /* Files went back. What HAProxy has is those from before only where it is the same process at a reading after as
     * at one before they changed, and no reload was under way: else it may have loaded them. */
    bool loaded = s->files_met_reload || instance_view(t->in).loads != s->files_loads;
    s->files_back = false;
    if (loaded)
        instance_must_reload(t->in);
    return false;
}

static void target_reload_ended(void *self)
{
    const struct target *t = self;
    if (t->sent.progress == PROGRESS_WRITTEN)
        configuration_tell(t->of, CONFIGURATION_LOADED, t, NULL);
}

static void target_read_failed(void *self)
{
    struct target *t = self;
    const struct error *problem = instance_view(t->in).problem; /* of the reading before: one alone is no news */
    t->failed.away = true;
    if (problem != NULL && problem->kind != ERROR_NONE)
        configuration_tell(t->of, CONFIGURATION_FAILED, t, problem);
    retry_unreadable(&t->failed.retry);
    timer_set(&t->of->step, 0);
    target_tell_read(t);
}

static void target_resync(void *self)
{
    ((struct target *)self)->sent.files_unchecked = true;
}

/* An operator asks: what was rejected may be accepted now. */
static void target_refresh(void *self)
{
    struct target *t = self;
    if (target_document(t) == NULL)
        return;
    store_forget_rejections(t->of->options.store, NULL, target_name(t)); /* whatever the source has next */
    t->failed.repairs = 0;
    t->failed.repair_after_ms = t->of->not_before_ms = 0;
    retry_forget(&t->failed.retry);
    if (t->sent.progress == PROGRESS_REJECTED) {
        t->of->canary_passed = false; /* with what this one may have been gone back from */
        target_begin(t);
    }
    t->of->try_again = true;
    timer_set(&t->of->step, 0);
}

static void target_served(void *self, const struct served *s, const struct error *err)
{
    struct target *t = self;
    struct probation *w = &t->watch.probation;
    unsigned reloads = instance_view(t->in).reloads;
    uint64_t now = clock_mono_ms();
    bool watched = w->state == PROBATION_GOES_ON || w->state == PROBATION_BAD;
    bool before = !w->asked && !watched;
    w->asked = true; /* what is served while a document is watched is none that was before it */
    if (before) {
        probation_baseline(w, s, reloads);
        w->next_ms = now + PROBATION_READ_MS;
        target_go_on(t);
        return;
    }
    enum probation_state was = w->state;
    if (s != NULL)
        probation_read(w, s, reloads, now);
    else
        probation_unread(w, err->kind == ERROR_GONE, now);
    if (w->state != was || probation_is_to_judge(w))
        timer_set(&t->of->step, 0);
}

/* ---- deciding ---- */

static bool target_may_write_ever(const void *self)
{
    return !((const struct target *)self)->of->options.dry_run;
}

static bool target_has_desired(const void *self)
{
    return target_document(self) != NULL;
}

static uint64_t target_due(const void *self, uint64_t now_ms)
{
    const struct target *t = self;
    uint64_t due = 0;
    if (target_document(t) == NULL)
        return 0;
    engine_sooner(&due, t->failed.retry.not_before_ms, now_ms);
    engine_sooner(&due, canary_due(t), now_ms);
    if (!target_is_unwritten(t))
        return due;
    if (configuration_waits(t->of, now_ms) && !target_by_runtime(t))
        engine_sooner(&due, t->of->not_before_ms, now_ms);
    engine_sooner(&due, t->failed.repair_after_ms, now_ms);
    return due;
}

/* What was written is loaded whatever has come since. */
static void target_load(const struct target *t, const struct instance_view *v, struct engine_wants *ret)
{
    bool loads = v->dirty && !t->of->options.dry_run;
    ret->reload = loads && v->may_write && v->may_begin && v->file_allows;
    ret->waits = ret->waits || (loads && !ret->reload);
}

static void target_decide(void *self, struct engine_wants *ret)
{
    const struct target *t = self;
    const struct configuration *c = t->of;
    enum storage_part part;
    if (c->document == NULL)
        return;
    const struct instance_view v = instance_view(t->in);
    uint64_t now = clock_mono_ms();
    ret->served = canary_wants_reading(t, now);
    if (ret->served)
        return;
    bool withdrawn = c->next != NULL && c->next_version != 0 && !target_files_half_way(t);
    if (configuration_next_is_due(c) || withdrawn) { /* nothing of this document is begun any more */
        ret->waits = true;
        target_load(t, &v, ret);
        return;
    }
    bool retries = !retry_waits(&t->failed.retry, now), soon = configuration_waits(c, now) && !target_by_runtime(t);
    ret->failed = !retries;
    if (target_files_next(t, &part) && (!c->options.dry_run || part == STORAGE_CHECK)) {
        bool early = (part == STORAGE_ADD && soon) || ((part == STORAGE_ADD || part == STORAGE_END) && c->paused);
        bool urgent = part == STORAGE_FINAL || part == STORAGE_BACK; /* HAProxy has half of it */
        ret->storage = v.may_write && v.may_begin && !early && (retries || urgent);
        ret->waits = !ret->storage;
        if (early)
            target_load(t, &v, ret);
        return;
    }
    if (t->sent.progress == PROGRESS_NEW && t->sent.files == FILES_NEW && !t->failed.restores) {
        ret->waits = true; /* another one has rejected it: it is not judged without its files */
        target_load(t, &v, ret);
        return;
    }
    bool valid = target_is_valid(t);
    bool write = t->failed.restores || (valid && target_may_write(t) && canary_lets(t));
    if ((t->sent.progress == PROGRESS_NEW && !valid) || write) {
        bool loading = write && v.reload == RELOAD_PENDING; /* its end is to be the end of what was written for it */
        bool waits = loading || (!t->failed.restores && (soon || now < t->failed.repair_after_ms || !retries));
        /* A runtime update moved the version on: first it is read what lines it left. */
        bool stale = c->options.keep.count > 0 && (t->has.version != v.version || t->has.file->len == 0);
        ret->replacement = v.may_write && v.may_begin && !waits && !stale;
        ret->waits = !ret->replacement;
        ret->overdue = v.may_write && !waits && t->has.file->len > 0;
        return;
    }
    target_load(t, &v, ret);
}

/* ---- writing ---- */

static void target_replace(void *self, struct replacement_request *ret)
{
    struct target *t = self;
    struct target_sent *s = &t->sent;
    bool restores = t->failed.restores, writes = restores || target_is_valid(t);
    /* The next document need not wait for the reload of one that joins; nor for one that is only checked, and
     * perhaps refused. */
    if (!t->watch.joins)
        configuration_begin(t->of, restores || (writes && !target_by_runtime(t)));
    document_unref(s->asked);
    s->asked = restores ? NULL : document_ref(target_document(t));
    if (writes && !restores)
        target_writes(t, s->asked);
    if (!restores)
        configuration_tell(t->of, writes ? CONFIGURATION_WRITING : CONFIGURATION_VALIDATING, t, NULL);
    if (writes && !restores)
        target_keep_good(t);
    ret->text = target_text(t, restores ? t->has.good : s->asked->content);
    ret->before = writes ? t->has.file : NULL;
    ret->restores = restores;
    ret->edits = &s->edits;
    if (!writes || restores)
        return;
    /* Runtime commands. The request may be answered when the document, and with it the difference, is another one. */
    const struct cfg_difference *d = target_runs_another(t) == NULL ? target_difference(t) : NULL;
    changes_fini(&s->changes);
    if (d == NULL || (d->effect != CFG_EFFECT_RUNTIME && d->effect != CFG_EFFECT_RUNTIME_SERVERS))
        return;
    for (size_t i = 0; i < d->changes.count; i++)
        changes_add(&s->changes, d->changes.list[i]);
    ret->changes = &s->changes;
    ret->plain = target_is_plain(t);
    ret->files_stay = !s->files_changed;
}

/* The document is another one than it was: perhaps the file has it, or it was rejected before. A file that is being
 * written is none to compare with. */
static void target_look(struct target *t)
{
    bool writes = t->sent.asked != NULL && t->sent.asked == t->sent.writing;
    if (writes || !instance_view(t->in).fresh)
        return;
    target_check(t);
    target_compare(t);
    target_concluded(t);
    target_go_on(t);
}

static void target_replaced(void *self, const struct replaced *r)
{
    struct target *t = self;
    cleanup(document_unref_ptr) struct document *asked = t->sent.asked;
    t->sent.asked = NULL;
    t->failed.away = false;
    timer_set(&t->of->step, 0);
    if (asked == NULL) {
        target_restored(t, r);
        return;
    }
    t->has.unloaded =
        t->has.unloaded || (r->result == TRANSACTION_COMMITTED && !r->runs) || r->result == TRANSACTION_UNKNOWN;
    if (r->result != TRANSACTION_COMMITTED)
        target_not_written(t, asked);
    /* A newer document came meanwhile: that is to be validated first, whatever became of this one; it may come
     * again. */
    if (asked != target_document(t)) {
        if (r->result == TRANSACTION_REJECTED || r->result == TRANSACTION_HARMFUL)
            store_reject(t->of->options.store, asked->id, target_name(t), instance_view(t->in).haproxy,
                         r->error.message);
        if (r->result == TRANSACTION_PREVIEWED) /* after any other the file is read anew */
            target_look(t);
        return;
    }
    if (r->error.kind == ERROR_NONE || r->result == TRANSACTION_REJECTED || r->result == TRANSACTION_HARMFUL)
        retry_forget(&t->failed.retry);
    else
        retry_failed(&t->failed.retry, &r->error, r->retry_after_ms, clock_mono_ms());
    struct error why = r->error, locked = {0};
    bool locks_out = t->of->options.dry_run && target_check_lockout(t, &locked) != 0;
    if (locks_out && r->result == TRANSACTION_REJECTED)
        (void)error_set(&why, why.kind, "%s; and also: %s", r->error.message, locked.message);
    switch (r->result) {
    case TRANSACTION_PREVIEWED:
        if (locks_out) {
            target_reject(t, TARGET_LOCKS_OUT, &locked);
            break;
        }
        t->sent.progress = PROGRESS_VALID;
        configuration_tell(t->of, CONFIGURATION_VALIDATED, t, NULL);
        break;
    case TRANSACTION_COMMITTED:
        target_written(t, r);
        break;
    case TRANSACTION_REJECTED:
    case TRANSACTION_HARMFUL:
        target_reject(t,
                      r->result == TRANSACTION_HARMFUL
                          ? "configuration refused: the Data Plane API would change its meaning"
                      : t->watch.joins ? "configuration rejected by a HAProxy that is new; the others keep it"
                                       : "configuration rejected; no HAProxy gets it",
                      &why);
        target_keep_rejection(t);
        break;
    case TRANSACTION_CONFLICT:
    case TRANSACTION_CLEANED:
    case TRANSACTION_LIMIT:
    case TRANSACTION_UNAUTHORIZED:
    case TRANSACTION_UNAVAILABLE:
    case TRANSACTION_UNKNOWN:
    case TRANSACTION_ABORTED:
        t->failed.away = r->result != TRANSACTION_CONFLICT;
        configuration_tell(t->of, CONFIGURATION_FAILED, t, &r->error);
        break;
    }
}

/* ---- life ---- */

struct target *target_new(struct configuration *c, size_t number, const char *name, bool joins)
{
    struct target *t = mem_alloc(sizeof(*t));
    *t = (struct target){.of = c,
                         .number = number,
                         .engine = {.ops = &target_ops, .self = t, .rest = true},
                         .name = mem_strdup(name),
                         .watch.joins = joins};
    t->has.file = cfg_content_new(mem_strdup(""), 0);
    retry_init(&t->failed.retry, backoff_random_seed() + (unsigned)number);
    return t;
}

void target_set(struct target *t, struct document *own)
{
    document_unref(t->own);
    t->own = own;
    t->watch.joins = t->watch.joins || own != NULL;
    target_begin(t);
    t->failed.away = t->sent.unchanged = false;
    t->has.compared = DIFFERENCE_UNKNOWN;
    t->has.effect = CFG_EFFECT_RELOAD;
    t->sent.since_us = clock_mono_us();
    t->failed.repairs = 0;
    t->failed.repair_after_ms = 0;
    target_hurry(t);
    if (t->in != NULL)
        target_look(t);
}

void target_hurry(struct target *t)
{
    struct target_failed *f = &t->failed;
    uint64_t now_ms = clock_mono_ms(), when_ms = f->anew_ms != 0 ? f->anew_ms + t->of->options.min_interval_ms : 0;
    retry_new_document(&f->retry);
    if (t->in == NULL)
        return;
    /* What failed with other bytes need not fail with these. Those that change all the time do not set the pace. */
    if (now_ms >= when_ms)
        f->anew_ms = when_ms = now_ms;
    instance_begin_anew(t->in, when_ms);
}

void target_free(struct target *t)
{
    if (t == NULL)
        return;
    free(t->name);
    cfg_content_unref(t->has.file);
    cfg_content_unref(t->sent.text);
    cfg_content_unref(t->has.running);
    cfg_content_unref(t->has.good);
    cfg_content_unref(t->failed.unloadable);
    cfg_difference_fini(&t->has.differs);
    cfg_edits_fini(&t->sent.edits);
    changes_fini(&t->sent.changes);
    storage_foresight_fini(&t->sent.foresight);
    probation_fini(&t->watch.probation);
    document_unref(t->own);
    document_unref(t->sent.asked);
    document_unref(t->sent.storing);
    document_unref(t->sent.writing);
    free(t);
}

/* ---- one that is gone: its instance ends what it has in hand, which concerns no other one any more ---- */

static void target_gone_decide(void *self, struct engine_wants *ret)
{
    (void)self, (void)ret;
}

static void target_gone_replaced(void *self, const struct replaced *r)
{
    (void)self, (void)r;
}

static void target_gone_stored(void *self, const struct stored *s)
{
    (void)self, (void)s;
}

static void target_gone_served(void *self, const struct served *s, const struct error *err)
{
    (void)self, (void)s, (void)err;
}

static const struct engine_ops target_gone_ops = {.name = "the configuration engine",
                                                  .decide = target_gone_decide,
                                                  .stored = target_gone_stored,
                                                  .served = target_gone_served,
                                                  .replaced = target_gone_replaced};

void target_leave(struct target *t)
{
    t->engine.ops = &target_gone_ops;
    t->gone = t->of->gone;
    t->of->gone = t;
}

/* ---- one that is there ---- */

const struct engine_ops target_ops = {.name = "the configuration engine",
                                      .attach = target_attach,
                                      .read = target_read,
                                      .runtime_read = target_runtime_read,
                                      .read_failed = target_read_failed,
                                      .concluded = target_concluded,
                                      .may_write = target_may_write_ever,
                                      .has_desired = target_has_desired,
                                      .due = target_due,
                                      .resync = target_resync,
                                      .refresh = target_refresh,
                                      .decide = target_decide,
                                      .store = target_store,
                                      .stored = target_stored,
                                      .served = target_served,
                                      .replace = target_replace,
                                      .replaced = target_replaced,
                                      .reload_failed = target_reload_failed,
                                      .reload_ended = target_reload_ended,
                                      .reloads_known = target_concluded};
