/* How many are parked, for tests. */
#ifndef TESTS_PARKING_COUNT_H
#define TESTS_PARKING_COUNT_H

#include "servers/change/parking.h"

/* Those that are no spares. */
static inline size_t parking_count(const struct parking *p)
{
    struct parking_memory m;
    size_t count = 0;
    for (size_t i = 0; parking_memory(p, i, &m); i++)
        count += !m.spare;
    return count;
}

/* How many more there may be. */
static inline size_t parking_room(const struct parking *p)
{
    struct parking_memory m;
    size_t count = 0;
    while (parking_memory(p, count, &m))
        count++;
    return count < PARKING_MAX ? PARKING_MAX - count : 0;
}

#endif
