#include "kube/lease/leader.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

void leader_init(struct leader *l, const char *identity, unsigned seed)
{
    *l = (struct leader){.random = seed, .state = LEADER_IDLE};
    snprintf(l->identity, sizeof(l->identity), "%s", identity);
}

bool leader_is_ours(const struct leader *l)
{
    return l->known && !l->missing && str_eq(l->lease.holder, l->identity);
}

bool leader_may_act(const struct leader *l, uint64_t now_ms)
{
    return l->leading && now_ms < l->renewed_ms + LEADER_RENEW_DEADLINE_MS;
}

bool leader_may_clean_up(const struct leader *l, uint64_t now_ms)
{
    return l->held && !l->stopping && now_ms < l->renewed_ms + LEADER_CLEAN_UP_MS;
}

uint64_t leader_due_ms(const struct leader *l)
{
    uint64_t due = l->state == LEADER_WAITING ? l->due_ms : 0;
    uint64_t deadline = l->leading ? l->renewed_ms + LEADER_RENEW_DEADLINE_MS : 0;
    return due == 0 || (deadline != 0 && deadline < due) ? deadline : due;
}

/* ---- what comes next ---- */

static unsigned send(struct leader *l, enum leader_state state, enum leader_action action, uint64_t now_ms)
{
    l->state = state;
    l->sent_ms = now_ms;
    l->requests++;
    return action;
}

static unsigned over(struct leader *l)
{
    l->state = LEADER_OVER;
    return LEADER_DONE;
}

static uint64_t jitter_ms(struct leader *l)
{
    l->random = l->random * 6364136223846793005u + 1442695040888963407u;
    return (l->random >> 33) % (LEADER_JITTER_MS + 1);
}

/* This try is over. */
static unsigned rest(struct leader *l, uint64_t at_least_ms, uint64_t now_ms)
{
    if (l->stopping)
        return over(l);
    uint64_t pause = LEADER_RETRY_MS + jitter_ms(l);
    /* Somebody else's lease runs out before that: nothing is gained by being late. */
    if (!l->leading && l->taken_until_ms > now_ms && l->taken_until_ms - now_ms < pause)
        pause = l->taken_until_ms - now_ms;
    if (l->again)
        pause = LEADER_SOON_MS;
    l->again = false;
    l->state = LEADER_WAITING;
    l->due_ms = now_ms + (pause > at_least_ms ? pause : at_least_ms);
    return 0;
}

static unsigned read_again(struct leader *l, uint64_t now_ms)
{
    if (l->requests >= LEADER_MAX_REQUESTS)
        return rest(l, 0, now_ms);
    return send(l, LEADER_READING, LEADER_GET, now_ms);
}

static unsigned begin_try(struct leader *l, uint64_t now_ms)
{
    l->round_ms = now_ms;
    l->requests = 0;
    if (l->leading && leader_is_ours(l) && !l->stale)
        return send(l, LEADER_UPDATING, LEADER_PUT, now_ms);
    return send(l, LEADER_READING, LEADER_GET, now_ms);
}

static unsigned release(struct leader *l, uint64_t now_ms)
{
    if (l->stale)
        return read_again(l, now_ms);
    if (!leader_is_ours(l) || l->requests >= LEADER_MAX_REQUESTS)
        return over(l);
    return send(l, LEADER_RELEASING, LEADER_PUT, now_ms);
}

/* The Lease was just read. */
static unsigned decide(struct leader *l, uint64_t now_ms)
{
    if (l->stopping)
        return release(l, now_ms);
    if (now_ms < l->taken_until_ms || l->requests >= LEADER_MAX_REQUESTS)
        return rest(l, 0, now_ms);
    if (l->missing)
        return send(l, LEADER_CREATING, LEADER_POST, now_ms);
    return send(l, LEADER_UPDATING, LEADER_PUT, now_ms);
}

/* ---- what was seen ---- */

static uint64_t duration_ms(const struct lease *r)
{
    int32_t s = r->duration_s > 0 ? r->duration_s : LEADER_LEASE_S;
    return (uint64_t)(s < LEADER_MAX_LEASE_S ? s : LEADER_MAX_LEASE_S) * 1000u;
}

