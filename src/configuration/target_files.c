/* The files that the document refers to, on their way to one HAProxy (haproxy/dataplane/storage). */
#include "base/clock.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "haproxy/instance.h"

/* It will not run here: it was rejected, by this HAProxy or by another one, or cannot be loaded. */
static bool target_files_are_for_nothing(const struct target *t)
{
    bool begun = t->progress == PROGRESS_NEW || t->progress == PROGRESS_VALID;
    return t->progress == PROGRESS_REJECTED || t->progress == PROGRESS_RESTORING ||
           (begun && configuration_rejected(t->of));
}

bool target_files_next(const struct target *t, enum storage_part *ret)
{
    bool nothing = target_files_are_for_nothing(t), back = t->files_changed && nothing;
    *ret = back                              ? STORAGE_BACK
           : t->progress == PROGRESS_NEW     ? STORAGE_ADD
           : t->progress == PROGRESS_WRITTEN ? STORAGE_FINAL
                                             : STORAGE_END;
    return back || (t->progress == PROGRESS_NEW && t->files == FILES_NEW && !nothing) ||
           (t->progress == PROGRESS_WRITTEN && t->files == FILES_ADDED) ||
           (t->progress == PROGRESS_APPLIED && t->files == FILES_WRITTEN);
}

void target_store(void *self, struct storage_request *ret)
{
    struct target *t = self;
    (void)target_files_next(t, &t->part);
    document_unref(t->storing);
    t->storing = document_ref(t->of->document);
    ret->part = t->part;
    ret->files = &t->storing->files;
}

/* They are what they were: should the document run after all, it begins anew. */
static void target_files_are_back(struct target *t)
{
    bool begun = t->progress == PROGRESS_NEW || t->progress == PROGRESS_VALID;
    t->files = begun ? FILES_NEW : FILES_DONE;
    t->files_changed = false;
    if (begun)
        t->progress = PROGRESS_NEW;
}

/* What could not be stored says nothing of the configuration: it is tried again. */
void target_stored(void *self, const struct storage *s)
{
    struct target *t = self;
    bool current = t->storing == t->of->document, ok = s->result == TRANSACTION_COMMITTED;
    document_unref(t->storing);
    t->storing = NULL;
    t->away = !ok;
    if (ok)
        retry_forget(&t->retry);
    else
        retry_failed(&t->retry, &s->error, s->retry_after_ms, clock_mono_ms());
    t->files_changed = t->files_changed || s->changed;
    timer_set(&t->of->step, 0);
    if (!current || !ok)
        return;
    switch (t->part) {
    case STORAGE_ADD:
        t->files_changed = s->changed || s->unfinished;
        t->files = s->unfinished ? FILES_ADDED : FILES_WRITTEN;
        target_compare(t);
        target_concluded(t);
        break;
    case STORAGE_FINAL:
        t->files = FILES_WRITTEN;
        break;
    case STORAGE_END:
        t->files = FILES_DONE;
        break;
    case STORAGE_BACK:
        target_files_are_back(t);
        break;
    }
}
