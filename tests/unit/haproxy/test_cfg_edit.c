/* src/haproxy/cfg/edit: a haproxy.cfg comes out as it went in, but for its edits. */
#include "haproxy/cfg/edit.h"

#include "../test.h"

/* Of its own, so that the sanitizer sees its end. */
static char *exactly(const char *text, size_t len)
{
    char *copy = mem_alloc(len);
    if (len > 0)
        memcpy(copy, text, len);
    return copy;
}

static void check_same(const struct buf *got, const char *text, size_t len, const char *what)
{
    ck_assert_msg(got->len == len && memcmp(buf_str(got), text, len) == 0, "%s: %zu bytes of %zu:\n%.*s\nis\n%s", what,
                  got->len, len, (int)len, text, buf_str(got));
}

static void check_round_trip(const char *text, size_t len, const char *what)
{
    cleanup(cfg_file_fini) struct cfg_file f;
    cleanup(buf_fini) struct buf out = {0};
    cleanup(mem_free_ptr) char *copy = exactly(text, len);
    cfg_file_parse(&f, copy, len);
    cfg_file_print(&f, NULL, NULL, &out);
    check_same(&out, text, len, what);
}

static const struct {
    const char *text;
    size_t len;
} kept[] = {
#define KEPT(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }
    KEPT(""),
    KEPT("\n"),
    KEPT("\r\n"),
    KEPT("\r"),
    KEPT("global"),
    KEPT("\0\n\0"),
    KEPT("# c\n\n \t\nglobal # d\n  log a\\\n  b \"c d\" 'e'\r\n.if x\r\n.endif\n\n# end"),
    KEPT("x\n\r\ny\r\r\nz\r"),
    KEPT("\xff\xfe\n"),
};

TEST_EACH(what_goes_in_comes_out, array_len(kept))
{
    check_round_trip(kept[_i].text, kept[_i].len, "row");
}

#define REPLACE CFG_EDIT_REPLACE
#define REMOVE CFG_EDIT_REMOVE
#define INSERT CFG_EDIT_INSERT

static const struct {
    const char *text;
    struct {
        unsigned line;
        enum cfg_edit_kind kind;
        const char *text;
    } edits[4];
    const char *end, *result;
} edited[] = {
    {"a\nb\nc\n", {{2, REPLACE, "x"}}, NULL, "a\nx\nc\n"},
    {"a\r\nb\r\nc", {{2, REPLACE, "x"}, {3, REPLACE, "y"}}, NULL, "a\r\nx\r\ny"},
    {"a\nb\nc\n", {{2, REMOVE, NULL}}, NULL, "a\nc\n"},
    {"a\nb", {{2, REMOVE, NULL}}, NULL, "a\n"},
    {"a\n# c\n\nb\n", {{2, INSERT, "x"}, {2, INSERT, "y"}}, NULL, "a\n# c\nx\ny\n\nb\n"},
    {"a\r\nb\n", {{1, INSERT, "x"}}, NULL, "a\r\nx\r\nb\n"},
    {"a\nb", {{2, INSERT, "x"}, {2, INSERT, "y"}}, NULL, "a\nb\nx\ny"},
    {"a\nb", {{2, INSERT, "x"}, {2, REMOVE, NULL}, {2, INSERT, "y"}}, NULL, "a\nx\ny"},
    {"a\nb\n", {{2, INSERT, "x"}, {2, REPLACE, "y"}}, NULL, "a\ny\nx\n"},
    {"a\nb\n", {{2, REPLACE, "y"}, {0, INSERT, "t"}, {1, REMOVE, NULL}, {0, INSERT, "u"}}, NULL, "t\nu\ny\n"},
    {"a\nb\n", {{9, REMOVE, NULL}}, NULL, "a\nb\n"},
    {"a\r\n\nb", {{3, INSERT, "x"}}, "\n", "a\n\nb\nx\n"},
    {"", {{0, INSERT, "x"}}, NULL, "x\n"},
};

TEST_EACH(edits, array_len(edited))
{
    cleanup(cfg_file_fini) struct cfg_file f;
    cleanup(cfg_edits_fini) struct cfg_edits e = {0};
    cleanup(buf_fini) struct buf out = {0};
    cfg_file_parse(&f, edited[_i].text, strlen(edited[_i].text));
    for (size_t i = 0; i < 4 && (edited[_i].edits[i].text != NULL || edited[_i].edits[i].kind == REMOVE); i++) {
        const char *text = edited[_i].edits[i].text;
        cfg_edits_add(&e, edited[_i].edits[i].line, edited[_i].edits[i].kind, text, text != NULL ? strlen(text) : 0);
    }
    cfg_file_print(&f, &e, edited[_i].end, &out);
    check_same(&out, edited[_i].result, strlen(edited[_i].result), edited[_i].text);
}

/* Which line of the file before a printed one is, or stands behind: by one search after the other, and by each alone. */
TEST(lines_of_the_file_before)
{
    static const struct {
        unsigned line;
        bool inserted;
    } printed[] = {{0, true},  {1, false}, {2, false}, {2, true}, {2, true},
                   {4, false}, {5, false}, {6, true},  {7, false}};
    cleanup(cfg_edits_fini) struct cfg_edits e = {0};
    struct cfg_edits_back back = {0};
    static const struct {
        unsigned line;
        enum cfg_edit_kind kind;
    } list[] = {{2, INSERT}, {3, REMOVE}, {2, INSERT}, {5, REPLACE}, {0, INSERT}, {6, REMOVE}, {6, INSERT}};
    for (size_t i = 0; i < array_len(list); i++)
        cfg_edits_add(&e, list[i].line, list[i].kind, list[i].kind == REMOVE ? NULL : "new",
                      3 * (list[i].kind != REMOVE));
    for (unsigned i = 0; i < array_len(printed); i++) {
        struct cfg_edits_back alone = {0};
        bool inserted, by_itself;
        ck_assert_uint_eq(cfg_edits_line(&e, &back, i + 1, &inserted), printed[i].line);
        ck_assert_uint_eq(cfg_edits_line(&e, &alone, i + 1, &by_itself), printed[i].line);
        ck_assert(inserted == printed[i].inserted && by_itself == printed[i].inserted);
    }
}
