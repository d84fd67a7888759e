/*
 * The backends that the daemon manages, each with its Service and the rules for its servers. Several may share a
 * Service; each Service is watched once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "configuration/keep.h"
#include "servers/desired/desired.h"
#include "daemon/sources.h"
#include "servers/change/plan.h"

struct settings;
struct explanation;
struct settings_mapping;

struct mapping {
    const char *backend;
    size_t service; /* index for sources */
    struct mapping_rules rules;
    struct server_states *states;
    struct desired_memory *memory;
};

struct mappings {
    struct mapping *list; /* in the order of the settings */
    size_t count;
    const char **backends; /* their names, as servers_options want them */
    struct sources_service *services;
    size_t service_count;
    struct keep_rules keep; /* whose server lines are no document's; its list is owned */
};

/* What it holds is borrowed from settings. */
void mappings_init(struct mappings *m, const struct settings *settings);
void mappings_fini(struct mappings *m); /* a zeroed one is allowed */

/* The desired state of one backend by the caches; DESIRED_NOT_SYNCED before they have synced. */
/* Again and again, at the cost of what changed since. */
const struct desired *mapping_update(const struct mapping *m, const struct sources *sources,
                                     uint64_t now_ms) must_check;
/* As explain_node; -1 also before the caches have synced. */
int mapping_explain(const struct mapping *m, const struct sources *sources, const char *node,
                    struct explanation *ret) must_check;

/* The rules of plan and desired state; what they hold is borrowed from settings. */
struct mapping_rules rules_for_mapping(const struct settings *settings, const struct settings_mapping *mapping);
struct plan_rules rules_for_plan(const struct settings *settings);

/* A backend on its way from the caches to the targets: the desired state that they have, and changes that wait. */
struct mapping_state {
    const struct mapping *mapping;
    const struct desired
        *last;            /* the newest; the targets have this or one that is the same for HAProxy. NULL: none yet */
    char *last_announced; /* with that; NULL: nothing yet */
    bool dirty;           /* something changed since */
    uint64_t event_us;    /* the oldest change that waits */
    char *cause;          /* of the newest; NULL: time alone */
    struct log_limit skip_limit, wait_limit, note_limit;
};

void mapping_state_init(struct mapping_state *w, const struct mapping *mapping); /* the mapping is borrowed */
void mapping_state_fini(struct mapping_state *w);

void mapping_state_set_cause(struct mapping_state *w, const char *cause); /* copied; NULL is allowed */

/* Takes a reference to the desired state, which is shared; false if it is the same as before. */
bool mapping_state_take(struct mapping_state *w, const struct desired *desired) must_check;

/* New targets know nothing: the next desired state is news. */
void mapping_state_forget_sent(struct mapping_state *w);

/* Logs what is notable in the newest desired state; rate-limited. */
void mapping_state_log(struct mapping_state *w, const struct log *log);
/* Repeats that the mapping is undecided, once a minute for as long as it lasts. */
void mapping_state_log_wait(struct mapping_state *w, const struct log *log);
