#include "haproxy/cfg/difference.h"

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
#include "haproxy/cfg/mask.h"
#include "haproxy/cfg/words.h"

#define NAME_SHOWN 64
#define DEFAULTS_CHAIN_MAX 64
#define WEIGHT_MAX 256

/* A text of an entry that ends, too, where the next of its words begins. */
#define BETWEEN ((char[]){CFG_BETWEEN_WORDS, '\0'})

/* "backend b" */
static void add_section_name(struct buf *out, const struct cfg_file_section *s)
{
    const char *name = cfg_file_name(s);
    buf_printf(out, "%s%s", s->kind, name[0] != '\0' ? " " : "");
    text_add(out, name, TEXT_LINE, NAME_SHOWN);
}

/* "backend b: ", with `before`, what, and " name" where there is one. */
static void difference_add(struct cfg_difference *d, const struct cfg_file_section *s, enum cfg_effect effect,
                           const char *before, const char *what, const char *behind)
{
    size_t len = strcspn(what, BETWEEN);
    bool most = effect > d->effect;
    d->effect = most ? effect : d->effect;
    if (d->count++ >= CFG_DIFFERENCE_MAX && !most)
        return;
    struct buf text = {0};
    add_section_name(&text, s);
    buf_printf(&text, ": %s", before);
    text_addn(&text, what, len, TEXT_LINE, NAME_SHOWN);
    if (len == 0 && str_has_suffix(before, " ")) /* "server " of a line that has no name */
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

/* The section in hand, whose difference is added to d. */
struct in_hand {
    struct cfg_difference *d;
    const char *name; /* which has name_len bytes */
    size_t name_len;
    const struct cfg_file_section *was, *is; /* where it is there once, in both; else NULL */
    bool done;                               /* its other runs say nothing more */
    struct of_section of_was, of_is;
};

/* ---- servers ---- */

/* Its words are those of its entry. */
struct server {
    const char *name, *address; /* "": none */
    char *text;
    const char **words;
    size_t count, first; /* of the keywords */
    const struct cfg_entry *entry;
    const struct of_section *of;
    size_t place;
};

struct server_list {
    struct server *list; /* ordered by name */
    size_t count;
};

static void server_list_fini(struct server_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        mem_wipe_free(l->list[i].text);
        free(l->list[i].words);
    }
    free(l->list);
}

static int order_of_servers(const void *a, const void *b)
{
    const struct server *x = a, *y = b;
    int n = strcmp(x->name, y->name);
    return n != 0 ? n : (x->place > y->place) - (x->place < y->place);
}

static struct server_list servers_of(struct cfg_run run, const struct of_section *of)
{
    struct server_list ret = {mem_array(run.count, sizeof(ret.list[0])), run.count};
    for (size_t i = 0; i < run.count; i++) {
        struct server *s = &ret.list[i];
        size_t room = 1;
        *s = (struct server){.entry = &run.list[i], .of = of, .place = i, .text = mem_strdup(run.list[i].text)};
        for (const char *c = s->text; *c != '\0'; c++)
            room += *c == CFG_BETWEEN_WORDS;
        s->words = mem_array(room, sizeof(s->words[0]));
        char *rest = s->text;
        for (char *word; (word = strsep(&rest, BETWEEN)) != NULL;)
            s->words[s->count++] = word;
        size_t address = str_eq(s->words[0], "server") ? 2 : 3; /* behind the range of a template */
        s->name = s->count > 1 ? s->words[1] : "";
        s->address = s->count > address ? s->words[address] : "";
        s->first = address + 1;
    }
    if (ret.count > 1)
        qsort(ret.list, ret.count, sizeof(ret.list[0]), order_of_servers);
    return ret;
}

/* A keyword of a server, "weight", and what it takes, "10". */
struct keyword {
    const char *word, *argument;     /* "": none */
    const struct cfg_keyword *known; /* NULL: it is in no table */
};

/* Not a keyword: so many default-server lines are before it (haproxy/cfg/entries). */
static bool entry_counts_defaults(const char *word)
{
    return word[0] >= '0' && word[0] <= '9';
}

/* From *at on. What no table knows is a keyword alone: its argument, too. */
static bool next_keyword(const struct server *s, size_t *at, struct keyword *ret)
{
    if (*at >= s->count)
        return false;
    *ret = (struct keyword){s->words[*at], "", cfg_keyword_find(s->words[*at])};
    ++*at;
    if (ret->known != NULL && cfg_keyword_takes_argument(ret->known) && *at < s->count)
        ret->argument = s->words[(*at)++];
    return true;
}

