/* host_name of host/process: in a namespace of the test's own, where a host may be called anything. */
#include "host/process.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../test.h"

FORKED

TEST(as_the_kernel_has_it)
{
    struct utsname u;
    char name[HOST_NAME_BYTES];
    memset(name, 'x', sizeof(name));
    ck_assert_int_eq(uname(&u), 0);
    host_name(name);
    ck_assert_str_eq(name, u.nodename);
}

TEST(none_and_the_longest)
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
