#include "servers/change/conflict.h"

#include <string.h>

bool conflict_reverted(struct conflict *r, uint64_t now_ms)
{
    if (conflict_pauses(r, now_ms))
        return false;
    bool again = r->until_ms != 0 && now_ms - r->until_ms <= CONFLICT_WINDOW_MS;
    size_t old = 0;
    while (old < r->count && now_ms - r->reverted_ms[old] > CONFLICT_WINDOW_MS)
        old++;
    r->count -= old;
    memmove(r->reverted_ms, r->reverted_ms + old, r->count * sizeof(r->reverted_ms[0]));
    r->reverted_ms[r->count++] = now_ms;
    if (!again && r->count < CONFLICT_TIMES)
        return false;
    *r = (struct conflict){.until_ms = now_ms + CONFLICT_PAUSE_MS};
    return true;
}

bool conflict_pauses(const struct conflict *r, uint64_t now_ms)
{
    return now_ms < r->until_ms;
}

void conflict_forget(struct conflict *r)
{
    *r = (struct conflict){0};
}
