#include "haproxy/cfg/backend_edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/siblings.h"

#define DEFAULT_INDENT "    "
#define INIT_ADDRESS "last,libc,none"

/* ---- one line whose words change in place ---- */

/* A line as it is to be: pieces of the old one, and what stands in the place of others. */
struct local_line {
    const struct cfg_file_line *line;
    struct cfg_line words;
    bool gone[RAWCFG_MAX_WORDS];           /* with the blanks in front of it */
    const char *instead[RAWCFG_MAX_WORDS]; /* NULL: as it stands */
    struct buf more;                       /* each with a blank in front */
    size_t unknown; /* the first keyword that is not known, and may take what stands behind it; 0: none */
};

static void local_line_init(struct local_line *e, const struct cfg_file_line *line)
{
    memset(e, 0, sizeof(*e));
    e->line = line;
    cfg_line_init(&e->words);
    cfg_line_split(&e->words, line->text, line->len);
}

static void local_line_fini(struct local_line *e)
{
    cfg_line_fini(&e->words);
    buf_fini(&e->more);
}

static void line_print(const struct local_line *e, struct buf *out)
{
    const char *at = e->line->text, *end = at + e->line->len;
    for (size_t i = 0; i < e->words.count; i++) {
        const struct cfg_word *w = &e->words.words[i];
        const char *behind = w->raw + w->raw_len;
        if (!e->gone[i]) {
            buf_addn(out, at, (size_t)(w->raw - at));
            if (e->instead[i] != NULL)
                buf_add(out, e->instead[i]);
            else
                buf_addn(out, w->raw, w->raw_len);
        }
        at = behind;
        if (i + 1 == (e->unknown != 0 ? e->unknown : e->words.count))
            buf_addn(out, buf_str(&e->more), e->more.len);
    }
    buf_addn(out, at, (size_t)(end - at));
}

/* Adds it to ret, where it is another line now. */
static void local_line_done(struct local_line *e, struct cfg_edits *ret)
{
    cleanup(buf_fini) struct buf text = {0};
    bool edited = e->more.len > 0;
    for (size_t i = 0; i < e->words.count; i++)
        edited = edited || e->gone[i] || e->instead[i] != NULL;
    if (!edited)
        return;
    line_print(e, &text);
    cfg_edits_add(ret, e->line->number, CFG_EDIT_REPLACE, buf_str(&text), text.len);
}

/* ---- keywords of a line, from word `first` on ---- */

static void line_drop(struct local_line *e, const struct cfg_lines_word *w)
{
    for (size_t i = w->at; i <= w->last; i++)
        e->gone[i] = true;
}

static struct cfg_lines_word line_word(struct local_line *e, size_t at)
{
    const struct cfg_lines_word w = cfg_lines_keyword(&e->words, at);
    if (!w.known && (e->unknown == 0 || at < e->unknown))
        e->unknown = at;
    return w;
}

/* Takes the words `off` out, and sees that `on` is there; either may be NULL. */
static void local_line_set(struct local_line *e, size_t first, const char *on, const char *off)
{
    bool there = false;
    for (size_t i = first; i < e->words.count;) {
        const struct cfg_lines_word w = line_word(e, i);
        if (off != NULL && str_eq(w.name, off))
            line_drop(e, &w);
        there = there || (on != NULL && str_eq(w.name, on));
        i = w.last + 1;
    }
    if (on != NULL && !there)
        buf_printf(&e->more, " %s", on);
}

/* The argument of each one there is, as the last one counts. value NULL: none is to be there. only_adds: what is there
 * stays. */
static void local_line_value(struct local_line *e, size_t first, const char *keyword, const char *value, bool only_adds)
{
    bool there = false;
    for (size_t i = first; i < e->words.count && !(there && only_adds);) {
        const struct cfg_lines_word w = line_word(e, i);
        bool is = str_eq(w.name, keyword);
        if (is && value == NULL)
            line_drop(e, &w);
        else if (is && !only_adds && w.last > w.at && !str_eq(cfg_word(&e->words, w.last), value))
            e->instead[w.last] = value;
        there = there || is;
        i = w.last + 1;
    }
    if (value != NULL && !there)
        buf_printf(&e->more, " %s %s", keyword, value);
}

/* ---- a server ---- */

