/* Transactions: performs what the transaction machine asks for, and decides what each ending means. */

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance_internal.h"

bool instance_may_ever_write(const struct instance *in)
{
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->may_write == NULL || in->engines[i]->ops->may_write(in->engines[i]->self))
            return true;
    return false;
}

/* ---- for engines ---- */

int instance_change(struct instance *in, struct instance_backend *b, const struct change *list, size_t count,
                    struct error *err)
{
    if (instance_driver(in)->ops->add(instance_driver(in), list, count, err) != 0)
        return -1;
    b->writing = true;
    return 0;
}

void instance_writes_none(struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].writing = false;
}

void instance_write_sooner(struct instance *in, uint64_t when_ms)
{
    pace_write_sooner(&in->pace, when_ms);
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    pace_begin_anew(&in->pace, when_ms);
}

/* ---- whether the file may be written to ---- */

static bool instance_all_reviewed(const struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        if (!in->backends[i].reviewed)
            return false;
    return true;
}

static unsigned instance_own_references(const struct instance *in)
{
    const struct cfg_content *file = in->readout.file;
    return 1u + (in->guard.file == file) + (in->readout.before == file);
}

void instance_free_file(struct instance *in)
{
    struct cfg_content *file = in->readout.file;
    bool reviewed = instance_all_reviewed(in);
    bool large = file != NULL && file->len >= in->large_file_bytes;
    if (guard_passed(&in->guard, in->version) && (reviewed || (large && !in->file_needed))) {
        in->file_let_go = !reviewed;
        bool held = file != NULL && file->references > instance_own_references(in); /* by an engine */
        readout_let_file_go(&in->readout, held);
        if (!held)
            guard_let_file_go(&in->guard);
    } else if (file != NULL) {
        cfg_content_rest(file, instance_own_references(in));
    }
}

void instance_wrote(struct instance *in, int64_t version)
{
    in->wrote_version = version;
    if (!guard_wrote(&in->guard, in->version, version))
        readout_let_file_go(&in->readout, true); /* what is compared next contains this write */
}

/* After a failed reload, the file is another one than what the API would write anew: there is nothing to compare. */
bool instance_wants_preview(const struct instance *in)
{
    return instance_driver(in)->ops->preview != NULL && in->guard.problem == NULL &&
           !guard_passed(&in->guard, in->version) && !instance_is_split(in) && in->readout.file != NULL &&
           in->pace.write_after_ms <= clock_mono_ms();
}

/* A change may lose unmanaged lines: so the first transaction of each backend after another writer's is previewed
 * before its commit, too. */
