/* What became of the document at one HAProxy, by what was read of it: another writer changed the file, HAProxy runs
 * it, or could not load it, so that the file from before goes back. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/lockout.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"

#define REPAIR_MIN_MS 2000u

/* The document is tried anew. */
void target_begin(struct target *t)
{
    struct target_sent *s = &t->sent;
    s->progress = PROGRESS_NEW;
    s->files = target_document(t)->with_files ? FILES_NEW : FILES_DONE;
    s->files_drifted = s->files_missing = s->files_stay = s->by_runtime = s->needs_verdict = false;
    error_clear(&t->failed.why);
}

/* ---- rejected: `why` says why ---- */

static void target_is_rejected(struct target *t)
{
    t->sent.progress = PROGRESS_REJECTED;
    snprintf(t->failed.judge, sizeof(t->failed.judge), "%s", instance_view(t->in).haproxy);
}

void target_reject(struct target *t, const char *what, const struct error *err)
{
    const struct document *d = target_document(t);
    target_is_rejected(t);
    t->failed.why = *err;
    log_error(t->of->options.log, what, log_str("target", target_url(t)), log_str("sha256", d->hash),
              log_str("source", d->origin), log_str("error", err->message));
    configuration_tell(t->of, CONFIGURATION_REJECTED, t, &t->failed.why);
}

/* The same would be rejected again, by this version of HAProxy. */
void target_keep_rejection(struct target *t)
{
    target_is_rejected(t);
    store_reject(t->of->options.store, target_document(t)->id, target_name(t), t->failed.judge, t->failed.why.message);
}

int target_check_lockout(const struct target *t, struct error *err)
{
    const struct instance_view v = instance_view(t->in);
    const struct cfg_file *is = cfg_content_file(t->has.file, NULL),
                          *wanted = cfg_content_file(target_document(t)->content, NULL);
    if (t->of->options.allow_lockout || is == NULL || wanted == NULL)
        return 0;
    return lockout_check(is, wanted, &(struct lockout_login){v.user, v.password}, err);
}

/* What is not to be sent there at all: this version of HAProxy has rejected it before, perhaps while an earlier
 * daemon ran, or the file that was read last shows that it must not be there. */
void target_check(struct target *t)
{
    const struct configuration_options *o = &t->of->options;
    const struct document *d = target_document(t);
    const struct instance_view v = instance_view(t->in);
    struct error err = {0};
    if (d == NULL)
        return;
    if (t->sent.progress == PROGRESS_REJECTED && !str_eq(t->failed.judge, v.haproxy))
        target_begin(t);
    if (t->sent.progress != PROGRESS_NEW)
        return;
    const char *message = store_rejection(o->store, d->id, target_name(t), v.haproxy);
    if (message != NULL) {
        target_is_rejected(t);
        (void)error_set(&t->failed.why, ERROR_INVALID, "%s", message);
        log_warn(o->log, "configuration was rejected before; it is tried again when it changes, or on SIGHUP",
                 log_str("target", target_url(t)), log_str("sha256", d->hash), log_str("error", message));
        configuration_tell(t->of, CONFIGURATION_REJECTED, t, &t->failed.why);
        timer_set(&t->of->step, 0);
        return;
    }
    const struct cfg_file *wanted = cfg_content_file(d->content, NULL);
    if (wanted == NULL)
        return;
    if (keep_check(wanted, &o->keep, &err) != 0)
        target_reject(
            t,
            "configuration refused: its backends conflict with servers that are managed elsewhere; no HAProxy gets it",
            &err);
    else if (!o->dry_run && target_check_lockout(t, &err) != 0)
        target_reject(t, TARGET_LOCKS_OUT, &err);
}

/* ---- the file ---- */

void target_repair_later(struct target *t)
{
    unsigned repairs = t->failed.repairs++;
    uint64_t pause = REPAIR_MIN_MS << (repairs < 8 ? repairs : 8);
    t->failed.repair_after_ms = clock_mono_ms() + (repairs > 0 ? pause : 0);
    t->sent.progress = PROGRESS_NEW;
}

