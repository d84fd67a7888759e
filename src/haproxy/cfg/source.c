#include "haproxy/cfg/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/cfg/words.h"

#define NAME_SHOWN 64

static size_t count_defaults(const struct cfg_file *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->section_count; i++)
        count += str_eq(f->sections[i].kind, "defaults");
    return count;
}

/* ---- what cannot be sent ---- */

/* No text, or none that a Data Plane API and HAProxy read alike. */
static int check_bytes(const struct cfg_file *f, bool as_it_is, struct error *err)
{
    struct cfg_file_line line = {0};
    if (f->len == 0)
        return 0;
    if (f->len >= 3 && memcmp(f->text, "\xef\xbb\xbf", 3) == 0)
        return error_set(err, ERROR_INVALID,
                         "line 1: a byte order mark, which HAProxy takes for a part of its first word: save it as "
                         "UTF-8 without one");
    if (text_utf8_len(f->text, f->len) == f->len && memchr(f->text, '\0', f->len) == NULL &&
        memchr(f->text, '\r', f->len) == NULL)
        return 0;
    while (cfg_file_next(f, &line)) {
        size_t good = text_utf8_len(line.text, line.len);
        if (memchr(line.text, '\0', line.len) != NULL)
            return error_set(err, ERROR_INVALID, "line %u: a NUL character, so this is no text: save it as UTF-8",
                             line.number);
        if (good < line.len)
            return error_set(err, ERROR_INVALID, "line %u: not UTF-8 (byte 0x%02x in column %zu): save it as UTF-8",
                             line.number, (unsigned char)line.text[good], good + 1);
        if (!as_it_is && memchr(line.text, '\r', line.len) != NULL)
            return error_set(err, ERROR_INVALID,
                             "line %u: a carriage return within the line, where HAProxy takes the line to end: remove "
                             "it, or make two lines of it",
                             line.number);
    }
    return 0;
}

static int check_sections(const struct cfg_file *f, struct error *err)
{
    /* What HAProxy applies to the lines behind it alone. */
    static const char *const ones[] = {"setenv",   "presetenv",    "unsetenv",  "resetenv",  "crt-base", "ca-base",
                                       "key-base", "default-path", "unix-bind", "localpeer", "log"};
    static const char *const joined[] = {"global", "traces"}; /* by the API, too */
    const struct cfg_file_line *lost = f->lines;              /* but for directives (.notice and the like) */
    while (lost < f->sections[0].line && cfg_file_is_directive(lost))
        lost++;
    if (lost < f->sections[0].line)
        return error_set(err, ERROR_INVALID,
                         "line %u: it stands before the first section (line %u): begin the file with `global` or "
                         "another section, and see how that is spelt",
                         lost->number, f->sections[0].line->number);
    cleanup(mem_free_ptr) const struct cfg_file_section **list = cfg_file_ordered_sections(f);
    for (size_t i = 1; i < f->section_count; i++)
        if (cfg_file_section_order(list[i - 1], list[i]) == 0 &&
            !cfg_is_among(list[i]->kind, joined, array_len(joined)))
            return error_set(err, ERROR_INVALID,
                             "line %u: a second section \"%s %.*s\" (line %u begins one), of which the Data Plane API "
                             "would keep the last alone: make one of them, or give it another name",
                             list[i]->line->number, list[i]->kind, NAME_SHOWN, cfg_file_name(list[i]),
                             list[i - 1]->line->number);
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    const struct cfg_file_section *other = NULL;
    for (size_t i = 0; i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (!str_eq(s->kind, "global")) {
            other = other != NULL ? other : s;
            continue;
        }
        for (size_t k = 0; other != NULL && k < s->line_count; k++) {
            cfg_line_split(&words, s->lines[k].text, s->lines[k].len);
            const char *word = cfg_word(&words, 0);
            bool for_what_follows = cfg_is_among(word, ones, array_len(ones)) || str_has_prefix(word, "ssl-default-");
            if (for_what_follows)
                return error_set(err, ERROR_INVALID,
                                 "line %u: %s in a global section behind another section (line %u), which the Data "
                                 "Plane API would write before it: move it to where that does no harm, the beginning",
                                 s->lines[k].number, cfg_word(&words, 0), other->line->number);
        }
    }
    return 0;
}

/* Behind the keyword or the name that cfg_source_print extends stands nothing, or `from`. */
static int check_headers(const struct cfg_file *f, struct error *err)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (size_t i = 0; i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (s->given_name == NULL && (s->from[0] != '\0' || s->defaults == NULL))
            continue;
        cfg_line_split(&words, s->line->text, s->line->len);
        size_t plain = s->given_name != NULL ? 1 : 2;
        bool from = s->given_name != NULL && words.count == 3 && s->from[0] != '\0';
        if (words.count == plain && plain > 1 && cfg_word(&words, 1)[0] == '\0')
            return error_set(err, ERROR_INVALID, "line %u: the name of this %s section is empty: give it one",
                             s->line->number, s->kind);
        if (words.count > plain && !from)
            return error_set(err, ERROR_INVALID,
                             "line %u: more words than HAProxy takes at the beginning of a %s section: a name, and "
                             "`from` with that of a defaults section",
                             s->line->number, s->kind);
    }
    return 0;
}

