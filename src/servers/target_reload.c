/* The reload side of a target: follows the reload of our commit, and learns how the last one before our start ended. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define HISTORY_POLL_MS 500
#define HISTORY_POLLS_MAX 240
#define HISTORY_FAILURES_MAX 8

/* ---- following a reload ---- */

void target_follow_reload(struct target *t, const char *id)
{
    reload_follow(&t->reload, id, clock_mono_ms());
    t->ended.waits = false;
    t->ended.pid_before = t->worker_known ? t->worker_pid : -1;
    t->ended.uptime_before = t->worker_uptime_s;
}

void target_count_reload(struct target *t, const char *result)
{
    metric_add(t->options.telemetry->reloads, 1, result, dataplane_client_url(t->options.client), NULL);
}

void target_reload_failed(struct target *t, const struct error *err, struct backoff *backoff)
{
    t->dirty = true;
    for (size_t i = 0; i < t->options.backend_count; i++) /* that the file is not what we committed has this reason */
        t->slots[i].committed_version = t->slots[i].ours_version = -1;
    target_write_not_before(t, clock_mono_ms() + backoff_next_ms(backoff));
    target_reload_problem(
        t, "HAProxy was not reloaded; if it runs, then what it ran before; an empty commit will try again", err);
}

/* The API's word for how it ended. Where HAProxy can be asked itself, the next look decides. */
static void reload_ended(struct target *t)
{
    struct reload *r = &t->reload;
    if (r->state == RELOAD_BROKEN && r->error.kind == ERROR_INVALID) {
        target_count_reload(t, "failed");
        target_reload_failed(t, &r->error, &t->reload_backoff);
    } else {
        t->ended.waits = true;
        t->ended.done = r->state == RELOAD_DONE;
        t->ended.error = r->error;
        t->ended.took_us = (clock_mono_ms() - r->since_ms) * 1000;
        free(t->ended.id);
        t->ended.id = mem_strdup(r->id);
    }
    reload_fini(r);
    t->seen = false; /* look whether anything came in between before calling it in step */
}

static void on_reload_answer(void *arg, const struct dataplane_answer *a)
{
    struct target *t = arg;
    t->phase = TARGET_IDLE;
    reload_answer(&t->reload, a, clock_mono_ms());
    if (t->reload.state == RELOAD_DONE || t->reload.state == RELOAD_BROKEN)
        reload_ended(t);
    target_step(t);
}

void target_poll_reload(struct target *t)
{
    cleanup(mem_free_ptr) char *id = str_url_encode(t->reload.id);
    cleanup(mem_free_ptr) char *path = mem_printf("/reloads/%s", id);
    t->phase = TARGET_POLLING;
    dataplane_send(t->options.client, "GET", path, NULL, on_reload_answer, t);
}

/* ---- what an earlier run left behind ---- */

/* What failed is mended where a later reload went well, the file is what the API answers, and it is what runs. */
static void judge_again(struct target *t, const struct codec_reload_history *history)
{
    cleanup(mem_free_ptr) char *problem = target_running_problem(t);
    bool ended = history->response != NULL && !history->pending;
    t->last_reload_known = true;
    if (!ended || history->last_failed || t->split_version >= 0 || problem != NULL)
        return;
    log_info(t->options.log, "somebody else reloaded HAProxy; it runs what its file says",
             log_str("target", dataplane_client_url(t->options.client)));
    t->dirty = false;
}

/* Nobody tells how the last reload before our start ended. Where HAProxy runs what its file says, that is no matter. */
static void unconfirmed(struct target *t, const char *why)
{
    if (target_is_confirmed(t))
        return;
    log_warn(
        t->options.log,
        "how the last reload ended is not known, and the running HAProxy cannot be compared with its file; an empty "
        "commit will reload it",
        log_str("target", dataplane_client_url(t->options.client)), log_str("why", why));
    t->dirty = true;
}

/* A reload that failed while nobody of us was there: the file (and every GET) says one thing, HAProxy runs another. */
static void judge_history(struct target *t, const struct codec_reload_history *history)
{
    t->last_reload_next_ms = clock_mono_ms() + HISTORY_POLL_MS;
    if (history->pending && ++t->last_reload_polls < HISTORY_POLLS_MAX)
        return; /* how it ends decides; what there is to write need not wait for that */
    t->last_reload_known = true;
    if (history->pending)
        unconfirmed(t, "it does not end");
    if (!history->last_failed)
        return;
    static const char what[] = "the last reload failed before this daemon started; an empty commit will repeat it";
    log_warn(t->options.log, what, log_str("haproxy", history->response));
    target_note_trouble(t, HISTORY_RELOAD_FAILED, what, history->response);
    t->dirty = true;
}

/* What may be over soon is asked again; a list that this API does not have keeps nothing up. */
static void history_failed(struct target *t, const struct error *err)
{
    bool may_pass = err->kind == ERROR_RETRY || err->kind == ERROR_AUTH;
    if (t->last_reload_again) {
        t->last_reload_known = true; /* until the next resync */
        return;
    }
    if (may_pass && ++t->last_reload_failures < HISTORY_FAILURES_MAX) {
        target_problem(t, "cannot read the list of reloads", err);
        target_pause(t, true, -1);
        return;
    }
    unconfirmed(t, err->message);
    t->last_reload_known = true;
}

static void on_history(void *arg, const struct dataplane_answer *a)
{
    struct target *t = arg;
    struct codec_reload_history history = {0};
    struct error err = {0};
    int status = 0;
    t->phase = TARGET_IDLE;
    if (a->error != NULL)
        err = *a->error;
    else if (a->status != 200)
        status = error_set_http(&err, a->status, "HTTP %d: %s", a->status, a->excerpt);
    else
        status = codec_read_reloads(a->body, a->body_len, &history, &err);
    if (a->error != NULL || status != 0)
        history_failed(t, &err);
    else if (t->last_reload_again)
        judge_again(t, &history);
    else
        judge_history(t, &history);
    codec_reload_history_fini(&history);
    target_step(t);
}

void target_ask_history_again(struct target *t)
{
    t->last_reload_again = t->last_reload_again || t->last_reload_known;
    t->last_reload_known = false;
    t->last_reload_next_ms = 0;
}

void target_ask_history(struct target *t)
{
    t->phase = TARGET_POLLING;
    dataplane_send(t->options.client, "GET", "/reloads", NULL, on_history, t);
}
