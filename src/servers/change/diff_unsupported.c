/* The lines of the file that a write would damage, and which of them need not stop one. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/str.h"
#include "servers/change/diff_internal.h"

#define UNSUPPORTED_SHOWN 3

/* The length of `prefix` and the digits after it; 0: words does not begin so. */
static size_t word_and_number(const char *words, const char *prefix)
{
    size_t digits = str_has_prefix(words, prefix) ? strspn(words + strlen(prefix), "0123456789") : 0;
    return digits > 0 ? strlen(prefix) + digits : 0;
}

/* "check", "weight 100", "disabled": all that a line which the daemon wrote may have behind its address. */
static bool only_our_words(const char *words)
{
    static const char *const flags[] = {" check",   " send-proxy-v2", " disabled",
                                        " enabled", " no-backup",     " init-addr last,libc,none"};
    while (*words != '\0') {
        size_t len = word_and_number(words, " weight ");
        if (len == 0)
            len = word_and_number(words, " port ");
        for (size_t i = 0; i < array_len(flags) && len == 0; i++)
            if (str_has_prefix(words, flags[i]))
                len = strlen(flags[i]);
        if (len == 0 || (words[len] != ' ' && words[len] != '\0'))
            return false;
        words += len;
    }
    return true;
}

/* A line that is exactly as desired, and that the API has not read (yet): the write makes it again. */
static bool unsupported_is_among(const struct backend *b, const struct backend_unsupported_line *a,
                                 const struct desired_server *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct desired_server *w = &list[i];
        cleanup(mem_free_ptr) char *place = str_host_port(w->address, w->port);
        cleanup(mem_free_ptr) char *line = mem_printf("server %s %s", w->name, place);
        if (str_has_prefix(a->text, line) && only_our_words(a->text + strlen(line)))
            return backend_find(b, w->name) == NULL;
    }
    return false;
}

static bool has_unsupported(const struct backend *b, const struct desired *desired, const struct diff_rules *rules)
{
    size_t spares = rules->parking != NULL ? desired->spare_count : 0;
    for (size_t i = 0; i < b->unsupported_count; i++)
        if (!unsupported_is_among(b, &b->unsupported[i], desired->servers, desired->server_count) &&
            !unsupported_is_among(b, &b->unsupported[i], desired->spares, spares))
            return true;
    return false;
}

char *diff_unsupported_problem(const struct backend *actual, const struct desired *desired,
                               const struct diff_rules *rules)
{
    struct text_list list = {.between = "; ", .max = UNSUPPORTED_SHOWN};
    for (size_t i = 0; i < actual->unsupported_count; i++)
        if (text_list_next(&list))
            buf_printf(&list.text, "line %u \"%s\": %s", actual->unsupported[i].line, actual->unsupported[i].text,
                       actual->unsupported[i].reason);
    cleanup(mem_free_ptr) char *lines = text_list_take(&list);
    return has_unsupported(actual, desired, rules)
               ? (mem_printf("backend %s has lines in haproxy.cfg that a write would damage: %s", actual->name, lines))
               : NULL;
}

char *diff_backup_problem(const struct backend *actual, const struct desired *desired, const struct diff_rules *rules)
{
    struct text_list list = {.between = ", ", .max = UNSUPPORTED_SHOWN};
    for (size_t i = 0; i < actual->server_count; i++) {
        const struct backend_server *s = &actual->servers[i];
        if (!s->default_backup || s->no_backup || diff_server_is_foreign(s, rules, desired) ||
            desired_find(desired, s->name) != NULL || desired_find_spare(desired, s->name) != NULL)
            continue;
        if (text_list_next(&list))
            buf_add(&list.text, s->name);
    }
    cleanup(mem_free_ptr) char *names = text_list_take(&list);
    if (names == NULL)
        return NULL;
    return mem_printf("line %u of haproxy.cfg (default-server backup) makes backup servers of lines in backend %s that "
                      "do not say so themselves: %s. Add backup to such a line to leave it alone, or no-backup to have "
                      "it managed; or remove backup from line %u",
                      actual->backup_line, actual->name, names, actual->backup_line);
}
