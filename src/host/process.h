/* The process_* metrics that Prometheus expects of every process, from /proc/self. */
#pragma once

#include "base/buf.h"

/* When this process started, in seconds since the Unix epoch; 0 where /proc does not say. Once is enough: the wall
 * clock may be set later, the start stays. */
double process_start_seconds(void);

/* Appends the figures as exposition text; those that /proc does not have are left out. labels: of each, as they are
 * printed; "": none. */
void process_print(double start_seconds, const char *labels, struct buf *out);

#define HOST_NAME_BYTES 65 /* as long as Linux has them, and their end */

/* "" where it has none. */
void host_name(char ret[HOST_NAME_BYTES]);
