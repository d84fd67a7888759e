#include "haproxy/cfg/unsupported_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/inherit.h"
#include "haproxy/cfg/keywords.h"
#include "json/read.h"

#define MAX_UNSUPPORTED 64
#define MAX_UNSUPPORTED_TEXT 203
#define BROKEN "a quote does not end, or there are too many words"

/* ---- one server line against its object ---- */

/* A keyword of the line, with its argument, and what the API must show for it. */
struct found {
    const struct cfg_keyword *keyword; /* NULL: the table does not know it, the object does */
    char *key;
    const struct cfg_word *word, *argument; /* argument NULL: none */
};

struct line_keywords {
    struct found *list;
    size_t count;
    char *source; /* of all words of `source`, as the API joins them; NULL: none */
};

static void line_keywords_fini(struct line_keywords *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->list[i].key);
    mem_free_all(k->list, k->source);
}

/* The API's own tokenizer keeps quotes and escapes, so its strings may hold either form. */
static bool cfg_server_line_same_text(yyjson_val *val, const struct cfg_word *w)
{
    if (!yyjson_is_str(val))
        return false;
    return yyjson_equals_str(val, w->text) || yyjson_equals_strn(val, w->raw, w->raw_len);
}

static bool same_number(yyjson_val *val, const char *text, bool zero_is_left_out)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '+')
        return false;
    if (zero_is_left_out && n == 0 && val == NULL)
        return true;
    if (yyjson_is_uint(val))
        return n >= 0 && (uint64_t)n == yyjson_get_uint(val);
    return yyjson_is_sint(val) && n == yyjson_get_sint(val);
}

/* HAProxy's time format to ms; -1 where the API, which counts in ms, cannot hold it. */
static int64_t time_ms(const char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    uint64_t n = 0;
    const char *unit = text + strspn(text, "0123456789");
    cleanup(mem_free_ptr) char *digits = mem_strndup(text, (size_t)(unit - text));
    if (str_parse_uint(digits, UINT32_MAX, &n) != 0)
        return -1;
    if (str_eq(unit, "us"))
        return n % 1000 == 0 ? (int64_t)(n / 1000) : -1;
    for (size_t i = 0; i < array_len(units); i++)
        if (str_eq(unit, units[i].unit))
            return (int64_t)n * units[i].ms;
    return -1;
}

static bool same_value(const struct found *f, yyjson_val *val, const char *source)
{
    const char *text = f->argument != NULL ? f->argument->text : "";
    if (f->keyword == NULL)
        return true; /* newer than the table: its name is all there is to go by */
    switch (f->keyword->form) {
    case RAWCFG_ON:
        return yyjson_equals_str(val, "enabled");
    case RAWCFG_OFF:
        return yyjson_equals_str(val, "disabled");
    case RAWCFG_TRUE:
        return yyjson_is_true(val);
    case RAWCFG_TEXT:
        return cfg_server_line_same_text(val, f->argument);
    case RAWCFG_NUMBER:
        return same_number(val, text, false);
    case RAWCFG_NUMBER_NOT_0:
        return same_number(val, text, true);
    case RAWCFG_TIME:
        return yyjson_is_int(val) && time_ms(text) >= 0 && time_ms(text) == yyjson_get_sint(val);
    case RAWCFG_LIST: {
        cleanup(buf_fini) struct buf joined = {0};
        yyjson_val *item;
        yyjson_arr_iter iter = yyjson_arr_iter_with(val);
        if (!yyjson_is_arr(val))
            return false;
        for (size_t n = 0; (item = yyjson_arr_iter_next(&iter)) != NULL; n++) {
            if (!yyjson_is_str(item))
                return false;
            buf_add(&joined, n > 0 ? "," : "");
            buf_addn(&joined, yyjson_get_str(item), yyjson_get_len(item));
        }
        return str_eq(buf_str(&joined), f->argument->text) ||
               (joined.len == f->argument->raw_len &&
                memcmp(buf_str(&joined), f->argument->raw, f->argument->raw_len) == 0);
    }
    case RAWCFG_TLV: {
        /* set-proxy-v2-tlv-fmt(0x20) FORMAT is {"id":"0x20","value":"FORMAT"}. */
        const char *open = strchr(f->word->text, '(');
        yyjson_val *id = yyjson_obj_get(val, "id");
        size_t len = open != NULL ? strlen(open + 1) : 0;
        if (len < 1 || open[len] != ')')
            return false;
        return yyjson_equals_strn(id, open + 1, len - 1) &&
               cfg_server_line_same_text(yyjson_obj_get(val, "value"), f->argument);
    }
    case RAWCFG_SOURCE:
        return yyjson_equals_str(val, source != NULL ? source : "");
    case RAWCFG_CALL:
        return yyjson_is_str(val) && str_has_prefix(text, yyjson_get_str(val));
    }
    return false;
}