static char *edit_place(const struct backend_server *s)
{
    return s->port != 0 ? str_host_port(s->address, s->port) : mem_strdup(s->address);
}

/* A DNS name that we put there: HAProxy is to start, and to take what it knew, though DNS is away. */
static bool edit_wants_init(const struct backend_server *s)
{
    return str_ip_family(s->address) == 0 && strpbrk(s->address, "/@") == NULL;
}

static void edit_server(struct local_line *e, const struct backend_server *s, unsigned fields, const char *place,
                        const char *weight, const char *check_port)
{
    if (fields & (SERVER_ADDRESS | SERVER_PORT))
        e->instead[2] = str_eq(cfg_word(&e->words, 2), place) ? NULL : place;
    if ((fields & SERVER_ADDRESS) && e->instead[2] != NULL && edit_wants_init(s))
        local_line_value(e, 3, "init-addr", INIT_ADDRESS, true);
    if (fields & SERVER_CHECK)
        local_line_set(e, 3, s->check ? "check" : NULL, s->check ? "no-check" : "check");
    if (fields & SERVER_CHECK_PORT)
        local_line_value(e, 3, "port", s->check_port != 0 ? check_port : NULL, false);
    if (fields & SERVER_WEIGHT)
        local_line_value(e, 3, "weight", weight, false);
    if (fields & SERVER_BACKUP)
        local_line_set(e, 3, s->no_backup ? "no-backup" : NULL, "backup");
    if (fields & SERVER_MAINTENANCE) {
        local_line_set(e, 3, s->maintenance ? "disabled" : NULL, s->maintenance ? "enabled" : "disabled");
        if (!s->maintenance && s->enabled)
            local_line_set(e, 3, "enabled", NULL);
    }
    if (fields & SERVER_PROXY_V2)
        local_line_set(e, 3, s->send_proxy_v2 ? "send-proxy-v2" : NULL,
                       s->send_proxy_v2 ? "no-send-proxy-v2" : "send-proxy-v2");
}

static void edit_set_server(const struct cfg_file_line *line, const struct change *c, struct cfg_edits *ret)
{
    const struct backend_server *s = c->server;
    cleanup(local_line_fini) struct local_line e;
    cleanup(mem_free_ptr) char *place = edit_place(s);
    cleanup(mem_free_ptr) char *weight = mem_printf("%d", s->weight >= 0 ? s->weight : SERVER_WEIGHT_DEFAULT);
    cleanup(mem_free_ptr) char *check_port = mem_printf("%u", s->check_port);
    local_line_init(&e, line);
    edit_server(&e, s, c->fields, place, weight, check_port);
    local_line_done(&e, ret);
}

/* Words that need it are in quotes: a name or an address is the API's or the cluster's. */
static void edit_add_word(struct buf *out, const char *word)
{
    if (word[strcspn(word, " \t\"'\\#$")] == '\0') {
        buf_add(out, word);
        return;
    }
    buf_add(out, "\"");
    for (; *word != '\0'; word++)
        buf_printf(out, strchr("\"\\$", *word) != NULL ? "\\%c" : "%c", *word);
    buf_add(out, "\"");
}

static int edit_new_server(const struct backend_server *s, const char *indent, size_t indent_len, struct buf *out,
                           struct error *err)
{
    cleanup(mem_free_ptr) char *place = edit_place(s);
    buf_addn(out, indent, indent_len);
    buf_add(out, "server ");
    edit_add_word(out, s->name);
    buf_add(out, " ");
    edit_add_word(out, place);
    if (s->check)
        buf_add(out, " check");
    if (s->check_port != 0)
        buf_printf(out, " port %u", s->check_port);
    if (!str_empty(s->rest) && siblings_print(s->rest, out, err) != 0)
        return error_prefix(err, "server %s", s->name);
    buf_printf(out, " weight %d", s->weight >= 0 ? s->weight : SERVER_WEIGHT_DEFAULT);
    if (s->no_backup)
        buf_add(out, " no-backup");
    if (s->maintenance)
        buf_add(out, " disabled");
    else if (s->enabled)
        buf_add(out, " enabled");
    if (s->send_proxy_v2)
        buf_add(out, " send-proxy-v2");
    if (edit_wants_init(s))
        buf_add(out, " init-addr " INIT_ADDRESS);
    return 0;
}

/* ---- where new lines stand ---- */

