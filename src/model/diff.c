#include "model/diff.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"

#define ALIENS_SHOWN 3

/* The glob that a name matches; NULL: none. */
static const char *keep_glob(const char *name, const struct diff_rules *rules)
{
    for (size_t i = 0; i < rules->keep_count; i++)
        if (fnmatch(rules->keep_servers[i], name, 0) == 0)
            return rules->keep_servers[i];
    return NULL;
}

bool diff_server_is_foreign(const struct backend_server *s, const struct diff_rules *rules)
{
    return s->backup || keep_glob(s->name, rules) != NULL;
}

void diff_fini(struct diff *d)
{
    for (size_t i = 0; i < d->change_count; i++) {
        backend_server_fini(&d->changes[i].server);
        free(d->changes[i].detail);
    }
    for (size_t i = 0; i < d->skip_count; i++) {
        free(d->skips[i].name);
        free(d->skips[i].reason);
    }
    free(d->changes);
    free(d->skips);
    free(d->why);
    free(d->backend_detail);
    *d = (struct diff){.verdict = DIFF_NOTHING};
}

/* Room for one more at the powers of two; the count itself says when. */
static void *grow(void *list, size_t count, size_t bytes)
{
    return (count & (count - 1)) == 0 ? mem_resize(list, count != 0 ? count * 2 : 1, bytes) : list;
}

static struct diff_change *add_change(struct diff *d, enum diff_op op)
{
    d->changes = grow(d->changes, d->change_count, sizeof(d->changes[0]));
    struct diff_change *c = &d->changes[d->change_count++];
    *c = (struct diff_change){.op = op, .server.weight = -1};
    return c;
}

static void add_skip(struct diff *d, const char *name, char *reason)
{
    d->skips = grow(d->skips, d->skip_count, sizeof(d->skips[0]));
    d->skips[d->skip_count++] = (struct diff_skip){mem_strdup(name), reason};
}

/* ---- the lines that are there, in the order of their names ---- */

struct line {
    const struct backend_server *server;
    bool foreign;
};

struct lines {
    struct line *list;
    size_t count;
};

static void lines_fini(struct lines *l)
{
    free(l->list);
}

/* The order in the file decides between equal names; they lie in one array, so their addresses tell it. */
static int line_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = strcmp(x->server->name, y->server->name);
    return order != 0 ? order : (x->server > y->server) - (x->server < y->server);
}

static bool same_name(const struct lines *l, size_t i, size_t j)
{
    return strcmp(l->list[i].server->name, l->list[j].server->name) == 0;
}

static void lines_read(struct lines *l, const struct backend *actual, const struct diff_rules *rules)
{
    l->count = actual->server_count;
    l->list = mem_array(l->count, sizeof(l->list[0]));
    for (size_t i = 0; i < l->count; i++)
        l->list[i] = (struct line){&actual->servers[i], diff_server_is_foreign(&actual->servers[i], rules)};
    if (l->count > 1)
        qsort(l->list, l->count, sizeof(l->list[0]), line_order);
}

/* The first line of a name, or the one that is not ours: it decides for all of them. *i moves behind the last. */
static const struct line *lines_next(const struct lines *l, size_t *i)
{
    const struct line *decides = &l->list[*i];
    size_t first = *i;
    for (; *i < l->count && same_name(l, first, *i); (*i)++)
        if (l->list[*i].foreign && !decides->foreign)
            decides = &l->list[*i];
    return decides;
}

static void count_lines(const struct lines *l, const struct backend *actual, struct diff *d)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].foreign)
            d->foreign_count++;
        else
            d->ours_count++;
    d->foreign_count += actual->template_count;
}

/* ---- one server ---- */

static void detail(struct buf *b, const char *fmt, ...) printf_like(2, 3);
static void detail(struct buf *b, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    buf_printf(b, "%s%s", b->len > 0 ? ", " : "", text);
    free(text);
}

