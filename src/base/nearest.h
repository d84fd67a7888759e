/* "Did you mean": of the names that are known those that are near an unknown one. Pure. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

#define NEAREST_SHOWN 3 /* of those that are near */
#define NEAREST_MAX 10  /* of all there are */

struct near_name {
    char *name;
    size_t distance;
};

struct nearest {
    const char *name;                   /* unknown */
    size_t limit;                       /* how many edits away */
    size_t most;                        /* NEAREST_SHOWN or NEAREST_MAX */
    struct near_name list[NEAREST_MAX]; /* the nearest first */
    size_t count, more;                 /* so many others */
};

void nearest_init(struct nearest *n, const char *name);
/* Of all names, however far: what there is in place of an unknown one. */
void nearest_init_all(struct nearest *n, const char *name);
void nearest_fini(struct nearest *n);

/* Edits from the unknown name; a name within a name ("n1" of "n1.example.org") is as good as one typing error. */
size_t nearest_distance(const struct nearest *n, const char *of);
/* A known name; one that comes several times counts once, where it is nearest. */
void nearest_add(struct nearest *n, const char *name, size_t distance);

/* Borrowed; NULL: none is near, whatever there is in its place. */
const char *nearest_name(const struct nearest *n);

/* "; did you mean "n1"?", of the nearest alone; "" where none is near. Allocates. */
char *nearest_question(const struct nearest *n) must_check;

/* "n1, n2", of all "n1, n2 and 3 more"; NULL: none is near. Allocates. */
char *nearest_text(const struct nearest *n) must_check;
