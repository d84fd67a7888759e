#include "daemon/services/service_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "daemon/mappings.h"
#include "model/cache.h"
#include "model/service_slices.h"
#include "report/checks.h"
#include "services/plan.h"
#include "settings/settings.h"
#include "settings/table.h"

#define REPEAT_LOG_MS 60000
#define NAMES_SHOWN 5
#define SKIPS_SHOWN 20

struct entry {
    UT_hash_handle hh;
    char *backend;
    struct service_row row;
    struct server_states *states; /* NULL: nothing drains */
    struct service *service;      /* as it was computed with (model/record) */
    uint16_t node_port;
    uint64_t pass, nodes, slices; /* the numbers of what it was computed with */
};

/* What was logged last: it is logged again once it is something else, and a minute later at the earliest. */
struct logged {
    struct log_limit limit;
    char *names; /* NULL: nothing */
    size_t count;
};

struct service_rows {
    const struct settings *settings;
    struct service_slices *slices;
    const struct log *log;
    struct object_caches caches; /* the Nodes alone */
    struct service_row_rules rules;
    struct entry *entries; /* by backend */
    uint64_t pass, nodes, now_ms;
    size_t computed; /* in this pass */
    struct logged delayed_logged, kept_logged;
};

struct service_rows *service_rows_new(const struct settings *settings, const struct cache *nodes,
                                      struct service_slices *slices, const struct log *log)
{
    struct service_rows *r = mem_alloc(sizeof(*r));
    const struct plan_rules plan = rules_for_plan(settings);
    *r = (struct service_rows){.settings = settings,
                               .slices = slices,
                               .log = log,
                               .caches = {.nodes = (struct cache *)(uintptr_t)nodes},
                               .rules = {.max_loss_percent = plan.max_loss_percent,
                                         .loss_window_ms = plan.loss_window_ms,
                                         .allow_empty = settings->allow_empty}};
    r->delayed_logged.limit.period_ms = r->kept_logged.limit.period_ms = REPEAT_LOG_MS;
    return r;
}

static void entry_drop(struct service_rows *r, struct entry *e)
{
    /* The analyzer does not see that the table's own list has no e any more. */
    HASH_DEL(r->entries, e); /* NOLINT(clang-analyzer-unix.Malloc) */
    service_row_fini(&e->row);
    server_states_free(e->states);
    mem_free_all(e->service, e->backend, e);
}

void service_rows_free(struct service_rows *r)
{
    struct entry *e, *next;
    if (r == NULL)
        return;
    HASH_ITER (hh, r->entries, e, next)
        entry_drop(r, e);
    mem_free_all(r->delayed_logged.names, r->kept_logged.names, r);
}

void service_rows_nodes_changed(struct service_rows *r)
{
    r->nodes++;
}

/* ---- what is desired ---- */

/* The rules of one port, and the texts that they borrow. */
struct row_rules {
    struct mapping_rules mapping;
    char *namespace, *service, *number;
};

static void row_rules_init(struct row_rules *ret, const struct settings *settings, const struct service_route *route)
{
    const struct service_port *port = route->port;
    const char *name = route->service->service.name, *slash = strchr(name, '/');
    *ret = (struct row_rules){.namespace = mem_strndup(name, slash != NULL ? (size_t)(slash - name) : 0),
                              .service = mem_strdup(slash != NULL ? slash + 1 : name),
                              .number = mem_printf("%u", port->number)};
    const struct settings_mapping of = {
        .namespace = ret->namespace, .service = ret->service, .port = *port->name != '\0' ? port->name : ret->number};
    ret->mapping = rules_for_mapping(settings, &of);
    ret->mapping.fixed_port = 0;
    if (!setting_is_given(settings, SETTING(node_mode)))
        ret->mapping.node_mode = NODE_MODE_ALL;
    if (!setting_is_given(settings, SETTING(park_nodes)))
        ret->mapping.park_nodes = settings->park_ttl_ms > 0;
}

