/* src/base/page: what may be shown, columns, wrapping, and when there is colour. */

#include "base/page.h"
#include "settings/environment.h"

#include "../test.h"

static const struct {
    const char *text;
    size_t columns;
} texts[] = {{"", 0},
             {"plain text -> 1", 15},
             {"a\x1b[31mb", 10},
             {"a\nb\tc\rd", 16},
             {"\x7f", 4},
             {"caf\xc3\xa9", 4},
             {"\xf3\xa0\x81\x81", 9},
             {"\xf0\x9f\x98\x80", 1},
             {"cut \xe2\x82", 12}};

TEST_EACH(columns_are_those_of_what_is_shown, array_len(texts))
{
    ck_assert_uint_eq(page_columns(texts[_i].text), texts[_i].columns);
}

static void expect(struct buf *out, const char *text)
{
    ck_assert_str_eq(buf_str(out), text);
    buf_clear(out);
}

TEST(columns_and_colours)
{
    cleanup(buf_fini) struct buf out = {0};
    struct page p;
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

TEST(words_wrap_under_where_they_began)
{
    cleanup(buf_fini) struct buf out = {0};
    struct page p;
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

TEST(width_follows_the_terminal_within_reason)
{
    struct page p;
    static const size_t rows[][2] = {{0, PAGE_WIDTH_DEFAULT}, {20, 60}, {60, 60}, {80, 80}, {140, 140}, {400, 140}};
    for (size_t i = 0; i < array_len(rows); i++) {
        page_init(&p, NULL, false, rows[i][0]);
        ck_assert_uint_eq(p.width, rows[i][1]);
    }
}

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

TEST_EACH(colour_only_where_asked_for, array_len(choices))
{
    char *a = mem_strdup(choices[_i].a), *b = mem_strdup(choices[_i].b);
    char *const environment[] = {a, b, NULL};
    ck_assert(page_wants_colour(choices[_i].choice, choices[_i].terminal, environment_get(environment, "NO_COLOR"),
                                environment_get(environment, "TERM")) == choices[_i].colour);
    free(a);
    free(b);
}
