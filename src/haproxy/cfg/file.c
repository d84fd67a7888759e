#include "haproxy/cfg/file.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/words.h"

#define LINES_SHOWN 5
/* 64 backends of 5,000 servers have a third of that. What is kept of a line is many times one of a single letter. */
#define LINES_MAX 1000000
#define VERSION_MARK "# _version="
#define GIVEN_NAME "unnamed_defaults_"

/* Any of these as the first word begins a section, wherever it stands. */
static const char *const kinds[] = {
    "acme",           "backend",     "cache",       "crt-store", "defaults",    "fcgi-app",    "frontend",
    "global",         "healthcheck", "http-errors", "listen",    "log-forward", "log-profile", "mailers",
    "namespace_list", "peers",       "program",     "resolvers", "ring",        "traces",      "userlist",
};

/* ---- parsing ---- */

static void add_line(struct cfg_file *f, struct cfg_file_line line)
{
    f->lines = mem_one_more(f->lines, f->line_count, sizeof(f->lines[0]));
    f->lines[f->line_count++] = line;
}

static int order_of_names(const void *a, const void *b)
{
    return strcmp((*(const struct cfg_file_section *const *)a)->name,
                  (*(const struct cfg_file_section *const *)b)->name);
}

/* The defaults section of that name in the files before f, or (NULL) the last one of all; NULL: none. */
static const struct cfg_file_section *cfg_file_find_before(const struct cfg_file *f, const char *name)
{
    for (const struct cfg_file *b = f->before; b != NULL; b = b->before)
        for (size_t i = b->section_count; i-- > 0;)
            if (str_eq(b->sections[i].kind, "defaults") && (name == NULL || str_eq(b->sections[i].name, name)))
                return &b->sections[i];
    return NULL;
}

static void cfg_file_find_defaults(struct cfg_file *f)
{
    cleanup(mem_free_ptr) const struct cfg_file_section **named = mem_array(f->section_count, sizeof(*named));
    size_t count = 0; /* of those with a name, ordered by it */
    for (size_t i = 0; i < f->section_count; i++)
        if (str_eq(f->sections[i].kind, "defaults") && f->sections[i].name[0] != '\0')
            named[count++] = &f->sections[i];
    if (count > 1)
        qsort(named, count, sizeof(*named), order_of_names);
    const struct cfg_file_section *last = cfg_file_find_before(f, NULL);
    for (size_t i = 0; i < f->section_count; i++) {
        struct cfg_file_section *s = &f->sections[i];
        if (s->from[0] != '\0') {
            /* HAProxy has to know it when it comes to s. */
            const struct cfg_file_section wanted = {.name = s->from}, *key = &wanted, **found = NULL;
            if (count > 0)
                found = bsearch(&key, named, count, sizeof(*named), order_of_names);
            s->defaults = found != NULL && (*found)->line->number < s->line->number ? *found : NULL;
            if (s->defaults == NULL)
                s->defaults = cfg_file_find_before(f, s->from);
        } else if (cfg_file_is_proxy(s->kind))
            s->defaults = last;
        last = str_eq(s->kind, "defaults") ? s : last;
    }
}

static bool begins_section(const char *word, size_t len)
{
    for (size_t i = 0; len > 0 && i < array_len(kinds); i++)
        if (kinds[i][0] == word[0] && strlen(kinds[i]) == len && memcmp(kinds[i], word, len) == 0)
            return true;
    return false;
}

