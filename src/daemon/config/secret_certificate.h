/* What a TLS Secret has, as HAProxy reads a certificate: its chain, then the key. */
#ifndef DAEMON_SECRET_CERTIFICATE_H
#define DAEMON_SECRET_CERTIFICATE_H

#include "base/compiler.h"
#include "base/error.h"
#include "model/objects.h"

struct storage_files;
struct storage_known;

/* NULL: it has none of that key. */
const struct secret_value *secret_value_of(const struct secret_object *o, const char *key);

/* Adds tls.crt, ca.crt (which may be absent) and tls.key as a certificate of that name. o NULL: there is no such Secret.
 * known: as of storage_files_add_known. ERROR_INVALID: why it is none, "it has no key tls.key". */
int secret_certificate_add(const struct secret_object *o, const char *name, struct storage_known *known,
                           struct storage_files *files, struct error *err) must_check;

#endif
