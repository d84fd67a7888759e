/*
 * The local copy of the watched objects, one set for each resource, keyed by name.
 * One cache holds the Nodes, one for each Service what belongs to it; names are unique in each.
 *
 * A relist is atomic: between cache_replace_begin and cache_replace_end objects are put aside, and the old ones are what
 * everybody sees; the end swaps and drops what was not listed again; an abort keeps the old ones. What is listed again
 * unchanged is only marked, so that a relist costs no second copy.
 *
 * Each object lives in one allocation together with its strings: a node takes about 115 bytes, the hash table and malloc
 * included, 16 for each address, and its strings; a Hostname that is the node's name costs no second one.
 */
#ifndef MODEL_CACHE_H
#define MODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/objects.h"

enum cache_kind { CACHE_NODES, CACHE_SLICES, CACHE_ENDPOINTS, CACHE_SERVICES, CACHE_KINDS };

struct cache;

struct cache *cache_new(void) must_check;
void cache_free(struct cache *c);

/* Put takes ownership (and frees what it is given: a packed copy is kept). True where what is kept changed (a heartbeat of
 * an unchanged node: false). The name must not be NULL; kind is CACHE_SLICES or CACHE_ENDPOINTS. */
bool cache_put_node(struct cache *c, struct node *n);
bool cache_put_service(struct cache *c, struct service *s);
bool cache_put_set(struct cache *c, enum cache_kind kind, struct endpoint_set *s);
/* True where it was there. */
bool cache_delete(struct cache *c, enum cache_kind kind, const char *name);

void cache_replace_begin(struct cache *c, enum cache_kind kind); /* a second begin starts again from nothing */
void cache_replace_abort(struct cache *c, enum cache_kind kind);
/* True where anything differs from before, be it only that the kind is synced now. Marks the kind as synced. Without a
 * begin: nothing happens, false. */
bool cache_replace_end(struct cache *c, enum cache_kind kind);
/* While a replace is open, puts and deletes go to the new set and answer false. */
/* It was listed, but cannot be read: the replace that is open leaves what is known of it. Otherwise nothing happens. */
void cache_keep(struct cache *c, enum cache_kind kind, const char *name);

bool cache_synced(const struct cache *c, enum cache_kind kind);
/* Forgets the kind altogether (objects and synced): its watch was given up. */
void cache_forget(struct cache *c, enum cache_kind kind);
size_t cache_count(const struct cache *c, enum cache_kind kind);

/* NULL: not known. Valid until the next change of the kind. */
const struct node *cache_node(const struct cache *c, const char *name);
const struct service *cache_service(const struct cache *c, const char *name);

/* Calls fn for each object of the kind, ordered by name. fn must not change the cache; the pointers it gets are valid until
 * the next change of the kind. */
void cache_each_set(const struct cache *c, enum cache_kind kind, void (*fn)(void *arg, const struct endpoint_set *s),
                    void *arg);
void cache_each_node(const struct cache *c, void (*fn)(void *arg, const struct node *n), void *arg);

#endif
