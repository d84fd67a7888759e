/* src/haproxy/cfg/difference: which lines differ, as they are shown. */
#include "haproxy/cfg/difference.h"

#include "../test.h"

static void difference_of(struct cfg_line_difference *d, const char *before, const char *after)
{
    cleanup(cfg_file_fini) struct cfg_file a;
    cleanup(cfg_file_fini) struct cfg_file b;
    cfg_file_parse(&a, before, strlen(before));
    cfg_file_parse(&b, after, strlen(after));
    cfg_line_difference_init(d, &a, &b);
}

static char *texts_of(const struct cfg_line_difference *d)
{
    struct buf text = {0};
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++)
        buf_printf(&text, "%s: %s\n", d->lines[i].section, d->lines[i].text);
    return buf_take(&text);
}

static const struct {
    const char *before, *after, *lines;
} cases[] = {
    {"global\n log a\n", "global # c\n\n\tlog  'a'\n", ""},
    {"frontend f\n bind :1\nbackend b\n server a 1:1\n", "backend b\n server a 1:1\nfrontend f\n bind :1\n", ""},
    {"# c\nglobal\n maxconn 1\n", "global\n\n\n maxconn 2 # two\n", "global: - maxconn 1\nglobal: + maxconn 2\n"},
    /* among several of a kind, in the order of the file */
    {"frontend f\n bind :1\n bind :2\n bind :3\n", "frontend f\n bind :4\n bind :2\n bind :0\n",
     "frontend f: - bind :1\nfrontend f: - bind :3\nfrontend f: + bind :4\nfrontend f: + bind :0\n"},
    {"frontend f\n bind :1\n bind :1\n", "frontend f\n bind :1\n", "frontend f: - bind :1\n"},
    {"frontend f\n http-request deny\n http-request allow\n", "frontend f\n http-request allow\n http-request deny\n",
     ""},
    /* sections */
    {"backend a\n", "backend a\nbackend b\n mode tcp\n", "backend b: + backend b\nbackend b: + mode tcp\n"},
    {"frontend f\n bind :1\n", "", "frontend f: - frontend f\nfrontend f: - bind :1\n"},
    {"defaults a\nbackend b from a\n", "defaults a\nbackend b\n", ""},
    {"defaults a\ndefaults c\nbackend b from a\n", "defaults a\ndefaults c\nbackend b from c\n",
     "backend b: - backend b from a\nbackend b: + backend b from c\n"},
    {"backend b\n server a 1:1\n", "backend b\n balance source\n server a 1:1\n", "backend b: + balance source\n"},
    /* both have it, and a second difference */
    {"backend a\n server a 1:1\nbackend b\n mode tcp\n", "backend a\n server a 1:2\nbackend b\n mode http\n",
     "backend a: - server a 1:1\nbackend a: + server a 1:2\nbackend b: - mode tcp\nbackend b: + mode http\n"},
    {"userlist u\n user a insecure-password hunter2\n", "userlist u\n user a insecure-password hunter3 # hunter3\n",
     "userlist u: - user a insecure-password ***\nuserlist u: + user a insecure-password ***\n"},
    {"global\n setenv A hunter2\n setenv B hunter2\n", "global\n setenv B hunter2\n", "global: - setenv A ***\n"},
};

TEST_EACH(lines_that_differ, array_len(cases))
{
    cleanup(cfg_line_difference_fini) struct cfg_line_difference d;
    difference_of(&d, cases[_i].before, cases[_i].after);
    cleanup(mem_free_ptr) char *got = texts_of(&d);
    ck_assert_str_eq(got, cases[_i].lines);
}

TEST(many_and_long_ones_are_cut)
{
    cleanup(cfg_line_difference_fini) struct cfg_line_difference d;
    cleanup(buf_fini) struct buf before = {0};
    buf_add(&before, "frontend f\n");
    for (int i = 0; i < 100; i++)
        buf_printf(&before, " acl a%d path /%0300d\n", i, i);
    difference_of(&d, buf_str(&before), "frontend f\n");
    ck_assert_uint_eq(d.count, 100);
    for (size_t i = 0; i < CFG_LINE_DIFFERENCE_MAX; i++)
        ck_assert_uint_le(strlen(d.lines[i].text), 2 + CFG_LINE_DIFFERENCE_LINE_MAX_BYTES);
}