/* The document was applied, and now the file means something else. */
static void target_drifted(struct target *t)
{
    const struct configuration_options *o = &t->of->options;
    if (o->drift == CONFIGURATION_DRIFT_IGNORE)
        return;
    bool repair = target_may_repair(t);
    cleanup(mem_free_ptr) char *changes = target_changes(t);
    struct error why = {0};
    (void)error_set(&why, ERROR_CONFLICT, "another writer changed haproxy.cfg; the configuration has: %s",
                    changes != NULL ? changes : "another order");
    bool news = t->sent.progress != PROGRESS_DRIFTED || !str_eq(why.message, t->failed.why.message);
    t->failed.why = why;
    t->sent.progress = PROGRESS_DRIFTED;
    if (news) {
        log_warn(o->log,
                 repair          ? "haproxy.cfg was changed by another writer; it is repaired"
                 : t->of->paused ? "haproxy.cfg was changed by another writer; it is left so while paused"
                                 : "haproxy.cfg was changed by another writer; it is left so (CONFIG_DRIFT)",
                 log_str("target", target_url(t)), log_str("sha256", target_document(t)->hash),
                 log_str("differs", changes));
        target_log_lines(t);
        configuration_tell(t->of, CONFIGURATION_DRIFTED, t, &t->failed.why);
    }
    if (repair)
        target_repair_later(t);
}

/* An earlier run applied it, and it was changed meanwhile. What this run wrote, or a daemon that loaded it no more,
 * is no other writer's. */
static bool target_may_have_drifted_before(const struct target *t)
{
    const struct store *s = t->of->options.store;
    return t->sent.progress == PROGRESS_NEW && t->of->options.drift != CONFIGURATION_DRIFT_REPAIR && !t->has.unloaded &&
           store_ran(s, target_document(t), target_name(t)) && !store_was_writing(s, target_name(t));
}

void target_compare(struct target *t)
{
    const struct document *d = target_document(t);
    struct target_sent *s = &t->sent;
    bool lost = s->writing == d && t->has.unloaded && !s->needs_verdict; /* the answer to its write */
    bool sent = !target_is_unwritten(t) || lost;
    if (d == NULL || t->failed.restores)
        return;
    const struct cfg_difference *differs = target_difference(t);
    t->has.effect = differs != NULL ? differs->effect : CFG_EFFECT_RELOAD;
    /* The next commit writes what the Data Plane API has, over a file that means the same: it is to be written, too. */
    bool over = !sent && t->has.effect == CFG_EFFECT_NONE && instance_view(t->in).behind;
    if (over)
        t->has.effect = CFG_EFFECT_RELOAD;
    if (t->has.effect == CFG_EFFECT_NONE) {
        bool drifted = s->progress == PROGRESS_DRIFTED;
        if ((!sent && (s->files == FILES_NEW || s->files_changed)) || (drifted && s->files_drifted))
            return; /* files are validated, and loaded, with it */
        if (drifted) {
            log_info(t->of->options.log, "haproxy.cfg has the configuration again", log_str("target", target_url(t)));
            error_clear(&t->failed.why);
        }
        if (drifted || target_is_unwritten(t)) {
            s->unchanged = !t->has.unloaded; /* else it, or its files, are still to be loaded */
            s->progress = PROGRESS_WRITTEN;
        }
    } else if (s->progress == PROGRESS_WRITTEN && instance_view(t->in).behind) {
        return; /* its load failed, which is reported soon, and the Data Plane API has put back what it loaded last */
    } else if (target_has_document(t)) {
        target_drifted(t);
    } else if (!over && target_may_have_drifted_before(t)) {
        s->unchanged = true;
        s->progress = PROGRESS_WRITTEN;
        s->files = FILES_DONE; /* as that run left them: they are checked as any others */
        target_drifted(t);
    }
}

/* ---- what runs ---- */

/* haproxy.cfg means the same with the document, and only its files are others: they go to HAProxy by runtime
 * commands. */
void target_go_on(struct target *t)
{
    const struct configuration *c = t->of;
    if (c->document == NULL || t->failed.restores || t->sent.asked != NULL || !target_is_valid(t) ||
        !t->sent.files_changed || !target_may_write(t) || !canary_lets(t) || !target_by_runtime(t) ||
        t->has.effect != CFG_EFFECT_NONE)
        return;
    configuration_tell(c, CONFIGURATION_WRITING, t, NULL);
    target_keep_good(t);
    target_writes(t, target_document(t));
    t->sent.progress = PROGRESS_WRITTEN;
    t->sent.by_runtime = true;
}

