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
#include "servers/change/loss_limit.h"
#include "servers/desired/desired.h"

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

/* ---- service_row.c, for service_rows.c alone ---- */

/*
 * The servers of one backend over time: of what is desired and what its lines said before come its lines. Pure.
 *
 *   desired LIVE       a line
 *   desired DRAINING   a line that gets no new connections: weight 0, or `disabled` where the algorithm knows no weights
 *   a spare            a line that is `disabled`, so that the first endpoint on its node costs no reload
 *   lost               the loss limit may keep its line for a time (servers/change/loss_limit)
 *   nothing desired    the last live lines stay, those that drained are `disabled`; with allow_empty none
 *
 * Lines whose endpoints were not known (a guess: every node) are replaced by others without a loss.
 */

struct service_server {
    char *name;
    char *address;
    enum server_state state; /* OUT: `disabled` */
    int weight;              /* -1: HAProxy's own */
    uint16_t port;
};

/* In one allocation (model/record). */
struct service_servers {
    char *backend;
    struct service_server *list; /* ordered by name */
    uint32_t count;
};

struct service_row {
    struct service_servers *servers; /* NULL: none yet */
    struct loss_limit losses;
    uint64_t due_ms;     /* refresh then; 0: no need */
    uint16_t check_port; /* HAProxy checks this port of each node by HTTP; 0: none of its own */
    size_t delayed;      /* so many lines are kept by the loss limit */
    bool guess;          /* the endpoints were not known */
    bool kept;           /* nothing is desired: the last lines stay */
};

struct service_row_rules {
    unsigned max_loss_percent; /* 100: no loss limit */
    uint64_t loss_window_ms;
    bool allow_empty;
};

void service_row_fini(struct service_row *r); /* leaves a new one */

/* What its backend had before this daemon; copied. */
void service_row_recall(struct service_row *r, const struct service_servers *servers);

bool service_row_is_live(const struct service_row *r); /* a line of it takes new connections */
/* Its node port is another one: that of lines that stay, too. */
void service_row_renumber(struct service_row *r, uint16_t was, uint16_t is);
/* guess: d is not by its endpoints. */
void service_row_take(struct service_row *r, const char *backend, const struct desired *d, bool guess,
                      const struct service_row_rules *rules, uint64_t now_ms);
struct service_row_print {
    bool by_weight;  /* what drains has weight 0 */
    bool node_check; /* at the check port, where there is one */
    bool proxy_v2;   /* the backend's checks speak it, and that port does not */
};
void service_row_print(const struct service_row *r, const struct service_row_print *how, struct buf *out);

/* The servers that a haproxy.cfg of this program has, for a daemon that starts: its losses are counted from them, and where nothing is
 * desired they stay. Calls fn for each backend of `text` that has servers, by the lines that service_row_print makes; all other lines are
 * passed over. What fn gets is valid during the call. */
void service_recall(const char *text, void (*fn)(void *arg, const struct service_servers *servers), void *arg);
