#include "kube/lease/lease_machine.h"

#include <stdio.h>
#include <string.h>

#include "base/rfc3339.h"
#include "base/compiler.h"
#include "base/str.h"

void lease_machine_init(struct lease_machine *l, const char *identity, unsigned seed)
{
    *l = (struct lease_machine){.random = seed, .state = LEASE_IDLE};
    snprintf(l->identity, sizeof(l->identity), "%s", identity);
}

bool lease_machine_is_held(const struct lease_machine *l)
{
    return l->known && !l->missing && str_eq(l->lease.holder, l->identity);
}

bool lease_machine_may_act(const struct lease_machine *l, uint64_t now_ms)
{
    return l->leading && now_ms < l->renewed_ms + LEASE_RENEW_DEADLINE_MS;
}

bool lease_machine_may_clean_up(const struct lease_machine *l, uint64_t now_ms)
{
    return l->held && !l->stopping && now_ms < l->renewed_ms + LEASE_CLEAN_UP_MS;
}

uint64_t lease_machine_due_ms(const struct lease_machine *l)
{
    uint64_t due = l->state == LEASE_WAITING ? l->due_ms : 0;
    uint64_t deadline = l->leading ? l->renewed_ms + LEASE_RENEW_DEADLINE_MS : 0;
    return due == 0 || (deadline != 0 && deadline < due) ? deadline : due;
}

/* ---- what comes next ---- */

static unsigned machine_send(struct lease_machine *l, enum lease_machine_state state, enum lease_machine_action action,
                             uint64_t now_ms)
{
    l->state = state;
    l->sent_ms = now_ms;
    l->requests++;
    return action;
}

static unsigned over(struct lease_machine *l)
{
    l->state = LEASE_OVER;
    return LEASE_DONE;
}

/* This try is over. */
static unsigned rest(struct lease_machine *l, uint64_t at_least_ms, uint64_t now_ms)
{
    if (l->stopping)
        return over(l);
    l->random = l->random * 6364136223846793005u + 1442695040888963407u;
    uint64_t pause = LEASE_RETRY_MS + (l->random >> 33) % (LEASE_JITTER_MS + 1);
    /* Another holder's lease runs out before that: nothing is gained by being late. */
    if (!l->leading && l->taken_until_ms > now_ms && l->taken_until_ms - now_ms < pause)
        pause = l->taken_until_ms - now_ms;
    if (l->again)
        pause = LEASE_SOON_MS;
    l->again = false;
    l->state = LEASE_WAITING;
    l->due_ms = now_ms + (pause > at_least_ms ? pause : at_least_ms);
    return 0;
}

static unsigned machine_read_again(struct lease_machine *l, uint64_t now_ms)
{
    if (l->requests >= LEASE_MAX_REQUESTS)
        return rest(l, 0, now_ms);
    return machine_send(l, LEASE_READING, LEASE_GET, now_ms);
}

static unsigned begin_try(struct lease_machine *l, uint64_t now_ms)
{
    l->round_ms = now_ms;
    l->requests = 0;
    if (l->leading && lease_machine_is_held(l) && !l->stale)
        return machine_send(l, LEASE_UPDATING, LEASE_PUT, now_ms);
    return machine_send(l, LEASE_READING, LEASE_GET, now_ms);
}

static unsigned machine_release(struct lease_machine *l, uint64_t now_ms)
{
    if (l->stale)
        return machine_read_again(l, now_ms);
    if (!lease_machine_is_held(l) || l->requests >= LEASE_MAX_REQUESTS)
        return over(l);
    return machine_send(l, LEASE_RELEASING, LEASE_PUT, now_ms);
}

/* The Lease was just read. */
static unsigned machine_decide(struct lease_machine *l, uint64_t now_ms)
{
    if (l->stopping)
        return machine_release(l, now_ms);
    if (now_ms < l->taken_until_ms || l->requests >= LEASE_MAX_REQUESTS)
        return rest(l, 0, now_ms);
    if (l->missing)
        return machine_send(l, LEASE_CREATING, LEASE_POST, now_ms);
    return machine_send(l, LEASE_UPDATING, LEASE_PUT, now_ms);
}

