/* Reloads: follows those of the daemon, and learns how the last one before its start ended. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/instance_internal.h"
#include "haproxy/reload_confirm.h"

#define OLD_WORKER_REREADS 3
#define OLD_WORKER_REREAD_MS 300
#define LAST_RELOAD_POLL_MS 500
#define LAST_RELOAD_POLLS_MAX 240
#define LAST_RELOAD_FAILURES_MAX 8

/* Takes over what; NULL: nothing. */
static void instance_remark_last(struct instance *in, char *what)
{
    struct instance_last_reload *last = &in->loading.last;
    free(last->remark);
    last->remark = what;
}

void instance_rewritten(struct instance *in, bool runs)
{
    struct instance_loading *l = &in->loading;
    l->rewritten = !runs;
    if (runs)
        l->commanded_ms = clock_mono_ms();
    else
        l->dirty = true;
}

/* ---- following a reload ---- */

void instance_reload_comes(struct instance *in, const char *id)
{
    struct instance_loading *l = &in->loading;
    struct instance_reload_end *end = &l->ended;
    l->dirty = l->rewritten = false;
    l->commanded_ms = 0;
    instance_remark_last(in, NULL);
    if (id == NULL)
        return;
    reload_follow(&l->reload, id, clock_mono_ms());
    l->reloads++;
    if (instance_driver(in)->tells_ends)
        l->reload.next_ms = 0;
    end->waits = false;
    end->pid_before = in->running.known ? in->running.pid : -1;
    end->uptime_before_s = in->running.uptime_s;
}

static void instance_count_reload(struct instance *in, const char *result)
{
    metric_add(in->options.metrics->reloads, 1, result, instance_url(in), NULL);
}

/* lost: it is unknown whether it was tried. differs: what runs is not haproxy.cfg, whatever the API says. */
static void instance_reload_failed(struct instance *in, const struct error *err, bool lost, bool differs)
{
    instance_must_reload(in);
    ENGINES_DO(in, reload_failed, lost);
    backoffs_reload_failed(&in->backoffs, differs, clock_mono_ms());
    instance_report_problem(in, HISTORY_RELOAD_FAILED,
                            "reload failed; HAProxy keeps what it ran before; reloading it again", err);
}

/* Where the running HAProxy can be read, not the API's result decides, but the next reading. */
void instance_take_reload(struct instance *in)
{
    struct instance_reload_end *end = &in->loading.ended;
    struct reload *r = &in->loading.reload;
    if (r->state != RELOAD_DONE && r->state != RELOAD_BROKEN)
        return;
    if (r->state == RELOAD_BROKEN && r->error.kind == ERROR_INVALID) {
        instance_count_reload(in, "failed");
        instance_reload_failed(in, &r->error, false, false);
    } else {
        end->waits = true;
        end->readings = 0;
        end->done = r->state == RELOAD_DONE;
        end->error = r->error;
        end->since_ms = r->since_ms;
        end->took_us = (clock_mono_ms() - r->since_ms) * 1000;
        free(end->id);
        end->id = mem_strdup(r->id);
        ENGINES_DO(in, reload_ended);
    }
    reload_fini(r);
    instance_outdated(in); /* read again before it counts as in sync: something may have come in between */
}

/* For a moment the worker from before a reload answers beside the new one. */
static bool instance_old_worker_answers(struct instance *in)
{
    struct instance_reload_end *end = &in->loading.ended;
    bool old = end->pid_before >= 0 && in->readout.worker_pid == end->pid_before &&
               in->running.uptime_s >= end->uptime_before_s;
    if (!end->done || !old || end->unconfirmed > 0 || end->readings++ >= OLD_WORKER_REREADS)
        return false;
    instance_read_again(in, OLD_WORKER_REREAD_MS);
    return true;
}

void instance_judge_reload(struct instance *in)
{
    struct instance_reload_end *end = &in->loading.ended;
    struct instance_running *r = &in->running;
    if (!end->waits || instance_old_worker_answers(in))
        return;
    cleanup(mem_free_ptr) char *problem = instance_running_problem(in, false);
    const struct reload_signs signs = {
        .reported = end->done,
        .tells_ends = instance_driver(in)->tells_ends,
        .comparable = instance_all_readable(in) && end->pid_before >= 0,
        .differs = problem != NULL,
        .other = r->pid != end->pid_before ||
                 r->uptime_s<end->uptime_before_s, .started_since = instance_started_since(in, end->since_ms),
                             .same_before = end->unconfirmed> 0};
    const enum reload_confirmation verdict = reload_confirm(&signs);
    struct error err = {0};
    end->waits = false;
    switch (verdict) {
    case RELOAD_VERIFIED:
    case RELOAD_ACCEPTED:
    case RELOAD_OVERRULED:
        end->unconfirmed = 0;
        r->reload_in_vain = r->reload_in_vain || verdict == RELOAD_OVERRULED;
        break;
    case RELOAD_ACCEPTED_SAME:
        if (++end->unconfirmed == 2)
            log_warn(in->options.log,
                     "two reloads in a row succeeded without a new HAProxy process; accepting such reloads from now "
                     "on, as HAProxy runs haproxy.cfg",
                     log_str("target", instance_url(in)), log_int("pid", r->pid));
        break;
    case RELOAD_NOT_RUN:
        error_set(&err, ERROR_INVALID, "reload %s was reported as successful, but HAProxy does not run haproxy.cfg: %s",
                  end->id, problem);
        break;
    case RELOAD_TOO_OLD:
        end->unconfirmed++;
        error_set(&err, ERROR_INVALID,
                  "reload %s was reported as successful, but HAProxy's process %lld is older than it", end->id,
                  (long long)r->pid);
        break;
    case RELOAD_UNKNOWN:
        err = end->error;
        break;
    }
    if (err.kind != ERROR_NONE) {
        instance_count_reload(in, "unknown");
        /* One that HAProxy went through all the same costs connections: not every minute. */
        instance_reload_failed(in, &err, !end->done, problem != NULL);
        return;
    }
    instance_count_reload(in, "succeeded");
    log_info(in->options.log, "HAProxy reloaded", log_str("target", instance_url(in)), log_str("reload_id", end->id),
             log_us_as_ms("after_ms", end->took_us), log_bool("verified", verdict == RELOAD_VERIFIED));
    verification_reloaded(&in->verification);
    instance_show_verification(in);
}