static unsigned depose(struct leader *l)
{
    bool was = l->leading;
    l->leading = false;
    return was ? LEADER_DEPOSED : 0;
}

/* Never sooner than what was seen before: an earlier holder may not know yet that it is one no more. */
static void taken_for(struct leader *l, uint64_t ms, uint64_t now_ms)
{
    if (now_ms + ms > l->taken_until_ms)
        l->taken_until_ms = now_ms + ms;
}

static unsigned reader(struct leader *l, const struct lease *r, uint64_t now_ms)
{
    bool first = !l->known, changed = first || l->missing || !lease_same_record(&l->lease, r);
    bool nobody = r->holder[0] == '\0', given_up = nobody && r->duration_s == 1;
    l->lease = *r;
    l->known = true;
    l->missing = l->stale = false;
    if (given_up || (nobody && first))
        l->taken_until_ms = 0;
    else if (changed && !leader_is_ours(l) && !(nobody && leader_may_act(l, now_ms)))
        taken_for(l, duration_ms(r), now_ms);
    if (nobody || leader_is_ours(l))
        return 0;
    l->held = false;
    return depose(l);
}

/* It was there, and somebody deleted it: whoever had it last, perhaps unseen, may not know yet. */
static void observe_missing(struct leader *l, uint64_t now_ms)
{
    uint64_t ms = duration_ms(&l->lease), least = LEADER_LEASE_S * 1000u;
    if (l->known && !l->missing && !leader_may_act(l, now_ms))
        taken_for(l, ms > least ? ms : least, now_ms);
    l->known = l->missing = true;
    l->stale = false;
}

static unsigned written(struct leader *l, uint64_t now_ms)
{
    if (!leader_is_ours(l))
        return rest(l, 0, now_ms);
    l->held = true;
    l->renewed_ms = l->sent_ms;
    if (l->stopping)
        return release(l, now_ms);
    unsigned actions = 0;
    /* An answer that comes late proves nothing about now. */
    if (!l->leading && now_ms < l->sent_ms + LEADER_RENEW_DEADLINE_MS) {
        l->leading = true;
        actions = LEADER_ELECTED;
    }
    l->again |= !l->leading;
    return actions | rest(l, 0, now_ms);
}

/* ---- events ---- */

static unsigned on_record(struct leader *l, const struct lease *r, uint64_t now_ms)
{
    enum leader_state state = l->state;
    unsigned actions = reader(l, r, now_ms);
    if (state == LEADER_READING)
        return actions | decide(l, now_ms);
    if (state == LEADER_RELEASING)
        return actions | over(l);
    return actions | written(l, now_ms);
}

static unsigned on_missing(struct leader *l, uint64_t now_ms)
{
    switch (l->state) {
    case LEADER_READING:
        observe_missing(l, now_ms);
        return decide(l, now_ms);
    case LEADER_UPDATING:
        l->stale = true;
        return read_again(l, now_ms);
    case LEADER_RELEASING:
        return over(l);
    default: /* a POST: the namespace is not there */
        return rest(l, 0, now_ms);
    }
}

static unsigned on_conflict(struct leader *l, uint64_t now_ms)
{
    if (l->state == LEADER_READING)
        return rest(l, 0, now_ms);
    l->stale = true;
    return read_again(l, now_ms);
}

static unsigned on_failed(struct leader *l, int64_t retry_after_ms, uint64_t now_ms)
{
    uint64_t later = retry_after_ms > 0 ? (uint64_t)retry_after_ms : 0;
    if (later > LEADER_MAX_RETRY_AFTER_MS)
        later = LEADER_MAX_RETRY_AFTER_MS;
    bool was_update = l->state == LEADER_UPDATING;
    if (l->state != LEADER_READING)
        l->stale = true;
    if (was_update && retry_after_ms < 0)
        return read_again(l, now_ms);
    return rest(l, later, now_ms);
}

