/* Two files by their meaning: what HAProxy makes of a line depends on its section, and on the lines of its kind before
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"

#define SHOWN 5
#define NAME_SHOWN 64

/* A line, or with text "from NAME" a section's header. */
struct entry {
    char *key;  /* section and kind of line: only among those does the order matter */
    char *text; /* its words; may be a secret */
    unsigned line;
    size_t order;
    const struct cfg_file_section *in;
};

struct bag {
    struct entry *list; /* ordered by key, then as in the file */
    size_t count, room;
};

/* ---- which lines are of one kind ---- */

/* Of these the last one counts, or what comes later builds upon it: one kind. */
static const struct {
    const char *of, *kind;
} sets[] = {
    {"option httplog", "log format"},
    {"option tcplog", "log format"},
    {"option httpslog", "log format"},
    {"log-format", "log format"},
    {"option httpclose", "connection mode"},
    {"option http-server-close", "connection mode"},
    {"option http-keep-alive", "connection mode"},
    {"setenv", "environment"},
    {"presetenv", "environment"},
    {"unsetenv", "environment"},
    {"resetenv", "environment"},
    {"lua-load", "lua"},
    {"lua-load-per-thread", "lua"},
    {"lua-prepend-path", "lua"},
};

/* Their second word says what they are. */
static const char *const prefixes[] = {"capture", "compression", "email-alert",  "option", "rate-limit",
                                       "stats",   "tcp-request", "tcp-response", "timeout"};

static bool is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(word, words[i]))
            return true;
    return false;
}

static bool is_check(const char *option)
{
    return str_has_suffix(option, "-check") || str_has_suffix(option, "chk");
}

/* Allocates. */
static char *kind_of(const struct cfg_line *l)
{
    size_t at = str_eq(cfg_word(l, 0), "no") && l->count > 1;
    const char *first = cfg_word(l, at), *second = cfg_word(l, at + 1);
    bool two = is_among(first, prefixes, array_len(prefixes));
    if (str_eq(first, "option") && is_check(second))
        return mem_strdup("check");
    char *kind = mem_printf("%s%s%s", first, two ? " " : "", two ? second : "");
    for (size_t i = 0; i < array_len(sets); i++) {
        if (!str_eq(kind, sets[i].of))
            continue;
        free(kind);
        return mem_strdup(sets[i].kind);
    }
    return kind;
}

/* Said twice, the last one counts, and the API writes one. */
static bool last_counts(const char *key)
{
    static const char *const kinds[] = {"option ", "timeout ", "thread-groups"};
    const char *kind = strrchr(key, '\n') + 1;
    for (size_t i = 0; i < array_len(kinds); i++)
        if (str_has_prefix(kind, kinds[i]))
            return true;
    return false;
}

/* ---- what is there ---- */

static void cfg_compare_add(struct bag *b, struct entry e)
{
    if (b->count == b->room) {
        b->room = b->room * 2 + 64;
        b->list = mem_resize(b->list, b->room, sizeof(b->list[0]));
    }
    e.order = b->count;
    b->list[b->count++] = e;
}

/* Whether the API writes the words behind the first in an order of its own, up to the condition. */
static bool is_regrouped(const struct cfg_line *l)
{
    static const char *const lines[] = {"cookie", "http-check", "http-error", "stick-table", "tcp-check"};
    static const char *const rules[] = {"http-request", "http-response"};
    static const char *const actions[] = {"deny", "return", "tarpit"};
    return is_among(cfg_word(l, 0), lines, array_len(lines)) ||
           (is_among(cfg_word(l, 0), rules, array_len(rules)) && is_among(cfg_word(l, 1), actions, array_len(actions)));
}

static int order_of_words(const void *a, const void *b)
{
    return strcmp(((const struct cfg_word *)a)->text, ((const struct cfg_word *)b)->text);
}

/* As the API regroups and names them, too: by the alphabet. */
static void regroup(struct cfg_line *l)
{
    size_t end = 1;
    bool rule = str_has_prefix(cfg_word(l, 0), "http-re");
    for (; end < l->count && !str_eq(l->words[end].text, "if") && !str_eq(l->words[end].text, "unless"); end++)
        if (rule && str_eq(l->words[end].text, "status"))
            l->words[end] = (struct cfg_word){.text = "deny_status", .plain = true};
    if (end > 3)
        qsort(&l->words[2], end - 2, sizeof(l->words[0]), order_of_words);
}

