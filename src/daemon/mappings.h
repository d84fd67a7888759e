/*
 * The backends that one daemon looks after, each with the Service and the rules that say what its servers are. Several may
 * share a Service; each Service is watched once.
 */
#ifndef DAEMON_MAPPINGS_H
#define DAEMON_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

#include "servers/desired/desired.h"
#include "daemon/sources.h"

struct settings;
struct explanation;

struct mapping {
    const char *backend;
    size_t service; /* index for sources */
    struct mapping_rules rules;
    struct server_states *states;
};

struct mappings {
    struct mapping *list; /* in the order of the settings */
    size_t count;
    const char **backends; /* their names, as servers_options want them */
    struct sources_service *services;
    size_t service_count;
};

/* What it holds is borrowed from settings. */
void mappings_init(struct mappings *m, const struct settings *settings);
void mappings_fini(struct mappings *m); /* a zeroed one is allowed */

/* The wish of one backend as the caches are now; DESIRED_NOT_SYNCED before they may be believed. */
void mapping_compute(const struct mapping *m, const struct sources *sources, uint64_t now_ms, struct desired *ret);
/* As explain_node; -1 also where the caches may not be believed yet. */
int mapping_explain(const struct mapping *m, const struct sources *sources, const char *node,
                    struct explanation *ret) must_check;

#endif
