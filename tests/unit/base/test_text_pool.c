/* base/text_pool */
#include "base/text_pool.h"

#include "../test.h"

#define TEXTS 2000

static char *text_of(unsigned i)
{
    char *text = mem_alloc(i + 1);
    memset(text, 'a' + (int)(i % 26), i);
    return text;
}

/* Of any size: small ones beside those that are larger than a block. */
TEST(what_is_added_stays)
{
    struct text_pool *p = text_pool_new(NULL);
    const char *texts[TEXTS];
    size_t bytes = 0;
    for (unsigned i = 0; i < TEXTS; i++) {
        cleanup(mem_free_ptr) char *text = text_of(i * 7 % 1000 + (i % 500 == 499 ? 40000 : 0));
        texts[i] = text_pool_add(p, text);
        ck_assert_ptr_ne(texts[i], text);
        bytes += strlen(text) + 1;
        ck_assert_uint_eq(text_pool_bytes(p), bytes);
    }
    for (unsigned i = 0; i < TEXTS; i++) {
        cleanup(mem_free_ptr) char *text = text_of(i * 7 % 1000 + (i % 500 == 499 ? 40000 : 0));
        ck_assert_str_eq(texts[i], text);
    }
    ck_assert_ptr_null(text_pool_add(p, NULL));
    text_pool_unref(p);
    text_pool_unref(NULL);
}

TEST(memory_is_zeroed_and_aligned)
{
    struct text_pool *p = text_pool_new(NULL);
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_ptr_nonnull(text_pool_add(p, "odd"));
        unsigned char *at = text_pool_alloc(p, i);
        ck_assert_uint_eq((uintptr_t)at % sizeof(void *), 0);
        for (unsigned k = 0; k < i; k++)
            ck_assert_uint_eq(at[k], 0);
        memset(at, 0xff, i);
    }
    text_pool_unref(p);
}

/* Leaks and uses after it are the sanitizer's to find. */
TEST(who_holds_one_holds_those_below)
{
    struct text_pool *base = text_pool_new(NULL);
    const char *text = text_pool_add(base, "below");
    struct text_pool *middle = text_pool_new(base), *top = text_pool_new(middle), *again = text_pool_ref(top);
    const char *own = text_pool_add(top, "own");
    text_pool_unref(base);
    text_pool_unref(middle);
    text_pool_unref(top);
    ck_assert_str_eq(text, "below");
    ck_assert_str_eq(own, "own");
    ck_assert_uint_eq(text_pool_bytes(top), strlen("own") + 1);
    text_pool_unref(again);
}