void target_written(struct target *t, const struct replaced *r)
{
    const struct document *d = target_document(t);
    cleanup(mem_free_ptr) char *changes = target_changes(t);
    log_info(t->of->options.log,
             r->runs ? "configuration written; HAProxy runs its changes without a reload"
                     : "configuration written; a reload follows",
             log_str("target", target_url(t)), log_str("sha256", d->hash), log_str("changes", changes));
    t->sent.progress = PROGRESS_WRITTEN;
    t->watch.written = true;
    t->sent.by_runtime = r->runs;
    configuration_tell_why(t->of, CONFIGURATION_WRITTEN, t,
                           r->runs ? CONFIGURATION_WAY_RUNTIME : CONFIGURATION_WAY_RELOAD, NULL);
}

/* The answer to STORAGE_RUN. What HAProxy did not take is loaded, whatever it was: by a reload, which counts for the
 * interval. */
void target_ran(struct target *t, const struct stored *s)
{
    bool all = s->result == TRANSACTION_COMMITTED && !s->changed;
    const char *why = s->error.kind != ERROR_NONE ? s->error.message : s->why;
    t->sent.by_runtime = false;
    t->sent.files_changed = !all;
    if (all) {
        log_info(t->of->options.log, "files changed in the running HAProxy; no reload",
                 log_str("target", target_url(t)), log_int("files", s->ran));
        return;
    }
    log_info(t->of->options.log, "files take a reload", log_str("target", target_url(t)), log_str("why", why));
    t->has.unloaded = t->sent.needs_verdict = true;
    if (t->sent.progress == PROGRESS_WRITTEN && t->has.effect == CFG_EFFECT_NONE && target_is_alone(t))
        t->sent.progress = PROGRESS_NEW; /* it had none yet */
    if (!t->watch.joins)
        configuration_begin(t->of, true);
    instance_must_reload(t->in);
}

void target_writes(struct target *t, struct document *d)
{
    struct document *was = t->sent.writing;
    t->sent.writing = d != NULL ? document_ref(d) : NULL;
    document_unref(was);
    store_writing(t->of->options.store, target_name(t), d != NULL);
}

/* Where another writer has put it there, that says nothing of what runs. */
void target_not_written(struct target *t, const struct document *d)
{
    if (t->sent.writing == d && !t->has.unloaded)
        target_writes(t, NULL);
}

static void target_note_document_runs(struct target *t, struct document *d)
{
    if (!str_eq(t->has.hash, d->hash)) {
        memcpy(t->has.hash, d->hash, sizeof(t->has.hash));
        t->has.since_ms = (int64_t)clock_wall_ms();
    }
    store_applied(t->of->options.store, d, target_name(t));
    target_writes(t, NULL);
}

void target_runs_unknown(struct target *t)
{
    cfg_content_unref(t->has.running);
    t->has.running = NULL;
    t->has.file_runs = false;
}

/* Another writer, who wrote to the file, too, may have loaded again what is gone from there. */
static void target_note_file_runs(struct target *t)
{
    if (instance_view(t->in).other_wrote) {
        target_runs_unknown(t);
        return;
    }
    cfg_content_hold(&t->has.running, t->has.file);
    t->has.running_version = t->has.version;
    t->has.file_runs = true;
}

/* A newer document came between the write and the end of its reload. Perhaps the newer one is rejected, and this one
 * runs on. Its files may be half there: then it is not known what runs, and it is none to go back to. The file is no
 * other writer's all the same, also after a restart: the store's note stays. */
static void target_superseded(struct target *t)
{
    struct document *d = t->sent.writing;
    if (d == NULL || d == target_document(t) || t->sent.asked != NULL)
        return;
    bool loaded = !instance_view(t->in).other_wrote && target_file_means(t, d->content);
    if (!loaded) {
        target_writes(t, NULL);
    } else if (d->with_files) {
        t->has.hash[0] = '\0';
        t->sent.writing = NULL;
        document_unref(d);
    } else {
        log_info(t->of->options.log, "configuration applied; a newer one replaces it", log_str("target", target_url(t)),
                 log_str("sha256", d->hash));
        target_note_document_runs(t, d);
        target_note_file_runs(t);
    }
}

