#include "haproxy/cfg/inherit.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/keywords.h"

static const struct cfg_file_line *cfg_inherit_last(const struct cfg_file_section *s, const char *keyword,
                                                    struct cfg_line *words)
{
    for (; s != NULL; s = s->defaults) {
        for (size_t i = s->line_count; i-- > 0;) {
            const struct cfg_file_line *line = &s->lines[i];
            if (line->plain != NULL && line->plain[0] != keyword[0])
                continue;
            cfg_line_split(words, line->text, line->len);
            if (str_eq(cfg_word(words, 0), keyword))
                return line;
        }
    }
    return NULL;
}

const char *cfg_inherit_balance(const struct cfg_file_section *s, struct cfg_line *words)
{
    return cfg_inherit_last(s, "balance", words) != NULL ? cfg_word(words, 1) : "roundrobin";
}

unsigned cfg_state_file_line(const struct cfg_file *f, const char *backend)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (size_t i = 0; f != NULL && i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (str_eq(s->kind, "defaults") || (backend != NULL && !str_eq(s->name, backend)))
            continue;
        const struct cfg_file_line *line = cfg_inherit_last(s, "load-server-state-from-file", &words);
        if (line != NULL && !str_eq(cfg_word(&words, 1), "none"))
            return line->number;
    }
    return 0;
}

void cfg_inherit_fini(struct cfg_inherit *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->defaults[i].name);
    free(r->defaults);
    *r = (struct cfg_inherit){.count = 0};
}

static struct cfg_state cfg_inherit_state_of(const struct cfg_inherit *r, const char *name)
{
    for (size_t i = r->count; i-- > 0;)
        if (str_eq(r->defaults[i].name, name))
            return r->defaults[i].state;
    return (struct cfg_state){0};
}

void cfg_inherit_section(struct cfg_inherit *r, const struct cfg_file_section *section, const char *backend)
{
    r->at = NULL;
    if (str_eq(section->kind, "defaults")) {
        struct cfg_state state =
            section->from[0] != '\0' ? cfg_inherit_state_of(r, section->from) : (struct cfg_state){0};
        r->defaults = mem_resize(r->defaults, r->count + 1, sizeof(r->defaults[0]));
        r->defaults[r->count] = (struct cfg_defaults){mem_strdup(section->name), state};
        r->at = &r->defaults[r->count++].state;
    } else if (str_eq(section->kind, "backend") && str_eq(section->name, backend)) {
        /* Without `from` it is the last section before it, whether that has a name or not. */
        if (section->from[0] != '\0')
            r->backend = cfg_inherit_state_of(r, section->from);
        else
            r->backend = r->count > 0 ? r->defaults[r->count - 1].state : (struct cfg_state){0};
        r->at = &r->backend;
    }
}

void cfg_inherit_line(struct cfg_inherit *r, const struct cfg_line *l, unsigned number)
{
    if (r->at == NULL)
        return;
    for (size_t i = 1; i < l->count; i++) {
        const char *word = l->words[i].text;
        const struct cfg_keyword *k = cfg_keyword_find(word);
        if (str_eq(word, "disabled"))
            r->at->disabled_line = number;
        else if (str_eq(word, "enabled"))
            r->at->disabled_line = 0;
        else if (str_eq(word, "backup"))
            r->at->backup_line = number;
        else if (str_eq(word, "no-backup"))
            r->at->backup_line = 0;
        else
            i += k != NULL && cfg_keyword_takes_argument(k);
    }
}

void cfg_inherit_apply(const struct cfg_inherit *r, struct backend *b)
{
    b->disabled_line = r->backend.disabled_line;
    b->backup_line = r->backend.backup_line;
    for (size_t i = 0; i < b->server_count; i++) {
        struct backend_server *s = &b->servers[i];
        s->default_disabled = b->disabled_line != 0;
        s->default_backup = b->backup_line != 0;
        s->maintenance = s->maintenance || (s->default_disabled && !s->enabled);
    }
}
