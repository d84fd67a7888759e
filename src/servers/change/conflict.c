#include "servers/change/conflict.h"

#include <string.h>

static void drop_old(struct rivalry *r, uint64_t now_ms)
{
    size_t old = 0;
    while (old < r->count && now_ms - r->undone_ms[old] > RIVALRY_WINDOW_MS)
        old++;
    r->count -= old;
    memmove(r->undone_ms, r->undone_ms + old, r->count * sizeof(r->undone_ms[0]));
}

bool rivalry_undone(struct rivalry *r, uint64_t now_ms)
{
    if (rivalry_pauses(r, now_ms))
        return false;
    bool again = r->until_ms != 0 && now_ms - r->until_ms <= RIVALRY_WINDOW_MS;
    drop_old(r, now_ms);
    r->undone_ms[r->count++] = now_ms;
    if (!again && r->count < RIVALRY_TIMES)
        return false;
    *r = (struct rivalry){.until_ms = now_ms + RIVALRY_PAUSE_MS};
    return true;
}

bool rivalry_pauses(const struct rivalry *r, uint64_t now_ms)
{
    return now_ms < r->until_ms;
}

void rivalry_forget(struct rivalry *r)
{
    *r = (struct rivalry){0};
}