static bool instance_wants_review(const struct instance *in)
{
    bool first = false;
    for (size_t i = 0; i < in->backend_count; i++)
        first = first || (in->backends[i].writing && !in->backends[i].reviewed);
    return first && guard_passed(&in->guard, in->version) && !in->guard.blind && !instance_is_split(in) &&
           in->readout.file != NULL;
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

static void instance_preview_failed(struct instance *in, const struct written *w)
{
    const struct write_failure f = {.result = w->result, .error = &w->error, .retry_after_ms = w->retry_after_ms};
    if (f.result == TRANSACTION_CONFLICT)
        instance_outdated(in);
    /* At shutdown nothing is saved in a file that has not passed: no more readings are needed. */
    if (f.result == TRANSACTION_ABORTED)
        in->last_updated = in->read_at_end = true;
    if (f.result != TRANSACTION_LIMIT && f.result != TRANSACTION_REJECTED) {
        instance_write_failed(in, &f);
        return;
    }
    /* No room to make sure: what needs none goes on. */
    if (f.result == TRANSACTION_LIMIT && in->guard.unsure == in->version) {
        guard_pass(&in->guard, in->version);
        return;
    }
    /* What needs no write goes on. */
    in->no_preview = f.result == TRANSACTION_LIMIT;
    pace_write_not_before(&in->pace, clock_mono_ms() + backoff_next_ms(&in->pace.backoff));
    pace_write_failed(&in->pace);
    instance_problem(in, "cannot preview what a write would do to haproxy.cfg", f.error);
}

static void instance_take_preview(struct instance *in, const struct written *t)
{
    in->no_preview = false;
    if (t->result == TRANSACTION_HARMFUL) {
        guard_refuse(&in->guard, in->version, t->error.message);
    } else if (t->result != TRANSACTION_PREVIEWED) {
        instance_preview_failed(in, t);
    } else if (t->error.kind == ERROR_NONE && !in->guard.blind) {
        guard_pass(&in->guard, in->version);
        for (size_t i = 0; i < in->backend_count; i++)
            in->backends[i].reviewed = false;
    } else {
        in->guard.blind = true;
        log_warn(in->options.log, "the Data Plane API cannot preview a write; checking only the lines of haproxy.cfg",
                 log_str("target", instance_url(in)), log_str("error", t->error.message));
        guard_read(&in->guard, in->version, false, in->readout.file, in->readout.file_problem,
                   in->readout.defaults_problem);
    }
}

/* ---- what came of it ---- */

static size_t instance_count_writing(const struct instance *in)
{
    size_t count = 0;
    for (size_t i = 0; i < in->backend_count; i++)
        count += in->backends[i].writing;
    return count;
}

void instance_say_why(struct instance *in, const char *why)
{
    if (why == NULL || str_eq(why, in->reload_why))
        return;
    free(in->reload_why);
    in->reload_why = mem_strdup(why);
    log_info(in->options.log, "this change takes a reload", log_str("target", instance_url(in)), log_str("why", why));
}

static void instance_write_committed(struct instance *in, const struct written *t)
{
    instance_wrote(in, t->version);
    in->file_needed = false;
    /* What was not previewed was harmless before, or cannot be previewed. */
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = in->backends[i].reviewed || in->backends[i].writing;
    readout_let_file_go(&in->readout, true);
    ENGINES_DO(in, committed, t);
    if (instance_count_writing(in) == 0)
        instance_report_empty_commit(in, t);
    in->drift_answered = true;
    in->renewed = false;
    if (t->reload_id == NULL && instance_driver(in)->tells_ends) /* nothing that others could share */
        pace_updated(&in->pace);
    else
        pace_committed(&in->pace, clock_mono_ms());
    instance_say_why(in, t->reload_why);
    /* Its reload also loads whatever was not loaded before, so its result decides from here on. None: applied at
     * once. */
    in->last_reload.known = true;
    instance_reload_comes(in, t->reload_id);
}

static void instance_conflicted(struct instance *in, const struct write_failure *f)
{
    /* Gone at its commit: perhaps committed by it, the answer lost and the request sent again by libcurl, which does
     * that on a connection that was kept. */
    if (f->gone_at_commit)
        instance_must_reload(in);
    if (pace_conflict(&in->pace, clock_mono_ms()))
        log_info(in->options.log, "another writer changed HAProxy's configuration; reading it again",
                 log_str("target", instance_url(in)), log_str("error", f->error->message));
    else
        instance_problem(in, "another writer keeps changing HAProxy's configuration", f->error);
}

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
    pace_write_not_before(&in->pace, clock_mono_ms() + backoff_next_ms(&in->pace.reject_backoff));
    instance_problem(in, what, err);
}

static void instance_wait_after(struct instance *in, const struct write_failure *f, const char *what)
{
    pace_pause(&in->pace, f->result != TRANSACTION_UNKNOWN, f->retry_after_ms, clock_mono_ms());
    pace_write_failed(&in->pace);
    instance_problem(in, what, f->error);
}

static const char *instance_unavailable(const struct instance *in, const struct error *err)
{
    if (instance_driver(in)->waits != NULL)
        return "HAProxy's file is another daemon's";
    return err->http_status != 0 ? "the Data Plane API answered with an error" : instance_driver(in)->fails;
}

