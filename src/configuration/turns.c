/* Whose turn it is: what each HAProxy may do, by what all of them have made of the document so far. */
#include "base/clock.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/instance.h"

/* While one document comes after another: when the latest is tried to its end whatever comes. */
#define PATIENCE_MS 1000u

struct target *target_next(const struct configuration *c, const struct target *t)
{
    for (size_t i = t != NULL ? t->number + 1 : 0; i < c->count; i++)
        if (c->targets[i] != NULL)
            return c->targets[i];
    return NULL;
}

bool target_is_alone(const struct target *t)
{
    return target_next(t->of, NULL) == t && target_next(t->of, t) == NULL;
}

/* ---- what the listener gets ---- */

void configuration_tell_why(const struct configuration *c, enum configuration_event_kind kind, const struct target *t,
                            const char *reason, const struct error *err)
{
    const struct configuration_listener *l = &c->options.listener;
    if (t != NULL && t->own != NULL && kind != CONFIGURATION_GONE)
        return; /* events are of the latest document */
    const struct configuration_event e = {.kind = kind,
                                          .target = t != NULL ? t->number : 0,
                                          .url = t != NULL ? target_url(t) : NULL,
                                          .document = kind != CONFIGURATION_REFUSED ? c->document : NULL,
                                          .reason = reason,
                                          .error = err};
    if (l->happened != NULL)
        l->happened(l->arg, &e);
}

void configuration_tell(const struct configuration *c, enum configuration_event_kind kind, const struct target *t,
                        const struct error *err)
{
    configuration_tell_why(c, kind, t, NULL, err);
}

/* ---- the document ---- */

bool configuration_rejected(const struct configuration *c)
{
    bool rejected = false;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        rejected = rejected || (t->sent.progress == PROGRESS_REJECTED && !t->watch.joins);
    return rejected;
}

bool configuration_writes(const struct configuration *c)
{
    return !c->options.dry_run && !c->paused;
}

/* A rejection by one stops all; one that does not answer is no rejection, and one that joins stops itself alone. */
static bool configuration_may_write(const struct configuration *c)
{
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (t->watch.joins)
            continue;
        if (t->sent.progress == PROGRESS_REJECTED || t->sent.progress == PROGRESS_RESTORING ||
            t->sent.progress == PROGRESS_RESTORED)
            return false;
        if (t->sent.progress == PROGRESS_NEW && !target_is_valid(t) && !t->failed.away)
            return false;
    }
    return configuration_writes(c) && !c->document->trial;
}

bool target_may_write(const struct target *t)
{
    return t->own != NULL ? configuration_writes(t->of) : configuration_may_write(t->of);
}

bool target_may_repair(const struct target *t)
{
    return t->of->options.drift == CONFIGURATION_DRIFT_REPAIR && configuration_writes(t->of);
}

bool target_is_valid(const struct target *t)
{
    const struct document *d = target_document(t);
    const struct target_sent *s = &t->sent;
    bool is_written = d != NULL && s->asked == d && s->writing == d;
    if (s->progress == PROGRESS_VALID || is_written)
        return true;
    /* HAProxy itself checks runtime commands, in a tenth of the time that `haproxy -c` takes, and takes all of them
     * or none. What it refuses is validated then. Of several HAProxies none gets what another one might refuse. */
    return s->progress == PROGRESS_NEW && s->files != FILES_NEW && !t->failed.away &&
           (t->has.effect != CFG_EFFECT_NONE || s->files_changed) && (target_is_alone(t) || target_is_plain(t)) &&
           target_by_runtime(t) && configuration_writes(t->of) && d != NULL && !d->trial;
}

bool configuration_waits(const struct configuration *c, uint64_t now_ms)
{
    return !c->begun && now_ms < c->not_before_ms;
}

void configuration_begin(struct configuration *c, bool reloads)
{
    c->begun = true;
    if (reloads)
        c->not_before_ms = clock_mono_ms() + c->options.min_interval_ms;
}

/* ---- the first ones ---- */

bool canary_goes_on(const struct configuration *c)
{
    return c->options.canary > 0 && c->document != NULL && c->version == 0 && !c->canary_passed &&
           !store_is_proven(c->options.store, c->document->id);
}

bool canary_lets(const struct target *t)
{
    struct configuration *c = t->of;
    if (!t->watch.probation.asked)
        return false;
    if (t->own != NULL || !canary_goes_on(c))
        return true;
    canary_choose(c);
    return t->watch.canary;
}

/* It may be written to. */
static bool canary_is_ready(const struct target *t)
{
    return target_is_unwritten(t) && target_is_valid(t) && !t->failed.restores;
}

