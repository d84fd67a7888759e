/* Writes, by a transaction or a runtime update: what goes into them, what their endings mean, and whether they
 * stick. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/driver.h"
#include "haproxy/pace.h"
#include "report/telemetry.h"
#include "servers/change/changes.h"
#include "servers/servers_internal.h"

#define APART_MS 600000 /* after removals were refused with other changes, until they are in one write again */

static const char cannot_be_worded[] = "cannot express the change in haproxy.cfg";

/* ---- whether it sticks ---- */

void last_write_init(struct last_write *w, unsigned seed)
{
    *w = (struct last_write){.version = -1, .ours = -1, .rejected_version = -1};
    pace_init_rejected(&w->reject_backoff, seed);
}

void last_write_fini(struct last_write *w)
{
    free(w->reverted_how);
    free(w->updated);
}

static void servers_write_not_before(struct servers_backend *s, uint64_t when_ms)
{
    if (s->last.write_after_ms < when_ms)
        s->last.write_after_ms = when_ms;
}

void servers_write_sooner(struct servers_backend *s, uint64_t when_ms)
{
    if (s->last.write_after_ms > when_ms)
        s->last.write_after_ms = when_ms;
}

void servers_stuck(struct servers_backend *s)
{
    struct last_write *w = &s->last;
    s->took_over = true;
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

bool servers_does_not_stick(struct servers_backend *s)
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
    w->rejected_version = s->at->actual.version;
    servers_write_not_before(s, clock_mono_ms() + backoff_next_ms(&w->reject_backoff));
    return true;
}

static const char same_in_all_clusters[] =
    " (that is the whole backend's: HAPROXY_BALANCE, HAPROXY_ADV_CHECK, HAPROXY_HEALTH_CHECK and HAPROXY_SEND_PROXY_V2 "
    "have to be the same in all clusters that share it)";

