/*
 * The `server` lines of one backend in haproxy.cfg itself (GET .../configuration/raw), to find what the API does not show
 * or would damage with a write: HAProxy configuration manual, section 2 (quoting, comments, continuation) and 5.2.
 */
#ifndef DATAPLANE_RAWCFG_H
#define DATAPLANE_RAWCFG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/backend.h"

/* `# _version=N`; -1 where absent. */
int64_t rawcfg_version(const char *text, size_t len);

/* Compares the lines of backend b->name with b->servers and fills b->aliens: a server line whose name the API does not
 * show, a server that the API shows but the file lacks, a keyword that the API's object does not account for (3.0.x drops
 * it with any write). ERROR_INVALID: the text is no configuration at all. */
int rawcfg_find_aliens(const char *text, size_t len, struct backend *b, struct error *err) must_check;

#endif
