/* The files that the document refers to, on their way to one HAProxy (store of haproxy/driver). */
#include "base/clock.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

bool target_files_next(const struct target *t, enum storage_part *ret)
{
    const struct target_sent *s = &t->sent;
    bool quiet = t->of->options.dry_run || t->of->paused;
    bool is_new = s->progress == PROGRESS_NEW && s->files == FILES_NEW;
    /* While nothing may be written, HAProxy can judge only what needs no other files than it has: they are read
     * once, and with each resync. */
    if (quiet && is_new && !t->failed.restores && (!s->files_missing || s->files_unchecked)) {
        *ret = STORAGE_CHECK;
        return true;
    }
    /* It will not run here: it was rejected, by this HAProxy or by another one, or cannot be loaded. */
    bool nothing = s->progress == PROGRESS_REJECTED || s->progress == PROGRESS_RESTORING || t->failed.restores ||
                   (target_is_unwritten(t) && t->own == NULL && configuration_rejected(t->of));
    if (s->files_changed && nothing && !s->files_stay) {
        *ret = STORAGE_BACK;
        return true;
    }
    if (target_runs_document(t) && s->files == FILES_DONE && s->files_unchecked && target_document(t)->with_files) {
        *ret = STORAGE_CHECK;
        return true;
    }
    switch (s->progress) {
    case PROGRESS_NEW:
        *ret = STORAGE_ADD;
        return is_new && !nothing;
    case PROGRESS_WRITTEN:
        *ret = s->files == FILES_ADDED ? STORAGE_FINAL : STORAGE_RUN;
        return s->files == FILES_ADDED || (s->by_runtime && s->files_changed);
    default:
        *ret = STORAGE_END;
        return s->progress == PROGRESS_APPLIED && s->files == FILES_WRITTEN;
    }
}

struct cfg_content *target_text(struct target *t, struct cfg_content *own)
{
    cfg_content_unref(t->sent.text);
    t->sent.text = NULL;
    return t->sent.text = target_with_kept(t, own, &t->sent.edits);
}

void target_store(void *self, struct storage_request *ret)
{
    struct target *t = self;
    struct target_sent *s = &t->sent;
    (void)target_files_next(t, &s->part);
    if (!s->files_changed && !s->files_back) {
        const struct instance_view v = instance_view(t->in);
        s->files_met_reload = v.reload == RELOAD_PENDING;
        s->files_loads = v.loads;
    }
    if (s->part == STORAGE_BACK) {
        /* Where the one before goes back over what another writer made of it, nothing is left of that. */
        bool begun = target_is_unwritten(t) || (t->failed.restores && s->progress == PROGRESS_DRIFTED);
        s->files = begun && target_document(t)->with_files ? FILES_NEW : FILES_DONE;
        if (begun) /* should it run after all, it begins anew, however many of its files are gone by then */
            s->progress = PROGRESS_NEW;
    }
    document_unref(s->storing);
    s->storing = document_ref(target_document(t));
    ret->part = s->part;
    ret->files = &s->storing->files;
    /* HAProxy runs the haproxy.cfg that there is, which goes on with them, and gets runtime commands: the lines that
     * they lose are not needed any more. */
    ret->alone = s->part == STORAGE_ADD && t->has.effect == CFG_EFFECT_NONE && target_by_runtime(t) &&
                 target_is_alone(t) && !canary_goes_on(t->of);
    if (!t->of->options.foresees || s->part != STORAGE_CHECK)
        return;
    storage_foresight_fini(&s->foresight);
    ret->foresight = &s->foresight;
    ret->config = target_text(t, s->storing->content);
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
        configuration_tell_why(t->of, CONFIGURATION_WRITTEN, t,
                               t->sent.files_changed ? CONFIGURATION_WAY_RELOAD : CONFIGURATION_WAY_RUNTIME, NULL);
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
