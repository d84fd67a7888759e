/* Problems of an instance as a whole, rate-limited, in the log and in the history. */
#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/instance_internal.h"

const char *instance_url(const struct instance *in)
{
    return instance_driver(in)->name;
}

/* With one backend it is that one's, and the log names it. */
static const char *instance_only_backend(const struct instance *in)
{
    return in->backend_count == 1 ? in->backends[0].name : NULL;
}

void instance_count_reconcile(struct instance *in, const char *result)
{
    metric_add(in->options.telemetry->reconciles, 1, result, instance_url(in), NULL);
}

/* ---- history ---- */

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
    free(in->running.drift_found);
    in->running.drift_found = mem_strdup(what);
    in->drift_answered = false;
}

void instance_note_drift_over(struct instance *in)
{
    if (in->running.drift_found == NULL)
        return;
    cleanup(mem_free_ptr) char *text =
        mem_printf("running HAProxy differed from haproxy.cfg and was reloaded: %s", in->running.drift_found);
    if (in->drift_answered)
        instance_note(in, (struct history_entry){.kind = HISTORY_DRIFT_REPAIRED, .text = text});
    free(in->running.drift_found);
    in->running.drift_found = NULL;
}

void instance_report_empty_commit(const struct instance *in, const struct written *w)
{
    const char *what = in->rewritten ? "reload of the configuration that was written" : "reload without a change";
    log_info(in->options.log, what, log_str("target", instance_url(in)), log_int("version", w->version),
             log_str("reload_id", w->reload_id), log_us_as_ms("begin_ms", w->begin_us),
             log_us_as_ms("commit_ms", w->commit_us));
    instance_note(
        in, (struct history_entry){.kind = HISTORY_RELOAD_AGAIN, .text = what, .took_us = w->begin_us + w->commit_us});
}

/* ---- problems ---- */

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
    instance_log_problem(in, instance_only_backend(in), &in->problem, &in->problem_limit, what, err);
    if (log_limit_pass_message(&in->trouble_limit, clock_mono_ms(), in->problem.message, &before))
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
    instance_log_problem_over(in, instance_only_backend(in), &in->problem, &in->problem_limit);
    log_limit_reset(&in->trouble_limit);
}
