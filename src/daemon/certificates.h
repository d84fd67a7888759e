/* Expiration of every certificate that is in use or was seen, and how it stands about the identity from SPIFFE. */
#ifndef DAEMON_CERTIFICATES_H
#define DAEMON_CERTIFICATES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

struct checks;
struct clients;
struct telemetry;

/* Checks the files, too: between two requests of a watch there may be minutes. */
void certificates_measure(const struct clients *clients, struct telemetry *telemetry, const struct log *log);

/* Calls fn for each that is in use or was seen. peer: "kubernetes" or a URL; which: "ca", "client" or "server". */
void certificates_each(const struct clients *c,
                       void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s), void *arg);

/* The check of the identity, where there is to be one: false without one that can be used. */
bool certificates_ready(const struct clients *c, struct checks *checks);

#endif
