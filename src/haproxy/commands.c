#include "haproxy/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define PAUSE_MS 1000
#define FAILURES_MAX 3

void commands_drop(struct commands *q, size_t at)
{
    free(q->list[at].name);
    q->count--;
    memmove(&q->list[at], &q->list[at + 1], (q->count - at) * sizeof(q->list[0]));
}

void commands_drop_from(struct commands *q, size_t first)
{
    while (q->count > first)
        commands_drop(q, q->count - 1);
}

bool commands_failed(struct commands *q, bool counts, bool wrong, uint64_t now_ms)
{
    q->failures += counts;
    q->not_before_ms = now_ms + PAUSE_MS * (q->failures > 0 ? q->failures : 1);
    commands_drop_from(q, 1);
    return wrong || q->failures >= FAILURES_MAX;
}

void commands_forget_failures(struct commands *q)
{
    q->failures = 0;
}

void commands_fini(struct commands *q)
{
    commands_drop_from(q, 0);
    free(q->list);
    *q = (struct commands){.list = NULL};
}

bool commands_any(const struct commands *q, const struct instance_backend *b)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->list[i].backend == b)
            return true;
    return false;
}

static int commands_by_name(const void *a, const void *b)
{
    const struct runtime_command *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Both may have some thousand, and the queue mostly has most of the list already. */
void commands_set(struct commands *q, struct instance_backend *b, const struct runtime_command *list, size_t count,
                  bool add, uint64_t event_us)
{
    const size_t first = q->busy ? 1 : 0; /* what is under way is answered first */
    size_t kept = first, next = first;
    cleanup(mem_free_ptr) const struct runtime_command **sorted = mem_array(count + 1, sizeof(sorted[0]));
    cleanup(mem_free_ptr) bool *queued = mem_array(count + 1, sizeof(queued[0])); /* of the list: it waits already */
    for (size_t i = 0; i < count; i++)
        sorted[i] = &list[i];
    qsort(sorted, count, sizeof(sorted[0]), commands_by_name);
    /* What waits for b stays where the list has it, too, in the list's state. */
    for (size_t i = first; i < q->count; i++) {
        struct command *old = &q->list[i];
        const struct runtime_command wanted = {.name = old->name}, *key = &wanted, *c = NULL, **found = NULL;
        if (old->backend == b)
            found = bsearch(&key, sorted, count, sizeof(sorted[0]), commands_by_name);
        c = found != NULL ? *found : NULL;
        if (old->backend == b && c == NULL) {
            free(old->name);
            continue;
        }
        if (c != NULL && add) {
            queued[c - list] = true;
            old->why = old->state == c->state ? old->why : c->why;
            old->state = c->state;
        }
        q->list[kept++] = *old;
    }
    q->count = kept;
    if (!add)
        return;
    q->list = mem_resize(q->list, q->count + count + 1, sizeof(q->list[0]));
    for (size_t i = 0; i < count; i++) {
        const struct runtime_command *c = &list[i];
        bool under_way = q->busy && q->list[0].backend == b && str_eq(q->list[0].name, c->name);
        if (queued[i] || (under_way && q->list[0].state == c->state))
            continue;
        q->list[q->count++] = (struct command){
            .backend = b, .name = mem_strdup(c->name), .state = c->state, .why = c->why, .event_us = event_us};
    }
    /* What waited already does not go before what brings a server back: it is chosen because of that. */
    for (size_t i = next; i < q->count; i++) {
        if (q->list[i].state != RUNTIME_READY)
            continue;
        struct command c = q->list[i];
        memmove(&q->list[next + 1], &q->list[next], (i - next) * sizeof(q->list[0]));
        q->list[next++] = c;
    }
}
