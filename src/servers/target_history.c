/* What a target puts into the journal: each thing once, when it begins or ends, and a trouble that goes on seldom. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "servers/decision.h"
#include "servers/target_internal.h"

#define WRITTEN_MAX_BYTES 700

void story_init(struct story *st)
{
    *st = (struct story){.settled_version = -1, .trouble_limit = {.period_ms = REPEAT_TROUBLE_MS}};
    buf_init(&st->written, 0);
}

void story_fini(struct story *st)
{
    buf_fini(&st->written);
    free(st->drift);
    free(st->cause);
}

struct decision_place target_place(const struct target *t)
{
    return (struct decision_place){.log = t->options.log,
                                   .history = t->options.history,
                                   .url = dataplane_client_url(t->options.client),
                                   .several = t->options.several,
                                   .backend = t->options.backend_count == 1 ? t->slots[0].name : NULL};
}

struct decision_place slot_place(const struct slot *s)
{
    struct decision_place at = target_place(s->target);
    at.backend = s->name;
    at.tells_drains = slot_is_open(s);
    return at;
}

void slot_note(const struct slot *s, struct history_entry e)
{
    e.target = dataplane_client_url(s->target->options.client);
    e.backend = s->name;
    history_add(s->target->options.history, &e);
}

static void target_note(const struct target *t, struct history_entry e)
{
    const struct decision_place at = target_place(t);
    e.target = at.url;
    e.backend = at.backend;
    history_add(at.history, &e);
}

static void is_news_to_all(struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        t->slots[i].story.news = true;
}

/* ---- troubles ---- */

void target_note_trouble(struct target *t, enum history_kind kind, const char *what, const char *why)
{
    is_news_to_all(t);
    target_note(t, (struct history_entry){.kind = kind, .text = what, .why = why});
}

void target_note_problem(struct target *t, enum history_kind kind, const char *what, const char *why)
{
    unsigned held_back;
    is_news_to_all(t);
    if (log_limit_pass_message(&t->trouble_limit, clock_mono_ms(), t->problem.message, &held_back))
        target_note(t, (struct history_entry){.kind = kind, .text = what, .why = why});
}

void slot_note_problem(struct slot *s, const char *what, const char *why)
{
    unsigned held_back;
    s->story.news = true;
    if (log_limit_pass_message(&s->story.trouble_limit, clock_mono_ms(), s->problem.message, &held_back))
        slot_note(s, (struct history_entry){.kind = HISTORY_APPLY_FAILED, .text = what, .why = why, .cause = s->cause});
}

/* ---- what was written ---- */

void slot_note_written(struct slot *s, const char *what, uint64_t event_us)
{
    struct story *st = &s->story;
    st->news = true;
    st->settled_version = -1;
    if (st->event_us == 0)
        st->event_us = event_us;
    free(st->cause);
    st->cause = mem_strdup(s->write_cause);
    if (what == NULL)
        return;
    if (st->written.len < WRITTEN_MAX_BYTES)
        buf_printf(&st->written, "%s%s", st->written.len > 0 ? "; " : "", what);
    else
        st->more++;
}

void slot_note_passed_by(struct slot *s, int64_t version)
{
    if (s->story.settled_version == s->actual.version)
        s->story.settled_version = version;
}

/* ---- in step ---- */

static void note_in_step(struct slot *s)
{
    struct story *st = &s->story;
    cleanup(mem_free_ptr) char *more = st->more > 0 ? mem_printf("; and %u more writes", st->more) : NULL;
    size_t count = s->plan.diff.ours_count - s->plan.diff.parked_count;
    cleanup(mem_free_ptr) char *text =
        mem_printf("in step with %zu server%s%s%s%s", count, count == 1 ? "" : "s", st->written.len > 0 ? ": " : "",
                   buf_str(&st->written), more != NULL ? more : "");
    slot_note(s, (struct history_entry){.kind = HISTORY_IN_STEP,
                                        .text = text,
                                        .cause = st->cause,
                                        .reaction_us = st->event_us != 0 ? clock_mono_us() - st->event_us : 0});
}

static void note_drift_repaired(struct slot *s)
{
    cleanup(mem_free_ptr) char *text = mem_printf("put right what somebody else had changed %s", s->story.drift);
    slot_note(s, (struct history_entry){.kind = HISTORY_DRIFT_REPAIRED, .text = text});
    free(s->story.drift);
    s->story.drift = NULL;
}

void slot_note_in_step(struct slot *s)
{
    struct story *st = &s->story;
    st->settled_version = s->actual.version;
    st->settled_wish_number = s->wish_number;
    if (st->drift != NULL)
        note_drift_repaired(s);
    if (!st->news)
        return;
    note_in_step(s);
    st->news = false;
    st->more = 0;
    st->event_us = 0;
    buf_clear(&st->written);
    free(st->cause);
    st->cause = NULL;
}

/* ---- held back ---- */

static void note_hold(const struct slot *s)
{
    size_t stay = s->plan.diff.live_count;
    cleanup(mem_free_ptr) char *text =
        stay > 0 ? mem_printf("holding the last good servers, %zu of them", stay) : mem_strdup("no server in rotation");
    slot_note(s,
              (struct history_entry){.kind = HISTORY_HELD_BACK, .text = text, .why = s->plan.why, .cause = s->cause});
}

static void note_brake(const struct slot *s)
{
    cleanup(mem_free_ptr) char *text = mem_printf("holding back the loss of %zu of %zu servers: %s", s->plan.held_back,
                                                  s->plan.diff.live_count, s->plan.held_names);
    slot_note(s,
              (struct history_entry){.kind = HISTORY_HELD_BACK, .text = text, .why = s->plan.text, .cause = s->cause});
}

void slot_note_held(struct slot *s)
{
    const struct plan *p = &s->plan;
    struct story *st = &s->story;
    bool holds = p->verdict == PLAN_HOLD;
    bool braked = p->held_back > 0 && p->verdict != PLAN_WITHHELD && p->verdict != PLAN_REFUSE;
    if (holds && !st->holds)
        note_hold(s);
    if (braked && p->held_back > st->held)
        note_brake(s);
    st->news = st->news || holds || braked;
    st->holds = holds;
    st->held = braked ? p->held_back : 0;
}

/* ---- drift ---- */

bool slot_is_drift(const struct slot *s)
{
    const struct story *st = &s->story;
    return st->drift == NULL && st->settled_version >= 0 && st->settled_version != s->actual.version &&
           st->settled_wish_number == s->wish_number;
}

void slot_note_drift(struct slot *s)
{
    cleanup(mem_free_ptr) char *what = decision_sentence(&s->plan.diff);
    s->story.drift = mem_printf("in version %lld: %s", (long long)s->actual.version, what);
}

void target_note_drift(struct target *t, const char *what)
{
    free(t->drift_found);
    t->drift_found = mem_strdup(what);
    t->drift_answered = false;
}

void target_note_drift_over(struct target *t)
{
    if (t->drift_found == NULL)
        return;
    cleanup(mem_free_ptr) char *text =
        mem_printf("HAProxy ran something else than its file says, and was reloaded: %s", t->drift_found);
    if (t->drift_answered)
        target_note(t, (struct history_entry){.kind = HISTORY_DRIFT_REPAIRED, .text = text});
    free(t->drift_found);
    t->drift_found = NULL;
}
