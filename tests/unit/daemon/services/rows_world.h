/*
 * A small cluster for the rows of annotated Services: nodes and slices as lines of model_text.h, Services a to d with the node
 * ports 30001 to 30004, each with one port `http` and a backend of its name, and time that a test moves.
 */
#ifndef TESTS_ROWS_WORLD_H
#define TESTS_ROWS_WORLD_H

#include <stdio.h>

#include "../../model_text.h"
#include "base/log.h"
#include "daemon/services/service_rows.h"
#include "model/service_slices.h"
#include "services/plan.h"
#include "settings/settings.h"
#include "settings/table.h"

#define WORLD_SERVICES 4
#define WORLD_WINDOW_MS 30000
#define WORLD_DRAIN_MS 20000

struct rows_world {
    struct settings settings;
    struct log log;
    struct cache *nodes;
    struct service_slices *slices;
    struct service_rows *rows;
    struct annotated_service services[WORLD_SERVICES];
    struct service_port ports[WORLD_SERVICES];
    char names[WORLD_SERVICES][8], backends[WORLD_SERVICES][2];
    bool there[WORLD_SERVICES];
    const char *balance, *health_path;
    bool proxy_v2;
    bool slices_known;
    uint64_t now_ms;
};

static inline void rows_world_init(struct rows_world *w)
{
    *w = (struct rows_world){.balance = "roundrobin", .slices_known = true, .now_ms = 1000000};
    w->log = (struct log){.level = LOG_LEVEL_ERROR, .fd = 2};
    w->settings.nodes = node_rules_default;
    w->settings.drain_timeout_ms = WORLD_DRAIN_MS;
    w->settings.resync_period_ms = WORLD_WINDOW_MS;
    w->settings.park_ttl_ms = 1000;
    w->settings.max_loss_percent = 50;
    w->nodes = cache_new(&node_record);
    w->slices = service_slices_new();
    text_sync(w->nodes);
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        snprintf(w->names[i], sizeof(w->names[i]), "ns/%c", 'a' + (int)i);
        snprintf(w->backends[i], sizeof(w->backends[i]), "%c", 'a' + (int)i);
        w->ports[i] = (struct service_port){(char *)"http", 80, (uint16_t)(30001 + i)};
        w->services[i].service = (struct service){
            .name = w->names[i], .type = SERVICE_NODE_PORT, .local = true, .ports = &w->ports[i], .port_count = 1};
    }
}

/* With the settings as they are then. */
static inline void rows_world_open(struct rows_world *w)
{
    w->rows = service_rows_new(&w->settings, w->nodes, w->slices, &w->log);
}

static inline void rows_world_fini(struct rows_world *w)
{
    service_rows_free(w->rows);
    service_slices_free(w->slices);
    cache_free(w->nodes);
}

static inline void rows_world_node(struct rows_world *w, const char *line)
{
    const struct object_caches c = {.nodes = w->nodes};
    if (text_put(&c, line))
        service_rows_nodes_changed(w->rows);
}

static inline void rows_world_no_node(struct rows_world *w, const char *name)
{
    if (cache_delete(w->nodes, name))
        service_rows_nodes_changed(w->rows);
}

/* "10.0.0.1@n1 10.0.0.2@n2=no" of Service i; NULL: there is no such slice. */
static inline void rows_world_slice(struct rows_world *w, unsigned i, unsigned number, const char *endpoints)
{
    cleanup(mem_free_ptr) char *name = mem_printf("%s-%u", w->names[i], number);
    if (endpoints == NULL) {
        service_slices_delete(w->slices, name);
        return;
    }
    cleanup(mem_free_ptr) char *words = mem_printf("http/8080 : %s", endpoints);
    struct endpoint_set *set = text_set_new(name, words);
    struct service_slice *s = mem_alloc(sizeof(*s));
    *s = (struct service_slice){.set = *set, .service = mem_strdup(w->names[i])};
    free(set);
    service_slices_put(w->slices, s);
}

static inline struct service_route rows_world_route(const struct rows_world *w, unsigned i)
{
    return (struct service_route){.service = &w->services[i],
                                  .port = &w->ports[i],
                                  .backend = (char *)(uintptr_t)w->backends[i],
                                  .options = {.balance = (char *)(uintptr_t)w->balance,
                                              .health_path = (char *)(uintptr_t)w->health_path,
                                              .proxy_v2 = w->proxy_v2}};
}

/* The text of each Service that is there; NULL of others. Each is to be freed. */
static inline void rows_world_pass(struct rows_world *w, struct service_rows *rows, char *ret[WORLD_SERVICES])
{
    service_rows_begin(rows, w->slices_known, w->now_ms);
    for (unsigned i = 0; i < WORLD_SERVICES; i++) {
        struct buf text = {0};
        const struct service_route route = rows_world_route(w, i);
        ret[i] = NULL;
        if (!w->there[i])
            continue;
        buf_add(&text, "");
        service_rows_print(rows, &route, &text);
        ret[i] = text.len > 0 ? buf_take(&text) : mem_strdup("");
        buf_fini(&text);
    }
    service_rows_end(rows);
}

static inline void texts_free(char *texts[WORLD_SERVICES])
{
    for (unsigned i = 0; i < WORLD_SERVICES; i++)
        free(texts[i]);
}

#endif
