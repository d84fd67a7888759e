#include "settings/secrets/credentials_file.h"

#include "../test.h"

struct parsed {
    char *text;
    struct credentials_file file;
};

static void parsed_fini(struct parsed *p)
{
    credentials_file_fini(&p->file);
    free(p->text);
}

static struct parsed parse_bytes(const char *bytes, size_t len)
{
    struct parsed p = {.text = mem_alloc(len + 1)};
    memcpy(p.text, bytes, len);
    p.text[len] = 'x'; /* it is the parser that ends it */
    credentials_file_parse(p.text, len, &p.file);
    return p;
}

static struct parsed parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

/* The line and what is in it; user and password, or the token. */
static const struct {
    const char *line, *url, *user, *password, *token;
    bool blank_around;
} good[] = {
    {"http://a:1 u:p", "http://a:1", "u", "p", NULL, false},
    {"HTTP://a:01/ u:p", "http://a:1", "u", "p", NULL, false},
    {"https://[2001:db8::1]:5/dp// u:p", "https://[2001:db8::1]:5/dp", "u", "p", NULL, false},
    {"/run/x u:p", "unix:/run/x", "u", "p", NULL, false},
    {" \t http://a:1 \t  u:p", "http://a:1", "u", "p", NULL, false},
    {"http://a:1 u:p:q:", "http://a:1", "u", "p:q:", NULL, false},
    {"http://a:1 u: p", "http://a:1", "u", " p", NULL, true},
    {"http://a:1 u: ", "http://a:1", "u", " ", NULL, true},
    {"http://a:1 u x:p", "http://a:1", "u x", "p", NULL, false},
    {"http://a:1 \"u\":'p'", "http://a:1", "\"u\"", "'p'", NULL, false},
    {"http://a:1 http://p", "http://a:1", "http", "//p", NULL, false},
    {"http://a:1 Bearers x:p", "http://a:1", "Bearers x", "p", NULL, false},
    {"http://a:1 Bearer t", "http://a:1", NULL, NULL, "t", false},
    {"http://a:1 bearer\t t.t-t=: \t", "http://a:1", NULL, NULL, "t.t-t=:", false},
};

TEST_EACH(a_good_line_is_taken, array_len(good))
{
    static const char *const ends[] = {"", "\n", "\r\n", "\n\n# x\n"};
    for (size_t i = 0; i < array_len(ends); i++) {
        cleanup(mem_free_ptr) char *text = mem_printf("%s%s", good[_i].line, ends[i]);
        cleanup(parsed_fini) struct parsed p = parse(text);
        ck_assert_uint_eq(p.file.count, 1);
        const struct credentials_line *l = &p.file.lines[0];
        ck_assert_msg(l->why == NULL, "%s: %s", good[_i].line, l->why);
        ck_assert_uint_eq(l->number, 1);
        ck_assert_str_eq(l->url, good[_i].url);
        ck_assert_pstr_eq(l->user, good[_i].user);
        ck_assert_pstr_eq(l->password, good[_i].password);
        ck_assert_pstr_eq(l->token, good[_i].token);
        ck_assert_int_eq(l->blank_around, good[_i].blank_around);
        ck_assert_ptr_null(credentials_file_first_bad(&p.file));
        ck_assert_ptr_eq(credentials_file_find(&p.file, good[_i].url), l);
    }
}

static const struct {
    const char *line, *why;
} bad[] = {
    {"hunter2", "its first word is not the URL of a Data Plane API: it does not begin with a scheme such as http://"},
    {"Bearer hunter2",
     "its first word is not the URL of a Data Plane API: it does not begin with a scheme such as http://"},
    {"http://hunter2 u:p",
     "its first word is not the URL of a Data Plane API: its port is missing (a URL without one means :80 with http, "
     ":443 with https)"},
    {"http://admin:hunter2@a:1",
     "its first word is not the URL of a Data Plane API: it must not contain a user name or password"},
    {"http://a:1/v3 u:hunter2",
     "its first word is not the URL of a Data Plane API: leave out /v3 and what follows: it is added"},
    {"http://a:1", "there is nothing after the URL"},
    {"http://a:1 hunter2", "there is no ':' between user name and password"},
    {"http://a:1 Basic aHVudGVyMg==", "write user name and password in plain text, not as Basic and base64"},
    {"http://a:1 :hunter2", "its user name is empty"},
    {"http://a:1 hunter2:", "its password is empty"},
    {"http://a:1 u :hunter2", "there is white space in front of the ':'"},
    {"http://a:1 http://b:1 u:hunter2", "there are two URLs: write a line for each"},
    {"http://a:1 Bearer", "there is no token after the word Bearer"},
    {"http://a:1 Bearer hunter2 x", "its token: it holds a space or is not ASCII"},
    {"http://a:1 Bearer Bearer hunter2", "its token: leave out the word Bearer"},
    {"http://a:1 Bearer hunter2\x01", "its token: it holds a control character, such as a line break"},
    {"http://a:1 u:hunter2\tx", "its password: it holds a control character, such as a line break"},
    {"http://a:1 u\x7f:hunter2", "its user name: it holds a control character, such as a line break"},
    {"\xef\xbb\xbfhttp://a:1 u:hunter2", "its first word is not the URL of a Data Plane API: it holds a space, a "
                                         "control character or one that is not ASCII"},
};

