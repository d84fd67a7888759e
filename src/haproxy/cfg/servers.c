#include "haproxy/cfg/servers.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/file.h"
#include "json/read.h"
#include "haproxy/cfg/inherit.h"
#include "haproxy/cfg/server_line.h"
#include "haproxy/cfg/words.h"

#define MAX_UNSUPPORTED 64
#define MAX_UNSUPPORTED_TEXT 203

/* A server of the API, to be found by name and ticked off. */
struct shown {
    const struct backend_server *server;
    unsigned line; /* of the file; 0: none so far */
};

struct walk {
    struct backend *b;
    struct shown *shown; /* ordered by name */
    struct cfg_line words;
    const struct cfg_file_line *line; /* in hand */
    bool inside;                      /* of our backend */
    unsigned header;                  /* the backend's line; 0: not seen */
    size_t unsupported_count;         /* all; only MAX_UNSUPPORTED are kept */
    yyjson_doc *backend_doc;
    struct cfg_inherit inherit;
};

/* ---- unsupported lines ---- */

/* Takes ownership of reason. */
static void add_unsupported(struct walk *w, unsigned number, char *text, char *reason)
{
    struct backend *b = w->b;
    if (w->unsupported_count++ >= MAX_UNSUPPORTED) {
        free(text);
        free(reason);
        return;
    }
    b->unsupported = mem_resize(b->unsupported, b->unsupported_count + 1, sizeof(*b->unsupported));
    b->unsupported[b->unsupported_count++] =
        (struct backend_unsupported_line){.line = number, .text = text, .reason = reason};
}

/* The line in hand; reason NULL: it is none. */
static void add_this(struct walk *w, char *reason)
{
    struct buf text;
    if (reason == NULL)
        return;
    buf_init(&text, 0);
    text_addn(&text, w->line->text, w->line->len, TEXT_FLAT, MAX_UNSUPPORTED_TEXT);
    add_unsupported(w, w->line->number, buf_take(&text), reason);
}

/* ---- one server line ---- */

static int order_of_shown(const void *a, const void *b)
{
    return strcmp(((const struct shown *)a)->server->name, ((const struct shown *)b)->server->name);
}

/* Ticks off one of that name; the line of the first, 0 where this is it. */
static unsigned tick_off(const struct walk *w, struct shown *first)
{
    const struct shown *end = w->shown + w->b->server_count;
    unsigned before = first->line;
    struct shown *s = first;
    while (s + 1 < end && s->line != 0 && order_of_shown(s, s + 1) == 0)
        s++;
    if (s->line == 0)
        s->line = w->line->number;
    return before;
}

/* Takes ownership of why (NULL: unknown). */
static char *not_shown(const char *kind, const char *name, char *why)
{
    char *text = mem_printf("%s%.64s is not shown by the Data Plane API%s%s", kind, name, why != NULL ? ": " : "",
                            why != NULL ? why : "");
    free(why);
    return text;
}

static char *compare_with(const struct walk *w, const struct backend_server *s)
{
    if (s->json == NULL)
        return NULL;
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(s->json, strlen(s->json), YYJSON_READ_BIGNUM_AS_RAW, "the server", NULL);
    if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
        return mem_strdup("what the Data Plane API shows of it cannot be read");
    return cfg_server_problem(&w->words, yyjson_doc_get_root(doc));
}

static char *server_reason(struct walk *w)
{
    const struct cfg_line *l = &w->words;
    if (l->broken)
        return mem_strdup("a quote does not end, or there are too many words");
    if (l->count < 3)
        return mem_strdup("a server line needs a name and an address");
    /* The API's tokenizer leaves quotes and escapes in the name. */
    cleanup(mem_free_ptr) char *name = mem_strndup(l->words[1].raw, l->words[1].raw_len);
    /* The first of that name. */
    const struct backend_server wanted = {.name = name};
    const struct shown key = {.server = &wanted};
    struct shown *s = bsearch(&key, w->shown, w->b->server_count, sizeof(*w->shown), order_of_shown);
    while (s != NULL && s > w->shown && order_of_shown(s - 1, s) == 0)
        s--;
    unsigned before = s != NULL ? tick_off(w, s) : 0;
    if (!l->words[1].plain)
        return mem_strdup("its name is quoted or escaped, which the Data Plane API takes literally");
    if (before != 0)
        return mem_printf("line %u has a server of that name already", before);
    return s != NULL ? compare_with(w, s->server) : not_shown("server ", name, cfg_keywords_problem(l, 3, NULL, false));
}

static char *template_reason(struct walk *w)
{
    const struct cfg_line *l = &w->words;
    if (l->broken || l->count < 4)
        return mem_strdup("a server-template line needs a prefix, a range and an address");
    char *why = cfg_keywords_problem(l, 4, NULL, false);
    for (size_t i = 0; i < w->b->template_count; i++)
        if (str_eq(w->b->templates[i].prefix, l->words[1].text))
            return why;
    return not_shown("server-template ", l->words[1].text, why);
}

