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

/* Any of these as the first word begins a section, wherever it stands. */
static const char *const kinds[] = {
    "acme",           "backend",     "cache",       "crt-store", "defaults",    "fcgi-app",    "frontend",
    "global",         "healthcheck", "http-errors", "listen",    "log-forward", "log-profile", "mailers",
    "namespace_list", "peers",       "program",     "resolvers", "ring",        "traces",      "userlist",
};

/* ---- parsing ---- */

static bool begins_section(const char *word)
{
    for (size_t i = 0; i < array_len(kinds); i++)
        if (str_eq(word, kinds[i]))
            return true;
    return false;
}

static void add_line(struct cfg_file *f, size_t *room, struct cfg_file_line line)
{
    if (f->line_count == *room) {
        *room = *room * 2 + 64;
        f->lines = mem_resize(f->lines, *room, sizeof(f->lines[0]));
    }
    f->lines[f->line_count++] = line;
}

/* Of the first line that says one. */
static void take_version(struct cfg_file *f, struct cfg_file_line line)
{
    static const char mark[] = "# _version=";
    uint64_t version;
    if (f->version >= 0 || line.len <= strlen(mark) || memcmp(line.text, mark, strlen(mark)) != 0)
        return;
    cleanup(mem_free_ptr) char *digits = mem_strndup(line.text + strlen(mark), line.len - strlen(mark));
    digits[strcspn(digits, " \t\r")] = '\0';
    if (str_parse_uint(digits, INT64_MAX, &version) == 0)
        f->version = (int64_t)version;
}

/* `line` is its number among the lines for now: they move. */
static void cfg_file_add_section(struct cfg_file *f, const struct cfg_line *words)
{
    f->sections = mem_resize(f->sections, f->section_count + 1, sizeof(f->sections[0]));
    struct cfg_file_section *s = &f->sections[f->section_count++];
    bool named = words->count > 1 && !str_eq(words->words[1].text, "from");
    size_t from = named ? 2 : 1;
    *s = (struct cfg_file_section){
        .kind = mem_strdup(cfg_word(words, 0)),
        .name = mem_strdup(named ? cfg_word(words, 1) : ""),
        .from = mem_strdup(str_eq(cfg_word(words, from), "from") ? cfg_word(words, from + 1) : ""),
        .line_count = f->line_count - 1};
}

static void take_line(struct cfg_file *f, size_t *room, struct cfg_line *words, struct cfg_file_line line)
{
    if (line.len >= CFGFILE_LINE_MAX_BYTES && f->too_long == 0)
        f->too_long = line.number;
    take_version(f, line);
    cfg_line_split(words, line.text, line.len);
    if (words->count == 0)
        return;
    add_line(f, room, line);
    if (begins_section(cfg_word(words, 0)))
        cfg_file_add_section(f, words);
}

/* Until there are too many. */
static void split_lines(struct cfg_file *f, const char *text, size_t len)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    struct cfg_file_line line = {.text = text};
    size_t room = 0;
    cfg_line_init(&words);
    for (const char *end = text + len; line.text < end && f->line_count <= LINES_MAX; line.text += line.len + 1) {
        const char *newline = memchr(line.text, '\n', (size_t)(end - line.text));
        line.len = (size_t)((newline != NULL ? newline : end) - line.text);
        line.number++;
        take_line(f, &room, &words, line);
    }
}

/* Now that the lines stay where they are. */
static void share_lines_out(struct cfg_file *f)
{
    const struct cfg_file_line *end = f->lines + f->line_count;
    for (size_t i = f->section_count; i-- > 0;) {
        struct cfg_file_section *s = &f->sections[i];
        s->line = &f->lines[s->line_count];
        s->lines = s->line + 1;
        s->line_count = (size_t)(end - s->lines);
        end = s->line;
    }
}

int cfg_file_init(struct cfg_file *f, const char *text, size_t len, struct error *err)
{
    *f = (struct cfg_file){.version = -1};
    if (len > 0 && memchr(text, '\0', len) != NULL)
        return error_set(err, ERROR_INVALID, "haproxy.cfg holds a NUL character: that is no configuration");
    if (len > 0)
        split_lines(f, text, len);
    if (f->section_count > 0)
        share_lines_out(f);
    bool too_many = f->line_count > LINES_MAX;
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
        free(f->sections[i].kind);
        free(f->sections[i].name);
        free(f->sections[i].from);
    }
    free(f->sections);
    free(f->lines);
    *f = (struct cfg_file){.version = -1};
}

