#include "haproxy/cfg/entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/damage.h"
#include "haproxy/cfg/words.h"

struct cfg_entries {
    struct cfg_entry *list; /* ordered by key, then as in the file */
    size_t count, at;
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

/* Allocates. */
static char *kind_of(const struct cfg_line *l)
{
    size_t at = str_eq(cfg_word(l, 0), "no") && l->count > 1;
    const char *first = cfg_word(l, at), *second = cfg_word(l, at + 1);
    bool two = cfg_is_among(first, prefixes, array_len(prefixes));
    if (str_eq(first, "option") && (str_has_suffix(second, "-check") || str_has_suffix(second, "chk")))
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
    static const char *const of_a_proxy[] = {"balance", "default_backend", "fullconn", "mode", "retries"};
    const char *kind = strrchr(key, '\n') + 1;
    if (cfg_is_among(kind, of_a_proxy, array_len(of_a_proxy)))
        return true;
    for (size_t i = 0; i < array_len(kinds); i++)
        if (str_has_prefix(kind, kinds[i]))
            return true;
    return false;
}

/* ---- what is there ---- */

static void cfg_entries_add(struct cfg_entries *b, struct cfg_entry e)
{
    b->list = mem_one_more(b->list, b->count, sizeof(b->list[0]));
    e.order = b->count;
    b->list[b->count++] = e;
}

/* What begins a group of words in such a line; others are its arguments. */
static const char groups_begin[] =
    " ! addr alpn attr body body-lf comment connect content-type default deny_status domain dynamic "
    "errorfile errorfiles error-status expect expire fhdr file hdr httponly indirect insert len lf-file "
    "lf-string linger maxidle maxlife meth min-recv nocache nopurge ok-status on-error on-success peers "
    "port postonly prefix preserve proto recv-only rewrite rstatus rstring secure send-proxy size sni "
    "srvkey ssl status status-code store string tout-status type uri uri-lf ver via-socks4 "
    "default-errorfiles write-to ";

static bool begins_group(const char *word)
{
    const char *found = word[0] != '\0' ? groups_begin : NULL;
    size_t len = strlen(word);
    while (found != NULL && (found = strstr(found + 1, word)) != NULL && (found[-1] != ' ' || found[len] != ' '))
        ;
    return found != NULL && strchr(word, ' ') == NULL;
}

/* A word of those, and its arguments. */
struct word_group {
    const struct cfg_word *first;
    size_t count;
};

static int order_of_groups(const void *a, const void *b)
{
    const struct word_group *x = a, *y = b;
    int n = 0;
    for (size_t i = 0; n == 0 && i < x->count && i < y->count; i++)
        n = strcmp(x->first[i].text, y->first[i].text);
    return n != 0 ? n : (x->count > y->count) - (x->count < y->count);
}

/* The API writes the words behind the first of such a line in an order of its own, up to the condition, and names some
 * otherwise; here they stand by the alphabet. */
static void entry_regroup(struct cfg_line *l)
{
    static const char *const lines[] = {"cookie", "http-check", "http-error", "stick-table", "tcp-check"};
    static const char *const rules[] = {"http-request", "http-response"};
    static const char *const actions[] = {"deny", "return", "tarpit"};
    struct cfg_word words[RAWCFG_MAX_WORDS];
    struct word_group groups[RAWCFG_MAX_WORDS];
    size_t end = 1, count = 0, to = 2;
    bool rule = cfg_is_among(cfg_word(l, 0), rules, array_len(rules));
    if (rule ? !cfg_is_among(cfg_word(l, 1), actions, array_len(actions))
             : !cfg_is_among(cfg_word(l, 0), lines, array_len(lines)))
        return;
    for (; end < l->count && !str_eq(l->words[end].text, "if") && !str_eq(l->words[end].text, "unless"); end++)
        if (rule && str_eq(l->words[end].text, "status"))
            l->words[end] = (struct cfg_word){.text = "deny_status", .plain = true};
    if (end <= 3)
        return;
    memcpy(words, l->words, end * sizeof(words[0]));
    for (size_t i = 2; i < end; i++) {
        if (count > 0 && !begins_group(words[i].text))
            groups[count - 1].count++;
        else
            groups[count++] = (struct word_group){&words[i], 1};
    }
    qsort(groups, count, sizeof(groups[0]), order_of_groups);
    for (size_t i = 0; i < count; to += groups[i++].count)
        memcpy(&l->words[to], groups[i].first, groups[i].count * sizeof(words[0]));
}

/* What is broken is taken as it stands. */
static char *cfg_entries_text_of(const struct cfg_line *l, const struct cfg_file_line *line, size_t defaults_before)
{
    char number[24] = "";
    size_t len, room = 0, at = 0;
    if (l->broken)
        return mem_strndup(line->text, line->len);
    if (defaults_before > 0)
        snprintf(number, sizeof(number), "%c%zu", CFG_BETWEEN_WORDS, defaults_before);
    for (size_t i = 0; i < l->count; i++, room += len + 1)
        (void)cfg_word_meaning(&l->words[i], &len);
    char *text = mem_alloc(room + sizeof(number));
    for (size_t i = 0; i < l->count; i++, at += len) {
        const char *word = cfg_word_meaning(&l->words[i], &len);
        if (i > 0)
            text[at++] = CFG_BETWEEN_WORDS;
        memcpy(text + at, word, len);
    }
    snprintf(text + at, sizeof(number), "%s", number);
    return text;
}

static bool is_ours(const struct cfg_file_managed *ours, const struct cfg_file_section *s, const char *first,
                    const char *second)
{
    return ours != NULL && ours->is_ours(ours->arg, s->kind, s->name, first, second);
}

static void add_lines(struct cfg_entries *b, const struct cfg_file_section *s, const char *section,
                      struct cfg_line *words, const struct cfg_file_managed *ours)
{
    static const char *const servers[] = {"server", "server-template", "peer"};
    size_t defaults = 0;
    for (size_t i = 0; i < s->line_count; i++) {
        cfg_line_split(words, s->lines[i].text, s->lines[i].len);
        if (is_ours(ours, s, cfg_word(words, 0), cfg_word(words, 1)))
            continue;
        cleanup(mem_free_ptr) char *kind = kind_of(words);
        /* Among peers, the order of the servers says nothing. */
        bool peers = str_eq(s->kind, "peers");
        bool server = cfg_is_among(kind, servers, array_len(servers));
        if (!words->broken)
            entry_regroup(words);
        defaults += str_eq(kind, "default-server"); /* counts for what follows it */
        cfg_entries_add(b, (struct cfg_entry){.key = mem_printf("%s\n%s%s%s", section, kind,
                                                                peers ? (char[]){CFG_BETWEEN_WORDS, '\0'} : "",
                                                                peers ? cfg_word(words, 1) : ""),
                                              .text = cfg_entries_text_of(words, &s->lines[i], server ? defaults : 0),
                                              .line = &s->lines[i],
                                              .in = s});
    }
}

/* ---- sections ---- */

/* The name of the defaults section that it inherits from; "": none. */
static const char *inherits_from(const struct cfg_file_section *s)
{
    return s->from[0] == '\0' && s->defaults != NULL ? cfg_file_name(s->defaults) : s->from;
}

/* Words that HAProxy would refuse: what has them may not pass for the same. */
static bool has_more_words(const struct cfg_file_section *s, struct cfg_line *words)
{
    cfg_line_split(words, s->line->text, s->line->len);
    return words->count > 1 + (size_t)(s->name[0] != '\0') + (s->from[0] != '\0' ? 2 : 0);
}

static void add_section(struct cfg_entries *b, const struct cfg_file_section *s, struct cfg_line *words,
                        const struct cfg_file_managed *ours)
{
    cleanup(mem_free_ptr) char *section = mem_printf("%s %s", s->kind, cfg_file_name(s));
    if (!str_eq(s->kind, "global") && !is_ours(ours, s, NULL, NULL))
        cfg_entries_add(
            b, (struct cfg_entry){
                   .key = mem_printf("%s\n", section), .text = mem_strdup(inherits_from(s)), .line = s->line, .in = s});
    if (has_more_words(s, words))
        cfg_entries_add(b, (struct cfg_entry){.key = mem_printf("%s\nheader", section),
                                              .text = cfg_entries_text_of(words, s->line, 0),
                                              .line = s->line,
                                              .in = s});
    add_lines(b, s, section, words, ours);
}

static int order_of_entries(const void *a, const void *b)
{
    const struct cfg_entry *x = a, *y = b;
    int n = strcmp(x->key, y->key);
    return n != 0 ? n : (x->order > y->order) - (x->order < y->order);
}

/* ---- sections that need no entries ---- */

/* What may mean more than itself: where such bytes begin, two lines are the same only byte for byte. */
static bool is_special(char c)
{
    return c == '"' || c == '\'' || c == '\\';
}

static bool ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '#' || is_special(c);
}

