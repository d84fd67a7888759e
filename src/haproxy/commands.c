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

static bool commands_listed(const struct runtime_command *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(list[i].name, name))
            return true;
    return false;
}

static void commands_add(struct commands *q, struct instance_backend *b, const struct runtime_command *c,
                         uint64_t event_us)
{
    for (size_t i = q->count; i-- > 0;) {
        struct command *old = &q->list[i];
        if (old->backend != b || !str_eq(old->name, c->name))
            continue;
        if (old->state == c->state)
            return;
        if (i == 0 && q->busy)
            break;
        old->state = c->state;
        old->why = c->why;
        return;
    }
    q->list = mem_resize(q->list, q->count + 1, sizeof(q->list[0]));
    q->list[q->count++] = (struct command){
        .backend = b, .name = mem_strdup(c->name), .state = c->state, .why = c->why, .event_us = event_us};
}

/* What waited already does not go before what brings a server back: it is chosen because of that. */
static void commands_put_back_first(struct commands *q)
{
    size_t next = q->busy ? 1 : 0;
    for (size_t i = next; i < q->count; i++) {
        if (q->list[i].state != RUNTIME_READY)
            continue;
        struct command c = q->list[i];
        memmove(&q->list[next + 1], &q->list[next], (i - next) * sizeof(q->list[0]));
        q->list[next++] = c;
    }
}

void commands_set(struct commands *q, struct instance_backend *b, const struct runtime_command *list, size_t count,
                  bool add, uint64_t event_us)
{
    size_t first = q->busy ? 1 : 0; /* what is under way is answered first */
    for (size_t i = q->count; i-- > first;)
        if (q->list[i].backend == b && !commands_listed(list, count, q->list[i].name))
            commands_drop(q, i);
    if (!add)
        return;
    for (size_t i = 0; i < count; i++)
        commands_add(q, b, &list[i], event_us);
    commands_put_back_first(q);
}
