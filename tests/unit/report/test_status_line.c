/* report/status_line: what a supervisor shows of /readyz. */
#include "report/status_line.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/page.h"

static const struct row {
    bool ready;
    const char *page;
    const char *line;
} rows[] = {
    {true, "", "ready"},
    {true, "[+]watch nodes: synced, 3 objects\n[+]target a backend b: in step\n", "ready"},
    {false, "", "not ready"},
    {false, "[+]watch nodes: synced\n", "not ready"},
    {false, "[-]watch nodes: not synced: no connection\n", "not ready: watch nodes: not synced: no connection"},
    {false, "[-]the last line has no end", "not ready: the last line has no end"},
    {false, "[+]a\n[-]b: c\n[+]d\n", "not ready: b: c"},
    {false, "[-]a\n[+]b\n[-]c\n[-]d\n", "not ready: a (and 2 more, see /readyz)"},
    {false, "[+]says [-]x\n[-]y says [-]z\n", "not ready: y says [-]z"},
    {false, "\n\n[-]a\n", "not ready: a"},
    {false, "[-][-]a\n", "not ready: [-]a"},
    {false, "[-]\n", "not ready: "},
    {false, "[-]one\x1b[31m\ttab\n", "not ready: one\\x1b[31m\\x09tab"},
    {false, "[-]\xff\n", "not ready: \\xff"},
};

START_TEST(lines)
{
    const struct row *r = &rows[_i];
    cleanup(mem_free_ptr) char *line = status_line(r->ready, r->page);
    ck_assert_str_eq(line, r->line);
}
END_TEST

/* Wherever the cut falls, it falls between two characters. */
START_TEST(long_ones_are_cut)
{
    for (size_t before = 0; before < 4; before++) {
        cleanup(buf_fini) struct buf page;
        buf_init(&page, 0);
        buf_add(&page, "[-]");
        buf_addn(&page, "xxxx", before);
        for (int i = 0; i < 1000; i++)
            buf_add(&page, "\xe2\x82\xac");
        buf_add(&page, "\n[-]another\n");
        cleanup(mem_free_ptr) char *line = status_line(false, buf_str(&page));
        ck_assert_uint_le(strlen(line), STATUS_LINE_MAX_BYTES);
        ck_assert_uint_ge(strlen(line), STATUS_LINE_MAX_BYTES / 2);
        ck_assert(text_is_utf8(line));
        ck_assert_ptr_nonnull(strstr(line, "\xe2\x82\xac... (and 1 more"));
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("status_line");
    TCase *t = tcase_create("status_line");
    tcase_add_loop_test(t, lines, 0, array_len(rows));
    tcase_add_test(t, long_ones_are_cut);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *sr = srunner_create(suite());
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
