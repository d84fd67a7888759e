/* Documents as text, and what a text means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "local.h"
#include "whole.h"

#define SPACE " \t"
#define BAD "  a word that HAProxy does not know\n"
#define UNLOADABLE "  bind 127.0.0.1:1\n"

/* After each step the same few texts are asked for again. */
#define KNOWN 8

static struct known {
    struct whole_text of;
    char *asked, *text;
    bool servers;
} prints[KNOWN], meanings[KNOWN];

static struct known *forget_one(struct known *list)
{
    static unsigned next;
    struct known *k = &list[next++ % KNOWN];
    free(k->asked);
    free(k->text);
    *k = (struct known){.text = NULL};
    return k;
}

static char *print_anew(const struct whole_text *t)
{
    struct buf text = {0};
    cleanup(mem_free_ptr) char *plain = local_text_print(&t->conf);
    buf_printf(&text, "# comment %u\n%s\nfrontend setting\n  maxconn %u\n%s", t->comment, plain, 100 + t->setting,
               t->bad ? BAD : "");
    if (t->files) /* the comment keeps documents apart by their bytes alone */
        buf_printf(&text,
                   "  errorfile 503 /files/page.http\n  use_backend be if { hdr(host),map(/maps/hosts.map) -m found }\n"
                   "# files %u %u\n",
                   t->map, t->page);
    if (t->sick)
        buf_add(&text, "\nfrontend sick\n  bind 127.0.0.1:2\n");
    if (t->unloadable)
        buf_add(&text, "\nfrontend taken\n" UNLOADABLE);
    return buf_take(&text);
}

char *whole_print(const struct whole_text *t)
{
    struct known *k = prints;
    while (k < prints + KNOWN && (k->text == NULL || memcmp(&k->of, t, sizeof(*t)) != 0))
        k++;
    if (k == prints + KNOWN) {
        k = forget_one(prints);
        memcpy(&k->of, t, sizeof(*t));
        k->text = print_anew(t);
    }
    return mem_strdup(k->text);
}

bool whole_is_bad(const char *text)
{
    return strstr(text, BAD) != NULL;
}

bool whole_is_unloadable(const char *text)
{
    return strstr(text, UNLOADABLE) != NULL;
}

/* The words of a line, one blank between them; "": it has none. */
static void add_line(char *line, bool servers, struct buf *out)
{
    const char *before = "";
    bool any = false;
    line[strcspn(line, "#")] = '\0';
    if (!servers && str_has_prefix(line + strspn(line, SPACE), "server "))
        return;
    for (char *rest = line, *word; (word = strsep(&rest, SPACE)) != NULL;) {
        if (*word == '\0')
            continue;
        buf_add(out, before);
        buf_add(out, word);
        before = " ";
        any = true;
    }
    buf_add(out, any ? "\n" : "");
}

static char *meaning_anew(const char *text, bool servers)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    struct buf out = {0};
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL;)
        add_line(line, servers, &out);
    buf_add(&out, "");
    return buf_take(&out);
}

char *whole_meaning(const char *text, bool servers)
{
    struct known *k = meanings;
    while (k < meanings + KNOWN && (k->text == NULL || k->servers != servers || strcmp(k->asked, text) != 0))
        k++;
    if (k == meanings + KNOWN) {
        k = forget_one(meanings);
        k->servers = servers;
        k->asked = mem_strdup(text);
        k->text = meaning_anew(text, servers);
    }
    return mem_strdup(k->text);
}

/* ---- what a change costs ---- */

static bool is_dynamic(const struct section *s)
{
    return strcmp(s->balance, "static-rr") != 0;
}

static bool changes_for_reload(const struct section *s, const struct server *was, const struct server *is)
{
    struct server as = *was;
    memcpy(as.address, is->address, NAME_BYTES);
    as.port = is->port;
    as.maintenance = is->maintenance;
    if (is_dynamic(s))
        as.weight = is->weight;
    return !server_eq(&as, is);
}

static size_t place_of(struct section *s, const char *name)
{
    return (size_t)(section_find(s, name) - s->servers);
}

/* HAProxy has them in the order of the file. */
static bool order_differs(struct section *was, struct section *is)
{
    size_t last = 0;
    for (size_t i = 0; i < was->count; i++) {
        if (section_find(is, was->servers[i].name) == NULL)
            continue;
        size_t place = place_of(is, was->servers[i].name);
        if (place < last)
            return true;
        last = place;
    }
    return false;
}

static bool section_takes_reload(const struct section *was, const struct section *is, bool adds)
{
    struct section *from = (struct section *)(uintptr_t)was, *to = (struct section *)(uintptr_t)is;
    if (!str_eq(was->balance, is->balance) || order_differs(from, to))
        return true;
    for (size_t i = 0; i < was->count; i++) {
        const struct server *line = section_find(to, was->servers[i].name);
        if (line == NULL ? !adds || !is_dynamic(was) : changes_for_reload(was, &was->servers[i], line))
            return true;
    }
    for (size_t i = 0; i < is->count; i++)
        if (section_find(from, is->servers[i].name) == NULL && !(adds && is_dynamic(is)))
            return true;
    return false;
}

bool whole_takes_reload(const struct whole_text *from, const struct whole_text *to, bool adds)
{
    bool reload = from->setting != to->setting || from->page != to->page || from->sick != to->sick ||
                  (from->map != to->map && whole_map_is_small(to));
    for (size_t b = 0; b < BACKENDS; b++)
        reload = reload || section_takes_reload(&from->conf.of[b], &to->conf.of[b], adds);
    return reload;
}
