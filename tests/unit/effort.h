/* How much of a random test is played: EFFORT percent of its rounds, at least one. `make test` plays 20, `make explore` 100. */
#pragma once

#include <stdlib.h>

#define EFFORT_PERCENT 20

static inline int effort(int rounds)
{
    const char *given = getenv("EFFORT"); /* NOLINT(concurrency-mt-unsafe): one thread */
    int percent = given != NULL ? (int)strtol(given, NULL, 10) : EFFORT_PERCENT;
    int played = (int)((long long)rounds * percent / 100);
    return played > 0 ? played : 1;
}