/* ---- what was seen ---- */

static uint64_t duration_ms(const struct lease *r)
{
    int32_t s = r->duration_s > 0 ? r->duration_s : LEASE_DURATION_S;
    return (uint64_t)(s < LEASE_MAX_DURATION_S ? s : LEASE_MAX_DURATION_S) * 1000u;
}

static unsigned depose(struct lease_machine *l)
{
    bool was = l->leading;
    l->leading = false;
    return was ? LEASE_DEPOSED : 0;
}

/* Never sooner than what was seen before: an earlier holder may not know yet that it is one no more. */
static void taken_for(struct lease_machine *l, uint64_t ms, uint64_t now_ms)
{
    if (now_ms + ms > l->taken_until_ms)
        l->taken_until_ms = now_ms + ms;
}

static unsigned machine_reader(struct lease_machine *l, const struct lease *r, uint64_t now_ms)
{
    bool first = !l->known, changed = first || l->missing || !lease_same_record(&l->lease, r);
    bool nobody = r->holder[0] == '\0', given_up = nobody && r->duration_s == 1;
    l->lease = *r;
    l->known = true;
    l->missing = l->stale = false;
    if (given_up || (nobody && first))
        l->taken_until_ms = 0;
    else if (changed && !lease_machine_is_held(l) && !(nobody && lease_machine_may_act(l, now_ms)))
        taken_for(l, duration_ms(r), now_ms);
    if (nobody || lease_machine_is_held(l))
        return 0;
    l->held = false;
    return depose(l);
}

static unsigned machine_written(struct lease_machine *l, uint64_t now_ms)
{
    if (!lease_machine_is_held(l))
        return rest(l, 0, now_ms);
    l->held = true;
    l->renewed_ms = l->sent_ms;
    if (l->stopping)
        return machine_release(l, now_ms);
    unsigned actions = 0;
    /* An answer that comes late proves nothing about now. */
    if (!l->leading && now_ms < l->sent_ms + LEASE_RENEW_DEADLINE_MS) {
        l->leading = true;
        actions = LEASE_ELECTED;
    }
    l->again |= !l->leading;
    return actions | rest(l, 0, now_ms);
}

/* ---- events ---- */

static unsigned on_missing(struct lease_machine *l, uint64_t now_ms)
{
    uint64_t ms = duration_ms(&l->lease), least = LEASE_DURATION_S * 1000u;
    switch (l->state) {
    case LEASE_READING:
        /* It was there, and was deleted: the last holder, perhaps unseen, may not know yet. */
        if (l->known && !l->missing && !lease_machine_may_act(l, now_ms))
            taken_for(l, ms > least ? ms : least, now_ms);
        l->known = l->missing = true;
        l->stale = false;
        return machine_decide(l, now_ms);
    case LEASE_UPDATING:
        l->stale = true;
        return machine_read_again(l, now_ms);
    case LEASE_RELEASING:
        return over(l);
    default: /* a POST: the namespace is not there */
        return rest(l, 0, now_ms);
    }
}

static unsigned on_failed(struct lease_machine *l, int64_t retry_after_ms, uint64_t now_ms)
{
    uint64_t later = retry_after_ms > 0 ? (uint64_t)retry_after_ms : 0;
    if (later > LEASE_MAX_RETRY_AFTER_MS)
        later = LEASE_MAX_RETRY_AFTER_MS;
    bool was_update = l->state == LEASE_UPDATING;
    if (l->state != LEASE_READING)
        l->stale = true;
    if (was_update && retry_after_ms < 0)
        return machine_read_again(l, now_ms);
    return rest(l, later, now_ms);
}