static bool edit_begins_with(const struct cfg_file_line *line, const char *word)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    cfg_line_split(&words, line->text, line->len);
    return str_eq(cfg_word(&words, 0), word);
}

/* As that line has it, or the first one of the section. */
static size_t edit_indent(const struct cfg_file_section *s, const struct cfg_file_line *like, const char **ret)
{
    for (size_t i = 0; i < s->line_count && like == NULL; i++)
        like = cfg_file_is_directive(&s->lines[i]) ? NULL : &s->lines[i];
    *ret = like != NULL ? like->text : DEFAULT_INDENT;
    return like != NULL ? strspn(like->text, " \t") : strlen(DEFAULT_INDENT);
}

static unsigned edit_last_number(const struct cfg_file *f)
{
    struct cfg_file_line line = {0};
    while (cfg_file_next(f, &line))
        continue;
    return line.number;
}

/* Behind the servers of its backend; of one that is made, at the end. */
static int edit_add_server(const struct cfg_file *f, const struct cfg_lines *b, const struct backend_server *server,
                           struct cfg_edits *ret, struct error *err)
{
    cleanup(buf_fini) struct buf text = {0};
    const struct cfg_file_section *s = b->section;
    const struct cfg_file_line *last = s != NULL && b->last == NULL ? cfg_file_last_own_line(s) : b->last;
    const char *indent = DEFAULT_INDENT;
    size_t indent_len = s != NULL ? edit_indent(s, b->last, &indent) : strlen(indent);
    if (edit_new_server(server, indent, indent_len, &text, err) != 0)
        return -1;
    cfg_edits_add(ret, s != NULL ? last->number : edit_last_number(f), CFG_EDIT_INSERT, buf_str(&text), text.len);
    return 0;
}

/* ---- the backend ---- */

static void edit_insert_first(const struct cfg_file_section *s, const char *text, struct cfg_edits *ret)
{
    const char *indent;
    size_t indent_len = edit_indent(s, NULL, &indent);
    cleanup(mem_free_ptr) char *line = mem_printf("%.*s%s", (int)indent_len, indent, text);
    cfg_edits_add(ret, s->line->number, CFG_EDIT_INSERT, line, strlen(line));
}

/* The last line of s that begins with that word, and goes on with one of `with` (NULL: with any word); NULL: there is none. */
static const struct cfg_file_line *edit_last(const struct cfg_file_section *s, const char *word,
                                             const char *const *with)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (size_t i = s->line_count; i-- > 0;) {
        cfg_line_split(&words, s->lines[i].text, s->lines[i].len);
        if (!str_eq(cfg_word(&words, 0), word))
            continue;
        const char *const *one = with;
        while (one != NULL && *one != NULL && !str_eq(cfg_word(&words, 1), *one))
            one++;
        if (one == NULL || *one != NULL)
            return &s->lines[i];
    }
    return NULL;
}

/* The last such line says that, with its blanks in front and its comment; or a new one does. */
static void edit_say(const struct cfg_file_section *s, const char *word, const char *const *with, const char *says,
                     struct cfg_edits *ret)
{
    const struct cfg_file_line *last = edit_last(s, word, with);
    cleanup(mem_free_ptr) char *text = mem_printf("%s %s", word, says);
    if (last == NULL) {
        edit_insert_first(s, text, ret);
        return;
    }
    cleanup(local_line_fini) struct local_line e;
    local_line_init(&e, last);
    for (size_t i = 1; i < e.words.count; i++)
        e.gone[i] = true;
    buf_printf(&e.more, " %s", says);
    local_line_done(&e, ret);
}

/* The last one counts, for HAProxy, too. */
static void edit_check(const struct cfg_file_section *s, const struct backend *b,
                       const struct backend_settings *settings, struct cfg_edits *ret)
{
    const char *want = settings->adv_check != NULL ? settings->adv_check : b->adv_check;
    bool asks = settings->httpchk_healthz && !(str_eq(b->adv_check, "httpchk") && b->httpchk_params);
    if (str_eq(want, b->adv_check) && !asks)
        return;
    cleanup(mem_free_ptr) char *option =
        mem_printf("%s%s", want, asks && str_eq(want, "httpchk") ? " GET /healthz" : "");
    edit_say(s, "option", cfg_check_options, option, ret);
}

