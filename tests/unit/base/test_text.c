/* src/base/text: what of others' text is shown, and where it is cut. */
#include "base/text.h"

#include "../test.h"

#define MESSAGE_MAX 1024

static const struct {
    enum text_mode mode;
    const char *text, *shown;
} texts[] = {
    {TEXT_TERMINAL, "", ""},
    {TEXT_TERMINAL, "plain text -> 1", "plain text -> 1"},
    {TEXT_TERMINAL, "a\x1b[31mb", "a\\x1b[31mb"},
    {TEXT_TERMINAL, "a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
    {TEXT_TERMINAL, "\x7f", "\\x7f"},
    {TEXT_TERMINAL, "caf\xc3\xa9", "caf\xc3\xa9"}, /* letters are letters */
    {TEXT_TERMINAL,
     "\xc2\x9b"
     "31m",
     "\\u{9b}31m"}, /* C1's own control sequence introducer */
    {TEXT_TERMINAL,
     "\xe2\x80\xae"
     "txt",
     "\\u{202e}txt"}, /* right-to-left override */
    {TEXT_TERMINAL,
     "a\xe2\x80\x8b"
     "b",
     "a\\u{200b}b"},                                   /* zero width */
    {TEXT_TERMINAL, "\xf3\xa0\x81\x81", "\\u{e0041}"}, /* tag characters */
    {TEXT_TERMINAL, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    {TEXT_TERMINAL, "\xff", "\\xff"},
    {TEXT_TERMINAL, "\xc0\xaf", "\\xc0\\xaf"},                   /* overlong */
    {TEXT_TERMINAL, "\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
    {TEXT_TERMINAL, "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
    {TEXT_TERMINAL, "cut \xe2\x82", "cut \\xe2\\x82"},
    {TEXT_LINE, "", ""},
    {TEXT_LINE, "n1 drains", "n1 drains"},
    {TEXT_LINE, "gr\xc3\xbcn \xe2\x82\xac", "gr\xc3\xbcn \xe2\x82\xac"},
    {TEXT_LINE, " \n[ALERT] a\n\tb\r\n", "[ALERT] a b"},
    {TEXT_LINE, "a\x01\x1b[31mb\x7f", "a [31mb"},
    {TEXT_LINE, "a\xff\xc3", "a??"},
    {TEXT_LINE,
     "a\xe2\x80\xae"
     "b",
     "a?b"}, /* right to left from here on */
    {TEXT_MESSAGE, "a\nb\tc\r  d", "a b c   d"},
    {TEXT_MESSAGE, "\x1b[31m\x7f\xff\xe2\x80\xae", "\\x1b[31m\\x7f\xff\xe2\x80\xae"},
    {TEXT_FLAT,
     " \n[ALERT] a\n\t\x1b"
     "b\r\n\xff\xe2\x80\xae",
     "[ALERT] a b \xff\xe2\x80\xae"},
    {TEXT_MESSAGE, "\\x1b", "\\x1b"}, /* twice is as once */
    {TEXT_QUOTED, "a \"b\" \\\n\t\x7f", "a \\\"b\\\" \\\\\\n\\u0009\\u007f"},
    {TEXT_QUOTED, "\xe2\x80\xae\xf3\xa0\x81\x81\xff\xc3\xa9", "\\u202e\\udb40\\udc41\\ufffd\xc3\xa9"},
    {TEXT_ASCII, "a \"b\" \\\n\t\x7f", "a \\\"b\\\" \\\\\\n\\x09\\x7f"},
    {TEXT_ASCII, "\xc3\xa9\xff", "\\xc3\\xa9\\xff"},
    {TEXT_LABEL, "a\\b\"c\nd\xff\xc3\xa9", "a\\\\b\\\"c\\nd?\xc3\xa9"},
    {TEXT_HELP, "A \\ and \"quotes\"\n", "A \\\\ and \"quotes\"\\n"},
    {TEXT_AS_IS, "a\x1b\xff\n", "a\x1b\xff\n"},
};

TEST_EACH(each_mode_has_its_escapes, array_len(texts))
{
    cleanup(mem_free_ptr) char *shown = text_shown(texts[_i].text, texts[_i].mode, TEXT_WHOLE);
    ck_assert_str_eq(shown, texts[_i].shown);
}

static const enum text_mode modes[] = {TEXT_LINE, TEXT_TERMINAL, TEXT_QUOTED, TEXT_ASCII};

/* Whatever the bytes are, what comes out has no control character but the line ends and colours that are ours. */
TEST(no_byte_gets_through_as_control)
{
    for (size_t m = 0; m < array_len(modes); m++)
        for (int a = 1; a < 256; a++)
            for (int b = 1; b < 256; b++) {
                const char text[] = {(char)a, (char)b, 'x', '\0'};
                cleanup(mem_free_ptr) char *shown = text_shown(text, modes[m], TEXT_WHOLE);
                bool fit = text_is_utf8(shown);
                for (const unsigned char *s = (const unsigned char *)shown; *s != '\0'; s++)
                    fit = fit && *s >= 0x20 && *s != 0x7f && (*s != 0xc2 || s[1] >= 0xa0);
                if (!fit)
                    ck_abort_msg("%02x %02x", a, b);
            }
}

TEST(utf8_is_told_apart_from_the_rest)
{
    ck_assert(text_is_utf8("") && text_is_utf8("caf\xc3\xa9 \x1b") && text_is_utf8("\xf4\x8f\xbf\xbf"));
    ck_assert(text_utf8_len("a\0\xc3\xa9\xff z", 7) == 4 && text_utf8_len("a\xc3", 2) == 1 &&
              text_utf8_len("", 0) == 0);
    ck_assert(!text_is_utf8("\xff") && !text_is_utf8("a\xc3") && !text_is_utf8("\xed\xbf\xbf"));
}

TEST(what_is_not_the_texts_is_not_read)
{
    cleanup(buf_fini) struct buf b = {0};
    text_addn(&b, "a\0b\xe2\x82\xac", 5, TEXT_LINE, TEXT_WHOLE);
    ck_assert_str_eq(buf_str(&b), "a b??");
    char cut[] = {'\xe2', '\x82'}; /* on the stack: one byte more would be seen */
    text_addn(&b, cut, sizeof(cut), TEXT_TERMINAL, TEXT_WHOLE);
    ck_assert_str_eq(buf_str(&b), "a b??\\xe2\\x82");
}

/* No character and no escape is cut, whatever the room. */
TEST(what_is_too_long_is_cut_between_escapes)
{
    static const char text[] = "a\xc3\xa9\x1b \xe2\x80\xae  \xf0\x9f\x98\x80\"z\xffz";
    for (size_t m = 0; m < array_len(modes); m++) {
        cleanup(mem_free_ptr) char *whole = text_shown(text, modes[m], TEXT_WHOLE);
        for (size_t max = 3; max < strlen(whole) + 3; max++) {
            cleanup(mem_free_ptr) char *got = text_shown(text, modes[m], max);
            size_t len = strlen(got);
            ck_assert_uint_le(len, max);
            ck_assert(text_is_utf8(got));
            if (max >= strlen(whole)) {
                ck_assert_str_eq(got, whole);
                continue;
            }
            ck_assert_uint_ge(len + 12, max); /* the longest escape here, and a blank */
            ck_assert_str_eq(got + len - 3, "...");
            ck_assert_int_eq(strncmp(got, whole, len - 3), 0);
            ck_assert(len == 3 || got[len - 4] != '\\' || whole[len - 4] == whole[len - 5]);
        }
    }
}

TEST(a_long_message_is_cut_where_a_character_ends)
{
    for (size_t before = 1015; before < 1030; before++)
        for (size_t wide = 0; wide < 2; wide++) {
            cleanup(buf_fini) struct buf b = {0};
            for (size_t i = 0; i < before; i++)
                buf_add(&b, "x");
            buf_add(&b, wide ? "\xe2\x82\xac" : "yyy");
            cleanup(mem_free_ptr) char *got = text_shown(buf_str(&b), TEXT_LINE, MESSAGE_MAX);
            size_t len = strlen(got);
            if (b.len <= MESSAGE_MAX) {
                ck_assert_str_eq(got, buf_str(&b));
                continue;
            }
            ck_assert_uint_le(len, MESSAGE_MAX);
            ck_assert_uint_ge(len, MESSAGE_MAX - 3);
            ck_assert_str_eq(got + len - 3, "...");
            ck_assert_int_eq(strncmp(got, buf_str(&b), len - 3), 0);
            ck_assert_msg(((unsigned char)got[len - 4] & 0xc0) != 0xc0, "half a character at %zu", before);
        }
}

TEST(a_message_of_wide_ones_alone)
{
    cleanup(buf_fini) struct buf b = {0};
    for (size_t i = 0; i < 2000; i++)
        buf_add(&b, "\xf0\x9f\x98\x80");
    cleanup(mem_free_ptr) char *got = text_shown(buf_str(&b), TEXT_LINE, MESSAGE_MAX);
    ck_assert_uint_eq(strlen(got), 1023); /* 255 of four bytes */
    ck_assert_str_eq(got + 1020, "...");
}

TEST(a_prefix_ends_where_a_character_does)
{
    ck_assert_uint_eq(text_cut("a\xc3\xa9", 2), 1);
    ck_assert_uint_eq(text_cut("a\xc3\xa9", 3), 3);
    ck_assert_uint_eq(text_cut("\xff\xff\xff", 2), 2);
    ck_assert_uint_eq(text_cut("", 0), 0);
    ck_assert_uint_eq(text_cut("abc", TEXT_WHOLE), 3);
}

TEST(a_list_names_some_and_counts_the_rest)
{
    static const struct {
        const char *between;
        size_t count;
        const char *text;
    } rows[] = {{", ", 0, NULL},     {", ", 1, "n1"},
                {", ", 2, "n1, n2"}, {", ", 3, "n1, n2 and 1 more"},
                {"; ", 2, "n1; n2"}, {"; ", 12, "n1; n2; and 10 more"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        struct text_list list = {.between = rows[i].between, .max = 2};
        for (size_t k = 0; k < rows[i].count; k++)
            if (text_list_next(&list))
                buf_printf(&list.text, "n%zu", list.count);
        ck_assert_uint_eq(list.count, rows[i].count);
        cleanup(mem_free_ptr) char *text = text_list_take(&list);
        ck_assert_pstr_eq(text, rows[i].text);
        ck_assert_uint_eq(list.count, 0);
    }
}

TEST(a_control_is_found)
{
    static const char text[] = "a\0b";
    ck_assert_ptr_null(text_control("caf\xc3\xa9 ~", 7));
    ck_assert_ptr_eq(text_control(text, 3), text + 1);
    ck_assert_ptr_null(text_control(text, 1));
    ck_assert_ptr_nonnull(text_control("\x7f", 1));
    ck_assert_ptr_nonnull(text_control("\x1f", 1));
}
