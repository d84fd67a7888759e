#include "daemon/status/status_parts.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

uint64_t status_since_of(const struct status_since *s, const struct check *c)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].state == c->state && str_eq(s->list[i].name, c->name))
            return s->list[i].since_ms;
    return 0;
}

uint64_t status_since_oldest(const struct status_since *s, enum check_state state)
{
    uint64_t oldest = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].state == state && (oldest == 0 || s->list[i].since_ms < oldest))
            oldest = s->list[i].since_ms;
    return oldest;
}

void status_since_look(struct status_since *s, const struct checks *checks, uint64_t now_ms)
{
    struct status_since next = {0};
    for (size_t i = 0; i < checks->count; i++) {
        const struct check *c = &checks->list[i];
        if (c->state != CHECK_FAIL && c->state != CHECK_WARN)
            continue;
        uint64_t since_ms = status_since_of(s, c);
        next.list = mem_resize(next.list, next.count + 1, sizeof(next.list[0]));
        next.list[next.count++] = (struct status_since_entry){
            .name = mem_strdup(c->name), .state = c->state, .since_ms = since_ms != 0 ? since_ms : now_ms};
    }
    status_since_fini(s);
    *s = next;
}

void status_since_fini(struct status_since *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].name);
    free(s->list);
    *s = (struct status_since){0};
}
