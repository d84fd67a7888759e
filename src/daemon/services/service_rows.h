/*
 * {backend, Service, port} for each port that annotated Services have served, and the servers of each as the rules of the servers
 * engine have them (servers/desired), over time (service_row). A row is computed again where its Service, its slices or the
 * Nodes changed, or where a drain or a delay of it ends. It opens no connection and knows no clock.
 *
 * Which nodes: NODE_MODE, where it is set; else every eligible one, as kube-proxy forwards a node port from any. With
 * externalTrafficPolicy Local those with a usable endpoint, and a line that is `disabled` for each other one (PARK_NODES, true
 * here unless it is set).
 */
#pragma once

#include "daemon/daemon.h"
struct cache;
struct log;
struct service_route;
struct service_rows;
struct service_slices;

/* All borrowed. */
struct service_rows *service_rows_new(const struct settings *settings, const struct cache *nodes,
                                      struct service_slices *slices, const struct log *log) must_check;
void service_rows_free(struct service_rows *r); /* NULL is allowed */

/* Before the first pass, else nothing happens: the servers in this haproxy.cfg are those that an earlier daemon left. */
void service_rows_recall(struct service_rows *r, const char *text);
void service_rows_nodes_changed(struct service_rows *r);

/* A pass: begin, each route once, end, which forgets the rows of others. */
void service_rows_begin(struct service_rows *r, uint64_t now_ms);
/* rows: a struct service_rows. Adds the servers of a route's backend, each a line (services_print.servers). */
void service_rows_print(void *rows, const struct service_route *route, struct buf *out);
void service_rows_end(struct service_rows *r);
uint64_t service_rows_due_ms(const struct service_rows *r); /* a pass is due then; 0: no need */

struct service_rows_view {
    size_t computed;      /* so many rows in the last pass; the others were as before */
    size_t delayed, kept; /* backends with removals that wait; that keep their last servers, as nothing is desired */
};
struct service_rows_view service_rows_view(const struct service_rows *r);
void service_rows_check(const struct service_rows *r, struct checks *checks); /* adds one */

/* Adds lines for people: which servers the route's backend has since the last pass, and why not others. */
void service_rows_explain(const struct service_rows *r, const struct service_route *route, struct buf *out);
