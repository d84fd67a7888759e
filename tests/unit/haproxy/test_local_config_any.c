/* src/haproxy/local/config_edit: any changes of a backend in any file, against a model; every other byte stays. */
#include <stdlib.h>
#include <string.h>

#include "../dice.h"
#include "../test.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/local/config.h"
#include "haproxy/local/config_edit.h"

static struct backend backend_of(const struct cfg_file *f)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    b.name = mem_strdup("be");
    ck_assert_msg(local_config_read(f, &b, &err) == 0, "%s", err.message);
    return b;
}

/* What the file is with these changes. */
static char *edited(const char *text, const struct change *changes, size_t count)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    struct buf out = {0};
    struct error err = {0};
    cfg_file_parse(&f, text, strlen(text));
    ck_assert_msg(local_config_edit(&f, changes, count, &edits, &err) == 0, "%s", err.message);
    cfg_file_print(&f, &edits, NULL, &out);
    return buf_take(&out);
}

static const char *const around[] = {"",
                                     "# server n0 10.0.0.0:1 check",
                                     "  \t",
                                     "  acl x path_beg \"/a b\" '/c' # d",
                                     "\tstick-table type ip size 1m",
                                     "  http-request set-header X \"%[src]\"",
                                     "  default-server inter 2s",
                                     "  option httplog",
                                     "  balance  roundrobin # why",
                                     "\toption tcp-check",
                                     "  option httpchk GET /x # why",
                                     "  timeout  server\t5s"};
static const char *const tails[] = {"",
                                    " check",
                                    " inter 1s # a  b",
                                    "  check  weight 5",
                                    " sni \"str(x y)\" disabled",
                                    "\tport 9 check",
                                    " send-proxy-v2 ",
                                    " enabled weight 1",
                                    " cookie 'a b'"};

static void put_any_line(struct buf *b, struct dice *dice, const char *end)
{
    buf_printf(b, "%s%s", around[dice_below(dice, array_len(around))], end);
}

static void put_any_server(struct buf *b, struct dice *dice, unsigned n, const char *end)
{
    buf_printf(b, "%sserver%sn%u%s10.0.0.%u:%u%s%s", dice_one_in(dice, 2) ? "  " : "\t",
               dice_one_in(dice, 4) ? "  " : " ", n, dice_one_in(dice, 4) ? "\t" : " ", n, 80 + n,
               tails[dice_below(dice, array_len(tails))], end);
}

/* Outside of the backend, what it is made of may depend on anything. */
static void put_any_other(struct buf *b, struct dice *dice, const char *end)
{
    static const char *const what[][3] = {{".if defined(X)", "  maxconn \"$M\"", ".endif"},
                                          {"  log \"${L}\" local0", "", ".notice \"x\""},
                                          {".diag 'y'", ".if 1", ".endif"}};
    unsigned n = dice_below(dice, 2 * array_len(what));
    for (size_t i = 0; i < array_len(what[0]) && n < array_len(what); i++)
        buf_printf(b, "%s%s", what[n][i], end);
}

static void put_any_sections(struct buf *b, struct dice *dice, const char *end)
{
    if (dice_one_in(dice, 2))
        buf_printf(b, ".if defined(X)%sbackend later%s  server n1 \"$A:1\"%s.else%s  server n1 a:1%s.endif%s", end, end,
                   end, end, end, end);
    else if (dice_one_in(dice, 2))
        buf_printf(b, "frontend e%s  bind \"$B\"%s", end, end);
}

static char *any_file(struct dice *dice, unsigned count)
{
    struct buf b = {0};
    const char *end = dice_one_in(dice, 4) ? "\r\n" : "\n";
    buf_printf(&b, "global%s  maxconn 9%s", end, end);
    put_any_other(&b, dice, end);
    buf_printf(&b, "defaults%s", end);
    for (unsigned i = dice_below(dice, 4); i > 0; i--)
        put_any_line(&b, dice, end);
    buf_printf(&b, "backend other%s", end);
    put_any_server(&b, dice, 1, end);
    put_any_other(&b, dice, end);
    buf_printf(&b, "backend be%s", end);
    for (unsigned n = 0; n <= count; n++) {
        for (unsigned i = dice_below(dice, 3); i > 0; i--)
            put_any_line(&b, dice, end);
        if (n < count)
            put_any_server(&b, dice, n, end);
    }
    put_any_sections(&b, dice, end);
    buf_printf(&b, "%s# c%sfrontend f%s  bind :1", end, end, end);
    if (dice_one_in(dice, 2))
        buf_add(&b, end);
    return buf_take(&b);
}

