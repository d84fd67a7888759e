#include "sync/brake.h"

bool brake_holds(struct brake *b, size_t live, size_t lost, unsigned max_percent, uint64_t period_ms, uint64_t now_ms,
                 uint64_t *ret_until_ms)
{
    size_t of = b->worst > 0 && b->live < live ? b->live : live;
    if (max_percent >= 100 || live == 0 || (uint64_t)lost * 100 <= (uint64_t)of * max_percent) {
        *b = (struct brake){0};
        return false;
    }
    if (lost > b->worst)
        *b = (struct brake){.since_ms = now_ms, .worst = lost, .live = of};
    if (now_ms - b->since_ms >= period_ms)
        return false;
    *ret_until_ms = b->since_ms + period_ms;
    return true;
}