TEST_EACH(a_bad_line_is_reported_without_showing_it, array_len(bad))
{
    cleanup(mem_free_ptr) char *text = mem_printf("# first\n\n%s\nhttp://b:1 u:p", bad[_i].line);
    cleanup(parsed_fini) struct parsed p = parse(text);
    ck_assert_uint_eq(p.file.count, 2);
    const struct credentials_line *l = &p.file.lines[0];
    ck_assert_pstr_eq(l->why, bad[_i].why);
    ck_assert_uint_eq(l->number, 3);
    ck_assert(l->url == NULL && l->user == NULL && l->password == NULL && l->token == NULL && !l->blank_around);
    ck_assert_ptr_eq(credentials_file_first_bad(&p.file), l);
    ck_assert_ptr_null(credentials_file_find(&p.file, "http://a:1"));
    ck_assert_ptr_nonnull(credentials_file_find(&p.file, "http://b:1"));
}

TEST(lines_are_counted_as_an_editor_does)
{
    cleanup(parsed_fini) struct parsed p =
        parse("\n  # a\r\n\t\n#\nhttp://a:1 u:p\n\r\n http://b:1 Bearer t\r\nhttp://c:1 x:y\n\n");
    static const size_t numbers[] = {5, 7, 8};
    ck_assert_uint_eq(p.file.count, array_len(numbers));
    for (size_t i = 0; i < array_len(numbers); i++)
        ck_assert_uint_eq(p.file.lines[i].number, numbers[i]);
    ck_assert_str_eq(p.file.lines[0].password, "p");
    ck_assert_str_eq(p.file.lines[1].token, "t");
    ck_assert_str_eq(p.file.lines[2].password, "y");
    ck_assert_ptr_null(credentials_file_first_bad(&p.file));
}

TEST(files_without_lines)
{
    static const char *const texts[] = {"", "\n", "\r\n", "#", "  \n\t\n", "# http://a:1 u:p\n"};
    for (size_t i = 0; i < array_len(texts); i++) {
        cleanup(parsed_fini) struct parsed p = parse(texts[i]);
        ck_assert_uint_eq(p.file.count, 0);
        ck_assert_ptr_null(credentials_file_first_bad(&p.file));
    }
}

TEST(a_nul_does_not_end_a_line)
{
    static const char bytes[] = "http://a:1 u:p\0hunter2\n\0\nhttp://b:1 u:p\n";
    cleanup(parsed_fini) struct parsed p = parse_bytes(bytes, sizeof(bytes) - 1);
    ck_assert_uint_eq(p.file.count, 3);
    ck_assert_str_eq(p.file.lines[0].why, "it holds a control character");
    ck_assert_str_eq(p.file.lines[1].why, "it holds a control character");
    ck_assert_ptr_null(p.file.lines[2].why);
    ck_assert_uint_eq(p.file.lines[2].number, 3);
}

TEST(a_url_has_one_line)
{
    cleanup(parsed_fini) struct parsed p =
        parse("http://a:1 u:p\n#\nHTTP://A:1/ u:hunter2\nunix:/x u:p\n/x Bearer hunter2\nhttp://a:1/x u:p");
    ck_assert_uint_eq(p.file.count, 5);
    ck_assert_str_eq(p.file.lines[1].why, "line 1 has the same URL");
    ck_assert_str_eq(p.file.lines[3].why, "line 4 has the same URL");
    ck_assert_ptr_null(p.file.lines[4].why);
    ck_assert_str_eq(credentials_file_find(&p.file, "http://a:1")->password, "p");
}

TEST(too_many_lines)
{
    struct buf text = {0};
    for (int i = 1; i <= CREDENTIALS_LINES_MAX; i++)
        buf_printf(&text, "http://a:%d u:p\n", i);
    cleanup(parsed_fini) struct parsed p = parse(buf_str(&text));
    ck_assert_uint_eq(p.file.count, CREDENTIALS_LINES_MAX);
    ck_assert_ptr_null(credentials_file_first_bad(&p.file));
    buf_add(&text, "# one more\nhttp://b:1 u:p\nhttp://b:2 u:p\n");
    cleanup(parsed_fini) struct parsed q = parse(buf_str(&text));
    ck_assert_uint_eq(q.file.count, CREDENTIALS_LINES_MAX + 1);
    ck_assert_str_eq(credentials_file_first_bad(&q.file)->why, "there are more than 256 lines");
    ck_assert_uint_eq(credentials_file_first_bad(&q.file)->number, CREDENTIALS_LINES_MAX + 2);
    buf_fini(&text);
}