/* What the edits of cfg_source_print cannot keep as it is. */
static int check_defaults(const struct cfg_file *f, struct error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-";
    size_t count = count_defaults(f);
    for (size_t i = 0; i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (s->from[0] != '\0')
            continue;
        if (count > 0 && cfg_file_is_proxy(s->kind) && s->defaults == NULL)
            return error_set(err, ERROR_INVALID,
                             "line %u: %s %.*s stands before the first defaults section and inherits from none, but "
                             "would from that: move it behind, or begin the file with an empty `defaults NAME` that it "
                             "is `from`",
                             s->line->number, s->kind, NAME_SHOWN, s->name);
        if (count > 1 && s->defaults != NULL && s->defaults->name[strspn(s->defaults->name, allowed)] != '\0')
            return error_set(err, ERROR_INVALID,
                             "line %u: the name of a defaults section, among several, is letters, digits and . : _ - "
                             "alone, so that line %u can be `from` it: give it another",
                             s->defaults->line->number, s->line->number);
    }
    return count > 1 ? check_headers(f, err) : 0;
}

static int check_lines(const struct cfg_file *f, struct error *err)
{
    cleanup(mem_free_ptr) char *problem = cfg_file_problem(f);
    if (problem != NULL)
        return error_set(err, ERROR_INVALID, "%s", problem);
    if (f->wordy != 0)
        return error_set(err, ERROR_INVALID,
                         "line %u: more than %d words, which HAProxy does not take: make several lines of it, or move "
                         "its list into a file",
                         f->wordy, CFGFILE_WORDS_MAX);
    if (f->broken != 0)
        return error_set(err, ERROR_INVALID, "line %u: a quote that does not end: end it, or write \\\" or \\'",
                         f->broken);
    if (f->too_many)
        return error_set(err, ERROR_INVALID, "too many lines: more than a million that are no comments");
    return 0;
}

static int source_init(struct cfg_file *f, const char *text, size_t len, bool as_it_is, struct error *err)
{
    int status = -1;
    cfg_file_parse(f, text, len);
    if (check_bytes(f, as_it_is, err) != 0 || (!as_it_is && check_lines(f, err) != 0))
        status = -1;
    else if (f->len == 0)
        status = error_set(err, ERROR_INVALID, "it is empty: a haproxy.cfg has at least one section");
    else if (f->section_count == 0)
        status = error_set(err, ERROR_INVALID,
                           "there is no section (global, defaults, frontend, ...) in it: is this a haproxy.cfg?");
    else if (as_it_is || (check_sections(f, err) == 0 && check_defaults(f, err) == 0))
        return 0;
    cfg_file_fini(f);
    return status;
}

int cfg_source_init(struct cfg_file *f, const char *text, size_t len, struct error *err)
{
    return source_init(f, text, len, false, err);
}

int cfg_source_init_as_it_is(struct cfg_file *f, const char *text, size_t len, struct error *err)
{
    return source_init(f, text, len, true, err);
}

/* ---- what is sent ---- */

/* The header with `more` behind its word `at`. */
static void extend_header(struct cfg_edits *edits, const struct cfg_file_section *s, struct cfg_line *words, size_t at,
                          const char *more, const char *name)
{
    cleanup(buf_fini) struct buf text = {0};
    cfg_line_split(words, s->line->text, s->line->len);
    const struct cfg_word *w = &words->words[at];
    /* No name, or one with a backslash at its end: HAProxy refuses the line, as it stands. */
    if (at >= words->count || w->raw[w->raw_len - 1] == '\\')
        return;
    size_t before = (size_t)(w->raw - s->line->text) + w->raw_len;
    buf_addn(&text, s->line->text, before);
    buf_printf(&text, "%s%s", more, name);
    buf_addn(&text, s->line->text + before, s->line->len - before);
    cfg_edits_add(edits, s->line->number, CFG_EDIT_REPLACE, text.data, text.len);
}

bool cfg_source_is_as_sent(const struct cfg_file *f)
{
    return count_defaults(f) <= 1 && f->len > 0 && f->text[f->len - 1] == '\n' && memchr(f->text, '\r', f->len) == NULL;
}

void cfg_source_print(const struct cfg_file *f, struct buf *out)
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cleanup(cfg_line_fini) struct cfg_line words;
    bool several = count_defaults(f) > 1;
    cfg_line_init(&words);
    for (size_t i = 0; several && i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (s->given_name != NULL)
            extend_header(&edits, s, &words, 0, " ", s->given_name);
        else if (s->from[0] == '\0' && s->defaults != NULL)
            extend_header(&edits, s, &words, 1, " from ", cfg_file_name(s->defaults));
    }
    cfg_file_print(f, &edits, "\n", out);
}
