/* Lines of a map file while it changes. Pure. */
#ifndef HAPROXY_STORAGE_MAP_H
#define HAPROXY_STORAGE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* `now` with the lines of `next` behind it whose key it does not have. True: nothing of `now` is missing in `next`, so
 * that `next` itself will do; ret is empty then. */
bool storage_map_grow(const char *now, const char *next, struct buf *ret);

/* Entries, by their keys; of a key that is there more than once the first ones are the same ones. Their order is none. */
struct map_changes {
    size_t come, go, change;
};

void storage_map_compare(const char *now, const char *next, struct map_changes *ret);

#endif