static unsigned on_release(struct lease_machine *l, uint64_t now_ms)
{
    if (l->stopping)
        return 0;
    bool maybe_held = lease_machine_is_held(l) || l->stale;
    l->stopping = true;
    l->leading = false;
    l->requests = 0;
    switch (l->state) {
    case LEASE_CREATING:
    case LEASE_UPDATING:
        return 0; /* its answer says what there is to give up */
    case LEASE_READING:
        return maybe_held ? 0 : LEASE_CANCEL | over(l);
    default:
        return machine_release(l, now_ms);
    }
}

static unsigned on_hint(struct lease_machine *l, uint64_t now_ms)
{
    if (l->state != LEASE_WAITING) {
        l->again = l->state != LEASE_IDLE && l->state != LEASE_OVER;
        return 0;
    }
    uint64_t soon = l->round_ms + LEASE_SOON_MS;
    if (now_ms >= soon)
        return begin_try(l, now_ms);
    if (soon < l->due_ms)
        l->due_ms = soon;
    return 0;
}

static unsigned machine_step(struct lease_machine *l, const struct lease_machine_event *e, uint64_t now_ms)
{
    enum lease_machine_state state = l->state;
    bool answer =
        state == LEASE_READING || state == LEASE_CREATING || state == LEASE_UPDATING || state == LEASE_RELEASING;
    unsigned actions = 0;
    switch (e->type) {
    case LEASE_EVENT_START:
        return l->state == LEASE_IDLE ? begin_try(l, now_ms) : 0;
    case LEASE_EVENT_TIMER:
        return l->state == LEASE_WAITING && now_ms >= l->due_ms ? begin_try(l, now_ms) : 0;
    case LEASE_EVENT_HINT:
        return on_hint(l, now_ms);
    case LEASE_EVENT_RELEASE:
        return on_release(l, now_ms);
    case LEASE_EVENT_RECORD:
        if (!answer)
            return 0;
        actions = machine_reader(l, e->lease, now_ms);
        if (state == LEASE_READING)
            return actions | machine_decide(l, now_ms);
        return actions | (state == LEASE_RELEASING ? over(l) : machine_written(l, now_ms));
    case LEASE_EVENT_MISSING:
        return answer ? on_missing(l, now_ms) : 0;
    case LEASE_EVENT_CONFLICT:
        if (!answer || state == LEASE_READING)
            return answer ? rest(l, 0, now_ms) : 0;
        l->stale = true;
        return machine_read_again(l, now_ms);
    case LEASE_EVENT_FAILED:
        return answer ? on_failed(l, e->retry_after_ms, now_ms) : 0;
    }
    return 0;
}

unsigned lease_machine_step(struct lease_machine *l, const struct lease_machine_event *e, uint64_t now_ms)
{
    unsigned actions = machine_step(l, e, now_ms);
    /* After the event, which may have been the renewal. */
    if (l->leading && !lease_machine_may_act(l, now_ms))
        actions |= depose(l);
    return actions;
}

/* ---- what is written ---- */

void lease_machine_next(struct lease_machine *l, uint64_t wall_us, struct lease *ret)
{
    bool ours = lease_machine_is_held(l), creating = l->state == LEASE_CREATING,
         releasing = l->state == LEASE_RELEASING;
    struct lease next = {.duration_s = releasing ? 1 : LEASE_DURATION_S};
    /* Each renewal has to be another record than any before: where nothing changes, the server takes it for no write at
     * all, and the others see no renewal; nor do they where they see again what they saw before. So a wall clock that
     * stands still, or is set back a little, is counted on, also from what an earlier process of this name wrote. */
    int64_t read_us = 0;
    bool read = lease_machine_is_held(l) && rfc3339_parse(l->lease.renew_time, &read_us) == 0 && read_us > 0;
    uint64_t before[] = {read ? (uint64_t)read_us : 0, l->written_us};
    for (unsigned i = 0; i < array_len(before); i++)
        if (wall_us <= before[i] && before[i] - wall_us < 1000000u)
            wall_us = before[i] + 1;
    l->written_us = wall_us;
    rfc3339_format((int64_t)wall_us, 6, next.renew_time); /* Kubernetes' MicroTime */
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
