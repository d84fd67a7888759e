/* src/base/page: what may be shown, columns, wrapping, and when there is colour. */
#include <check.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/page.h"

static const struct {
    const char *text, *shown;
    size_t columns;
} texts[] = {
    {"", "", 0},
    {"plain text -> 1", "plain text -> 1", 15},
    {"a\x1b[31mb", "a\\x1b[31mb", 10},
    {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd", 16},
    {"\x7f", "\\x7f", 4},
    {"caf\xc3\xa9", "caf\xc3\xa9", 4}, /* letters are letters */
    {"\xc2\x9b"
     "31m",
     "\\u{9b}31m", 9}, /* C1's own control sequence introducer */
    {"\xe2\x80\xae"
     "txt",
     "\\u{202e}txt", 11}, /* right-to-left override */
    {"a\xe2\x80\x8b"
     "b",
     "a\\u{200b}b", 10},                   /* zero width */
    {"\xf3\xa0\x81\x81", "\\u{e0041}", 9}, /* tag characters */
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 1},
    {"\xff", "\\xff", 4},
    {"\xc0\xaf", "\\xc0\\xaf", 8},                    /* overlong */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", 12},          /* surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 16}, /* beyond Unicode */
    {"cut \xe2\x82", "cut \\xe2\\x82", 12},
};

START_TEST(only_what_is_fit_is_shown)
{
    cleanup(mem_free_ptr) char *shown = page_safe(texts[_i].text);
    ck_assert_str_eq(shown, texts[_i].shown);
    ck_assert_uint_eq(page_columns(texts[_i].text), texts[_i].columns);
}
END_TEST

/* Whatever the bytes are, what comes out has no control character but the line ends and colours that are ours. */
START_TEST(no_byte_gets_through_as_control)
{
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            const char text[] = {(char)a, (char)b, 'x', '\0'};
            cleanup(mem_free_ptr) char *shown = page_safe(text);
            bool fit = page_is_utf8(shown);
            for (const unsigned char *s = (const unsigned char *)shown; *s != '\0'; s++)
                fit = fit && *s >= 0x20 && *s != 0x7f && (*s != 0xc2 || s[1] >= 0xa0);
            if (!fit)
                ck_abort_msg("%02x %02x", a, b);
        }
}
END_TEST

START_TEST(utf8_is_told_from_the_rest)
{
    ck_assert(page_is_utf8("") && page_is_utf8("caf\xc3\xa9 \x1b") && page_is_utf8("\xf4\x8f\xbf\xbf"));
    ck_assert(!page_is_utf8("\xff") && !page_is_utf8("a\xc3") && !page_is_utf8("\xed\xbf\xbf"));
}
END_TEST

static void expect(struct buf *out, const char *text)
{
    ck_assert_str_eq(buf_str(out), text);
    buf_clear(out);
}

START_TEST(columns_and_colours)
{
    cleanup(buf_fini) struct buf out;
    struct page p;
    buf_init(&out, 0);
    page_init(&p, &out, false, 0);
    page_to(&p, 2);
    page_put(&p, INK_RED, "ab");
    page_to(&p, 6);
    page_put(&p, INK_PLAIN, "c");
    page_to(&p, 3); /* passed already: one space all the same */
    page_printf(&p, INK_BOLD, "%s-%d", "d", 1);
    page_end_line(&p);
    expect(&out, "  ab  c d-1\n");
    p.colour = true;
    page_put(&p, INK_RED, "a\x1b[0mb");
    page_put(&p, INK_PLAIN, "c");
    page_put(&p, INK_DIM, "");
    ck_assert_uint_eq(p.column, 10);
    expect(&out, "\x1b[31ma\\x1b[0mb\x1b[0mc");
}
END_TEST

START_TEST(words_wrap_under_where_they_began)
{
    cleanup(buf_fini) struct buf out;
    struct page p;
    buf_init(&out, 0);
    page_init(&p, &out, false, 60);
    page_put(&p, INK_PLAIN, "name: ");
    page_flow(&p, INK_DIM,
              "one two three four five six seven eight nine ten  eleven twelve "
              "thirteen-fourteen-fifteen-sixteen-seventeen-eighteen-"
              "nineteen twenty");
    expect(&out, "name: one two three four five six seven eight nine ten\n"
                 "      eleven twelve\n"
                 "      thirteen-fourteen-fifteen-sixteen-seventeen-eighteen-nineteen\n"
                 "      twenty");
    page_end_line(&p);
    buf_clear(&out);
    p.colour = true; /* each line on its own, so that a pager may cut anywhere */
    page_flow(&p, INK_DIM, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bb cc");
    expect(&out, "\x1b[2maaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x1b[0m\n"
                 "\x1b[2mbb cc\x1b[0m");
    page_flow(&p, INK_DIM, "");
    expect(&out, "");
    page_end_line(&p);
    buf_clear(&out);
    page_flow(&p, INK_PLAIN, "[ALERT] in\n\tline 7\r\n");
    expect(&out, "[ALERT] in line 7");
}
END_TEST

START_TEST(width_follows_the_terminal_within_reason)
{
    struct page p;
    static const size_t rows[][2] = {{0, PAGE_WIDTH_DEFAULT}, {20, 60}, {60, 60}, {80, 80}, {140, 140}, {400, 140}};
    for (size_t i = 0; i < array_len(rows); i++) {
        page_init(&p, NULL, false, rows[i][0]);
        ck_assert_uint_eq(p.width, rows[i][1]);
    }
}
END_TEST

static const struct {
    enum page_colour choice;
    bool terminal;
    const char *a, *b;
    bool colour;
} choices[] = {
    {PAGE_COLOUR_AUTO, true, "TERM=xterm", "X=1", true},
    {PAGE_COLOUR_AUTO, true, "X=1", NULL, true},
    {PAGE_COLOUR_AUTO, false, "TERM=xterm", NULL, false},
    {PAGE_COLOUR_AUTO, true, "TERM=dumb", NULL, false},
    {PAGE_COLOUR_AUTO, true, "TERM=dumber", NULL, true},
    {PAGE_COLOUR_AUTO, true, "TERM=xterm", "NO_COLOR=1", false},
    {PAGE_COLOUR_AUTO, true, "NO_COLOR=", NULL, true},
    {PAGE_COLOUR_AUTO, true, "NO_COLORS=1", NULL, true},
    {PAGE_COLOUR_ALWAYS, false, "TERM=dumb", "NO_COLOR=1", true},
    {PAGE_COLOUR_NEVER, true, "TERM=xterm", NULL, false},
};

START_TEST(colour_only_where_wanted)
{
    char *a = mem_strdup(choices[_i].a), *b = mem_strdup(choices[_i].b);
    char *const environment[] = {a, b, NULL};
    ck_assert(page_wants_colour(choices[_i].choice, choices[_i].terminal, environment) == choices[_i].colour);
    free(a);
    free(b);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("page");
    tcase_add_loop_test(tc, only_what_is_fit_is_shown, 0, (int)array_len(texts));
    tcase_add_test(tc, no_byte_gets_through_as_control);
    tcase_add_test(tc, utf8_is_told_from_the_rest);
    tcase_add_test(tc, columns_and_colours);
    tcase_add_test(tc, words_wrap_under_where_they_began);
    tcase_add_test(tc, width_follows_the_terminal_within_reason);
    tcase_add_loop_test(tc, colour_only_where_wanted, 0, (int)array_len(choices));
    Suite *s = suite_create("page");
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
