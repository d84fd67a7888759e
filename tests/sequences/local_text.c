/* haproxy.cfg as text: what its lines say, and that those which are not the daemon's stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define SPACE " \t"

char *local_text_print(const struct conf *c)
{
    struct conf copy = *c;
    struct buf text;
    cleanup(buf_fini) struct buf plain;
    copy.version = 0;
    buf_init(&text, 0);
    buf_init(&plain, 0);
    conf_print(&copy, &plain);
    unsigned number = 0;
    for (const char *at = buf_str(&plain); *at != '\0'; number++) {
        size_t len = strcspn(at, "\n");
        buf_addn(&text, at, len);
        if (str_has_prefix(at, "  server "))
            buf_printf(&text, number % 3 == 0 ? "  # by hand %u" : number % 3 == 1 ? "\t" : "", number);
        buf_add(&text, "\n");
        at += len + (at[len] == '\n');
    }
    buf_add(&text, "# the end, by hand\n");
    return buf_take(&text);
}

static char *next_word(char **rest)
{
    char *word;
    do {
        word = strsep(rest, SPACE);
    } while (word != NULL && *word == '\0');
    return word == NULL || *word == '#' ? NULL : word;
}

static int take_place(const char *word, struct server *ret)
{
    const char *colon = strrchr(word, ':');
    size_t len = colon != NULL ? (size_t)(colon - word) : strlen(word);
    if (len == 0 || len >= NAME_BYTES)
        return -1;
    memcpy(ret->address, word, len);
    ret->address[len] = '\0';
    ret->port = colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    return 0;
}

static bool take_switch(const char *word, struct server *ret)
{
    const struct {
        const char *on, *off;
        enum flag *flag;
    } switches[] = {{"check", "no-check", &ret->check},
                    {"disabled", "enabled", &ret->maintenance},
                    {"backup", "no-backup", &ret->backup},
                    {"send-proxy-v2", "no-send-proxy-v2", &ret->send_proxy_v2}};
    for (size_t i = 0; i < array_len(switches); i++) {
        bool on = strcmp(word, switches[i].on) == 0;
        if (on || strcmp(word, switches[i].off) == 0) {
            *switches[i].flag = on ? ON : OFF;
            return true;
        }
    }
    return false;
}

static int take_value(const char *word, const char *value, struct server *ret)
{
    unsigned number = value != NULL ? (unsigned)strtoul(value, NULL, 10) : 0;
    if (value == NULL)
        return -1;
    if (strcmp(word, "port") == 0)
        ret->check_port = number;
    else if (strcmp(word, "weight") == 0)
        ret->weight = (int)number;
    else if (strcmp(word, "maxconn") == 0)
        ret->maxconn = number;
    else if (strcmp(word, "proxy-v2-options") == 0)
        snprintf(ret->options, sizeof(ret->options), "%s", value);
    else
        return -1;
    return 0;
}

int local_text_server(char *words, struct server *ret, char *why, size_t why_bytes)
{
    char *word = next_word(&words);
    ret->weight = -1;
    if (word == NULL || take_place(word, ret) != 0) {
        snprintf(why, why_bytes, "no address");
        return -1;
    }
    while ((word = next_word(&words)) != NULL) {
        if (take_switch(word, ret))
            continue;
        if (take_value(word, next_word(&words), ret) != 0) {
            snprintf(why, why_bytes, "the word %s", word);
            return -1;
        }
    }
    return 0;
}

/* A line of it, and the backend that it is in. */
struct text_line {
    const char *at;
    size_t len; /* with its newline */
    size_t backend;
    enum { LINE_OTHER, LINE_BACKEND, LINE_SERVER, LINE_DEFAULT, LINE_BALANCE } kind;
    struct server server;
    char balance[16];
    char text[256];
};