/* ---- what no write may touch ---- */

/* "line 3, line 7 and 2 more: what; hint" for each kind of problem. */
#define LINES                               \
    {                                       \
        .between = ", ", .max = LINES_SHOWN \
    }

static void found(struct text_list *lines, unsigned line)
{
    if (text_list_next(lines))
        buf_printf(&lines->text, "%u", line);
}

static void cfg_file_tell(struct buf *out, struct text_list *lines, const char *what)
{
    const char *plural = lines->count > 1 ? "s" : "";
    cleanup(mem_free_ptr) char *list = text_list_take(lines);
    if (list != NULL)
        buf_printf(out, "%sline%s %s: %s", out->len > 0 ? "; " : "", plural, list, what);
}

static bool is_conditional(const char *word)
{
    static const char *const words[] = {".if", ".elif", ".else", ".endif"};
    for (size_t i = 0; i < array_len(words); i++)
        if (str_eq(word, words[i]))
            return true;
    return false;
}

static bool has_servers(const char *kind)
{
    return str_eq(kind, "backend") || str_eq(kind, "listen") || str_eq(kind, "peers");
}

static bool is_server(const char *word)
{
    return str_eq(word, "server") || str_eq(word, "server-template") || str_eq(word, "peer");
}

static void look_at_servers(const struct cfg_file_section *s, struct cfg_line *words, struct text_list *late)
{
    bool servers = false;
    for (size_t i = 0; has_servers(s->kind) && i < s->line_count; i++) {
        cfg_line_split(words, s->lines[i].text, s->lines[i].len);
        const char *first = cfg_word(words, 0);
        servers = servers || is_server(first);
        if (servers && str_eq(first, "default-server"))
            found(late, s->lines[i].number);
    }
}

char *cfg_file_problem(const struct cfg_file *f)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    struct text_list conditionals = LINES, late = LINES, too_long = LINES;
    struct buf out;
    cfg_line_init(&words);
    buf_init(&out, 0);
    for (size_t i = 0; i < f->line_count; i++) {
        if (memchr(f->lines[i].text, '.', f->lines[i].len) == NULL)
            continue;
        cfg_line_split(&words, f->lines[i].text, f->lines[i].len);
        if (is_conditional(cfg_word(&words, 0)))
            found(&conditionals, f->lines[i].number);
    }
    for (size_t i = 0; i < f->section_count; i++)
        look_at_servers(&f->sections[i], &words, &late);
    if (f->too_long != 0)
        found(&too_long, f->too_long);
    cfg_file_tell(&out, &conditionals,
                  "a conditional, of which all branches would be live: take it out, and keep the branch that is meant");
    cfg_file_tell(&out, &late,
                  "a default-server behind a server, which would come before all of them: move it up, or write its "
                  "options on the server lines that follow it");
    cfg_file_tell(&out, &too_long,
                  "longer than 64 KiB, at which the Data Plane API stops: the rest of the file would be gone; "
                  "break it up, or put what it lists into a file");
    return out.len > 0 ? buf_take(&out) : NULL;
}

bool cfg_file_is_proxy(const char *kind)
{
    return str_eq(kind, "frontend") || str_eq(kind, "backend") || str_eq(kind, "listen");
}

char *cfg_file_defaults_problem(const struct cfg_file *f)
{
    struct text_list lost = LINES;
    struct buf out;
    size_t last = f->section_count;
    buf_init(&out, 0);
    while (last > 0 && !str_eq(f->sections[last - 1].kind, "defaults"))
        last--;
    for (size_t i = 0; i < last; i++)
        if (cfg_file_is_proxy(f->sections[i].kind) && f->sections[i].from[0] == '\0')
            found(&lost, f->sections[i].line->number);
    cfg_file_tell(
        &out, &lost,
        "a proxy without `from` before the last of several defaults sections, which some Data Plane APIs would make it "
        "inherit from: name the defaults sections, and give each proxy its `from`");
    return out.len > 0 ? buf_take(&out) : NULL;
}
