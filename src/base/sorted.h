/* Where something is in a sorted array, or would go: what bsearch does not say. Pure. */
#pragma once

#include <stddef.h>

/* As bsearch takes them; returns the index of the first element that does not come before the key, `count` where all do. */
size_t sorted_place(const void *key, const void *list, size_t count, size_t size,
                    int (*compare)(const void *key, const void *element));