/* Quotes are no matter, but a variable is one only in "". What is broken is taken as it stands. */
static char *cfg_compare_text_of(const struct cfg_line *l, const struct cfg_file_line *line, size_t defaults_before)
{
    struct buf out;
    buf_init_secret(&out, 0);
    for (size_t i = 0; !l->broken && i < l->count; i++) {
        const struct cfg_word *w = &l->words[i];
        bool as_it_is = !w->plain && memchr(w->raw, '$', w->raw_len) != NULL;
        buf_addn(&out, "\x1f", i > 0);
        buf_addn(&out, as_it_is ? w->raw : w->text, as_it_is ? w->raw_len : strlen(w->text));
    }
    if (l->broken)
        buf_addn(&out, line->text, line->len);
    if (defaults_before > 0)
        buf_printf(&out, "\x1f%zu", defaults_before);
    return buf_take(&out);
}

static bool is_ours(const struct cfg_file_ours *ours, const struct cfg_file_section *s, const struct cfg_line *l)
{
    return ours != NULL && ours->is_ours(ours->arg, s->kind, s->name, l != NULL ? cfg_word(l, 0) : NULL,
                                         l != NULL ? cfg_word(l, 1) : NULL);
}

static void add_lines(struct bag *b, const struct cfg_file_section *s, const char *section, struct cfg_line *words,
                      const struct cfg_file_ours *ours)
{
    static const char *const servers[] = {"server", "server-template", "peer"};
    size_t defaults = 0;
    for (size_t i = 0; i < s->line_count; i++) {
        cfg_line_split(words, s->lines[i].text, s->lines[i].len);
        if (is_ours(ours, s, words))
            continue;
        cleanup(mem_free_ptr) char *kind = kind_of(words);
        /* Among peers, the order of the servers says nothing. */
        const char *peer = str_eq(s->kind, "peers") ? cfg_word(words, 1) : "";
        bool server = is_among(kind, servers, array_len(servers));
        if (!words->broken && is_regrouped(words))
            regroup(words);
        defaults += str_eq(kind, "default-server"); /* counts for what follows it */
        cfg_compare_add(b, (struct entry){.key = mem_printf("%s\n%s%s", section, kind, peer),
                                          .text = cfg_compare_text_of(words, &s->lines[i], server ? defaults : 0),
                                          .line = s->lines[i].number,
                                          .in = s});
    }
}

/* ---- sections ---- */

/* The API's name for an unnamed one. Allocates. */
static char *name_of_defaults(const struct cfg_file *f, size_t section)
{
    size_t number = 1;
    if (f->sections[section].name[0] != '\0')
        return mem_strdup(f->sections[section].name);
    for (size_t i = 0; i < section; i++)
        number += str_eq(f->sections[i].kind, "defaults") && f->sections[i].name[0] == '\0';
    return mem_printf("unnamed_defaults_%zu", number);
}

/* The name of the defaults section that it inherits from; "": none. last: the number of the last one before it, from 1;
 * 0: none. Allocates. */
static char *inherits(const struct cfg_file *f, const struct cfg_file_section *s, size_t last)
{
    if (s->from[0] != '\0' || !cfg_file_is_proxy(s->kind))
        return mem_strdup(s->from);
    return last > 0 ? name_of_defaults(f, last - 1) : mem_strdup("");
}

static void cfg_compare_add_section(struct bag *b, const struct cfg_file *f, size_t i, size_t last_defaults,
                                    struct cfg_line *words, const struct cfg_file_ours *ours)
{
    const struct cfg_file_section *s = &f->sections[i];
    cleanup(mem_free_ptr) char *name = str_eq(s->kind, "defaults") ? name_of_defaults(f, i) : mem_strdup(s->name);
    cleanup(mem_free_ptr) char *section = mem_printf("%s %s", s->kind, name);
    if (!str_eq(s->kind, "global") && !is_ours(ours, s, NULL))
        cfg_compare_add(b, (struct entry){.key = mem_printf("%s\n", section),
                                          .text = inherits(f, s, last_defaults),
                                          .line = s->line->number,
                                          .in = s});
    add_lines(b, s, section, words, ours);
}

static int order_of_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int n = strcmp(x->key, y->key);
    return n != 0 ? n : (x->order > y->order) - (x->order < y->order);
}

static void bag_init(struct bag *b, const struct cfg_file *f, const struct cfg_file_ours *ours)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    size_t last_defaults = 0;
    *b = (struct bag){0};
    cfg_line_init(&words);
    for (size_t i = 0; i < f->section_count; i++) {
        cfg_compare_add_section(b, f, i, last_defaults, &words, ours);
        last_defaults = str_eq(f->sections[i].kind, "defaults") ? i + 1 : last_defaults;
    }
    if (b->count > 1)
        qsort(b->list, b->count, sizeof(b->list[0]), order_of_entries);
}

