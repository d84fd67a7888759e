/* A one-shot timer on the event loop, embedded in whatever it serves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event;
struct event_base;

struct timer {
    struct event *event;
    uint64_t due_ms; /* monotonic; 0: not set */
    void (*fn)(void *arg);
    void *arg;
};

void timer_init(struct timer *t, struct event_base *base, void (*fn)(void *arg), void *arg);
void timer_fini(struct timer *t);

/* Set anew: an earlier setting is replaced. */
void timer_set(struct timer *t, uint64_t in_ms);
/* As timer_set, unless it is set to fire sooner already. */
void timer_set_sooner(struct timer *t, uint64_t in_ms);
void timer_cancel(struct timer *t);
bool timer_is_set(const struct timer *t);
