/*
 * Memory for many small things that all end together: cut from large blocks, nothing is freed before all is.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct arena_block;

struct arena { /* zeroed: empty */
    struct arena_block *blocks;
    char *last; /* what was cut last */
    char *next;
    size_t left;
};

void *arena_alloc(struct arena *a, size_t bytes) must_check; /* not zeroed; aligned for anything */
/* What was cut last ends here: the rest of it is for the next. Nothing happens where `end` is not in it. */
void arena_cut(struct arena *a, const void *end);
void arena_fini(struct arena *a);
