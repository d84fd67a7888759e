/*
 * All entries of a map in one request, PUT /runtime/maps/NAME, in the place of those that HAProxy has. The Data Plane API
 * replaces a map at one stroke ("prepare map", "add map", "commit map") only where the lines that it makes of the entries
 * are more than 8,192 bytes; fewer are appended to what is there. And of the blocks of 8,192 bytes that it cuts them into it may lose
 * a line or send one twice. Both are foreseen here, and such a map takes a reload. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct map_entries;

/* Into JSON. -1, ERROR_INVALID: why not; or these are too many, or the API cannot tell or show one of them. */
int map_payload_print(const struct map_entries *entries, struct buf *ret, struct error *err) must_check;

/* For its tests: the lines as they arrive, each by its index, where the API is given lines of these lengths. The number of
 * them, at most max of which are in ret; 0: they would be appended. */
size_t map_payload_arrives(const size_t *lengths, size_t count, size_t *ret, size_t max);
