#include "haproxy/cfg/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/inherit.h"
#include "haproxy/cfg/keywords.h"
#include "haproxy/siblings.h"

#define TEXT_SHOWN 203

const char *const cfg_check_options[] = {"httpchk",     "tcp-check",   "ssl-hello-chk", "smtpchk",    "ldap-check",
                                         "mysql-check", "pgsql-check", "redis-check",   "spop-check", NULL};

/* ---- words ---- */

struct cfg_lines_word cfg_lines_keyword(const struct cfg_line *l, size_t at)
{
    const char *name = cfg_word(l, at);
    const struct cfg_keyword *k = cfg_keyword_find(name);
    bool argument = k != NULL && cfg_keyword_takes_argument(k) && at + 1 < l->count;
    return (struct cfg_lines_word){.name = name, .at = at, .last = at + argument, .known = k != NULL};
}

void cfg_split_address(const char *text, const char **ret_address, uint16_t *ret_port)
{
    const char *close = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = close != NULL ? (close[1] == ':' ? close + 1 : NULL) : strrchr(text, ':');
    uint64_t port = 0;
    *ret_port = 0;
    bool has_port = colon != NULL && str_parse_uint(colon + 1, UINT16_MAX, &port) == 0;
    if (has_port)
        *ret_port = (uint16_t)port;
    if (close != NULL && (has_port || close[1] == '\0'))
        *ret_address = shared_text_take(mem_strndup(text + 1, (size_t)(close - text) - 1));
    else
        *ret_address = has_port ? shared_text_take(mem_strndup(text, (size_t)(colon - text))) : shared_text(text);
}

/* ---- what is read ---- */

struct config_walk {
    struct backend *b;
    struct cfg_line words;
    const struct cfg_file_line *line;
    struct error *err;
};

static int config_check_words(const struct config_walk *w, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < w->words.count; i++)
        if (cfg_word_has_variable(&w->words.words[i]))
            return error_set(
                w->err, ERROR_INVALID,
                "haproxy.cfg, line %u: an environment variable in the backend %s, whose value is not known "
                "here: write the value itself",
                w->line->number, w->b->name);
    return 0;
}

static void config_replace(char **to, const char *with)
{
    free(*to);
    *to = mem_strdup(with);
}

static void config_add_unsupported(struct config_walk *w, char *reason)
{
    struct backend *b = w->b;
    struct buf text = {0};
    text_addn(&text, w->line->text, w->line->len, TEXT_FLAT, TEXT_SHOWN);
    b->unsupported = mem_resize(b->unsupported, b->unsupported_count + 1, sizeof(b->unsupported[0]));
    b->unsupported[b->unsupported_count++] =
        (struct backend_unsupported_line){.line = w->line->number, .text = buf_take(&text), .reason = reason};
}

static const char *const config_switches[] = {"check",   "no-check",      "backup", "no-backup", "disabled",
                                              "enabled", "send-proxy-v2", "port",   "weight",    "no-send-proxy-v2"};

/* One of ours behind a keyword that is not known may be that one's argument. */
static bool config_is_ambiguous(const struct cfg_line *l, const struct cfg_lines_word *word)
{
    return !word->known && cfg_is_among(cfg_word(l, word->last + 1), config_switches, array_len(config_switches));
}

/* The last one counts, as HAProxy has it. */
static int config_take_keyword(const struct config_walk *w, const struct cfg_lines_word *word, struct backend_server *s)
{
    const char *argument = word->last > word->at ? cfg_word(&w->words, word->last) : "";
    uint64_t n;
    if (str_eq(word->name, "check") || str_eq(word->name, "no-check"))
        s->check = str_eq(word->name, "check");
    else if (str_eq(word->name, "backup") || str_eq(word->name, "no-backup"))
        s->backup = !(s->no_backup = str_eq(word->name, "no-backup"));
    else if (str_eq(word->name, "disabled") || str_eq(word->name, "enabled"))
        s->maintenance = !(s->enabled = str_eq(word->name, "enabled"));
    else if (str_eq(word->name, "send-proxy-v2") || str_eq(word->name, "no-send-proxy-v2"))
        s->send_proxy_v2 = str_eq(word->name, "send-proxy-v2");
    else if (str_eq(word->name, "weight"))
        s->weight = str_parse_uint(argument, 65535, &n) == 0 ? (int)n : s->weight;
    else if (str_eq(word->name, "track"))
        s->tracks = true;
    else if (str_eq(word->name, "port"))
        s->check_port = str_parse_uint(argument, UINT16_MAX, &n) == 0 ? (uint16_t)n : s->check_port;
    else
        return 0;
    return config_check_words(w, word->at, word->last + 1);
}

