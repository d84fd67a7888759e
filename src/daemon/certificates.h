/* Expiration of every certificate that is in use or was seen. */
#ifndef DAEMON_CERTIFICATES_H
#define DAEMON_CERTIFICATES_H

#include <stdint.h>

#include "base/log.h"

struct clients;
struct telemetry;

/* Checks the files, too: between two requests of a watch there may be minutes. */
void certificates_measure(const struct clients *clients, struct telemetry *telemetry, const struct log *log);

/* Calls fn for each that is in use or was seen. peer: "kubernetes" or a URL; which: "ca", "client" or "server". */
void certificates_each(const struct clients *c,
                       void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s), void *arg);

#endif
