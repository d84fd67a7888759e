/* host/name: in a namespace of the test's own, where a host may be called anything. */
#include "host/name.h"

#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

START_TEST(as_the_kernel_has_it)
{
    struct utsname u;
    char name[HOST_NAME_BYTES];
    memset(name, 'x', sizeof(name));
    ck_assert_int_eq(uname(&u), 0);
    host_name(name);
    ck_assert_str_eq(name, u.nodename);
}
END_TEST

START_TEST(none_and_the_longest)
{
    static const char longest[] = "0123456789012345678901234567890123456789012345678901234567890123";
    char name[HOST_NAME_BYTES];
    memset(name, 'x', sizeof(name));
    if (unshare(CLONE_NEWUTS) != 0)
        return; /* only root may */
    ck_assert_int_eq(sethostname("", 0), 0);
    host_name(name);
    ck_assert_str_eq(name, "");
    ck_assert_int_eq(sethostname(longest, strlen(longest)), 0);
    host_name(name);
    ck_assert_str_eq(name, longest);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("host/name");
    TCase *t = tcase_create("name");
    tcase_add_test(t, as_the_kernel_has_it);
    tcase_add_test(t, none_and_the_longest);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_set_fork_status(sr, CK_FORK); /* the namespace ends with the test */
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