static int config_take_server(struct config_walk *w)
{
    struct backend *b = w->b;
    const struct cfg_line *l = &w->words;
    if (l->count < 3) {
        config_add_unsupported(w, mem_strdup("a server line needs a name and an address"));
        return 0;
    }
    if (config_check_words(w, 1, 3) != 0)
        return -1;
    b->servers = mem_one_more(b->servers, b->server_count, sizeof(b->servers[0]));
    struct backend_server *s = &b->servers[b->server_count++];
    *s = (struct backend_server){.name = shared_text(l->words[1].text), .weight = -1};
    cfg_split_address(l->words[2].text, &s->address, &s->port);
    s->rest = siblings_rest_of_line(l);
    for (size_t i = 3; i < l->count;) {
        const struct cfg_lines_word word = cfg_lines_keyword(l, i);
        if (config_is_ambiguous(l, &word)) {
            config_add_unsupported(w, mem_printf("whether \"%.64s\" takes the word behind it is not known", word.name));
            return 0;
        }
        if (config_take_keyword(w, &word, s) != 0)
            return -1;
        i = word.last + 1;
    }
    return 0;
}

static int config_take_template(struct config_walk *w)
{
    struct backend *b = w->b;
    const char *range = cfg_word(&w->words, 2), *dash = strchr(range, '-');
    cleanup(mem_free_ptr) char *low = mem_strndup(range, dash != NULL ? (size_t)(dash - range) : 0);
    uint64_t first = 1, last;
    if (config_check_words(w, 1, 3) != 0)
        return -1;
    if (w->words.count < 4 || (dash != NULL && str_parse_uint(low, UINT32_MAX, &first) != 0) ||
        str_parse_uint(dash != NULL ? dash + 1 : range, UINT32_MAX, &last) != 0 || last < first) {
        config_add_unsupported(w, mem_strdup("a server-template line needs a prefix, a range and an address"));
        return 0;
    }
    b->templates = mem_resize(b->templates, b->template_count + 1, sizeof(b->templates[0]));
    b->templates[b->template_count++] = (struct backend_template){
        .prefix = mem_strdup(cfg_word(&w->words, 1)), .first = (unsigned)first, .last = (unsigned)last};
    return 0;
}

static int config_take_default(struct config_walk *w)
{
    for (size_t i = 1; i < w->words.count;) {
        const struct cfg_lines_word word = cfg_lines_keyword(&w->words, i);
        if (str_eq(word.name, "send-proxy-v2") || str_eq(word.name, "no-send-proxy-v2"))
            w->b->default_send_proxy_v2 = str_eq(word.name, "send-proxy-v2");
        i = word.last + 1;
    }
    return config_check_words(w, 1, w->words.count);
}

static int config_take_option(struct config_walk *w)
{
    bool off = str_eq(cfg_word(&w->words, 0), "no");
    const char *option = cfg_word(&w->words, off ? 2 : 1);
    for (size_t i = 0; cfg_check_options[i] != NULL; i++) {
        if (!str_eq(option, cfg_check_options[i]) || (off && !str_eq(option, w->b->adv_check)))
            continue;
        config_replace(&w->b->adv_check, off ? "" : option);
        w->b->httpchk_params = !off && str_eq(option, "httpchk") && w->words.count > 2;
        return config_check_words(w, 1, w->words.count);
    }
    return 0;
}

static int config_take_line(struct config_walk *w)
{
    const char *first = cfg_word(&w->words, 0);
    if (w->words.broken)
        return error_set(w->err, ERROR_INVALID,
                         "haproxy.cfg, line %u: a quote does not end, or there are too many words", w->line->number);
    if (str_eq(first, "server"))
        return config_take_server(w);
    if (str_eq(first, "server-template"))
        return config_take_template(w);
    if (str_eq(first, "default-server"))
        return config_take_default(w);
    if (str_eq(first, "option") || str_eq(first, "no"))
        return config_take_option(w);
    if (str_eq(first, "mode"))
        config_replace(&w->b->mode, cfg_word(&w->words, 1));
    else if (str_eq(first, "balance"))
        config_replace(&w->b->balance, cfg_word(&w->words, 1));
    else
        return 0;
    return config_check_words(w, 1, w->words.count);
}

/* ---- conditionals ---- */

/* That no conditional decides about a line of s, its header too, or of a section that it is from. What begins behind its last
 * line is about the next section. */
static int config_check_conditionals(const struct cfg_file_section *s, const char *backend, struct error *err)
{
    for (; s != NULL; s = s->defaults)
        for (const struct cfg_file_line *line = s->line; line < s->lines + s->line_count; line++)
            if (line->conditional)
                return error_set(
                    err, ERROR_INVALID,
                    "haproxy.cfg, line %u: a conditional (.if) decides what backend %s is: leave it out of that "
                    "backend and of the defaults section that it is from",
                    line->number, backend);
    return 0;
}

