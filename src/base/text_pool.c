#include "base/text_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The first is small, as there are pools for thousands of backends with two servers each. */
#define FIRST_BYTES ((size_t)240)
#define BLOCK_BYTES ((size_t)16 << 10)

struct block {
    struct block *next;
    char bytes[];
};

struct text_pool {
    struct text_pool *base;
    struct block *blocks; /* the newest first */
    char *next;
    size_t left, last_size, bytes;
    unsigned refs;
};

struct text_pool *text_pool_new(struct text_pool *base)
{
    struct text_pool *p = mem_alloc(sizeof(*p));
    p->base = base != NULL ? text_pool_ref(base) : NULL;
    p->refs = 1;
    return p;
}

struct text_pool *text_pool_ref(struct text_pool *p)
{
    p->refs++;
    return p;
}

void text_pool_unref(struct text_pool *p)
{
    while (p != NULL && --p->refs == 0) {
        struct text_pool *base = p->base;
        for (struct block *b; (b = p->blocks) != NULL;) {
            p->blocks = b->next;
            free(b);
        }
        free(p);
        p = base;
    }
}

static char *pool_cut(struct text_pool *p, size_t bytes)
{
    if (bytes > p->left) {
        size_t size = p->last_size == 0 ? FIRST_BYTES : p->last_size * 2;
        size = size < BLOCK_BYTES ? size : BLOCK_BYTES;
        p->last_size = size;
        size = bytes > size ? bytes : size;
        struct block *b = mem_resize(NULL, 1, sizeof(*b) + size);
        b->next = p->blocks;
        p->blocks = b;
        p->next = b->bytes;
        p->left = size;
    }
    char *at = p->next;
    p->next += bytes;
    p->left -= bytes;
    p->bytes += bytes;
    return at;
}

const char *text_pool_add(struct text_pool *p, const char *s)
{
    if (s == NULL)
        return NULL;
    size_t bytes = strlen(s) + 1;
    return memcpy(pool_cut(p, bytes), s, bytes);
}

void *text_pool_alloc(struct text_pool *p, size_t bytes)
{
    char *at = pool_cut(p, bytes + sizeof(void *) - 1);
    at += -(uintptr_t)at % sizeof(void *);
    return memset(at, 0, bytes);
}

size_t text_pool_bytes(const struct text_pool *p)
{
    return p->bytes;
}
