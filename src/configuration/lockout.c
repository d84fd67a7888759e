#include "configuration/lockout.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/words.h"

#define SHOWN 5
#define NAME_SHOWN 64

/* A line that counts. */
enum lockout_kind { LOCKOUT_USER, LOCKOUT_SOCKET, LOCKOUT_PROGRAM, LOCKOUT_KEYWORD };

/* "/run/a.sock" of "unix@/run/a.sock"; NULL: no unix socket with a path. */
static const char *lockout_path(const char *address)
{
    const char *path = address + (str_has_prefix(address, "unix@") ? strlen("unix@") : 0);
    return path[0] == '/' ? path : NULL;
}

/* what: the user's name; the socket's path, NULL: any; a part of the program's command; the keyword. */
static bool lockout_is(enum lockout_kind kind, const struct cfg_line *l, const char *what)
{
    const char *first = cfg_word(l, 0), *path = lockout_path(cfg_word(l, 2));
    bool has = false;
    switch (kind) {
    case LOCKOUT_USER:
        return str_eq(first, "user") && str_eq(cfg_word(l, 1), what);
    case LOCKOUT_SOCKET:
        return str_eq(first, "stats") && str_eq(cfg_word(l, 1), "socket") && path != NULL &&
               (what == NULL || str_eq(path, what));
    case LOCKOUT_PROGRAM:
        for (size_t i = 1; i < l->count; i++)
            has = has || strstr(cfg_word(l, i), what) != NULL;
        return has && str_eq(first, "command");
    case LOCKOUT_KEYWORD:
        return str_eq(first, what);
    }
    return false;
}

static bool lockout_is_admin(const struct cfg_line *l)
{
    for (size_t i = 3; i + 1 < l->count; i++)
        if (str_eq(cfg_word(l, i), "level") && str_eq(cfg_word(l, i + 1), "admin"))
            return true;
    return false;
}

/* Its words are in `words` then. NULL: it has none. */
static const struct cfg_file_line *lockout_find_in(const struct cfg_file_section *s, enum lockout_kind kind,
                                                   const char *what, struct cfg_line *words)
{
    static const char *const sections[] = {[LOCKOUT_USER] = "userlist",
                                           [LOCKOUT_SOCKET] = "global",
                                           [LOCKOUT_PROGRAM] = "program",
                                           [LOCKOUT_KEYWORD] = "global"};
    for (size_t i = 0; i < s->line_count && str_eq(s->kind, sections[kind]); i++) {
        cfg_line_split(words, s->lines[i].text, s->lines[i].len);
        if (lockout_is(kind, words, what))
            return &s->lines[i];
    }
    return NULL;
}

/* name NULL: of any section of the kind. */
static const struct cfg_file_line *lockout_find(const struct cfg_file *f, const char *name, enum lockout_kind kind,
                                                const char *what, struct cfg_line *words)
{
    const struct cfg_file_line *line = NULL;
    for (size_t i = 0; i < f->section_count && line == NULL; i++)
        if (name == NULL || str_eq(f->sections[i].name, name))
            line = lockout_find_in(&f->sections[i], kind, what, words);
    return line;
}

/* True: the user's line has another password, in clear. One that is hashed, or of an environment variable, is not
 * known. */
static bool lockout_has_other_password(const struct cfg_line *l, const char *password)
{
    for (size_t i = 2; i + 1 < l->count && password != NULL; i++) {
        const struct cfg_word *w = &l->words[i + 1];
        if (str_eq(cfg_word(l, i), "insecure-password"))
            return (w->plain || memchr(w->raw, '$', w->raw_len) == NULL) && !str_eq(w->text, password);
    }
    return false;
}

static void lockout_check_line(const struct cfg_file *is, const struct cfg_file *wanted, enum lockout_kind kind,
                               const char *what, const char *called, struct cfg_line *words, struct text_list *missing)
{
    const struct cfg_file_line *line = lockout_find(is, NULL, kind, what, words);
    if (line != NULL && lockout_find(wanted, NULL, kind, what, words) == NULL && text_list_next(missing))
        buf_printf(&missing->text, "%s (line %u)", called, line->number);
}

int lockout_check(const struct cfg_file *is, const struct cfg_file *wanted, const struct lockout_login *login,
                  struct error *err)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    struct text_list missing = {.between = "; ", .max = SHOWN};
    cfg_line_init(&words);
    if (login->user != NULL) {
        const char *user = login->user;
        for (size_t i = 0; i < is->section_count; i++) {
            const struct cfg_file_section *s = &is->sections[i];
            const struct cfg_file_line *line = lockout_find_in(s, LOCKOUT_USER, user, &words);
            bool other = line == NULL || lockout_has_other_password(&words, login->password);
            bool there = line == NULL || lockout_find(wanted, s->name, LOCKOUT_USER, user, &words) != NULL;
            bool refused = !other && there && lockout_has_other_password(&words, login->password);
            if ((!there || refused) && text_list_next(&missing))
                buf_printf(&missing.text, "userlist %.*s with user %.*s%s (line %u)", NAME_SHOWN, s->name, NAME_SHOWN,
                           user, refused ? " and the login's password" : "", line->number);
        }
    }
    const struct cfg_file_line *socket = lockout_find(is, NULL, LOCKOUT_SOCKET, NULL, &words);
    if (socket != NULL) {
        cleanup(mem_free_ptr) char *path = mem_strdup(lockout_path(cfg_word(&words, 2)));
        bool admin = lockout_is_admin(&words);
        bool there = lockout_find(wanted, NULL, LOCKOUT_SOCKET, path, &words) != NULL;
        if ((!there || (admin && !lockout_is_admin(&words))) && text_list_next(&missing))
            buf_printf(&missing.text, "stats socket %s%s (line %u)", path, admin ? " with level admin" : "",
                       socket->number);
    }
    lockout_check_line(is, wanted, LOCKOUT_PROGRAM, "dataplaneapi", "the program section that runs the Data Plane API",
                       &words, &missing);
    lockout_check_line(is, wanted, LOCKOUT_KEYWORD, "master-worker", "master-worker in global", &words, &missing);
    cleanup(mem_free_ptr) char *list = text_list_take(&missing);
    if (list == NULL)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "it lacks what haproxy.cfg has there now, and without which this HAProxy could not be managed any "
                     "more: %s; copy it from there, or set CONFIG_ALLOW_LOCKOUT=true",
                     list);
}
