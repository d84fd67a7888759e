/* What the running HAProxy is told of a document instead of a reload: changes of servers beside the write of haproxy.cfg
 * (haproxy/driver, `replace`), files after it (STORAGE_RUN). What cannot be told so, or does not come about, is loaded. */
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

/* As the file that HAProxy runs, which is another one: changed while nobody counted versions on, it has that one's notes. */
static bool target_is_same_version(const struct target *t)
{
    return t->running != NULL && t->version == t->running_version;
}

/* Why the difference from what is there may not be all that HAProxy needs; NULL: it runs what is there. Of what another
 * writer put there nobody knows whether he loaded it; of what a daemon wrote before, that one noted it. */
static const char *target_runs_another(const struct target *t)
{
    const struct instance_view v = instance_view(t->in);
    return t->restores || v.dirty       ? "haproxy.cfg was written and is not loaded yet"
           : v.reload == RELOAD_PENDING ? "a reload is under way"
           : !v.last_reload_known       ? "how HAProxy's last reload ended is not known"
           : !instance_at_rest(t->in)   ? "HAProxy runs something else than its haproxy.cfg"
           : !t->file_runs && (!v.loaded || target_is_same_version(t))
               ? "haproxy.cfg is not known to be what HAProxy runs"
               : NULL;
}

static bool target_runs_file(const struct target *t)
{
    return target_runs_another(t) == NULL;
}

/* As far as this way to HAProxy can. */
static bool target_can_be_told(const struct target *t)
{
    return t->effect != CFG_EFFECT_RELOAD && (t->effect != CFG_EFFECT_RUNTIME_SERVERS || instance_view(t->in).adds);
}

bool target_by_runtime(const struct target *t)
{
    return target_can_be_told(t) && !t->needs_verdict && target_runs_file(t);
}

/* Numbers and addresses in their place: there is nothing that HAProxy could refuse. */
static bool target_is_plain(const struct target *t)
{
    return t->effect == CFG_EFFECT_RUNTIME && !t->files_changed;
}

/* HAProxy itself looks at what it is told, in a tenth of the time that `haproxy -c` takes, and takes all of it or nothing.
 * What it refuses is validated then. Of several HAProxies none gets what another one might refuse. */
static bool target_needs_no_verdict(const struct target *t)
{
    return t->progress == PROGRESS_NEW && t->files != FILES_NEW && !t->away &&
           (t->effect != CFG_EFFECT_NONE || t->files_changed) && (target_is_alone(t) || target_is_plain(t)) &&
           target_by_runtime(t) && configuration_writes(t->of) && !target_document(t)->trial;
}

bool target_is_valid(const struct target *t)
{
    const struct document *d = target_document(t);
    bool is_written = d != NULL && t->asked == d && t->writing == d;
    return t->progress == PROGRESS_VALID || is_written || target_needs_no_verdict(t);
}

/* The request may be answered when the document, and with it the difference, is another one. */
void target_tell(struct target *t, struct replacement_request *ret)
{
    const struct cfg_difference *d = target_runs_file(t) ? target_difference(t) : NULL;
    changes_fini(&t->told);
    if (d == NULL || (d->effect != CFG_EFFECT_RUNTIME && d->effect != CFG_EFFECT_RUNTIME_SERVERS))
        return;
    for (size_t i = 0; i < d->changes.count; i++)
        changes_add(&t->told, d->changes.list[i]);
    ret->changes = &t->told;
    ret->plain = target_is_plain(t);
    ret->files_stay = !t->files_changed;
}

static int target_foresee_config(struct target *t, struct buf *ret, struct error *err)
{
    cleanup(cfg_content_unref_ptr) struct cfg_content *with_kept = NULL;
    const struct cfg_file *is, *wanted;
    const struct cfg_difference *d = target_difference(t);
    if (d == NULL || d->effect == CFG_EFFECT_NONE)
        return 0;
    const char *why = d->effect == CFG_EFFECT_RELOAD ? d->why : target_runs_another(t);
    if (why != NULL)
        return error_set(err, ERROR_INVALID, "%s", why);
    if (!target_both(t, target_document(t)->content, &with_kept, &is, &wanted))
        return 0;
    return instance_foresee(t->in, wanted, &d->changes, ret, err);
}

/* Its files, where haproxy.cfg itself takes no reload. */
static int target_foresee_files(const struct target *t, struct error *err)
{
    const struct storage_foresight *files = &t->foresight;
    const struct storage_foreseen *one = storage_foresight_reloads(files);
    const char *why = target_runs_another(t);
    bool stores =
        one != NULL || storage_foresight_has(files, STORAGE_BY_RUNTIME) || storage_foresight_has(files, STORAGE_UNUSED);
    if (stores && why != NULL)
        return error_set(err, ERROR_INVALID, "%s", why);
    return one != NULL ? error_set(err, ERROR_INVALID, "%s: %s", one->name, one->why) : 0;
}

int target_foresee(struct target *t, struct buf *ret, struct error *err)
{
    int status = target_foresee_config(t, ret, err);
    if (status == 0)
        status = target_foresee_files(t, err);
    if (status != 0)
        storage_foresight_load(&t->foresight);
    return status;
}

/* haproxy.cfg means the same with it: only its files are others. */
void target_go_on(struct target *t)
{
    const struct configuration *c = t->of;
    if (c->document == NULL || t->restores || t->asked != NULL)
        return;
    if (!target_is_valid(t) || !t->files_changed || !target_may_write(t) || !canary_lets(t) || !target_by_runtime(t) ||
        t->effect != CFG_EFFECT_NONE)
        return;
    configuration_tell(c, CONFIGURATION_WRITING, t, NULL);
    target_keep_good(t);
    target_writes(t, target_document(t));
    t->progress = PROGRESS_WRITTEN;
    t->tells = true;
}

/* What could not be told is loaded, whatever it was: by a reload that is not the next one too soon. */
void target_ran(struct target *t, const struct stored *s)
{
    bool all = s->result == TRANSACTION_COMMITTED && !s->changed;
    const char *why = s->error.kind != ERROR_NONE ? s->error.message : s->why;
    t->tells = false;
    t->files_changed = !all;
    if (all) {
        log_info(t->of->options.log, "files changed in the running HAProxy; no reload",
                 log_str("target", target_url(t)), log_int("files", s->ran));
        return;
    }
    log_info(t->of->options.log, "files take a reload", log_str("target", target_url(t)), log_str("why", why));
    t->unloaded = t->needs_verdict = true;
    if (t->progress == PROGRESS_WRITTEN && t->effect == CFG_EFFECT_NONE && target_is_alone(t))
        t->progress = PROGRESS_NEW; /* it had none yet */
    if (!t->joins)
        configuration_begin(t->of, true);
    instance_must_reload(t->in);
}
