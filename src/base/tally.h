/* Sums by text: how much each has so far. */
#pragma once

#include <stddef.h>

struct tally_row;

struct tally {
    struct tally_row *rows; /* a zeroed one is empty */
};

/* What `of` had before. NULL is "". */
size_t tally_add(struct tally *t, const char *of, size_t n);
size_t tally_count(const struct tally *t); /* of texts */
void tally_fini(struct tally *t);          /* for cleanup() */
