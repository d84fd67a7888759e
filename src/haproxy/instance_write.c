/* What is written to the file: transactions, the whole configuration, files beside it; and what each ending means. */
#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/cfg/content.h"
#include "haproxy/guard.h"
#include "haproxy/instance_internal.h"

/* ---- for engines ---- */

int instance_change(struct instance *in, struct instance_backend *b, const struct change *list, size_t count,
                    struct error *err)
{
    if (instance_driver(in)->ops->add(instance_driver(in), list, count, err) != 0)
        return -1;
    b->writing = true;
    return 0;
}

void instance_write_sooner(struct instance *in, uint64_t when_ms)
{
    backoffs_write_sooner(&in->backoffs, when_ms);
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    backoffs_begin_anew(&in->backoffs, when_ms);
}

int instance_foresee(const struct instance *in, const struct cfg_file *to, const struct changes *changes,
                     struct buf *ret, struct error *err)
{
    const struct driver *d = instance_driver(in);
    if (d->ops->foresee == NULL)
        return error_set(err, ERROR_INVALID, "this HAProxy takes changes only by reloads");
    return d->ops->foresee(d, to, changes, ret, err);
}

/* ---- whether the file may be written to ---- */

/* After a failed reload, the file is another one than what the API would write anew: there is nothing to compare. */
bool instance_wants_preview(const struct instance *in)
{
    return instance_driver(in)->ops->preview != NULL && in->guard.problem == NULL &&
           !guard_passed(&in->guard, in->version) && !instance_is_split(in) && in->readout.file != NULL &&
           in->backoffs.write_after_ms <= clock_mono_ms();
}

static bool instance_may_change(const void *arg, const char *kind, const char *name, const char *first,
                                const char *second)
{
    const struct instance *in = arg;
    for (size_t i = 0; i < in->engine_count; i++) {
        const struct engine *e = in->engines[i];
        if (e->ops->may_change != NULL && e->ops->may_change(e->self, kind, name, first, second))
            return true;
    }
    return false;
}

char *instance_judge(void *arg, const char *text, size_t len, bool previews)
{
    struct instance *in = arg;
    const struct cfg_file_managed ours = {.is_ours = instance_may_change, .arg = in};
    return guard_compare(&in->guard, in->readout.file, text, len, previews ? NULL : &ours);
}

static void instance_preview_failed(struct instance *in, const struct written *w)
{
    if (w->result == TRANSACTION_CONFLICT)
        instance_outdated(in);
    /* At shutdown nothing is saved in a file that has not passed: no more readings are needed. */
    if (w->result == TRANSACTION_ABORTED)
        in->last_updated = in->read_at_end = true;
    if (w->result != TRANSACTION_LIMIT && w->result != TRANSACTION_REJECTED) {
        instance_write_failed(in, w->result, &w->error, w->retry_after_ms);
        return;
    }
    /* No room to make sure: what needs none goes on. */
    if (w->result == TRANSACTION_LIMIT && in->guard.unsure == in->version) {
        guard_pass(&in->guard, in->version);
        return;
    }
    /* What needs no write goes on. */
    in->no_preview = w->result == TRANSACTION_LIMIT;
    backoffs_write_not_before(&in->backoffs, clock_mono_ms() + backoff_next_ms(&in->backoffs.request));
    backoffs_write_failed(&in->backoffs);
    instance_problem(in, "cannot preview what a write would do to haproxy.cfg", &w->error);
}

static void instance_judge_preview(struct instance *in, const struct written *w)
{
    in->no_preview = false;
    if (w->result == TRANSACTION_HARMFUL) {
        guard_refuse(&in->guard, in->version, w->error.message);
    } else if (w->result != TRANSACTION_PREVIEWED) {
        instance_preview_failed(in, w);
    } else if (w->error.kind == ERROR_NONE && !in->guard.blind) {
        guard_pass(&in->guard, in->version);
        for (size_t i = 0; i < in->backend_count; i++)
            in->backends[i].reviewed = false;
    } else {
        in->guard.blind = true;
        log_warn(in->options.log, "the Data Plane API cannot preview a write; checking only the lines of haproxy.cfg",
                 log_str("target", instance_url(in)), log_str("error", w->error.message));
        guard_read(&in->guard, in->version, false, in->readout.file, in->readout.file_problem,
                   in->readout.defaults_problem);
    }
}

void instance_take_preview(struct instance *in, const struct written *w)
{
    instance_report_foreign(in, w);
    instance_judge_preview(in, w);
    instance_free_file(in);
}

/* ---- a transaction ---- */

static size_t instance_count_writing(const struct instance *in)
{
    size_t count = 0;
    for (size_t i = 0; i < in->backend_count; i++)
        count += in->backends[i].writing;
    return count;
}

void instance_writes_none(struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].writing = false;
}

