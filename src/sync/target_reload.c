/* The reload side of a target: follows the reload of our commit, and learns how the last one before our start ended. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "dataplane/client.h"
#include "dataplane/codec.h"
#include "sync/target_internal.h"
#include "sync/telemetry.h"

#define HISTORY_POLL_MS 500
#define HISTORY_POLLS_MAX 240
#define HISTORY_FAILURES_MAX 8

/* ---- following a reload ---- */

static void reload_ended(struct target *t)
{
    struct reload *r = &t->reload;
    bool done = r->state == RELOAD_DONE;
    uint64_t took_us = (clock_mono_ms() - r->since_ms) * 1000;
    metric_add(t->options.telemetry->reloads, 1,
               done                             ? "succeeded"
               : r->error.kind == ERROR_INVALID ? "failed"
                                                : "unknown",
               NULL);
    if (done) {
        log_info(t->options.log, "HAProxy reloaded", log_str("target", dataplane_client_url(t->options.client)),
                 log_str("reload_id", r->id), log_us_as_ms("after_ms", took_us));
    } else {
        t->dirty = true;
        for (size_t i = 0; i < t->options.backend_count;
             i++) /* that the file is not what we committed has this reason */
            t->slots[i].committed_version = t->slots[i].ours_version = -1;
        target_write_not_before(t, clock_mono_ms() + backoff_next_ms(&t->reload_backoff));
        target_problem(t, "HAProxy was not reloaded; it still runs what it ran before, an empty commit will try again",
                       &r->error);
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

/* What failed is mended where a later reload went well, and the file is what the API answers. */
static void judge_again(struct target *t, const struct codec_reload_history *history)
{
    bool ended = history->response != NULL && !history->pending;
    t->history_known = true;
    if (!ended || history->last_failed || t->split_version >= 0)
        return;
    log_info(t->options.log, "somebody else reloaded HAProxy; it runs what its file says",
             log_str("target", dataplane_client_url(t->options.client)));
    t->dirty = false;
}

/* A reload that failed while nobody of us was there: the file (and every GET) says one thing, HAProxy runs another. */
static void judge_history(struct target *t, const struct codec_reload_history *history)
{
    t->history_next_ms = clock_mono_ms() + HISTORY_POLL_MS;
    if (history->pending && ++t->history_polls < HISTORY_POLLS_MAX)
        return; /* how it ends decides; what there is to write need not wait for that */
    t->history_known = true;
    if (!history->last_failed)
        return;
    log_warn(t->options.log, "the last reload failed before this daemon started; an empty commit will repeat it",
             log_str("haproxy", history->response));
    t->dirty = true;
}

/* What may be over soon is asked again; a list that this API does not have keeps nothing up. */
static void history_failed(struct target *t, const struct error *err)
{
    bool may_pass = err->kind == ERROR_RETRY || err->kind == ERROR_AUTH;
    if (t->history_again) {
        t->history_known = true; /* until the next resync */
        return;
    }
    if (may_pass && ++t->history_failures < HISTORY_FAILURES_MAX) {
        target_problem(t, "cannot read the list of reloads", err);
        t->wait_until_ms = clock_mono_ms() + backoff_next_ms(&t->backoff);
        return;
    }
    log_warn(t->options.log, "the list of reloads cannot be read; taking the last one for good",
             log_str("target", dataplane_client_url(t->options.client)), log_str("error", err->message));
    t->history_known = true;
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
    else if (t->history_again)
        judge_again(t, &history);
    else
        judge_history(t, &history);
    codec_reload_history_fini(&history);
    target_step(t);
}

void target_ask_history_again(struct target *t)
{
    t->history_again = t->history_again || t->history_known;
    t->history_known = false;
    t->history_next_ms = 0;
}

void target_ask_history(struct target *t)
{
    t->phase = TARGET_POLLING;
    dataplane_send(t->options.client, "GET", "/reloads", NULL, on_history, t);
}
