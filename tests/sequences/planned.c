/* What `plan` decides by the memory that /status shows, against what the daemon decides, of the same reading. */
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/daemon_memory.h"
#include "cli/inspect_report.h"
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
    cleanup(loss_limit_fini) struct loss_limit losses = {.over = s->loss_limit.over, .of = s->loss_limit.of};
    struct backend_decision_input in = servers_decision_input(s);
    const struct servers_options *o = &s->engine->options;
    bool only_shown = backend_decision_suspended(&in);
    if (s->parking != NULL) /* as the next decision does */
        parking_refresh(s->parking, &s->at->actual, s->desired, &o->rules.diff, o->node_exists, o->node_arg, in.now_ms);
    for (size_t i = 0; i < s->loss_limit.count; i++) /* a reading is no report */
        loss_limit_recall(&losses, s->loss_limit.losses[i].server, &s->loss_limit.losses[i]);
    in.loss_limit = &losses;
    backend_decision_plan(&in, &plan);
    backend_decision_route(&in, &plan, &route);
    /* What is shown while a conflict pauses writes is how a transaction would write it, which the daemon does not plan yet. */
    bool pauses = in.conflict && !only_shown;
    if (pauses && (plan.verdict == PLAN_WRITE) != (b->plan.verdict == PLAN_NOT_WRITTEN))
        violate(a->world, "planned", "%s backend %s: writes pause, and by /status it is verdict %d", a->url, s->name,
                (int)b->plan.verdict);
    cleanup(mem_free_ptr) char *is = only_shown ? told(&b->plan, NULL) : told(&b->first, pauses ? NULL : &b->choice);
    cleanup(mem_free_ptr) char *should = told(&plan, only_shown || pauses ? NULL : &route);
    /* What follows the first updates is added to the commands. */
    if (!str_eq(is, should) && (b->choice.update_count == 0 || only_shown))
        violate(a->world, "planned", "%s backend %s: by /status it is\n%s\nand the daemon does\n%s", a->url, s->name,
                is, should);
}

void check_planned(struct api *a, yyjson_mut_doc *doc, yyjson_mut_val *haproxies)
{
    struct servers *e = targets_at(a->world->targets, a->number)->servers;
    struct daemon_memory memory = {.settings = NULL};
    struct inspect_report r;
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_val(doc, root, "haproxies", haproxies);
    memory.doc = yyjson_mut_doc_imut_copy(doc, NULL);
    inspect_report_init(&r, 1, OURS);
    const struct inspect_rules rules = {.plan = &e->options.rules,
                                        .park_ttl_ms = e->options.park_ttl_ms,
                                        .node_exists = e->options.node_exists,
                                        .node_arg = e->options.node_arg,
                                        .now_ms = a->world->now_us / 1000,
                                        .daemon = &memory};
    r.targets[0].url = a->url;
    for (size_t i = 0; i < OURS; i++) {
        struct inspect_backend *b = &r.targets[0].backends[i];
        r.mappings[i].backend = conf_backends[i];
        b->seen = rests(&e->backends[i]);
        b->desired = e->backends[i].desired;
        b->actual = e->backends[i].at->actual;
        b->runtime = e->backends[i].at->runtime;
    }
    inspect_decide(&r.targets[0], OURS, &rules);
    for (size_t i = 0; i < OURS; i++) {
        struct inspect_backend *b = &r.targets[0].backends[i];
        if (b->seen)
            compare(a, &e->backends[i], b);
        backend_init(&b->actual); /* borrowed */
        runtime_init(&b->runtime);
    }
    inspect_report_fini(&r);
    daemon_memory_fini(&memory);
}