static void take_line(struct cfg_file *f, struct cfg_line *words, struct cfg_file_line line)
{
    bool carriage_return = line.end_len > 0 && line.text[line.len] == '\r';
    if (line.len + carriage_return >= CFGFILE_LINE_MAX_BYTES && f->too_long == 0)
        f->too_long = line.number;
    uint64_t version;
    if (f->version < 0 && line.len > strlen(VERSION_MARK) &&
        memcmp(line.text, VERSION_MARK, strlen(VERSION_MARK)) == 0) {
        cleanup(mem_free_ptr) char *digits =
            mem_strndup(line.text + strlen(VERSION_MARK), line.len - strlen(VERSION_MARK));
        digits[strcspn(digits, " \t")] = '\0';
        if (str_parse_uint(digits, INT64_MAX, &version) == 0)
            f->version = (int64_t)version; /* of the first line that says one */
    }
    line.plain = cfg_line_plain(line.text, line.len, &line.plain_len);
    size_t first = 0; /* word's end */
    while (line.plain != NULL && first < line.plain_len && line.plain[first] != ' ' &&
           !(line.plain[first] >= '\t' && line.plain[first] <= '\r'))
        first++;
    /* Most lines need no splitting: a word and a blank, so often, are too few for more words than HAProxy takes. */
    if (line.plain != NULL && line.plain_len <= 2 * CFGFILE_WORDS_MAX && !begins_section(line.plain, first)) {
        if (line.plain_len > 0)
            add_line(f, line);
        return;
    }
    cfg_line_split(words, line.text, line.len);
    if (words->count == 0)
        return;
    if (words->count > CFGFILE_WORDS_MAX && f->wordy == 0)
        f->wordy = line.number;
    else if (words->broken && f->broken == 0)
        f->broken = line.number;
    add_line(f, line);
    if (begins_section(cfg_word(words, 0), strlen(cfg_word(words, 0)))) {
        /* `line` is its number among the lines for now: they move. */
        f->sections = mem_one_more(f->sections, f->section_count, sizeof(f->sections[0]));
        struct cfg_file_section *s = &f->sections[f->section_count++];
        /* As HAProxy has it: `from` may be a name, too. */
        bool named = words->count > 1 && !(words->count == 3 && str_eq(cfg_word(words, 0), "defaults") &&
                                           str_eq(cfg_word(words, 1), "from"));
        size_t from = named ? 2 : 1;
        *s = (struct cfg_file_section){
            .kind = mem_strdup(cfg_word(words, 0)),
            .name = mem_strdup(named ? cfg_word(words, 1) : ""),
            .from = mem_strdup(str_eq(cfg_word(words, from), "from") ? cfg_word(words, from + 1) : ""),
            .line_count = f->line_count - 1};
    }
}

bool cfg_file_next(const struct cfg_file *f, struct cfg_file_line *line)
{
    const char *begin = line->text != NULL ? line->text + line->len + line->end_len : f->text;
    size_t left = f->len - (size_t)(begin - f->text);
    if (left == 0)
        return false;
    const char *newline = memchr(begin, '\n', left);
    size_t len = newline != NULL ? (size_t)(newline - begin) : left;
    bool carriage_return = len > 0 && begin[len - 1] == '\r';
    *line = (struct cfg_file_line){.text = begin,
                                   .len = len - carriage_return,
                                   .number = line->number + 1,
                                   .end_len = ((unsigned)carriage_return + (newline != NULL)) & 3};
    return true;
}

bool cfg_file_is_directive(const struct cfg_file_line *line)
{
    return line->text[strspn(line->text, " \t\v\f\r")] == '.';
}

const struct cfg_file_line *cfg_file_last_own_line(const struct cfg_file_section *s)
{
    for (size_t i = s->line_count; i-- > 0;)
        if (!cfg_file_is_directive(&s->lines[i]))
            return &s->lines[i];
    return s->line;
}

static const struct cfg_file_section *cfg_file_find_backend(const struct cfg_file *f, size_t from, const char *backend)
{
    for (size_t i = from; i < f->section_count; i++)
        if (str_eq(f->sections[i].kind, "backend") && str_eq(f->sections[i].name, backend))
            return &f->sections[i];
    return NULL;
}

const struct cfg_file_section *cfg_file_backend(const struct cfg_file *f, const char *backend)
{
    return cfg_file_find_backend(f, 0, backend);
}

const struct cfg_file_section *cfg_file_backend_again(const struct cfg_file *f, const struct cfg_file_section *first)
{
    return cfg_file_find_backend(f, (size_t)(first - f->sections) + 1, first->name);
}

void cfg_file_parse(struct cfg_file *f, const char *text, size_t len)
{
    cfg_file_parse_behind(f, text, len, NULL);
}