static unsigned on_release(struct leader *l, uint64_t now_ms)
{
    if (l->stopping)
        return 0;
    bool maybe_ours = leader_is_ours(l) || l->stale;
    l->stopping = true;
    l->leading = false;
    l->requests = 0;
    switch (l->state) {
    case LEADER_CREATING:
    case LEADER_UPDATING:
        return 0; /* its answer says what there is to give up */
    case LEADER_READING:
        return maybe_ours ? 0 : LEADER_CANCEL | over(l);
    default:
        return release(l, now_ms);
    }
}

static unsigned on_hint(struct leader *l, uint64_t now_ms)
{
    if (l->state != LEADER_WAITING) {
        l->again = l->state != LEADER_IDLE && l->state != LEADER_OVER;
        return 0;
    }
    uint64_t soon = l->round_ms + LEADER_SOON_MS;
    if (now_ms >= soon)
        return begin_try(l, now_ms);
    if (soon < l->due_ms)
        l->due_ms = soon;
    return 0;
}

static bool is_request(enum leader_state s)
{
    return s == LEADER_READING || s == LEADER_CREATING || s == LEADER_UPDATING || s == LEADER_RELEASING;
}

static unsigned step(struct leader *l, const struct leader_event *e, uint64_t now_ms)
{
    bool answer = is_request(l->state);
    switch (e->type) {
    case LEADER_EVENT_START:
        return l->state == LEADER_IDLE ? begin_try(l, now_ms) : 0;
    case LEADER_EVENT_TIMER:
        return l->state == LEADER_WAITING && now_ms >= l->due_ms ? begin_try(l, now_ms) : 0;
    case LEADER_EVENT_HINT:
        return on_hint(l, now_ms);
    case LEADER_EVENT_RELEASE:
        return on_release(l, now_ms);
    case LEADER_EVENT_RECORD:
        return answer ? on_record(l, e->lease, now_ms) : 0;
    case LEADER_EVENT_MISSING:
        return answer ? on_missing(l, now_ms) : 0;
    case LEADER_EVENT_CONFLICT:
        return answer ? on_conflict(l, now_ms) : 0;
    case LEADER_EVENT_FAILED:
        return answer ? on_failed(l, e->retry_after_ms, now_ms) : 0;
    }
    return 0;
}

unsigned leader_step(struct leader *l, const struct leader_event *e, uint64_t now_ms)
{
    unsigned actions = step(l, e, now_ms);
    /* After the event, which may have been the renewal. */
    if (l->leading && !leader_may_act(l, now_ms))
        actions |= depose(l);
    return actions;
}

/* ---- what is written ---- */

/* Each renewal has to be another record than any before: where nothing changes, the server takes it for no write at all, and the
 * others see nobody renew; nor do they where they see again what they saw before. So a wall clock that stands still, or is set
 * back a little, is counted on, also from what an earlier process of this name wrote. */
static void renewal_time(struct leader *l, uint64_t wall_us, char *ret)
{
    uint64_t before[] = {leader_is_ours(l) ? lease_parse_time(l->lease.renew_time) : 0, l->written_us};
    for (unsigned i = 0; i < array_len(before); i++)
        if (wall_us <= before[i] && before[i] - wall_us < 1000000u)
            wall_us = before[i] + 1;
    l->written_us = wall_us;
    lease_format_time(wall_us, ret);
}

void leader_next(struct leader *l, uint64_t wall_us, struct lease *ret)
{
    bool ours = leader_is_ours(l), creating = l->state == LEADER_CREATING, releasing = l->state == LEADER_RELEASING;
    struct lease next = {.duration_s = releasing ? 1 : LEADER_LEASE_S};
    renewal_time(l, wall_us, next.renew_time);
    if (!releasing)
        memcpy(next.holder, l->identity, sizeof(next.holder));
    if (!creating) {
        memcpy(next.version, l->lease.version, sizeof(next.version));
        memcpy(next.acquire_time, l->lease.acquire_time, sizeof(next.acquire_time));
        next.transitions = l->lease.transitions;
    }
    if (!ours || next.acquire_time[0] == '\0')
        memcpy(next.acquire_time, next.renew_time, sizeof(next.acquire_time));
    if (!ours && !creating && next.transitions < INT32_MAX)
        next.transitions++;
    *ret = next;
}
