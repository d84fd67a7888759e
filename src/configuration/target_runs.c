/* What one HAProxy runs, verified: the document, one that a newer document has replaced meanwhile, or the file from
 * before. */
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

void target_writes(struct target *t, struct document *d)
{
    struct document *was = t->writing;
    t->writing = d != NULL ? document_ref(d) : NULL;
    document_unref(was);
    store_writing(t->of->options.store, target_name(t), d != NULL);
}

/* If another one has put it there, that says nothing of what runs. */
void target_not_written(struct target *t, const struct document *d)
{
    if (t->writing == d && !t->unloaded)
        target_writes(t, NULL);
}

/* Where another one wrote to the file, too, he may have loaded what is gone from there again. */
static void target_runs_unknown(struct target *t)
{
    cfg_content_unref(t->running);
    t->running = NULL;
    t->file_runs = false;
}

static void target_runs_file_now(struct target *t)
{
    if (instance_view(t->in).other_wrote) {
        target_runs_unknown(t);
        return;
    }
    cfg_content_hold(&t->running, t->file);
    t->running_version = t->version;
    t->file_runs = true;
}

bool target_runtime_read(void *self, bool other_worker)
{
    struct target *t = self;
    if (other_worker && t->version != t->running_version)
        target_runs_unknown(t);
    if (t->files_back)
        target_files_are_back(t);
    return false;
}

static void target_runs(struct target *t, struct document *d)
{
    if (!str_eq(t->runs, d->hash)) {
        memcpy(t->runs, d->hash, sizeof(t->runs));
        t->runs_since_ms = (int64_t)clock_wall_ms();
    }
    store_applied(t->of->options.store, d, target_name(t));
    target_writes(t, NULL);
}

/* A newer document came between the write and the end of its reload. Perhaps it is rejected, and this one runs on. Its
 * files may be half there: then nobody knows what runs, and it is none to go back to. The file is no other writer's all the
 * same, also after a restart: the store's note stays. */
static void target_superseded(struct target *t)
{
    struct document *d = t->writing;
    if (d == NULL || d == target_document(t) || t->asked != NULL)
        return;
    bool loaded = !instance_view(t->in).other_wrote && target_file_means(t, d->content);
    if (loaded && d->with_files) {
        t->runs[0] = '\0';
        t->writing = NULL;
        document_unref(d);
        return;
    }
    if (loaded) {
        log_info(t->of->options.log, "configuration applied; a newer one replaces it", log_str("target", target_url(t)),
                 log_str("sha256", d->hash));
        target_runs(t, d);
        target_runs_file_now(t);
        return;
    }
    target_writes(t, NULL);
}

void target_reload_ended(void *self)
{
    const struct target *t = self;
    if (t->progress == PROGRESS_WRITTEN)
        configuration_tell(t->of, CONFIGURATION_LOADED, t, NULL);
}

void target_concluded(void *self)
{
    struct target *t = self;
    struct document *d = target_document(t);
    if (d == NULL || !instance_at_rest(t->in) || !instance_view(t->in).last_reload_known)
        return;
    if (t->progress == PROGRESS_WRITTEN && t->files == FILES_ADDED)
        t->tells = true; /* a reload came before maps have lost their lines: it has loaded all but that */
    if (t->tells && t->files_changed)
        return; /* what runs has them not yet */
    t->unloaded = t->tells = false;
    t->restores = t->restores && t->progress == PROGRESS_RESTORING;
    if (t->progress == PROGRESS_RESTORED) {
        target_keep_rejection(t);
        target_runs_file_now(t);
        target_writes(t, NULL);
        log_warn(t->of->options.log, "previous configuration loaded again", log_str("target", target_url(t)));
        timer_set(&t->of->step, 0);
    }
    target_superseded(t);
    if (t->progress != PROGRESS_WRITTEN)
        return;
    bool ran = store_ran(t->of->options.store, d, target_name(t));
    t->progress = PROGRESS_APPLIED;
    t->files_changed = false;
    timer_set(&t->of->step, 0);
    if (t->effect == CFG_EFFECT_NONE) {
        target_runs(t, d);
        canary_applied(t, ran);
        if (!t->unchanged) /* else another one wrote it, and perhaps did not load it */
            target_runs_file_now(t);
    } else { /* another one wrote before it was loaded, whom CONFIG_DRIFT ignores */
        target_not_written(t, d);
    }
    log_info(t->of->options.log, t->unchanged ? "configuration unchanged" : "configuration applied",
             log_str("target", target_url(t)), log_str("sha256", d->hash),
             log_us_as_ms("change_to_verified_ms", clock_mono_us() - t->since_us));
    configuration_tell(t->of, t->unchanged ? CONFIGURATION_UNCHANGED : CONFIGURATION_APPLIED, t, NULL);
}
