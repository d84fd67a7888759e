/*
 * What the daemon would do about one HAProxy, by the code that it decides by. Without its memory a parked line is parked since
 * now, a loss begins now, and a drain that fits the desired state counts as the daemon's. Pure.
 */
#ifndef CLI_INSPECT_DECIDE_H
#define CLI_INSPECT_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon_memory;
struct inspect_target;
struct plan_rules;

struct inspect_rules {
    const struct plan_rules *plan;
    uint64_t park_ttl_ms; /* 0: what is out is removed */
    /* As in servers/servers.h. */
    bool (*node_exists)(const void *arg, const char *server);
    const void *node_arg;
    uint64_t now_ms;
    const struct daemon_memory *daemon; /* NULL: there is none */
};

/* Of each of its backends that was seen; once. */
void inspect_decide(struct inspect_target *t, size_t backend_count, const struct inspect_rules *rules);

#endif
