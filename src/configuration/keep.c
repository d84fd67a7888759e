#include "configuration/keep.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/keywords.h"
#include "haproxy/cfg/words.h"

#define LINES_SHOWN 5
#define NAME_SHOWN 64

/* NULL: its server lines are the document's. */
static const struct keep_backend *keep_find(const struct keep_rules *rules, const struct cfg_file_section *s)
{
    for (size_t i = 0; i < rules->count && (str_eq(s->kind, "backend") || str_eq(s->kind, "listen")); i++)
        if (str_eq(rules->list[i].name, s->name))
            return &rules->list[i];
    return NULL;
}

/* Not as the argument of another keyword. */
static bool keep_is_backup(const struct cfg_line *l)
{
    for (size_t i = 3; i < l->count; i++) {
        const struct cfg_keyword *k = cfg_keyword_find(cfg_word(l, i));
        if (str_eq(cfg_word(l, i), "backup"))
            return true;
        i += k != NULL && cfg_keyword_takes_argument(k);
    }
    return false;
}

/* The next line of s from *at on that is not the document's; NULL: there is none. */
static const struct cfg_file_line *keep_next(const struct keep_backend *b, const struct cfg_file_section *s,
                                             struct cfg_line *words, size_t *at)
{
    while (*at < s->line_count) {
        const struct cfg_file_line *line = &s->lines[(*at)++];
        cfg_line_split(words, line->text, line->len);
        bool server = str_eq(cfg_word(words, 0), "server") &&
                      (b->manages == NULL || b->manages(b->arg, cfg_word(words, 1), keep_is_backup(words)));
        if (server || str_eq(cfg_word(words, 0), "server-template"))
            return line;
    }
    return NULL;
}

static int keep_check_section(const struct keep_backend *b, const struct cfg_file_section *s, struct cfg_line *words,
                              struct error *err)
{
    /* What a conditional decides is not known, and lines at the end of the section might be in one. */
    for (const struct cfg_file_line *l = s->line; l < s->lines + s->line_count; l++)
        if (l->conditional)
            return error_set(
                err, ERROR_INVALID,
                "line %u: a conditional (.if) decides about a line of %s %.*s, whose servers are kept: leave "
                "it out of that section",
                l->number, s->kind, NAME_SHOWN, s->name);
    struct text_list lines = {.between = ", ", .max = LINES_SHOWN};
    const struct cfg_file_line *line;
    for (size_t at = 0; (line = keep_next(b, s, words, &at)) != NULL;)
        if (text_list_next(&lines))
            buf_printf(&lines.text, "%u", line->number);
    const char *plural = lines.count > 1 ? "s" : "";
    cleanup(mem_free_ptr) char *list = text_list_take(&lines);
    if (list == NULL)
        return 0;
    return error_set(err, ERROR_INVALID, "line%s %s: server line%s of %s %.*s, which %s", plural, list, plural, s->kind,
                     NAME_SHOWN, s->name,
                     b->manages != NULL
                         ? "the daemon writes itself: remove them, or name those that are yours in HAPROXY_KEEP_SERVERS"
                         : "another daemon writes (CONFIG_KEEP_BACKENDS): remove them");
}

int keep_check(const struct cfg_file *document, const struct keep_rules *rules, struct error *err)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cleanup(mem_free_ptr) bool *there = mem_array(rules->count, sizeof(*there));
    cfg_line_init(&words);
    for (size_t i = 0; i < document->section_count; i++) {
        const struct keep_backend *b = keep_find(rules, &document->sections[i]);
        if (b == NULL)
            continue;
        there[b - rules->list] = true;
        if (keep_check_section(b, &document->sections[i], &words, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < rules->count; i++)
        if (!there[i])
            return error_set(err, ERROR_INVALID,
                             "there is no backend %.*s, whose servers %s: add it, without its server lines", NAME_SHOWN,
                             rules->list[i].name,
                             rules->list[i].manages != NULL ? "the daemon manages"
                                                            : "another daemon manages (CONFIG_KEEP_BACKENDS)");
    return 0;
}

void keep_print(const struct cfg_file *text, const struct cfg_file *now, const struct keep_rules *rules,
                struct cfg_edits *ret_edits, struct buf *out)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (size_t i = 0; i < text->section_count; i++) {
        const struct cfg_file_section *s = &text->sections[i];
        const struct keep_backend *b = keep_find(rules, s);
        const struct cfg_file_line *line, *last = cfg_file_last_own_line(s);
        if (b == NULL)
            continue;
        for (size_t at = 0; (line = keep_next(b, s, &words, &at)) != NULL;)
            cfg_edits_add(ret_edits, line->number, CFG_EDIT_REMOVE, NULL, 0);
        for (size_t k = 0; k < now->section_count; k++) {
            if (keep_find(rules, &now->sections[k]) != b)
                continue;
            for (size_t at = 0; (line = keep_next(b, &now->sections[k], &words, &at)) != NULL;)
                cfg_edits_add(ret_edits, last->number, CFG_EDIT_INSERT, line->text, line->len);
        }
    }
    cfg_file_print(text, ret_edits, NULL, out);
}