void instance_write_transaction(struct instance *in)
{
    struct driver *d = instance_driver(in);
    bool wanted = false;
    for (size_t i = 0; i < in->engine_count; i++) {
        if (!(in->one_by_one && wanted) && in->engines[i]->ops->collect != NULL)
            in->engines[i]->ops->collect(in->engines[i]->self);
        wanted = wanted || in->wants[i].transaction;
    }
    if (wanted && instance_count_writing(in) == 0)
        return;
    in->phase = INSTANCE_WRITING;
    in->write_started_us = clock_mono_us();
    /* A HAProxy that did not apply runtime updates does not apply those of a transaction either. */
    bool in_vain = d->adds && d->runtime && !verification_usable(&in->verification, in->backoffs.no_room);
    bool reload = in->loading.dirty || !wanted || in_vain;
    if (d->adds && !reload) {
        /* Commands for a backend that runs otherwise than the file that was read would be about servers that are not there. */
        cleanup(mem_free_ptr) char *drift = instance_running_problem(in, true);
        reload = drift != NULL;
    }
    /* A change may lose unmanaged lines: so the first transaction of each backend after another writer's is previewed before
     * its commit, too. */
    bool review = false;
    for (size_t i = 0; i < in->backend_count; i++)
        review = review || (in->backends[i].writing && !in->backends[i].reviewed);
    review = review && guard_passed(&in->guard, in->version) && !in->guard.blind && !instance_is_split(in) &&
             in->readout.file != NULL;
    d->ops->write(d, in->version, review, reload);
}

void instance_write_succeeded(struct instance *in)
{
    in->renewed = false;
}

static void instance_write_committed(struct instance *in, const struct written *w)
{
    instance_wrote(in, w->version);
    in->file_needed = false;
    /* What was not previewed was harmless before, or cannot be previewed. */
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = in->backends[i].reviewed || in->backends[i].writing;
    readout_let_file_go(&in->readout, true);
    ENGINES_DO(in, committed, w);
    instance_report_commit(in, w, instance_count_writing(in) == 0);
    instance_write_succeeded(in);
    if (w->reload_id == NULL && instance_driver(in)->tells_ends) /* nothing that others could share */
        backoffs_updated(&in->backoffs);
    else
        backoffs_committed(&in->backoffs, clock_mono_ms());
    instance_log_why(in, w->reload_why);
    /* Its reload also loads whatever was not loaded before, so its result decides from here on. None: applied at
     * once. */
    in->loading.last.known = true;
    instance_reload_comes(in, w->reload_id);
}

static void instance_transaction_failed(struct instance *in, const struct written *w)
{
    ENGINES_DO(in, not_committed);
    /* Gone at its commit: perhaps committed by it, the answer lost and the request sent again by libcurl, which does that on a
     * connection that was kept. An empty one: what the file says of what it was to load is of a version that may be past. */
    if (w->unloaded && w->result != TRANSACTION_ABORTED)
        instance_must_reload(in);
    instance_write_failed(in, w->result, &w->error, w->retry_after_ms);
}

void instance_take_cleaning(struct instance *in, const struct written *w)
{
    instance_report_foreign(in, w);
    if (w->result == TRANSACTION_UNAUTHORIZED || w->result == TRANSACTION_UNAVAILABLE)
        instance_transaction_failed(in, w);
}

void instance_take_transaction(struct instance *in, const struct written *w)
{
    const char *result = transaction_result_name(w->result);
    instance_report_foreign(in, w);
    metric_add(in->options.metrics->transactions, 1, result, instance_url(in), NULL);
    metric_observe(in->options.metrics->transaction_duration, (double)(clock_mono_us() - in->write_started_us) / 1e6,
                   NULL);
    instance_count_reconcile(in, result);
    instance_outdated(in); /* read back what it is now */
    if (w->result == TRANSACTION_HARMFUL) {
        ENGINES_DO(in, not_committed);
        instance_judge_preview(in, w);
    } else if (w->result == TRANSACTION_COMMITTED) {
        instance_write_committed(in, w);
    } else {
        instance_transaction_failed(in, w);
    }
}

/* ---- what failed ---- */

static void instance_rejected(struct instance *in, const struct error *err)
{
    static const char what[] = "HAProxy rejected the change; haproxy.cfg is unchanged";
    size_t count = instance_count_writing(in);
    if (count > 1) {
        in->one_by_one = true;
        log_warn(in->options.log, "HAProxy rejected a change to several backends; trying each backend alone",
                 log_str("target", instance_url(in)), log_int("backends", count), log_str("error", err->message));
        return;
    }
    ENGINES_DO(in, rejected, what, err);
    if (count > 0)
        return;
    /* An empty commit is rejected because of what is in the file already. */
    backoffs_write_not_before(&in->backoffs, clock_mono_ms() + backoff_next_ms(&in->backoffs.reject));
    instance_problem(in, what, err);
}

