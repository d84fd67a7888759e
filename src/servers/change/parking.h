/*
 * Parked servers: managed lines in maintenance that are not desired (any more), kept so that the return of an endpoint
 * needs no reload. Remembers since when each is parked (as far as is known), and says which may go. Pure.
 *
 * Spares of the desired state (PARK_NODES) never go, neither count as parked nor grow old; they only leave less room
 * for further spares. While the desired state is empty it has none, and those of the refresh before stay.
 */
#pragma once

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

/* Refreshes what is parked: lines of actual that are managed by rules, in maintenance, and neither desired nor spare.
 * node_exists (NULL: all do) says whether Kubernetes has a node of that name: of the server, or that the desired state
 * knows its line by. A desired state whose state is neither OK nor EMPTY changes nothing. Of rules only what decides
 * which lines are managed is used. */
void parking_refresh(struct parking *p, const struct backend *actual, const struct desired *desired,
                     const struct diff_rules *rules, bool (*node_exists)(const void *arg, const char *server),
                     const void *arg, uint64_t now_ms);
/* How often a refresh changed what it says of any server. */
uint64_t parking_changes(const struct parking *p);

/* For tests, each in turn; false: no more. `since` counts for those that are no spares. */
struct parking_memory {
    const char *server;
    uint64_t since_ms;
    bool spare;
};
bool parking_memory(const struct parking *p, size_t i, struct parking_memory *ret);

/* Of any name; one that is not parked may be. */
enum parking_verdict parking_verdict(const struct parking *p, const char *server);
/* Why it goes: "it was parked for PARK_TTL". A constant; NULL: it stays. */
const char *parking_reason(const struct parking *p, const char *server);
