#include "haproxy/pace.h"

#define HARMLESS_PAUSE_MS 8000
#define GATHER_MS 2000 /* what comes meanwhile goes into one transaction, and one reload */
#define CONFLICTS_AT_ONCE 3

void pace_init(struct pace *p, unsigned seed)
{
    *p = (struct pace){.quiet_until_ms = 0};
    backoff_init(&p->backoff, 500, 15000, 100, seed);
    backoff_init(&p->room_backoff, 500, 8000, 100, seed);
    backoff_init(&p->reload_backoff, 2000, 60000, 1000, seed + 1);
    backoff_init(&p->drift_backoff, 2000, 600000, 2000, seed + 1);
    pace_init_rejected(&p->reject_backoff, seed + 2);
}

void pace_init_rejected(struct backoff *b, unsigned seed)
{
    backoff_init(b, 10000, 300000, 5000, seed);
}

static uint64_t at_least(uint64_t wait_ms, int64_t at_least_ms)
{
    return at_least_ms > (int64_t)wait_ms ? (uint64_t)at_least_ms : wait_ms;
}

void pace_pause(struct pace *p, bool harmless, int64_t at_least_ms, uint64_t now_ms)
{
    uint64_t wait_ms = backoff_next_ms(&p->backoff);
    if (harmless && wait_ms > HARMLESS_PAUSE_MS)
        wait_ms = HARMLESS_PAUSE_MS;
    p->quiet_until_ms = p->failed_until_ms = now_ms + at_least(wait_ms, at_least_ms);
    p->asked_until_ms = now_ms + at_least(0, at_least_ms);
}

void pace_write_not_before(struct pace *p, uint64_t when_ms)
{
    if (p->write_after_ms < when_ms)
        p->write_after_ms = when_ms;
}

void pace_write_sooner(struct pace *p, uint64_t when_ms)
{
    if (p->write_after_ms > when_ms)
        p->write_after_ms = when_ms;
}

void pace_begin_anew(struct pace *p, uint64_t when_ms)
{
    uint64_t until_ms = when_ms > p->asked_until_ms ? when_ms : p->asked_until_ms;
    if (p->quiet_until_ms == p->failed_until_ms && p->quiet_until_ms > until_ms)
        p->quiet_until_ms = p->failed_until_ms = until_ms;
    uint64_t room_ms = when_ms > p->asked_room_until_ms ? when_ms : p->asked_room_until_ms;
    if (p->no_room && p->transaction_after_ms > room_ms)
        p->transaction_after_ms = room_ms;
    backoff_reset(&p->backoff);
    pace_write_sooner(p, when_ms);
}

void pace_reload_failed(struct pace *p, bool differs, uint64_t now_ms)
{
    pace_write_not_before(p, now_ms + backoff_next_ms(differs ? &p->drift_backoff : &p->reload_backoff));
}

void pace_drift(struct pace *p, uint64_t now_ms)
{
    if (p->drift_backoff.attempts > 0)
        pace_reload_failed(p, true, now_ms);
    p->drift_backoff.attempts++;
}

void pace_wait_for_room(struct pace *p, int64_t at_least_ms, uint64_t now_ms)
{
    p->no_room = true;
    p->transaction_after_ms = now_ms + at_least(backoff_next_ms(&p->room_backoff), at_least_ms);
    p->asked_room_until_ms = now_ms + at_least(0, at_least_ms);
}

bool pace_conflict(struct pace *p, uint64_t now_ms)
{
    if (++p->conflicts <= CONFLICTS_AT_ONCE)
        return true;
    p->write_failing = true;
    p->quiet_until_ms = p->failed_until_ms = now_ms + backoff_next_ms(&p->backoff);
    return false;
}

void pace_write_failed(struct pace *p)
{
    p->write_failing = true;
}

void pace_read(struct pace *p)
{
    if (!p->write_failing)
        backoff_reset(&p->backoff);
}

void pace_updated(struct pace *p)
{
    p->write_after_ms = 0;
    p->write_failing = false;
    p->conflicts = 0;
    backoff_reset(&p->backoff);
}

void pace_committed(struct pace *p, uint64_t now_ms)
{
    pace_updated(p);
    p->no_room = false;
    backoff_reset(&p->room_backoff);
    p->transaction_after_ms = now_ms + GATHER_MS;
}

void pace_nothing_to_write(struct pace *p)
{
    p->conflicts = 0;
    p->write_failing = false;
}

void pace_forget(struct pace *p)
{
    p->quiet_until_ms = p->write_after_ms = p->transaction_after_ms = 0;
}
