/*
 * Whether a document would lock the daemon out of a HAProxy: by what the haproxy.cfg has that is there now, and without
 * which its Data Plane API could not be used any more, or not reach HAProxy. Pure.
 */
#pragma once

#include "base/error.h"
#include "haproxy/cfg/file.h"

struct lockout_login {
    const char *user;     /* NULL: none is used, or a token */
    const char *password; /* NULL: not known */
};

/* What counts, where the file has it:
 *   each userlist with that user, as the API's own configuration, which is not seen, names one of them; its password,
 *   where the document has it in clear, and unless it is another one there already
 *   the first unix socket of `stats socket`, which is the API's way to HAProxy, with its level admin
 *   a `program` that runs the API
 *   `master-worker`, by which HAProxy can be reloaded
 * ERROR_INVALID: which of these the document lacks, and what to do. */
int lockout_check(const struct cfg_file *is, const struct cfg_file *wanted, const struct lockout_login *login,
                  struct error *err) must_check;