bool servers_is_fought_over(struct servers_backend *s)
{
    uint64_t now = clock_mono_ms();
    bool undone = s->last.ours >= 0 && write_as_committed(s) && s->at->actual.version != s->last.ours;
    if (undone && write_may_be_put_back(s))
        return true;
    if (undone) {
        /* What was written instead is kept as it was then, whatever is desired later. */
        struct last_write *w = &s->last;
        cleanup(buf_fini) struct buf text = {0};
        write_say_difference(s, &text);
        free(w->reverted_how);
        bool setting = s->plan.diff.change_count == 0, shared = s->engine->options.rules.diff.cluster != NULL;
        w->reverted_how = mem_printf("version %lld differs from version %lld, which haproxy-k8s-sync wrote: %s%s",
                                     (long long)s->at->actual.version, (long long)w->ours, buf_str(&text),
                                     setting && shared ? same_in_all_clusters : "");
        w->ours = -1; /* counted */
        metric_add(servers_telemetry(s)->changes_reverted, 1, s->name, servers_url(s), NULL);
        (void)conflict_reverted(&s->conflict, now);
        if (s->cause == NULL)
            s->cause = mem_printf("another writer wrote version %lld", (long long)s->at->actual.version);
    }
    if (!conflict_pauses(&s->conflict, now))
        return false;
    struct error err = {0};
    error_set(&err, ERROR_CONFLICT,
              "%s; reverted %d times within %d minutes, or again after a pause. Stop the other writer (another "
              "controller on this backend?) and send SIGHUP; otherwise writes resume %d minutes after the last revert",
              s->last.reverted_how, CONFLICT_TIMES, CONFLICT_WINDOW_MS / 60000, CONFLICT_PAUSE_MS / 60000);
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

/* ---- a transaction ---- */

/* Its plan is in the transaction, or all it needs is the reload that comes with it. */
static bool write_is_carried(const struct servers_backend *s)
{
    return s->at->writing || (s->have_desired && s->plan.verdict == PLAN_RELOAD_AGAIN);
}

/* Not so where an empty commit was all that could be done: what is written next is no sign of another writer then, nor
 * of a missing change. */
static bool write_leaves_as_planned(const struct servers_backend *s)
{
    return (s->at->writing && s->part == WRITE_ALL) || s->plan.diff.verdict == DIFF_NOTHING;
}

/* What goes into a transaction says everything in the file: its reload forgets what runtime commands set. */
static void write_plan_for_file(struct servers_backend *s)
{
    struct backend_decision_input input = servers_decision_input(s);
    if (!instance_options(s->engine->instance)->driver->runtime)
        return;
    input.for_file = true;
    servers_replan(s);
    plan_fini(&s->plan);
    backend_decision_plan(&input, &s->plan);
}

static void write_reject(struct servers_backend *s, const char *what, const struct error *err)
{
    s->last.rejected_version = s->at->actual.version;
    servers_write_not_before(s, clock_mono_ms() + backoff_next_ms(&s->last.reject_backoff));
    if (s->number != s->write_number)
        servers_write_sooner(s, clock_mono_ms() + REJECTED_PAUSE_MS);
    servers_trace_refused(s, err);
    servers_problem(s, what, err);
}

/* Refused: true where the next part is tried at once. */
static bool write_tries_apart(struct servers_backend *s, const struct error *err)
{
    enum write_part was = s->part;
    bool again = s->may_part && (was == WRITE_ALL || (was == WRITE_OTHERS && s->removals_may_go_first));
    s->last.next_part = was == WRITE_OTHERS && again ? WRITE_REMOVALS : WRITE_OTHERS;
    if (was == WRITE_ALL && again) {
        s->last.apart_until_ms = clock_mono_ms() + APART_MS;
        log_warn(servers_log(s), "HAProxy rejected a change that removes servers; trying the removals apart",
                 log_str("backend", s->name), log_str("target", servers_target(s)), log_str("error", err->message));
    }
    if (again)
        servers_replan(s);
    return again;
}

/* Its changes; where it cannot be encoded it is left out, which is its problem. */
static void write_add_changes(struct servers_backend *s)
{
    struct error err = {0};
    size_t count;
    write_plan_for_file(s);
    /* What was refused together is tried apart: removals (another line may name the server: `use-server`, `track`), and all else. */
    struct diff *d = &s->plan.diff;
    bool apart = s->last.apart_until_ms > clock_mono_ms();
    s->may_part = diff_has_parts(d);
    s->removals_may_go_first = s->may_part && diff_leaves_live(d);
    s->part = !apart || !s->may_part                                            ? WRITE_ALL
              : s->last.next_part == WRITE_REMOVALS && s->removals_may_go_first ? WRITE_REMOVALS
                                                                                : WRITE_OTHERS;
    if (s->part != WRITE_ALL)
        diff_take_part(d, s->part == WRITE_REMOVALS);
    cleanup(mem_free_ptr) struct change *list = changes_of(&s->at->actual, &s->plan.diff, &count);
    if (instance_change(s->engine->instance, s->at, list, count, &err) != 0) {
        write_reject(s, cannot_be_worded, &err);
        return;
    }
    if (!s->took_over) {
        const struct change_log_place at = servers_place(s);
        change_log_takeover(&at, &s->plan.diff, &s->taken_over);
    }
}

static void write_begin(struct servers_backend *s)
{
    free(s->write_cause);
    s->write_cause = mem_strdup(s->cause);
    s->write_event_us = s->event_us;
    s->write_number = s->number;
}

void servers_collect(void *engine)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        const struct backend_decision_input input = servers_decision_input(s);
        /* One that was rejected joins no other: what that one needs would be rejected with it, again and again. */
        if (!s->chosen && !instance_view(e->instance).one_by_one && s->have_desired && servers_may_write(s) &&
            s->at->unreadable.kind == ERROR_NONE && backend_decision_joins(&input, s->plan.verdict)) {
            write_plan_for_file(s);
            s->chosen = s->plan.verdict == PLAN_WRITE;
        }
        if (s->chosen)
            write_add_changes(s);
        s->write_event_us = 0;
        if (!write_is_carried(s))
            continue;
        write_begin(s);
        s->event_us = 0;
    }
}

static bool write_is_our_server(const struct servers_backend *s, const char *name)
{
    for (size_t i = 0; i < s->at->actual.server_count; i++)
        if (str_eq(s->at->actual.servers[i].name, name))
            return !diff_server_is_foreign(&s->at->actual.servers[i], &s->engine->options.rules.diff, s->desired);
    return true;
}