/* *at goes on behind it. */
static bool next_line(struct api *a, const char **at, struct text_line *l)
{
    char copy[256], why[64], *rest = copy;
    if (**at == '\0')
        return false;
    l->at = *at;
    l->len = strcspn(*at, "\n");
    snprintf(copy, sizeof(copy), "%.*s", (int)l->len, *at);
    memcpy(l->text, copy, sizeof(copy));
    l->len += l->at[l->len] == '\n';
    *at += l->len;
    l->kind = LINE_OTHER;
    bool begins = copy[0] != '\0' && strchr(SPACE "#.", copy[0]) == NULL;
    const char *word = next_word(&rest);
    if (begins) {
        const char *name = word != NULL && strcmp(word, "backend") == 0 ? next_word(&rest) : NULL;
        l->backend = name != NULL ? conf_backend(name) : BACKENDS;
        l->kind = l->backend < BACKENDS ? LINE_BACKEND : LINE_OTHER;
    } else if (word != NULL && l->backend < BACKENDS && strcmp(word, "default-server") == 0) {
        l->kind = LINE_DEFAULT;
    } else if (word != NULL && l->backend < BACKENDS && strcmp(word, "balance") == 0) {
        l->kind = LINE_BALANCE;
        snprintf(l->balance, sizeof(l->balance), "%s", next_word(&rest));
    } else if (word != NULL && l->backend < BACKENDS && strcmp(word, "server") == 0) {
        l->kind = LINE_SERVER;
        memset(&l->server, 0, sizeof(l->server));
        snprintf(l->server.name, NAME_BYTES, "%s", next_word(&rest));
        if (a->world->settings.adds != 0 && a->world->settings.whole == 0 && strlen(rest) < WORDS_BYTES)
            snprintf(l->server.words, WORDS_BYTES, "%s", rest);
        if (local_text_server(rest, &l->server, why, sizeof(why)) != 0)
            violate(a->world, "known-fields", "%s: %s in a line of its file: %s", a->url, why, l->text);
    }
    return true;
}

void local_text_read(struct api *a, const char *text, struct conf *ret)
{
    struct text_line l = {.backend = BACKENDS};
    for (size_t b = 0; b < BACKENDS; b++) {
        ret->of[b].exists = false;
        ret->of[b].count = 0;
        ret->of[b].default_maintenance = UNSAID;
    }
    while (next_line(a, &text, &l)) {
        struct section *s = l.backend < BACKENDS ? &ret->of[l.backend] : NULL;
        if (l.kind == LINE_BACKEND) {
            s->exists = true;
            snprintf(s->mode, sizeof(s->mode), "tcp");
        } else if (l.kind == LINE_SERVER) {
            if (section_find(s, l.server.name) != NULL)
                violate(a->world, "file", "%s: server %s stands there twice", a->url, l.server.name);
            section_put(s, &l.server);
        } else if (l.kind == LINE_BALANCE) {
            memcpy(s->balance, l.balance, sizeof(s->balance));
        } else if (l.kind == LINE_DEFAULT && strstr(l.text, "disabled") != NULL) {
            s->default_maintenance = ON;
        } else if (l.kind == LINE_DEFAULT && strstr(l.text, "enabled") != NULL) {
            s->default_maintenance = OFF;
        }
    }
}

/* All lines but those of servers that are managed. */
static void rest_of(struct api *a, const char *text, struct buf *ret)
{
    struct text_line l = {.backend = BACKENDS};
    buf_init(ret, 0);
    while (next_line(a, &text, &l))
        if (l.kind != LINE_SERVER || l.backend >= OURS || !server_is_ours(&l.server))
            buf_addn(ret, l.at, l.len);
}

/* Behind the line of a server that is ours. */
static void check_comment(struct api *a, const struct text_line *was, const char *is)
{
    struct text_line l = {.backend = BACKENDS};
    const char *comment = strchr(was->text, '#');
    while (next_line(a, &is, &l)) {
        const char *now = strchr(l.text, '#');
        if (l.kind == LINE_SERVER && l.backend == was->backend && strcmp(l.server.name, was->server.name) == 0 &&
            comment != NULL && !str_eq(comment, now))
            violate(a->world, "bytes", "%s: the comment of the line is lost: %s", a->url, was->text);
    }
}

void local_text_compare(struct api *a, const char *was, const char *is, bool grows)
{
    cleanup(buf_fini) struct buf before, after;
    struct text_line l = {.backend = BACKENDS};
    for (const char *at = was; next_line(a, &at, &l);)
        if (l.kind == LINE_SERVER)
            check_comment(a, &l, is);
    rest_of(a, was, &before);
    rest_of(a, is, &after);
    if (grows ? !str_has_prefix(buf_str(&after), buf_str(&before)) : strcmp(buf_str(&before), buf_str(&after)) != 0)
        violate(a->world, "bytes", "%s: what is not managed was\n%s\nand is written as\n%s", a->url, buf_str(&before),
                buf_str(&after));
}