/* From *at on, to the next word; false: there is none. */
static bool skip_blanks(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        ++*at;
    return *at < end && **at != '#';
}

bool cfg_entries_same_line(const struct cfg_file_line *a, const struct cfg_file_line *b)
{
    const char *x = a->text, *y = b->text, *x_end = x + a->len, *y_end = y + b->len;
    if (a->plain != NULL && b->plain != NULL && a->plain_len == b->plain_len &&
        memcmp(a->plain, b->plain, a->plain_len) == 0)
        return true;
    for (;;) {
        bool more = skip_blanks(&x, x_end);
        if (more != skip_blanks(&y, y_end) || !more)
            return !more && !(y < y_end && *y != '#');
        for (; x < x_end && y < y_end && *x == *y && !ends_word(*x); x++)
            y++;
        if ((x < x_end && is_special(*x)) || (y < y_end && is_special(*y)))
            return x_end - x == y_end - y && memcmp(x, y, (size_t)(x_end - x)) == 0;
        if ((x < x_end && !ends_word(*x)) || (y < y_end && !ends_word(*y)))
            return false;
    }
}

static bool is_same_section(const struct cfg_file_section *a, const struct cfg_file_section *b, struct cfg_line *words)
{
    if (a->line_count != b->line_count || !str_eq(inherits_from(a), inherits_from(b)) || has_more_words(a, words) ||
        has_more_words(b, words))
        return false;
    for (size_t i = 0; i < a->line_count; i++)
        if (!cfg_entries_same_line(&a->lines[i], &b->lines[i]))
            return false;
    return true;
}

