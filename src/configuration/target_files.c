/* The files that the document refers to, on their way to one HAProxy (store of haproxy/driver). */
#include "base/clock.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "haproxy/instance.h"

/* While nothing may be written, HAProxy can judge only what needs no other files than it has: they are looked at once,
 * and with each resync. */
static bool target_files_to_look_at(const struct target *t)
{
    bool quiet = t->of->options.dry_run || t->of->paused;
    return quiet && t->sent.progress == PROGRESS_NEW && t->sent.files == FILES_NEW && !t->failed.restores &&
           (!t->sent.files_missing || t->sent.files_unchecked);
}

/* It will not run here: it was rejected, by this HAProxy or by another one, or cannot be loaded. */
static bool target_files_are_for_nothing(const struct target *t)
{
    bool begun = t->sent.progress == PROGRESS_NEW || t->sent.progress == PROGRESS_VALID;
    return t->sent.progress == PROGRESS_REJECTED || t->sent.progress == PROGRESS_RESTORING || t->failed.restores ||
           (begun && t->own == NULL && configuration_rejected(t->of));
}

bool target_files_next(const struct target *t, enum storage_part *ret)
{
    if (target_files_to_look_at(t)) {
        *ret = STORAGE_CHECK;
        return true;
    }
    bool nothing = target_files_are_for_nothing(t), back = t->sent.files_changed && nothing && !t->sent.files_stay;
    bool runs = t->sent.progress == PROGRESS_APPLIED || t->sent.progress == PROGRESS_DRIFTED;
    bool check = runs && t->sent.files == FILES_DONE && t->sent.files_unchecked && target_document(t)->with_files;
    *ret = back                                   ? STORAGE_BACK
           : check                                ? STORAGE_CHECK
           : t->sent.progress == PROGRESS_NEW     ? STORAGE_ADD
           : t->sent.progress == PROGRESS_WRITTEN ? (t->sent.files == FILES_ADDED ? STORAGE_FINAL : STORAGE_RUN)
                                                  : STORAGE_END;
    return back || check || (t->sent.progress == PROGRESS_NEW && t->sent.files == FILES_NEW && !nothing) ||
           (t->sent.progress == PROGRESS_WRITTEN &&
            (t->sent.files == FILES_ADDED || (t->sent.by_runtime && t->sent.files_changed))) ||
           (t->sent.progress == PROGRESS_APPLIED && t->sent.files == FILES_WRITTEN);
}

/* Should the document run after all, it begins anew, however many of its files are gone by then. */
static void target_files_go_back(struct target *t)
{
    bool begun = t->sent.progress == PROGRESS_NEW || t->sent.progress == PROGRESS_VALID;
    t->sent.files = begun && target_document(t)->with_files ? FILES_NEW : FILES_DONE;
    if (begun)
        t->sent.progress = PROGRESS_NEW;
}

/* HAProxy runs the haproxy.cfg that there is, which goes on with them, and is told: nobody needs the lines that they lose. */
static bool target_changes_files_alone(const struct target *t)
{
    return t->runs.effect == CFG_EFFECT_NONE && target_by_runtime(t) && target_is_alone(t) && !canary_goes_on(t->of);
}

void target_store(void *self, struct storage_request *ret)
{
    struct target *t = self;
    (void)target_files_next(t, &t->sent.part);
    if (!t->sent.files_changed && !t->sent.files_back) {
        const struct instance_view v = instance_view(t->in);
        t->sent.files_met_reload = v.reload == RELOAD_PENDING;
        t->sent.files_loads = v.loads;
    }
    if (t->sent.part == STORAGE_BACK)
        target_files_go_back(t);
    document_unref(t->sent.storing);
    t->sent.storing = document_ref(target_document(t));
    ret->part = t->sent.part;
    ret->files = &t->sent.storing->files;
    ret->alone = t->sent.part == STORAGE_ADD && target_changes_files_alone(t);
    if (!t->of->options.foresees || t->sent.part != STORAGE_CHECK)
        return;
    storage_foresight_fini(&t->sent.foresight);
    ret->foresight = &t->sent.foresight;
    ret->config = target_text(t, t->sent.storing->content);
}

/* What could not be told is loaded, whatever it was: by a reload that is not the next one too soon. */
static void target_ran(struct target *t, const struct stored *s)
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
    t->runs.unloaded = t->sent.needs_verdict = true;
    if (t->sent.progress == PROGRESS_WRITTEN && t->runs.effect == CFG_EFFECT_NONE && target_is_alone(t))
        t->sent.progress = PROGRESS_NEW; /* it had none yet */
    if (!t->watch.joins)
        configuration_begin(t->of, true);
    instance_must_reload(t->in);
}

static void target_files_need_no_wait(struct target *t)
{
    if (t->sent.files_missing)
        error_clear(&t->failed.why);
    t->sent.files_missing = false;
}

