/* What is known of an instance, for its engines, the log, the history and metrics. Its problems are rate-limited. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/instance_internal.h"

const char *instance_url(const struct instance *in)
{
    return instance_driver(in)->name;
}

void instance_report_init(struct instance_report *r)
{
    *r = (struct instance_report){.problem_limit = {.period_ms = INSTANCE_REPEAT_LOG_MS},
                                  .trouble_limit = {.period_ms = HISTORY_REPEAT_TROUBLE_MS}};
}

void instance_report_fini(struct instance_report *r)
{
    mem_free_all(r->reload_why, r->drift);
}

/* ---- metrics ---- */

void instance_count_reconcile(struct instance *in, const char *result)
{
    metric_add(in->options.metrics->reconciles, 1, result, instance_url(in), NULL);
}

static enum verification_state instance_verification(const struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        if (in->backends[i].runtime_lost)
            return VERIFICATION_FAILED;
    return instance_driver(in)->runtime ? in->verification.state : VERIFICATION_DISABLED;
}

void instance_show_verification(struct instance *in)
{
    for (enum verification_state s = 0; s < VERIFICATION_STATES; s++)
        metric_set(in->options.metrics->runtime_verification, s == instance_verification(in) ? 1 : 0, instance_url(in),
                   verification_state_name(s), NULL);
}

/* ---- history ---- */

/* With one backend it is that one's, and the log names it. */
static const char *instance_only_backend(const struct instance *in)
{
    return in->backend_count == 1 ? in->backends[0].name : NULL;
}

static void instance_note(const struct instance *in, struct history_entry e)
{
    e.target = instance_url(in);
    e.backend = instance_only_backend(in);
    history_add(in->options.history, &e);
}

void instance_note_trouble(struct instance *in, enum history_kind kind, const char *what, const char *why)
{
    ENGINES_DO(in, trouble, false);
    instance_note(in, (struct history_entry){.kind = kind, .text = what, .why = why});
}

void instance_note_drift(struct instance *in, const char *what)
{
    struct instance_report *r = &in->report;
    metric_add(in->options.metrics->drifts, 1, instance_url(in), NULL);
    log_warn(in->options.log, "running HAProxy differs from haproxy.cfg; reloading",
             log_str("target", instance_url(in)), log_str("what", what), log_int("version", in->version));
    free(r->drift);
    r->drift = mem_strdup(what);
    r->drift_answered = false;
}

void instance_note_drift_over(struct instance *in)
{
    struct instance_report *r = &in->report;
    if (r->drift == NULL)
        return;
    cleanup(mem_free_ptr) char *text =
        mem_printf("running HAProxy differed from haproxy.cfg and was reloaded: %s", r->drift);
    if (r->drift_answered)
        instance_note(in, (struct history_entry){.kind = HISTORY_DRIFT_REPAIRED, .text = text});
    free(r->drift);
    r->drift = NULL;
}

void instance_report_commit(struct instance *in, const struct written *w, bool empty)
{
    struct instance_report *r = &in->report;
    r->drift_answered = true;
    if (!empty)
        return;
    const char *what =
        in->loading.rewritten ? "reload of the configuration that was written" : "reload without a change";
    log_info(in->options.log, what, log_str("target", instance_url(in)), log_int("version", w->version),
             log_str("reload_id", w->reload_id), log_us_as_ms("begin_ms", w->begin_us),
             log_us_as_ms("commit_ms", w->commit_us));
    instance_note(
        in, (struct history_entry){.kind = HISTORY_RELOAD_AGAIN, .text = what, .took_us = w->begin_us + w->commit_us});
}

/* ---- log ---- */

void instance_log_why(struct instance *in, const char *why)
{
    struct instance_report *r = &in->report;
    if (why == NULL || str_eq(why, r->reload_why))
        return;
    free(r->reload_why);
    r->reload_why = mem_strdup(why);
    log_info(in->options.log, "this change takes a reload", log_str("target", instance_url(in)), log_str("why", why));
}

void instance_report_foreign(const struct instance *in, const struct written *w)
{
    for (size_t i = 0; i < w->foreign_count; i++)
        log_warn(in->options.log,
                 "deleted an outdated transaction of another client; it could not be committed any more, and the Data "
                 "Plane API had no room for another",
                 log_str("target", instance_url(in)), log_str("transaction", w->foreign[i]));
}