/* The last one counts, as HAProxy has it. false: there is none. */
static bool find_keyword(const struct server *s, const char *word, struct keyword *ret)
{
    struct keyword k;
    bool found = false;
    for (size_t at = s->first; next_keyword(s, &at, &k);)
        if (str_eq(k.word, word)) {
            *ret = k;
            found = true;
        }
    return found;
}

static bool server_has(const struct server *s, const char *word)
{
    struct keyword k;
    return find_keyword(s, word, &k);
}

/* An address of IP and port, which HAProxy takes at run time. ret_ip is base/shared_text's. */
static bool take_address(const char *address, const char **ret_ip, uint16_t *ret_port)
{
    cleanup(mem_free_ptr) char *host = mem_strdup(address);
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
    if (find_keyword(s, "weight", &k) ? str_parse_uint(k.argument, WEIGHT_MAX, &weight) != 0 : s->of->weight)
        return false;
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
    struct keyword k;
    for (size_t at = s->first; next_keyword(s, &at, &k);)
        if (!entry_counts_defaults(k.word) && (k.known == NULL || str_eq(k.word, "track")))
            return false;
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
static bool take_keyword(struct server_difference *d, const struct server *is, const char *word)
{
    if (str_eq(word, "weight")) {
        d->change.fields |= SERVER_WEIGHT;
        return d->in->of_was.dynamic && d->in->of_is.dynamic && take_weight(is, &d->to.weight);
    }
    d->change.fields |= SERVER_MAINTENANCE;
    return (str_eq(word, "disabled") || str_eq(word, "enabled")) && take_maintenance(is, &d->to.maintenance);
}

static void server_differs(struct server_difference *d, const char *word, bool runtime)
{
    buf_printf(&d->words, "%s%s", d->words.len > 0 ? ", " : " ", word);
    d->effect = runtime && d->effect != CFG_EFFECT_RELOAD ? CFG_EFFECT_RUNTIME : CFG_EFFECT_RELOAD;
}

/* The keywords of `a` that b lacks or, unless it is only asked for those, has otherwise. `is`: the one of both that is to
 * be. */
static void compare_keywords(struct server_difference *d, const struct server *a, const struct server *b, bool lacks,
                             const struct server *is)
{
    struct keyword k, other;
    for (size_t at = a->first; next_keyword(a, &at, &k);) {
        bool there = find_keyword(b, k.word, &other);
        if (there && (lacks || str_eq(k.argument, other.argument)))
            continue;
        if (entry_counts_defaults(k.word))
            server_differs(d, "default-server", false);
        else
            server_differs(d, k.word, take_keyword(d, is, k.word));
    }
}

/* The next one that is not set at run time. */
static bool next_fixed_keyword(const struct server *s, size_t *at, struct keyword *ret)
{
    while (next_keyword(s, at, ret))
        if (!str_eq(ret->word, "weight") && !str_eq(ret->word, "disabled") && !str_eq(ret->word, "enabled"))
            return true;
    return false;
}

/* The same but for what is set at run time: the same keywords in the same order. */
static bool is_same_but_for_runtime(const struct server *a, const struct server *b)
{
    size_t x = a->first, y = b->first;
    struct keyword k, m;
    for (;;) {
        bool more = next_fixed_keyword(a, &x, &k), others = next_fixed_keyword(b, &y, &m);
        if (!more || !others)
            return more == others;
        if (!str_eq(k.word, m.word) || !str_eq(k.argument, m.argument))
            return false;
    }
}

/* A name that a command can say is no matter here: who puts it into words knows (haproxy/local/server_command). */
static void change_add(struct cfg_difference *d, enum change_kind kind, const struct server *s, unsigned fields,
                       struct backend_server *to)
{
    const struct backend backend = {.name = s->entry->in->name};
    const struct change change = {.kind = kind, .backend = &backend, .server = to, .fields = fields};
    to->name = shared_text(s->name);
    changes_add(&d->changes, &change);
}

static void compare_server(const struct in_hand *in, const struct server *was, const struct server *is)
{
    struct server_difference s = {.in = in, .to = {.weight = -1}};
    if (str_eq(was->entry->text, is->entry->text))
        return;
    bool template = str_has_prefix(is->entry->text, "server-template");
    bool plain = take_address(is->address, &s.to.address, &s.to.port);
    if (!str_eq(was->address, is->address)) {
        cleanup(backend_server_fini) struct backend_server from = {0};
        s.change.fields = SERVER_ADDRESS | SERVER_PORT;
        server_differs(&s, "address", plain && take_address(was->address, &from.address, &from.port));
    }
    compare_keywords(&s, was, is, false, is);
    compare_keywords(&s, is, was, true, is);
    if (s.effect == CFG_EFFECT_NONE || template || !in->of_was.known || !in->of_is.known || !is_plain_server(was) ||
        !is_plain_server(is) || !is_same_but_for_runtime(was, is))
        s.effect = CFG_EFFECT_RELOAD;
    difference_add(in->d, is->entry->in, s.effect, template ? "server-template " : "server ", is->name,
                   buf_str(&s.words));
    if (s.effect == CFG_EFFECT_RUNTIME)
        change_add(in->d, CHANGE_SET_SERVER, is, s.change.fields, &s.to);
    buf_fini(&s.words);
    backend_server_fini(&s.to);
}

/* A server that comes or goes. last_backup: the place of the last backup server of those that are to be. */
static void compare_lone_server(const struct in_hand *in, const struct server *s, bool comes, const char *kind,
                                size_t last_backup)
{
    cleanup(mem_free_ptr) char *text = mem_printf("%s%s ", comes ? "new " : "", kind);
    struct backend_server to = {.weight = -1};
    bool can = str_eq(kind, "server") && in->of_was.known && in->of_is.known && in->of_was.dynamic &&
               in->of_is.dynamic && take_address(s->address, &to.address, &to.port) && take_weight(s, &to.weight) &&
               take_maintenance(s, &to.maintenance) && is_plain_server(s);
    /* HAProxy puts it behind all others, and the first backup server of the file is the one that serves. */
    if (comes && can && is_backup(s) && s->place < last_backup)
        can = false;
    difference_add(in->d, s->entry->in, can ? CFG_EFFECT_RUNTIME_SERVERS : CFG_EFFECT_RELOAD, text, s->name,
                   comes ? "" : " removed");
    if (can)
        change_add(in->d, comes ? CHANGE_ADD_SERVER : CHANGE_REMOVE_SERVER, s, 0, &to);
    backend_server_fini(&to);
}

static void compare_servers(struct in_hand *in, struct cfg_run was, struct cfg_run is, const char *kind)
{
    in->of_was = of_section(in->was);
    in->of_is = of_section(in->is);
    cleanup(server_list_fini) struct server_list before = servers_of(was, &in->of_was);
    cleanup(server_list_fini) struct server_list after = servers_of(is, &in->of_is);
    const struct server *a = before.list, *b = after.list;
    cleanup(mem_free_ptr) size_t *moved_to = mem_array(was.count, sizeof(*moved_to)); /* + 1; 0: it is gone */
    size_t last_backup = 0;
    for (size_t i = 0; i < is.count; i++)
        if (b[i].place > last_backup && is_backup(&b[i]))
            last_backup = b[i].place;
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int n = i == was.count ? 1 : k == is.count ? -1 : strcmp(a[i].name, b[k].name);
        if (n == 0) {
            moved_to[a[i].place] = b[k].place + 1;
            compare_server(in, &a[i++], &b[k++]);
        } else if (n < 0) {
            compare_lone_server(in, &a[i++], false, kind, 0);
        } else {
            compare_lone_server(in, &b[k++], true, kind, last_backup);
        }
    }
    for (size_t i = 0, last = 0; i < was.count; i++) {
        if (moved_to[i] != 0 && moved_to[i] < last) {
            difference_add(in->d, in->is, CFG_EFFECT_RELOAD, "order of ", kind, "");
            break;
        }
        last = moved_to[i] != 0 ? moved_to[i] : last;
    }
}

