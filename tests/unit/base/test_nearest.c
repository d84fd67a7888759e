/* src/base/nearest: of names those that are near, or all of them in that order. */

#include "base/nearest.h"

#include "../test.h"

static void add(struct nearest *n, const char *name)
{
    nearest_add(n, name, nearest_distance(n, name));
}

TEST(three_that_are_near)
{
    cleanup(nearest_fini) struct nearest n;
    const char *const names[] = {"plan", "explain", "plane", "plant", "plans"};
    nearest_init(&n, "plna");
    for (size_t i = 0; i < array_len(names); i++)
        add(&n, names[i]);
    cleanup(mem_free_ptr) char *text = nearest_text(&n);
    ck_assert_str_eq(text, "plan, plane, plant");
    cleanup(mem_free_ptr) char *question = nearest_question(&n);
    ck_assert_str_eq(question, "; did you mean \"plan\"?");
}

TEST(none_is_near)
{
    cleanup(nearest_fini) struct nearest n;
    nearest_init(&n, "frobnicate");
    add(&n, "plan");
    ck_assert_ptr_null(nearest_text(&n));
    cleanup(mem_free_ptr) char *question = nearest_question(&n);
    ck_assert_str_eq(question, "");
}

/* However far, and however long: the nearest ten, and how many others there are. */
TEST(all_there_are)
{
    cleanup(nearest_fini) struct nearest n;
    char name[] = "service-x", long_name[300] = {0};
    memset(long_name, 'l', sizeof(long_name) - 1);
    nearest_init_all(&n, "web");
    add(&n, long_name);
    add(&n, "web2");
    cleanup(mem_free_ptr) char *two = nearest_text(&n);
    ck_assert(str_has_prefix(two, "web2, lll"));
    for (name[8] = 'a'; name[8] < 'm'; name[8]++)
        add(&n, name);
    cleanup(mem_free_ptr) char *text = nearest_text(&n);
    ck_assert_str_eq(text, "web2, service-b, service-a, service-c, service-d, service-e, service-f, service-g, "
                           "service-h, service-i and 4 more");
}
