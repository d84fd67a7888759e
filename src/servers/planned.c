/* Whether the plan and the route of a backend still stand: most events are about another backend, and most readings find
 * what was there before. */
#include <stdlib.h>

#include "servers/servers_internal.h"

void servers_replan(struct servers_backend *s)
{
    s->planned.stands = false;
}

/* What a plan also depends on, and no event of this backend tells. Where any of it is so, nothing stands. */
static bool planned_is_ordinary(const struct backend_decision_input *in)
{
    return in->at.being_written == NULL && in->at.being_stopped == NULL && in->file_problem == NULL && !in->dirty &&
           !in->conflict && !in->at.desired->paused && in->loss_limit->count == 0;
}

static uint64_t planned_parking(const struct servers_backend *s)
{
    return s->parking != NULL ? parking_changes(s->parking) : 0;
}

void servers_planned(struct servers_backend *s, const struct backend_decision_input *in)
{
    const struct route *r = &s->route;
    s->planned.open = in->at.open;
    s->planned.parking = planned_parking(s);
    s->planned.stands = planned_is_ordinary(in) && s->plan.verdict == PLAN_IN_SYNC && r->command_count == 0 &&
                        r->update_count == 0 && !r->transaction;
}

bool servers_plan_stands(const struct servers_backend *s, const struct backend_decision_input *in)
{
    return s->planned.stands && s->planned.open == in->at.open && s->planned.parking == planned_parking(s) &&
           planned_is_ordinary(in);
}

void servers_check_standing(struct servers_backend *s, const struct backend_decision_input *in)
{
#ifdef SERVERS_CHECK_STANDING
    cleanup(plan_fini) struct plan plan = {0};
    cleanup(route_fini) struct route route = {0};
    backend_decision_plan(in, &plan);
    backend_decision_route(in, &plan, &route);
    if (plan.verdict != PLAN_IN_SYNC || plan.diff.managed_count != s->plan.diff.managed_count ||
        plan.diff.parked_count != s->plan.diff.parked_count || plan.diff.change_count != s->plan.diff.change_count ||
        plan.diff.skip_count != s->plan.diff.skip_count || route.command_count > 0 || route.update_count > 0 ||
        route.transaction)
        abort(); /* something changed what it depends on, and did not say so: servers_replan */
#else
    (void)s;
    (void)in;
#endif
}
