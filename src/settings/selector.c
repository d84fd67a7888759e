#include "settings/selector.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "settings/names.h"

#define NAME_MAX_CHARACTERS 63 /* RFC 1123's labels, and what Kubernetes made of them */
#define PREFIX_MAX_CHARACTERS 253
#define WHITE " \t\r\n"
#define SYMBOLS "=!(),<>"

enum kind { END, WORD, EQUAL, NOT_EQUAL, SYMBOL };

/* The text, and the current word or symbol of it. */
struct scan {
    const char *text;
    const char *start;
    size_t len;
    enum kind kind;
    struct selector_fault *fault;
};

static void selector_next(struct scan *s)
{
    s->start += s->len;
    s->start += strspn(s->start, WHITE);
    const char *p = s->start;
    s->kind = SYMBOL;
    s->len = 1;
    if (*p == '\0') {
        s->kind = END;
        s->len = 0;
    } else if (strchr(SYMBOLS, *p) == NULL) {
        s->kind = WORD;
        s->len = strcspn(p, WHITE SYMBOLS);
    } else if (*p == '=' || (*p == '!' && p[1] == '=')) {
        s->kind = *p == '=' ? EQUAL : NOT_EQUAL;
        s->len = p[1] == '=' ? 2 : 1;
    }
}

static bool at_symbol(const struct scan *s, char symbol)
{
    return s->kind == SYMBOL && *s->start == symbol;
}

static bool at_word(const struct scan *s, const char *word)
{
    return s->kind == WORD && s->len == strlen(word) && strncmp(s->start, word, s->len) == 0;
}

static int selector_refuse(const struct scan *s, const char *why)
{
    *s->fault = (struct selector_fault){.offset = (size_t)(s->start - s->text), .len = s->len, .why = why};
    return -1;
}

/* Made of letters, digits and those in `between`, beginning and ending with one of `ends`. */
static bool is_name(const char *s, size_t len, const char *ends, const char *between)
{
    if (len == 0 || strchr(ends, s[0]) == NULL || strchr(ends, s[len - 1]) == NULL)
        return false;
    for (size_t i = 0; i < len; i++)
        if (strchr(ends, s[i]) == NULL && strchr(between, s[i]) == NULL)
            return false;
    return true;
}

/* Labels of the subdomain may be longer than DNS has them: so does the API server. */
static bool is_subdomain(const char *s, size_t len)
{
    for (const char *end = s + len;; s++) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        const char *stop = dot != NULL ? dot : end;
        if (!is_name(s, (size_t)(stop - s), NAME_LOWER NAME_DIGITS, "-"))
            return false;
        s = stop;
        if (dot == NULL)
            return true;
    }
}

static int check_key(const struct scan *s)
{
    const char *name = s->start;
    const char *slash = memchr(s->start, '/', s->len);
    if (slash != NULL) {
        size_t len = (size_t)(slash - s->start);
        if (len > PREFIX_MAX_CHARACTERS)
            return selector_refuse(s, "the prefix before the '/' of a key has at most 253 characters");
        if (!is_subdomain(s->start, len))
            return selector_refuse(
                s, "the prefix before the '/' of a key is a DNS name in lower-case letters, such as example.com");
        name = slash + 1;
    }
    size_t len = s->len - (size_t)(name - s->start);
    if (len > NAME_MAX_CHARACTERS)
        return selector_refuse(s, "the name of a key has at most 63 characters");
    if (!is_name(name, len, NAME_ALNUM, "-_."))
        return selector_refuse(
            s, "the name of a key has letters, digits, '-', '_' and '.' only, and begins and ends with a "
               "letter or digit");
    return 0;
}

static int check_value(const struct scan *s)
{
    if (s->len > NAME_MAX_CHARACTERS)
        return selector_refuse(s, "a value has at most 63 characters");
    if (!is_name(s->start, s->len, NAME_ALNUM, "-_."))
        return selector_refuse(
            s, "a value has letters, digits, '-', '_' and '.' only, and begins and ends with a letter or "
               "digit");
    return 0;
}

