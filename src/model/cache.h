/*
 * The local copy of the objects of one watched resource, keyed by name; of whatever type its record describes. Names
 * are unique in it: one cache holds the Nodes, and for each Service there is one for each resource that belongs to it.
 *
 * A relist is atomic: between cache_replace_begin and cache_replace_end objects are put aside, and readers see the old
 * ones; the end swaps and drops what was not listed again; an abort keeps the old ones. What is listed again unchanged
 * is only marked, so that a relist costs no second copy.
 *
 * Each object lives in one allocation together with its strings: a node takes about 95 bytes, the tree and malloc
 * included, 16 for each address, and its strings; a Hostname that is the node's name costs no second one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct cache;
struct record;

struct cache *cache_new(const struct record *of) must_check;
void cache_free(struct cache *c); /* NULL is allowed */

/* Takes ownership of an object of the cache's record (and frees it: a packed copy is kept); its name must not be NULL.
 * True where what is kept changed (a heartbeat of an unchanged node: false). */
bool cache_put(struct cache *c, void *object);
/* True where it was there. */
bool cache_delete(struct cache *c, const char *name);

void cache_replace_begin(struct cache *c); /* a second begin starts again from nothing */
void cache_replace_abort(struct cache *c);
/* True where anything differs from before, if only that the cache is synced now. Without a begin: false. */
bool cache_replace_end(struct cache *c);
/* While a replace is open, puts and deletes go to the new set and answer false. */
/* It was listed, but cannot be read: the replace that is open leaves what is known of it. Otherwise nothing happens. */
void cache_keep(struct cache *c, const char *name);

/* The same of a packed one, or of another cache's, which stays the caller's. No replace is open. */
void cache_put_copy(struct cache *c, const void *object);

/* From now on an object that goes, or is another one, is kept as it was when cache_forget_past was called last. It costs no copy. */
void cache_keep_past(struct cache *c);
/* NULL: it has not changed since, or was not there. */
const void *cache_past(const struct cache *c, const char *name);
void cache_forget_past(struct cache *c);

/* A complete list was taken in. */
bool cache_synced(const struct cache *c);
/* Forgets all of it, and that it was synced: its watch was given up. */
void cache_forget(struct cache *c);
size_t cache_count(const struct cache *c);
/* Of its objects, with all they point to; without the table and what malloc adds. Kept as they come and go. */
size_t cache_bytes(const struct cache *c);

/* Calls comes with each object that readers see from then on, goes with each that they see no more (before it is freed); one that
 * changes goes and comes. Neither may change the cache. Either may be NULL.
 * For one that is empty; cache_forget and cache_free call neither. */
void cache_follow(struct cache *c, void (*comes)(void *arg, const void *object),
                  void (*goes)(void *arg, const void *object), void *arg);

/* NULL: not known. Valid until the next change. */
const void *cache_find(const struct cache *c, const char *name);

/* Calls fn for each object, ordered by name. fn must not change the cache; the pointers it gets are valid until the
 * next change. */
void cache_each(const struct cache *c, void (*fn)(void *arg, const void *object), void *arg);

/* Grows with each change of what readers see. An object that was there at a version, and did not change since, is still
 * at the same address. */
uint64_t cache_version(const struct cache *c);
/* The version at which an object was last removed, if only to be listed otherwise: until then _since misses none. */
uint64_t cache_removed(const struct cache *c);
/* Calls fn as cache_each does, in no order, for each object that came or changed since. */
void cache_each_since(const struct cache *c, uint64_t version, void (*fn)(void *arg, const void *object), void *arg);
