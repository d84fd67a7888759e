/*
 * Kubernetes objects as lines of text, so that a table of rules reads as what it means.
 *
 *     node n1 10.0.0.1 fd00::1 ext=1.2.3.4 host=n1.example !excluded !doomed !deleting !cordoned !notready
 *     service web NodePort Local https/443/30443 http/80/30080 check=32000 paused v4 v6
 *     slice a http/80 : 10.0.0.1@n1 10.0.0.2@n2=no 10.9.9.9
 *     endpoints web http/80 : 10.0.0.1@n1 | https/443 : 10.0.0.2@n2
 *
 * A node's addresses are InternalIPs unless they say else, in the order of the object; !doomed: tainted by the autoscaler.
 * A Service is a ClusterIP one with policy Cluster unless it says else; its families in the order of preference.
 * Ports of endpoints are NAME/NUMBER ("/443": no name), endpoints ADDRESS[@NODE][=STATE] with STATE one of yes (ready), no, leaving
 * (terminating, still serving), gone (terminating, not serving) and odd (serving, but neither ready nor terminating).
 */
#pragma once

#include "test.h"
#include <netinet/in.h>

#include "model/cache.h"
#include "servers/desired/desired.h"
#include "model/node_rules.h"
#include "model/objects.h"

#include "dice.h"

static inline void text_add_address(struct node *n, enum node_address_type type, const char *text)
{
    n->addresses = mem_resize(n->addresses, n->address_count + 1, sizeof(n->addresses[0]));
    n->addresses[n->address_count++] = (struct node_address){type, mem_strdup(text)};
}

static inline struct node *text_node_new(const char *name, const char *ip, uint64_t uid)
{
    struct node *n = mem_alloc(sizeof(*n));
    *n = (struct node){.name = mem_strdup(name), .uid_hash = uid};
    if (ip != NULL)
        text_add_address(n, NODE_INTERNAL_IP, ip);
    return n;
}

/* The bit of the first row of that kind. */
static inline uint8_t text_excluded_by(enum node_exclusion_by by)
{
    size_t row = 0;
    while (node_exclusions[row].by != by)
        row++;
    return (uint8_t)(1u << row);
}

/* The words behind a node's name; NULL: none. */
static inline void text_add_to_node(struct node *n, char *words)
{
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        else if (strcmp(word, "!excluded") == 0)
            n->excluded_by |= text_excluded_by(EXCLUDED_BY_LABEL);
        else if (strcmp(word, "!doomed") == 0)
            n->excluded_by |= text_excluded_by(EXCLUDED_BY_TAINT);
        else if (strcmp(word, "!deleting") == 0)
            n->excluded_by |= text_excluded_by(EXCLUDED_BY_DELETION);
        else if (strcmp(word, "!cordoned") == 0)
            n->cordoned = true;
        else if (strcmp(word, "!notready") == 0)
            n->not_ready = true;
        else if (str_has_prefix(word, "ext="))
            text_add_address(n, NODE_EXTERNAL_IP, word + 4);
        else if (str_has_prefix(word, "host="))
            text_add_address(n, NODE_HOSTNAME, word + 5);
        else if (word[0] != '!' && strchr(word, '=') == NULL)
            text_add_address(n, NODE_INTERNAL_IP, word);
        else
            ck_abort_msg("node word \"%s\"", word);
    }
}

static inline uint16_t text_number(const char *word)
{
    uint64_t number = 0;
    ck_assert_msg(word != NULL && str_parse_uint(word, 65535, &number) == 0, "number \"%s\"", word);
    return (uint16_t)number;
}

/* NAME/NUMBER[/NODEPORT] */
static inline void text_add_service_port(struct service *s, char *word)
{
    s->ports = mem_resize(s->ports, s->port_count + 1, sizeof(s->ports[0]));
    struct service_port *p = &s->ports[s->port_count++];
    *p = (struct service_port){.name = mem_strdup(strsep(&word, "/"))};
    p->number = text_number(strsep(&word, "/"));
    p->node_port = word != NULL ? text_number(word) : 0;
}