/* ---- the difference ---- */

static void compare_run(struct in_hand *s, struct cfg_run was, struct cfg_run is)
{
    struct cfg_difference *d = s->d;
    const struct cfg_entry *first = is.count > 0 ? is.list : was.list;
    const char *kind = strrchr(first->key, '\n') + 1;
    bool proxy = str_eq(first->in->kind, "backend") || str_eq(first->in->kind, "listen");
    if (cfg_entry_is_header(first)) {
        s->done = was.count == 0 || is.count == 0; /* the section is in one of them alone */
        difference_add(d, first->in, CFG_EFFECT_RELOAD,
                       was.count == 0          ? "new"
                       : is.count == 0         ? "removed"
                       : was.count == is.count ? "from"
                                               : "how often it is there",
                       "", "");
    } else if (proxy && s->was != NULL && (str_eq(kind, "server") || str_eq(kind, "server-template"))) {
        compare_servers(s, was, is, kind);
    } else {
        cleanup(cfg_lone_lines_fini) struct cfg_lone_lines lone = cfg_lone_lines_of(was, is);
        difference_add(d, first->in, CFG_EFFECT_RELOAD,
                       lone.gone_count + lone.new_count == 0 ? "order of "
                       : lone.gone_count == 0                ? "new "
                                                             : "",
                       kind, lone.gone_count > 0 && lone.new_count == 0 ? " removed" : "");
    }
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

/* All that HAProxy reads. ret_in: where the first other line is; NULL: not within a section. */
static bool is_same_file(struct side_by_side *both, const struct cfg_file *a, const struct cfg_file *b,
                         const struct cfg_file_section **ret_in)
{
    size_t first = a->section_count > 0 ? (size_t)(a->sections[0].line - a->lines) : a->line_count;
    size_t of_b = b->section_count > 0 ? (size_t)(b->sections[0].line - b->lines) : b->line_count;
    *ret_in = NULL;
    if (a->section_count != b->section_count || first != of_b || a->too_many || b->too_many)
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

/* What the comparison by kinds of lines, which a Data Plane API keeps apart, does not see: their order. */
static void compare_order(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after)
{
    static const struct cfg_file_section whole = {.kind = (char *)"haproxy.cfg", .name = (char *)""};
    const struct cfg_file_section *in;
    if (d->effect == CFG_EFFECT_NONE && has_same_tokens(before, after))
        return;
    cleanup(mem_free_ptr) const struct change **list = mem_array(d->changes.count, sizeof(list[0]));
    struct side_by_side both = {.changes = list, .count = d->changes.count};
    cfg_line_init(&both.a);
    cfg_line_init(&both.b);
    for (size_t i = 0; i < both.count; i++)
        list[i] = d->changes.list[i];
    if (both.count > 1)
        qsort(list, both.count, sizeof(list[0]), order_of_changes);
    if (!is_same_file(&both, before, after, &in) || d->effect == CFG_EFFECT_NONE)
        difference_add(d, in != NULL ? in : &whole, CFG_EFFECT_RELOAD, "order or quoting of lines", "", "");
    cfg_line_fini(&both.a);
    cfg_line_fini(&both.b);
}

static void difference_see(void *arg, struct cfg_run was, struct cfg_run is)
{
    struct in_hand *in = arg;
    const struct cfg_entry *first = is.count > 0 ? is.list : was.list;
    size_t len = (size_t)(strrchr(first->key, '\n') - first->key);
    bool same = was.count == is.count, once = was.count == 1 && is.count == 1;
    for (size_t i = 0; same && i < was.count; i++)
        same = str_eq(was.list[i].text, is.list[i].text);
    if (cfg_entry_is_header(first) || len != in->name_len || memcmp(first->key, in->name, len) != 0)
        *in = (struct in_hand){.d = in->d,
                               .was = once ? was.list->in : NULL,
                               .is = once ? is.list->in : NULL,
                               .name = first->key,
                               .name_len = len};
    if (!same && !in->done)
        compare_run(in, was, is);
}

void cfg_difference_init(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after,
                         bool regrouped)
{
    struct in_hand in = {.d = d, .name = ""};
    *d = (struct cfg_difference){.effect = CFG_EFFECT_NONE};
    cfg_entries_compare(before, after, NULL, difference_see, &in);
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

/* ---- line by line ---- */

static void line_difference_add(struct cfg_line_difference *d, struct cfg_run run, const bool *alone, char sign)
{
    for (size_t i = 0; i < run.count; i++) {
        const struct cfg_entry *e = &run.list[i];
        if (!alone[i] || d->count++ >= CFG_LINE_DIFFERENCE_MAX)
            continue;
        struct buf section = {0}, text = {0};
        add_section_name(&section, e->in);
        buf_printf(&text, "%c ", sign);
        cfg_mask_line(e->line->text, e->line->len, CFG_LINE_DIFFERENCE_LINE_MAX_BYTES, &text);
        d->lines[d->count - 1] = (struct cfg_line_of){.section = buf_take(&section), .text = buf_take(&text)};
    }
}

static void line_difference_see(void *d, struct cfg_run was, struct cfg_run is)
{
    cleanup(cfg_lone_lines_fini) struct cfg_lone_lines lone = cfg_lone_lines_of(was, is);
    line_difference_add(d, was, lone.gone, '-');
    line_difference_add(d, is, lone.new, '+');
}

void cfg_line_difference_init(struct cfg_line_difference *d, const struct cfg_file *before,
                              const struct cfg_file *after)
{
    *d = (struct cfg_line_difference){0};
    cfg_entries_compare(before, after, NULL, line_difference_see, d);
}

void cfg_line_difference_fini(struct cfg_line_difference *d)
{
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        mem_free_all(d->lines[i].section, d->lines[i].text);
    }
    *d = (struct cfg_line_difference){0};
}
