/* Memory that ends together: what is cut does not overlap, wherever a block ends, and what is given back is cut again. */

#include "base/arena.h"

#include "../test.h"

#define MANY 3000

TEST(nothing_overlaps)
{
    struct arena a = {0};
    char *list[MANY];
    size_t bytes[MANY];
    for (size_t i = 0; i < MANY; i++) { /* of all sizes: several blocks, and some that need one of their own */
        bytes[i] = i % 997 == 0 ? (size_t)5 << 20 : i * 7 % 5000;
        list[i] = arena_alloc(&a, bytes[i]);
        ck_assert_uint_eq((uintptr_t)list[i] % 16, 0);
        memset(list[i], (int)(i % 251), bytes[i]);
    }
    for (size_t i = 0; i < MANY; i++)
        for (size_t k = 0; k < bytes[i]; k++)
            if (list[i][k] != (char)(i % 251))
                ck_abort_msg("byte %zu of %zu was written to by another", k, i);
    arena_fini(&a);
    arena_fini(&a); /* it is as new */
    ck_assert_ptr_nonnull(arena_alloc(&a, 0));
    arena_fini(&a);
}

TEST(what_is_cut_off_is_for_the_next)
{
    struct arena a = {0};
    char *first = arena_alloc(&a, 1000);
    arena_cut(&a, first + 100);
    char *second = arena_alloc(&a, 50);
    ck_assert_ptr_eq(second, first + 112); /* aligned */
    arena_cut(&a, first + 10);             /* in it no more */
    ck_assert_ptr_eq(arena_alloc(&a, 1), second + 64);
    arena_fini(&a);
    arena_cut(&a, first); /* of nothing */
    ck_assert_ptr_null(a.next);
}
