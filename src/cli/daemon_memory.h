/*
 * What the running daemon decides by and neither HAProxy nor Kubernetes shows, for `plan`: when drains began, what was lost, who set
 * which state, what is parked since when, conflicts, failed runtime updates. Asked once of its /status (daemon/status/status.h), and used
 * only where the daemon leads and has the same backends and HAProxies. Whatever else answers there is no reason to fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct desired;
struct event_base;
struct inspect_backend;
struct server_states;
struct settings;
struct yyjson_doc;

struct daemon_memory {
    const struct settings *settings; /* borrowed */
    char *url;                       /* of the daemon; NULL: it is not to be asked */
    char *why_not;                   /* why its memory is not used; NULL: it is */
    int64_t wall_minus_mono_ms;      /* for times of it that are shown */
    struct yyjson_doc *doc;          /* the answer; NULL: not used */
};

/* url: "http://host:port"; "": at the LISTEN_ADDRESS of the settings; NULL: it is not to be asked. */
void daemon_memory_init(struct daemon_memory *m, const struct settings *settings, const char *url);
void daemon_memory_fini(struct daemon_memory *m);
/* Where there is one to ask. Runs the loop of base, for timeout_ms at most. */
void daemon_memory_ask(struct daemon_memory *m, struct event_base *base, uint64_t timeout_ms);
/* Takes an answer: nothing of it is used where any of it is wrong. */
void daemon_memory_take(struct daemon_memory *m, const char *json, size_t len);

bool daemon_memory_used(const struct daemon_memory *m); /* NULL is allowed: false; nothing below does anything then */
/* Of the settings' n-th mapping. Before the first pass over them. */
void daemon_memory_recall_states(const struct daemon_memory *m, size_t mapping, struct server_states *to);
/* Of which nodes the lines are whose servers have left: as the aliases of a desired state before. */
void daemon_memory_recall_names(const struct daemon_memory *m, const char *target, const char *backend,
                                struct desired *to);
/* memory, parking (where there is any) and daemon of a backend that was not decided about yet. */
void daemon_memory_recall(const struct daemon_memory *m, const char *target, struct inspect_backend *to);
