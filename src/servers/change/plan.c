#include "servers/change/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/rfc3339.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define NAMES_SHOWN 5

static enum plan_verdict verdict_of(enum diff_verdict verdict, const struct backend *actual, bool dirty)
{
    bool behind = actual->exists && actual->unsupported_count > 0;
    switch (verdict) {
    case DIFF_WRITE:
        return PLAN_WRITE;
    case DIFF_REFUSE:
        /* Nothing in the file stands against a write but that it lacks what the API shows. With a reload that failed, that
         * is no riddle: the file went back, and an empty commit brings it up to what the API has. */
        for (size_t i = 0; i < actual->unsupported_count; i++)
            behind = behind && actual->unsupported[i].only_shown;
        return dirty && behind ? PLAN_RELOAD_AGAIN : PLAN_REFUSE;
    case DIFF_NO_ENDPOINT:
        return dirty ? PLAN_RELOAD_AGAIN : PLAN_NO_ENDPOINT;
    case DIFF_NOTHING:
        break;
    }
    return dirty ? PLAN_RELOAD_AGAIN : PLAN_IN_SYNC;
}

/* ---- the loss limit ---- */

void plan_note_returns(const struct desired *desired, struct loss_limit *loss_limit)
{
    cleanup(desired_outs_fini) struct desired_outs outs = {.count = 0};
    if (desired->state != DESIRED_OK || loss_limit->count == 0)
        return;
    desired_outs_init(&outs, desired);
    loss_limit_forget(loss_limit, desired_outs_returned, &outs);
}

static void report_losses(const struct diff *d, const struct desired *desired, const struct plan_rules *rules,
                          struct loss_limit *loss_limit, uint64_t now_ms)
{
    cleanup(desired_outs_fini) struct desired_outs outs;
    cleanup(mem_free_ptr) const char **lost = mem_array(d->loss_count, sizeof(lost[0]));
    struct loss_limit_report r = {.lost = lost,
                                  .live = d->live_count,
                                  .max_percent = rules->max_loss_percent,
                                  .period_ms = rules->loss_window_ms,
                                  .now_ms = now_ms,
                                  .returned = desired_outs_returned,
                                  .arg = &outs};
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].loss && !d->changes[i].announced)
            lost[r.lost_count++] = d->changes[i].server.name;
    desired_outs_init(&outs, desired);
    loss_limit_report(loss_limit, &r);
}

/* "n1, n2 and 3 more", or with the time that each stays until. */
static char *names_of_delayed(const struct plan *p, bool with_times, int64_t wall_minus_mono_ms)
{
    char until[RFC3339_BYTES];
    struct text_list list = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < p->held_back; i++) {
        const struct plan_delayed *h = &p->held[i];
        if (!text_list_next(&list))
            continue;
        buf_add(&list.text, h->server);
        rfc3339_format(((int64_t)h->until_ms + wall_minus_mono_ms) * 1000, 3, until);
        if (with_times)
            buf_printf(&list.text, " until %s", until);
    }
    return text_list_take(&list);
}

char *plan_delayed_text(const struct plan *p, int64_t wall_minus_mono_ms)
{
    return names_of_delayed(p, true, wall_minus_mono_ms);
}

const struct plan_delayed *plan_find_delayed(const struct plan *p, const char *server)
{
    return p->held_back > 0 ? bsearch(&server, p->held, p->held_back, sizeof(p->held[0]), str_order) : NULL;
}

static bool plan_is_delayed(const void *arg, const char *server)
{
    return plan_find_delayed(arg, server) != NULL;
}

/* Without a desired state, or with an empty one, each delay begins anew with the next one: a control plane that recovers
 * fills up step by step, and what it does not list again yet is not lost. While the file cannot be compared, time passes. */
