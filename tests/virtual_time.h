/* Time that passes where a test says so, in place of base/clock and host/timer. A file that includes this has a
 * VIRTUAL_TIME: a pointer to a struct with `uint64_t now_us` and `struct timer *timers[]`. */
#pragma once

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/timer.h"

/* So much passes whenever the clock is read: a machine that is busy elsewhere. */
#ifndef VIRTUAL_SLOW_US
#define VIRTUAL_SLOW_US 0
#endif

/* What the wall clock shows when the other one begins. */
#ifndef VIRTUAL_WALL_MS
#define VIRTUAL_WALL_MS 0
#endif

uint64_t clock_mono_us(void)
{
    return VIRTUAL_TIME->now_us += VIRTUAL_SLOW_US;
}

uint64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

uint64_t clock_boot_ms(void)
{
    return VIRTUAL_TIME->now_us / 1000;
}

uint64_t clock_wall_ms(void)
{
    return VIRTUAL_WALL_MS + VIRTUAL_TIME->now_us / 1000;
}

uint64_t clock_cpu_us(void)
{
    return 0;
}

void timer_init(struct timer *t, struct event_base *base, void (*fn)(void *arg), void *arg)
{
    (void)base;
    *t = (struct timer){.fn = fn, .arg = arg};
    for (size_t i = 0; i < array_len(VIRTUAL_TIME->timers); i++) {
        if (VIRTUAL_TIME->timers[i] == NULL) {
            VIRTUAL_TIME->timers[i] = t;
            return;
        }
    }
    abort();
}

void timer_fini(struct timer *t)
{
    for (size_t i = 0; i < array_len(VIRTUAL_TIME->timers); i++)
        if (VIRTUAL_TIME->timers[i] == t)
            VIRTUAL_TIME->timers[i] = NULL;
}

void timer_set(struct timer *t, uint64_t in_ms)
{
    t->due_ms = clock_mono_ms() + in_ms;
}

void timer_set_sooner(struct timer *t, uint64_t in_ms)
{
    if (t->due_ms == 0 || clock_mono_ms() + in_ms < t->due_ms)
        timer_set(t, in_ms);
}

void timer_cancel(struct timer *t)
{
    t->due_ms = 0;
}

bool timer_is_set(const struct timer *t)
{
    return t->due_ms != 0;
}

/* The next one that is due by then; NULL: none. */
static inline struct timer *virtual_next_timer(uint64_t until_ms)
{
    struct timer *first = NULL;
    for (size_t i = 0; i < array_len(VIRTUAL_TIME->timers); i++) {
        struct timer *t = VIRTUAL_TIME->timers[i];
        if (t != NULL && t->due_ms != 0 && t->due_ms <= until_ms && (first == NULL || t->due_ms < first->due_ms))
            first = t;
    }
    return first;
}

/* So much passes, and what comes due meanwhile is called. */
static inline void virtual_pass(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    for (struct timer *t; (t = virtual_next_timer(end)) != NULL;) {
        VIRTUAL_TIME->now_us = t->due_ms > clock_mono_ms() ? t->due_ms * 1000 : VIRTUAL_TIME->now_us;
        t->due_ms = 0;
        t->fn(t->arg);
    }
    VIRTUAL_TIME->now_us = end * 1000;
}
