/*
 * The loss limit (servers/change/loss_limit) of what templates see: what vanishes unannounced, more of it than MAX_LOSS_PERCENT of its
 * group, is given to renders for one RESYNC_PERIOD more. It follows the caches of a set's objects. Pure.
 *
 *   resource          group                 a member                   announced
 *   EndpointSlices    the Service           a ready endpoint           terminating
 *   Pods              the namespace         a pod that is ready        deletionTimestamp
 *   ...Class          itself, as many objects are found by it          deletionTimestamp
 *   others            all of them           an object, not the only    deletionTimestamp
 *                                           one
 *
 * A member is lost that was given to a render, and has vanished or is not ready any more. Lost endpoints are given as an EndpointSlice like that in which they
 * were seen last, other objects as they were.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct buf;
struct losses;
struct objects;
struct template_set;

/* Follows the caches of a set's objects, which are empty yet; both borrowed. */
struct losses *losses_new(const struct template_set *set, const struct objects *of, unsigned max_percent,
                          uint64_t period_ms) must_check;
void losses_free(struct losses *l); /* NULL is allowed */
/* What goes until it is called again is announced. */
void losses_announce(struct losses *l, bool announced);

/* What renders do not see anyway is no loss when it goes. resource: as the set calls it. */
void losses_withhold(struct losses *l, bool (*withheld)(void *arg, const char *resource, const char *name), void *arg);

/* Decides which stay, before each render. When that ends for one of them; 0: none stays. */
uint64_t losses_decide(struct losses *l, uint64_t now_ms);
/* Adds those that stay; in the process of a render, whose objects go with it. */
void losses_apply(const struct losses *l, struct objects *to);

/* What renders are given, for `recall`: a line of how each resource is watched, then one of each object. Nothing without a limit. */
void losses_print(const struct losses *l, struct buf *to);
/* Before the first list: what an earlier run gave, and what is not listed of it is lost, unless it is announced. */
void losses_recall(struct losses *l, const char *text);
/* What it prints may have changed since this was asked last; the first time: since an earlier run. */
bool losses_changed(struct losses *l);

struct losses_view {
    size_t delayed, groups; /* members that stay, of so many groups */
    bool endpoints;
};
struct losses_view losses_view(const struct losses *l, size_t resource);
/* Why removals of that resource are delayed; NULL: none is. Allocates. */
char *losses_text(const struct losses *l, size_t resource) must_check;
