#include "haproxy/cfg/mask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/words.h"

#define WHOLE SIZE_MAX
#define QUOTED_MIN_BYTES 3 /* of a secret that is searched in a message: less is in any */

/* ---- what is known by the first words of a line ---- */

/* From that word on there may be secrets. */
static const struct {
    const char *first, *second; /* second NULL: any */
    size_t from;
} lines[] = {
    {"acme-vars", NULL, 1},
    {"cluster-secret", NULL, 1},
    {"command", NULL, 2},
    {"dynamic-cookie-key", NULL, 1},
    {"lua-load", NULL, 2},
    {"lua-load-per-thread", NULL, 2},
    {"presetenv", NULL, 2},
    {"setenv", NULL, 2},
    {"ssl-passphrase-cmd", NULL, 2},
    {"stats", "auth", 2},
    {"tcp-check", "send", 2},
    {"tcp-check", "send-binary", 2},
    {"tcp-check", "send-binary-lf", 2},
    {"tcp-check", "send-lf", 2},
};

/* Their second word is a name that its user chose, which says nothing of what follows. */
static const char *const named[] = {
    "backend",     "cache",  "cookie", "crt-store",       "default_backend", "defaults",    "frontend", "group",
    "http-errors", "listen", "mailer", "mailers",         "nameserver",      "peer",        "peers",    "program",
    "resolvers",   "ring",   "server", "server-template", "use-server",      "use_backend", "user",     "userlist",
};

/* ---- what a word says ---- */

static const char *const secret_names[] = {
    "-pass",       "_pass",       "access-key", "access_key", "api-key",    "api_key",    "apikey",
    "auth_bearer", "authoriz",    "bearer",     "cook(",      "credential", "passphrase", "passw",
    "private-key", "private_key", "secret",     "token",      "x-auth",
};

/* Behind these stands the name of a header. */
static const char *const header_verbs[] = {"add-header", "hdr", "replace-header", "replace-value", "set-header"};

/* The name begins there; NULL: it has none. */
static const char *mask_find_name(const char *word)
{
    const char *found = NULL;
    for (size_t i = 0; i < array_len(secret_names); i++) {
        const char *at = strcasestr(word, secret_names[i]);
        if (at != NULL && (found == NULL || at < found))
            found = at;
    }
    return found;
}

/* As "--password=x", "Authorization: x", {"token":"x"}: what is behind the name, in the same word; NULL: nothing. */
static const char *mask_named_value(const char *word)
{
    for (const char *at = word; (at = mask_find_name(at)) != NULL;) {
        while (isalnum((unsigned char)*at) || *at == '-' || *at == '_')
            at++;
        at += *at == '('; /* of "cook(" */
        const char *value = at + strspn(at, "\"'");
        if (*value != '\0' && strchr(":= \t", *value) != NULL)
            return value + 1;
    }
    return NULL;
}

static const char *mask_behind(const char *word, const char *what)
{
    const char *at = strcasestr(word, what);
    return at != NULL ? at + strlen(what) : NULL;
}

/* How much of a word may be shown. */
static size_t mask_shown_of(const char *word)
{
    static const char *const keyed[] = {"aes_cbc_dec(", "aes_cbc_enc(", "aes_gcm_dec(", "aes_gcm_enc(", "hmac(",
                                        "jwt_decrypt_", "jwt_verify(",  "basic ",       "bearer ",      "digest "};
    /* "https://user:password@host": the user and all behind it. */
    const char *login = mask_behind(word, "://");
    bool has_login = login != NULL && strcspn(login, "@") < strcspn(login, "/?");
    const char *end = mask_named_value(word), *others[] = {has_login ? login : NULL, strpbrk(word, "\r\n")};
    for (size_t i = 0; i < array_len(keyed); i++) {
        const char *at = mask_behind(word, keyed[i]);
        end = at != NULL && (end == NULL || at < end) ? at : end;
    }
    for (size_t i = 0; i < array_len(others); i++)
        end = others[i] != NULL && (end == NULL || others[i] < end) ? others[i] : end;
    if (word[0] == '$' && isalnum((unsigned char)word[1]) && strchr(word + 2, '$') != NULL)
        return 0; /* the hash of a password, "$6$SALT$HASH" */
    return end != NULL && *end != '\0' ? (size_t)(end - word) : WHOLE;
}

