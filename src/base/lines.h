/* How many lines differ between two texts, at the cost of reading each once: of a text only a number for each line is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In their order. A zeroed one is an empty text. */
struct lines {
    uint64_t *list;
    size_t count;
};

void lines_init(struct lines *l, const char *bytes, size_t len);
void lines_fini(struct lines *l);

/* In the same order. */
bool lines_same(const struct lines *a, const struct lines *b);
/* A line that stands in both is none of them, wherever it stands. false: the texts are the same; true with neither added nor
 * removed: the order is another one. */
bool lines_differ(const struct lines *before, const struct lines *after, size_t *ret_added, size_t *ret_removed);
