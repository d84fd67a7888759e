#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/mem.h"

/* The first is for what is small; the others are of the size of huge pages, which are faster where they are allowed. */
#define FIRST_BYTES ((size_t)64 << 10)
#define HUGE_BYTES ((size_t)2 << 20)
#define BLOCK_BYTES (2 * HUGE_BYTES)

struct arena_block {
    struct arena_block *next;
    alignas(max_align_t) char bytes[];
};

/* What is large has a block of its own size; the rest of the one before is lost. */
static void arena_grow(struct arena *a, size_t bytes)
{
    struct arena_block *b;
    size_t size = sizeof(*b) + bytes;
    if (a->blocks == NULL && size <= FIRST_BYTES) {
        size = FIRST_BYTES;
        b = mem_resize(NULL, 1, size);
    } else {
        size = (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        b = mem_aligned(HUGE_BYTES, size);
        (void)madvise(b, size, MADV_HUGEPAGE);
    }
    b->next = a->blocks;
    a->blocks = b;
    a->next = b->bytes;
    a->left = size - sizeof(*b);
}

static size_t arena_rounded(size_t bytes)
{
    const size_t step = alignof(max_align_t);
    return ((bytes < SIZE_MAX / 2 ? bytes : SIZE_MAX / 2) + step - 1) / step * step; /* so much there is not */
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t size = arena_rounded(bytes);
    if (size > a->left || a->blocks == NULL) /* nothing at all is somewhere, too */
        arena_grow(a, size);
    a->last = a->next;
    a->next += size;
    a->left -= size;
    return a->last;
}

void arena_cut(struct arena *a, const void *end)
{
    const char *at = end;
    if (a->last == NULL || at < a->last || at > a->next)
        return;
    char *next = a->last + arena_rounded((size_t)(at - a->last));
    a->left += (size_t)(a->next - next);
    a->next = next;
}

void arena_fini(struct arena *a)
{
    for (struct arena_block *b; (b = a->blocks) != NULL;) {
        a->blocks = b->next;
        free(b);
    }
    *a = (struct arena){0};
}
