/* What runs the tests of a program: tests/unit/test.h. A program with a main of its own has that one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* For what hangs, where a test has a process of its own. Seconds, before CK_TIMEOUT_MULTIPLIER. */
#define TIMEOUT_S 60

static Suite *suite;
static TCase *current;
static bool forked;

struct error flaw;

static void forget_flaw(void)
{
    error_clear(&flaw);
}

/* Constructors run before main: whichever comes first makes the suite. */
static void open_case(void)
{
    if (suite == NULL)
        suite = suite_create("tests");
    current = tcase_create("tests");
    tcase_set_timeout(current, TIMEOUT_S);
    suite_add_tcase(suite, current);
    tcase_add_checked_fixture(current, forget_flaw, NULL);
}

void test_fixture(void (*setup)(void), void (*teardown)(void))
{
    open_case();
    tcase_add_checked_fixture(current, setup, teardown);
}

void test_add(const TTest *test, int from, int to)
{
    if (current == NULL)
        open_case();
    tcase_add_loop_test(current, test, from, to);
}

void test_fork(void)
{
    forked = true;
}

__attribute__((weak)) int main(void)
{
    if (suite == NULL)
        return EXIT_FAILURE; /* a program without tests shows nothing */
    SRunner *runner = srunner_create(suite);
    if (forked)
        srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