/* For a keyword that the table does not know: under which key the object has it; NULL: not at all. */
static char *key_in(yyjson_val *obj, const char *word)
{
    const char *const forms[] = {word, str_has_prefix(word, "no-") ? word + 3 : word};
    if (str_eq(word, "name") || str_eq(word, "address") || str_eq(word, "metadata"))
        return NULL; /* not keywords: the first words of the line and its comment */
    for (size_t i = 0; i < array_len(forms); i++) {
        char *key = mem_strdup(forms[i]);
        if (yyjson_obj_get(obj, key) != NULL)
            return key;
        for (char *p = key; *p != '\0'; p++)
            *p = *p == '-' ? '_' : *p;
        if (yyjson_obj_get(obj, key) != NULL)
            return key;
        free(key);
    }
    return NULL;
}

/* Fills k; otherwise the problem. */
static char *read_keywords(const struct cfg_line *l, size_t first, yyjson_val *obj, struct line_keywords *k)
{
    k->list = mem_array(l->count, sizeof(*k->list));
    for (size_t i = first; i < l->count; i++) {
        struct found *f = &k->list[k->count];
        f->word = &l->words[i];
        f->keyword = cfg_keyword_find(f->word->text);
        f->key = f->keyword != NULL ? mem_strdup(f->keyword->key) : key_in(obj, f->word->text);
        if (f->key == NULL)
            return mem_printf("\"%.64s\" is not known to the Data Plane API, which may lose it with any write",
                              f->word->text);
        k->count++;
        yyjson_val *val = yyjson_obj_get(obj, f->key);
        if (f->keyword != NULL
                ? !cfg_keyword_takes_argument(f->keyword)
                : yyjson_is_bool(val) || yyjson_equals_str(val, "enabled") || yyjson_equals_str(val, "disabled"))
            continue;
        if (++i == l->count)
            return mem_printf("\"%.64s\" lacks its argument", f->word->text);
        f->argument = &l->words[i];
        if (f->keyword != NULL && f->keyword->form == RAWCFG_SOURCE) {
            char *joined = k->source == NULL ? mem_strdup(f->argument->text)
                                             : mem_printf("%s %s %s", k->source, f->word->text, f->argument->text);
            free(k->source);
            k->source = joined;
        }
    }
    return NULL;
}

static char *compare_keyword(const struct found *f, yyjson_val *obj, const char *source, bool values)
{
    yyjson_val *val = yyjson_obj_get(obj, f->key);
    const char *space = f->argument != NULL ? " " : "", *text = f->argument != NULL ? f->argument->text : "";
    if (!values)
        return val != NULL || (f->keyword != NULL && f->keyword->form == RAWCFG_NUMBER_NOT_0)
                   ? NULL
                   : mem_printf("the Data Plane API does not show \"%.64s%s%.64s\"", f->word->text, space, text);
    if (same_value(f, val, source))
        return NULL;
    return mem_printf(val == NULL ? "the Data Plane API does not show \"%.64s%s%.64s\", and may lose it with any write"
                                  : "the Data Plane API shows \"%.64s%s%.64s\" as something else, and would change it",
                      f->word->text, space, text);
}

