/* A small generator of our own: the same seed gives the same states everywhere. xorshift64. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline unsigned dice_below(struct dice *d, unsigned n)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (unsigned)((d->state >> 11) % n);
}

static inline bool dice_one_in(struct dice *d, unsigned n)
{
    return dice_below(d, n) == 0;
}
