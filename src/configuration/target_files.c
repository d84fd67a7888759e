/* The files that the document refers to, on their way to one HAProxy (haproxy/dataplane/storage). */
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "base/clock.h"
#include "haproxy/instance.h"

bool target_files_next(const struct target *t, enum storage_part *ret)
{
    bool back = t->files_changed && (t->progress == PROGRESS_REJECTED || t->progress == PROGRESS_RESTORING);
    *ret = back                              ? STORAGE_BACK
           : t->progress == PROGRESS_NEW     ? STORAGE_ADD
           : t->progress == PROGRESS_WRITTEN ? STORAGE_FINAL
                                             : STORAGE_END;
    return back || (t->progress == PROGRESS_NEW && t->files == FILES_NEW) ||
           (t->progress == PROGRESS_WRITTEN && t->files == FILES_ADDED) ||
           (t->progress == PROGRESS_APPLIED && t->files == FILES_WRITTEN);
}

void target_store(void *self, struct storage_request *ret)
{
    struct target *t = self;
    (void)target_files_next(t, &ret->part);
    document_unref(t->storing);
    t->storing = document_ref(t->of->document);
    ret->files = &t->storing->files;
}

/* What could not be stored says nothing of the configuration: it is tried again. */
void target_stored(void *self, const struct storage *s)
{
    struct target *t = self;
    enum storage_part part;
    bool current = t->storing == t->of->document && target_files_next(t, &part),
         ok = s->result == TRANSACTION_COMMITTED;
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
    switch (part) {
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
        t->files = FILES_DONE;
        t->files_changed = false;
        break;
    }
}
