#include "report/event_correlator.h"

#include <limits.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"

#define COMBINED_HASH 0 /* of the record that a reason's combined Event has; no message has it, as good as never */

void correlator_init(struct correlator *c, bool many, uint64_t first_id, uint64_t now_ms)
{
    *c = (struct correlator){.next_id = first_id,
                             .many = many,
                             .burst = many ? CORRELATOR_MANY_BURST : CORRELATOR_BURST,
                             .refill_ms = many ? CORRELATOR_MANY_REFILL_MS : CORRELATOR_REFILL_MS};
    for (size_t i = 0; i < array_len(c->buckets); i++)
        c->buckets[i] = (struct correlator_bucket){(uint64_t)c->burst * c->refill_ms, now_ms};
}

/* True where there are too many different ones of that reason. */
static bool is_one_of_many(struct correlator_group *g, uint64_t hash, uint64_t now_ms)
{
    if (now_ms - g->last_ms > CORRELATOR_ALIKE_MS)
        g->count = 0;
    g->last_ms = now_ms;
    for (unsigned i = 0; i < g->count; i++)
        if (g->hashes[i] == hash)
            return false;
    if (g->count == array_len(g->hashes))
        return true;
    g->hashes[g->count++] = hash;
    return false;
}

/* The one of that reason and hash, else a new one in place of the oldest. */
static struct correlator_record *record_of(struct correlator *c, unsigned reason, uint64_t hash, uint64_t now_ms,
                                           uint64_t wall_ms)
{
    struct correlator_record *oldest = &c->records[0];
    for (size_t i = 0; i < CORRELATOR_RECORDS; i++) {
        struct correlator_record *r = &c->records[i];
        if (r->id != 0 && r->reason == reason && r->hash == hash && now_ms - r->last_ms <= CORRELATOR_FORGET_MS)
            return r;
        if (oldest->id != 0 && (r->id == 0 || r->last_ms < oldest->last_ms))
            oldest = r;
    }
    *oldest = (struct correlator_record){.id = c->next_id++, .hash = hash, .reason = reason, .first_wall_ms = wall_ms};
    return oldest;
}

static bool may_send(const struct correlator *c, struct correlator_bucket *b, uint64_t now_ms)
{
    const uint64_t full = (uint64_t)c->burst * c->refill_ms;
    uint64_t more = now_ms - b->at_ms;
    b->at_ms = now_ms;
    b->credit_ms = more < full - b->credit_ms ? b->credit_ms + more : full;
    if (b->credit_ms < c->refill_ms)
        return false;
    b->credit_ms -= c->refill_ms;
    return true;
}

void correlator_take(struct correlator *c, unsigned reason, bool warning, const char *message, uint64_t now_ms,
                     uint64_t wall_ms, struct correlated *ret)
{
    uint64_t hash = hash_bytes(HASH_START, message, strlen(message));
    if (!c->many && is_one_of_many(&c->groups[reason], hash, now_ms))
        hash = COMBINED_HASH;
    struct correlator_record *r = record_of(c, reason, hash, now_ms, wall_ms);
    r->last_ms = now_ms;
    r->count += r->count < INT_MAX; /* the API has an int32 */
    *ret = (struct correlated){.send = may_send(c, &c->buckets[warning], now_ms),
                               .id = r->id,
                               .combined = hash == COMBINED_HASH,
                               .count = r->count,
                               .first_wall_ms = r->first_wall_ms};
}

bool correlator_is_written(const struct correlator *c, uint64_t id)
{
    for (size_t i = 0; i < CORRELATOR_RECORDS; i++)
        if (c->records[i].id == id)
            return c->records[i].written;
    return false;
}

void correlator_set_written(struct correlator *c, uint64_t id, bool written)
{
    for (size_t i = 0; i < CORRELATOR_RECORDS; i++)
        if (c->records[i].id == id)
            c->records[i].written = written;
}