/* Several lines are shown as one object, so only the keywords can be compared. */
static char *default_reason(struct walk *w)
{
    yyjson_val *obj = yyjson_obj_get(yyjson_doc_get_root(w->backend_doc), "default_server");
    if (w->words.broken)
        return mem_strdup("a quote does not end, or there are too many words");
    if (w->backend_doc != NULL && !yyjson_is_obj(obj) && w->words.count > 1)
        return not_shown("default-server", "", cfg_keywords_problem(&w->words, 1, NULL, false));
    return cfg_keywords_problem(&w->words, 1, obj, false);
}

/* ---- the file ---- */

static void check_line(struct walk *w)
{
    const char *first = cfg_word(&w->words, 0);
    if (str_eq(first, "default-server"))
        cfg_inherit_line(&w->inherit, &w->words, w->line->number);
    if (!w->inside)
        return;
    if (str_eq(first, "server"))
        add_this(w, server_reason(w));
    else if (str_eq(first, "server-template"))
        add_this(w, template_reason(w));
    else if (str_eq(first, "default-server"))
        add_this(w, default_reason(w));
}

static void cfg_servers_take_line(struct walk *w, const struct cfg_file_line *line)
{
    w->line = line;
    cfg_line_split(&w->words, line->text, line->len);
}

static void check_section(struct walk *w, const struct cfg_file_section *s)
{
    cfg_servers_take_line(w, s->line);
    cfg_inherit_section(&w->inherit, s, w->b->name);
    w->inside = str_eq(s->kind, "backend") && str_eq(s->name, w->b->name);
    if (w->inside && w->header != 0)
        add_this(w, mem_printf("line %u begins a backend of that name already", w->header));
    else if (w->inside)
        w->header = w->line->number;
    for (size_t i = 0; i < s->line_count && (w->inside || str_eq(s->kind, "defaults")); i++) {
        cfg_servers_take_line(w, &s->lines[i]);
        check_line(w);
    }
}

static void forget_unsupported(struct backend *b)
{
    for (size_t i = 0; i < b->unsupported_count; i++) {
        free(b->unsupported[i].text);
        free(b->unsupported[i].reason);
    }
    free(b->unsupported);
    b->unsupported = NULL;
    b->unsupported_count = 0;
}

static void walk_init(struct walk *w, struct backend *b)
{
    *w = (struct walk){.b = b, .shown = mem_array(b->server_count, sizeof(*w->shown))};
    for (size_t i = 0; i < b->server_count; i++)
        w->shown[i].server = &b->servers[i];
    if (b->server_count > 1)
        qsort(w->shown, b->server_count, sizeof(*w->shown), order_of_shown);
    cfg_line_init(&w->words);
    if (b->json != NULL)
        w->backend_doc = json_parse(b->json, strlen(b->json), YYJSON_READ_BIGNUM_AS_RAW, "the backend", NULL);
}

static void walk_fini(struct walk *w)
{
    free(w->shown);
    cfg_line_fini(&w->words);
    cfg_inherit_fini(&w->inherit);
    yyjson_doc_free(w->backend_doc);
}

int cfg_find_unsupported(const struct cfg_file *f, struct backend *b, struct error *err)
{
    forget_unsupported(b);
    cleanup(walk_fini) struct walk w;
    walk_init(&w, b);
    for (size_t i = 0; i < f->section_count; i++)
        check_section(&w, &f->sections[i]);
    cfg_inherit_apply(&w.inherit, b);
    const struct cfg_file_section *own = cfg_file_backend(f, b->name);
    b->takes_no_weights = own != NULL && !backend_algorithm_is_dynamic(cfg_inherit_balance(own, &w.words));
    if (f->version >= 0 && b->version >= 0 && f->version != b->version) {
        forget_unsupported(b); /* after a failed reload the file is the last good one, and the API's view is another */
        return 0;
    }
    if (w.header == 0)
        return error_set(err, ERROR_INVALID, "the Data Plane API shows backend %s, haproxy.cfg has none of that name",
                         b->name);
    for (size_t i = 0; i < w.b->server_count; i++) {
        if (w.shown[i].line != 0)
            continue;
        add_unsupported(&w, w.header, mem_printf("backend %s", w.b->name),
                        mem_printf("the Data Plane API shows server %.64s, which no line of the file makes",
                                   w.shown[i].server->name));
        if (w.unsupported_count == w.b->unsupported_count) /* not past the cap */
            w.b->unsupported[w.b->unsupported_count - 1].only_shown = true;
    }
    return 0;
}
