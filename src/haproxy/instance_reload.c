/* Reloads: follows that of our commit, and learns how the last one before our start ended. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/instance_internal.h"

#define LAST_RELOAD_POLL_MS 500
#define LAST_RELOAD_POLLS_MAX 240
#define LAST_RELOAD_FAILURES_MAX 8

/* ---- following a reload ---- */

void instance_follow_reload(struct instance *in, const char *id)
{
    reload_follow(&in->reload, id, clock_mono_ms());
    in->ended.waits = false;
    in->ended.pid_before = in->running.known ? in->running.pid : -1;
    in->ended.uptime_before_s = in->running.uptime_s;
}

void instance_count_reload(struct instance *in, const char *result)
{
    metric_add(in->options.telemetry->reloads, 1, result, instance_url(in), NULL);
}

void instance_reload_failed(struct instance *in, const struct error *err, struct backoff *backoff)
{
    instance_mark_dirty(in);
    ENGINES_DO(in, reload_failed);
    pace_write_not_before(&in->pace, clock_mono_ms() + backoff_next_ms(backoff));
    instance_reload_problem(
        in, "HAProxy was not reloaded; if it runs, then what it ran before; an empty commit will try again", err);
}

/* The API's word for how it ended. Where HAProxy can be asked itself, the next reading decides. */
static void instance_reload_ended(struct instance *in)
{
    struct reload *r = &in->reload;
    if (r->state == RELOAD_BROKEN && r->error.kind == ERROR_INVALID) {
        instance_count_reload(in, "failed");
        instance_reload_failed(in, &r->error, &in->reload_backoff);
    } else {
        in->ended.waits = true;
        in->ended.done = r->state == RELOAD_DONE;
        in->ended.error = r->error;
        in->ended.took_us = (clock_mono_ms() - r->since_ms) * 1000;
        free(in->ended.id);
        in->ended.id = mem_strdup(r->id);
    }
    reload_fini(r);
    instance_reread(in); /* look whether anything came in between before calling it in sync */
}

static void instance_on_reload_answer(void *arg, const struct dataplane_answer *a)
{
    struct instance *in = arg;
    in->phase = INSTANCE_IDLE;
    reload_answer(&in->reload, a, clock_mono_ms());
    if (in->reload.state == RELOAD_DONE || in->reload.state == RELOAD_BROKEN)
        instance_reload_ended(in);
    instance_step(in);
}

void instance_poll_reload(struct instance *in)
{
    cleanup(mem_free_ptr) char *id = str_url_encode(in->reload.id);
    cleanup(mem_free_ptr) char *path = mem_printf("/reloads/%s", id);
    in->phase = INSTANCE_POLLING;
    dataplane_send(in->options.client, "GET", path, NULL, instance_on_reload_answer, in);
}

/* ---- what an earlier run left behind ---- */

/* What failed is repaired where a later reload went well, the file is what the API answers, and it is what runs. */
static void instance_judge_again(struct instance *in, const struct codec_reload_history *history)
{
    cleanup(mem_free_ptr) char *problem = instance_running_problem(in);
    bool ended = history->response != NULL && !history->pending;
    in->last_reload.known = true;
    if (!ended || history->last_failed || in->running.split_version >= 0 || problem != NULL)
        return;
    log_info(in->options.log, "somebody else reloaded HAProxy; it runs what its file says",
             log_str("target", instance_url(in)));
    in->dirty = false;
}

/* Nobody tells how the last reload before our start ended. Where HAProxy runs what its file says, that is no matter. */
static void instance_unconfirmed(struct instance *in, const char *why)
{
    if (instance_is_confirmed(in))
        return;
    log_warn(in->options.log,
             "how the last reload ended is not known, and the running HAProxy cannot be compared with its file; an "
             "empty commit will reload it",
             log_str("target", instance_url(in)), log_str("why", why));
    instance_mark_dirty(in);
}

/* A reload that failed while nobody of us was there: the file (and every GET) says one thing, HAProxy runs another. */
static void instance_judge_last(struct instance *in, const struct codec_reload_history *history)
{
    struct instance_last_reload *last = &in->last_reload;
    last->next_ms = clock_mono_ms() + LAST_RELOAD_POLL_MS;
    if (history->pending && ++last->polls < LAST_RELOAD_POLLS_MAX)
        return; /* how it ends decides; what there is to write need not wait for that */
    last->known = true;
    if (history->pending)
        instance_unconfirmed(in, "it does not end");
    if (!history->last_failed)
        return;
    static const char what[] = "the last reload failed before this daemon started; an empty commit will repeat it";
    log_warn(in->options.log, what, log_str("haproxy", history->response));
    instance_note_trouble(in, HISTORY_RELOAD_FAILED, what, history->response);
    instance_mark_dirty(in);
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

static void instance_on_list(void *arg, const struct dataplane_answer *a)
{
    struct instance *in = arg;
    struct codec_reload_history history = {0};
    struct error err = {0};
    in->phase = INSTANCE_IDLE;
    if (dataplane_answer_check(a, &err) != 0 || codec_read_reloads(a->body, a->body_len, &history, &err) != 0)
        instance_last_unknown(in, &err);
    else if (in->last_reload.again)
        instance_judge_again(in, &history);
    else
        instance_judge_last(in, &history);
    codec_reload_history_fini(&history);
    instance_step(in);
}

void instance_ask_last_reload_again(struct instance *in)
{
    in->last_reload.again = in->last_reload.again || in->last_reload.known;
    in->last_reload.known = false;
    in->last_reload.next_ms = 0;
}

void instance_ask_last_reload(struct instance *in)
{
    in->phase = INSTANCE_POLLING;
    dataplane_send(in->options.client, "GET", "/reloads", NULL, instance_on_list, in);
}
