/*
 * A HAProxy backend as lines of text, in the words of haproxy.cfg where there are any:
 *
 *     server n1 10.0.0.1:80 check port 8080 weight 100 send-proxy-v2 backup disabled    (IPv6: [fd00::1]:80)
 *     server n1 10.0.0.1:80 track     and whatever else lines have: ssl tfo
 *     server-template web 1-3
 *     balance roundrobin     adv_check tcp-check     default-server send-proxy-v2     httpchk_params
 *     default-server disabled|backup       before the servers, of which some are "enabled" or "no-backup"; its line is 5
 *     missing                the backend is not there
 *     alien 12 what the line says | why it is in the way
 *
 * Each server gets a `json` of its own, so that a test sees whether it was carried along.
 */
#pragma once

#include "test.h"

#include "base/shared_text.h"
#include "haproxy/backend.h"
#include "servers/desired/desired.h"

static inline uint16_t text_port(const char *s)
{
    uint64_t number = 0;
    ck_assert_msg(str_parse_uint(s, 65535, &number) == 0, "port \"%s\"", s);
    return (uint16_t)number;
}

/* "10.0.0.1:80", "[fd00::1]:80", "10.0.0.1" (no port) */
static inline void text_address(char *word, const char **ret_address, uint16_t *ret_port)
{
    char *end = strchr(word, ']'), *colon = strrchr(end != NULL ? end : word, ':');
    *ret_port = 0;
    if (colon != NULL) {
        *ret_port = text_port(colon + 1);
        *colon = '\0';
    }
    if (end != NULL)
        *end = '\0';
    *ret_address = shared_text(word + (word[0] == '['));
}

static inline void text_add_server(struct backend *b, char *words)
{
    b->servers = mem_resize(b->servers, b->server_count + 1, sizeof(b->servers[0]));
    struct backend_server *s = &b->servers[b->server_count++];
    *s = (struct backend_server){.weight = -1};
    s->default_disabled = s->maintenance = b->disabled_line != 0;
    s->default_backup = b->backup_line != 0;
    s->name = shared_text(strsep(&words, " "));
    s->json = shared_text_take(mem_printf("{\"was\":\"%s\"}", s->name));
    text_address(strsep(&words, " "), &s->address, &s->port);
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        if (strcmp(word, "weight") == 0)
            s->weight = text_port(strsep(&words, " "));
        else if (strcmp(word, "port") == 0)
            s->check_port = text_port(strsep(&words, " "));
        else if (strcmp(word, "check") == 0)
            s->check = true;
        else if (strcmp(word, "backup") == 0)
            s->backup = true;
        else if (strcmp(word, "disabled") == 0)
            s->maintenance = true;
        else if (strcmp(word, "enabled") == 0)
            s->enabled = !(s->maintenance = false);
        else if (strcmp(word, "no-backup") == 0)
            s->no_backup = true;
        else if (strcmp(word, "send-proxy-v2") == 0)
            s->send_proxy_v2 = true;
        else if (strcmp(word, "track") == 0)
            s->tracks = true;
        else if (strcmp(word, "ssl") == 0 || strcmp(word, "tfo") == 0) {
            cleanup(mem_free_ptr) char *rest =
                mem_printf("%s%s%s", s->rest != NULL ? s->rest : "", s->rest != NULL ? " " : "", word);
            shared_text_set(&s->rest, rest);
        } else
            ck_abort_msg("server word \"%s\"", word);
    }
}

static inline void text_add_template(struct backend *b, char *words)
{
    b->templates = mem_resize(b->templates, b->template_count + 1, sizeof(b->templates[0]));
    struct backend_template *t = &b->templates[b->template_count++];
    t->prefix = mem_strdup(strsep(&words, " "));
    t->first = text_port(strsep(&words, "-"));
    t->last = text_port(words);
}

static inline void text_add_unsupported(struct backend *b, char *words)
{
    b->unsupported = mem_resize(b->unsupported, b->unsupported_count + 1, sizeof(b->unsupported[0]));
    struct backend_unsupported_line *a = &b->unsupported[b->unsupported_count++];
    *a = (struct backend_unsupported_line){.line = text_port(strsep(&words, " "))};
    a->text = mem_strdup(strsep(&words, "|"));
    a->reason = mem_strdup(words);
}

static inline void text_set(char **at, const char *value)
{
    free(*at);
    *at = mem_strdup(value);
}

