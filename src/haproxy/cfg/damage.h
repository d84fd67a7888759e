/* What a write would damage in haproxy.cfg. Pure. */
#pragma once

#include "base/compiler.h"
#include "haproxy/cfg/file.h"

/* Which lines may differ: those that a transaction is to write. section NULL: the header of s itself. */
struct cfg_file_managed {
    bool (*is_ours)(const void *arg, const char *kind, const char *name, const char *first, const char *second);
    const void *arg;
};

/* What of `before` means something else in `after`, which the API would write in its place, with line numbers of
 * `before`: not comments, white space, quotes, the order of sections or that of lines of different kinds. `ours`
 * NULL: nothing may differ. NULL: nothing. Allocates. Lines are named by their first two words: what follows may be
 * a secret. */
char *cfg_file_compare(const struct cfg_file *before, const struct cfg_file *after,
                       const struct cfg_file_managed *ours) must_check;
