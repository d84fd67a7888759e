/* Writes, by a transaction or a runtime update: what goes into them, and what their endings mean. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/driver.h"
#include "report/metric_table.h"
#include "haproxy/change.h"
#include "servers/servers_internal.h"

#define APART_MS 600000 /* after removals were refused with other changes, until they are in one write again */

static const char cannot_be_worded[] = "cannot express the change in haproxy.cfg";

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
    servers_write_later(s);
    if (s->number != s->write_number)
        servers_write_sooner(s, clock_mono_ms() + REJECTED_PAUSE_MS);
    servers_trace_refused(s, err);
    servers_problem(s, what, err);
}

/* Refused: true where the next part is tried at once. */
static bool write_try_apart(struct servers_backend *s, const struct error *err)
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
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
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

/* Our servers, and the settings that its plan changes. */
bool servers_may_change(const void *engine, const char *kind, const char *name, const char *first, const char *second)
{
    const struct servers *e = engine;
    const struct servers_backend *s = e->backends;
    while (s < e->end && !str_eq(name, s->name))
        s++;
    if (s == e->end || !str_eq(kind, "backend"))
        return false;
    const struct diff *d = &s->plan.diff;
    if (s->at->writing && d->create_backend)
        return true;
    if (first == NULL)
        return false;
    if (str_eq(first, "server")) {
        const struct backend_server *line = backend_find(&s->at->actual, second);
        return line == NULL || !diff_server_is_foreign(line, &e->options.rules.diff, s->desired);
    }
    return s->at->writing && d->backend_change &&
           (str_eq(first, "balance") || str_eq(first, "default-server") ||
            (str_eq(first, "option") && (str_has_suffix(second, "chk") || str_has_suffix(second, "-check"))));
}

static void write_committed(struct servers_backend *s, const struct written *t, uint64_t now_us)
{
    struct last_write *w = &s->last;
    uint64_t event_us = s->write_event_us != 0 ? now_us - s->write_event_us : 0;
    cleanup(mem_free_ptr) char *what = s->at->writing ? change_log_sentence(&s->plan.diff) : NULL;
    const struct change_log_place at = servers_place(s);
    if (s->at->writing) {
        /* Who is in maintenance by it is so by the daemon, whatever another writer makes of the line before it is read. */
        for (size_t i = 0; i < s->plan.diff.change_count; i++) {
            const struct diff_change *c = &s->plan.diff.changes[i];
            if (c->op != DIFF_REMOVE && c->server.maintenance)
                admin_states_written(&s->states, c->server.name, true);
        }
        change_log_commit(&at, &s->plan, s->write_cause, t, event_us);
    }
    servers_note_written(s, what, s->write_event_us);
    servers_trace_write(s, &(struct servers_trace_write){.name = "transaction",
                                                         .cause = s->write_cause,
                                                         .what = what,
                                                         .took_us = t->begin_us + t->change_us + t->commit_us,
                                                         .event_us = s->write_event_us});
    servers_set_in_sync(s, false); /* until its reload, also where it joined another's transaction */
    if (event_us != 0)
        metric_observe(servers_metrics(s)->watch_event_to_commit, (double)event_us / 1e6, NULL);
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
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
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
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        if (write_is_carried(s) && s->write_event_us != 0)
            s->event_us = s->write_event_us; /* older than any that came since */
    }
}

void servers_rejected(void *engine, const char *what, const struct error *err)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        bool update = instance_updating(e->instance, s->at) != NULL;
        if (!s->at->writing || (!update && write_try_apart(s, err)))
            continue;
        write_reject(s, what, err);
        s->last.updates_after_ms = update ? s->last.write_after_ms : s->last.updates_after_ms;
    }
}

void servers_reload_failed(void *engine, bool lost)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
        s->last.version = s->last.ours = -1;
        if (!lost)
            servers_trace_end(s, "load_failed", "HAProxy could not load it");
    }
}

/* The server lines stayed; what differs from now on because of other lines is no sign of another writer. */
void servers_rewritten(void *engine, int64_t was, int64_t version)
{
    struct servers *e = engine;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
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
    struct servers_backend *s = e->last_updated = e->next_update;
    struct error err = {0};
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
        metric_observe(servers_metrics(s)->watch_event_to_commit, (double)event_us / 1e6, NULL);
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

void servers_updated(void *engine, const struct instance_backend *b, const struct updated *u, int64_t was)
{
    struct servers *e = engine;
    bool written = u->result == UPDATE_WRITTEN;
    for (struct servers_backend *s = e->backends; s < e->end; s++) {
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
    else if (u->result == UPDATE_UNVERIFIED && instance_view(e->instance).reload != RELOAD_PENDING)
        /* While a reload is pending it may have missed the update, which is no sign of anything. */
        servers_note(s, (struct history_entry){.kind = HISTORY_APPLY_FAILED,
                                               .server = u->wanted->name,
                                               .text = INSTANCE_UPDATE_NOT_APPLIED "; reloading",
                                               .why = u->error.message,
                                               .cause = s->write_cause});
}