/* The model: what is to be read of it afterwards. */
static struct change any_change(struct dice *dice, struct backend *b, struct backend_server *own, unsigned n)
{
    struct change c = {.backend = b, .server = own, .kind = CHANGE_SET_SERVER};
    const struct backend_server *is = &b->servers[n];
    if (dice_one_in(dice, 6)) {
        backend_server_copy(own, is);
        c.kind = CHANGE_REMOVE_SERVER;
        return c;
    }
    backend_server_copy(own, is);
    c.fields = dice_below(dice, 2 * SERVER_PROXY_V2);
    if (c.fields & SERVER_ADDRESS) {
        char *address = mem_strdup(own->address);
        address[strlen(address) - 1] = (char)('0' + dice_below(dice, 10));
        shared_text_free(own->address);
        own->address = shared_text_take(address);
    }
    if (c.fields & SERVER_PORT)
        own->port = (uint16_t)(1 + dice_below(dice, 60000));
    if (c.fields & SERVER_WEIGHT)
        own->weight = (int)dice_below(dice, 257);
    if (c.fields & SERVER_CHECK)
        own->check = dice_one_in(dice, 2);
    if (c.fields & SERVER_CHECK_PORT)
        own->check_port = (uint16_t)dice_below(dice, 3);
    if (c.fields & SERVER_PROXY_V2)
        own->send_proxy_v2 = dice_one_in(dice, 2);
    if (c.fields & SERVER_MAINTENANCE) {
        own->maintenance = dice_one_in(dice, 2);
        own->enabled = own->enabled && !own->maintenance;
    }
    return c;
}

static void assert_same_server(const struct backend_server *is, const struct backend_server *want)
{
    ck_assert_str_eq(is->name, want->name);
    ck_assert_str_eq(is->address, want->address);
    ck_assert(is->port == want->port && is->weight == want->weight && is->check == want->check);
    ck_assert(is->check_port == want->check_port && is->send_proxy_v2 == want->send_proxy_v2);
    ck_assert(is->maintenance == want->maintenance && is->enabled == want->enabled && is->backup == want->backup);
}

/* What settings may change or add, a kind of line each; 0: another line. */
static int setting_of(const struct cfg_line *words)
{
    const char *first = cfg_word(words, 0), *second = cfg_word(words, 1);
    return str_eq(first, "balance")                                                                ? 1
           : str_eq(first, "default-server")                                                       ? 2
           : str_eq(first, "option") && (str_eq(second, "tcp-check") || str_eq(second, "httpchk")) ? 3
                                                                                                   : 0;
}

/* A line of the file from before, or from after. */
struct walk {
    struct cfg_file f;
    struct cfg_file_line line;
    struct cfg_line words;
    bool more;
};

static void walk_next(struct walk *w)
{
    w->more = cfg_file_next(&w->f, &w->line);
    cfg_line_split(&w->words, w->more ? w->line.text : "", w->more ? w->line.len : 0);
}

static void walk_begin(struct walk *w, const char *text)
{
    *w = (struct walk){0};
    cfg_line_init(&w->words);
    cfg_file_parse(&w->f, text, strlen(text));
    walk_next(w);
}

static void walk_end(struct walk *w)
{
    cfg_line_fini(&w->words);
    cfg_file_fini(&w->f);
}

static const struct change *change_of(const struct walk *w, const struct change *changes, size_t count)
{
    for (size_t i = 0; i < count && str_eq(cfg_word(&w->words, 0), "server"); i++)
        if (changes[i].server != NULL && str_eq(changes[i].server->name, cfg_word(&w->words, 1)))
            return &changes[i];
    return NULL;
}

/* One that stands behind a server, which may be gone, is not changed. */
static bool is_new_default(const struct walk *a, const struct walk *b)
{
    return str_eq(cfg_word(&a->words, 0), "default-server") &&
           (a->line.len != b->line.len || memcmp(a->line.text, b->line.text, a->line.len) != 0);
}

/* Blanks in front, a comment and the end stay. */
static void assert_like(const struct cfg_file_line *old, const struct cfg_file_line *new)
{
    size_t blank = strspn(old->text, " \t");
    const char *comment = memchr(old->text, '#', old->len);
    size_t len = comment != NULL ? (size_t)(old->text + old->len - comment) : 0;
    ck_assert(memcmp(new->text, old->text, blank) == 0 && new->len >= len);
    ck_assert(memcmp(new->text + new->len - len, comment != NULL ? comment : "", len) == 0);
}

/* Each line but those of changed servers and settings is there, byte for byte and in its order; a new one stands within the
 * backend, and a setting that it had not at its beginning. */