void instance_write_failed(struct instance *in, const struct write_failure *f)
{
    switch (f->result) {
    case TRANSACTION_CONFLICT:
        instance_conflicted(in, f);
        break;
    case TRANSACTION_REJECTED:
        instance_rejected(in, f->error);
        break;
    case TRANSACTION_LIMIT: /* transactions wait; what needs none does not */
        pace_wait_for_room(&in->pace, f->retry_after_ms, clock_mono_ms());
        instance_problem(in, "the Data Plane API has too many open transactions of other clients", f->error);
        break;
    case TRANSACTION_UNAUTHORIZED:
        if (instance_renew_credentials(in))
            instance_problem(in, "the Data Plane API refused the credentials; trying the new ones", f->error);
        else
            instance_wait_after(in, f, INSTANCE_REFUSED);
        break;
    case TRANSACTION_UNKNOWN:
        guard_answer_lost(&in->guard, in->version);
        instance_must_reload(in); /* the file shows what was committed, but not whether it was loaded */
        instance_wait_after(in, f, "answer to a commit lost; reading the configuration again");
        break;
    case TRANSACTION_ABORTED:
        log_info(in->options.log, "transaction aborted at shutdown", log_str("target", instance_url(in)));
        break;
    case TRANSACTION_UNAVAILABLE:
    case TRANSACTION_COMMITTED:
    case TRANSACTION_CLEANED:
    case TRANSACTION_PREVIEWED:
    case TRANSACTION_HARMFUL:
        instance_wait_after(in, f, instance_unavailable(in, f->error));
        break;
    }
}

static void instance_transaction_failed(struct instance *in, const struct written *t)
{
    const struct write_failure f = {.result = t->result,
                                    .error = &t->error,
                                    .retry_after_ms = t->retry_after_ms,
                                    .gone_at_commit = t->gone_at_commit};
    ENGINES_DO(in, not_committed);
    instance_write_failed(in, &f);
}

static void instance_report_foreign(const struct instance *in, const struct written *t)
{
    for (size_t i = 0; i < t->foreign_count; i++)
        log_warn(in->options.log,
                 "deleted an outdated transaction of another client; it could not be committed any more, and the Data "
                 "Plane API had no room for another",
                 log_str("target", instance_url(in)), log_str("transaction", t->foreign[i]));
}

void instance_written(void *arg, const struct written *t)
{
    struct instance *in = arg;
    const char *result = transaction_result_name(t->result);
    instance_report_foreign(in, t);
    metric_add(in->options.telemetry->transactions, 1, result, instance_url(in), NULL);
    metric_observe(in->options.telemetry->transaction_duration, (double)(clock_mono_us() - in->write_started_us) / 1e6,
                   NULL);
    instance_count_reconcile(in, result);
    instance_outdated(in); /* read back what it is now */
    if (t->result == TRANSACTION_HARMFUL) {
        ENGINES_DO(in, not_committed);
        instance_take_preview(in, t);
    } else if (t->result == TRANSACTION_COMMITTED) {
        instance_write_committed(in, t);
    } else {
        instance_transaction_failed(in, t);
    }
    instance_done(in);
}

void instance_cleaned(void *arg, const struct written *t)
{
    struct instance *in = arg;
    instance_report_foreign(in, t);
    if (t->result == TRANSACTION_UNAUTHORIZED || t->result == TRANSACTION_UNAVAILABLE)
        instance_transaction_failed(in, t);
    instance_done(in);
}

void instance_previewed(void *arg, const struct written *t)
{
    struct instance *in = arg;
    instance_report_foreign(in, t);
    instance_take_preview(in, t);
    instance_free_file(in);
    instance_done(in);
}

/* ---- sending ---- */

char *instance_judge(void *arg, const char *text, size_t len, bool previews)
{
    struct instance *in = arg;
    const struct cfg_file_managed ours = {.is_ours = instance_may_change, .arg = in};
    return guard_compare(&in->guard, in->readout.file, text, len, previews ? NULL : &ours);
}

void instance_preview(struct instance *in)
{
    instance_begin(in, INSTANCE_WRITING);
    instance_driver(in)->ops->preview(instance_driver(in), in->version);
}

/* What HAProxy did not do when it was told so, it does not do amid a transaction either. */
static bool instance_commands_are_in_vain(const struct instance *in)
{
    const struct driver *d = instance_driver(in);
    return d->adds && d->runtime && !verification_usable(&in->verification, in->pace.no_room);
}

