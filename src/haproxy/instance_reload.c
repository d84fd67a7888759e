/* Reloads: follows that of our commit, and learns how the last one before our start ended. */
#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/instance_internal.h"

#define LAST_RELOAD_POLL_MS 500
#define LAST_RELOAD_POLLS_MAX 240
#define LAST_RELOAD_FAILURES_MAX 8

/* ---- following a reload ---- */

void instance_must_reload(struct instance *in)
{
    in->dirty = true;
}

void instance_reload_comes(struct instance *in, const char *id)
{
    in->dirty = in->rewritten = false;
    in->commanded_ms = 0;
    if (id == NULL)
        return;
    reload_follow(&in->reload, id, clock_mono_ms());
    in->reloads++;
    if (instance_driver(in)->tells_ends)
        in->reload.next_ms = 0;
    in->ended.waits = false;
    in->ended.pid_before = in->running.known ? in->running.pid : -1;
    in->ended.uptime_before_s = in->running.uptime_s;
}

void instance_count_reload(struct instance *in, const char *result)
{
    metric_add(in->options.telemetry->reloads, 1, result, instance_url(in), NULL);
}

void instance_reload_failed(struct instance *in, const struct error *err, bool lost, bool differs)
{
    instance_must_reload(in);
    ENGINES_DO(in, reload_failed, lost);
    pace_reload_failed(&in->pace, differs, clock_mono_ms());
    instance_report_problem(in, HISTORY_RELOAD_FAILED,
                            "reload failed; HAProxy keeps what it ran before; reloading it again", err);
}

/* The API's result of the reload. Where the running HAProxy can be read, the next reading decides. */
static void instance_reload_ended(struct instance *in)
{
    struct reload *r = &in->reload;
    if (r->state == RELOAD_BROKEN && r->error.kind == ERROR_INVALID) {
        instance_count_reload(in, "failed");
        instance_reload_failed(in, &r->error, false, false);
    } else {
        in->ended.waits = true;
        in->ended.readings = 0;
        in->ended.done = r->state == RELOAD_DONE;
        in->ended.error = r->error;
        in->ended.since_ms = r->since_ms;
        in->ended.took_us = (clock_mono_ms() - r->since_ms) * 1000;
        free(in->ended.id);
        in->ended.id = mem_strdup(r->id);
        ENGINES_DO(in, reload_ended);
    }
    reload_fini(r);
    instance_outdated(in); /* read again before it counts as in sync: something may have come in between */
}

void instance_reload_told(void *arg)
{
    struct instance *in = arg;
    if (in->reload.state == RELOAD_DONE || in->reload.state == RELOAD_BROKEN)
        instance_reload_ended(in);
    instance_done(in);
}

void instance_poll_reload(struct instance *in)
{
    instance_begin(in, INSTANCE_POLLING);
    instance_driver(in)->ops->ask_reload(instance_driver(in), &in->reload);
}

/* ---- what an earlier run left behind ---- */

/* What failed is repaired where a later reload went well, the file is what the API answers, and it is what runs. */
static void instance_judge_again(struct instance *in, const struct reload_history *history)
{
    cleanup(mem_free_ptr) char *problem = instance_running_problem(in);
    bool ended = history->response != NULL && !history->pending;
    in->last_reload.known = true;
    if (!ended || history->last_failed || in->running.split_version >= 0 || problem != NULL)
        return;
    log_info(in->options.log, "HAProxy was reloaded externally and runs haproxy.cfg",
             log_str("target", instance_url(in)));
    in->dirty = false;
}

/* The result of the last reload before the start is unknown. Where HAProxy runs haproxy.cfg, it does not matter. */
static void instance_unconfirmed(struct instance *in, const char *why)
{
    if (instance_is_confirmed(in))
        return;
    log_warn(in->options.log, "result of the last reload unknown, running HAProxy not verified; reloading",
             log_str("target", instance_url(in)), log_str("why", why));
    instance_must_reload(in);
}

/* A reload that failed while no daemon ran: HAProxy does not run what the file (and every GET) says. An API that was started
 * again has an empty list, and has forgotten a reload that it had put off. */
static void instance_judge_last(struct instance *in, const struct reload_history *history)
{
    struct instance_last_reload *last = &in->last_reload;
    last->next_ms = clock_mono_ms() + LAST_RELOAD_POLL_MS;
    if (history->pending && ++last->polls < LAST_RELOAD_POLLS_MAX)
        return; /* how it ends decides; what there is to write need not wait for that */
    last->known = true;
    if (history->pending)
        instance_unconfirmed(in, "it does not finish");
    else if (history->response == NULL && !history->unlisted)
        instance_unconfirmed(in, "the list of reloads is empty");
    if (!history->last_failed)
        return;
    static const char what[] = "the last reload before the start failed; reloading";
    log_warn(in->options.log, what, log_str("haproxy", history->response));
    instance_note_trouble(in, HISTORY_RELOAD_FAILED, what, history->response);
    instance_must_reload(in);
}

/* What may be over soon is asked again; a list that this API does not have keeps nothing up. */
static void instance_last_unknown(struct instance *in, const struct error *err)
{
    struct instance_last_reload *last = &in->last_reload;
    bool may_pass = err->kind == ERROR_RETRY || err->kind == ERROR_AUTH;
    if (last->again) {
        last->known = true; /* until the next resync */
        return;
    }
    if (may_pass && ++last->failures < LAST_RELOAD_FAILURES_MAX) {
        instance_problem(in, "cannot read the list of reloads", err);
        pace_pause(&in->pace, true, -1, clock_mono_ms());
        return;
    }
    instance_unconfirmed(in, err->message);
    last->known = true;
}

void instance_last_reload_told(void *arg, const struct reload_history *h, const struct error *err)
{
    struct instance *in = arg;
    bool first = !in->last_reload.again;
    if (err != NULL)
        instance_last_unknown(in, err);
    else if (in->last_reload.again)
        instance_judge_again(in, h);
    else
        instance_judge_last(in, h);
    if (first && in->last_reload.known && in->last_reload.polls > 0) /* what runs is not what was read before */
        instance_outdated(in);
    else if (in->last_reload.known)
        ENGINES_DO(in, reloads_known);
    instance_done(in);
}

void instance_ask_last_reload_again(struct instance *in)
{
    in->last_reload.again = in->last_reload.again || in->last_reload.known;
    in->last_reload.known = false;
    in->last_reload.next_ms = 0;
}

void instance_ask_last_reload(struct instance *in)
{
    instance_begin(in, INSTANCE_POLLING);
    instance_driver(in)->ops->ask_last_reload(instance_driver(in));
}