void instance_log_problem(const struct instance *in, const char *backend, struct error *problem,
                          struct log_limit *limit, const char *what, const struct error *err)
{
    unsigned before = 0;
    *problem = *err;
    error_prefix(problem, "%s", what);
    if (log_limit_pass_message(limit, clock_mono_ms(), problem->message, &before))
        log_error(in->options.log, what, log_str("target", instance_url(in)), log_str("backend", backend),
                  log_str("kind", error_kind_name(err->kind)), log_str("error", err->message),
                  log_if(before > 0, log_int("repeated", before)));
}

void instance_log_problem_over(const struct instance *in, const char *backend, struct error *problem,
                               struct log_limit *limit)
{
    if (problem->kind != ERROR_NONE)
        log_info(in->options.log, "problem resolved", log_str("target", instance_url(in)), log_str("backend", backend),
                 log_str("problem", problem->message));
    error_clear(problem);
    log_limit_reset(limit);
}

void instance_report_problem(struct instance *in, enum history_kind kind, const char *what, const struct error *err)
{
    unsigned before;
    ENGINES_DO(in, trouble, true);
    instance_log_problem(in, instance_only_backend(in), &in->report.problem, &in->report.problem_limit, what, err);
    if (log_limit_pass_message(&in->report.trouble_limit, clock_mono_ms(), in->report.problem.message, &before))
        instance_note(in, (struct history_entry){.kind = kind, .text = what, .why = err->message});
}

void instance_problem(struct instance *in, const char *what, const struct error *err)
{
    instance_report_problem(in, HISTORY_APPLY_FAILED, what, err);
}

void instance_problem_over(struct instance *in)
{
    if (instance_driver(in)->waits != NULL)
        return;
    instance_log_problem_over(in, instance_only_backend(in), &in->report.problem, &in->report.problem_limit);
    log_limit_reset(&in->report.trouble_limit);
}

/* ---- as plain values ---- */

struct instance_view instance_view(const struct instance *in)
{
    uint64_t now = clock_mono_ms();
    const char *user = NULL, *password = NULL;
    if (instance_driver(in)->ops->login != NULL)
        instance_driver(in)->ops->login(instance_driver(in), &user, &password);
    return (struct instance_view){
        .url = instance_url(in),
        .user = user,
        .password = password,
        .version = in->version,
        .other_wrote = in->version != in->wrote_version,
        .read_began_ms = in->read_began_ms,
        .fresh = in->fresh,
        .away = in->away,
        .dirty = in->loading.dirty,
        .silent = in->running.silent,
        .answered_ms = in->answered_ms,
        .stopping = in->stopping,
        .reload = in->loading.reload.state,
        .reload_id = in->loading.reload.id,
        .reloads = in->loading.reloads,
        .loads = in->loading.reloads + in->running.others,
        .reload_problem = in->loading.reload.state == RELOAD_BROKEN ? in->loading.reload.error.message : NULL,
        .last_reload_known = in->loading.last.known,
        .last_reload = in->loading.last.remark,
        .drift = in->running.drift,
        .file_problem = in->guard.problem,
        .file_warning = in->readout.defaults_problem,
        .loaded = in->readout.loaded,
        .behind = in->readout.split,
        .unloaded = in->readout.unloaded,
        .waits = instance_driver(in)->waits,
        .regroups = instance_driver(in)->regroups,
        .adds = instance_driver(in)->adds,
        .worker_pid = in->running.known ? in->running.pid : -1,
        .haproxy = in->readout.haproxy,
        .verification = instance_verification(in),
        .problem = &in->report.problem,
        .worker = in->running.worker,
        .may_write = in->backoffs.write_after_ms <= now,
        .may_begin = !in->backoffs.no_room || in->backoffs.transaction_after_ms <= now,
        .gathers = in->backoffs.transaction_after_ms > now,
        .file_allows = guard_passed(&in->guard, in->version) || in->running.split_version == in->version,
        .no_preview = in->no_preview,
        .one_by_one = in->one_by_one,
    };
}