/* How many of the list, from i on, are called as the one there; 0 behind the last. */
static size_t count_namesakes(const struct cfg_file_section **list, size_t count, size_t i)
{
    size_t n = i < count;
    while (i + n < count && cfg_file_section_order(list[i], list[i + n]) == 0)
        n++;
    return n;
}

/* Without the sections that are there once in both, and have the same lines. */
static void read_both(struct cfg_entries *a, struct cfg_entries *b, const struct cfg_file *before,
                      const struct cfg_file *after, const struct cfg_file_managed *ours)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cleanup(mem_free_ptr) const struct cfg_file_section **was = cfg_file_ordered_sections(before);
    cleanup(mem_free_ptr) const struct cfg_file_section **is = cfg_file_ordered_sections(after);
    cfg_line_init(&words);
    for (size_t i = 0, k = 0; i < before->section_count || k < after->section_count;) {
        size_t n = count_namesakes(was, before->section_count, i), m = count_namesakes(is, after->section_count, k);
        int order = n == 0 ? 1 : m == 0 ? -1 : cfg_file_section_order(was[i], is[k]);
        bool same = order == 0 && n == 1 && m == 1 && is_same_section(was[i], is[k], &words);
        for (; order <= 0 && n > 0; n--, i++)
            if (!same)
                add_section(a, was[i], &words, ours);
        for (; order >= 0 && m > 0; m--, k++)
            if (!same)
                add_section(b, is[k], &words, ours);
    }
    if (a->count > 1)
        qsort(a->list, a->count, sizeof(a->list[0]), order_of_entries);
    if (b->count > 1)
        qsort(b->list, b->count, sizeof(b->list[0]), order_of_entries);
}

static void cfg_entries_fini(struct cfg_entries *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->list[i].key);
        mem_wipe_free(b->list[i].text);
    }
    free(b->list);
}

/* ---- two of them side by side ---- */

bool cfg_entry_is_header(const struct cfg_entry *e)
{
    return str_has_suffix(e->key, "\n");
}

static struct cfg_run take_run(struct cfg_entries *b, const char *key)
{
    size_t begin = b->at;
    while (b->at < b->count && str_eq(b->list[b->at].key, key))
        b->at++;
    struct cfg_run r = {b->at > begin ? &b->list[begin] : NULL, b->at - begin};
    return r.count > 1 && last_counts(key) ? (struct cfg_run){&b->list[b->at - 1], 1} : r;
}

void cfg_entries_compare(const struct cfg_file *before, const struct cfg_file *after,
                         const struct cfg_file_managed *ours, cfg_entries_see *see, void *arg)
{
    cleanup(cfg_entries_fini) struct cfg_entries a = {0};
    cleanup(cfg_entries_fini) struct cfg_entries b = {0};
    read_both(&a, &b, before, after, ours);
    while (a.at < a.count || b.at < b.count) {
        const char *key_a = a.at < a.count ? a.list[a.at].key : NULL;
        const char *key_b = b.at < b.count ? b.list[b.at].key : NULL;
        const char *key = key_b == NULL || (key_a != NULL && strcmp(key_a, key_b) <= 0) ? key_a : key_b;
        struct cfg_run was = take_run(&a, key), is = take_run(&b, key);
        see(arg, was, is);
    }
}

/* ---- the lines of one kind ---- */

void cfg_lone_lines_fini(struct cfg_lone_lines *l)
{
    mem_free_all(l->gone, l->new);
}

static int order_of_texts(const void *a, const void *b)
{
    const struct cfg_entry *const *x = a, *const *y = b;
    int n = strcmp((*x)->text, (*y)->text);
    return n != 0 ? n : ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

static const struct cfg_entry **sorted_by_text(struct cfg_run run)
{
    const struct cfg_entry **list = mem_array(run.count, sizeof(*list));
    for (size_t i = 0; i < run.count; i++)
        list[i] = &run.list[i];
    if (run.count > 1)
        qsort(list, run.count, sizeof(*list), order_of_texts);
    return list;
}

struct cfg_lone_lines cfg_lone_lines_of(struct cfg_run was, struct cfg_run is)
{
    cleanup(mem_free_ptr) const struct cfg_entry **a = sorted_by_text(was);
    cleanup(mem_free_ptr) const struct cfg_entry **b = sorted_by_text(is);
    struct cfg_lone_lines ret = {.gone = mem_array(was.count, sizeof(bool)), .new = mem_array(is.count, sizeof(bool))};
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int n = i == was.count ? 1 : k == is.count ? -1 : strcmp(a[i]->text, b[k]->text);
        if (n < 0)
            ret.gone[a[i] - was.list] = true;
        if (n > 0)
            ret.new[b[k] - is.list] = true;
        ret.gone_count += n < 0;
        ret.new_count += n > 0;
        i += n <= 0;
        k += n >= 0;
    }
    return ret;
}
