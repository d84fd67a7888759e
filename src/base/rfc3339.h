/* Moments as RFC 3339 writes them, in microseconds since the Unix epoch. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

/* In UTC: "2026-11-21T23:59:59Z", with `digits` (0, 3 or 6) of a fraction. Before 1970 and after 9999: the nearest
 * moment. */
#define RFC3339_BYTES 28
void rfc3339_format(int64_t wall_us, unsigned digits, char ret[RFC3339_BYTES]);
/* In any zone, as Go reads it: no leap seconds, no lower-case letters; a fraction is cut after 6 digits. -1: it is no
 * such. */
int rfc3339_parse(const char *s, int64_t *ret_us) must_check;
