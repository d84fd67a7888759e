/* src/daemon/status/status_since: since when checks are not ok, as they come and go. */

#include "daemon/status/status_parts.h"

#include "../test.h"

static struct status_since since;

/* "a" ok, "b" with a remark, "c" failed: by one letter each, 'o', 'w' or 'f'. */
static void look(const char *states, uint64_t now_ms)
{
    cleanup(checks_fini) struct checks checks = {0};
    for (size_t i = 0; states[i] != '\0'; i++)
        checks_add(&checks,
                   states[i] == 'f'   ? CHECK_FAIL
                   : states[i] == 'w' ? CHECK_WARN
                                      : CHECK_OK,
                   mem_printf("check %zu", i), NULL, NULL);
    status_since_look(&since, &checks, now_ms);
}

static uint64_t of(size_t which, enum check_state state)
{
    cleanup(mem_free_ptr) char *name = mem_printf("check %zu", which);
    return status_since_of(&since, &(struct check){.name = name, .state = state});
}

static void teardown(void)
{
    status_since_fini(&since);
}

FIXTURE(NULL, teardown)

TEST(it_begins_once_and_ends)
{
    look("ofw", 1000);
    look("ofw", 2000);
    look("ffw", 3000);
    ck_assert_uint_eq(of(0, CHECK_FAIL), 3000);
    ck_assert_uint_eq(of(1, CHECK_FAIL), 1000);
    ck_assert_uint_eq(of(2, CHECK_WARN), 1000);
    ck_assert_uint_eq(status_since_oldest(&since, CHECK_FAIL), 1000);
    look("fow", 4000);
    ck_assert_uint_eq(of(1, CHECK_OK), 0);
    ck_assert_uint_eq(status_since_oldest(&since, CHECK_FAIL), 3000);
    look("ooo", 5000);
    ck_assert_uint_eq(since.count, 0);
    look("ofo", 6000);
    ck_assert_uint_eq(of(1, CHECK_FAIL), 6000);
}

TEST(a_remark_that_becomes_a_failure_begins_anew)
{
    look("w", 1000);
    look("f", 2000);
    ck_assert_uint_eq(of(0, CHECK_FAIL), 2000);
    ck_assert_uint_eq(of(0, CHECK_WARN), 0);
    ck_assert_uint_eq(status_since_oldest(&since, CHECK_WARN), 0);
}

TEST(what_is_not_checked_any_more_is_forgotten)
{
    look("ff", 1000);
    look("f", 2000);
    look("ff", 3000);
    ck_assert_uint_eq(of(0, CHECK_FAIL), 1000);
    ck_assert_uint_eq(of(1, CHECK_FAIL), 3000);
}
