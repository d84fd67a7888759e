/*
 * The machine that asks a Data Plane API whether HAProxy runs changes of servers as it was commanded: one GET for each backend,
 * compared by drift_of_changes, as (state, event) -> action over plain structs. It sends nothing itself.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/dataplane/transaction.h"

struct changes;
struct dataplane_answer;

struct read_back {
    const struct changes *changes; /* borrowed until it has finished */
    size_t at;                     /* the first of the backend in hand */
    unsigned reads;                /* of that */
    bool strict;                   /* what the API does not show is not as commanded: weights, of 3.0 */
    struct buf path;
    struct error
        why; /* TRANSACTION_FINISHED: kind NONE, HAProxy runs all of it; else what it does not run, or why it is unknown */
};

void read_back_fini(struct read_back *r); /* a zeroed one is allowed */

/* There is one at least. */
struct transaction_action read_back_start(struct read_back *r, const struct changes *changes);
struct transaction_action read_back_answer(struct read_back *r, const struct dataplane_answer *a);
