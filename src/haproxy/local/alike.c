#include "haproxy/local/alike.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "haproxy/cfg/words.h"
#include "haproxy/cfg/backend.h"

/* What HAProxy's names are made of; a name among others ends at any other byte. */
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-"

struct alike {
    const struct changes *changes;
    struct cfg_line words, other;
};

/* ---- a server that comes ---- */

static bool alike_is_name(const char *s)
{
    return *s != '\0' && s[strspn(s, NAME_BYTES)] == '\0';
}

/* "server NAME ADDRESS:PORT", without quotes, and an address that nobody has to be asked for. */
static bool alike_is_server(const struct cfg_line *l)
{
    cleanup(backend_server_fini) struct backend_server s = {0};
    if (l->broken || l->count < 3 || !str_eq(cfg_word(l, 0), "server") || !l->words[1].plain || !l->words[2].plain)
        return false;
    cfg_split_address(cfg_word(l, 2), &s.address, &s.port);
    return alike_is_name(cfg_word(l, 1)) && s.port != 0 && str_ip_family(s.address) != 0;
}

/* A word that no other one may have, or that names another one. */
static bool alike_is_own(const char *word)
{
    static const char *const words[] = {"id", "guid", "cookie", "track"};
    return cfg_is_among(word, words, array_len(words));
}

/* What stands behind the address: not one byte is another one. */
static bool alike_same_words(const struct cfg_line *a, const struct cfg_file_line *a_line, const struct cfg_line *b,
                             const struct cfg_file_line *b_line)
{
    const char *x = a->words[2].raw + a->words[2].raw_len, *y = b->words[2].raw + b->words[2].raw_len;
    size_t len = (size_t)(a_line->text + a_line->len + a_line->end_len - x);
    return len == (size_t)(b_line->text + b_line->len + b_line->end_len - y) && memcmp(x, y, len) == 0;
}

/* a->words, of `line`, are new, and those of a server that s has. */
static bool alike_has_sibling(struct alike *a, const struct cfg_file_line *line, const struct cfg_file_section *s)
{
    bool found = false;
    for (size_t i = 3; i < a->words.count; i++)
        if (alike_is_own(cfg_word(&a->words, i)))
            return false;
    for (size_t i = 0; i < s->line_count; i++) {
        cfg_line_split(&a->other, s->lines[i].text, s->lines[i].len);
        if (str_eq(cfg_word(&a->other, 0), "server-template")) /* which may make that name, too */
            return false;
        if (!str_eq(cfg_word(&a->other, 0), "server"))
            continue;
        if (str_eq(cfg_word(&a->other, 1), cfg_word(&a->words, 1)))
            return false;
        found = found || (alike_is_server(&a->other) && alike_same_words(&a->words, line, &a->other, &s->lines[i]));
    }
    return found;
}

static bool alike_all_have_siblings(struct alike *a, const struct cfg_file *from, const struct cfg_file *to)
{
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    for (size_t i = 0; i < a->changes->count; i++) {
        const struct change *c = a->changes->list[i];
        if (c->kind != CHANGE_ADD_SERVER)
            continue;
        cfg_lines_find(&lines, to, c->backend->name);
        const struct cfg_file_section *was = cfg_file_backend(from, c->backend->name);
        const struct cfg_file_line *line = cfg_lines_server(&lines, c->server->name);
        /* By their names: two of one name follow each other. */
        bool twice = i > 0 && str_eq(a->changes->list[i - 1]->server->name, c->server->name) &&
                     str_eq(a->changes->list[i - 1]->backend->name, c->backend->name);
        if (was == NULL || line == NULL || twice)
            return false;
        cfg_line_split(&a->words, line->text, line->len);
        if (!alike_is_server(&a->words) || !alike_has_sibling(a, line, was))
            return false;
    }
    return true;
}

/* ---- the rest of the file */

static bool alike_has_word(const char *text, size_t len, const char *name)
{
    const char *end = text + len;
    size_t n = strlen(name);
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), name, n)) != NULL; at++)
        if ((at == text || strchr(NAME_BYTES, at[-1]) == NULL) && (at + n == end || strchr(NAME_BYTES, at[n]) == NULL))
            return true;
    return false;
}

/* One that goes, in these bytes. */
static bool alike_names(const struct alike *a, const char *text, size_t len)
{
    for (size_t i = 0; i < a->changes->count; i++)
        if (a->changes->list[i]->kind == CHANGE_REMOVE_SERVER &&
            alike_has_word(text, len, a->changes->list[i]->server->name))
            return true;
    return false;
}

/* Another server's name is none of ours: it has a backend of its own, or HAProxy would have refused it. */
static bool alike_line_names(struct alike *a, const struct cfg_file_line *line)
{
    if (line->plain != NULL && !alike_names(a, line->plain, line->plain_len))
        return false;
    cfg_line_split(&a->words, line->text, line->len);
    bool server = str_eq(cfg_word(&a->words, 0), "server");
    for (size_t i = 0; i < a->words.count; i++) {
        const struct cfg_word *w = &a->words.words[i];
        if (cfg_word_has_variable(w) || (!(server && i == 1) && alike_names(a, w->text, strlen(w->text))))
            return true;
    }
    return a->words.broken;
}

static bool alike_goes_unnoticed(struct alike *a, const struct cfg_file *to)
{
    bool goes = false;
    for (size_t i = 0; i < a->changes->count; i++) {
        if (a->changes->list[i]->kind != CHANGE_REMOVE_SERVER)
            continue;
        goes = true;
        if (!alike_is_name(a->changes->list[i]->server->name))
            return false;
    }
    for (size_t i = 0; i < to->line_count; i++)
        if (cfg_file_is_directive(&to->lines[i]) || (goes && alike_line_names(a, &to->lines[i])))
            return false;
    return true;
}

bool local_alike(const struct cfg_file *from, const struct cfg_file *to, const struct changes *changes)
{
    struct alike a = {.changes = changes};
    if (changes->count == 0 || changes->count > LOCAL_ALIKE_MAX_CHANGES || to->too_many || to->too_long != 0)
        return false;
    cfg_line_init(&a.words);
    cfg_line_init(&a.other);
    bool alike = alike_all_have_siblings(&a, from, to) && alike_goes_unnoticed(&a, to);
    cfg_line_fini(&a.words);
    cfg_line_fini(&a.other);
    return alike;
}