/* ---- a line ---- */

/* What the words so far say of those that follow. */
struct mask {
    size_t values; /* so many are secrets, whatever they are */
    bool more;     /* and those behind them, to the end of the rule; */
    bool compares; /* or what a sample is compared with, but for flags, to the end of the condition */
    bool to_end;   /* of the line: in an acl a word such as "or" is a value, too */
};

/* What the word says of those that follow it. */
static void mask_learn(struct mask *m, const struct cfg_line *l, size_t first, size_t i)
{
    static const char *const two[] = {"replace-header", "replace-value"};
    static const char *const contents[] = {"agent-send", "body", "body-lf"};
    const char *word = cfg_word(l, i);
    bool name = mask_find_name(word) != NULL;
    bool header =
        i > 0 && cfg_is_among(cfg_word(l, i - 1), header_verbs, array_len(header_verbs)) &&
        (strcasestr(word, "auth") != NULL || strcasestr(word, "cookie") != NULL || strcasestr(word, "key") != NULL);
    if (cfg_is_among(word, contents, array_len(contents)))
        *m = (struct mask){.values = 1};
    if ((!name && !header) || word[0] == '/' || (i > 0 && str_eq(cfg_word(l, i - 1), "del-header")) ||
        (i == first + 1 && cfg_is_among(cfg_word(l, first), named, array_len(named))))
        return;
    bool sample = strchr(word, '(') != NULL, acl = str_eq(cfg_word(l, first), "acl");
    if (sample || str_has_prefix(word, "http_auth"))
        *m = (struct mask){.compares = true, .to_end = acl};
    else
        *m = (struct mask){.values = cfg_is_among(cfg_word(l, i - (i > 0)), two, array_len(two)) ? 2 : 1,
                           .more = true,
                           .compares = acl,
                           .to_end = acl};
    if (acl && i == first + 1)
        m->values = 1; /* the sample */
}

static bool mask_ends(const struct mask *m, const char *word)
{
    static const char *const rules[] = {"if",   "unless", "groups", "hdr", "body",   "body-lf",
                                        "meth", "uri",    "ver",    "len", "comment"};
    if (m->to_end)
        return false;
    return str_eq(word, "}") || (cfg_is_among(word, rules, array_len(rules)) || str_eq(word, "||") ||
                                 str_eq(word, "or") || str_eq(word, "{"));
}

/* ret: how much of each word may be shown. */
static void mask_words(const struct cfg_line *l, size_t ret[RAWCFG_MAX_WORDS])
{
    static const char *const alone[] = {"-i", "-n", "-M", "--"}, *const with[] = {"-m", "-f", "-u"};
    struct mask m = {0};
    size_t first = str_eq(cfg_word(l, 0), "no"), from = WHOLE;
    for (size_t i = array_len(lines); i-- > 0;)
        if (str_eq(cfg_word(l, first), lines[i].first) &&
            (lines[i].second == NULL || str_eq(cfg_word(l, first + 1), lines[i].second)))
            from = first + lines[i].from;
    for (size_t i = 0; i < l->count; i++) {
        const char *word = cfg_word(l, i);
        /* A flag of a comparison, and its argument. */
        bool compares = m.compares && m.values == 0, with_argument = cfg_is_among(word, with, array_len(with));
        size_t flag = !compares ? 0 : with_argument ? 2 : cfg_is_among(word, alone, array_len(alone)) ? 1 : 0;
        if (l->broken || i >= from) {
            ret[i] = l->broken && i == 0 ? WHOLE : 0;
            continue;
        }
        if (flag > 0) {
            ret[i] = WHOLE;
            if (flag == 2 && i + 1 < l->count)
                ret[++i] = WHOLE;
            continue;
        }
        bool secret = m.values > 0 || ((m.more || m.compares) && !mask_ends(&m, word));
        m.values -= m.values > 0;
        ret[i] = secret ? 0 : mask_shown_of(word);
        if (secret)
            continue;
        m = (struct mask){0};
        if (from == WHOLE)
            mask_learn(&m, l, first, i);
    }
}

