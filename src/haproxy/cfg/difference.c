#include "haproxy/cfg/difference.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/entries.h"
#include "haproxy/cfg/keywords.h"
#include "haproxy/cfg/server_words.h"
#include "haproxy/cfg/words.h"

#define NAME_SHOWN 64
#define DEFAULTS_CHAIN_MAX 64
#define WEIGHT_MAX 256

/* A part of a text. */
struct piece {
    const char *text;
    size_t len;
};

static struct piece piece_of(const char *text, const char *ends_before)
{
    return (struct piece){text, strcspn(text, ends_before)};
}

static bool piece_eq(struct piece a, struct piece b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

static bool piece_is(struct piece p, const char *text)
{
    return piece_eq(p, (struct piece){text, strlen(text)});
}

/* "backend b: ", with `before`, what, and " name" where there is one. */
static void difference_add(struct cfg_difference *d, const struct cfg_file_section *s, enum cfg_effect effect,
                           const char *before, struct piece what, const char *behind)
{
    bool most = effect > d->effect;
    d->effect = most ? effect : d->effect;
    if (d->count++ >= CFG_DIFFERENCE_MAX && !most)
        return;
    struct buf text = {0};
    const char *name = cfg_file_name(s);
    buf_printf(&text, "%s%s", s->kind, name[0] != '\0' ? " " : "");
    text_add(&text, name, TEXT_LINE, NAME_SHOWN);
    buf_printf(&text, ": %s", before);
    text_addn(&text, what.text, what.len, TEXT_LINE, NAME_SHOWN);
    if (what.len == 0 && str_has_suffix(before, " ")) /* "server " of a line that has no name */
        text.data[--text.len] = '\0';
    buf_add(&text, behind);
    if (most) {
        free(d->why);
        d->why = mem_strdup(buf_str(&text));
    }
    if (d->count <= CFG_DIFFERENCE_MAX)
        d->texts[d->count - 1] = buf_take(&text);
    buf_fini(&text);
}

#define NOTHING ((struct piece){"", 0})

/* ---- servers ---- */

/* Of an entry: what stands between CFG_BETWEEN_WORDS. */
#define BETWEEN ((char[]){CFG_BETWEEN_WORDS, '\0'})
#define WITHIN ((char[]){CFG_BETWEEN_WORDS, CFG_WITHIN_KEYWORD, '\0'})

/* The next of them; false: there is none. */
static bool next_piece(const char **text, struct piece *ret)
{
    if (**text == '\0')
        return false;
    *text += **text == CFG_BETWEEN_WORDS;
    *ret = piece_of(*text, BETWEEN);
    *text += ret->len;
    return true;
}

struct server {
    struct piece name, address;
    const char *keywords; /* the rest */
    const struct cfg_entry *entry;
    size_t place;
};

static struct server server_of(const struct cfg_entry *e, size_t place)
{
    struct server s = {.name = NOTHING, .address = NOTHING, .keywords = e->text, .entry = e, .place = place};
    struct piece kind, range;
    if (next_piece(&s.keywords, &kind) && next_piece(&s.keywords, &s.name) &&
        (piece_is(kind, "server") || next_piece(&s.keywords, &range)))
        (void)next_piece(&s.keywords, &s.address);
    return s;
}

/* As "weight" or "weight ARGUMENT". false: it has none. */
static bool find_keyword(const char *keywords, struct piece word, struct piece *ret)
{
    while (next_piece(&keywords, ret))
        if (piece_eq(piece_of(ret->text, WITHIN), word))
            return true;
    return false;
}

static bool has_keyword(const struct server *a, const struct server *b, const char *word)
{
    struct piece item, wanted = {word, strlen(word)};
    return find_keyword(a->keywords, wanted, &item) || find_keyword(b->keywords, wanted, &item);
}

/* An address of IP and port, which HAProxy takes at run time. ret_ip is base/shared_text's. */
static bool take_address(struct piece p, const char **ret_ip, uint16_t *ret_port)
{
    cleanup(mem_free_ptr) char *host = mem_strndup(p.text, p.len);
    char *colon = strrchr(host, ':');
    uint64_t port;
    if (colon == NULL || str_parse_uint(colon + 1, UINT16_MAX, &port) != 0 || port == 0)
        return false;
    *colon = '\0';
    bool brackets = host[0] == '[' && colon[-1] == ']';
    if (brackets)
        colon[-1] = '\0';
    if (str_ip_family(host + brackets) == 0)
        return false;
    *ret_ip = shared_text(host + brackets);
    *ret_port = (uint16_t)port;
    return true;
}

/* Whether a weight can be any number at run time: by the algorithm that holds in s. */
static bool has_dynamic_algorithm(const struct cfg_file_section *s)
{
    static const char *const dynamic[] = {"roundrobin", "leastconn", "random"};
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (int i = 0; s != NULL && i < DEFAULTS_CHAIN_MAX; i++, s = s->defaults) {
        for (size_t k = s->line_count; k-- > 0;) {
            cfg_line_split(&words, s->lines[k].text, s->lines[k].len);
            if (str_eq(cfg_word(&words, 0), "balance"))
                return cfg_is_among(cfg_word(&words, 1), dynamic, array_len(dynamic));
        }
    }
    return s == NULL; /* HAProxy's own is dynamic */
}

/* A defaults section that s inherits from says that word of its servers. */
static bool inherits_keyword(const struct cfg_file_section *s, const char *word)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    s = s->defaults;
    for (int i = 0; s != NULL && i < DEFAULTS_CHAIN_MAX; i++, s = s->defaults) {
        for (size_t k = 0; k < s->line_count; k++) {
            cfg_line_split(&words, s->lines[k].text, s->lines[k].len);
            for (size_t w = 1; str_eq(cfg_word(&words, 0), "default-server") && w < words.count; w++)
                if (str_eq(cfg_word(&words, w), word))
                    return true;
        }
    }
    return s != NULL;
}

