#include "haproxy/cfg/words.h"

#include <ctype.h>
#include <string.h>

void cfg_line_init(struct cfg_line *l)
{
    l->count = 0;
    l->broken = false;
    buf_init_secret(&l->text, 0); /* the whole of haproxy.cfg passes through it */
}

void cfg_line_fini(struct cfg_line *l)
{
    buf_fini(&l->text);
    l->count = 0;
}

const char *cfg_word(const struct cfg_line *l, size_t i)
{
    return i < l->count ? l->words[i].text : "";
}

const char *cfg_word_meaning(const struct cfg_word *w, size_t *ret_len)
{
    bool as_it_is = !w->plain && memchr(w->raw, '$', w->raw_len) != NULL;
    *ret_len = as_it_is ? w->raw_len : strlen(w->text);
    return as_it_is ? w->raw : w->text;
}

bool cfg_is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static bool cfg_words_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *cfg_line_plain(const char *line, size_t len, size_t *ret_len)
{
    static const char special[] = "\"'\\\r";
    const char *comment = memchr(line, '#', len), *end = comment != NULL ? comment : line + len;
    len = (size_t)(end - line);
    for (size_t i = 0; i < sizeof(special); i++) /* its NUL, too */
        if (memchr(line, special[i], len) != NULL)
            return NULL;
    while (line < end && cfg_words_is_blank(*line))
        line++;
    while (end > line && cfg_words_is_blank(end[-1]))
        end--;
    *ret_len = (size_t)(end - line);
    return line;
}

struct scan {
    const char *at, *end;
    char *out;  /* has room for all that the line can become */
    bool plain; /* neither a quote nor a backslash so far */
};

/* The two digits at s->at; 0 where there are none (and for 00, which would end the word). */
static int hex_byte(const struct scan *s)
{
    if (s->end - s->at < 2 || hex_digit(s->at[0]) < 0 || hex_digit(s->at[1]) < 0)
        return 0;
    return hex_digit(s->at[0]) * 16 + hex_digit(s->at[1]);
}

/* Behind a backslash outside of ''. What HAProxy does not know as an escape stays as it is. */
static void cfg_words_escape(struct scan *s, bool in_quotes)
{
    static const char names[] = "nrt", stand_for[] = "\n\r\t";
    char c = s->at < s->end ? *s->at++ : '\0';
    const char *control = c != '\0' ? strchr(names, c) : NULL;
    if (control != NULL) {
        *s->out++ = stand_for[control - names];
    } else if (c != '\0' && strchr(in_quotes ? "\\\"' #$" : "\\\"' #", c) != NULL) {
        *s->out++ = c;
    } else if (c == 'x' && hex_byte(s) > 0) {
        *s->out++ = (char)hex_byte(s);
        s->at += 2;
    } else {
        *s->out++ = '\\';
        if (c != '\0')
            *s->out++ = c;
    }
}

static void put_ordinary(struct scan *s)
{
    const char *begin = s->at;
    while (s->at < s->end && (unsigned char)(*s->at) > '#' && (*s->at) != '\'' && (*s->at) != '\\')
        s->at++;
    memcpy(s->out, begin, (size_t)(s->at - begin));
    s->out += s->at - begin;
}

/* One word from s->at on; false where a quote does not end. */
static bool scan_word(struct scan *s)
{
    char quote = '\0';
    s->plain = true;
    for (put_ordinary(s); s->at < s->end; put_ordinary(s)) {
        char c = *s->at;
        if (c == '\r') /* the line's end, wherever it stands but among blanks */
            s->end = s->at;
        if (s->at == s->end || (quote == '\0' && (cfg_words_is_blank(c) || c == '#')))
            break;
        s->at++;
        s->plain = s->plain && c != '"' && c != '\'' && c != '\\';
        if (quote != '\0' && c == quote)
            quote = '\0';
        else if (quote == '\0' && (c == '"' || c == '\''))
            quote = c;
        else if (c == '\\' && quote != '\'')
            cfg_words_escape(s, quote == '"');
        else
            *s->out++ = c;
    }
    return quote == '\0';
}

void cfg_line_split(struct cfg_line *l, const char *line, size_t len)
{
    l->count = 0;
    l->broken = false;
    buf_clear(&l->text);
    buf_reserve(&l->text, 2 * len); /* a word is no longer than it stands there, and ends with a NUL */
    struct scan s = {.at = line, .end = line + len, .out = l->text.data};
    for (;;) {
        while (s.at < s.end && cfg_words_is_blank(*s.at))
            s.at++;
        if (s.at == s.end || *s.at == '#')
            break;
        if (l->count == RAWCFG_MAX_WORDS) {
            l->broken = true;
            break;
        }
        struct cfg_word *w = &l->words[l->count];
        w->raw = s.at;
        w->text = s.out;
        if (!scan_word(&s))
            l->broken = true;
        w->raw_len = (size_t)(s.at - w->raw);
        w->plain = s.plain;
        *s.out++ = '\0';
        l->count++;
    }
}

bool cfg_word_has_variable(const struct cfg_word *w)
{
    for (size_t i = 0; !w->plain && i + 1 < w->raw_len; i++)
        if (w->raw[i] == '$' && (isalnum((unsigned char)w->raw[i + 1]) || strchr("{_.", w->raw[i + 1]) != NULL))
            return true;
    return false;
}

bool cfg_line_has_variable(const struct cfg_line *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (cfg_word_has_variable(&l->words[i]))
            return true;
    return false;
}

bool cfg_fits_command(const char *word)
{
    for (const char *c = word; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || strchr(";\\\"'<#", *c) != NULL)
            return false;
    return *word != '\0';
}