void cfg_mask_line(const char *line, size_t len, size_t max_bytes, struct buf *out)
{
    cleanup(cfg_line_fini) struct cfg_line l;
    struct buf text = {0};
    size_t shown[RAWCFG_MAX_WORDS];
    cfg_line_init(&l);
    cfg_line_split(&l, line, len);
    mask_words(&l, shown);
    for (size_t i = 0; i < l.count; i++) {
        const struct cfg_word *w = &l.words[i];
        buf_add(&text, i > 0 ? " " : "");
        if (shown[i] == WHOLE)
            buf_addn(&text, w->raw, w->raw_len);
        else
            buf_addn(&text, w->text, shown[i]);
        buf_add(&text, shown[i] == WHOLE ? "" : CFG_MASK);
    }
    text_addn(out, buf_str(&text), text.len, TEXT_LINE, max_bytes);
    buf_fini(&text);
}

/* ---- what others say of it ---- */

static bool mask_is_inside(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' || c == '/';
}

/* Each place in message that has the secret as a word of its own. */
static void mask_replace(struct buf *message, const char *secret, size_t len)
{
    struct buf out;
    size_t done = 0;
    buf_init_secret(&out, 0);
    for (size_t at = 0; at + len <= message->len;) {
        const char *found = memmem(message->data + at, message->len - at, secret, len);
        if (found == NULL)
            break;
        size_t begin = (size_t)(found - message->data), end = begin + len;
        bool apart = (begin == 0 || !mask_is_inside(found[-1]) || !mask_is_inside(found[0])) &&
                     (end == message->len || !mask_is_inside(found[len]) || !mask_is_inside(found[len - 1]));
        at = apart ? end : begin + 1;
        if (!apart)
            continue;
        buf_addn(&out, message->data + done, begin - done);
        buf_add(&out, CFG_MASK);
        done = end;
    }
    if (done > 0) {
        buf_addn(&out, message->data + done, message->len - done);
        buf_clear(message);
        buf_addn(message, out.data, out.len);
    }
    buf_fini(&out);
}

/* What the message quotes. */
struct mask_quoted {
    char **list;
    size_t count;
};

static void mask_quote(struct mask_quoted *q, const char *message, const char *secret, size_t len)
{
    if (len < QUOTED_MIN_BYTES || memmem(message, strlen(message), secret, len) == NULL)
        return;
    q->list = mem_one_more(q->list, q->count, sizeof(*q->list));
    q->list[q->count++] = mem_strndup(secret, len);
}

/* The longest first: one may be a part of another. */
static int order_of_quoted(const void *a, const void *b)
{
    size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);
    return (x < y) - (x > y);
}

char *cfg_mask_message(const char *message, const char *text)
{
    cleanup(cfg_line_fini) struct cfg_line l;
    struct mask_quoted q = {0};
    struct buf out;
    cfg_line_init(&l);
    for (size_t len; *text != '\0'; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        cfg_line_split(&l, text, len);
        size_t shown[RAWCFG_MAX_WORDS];
        mask_words(&l, shown);
        for (size_t i = 0; i < l.count; i++) {
            const struct cfg_word *w = &l.words[i];
            if (shown[i] == WHOLE || strspn(w->text, "0123456789") == strlen(w->text)) /* a number is in any message */
                continue;
            mask_quote(&q, message, w->text + shown[i], strlen(w->text) - shown[i]);
            if (!w->plain && shown[i] == 0)
                mask_quote(&q, message, w->raw, w->raw_len);
        }
    }
    buf_init_secret(&out, 0);
    buf_add(&out, message);
    if (q.count > 1)
        qsort(q.list, q.count, sizeof(*q.list), order_of_quoted);
    for (size_t i = 0; i < q.count; i++) {
        mask_replace(&out, q.list[i], strlen(q.list[i]));
        mem_wipe_free(q.list[i]);
    }
    free(q.list);
    return buf_take(&out);
}