struct node_search {
    const struct service_route *route;
    const struct node_rules *rules;
    struct desired *d;
};

static void see_node(void *arg, const void *object)
{
    const struct node_search *s = arg;
    const struct node *n = object;
    const struct node_address *a = node_exclusion(n, s->rules) == NULL
                                       ? node_address_choose(n, s->rules, &s->route->service->service, true)
                                       : NULL;
    cleanup(mem_free_ptr) char *name = desired_server_name(n->name);
    struct desired *d = s->d;
    /* Of two nodes with one server name the first has it. */
    if (a == NULL || (d->server_count > 0 && desired_find(d, name) != NULL))
        return;
    desired_add_server(d, (struct desired_server){.name = desired_text(d, name),
                                                  .address = desired_text(d, a->text),
                                                  .port = s->route->port->node_port,
                                                  .state = SERVER_LIVE,
                                                  .weight = -1});
}

static int order_of_desired(const void *a, const void *b)
{
    return strcmp(((const struct desired_server *)a)->name, ((const struct desired_server *)b)->name);
}

static void desire_by_endpoints(const struct service_rows *r, const struct service_route *route,
                                struct server_states *states, struct desired *ret)
{
    struct row_rules rules;
    struct service_slices_found found = service_slices_of(r->slices, route->service->service.name);
    const struct desired_objects objects = {&route->service->service, found.sets, found.count};
    row_rules_init(&rules, r->settings, route);
    const struct desired_input in = {
        .caches = &r->caches, .objects = &objects, .rules = &rules.mapping, .states = states, .now_ms = r->now_ms};
    desired_compute(&in, ret);
    mem_free_all(rules.namespace, rules.service, rules.number);
}

/* Whether it is a guess: no endpoint is usable, and there is no line that could stay. e NULL: there is none. */
static bool desire(const struct service_rows *r, const struct entry *e, const struct service_route *route,
                   struct server_states *states, struct desired *ret)
{
    desire_by_endpoints(r, route, states, ret);
    if (ret->state == DESIRED_OK || (r->rules.allow_empty && ret->state == DESIRED_EMPTY) ||
        (e != NULL && !e->row.guess && service_row_is_live(&e->row)))
        return false;
    /* Its endpoints are not known: kube-proxy may forward from any node, and health checks say which answer. */
    const struct cache *nodes = r->caches.nodes;
    desired_fini(ret);
    desired_init(ret);
    desired_make_room(ret, cache_count(nodes));
    cache_each(nodes, see_node, &(struct node_search){route, &r->settings->nodes, ret});
    if (ret->server_count > 1)
        qsort(ret->servers, ret->server_count, sizeof(ret->servers[0]), order_of_desired);
    ret->state = ret->server_count > 0 ? DESIRED_OK : DESIRED_EMPTY;
    ret->paused = route->service->service.paused;
    return true;
}

/* ---- rows ---- */

static bool drains(const struct service_rows *r, const struct service_route *route)
{
    bool by_endpoints = setting_is_given(r->settings, SETTING(node_mode)) && r->settings->node_mode != NODE_MODE_ALL;
    return by_endpoints || route->service->service.local;
}

static struct entry *entry_need(struct service_rows *r, const char *backend)
{
    struct entry *e;
    HASH_FIND_STR(r->entries, backend, e);
    if (e != NULL)
        return e;
    e = mem_alloc(sizeof(*e));
    e->backend = mem_strdup(backend);
    HASH_ADD_STR(r->entries, backend, e);
    return e;
}

static void recall_row(void *arg, const struct service_servers *servers)
{
    struct entry *e = entry_need(arg, servers->backend);
    service_row_recall(&e->row, servers);
    e->node_port = servers->list[0].port;
}

void service_rows_recall(struct service_rows *r, const char *text)
{
    if (r->pass == 0)
        service_recall(text, recall_row, r);
}

