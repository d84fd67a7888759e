#include "haproxy/server_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/cfg/backend.h"

void server_words_fini(struct server_words *w)
{
    for (size_t i = 0; i < w->count; i++) {
        mem_free_all(w->list[i].keyword, w->list[i].argument);
    }
    free(w->list);
    *w = (struct server_words){0};
}

static void server_words_drop(struct server_words *w, const char *keyword)
{
    for (size_t i = 0; i < w->count;) {
        if (!str_eq(w->list[i].keyword, keyword)) {
            i++;
            continue;
        }
        mem_free_all(w->list[i].keyword, w->list[i].argument);
        memmove(&w->list[i], &w->list[i + 1], (w->count - i - 1) * sizeof(w->list[0]));
        w->count--;
    }
}

bool server_words_have(const struct server_words *w, const char *keyword)
{
    for (size_t i = 0; i < w->count; i++)
        if (str_eq(w->list[i].keyword, keyword))
            return true;
    return false;
}

/* A server that is added is in maintenance until it is enabled, and has an address and no name to resolve: what else is
 * said of that is of the file alone. */
static bool word_is_of_file(const char *keyword)
{
    static const char *const words[] = {"disabled",     "enabled",        "init-addr",  "resolvers",
                                        "resolve-opts", "resolve-prefer", "resolve-net"};
    return cfg_is_among(keyword, words, array_len(words));
}

static void server_words_add(struct server_words *w, const char *keyword, const char *argument)
{
    bool off = str_has_prefix(keyword, "no-");
    if (str_eq(keyword, "check-ssl") || str_eq(keyword, "no-check-ssl"))
        w->plain_checks = off;
    server_words_drop(w, keyword);
    if (off)
        server_words_drop(w, keyword + strlen("no-"));
    if (word_is_of_file(keyword) || (off && argument == NULL && !str_eq(keyword, "no-verifyhost") &&
                                     !str_has_prefix(keyword, "no-sslv") && !str_has_prefix(keyword, "no-tlsv")))
        return; /* what it takes back is gone */
    w->list = mem_resize(w->list, w->count + 1, sizeof(w->list[0]));
    w->list[w->count++] = (struct server_word){mem_strdup(keyword), argument != NULL ? mem_strdup(argument) : NULL};
}

/* Checks that go to the server's own place speak as its traffic does: of a line HAProxy makes it so itself ("check-ssl",
 * "check-send-proxy" in 5.2 of its manual), to a command it has to be said. */
static void server_words_add_checks(struct server_words *w)
{
    static const struct {
        const char *traffic, *check;
    } as[] = {{"send-proxy", "check-send-proxy"},
              {"send-proxy-v2", "check-send-proxy"},
              {"send-proxy-v2-ssl", "check-send-proxy"},
              {"send-proxy-v2-ssl-cn", "check-send-proxy"},
              {"socks4", "check-via-socks4"}};
    if (!server_words_have(w, "check") || server_words_have(w, "port") || server_words_have(w, "addr"))
        return;
    if (server_words_have(w, "ssl") && !w->plain_checks)
        server_words_add(w, "check-ssl", NULL);
    for (size_t i = 0; i < array_len(as); i++)
        if (server_words_have(w, as[i].traffic))
            server_words_add(w, as[i].check, NULL);
}

static int server_words_take(struct server_words *w, const struct cfg_line *l, size_t first, struct error *err)
{
    for (size_t i = first; i < l->count;) {
        const struct cfg_lines_word word = cfg_lines_keyword(l, i);
        const char *argument = word.last > word.at ? cfg_word(l, word.last) : NULL;
        if (!word.known)
            return error_set(err, ERROR_INVALID, "what \"%.64s\" takes is not known", word.name);
        if (!l->words[word.last].plain || !cfg_fits_command(argument != NULL ? argument : word.name))
            return error_set(err, ERROR_INVALID, "the value of \"%.64s\" fits into no command", word.name);
        server_words_add(w, word.name, argument);
        i = word.last + 1;
    }
    return 0;
}

/* Those lines that are default-server lines. */
static int server_words_take_defaults(struct server_words *w, const struct cfg_file_line *const *lines, size_t count,
                                      struct error *err)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    int status = 0;
    cfg_line_init(&words);
    for (size_t i = 0; i < count && status == 0; i++) {
        cfg_line_split(&words, lines[i]->text, lines[i]->len);
        if (str_eq(cfg_word(&words, 0), "default-server"))
            status = server_words_take(w, &words, 1, err);
    }
    return status;
}

/* Those of the defaults sections that it is from, the farthest first. */
static int server_words_inherit(struct server_words *w, const struct cfg_file_section *s, struct error *err)
{
    if (s == NULL)
        return 0;
    int status = server_words_inherit(w, s->defaults, err);
    for (size_t i = 0; i < s->line_count && status == 0; i++) {
        const struct cfg_file_line *line = &s->lines[i];
        status = server_words_take_defaults(w, &line, 1, err);
    }
    return status;
}

bool server_is_without_share(const struct cfg_lines *lines, const char *haproxy)
{
    return lines->hashed && strverscmp(haproxy, "3.0") < 0;
}

int server_words_of(const struct cfg_lines *lines, const struct cfg_file_line *line, const struct cfg_line *words,
                    struct server_words *ret, struct error *err)
{
    size_t before = 0;
    while (before < lines->default_count && lines->defaults[before]->number < line->number)
        before++;
    if (server_words_inherit(ret, lines->section->defaults, err) != 0 ||
        server_words_take_defaults(ret, lines->defaults, before, err) != 0 ||
        server_words_take(ret, words, 3, err) != 0)
        return -1;
    server_words_add_checks(ret);
    return 0;
}
