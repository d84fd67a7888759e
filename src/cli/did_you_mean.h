/* "Did you mean": the known nodes whose names are near an unknown name. Pure. */
#ifndef CLI_DID_YOU_MEAN_H
#define CLI_DID_YOU_MEAN_H

#include <stddef.h>

#include "base/compiler.h"

struct object_caches;

#define NEAREST_SHOWN 3

struct near_name {
    char *name;
    size_t distance;
};

struct nearest {
    const char *name;                     /* unknown; or the address of a node or of an endpoint on one */
    size_t limit;                         /* how many edits away */
    struct near_name list[NEAREST_SHOWN]; /* the nearest first */
    size_t count;
};

void nearest_init(struct nearest *n, const char *name);
void nearest_fini(struct nearest *n);
void nearest_of_nodes(struct nearest *n, const struct object_caches *caches);
void nearest_of_endpoints(struct nearest *n, const struct object_caches *caches);

/* "n1, n2"; NULL: none is near. Allocates. */
char *nearest_text(const struct nearest *n) must_check;

#endif
