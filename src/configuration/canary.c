/* Who gets a document first, and what comes of it: each HAProxy is watched (configuration/probation) after a change, and the
 * others wait for the first ones. */
#include "base/clock.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

static bool canary_has_document(const struct target *t)
{
    return t->own == NULL &&
           (t->progress == PROGRESS_WRITTEN || t->progress == PROGRESS_APPLIED || t->progress == PROGRESS_DRIFTED);
}

bool canary_goes_on(const struct configuration *c)
{
    return c->options.canary > 0 && c->document != NULL && c->version == 0 && !c->canary_passed &&
           !store_is_proven(c->options.store, c->document->id);
}

void canary_begin(struct configuration *c)
{
    c->canary_passed = false;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        t->canary = t->written = t->load_failed = t->evidence_told = false;
        probation_end(&t->probation);
    }
}

/* ---- who gets it ---- */

static size_t canary_add(struct configuration *c, size_t count, bool (*fits)(const struct target *t))
{
    for (struct target *t = target_next(c, NULL); t != NULL && count < c->options.canary; t = target_next(c, t)) {
        if (t->canary || !fits(t))
            continue;
        t->canary = true;
        t->joins = false; /* what becomes of it is all others' matter */
        count++;
    }
    return count;
}

/* It may be written to. */
static bool canary_is_ready(const struct target *t)
{
    return (t->progress == PROGRESS_NEW || t->progress == PROGRESS_VALID) && target_is_valid(t) && !t->restores;
}

static bool canary_answers(const struct target *t)
{
    return canary_is_ready(t) && !t->away && t->own == NULL;
}

static bool canary_belongs(const struct target *t)
{
    return canary_answers(t) && !t->joins;
}

/* It is being written there, or was there already when another writer changed the file. Once it was watched no other one gets it
 * before that has ended, also where it does not answer any more, which may be by this document. */
static bool canary_has_begun(const struct target *t)
{
    bool written = t->writing == t->of->document || t->written;
    return (written && !t->away) || t->probation.state != PROBATION_NONE;
}

/* First those that have it, from before a restart or without an answer that said so; then those that answer. */
static void canary_choose(struct configuration *c)
{
    size_t count = 0;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        t->canary = t->canary && (canary_has_document(t) || canary_has_begun(t));
        count += t->canary;
    }
    count = canary_add(c, count, canary_has_document);
    count = canary_add(c, count, canary_belongs);
    (void)canary_add(c, count, canary_answers);
}

bool canary_lets(const struct target *t)
{
    struct configuration *c = t->of;
    if (!t->probation.asked)
        return false;
    if (t->own != NULL || !canary_goes_on(c))
        return true;
    canary_choose(c);
    return t->canary;
}

/* ---- reading ---- */

/* Before the write; and while others have it, to tell what it does from what happens anyhow. */
static bool canary_reads_beside(const struct target *t)
{
    return canary_is_ready(t) && target_may_write(t);
}

uint64_t canary_due(const struct target *t)
{
    if (t->progress == PROGRESS_APPLIED)
        return probation_due(&t->probation);
    return canary_reads_beside(t) && t->probation.asked && canary_goes_on(t->of) ? t->probation.next_ms : 0;
}

bool canary_wants_reading(const struct target *t, uint64_t now_ms)
{
    uint64_t due = canary_due(t);
    if (canary_reads_beside(t) && !t->probation.asked)
        return true;
    return due != 0 && now_ms >= due && instance_at_rest(t->in);
}

void canary_served(void *self, const struct served *s, const struct error *err)
{
    struct target *t = self;
    struct probation *w = &t->probation;
    unsigned reloads = instance_view(t->in).reloads;
    uint64_t now = clock_mono_ms();
    bool watched = w->state == PROBATION_GOES_ON || w->state == PROBATION_BAD;
    bool before = !w->asked && !watched;
    w->asked = true; /* what is served while a document is watched is none that was before it */
    if (before) {
        probation_baseline(w, s, reloads);
        w->next_ms = now + PROBATION_READ_MS;
        target_go_on(t);
        return;
    }
    enum probation_state was = w->state;
    if (s != NULL)
        probation_read(w, s, reloads, now);
    else
        probation_unread(w, err->kind == ERROR_GONE, now);
    if (w->state != was || probation_is_to_judge(w))
        timer_set(&t->of->step, 0);
}

/* ran: before, which may have been amid a watch of an earlier run; what has been written by none changes nothing here, which
 * says nothing to the others. */
