/* The rules: from what is at a place to a verdict, and from all verdicts to one server for each name. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/desired/desired_internal.h"

bool place_is_usable(const struct run *r, const struct place *p)
{
    if (r->all)
        return r->ready.first != NULL || r->leaving.first != NULL;
    return p->ready.first != NULL || (p->leaving.first != NULL && !r->any_ready);
}

/* ---- the port ---- */

bool cause_is_undecided(enum cause c)
{
    return c == CAUSE_NOT_AT_NODE || c == CAUSE_NO_PORT_AT_ALL;
}

/* Why the endpoints of t give no port. */
static enum cause desired_decide_find_port(const struct run *r, const struct place *p, const struct tally *t,
                                           uint16_t *ret)
{
    if (!place_needs_own_port(r, p)) {
        *ret = r->port.number;
        return CAUSE_NONE;
    }
    *ret = t->own_port;
    if (t->own_port != 0)
        return CAUSE_NONE;
    if (t->elsewhere != NULL)
        return !t->same_family && r->any_same_family ? CAUSE_OTHER_FAMILY : CAUSE_NOT_AT_NODE;
    return r->any_port || r->port.source != PORT_ENDPOINT ? CAUSE_NO_PORT : CAUSE_NO_PORT_AT_ALL;
}

/* ---- one place ---- */

static bool is_barred(const struct place *p)
{
    return p->cause != CAUSE_NONE;
}

static void desired_decide_refuse(struct place *p, enum cause cause)
{
    p->cause = cause;
    p->sign = cause == CAUSE_EXCLUDED || cause == CAUSE_TERMINATING || cause == CAUSE_OTHERS_READY ? SIGN_EXCLUDED
                                                                                                   : SIGN_GONE;
}

static void desired_decide_use(struct place *p, const struct tally *by, uint16_t port, enum server_sign sign)
{
    p->by = by;
    p->port = port;
    p->sign = sign;
}

static enum cause cause_of_best(const struct place *p)
{
    if (p->best == NULL)
        return CAUSE_NO_ENDPOINT;
    switch ((enum rank)p->best->rank) {
    case RANK_UNSERVED:
        return CAUSE_UNSERVED;
    case RANK_TERMINATING:
        return CAUSE_TERMINATING;
    default:
        return CAUSE_NOT_READY;
    }
}

static void judge_by_endpoints(const struct run *r, struct place *p)
{
    enum cause cause = CAUSE_NONE;
    uint16_t port;
    if (p->ready.first != NULL) {
        cause = desired_decide_find_port(r, p, &p->ready, &port);
        if (cause == CAUSE_NONE) {
            desired_decide_use(p, &p->ready, port, SIGN_USABLE);
            return;
        }
    }
    if (p->leaving.first != NULL) {
        enum cause second = desired_decide_find_port(r, p, &p->leaving, &port);
        if (second == CAUSE_NONE) {
            desired_decide_use(p, &p->leaving, port, r->any_ready ? SIGN_LEAVING : SIGN_ENDING);
            return;
        }
        if (cause == CAUSE_NONE)
            cause = r->any_ready ? CAUSE_OTHERS_READY : second;
    }
    desired_decide_refuse(p, cause != CAUSE_NONE ? cause : cause_of_best(p));
}

/* A ready endpoint counts only if it can become a server: that of an excluded node makes no other server drain. */
bool place_stands_ready(const struct run *r, const struct place *p)
{
    uint16_t port;
    return !is_barred(p) && p->ready.first != NULL && desired_decide_find_port(r, p, &p->ready, &port) == CAUSE_NONE;
}

/* ---- one name ---- */

static int sign_order(enum server_sign sign)
{
    switch (sign) {
    case SIGN_USABLE:
    case SIGN_ENDING:
        return 0;
    case SIGN_LEAVING:
        return 1;
    case SIGN_EXCLUDED:
        return 2;
    case SIGN_GONE:
        break;
    }
    return 3;
}

static int desired_decide_place_order(const void *a, const void *b)
{
    const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
    int order = strcmp(x->server != NULL ? x->server : "", y->server != NULL ? y->server : "");
    if (order == 0)
        order = sign_order(x->sign) - sign_order(y->sign);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : (int)y->named - (int)x->named;
}

/* ---- all places ---- */

static char *desired_decide_find_problem(struct run *r)
{
    if (r->port.source == PORT_UNDECIDED)
        return mem_strdup(r->port.problem);
    if (r->all && r->port.source == PORT_ENDPOINT)
        return problem_all_needs_port(r);
    if (r->several_ports)
        return problem_several_ports(r);
    for (size_t i = 0; i < r->place_count; i++)
        if (cause_is_undecided(r->order[i]->cause))
            return problem_of_place(r, r->order[i]);
    return NULL;
}

void run_judge(struct run *r)
{
    r->any_ready = r->rest.ready;
    for (size_t i = 0; i < r->place_count && !r->any_ready; i++)
        r->any_ready = place_stands_ready(r, &r->places[i]);
    for (size_t i = 0; i < r->place_count; i++) {
        struct place *p = &r->places[i];
        if (is_barred(p))
            desired_decide_refuse(p, p->cause);
        else if (!r->all)
            judge_by_endpoints(r, p);
        else if (r->ready.first == NULL && r->leaving.first == NULL)
            desired_decide_refuse(p, p->best != NULL ? cause_of_best(p) : CAUSE_NONE_USABLE);
        else
            desired_decide_use(p, NULL, r->port.number, SIGN_USABLE);
    }
    r->order = mem_array(r->place_count, sizeof(struct place *));
    for (size_t i = 0; i < r->place_count; i++)
        r->order[i] = &r->places[i];
    if (r->place_count > 1)
        qsort(r->order, r->place_count, sizeof(struct place *), desired_decide_place_order);
    r->problem = desired_decide_find_problem(r);
}

void run_settle(struct run *r)
{
    uint64_t drain_ms = r->rules->drain_timeout_ms;
    struct server_states *states = r->problem == NULL ? r->in->states : NULL;
    if (states != NULL)
        (r->part ? server_states_resume : server_states_begin)(states, r->in->now_ms, drain_ms);
    struct place *winner = NULL;
    for (size_t i = 0; i < r->place_count; i++) {
        struct place *p = r->order[i];
        /* Of the places of one name the first has it. Two spellings of one address are one server; two nodes are not. */
        if (winner != NULL && p->server != NULL && str_eq(winner->server, p->server)) {
            p->step = winner->step;
            if (p->cause != CAUSE_NONE)
                continue;
            p->cause = p->named || winner->named ? CAUSE_NAME_TAKEN : CAUSE_SAME_SERVER;
            p->winner = winner;
            continue;
        }
        if (states != NULL && p->server != NULL)
            p->step = server_states_see(states, p->server, p->sign);
        else if (p->sign == SIGN_USABLE || p->sign == SIGN_ENDING)
            p->step = (struct server_step){.state = SERVER_LIVE};
        else if (p->sign == SIGN_LEAVING && drain_ms > 0)
            p->step = (struct server_step){.state = SERVER_DRAINING, .until_ms = r->in->now_ms + drain_ms};
        else
            p->step = (struct server_step){.state = SERVER_OUT, .announced = p->sign != SIGN_GONE};
        if (p->cause == CAUSE_NONE && p->step.state == SERVER_OUT)
            p->cause = CAUSE_DRAINED;
        winner = p;
    }
}
