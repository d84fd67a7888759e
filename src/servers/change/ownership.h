/*
 * Whose a server is where several clusters share a backend: each has its own name in SERVER_NAME_FORMAT's {cluster}, and
 * manages the servers whose names have it there. Pure.
 *
 * No name is of two clusters: nothing that fills a placeholder has a '_', and {cluster} is the only placeholder between
 * two of them (settings/values), so the '_' of a name say which part of it is the cluster's.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

enum ownership {
    OWNERSHIP_NONE,  /* no cluster's: the name is not as the format makes them */
    OWNERSHIP_OWN,   /* this cluster's; without a cluster: each */
    OWNERSHIP_OTHER, /* another cluster's */
};

/* cluster NULL: there is only one, and all servers are its own. */
enum ownership ownership_of(const char *format, const char *cluster, const char *name);

/* The cluster that a name of OWN or OTHER has. Allocates; NULL: none. */
char *ownership_cluster(const char *format, const char *name) must_check;

/* `name` is by the format: `more` put behind what the last placeholder but {cluster} became, so that it stays the same
 * cluster's. Allocates. */
char *ownership_extend(const char *format, const char *name, const char *more) must_check;

/* ---- lines: whose they are by the rules, their names, and what the desired state says ---- */

struct backend;
struct backend_server;
struct desired;
struct diff_rules;
struct runtime;

/* The glob of HAPROXY_KEEP_SERVERS that a name matches; NULL: none. */
const char *diff_keep_glob(const char *name, const struct diff_rules *rules);
/* desired NULL: nothing was taken over. */
bool diff_server_is_foreign(const struct backend_server *s, const struct diff_rules *rules,
                            const struct desired *desired);
/* The opposite, as haproxy/drift asks it. */
struct diff_owner {
    const struct diff_rules *rules;
    const struct desired *desired; /* NULL: nothing was taken over */
};
bool diff_manages(const void *owner, const struct backend_server *line);
/* Another cluster's by its name, whatever else is said of it. */
bool diff_server_is_others(const struct backend_server *s, const struct diff_rules *rules);
/* Whether one of those takes new connections: neither in maintenance nor drained, not DOWN. */
bool diff_others_up(const struct backend *actual, const struct runtime *r, const struct diff_rules *rules);
