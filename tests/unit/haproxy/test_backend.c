/* src/haproxy/backend: what owns what. Under AddressSanitizer a copy that shares, or a fini that forgets, shows by itself. */
#include <check.h>
#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/backend.h"

static void fill(struct backend *b)
{
    backend_init(b);
    b->name = mem_strdup("be");
    b->exists = true;
    b->version = 7;
    b->mode = mem_strdup("tcp");
    b->balance = mem_strdup("roundrobin");
    b->adv_check = mem_strdup("tcp-check");
    b->json = mem_strdup("{}");
    b->servers = mem_array(2, sizeof(*b->servers));
    b->server_count = 2;
    for (size_t i = 0; i < 2; i++) {
        b->servers[i] =
            (struct backend_server){.port = 80, .weight = 5, .check = true, .maintenance = true, .check_port = 81};
        b->servers[i].name = mem_printf("n%zu", i);
        b->servers[i].address = mem_printf("10.0.0.%zu", i);
        b->servers[i].json = mem_strdup("{\"a\":1}");
    }
    b->templates = mem_array(1, sizeof(*b->templates));
    b->template_count = 1;
    b->templates[0] = (struct backend_template){.prefix = mem_strdup("slot"), .first = 1, .last = 3};
    b->unsupported = mem_array(1, sizeof(*b->unsupported));
    b->unsupported_count = 1;
    b->unsupported[0] =
        (struct backend_unsupported_line){.line = 3, .text = mem_strdup("server"), .reason = mem_strdup("no")};
}

START_TEST(fini_leaves_an_empty_one_that_can_be_used_again)
{
    struct backend b;
    for (int round = 0; round < 2; round++) {
        fill(&b);
        backend_fini(&b);
        ck_assert_ptr_null(b.name);
        ck_assert_ptr_null(b.servers);
        ck_assert_uint_eq(b.server_count + b.template_count + b.unsupported_count, 0);
        ck_assert(!b.exists);
        ck_assert_int_eq(b.version, -1);
        backend_fini(&b);
    }
}
END_TEST

START_TEST(copy_is_deep_and_complete)
{
    struct backend b;
    struct backend_server copy;
    fill(&b);
    backend_server_copy(&copy, &b.servers[1]);
    backend_fini(&b);
    ck_assert_str_eq(copy.name, "n1");
    ck_assert_str_eq(copy.address, "10.0.0.1");
    ck_assert_str_eq(copy.json, "{\"a\":1}");
    ck_assert_uint_eq(copy.port, 80);
    ck_assert_uint_eq(copy.check_port, 81);
    ck_assert_int_eq(copy.weight, 5);
    ck_assert(copy.check && copy.maintenance && !copy.backup && !copy.send_proxy_v2);
    backend_server_fini(&copy);
    ck_assert_ptr_null(copy.name);
}
END_TEST

START_TEST(copy_of_one_that_is_still_to_be_made)
{
    const struct backend_server from = {.weight = -1};
    struct backend_server copy;
    backend_server_copy(&copy, &from);
    ck_assert_ptr_null(copy.name);
    ck_assert_ptr_null(copy.json);
    ck_assert_int_eq(copy.weight, -1);
    backend_server_fini(&copy);
}
END_TEST

START_TEST(find_by_whole_name)
{
    struct backend b;
    fill(&b);
    ck_assert_ptr_eq(backend_find(&b, "n1"), &b.servers[1]);
    ck_assert_ptr_null(backend_find(&b, "n"));
    ck_assert_ptr_null(backend_find(&b, "n11"));
    ck_assert_ptr_null(backend_find(&b, "N1"));
    backend_fini(&b);
    ck_assert_ptr_null(backend_find(&b, "n1"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backend");
    TCase *t = tcase_create("backend");
    tcase_add_test(t, fini_leaves_an_empty_one_that_can_be_used_again);
    tcase_add_test(t, copy_is_deep_and_complete);
    tcase_add_test(t, copy_of_one_that_is_still_to_be_made);
    tcase_add_test(t, find_by_whole_name);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