void service_rows_begin(struct service_rows *r, uint64_t now_ms)
{
    r->pass++;
    r->computed = 0;
    r->now_ms = now_ms;
}

void service_rows_print(void *rows, const struct service_route *route, struct buf *out)
{
    struct service_rows *r = rows;
    struct entry *e = entry_need(r, route->backend);
    uint64_t slices = service_slices_of(r->slices, route->service->service.name).changed;
    bool fresh = e->service != NULL && e->nodes == r->nodes && e->slices == slices &&
                 e->node_port == route->port->node_port && (e->row.due_ms == 0 || r->now_ms < e->row.due_ms) &&
                 record_eq(&service_record, e->service, &route->service->service);
    if (!fresh) {
        if (e->node_port != 0)
            service_row_renumber(&e->row, e->node_port, route->port->node_port);
        if (!drains(r, route)) {
            server_states_free(e->states);
            e->states = NULL;
        } else if (e->states == NULL) {
            e->states = server_states_new();
        }
        struct desired d;
        bool guess = desire(r, e, route, e->states, &d);
        service_row_take(&e->row, e->backend, &d, guess, &r->rules, r->now_ms);
        desired_fini(&d);
        size_t bytes;
        free(e->service);
        e->service = record_pack(&service_record, &route->service->service, 0, &bytes);
        e->node_port = route->port->node_port;
        e->nodes = r->nodes;
        e->slices = slices;
        r->computed++;
    }
    e->pass = r->pass;
    const struct service_row_print how = {.by_weight = backend_algorithm_is_dynamic(route->options.balance),
                                          .node_check = route->options.health_path == NULL,
                                          .proxy_v2 = route->options.proxy_v2};
    service_row_print(&e->row, &how, out);
}

/* ---- the end of a pass ---- */

static void log_names(struct service_rows *r, struct logged *last, struct text_list *list, size_t count,
                      const char *why, const char *what)
{
    unsigned before;
    cleanup(mem_free_ptr) char *names = text_list_take(list);
    bool same = last->count == count && str_eq(last->names, names);
    if (count == 0)
        log_limit_reset(&last->limit);
    else if (same || !log_limit_pass(&last->limit, r->now_ms, what, &before))
        return;
    else
        log_warn(r->log, what, log_int("count", count), log_str("backends", names), log_str("why", why));
    free(last->names);
    last->names = names;
    last->count = count;
    names = NULL;
}

static void log_all(struct service_rows *r)
{
    struct text_list delayed = {.between = ", ", .max = NAMES_SHOWN}, kept = delayed;
    const struct loss_limit *first = NULL;
    for (const struct entry *e = r->entries; e != NULL; e = e->hh.next) {
        /* The analyzer does not see that those that were dropped are not in the table's own list. */
        if (e->row.delayed > 0 && text_list_next(&delayed)) /* NOLINT(clang-analyzer-unix.Malloc) */
            buf_add(&delayed.text, e->backend);
        if (e->row.delayed > 0 && first == NULL)
            first = &e->row.losses;
        if ((e->row.kept || e->row.guess) && text_list_next(&kept))
            buf_add(&kept.text, e->backend);
    }
    const struct service_rows_view view = service_rows_view(r);
    cleanup(mem_free_ptr) char *why = first != NULL ? loss_limit_text(first, r->rules.max_loss_percent) : NULL;
    log_names(r, &r->delayed_logged, &delayed, view.delayed, why, "too many servers would be removed; removal delayed");
    log_names(r, &r->kept_logged, &kept, view.kept, NULL,
              "no usable endpoint; keeping the last servers, or each node where there were none");
}

void service_rows_end(struct service_rows *r)
{
    struct entry *e, *next;
    HASH_ITER (hh, r->entries, e, next)
        if (e->pass != r->pass)
            entry_drop(r, e);
    log_all(r);
}

