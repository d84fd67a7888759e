/*
 * Exponential backoff with full jitter: the n-th wait is uniform in (0, min(cap, base * 2^n)], never below min_ms. The
 * shape is AWS's "full jitter"; for watches the first is client-go's (0.8 s), and the cap is 8 s instead of its 30: a
 * daemon has a few watches, not thousands of nodes, and after an outage HAProxy should not wait for half a minute.
 */
#pragma once

#include <stdint.h>

struct backoff {
    uint64_t base_ms;
    uint64_t cap_ms;
    uint64_t min_ms;
    unsigned attempts; /* waits handed out since the last reset */
    unsigned seed;
};

void backoff_init(struct backoff *b, uint64_t base_ms, uint64_t cap_ms, uint64_t min_ms, unsigned seed);

/* base_ms, doubled so many times, and no more than cap_ms. */
uint64_t backoff_limit_ms(uint64_t base_ms, uint64_t cap_ms, unsigned times);

/* The next wait in ms. */
uint64_t backoff_next_ms(struct backoff *b);

/* After real progress only, not after a mere connect. */
void backoff_reset(struct backoff *b);

/* A seed from the kernel. */
unsigned backoff_random_seed(void);
