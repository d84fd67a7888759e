/*
 * Texts that many share and that end together: no malloc for each, and who holds the pool holds them all. It only
 * grows; one can stand on another, whose texts it keeps alive.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct text_pool;

/* base: kept as long as the new one; NULL: none. */
struct text_pool *text_pool_new(struct text_pool *base) must_check;
struct text_pool *text_pool_ref(struct text_pool *p) must_check;
void text_pool_unref(struct text_pool *p); /* the last one frees it; NULL is allowed */

const char *text_pool_add(struct text_pool *p, const char *s) must_check; /* NULL gives NULL */
void *text_pool_alloc(struct text_pool *p, size_t bytes) must_check;      /* zeroed, aligned for pointers */
size_t text_pool_bytes(const struct text_pool *p);                        /* of its own texts */
