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
#include "haproxy/cfg/inherit.h"
#include "haproxy/cfg/keywords.h"
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

#define NOTHING ((struct piece){"", 0})

static bool piece_is(struct piece p, const char *text)
{
    return piece_eq(p, (struct piece){text, strlen(text)});
}

static bool piece_is_among(struct piece p, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (piece_is(p, texts[i]))
            return true;
    return false;
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

/* What is the same for all servers of a section: its own default-server lines, and those of the defaults that it is from. */
struct of_section {
    bool known;                    /* what its servers are */
    bool dynamic;                  /* its algorithm */
    bool weight, disabled, backup; /* a default-server line has that word */
};

/* The section in hand. */
struct in_hand {
    struct piece name;
    const struct cfg_file_section *was, *is; /* where it is there once, in both; else NULL */
    bool done;                               /* its other runs say nothing more */
    struct of_section of_was, of_is;
};

/* ---- servers ---- */

/* Of an entry: what stands between CFG_BETWEEN_WORDS. */
#define BETWEEN ((char[]){CFG_BETWEEN_WORDS, '\0'})

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

/* A keyword of a server, "weight", and what it takes, "10". */
struct keyword {
    struct piece word, argument;
};

static bool keyword_takes_argument(struct piece word)
{
    cleanup(mem_free_ptr) char *name = mem_strndup(word.text, word.len);
    const struct cfg_keyword *k = cfg_keyword_find(name);
    return k != NULL && cfg_keyword_takes_argument(k);
}

/* Not a keyword: so many default-server lines are before it (haproxy/cfg/entries). */
static bool entry_counts_defaults(struct piece word)
{
    return word.len > 0 && word.text[0] >= '0' && word.text[0] <= '9';
}

/* What no table knows is a keyword alone: its argument, too. */
static bool next_keyword(const char **text, struct keyword *ret)
{
    if (!next_piece(text, &ret->word))
        return false;
    ret->argument = NOTHING;
    if (keyword_takes_argument(ret->word))
        (void)next_piece(text, &ret->argument);
    return true;
}

struct server {
    struct piece name, address;
    const char *keywords; /* the rest */
    const struct cfg_entry *entry;
    const struct of_section *of;
    size_t place;
};

static struct server server_of(const struct cfg_entry *e, const struct of_section *of, size_t place)
{
    struct server s = {.name = NOTHING, .address = NOTHING, .keywords = e->text, .entry = e, .of = of, .place = place};
    struct piece kind, range;
    if (next_piece(&s.keywords, &kind) && next_piece(&s.keywords, &s.name) &&
        (piece_is(kind, "server") || next_piece(&s.keywords, &range)))
        (void)next_piece(&s.keywords, &s.address);
    return s;
}

/* The last one counts, as HAProxy has it. false: there is none. */
static bool find_keyword(const char *keywords, struct piece word, struct keyword *ret)
{
    struct keyword k;
    bool found = false;
    while (next_keyword(&keywords, &k)) {
        if (!piece_eq(k.word, word))
            continue;
        *ret = k;
        found = true;
    }
    return found;
}

static bool server_has(const struct server *s, const char *word)
{
    struct keyword k;
    return find_keyword(s->keywords, (struct piece){word, strlen(word)}, &k);
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

/* A conditional or a variable of the environment may decide what is in it, there or in the defaults that it is from; or a
 * line counts for the servers behind it alone: then it is not known. */
static struct of_section of_section(const struct cfg_file_section *own)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    struct of_section ret = {.known = true};
    const struct cfg_file_section *s = own;
    cfg_line_init(&words);
    ret.dynamic = backend_algorithm_is_dynamic(cfg_inherit_balance(own, &words));
    for (int i = 0; s != NULL && i < DEFAULTS_CHAIN_MAX; i++, s = s->defaults) {
        bool servers = false;
        for (const struct cfg_file_line *line = s->line; line < s->lines + s->line_count; line++) {
            cfg_line_split(&words, line->text, line->len);
            bool defaults = str_eq(cfg_word(&words, 0), "default-server");
            servers = servers || (s == own && str_eq(cfg_word(&words, 0), "server"));
            if (line->conditional || cfg_line_has_variable(&words) || (servers && defaults))
                ret.known = false;
            for (size_t w = 1; defaults && w < words.count; w++) {
                ret.weight = ret.weight || str_eq(cfg_word(&words, w), "weight");
                ret.disabled = ret.disabled || str_eq(cfg_word(&words, w), "disabled");
                ret.backup = ret.backup || str_eq(cfg_word(&words, w), "backup");
            }
        }
    }
    ret.known = ret.known && s == NULL;
    return ret;
}

/* As HAProxy has it without the word: 1. */
static bool take_weight(const struct server *s, int *ret)
{
    struct keyword k;
    uint64_t weight = 1;
    if (find_keyword(s->keywords, (struct piece){"weight", 6}, &k)) {
        cleanup(mem_free_ptr) char *number = mem_strndup(k.argument.text, k.argument.len);
        if (str_parse_uint(number, WEIGHT_MAX, &weight) != 0)
            return false;
    } else if (s->of->weight) {
        return false;
    }
    *ret = (int)weight;
    return true;
}

static bool take_maintenance(const struct server *s, bool *ret)
{
    *ret = server_has(s, "disabled");
    if (*ret && server_has(s, "enabled"))
        return false;
    return *ret || server_has(s, "enabled") || !s->of->disabled;
}

static bool is_backup(const struct server *s)
{
    return server_has(s, "backup") || (s->of->backup && !server_has(s, "no-backup"));
}

/* All keywords are in the table, so that none is another one's argument; none makes it follow another server. */
static bool is_plain_server(const struct server *s)
{
    const char *rest = s->keywords;
    struct keyword k;
    while (next_keyword(&rest, &k)) {
        cleanup(mem_free_ptr) char *name = mem_strndup(k.word.text, k.word.len);
        if (!entry_counts_defaults(k.word) && (cfg_keyword_find(name) == NULL || str_eq(name, "track")))
            return false;
    }
    return true;
}

/* What differs between two servers. */
struct server_difference {
    struct buf words; /* " address, weight" */
    enum cfg_effect effect;
    const struct in_hand *in;
    struct backend_server to;
    struct change change;
};

/* What the runtime API can set of it; false: that word takes a reload. */
static bool take_keyword(struct server_difference *d, const struct server *is, struct piece word)
{
    if (piece_is(word, "weight")) {
        d->change.fields |= SERVER_WEIGHT;
        return d->in->of_was.dynamic && d->in->of_is.dynamic && take_weight(is, &d->to.weight);
    }
    d->change.fields |= SERVER_MAINTENANCE;
    return (piece_is(word, "disabled") || piece_is(word, "enabled")) && take_maintenance(is, &d->to.maintenance);
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
    struct keyword k, other;
    while (next_keyword(&rest, &k)) {
        bool there = find_keyword(b->keywords, k.word, &other);
        if (there && (lacks || piece_eq(k.argument, other.argument)))
            continue;
        if (entry_counts_defaults(k.word))
            server_differs(d, (struct piece){"default-server", strlen("default-server")}, false);
        else
            server_differs(d, k.word, take_keyword(d, is, k.word));
    }
}

/* The same but for what is set at run time: the same keywords in the same order. */
static bool is_same_but_for_runtime(const struct server *a, const struct server *b)
{
    static const char *const set[] = {"weight", "disabled", "enabled"};
    const char *x = a->keywords, *y = b->keywords;
    struct keyword k = {.word = NOTHING}, m = {.word = NOTHING};
    for (;;) {
        bool more, others;
        do
            more = next_keyword(&x, &k);
        while (more && piece_is_among(k.word, set, array_len(set)));
        do
            others = next_keyword(&y, &m);
        while (others && piece_is_among(m.word, set, array_len(set)));
        if (!more || !others)
            return more == others;
        if (!piece_eq(k.word, m.word) || !piece_eq(k.argument, m.argument))
            return false;
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

static void compare_server(struct cfg_difference *d, const struct in_hand *in, const struct server *was,
                           const struct server *is)
{
    struct server_difference s = {.in = in, .to = {.weight = -1}};
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
    if (s.effect == CFG_EFFECT_NONE || template || !in->of_was.known || !in->of_is.known || !is_plain_server(was) ||
        !is_plain_server(is) || !is_same_but_for_runtime(was, is))
        s.effect = CFG_EFFECT_RELOAD;
    difference_add(d, is->entry->in, s.effect, template ? "server-template " : "server ", is->name, buf_str(&s.words));
    if (s.effect == CFG_EFFECT_RUNTIME)
        change_add(d, CHANGE_SET_SERVER, is, s.change.fields, &s.to);
    buf_fini(&s.words);
    backend_server_fini(&s.to);
}

/* A server that comes or goes. last_backup: the place of the last backup server of those that are to be. */
static void compare_lone_server(struct cfg_difference *d, const struct in_hand *in, const struct server *s, bool comes,
                                const char *kind, size_t last_backup)
{
    cleanup(mem_free_ptr) char *text = mem_printf("%s%s ", comes ? "new " : "", kind);
    struct backend_server to = {.weight = -1};
    bool can = str_eq(kind, "server") && in->of_was.known && in->of_is.known && in->of_was.dynamic &&
               in->of_is.dynamic && take_address(s->address, &to.address, &to.port) && take_weight(s, &to.weight) &&
               take_maintenance(s, &to.maintenance) && is_plain_server(s);
    /* HAProxy puts it behind all others, and the first backup server of the file is the one that serves. */
    if (comes && can && is_backup(s) && s->place < last_backup)
        can = false;
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
static struct server *servers_of(struct cfg_run run, const struct of_section *of)
{
    struct server *list = mem_array(run.count, sizeof(*list));
    for (size_t i = 0; i < run.count; i++)
        list[i] = server_of(&run.list[i], of, i);
    if (run.count > 1)
        qsort(list, run.count, sizeof(*list), order_of_servers);
    return list;
}

static void compare_servers(struct cfg_difference *d, struct in_hand *in, struct cfg_run was, struct cfg_run is,
                            const char *kind)
{
    in->of_was = of_section(in->was);
    in->of_is = of_section(in->is);
    cleanup(mem_free_ptr) struct server *a = servers_of(was, &in->of_was);
    cleanup(mem_free_ptr) struct server *b = servers_of(is, &in->of_is);
    cleanup(mem_free_ptr) size_t *moved_to = mem_array(was.count, sizeof(*moved_to)); /* + 1; 0: it is gone */
    size_t last_backup = 0;
    for (size_t i = 0; i < is.count; i++)
        if (b[i].place > last_backup && is_backup(&b[i]))
            last_backup = b[i].place;
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int n = i == was.count ? 1 : k == is.count ? -1 : 0;
        if (n == 0 && !piece_eq(a[i].name, b[k].name))
            n = order_of_servers(&a[i], &b[k]);
        if (n == 0) {
            moved_to[a[i].place] = b[k].place + 1;
            compare_server(d, in, &a[i++], &b[k++]);
        } else if (n < 0) {
            compare_lone_server(d, in, &a[i++], false, kind, 0);
        } else {
            compare_lone_server(d, in, &b[k++], true, kind, last_backup);
        }
    }
    for (size_t i = 0, last = 0; i < was.count; i++) {
        if (moved_to[i] != 0 && moved_to[i] < last) {
            difference_add(d, in->is, CFG_EFFECT_RELOAD, "order of ", piece_of(kind, ""), "");
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

static void compare_run(struct cfg_difference *d, struct in_hand *s, struct cfg_run was, struct cfg_run is)
{
    const struct cfg_entry *first = is.count > 0 ? is.list : was.list;
    struct piece kind = piece_of(strrchr(first->key, '\n') + 1, BETWEEN);
    bool proxy = str_eq(first->in->kind, "backend") || str_eq(first->in->kind, "listen");
    if (cfg_entry_is_header(first))
        compare_headers(d, was, is, &s->done);
    else if (proxy && s->was != NULL && (piece_is(kind, "server") || piece_is(kind, "server-template")))
        compare_servers(d, s, was, is, kind.text);
    else
        compare_lines(d, was, is, kind);
}

/* ---- what HAProxy reads as it stands in the file ---- */

static bool has_same_tokens(const struct cfg_file *a, const struct cfg_file *b)
{
    bool same = a->line_count == b->line_count && !a->too_many && !b->too_many;
    for (size_t i = 0; same && i < a->line_count; i++)
        same = cfg_entries_same_line(&a->lines[i], &b->lines[i]);
    return same;
}

static bool is_same_text(const struct cfg_file_line *a, const struct cfg_file_line *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Two files side by side, with the servers that come and go by the difference. */
struct side_by_side {
    const struct change **changes; /* ordered by backend, then server */
    size_t count;
    struct cfg_line a, b; /* the lines in hand */
};

static int order_of_changes(const void *a, const void *b)
{
    const struct change *x = *(const struct change *const *)a, *y = *(const struct change *const *)b;
    int n = strcmp(x->backend->name, y->backend->name);
    return n != 0 ? n : strcmp(x->server->name, y->server->name);
}

static bool is_server_line(const struct cfg_file_section *s, const struct cfg_file_line *line, struct cfg_line *words)
{
    if (line == NULL || !cfg_file_is_proxy(s->kind) || (line->plain != NULL && line->plain[0] != 's'))
        return false;
    cfg_line_split(words, line->text, line->len);
    return str_eq(cfg_word(words, 0), "server");
}

static bool does_server(const struct side_by_side *both, const struct cfg_file_section *s, const struct cfg_line *words,
                        enum change_kind kind)
{
    const struct backend backend = {.name = s->name};
    struct backend_server server = {.name = cfg_word(words, 1)};
    const struct change wanted = {.backend = &backend, .server = &server}, *key = &wanted;
    const struct change **found =
        both->count > 0 ? bsearch(&key, both->changes, both->count, sizeof(both->changes[0]), order_of_changes) : NULL;
    return found != NULL && (*found)->kind == kind;
}

/* Byte for byte and in the same order, but for servers that come or go, and for what was seen of the others. */
static bool is_same_section(struct side_by_side *both, const struct cfg_file_section *a,
                            const struct cfg_file_section *b)
{
    size_t i = 0, k = 0;
    if (!is_same_text(a->line, b->line))
        return false;
    for (;;) {
        const struct cfg_file_line *x = i < a->line_count ? &a->lines[i] : NULL;
        const struct cfg_file_line *y = k < b->line_count ? &b->lines[k] : NULL;
        bool was = is_server_line(a, x, &both->a), is = is_server_line(b, y, &both->b);
        if (was && does_server(both, a, &both->a, CHANGE_REMOVE_SERVER))
            i++;
        else if (is && does_server(both, b, &both->b, CHANGE_ADD_SERVER))
            k++;
        else if (x == NULL || y == NULL)
            return x == y;
        else if (was && is ? !str_eq(cfg_word(&both->a, 1), cfg_word(&both->b, 1)) : !is_same_text(x, y))
            return false;
        else
            i++, k++;
    }
}

static size_t lines_before_sections(const struct cfg_file *f)
{
    return f->section_count > 0 ? (size_t)(f->sections[0].line - f->lines) : f->line_count;
}

/* All that HAProxy reads. ret_in: where the first other line is; NULL: not within a section. */
static bool is_same_file(struct side_by_side *both, const struct cfg_file *a, const struct cfg_file *b,
                         const struct cfg_file_section **ret_in)
{
    size_t first = lines_before_sections(a);
    *ret_in = NULL;
    if (a->section_count != b->section_count || first != lines_before_sections(b) || a->too_many || b->too_many)
        return false;
    for (size_t i = 0; i < first; i++)
        if (!is_same_text(&a->lines[i], &b->lines[i]))
            return false;
    for (size_t i = 0; i < a->section_count; i++) {
        *ret_in = &b->sections[i];
        if (!is_same_section(both, &a->sections[i], &b->sections[i]))
            return false;
    }
    return true;
}

static bool is_same_but_for_changes(const struct changes *changes, const struct cfg_file *a, const struct cfg_file *b,
                                    const struct cfg_file_section **ret_in)
{
    cleanup(mem_free_ptr) const struct change **list = mem_array(changes->count, sizeof(list[0]));
    struct side_by_side both = {.changes = list, .count = changes->count};
    cfg_line_init(&both.a);
    cfg_line_init(&both.b);
    for (size_t i = 0; i < changes->count; i++)
        list[i] = changes->list[i];
    if (both.count > 1)
        qsort(list, both.count, sizeof(list[0]), order_of_changes);
    bool same = is_same_file(&both, a, b, ret_in);
    cfg_line_fini(&both.a);
    cfg_line_fini(&both.b);
    return same;
}

/* What the comparison by kinds of lines, which a Data Plane API keeps apart, does not see: their order. */
static void compare_order(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after)
{
    static const struct cfg_file_section whole = {.kind = (char *)"haproxy.cfg", .name = (char *)""};
    const struct cfg_file_section *in;
    if (d->effect == CFG_EFFECT_NONE && has_same_tokens(before, after))
        return;
    if (!is_same_but_for_changes(&d->changes, before, after, &in) || d->effect == CFG_EFFECT_NONE)
        difference_add(d, in != NULL ? in : &whole, CFG_EFFECT_RELOAD, "order or quoting of lines", NOTHING, "");
}

void cfg_difference_init(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after,
                         bool regrouped)
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
        bool same = was.count == is.count;
        for (size_t i = 0; same && i < was.count; i++)
            same = str_eq(was.list[i].text, is.list[i].text);
        if (cfg_entry_is_header(first) || !piece_eq(section, s.name))
            s = (struct in_hand){.was = was.count == 1 && is.count == 1 ? was.list->in : NULL,
                                 .is = was.count == 1 && is.count == 1 ? is.list->in : NULL,
                                 .name = section};
        if (!same && !s.done)
            compare_run(d, &s, was, is);
    }
    if (!regrouped && d->effect != CFG_EFFECT_RELOAD)
        compare_order(d, before, after);
}

void cfg_difference_fini(struct cfg_difference *d)
{
    for (size_t i = 0; i < d->count && i < CFG_DIFFERENCE_MAX; i++)
        free(d->texts[i]);
    free(d->why);
    changes_fini(&d->changes);
    *d = (struct cfg_difference){.effect = CFG_EFFECT_NONE};
}

bool cfg_same_meaning(const struct cfg_file *a, const struct cfg_file *b, bool regrouped)
{
    cleanup(cfg_difference_fini) struct cfg_difference d = {.effect = CFG_EFFECT_NONE};
    if (!regrouped)
        return has_same_tokens(a, b);
    cfg_difference_init(&d, a, b, true);
    return d.effect == CFG_EFFECT_NONE;
}