/* Our servers, and the settings that its plan changes. */
bool servers_may_change(const void *engine, const char *kind, const char *name, const char *first, const char *second)
{
    const struct servers *e = engine;
    const struct servers_backend *s = NULL;
    for (size_t i = 0; i < e->options.backend_count && str_eq(kind, "backend"); i++)
        if (str_eq(name, e->backends[i].name))
            s = &e->backends[i];
    if (s == NULL)
        return false;
    const struct diff *d = &s->plan.diff;
    if (s->at->writing && d->create_backend)
        return true;
    if (first == NULL)
        return false;
    if (str_eq(first, "server"))
        return write_is_our_server(s, second);
    return s->at->writing && d->backend_change &&
           (str_eq(first, "balance") || str_eq(first, "default-server") ||
            (str_eq(first, "option") && (str_has_suffix(second, "chk") || str_has_suffix(second, "-check"))));
}

/* Who is in maintenance by it is so by the daemon, whatever another writer makes of the line before it is read. */
static void write_note_maintenance(struct servers_backend *s)
{
    for (size_t i = 0; i < s->plan.diff.change_count; i++) {
        const struct diff_change *c = &s->plan.diff.changes[i];
        if (c->op != DIFF_REMOVE && c->server.maintenance)
            admin_states_written(&s->states, c->server.name, true);
    }
}

static void write_committed(struct servers_backend *s, const struct written *t, uint64_t now_us)
{
    struct last_write *w = &s->last;
    uint64_t event_us = s->write_event_us != 0 ? now_us - s->write_event_us : 0;
    cleanup(mem_free_ptr) char *what = s->at->writing ? change_log_sentence(&s->plan.diff) : NULL;
    const struct change_log_place at = servers_place(s);
    if (s->at->writing)
        write_note_maintenance(s);
    if (s->at->writing)
        change_log_commit(&at, &s->plan, s->write_cause, t, event_us);
    servers_note_written(s, what, s->write_event_us);
    servers_trace_write(s, &(struct servers_trace_write){.name = "transaction",
                                                         .cause = s->write_cause,
                                                         .what = what,
                                                         .took_us = t->begin_us + t->change_us + t->commit_us,
                                                         .event_us = s->write_event_us});
    servers_set_in_sync(s, false); /* until its reload, also where it joined another's transaction */
    if (event_us != 0)
        metric_observe(servers_telemetry(s)->watch_event_to_commit, (double)event_us / 1e6, NULL);
    s->took_over = s->took_over || (write_leaves_as_planned(s) && s->plan.held_back == 0);
    w->version = w->ours = write_leaves_as_planned(s) ? t->version : -1;
    w->number = s->write_number;
    w->held_back = s->plan.held_back;
    w->commanded = false;
    w->rejected_version = -1;
    w->write_after_ms = 0;
}

/* What was rejected is not fixed by what was written elsewhere: otherwise each own write would cause another
 * rejection. */
static void write_passed_by(struct servers_backend *s, int64_t was, int64_t version)
{
    if (s->last.rejected_version >= 0 && s->last.rejected_version == was)
        s->last.rejected_version = version;
    servers_note_passed_by(s, was, version);
}

void servers_committed(void *engine, const struct written *t)
{
    struct servers *e = engine;
    uint64_t now_us = clock_mono_us();
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        servers_replan(s);
        if (write_is_carried(s))
            write_committed(s, t, now_us);
        else
            write_passed_by(s, s->at->actual.version, t->version);
        if (!s->at->runtime.readable)
            admin_states_reloads(&s->states);
    }
}

void servers_not_committed(void *engine)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        if (write_is_carried(s) && s->write_event_us != 0)
            s->event_us = s->write_event_us; /* older than any that came since */
    }
}

void servers_rejected(void *engine, const char *what, const struct error *err)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        bool update = instance_updating(e->instance, s->at) != NULL;
        if (!s->at->writing || (!update && write_tries_apart(s, err)))
            continue;
        write_reject(s, what, err);
        s->last.updates_after_ms = update ? s->last.write_after_ms : s->last.updates_after_ms;
    }
}

void servers_reload_failed(void *engine, bool lost)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        e->backends[i].last.version = e->backends[i].last.ours = -1;
        if (!lost)
            servers_trace_end(&e->backends[i], "load_failed", "HAProxy could not load it");
    }
}