/* Puts our fields into s and says what that changed. */
static void own_fields(struct backend_server *s, const struct desired_server *wish, enum proxy_v2 proxy_v2,
                       struct buf *said)
{
    if (!address_eq(s->address, wish->address)) {
        detail(said, "address %s -> %s", str_empty(s->address) ? "(none)" : s->address, wish->address);
        free(s->address);
        s->address = mem_strdup(wish->address);
    }
    if (s->port != wish->port) {
        detail(said, "port %u -> %u", s->port, wish->port);
        s->port = wish->port;
    }
    if (!s->check) {
        detail(said, "check on");
        s->check = true;
    }
    if (s->weight < 0) {
        detail(said, "weight %d", DIFF_NEW_WEIGHT);
        s->weight = DIFF_NEW_WEIGHT;
    }
    /* With the backend's default-server on, what stands on the line itself makes no difference. */
    if (proxy_v2 != PROXY_V2_DEFAULT_SERVER && s->send_proxy_v2 != (proxy_v2 == PROXY_V2_SERVER)) {
        s->send_proxy_v2 = proxy_v2 == PROXY_V2_SERVER;
        detail(said, "send-proxy-v2 %s", s->send_proxy_v2 ? "on" : "off");
    }
}

static void add_server(struct diff *d, const struct desired_server *wish, const struct diff_rules *rules)
{
    cleanup(buf_fini) struct buf said;
    buf_init(&said, 0);
    struct diff_change *c = add_change(d, DIFF_ADD);
    c->server.name = mem_strdup(wish->name);
    own_fields(&c->server, wish, rules->proxy_v2, &said);
    c->detail = mem_strdup("");
}

static void change_server(struct diff *d, const struct backend_server *is, const struct desired_server *wish,
                          const struct diff_rules *rules)
{
    cleanup(buf_fini) struct buf said;
    cleanup(backend_server_fini) struct backend_server to_be;
    buf_init(&said, 0);
    backend_server_copy(&to_be, is);
    own_fields(&to_be, wish, rules->proxy_v2, &said);
    if (said.len == 0)
        return;
    struct diff_change *c = add_change(d, DIFF_CHANGE);
    backend_server_copy(&c->server, &to_be);
    c->detail = buf_take(&said);
}

static void remove_server(struct diff *d, const struct backend_server *is)
{
    struct diff_change *c = add_change(d, DIFF_REMOVE);
    backend_server_copy(&c->server, is);
    c->detail = mem_strdup("");
}

/* ---- clashes ---- */

/* Whether a template makes this very name: no sign, no leading zero. */
static bool template_makes(const struct backend_template *t, const char *name)
{
    uint64_t n;
    if (!str_has_prefix(name, t->prefix))
        return false;
    const char *number = name + strlen(t->prefix);
    if (number[0] == '0' && number[1] != '\0')
        return false;
    return str_parse_uint(number, UINT32_MAX, &n) == 0 && n >= t->first && n <= t->last;
}

/* Why this name cannot be ours; NULL: it can. */
static char *clash(const struct backend *actual, const struct line *line, const char *name,
                   const struct diff_rules *rules)
{
    for (size_t i = 0; i < actual->template_count; i++) {
        const struct backend_template *t = &actual->templates[i];
        if (template_makes(t, name))
            return mem_printf("the line \"server-template %s %u-%u\" of the backend makes a server of that name",
                              t->prefix, t->first, t->last);
    }
    const char *glob = keep_glob(name, rules);
    if (glob != NULL)
        return mem_printf("the name matches %s in HAPROXY_KEEP_SERVERS, so that it would never be changed or removed",
                          glob);
    if (line != NULL && line->foreign)
        return mem_printf("the backend has a backup server of that name (%s:%u), and those are not ours",
                          str_empty(line->server->address) ? "?" : line->server->address, line->server->port);
    return NULL;
}

/* ---- the whole list ---- */

/* Both sides in the order of their names, one step each: what is wished, what is there, or both under one name. */
static size_t diff_servers(const struct backend *actual, const struct lines *lines, const struct desired *wish,
                           const struct diff_rules *rules, struct diff *d)
{
    size_t i = 0, w = 0, kept = 0;
    while (i < lines->count || w < wish->server_count) {
        const struct desired_server *want = w < wish->server_count ? &wish->servers[w] : NULL;
        int order = want == NULL ? -1 : i == lines->count ? 1 : strcmp(lines->list[i].server->name, want->name);
        const struct line *line = order <= 0 ? lines_next(lines, &i) : NULL;
        if (order >= 0)
            w++;
        char *why = order >= 0 ? clash(actual, line, want->name, rules) : NULL;
        if (why != NULL)
            add_skip(d, want->name, why);
        else if (order >= 0)
            kept++;
        if (order > 0 && why == NULL)
            add_server(d, want, rules);
        else if (order == 0 && why == NULL)
            change_server(d, line->server, want, rules);
        else if (line != NULL && !line->foreign)
            remove_server(d, line->server);
    }
    return kept;
}