/* First those that have it, from before a restart or without an answer that said so; then those that answer, and of
 * these first those that do not join. */
void canary_choose(struct configuration *c)
{
    size_t count = 0;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        struct target_watch *w = &t->watch;
        bool has_document = t->own == NULL && target_has_document(t);
        /* It is being written there, or was there already when another writer changed the file. Once it was watched
         * no other one gets it before that has ended, also where it does not answer any more, which may be by this
         * document. */
        bool written = t->sent.writing == c->document || w->written;
        bool begun = (written && !t->failed.away) || w->probation.state != PROBATION_NONE;
        w->canary = w->canary && (has_document || begun);
        count += w->canary;
    }
    for (int round = 0; round < 3; round++)
        for (struct target *t = target_next(c, NULL); t != NULL && count < c->options.canary; t = target_next(c, t)) {
            struct target_watch *w = &t->watch;
            bool fits =
                t->own == NULL && (round == 0 ? target_has_document(t)
                                              : canary_is_ready(t) && !t->failed.away && (round == 2 || !w->joins));
            if (w->canary || !fits)
                continue;
            w->canary = true;
            w->joins = false; /* what becomes of it concerns all others */
            count++;
        }
}

bool canary_waits(const struct target *t)
{
    return canary_goes_on(t->of) && !t->watch.canary && canary_is_ready(t) && configuration_may_write(t->of);
}

/* Before the write; and while others have it, to tell what it does from what happens anyhow. */
static bool canary_reads_beside(const struct target *t)
{
    return canary_is_ready(t) && target_may_write(t);
}

uint64_t canary_due(const struct target *t)
{
    if (t->sent.progress == PROGRESS_APPLIED)
        return probation_due(&t->watch.probation);
    return canary_reads_beside(t) && t->watch.probation.asked && canary_goes_on(t->of) ? t->watch.probation.next_ms : 0;
}

bool canary_wants_reading(const struct target *t, uint64_t now_ms)
{
    uint64_t due = canary_due(t);
    if (canary_reads_beside(t) && !t->watch.probation.asked)
        return true;
    return due != 0 && now_ms >= due && instance_at_rest(t->in);
}

/* ---- the next document ---- */

bool configuration_next_is_due(const struct configuration *c)
{
    return c->next != NULL && !configuration_keeps(c, c->next_version);
}

/* One who changes an object all the time keeps no other change from HAProxy. What is rolled back to a version is
 * tried no more. */
bool configuration_keeps(const struct configuration *c, unsigned next_version)
{
    uint64_t now_ms = clock_mono_ms(), untried_ms = now_ms - c->tried_ms;
    bool due = next_version == 0 && untried_ms >= PATIENCE_MS && untried_ms < CONFIGURATION_PATIENCE_MAX_MS &&
               !configuration_waits(c, now_ms);
    if (c->document == NULL)
        return false;
    /* Files of one document never meet a haproxy.cfg of another: what was written with them is loaded and verified,
     * or taken back, before the next one begins. */
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (t->in != NULL && target_files_half_way(t))
            return true;
    return due && !configuration_was_tried(c);
}

bool target_files_half_way(const struct target *t)
{
    const struct document *d = target_document(t);
    const struct target_sent *s = &t->sent;
    /* A write without an answer that the file does not have, read after it, was not carried out. */
    bool written = t->has.unloaded && (!instance_view(t->in).fresh || target_file_means(t, d->content));
    bool sent = s->writing == d && (s->asked == d || written);
    bool ends = s->progress == PROGRESS_WRITTEN || s->progress == PROGRESS_RESTORING ||
                s->progress == PROGRESS_RESTORED || t->failed.restores ||
                (s->progress == PROGRESS_APPLIED && s->files == FILES_WRITTEN);
    return d->with_files && (ends || sent) && !t->of->paused && !instance_view(t->in).away;
}

/* Or cannot be tried now, for whatever reason: nothing is lost with it. */
bool configuration_was_tried(const struct configuration *c)
{
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        bool stays = c->document->trial || !configuration_writes(c) || (c->options.canary > 0 && !canary_lets(t));
        bool begins = (t->sent.progress == PROGRESS_VALID && !stays) ||
                      (t->sent.progress == PROGRESS_NEW && t->failed.repairs == 0);
        bool goes_on = t->sent.progress == PROGRESS_WRITTEN || (begins && !configuration_rejected(c));
        if (goes_on && t->in != NULL && !t->failed.away)
            return false;
    }
    return true;
}
