#include "base/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct tally_row {
    UT_hash_handle hh;
    size_t sum;
    char of[];
};

size_t tally_add(struct tally *t, const char *of, size_t n)
{
    struct tally_row *row;
    const char *key = of != NULL ? of : "";
    size_t bytes = strlen(key) + 1;
    HASH_FIND_STR(t->rows, key, row);
    if (row == NULL) {
        row = mem_alloc(sizeof(*row) + bytes);
        memcpy(row->of, key, bytes);
        HASH_ADD_STR(t->rows, of, row);
    }
    row->sum += n;
    return row->sum - n;
}

size_t tally_count(const struct tally *t)
{
    return HASH_COUNT(t->rows);
}

void tally_fini(struct tally *t)
{
    struct tally_row *row, *next;
    HASH_ITER (hh, t->rows, row, next) {
        HASH_DEL(t->rows, row); /* NOLINT(clang-analyzer-unix.Malloc) */
        free(row);
    }
}
