#include "haproxy/cfg/inherit.h"

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/keywords.h"

/* The lines that say `disabled` and `backup`; 0: none, or a later one took it back. */
struct cfg_state {
    unsigned disabled_line, backup_line;
};

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

/* A default-server line. */
static void inherit_line(struct cfg_state *at, const struct cfg_line *l, unsigned number)
{
    for (size_t i = 1; i < l->count; i++) {
        const char *word = l->words[i].text;
        const struct cfg_keyword *k = cfg_keyword_find(word);
        if (str_eq(word, "disabled"))
            at->disabled_line = number;
        else if (str_eq(word, "enabled"))
            at->disabled_line = 0;
        else if (str_eq(word, "backup"))
            at->backup_line = number;
        else if (str_eq(word, "no-backup"))
            at->backup_line = 0;
        else
            i += k != NULL && cfg_keyword_takes_argument(k);
    }
}

void cfg_inherit_apply(const struct cfg_file_section *own, struct backend *b)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    struct cfg_state state = {0};
    size_t count = 0, at = 0;
    for (const struct cfg_file_section *s = own; s != NULL; s = s->defaults)
        count++;
    cleanup(mem_free_ptr) const struct cfg_file_section **chain = mem_array(count, sizeof(chain[0]));
    for (const struct cfg_file_section *s = own; s != NULL; s = s->defaults)
        chain[at++] = s;
    cfg_line_init(&words);
    while (at-- > 0) /* the furthest first */
        for (size_t i = 0; i < chain[at]->line_count; i++) {
            const struct cfg_file_line *line = &chain[at]->lines[i];
            if (line->plain != NULL && line->plain[0] != 'd')
                continue;
            cfg_line_split(&words, line->text, line->len);
            if (str_eq(cfg_word(&words, 0), "default-server"))
                inherit_line(&state, &words, line->number);
        }
    b->disabled_line = state.disabled_line;
    b->backup_line = state.backup_line;
    for (size_t i = 0; i < b->server_count; i++) {
        struct backend_server *s = &b->servers[i];
        s->default_disabled = b->disabled_line != 0;
        s->default_backup = b->backup_line != 0;
        s->maintenance = s->maintenance || (s->default_disabled && !s->enabled);
    }
}