static int change_order(const void *a, const void *b)
{
    const struct diff_change *x = a, *y = b;
    return x->op != y->op ? (int)x->op - (int)y->op : strcmp(x->server.name, y->server.name);
}

static size_t count_inherit(const struct lines *l, const struct backend *actual)
{
    size_t count = actual->template_count;
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].foreign && !l->list[i].server->send_proxy_v2)
            count++;
    return count;
}

static const char *or_none(const char *s)
{
    return str_empty(s) ? "(none)" : s;
}

static void diff_settings(const struct backend *actual, const struct lines *lines, const struct diff_rules *rules,
                          struct diff *d)
{
    cleanup(buf_fini) struct buf said;
    buf_init(&said, 0);
    if (rules->balance != NULL && !str_eq(actual->balance, rules->balance))
        detail(&said, "balance %s -> %s", or_none(actual->balance), rules->balance);
    if (rules->adv_check != NULL && !str_eq(actual->adv_check, rules->adv_check))
        detail(&said, "adv_check %s -> %s", or_none(actual->adv_check), rules->adv_check);
    if (rules->proxy_v2 == PROXY_V2_DEFAULT_SERVER && !actual->default_send_proxy_v2) {
        detail(&said, "default-server send-proxy-v2 on");
        d->foreign_inherit_count = count_inherit(lines, actual);
    }
    if (said.len == 0)
        return;
    d->backend_change = true;
    d->backend_detail = buf_take(&said);
}

/* "check", "weight 100", "send-proxy-v2": all that a line of our own making may say behind its address. */
static bool only_our_words(const char *words)
{
    static const char *const flags[] = {" check", " send-proxy-v2"};
    while (*words != '\0') {
        size_t len = 0;
        for (size_t i = 0; i < array_len(flags) && len == 0; i++)
            if (str_has_prefix(words, flags[i]))
                len = strlen(flags[i]);
        if (len == 0 && str_has_prefix(words, " weight "))
            len = strlen(" weight ") + strspn(words + strlen(" weight "), "0123456789");
        if (len == 0 || (words[len] != ' ' && words[len] != '\0'))
            return false;
        words += len;
    }
    return true;
}

/* A line that is just what we want, word for word, and that the API has not read (yet): our write makes it again. */
static bool alien_is_wished(const struct backend *b, const struct backend_alien_line *a, const struct desired *wish)
{
    for (size_t i = 0; i < wish->server_count; i++) {
        const struct desired_server *w = &wish->servers[i];
        cleanup(mem_free_ptr) char *line = mem_printf("server %s %s:%u", w->name, w->address, w->port);
        if (str_has_prefix(a->text, line) && only_our_words(a->text + strlen(line)))
            return backend_find(b, w->name) == NULL;
    }
    return false;
}

static bool has_aliens(const struct backend *b, const struct desired *wish)
{
    for (size_t i = 0; i < b->alien_count; i++)
        if (!alien_is_wished(b, &b->aliens[i], wish))
            return true;
    return false;
}

static char *aliens_text(const struct backend *b)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    buf_printf(&text, "backend %s has lines in haproxy.cfg that a write would damage: ", b->name);
    for (size_t i = 0; i < b->alien_count && i < ALIENS_SHOWN; i++)
        buf_printf(&text, "%sline %u \"%s\": %s", i > 0 ? "; " : "", b->aliens[i].line, b->aliens[i].text,
                   b->aliens[i].reason);
    if (b->alien_count > ALIENS_SHOWN)
        buf_printf(&text, "; and %zu more", b->alien_count - ALIENS_SHOWN);
    return buf_take(&text);
}

