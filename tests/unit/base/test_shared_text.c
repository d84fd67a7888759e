/* base/shared_text */
#include "base/shared_text.h"

#include "../test.h"

TEST(the_same_text_is_at_one_place)
{
    char mine[] = "10.0.0.1";
    const char *a = shared_text("10.0.0.1"), *b = shared_text(mine), *other = shared_text("10.0.0.2");
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, mine);
    ck_assert_ptr_ne(a, other);
    ck_assert_str_eq(a, "10.0.0.1");
    ck_assert_uint_eq(shared_text_count(), 2);
    shared_text_free(b);
    ck_assert_str_eq(a, "10.0.0.1");
    shared_text_free(a);
    ck_assert_uint_eq(shared_text_count(), 1);
    shared_text_free(other);
    ck_assert_uint_eq(shared_text_count(), 0);
}

TEST(none_is_none_and_empty_is_one)
{
    ck_assert_ptr_null(shared_text(NULL));
    ck_assert_ptr_null(shared_text_take(NULL));
    shared_text_free(NULL);
    const char *held = shared_text("10.0.0.1");
    shared_text_set(&held, held); /* though nobody else holds it */
    ck_assert_str_eq(held, "10.0.0.1");
    shared_text_set(&held, "10.0.0.2");
    ck_assert_str_eq(held, "10.0.0.2");
    ck_assert_uint_eq(shared_text_count(), 1);
    shared_text_set(&held, NULL);
    ck_assert_ptr_null(held);
    const char *empty = shared_text(""), *taken = shared_text_take(mem_strdup(""));
    ck_assert_str_eq(empty, "");
    ck_assert_ptr_eq(empty, taken);
    shared_text_free(empty);
    shared_text_free(taken);
    ck_assert_uint_eq(shared_text_count(), 0);
}
