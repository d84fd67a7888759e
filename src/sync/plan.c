#include "sync/plan.h"

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

void plan_make(const struct backend *actual, const struct desired *wish, const struct diff_rules *rules, bool dirty,
               struct plan *ret)
{
    *ret = (struct plan){.verdict = PLAN_WAIT, .why = wish->problem};
    if (wish->state == DESIRED_NOT_SYNCED || wish->state == DESIRED_UNDECIDED)
        return;
    diff_compute(actual, wish, rules, &ret->diff);
    ret->verdict = verdict_of(ret->diff.verdict, actual, dirty);
    ret->why = ret->diff.why;
}

void plan_fini(struct plan *p)
{
    diff_fini(&p->diff);
    *p = (struct plan){0};
}
