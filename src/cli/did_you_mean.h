/* "Did you mean": the known nodes whose names are near an unknown name, or whose address it is. Pure. */
#pragma once

#include "base/nearest.h"

struct object_caches;

void nearest_of_nodes(struct nearest *n, const struct object_caches *caches);
void nearest_of_endpoints(struct nearest *n, const struct object_caches *caches); /* by the address of one on a node */
