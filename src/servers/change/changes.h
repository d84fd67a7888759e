/* A difference as the changes that an instance is asked for. Pure. */
#ifndef SERVERS_CHANGE_CHANGES_H
#define SERVERS_CHANGE_CHANGES_H

#include <stddef.h>

#include "haproxy/change.h"

struct diff;

/* The backend, then changes of servers, additions, removals: at no point has it fewer servers than before or after. They
 * borrow from both; free() the list. */
struct change *changes_of(const struct backend *actual, const struct diff *d, size_t *ret_count) must_check;

#endif
