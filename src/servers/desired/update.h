/*
 * The desired state of one mapping from event to event: what servers/desired/desired computes, at the cost of what
 * changed. Pure, but for what it remembers: which endpoint is at which place. An event in a slice is an event at the
 * places of that slice, as it was and as it is, one of a Node at its own; the others have the servers that they had.
 *
 * That holds only while nothing changes that concerns all places. So all is computed where the Service changed, a
 * slice came or went, or a Node went; where the answer is not DESIRED_OK, or every node is a server (NODE_MODE all); where no
 * endpoint is ready; where a place is new whose server could have the name of another. What time changes
 * (a drain, what is out) is checked each time.
 */
#pragma once

#include "servers/desired/desired.h"

struct desired_memory;

struct desired_memory *desired_memory_new(void) must_check;
void desired_memory_free(struct desired_memory *m); /* NULL is allowed */

/* As desired_compute, shared. One memory is for one mapping: the caches and the rules are always the same, and the
 * rules never change. */
const struct desired *desired_update(struct desired_memory *m, const struct desired_input *in) must_check;
/* So often all was computed, since it is new; for tests. */
size_t desired_memory_full(const struct desired_memory *m);
