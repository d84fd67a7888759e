/*
 * What one backend of one HAProxy needs, and which way it goes there: the daemon and `plan` decide here, by what each
 * of them knows. Pure.
 */
#ifndef SERVERS_CHANGE_BACKEND_DECISION_H
#define SERVERS_CHANGE_BACKEND_DECISION_H

#include "servers/change/plan.h"
#include "servers/change/route.h"

struct backend_decision_input {
    struct route_input at; /* what is there and desired; without diff and may_write */
    /* For all backends: parking, file_problem and diff.runtime are those of this one. */
    const struct plan_rules *rules;
    const struct parking *parking;
    const char *file_problem;
    struct loss_limit *loss_limit; /* NULL: nothing was lost before */
    uint64_t now_ms;
    bool dirty;    /* HAProxy may run something else than its file says */
    bool conflict; /* another writer reverts the daemon's changes, so that they pause */
    bool as_if;    /* neither paused nor a dry run: to show what would be done */
    bool for_file; /* the file is to say everything, as a reload forgets what the running HAProxy alone was commanded */
};

bool backend_decision_suspended(const struct backend_decision_input *in);
void backend_decision_plan(const struct backend_decision_input *in, struct plan *ret);
/* Of a plan for that input. */
void backend_decision_route(const struct backend_decision_input *in, const struct plan *p, struct route *ret);
/* What the running HAProxy alone was commanded of this one is to go into another backend's transaction. */
bool backend_decision_joins(const struct backend_decision_input *in, enum plan_verdict verdict);

#endif
