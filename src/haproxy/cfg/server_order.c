#include "haproxy/cfg/server_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/backend.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"

/* One name, and where it stands: in the list, and among the lines of its kind. */
struct place {
    const char *name;
    size_t at;
    size_t line; /* from 1; 0: none was seen */
};

struct places {
    struct place *list; /* ordered by name */
    size_t count;
    size_t lines; /* seen */
};

static int order_by_name(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

static int order_by_line(const void *a, const void *b)
{
    size_t x = ((const struct place *)a)->line, y = ((const struct place *)b)->line;
    return x < y ? -1 : x > y;
}

static void places_fini(struct places *p)
{
    free(p->list);
}

static void places_sort(struct places *p, int (*order)(const void *a, const void *b))
{
    if (p->count > 1)
        qsort(p->list, p->count, sizeof(*p->list), order);
}

static void places_init(struct places *servers, struct places *templates, const struct backend *b)
{
    *servers = (struct places){.list = mem_array(b->server_count, sizeof(struct place)), .count = b->server_count};
    *templates =
        (struct places){.list = mem_array(b->template_count, sizeof(struct place)), .count = b->template_count};
    for (size_t i = 0; i < b->server_count; i++)
        servers->list[i] = (struct place){.name = b->servers[i].name, .at = i};
    for (size_t i = 0; i < b->template_count; i++)
        templates->list[i] = (struct place){.name = b->templates[i].prefix, .at = i};
    places_sort(servers, order_by_name);
    places_sort(templates, order_by_name);
}

/* The API's tokenizer leaves quotes and escapes in a name. Two of one name leave one of them without a line. */
static bool places_see(struct places *p, const struct cfg_word *name)
{
    cleanup(mem_free_ptr) char *raw = mem_strndup(name->raw, name->raw_len);
    const struct place key = {.name = raw};
    struct place *found = p->count > 0 ? bsearch(&key, p->list, p->count, sizeof(*p->list), order_by_name) : NULL;
    if (found == NULL || found->line != 0)
        return false;
    found->line = ++p->lines;
    return true;
}

static bool see_lines(const struct cfg_file_section *s, struct places *servers, struct places *templates)
{
    struct cfg_line words;
    bool same = true;
    cfg_line_init(&words);
    for (size_t i = 0; i < s->line_count && same; i++) {
        cfg_line_split(&words, s->lines[i].text, s->lines[i].len);
        const char *first = cfg_word(&words, 0);
        bool server = str_eq(first, "server"), template = str_eq(first, "server-template");
        if (server || template)
            same = !words.broken && words.count > 1 && places_see(server ? servers : templates, &words.words[1]);
    }
    cfg_line_fini(&words);
    return same && servers->lines == servers->count && templates->lines == templates->count;
}

bool cfg_order_servers(const struct cfg_file *f, struct backend *b)
{
    const struct cfg_file_section *s = cfg_file_backend(f, b->name);
    cleanup(places_fini) struct places servers = {0}, templates = {0};
    if (s == NULL || cfg_file_backend_again(f, s) != NULL)
        return false;
    places_init(&servers, &templates, b);
    if (!see_lines(s, &servers, &templates))
        return false;
    places_sort(&servers, order_by_line);
    places_sort(&templates, order_by_line);
    cleanup(mem_free_ptr) struct backend_server *old = b->servers;
    cleanup(mem_free_ptr) struct backend_template *old_templates = b->templates;
    b->servers = mem_array(servers.count, sizeof(*b->servers));
    b->templates = mem_array(templates.count, sizeof(*b->templates));
    for (size_t i = 0; i < servers.count; i++)
        b->servers[i] = old[servers.list[i].at];
    for (size_t i = 0; i < templates.count; i++)
        b->templates[i] = old_templates[templates.list[i].at];
    return true;
}
