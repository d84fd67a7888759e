/*
 * Which Event an occurrence belongs to, and whether it is worth a request; of one Service, or of
 * all other objects of a namespace. Pure. The rules and the
 * figures are those of Kubernetes' own components (client-go's EventCorrelator):
 *
 * - The same reason and message again is the same Event, with a count that is one higher.
 * - The tenth different message of a reason within 10 minutes, and each after it, is a combined Event of that reason: the same one
 *   again with the latest message, until none of that reason comes for 10 minutes.
 * - 25 requests at once, then one in 5 minutes; for normal ones and warnings apart. What is not sent is counted all the same, and
 *   the next request has the count.
 *
 * Unlike client-go: an Event that was not seen again for 55 minutes is a new one, since the API forgets them after an
 * hour. And of many objects, which a namespace has, none is combined with that of another, and the bucket is larger.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CORRELATOR_REASONS 32u
#define CORRELATOR_ALIKE 10u /* different messages of a reason: this one, and those after it, are combined */
#define CORRELATOR_ALIKE_MS 600000u
#define CORRELATOR_FORGET_MS 3300000u
#define CORRELATOR_BURST 25u
#define CORRELATOR_REFILL_MS 300000u
#define CORRELATOR_MANY_BURST 1000u /* of many objects: so many at once, then one in 5 seconds */
#define CORRELATOR_MANY_REFILL_MS 5000u
#define CORRELATOR_RECORDS 64u /* the oldest gives way */

struct correlator_record {
    uint64_t id; /* 0: none */
    uint64_t hash;
    unsigned reason;
    bool written; /* the API has it, as far as is known */
    unsigned count;
    uint64_t first_wall_ms;
    uint64_t last_ms; /* monotonic */
};

struct correlator_group {
    uint64_t hashes[CORRELATOR_ALIKE - 1];
    unsigned count;
    uint64_t last_ms;
};

struct correlator_bucket {
    uint64_t credit_ms, at_ms;
};

struct correlator {
    uint64_t next_id;
    bool many;                 /* objects */
    unsigned burst, refill_ms; /* of the buckets */
    struct correlator_record records[CORRELATOR_RECORDS];
    struct correlator_group groups[CORRELATOR_REASONS];
    struct correlator_bucket buckets[2]; /* normal, warning */
};

/* One occurrence, as it is to be reported. */
struct correlated {
    bool send;     /* there is room for a request */
    uint64_t id;   /* of the Event; never that of another one of this Service */
    bool combined; /* the message is to say so */
    unsigned count;
    uint64_t first_wall_ms;
};

/* many: of many objects. first_id: not 0, and no id of an earlier run. */
void correlator_init(struct correlator *c, bool many, uint64_t first_id, uint64_t now_ms);

/* reason: below CORRELATOR_REASONS. now_ms: monotonic. */
void correlator_take(struct correlator *c, unsigned reason, bool warning, const char *message, uint64_t now_ms,
                     uint64_t wall_ms, struct correlated *ret);

/* Whether the API has the Event of that id; one that gave way: false. */
bool correlator_is_written(const struct correlator *c, uint64_t id);
void correlator_set_written(struct correlator *c, uint64_t id, bool written);