/* The document runs, and is watched. ran: before, perhaps amid a watch of an earlier run. Where nothing was written
 * nothing changed, which says nothing to the others. */
void canary_applied(struct target *t, bool ran)
{
    struct configuration *c = t->of;
    bool unfinished = ran && !store_is_proven(c->options.store, c->document->id);
    if (canary_goes_on(c))
        canary_choose(c); /* it may have it from before a restart, or from before another document came and went */
    bool first = t->watch.canary && canary_goes_on(c);
    t->watch.reported = false;
    probation_end(&t->watch.probation);
    if (t->own != NULL || (t->sent.unchanged && !unfinished && !first))
        t->watch.probation.state = PROBATION_GOOD;
    else
        probation_begin(&t->watch.probation, cfg_content_file(t->has.file, NULL), clock_mono_ms(),
                        first ? c->options.canary_time_ms : PROBATION_LEAST_MS);
}

void target_concluded(void *self)
{
    struct target *t = self;
    struct document *d = target_document(t);
    if (d == NULL || !instance_at_rest(t->in) || !instance_view(t->in).last_reload_known)
        return;
    if (t->sent.progress == PROGRESS_WRITTEN && t->sent.files == FILES_ADDED)
        t->sent.by_runtime = true; /* a reload came before maps have lost their lines: it has loaded all but that */
    if (t->sent.by_runtime && t->sent.files_changed)
        return; /* what runs has them not yet */
    t->has.unloaded = t->sent.by_runtime = false;
    t->failed.restores = t->failed.restores && t->sent.progress == PROGRESS_RESTORING;
    if (t->sent.progress == PROGRESS_RESTORED) {
        target_keep_rejection(t);
        target_note_file_runs(t);
        target_writes(t, NULL);
        log_warn(t->of->options.log, "previous configuration loaded again", log_str("target", target_url(t)));
        timer_set(&t->of->step, 0);
    }
    target_superseded(t);
    if (t->sent.progress != PROGRESS_WRITTEN)
        return;
    bool ran = store_ran(t->of->options.store, d, target_name(t));
    t->sent.progress = PROGRESS_APPLIED;
    t->sent.files_changed = false;
    timer_set(&t->of->step, 0);
    if (t->has.effect == CFG_EFFECT_NONE) {
        target_note_document_runs(t, d);
        canary_applied(t, ran);
        if (!t->sent.unchanged) /* else another writer did, and perhaps did not load it */
            target_note_file_runs(t);
    } else { /* another writer came before it was loaded, and CONFIG_DRIFT ignores that */
        target_not_written(t, d);
    }
    log_info(t->of->options.log, t->sent.unchanged ? "configuration unchanged" : "configuration applied",
             log_str("target", target_url(t)), log_str("sha256", d->hash),
             log_us_as_ms("change_to_verified_ms", clock_mono_us() - t->sent.since_us));
    configuration_tell(t->of, t->sent.unchanged ? CONFIGURATION_UNCHANGED : CONFIGURATION_APPLIED, t, NULL);
}

/* ---- what could not be loaded ---- */

/* What ran there last, as far as an earlier run of the daemon kept it. */
static struct document *target_ran_last(const struct target *t)
{
    struct error err = {0};
    const struct store *s = t->of->options.store;
    const struct store_version *v = store_latest(s, target_name(t));
    return v != NULL ? store_document(s, v->number, &err) : NULL;
}

void target_keep_good(struct target *t)
{
    const struct instance_view v = instance_view(t->in);
    bool runs = !t->has.unloaded && !v.dirty && v.reload != RELOAD_PENDING;
    if (!runs && t->has.good != NULL)
        return;
    cleanup(document_unref_ptr) struct document *d = runs ? NULL : target_ran_last(t);
    cfg_content_hold(&t->has.good, d != NULL ? d->content : t->has.file);
}

/* Whether there is one to go back to. After a restart the daemon knows no more of it than what it kept, and nothing of
 * what it wrote before but a mark in the file; where the Data Plane API has put the file from before back itself, it
 * would still load the other one with each commit. */
