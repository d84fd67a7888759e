/* src/haproxy/cfg/content: one text of a haproxy.cfg, parsed once, held by several. */
#include "haproxy/cfg/content.h"

#include "../test.h"

static struct cfg_content *content_of(const char *text)
{
    return cfg_content_new(mem_strdup(text), strlen(text));
}

TEST(it_is_parsed_once_for_all)
{
    struct cfg_content *c = content_of("global\n  daemon\n"), *second = cfg_content_ref(c);
    const struct cfg_file *f = cfg_content_file(c, NULL);
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(f->section_count, 1);
    ck_assert_ptr_eq(cfg_content_file(second, NULL), f);
    cfg_content_unref(c);
    ck_assert_str_eq(f->sections[0].kind, "global"); /* whichever holds it last */
    cfg_content_unref(second);
    ck_assert_ptr_null(cfg_content_ref(NULL));
    cfg_content_unref(NULL);
}

TEST(what_rests_is_parsed_again)
{
    struct cfg_file f;
    struct buf text = {0};
    buf_add(&text, "global\n  daemon\n");
    cfg_file_parse(&f, buf_str(&text), text.len);
    const struct cfg_file_section *sections = f.sections;
    struct cfg_content *c = cfg_content_take_parsed(&text, &f);
    ck_assert_ptr_eq(cfg_content_file(c, NULL)->sections, sections);
    ck_assert_uint_eq(f.section_count, 0);
    struct cfg_content *other = cfg_content_ref(c);
    cfg_content_rest(c, 1); /* it may be read */
    ck_assert_ptr_eq(cfg_content_file(c, NULL)->sections, sections);
    cfg_content_unref(other);
    cfg_content_rest(c, 1);
    ck_assert(!c->parsed.done && c->parsed.file.sections == NULL);
    ck_assert_uint_eq(cfg_content_file(c, NULL)->section_count, 1);
    cfg_content_unref(c);
}

TEST(what_it_was_written_as_is_held)
{
    struct cfg_content *c = content_of("global\n"), *as = content_of("# _version=1\nglobal\n");
    cfg_content_wrote(c, as);
    cfg_content_wrote(c, as);
    ck_assert_ptr_eq(c->written, as);
    ck_assert_uint_eq(as->references, 2);
    cfg_content_rest(c, 1);
    ck_assert_ptr_null(c->written);
    cfg_content_wrote(c, as);
    cfg_content_unref(c);
    ck_assert_uint_eq(as->references, 1);
    cfg_content_unref(as);
}

TEST(what_is_no_configuration_says_so_each_time)
{
    struct cfg_content *c = content_of("<html>\n");
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(cfg_content_file(c, &flaw));
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        ck_assert_msg(strstr(flaw.message, "no section at all") != NULL, "%s", flaw.message);
    }
    ck_assert_ptr_null(cfg_content_file(NULL, NULL));
    cfg_content_unref(c);
}

TEST(what_a_buffer_held_is_taken)
{
    struct buf text = {0};
    buf_add(&text, "global\n");
    struct cfg_content *c = cfg_content_take(&text);
    ck_assert_uint_eq(text.len, 0);
    ck_assert_uint_eq(c->len, 7);
    ck_assert_str_eq(c->text, "global\n");
    cfg_content_unref(c);
    c = cfg_content_take(&text); /* nothing was in it */
    ck_assert_str_eq(c->text, "");
    cfg_content_unref(c);
}

static const struct {
    const char *before, *text;
    bool same, goes_on;
    size_t head;
} rows[] = {
    {"global\n", "global\n", true, true, 0},
    {"# _version=1\nglobal\n", "# _version=22\nglobal\n", false, true, 14},
    {"# _version=1\n\n# a\nglobal\n", "# _version=2\n\n# b\nglobal\n", false, true, 18},
    {"# _version=1\nglobal\n", "# _version=2\n\nglobal\n", false, false, 14}, /* its lines have other numbers */
    {"# _version=1\nglobal\n", "# _version=2\nglobal\n ", false, false, 13},
    {"# _version=1\nglobal\n", "# _version=2\nglobbl\n", false, false, 13},
    {"# _version=1\nglobal\n# a\n", "# _version=1\nglobal\n# b\n", false, false, 13},
    {"# a", "# b", false, false, 0}, /* no line ends */
    {"", "", true, true, 0},
    {"", "\n", false, false, 1},
};

TEST_EACH(two_texts, sizeof(rows) / sizeof(rows[0]))
{
    struct cfg_content *a = content_of(rows[_i].before), *b = content_of(rows[_i].text);
    size_t head = 99;
    ck_assert(cfg_content_same(a, b) == rows[_i].same);
    ck_assert(cfg_content_same(a, a) && !cfg_content_same(a, NULL) && !cfg_content_same(NULL, b));
    ck_assert(cfg_content_goes_on_as(a, b->text, b->len, &head) == rows[_i].goes_on);
    ck_assert_uint_eq(head, rows[_i].head);
    ck_assert(!cfg_content_goes_on_as(NULL, b->text, b->len, &head));
    ck_assert_uint_eq(head, rows[_i].head);
    cfg_content_unref(a);
    cfg_content_unref(b);
}
