/* src/haproxy/map_text: entries as HAProxy reads them of a file, and whether two lists of them are the same. */
#include "haproxy/map_text.h"

#include "../test.h"

/* "[key|value]" of each entry. HAProxy 2.6 and 3.4 showed these (`show map`) of such files. */
static const struct {
    const char *text, *entries;
} files[] = {
    {"", ""},
    {"\n\n \n\t\n\r\n", ""},
    {"a 1\nb 2\n", "[a|1][b|2]"},
    {"a 1\nb 2", "[a|1][b|2]"},
    {"b 2\na 1\nb 3\n", "[b|2][a|1][b|3]"},
    {"# all of it\n#a 1\na 1\n", "[a|1]"},
    {" # 1\n\t#b 2\n", "[#|1][#b|2]"},
    {"a # no comment\n", "[a|# no comment]"},
    {"  a \t 1 \t\n", "[a|1]"},
    {"a one two  three \n", "[a|one two  three]"},
    {"a\nb \nc\t\t\n", "[a|][b|][c|]"},
    {"a 1\r\nb\r\n", "[a|1][b|]"},
    {"a 1\rx 2\nb 3\n", "[a|1][b|3]"},
    {"a\r1\n", "[a|]"},
    {"a\v1 \f2\n", "[a\v1|\f2]"},
};

TEST_EACH(as_haproxy_reads_them, sizeof(files) / sizeof(files[0]))
{
    cleanup(map_entries_fini) struct map_entries m = {0};
    cleanup(buf_fini) struct buf shown = {0};
    map_entries_read(&m, files[_i].text);
    for (size_t i = 0; i < m.count; i++)
        buf_printf(&shown, "[%.*s|%.*s]", (int)m.list[i].key_len, m.list[i].key, (int)m.list[i].value_len,
                   m.list[i].value);
    ck_assert_str_eq(buf_str(&shown), files[_i].entries);
}

static const struct {
    const char *a, *b;
    bool same;
} pairs[] = {
    {"", "#\n", true},
    {"a 1\n", " a\t1 \n\n# end", true},
    {"a 1\nb 2\n", "b 2\na 1\n", false},
    {"a 1\nb 2\n", "a 1\n", false},
    {"a 1\n", "a 1\na 1\n", false},
    {"a 1\n", "a 2\n", false},
    {"a 1\n", "a 10\n", false},
    {"a 1\n", "b 1\n", false},
    {"a 1\n", "ab 1\n", false},
    {"a b c\n", "a b  c\n", false},
    {"a\n", "a 1\n", false},
};

TEST_EACH(the_same, sizeof(pairs) / sizeof(pairs[0]))
{
    cleanup(map_entries_fini) struct map_entries a = {0}, b = {0};
    map_entries_read(&a, pairs[_i].a);
    map_entries_read(&b, pairs[_i].b);
    ck_assert_int_eq(map_entries_same(&a, &b), pairs[_i].same);
    ck_assert_int_eq(map_entries_same(&b, &a), pairs[_i].same);
}

TEST(many)
{
    enum { COUNT = 5000 };
    cleanup(map_entries_fini) struct map_entries m = {0};
    cleanup(buf_fini) struct buf text = {0};
    for (int i = 0; i < COUNT; i++)
        buf_printf(&text, "key%d %d\n", i, i);
    map_entries_read(&m, buf_str(&text));
    ck_assert_uint_eq(m.count, COUNT);
    ck_assert(m.list[COUNT - 1].key_len == 7 && m.list[COUNT - 1].value_len == 4);
}
