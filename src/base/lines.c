#include "base/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

static const char *lines_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline : end;
}

/* Eight bytes at once: a text may have 16 MB, and is read between two events. */
static uint64_t lines_hash(const char *at, size_t len)
{
    uint64_t h = HASH_START ^ len, word;
    for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return hash_bytes(h, at, len);
}

void lines_init(struct lines *l, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    size_t count = 0;
    for (const char *at = bytes; at < end; at = lines_end(at, end) + 1)
        count++;
    *l = (struct lines){.list = mem_array(count, sizeof(l->list[0]))};
    for (const char *at = bytes; at < end; at = lines_end(at, end) + 1)
        l->list[l->count++] = lines_hash(at, (size_t)(lines_end(at, end) - at));
}

void lines_fini(struct lines *l)
{
    free(l->list);
    *l = (struct lines){0};
}

bool lines_same(const struct lines *a, const struct lines *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof(a->list[0])) == 0);
}

static int lines_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static uint64_t *lines_sorted(const uint64_t *list, size_t count)
{
    uint64_t *sorted = mem_array(count, sizeof(sorted[0]));
    if (count > 0) {
        memcpy(sorted, list, count * sizeof(sorted[0]));
        qsort(sorted, count, sizeof(sorted[0]), lines_order);
    }
    return sorted;
}

bool lines_differ(const struct lines *before, const struct lines *after, size_t *ret_added, size_t *ret_removed)
{
    size_t least = before->count < after->count ? before->count : after->count, first = 0, last = 0;
    *ret_added = *ret_removed = 0;
    /* Of a long text a few lines change: the others need not be sorted. */
    while (first < least && before->list[first] == after->list[first])
        first++;
    while (last < least - first && before->list[before->count - last - 1] == after->list[after->count - last - 1])
        last++;
    size_t was = before->count - first - last, is = after->count - first - last;
    if (was == 0 && is == 0)
        return false;
    cleanup(mem_free_ptr) uint64_t *a = lines_sorted(before->list + first, was);
    cleanup(mem_free_ptr) uint64_t *b = lines_sorted(after->list + first, is);
    for (size_t i = 0, k = 0; i < was || k < is;) {
        int n = i == was ? 1 : k == is ? -1 : lines_order(&a[i], &b[k]);
        *ret_removed += n < 0;
        *ret_added += n > 0;
        i += n <= 0;
        k += n >= 0;
    }
    return true;
}