/* As HAProxy has it without the word: 1. */
static bool take_weight(const struct server *s, int *ret)
{
    struct piece item;
    uint64_t weight = 1;
    if (find_keyword(s->keywords, (struct piece){"weight", 6}, &item)) {
        size_t head = strlen("weight") + 1;
        cleanup(mem_free_ptr) char *number = item.len > head ? mem_strndup(item.text + head, item.len - head) : NULL;
        if (number == NULL || str_parse_uint(number, WEIGHT_MAX, &weight) != 0)
            return false;
    } else if (inherits_keyword(s->entry->in, "weight")) {
        return false;
    }
    *ret = (int)weight;
    return true;
}

static bool take_maintenance(const struct server *s, bool *ret)
{
    struct piece item;
    *ret = find_keyword(s->keywords, (struct piece){"disabled", 8}, &item);
    return *ret || find_keyword(s->keywords, (struct piece){"enabled", 7}, &item) ||
           !inherits_keyword(s->entry->in, "disabled");
}

/* What differs between two servers. */
struct server_difference {
    struct buf words; /* " address, weight" */
    enum cfg_effect effect;
    bool dynamic; /* their backend's algorithm, before and after */
    struct backend_server to;
    struct change change;
};

/* What the runtime API can set of it; false: that word takes a reload. */
static bool take_keyword(struct server_difference *d, const struct server *was, const struct server *is,
                         struct piece word)
{
    if (piece_is(word, "weight")) {
        d->change.fields |= SERVER_WEIGHT;
        return d->dynamic && take_weight(is, &d->to.weight);
    }
    d->change.fields |= SERVER_MAINTENANCE;
    return (piece_is(word, "disabled") || piece_is(word, "enabled")) && !has_keyword(was, is, "track") &&
           take_maintenance(is, &d->to.maintenance);
}