/* In front of all servers: on a default-server that stands there, or on one of its own. */
static void edit_proxy_default(const struct cfg_file_section *s, struct cfg_edits *ret)
{
    for (size_t i = 0; i < s->line_count; i++) {
        if (edit_begins_with(&s->lines[i], "server"))
            break;
        if (!edit_begins_with(&s->lines[i], "default-server"))
            continue;
        cleanup(local_line_fini) struct local_line e;
        local_line_init(&e, &s->lines[i]);
        local_line_set(&e, 1, "send-proxy-v2", "no-send-proxy-v2");
        local_line_done(&e, ret);
        return;
    }
    edit_insert_first(s, "default-server send-proxy-v2", ret);
}

/* ---- a backend that is made ---- */

static void edit_append(const struct cfg_file *f, struct cfg_edits *ret, const char *text)
{
    cfg_edits_add(ret, edit_last_number(f), CFG_EDIT_INSERT, text, strlen(text));
}

static void edit_make_backend(const struct cfg_file *f, const struct change *c, struct cfg_edits *ret)
{
    const struct backend_settings *s = &c->settings;
    cleanup(mem_free_ptr) char *header = mem_printf("backend %s", c->backend->name);
    cleanup(mem_free_ptr) char *balance = mem_printf(DEFAULT_INDENT "balance %s", s->balance != NULL ? s->balance : "");
    cleanup(mem_free_ptr) char *check =
        mem_printf(DEFAULT_INDENT "option %s%s", s->adv_check != NULL ? s->adv_check : "",
                   s->httpchk_healthz && str_eq(s->adv_check, "httpchk") ? " GET /healthz" : "");
    edit_append(f, ret, "");
    edit_append(f, ret, header);
    edit_append(f, ret, DEFAULT_INDENT "mode tcp"); /* TLS and PROXY v2 go through to the ingress untouched */
    if (s->balance != NULL)
        edit_append(f, ret, balance);
    if (s->adv_check != NULL)
        edit_append(f, ret, check);
    if (s->proxy_v2)
        edit_append(f, ret, DEFAULT_INDENT "default-server send-proxy-v2");
}

/* ---- all of them ---- */

static int edit_one(const struct cfg_file *f, struct cfg_lines *b, const struct change *c, struct cfg_edits *ret,
                    struct error *err)
{
    cfg_lines_find(b, f, c->backend->name);
    switch (c->kind) {
    case CHANGE_MAKE_BACKEND:
        edit_make_backend(f, c, ret);
        return 0;
    case CHANGE_SET_BACKEND:
        if (b->section == NULL)
            return error_set(err, ERROR_INVALID, "haproxy.cfg has no backend %s", c->backend->name);
        if (c->settings.balance != NULL && !str_eq(c->settings.balance, c->backend->balance))
            edit_say(b->section, "balance", NULL, c->settings.balance, ret); /* another's parameters go with it */
        edit_check(b->section, c->backend, &c->settings, ret);
        if (c->settings.proxy_v2 && !c->backend->default_send_proxy_v2)
            edit_proxy_default(b->section, ret);
        return 0;
    case CHANGE_ADD_SERVER:
        if (cfg_lines_server(b, c->server->name) != NULL)
            return error_set(err, ERROR_INVALID, "haproxy.cfg has server %s already", c->server->name);
        return edit_add_server(f, b, c->server, ret, err);
    case CHANGE_SET_SERVER:
    case CHANGE_REMOVE_SERVER:
        break;
    }
    const struct cfg_file_line *line = cfg_lines_server(b, c->server->name);
    if (line == NULL)
        return error_set(err, ERROR_INVALID, "haproxy.cfg has no server %s in backend %s", c->server->name,
                         c->backend->name);
    if (c->kind == CHANGE_SET_SERVER)
        edit_set_server(line, c, ret);
    else
        cfg_edits_add(ret, line->number, CFG_EDIT_REMOVE, NULL, 0);
    return 0;
}

int cfg_backend_edit(const struct cfg_file *f, const struct change *changes, size_t count, struct cfg_edits *ret,
                     struct error *err)
{
    cleanup(cfg_lines_fini) struct cfg_lines b = {0};
    for (size_t i = 0; i < count; i++)
        if (edit_one(f, &b, &changes[i], ret, err) != 0)
            return -1;
    return 0;
}
