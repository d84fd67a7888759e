#include "settings/selector.h"

#include "../test.h"

#define A10 "aaaaaaaaaa"
#define A60 A10 A10 A10 A10 A10 A10
#define A63 A60 "aaa"
#define A250 A60 A60 A60 A60 A10

static const char *const taken[] = {
    "",
    " \t\r\n",
    "a",
    "a , b\n,\tc",
    "a=b",
    "a==b",
    "a!=b",
    "a=",
    "a= , b",
    "!a",
    "a,!b",
    "a in (b)",
    "a notin (b,c)",
    "a in ( b , c )",
    "a in (,)",
    "a in (b,)",
    "a in (b,,c)",
    "a in (,,,)",
    "a in (b),c",
    /* in and notin are names, too. */
    "in",
    "notin",
    "in in (in)",
    "a=in",
    "in=in",
    "a>1",
    "a > 007 , b < 9223372036854775807",
    "a<000000000000000000000000000000000000000000000000000000000000001",
    "node-role=edge,zone in (a,b),!legacy",
    "example.com/a.b-c_D=E_f-g.h",
    "0/0=0",
    "a-b.c-d/e",
    A63,
    A63 "/" A63 "=" A63,
    A250 ".aa/a",
};

TEST_EACH(what_the_api_server_takes, array_len(taken))
{
    struct selector_fault f = {.why = "nothing"};
    int rc = selector_check(taken[_i], &f);
    ck_assert_msg(rc == 0, "\"%s\": at %zu: %s", taken[_i], f.offset, f.why);
}

#define NO_KEY "the key of a label is missing here"
#define KEY_NAME \
    "the name of a key has letters, digits, '-', '_' and '.' only, and begins and ends with a letter or digit"
#define KEY_PREFIX "the prefix before the '/' of a key is a DNS name in lower-case letters, such as example.com"
#define VALUE "a value has letters, digits, '-', '_' and '.' only, and begins and ends with a letter or digit"
#define OPERATOR "an operator (=, ==, !=, in, notin, > or <) or ',' must follow a key"
#define BETWEEN "',' must separate two requirements"
#define OPEN "'(' must follow in and notin"
#define IN_SET "a value is missing here, or the ')' after the values"
#define AFTER_VALUE "',' or ')' must follow a value"
#define INTEGER "> and < must be followed by a whole number"

/* The selector with the first thing that is wrong marked by an offset and a length. */
static const struct {
    const char *text;
    size_t offset, len;
    const char *why;
} refused[] = {
    {",", 0, 1, NO_KEY},
    {"a,", 2, 0, NO_KEY},
    {"a,,b", 2, 1, NO_KEY},
    {"=b", 0, 1, NO_KEY},
    {")", 0, 1, NO_KEY},
    {"!", 1, 0, "the key of a label must follow '!'"},
    {"!,a", 1, 1, "the key of a label must follow '!'"},
    {"!a=b", 2, 1, "after !KEY only ',' may follow"},
    {"a b", 2, 1, OPERATOR},
    {"a IN (b)", 2, 2, OPERATOR},
    {"a (b)", 2, 1, OPERATOR},
    {"a===b", 3, 1, BETWEEN},
    {"a=(b)", 2, 1, BETWEEN},
    {"a=b=c", 3, 1, BETWEEN},
    {"a=b;c=d", 2, 3, VALUE},
    {"a=b!c", 3, 1, BETWEEN},
    {"a in (b))", 8, 1, BETWEEN},
    {"a in", 4, 0, OPEN},
    {"a in b", 5, 1, OPEN},
    {"a in (", 6, 0, IN_SET},
    {"a in (b", 7, 0, AFTER_VALUE},
    {"a in (b c)", 8, 1, AFTER_VALUE},
    {"a in (b,", 8, 0, IN_SET},
    {"a in (!b)", 6, 1, IN_SET},
    /* The API server refuses these two, though it takes (,) and (,,,). */
    {"a in (,,)", 8, 1, IN_SET},
    {"a in (b,,)", 9, 1, IN_SET},
    {"a in (b,c/d)", 8, 3, VALUE},
    {"a>", 2, 0, INTEGER},
    {"a>,b", 2, 1, INTEGER},
    {"a>=1", 2, 1, ">= and <= are not supported, only > and <"},
    {"a>b", 2, 1, "> and < compare with a whole number, without a sign"},
    {"a>-1", 2, 2, "> and < compare with a whole number, without a sign"},
    {"a>1 2", 4, 1, BETWEEN},
    {"a>9223372036854775808", 2, 19, "> and < compare with a whole number of at most 9223372036854775807"},
    {"a>0000000000000000000000000000000000000000000000000000000000000001", 2, 64, "a value has at most 63 characters"},
    {"-a", 0, 2, KEY_NAME},
    {".a=b", 0, 2, KEY_NAME},
    {"zone: a", 0, 5, KEY_NAME},
    {"\xc3\xa4", 0, 2, KEY_NAME},
    {"a/", 0, 2, KEY_NAME},
    {"a/b/c", 0, 5, KEY_NAME},
    {"/a", 0, 2, KEY_PREFIX},
    {"A/b", 0, 3, KEY_PREFIX},
    {"a_b/c", 0, 5, KEY_PREFIX},
    {"a..b/c", 0, 6, KEY_PREFIX},
    {"a./c", 0, 4, KEY_PREFIX},
    {A250 ".aaa/a", 0, 256, "the prefix before the '/' of a key has at most 253 characters"},
    {A63 "a", 0, 64, "the name of a key has at most 63 characters"},
    {"a/" A63 "a", 0, 66, "the name of a key has at most 63 characters"},
    {"a=" A63 "a", 2, 64, "a value has at most 63 characters"},
    {"a in (" A63 "a)", 6, 64, "a value has at most 63 characters"},
    {"a=-b", 2, 2, VALUE},
    {"a=b.", 2, 2, VALUE},
    {"a=b/c", 2, 3, VALUE},
};

TEST_EACH(what_it_refuses_and_where, array_len(refused))
{
    struct selector_fault f = {.why = "nothing"};
    const char *text = refused[_i].text;
    ck_assert_msg(selector_check(text, &f) == -1, "taken: \"%s\"", text);
    ck_assert_msg(f.offset == refused[_i].offset && f.len == refused[_i].len && strcmp(f.why, refused[_i].why) == 0,
                  "\"%s\": {%zu, %zu, \"%s\"}", text, f.offset, f.len, f.why);
}

/* Each prefix of a selector that is taken is either taken too, or refused at a place inside it. */
TEST_EACH(cut_anywhere, array_len(taken))
{
    size_t len = strlen(taken[_i]);
    for (size_t i = 0; i <= len; i++) {
        struct selector_fault f = {0};
        char *text = strndup(taken[_i], i);
        if (selector_check(text, &f) != 0)
            ck_assert_msg(f.offset + f.len <= i && f.why != NULL, "\"%s\": {%zu, %zu}", text, f.offset, f.len);
        free(text);
    }
}
