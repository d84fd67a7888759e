/*
 * Parked servers: lines of ours in maintenance that nothing wishes for (any more), kept so that the return of an endpoint
 * needs no reload. Remembers since when each is parked (as far as we saw it), and says which may go. Pure.
 *
 * Spares of the wish (PARK_NODES) never go, neither count as parked nor grow old; they only leave less room for further
 * spares. While the wish is empty it has none, and those of the look before stay what they were.
 */
#ifndef SERVERS_CHANGE_PARKING_H
#define SERVERS_CHANGE_PARKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define PARKING_MAX 64

struct backend;
struct desired;
struct diff_rules;
struct parking;

enum parking_verdict {
    PARKING_STAY, /* it is parked, or may be */
    PARKING_LAZY, /* parked for the time to live, or no node has its name: it goes with the next transaction */
    PARKING_NOW,  /* more than PARKING_MAX are parked: the longest parked ones go, of these first the lazy ones */
};

struct parking *parking_new(uint64_t ttl_ms) must_check;
void parking_free(struct parking *p); /* NULL is allowed */

/* Looks at what is parked now: lines of actual that are ours by rules, in maintenance, and neither wished for nor spare.
 * node_exists (NULL: all do) tells whether Kubernetes has a node of that name: of the server, or that the wish knows its line by. A wish whose state is neither OK
 * nor EMPTY changes nothing. Of rules only what says which lines are ours is looked at. */
void parking_look(struct parking *p, const struct backend *actual, const struct desired *desired,
                  const struct diff_rules *rules, bool (*node_exists)(const void *arg, const char *server),
                  const void *arg, uint64_t now_ms);

/* Of any name; one that is not parked may be. */
enum parking_verdict parking_verdict(const struct parking *p, const char *server);
/* Why it goes: "it was parked for PARK_TTL". A constant; NULL: it stays. */
const char *parking_reason(const struct parking *p, const char *server);
size_t parking_count(const struct parking *p);
/* How many more there may be with those that are spares now: for new spares. */
size_t parking_room(const struct parking *p);

#endif