void cfg_file_parse_behind(struct cfg_file *f, const char *text, size_t len, const struct cfg_file *before)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    struct cfg_file_line line = {0};
    *f = (struct cfg_file){.text = text, .len = len, .version = -1, .before = before};
    cfg_line_init(&words);
    while (f->line_count <= LINES_MAX && cfg_file_next(f, &line))
        take_line(f, &words, line);
    f->too_many = f->line_count > LINES_MAX;
    int depth = 0;
    for (size_t i = 0; i < f->line_count; i++) {
        struct cfg_file_line *at = &f->lines[i];
        at->conditional = depth > 0 && !cfg_file_is_directive(at);
        if (!cfg_file_is_directive(at))
            continue;
        cfg_line_split(&words, at->text, at->len);
        depth += str_eq(cfg_word(&words, 0), ".if") ? 1 : str_eq(cfg_word(&words, 0), ".endif") ? -1 : 0;
    }
    if (f->section_count > 0) {
        /* Now that the lines stay where they are. */
        const struct cfg_file_line *end = f->lines + f->line_count;
        for (size_t i = f->section_count; i-- > 0;) {
            struct cfg_file_section *s = &f->sections[i];
            s->line = &f->lines[s->line_count];
            s->lines = s->line + 1;
            s->line_count = (size_t)(end - s->lines);
            end = s->line;
        }
    }
    cfg_file_find_defaults(f);
    /* Which numbers of given names are in the file already, as names of any section: HAProxy 3.3 refuses a proxy that is
     * called like a defaults section. Each section may have two of them, and need one. */
    size_t count = f->section_count * 3 + 2, number = 0;
    cleanup(mem_free_ptr) bool *used = mem_array(count, sizeof(*used));
    for (size_t i = 0; i < 2 * f->section_count; i++) {
        const char *name = i % 2 == 0 ? f->sections[i / 2].name : f->sections[i / 2].from;
        uint64_t n;
        if (str_has_prefix(name, GIVEN_NAME) && str_parse_uint(name + strlen(GIVEN_NAME), count - 1, &n) == 0)
            used[n] = true;
    }
    for (size_t i = 0; i < f->section_count; i++) {
        struct cfg_file_section *s = &f->sections[i];
        if (!str_eq(s->kind, "defaults") || s->name[0] != '\0')
            continue;
        do
            number++;
        while (used[number]);
        s->given_name = mem_printf(GIVEN_NAME "%zu", number);
    }
}

int cfg_file_init(struct cfg_file *f, const char *text, size_t len, struct error *err)
{
    *f = (struct cfg_file){.version = -1};
    if (len > 0 && memchr(text, '\0', len) != NULL)
        return error_set(err, ERROR_INVALID, "haproxy.cfg holds a NUL character: that is no configuration");
    cfg_file_parse(f, text, len);
    bool too_many = f->too_many;
    if (f->section_count > 0 && !too_many)
        return 0;
    cfg_file_fini(f);
    if (too_many)
        return error_set(err, ERROR_INVALID, "haproxy.cfg as the Data Plane API gives it has more than %d lines",
                         LINES_MAX);
    return error_set(err, ERROR_INVALID, "haproxy.cfg as the Data Plane API gives it has no section at all: \"%.*s\"",
                     (int)(len < 80 ? len : 80), text);
}

void cfg_file_fini(struct cfg_file *f)
{
    for (size_t i = 0; i < f->section_count; i++) {
        mem_free_all(f->sections[i].kind, f->sections[i].name, f->sections[i].from, f->sections[i].given_name);
    }
    mem_free_all(f->sections, f->lines);
    *f = (struct cfg_file){.version = -1};
}

/* ---- what no write may touch ---- */

/* "line 3, line 7 and 2 more: what; hint" for each kind of problem. */
#define LINES                               \
    {                                       \
        .between = ", ", .max = LINES_SHOWN \
    }

static void problem_in_line(struct text_list *lines, unsigned line)
{
    if (text_list_next(lines))
        buf_printf(&lines->text, "%u", line);
}

static void cfg_file_add_problem(struct buf *out, struct text_list *lines, const char *what)
{
    const char *plural = lines->count > 1 ? "s" : "";
    cleanup(mem_free_ptr) char *list = text_list_take(lines);
    if (list != NULL)
        buf_printf(out, "%sline%s %s: %s", out->len > 0 ? "; " : "", plural, list, what);
}

/* Its first word may begin with one of the two letters: only then it is split. */
static bool may_begin_with(const struct cfg_file_line *line, const char letters[static 2])
{
    return line->plain == NULL || line->plain[0] == letters[0] || line->plain[0] == letters[1];
}

