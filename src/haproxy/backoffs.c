#include "haproxy/backoffs.h"

#define HARMLESS_PAUSE_MS 8000
#define GATHER_MS 2000 /* what comes meanwhile goes into one transaction, and one reload */
#define CONFLICTS_AT_ONCE 3

void backoffs_init(struct backoffs *b, unsigned seed)
{
    *b = (struct backoffs){.quiet_until_ms = 0};
    backoff_init(&b->request, 500, 15000, 100, seed);
    backoff_init(&b->room, 500, 8000, 100, seed);
    backoff_init(&b->reload, 2000, 60000, 1000, seed + 1);
    backoff_init(&b->drift, 2000, 600000, 2000, seed + 1);
    backoffs_init_rejected(&b->reject, seed + 2);
}

void backoffs_init_rejected(struct backoff *b, unsigned seed)
{
    backoff_init(b, 10000, 300000, 5000, seed);
}

static uint64_t at_least(uint64_t wait_ms, int64_t at_least_ms)
{
    return at_least_ms > (int64_t)wait_ms ? (uint64_t)at_least_ms : wait_ms;
}

void backoffs_pause(struct backoffs *b, bool harmless, int64_t at_least_ms, uint64_t now_ms)
{
    uint64_t wait_ms = backoff_next_ms(&b->request);
    if (harmless && wait_ms > HARMLESS_PAUSE_MS)
        wait_ms = HARMLESS_PAUSE_MS;
    b->quiet_until_ms = b->failed_until_ms = now_ms + at_least(wait_ms, at_least_ms);
    b->asked_until_ms = now_ms + at_least(0, at_least_ms);
}

void backoffs_write_not_before(struct backoffs *b, uint64_t when_ms)
{
    if (b->write_after_ms < when_ms)
        b->write_after_ms = when_ms;
}

void backoffs_write_sooner(struct backoffs *b, uint64_t when_ms)
{
    if (b->write_after_ms > when_ms)
        b->write_after_ms = when_ms;
}

void backoffs_begin_anew(struct backoffs *b, uint64_t when_ms)
{
    uint64_t until_ms = when_ms > b->asked_until_ms ? when_ms : b->asked_until_ms;
    if (b->quiet_until_ms == b->failed_until_ms && b->quiet_until_ms > until_ms)
        b->quiet_until_ms = b->failed_until_ms = until_ms;
    uint64_t room_ms = when_ms > b->asked_room_until_ms ? when_ms : b->asked_room_until_ms;
    if (b->no_room && b->transaction_after_ms > room_ms)
        b->transaction_after_ms = room_ms;
    backoff_reset(&b->request);
    backoffs_write_sooner(b, when_ms);
}

void backoffs_reload_failed(struct backoffs *b, bool differs, uint64_t now_ms)
{
    backoffs_write_not_before(b, now_ms + backoff_next_ms(differs ? &b->drift : &b->reload));
}

void backoffs_drift(struct backoffs *b, uint64_t now_ms)
{
    if (b->drift.attempts > 0)
        backoffs_reload_failed(b, true, now_ms);
    b->drift.attempts++;
}

void backoffs_wait_for_room(struct backoffs *b, int64_t at_least_ms, uint64_t now_ms)
{
    b->no_room = true;
    b->transaction_after_ms = now_ms + at_least(backoff_next_ms(&b->room), at_least_ms);
    b->asked_room_until_ms = now_ms + at_least(0, at_least_ms);
}

bool backoffs_conflict(struct backoffs *b, uint64_t now_ms)
{
    if (++b->conflicts <= CONFLICTS_AT_ONCE)
        return true;
    b->write_failing = true;
    b->quiet_until_ms = b->failed_until_ms = now_ms + backoff_next_ms(&b->request);
    return false;
}

void backoffs_write_failed(struct backoffs *b)
{
    b->write_failing = true;
}

void backoffs_read(struct backoffs *b)
{
    if (!b->write_failing)
        backoff_reset(&b->request);
}

void backoffs_updated(struct backoffs *b)
{
    b->write_after_ms = 0;
    b->write_failing = false;
    b->conflicts = 0;
    backoff_reset(&b->request);
}

void backoffs_committed(struct backoffs *b, uint64_t now_ms)
{
    backoffs_updated(b);
    b->no_room = false;
    backoff_reset(&b->room);
    b->transaction_after_ms = now_ms + GATHER_MS;
}

void backoffs_nothing_to_write(struct backoffs *b)
{
    b->conflicts = 0;
    b->write_failing = false;
}

void backoffs_forget(struct backoffs *b)
{
    b->quiet_until_ms = b->write_after_ms = b->transaction_after_ms = 0;
}
