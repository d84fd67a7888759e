#include "servers/change/revert_pause.h"

#include <string.h>

bool revert_pause_count(struct revert_pause *p, uint64_t now_ms)
{
    if (revert_pause_holds(p, now_ms))
        return false;
    bool again = p->until_ms != 0 && now_ms - p->until_ms <= REVERT_PAUSE_WINDOW_MS;
    size_t old = 0;
    while (old < p->count && now_ms - p->reverted_ms[old] > REVERT_PAUSE_WINDOW_MS)
        old++;
    p->count -= old;
    memmove(p->reverted_ms, p->reverted_ms + old, p->count * sizeof(p->reverted_ms[0]));
    p->reverted_ms[p->count++] = now_ms;
    if (!again && p->count < REVERT_PAUSE_TIMES)
        return false;
    *p = (struct revert_pause){.until_ms = now_ms + REVERT_PAUSE_MS};
    return true;
}

bool revert_pause_holds(const struct revert_pause *p, uint64_t now_ms)
{
    return now_ms < p->until_ms;
}

void revert_pause_end(struct revert_pause *p)
{
    *p = (struct revert_pause){0};
}
