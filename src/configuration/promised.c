#include "configuration/promised.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"

#define BLANK " \t"

/* The line begins with that word. */
static bool promised_begins(const struct cfg_file_line *line, const char *word)
{
    size_t at = 0, len = strlen(word);
    while (at < line->len && strchr(BLANK, line->text[at]) != NULL)
        at++;
    if (line->len - at < len || memcmp(line->text + at, word, len) != 0)
        return false;
    return line->len - at == len || strchr(BLANK "\r\n", line->text[at + len]) != NULL;
}

static void promised_add(struct promised_names *n, const char *name)
{
    if (n->count == n->room) {
        n->room = n->room > 0 ? 2 * n->room : 16;
        n->list = mem_resize(n->list, n->room, sizeof(n->list[0]));
    }
    n->list[n->count++] = mem_strdup(name);
}

/* The last word counts; without one that of the defaults section. */
static bool promised_is_disabled(const struct cfg_file_section *s)
{
    for (; s != NULL; s = s->defaults)
        for (size_t i = s->line_count; i-- > 0;) {
            if (promised_begins(&s->lines[i], "disabled"))
                return true;
            if (promised_begins(&s->lines[i], "enabled"))
                return false;
        }
    return false;
}

static bool promised_serves(const struct cfg_file_section *s, struct cfg_line *words)
{
    for (size_t i = 0; i < s->line_count; i++) {
        bool server = promised_begins(&s->lines[i], "server") || promised_begins(&s->lines[i], "server-template");
        if (!server)
            continue;
        cfg_line_split(words, s->lines[i].text, s->lines[i].len);
        for (size_t k = 3; k < words->count; k++)
            if (str_eq(cfg_word(words, k), "disabled") ||
                (str_eq(cfg_word(words, k), "weight") && str_eq(cfg_word(words, k + 1), "0")))
                server = false;
        if (server)
            return true;
    }
    return false;
}

void promised_init(struct promised *p, const struct cfg_file *f)
{
    size_t depth = 0, at = 0;
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    *p = (struct promised){0};
    for (size_t i = 0; i < f->line_count; i++) {
        const struct cfg_file_line *line = &f->lines[i];
        const struct cfg_file_section *s = at < f->section_count ? &f->sections[at] : NULL;
        if (s == NULL || s->line->number != line->number) {
            if (promised_begins(line, ".if"))
                depth++;
            else if (promised_begins(line, ".endif") && depth > 0)
                depth--;
            continue;
        }
        at++;
        bool both = str_eq(s->kind, "listen");
        bool front = both || str_eq(s->kind, "frontend"), back = both || str_eq(s->kind, "backend"), binds = false;
        if (depth > 0 || (!front && !back) || strchr(s->name, '$') != NULL || promised_is_disabled(s))
            continue;
        for (size_t k = 0; k < s->line_count; k++)
            binds = binds || promised_begins(&s->lines[k], "bind");
        if (front && binds)
            promised_add(&p->listeners, s->name);
        if (back && promised_serves(s, &words))
            promised_add(&p->backends, s->name);
    }
}

static void promised_names_fini(struct promised_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
}

void promised_fini(struct promised *p)
{
    promised_names_fini(&p->listeners);
    promised_names_fini(&p->backends);
    *p = (struct promised){0};
}
