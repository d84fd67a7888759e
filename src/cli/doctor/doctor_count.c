#include "cli/doctor/doctor_count.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/cache.h"
#include "model/node_rules.h"

void doctor_group_add(struct doctor_group *groups, const char *reason, const char *name)
{
    size_t i = 0;
    while (i + 1 < DOCTOR_REASONS_MAX && groups[i].names.count > 0 && !str_eq(groups[i].reason, reason))
        i++;
    struct doctor_group *g = &groups[i];
    if (g->names.count == 0)
        *g = (struct doctor_group){.reason = reason, .names = {.between = ", ", .max = DOCTOR_NAMES_SHOWN}};
    if (!str_eq(g->reason, reason))
        g->reason = "several reasons";
    if (text_list_next(&g->names))
        buf_add(&g->names.text, name);
}

char *doctor_groups_text(struct doctor_group *groups)
{
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < DOCTOR_REASONS_MAX && groups[i].names.count > 0; i++) {
        cleanup(mem_free_ptr) char *names = text_list_take(&groups[i].names);
        buf_printf(&text, "%s%s: %s", text.len > 0 ? "; " : "", names, groups[i].reason);
    }
    return buf_take(&text);
}

struct counting {
    const struct node_rules *rules;
    const struct service *service;
    bool strict;
    struct doctor_nodes *ret;
};

static void count_node(void *arg, const void *node)
{
    const struct node *n = node;
    const struct counting *c = arg;
    const char *why = node_exclusion(n, c->rules);
    if (why == NULL && node_address_choose(n, c->rules, c->service, c->strict) == NULL)
        why = "no address of the configured type and family";
    c->ret->all++;
    if (why != NULL) {
        doctor_group_add(c->ret->left_out, why, n->name);
        return;
    }
    c->ret->usable++;
}

void doctor_count_nodes(const struct object_caches *caches, const struct node_rules *rules,
                        const struct service *service, bool strict, struct doctor_nodes *ret)
{
    *ret = (struct doctor_nodes){0};
    struct counting c = {.rules = rules, .service = service, .strict = strict, .ret = ret};
    cache_each(caches->nodes, count_node, &c);
}

void doctor_nodes_fini(struct doctor_nodes *n)
{
    for (size_t i = 0; i < DOCTOR_REASONS_MAX; i++)
        buf_fini(&n->left_out[i].names.text);
}

static void count_set(void *arg, const void *object)
{
    const struct endpoint_set *set = object;
    struct doctor_endpoints *ret = arg;
    ret->objects++;
    for (size_t g = 0; g < set->group_count; g++) {
        for (size_t i = 0; i < set->groups[g].endpoint_count; i++) {
            const struct endpoint *e = &set->groups[g].endpoints[i];
            ret->all++;
            ret->ready += e->ready;
        }
    }
}

void doctor_count_endpoints(const struct object_caches *caches, struct doctor_endpoints *ret)
{
    *ret = (struct doctor_endpoints){.slices = cache_synced(caches->slices)};
    cache_each(ret->slices ? caches->slices : caches->endpoints, count_set, ret);
}