/* The server lines stayed; what differs from now on because of other lines is no sign of another writer. */
void servers_rewritten(void *engine, int64_t was, int64_t version)
{
    struct servers *e = engine;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        write_passed_by(s, was, version);
        s->last.version = -1;
        if (s->last.ours >= 0)
            s->last.ours = version;
    }
}

/* ---- a runtime update ---- */

void servers_update(void *engine)
{
    struct servers *e = engine;
    struct servers_backend *s = &e->backends[e->next_update];
    struct error err = {0};
    e->last_updated = e->next_update;
    s->update = s->route.updates[0];
    const struct diff_change *c = &s->plan.diff.changes[s->update.change];
    if (instance_update(e->instance, s->at, &c->server, c->fields, s->update.keep_maintenance, &err) != 0) {
        write_reject(s, cannot_be_worded, &err);
        s->last.updates_after_ms = s->last.write_after_ms;
        instance_step(e->instance); /* for the others */
        return;
    }
    write_begin(s);
    if (!s->took_over) {
        const struct change_log_place at = servers_place(s);
        change_log_takeover(&at, &s->plan.diff, &s->taken_over);
    }
}

/* The file has it, and HAProxy runs it. */
static void write_updated(struct servers_backend *s, const struct updated *u, uint64_t event_us)
{
    struct last_write *w = &s->last;
    bool last = s->route.update_count == 1 && !s->route.transaction && !s->update.keep_maintenance;
    admin_states_written(&s->states, u->wanted->name, u->wanted->maintenance);
    servers_measure_up(s);
    if (last && event_us != 0) {
        metric_observe(servers_telemetry(s)->watch_event_to_commit, (double)event_us / 1e6, NULL);
        if (s->event_us == s->write_event_us)
            s->event_us = 0;
    }
    s->took_over = s->took_over || (last && s->plan.held_back == 0);
    w->by_update = true;
    free(w->updated);
    w->updated = s->update.keep_maintenance ? NULL : mem_strdup(u->wanted->name);
    w->updated_number = s->write_number;
    w->ours = last ? u->version : -1;
    w->version = -1;
    w->number = s->write_number;
    w->held_back = s->plan.held_back;
    w->commanded = true;
    if (w->rejected_version >= 0) /* what was refused is refused still */
        w->rejected_version = u->version;
    else
        w->write_after_ms = 0;
}

static void write_note_not_verified(struct servers_backend *s, const struct updated *u)
{
    if (instance_view(s->engine->instance).reload == RELOAD_PENDING)
        return; /* it may have missed it: no sign of anything */
    servers_note(s, (struct history_entry){.kind = HISTORY_APPLY_FAILED,
                                           .server = u->wanted->name,
                                           .text = "runtime update not applied by HAProxy; reloading",
                                           .why = u->error.message,
                                           .cause = s->write_cause});
}

void servers_updated(void *engine, const struct instance_backend *b, const struct updated *u, int64_t was)
{
    struct servers *e = engine;
    bool written = u->result == UPDATE_WRITTEN;
    for (size_t i = 0; i < e->options.backend_count; i++) {
        struct servers_backend *s = &e->backends[i];
        if (s->at != b && written)
            write_passed_by(s, was, u->version);
        else if (s->at != b)
            servers_note_passed_by(s, was, u->version);
    }
    struct servers_backend *s = servers_backend_of(e, b);
    if (s == NULL)
        return;
    servers_replan(s);
    const struct diff_change *c = &s->plan.diff.changes[s->update.change];
    uint64_t event_us = s->write_event_us != 0 ? clock_mono_us() - s->write_event_us : 0;
    cleanup(mem_free_ptr) char *what = change_log_sentence_of(c);
    const struct change_log_place at = servers_place(s);
    if (written)
        change_log_update(&at, c, s->write_cause, u, event_us);
    servers_note_written(s, what, s->write_event_us);
    servers_trace_write(s, &(struct servers_trace_write){.name = "runtime update",
                                                         .cause = s->write_cause,
                                                         .what = what,
                                                         .why = u->error.kind != ERROR_NONE ? u->error.message : NULL,
                                                         .took_us = u->write_us + u->read_us,
                                                         .event_us = s->write_event_us});
    if (written)
        write_updated(s, u, event_us);
    else if (u->result == UPDATE_UNVERIFIED)
        write_note_not_verified(s, u);
}