static bool target_recall_good(struct target *t, bool latest)
{
    if (t->has.good != NULL)
        return latest || t->has.unloaded;
    cleanup(document_unref_ptr) struct document *d = target_ran_last(t);
    if (d == NULL && instance_view(t->in).behind) { /* nor of what ran, but the API does */
        t->has.good = cfg_content_ref(t->has.file);
        return true;
    }
    bool there = d != NULL && target_file_means(t, d->content);
    if (d == NULL || (latest ? there : !there && !t->has.unloaded))
        return false;
    t->has.good = cfg_content_ref(d->content);
    t->sent.files_changed = t->sent.files_changed || d->with_files;
    return true;
}

/* A reload that was lost says nothing of the file: there will be another. */
void target_reload_failed(void *self, bool lost)
{
    struct target *t = self;
    const struct configuration *c = t->of;
    bool latest = t->sent.progress == PROGRESS_WRITTEN;
    if (lost || c->document == NULL || !target_recall_good(t, latest))
        return;
    t->failed.restores = true;
    cfg_content_hold(&t->failed.unloadable, t->has.file); /* what was sent last need not have been written */
    log_error(c->options.log, "configuration could not be loaded; the previous one is restored",
              log_str("target", target_url(t)),
              log_str("sha256", t->sent.writing != NULL ? t->sent.writing->hash
                                : latest                ? target_document(t)->hash
                                                        : NULL));
    if (!latest)
        return;
    const char *why = instance_view(t->in).reload_problem;
    (void)error_set(&t->failed.why, ERROR_INVALID, "HAProxy could not load it%s%s", why != NULL ? ": " : "",
                    why != NULL ? why : "");
    t->sent.progress = PROGRESS_RESTORING;
    t->watch.load_failed = true;
    configuration_tell_why(c, CONFIGURATION_LOAD_FAILED, t, CONFIGURATION_REASON_RELOAD, &t->failed.why);
}

/* Another writer repaired the file meanwhile: what is there stays, as far as CONFIG_DRIFT lets it. A file that is
 * behind is no repair: a Data Plane API has put back the one that it loaded last, without the runtime updates since. */
void target_left_alone(struct target *t)
{
    if (!t->failed.restores || instance_view(t->in).behind || target_may_repair(t) ||
        cfg_content_file(t->has.file, NULL) == NULL || target_file_means(t, t->failed.unloadable) ||
        target_file_means(t, t->has.good))
        return;
    t->failed.restores = t->has.unloaded = false;
    target_writes(t, NULL);
    timer_set(&t->of->step, 0);
    log_warn(t->of->options.log,
             "haproxy.cfg was changed by another writer after it could not be loaded; the previous one is not restored",
             log_str("target", target_url(t)));
    if (t->sent.progress == PROGRESS_RESTORING)
        target_keep_rejection(t);
}

/* The answer to the write of the file from before. */
void target_restored(struct target *t, const struct replaced *r)
{
    const struct configuration *c = t->of;
    bool refused = r->result == TRANSACTION_REJECTED || r->result == TRANSACTION_HARMFUL;
    if (r->result != TRANSACTION_COMMITTED && !refused) {
        t->failed.away = r->result != TRANSACTION_CONFLICT;
        configuration_tell(c, CONFIGURATION_FAILED, t, &r->error);
        return; /* the instance pauses, and it is tried again */
    }
    t->failed.restores = false;
    /* Refused, it is tried again after the next reload that fails, and holds up no other document. */
    t->has.unloaded = refused;
    if (refused) {
        log_error(c->options.log,
                  "the previous configuration cannot be restored; HAProxy runs it, and haproxy.cfg is "
                  "one that it cannot load",
                  log_str("target", target_url(t)), log_str("error", r->error.message));
        target_writes(t, NULL);
    }
    if (t->sent.progress == PROGRESS_RESTORING && refused)
        target_keep_rejection(t);
    else if (t->sent.progress == PROGRESS_RESTORING)
        t->sent.progress = PROGRESS_RESTORED;
}

bool target_take_back(struct target *t, const struct error *why)
{
    struct document *d = t->of->document;
    struct store *store = t->of->options.store;
    if (t->sent.unchanged || t->has.good == NULL)
        return false;
    t->failed.restores = true;
    t->sent.progress = PROGRESS_RESTORING;
    t->failed.why = *why;
    cfg_content_hold(&t->failed.unloadable, d->content);
    store_reject(store, d->id, target_name(t), instance_view(t->in).haproxy, why->message);
    store_taken_back(store, d->id, target_name(t));
    return true;
}
