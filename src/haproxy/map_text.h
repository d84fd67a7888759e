/*
 * The entries of a map file as HAProxy 2.6 to 3.4 reads it (configuration manual, converter "map"): one a line, a key, blanks,
 * the rest as its value, without blanks around. A line that begins with "#" is a comment; behind blanks "#" is a key. Keys
 * may be there twice, and the first one wins: the order counts. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

struct map_entry {
    const char *key, *value; /* borrowed; no NUL behind them */
    size_t key_len, value_len;
};

/* A zeroed one is empty. */
struct map_entries {
    struct map_entry *list;
    size_t count;
};

void map_entries_fini(struct map_entries *m); /* for cleanup() */
void map_entries_add(struct map_entries *m, const struct map_entry *e);
/* Adds those of a file; they point into text, which ends with a NUL. */
void map_entries_read(struct map_entries *m, const char *text);
/* For qsort and bsearch, of struct map_entry: by keys; by keys, then values. */
int map_entry_order_of_keys(const void *a, const void *b);
int map_entry_order(const void *a, const void *b);
void map_entries_sort(struct map_entries *m, int (*order)(const void *, const void *));
/* Two that are sorted by keys, beside one another, from their beginnings. */
struct map_walk {
    const struct map_entries *a, *b;
    size_t at_a, at_b;
};
/* The next key: the entry of each that has it, NULL of one that has not. False: there are no more. */
bool map_walk_next(struct map_walk *w, const struct map_entry **ret_a, const struct map_entry **ret_b);
/* The same keys with the same values in the same order. */
bool map_entries_same(const struct map_entries *a, const struct map_entries *b);

/* ---- two files of a map ---- */

/* `now` with the lines of `next` behind it whose key it does not have. True: nothing of `now` is missing in `next`, so
 * that `next` itself will do; ret is empty then. */
bool map_text_grow(const char *now, const char *next, struct buf *ret);

/* Entries, by their keys; of a key that is there more than once the first ones are the same ones. Their order is none. */
struct map_changes {
    size_t come, go, change;
};

void map_text_compare(const char *now, const char *next, struct map_changes *ret);
