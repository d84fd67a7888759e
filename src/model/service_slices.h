/*
 * The EndpointSlices of all Services, and which of them are one Service's: of 20,000 slices those of each of 5,000 Services are
 * found in linear time. A cache of struct service_slice with an index, which is made anew when it is asked for after a change.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "model/objects.h"

struct service_slices;

struct service_slices *service_slices_new(void) must_check;
void service_slices_free(struct service_slices *s); /* NULL is allowed */

/* As those of model/cache. What they change is noted for the Services that it is about; a relist that changes anything is
 * about all of them. */
bool service_slices_put(struct service_slices *s, struct service_slice *slice);
bool service_slices_delete(struct service_slices *s, const char *name);
void service_slices_keep(struct service_slices *s, const char *name);
void service_slices_begin(struct service_slices *s);
void service_slices_abort(struct service_slices *s);
bool service_slices_end(struct service_slices *s, size_t *ret_count); /* how many there are now */
void service_slices_forget(struct service_slices *s);

struct service_slices_found {
    const struct endpoint_set *const *sets; /* ordered by name; valid until the next change */
    size_t count;
    uint64_t changed; /* another number: they may be others than before; 0: there never were any */
};
/* Of one Service, "namespace/name". */
struct service_slices_found service_slices_of(struct service_slices *s, const char *service);