/* Before the document is judged. */
static void target_files_looked_at(struct target *t, const struct stored *s)
{
    struct error why = {0};
    if (s->differing == 0) {
        t->sent.files = FILES_WRITTEN;
        target_files_need_no_wait(t);
        target_compare(t);
        target_concluded(t);
        return;
    }
    (void)error_set(
        &why, ERROR_CONFLICT, "HAProxy has other files than the configuration, and nothing may be written (%s): %s%s",
        t->of->options.dry_run ? "DRY_RUN" : "it is paused", s->differs, s->differing > 1 ? " and others" : "");
    if (!str_eq(why.message, t->failed.why.message))
        log_warn(t->of->options.log, "configuration cannot be validated yet", log_str("target", target_url(t)),
                 log_str("sha256", target_document(t)->hash), log_str("error", why.message));
    t->failed.why = why;
    t->sent.files_missing = true;
}

static void target_files_drifted(struct target *t, const struct stored *s)
{
    const struct configuration_options *o = &t->of->options;
    bool repair = target_may_repair(t);
    struct error why = {0};
    if (o->drift == CONFIGURATION_DRIFT_IGNORE)
        return;
    (void)error_set(&why, ERROR_CONFLICT, "another writer changed files of the configuration: %s%s", s->differs,
                    s->differing > 1 ? " and others" : "");
    bool news = !t->sent.files_drifted || !str_eq(why.message, t->failed.why.message);
    t->failed.why = why;
    t->sent.progress = PROGRESS_DRIFTED;
    t->sent.files_drifted = true;
    if (news) {
        log_warn(o->log, "files of the configuration were changed by another writer", log_str("target", target_url(t)),
                 log_str("first", s->differs), log_int("files", s->differing), log_bool("repaired", repair));
        configuration_tell(t->of, CONFIGURATION_DRIFTED, t, &t->failed.why);
    }
    if (!repair)
        return;
    t->sent.files = FILES_NEW;
    t->sent.files_drifted = false;
    target_repair_later(t);
}

static void target_files_checked(struct target *t, const struct stored *s)
{
    t->sent.files_unchecked = false;
    if (t->sent.progress == PROGRESS_NEW) {
        target_files_looked_at(t, s);
        return;
    }
    if (s->differing > 0) {
        target_files_drifted(t, s);
    } else if (t->sent.files_drifted) {
        t->sent.files_drifted = false;
        target_compare(t);
        target_concluded(t);
    }
}

/* What could not be stored says nothing of the configuration: it is tried again. */
void target_stored(void *self, const struct stored *s)
{
    struct target *t = self;
    bool current = t->sent.storing == target_document(t), ok = s->result == TRANSACTION_COMMITTED;
    document_unref(t->sent.storing);
    t->sent.storing = NULL;
    t->failed.away = !ok;
    if (ok)
        retry_forget(&t->failed.retry);
    else
        retry_failed(&t->failed.retry, &s->error, s->retry_after_ms, clock_mono_ms());
    if (!ok)
        configuration_tell(t->of, CONFIGURATION_NOT_STORED, t, &s->error);
    else if (s->certificates > 0 && t->sent.part == STORAGE_ADD)
        configuration_tell(t->of, CONFIGURATION_STORED, t, NULL);
    t->sent.files_changed = t->sent.files_changed || s->changed;
    timer_set(&t->of->step, 0);
    if (t->sent.part == STORAGE_RUN)
        target_ran(t, s);
    if (!current || !ok)
        return;
    switch (t->sent.part) {
    case STORAGE_ADD:
        target_files_need_no_wait(t);
        t->sent.files_changed = s->changed || s->unfinished;
        t->sent.files_stay = false;
        t->sent.files = s->unfinished ? FILES_ADDED : FILES_WRITTEN;
        target_compare(t);
        target_concluded(t);
        target_go_on(t);
        break;
    case STORAGE_FINAL:
        t->sent.files = FILES_WRITTEN;
        break;
    case STORAGE_RUN:
        configuration_tell_written(t, !t->sent.files_changed);
        target_concluded(t);
        break;
    case STORAGE_END:
        t->sent.files = FILES_DONE;
        break;
    case STORAGE_BACK:
        t->sent.files_changed = false;
        t->sent.files_stay = s->changed;
        t->sent.files_back = t->sent.files_back || s->written + s->deleted > 0;
        if (t->sent.files_back)
            instance_outdated(t->in);
        break;
    case STORAGE_CHECK:
        target_files_checked(t, s);
        break;
    }
}

/* They went back. What HAProxy has is those from before only where it is the same process at a reading after as at one before
 * they changed, and no reload was under way: else it may have loaded them. */
void target_files_are_back(struct target *t)
{
    bool loaded = t->sent.files_met_reload || instance_view(t->in).loads != t->sent.files_loads;
    t->sent.files_back = false;
    if (loaded)
        instance_must_reload(t->in);
}
