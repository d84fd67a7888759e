#include "servers/change/release_plan.h"

#include <stdlib.h>

#include "base/mem.h"

static char *release_refusal(const struct backend *b, const struct release_plan *p, bool servers)
{
    for (size_t i = 0; i < b->unsupported_count; i++)
        if (!b->unsupported[i].only_shown)
            return mem_printf("line %u of haproxy.cfg would be damaged by a write (%s): %s", b->unsupported[i].line,
                              b->unsupported[i].text, b->unsupported[i].reason);
    if (!servers && p->kept == 0 && p->others_live == 0 && p->removed_count > 0)
        return mem_printf("no server of backend %s is live, and %zu %s parked: without them it would have none. To "
                          "remove them all the same: haproxy-k8s-sync release --servers",
                          b->name, p->removed_count, p->removed_count == 1 ? "is" : "are");
    return NULL;
}

static void release_judge_running(const struct backend_server *line, const struct runtime *runtime, size_t *at,
                                  struct release_plan *p)
{
    const struct runtime_server *runs = runtime->readable ? runtime_find_next(runtime, line->name, at) : NULL;
    if (runs == NULL)
        return;
    if (runs->admin == RUNTIME_DRAIN)
        p->undrained[p->undrained_count++] = mem_strdup(line->name);
    else if (runs->admin == RUNTIME_MAINT)
        p->by_operator[p->by_operator_count++] = mem_strdup(line->name);
}

void release_plan_make(const struct backend *actual, const struct runtime *runtime, const struct diff_rules *rules,
                       bool servers, struct release_plan *ret)
{
    struct release_plan p = {0};
    size_t at = 0, count = actual->server_count;
    p.removed = mem_array(count, sizeof(p.removed[0]));
    p.undrained = mem_array(count, sizeof(p.undrained[0]));
    p.by_operator = mem_array(count, sizeof(p.by_operator[0]));
    for (size_t i = 0; i < count; i++) {
        const struct backend_server *line = &actual->servers[i];
        if (diff_server_is_foreign(line, rules, NULL)) {
            p.others++;
            p.others_live += !line->backup && !line->maintenance;
        } else if (servers || line->maintenance) {
            backend_server_copy(&p.removed[p.removed_count++], line);
        } else {
            p.kept++;
            release_judge_running(line, runtime, &at, &p);
        }
    }
    char *refused = release_refusal(actual, &p, servers);
    if (refused != NULL) {
        release_plan_fini(&p);
        p.refused = refused;
    }
    *ret = p;
}

void release_plan_fini(struct release_plan *p)
{
    for (size_t i = 0; i < p->removed_count; i++)
        backend_server_fini(&p->removed[i]);
    for (size_t i = 0; i < p->undrained_count; i++)
        free((char *)p->undrained[i]);
    for (size_t i = 0; i < p->by_operator_count; i++)
        free((char *)p->by_operator[i]);
    free(p->removed);
    free(p->undrained);
    free(p->by_operator);
    free(p->refused);
    *p = (struct release_plan){0};
}

bool release_plan_is_empty(const struct release_plan *p)
{
    return p->refused == NULL && p->removed_count == 0 && p->undrained_count == 0;
}