char *cfg_keywords_problem(const struct cfg_line *l, size_t first, yyjson_val *obj, bool values)
{
    cleanup(line_keywords_fini) struct line_keywords k = {0};
    char *problem = read_keywords(l, first, obj, &k);
    for (size_t i = 0; problem == NULL && obj != NULL && i < k.count; i++) {
        /* A later word for the same field overrides; set-proxy-v2-tlv-fmt is the one that adds up. */
        const struct found *f = &k.list[i];
        bool overridden = false, adds_up = f->keyword != NULL && f->keyword->form == RAWCFG_TLV;
        for (size_t j = i + 1; j < k.count && !adds_up; j++)
            overridden = overridden || str_eq(k.list[j].key, f->key);
        if (!overridden)
            problem = compare_keyword(f, obj, k.source, values);
    }
    return problem;
}

/* ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT, as the API takes it apart. */
static bool same_address(const struct cfg_word *w, yyjson_val *obj)
{
    const char *address = yyjson_get_str(yyjson_obj_get(obj, "address")), *rest = w->text;
    yyjson_val *port = yyjson_obj_get(obj, "port");
    if (address == NULL)
        return false;
    bool bracket = rest[0] == '[';
    rest += bracket ? 1 : 0;
    if (!str_has_prefix(rest, address))
        return false;
    rest += strlen(address);
    if (bracket && *rest++ != ']')
        return false;
    if (port == NULL || yyjson_is_null(port))
        return *rest == '\0';
    return *rest == ':' && same_number(port, rest + 1, false);
}

char *cfg_server_problem(const struct cfg_line *l, yyjson_val *obj)
{
    if (!same_address(&l->words[2], obj))
        return mem_printf("the Data Plane API shows the address %.128s as something else, and would change it",
                          l->words[2].text);
    return cfg_keywords_problem(l, 3, obj, true);
}

/* ---- all lines of the backend ---- */

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
    size_t unsupported_count;         /* all; only MAX_UNSUPPORTED are kept */
    yyjson_doc *backend_doc;
};

/* ---- unsupported lines ---- */