static int check_integer(const struct scan *s)
{
    uint64_t number = 0;
    if (s->kind != WORD)
        return selector_refuse(s, "> and < must be followed by a whole number");
    /* The API server takes a label's value of at most 63 characters that is an int64: leading zeros count for these. */
    if (s->len > NAME_MAX_CHARACTERS)
        return selector_refuse(s, "a value has at most 63 characters");
    for (size_t i = 0; i < s->len; i++) {
        if (strchr(NAME_DIGITS, s->start[i]) == NULL)
            return selector_refuse(s, "> and < compare with a whole number, without a sign");
        uint64_t digit = (uint64_t)(s->start[i] - '0');
        if (number > (INT64_MAX - digit) / 10)
            return selector_refuse(s, "> and < compare with a whole number of at most 9223372036854775807");
        number = number * 10 + digit;
    }
    return 0;
}

/* What stands in the parentheses: values, any of which may be left out. */
static int parse_values(struct scan *s)
{
    for (;;) {
        if (s->kind == WORD) {
            if (check_value(s) != 0)
                return -1;
            selector_next(s);
            if (at_symbol(s, ')'))
                return 0;
            if (!at_symbol(s, ','))
                return selector_refuse(s, "',' or ')' must follow a value");
        } else if (at_symbol(s, ',')) {
            selector_next(s);
            if (at_symbol(s, ')'))
                return 0;
            /* The API server takes two together, and then wants a value or one more. */
            if (at_symbol(s, ','))
                selector_next(s);
        } else {
            return selector_refuse(s, "a value is missing here, or the ')' after the values");
        }
    }
}

static int parse_set(struct scan *s)
{
    selector_next(s);
    if (!at_symbol(s, '('))
        return selector_refuse(s, "'(' must follow in and notin");
    selector_next(s);
    if (!at_symbol(s, ')') && parse_values(s) != 0)
        return -1;
    selector_next(s);
    return 0;
}

/* From behind the key: nothing, or an operator with what it compares with. */
static int parse_restriction(struct scan *s)
{
    if (s->kind == END || at_symbol(s, ','))
        return 0;
    if (at_word(s, "in") || at_word(s, "notin"))
        return parse_set(s);
    if (at_symbol(s, '>') || at_symbol(s, '<')) {
        selector_next(s);
        if (s->kind == EQUAL)
            return selector_refuse(s, ">= and <= are not supported, only > and <");
        if (check_integer(s) != 0)
            return -1;
        selector_next(s);
        return 0;
    }
    if (s->kind != EQUAL && s->kind != NOT_EQUAL)
        return selector_refuse(s, "an operator (=, ==, !=, in, notin, > or <) or ',' must follow a key");
    selector_next(s);
    if (s->kind == WORD) {
        if (check_value(s) != 0)
            return -1;
        selector_next(s);
    }
    return 0;
}

static int parse_requirement(struct scan *s)
{
    bool absent = at_symbol(s, '!');
    if (absent)
        selector_next(s);
    if (s->kind != WORD)
        return selector_refuse(s, absent ? "the key of a label must follow '!'" : "the key of a label is missing here");
    if (check_key(s) != 0)
        return -1;
    selector_next(s);
    if (!absent && parse_restriction(s) != 0)
        return -1;
    if (s->kind != END && !at_symbol(s, ','))
        return selector_refuse(s, absent ? "after !KEY only ',' may follow" : "',' must separate two requirements");
    return 0;
}

int selector_check(const char *text, struct selector_fault *ret_fault)
{
    struct scan s = {.text = text, .start = text, .fault = ret_fault};
    selector_next(&s);
    if (s.kind == END)
        return 0;
    for (;;) {
        if (parse_requirement(&s) != 0)
            return -1;
        if (s.kind == END)
            return 0;
        selector_next(&s);
    }
}
