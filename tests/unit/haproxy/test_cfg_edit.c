/* src/haproxy/cfg/edit: a haproxy.cfg comes out as it went in, but for its edits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/edit.h"

#include "../dice.h"
#include "../real_cfg.h"
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

/* ---- rows ---- */

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

/* ---- random files ---- */

static const char *const parts[] = {"global",    "defaults",
                                    " from x",   "frontend f",
                                    "backend b", "\tserver a 1.1.1.1:1",
                                    " # c",      "\"",
                                    "'",         "\\",
                                    " ",         "\t",
                                    "\n",        "\n",
                                    "\r\n",      "\r",
                                    ".if x",     ".else",
                                    ".endif",    "$",
                                    "x y z",     "\xc3\xa4",
                                    "\xff",      "# _version=1",
                                    "[",         "no option httplog"};

static void random_text(struct dice *d, struct buf *text)
{
    unsigned count = dice_below(d, 40);
    bool bytes = dice_one_in(d, 3);
    for (unsigned i = 0; i < count; i++) {
        char c = (char)dice_below(d, 256);
        if (bytes)
            buf_addn(text, dice_one_in(d, 6) ? "\n" : &c, 1);
        else
            buf_add(text, parts[dice_below(d, (unsigned)array_len(parts))]);
    }
}

TEST_EACH(random_files_come_out_as_they_went_in, 8)
{
    struct dice d = {.state = 88172645463325252ull + (uint64_t)_i * 7919};
    for (int round = 0; round < 3000; round++) {
        cleanup(buf_fini) struct buf text = {0};
        random_text(&d, &text);
        check_round_trip(buf_str(&text), text.len, "random");
    }
}

/* Which line of the file before a printed one is, or stands behind. */
struct origin {
    unsigned line;
    bool inserted;
};

static void check_origins(const struct cfg_edits *e, const struct origin *origins, unsigned count)
{
    struct cfg_edits_back back = {0};
    for (unsigned i = 0; i < count; i++) {
        struct cfg_edits_back alone = {0};
        bool inserted, by_itself;
        ck_assert_uint_eq(cfg_edits_line(e, &back, i + 1, &inserted), origins[i].line);
        ck_assert_uint_eq(cfg_edits_line(e, &alone, i + 1, &by_itself), origins[i].line);
        ck_assert(inserted == origins[i].inserted && by_itself == origins[i].inserted);
    }
}

/* Against the same edits made on one line after the other. */
TEST_EACH(random_edits_change_their_lines_alone, 8)
{
    struct dice d = {.state = 362436069ull + (uint64_t)_i * 7919};
    for (int round = 0; round < 1000; round++) {
        cleanup(buf_fini) struct buf text = {0};
        cleanup(buf_fini) struct buf out = {0};
        cleanup(buf_fini) struct buf expected = {0};
        cleanup(cfg_edits_fini) struct cfg_edits e = {0};
        cleanup(cfg_file_fini) struct cfg_file f;
        struct cfg_file_line line = {0};
        struct origin origins[2000];
        unsigned printed = 0;
        random_text(&d, &text);
        buf_add(&text, "\n");
        cfg_file_parse(&f, buf_str(&text), text.len);
        while (cfg_file_next(&f, &line)) {
            unsigned what = dice_below(&d, 8);
            if (what == 0)
                cfg_edits_add(&e, line.number, CFG_EDIT_REMOVE, NULL, 0);
            if (what == 1 || what == 2)
                cfg_edits_add(&e, line.number, what == 1 ? CFG_EDIT_REPLACE : CFG_EDIT_INSERT, "new", 3);
            if (what != 0)
                buf_addn(&expected, what == 1 ? "new" : line.text, what == 1 ? 3 : line.len);
            if (what != 0)
                buf_addn(&expected, line.text + line.len, line.end_len);
            if (what == 2)
                buf_add(&expected, "new");
            if (what == 2)
                buf_addn(&expected, line.text + line.len, line.end_len);
            ck_assert_uint_lt(printed + 2, array_len(origins));
            if (what != 0)
                origins[printed++] = (struct origin){line.number, false};
            if (what == 2)
                origins[printed++] = (struct origin){line.number, true};
        }
        cfg_file_print(&f, &e, NULL, &out);
        check_same(&out, buf_str(&expected), expected.len, buf_str(&text));
        check_origins(&e, origins, printed);
    }
}

/* ---- real files ---- */

static size_t real_files;

static int read_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)where;
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 64u << 20);
    if (type != FTW_F || !(str_has_suffix(path, ".cfg") || str_has_suffix(path, ".vtc")))
        return 0;
    ck_assert_msg(buf_read_file(&text, path) == 0, "%s", path);
    check_round_trip(buf_str(&text), text.len, path);
    real_files++;
    return 0;
}

TEST(real_files_come_out_as_they_went_in)
{
    walk_real_files(read_one);
    ck_assert_msg(real_files > 0, "no .cfg or .vtc");
    printf("%zu real files\n", real_files);
}
