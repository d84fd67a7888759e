/* Whether what was written sticks: what a reading must show of it, and whether another writer reverts it. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/backoffs.h"
#include "report/metric_table.h"
#include "servers/servers_internal.h"

void last_write_init(struct last_write *w, unsigned seed)
{
    *w = (struct last_write){.version = -1, .ours = -1, .rejected_version = -1};
    backoffs_init_rejected(&w->reject_backoff, seed);
}

void last_write_fini(struct last_write *w)
{
    mem_free_all(w->reverted_how, w->updated);
}

void servers_write_later(struct servers_backend *s)
{
    struct last_write *w = &s->last;
    uint64_t when_ms = clock_mono_ms() + backoff_next_ms(&w->reject_backoff);
    w->rejected_version = s->at->actual.version;
    if (w->write_after_ms < when_ms)
        w->write_after_ms = when_ms;
}

void servers_write_sooner(struct servers_backend *s, uint64_t when_ms)
{
    struct last_write *w = &s->last;
    if (w->write_after_ms > when_ms)
        w->write_after_ms = when_ms;
}

void servers_stuck(struct servers_backend *s)
{
    struct last_write *w = &s->last;
    /* A runtime update is still to be read back. */
    w->version = w->by_update ? s->at->actual.version : -1;
    if (!w->by_update) {
        free(w->updated);
        w->updated = NULL;
    }
    w->number = s->number; /* also where this desired state needed no write */
    w->held_back = 0;
    w->commanded = instance_runtime_usable(s->engine->instance, s->at);
}

/* The first difference, for messages: what the API has -> what is desired. */
static void write_say_difference(const struct servers_backend *s, struct buf *out)
{
    const struct diff *d = &s->plan.diff;
    if (d->change_count == 0) {
        buf_add(out, d->backend_detail != NULL ? d->backend_detail : "its settings");
        return;
    }
    const struct diff_change *c = &d->changes[0];
    buf_printf(out, "server %s: %s", c->server.name,
               c->op == DIFF_ADD      ? "it is gone"
               : c->op == DIFF_REMOVE ? "it is there again"
                                      : c->detail);
}

/* The last commit was all that is desired now. What the loss limit delayed then may be written now, and draining
 * servers where a command was enough before: that is neither another writer's doing nor a missing change. */
static bool write_as_committed(const struct servers_backend *s)
{
    const struct last_write *w = &s->last;
    return s->number == w->number && s->plan.held_back == w->held_back &&
           (!w->commanded || instance_runtime_usable(s->engine->instance, s->at));
}

/* A reload that failed puts the file back, and a file that the API has never written is then read as if another writer
 * edited it: until the reload's result is known, the reason of a missing change is unknown. */
static bool write_may_be_put_back(const struct servers_backend *s)
{
    return instance_view(s->engine->instance).reload == RELOAD_PENDING;
}

bool servers_judge_missing(struct servers_backend *s)
{
    struct last_write *w = &s->last;
    if (s->at->actual.version != w->version || !write_as_committed(s))
        return false;
    if (write_may_be_put_back(s))
        return true;
    cleanup(buf_fini) struct buf text = {0};
    struct error err = {0};
    write_say_difference(s, &text);
    error_set(&err, ERROR_INVALID, "version %lld was committed, but reading it back still differs: %s",
              (long long)s->at->actual.version, buf_str(&text));
    servers_problem(s, "committed change missing in HAProxy's configuration", &err);
    w->version = w->ours = -1;
    servers_write_later(s);
    return true;
}

static const char same_in_all_clusters[] =
    " (that is the whole backend's: HAPROXY_BALANCE, HAPROXY_ADV_CHECK, HAPROXY_HEALTH_CHECK and HAPROXY_SEND_PROXY_V2 "
    "have to be the same in all clusters that share it)";

/* What was written for this desired state is gone, at another writer's version. */
static bool write_is_undone(const struct servers_backend *s)
{
    return s->last.ours >= 0 && write_as_committed(s) && s->at->actual.version != s->last.ours;
}

bool servers_count_revert(struct servers_backend *s)
{
    struct last_write *w = &s->last;
    if (!write_is_undone(s) || write_may_be_put_back(s))
        return false;
    /* What was written instead is kept as it was then, whatever is desired later. */
    cleanup(buf_fini) struct buf text = {0};
    write_say_difference(s, &text);
    free(w->reverted_how);
    bool setting = s->plan.diff.change_count == 0, shared = s->engine->options.rules.diff.cluster != NULL;
    w->reverted_how = mem_printf("version %lld differs from version %lld, which haproxy-k8s-sync wrote: %s%s",
                                 (long long)s->at->actual.version, (long long)w->ours, buf_str(&text),
                                 setting && shared ? same_in_all_clusters : "");
    w->ours = -1; /* counted */
    metric_add(servers_metrics(s)->changes_reverted, 1, s->name, servers_url(s), NULL);
    (void)revert_pause_count(&s->pause, clock_mono_ms());
    return true;
}

bool servers_pause_writes(struct servers_backend *s)
{
    if (write_is_undone(s) && write_may_be_put_back(s))
        return true;
    if (!revert_pause_holds(&s->pause, clock_mono_ms()))
        return false;
    struct error err = {0};
    error_set(&err, ERROR_CONFLICT,
              "%s; reverted %d times within %d minutes, or again after a pause. Stop the other writer (another "
              "controller on this backend?) and send SIGHUP; otherwise writes resume %d minutes after the last revert",
              s->last.reverted_how, REVERT_PAUSE_TIMES, REVERT_PAUSE_WINDOW_MS / 60000, REVERT_PAUSE_MS / 60000);
    servers_problem(s, "another writer keeps reverting the daemon's changes; pausing writes for 10 min", &err);
    return true;
}

bool servers_may_write(const struct servers_backend *s)
{
    const struct last_write *w = &s->last;
    if (!instance_view(s->engine->instance).may_write)
        return false;
    /* Rejected before, but something has changed since: that may have been the fix. */
    return w->write_after_ms <= clock_mono_ms() ||
           (w->rejected_version >= 0 && w->rejected_version != s->at->actual.version);
}

/* The API said that it was written, and a reading shows that it is not. */
bool servers_update_did_not_stick(const struct servers_backend *s)
{
    const struct diff_change *c = &s->plan.diff.changes[s->route.updates[0].change];
    return !s->last.by_update && s->last.updated_number == s->number && str_eq(c->server.name, s->last.updated);
}
