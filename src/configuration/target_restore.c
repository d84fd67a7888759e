/* What HAProxy could not load does not stay in haproxy.cfg, whatever document is the latest by then: the file from
 * before goes back. */
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"

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
    bool runs = !t->unloaded && !v.dirty && v.reload != RELOAD_PENDING;
    if (!runs && t->good != NULL)
        return;
    cleanup(document_unref_ptr) struct document *d = runs ? NULL : target_ran_last(t);
    cfg_content_hold(&t->good, d != NULL ? d->content : t->file);
}

/* Whether there is one to go back to. After a restart the daemon knows no more of it than what it kept, and nothing of
 * what it wrote before but a mark in the file; where the Data Plane API has put the file from before back itself, it
 * would still load the other one with each commit. */
static bool target_recall_good(struct target *t, bool latest)
{
    if (t->good != NULL)
        return latest || t->unloaded;
    cleanup(document_unref_ptr) struct document *d = target_ran_last(t);
    if (d == NULL && instance_view(t->in).behind) { /* nor of what ran, but the API does */
        t->good = cfg_content_ref(t->file);
        return true;
    }
    bool there = d != NULL && target_file_means(t, d->content);
    if (d == NULL || (latest ? there : !there && !t->unloaded))
        return false;
    t->good = cfg_content_ref(d->content);
    t->files_changed = t->files_changed || d->with_files;
    return true;
}

/* Whoever repairs the file by hand meanwhile has a reason, and no more than CONFIG_DRIFT may be held against him. A file that
 * is behind is no such: a Data Plane API has put back the one that it loaded last, without what HAProxy was told since. */
void target_left_alone(struct target *t)
{
    if (!t->restores || instance_view(t->in).behind || target_may_repair(t) ||
        cfg_content_file(t->file, NULL) == NULL || target_file_means(t, t->unloadable) || target_file_means(t, t->good))
        return;
    t->restores = t->unloaded = false; /* what is there is his */
    target_writes(t, NULL);
    timer_set(&t->of->step, 0);
    log_warn(t->of->options.log,
             "haproxy.cfg was changed by another writer after it could not be loaded; the previous one is not restored",
             log_str("target", target_url(t)));
    if (t->progress == PROGRESS_RESTORING)
        target_keep_rejection(t);
}

/* A reload that was lost says nothing of the file: there will be another. */
void target_reload_failed(void *self, bool lost)
{
    struct target *t = self;
    const struct configuration *c = t->of;
    bool latest = t->progress == PROGRESS_WRITTEN;
    if (lost || c->document == NULL || !target_recall_good(t, latest))
        return;
    t->restores = true;
    cfg_content_hold(&t->unloadable, t->file); /* what was sent last need not have been written */
    log_error(c->options.log, "configuration could not be loaded; the previous one is restored",
              log_str("target", target_url(t)),
              log_str("sha256", t->writing != NULL ? t->writing->hash
                                : latest           ? target_document(t)->hash
                                                   : NULL));
    if (!latest)
        return;
    const char *why = instance_view(t->in).reload_problem;
    (void)error_set(&t->why, ERROR_INVALID, "HAProxy could not load it%s%s", why != NULL ? ": " : "",
                    why != NULL ? why : "");
    t->progress = PROGRESS_RESTORING;
    t->load_failed = true;
    configuration_tell(c, CONFIGURATION_LOAD_FAILED, t, &t->why);
}

void target_restored(struct target *t, const struct replaced *r)
{
    const struct configuration *c = t->of;
    bool refused = r->result == TRANSACTION_REJECTED || r->result == TRANSACTION_HARMFUL;
    if (r->result != TRANSACTION_COMMITTED && !refused) {
        t->away = r->result != TRANSACTION_CONFLICT;
        configuration_tell(c, CONFIGURATION_FAILED, t, &r->error);
        return; /* the instance pauses, and it is tried again */
    }
    t->restores = false;
    t->unloaded = refused; /* then it is tried again after the next reload that fails, and holds up no other document */
    if (!refused && t->progress == PROGRESS_RESTORING)
        t->progress = PROGRESS_RESTORED;
    if (!refused)
        return;
    log_error(c->options.log,
              "the previous configuration cannot be restored; HAProxy runs it, and haproxy.cfg is "
              "one that it cannot load",
              log_str("target", target_url(t)), log_str("error", r->error.message));
    target_writes(t, NULL);
    if (t->progress == PROGRESS_RESTORING)
        target_keep_rejection(t);
}
