/* Lists that grow. What is freed holds nothing of a secret: read where it was, past AddressSanitizer, which keeps it as it is for a while. */
#include <malloc.h>

#include "../test.h"

#define SECRET "a secret that is long enough for a block of its own"

/* Whether it is all zeros but for its first bytes, where an allocator may keep its own. By an address that is no pointer any more. */
__attribute__((no_sanitize("address"), noinline)) static bool is_blank_at(uintptr_t at, size_t len)
{
    for (size_t i = 16; i < len; i++)
        if (((volatile const char *)at)[i] != 0)
            return false;
    return true;
}

static char *secret_block(void)
{
    char *p = malloc(sizeof(SECRET));
    ck_assert_ptr_nonnull(p);
    memcpy(p, SECRET, sizeof(SECRET));
    return p;
}

/* 0: valgrind takes a reading of what was freed for a defect. */
static int looks(void)
{
    static bool said;
    const char *preloaded = getenv("LD_PRELOAD");
    bool may = preloaded == NULL || strstr(preloaded, "vgpreload") == NULL;
    if (!may && !said)
        puts("SKIPPED: looking at what was freed, which valgrind takes for a defect");
    said = !may;
    return may;
}

#define TEST_OF_FREED(name) TEST_RANGE(name, 0, looks())

static void wipe_free(void *p)
{
    mem_wipe_free(p);
}

/* With a NUL in it, which does not end it; plain free() shows that this test sees something. */
TEST_RANGE(freeing, 0, 3 * looks())
{
    static void (*const frees[])(void *p) = {free, mem_wiping_free, wipe_free};
    char *p = secret_block();
    uintptr_t at = (uintptr_t)p;
    p[1] = '\0';
    frees[_i](p);
    ck_assert(is_blank_at(at, sizeof(SECRET)) == (_i > 0));
    frees[_i](NULL);
}

TEST_OF_FREED(wiping_realloc)
{
    char *p = secret_block();
    uintptr_t at = (uintptr_t)p;
    char *q = mem_wiping_realloc(p, 4096);
    ck_assert_str_eq(q, SECRET);
    ck_assert(is_blank_at(at, sizeof(SECRET)));
    q[4095] = 'x';
    ck_assert_ptr_eq(mem_wiping_realloc(q, 100), q); /* where it is; all of it is wiped in the end */
    uintptr_t second = (uintptr_t)q;
    ck_assert_ptr_null(mem_wiping_realloc(q, 0));
    ck_assert(is_blank_at(second, 4096));
    q = mem_wiping_realloc(NULL, 10);
    ck_assert_ptr_nonnull(q);
    mem_wiping_free(q);
}

TEST(join)
{
    cleanup(mem_free_ptr) char *both = mem_join("Authorization: Bearer ", "token");
    ck_assert_str_eq(both, "Authorization: Bearer token");
    cleanup(mem_free_ptr) char *none = mem_join("", "");
    ck_assert_str_eq(none, "");
}

/* It may move at 0, 1, 2, 4, ... alone; taking some out leaves room enough for those that come after. */
TEST(list_that_grows)
{
    size_t *list = NULL, count = 0, resized = 0;
    for (; count < 1000; count++) {
        size_t *old = list;
        size_t room = malloc_usable_size(list);
        list = mem_one_more(list, count, sizeof(list[0]));
        resized += list != old || malloc_usable_size(list) != room;
        list[count] = count;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(list[i], i);
    ck_assert_uint_le(resized, 11);
    for (count = 300; count < 700; count++) {
        list = mem_one_more(list, count, sizeof(list[0]));
        list[count] = 0;
    }
    free(list);
}

/* Moved as it grows, and at its end. */
TEST_OF_FREED(buffer_of_a_secret)
{
    struct buf b;
    buf_init_secret(&b, 10000);
    ck_assert_int_eq(buf_append(&b, SECRET, strlen(SECRET)), 0);
    uintptr_t first = (uintptr_t)b.data;
    size_t first_size = b.size;
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(buf_append(&b, "0123456789", 10), 0);
    ck_assert_uint_ne((uintptr_t)b.data, first);
    ck_assert_int_eq(strncmp(b.data, SECRET "0123456789", strlen(SECRET) + 10), 0);
    ck_assert(is_blank_at(first, first_size));
    uintptr_t last = (uintptr_t)b.data;
    size_t last_size = b.size;
    buf_fini(&b);
    ck_assert(is_blank_at(last, last_size));
    ck_assert(b.secret);
    ck_assert_uint_eq(b.max_bytes, 10000);
}

/* What a function leaves on the stack, four fifths of what is wiped below its caller. */
__attribute__((no_sanitize("address"), noinline)) static uintptr_t leave_secret(void)
{
    volatile char deep[MEM_STACK_WIPED / 5 * 4];
    for (size_t i = 0; i < sizeof(SECRET); i++)
        deep[i] = SECRET[i];
    return (uintptr_t)deep;
}

TEST_OF_FREED(stack_that_is_wiped)
{
    uintptr_t at = leave_secret();
    ck_assert(!is_blank_at(at, sizeof(SECRET)));
    mem_wipe_stack();
    ck_assert(is_blank_at(at, sizeof(SECRET)));
}

TEST_OF_FREED(buffer_that_is_wiped)
{
    struct buf b = {0};
    buf_add(&b, SECRET);
    uintptr_t at = (uintptr_t)b.data;
    size_t size = b.size;
    buf_wipe(&b);
    ck_assert(is_blank_at(at, size));
}