/* Takes ownership of reason. */
static void add_unsupported(struct walk *w, unsigned number, char *text, char *reason)
{
    struct backend *b = w->b;
    if (w->unsupported_count++ >= MAX_UNSUPPORTED) {
        mem_free_all(text, reason);
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

/* Takes ownership of why (NULL: unknown). */
static char *not_shown(const char *kind, const char *name, char *why)
{
    char *text = mem_printf("%s%.64s is not shown by the Data Plane API%s%s", kind, name, why != NULL ? ": " : "",
                            why != NULL ? why : "");
    free(why);
    return text;
}

static char *server_reason(struct walk *w)
{
    const struct cfg_line *l = &w->words;
    if (l->broken)
        return mem_strdup(BROKEN);
    if (l->count < 3)
        return mem_strdup("a server line needs a name and an address");
    /* The API's tokenizer leaves quotes and escapes in the name. */
    cleanup(mem_free_ptr) char *name = mem_strndup(l->words[1].raw, l->words[1].raw_len);
    const struct backend_server wanted = {.name = name};
    const struct shown key = {.server = &wanted}, *end = w->shown + w->b->server_count;
    struct shown *s = bsearch(&key, w->shown, w->b->server_count, sizeof(*w->shown), order_of_shown);
    while (s != NULL && s > w->shown && order_of_shown(s - 1, s) == 0)
        s--;
    const struct shown *first = s;
    unsigned before = s != NULL ? s->line : 0;
    while (s != NULL && s + 1 < end && s->line != 0 && order_of_shown(s, s + 1) == 0)
        s++;
    if (s != NULL && s->line == 0)
        s->line = w->line->number;
    if (!l->words[1].plain)
        return mem_strdup("its name is quoted or escaped, which the Data Plane API takes literally");
    if (before != 0)
        return mem_printf("line %u has a server of that name already", before);
    if (first == NULL)
        return not_shown("server ", name, cfg_keywords_problem(l, 3, NULL, false));
    if (first->server->json == NULL)
        return NULL;
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(first->server->json, strlen(first->server->json), YYJSON_READ_BIGNUM_AS_RAW, "the server", NULL);
    if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
        return mem_strdup("what the Data Plane API shows of it cannot be read");
    return cfg_server_problem(l, yyjson_doc_get_root(doc));
}

static void walk_fini(struct walk *w)
{
    free(w->shown);
    cfg_line_fini(&w->words);
    yyjson_doc_free(w->backend_doc);
}

/* A section of the backend. header: the line of the first one; 0: this is it. */
static void check_section(struct walk *w, const struct cfg_file_section *s, unsigned header)
{
    w->line = s->line;
    if (header != 0)
        add_this(w, mem_printf("line %u begins a backend of that name already", header));
    for (size_t i = 0; i < s->line_count; i++) {
        w->line = &s->lines[i];
        cfg_line_split(&w->words, w->line->text, w->line->len);
        const char *first = cfg_word(&w->words, 0);
        char *why = NULL;
        if (str_eq(first, "server")) {
            why = server_reason(w);
        } else if (str_eq(first, "server-template") && (w->words.broken || w->words.count < 4)) {
            why = mem_strdup("a server-template line needs a prefix, a range and an address");
        } else if (str_eq(first, "server-template")) {
            size_t k = 0;
            while (k < w->b->template_count && !str_eq(w->b->templates[k].prefix, w->words.words[1].text))
                k++;
            why = cfg_keywords_problem(&w->words, 4, NULL, false);
            if (k == w->b->template_count)
                why = not_shown("server-template ", w->words.words[1].text, why);
        } else if (str_eq(first, "default-server") && w->words.broken) {
            why = mem_strdup(BROKEN);
        } else if (str_eq(first, "default-server")) {
            /* Several lines are shown as one object, so only the keywords can be compared. */
            yyjson_val *obj = yyjson_obj_get(yyjson_doc_get_root(w->backend_doc), "default_server");
            bool shown = w->backend_doc == NULL || yyjson_is_obj(obj) || w->words.count <= 1;
            why = cfg_keywords_problem(&w->words, 1, shown ? obj : NULL, false);
            if (!shown)
                why = not_shown("default-server", "", why);
        }
        add_this(w, why);
    }
}

int cfg_find_unsupported(const struct cfg_file *f, struct backend *b, struct error *err)
{
    backend_forget_unsupported(b);
    cleanup(walk_fini) struct walk w;
    const struct cfg_file_section *own = cfg_file_backend(f, b->name), *last = own;
    w = (struct walk){.b = b, .shown = mem_array(b->server_count, sizeof(*w.shown))};
    for (size_t i = 0; i < b->server_count; i++)
        w.shown[i].server = &b->servers[i];
    if (b->server_count > 1)
        qsort(w.shown, b->server_count, sizeof(*w.shown), order_of_shown);
    cfg_line_init(&w.words);
    if (b->json != NULL)
        w.backend_doc = json_parse(b->json, strlen(b->json), YYJSON_READ_BIGNUM_AS_RAW, "the backend", NULL);
    for (const struct cfg_file_section *s = own; s != NULL; s = cfg_file_backend_again(f, s)) {
        check_section(&w, s, s != own ? own->line->number : 0);
        last = s;
    }
    cfg_inherit_apply(last, b);
    b->takes_no_weights = own != NULL && !backend_algorithm_is_dynamic(cfg_inherit_balance(own, &w.words));
    if (f->version >= 0 && b->version >= 0 && f->version != b->version) {
        backend_forget_unsupported(
            b); /* after a failed reload the file is the last good one, and the API's view is another */
        return 0;
    }
    if (own == NULL)
        return error_set(err, ERROR_INVALID, "the Data Plane API shows backend %s, haproxy.cfg has none of that name",
                         b->name);
    for (size_t i = 0; i < w.b->server_count; i++) {
        if (w.shown[i].line != 0)
            continue;
        add_unsupported(&w, own->line->number, mem_printf("backend %s", w.b->name),
                        mem_printf("the Data Plane API shows server %.64s, which no line of the file makes",
                                   w.shown[i].server->name));
        if (w.unsupported_count == w.b->unsupported_count) /* not past the cap */
            w.b->unsupported[w.b->unsupported_count - 1].only_shown = true;
    }
    return 0;
}

/* ---- their order ---- */

/* One name, and where it stands: in the list, and among the lines of its kind. */
struct place {
    const char *name;
    size_t at;
    size_t line; /* from 1; 0: none was seen */
};

static int order_by_line(const void *a, const void *b)
{
    size_t x = ((const struct place *)a)->line, y = ((const struct place *)b)->line;
    return x < y ? -1 : x > y;
}

/* Puts the list in the order of the lines that begin with the keyword. False: it is not exactly theirs. */
static bool places_order(const struct cfg_file_section *s, const char *keyword, struct place *list, size_t count)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    size_t lines = 0, len = strlen(keyword);
    cfg_line_init(&words);
    if (count > 1)
        qsort(list, count, sizeof(*list), str_order);
    for (size_t i = 0; i < s->line_count; i++) {
        const struct cfg_file_line *line = &s->lines[i];
        if (line->plain != NULL && (line->plain_len < len || memcmp(line->plain, keyword, len) != 0))
            continue;
        cfg_line_split(&words, line->text, line->len);
        if (!str_eq(cfg_word(&words, 0), keyword))
            continue;
        if (words.broken || words.count < 2)
            return false;
        /* The API's tokenizer leaves quotes and escapes in a name. Two of one name leave one of them without a line. */
        cleanup(mem_free_ptr) char *raw = mem_strndup(words.words[1].raw, words.words[1].raw_len);
        struct place *found = count > 0 ? bsearch(&raw, list, count, sizeof(*list), str_order) : NULL;
        if (found == NULL || found->line != 0)
            return false;
        found->line = ++lines;
    }
    if (count > 1)
        qsort(list, count, sizeof(*list), order_by_line);
    return lines == count;
}

bool cfg_order_servers(const struct cfg_file *f, struct backend *b)
{
    const struct cfg_file_section *s = cfg_file_backend(f, b->name);
    cleanup(mem_free_ptr) struct place *servers = mem_array(b->server_count, sizeof(*servers));
    cleanup(mem_free_ptr) struct place *templates = mem_array(b->template_count, sizeof(*templates));
    for (size_t i = 0; i < b->server_count; i++)
        servers[i] = (struct place){.name = b->servers[i].name, .at = i};
    for (size_t i = 0; i < b->template_count; i++)
        templates[i] = (struct place){.name = b->templates[i].prefix, .at = i};
    if (s == NULL || cfg_file_backend_again(f, s) != NULL || !places_order(s, "server", servers, b->server_count) ||
        !places_order(s, "server-template", templates, b->template_count))
        return false;
    cleanup(mem_free_ptr) struct backend_server *old = b->servers;
    cleanup(mem_free_ptr) struct backend_template *old_templates = b->templates;
    b->servers = mem_array(b->server_count, sizeof(*b->servers));
    b->templates = mem_array(b->template_count, sizeof(*b->templates));
    for (size_t i = 0; i < b->server_count; i++)
        b->servers[i] = old[servers[i].at];
    for (size_t i = 0; i < b->template_count; i++)
        b->templates[i] = old_templates[templates[i].at];
    return true;
}