static void limit_losses(struct plan *p, const struct desired *desired, const struct plan_rules *rules, bool dirty,
                         struct loss_limit *loss_limit, uint64_t now_ms)
{
    if (p->diff.verdict == DIFF_REFUSE)
        return;
    if (desired->state != DESIRED_OK) {
        loss_limit_suspend(loss_limit);
        return;
    }
    report_losses(&p->diff, desired, rules, loss_limit, now_ms);
    const struct diff *d = &p->diff;
    p->held = mem_array(d->loss_count, sizeof(p->held[0]));
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        uint64_t until_ms;
        if (!c->loss || c->announced || !loss_limit_delays(loss_limit, c->server.name, now_ms, &until_ms))
            continue;
        p->held[p->held_back++] = (struct plan_delayed){mem_strdup(c->server.name), until_ms};
        if (p->delayed_until_ms == 0 || until_ms < p->delayed_until_ms)
            p->delayed_until_ms = until_ms;
    }
    if (p->held_back > 1)
        qsort(p->held, p->held_back, sizeof(p->held[0]), str_order);
    if (p->held_back > 0) {
        p->delayed_names = names_of_delayed(p, false, 0);
        p->text = loss_limit_text(loss_limit, rules->max_loss_percent);
        p->why = p->text;
        if (!diff_withhold_losses(&p->diff, plan_is_delayed, p))
            p->verdict = dirty ? PLAN_RELOAD_AGAIN : PLAN_LOSS_LIMIT;
    }
}

/* ---- the plan ---- */

void plan_make(const struct backend *actual, const struct desired *desired, const struct plan_rules *rules, bool dirty,
               struct loss_limit *loss_limit, uint64_t now_ms, struct plan *ret)
{
    *ret = (struct plan){.verdict = PLAN_WAIT};
    if (desired->state == DESIRED_NOT_SYNCED || desired->state == DESIRED_UNDECIDED) {
        ret->why = ret->text = mem_strdup(desired->problem); /* the plan may outlive the desired state */
        loss_limit_suspend(loss_limit);
        return;
    }
    diff_compute(actual, desired, &rules->diff, &ret->diff);
    ret->verdict = verdict_of(ret->diff.verdict, actual, dirty);
    ret->why = ret->diff.why;
    limit_losses(ret, desired, rules, dirty, loss_limit, now_ms); /* also of what runtime commands do */
    if ((desired->paused || rules->dry_run) && (ret->verdict == PLAN_WRITE || ret->verdict == PLAN_RELOAD_AGAIN)) {
        const char *paused =
            "the Service has the annotation haproxy-k8s-sync/paused: nothing is written until it is removed";
        cleanup(mem_free_ptr) char *delayed = ret->held_back > 0 ? ret->text : NULL;
        ret->text = mem_printf("%s%s%s%s%s", rules->dry_run ? "DRY_RUN=true: nothing is written" : "",
                               rules->dry_run && desired->paused ? "; " : "", desired->paused ? paused : "",
                               delayed != NULL ? "; also, " : "", delayed != NULL ? delayed : "");
        ret->why = ret->text;
        ret->verdict = PLAN_NOT_WRITTEN;
    }
    if (rules->file_problem != NULL && ret->diff.verdict != DIFF_REFUSE) {
        free(ret->text);
        ret->why = ret->text = mem_printf("a write would change the meaning of haproxy.cfg: %s", rules->file_problem);
        ret->verdict = PLAN_REFUSE;
    }
}

void plan_fini(struct plan *p)
{
    diff_fini(&p->diff);
    free(p->text);
    for (size_t i = 0; i < p->held_back; i++)
        free(p->held[i].server);
    mem_free_all(p->held, p->delayed_names);
    *p = (struct plan){0};
}

/* ---- what one backend needs, and which way it goes ---- */

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

void backend_decision_route(const struct backend_decision_input *in, const struct plan *p, struct route *ret)
{
    struct route_input at = in->at;
    enum plan_verdict v = p->verdict;
    at.diff = &p->diff;
    at.rules = &in->rules->diff;
    /* Where the file is as desired there is no conflict; earlier runtime commands are taken back. What HAProxy is commanded
     * is in no file: drains go on where only the file stands against a write. */
    at.may_write = !backend_decision_suspended(in) && (v == PLAN_IN_SYNC || !in->conflict) && v != PLAN_WAIT &&
                   v != PLAN_NO_ENDPOINT && (v != PLAN_REFUSE || in->file_problem != NULL);
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
