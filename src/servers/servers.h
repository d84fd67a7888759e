/*
 * The servers engine of one HAProxy: brings the server lines of each of its backends to what is desired, and the
 * settings that it was asked for, and keeps them there: plan -> runtime commands, runtime updates, a transaction. It
 * drives an instance (haproxy/instance), which reads, writes and reloads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "haproxy/engine.h"
#include "servers/change/plan.h"
#include "servers/desired/desired.h"

struct checks;
struct servers;

struct servers_options {
    const char *const *backends; /* names, each once; borrowed, as are the strings in rules */
    size_t backend_count;
    struct plan_rules rules; /* for all of them */
    uint64_t park_ttl_ms;    /* 0: what is out is removed at once */
    /* Whether Kubernetes has a node for the server of that name; NULL: all have one. */
    bool (*node_exists)(const void *arg, const char *server);
    const void *node_arg;
};

struct servers *servers_new(const struct servers_options *options) must_check;
void servers_free(struct servers *e);                         /* after its instance; NULL is allowed */
const struct engine *servers_engine(const struct servers *e); /* for instance_new */

/* Keeps a reference. cause: what brought it about, for the log; received_us: when that arrived (monotonic), 0 where it
 * is no event. Nothing happens before servers_apply, so that what several backends need is one transaction. */
void servers_set_desired(struct servers *e, size_t backend, const struct desired *desired, const char *cause,
                         uint64_t received_us);
void servers_apply(struct servers *e);

void servers_end_traces(struct servers *e); /* as they are; NULL is allowed */

/* Adds one for each backend; true where all are in sync (or keep what they have on purpose). */
bool servers_ready(const struct servers *e, struct checks *checks);
/* "target http://lb1:5555 backend be". Allocates. */
char *servers_check_name(const struct servers *e, const char *backend) must_check;
