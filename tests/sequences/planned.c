/* What the daemon answers to `plan`, against what it decides, of the same reading. */
#include "base/mem.h"
#include "base/str.h"
#include "daemon/inspect/inspect.h"
#include "daemon/inspect/inspect_report.h"
#include "servers/servers_internal.h"
#include "world.h"

/* "verdict 2: change n1 parked, remove n2; kept n3 until 7; ready n4; write n1; reload" */
static char *told(const struct plan *p, const struct route *r)
{
    static const char *const ops[] = {[DIFF_ADD] = "add", [DIFF_CHANGE] = "change", [DIFF_REMOVE] = "remove"};
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "verdict %d:", (int)p->verdict);
    for (size_t i = 0; i < p->diff.change_count; i++)
        buf_printf(&b, " %s %s%s,", ops[p->diff.changes[i].op], p->diff.changes[i].server.name,
                   p->diff.changes[i].parks ? " parked" : "");
    for (size_t i = 0; i < p->held_back; i++)
        buf_printf(&b, " kept %s until %llu,", p->held[i].server, (unsigned long long)p->held[i].until_ms);
    for (size_t i = 0; r != NULL && i < r->command_count; i++)
        buf_printf(&b, " %s %s,", runtime_admin_name(r->commands[i].state), r->commands[i].name);
    for (size_t i = 0; r != NULL && i < r->update_count; i++)
        buf_printf(&b, " write %s,", p->diff.changes[r->updates[i].change].server.name);
    buf_add(&b, r != NULL && r->transaction ? " reload" : "");
    return buf_take(&b);
}

/* Nothing is on its way that the reading may not show, and that `plan`, which reads later, would see. */
static bool rests(const struct servers_backend *s)
{
    const struct backend_decision_input in = servers_decision_input((struct servers_backend *)(uintptr_t)s);
    const struct instance_view v = instance_view(s->engine->instance);
    for (size_t i = 0; i < s->states.count; i++)
        if (s->states.marks[i].unseen || s->states.marks[i].late_periods > 0 || s->states.marks[i].in_file)
            return false;
    return s->have_desired && s->states.known && s->at->was_read && s->at->unreadable.kind == ERROR_NONE && v.fresh &&
           !v.stopping && in.at.being_written == NULL && in.at.being_stopped == NULL &&
           instance_at_rest(s->engine->instance) && instance_view(s->engine->instance).worker == WORKER_SAME;
}

static void compare(struct api *a, struct servers_backend *s, const struct inspect_backend *b)
{
    cleanup(plan_fini) struct plan plan = {0};
    cleanup(route_fini) struct route route = {0};
    cleanup(loss_limit_fini) struct loss_limit losses;
    struct backend_decision_input in = servers_decision_input(s);
    bool only_shown = backend_decision_suspended(&in);
    loss_limit_copy(&losses, &s->loss_limit); /* a reading is no report */
    in.loss_limit = &losses;
    backend_decision_plan(&in, &plan);
    backend_decision_route(&in, &plan, &route);
    /* What is shown while a conflict pauses writes is how a transaction would write it, which the daemon does not plan yet. */
    bool pauses = in.conflict && !only_shown;
    if (pauses && (plan.verdict == PLAN_WRITE) != (b->plan.verdict == PLAN_NOT_WRITTEN))
        violate(a->world, "planned", "%s backend %s: writes pause, and it answers verdict %d", a->url, s->name,
                (int)b->plan.verdict);
    cleanup(mem_free_ptr) char *is = only_shown ? told(&b->plan, NULL) : told(&b->first, pauses ? NULL : &b->choice);
    cleanup(mem_free_ptr) char *should = told(&plan, only_shown || pauses ? NULL : &route);
    /* What follows the first updates is added to the commands. */
    if (!str_eq(is, should) && (b->choice.update_count == 0 || only_shown))
        violate(a->world, "planned", "%s backend %s: it answers\n%s\nand it does\n%s", a->url, s->name, is, should);
}

void check_planned(struct api *a)
{
    struct targets *targets = a->world->targets;
    struct servers *e = targets_at(targets, a->number)->servers;
    const struct servers_options *o = &e->options;
    cleanup(inspect_report_fini) struct inspect_report r;
    struct mapping list[OURS] = {0};
    const struct mappings mappings = {.list = list, .count = OURS};
    const struct inspect_of of = {.mappings = &mappings, .targets = targets, .rules = &o->rules};
    inspect_report_init(&r, targets_count(targets), OURS);
    for (size_t i = 0; i < OURS; i++) {
        struct servers_backend *s = &e->backends[i];
        list[i].backend = conf_backends[i];
        r.mappings[i].desired = desired_ref(s->by_node);
        if (s->parking != NULL) /* as the next decision does */
            parking_refresh(s->parking, &s->at->actual, s->desired, &o->rules.diff, o->node_exists, o->node_arg,
                            a->world->now_us / 1000);
    }
    inspect_fill(&of, &r);
    struct inspect_target *t = &r.targets[a->number];
    r.node_exists = o->node_exists;
    r.node_arg = o->node_arg;
    for (size_t i = 0; i < OURS; i++)
        t->backends[i].seen = t->backends[i].seen && rests(&e->backends[i]);
    inspect_decide(&r, t);
    for (size_t i = 0; i < OURS; i++)
        if (t->backends[i].seen)
            compare(a, &e->backends[i], &t->backends[i]);
}
