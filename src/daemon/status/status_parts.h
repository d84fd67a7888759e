/* The parts of /status (daemon/status/status.h), for status.c: each puts its members into an object of the document. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "report/checks.h"

#define STATUS_LIST_MAX 500   /* of one list */
#define STATUS_LISTS_MAX 1000 /* of all lists of a document together, nodes and servers apart */

struct config_engine;
struct desired;
struct target;
struct yyjson_mut_doc;
struct yyjson_mut_val;

/* status.c: state, problem, note, paused, endpoints and nodes (at most STATUS_LIST_MAX, the most notable first). d NULL:
 * nothing was computed yet. *left: how many may still be listed. */
void status_nodes_put(const struct desired *d, struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, size_t *left);

struct status_haproxies {
    const struct checks *checks;
    int64_t wall_minus_mono_ms; /* constant, so that a future time is the same each time */
    size_t left;                /* servers that may still be listed */
    int64_t in_sync_since_ms;   /* of those that are, the last one; wall clock, 0: none yet */
};

/* status_haproxy.c: adds one to the list; a worse state replaces *worst. */
void status_haproxy_add(const struct target *t, struct status_haproxies *h, struct yyjson_mut_doc *doc,
                        struct yyjson_mut_val *list, enum status_state *worst);
/* One that the leading replica manages. */
void status_haproxy_add_standby(const char *url, struct yyjson_mut_doc *doc, struct yyjson_mut_val *list);

/* status_source.c: "templates", "services" and "etcd" of the document. */
void status_source_put(const struct config_engine *e, struct yyjson_mut_doc *doc, struct yyjson_mut_val *root);

/* status.c: since when each check of /readyz fails, or has a remark: only those are kept. A plain value. */
struct status_since_entry {
    char *name;
    enum check_state state;
    uint64_t since_ms; /* as given */
};

struct status_since {
    struct status_since_entry *list;
    size_t count;
};

/* To be called again and again: what is not known yet begins at now_ms, what is over is forgotten. */
void status_since_look(struct status_since *s, const struct checks *checks, uint64_t now_ms);
/* 0: it is ok, or was not checked. */
uint64_t status_since_of(const struct status_since *s, const struct check *c);
/* The oldest in that state; 0: none is. */
uint64_t status_since_oldest(const struct status_since *s, enum check_state state);
void status_since_fini(struct status_since *s); /* a zeroed one is allowed */
