/*
 * A few entries of a map in the running HAProxy, 2.6 to 3.4, instead of all of them: `add map`, `set map`, `del map` (management
 * guide, 9.3). What is added stands behind all others there, so that this is for maps where the order of entries counts for
 * nothing: each key once, and looked up by exactly that key or by the longest one that a text begins with. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

#define MAP_COMMANDS_MAX 32
#define MAP_COMMAND_MAX_BYTES 2048

/* haproxy.cfg looks up what is stored by that name so, wherever it names it. False: in another way, or it is unknown. */
bool map_is_unordered(const char *config, const char *stored);

/* What makes a map that has the entries of `now` have those of `next`, one command a line: first what comes, then what is
 * changed, then what goes. path: HAProxy's name of the map, of STORAGE_NAME_ALPHABET and "/". False, and nothing in ret: more
 * than a few differ, or a command cannot say one of them. */
bool map_commands_print(const char *now, const char *next, const char *path, struct buf *ret);
