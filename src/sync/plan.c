#include "sync/plan.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

#define NAMES_SHOWN 5

/* Nothing in the file stands against a write but that it lacks what the API shows. With a reload that failed, that is no
 * riddle: the file went back, and an empty commit brings it up to what the API has. */
static bool file_is_behind(const struct backend *actual)
{
    for (size_t i = 0; i < actual->alien_count; i++)
        if (!actual->aliens[i].only_shown)
            return false;
    return actual->exists && actual->alien_count > 0;
}

static enum plan_verdict verdict_of(enum diff_verdict verdict, const struct backend *actual, bool dirty)
{
    switch (verdict) {
    case DIFF_WRITE:
        return PLAN_WRITE;
    case DIFF_REFUSE:
        return dirty && file_is_behind(actual) ? PLAN_RELOAD_AGAIN : PLAN_REFUSE;
    case DIFF_HOLD:
        return dirty ? PLAN_RELOAD_AGAIN : PLAN_HOLD;
    case DIFF_NOTHING:
        break;
    }
    return dirty ? PLAN_RELOAD_AGAIN : PLAN_IN_STEP;
}

/* ---- the brake ---- */

/* "n1, n2 and 3 more": the servers whose loss was not announced. */
static char *names_of_losses(const struct diff *d)
{
    struct buf b;
    size_t count = 0;
    buf_init(&b, 0);
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        if (!c->loss || c->announced || count++ >= NAMES_SHOWN)
            continue;
        buf_printf(&b, "%s%s", count > 1 ? ", " : "", c->server.name);
    }
    if (count > NAMES_SHOWN)
        buf_printf(&b, " and %zu more", count - NAMES_SHOWN);
    return buf_take(&b);
}

/* After a time without a wish, or with an empty one, the clock begins anew: a control plane that recovers fills up step by
 * step, and what it has not told again yet is not lost. */
static bool must_brake(const struct diff *d, const struct desired *wish, const struct plan_rules *rules,
                       struct brake *brake, uint64_t now_ms, uint64_t *ret_until_ms)
{
    if (wish->state != DESIRED_OK) {
        *brake = (struct brake){0};
        return false;
    }
    return d->verdict != DIFF_REFUSE && brake_holds(brake, d->live_count, d->loss_count, rules->max_loss_percent,
                                                    rules->brake_ms, now_ms, ret_until_ms);
}

/* Of how many: servers that came since the loss began are not among them. */
static size_t live_before(const struct diff *d, const struct brake *brake)
{
    size_t live = brake->live < d->live_count ? brake->live : d->live_count;
    return live < d->loss_count ? d->loss_count : live;
}

static void hold_back(struct plan *p, const struct plan_rules *rules, const struct brake *brake, bool dirty)
{
    struct diff *d = &p->diff;
    p->held_back = d->loss_count;
    p->held_names = names_of_losses(d);
    p->text = mem_printf("%zu of %zu live servers would go at once (%s), more than MAX_LOSS_PERCENT=%u allows without "
                         "an announcement; they stay for one RESYNC_PERIOD and go then, unless they are wanted again",
                         d->loss_count, live_before(d, brake), p->held_names, rules->max_loss_percent);
    p->why = p->text;
    if (!diff_withhold_losses(d))
        p->verdict = dirty ? PLAN_RELOAD_AGAIN : PLAN_BRAKE;
}

/* ---- writing is not wanted ---- */

static void withhold(struct plan *p, const struct desired *wish, const struct plan_rules *rules)
{
    if (p->verdict != PLAN_WRITE && p->verdict != PLAN_RELOAD_AGAIN)
        return;
    if (!wish->paused && !rules->dry_run)
        return;
    const char *paused =
        "the Service has the annotation haproxy-k8s-sync/paused: nothing is written until it is removed";
    char *braked = p->held_back > 0 ? p->text : NULL;
    p->text = mem_printf("%s%s%s%s%s", rules->dry_run ? "DRY_RUN=true: nothing is written" : "",
                         rules->dry_run && wish->paused ? "; " : "", wish->paused ? paused : "",
                         braked != NULL ? "; besides, " : "", braked != NULL ? braked : "");
    free(braked);
    p->why = p->text;
    p->verdict = PLAN_WITHHELD;
}

void plan_make(const struct backend *actual, const struct desired *wish, const struct plan_rules *rules, bool dirty,
               struct brake *brake, uint64_t now_ms, struct plan *ret)
{
    *ret = (struct plan){.verdict = PLAN_WAIT};
    if (wish->state == DESIRED_NOT_SYNCED || wish->state == DESIRED_UNDECIDED) {
        ret->why = ret->text = mem_strdup(wish->problem); /* the plan may outlive the wish */
        *brake = (struct brake){0};
        return;
    }
    diff_compute(actual, wish, &rules->diff, &ret->diff);
    ret->verdict = verdict_of(ret->diff.verdict, actual, dirty);
    ret->why = ret->diff.why;
    if (must_brake(&ret->diff, wish, rules, brake, now_ms, &ret->brake_until_ms))
        hold_back(ret, rules, brake, dirty);
    withhold(ret, wish, rules);
}

void plan_fini(struct plan *p)
{
    diff_fini(&p->diff);
    free(p->text);
    free(p->held_names);
    *p = (struct plan){0};
}

const char *plan_verdict_name(enum plan_verdict v)
{
    static const char *const names[] = {
        [PLAN_WAIT] = "waiting",      [PLAN_IN_STEP] = "in step",
        [PLAN_WRITE] = "changes",     [PLAN_RELOAD_AGAIN] = "reload again",
        [PLAN_HOLD] = "holding",      [PLAN_BRAKE] = "braked",
        [PLAN_WITHHELD] = "withheld", [PLAN_REFUSE] = "refused",
    };
    return names[v];
}