/* ---- what an earlier run left behind ---- */

/* The result of the last reload before the start is unknown. Where HAProxy runs haproxy.cfg, it does not matter. */
static void instance_last_unconfirmed(struct instance *in, const char *why)
{
    cleanup(mem_free_ptr) char *problem = instance_running_problem(in, false);
    if (instance_all_readable(in) && problem == NULL)
        return;
    log_warn(in->options.log, "result of the last reload unknown, running HAProxy not verified; reloading",
             log_str("target", instance_url(in)), log_str("why", why));
    if (!instance_all_readable(in))
        instance_remark_last(in, mem_printf("%s, and the running HAProxy cannot be read; a daemon that starts reloads "
                                            "HAProxy once",
                                            why));
    instance_must_reload(in);
}

/* A reload that failed while no daemon ran: HAProxy does not run what the file (and every GET) says. An API that was started
 * again has an empty list, and has forgotten a reload that it had put off. */
static void instance_judge_last(struct instance *in, const struct reload_history *history)
{
    struct instance_last_reload *last = &in->loading.last;
    last->next_ms = clock_mono_ms() + LAST_RELOAD_POLL_MS;
    instance_remark_last(
        in, history->pending ? mem_strdup("a reload of HAProxy is pending; if it fails, more changes will be needed")
                             : NULL);
    if (history->pending && ++last->polls < LAST_RELOAD_POLLS_MAX)
        return; /* how it ends decides; what there is to write need not wait for that */
    last->known = true;
    if (history->pending)
        instance_last_unconfirmed(in, "it does not finish");
    else if (history->response == NULL && !history->unlisted)
        instance_last_unconfirmed(in, "the list of reloads is empty");
    if (!history->last_failed || history->response == NULL)
        return;
    bool silent = history->response[strspn(history->response, " \t\r\n")] == '\0';
    instance_remark_last(
        in, mem_printf("HAProxy's last reload failed: %s", silent ? "no message (is it running?)" : history->response));
    static const char what[] = "the last reload before the start failed; reloading";
    log_warn(in->options.log, what, log_str("haproxy", history->response));
    instance_note_trouble(in, HISTORY_RELOAD_FAILED, what, history->response);
    instance_must_reload(in);
}

void instance_take_last_reload(struct instance *in, const struct reload_history *h, const struct error *err)
{
    struct instance_loading *l = &in->loading;
    const struct instance_last_reload *last = &l->last;
    if (err != NULL) {
        bool may_pass = err->kind == ERROR_RETRY || err->kind == ERROR_AUTH;
        if (!last->again)
            instance_remark_last(in, mem_printf("the list of reloads cannot be read: %s", err->message));
        if (!last->again && may_pass && ++l->last.failures < LAST_RELOAD_FAILURES_MAX) {
            instance_problem(in, "cannot read the list of reloads", err);
            backoffs_pause(&in->backoffs, true, -1, clock_mono_ms());
        } else {
            if (!last->again) /* else it is left until the next resync */
                instance_last_unconfirmed(in, err->message);
            l->last.known = true;
        }
    } else if (last->again) {
        /* What failed is repaired where a later reload went well, the file is what the API answers, and it is what runs. */
        cleanup(mem_free_ptr) char *problem = instance_running_problem(in, false);
        bool ended = h->response != NULL && !h->pending;
        l->last.known = true;
        if (ended && !h->last_failed && in->running.split_version < 0 && problem == NULL) {
            log_info(in->options.log, "HAProxy was reloaded externally and runs haproxy.cfg",
                     log_str("target", instance_url(in)));
            l->dirty = false;
            instance_remark_last(in, NULL);
        }
    } else {
        instance_judge_last(in, h);
    }
    if (!last->again && last->known && last->polls > 0) /* what runs is not what was read before */
        instance_outdated(in);
    else if (last->known)
        ENGINES_DO(in, reloads_known);
}

void instance_ask_last_reload_again(struct instance *in)
{
    struct instance_last_reload *last = &in->loading.last;
    last->again = last->again || last->known;
    last->known = false;
    last->next_ms = 0;
}
