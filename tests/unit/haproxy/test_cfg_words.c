/* src/haproxy/cfg/words: a line of haproxy.cfg as HAProxy takes it apart. */
#include "haproxy/cfg/words.h"

#include "../test.h"

/* As HAProxy 2.6 itself reads them (`.notice WORD` prints what it made of one).
 * Words joined by '|'; a word that is not plain is followed by '~', a broken line by '!'. */
static const struct {
    const char *line, *words;
} lines[] = {
    {"", ""},
    {"   \t", ""},
    {"# server x", ""},
    {"server n1 10.0.0.1:80 check", "server|n1|10.0.0.1:80|check"},
    {"\tserver\tn1  a\r", "server|n1|a"},
    {"a\rb c", "a"}, /* HAProxy 3.4 here and below: a CR ends the line, but not among blanks */
    {"\r a \r b", "a|b"},
    {"\"a\rb\" c", "a~!"},
    {"a! \"b!c\" !", "a!|b!c~|!"},
    {"server\vn1\fa", "server|n1|a"},
    {"a # b", "a"},
    {"a#b c", "a"},
    {"a\\#b", "a#b~"},
    {"a\\ b c", "a b~|c"},
    {"a\\\\ b", "a\\~|b"},
    {"\"a b\" c", "a b~|c"},
    {"'a b' c", "a b~|c"},
    {"a\" \"b'#'c", "a b#c~"},
    {"'a\\'b", "a\\b~"},
    {"\"a\\\"b\" c", "a\"b~|c"},
    {"\"a\\nb\"", "a\nb~"},
    {"\"a\\#b\\ c\\'d\\x41\\qe\"", "a#b c'dA\\qe~"},
    {"a\\'b\\\"c", "a'b\"c~"},
    {"a\\$b", "a\\$b~"},
    {"a\\nb\\tc\\rd", "a\nb\tc\rd~"},
    {"a\\x41\\x7", "aA\\x7~"},
    {"a\\xzz", "a\\xzz~"},
    {"a\\x00b c", "a\\x00b~|c"},
    {"a\\q", "a\\q~"},
    {"a\\", "a\\~"},
    {"\"a\\$b\" \"$c\" $d", "a$b~|$c~|$d"},
    {"''", "~"},
    {"a \"b", "a|b~!"},
    {"a 'b", "a|b~!"},
    {"\xc3\xa4 \xff", "\xc3\xa4|\xff"},
};

static char *join(const struct cfg_line *l)
{
    struct buf b = {0};
    for (size_t i = 0; i < l->count; i++)
        buf_printf(&b, "%s%s%s", i > 0 ? "|" : "", l->words[i].text, l->words[i].plain ? "" : "~");
    buf_add(&b, l->broken ? "!" : "");
    return buf_take(&b);
}

/* What cfg_line_plain finds of it has the same words; only what is quoted or escaped, or has a CR, may be no plain one. */
static void check_plain(const char *line, size_t len, const char *words)
{
    size_t plain_len;
    const char *plain = cfg_line_plain(line, len, &plain_len), *comment = memchr(line, '#', len);
    size_t before = comment != NULL ? (size_t)(comment - line) : len;
    bool special = memchr(line, '"', before) != NULL || memchr(line, '\'', before) != NULL ||
                   memchr(line, '\\', before) != NULL || memchr(line, '\r', before) != NULL;
    ck_assert((plain == NULL) == special);
    if (plain == NULL)
        return;
    cleanup(cfg_line_fini) struct cfg_line l;
    cfg_line_init(&l);
    cfg_line_split(&l, plain, plain_len);
    cleanup(mem_free_ptr) char *got = join(&l);
    ck_assert_str_eq(got, words);
    ck_assert(l.count == 0 ? plain_len == 0
                           : l.words[0].raw == plain &&
                                 l.words[l.count - 1].raw + l.words[l.count - 1].raw_len == plain + plain_len);
}

TEST_EACH(words_of_a_line, array_len(lines))
{
    cleanup(cfg_line_fini) struct cfg_line l;
    size_t len = strlen(lines[_i].line);
    cleanup(mem_free_ptr) char *exact = mem_alloc(len); /* no byte behind it: reading on would be seen */
    memcpy(exact, lines[_i].line, len);
    cfg_line_init(&l);
    cfg_line_split(&l, exact, len);
    cleanup(mem_free_ptr) char *got = join(&l);
    ck_assert_str_eq(got, lines[_i].words);
    for (size_t i = 0; i < l.count; i++)
        ck_assert(!l.words[i].plain || (strlen(l.words[i].text) == l.words[i].raw_len &&
                                        memcmp(l.words[i].text, l.words[i].raw, l.words[i].raw_len) == 0));
    ck_assert_str_eq(cfg_word(&l, l.count), "");
    check_plain(exact, len, got);
}

TEST(too_many_words_are_no_line)
{
    cleanup(cfg_line_fini) struct cfg_line l;
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < RAWCFG_MAX_WORDS; i++)
        buf_add(&text, "word ");
    cfg_line_init(&l);
    cfg_line_split(&l, text.data, text.len);
    ck_assert(!l.broken && l.count == RAWCFG_MAX_WORDS);
    buf_add(&text, "x");
    cfg_line_split(&l, text.data, text.len);
    ck_assert(l.broken && l.count == RAWCFG_MAX_WORDS);
}
