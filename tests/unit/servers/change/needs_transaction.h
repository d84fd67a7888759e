/* Whether a change cannot be had without a transaction, found the long way: by looking through all lines of its backend. What
 * servers/change/diff says of each change (structural) is held to it. */
#ifndef TESTS_NEEDS_TRANSACTION_H
#define TESTS_NEEDS_TRANSACTION_H

#include <string.h>

#include "haproxy/backend.h"
#include "servers/change/diff_internal.h"

static inline bool needs_transaction(const struct backend *actual, const struct diff_change *c)
{
    const struct backend_server *is = NULL;
    for (size_t i = 0; i < actual->server_count; i++) {
        if (strcmp(actual->servers[i].name, c->server.name) != 0)
            continue;
        if (is != NULL)
            return true;
        is = &actual->servers[i];
    }
    return is == NULL || diff_line_needs_transaction(is, c);
}

#endif
