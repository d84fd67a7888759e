/*
 * What is to be done in a backend that haproxy-k8s-sync gives up (`haproxy-k8s-sync release`): the live servers stay as
 * they are, the parked lines are removed, a drain at runtime ends. Or, with `servers`, all the lines that it manages are
 * removed. Pure.
 *
 * A server in maintenance at runtime alone, with a line that is not, is an operator's, and stays.
 */
#ifndef SERVERS_CHANGE_RELEASE_PLAN_H
#define SERVERS_CHANGE_RELEASE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/backend.h"
#include "haproxy/runtime.h"
#include "servers/change/diff.h"

/* It owns all of it: it is printed when the next reading has taken the place of the one that it was made of. */
struct release_plan {
    struct backend_server *removed; /* in the order of the file, as the others */
    size_t removed_count;
    const char **undrained; /* names of servers that are live in the file and drain at runtime */
    size_t undrained_count;
    const char **by_operator; /* in maintenance at runtime alone */
    size_t by_operator_count;
    size_t kept;        /* managed lines that stay */
    size_t others;      /* lines that are not managed: they stay, too; those of another cluster among them */
    size_t others_live; /* of these, in rotation and no backup */
    char *refused;      /* why nothing may be written; NULL: nothing stands against it. Then there is nothing above */
};

void release_plan_make(const struct backend *actual, const struct runtime *runtime, const struct diff_rules *rules,
                       bool servers, struct release_plan *ret);
void release_plan_fini(struct release_plan *p);           /* a zeroed one is allowed; empty afterwards */
bool release_plan_is_empty(const struct release_plan *p); /* nothing is left to be done, and nothing is refused */

#endif
