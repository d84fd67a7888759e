/*
 * Certificates that were found good, known by their bytes: to parse one takes a millisecond, and a configuration has up to
 * thousands, nearly all of which are those of the configuration before.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "haproxy/storage_files.h"

struct storage_known;

/* here: HAProxy is on this machine, whose OpenSSL is asked whether it serves such a one, too (net/pem). */
struct storage_known *storage_known_new(bool here) must_check;
bool storage_known_is_here(const struct storage_known *k);
void storage_known_free(struct storage_known *k); /* NULL is allowed */

/* hash: of the bytes (net/digest, in hexadecimal). False: not known. */
bool storage_known_find(struct storage_known *k, const char *hash, enum storage_kind *ret_place);
void storage_known_add(struct storage_known *k, const char *hash, enum storage_kind place);
/* A configuration has been gone through: what was not asked for since the last one is forgotten. */
void storage_known_end(struct storage_known *k);
