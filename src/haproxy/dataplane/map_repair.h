/*
 * A map to which a Data Plane API that does not know the version of its HAProxy appended entries, instead of replacing all of
 * them: the entries of the file come behind all that is there, which is then deleted, each by its id. Nothing that was there
 * stays, whatever is shown: of a value the API shows the first word. Pure.
 */
#ifndef HAPROXY_DATAPLANE_MAP_REPAIR_H
#define HAPROXY_DATAPLANE_MAP_REPAIR_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

struct map_entries;

/* Each is a request. */
#define MAP_REPAIR_MAX 128

/* What is to be deleted. A zeroed one has nothing. */
struct map_repair {
    char *ids[MAP_REPAIR_MAX]; /* "0x55d0c8a3b2e0", in HAProxy's order */
    size_t count;
};

/* json: GET /runtime/maps/NAME/entries, here and below. All that it has. -1: that is too much, or no such list; nothing is
 * left to be freed. */
int map_repair_init(struct map_repair *r, const char *json, size_t len, struct error *err) must_check;
void map_repair_fini(struct map_repair *r);
/* 0: it has what is to be deleted, then these entries, and nothing else. */
int map_repair_compare(const struct map_repair *r, const char *json, size_t len, const struct map_entries *entries,
                       struct error *err) must_check;

#endif