/* Why nothing may be written at all; NULL: it may. */
static char *refusal(const struct backend *actual, const struct desired *wish, const struct diff_rules *rules)
{
    if (wish->state == DESIRED_NOT_SYNCED || wish->state == DESIRED_UNDECIDED)
        return mem_strdup(wish->problem != NULL ? wish->problem : "the wanted servers are not known yet");
    if (!actual->exists && !rules->create_backend)
        return mem_printf("HAProxy has no backend %s: add it to haproxy.cfg, or name another one with "
                          "HAPROXY_BACKEND_NAME, or let it be made with HAPROXY_CREATE_BACKEND=true",
                          actual->name);
    return has_aliens(actual, wish) ? aliens_text(actual) : NULL;
}

static void drop_changes(struct diff *d)
{
    for (size_t i = 0; i < d->change_count; i++) {
        backend_server_fini(&d->changes[i].server);
        free(d->changes[i].detail);
    }
    d->change_count = 0;
}

void diff_compute(const struct backend *actual, const struct desired *desired, const struct diff_rules *rules,
                  struct diff *ret)
{
    cleanup(lines_fini) struct lines lines;
    *ret = (struct diff){.verdict = DIFF_NOTHING};
    lines_read(&lines, actual, rules);
    count_lines(&lines, actual, ret);
    ret->why = refusal(actual, desired, rules);
    if (ret->why != NULL) {
        ret->verdict = DIFF_REFUSE;
        return;
    }
    size_t kept = diff_servers(actual, &lines, desired, rules, ret);
    if (kept == 0 && !rules->allow_empty) {
        drop_changes(ret);
        ret->verdict = DIFF_HOLD;
        ret->why = mem_printf("%s; ALLOW_EMPTY is false, so the last good servers stay (%zu)",
                              desired->problem != NULL ? desired->problem
                                                       : "each server's name clashes with one that is not ours",
                              ret->ours_count);
        return;
    }
    if (ret->change_count > 1)
        qsort(ret->changes, ret->change_count, sizeof(ret->changes[0]), change_order);
    if (actual->exists)
        diff_settings(actual, &lines, rules, ret);
    else
        ret->create_backend = true;
    if (ret->change_count > 0 || ret->backend_change || ret->create_backend)
        ret->verdict = DIFF_WRITE;
}

/* ---- applying ---- */

static void set_string(char **at, const char *s)
{
    if (s == NULL)
        return;
    free(*at);
    *at = mem_strdup(s);
}

static void apply_settings(const struct diff *d, const struct diff_rules *rules, struct backend *b)
{
    if (!d->create_backend && !d->backend_change)
        return;
    if (d->create_backend) {
        b->exists = true;
        set_string(&b->mode, "tcp");
    }
    set_string(&b->balance, rules->balance);
    set_string(&b->adv_check, rules->adv_check);
    if (rules->proxy_v2 == PROXY_V2_DEFAULT_SERVER)
        b->default_send_proxy_v2 = true;
}

static struct backend_server *find_ours(struct backend *b, const char *name, const struct diff_rules *rules)
{
    for (size_t i = 0; i < b->server_count; i++)
        if (strcmp(b->servers[i].name, name) == 0 && !diff_server_is_foreign(&b->servers[i], rules))
            return &b->servers[i];
    return NULL;
}

static void apply_change(const struct diff_change *c, const struct diff_rules *rules, struct backend *b)
{
    struct backend_server *at = c->op == DIFF_ADD ? NULL : find_ours(b, c->server.name, rules);
    if (c->op == DIFF_ADD) {
        b->servers = mem_resize(b->servers, b->server_count + 1, sizeof(b->servers[0]));
        at = &b->servers[b->server_count++];
        *at = (struct backend_server){.weight = -1};
    }
    if (at == NULL)
        return;
    backend_server_fini(at);
    if (c->op != DIFF_REMOVE) {
        backend_server_copy(at, &c->server);
        return;
    }
    b->server_count--;
    memmove(at, at + 1, (size_t)(&b->servers[b->server_count] - at) * sizeof(*at));
}

void diff_apply(const struct diff *d, const struct diff_rules *rules, struct backend *b)
{
    apply_settings(d, rules, b);
    for (size_t i = 0; i < d->change_count; i++)
        apply_change(&d->changes[i], rules, b);
}
