/* src/base/rfc3339: there and back. */
#include "base/rfc3339.h"

#include <check.h>
#include <string.h>

#define NO INT64_MIN

static const struct {
    int64_t us;
    unsigned digits;
    const char *text;
} written[] = {{0, 6, "1970-01-01T00:00:00.000000Z"},
               {INT64_C(951782400000001), 6, "2000-02-29T00:00:00.000001Z"},
               {INT64_C(1700000000123456), 6, "2023-11-14T22:13:20.123456Z"},
               {INT64_C(1700000000123456), 3, "2023-11-14T22:13:20.123Z"},
               {INT64_C(1700000000023456), 3, "2023-11-14T22:13:20.023Z"},
               {INT64_C(1700000000999999), 0, "2023-11-14T22:13:20Z"},
               {INT64_C(1795305599123000), 3, "2026-11-21T23:59:59.123Z"},
               {-5, 3, "1970-01-01T00:00:00.000Z"},
               {-1, 6, "1970-01-01T00:00:00.000000Z"},
               {INT64_MIN, 0, "1970-01-01T00:00:00Z"},
               {INT64_C(253402300799999999), 6, "9999-12-31T23:59:59.999999Z"},
               {INT64_MAX, 6, "9999-12-31T23:59:59.999999Z"}};

START_TEST(moments_are_written)
{
    char text[RFC3339_BYTES];
    int64_t us;
    rfc3339_format(written[_i].us, written[_i].digits, text);
    ck_assert_str_eq(text, written[_i].text);
    ck_assert_int_eq(rfc3339_parse(text, &us), 0);
    if (written[_i].digits == 6 && written[_i].us >= 0 && written[_i].us < INT64_MAX)
        ck_assert_int_eq(us, written[_i].us);
}
END_TEST

static const struct {
    const char *text;
    int64_t us; /* NO: it is refused */
} texts[] = {
    {"2026-11-21T20:15:01Z", INT64_C(1795292101000000)},
    {"2026-11-21T20:15:01.9Z", INT64_C(1795292101900000)},
    {"2026-11-21T20:15:01.987654321Z", INT64_C(1795292101987654)},
    {"2026-11-21T22:15:01+02:00", INT64_C(1795292101000000)},
    {"2026-11-21T14:45:01.5-05:30", INT64_C(1795292101500000)},
    {"2026-11-21T20:15:01-00:00", INT64_C(1795292101000000)},
    {"2028-02-29T00:00:00Z", INT64_C(1835395200000000)},
    {"1969-12-31T23:59:59Z", -1000000},
    {"0001-01-01T00:00:00Z", INT64_C(-62135596800000000)},
    {"", NO},
    {"tomorrow", NO},
    {"2026-11-21", NO},
    {"2026-11-21T20:15:01", NO},
    {"2026-11-21T20:15:01.5", NO},
    {"2026-11-21T20:15:01.Z", NO},
    {"2026-11-21T20:15:01,5Z", NO},
    {"2026-11-21 20:15:01Z", NO},
    {"2026-11-21t20:15:01Z", NO},
    {"2026-11-21T20:15:01z", NO},
    {"2026-11-21T20:15:01Zx", NO},
    {"2026-11-21T20:15:01+02:00x", NO},
    {"2026-11-21T20:15:01+0200", NO},
    {"2026-11-21T20:15:01+24:00", NO},
    {"2026-11-21T20:15:01+02:60", NO},
    {"2023-11-14T22:13:20.12345+Z", NO},
    {"99999999999999.99999999999Z", NO},
    {"---------------------------", NO},
    {"26-11-21T20:15:01Z", NO},
    {"2026-13-01T20:15:01Z", NO},
    {"2026-00-01T20:15:01Z", NO},
    {"2026-11-00T20:15:01Z", NO},
    {"2026-11-31T20:15:01Z", NO},
    {"2026-02-29T20:15:01Z", NO},
    {"2026-11-21T24:15:01Z", NO},
    {"2026-11-21T20:60:01Z", NO},
    {"2026-11-21T20:15:60Z", NO},
};

START_TEST(texts_are_read)
{
    int64_t us = NO;
    ck_assert_int_eq(rfc3339_parse(texts[_i].text, &us), texts[_i].us == NO ? -1 : 0);
    ck_assert_int_eq(us, texts[_i].us);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base/rfc3339");
    TCase *t = tcase_create("rfc3339");
    tcase_add_loop_test(t, moments_are_written, 0, array_len(written));
    tcase_add_loop_test(t, texts_are_read, 0, array_len(texts));
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
