#include "servers/change/parking.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/backend.h"
#include "servers/desired/desired.h"
#include "servers/change/diff.h"

struct parked {
    char *name;
    uint64_t since_ms;
    bool spare;
    enum parking_verdict verdict;
    const char *reason; /* of a verdict to go */
};

struct parking {
    uint64_t ttl_ms;
    struct parked *list; /* ordered by name; each once */
    size_t count;
    size_t parked; /* of these, no spares */
    uint64_t changes;
};

struct parking *parking_new(uint64_t ttl_ms)
{
    struct parking *p = mem_alloc(sizeof(*p));
    p->ttl_ms = ttl_ms;
    return p;
}

static void list_free(struct parked *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

void parking_free(struct parking *p)
{
    if (p == NULL)
        return;
    list_free(p->list, p->count);
    free(p);
}

static const struct parked *parking_find(const struct parking *p, const char *name)
{
    return p->count > 0 ? bsearch(&name, p->list, p->count, sizeof(p->list[0]), str_order) : NULL;
}

/* ---- refresh ---- */

static struct parked *parking_list(const struct parking *p, const struct backend *actual, const struct desired *desired,
                                   const struct diff_rules *rules, uint64_t now_ms, size_t *ret_count)
{
    size_t in_maintenance = 0, count = 0;
    for (size_t i = 0; i < actual->server_count; i++)
        in_maintenance += actual->servers[i].maintenance;
    struct parked *list = mem_array(in_maintenance, sizeof(list[0]));
    for (size_t i = 0; i < actual->server_count; i++) {
        const struct backend_server *s = &actual->servers[i];
        if (s->maintenance && !diff_server_is_foreign(s, rules, desired) && desired_find(desired, s->name) == NULL) {
            const struct parked *was = parking_find(p, s->name);
            bool spare = desired->state == DESIRED_EMPTY ? was != NULL && was->spare
                                                         : desired_find_spare(desired, s->name) != NULL;
            bool goes_on = was != NULL && was->spare == spare;
            list[count++] = (struct parked){
                .name = mem_strdup(s->name), .since_ms = goes_on ? was->since_ms : now_ms, .spare = spare};
        }
    }
    if (count > 1)
        qsort(list, count, sizeof(list[0]), str_order);
    /* Where a name stands on several lines, one entry is enough. */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept > 0 && strcmp(list[kept - 1].name, list[i].name) == 0)
            free(list[i].name);
        else
            list[kept++] = list[i];
    *ret_count = kept;
    return list;
}

/* What may go anyway goes first, then what is parked longest. */
static int leaving_order(const void *a, const void *b)
{
    const struct parked *x = *(struct parked *const *)a, *y = *(struct parked *const *)b;
    if (x->verdict != y->verdict)
        return x->verdict == PARKING_LAZY ? -1 : 1;
    return x->since_ms != y->since_ms ? (x->since_ms < y->since_ms ? -1 : 1) : strcmp(x->name, y->name);
}

static void parking_judge(struct parked *e, enum parking_verdict verdict, const char *reason)
{
    e->verdict = verdict;
    e->reason = reason;
}

void parking_refresh(struct parking *p, const struct backend *actual, const struct desired *desired,
                     const struct diff_rules *rules, bool (*node_exists)(const void *arg, const char *server),
                     const void *arg, uint64_t now_ms)
{
    if (desired->state != DESIRED_OK && desired->state != DESIRED_EMPTY)
        return;
    struct parked *before = p->list;
    size_t before_count = p->count;
    p->list = parking_list(p, actual, desired, rules, now_ms, &p->count);
    p->parked = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct parked *e = &p->list[i];
        if (e->spare)
            continue;
        p->parked++;
        const char *node = desired_node(desired, e->name);
        if (node_exists != NULL && !node_exists(arg, node != NULL ? node : e->name))
            parking_judge(e, PARKING_LAZY, "it was parked, and Kubernetes has no node of that name");
        else if (now_ms - e->since_ms >= p->ttl_ms)
            parking_judge(e, PARKING_LAZY, "it was parked for PARK_TTL");
    }
    if (p->parked > PARKING_MAX) {
        cleanup(mem_free_ptr) struct parked **parked = mem_array(p->parked, sizeof(struct parked *));
        size_t count = 0;
        for (size_t i = 0; i < p->count; i++)
            if (!p->list[i].spare)
                parked[count++] = &p->list[i];
        qsort(parked, count, sizeof(struct parked *), leaving_order);
        for (size_t i = 0; i < count - PARKING_MAX; i++)
            parking_judge(parked[i], PARKING_NOW,
                          "more than 64 servers are parked, and it is among the longest parked");
    }
    bool same = p->count == before_count;
    for (size_t i = 0; same && i < p->count; i++)
        same = strcmp(p->list[i].name, before[i].name) == 0 && p->list[i].spare == before[i].spare &&
               p->list[i].reason == before[i].reason;
    p->changes += !same;
    list_free(before, before_count);
}

uint64_t parking_changes(const struct parking *p)
{
    return p->changes;
}

bool parking_memory(const struct parking *p, size_t i, struct parking_memory *ret)
{
    if (i >= p->count)
        return false;
    *ret = (struct parking_memory){p->list[i].name, p->list[i].since_ms, p->list[i].spare};
    return true;
}

/* ---- what it says ---- */

enum parking_verdict parking_verdict(const struct parking *p, const char *server)
{
    const struct parked *e = parking_find(p, server);
    return e != NULL ? e->verdict : PARKING_STAY;
}

const char *parking_reason(const struct parking *p, const char *server)
{
    const struct parked *e = parking_find(p, server);
    return e != NULL ? e->reason : NULL;
}