static void check_servers(const struct cfg_file_section *s, struct cfg_line *words, struct text_list *late)
{
    static const char *const sections[] = {"backend", "listen", "peers"};
    static const char *const lines[] = {"server", "server-template", "peer"};
    bool servers = false;
    if (!cfg_is_among(s->kind, sections, array_len(sections)))
        return;
    for (size_t i = 0; i < s->line_count; i++) {
        if (!may_begin_with(&s->lines[i], servers ? "d" : "sp"))
            continue;
        cfg_line_split(words, s->lines[i].text, s->lines[i].len);
        const char *first = cfg_word(words, 0);
        servers = servers || cfg_is_among(first, lines, array_len(lines));
        if (servers && str_eq(first, "default-server"))
            problem_in_line(late, s->lines[i].number);
    }
}

char *cfg_file_problem(const struct cfg_file *f)
{
    static const char *const conditions[] = {".if", ".elif", ".else", ".endif"};
    cleanup(cfg_line_fini) struct cfg_line words;
    struct text_list conditionals = LINES, late = LINES, too_long = LINES;
    struct buf out = {0};
    cfg_line_init(&words);
    for (size_t i = 0; i < f->line_count; i++) {
        if (!may_begin_with(&f->lines[i], "."))
            continue;
        cfg_line_split(&words, f->lines[i].text, f->lines[i].len);
        if (cfg_is_among(cfg_word(&words, 0), conditions, array_len(conditions)))
            problem_in_line(&conditionals, f->lines[i].number);
    }
    for (size_t i = 0; i < f->section_count; i++)
        check_servers(&f->sections[i], &words, &late);
    if (f->too_long != 0)
        problem_in_line(&too_long, f->too_long);
    cfg_file_add_problem(
        &out, &conditionals,
        "a conditional, whose branches would all become active: replace it by the branch that is meant");
    cfg_file_add_problem(&out, &late,
                         "a default-server after a server, which would move before all of them: move it up, or write "
                         "its options on the server lines that follow it");
    cfg_file_add_problem(&out, &too_long,
                         "longer than 64 KiB: the Data Plane API stops there, and the rest of the file would be lost; "
                         "split it, or move its list into a file");
    return out.len > 0 ? buf_take(&out) : NULL;
}

const char *cfg_file_name(const struct cfg_file_section *s)
{
    return s->given_name != NULL ? s->given_name : s->name;
}

int cfg_file_section_order(const struct cfg_file_section *a, const struct cfg_file_section *b)
{
    int n = strcmp(a->kind, b->kind);
    return n != 0 ? n : strcmp(cfg_file_name(a), cfg_file_name(b));
}

static int order_of_sections(const void *a, const void *b)
{
    const struct cfg_file_section *x = *(const struct cfg_file_section *const *)a;
    const struct cfg_file_section *y = *(const struct cfg_file_section *const *)b;
    int n = cfg_file_section_order(x, y);
    return n != 0 ? n : (x->line->number > y->line->number) - (x->line->number < y->line->number);
}

const struct cfg_file_section **cfg_file_ordered_sections(const struct cfg_file *f)
{
    const struct cfg_file_section **list = mem_array(f->section_count, sizeof(*list));
    for (size_t i = 0; i < f->section_count; i++)
        list[i] = &f->sections[i];
    if (f->section_count > 1)
        qsort(list, f->section_count, sizeof(*list), order_of_sections);
    return list;
}

bool cfg_file_is_proxy(const char *kind)
{
    return str_eq(kind, "frontend") || str_eq(kind, "backend") || str_eq(kind, "listen");
}

char *cfg_file_defaults_problem(const struct cfg_file *f)
{
    struct text_list lost = LINES;
    struct buf out = {0};
    size_t last = f->section_count;
    while (last > 0 && !str_eq(f->sections[last - 1].kind, "defaults"))
        last--;
    for (size_t i = 0; i < last; i++)
        if (cfg_file_is_proxy(f->sections[i].kind) && f->sections[i].from[0] == '\0')
            problem_in_line(&lost, f->sections[i].line->number);
    cfg_file_add_problem(
        &out, &lost,
        "a proxy without `from` before the last of several defaults sections, which some Data Plane APIs would make it "
        "inherit from: name the defaults sections, and give each proxy its `from`");
    return out.len > 0 ? buf_take(&out) : NULL;
}