static void assert_others_stay(const char *before, const char *after, const struct change *changes, size_t count)
{
    cleanup(walk_end) struct walk a, b;
    bool inside = false, header = false, behind = false, gone, sets = changes[0].kind == CHANGE_SET_BACKEND;
    walk_begin(&a, before);
    walk_begin(&b, after);
    for (; a.more; walk_next(&a)) {
        const struct change *c = inside ? change_of(&a, changes, count) : NULL;
        gone = c != NULL && c->kind == CHANGE_REMOVE_SERVER;
        behind = behind || gone;
        if (gone)
            continue;
        int kind = setting_of(&a.words);
        for (; header && sets && setting_of(&b.words) != 0 &&
               (setting_of(&b.words) != kind || (behind && is_new_default(&a, &b)));
             walk_next(&b))
            continue;
        for (; b.more && str_has_prefix(cfg_word(&b.words, 1), "new"); walk_next(&b))
            ck_assert(inside);
        behind = false;
        header = str_eq(cfg_word(&a.words, 0), "backend") && str_eq(cfg_word(&a.words, 1), "be");
        inside = a.words.count > 0 && strchr(" \t", a.line.text[0]) == NULL ? header : inside;
        bool set = inside && sets && kind != 0 && kind == setting_of(&b.words);
        ck_assert(b.more);
        if (c != NULL || set)
            assert_like(&a.line, &b.line);
        else
            ck_assert_msg(b.line.len == a.line.len && memcmp(b.line.text, a.line.text, a.line.len) == 0, "line %u",
                          a.line.number);
        ck_assert_uint_eq(b.line.end_len, a.line.end_len);
        walk_next(&b);
    }
    ck_assert(!b.more);
}

static struct change any_settings(struct dice *dice, struct backend *b)
{
    static const char *const balances[] = {NULL, "leastconn", "roundrobin"};
    static const char *const checks[] = {NULL, "tcp-check", "httpchk"};
    struct change c = {.kind = CHANGE_SET_BACKEND, .backend = b};
    c.settings.balance = balances[dice_below(dice, 3)];
    c.settings.adv_check = checks[dice_below(dice, 3)];
    c.settings.httpchk_healthz = str_eq(c.settings.adv_check, "httpchk");
    c.settings.proxy_v2 = dice_one_in(dice, 2);
    return c;
}

static void assert_set(const struct backend *is, const struct backend *was, const struct backend_settings *s)
{
    const char *check = s->adv_check != NULL ? s->adv_check : was->adv_check;
    ck_assert_str_eq(is->balance, s->balance != NULL ? s->balance : was->balance);
    ck_assert_str_eq(is->adv_check, check);
    ck_assert(is->default_send_proxy_v2 == (s->proxy_v2 || was->default_send_proxy_v2));
    ck_assert(is->httpchk_params || !s->httpchk_healthz);
}

static struct change any_new(struct dice *dice, struct backend *b, struct backend_server *own, unsigned n)
{
    *own = (struct backend_server){.name = shared_text_take(mem_printf("new%u", n)),
                                   .address = shared_text(dice_one_in(dice, 3) ? "web" : "10.9.9.9"),
                                   .port = (uint16_t)(1 + dice_below(dice, 60000)),
                                   .weight = (int)dice_below(dice, 257),
                                   .check = dice_one_in(dice, 2),
                                   .send_proxy_v2 = dice_one_in(dice, 2),
                                   .maintenance = dice_one_in(dice, 3)};
    return (struct change){.kind = CHANGE_ADD_SERVER, .backend = b, .server = own};
}

TEST_EACH(any_change_of_any_file, 400)
{
    struct dice dice = {(uint64_t)_i + 1};
    unsigned there = dice_below(&dice, 7), extra = dice_below(&dice, 3), count = 0;
    cleanup(mem_free_ptr) char *before = any_file(&dice, there);
    cleanup(cfg_file_fini) struct cfg_file f = {0}, g = {0};
    cfg_file_parse(&f, before, strlen(before));
    cleanup(backend_fini) struct backend b = backend_of(&f);
    ck_assert_uint_eq(b.server_count, there);
    struct backend_server own[9] = {0};
    struct change changes[10] = {0};
    if (dice_one_in(&dice, 2))
        changes[count++] = any_settings(&dice, &b);
    struct change *first = &changes[count];
    for (unsigned n = 0; n < there; n++)
        changes[count++] = any_change(&dice, &b, &own[n], n);
    for (unsigned n = there; n < there + extra; n++)
        changes[count++] = any_new(&dice, &b, &own[n], n);
    cleanup(mem_free_ptr) char *after = edited(before, changes, count);
    cfg_file_parse(&g, after, strlen(after));
    cleanup(backend_fini) struct backend now = backend_of(&g);
    size_t at = 0;
    for (unsigned n = 0; n < there + extra; n++)
        if (first[n].kind != CHANGE_REMOVE_SERVER)
            assert_same_server(&now.servers[at++], &own[n]);
    ck_assert_uint_eq(now.server_count, at);
    assert_set(&now, &b, &changes[0].settings); /* of another kind of change: none */
    assert_others_stay(before, after, changes, count);
    for (unsigned n = 0; n < there + extra; n++)
        backend_server_fini(&own[n]);
}
