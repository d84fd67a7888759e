#include "settings/types.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/names.h"

#define WHITE " \t\r\n"

static int flag_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    (void)note;
    return str_parse_bool(value, &SETTING_MEMBER(bool, row, s));
}

static void flag_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    buf_add(out, SETTING_MEMBER(const bool, row, s) ? "true" : "false");
}

const struct setting_type type_flag = {flag_parse, flag_print, NULL};

static int number_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    uint64_t number;
    if (name_made_of(value, NAME_DIGITS "%") && str_has_suffix(value, "%"))
        buf_add(note, "leave out the '%'");
    bool is_number = str_parse_uint(value, row->max, &number) == 0;
    if (is_number && number == 0 && row->min > 0 && row->unset != NULL)
        buf_printf(note, "leave it out for %s", row->unset);
    if (!is_number || number < row->min)
        return -1;
    SETTING_MEMBER(unsigned, row, s) = (unsigned)number;
    return 0;
}

static void number_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    unsigned number = SETTING_MEMBER(const unsigned, row, s);
    if (number >= row->min)
        buf_printf(out, "%u", number);
}

const struct setting_type type_number = {number_parse, number_print, NULL};

static int duration_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    uint64_t ms;
    if (name_is_short_number(value) && value[strspn(value, "0")] != '\0')
        buf_printf(note, "the unit is missing: %ss?", value);
    bool is_duration = str_parse_duration_ms(value, row->max, &ms) == 0;
    if (is_duration && ms == 0 && row->min > 0)
        buf_add(note, "it cannot be switched off");
    if (!is_duration || ms < row->min)
        return -1;
    SETTING_MEMBER(uint64_t, row, s) = ms;
    return 0;
}

static void duration_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    unsigned long long ms = SETTING_MEMBER(const uint64_t, row, s);
    if (ms % 1000 != 0)
        buf_printf(out, "%llums", ms);
    else if (ms == 0 || ms % 60000 != 0)
        buf_printf(out, "%llus", ms / 1000);
    else
        buf_printf(out, "%llum", ms / 60000);
}

const struct setting_type type_duration = {duration_parse, duration_print, NULL};

int words_find(const char *const *words, const char *value, struct buf *note)
{
    for (int i = 0; words[i] != NULL; i++)
        if (str_eq(value, words[i]))
            return i;
    for (int i = 0; words[i] != NULL; i++)
        if (strcasecmp(value, words[i]) == 0 || (strlen(value) > 3 && str_distance(value, words[i], 1) <= 1)) {
            buf_printf(note, "did you mean %s?", words[i]);
            break;
        }
    return -1;
}

static int words_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    /* Without the white space on either side of each ','. */
    cleanup(mem_free_ptr) char *tight = mem_strdup(value);
    char *to = tight;
    for (const char *p = value; *p != '\0';) {
        size_t space = strspn(p, WHITE);
        if (space > 0 && (p[space] == ',' || (to > tight && to[-1] == ',')))
            p += space;
        else
            *to++ = *p++;
    }
    *to = '\0';
    int i = words_find(row->words, tight, note);
    if (i < 0)
        return -1;
    SETTING_MEMBER(unsigned, row, s) = (unsigned)i;
    return 0;
}

static void words_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    buf_add(out, row->words[SETTING_MEMBER(const unsigned, row, s)]);
}

const struct setting_type type_words = {words_parse, words_print, NULL};

static int text_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    (void)note;
    SETTING_MEMBER(char *, row, s) = mem_strdup(value);
    return 0;
}

void text_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const char *text = SETTING_MEMBER(char *const, row, s);
    buf_add(out, text != NULL ? text : "");
}

void text_fini(const struct setting *row, struct settings *s)
{
    free(SETTING_MEMBER(char *, row, s));
}

const struct setting_type type_text = {text_parse, text_print, text_fini};

static int word_or_keep_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    return str_eq(value, "keep") ? 0 : text_parse(row, value, s, note);
}

static void word_or_keep_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const char *text = SETTING_MEMBER(char *const, row, s);
    buf_add(out, text != NULL ? text : "keep");
}

const struct setting_type type_word_or_keep = {word_or_keep_parse, word_or_keep_print, text_fini};

static void secret_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const struct secret *secret = &SETTING_MEMBER(const struct secret, row, s);
    if (secret_is_set(secret))
        buf_add(out, row->masked ? "***" : secret->value != NULL ? secret->value : "");
}

static void secret_setting_fini(const struct setting *row, struct settings *s)
{
    secret_fini(&SETTING_MEMBER(struct secret, row, s));
}

const struct setting_type type_secret = {NULL, secret_print, secret_setting_fini};
