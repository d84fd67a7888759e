/*
 * What the daemon knows, as one JSON document: for /status, and for the page that shows it. Built on demand and bounded, however
 * big the cluster is.
 *
 * Names are stable within a schema_version; new ones may come. Times are RFC 3339 in UTC, durations microseconds, null is what is
 * not known or not there. Every string may hold anything but bytes that are no UTF-8; the text itself is printable ASCII.
 *
 *   schema_version   1
 *   generated_at, uptime_seconds    all below stays the same, byte for byte, while nothing happens
 *   version, started_at, dry_run, stopping
 *   state            the worst of all: "in_step", "changing", "waiting" (for a first answer), "holding" (on purpose), "standby",
 *                    "problem", "stopping"
 *   summary          the same in one line, in the words of /readyz
 *   ready            as /readyz: there, one HAProxy in step is enough
 *   checks           [{ok, subject, text}], the lines of /readyz
 *   leader           {election, leading, lease, holder, problem}
 *   nodes_known      Nodes that the selector leaves
 *   watches          [{resource, service, state, objects, problem}]; state "synced", "stale", "waiting", "refused"
 *   certificates     [{peer, certificate, not_after}]
 *   brake            {max_loss_percent, hold_seconds}
 *   backends         [{backend, service {namespace, name, port}, state, problem, note, paused, endpoints,
 *                      nodes {live, draining, out, spare, listed, list}}]
 *                    state "ok", "empty", "waiting", "undecided"
 *     list           [{name, state, address, port, weight, reason, subject, ordinary, announced}]: what is wanted. name: of the
 *                    server; null where there would be none. Of "out": subject is what was left out, ordinary: in the normal
 *                    course of things, announced: it was said that it would go
 *   haproxies        [{url, state, text, version, worker_pid, reload {state, id, problem}, runtime, drift, backends [...]}]
 *                    state as above; runtime: whether changes without a reload are known to reach it: "untried", "proven",
 *                    "doubted", "disproven", "off". Of a "standby" there are url, state, text and no backends
 *     backends       [{backend, state, text, readable, held {servers, names, until}, by_hand,
 *                      servers {live, draining, leaving, parked, spare, not_ours, down, by_hand, listed, list}}]
 *                      down: of the live ones, those that HAProxy's health check calls so
 *       list         [{name, address, port, weight, state, line, running, health, by_hand, held_until}]: what is there. state "live", "draining",
 *                    "parked" (kept in maintenance), "spare" (the same for a node that has no endpoint yet), "leaving" (live,
 *                    and not wanted), "not_ours"; line: "live" or "maintenance" in the file; running: "ready", "drain", "maint";
 *                    health: "up" or "down" by HAProxy's check when it was last read (RESYNC_PERIOD), "up" without a check;
 *                    by_hand: the same, where an operator has set it; held_until: it is lost and stays until then, beyond the loss limit
 *   decisions        the journal, newest first: [{number, at, kind, haproxy, backend, server, state, text, why, cause, took_us,
 *                    reaction_us}]
 *
 * Bounded: of one list of nodes or servers no more than STATUS_LIST_MAX are listed, of all lists of the document together
 * STATUS_LISTS_MAX of each sort; what drains, or is out for a reason that is not ordinary, comes first. Counts are of all.
 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

struct clients;
struct settings;
struct desired;
struct history;
struct leadership;
struct mappings;
struct sources;
struct status;
struct targets;

#define STATUS_SCHEMA_VERSION 1
#define STATUS_LIST_MAX 500
#define STATUS_LISTS_MAX 1000

/* All of it borrowed. */
struct status_options {
    const struct settings *settings;
    const struct mappings *mappings;
    const struct sources *sources;
    const struct leadership *leadership;
    const struct clients *clients;
    struct history *history;
    const char *version;
};

/* changed: something may be new; it may start no request, and reads nothing of s (sets a timer). */
struct status *status_new(const struct status_options *options, void (*changed)(void *arg), void *arg) must_check;
void status_free(struct status *s); /* before the journal; NULL is allowed */

/* A mapping's wish was computed: it is shared, so what is shown refers to it. s NULL: nothing happens. */
void status_take(struct status *s, size_t mapping, const struct desired *wish);

/* What else it is made of. */
struct status_now {
    const struct targets *targets; /* NULL: another replica leads */
    bool ready;
    const struct checks *checks; /* the lines of /readyz */
    bool stopping;
};

/* *ret_news_at: where what stays the same while nothing happens begins. */
void status_print(const struct status *s, const struct status_now *now, struct buf *json, size_t *ret_news_at);

#endif