static inline void text_add_to_service(struct service *s, char *words)
{
    static const char *const types[] = {[SERVICE_CLUSTER_IP] = "ClusterIP",
                                        [SERVICE_NODE_PORT] = "NodePort",
                                        [SERVICE_LOAD_BALANCER] = "LoadBalancer",
                                        [SERVICE_EXTERNAL_NAME] = "ExternalName"};
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        size_t type = 0;
        while (type < array_len(types) && strcmp(word, types[type]) != 0)
            type++;
        if (type < array_len(types))
            s->type = (enum service_type)type;
        else if (strcmp(word, "Local") == 0)
            s->local = true;
        else if (strcmp(word, "paused") == 0)
            s->paused = true;
        else if (strcmp(word, "v4") == 0 || strcmp(word, "v6") == 0)
            s->families[s->families[0] != 0] = word[1] == '4' ? AF_INET : AF_INET6;
        else if (str_has_prefix(word, "check="))
            s->health_check_node_port = text_number(word + 6);
        else if (strchr(word, '/') != NULL)
            text_add_service_port(s, word);
        else
            ck_assert_msg(word[0] == '\0' || strcmp(word, "Cluster") == 0, "service word \"%s\"", word);
    }
}

static inline struct service *text_service_new(const char *name, char *words)
{
    struct service *s = mem_alloc(sizeof(*s));
    *s = (struct service){.name = mem_strdup(name), .uid_hash = 1};
    text_add_to_service(s, words);
    return s;
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

static inline struct object_caches text_caches_new(void)
{
    return (struct object_caches){cache_new(&node_record), cache_new(&endpoint_set_record),
                                  cache_new(&endpoint_set_record), cache_new(&service_record)};
}

static inline void text_caches_free(struct object_caches *c)
{
    cache_free(c->nodes);
    cache_free(c->slices);
    cache_free(c->endpoints);
    cache_free(c->services);
}

/* One line, one object. Answers what the put answered. */
static inline bool text_put(const struct object_caches *c, const char *line)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(line);
    char *rest = copy, *kind = strsep(&rest, " "), *name = strsep(&rest, " ");
    ck_assert_msg(name != NULL, "line \"%s\"", line);
    if (strcmp(kind, "node") == 0) {
        struct node *n = text_node_new(name, NULL, 1);
        text_add_to_node(n, rest);
        return cache_put(c->nodes, n);
    }
    if (strcmp(kind, "service") == 0)
        return cache_put(c->services, text_service_new(name, rest));
    ck_assert_msg(strcmp(kind, "slice") == 0 || strcmp(kind, "endpoints") == 0, "line \"%s\"", line);
    return cache_put(strcmp(kind, "slice") == 0 ? c->slices : c->endpoints,
                     text_set_new(name, rest != NULL ? rest : kind + strlen(kind)));
}

/* Several lines. */
static inline void text_put_all(const struct object_caches *c, const char *lines)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(lines);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            text_put(c, line);
}

static inline void text_sync(struct cache *c)
{
    cache_replace_begin(c);
    ck_assert(cache_replace_end(c));
}

static inline char *text_of_list(const struct desired_server *list, size_t count)
{
    struct buf b = {0};
    for (size_t i = 0; i < count; i++) {
        const struct desired_server *s = &list[i];
        buf_printf(&b, "%s%s %s %u", i > 0 ? "; " : "", s->name, s->address, s->port);
        if (s->state != SERVER_LIVE)
            buf_printf(&b, " %s", server_state_name(s->state));
        if (s->weight >= 0)
            buf_printf(&b, " w%d", s->weight);
    }
    return buf_take(&b);
}

/* "n1 10.0.0.1 80; n2 10.0.0.2 80 draining; n3 10.0.0.3 80 w5" */
static inline char *text_of_servers(const struct desired *d)
{
    return text_of_list(d->servers, d->server_count);
}

static inline char *text_of_spares(const struct desired *d)
{
    return text_of_list(d->spares, d->spare_count);
}

/* One line each; "~" in front of ordinary ones, "!" in front of announced ones. */
static inline char *text_of_skips(const struct desired *d)
{
    struct buf b = {0};
    for (size_t i = 0; i < d->skip_count; i++) {
        const struct desired_skip *s = &d->skips[i];
        cleanup(mem_free_ptr) char *text = desired_skip_text(d, s);
        buf_printf(&b, "%s%s%s%s", i > 0 ? "\n" : "", s->ordinary ? "~" : "", s->announced ? "!" : "", text);
    }
    return buf_take(&b);
}