uint64_t service_rows_due_ms(const struct service_rows *r)
{
    uint64_t due = 0;
    for (const struct entry *e = r->entries; e != NULL; e = e->hh.next)
        if (e->row.due_ms != 0 && (due == 0 || e->row.due_ms < due))
            due = e->row.due_ms;
    return due;
}

struct service_rows_view service_rows_view(const struct service_rows *r)
{
    struct service_rows_view view = {.computed = r->computed};
    for (const struct entry *e = r->entries; e != NULL; e = e->hh.next) {
        view.delayed += e->row.delayed > 0;
        view.kept += e->row.kept || e->row.guess;
    }
    return view;
}

void service_rows_check(const struct service_rows *r, struct checks *checks)
{
    const struct service_rows_view view = service_rows_view(r);
    struct buf text = {0};
    buf_printf(&text, "%u backends", HASH_COUNT(r->entries));
    if (view.delayed > 0)
        buf_printf(&text, "; %zu with servers whose removal is delayed (MAX_LOSS_PERCENT)", view.delayed);
    if (view.kept > 0)
        buf_printf(&text, "; %zu without a usable endpoint, with the last servers or every node", view.kept);
    checks_add(checks, view.delayed > 0 || view.kept > 0 ? CHECK_WARN : CHECK_OK,
               mem_strdup("servers of annotated Services"), buf_take(&text), NULL);
}

/* ---- explain ---- */

/* Its state, as the row has it, and why. */
static void explain_server(const struct service_rows *r, const struct service_row *row, const struct service_server *s,
                           const struct desired *d, struct buf *out)
{
    uint64_t until_ms;
    cleanup(mem_free_ptr) char *at = str_host_port(s->address, s->port);
    const struct desired_server *desired = desired_find(d, s->name);
    for (size_t i = 0; i < d->spare_count && desired == NULL; i++)
        desired = str_eq(d->spares[i].name, s->name) ? &d->spares[i] : NULL;
    cleanup(mem_free_ptr) char *reason = desired != NULL ? desired_server_reason(d, desired) : NULL;
    buf_printf(out, "    server %s %s, %s", s->name, at,
               s->state == SERVER_OUT ? "disabled" : server_state_name(s->state));
    if (row->kept)
        buf_add(out, ": it stays, as none is desired");
    else if (loss_limit_delays(&row->losses, s->name, r->now_ms, &until_ms))
        buf_add(out, ": it is lost, and its removal is delayed (MAX_LOSS_PERCENT)");
    else if (reason != NULL)
        buf_printf(out, ": %s", reason);
    buf_add(out, "\n");
}

void service_rows_explain(const struct service_rows *r, const struct service_route *route, struct buf *out)
{
    struct desired d;
    struct entry *e;
    HASH_FIND_STR(r->entries, route->backend, e);
    buf_printf(out, "servers of backend %s\n", route->backend);
    desire_by_endpoints(r, route, NULL, &d);
    if (d.state != DESIRED_OK)
        buf_printf(out, "    none is desired, %s: %s\n",
                   e != NULL && e->row.guess ? "and it had none, so that every eligible node is a server"
                                             : "so those that it had stay",
                   d.problem != NULL ? d.problem : "no node has an address for it");
    for (size_t i = 0; e != NULL && e->row.servers != NULL && i < e->row.servers->count; i++)
        explain_server(r, &e->row, &e->row.servers->list[i], &d, out);
    for (size_t i = 0; i < d.skip_count && i < SKIPS_SHOWN; i++) {
        cleanup(mem_free_ptr) char *skip = desired_skip_text(&d, &d.skips[i]);
        buf_printf(out, "    no server for %s\n", skip);
    }
    if (d.skip_count > SKIPS_SHOWN)
        buf_printf(out, "    and %zu more without a server\n", d.skip_count - SKIPS_SHOWN);
    desired_fini(&d);
}
