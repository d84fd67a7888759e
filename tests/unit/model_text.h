/*
 * Kubernetes objects and HAProxy backends as lines of text, so that a table of rules reads as what it means.
 *
 *     node n1 10.0.0.1            a Node; without an address it has no InternalIP
 *     slice a http/80 : 10.0.0.1@n1 10.0.0.2@n2=no 10.9.9.9
 *     endpoints web http/80 : 10.0.0.1@n1 | https/443 : 10.0.0.2@n2
 *
 * Ports are NAME/NUMBER ("/443": no name), endpoints ADDRESS[@NODE][=STATE] with STATE one of yes (ready), no, leaving
 * (terminating, still serving), gone (terminating, not serving) and odd (serving, but neither ready nor terminating).
 */
#ifndef TESTS_MODEL_TEXT_H
#define TESTS_MODEL_TEXT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/cache.h"
#include "model/desired.h"
#include "model/objects.h"

#include "dice.h"

static inline struct node *text_node_new(const char *name, const char *ip, uint64_t uid)
{
    struct node *n = mem_alloc(sizeof(*n));
    *n = (struct node){.name = mem_strdup(name), .uid_hash = uid, .internal_ip = mem_strdup(ip)};
    return n;
}

static inline void text_add_port(struct endpoint_group *g, const char *word)
{
    const char *slash = strchr(word, '/');
    uint64_t number = 0;
    ck_assert_msg(slash != NULL && str_parse_uint(slash + 1, 65535, &number) == 0, "port \"%s\"", word);
    g->ports = mem_resize(g->ports, g->port_count + 1, sizeof(g->ports[0]));
    g->ports[g->port_count++] = (struct endpoint_port){mem_strndup(word, (size_t)(slash - word)), (uint16_t)number};
}

static inline void text_add_endpoint(struct endpoint_group *g, char *word)
{
    struct endpoint e = {.ready = true, .serving = true};
    char *state = strchr(word, '='), *node;
    if (state != NULL) {
        *state++ = '\0';
        e.ready = strcmp(state, "yes") == 0;
        e.serving = e.ready || strcmp(state, "leaving") == 0 || strcmp(state, "odd") == 0;
        e.terminating = strcmp(state, "leaving") == 0 || strcmp(state, "gone") == 0;
        ck_assert_msg(e.serving || e.terminating || strcmp(state, "no") == 0, "state \"%s\"", state);
    }
    node = strchr(word, '@');
    if (node != NULL)
        *node++ = '\0';
    e.node_name = mem_strdup(node);
    e.address = mem_strdup(word);
    g->endpoints = mem_resize(g->endpoints, g->endpoint_count + 1, sizeof(g->endpoints[0]));
    g->endpoints[g->endpoint_count++] = e;
}

/* The words behind the object's name. */
static inline struct endpoint_set *text_set_new(const char *name, char *words)
{
    struct endpoint_set *s = mem_alloc(sizeof(*s));
    s->name = mem_strdup(name);
    bool ports = true;
    s->groups = mem_array(1, sizeof(s->groups[0]));
    s->group_count = 1;
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        struct endpoint_group *g = &s->groups[s->group_count - 1];
        if (word[0] == '\0') {
            continue;
        } else if (strcmp(word, "|") == 0) {
            s->groups = mem_resize(s->groups, s->group_count + 1, sizeof(s->groups[0]));
            s->groups[s->group_count++] = (struct endpoint_group){0};
            ports = true;
        } else if (strcmp(word, ":") == 0) {
            ports = false;
        } else if (ports) {
            text_add_port(g, word);
        } else {
            text_add_endpoint(g, word);
        }
    }
    return s;
}

/* One line, one object. Answers what the put answered. */
static inline bool text_put(struct cache *c, const char *line)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(line);
    char *rest = copy, *kind = strsep(&rest, " "), *name = strsep(&rest, " ");
    ck_assert_msg(name != NULL, "line \"%s\"", line);
    if (strcmp(kind, "node") == 0)
        return cache_put_node(c, text_node_new(name, rest, 1));
    ck_assert_msg(strcmp(kind, "slice") == 0 || strcmp(kind, "endpoints") == 0, "line \"%s\"", line);
    return cache_put_set(c, strcmp(kind, "slice") == 0 ? CACHE_SLICES : CACHE_ENDPOINTS,
                         text_set_new(name, rest != NULL ? rest : kind + strlen(kind)));
}

/* Several lines. */
static inline void text_put_all(struct cache *c, const char *lines)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(lines);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            text_put(c, line);
}

static inline void text_sync(struct cache *c, enum cache_kind kind)
{
    cache_replace_begin(c, kind);
    ck_assert(cache_replace_end(c, kind));
}

/* "n1 10.0.0.1 80; n2 10.0.0.2 80" */
static inline char *text_of_servers(const struct desired *d)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < d->server_count; i++)
        buf_printf(&b, "%s%s %s %u", i > 0 ? "; " : "", d->servers[i].name, d->servers[i].address, d->servers[i].port);
    return buf_take(&b);
}

/* One line each; "~" in front of ordinary ones. */
static inline char *text_of_skips(const struct desired *d)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < d->skip_count; i++)
        buf_printf(&b, "%s%s%s: %s", i > 0 ? "\n" : "", d->skips[i].ordinary ? "~" : "", d->skips[i].subject,
                   d->skips[i].reason);
    return buf_take(&b);
}

#endif
