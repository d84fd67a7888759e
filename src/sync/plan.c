#include "sync/plan.h"

static enum plan_verdict verdict_of(enum diff_verdict verdict, bool dirty)
{
    switch (verdict) {
    case DIFF_WRITE:
        return PLAN_WRITE;
    case DIFF_REFUSE:
        return PLAN_REFUSE;
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
    ret->verdict = verdict_of(ret->diff.verdict, dirty);
    ret->why = ret->diff.why;
}

void plan_fini(struct plan *p)
{
    diff_fini(&p->diff);
    *p = (struct plan){0};
}