/* ---- the file ---- */

static int order_of_named(const void *a, const void *b)
{
    const struct cfg_lines_server_line *x = a, *y = b;
    int n = strcmp(x->name, y->name);
    return n != 0 ? n : (x->line->number > y->line->number) - (x->line->number < y->line->number);
}

void cfg_lines_fini(struct cfg_lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->servers[i].name);
    mem_free_all(l->servers, l->defaults, l->said.tail, l->said.text);
    *l = (struct cfg_lines){0};
}

void cfg_lines_find(struct cfg_lines *l, const struct cfg_file *f, const char *backend)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    if (str_eq(l->backend, backend))
        return;
    cfg_lines_fini(l);
    l->backend = backend;
    l->section = cfg_file_backend(f, backend);
    if (l->section == NULL)
        return;
    l->hashed = backend_algorithm_is_hashed(cfg_inherit_balance(l->section, &words));
    l->servers = mem_array(l->section->line_count, sizeof(l->servers[0]));
    l->defaults = mem_array(l->section->line_count, sizeof(l->defaults[0]));
    for (size_t i = 0; i < l->section->line_count; i++) {
        const struct cfg_file_line *line = &l->section->lines[i];
        cfg_line_split(&words, line->text, line->len);
        if (str_eq(cfg_word(&words, 0), "default-server"))
            l->defaults[l->default_count++] = line;
        if (!str_eq(cfg_word(&words, 0), "server"))
            continue;
        l->servers[l->count++] = (struct cfg_lines_server_line){mem_strdup(cfg_word(&words, 1)), line};
        l->last = line;
    }
    if (l->count > 1)
        qsort(l->servers, l->count, sizeof(l->servers[0]), order_of_named);
}

static int compare_named(const void *name, const void *named)
{
    return strcmp(name, ((const struct cfg_lines_server_line *)named)->name);
}

const struct cfg_file_line *cfg_lines_server(const struct cfg_lines *l, const char *name)
{
    size_t at = sorted_place(name, l->servers, l->count, sizeof(l->servers[0]), compare_named);
    return at < l->count && str_eq(l->servers[at].name, name) ? l->servers[at].line : NULL;
}

/* own: or a defaults section that it is from, or that one is from. */
static bool config_is_of(const struct cfg_file_section *own, const struct cfg_file_section *s)
{
    while (own != NULL && own != s)
        own = own->defaults;
    return own == s;
}

/* What default-server lines say of the state of servers, those of the defaults section, too. */
static int config_inherit(const struct cfg_file *f, const struct cfg_file_section *own, struct config_walk *w)
{
    for (const struct cfg_file_section *s = f->sections; s <= own; s++) {
        if (s != own && !str_eq(s->kind, "defaults"))
            continue;
        for (size_t i = 0; i < s->line_count; i++) {
            const struct cfg_file_line *line = &s->lines[i];
            if (line->plain != NULL && line->plain_len > 7 && memcmp(line->plain, "server ", 7) == 0)
                continue; /* as most are */
            w->line = line;
            cfg_line_split(&w->words, line->text, line->len);
            if (!str_eq(cfg_word(&w->words, 0), "default-server"))
                continue;
            if (config_is_of(own, s) && config_check_words(w, 1, w->words.count) != 0)
                return -1;
        }
    }
    cfg_inherit_apply(own, w->b);
    return 0;
}

int cfg_backend_read(const struct cfg_file *f, struct backend *ret, struct error *err)
{
    const struct cfg_file_section *s = cfg_file_backend(f, ret->name);
    struct config_walk w = {.b = ret, .err = err};
    int status = 0;
    if (s == NULL)
        return 0;
    const struct cfg_file_section *again = cfg_file_backend_again(f, s);
    if (again != NULL)
        return error_set(err, ERROR_INVALID, "haproxy.cfg, line %u: line %u begins a backend %s already",
                         again->line->number, s->line->number, s->name);
    if (config_check_conditionals(s, ret->name, err) != 0)
        return -1;
    ret->exists = true;
    config_replace(&ret->mode, "");
    config_replace(&ret->balance, "");
    config_replace(&ret->adv_check, "");
    cfg_line_init(&w.words);
    for (size_t i = 0; i < s->line_count && status == 0; i++) {
        w.line = &s->lines[i];
        cfg_line_split(&w.words, w.line->text, w.line->len);
        status = config_take_line(&w);
    }
    ret->takes_no_weights = !backend_algorithm_is_dynamic(cfg_inherit_balance(s, &w.words));
    if (status == 0)
        status = config_inherit(f, s, &w);
    cfg_line_fini(&w.words);
    return status;
}
