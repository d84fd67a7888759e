/* "Did you mean": the known nodes whose names are like a name that is not known. Pure. */
#ifndef SYNC_INSPECT_NEAR_H
#define SYNC_INSPECT_NEAR_H

#include "base/compiler.h"

struct cache;

/* "n1, n2": the nearest first, three at most; NULL: none is near. Allocates. */
char *inspect_nearest(const struct cache *nodes, const char *name) must_check;

#endif
