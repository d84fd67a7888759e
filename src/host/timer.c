#include "host/timer.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"

static void fire(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct timer *t = arg;
    t->due_ms = 0;
    t->fn(t->arg);
}

void timer_init(struct timer *t, struct event_base *base, void (*fn)(void *arg), void *arg)
{
    *t = (struct timer){.fn = fn, .arg = arg};
    t->event = evtimer_new(base, fire, t);
    if (t->event == NULL)
        abort();
}

void timer_fini(struct timer *t)
{
    if (t->event != NULL)
        event_free(t->event);
    t->event = NULL;
    t->due_ms = 0;
}

void timer_set(struct timer *t, uint64_t in_ms)
{
    struct timeval tv = {.tv_sec = (time_t)(in_ms / 1000), .tv_usec = (suseconds_t)(in_ms % 1000 * 1000)};
    t->due_ms = clock_mono_ms() + in_ms;
    event_add(t->event, &tv);
}

void timer_set_sooner(struct timer *t, uint64_t in_ms)
{
    if (t->due_ms == 0 || clock_mono_ms() + in_ms < t->due_ms)
        timer_set(t, in_ms);
}

void timer_cancel(struct timer *t)
{
    event_del(t->event);
    t->due_ms = 0;
}

bool timer_is_set(const struct timer *t)
{
    return t->due_ms != 0;
}
