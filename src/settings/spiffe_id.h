/* SPIFFE IDs (the SPIFFE-ID specification, section 2): spiffe://TRUST-DOMAIN/PATH. */
#ifndef SETTINGS_SPIFFE_ID_H
#define SETTINGS_SPIFFE_ID_H

#include <stddef.h>

#include "base/compiler.h"

#define SPIFFE_ID_MAX_BYTES 2048

/* What is wrong with it; NULL: it is one. That of a trust domain alone has no path. */
const char *spiffe_id_problem(const char *id);

/* How many bytes of an ID are that of its trust domain: "spiffe://example.org". */
size_t spiffe_id_domain_len(const char *id);

#endif
