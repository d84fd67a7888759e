/*
 * One mapping as text: the objects of model_text.h and its settings.
 *
 *     port=30080 want=https mode=all weights=endpoints check drain=0 selector=zone=a park
 *     family=IPv4 | IPv6 | IPv4-first | IPv6-first      types=ExternalIP,InternalIP,Hostname
 *     endpoints     there are no slices, only Endpoints       absent     the Service is watched, and there is none
 *
 * Without a service among the objects it may not be read. The Service is ns/web.
 */
#pragma once

#include "../../model_text.h"

#define DRAIN_MS 30000

struct mapping_text {
    struct object_caches caches;
    struct mapping_rules rules;
    struct desired_input in;
    char *words; /* what the rules borrow */
};

static inline void text_types(struct node_rules *n, char *words)
{
    n->type_count = 0;
    for (char *word; (word = strsep(&words, ",")) != NULL;)
        n->types[n->type_count++] = strcmp(word, "ExternalIP") == 0 ? NODE_EXTERNAL_IP
                                    : strcmp(word, "Hostname") == 0 ? NODE_HOSTNAME
                                                                    : NODE_INTERNAL_IP;
}

static inline enum ip_family_rule text_family(const char *word)
{
    static const char *const names[] = {[IP_FAMILY_DUAL] = "dual",
                                        [IP_FAMILY_IPV4] = "IPv4",
                                        [IP_FAMILY_IPV6] = "IPv6",
                                        [IP_FAMILY_IPV4_FIRST] = "IPv4-first",
                                        [IP_FAMILY_IPV6_FIRST] = "IPv6-first"};
    size_t i = 0;
    while (i < array_len(names) && strcmp(word, names[i]) != 0)
        i++;
    ck_assert_msg(i < array_len(names), "family \"%s\"", word);
    return (enum ip_family_rule)i;
}

static inline void text_setting(struct mapping_rules *r, char *word)
{
    char *value = word + strcspn(word, "=");
    if (value[0] != '\0')
        *value++ = '\0';
    if (strcmp(word, "port") == 0)
        r->fixed_port = text_number(value);
    else if (strcmp(word, "want") == 0)
        r->port = value;
    else if (strcmp(word, "mode") == 0)
        r->node_mode = strcmp(value, "all") == 0 ? NODE_MODE_ALL : NODE_MODE_ENDPOINTS;
    else if (strcmp(word, "weights") == 0)
        r->weights = strcmp(value, "endpoints") == 0 ? WEIGHTS_ENDPOINTS : WEIGHTS_EQUAL;
    else if (strcmp(word, "check") == 0)
        r->node_port_check = true;
    else if (strcmp(word, "park") == 0)
        r->park_nodes = true;
    else if (strcmp(word, "drain") == 0)
        r->drain_timeout_ms = text_number(value);
    else if (strcmp(word, "selector") == 0)
        r->node_selector = value;
    else if (strcmp(word, "family") == 0)
        r->nodes.family = text_family(value);
    else if (strcmp(word, "types") == 0)
        text_types(&r->nodes, value);
    else
        ck_assert_msg(strcmp(word, "endpoints") == 0 || strcmp(word, "absent") == 0, "setting \"%s\"", word);
}

/* All that is watched is synced, and empty. */
static inline void text_mapping_open(struct mapping_text *m, const char *settings, bool service_denied)
{
    *m = (struct mapping_text){
        .caches = text_caches_new(),
        .rules = {.namespace = "ns", .service = "web", .nodes = node_rules_default, .drain_timeout_ms = DRAIN_MS},
        .words = mem_strdup(settings)};
    bool endpoints = strstr(settings, "endpoints") == settings || strstr(settings, " endpoints") != NULL;
    char *rest = m->words;
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            text_setting(&m->rules, word);
    text_sync(m->caches.nodes);
    text_sync(endpoints ? m->caches.endpoints : m->caches.slices);
    if (!service_denied)
        text_sync(m->caches.services);
    m->in = (struct desired_input){
        .caches = &m->caches, .service_denied = service_denied, .rules = &m->rules, .now_ms = 1000};
}

static inline void text_mapping(struct mapping_text *m, const char *objects, const char *settings)
{
    text_mapping_open(m, settings, strstr(objects, "service ") == NULL && strstr(settings, "absent") == NULL);
    text_put_all(&m->caches, objects);
}

/* m->in points into m: it must not move. */
static inline void text_mapping_close(struct mapping_text *m)
{
    server_states_free(m->in.states);
    text_caches_free(&m->caches);
    free(m->words);
}
