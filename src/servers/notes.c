/* The history of a backend: each event once, when it begins or ends, and a lasting problem rate-limited. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "servers/servers_internal.h"

#define WRITTEN_MAX_BYTES 700

void notes_init(struct notes *n)
{
    *n = (struct notes){.settled_version = -1, .trouble_limit = {.period_ms = HISTORY_REPEAT_TROUBLE_MS}};
    buf_init(&n->written, 0);
}

void notes_fini(struct notes *n)
{
    buf_fini(&n->written);
    free(n->drift);
    free(n->cause);
}

struct change_log_place servers_place(const struct servers_backend *s)
{
    const struct instance_options *o = instance_options(s->engine->instance);
    return (struct change_log_place){.log = o->log,
                                     .history = o->history,
                                     .url = servers_url(s),
                                     .several = o->several,
                                     .backend = s->name,
                                     .logs_drains = instance_runtime_usable(s->engine->instance, s->at)};
}

void servers_note(const struct servers_backend *s, struct history_entry e)
{
    e.target = servers_url(s);
    e.backend = s->name;
    history_add(instance_options(s->engine->instance)->history, &e);
}

void servers_note_problem(struct servers_backend *s, const char *what, const char *why)
{
    unsigned before;
    s->notes.news = true;
    if (log_limit_pass_message(&s->notes.trouble_limit, clock_mono_ms(), s->problem.message, &before))
        servers_note(s,
                     (struct history_entry){.kind = HISTORY_APPLY_FAILED, .text = what, .why = why, .cause = s->cause});
}

/* ---- what was written ---- */

void servers_note_written(struct servers_backend *s, const char *what, uint64_t event_us)
{
    struct notes *n = &s->notes;
    n->news = true;
    n->settled_version = -1;
    if (n->event_us == 0)
        n->event_us = event_us;
    free(n->cause);
    n->cause = mem_strdup(s->write_cause);
    if (what == NULL)
        return;
    if (n->written.len < WRITTEN_MAX_BYTES)
        buf_printf(&n->written, "%s%s", n->written.len > 0 ? "; " : "", what);
    else
        n->more++;
}

void servers_note_passed_by(struct servers_backend *s, int64_t was, int64_t version)
{
    if (s->notes.settled_version == was)
        s->notes.settled_version = version;
}

/* ---- in sync ---- */

static void notes_in_sync(struct servers_backend *s)
{
    struct notes *n = &s->notes;
    cleanup(mem_free_ptr) char *more = n->more > 0 ? mem_printf("; and %u more writes", n->more) : NULL;
    size_t count = s->plan.diff.managed_count - s->plan.diff.parked_count;
    cleanup(mem_free_ptr) char *text =
        mem_printf("in sync with %zu server%s%s%s%s", count, count == 1 ? "" : "s", n->written.len > 0 ? ": " : "",
                   buf_str(&n->written), more != NULL ? more : "");
    servers_note(s, (struct history_entry){.kind = HISTORY_IN_SYNC,
                                           .text = text,
                                           .cause = n->cause,
                                           .latency_us = n->event_us != 0 ? clock_mono_us() - n->event_us : 0});
}

void servers_note_in_sync(struct servers_backend *s)
{
    struct notes *n = &s->notes;
    n->settled_version = s->at->actual.version;
    n->settled_number = s->number;
    if (n->drift != NULL) {
        cleanup(mem_free_ptr) char *text = mem_printf("repaired a change of another writer %s", s->notes.drift);
        servers_note(s, (struct history_entry){.kind = HISTORY_DRIFT_REPAIRED, .text = text});
        free(s->notes.drift);
        s->notes.drift = NULL;
    }
    servers_trace_end(s, "in_sync", NULL);
    if (!n->news)
        return;
    notes_in_sync(s);
    n->news = false;
    n->more = 0;
    n->event_us = 0;
    buf_clear(&n->written);
    free(n->cause);
    n->cause = NULL;
}

/* ---- removal delayed ---- */

void servers_note_delayed(struct servers_backend *s)
{
    const struct plan *p = &s->plan;
    struct notes *n = &s->notes;
    bool holds = p->verdict == PLAN_NO_ENDPOINT;
    bool limited = p->held_back > 0 && p->verdict != PLAN_NOT_WRITTEN && p->verdict != PLAN_REFUSE;
    if (holds && !n->holds) {
        size_t stay = s->plan.diff.live_count;
        cleanup(mem_free_ptr) char *text = stay > 0
                                               ? mem_printf("keeping the last %zu server%s", stay, stay == 1 ? "" : "s")
                                               : mem_strdup("no server in rotation");
        servers_note(s, (struct history_entry){
                            .kind = HISTORY_REMOVAL_DELAYED, .text = text, .why = s->plan.why, .cause = s->cause});
    }
    if (limited && p->held_back > n->held) {
        cleanup(mem_free_ptr) char *text = mem_printf("removal of %zu of %zu servers delayed: %s", s->plan.held_back,
                                                      s->plan.diff.live_count, s->plan.delayed_names);
        servers_note(s, (struct history_entry){
                            .kind = HISTORY_REMOVAL_DELAYED, .text = text, .why = s->plan.text, .cause = s->cause});
    }
    n->news = n->news || holds || limited;
    n->holds = holds;
    n->held = limited ? p->held_back : 0;
}

/* ---- drift ---- */

bool servers_is_drift(const struct servers_backend *s)
{
    const struct notes *n = &s->notes;
    return n->drift == NULL && n->settled_version >= 0 && n->settled_version != s->at->actual.version &&
           n->settled_number == s->number;
}

void servers_note_drift(struct servers_backend *s)
{
    cleanup(mem_free_ptr) char *what = change_log_sentence(&s->plan.diff);
    s->notes.drift = mem_printf("in version %lld: %s", (long long)s->at->actual.version, what);
}