void instance_write_failed(struct instance *in, enum transaction_result result, const struct error *err,
                           int64_t retry_after_ms)
{
    const struct driver *d = instance_driver(in);
    const char *what = NULL; /* the problem, where nothing is sent for a while */
    switch (result) {
    case TRANSACTION_CONFLICT:
        if (backoffs_conflict(&in->backoffs, clock_mono_ms()))
            log_info(in->options.log, "another writer changed HAProxy's configuration; reading it again",
                     log_str("target", instance_url(in)), log_str("error", err->message));
        else
            instance_problem(in, "another writer keeps changing HAProxy's configuration", err);
        break;
    case TRANSACTION_REJECTED:
        instance_rejected(in, err);
        break;
    case TRANSACTION_LIMIT: /* transactions wait; what needs none does not */
        backoffs_wait_for_room(&in->backoffs, retry_after_ms, clock_mono_ms());
        instance_problem(in, "the Data Plane API has too many open transactions of other clients", err);
        break;
    case TRANSACTION_UNAUTHORIZED:
        if (instance_renew_credentials(in))
            instance_problem(in, "the Data Plane API refused the credentials; trying the new ones", err);
        else
            what = INSTANCE_REFUSED;
        break;
    case TRANSACTION_UNKNOWN:
        guard_answer_lost(&in->guard, in->version);
        instance_must_reload(in); /* the file shows what was committed, but not whether it was loaded */
        what = "answer to a commit lost; reading the configuration again";
        break;
    case TRANSACTION_ABORTED:
        log_info(in->options.log, "transaction aborted at shutdown", log_str("target", instance_url(in)));
        break;
    case TRANSACTION_UNAVAILABLE:
    case TRANSACTION_COMMITTED:
    case TRANSACTION_CLEANED:
    case TRANSACTION_PREVIEWED:
    case TRANSACTION_HARMFUL:
        what = d->waits != NULL        ? "HAProxy's file is another daemon's"
               : err->http_status != 0 ? "the Data Plane API answered with an error"
                                       : d->fails;
        break;
    }
    if (what == NULL)
        return;
    backoffs_pause(&in->backoffs, result != TRANSACTION_UNKNOWN, retry_after_ms, clock_mono_ms());
    backoffs_write_failed(&in->backoffs);
    instance_problem(in, what, err);
}

/* ---- the whole configuration, for the engine that owns the rest of the file ---- */

void instance_replace(struct instance *in, const struct engine *e)
{
    struct replacement_request request = {0};
    e->ops->replace(e->self, &request);
    in->phase = INSTANCE_REPLACING;
    in->asking = e;
    instance_driver(in)->ops->replace(instance_driver(in), in->version, &request);
}

/* What was written is in the file and, unless HAProxy took it by commands, runs nowhere: an empty commit loads it. The
 * answer to a write that no other one came before is a reading of the file: where that is all there is to read, none
 * follows. */
static void instance_replace_written(struct instance *in, const struct replaced *r)
{
    ENGINES_DO(in, rewritten, in->version, r->version);
    bool alone = instance_wrote_next(in, r->version) && in->backend_count == 0;
    in->fresh = alone && r->result == TRANSACTION_COMMITTED && r->file != NULL;
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = false; /* the lines beside its servers are others */
    readout_let_file_go(&in->readout, true);
    in->readout.file = in->fresh ? cfg_content_ref(r->file) : NULL;
    in->readout.loaded = in->fresh && r->runs;
    in->readout.unloaded = in->fresh && !r->runs;
    instance_write_succeeded(in);
    instance_rewritten(in, r->runs);
    instance_log_why(in, r->reload_why);
    if (r->reload_id != NULL)
        instance_reload_comes(in, r->reload_id);
}

void instance_take_replacement(struct instance *in, const struct replaced *r)
{
    instance_count_reconcile(in, transaction_result_name(r->result));
    if (r->result != TRANSACTION_PREVIEWED)
        instance_outdated(in);
    if (r->result == TRANSACTION_COMMITTED || r->result == TRANSACTION_HARMFUL)
        instance_replace_written(in, r);
    else if (r->result != TRANSACTION_PREVIEWED && r->result != TRANSACTION_REJECTED)
        instance_write_failed(in, r->result, &r->error, r->retry_after_ms);
    in->asking->ops->replaced(in->asking->self, r);
    bool read = in->fresh && r->result == TRANSACTION_COMMITTED;
    if (read)
        ENGINES_DO(in, read);
    if (read && r->runs)
        ENGINES_DO(in, concluded);
}

/* ---- files beside it ---- */

void instance_store(struct instance *in, const struct engine *e)
{
    struct storage_request request = {0};
    e->ops->store(e->self, &request);
    in->phase = INSTANCE_REPLACING;
    in->asking = e;
    instance_driver(in)->ops->store(instance_driver(in), &request);
}

void instance_take_storage(struct instance *in, const struct stored *s)
{
    if (s->written > 0 || s->deleted > 0)
        log_info(in->options.log, "files of the configuration stored", log_str("target", instance_url(in)),
                 log_int("written", s->written), log_int("deleted", s->deleted));
    if (s->in_use > 0)
        log_warn(in->options.log, "files are not deleted, because haproxy.cfg still names them",
                 log_str("target", instance_url(in)), log_int("files", s->in_use));
    if (s->result != TRANSACTION_COMMITTED)
        instance_write_failed(in, s->result, &s->error, s->retry_after_ms);
    in->asking->ops->stored(in->asking->self, s);
}