void canary_applied(struct target *t, bool ran)
{
    struct configuration *c = t->of;
    bool unfinished = ran && !store_is_proven(c->options.store, c->document->id);
    if (canary_goes_on(c))
        canary_choose(c); /* it may have it from before a restart, or from before another document came and went */
    bool first = t->canary && canary_goes_on(c);
    t->evidence_told = false;
    probation_end(&t->probation);
    if (t->own != NULL || (t->unchanged && !unfinished && !first))
        t->probation.state = PROBATION_GOOD;
    else
        probation_begin(&t->probation, cfg_content_file(t->file, NULL), clock_mono_ms(),
                        first ? c->options.canary_time_ms : PROBATION_LEAST_MS);
}

/* ---- what came of it ---- */

static bool canary_none_elsewhere(const void *arg, const char *backend)
{
    const struct target *t = arg;
    for (const struct target *other = target_next(t->of, NULL); other != NULL; other = target_next(t->of, other))
        if (other != t && probation_has_none(&other->probation, backend))
            return true;
    return false;
}

static bool canary_never_counts(const void *arg, const char *backend)
{
    (void)arg;
    (void)backend;
    return true;
}

static void canary_judge(struct target *t)
{
    const struct configuration *c = t->of;
    bool counts = c->options.rollback == CONFIGURATION_ROLLBACK_SERVING || (t->canary && canary_goes_on(c));
    struct error said;
    if (!probation_is_to_judge(&t->probation))
        return;
    probation_judge(&t->probation, counts ? canary_none_elsewhere : canary_never_counts, t, &said);
    if (said.kind == ERROR_NONE)
        return;
    (void)error_prefix(&said, counts ? "on another HAProxy, too" : "CONFIG_ROLLBACK is not serving");
    configuration_report(t, &said);
}

static bool canary_is_good(const struct target *t)
{
    return t->own == NULL && t->progress == PROGRESS_APPLIED && t->probation.state == PROBATION_GOOD;
}

static void canary_pass(struct configuration *c)
{
    size_t members = 0, good = 0;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        members += t->canary;
        good += t->canary && canary_is_good(t);
    }
    if (!canary_goes_on(c) || members == 0 || good < members)
        return;
    c->canary_passed = true;
    log_info(c->options.log, "canary passed; the others get the configuration", log_str("sha256", c->document->hash),
             log_int("targets", (int64_t)members));
    configuration_tell(c, CONFIGURATION_CANARY_PASSED, NULL, NULL);
}

/* It is what is gone back to from now on; the next document is compared with what runs now. */
static void canary_prove(struct configuration *c)
{
    size_t good = 0;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (!canary_is_good(t) && !t->away && !t->joins)
            return;
        good += canary_is_good(t) && !t->joins;
    }
    if (good == 0)
        return;
    store_prove(c->options.store, c->document->id);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (!t->joins)
            probation_forget(&t->probation);
}

void canary_step(struct configuration *c)
{
    if (c->document == NULL || c->next != NULL)
        return; /* a newer one is about to come */
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        canary_judge(t);
    if (rollback_step(c))
        return;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        t->joins = t->joins && !canary_is_good(t); /* it belongs to them from now on */
    canary_pass(c);
    canary_prove(c);
}

/* ---- what it says ---- */

bool configuration_is_rolled_back(const struct configuration *c)
{
    return c->version != 0 && store_held_why(c->options.store) != NULL;
}

static bool canary_waits(const struct target *t)
{
    return canary_goes_on(t->of) && !t->canary && canary_is_ready(t) && configuration_may_write(t->of);
}

size_t configuration_waiting_for_canary(const struct configuration *c)
{
    size_t count = 0;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        count += canary_waits(t);
    return count;
}

const char *canary_evidence(const struct target *t)
{
    if (t->probation.state == PROBATION_BAD)
        return t->probation.evidence.message;
    return configuration_is_rolled_back(t->of) ? store_held_why(t->of->options.store) : NULL;
}

void canary_view(const struct target *t, struct configuration_view *ret)
{
    const struct configuration *c = t->of;
    const struct probation *p = &t->probation;
    bool first = t->canary && canary_goes_on(c);
    ret->evidence = canary_evidence(t);
    ret->withdrawn = configuration_is_rolled_back(c) && c->withdrawn != NULL ? c->withdrawn->hash : NULL;
    if (ret->evidence != NULL)
        ret->status = STATUS_PROBLEM;
    if (first && p->state == PROBATION_GOES_ON) {
        ret->canary = "watched";
        ret->canary_until_ms = p->since_ms + p->time_ms;
    } else if (first && (p->state == PROBATION_BAD || t->load_failed)) {
        ret->canary = "failed";
    } else if (canary_waits(t)) {
        ret->canary = "waits";
    }
}