static void server_differs(struct server_difference *d, struct piece word, bool runtime)
{
    buf_add(&d->words, d->words.len > 0 ? ", " : " ");
    buf_addn(&d->words, word.text, word.len);
    d->effect = runtime && d->effect != CFG_EFFECT_RELOAD ? CFG_EFFECT_RUNTIME : CFG_EFFECT_RELOAD;
}

/* The keywords of `a` that b lacks or, unless it is only asked for those, has otherwise. `is`: the one of both that is to
 * be. */
static void compare_keywords(struct server_difference *d, const struct server *a, const struct server *b, bool lacks,
                             const struct server *is)
{
    const char *rest = a->keywords;
    struct piece item, other;
    while (next_piece(&rest, &item)) {
        struct piece word = piece_of(item.text, WITHIN);
        bool there = find_keyword(b->keywords, word, &other);
        if (there && (lacks || piece_eq(item, other)))
            continue;
        if (piece_is(word, CFG_IN_ORDER)) /* its words may be arguments */
            d->effect = CFG_EFFECT_RELOAD;
        else
            server_differs(d, word, take_keyword(d, is == a ? b : a, is, word));
    }
}

/* A name that a command can say is no matter here: who puts it into words knows (haproxy/local/server_command). */
static void change_add(struct cfg_difference *d, enum change_kind kind, const struct server *s, unsigned fields,
                       struct backend_server *to)
{
    const struct backend backend = {.name = s->entry->in->name};
    const struct change change = {.kind = kind, .backend = &backend, .server = to, .fields = fields};
    to->name = shared_text_take(mem_strndup(s->name.text, s->name.len));
    changes_add(&d->changes, &change);
}

static void compare_server(struct cfg_difference *d, const struct server *was, const struct server *is, bool dynamic)
{
    struct server_difference s = {.dynamic = dynamic, .to = {.weight = -1}};
    if (str_eq(was->entry->text, is->entry->text))
        return;
    bool template = str_has_prefix(is->entry->text, "server-template");
    bool plain = take_address(is->address, &s.to.address, &s.to.port);
    if (!piece_eq(was->address, is->address)) {
        cleanup(backend_server_fini) struct backend_server from = {0};
        s.change.fields = SERVER_ADDRESS | SERVER_PORT;
        server_differs(&s, (struct piece){"address", 7},
                       plain && take_address(was->address, &from.address, &from.port));
    }
    compare_keywords(&s, was, is, false, is);
    compare_keywords(&s, is, was, true, is);
    if (s.effect == CFG_EFFECT_NONE || template)
        s.effect = CFG_EFFECT_RELOAD;
    difference_add(d, is->entry->in, s.effect, template ? "server-template " : "server ", is->name, buf_str(&s.words));
    if (s.effect == CFG_EFFECT_RUNTIME)
        change_add(d, CHANGE_SET_SERVER, is, s.change.fields, &s.to);
    buf_fini(&s.words);
    backend_server_fini(&s.to);
}

/* A server that comes or goes. */
static void compare_lone_server(struct cfg_difference *d, const struct server *s, bool comes, const char *kind,
                                bool dynamic)
{
    cleanup(mem_free_ptr) char *text = mem_printf("%s%s ", comes ? "new " : "", kind);
    struct backend_server to = {.weight = -1};
    bool can = str_eq(kind, "server") && dynamic && take_address(s->address, &to.address, &to.port) &&
               take_weight(s, &to.weight) && take_maintenance(s, &to.maintenance);
    difference_add(d, s->entry->in, can ? CFG_EFFECT_RUNTIME_SERVERS : CFG_EFFECT_RELOAD, text, s->name,
                   comes ? "" : " removed");
    if (can)
        change_add(d, comes ? CHANGE_ADD_SERVER : CHANGE_REMOVE_SERVER, s, 0, &to);
    backend_server_fini(&to);
}

