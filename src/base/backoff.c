#include "base/backoff.h"

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

void backoff_init(struct backoff *b, uint64_t base_ms, uint64_t cap_ms, uint64_t min_ms, unsigned seed)
{
    *b = (struct backoff){.base_ms = base_ms, .cap_ms = cap_ms, .min_ms = min_ms, .seed = seed};
}

uint64_t backoff_limit_ms(uint64_t base_ms, uint64_t cap_ms, unsigned times)
{
    uint64_t limit = base_ms;
    for (unsigned i = 0; i < times && limit < cap_ms; i++)
        limit *= 2;
    return limit < cap_ms ? limit : cap_ms;
}

uint64_t backoff_next_ms(struct backoff *b)
{
    uint64_t limit = backoff_limit_ms(b->base_ms, b->cap_ms, b->attempts);
    b->attempts++;
    uint64_t wait = limit * (uint64_t)rand_r(&b->seed) / RAND_MAX;
    return wait < b->min_ms ? b->min_ms : wait;
}

void backoff_reset(struct backoff *b)
{
    b->attempts = 0;
}

unsigned backoff_random_seed(void)
{
    unsigned seed;
    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        seed = (unsigned)getpid();
    return seed;
}