static void bag_fini(struct bag *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->list[i].key);
        mem_wipe_free(b->list[i].text);
    }
    free(b->list);
}

/* ---- the comparison ---- */

/* Those of one key. */
struct run {
    const struct entry *list;
    size_t count;
};

static struct run next_run(const struct bag *b, size_t at, const char *key)
{
    struct run r = {.list = b->list != NULL ? &b->list[at] : NULL};
    while (at + r.count < b->count && strcmp(r.list[r.count].key, key) == 0)
        r.count++;
    return r;
}

static bool is_header(const struct entry *e)
{
    return str_has_suffix(e->key, "\n");
}

/* "http-request deny": as it may be shown. */
static char *shown(const struct entry *e)
{
    cleanup(mem_free_ptr) char *text = mem_strndup(e->text, text_cut(e->text, NAME_SHOWN));
    char *second = strchr(text, '\x1f');
    if (second != NULL)
        second[1 + strcspn(second + 1, "\x1f")] = '\0';
    return text_shown(text, TEXT_FLAT, TEXT_WHOLE);
}

/* "line 7 ("http-request deny" of frontend web) ", without the line where it is none of the file's. */
static void say(struct text_list *r, const struct entry *e, bool before, const char *what)
{
    if (!text_list_next(r))
        return;
    cleanup(mem_free_ptr) char *text = shown(e);
    if (before)
        buf_printf(&r->text, "line %u ", e->line);
    buf_printf(&r->text, "(%s%s%s%s%s%.*s) %s", is_header(e) ? "" : "\"", is_header(e) ? "" : text,
               is_header(e) ? "" : "\" of ", e->in->kind, e->in->name[0] != '\0' ? " " : "", NAME_SHOWN, e->in->name,
               what);
}

static bool has(const struct run *r, size_t from, const char *text)
{
    for (size_t i = from; i < r->count; i++)
        if (strcmp(r->list[i].text, text) == 0)
            return true;
    return false;
}

static void compare_headers(struct run before, struct run after, struct text_list *r)
{
    if (after.count == 0) {
        say(r, &before.list[0], true, "would be gone");
    } else if (before.count == 0) {
        say(r, &after.list[0], false, "would be there, too");
    } else if (before.count != after.count) {
        say(r, &before.list[0], true, "would not be there as often");
    } else {
        for (size_t i = 0; i < before.count; i++) {
            const char *was = before.list[i].text, *is = after.list[i].text;
            cleanup(mem_free_ptr) char *what =
                mem_printf("would inherit from %s%.*s instead of %s%.*s", is[0] != '\0' ? "defaults " : "nothing",
                           NAME_SHOWN, is, was[0] != '\0' ? "defaults " : "nothing", NAME_SHOWN, was);
            if (strcmp(was, is) != 0)
                say(r, &before.list[i], true, what);
        }
    }
}

static void compare_lines(struct run before, struct run after, struct text_list *r)
{
    size_t i = 0;
    while (i < before.count && i < after.count && strcmp(before.list[i].text, after.list[i].text) == 0)
        i++;
    if (i < before.count && !has(&after, i, before.list[i].text))
        say(r, &before.list[i], true, "would be gone or changed");
    else if (i < after.count && !has(&before, i, after.list[i].text))
        say(r, &after.list[i], false, "would be there, too");
    else if (i < before.count)
        say(r, &before.list[i], true, "would come after what is behind it now");
}

static struct run last_of(struct run r)
{
    return r.count > 1 && last_counts(r.list[0].key) ? (struct run){.list = &r.list[r.count - 1], .count = 1} : r;
}

static void compare_runs(struct run before, struct run after, struct text_list *r)
{
    bool header = is_header(before.count > 0 ? &before.list[0] : &after.list[0]);
    if (header) {
        compare_headers(before, after, r);
        return;
    }
    compare_lines(last_of(before), last_of(after), r);
}

char *cfg_file_compare(const struct cfg_file *before, const struct cfg_file *after, const struct cfg_file_ours *ours)
{
    cleanup(bag_fini) struct bag a;
    cleanup(bag_fini) struct bag b;
    struct text_list r = {.between = "; ", .max = SHOWN};
    bag_init(&a, before, ours);
    bag_init(&b, after, ours);
    for (size_t i = 0, k = 0; i < a.count || k < b.count;) {
        bool of_a = k == b.count || (i < a.count && strcmp(a.list[i].key, b.list[k].key) <= 0);
        const char *key = of_a ? a.list[i].key : b.list[k].key;
        struct run was = next_run(&a, i, key), is = next_run(&b, k, key);
        compare_runs(was, is, &r);
        i += was.count;
        k += is.count;
    }
    return text_list_take(&r);
}