static inline void text_backend(struct backend *b, const char *name, const char *lines)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(lines);
    char *rest = copy;
    backend_init(b);
    *b = (struct backend){.name = mem_strdup(name), .exists = true, .version = 7};
    b->mode = mem_strdup("tcp");
    b->balance = mem_strdup("");
    b->adv_check = mem_strdup("");
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *word = strsep(&line, " ");
        if (strcmp(word, "server") == 0)
            text_add_server(b, line);
        else if (strcmp(word, "server-template") == 0)
            text_add_template(b, line);
        else if (strcmp(word, "alien") == 0)
            text_add_unsupported(b, line);
        else if (strcmp(word, "balance") == 0) {
            text_set(&b->balance, line);
            b->takes_no_weights = !backend_algorithm_is_dynamic(b->balance);
        } else if (strcmp(word, "adv_check") == 0)
            text_set(&b->adv_check, line);
        else if (strcmp(word, "httpchk_params") == 0)
            b->httpchk_params = true;
        else if (strcmp(word, "default-server") == 0 && strcmp(line, "disabled") == 0)
            b->disabled_line = 5;
        else if (strcmp(word, "default-server") == 0 && strcmp(line, "backup") == 0)
            b->backup_line = 5;
        else if (strcmp(word, "default-server") == 0)
            b->default_send_proxy_v2 = true;
        else if (strcmp(word, "missing") == 0)
            b->exists = false;
        else
            ck_assert_msg(word[0] == '\0', "backend word \"%s\"", word);
    }
}

static inline void text_print_server(struct buf *b, const struct backend_server *s)
{
    bool v6 = strchr(s->address, ':') != NULL;
    buf_printf(b, "%s %s%s%s", s->name, v6 ? "[" : "", s->address, v6 ? "]" : "");
    if (s->port != 0)
        buf_printf(b, ":%u", s->port);
    if (s->check)
        buf_add(b, " check");
    if (s->check_port != 0)
        buf_printf(b, " port %u", s->check_port);
    if (s->weight >= 0)
        buf_printf(b, " weight %d", s->weight);
    if (s->send_proxy_v2)
        buf_add(b, " send-proxy-v2");
    if (s->backup)
        buf_add(b, " backup");
    if (s->maintenance)
        buf_add(b, " disabled");
    if (s->enabled)
        buf_add(b, " enabled");
    if (s->no_backup)
        buf_add(b, " no-backup");
    if (s->rest != NULL)
        buf_printf(b, " %s", s->rest);
}

/* "n2 announced its node is going": why that server is not wished for. */
static inline void text_why(struct desired *d, struct desired_server *s, const char *reason)
{
    s->why = desired_why_take(d, mem_strdup(reason));
}

static inline void text_desired_out(struct desired *d, char *words)
{
    const char *server = strsep(&words, " ");
    bool announced = str_has_prefix(words, "announced ");
    const char *reason = words + (announced ? strlen("announced ") : 0);
    desired_add_skip(d, mem_printf("node %s", server), mem_strdup(reason), server)->announced = announced;
}

static inline void text_desired_server(struct desired *d, struct desired_server **list, size_t *count, const char *name,
                                       char *words)
{
    const char *address = NULL;
    *list = mem_resize(*list, *count + 1, sizeof(**list));
    struct desired_server *s = &(*list)[(*count)++];
    *s = (struct desired_server){.name = desired_text(d, name), .state = SERVER_LIVE, .weight = -1};
    s->why = desired_why_take(d, mem_printf("%s is wanted", name));
    text_address(strsep(&words, " "), &address, &s->port);
    s->address = desired_text(d, address);
    shared_text_free(address);
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        if (strcmp(word, "draining") == 0)
            s->state = SERVER_DRAINING;
        else if (strcmp(word, "weight") == 0)
            s->weight = text_port(strsep(&words, " "));
        else
            ck_abort_msg("wish word \"%s\"", word);
    }
}

static inline void text_desired_spare(struct desired *d, char *words)
{
    char *name = strsep(&words, " ");
    text_desired_server(d, &d->spares, &d->spare_count, name, words);
    d->spares[d->spare_count - 1].state = SERVER_OUT;
}

/* "n1 10.0.0.1:80; n2 [fd00::2]:80 draining; n3 10.0.0.3:80 weight 5; check-port 32000; out n4 it is gone; spare n5
 * 10.0.0.5:80". No server: DESIRED_EMPTY. */
static inline void text_desired(struct desired *d, const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *rest = copy;
    desired_init(d);
    for (char *words; (words = strsep(&rest, ";")) != NULL;) {
        words += words[0] == ' ';
        char *word = strsep(&words, " ");
        if (strcmp(word, "check-port") == 0)
            d->check_port = text_port(words);
        else if (strcmp(word, "out") == 0)
            text_desired_out(d, words);
        else if (strcmp(word, "spare") == 0)
            text_desired_spare(d, words);
        else if (word[0] != '\0')
            text_desired_server(d, &d->servers, &d->server_count, word, words);
    }
    d->state = d->server_count > 0 ? DESIRED_OK : DESIRED_EMPTY;
    if (d->server_count == 0)
        d->problem = mem_strdup("none of the Service's 2 endpoints is ready");
}