static int order_of_servers(const void *a, const void *b)
{
    const struct server *x = a, *y = b;
    size_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
    int n = len > 0 ? memcmp(x->name.text, y->name.text, len) : 0;
    if (n == 0)
        n = (x->name.len > y->name.len) - (x->name.len < y->name.len);
    return n != 0 ? n : (x->place > y->place) - (x->place < y->place);
}

/* By name. */
static struct server *servers_of(struct cfg_run run)
{
    struct server *list = mem_array(run.count, sizeof(*list));
    for (size_t i = 0; i < run.count; i++)
        list[i] = server_of(&run.list[i], i);
    if (run.count > 1)
        qsort(list, run.count, sizeof(*list), order_of_servers);
    return list;
}

static void compare_servers(struct cfg_difference *d, struct cfg_run was, struct cfg_run is, const char *kind)
{
    cleanup(mem_free_ptr) struct server *a = servers_of(was);
    cleanup(mem_free_ptr) struct server *b = servers_of(is);
    cleanup(mem_free_ptr) size_t *moved_to = mem_array(was.count, sizeof(*moved_to)); /* + 1; 0: it is gone */
    bool dynamic = (was.count == 0 || has_dynamic_algorithm(was.list->in)) &&
                   (is.count == 0 || has_dynamic_algorithm(is.list->in));
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int n = i == was.count ? 1 : k == is.count ? -1 : 0;
        if (n == 0 && !piece_eq(a[i].name, b[k].name))
            n = order_of_servers(&a[i], &b[k]);
        if (n == 0) {
            moved_to[a[i].place] = b[k].place + 1;
            compare_server(d, &a[i++], &b[k++], dynamic);
        } else if (n < 0) {
            compare_lone_server(d, &a[i++], false, kind, dynamic);
        } else {
            compare_lone_server(d, &b[k++], true, kind, dynamic);
        }
    }
    for (size_t i = 0, last = 0; i < was.count; i++) {
        if (moved_to[i] != 0 && moved_to[i] < last) {
            difference_add(d, was.list->in, CFG_EFFECT_RELOAD, "order of ", piece_of(kind, ""), "");
            break;
        }
        last = moved_to[i] != 0 ? moved_to[i] : last;
    }
}

/* ---- other lines ---- */

static const char **texts_of(struct cfg_run run)
{
    const char **list = mem_array(run.count, sizeof(*list));
    for (size_t i = 0; i < run.count; i++)
        list[i] = run.list[i].text;
    if (run.count > 1)
        qsort(list, run.count, sizeof(*list), str_order);
    return list;
}

static bool is_same_run(struct cfg_run was, struct cfg_run is)
{
    bool same = was.count == is.count;
    for (size_t i = 0; same && i < was.count; i++)
        same = str_eq(was.list[i].text, is.list[i].text);
    return same;
}

static void compare_lines(struct cfg_difference *d, struct cfg_run was, struct cfg_run is, struct piece kind)
{
    cleanup(mem_free_ptr) const char **a = texts_of(was);
    cleanup(mem_free_ptr) const char **b = texts_of(is);
    const struct cfg_file_section *s = is.count > 0 ? is.list->in : was.list->in;
    size_t gone = 0, new = 0, i = 0, k = 0;
    while (i < was.count || k < is.count) {
        int n = i == was.count ? 1 : k == is.count ? -1 : strcmp(a[i], b[k]);
        gone += n < 0;
        new += n > 0;
        i += n <= 0;
        k += n >= 0;
    }
    difference_add(d, s, CFG_EFFECT_RELOAD,
                   gone + new == 0 ? "order of "
                   : gone == 0     ? "new "
                                   : "",
                   kind, gone > 0 && new == 0 ? " removed" : "");
}

/* ---- the difference ---- */

