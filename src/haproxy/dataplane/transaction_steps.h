/* Changes of haproxy.cfg as the requests of a transaction. Pure. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/transaction.h"

/* Appends the steps of these changes to *steps (mem_array'd, or NULL with *count 0), in their order. A backend that is
 * made is one step with all its servers, unless its balance goes by their order. Several calls may share one
 * transaction so. -1: the list is as it was. */
int transaction_steps_add(const struct change *changes, size_t change_count, struct transaction_step **steps,
                          size_t *count, struct error *err) must_check;
