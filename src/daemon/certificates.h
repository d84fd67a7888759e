/* TLS towards the Data Plane APIs by the settings, and when every certificate ends that is in use or was seen. */
#ifndef DAEMON_CERTIFICATES_H
#define DAEMON_CERTIFICATES_H

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct clients;
struct settings;
struct telemetry;
struct tls_files;

/* HAPROXY_DATAPLANE_CA_FILE and those beside it, read now. *ret is NULL where no URL is https. Says in the log that nothing is
 * verified. ERROR_INVALID naming the variable and its file. */
int certificates_of_dataplanes(const struct settings *settings, const struct log *log, struct tls_files **ret,
                               struct error *err) must_check;

/* Whether that would work, for check-config. */
int certificates_check(const struct settings *settings, struct error *err) must_check;

/* Looks at the files, too: between two requests of a watch there may be minutes. */
void certificates_measure(const struct clients *clients, struct telemetry *telemetry, const struct log *log);

/* Calls fn for each that is in use or was seen. peer: "kubernetes" or a URL; which: "ca", "client" or "server". */
void certificates_each(const struct clients *c,
                       void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s), void *arg);

#endif
