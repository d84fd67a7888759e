/* src/report/checks: the lines of /readyz, and what they come to. */
#include <check.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "report/checks.h"

static struct status_checks checks;

static void teardown(void)
{
    status_checks_fini(&checks);
}

static void expect(size_t i, bool ok, const char *subject, const char *text)
{
    ck_assert_uint_lt(i, checks.count);
    ck_assert_msg(
        checks.list[i].ok == ok && str_eq(checks.list[i].subject, subject) && str_eq(checks.list[i].text, text),
        "%zu: [%c] \"%s\" \"%s\"", i, checks.list[i].ok ? '+' : '-', checks.list[i].subject, checks.list[i].text);
}

START_TEST(lines)
{
    status_checks_parse(&checks, "[+]watch nodes: synced, 5 objects\n"
                                 "[-]target http://lb1:5555 backend be: no: not now\n"
                                 "[-]stopping\n"
                                 "[+]no end of line: yes");
    ck_assert_uint_eq(checks.count, 4);
    expect(0, true, "watch nodes", "synced, 5 objects");
    expect(1, false, "target http://lb1:5555 backend be", "no: not now");
    expect(2, false, "stopping", "");
    expect(3, true, "no end of line", "yes");
}
END_TEST

START_TEST(what_goes_on_in_further_lines)
{
    status_checks_parse(&checks,
                        "lost\n\n[-]target x backend be: HAProxy says\n[ALERT] line 3: no\n\n  bad\n[+]a: b\n");
    ck_assert_uint_eq(checks.count, 2);
    expect(0, false, "target x backend be", "HAProxy says\n[ALERT] line 3: no\n  bad");
    expect(1, true, "a", "b");
}
END_TEST

START_TEST(of_a_backend)
{
    status_checks_parse(&checks, "[+]target http://a:1 backend be2: two\n[-]target http://a:1 backend be: one\n"
                                 "[+]target http://b:1 backend be: other\n");
    ck_assert_str_eq(status_checks_of(&checks, "http://a:1", "be")->text, "one");
    ck_assert_str_eq(status_checks_of(&checks, "http://a:1", "be2")->text, "two");
    ck_assert_str_eq(status_checks_of(&checks, "http://b:1", "be")->text, "other");
    ck_assert_ptr_null(status_checks_of(&checks, "http://b:1", "be2"));
    ck_assert_ptr_null(status_checks_of(&checks, "http://a:1", "b"));
}
END_TEST

START_TEST(one_line)
{
    static const struct {
        const char *readiness, *line;
    } rows[] = {
        {"", "calm"},
        {"[+]a: b\n", "calm"},
        {"[+]a: b\n[-]c: d\n", "c: d"},
        {"[-]stopping\n", "stopping"},
        {"[-]a: b\n[+]c: d\n[-]e: f\n[-]g: h\n", "a: b (and 2 more)"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        status_checks_parse(&checks, rows[i].readiness);
        cleanup(mem_free_ptr) char *line = status_checks_summary(&checks, "calm");
        ck_assert_str_eq(line, rows[i].line);
        status_checks_fini(&checks);
    }
}
END_TEST

START_TEST(names)
{
    static const char *const wanted[] = {"in_step", "changing", "holding", "waiting", "problem"};
    for (int i = STATUS_IN_STEP; i <= STATUS_PROBLEM; i++)
        ck_assert_str_eq(status_state_name(i), wanted[i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("status_checks");
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, lines);
    tcase_add_test(tc, what_goes_on_in_further_lines);
    tcase_add_test(tc, of_a_backend);
    tcase_add_test(tc, one_line);
    tcase_add_test(tc, names);
    Suite *s = suite_create("status_checks");
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
