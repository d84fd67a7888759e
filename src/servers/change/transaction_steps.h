/* A difference as the requests of a transaction. Pure. */
#ifndef SERVERS_CHANGE_TRANSACTION_STEPS_H
#define SERVERS_CHANGE_TRANSACTION_STEPS_H

#include <stddef.h>

#include "base/error.h"
#include "haproxy/dataplane/transaction.h"

struct backend;
struct diff;

/* Appends the steps of d to *steps (mem_array'd, or NULL with *count 0): backend (create or change), changes of
 * servers, adds, removals. A backend that is made is one step with all its servers, unless its balance goes by their
 * order. Several backends share one transaction so. -1: the list is as it was. */
int transaction_steps_add(const struct backend *actual, const struct diff *d, struct transaction_step **steps,
                          size_t *count, struct error *err) must_check;

#endif