/* ret_only: the section is in one of them alone. */
static void compare_headers(struct cfg_difference *d, struct cfg_run was, struct cfg_run is, bool *ret_only)
{
    *ret_only = was.count == 0 || is.count == 0;
    if (was.count == 0)
        difference_add(d, is.list->in, CFG_EFFECT_RELOAD, "new", NOTHING, "");
    else if (is.count == 0)
        difference_add(d, was.list->in, CFG_EFFECT_RELOAD, "removed", NOTHING, "");
    else
        difference_add(d, is.list->in, CFG_EFFECT_RELOAD, was.count == is.count ? "from" : "how often it is there",
                       NOTHING, "");
}

static struct piece kind_of_run(const struct cfg_entry *first)
{
    return piece_of(strrchr(first->key, '\n') + 1, BETWEEN);
}

/* Of a backend or listen that is in both. */
static void compare_explicit(struct cfg_difference *d, const struct cfg_file_section *before,
                             const struct cfg_file_section *after)
{
    cleanup(cfg_entries_fini) struct cfg_entries a;
    cleanup(cfg_entries_fini) struct cfg_entries b;
    struct cfg_run was, is;
    cfg_entries_init_explicit(&a, before);
    cfg_entries_init_explicit(&b, after);
    while (cfg_entries_next(&a, &b, &was, &is)) {
        const struct cfg_entry *first = is.count > 0 ? is.list : was.list;
        struct piece kind = kind_of_run(first);
        if (cfg_entry_is_header(first) || is_same_run(was, is))
            continue;
        if (piece_is(kind, "server") || piece_is(kind, "server-template"))
            compare_servers(d, was, is, kind.text);
        else
            compare_lines(d, was, is, kind);
    }
}

/* The section in hand. */
struct in_hand {
    struct cfg_run was, is; /* its headers; none of `global` */
    struct piece name;
    bool done; /* its other runs say nothing more */
};

static void compare_run(struct cfg_difference *d, struct in_hand *s, struct cfg_run was, struct cfg_run is)
{
    const struct cfg_entry *first = is.count > 0 ? is.list : was.list;
    bool proxy = str_eq(first->in->kind, "backend") || str_eq(first->in->kind, "listen");
    if (cfg_entry_is_header(first)) {
        compare_headers(d, was, is, &s->done);
    } else if (proxy && s->was.count == 1 && s->is.count == 1) {
        compare_explicit(d, s->was.list->in, s->is.list->in);
        s->done = true;
    } else {
        compare_lines(d, was, is, kind_of_run(first));
    }
}

void cfg_difference_init(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after)
{
    cleanup(cfg_entries_fini) struct cfg_entries a;
    cleanup(cfg_entries_fini) struct cfg_entries b;
    struct cfg_run was, is;
    struct in_hand s = {.name = NOTHING};
    *d = (struct cfg_difference){.effect = CFG_EFFECT_NONE};
    cfg_entries_init_both(&a, &b, before, after, NULL);
    while (cfg_entries_next(&a, &b, &was, &is)) {
        const struct cfg_entry *first = is.count > 0 ? is.list : was.list;
        struct piece section = {first->key, (size_t)(strrchr(first->key, '\n') - first->key)};
        bool same = is_same_run(was, is);
        if (cfg_entry_is_header(first) || !piece_eq(section, s.name))
            s = (struct in_hand){.was = was, .is = is, .name = section};
        if (!same && !s.done)
            compare_run(d, &s, was, is);
    }
}

void cfg_difference_fini(struct cfg_difference *d)
{
    for (size_t i = 0; i < d->count && i < CFG_DIFFERENCE_MAX; i++)
        free(d->texts[i]);
    free(d->why);
    changes_fini(&d->changes);
    *d = (struct cfg_difference){.effect = CFG_EFFECT_NONE};
}

bool cfg_same_meaning(const struct cfg_file *a, const struct cfg_file *b)
{
    cleanup(cfg_difference_fini) struct cfg_difference d;
    cfg_difference_init(&d, a, b);
    return d.effect == CFG_EFFECT_NONE;
}
