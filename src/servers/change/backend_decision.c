#include "servers/change/backend_decision.h"

bool backend_decision_suspended(const struct backend_decision_input *in)
{
    return !in->as_if && (in->rules->dry_run || in->at.desired->paused);
}

void backend_decision_plan(const struct backend_decision_input *in, struct plan *ret)
{
    cleanup(loss_limit_fini) struct loss_limit none = {0};
    struct plan_rules rules = *in->rules;
    rules.file_problem = in->file_problem;
    rules.diff.parking = in->parking;
    rules.diff.others_up = diff_others_up(in->at.actual, in->at.runtime, &rules.diff);
    /* A plan that is only shown is as a transaction would do it, because runtime commands are no part of a
     * difference. */
    rules.diff.sets_check_port = in->at.sets_check_port;
    rules.diff.runtime = in->at.open && !in->for_file && !backend_decision_suspended(in);
    plan_make(in->at.actual, in->at.desired, &rules, in->dirty, in->loss_limit != NULL ? in->loss_limit : &none,
              in->now_ms, ret);
}

/* Whether anything may be written, or commanded, by this plan. */
static bool backend_decision_may_act(const struct backend_decision_input *in, enum plan_verdict v)
{
    /* Where the file is as desired there is no conflict; earlier runtime commands are taken back. */
    if (backend_decision_suspended(in) || (v != PLAN_IN_SYNC && in->conflict))
        return false;
    if (v == PLAN_REFUSE) /* what HAProxy is commanded is in no file: drains go on */
        return in->file_problem != NULL;
    return v != PLAN_WAIT && v != PLAN_NO_ENDPOINT;
}

void backend_decision_route(const struct backend_decision_input *in, const struct plan *p, struct route *ret)
{
    struct route_input at = in->at;
    at.diff = &p->diff;
    at.rules = &in->rules->diff;
    at.may_write = backend_decision_may_act(in, p->verdict);
    route_choose(&at, ret);
}

bool backend_decision_joins(const struct backend_decision_input *in, enum plan_verdict v)
{
    const struct desired *desired = in->at.desired;
    bool drains = false;
    for (size_t i = 0; i < desired->server_count; i++)
        drains = drains || desired->servers[i].state == SERVER_DRAINING;
    return drains && in->at.open && !in->conflict &&
           (v == PLAN_IN_SYNC || v == PLAN_LOSS_LIMIT || v == PLAN_RELOAD_AGAIN);
}