/* Of the engines that want one, for changes of their own; none of them does: an empty commit. */
void instance_write_transaction(struct instance *in)
{
    in->decided = false;
    struct driver *d = instance_driver(in);
    bool wanted = false;
    for (size_t i = 0; i < in->engine_count; i++) {
        if (!(in->one_by_one && wanted) && in->engines[i]->ops->collect != NULL)
            in->engines[i]->ops->collect(in->engines[i]->self);
        wanted = wanted || in->wants[i].transaction;
    }
    if (wanted && instance_count_writing(in) == 0)
        return;
    instance_begin(in, INSTANCE_WRITING);
    in->write_started_us = clock_mono_us();
    bool reloads =
        in->dirty || !wanted || instance_commands_are_in_vain(in) || (d->adds && instance_writes_beside_drift(in));
    d->ops->write(d, in->version, instance_wants_review(in), reloads);
}

/* ---- what the engines want ---- */

/* No engine has anything to write, or only a problem of one backend prevents it: the problem of all backends is
 * resolved. */
static void instance_nothing_to_write(struct instance *in)
{
    struct error err = {0};
    if (in->guard.problem != NULL) {
        error_set(&err, ERROR_INVALID, "%s", in->guard.problem);
        instance_problem(in, "nothing is written: a write would change the meaning of haproxy.cfg", &err);
        return;
    }
    pace_nothing_to_write(&in->pace);
    if (in->reload.state == RELOAD_PENDING || !in->last_reload.known)
        return;
    in->renewed = false;
    if (!in->dirty) {
        backoff_reset(&in->pace.reload_backoff);
        backoff_reset(&in->pace.reject_backoff);
    }
    instance_problem_over(in);
}

/* The next engine after the one that made the last update: each has its turn. */
static void instance_let_update(struct instance *in)
{
    for (size_t i = 1; i <= in->engine_count; i++) {
        size_t at = (in->last_engine + i) % in->engine_count;
        if (!in->wants[at].update)
            continue;
        in->last_engine = at;
        in->engines[at]->ops->update(in->engines[at]->self);
        return;
    }
}

void instance_decide(struct instance *in)
{
    struct engine_wants all = {0};
    instance_writes_none(in);
    if (instance_set_running(in))
        return;
    for (size_t i = 0; i < in->engine_count; i++) {
        struct engine_wants *w = &in->wants[i];
        *w = (struct engine_wants){0};
        in->engines[i]->ops->decide(in->engines[i]->self, w);
        all.waits = all.waits || w->waits;
        all.failed = all.failed || w->failed;
        all.reload = all.reload || w->reload;
        all.update = all.update || w->update;
        all.transaction = all.transaction || w->transaction;
        all.overdue = all.overdue || w->overdue;
        all.many = all.many || w->many;
        all.replacement = all.replacement || w->replacement;
        all.storage = all.storage || w->storage;
        all.reading = all.reading || w->reading;
    }
    if (all.reading) {
        instance_outdated(in);
        instance_step(in);
        return;
    }
    in->left_dirty =
        in->dirty && !all.transaction && !all.reload && !all.waits && !all.update && !all.replacement && !all.storage;
    if (all.update && !all.overdue) { /* first what takes effect at once */
        instance_let_update(in);
        return;
    }
    if (instance_let_ask_served(in) || instance_let_store(in) || instance_let_replace(in))
        return;
    /* Which backend it changes is not known yet. */
    if (all.transaction && in->file_let_go && !in->guard.blind && !instance_is_split(in)) {
        in->file_let_go = false;
        in->file_needed = true;
        instance_outdated(in);
        instance_step(in);
        return;
    }
    if (all.transaction || all.reload) {
        in->decided = all.many;
        if (!all.many)
            instance_write_transaction(in);
        return;
    }
    if (in->unverified && clock_mono_ms() < in->read_back_ms) {
        if (in->reread_ms == 0 || in->reread_ms > in->read_back_ms)
            in->reread_ms = in->read_back_ms;
    } else if (in->unverified) {
        instance_outdated(in); /* the file is read back, too */
        instance_step(in);
        return;
    }
    if (!all.waits)
        in->one_by_one = false;
    uint64_t now = clock_mono_ms();
    if (!all.waits || (!all.failed && in->pace.write_after_ms <= now && in->pace.transaction_after_ms <= now))
        instance_nothing_to_write(in);
}
