/*
 * What the daemon knows, as one JSON document: for /status, and for the page that shows it. Built on demand and
 * bounded, however big the cluster is.
 *
 * Names are stable within a schema_version; new ones may come. Times are RFC 3339 in UTC, durations microseconds, null
 * is unknown or absent. Every string may hold anything but bytes that are no UTF-8; the text itself is printable ASCII.
 *
 *   schema_version   1
 *   generated_at, uptime_seconds    everything below stays the same, byte for byte, while nothing happens
 *   version, started_at, dry_run, stopping
 *   state            the worst of all: "in_sync", "changing", "not_written" (a dry run or a pause), "removal_delayed" (by the loss limit,
 *                    or because there is no usable endpoint), "waiting" (for a first answer), "standby", "problem", "stopping"
 *   since            "in_sync": since the last HAProxy became so; else since what is wrong longest is so, within seconds
 *   summary          the same in one line, as /readyz has it
 *   ready            as /readyz: one HAProxy in sync is enough
 *   checks           [{name, state, reason, hint, since}], as /readyz has them; state "ok", "warn", "fail"; since: it is not "ok"
 *   leader           {election, leading, lease, holder, problem}
 *   nodes_known      Nodes that match the selector
 *   watches          [{resource, service, state, objects, problem}]; state "synced", "stale", "waiting", "refused"
 *   certificates     [{peer, certificate, not_after}]
 *   loss_limit       {max_loss_percent, delay_seconds}
 *   backends         [{backend, service {namespace, name, port}, state, problem, note, paused, endpoints,
 *                      nodes {live, draining, out, spare, listed, list}}]
 *                    state "ok", "empty", "waiting", "undecided"
 *     list           [{name, state, address, port, weight, reason, subject, ordinary, announced}]: what is desired. name: of the
 *                    server; null if there would be none. Of "out": subject is what was left out, ordinary: in the normal
 *                    course of things, announced: its end was announced
 *   haproxies        [{url, pod ("ns/name", of one that is a pod), state, text, answers, as_of, version, worker_pid,
 *                      reload {state, id, problem}, runtime_verification, drift, backends [...]}]
 *                    state as above; answers false: its API does not, or HAProxy does not answer that; as_of: then, when both
 *                    did last, as all that is shown of its servers is of then; runtime_verification: "untested", "verified",
 *                    "suspended", "failed", "disabled", as the metric of that name. Of a "standby" there are url, state, text and no backends
 *     backends       [{backend, state, text, readable, since, removal_delayed {servers, names, until}, overridden,
 *                      servers {live, draining, leaving, parked, spare, unmanaged, another_cluster, up, down, overridden, listed, list}}]
 *                      since: it is in sync, or is not; up, down: of the live ones, what HAProxy's health check says; up null: it
 *                      cannot be read
 *       list         [{name, address, port, weight, state, line, running, health, down_since, overridden, removal_delayed_until}]: what HAProxy
 *                    has. state "live", "draining", "parked" (kept in maintenance), "spare" (the same for a node that has no endpoint
 *                    yet), "leaving" (live, and not desired), "unmanaged", "another_cluster"; line: "live" or "maintenance" in haproxy.cfg; running:
 *                    "ready", "drain", "maint"; health: "up" or "down" by HAProxy's check when it was last read (RESYNC_PERIOD), "up"
 *                    without a check; down_since: when that was first read; overridden: the admin state if an operator has
 *                    set it; removal_delayed_until: the loss limit keeps it until then
 *   templates        {from, set, rendered_at, took_us, files, renders {changed, unchanged, failed}, change, failure {at, text}, remarks,
 *                    remark_list, problem, watches [...]}; null without CONFIG_SOURCE=template. rendered_at, took_us, files: of the last
 *                    render that went well; renders: since the start; problem: of the set or the last render; failure: the last one, that is
 *                    over if problem is null
 *     set            {sha256, bytes, templates}, of the last one that could be read
 *     change         the last render that gave something else: {at, first, added, removed, file_count, files [{kind, name, change, added,
 *                    removed}]}; first: of this process, so that all is new; added, removed: lines of all of them, but certificates, of
 *                    which nothing is counted. kind "haproxy.cfg", "map", "certificate", "file"; change "new", "gone", "changed", with
 *                    neither added nor removed: the order of its lines. The first 50
 *     remark_list    [{resource, kind, namespace, name, left_out, as_before, text}]: what templates say of objects in the last render that went well,
 *                    the first 50, those that warn() left out before the others; remarks: how many there are
 *     watches        [{name, resource, state, objects, bytes, removal_delayed, left_out, problem}]: by their names in the set; bytes: as they are
 *                    kept; removal_delayed: by the loss limit; left_out: by warn(); state "synced", "stale", "waiting", "not served", "refused"
 *   services         {services, served, refused, no_endpoint, removal_delayed, frontend_count, frontends [...], remarks, remark_list,
 *                      problem}; null without CONFIG_SOURCE=services. services: that have the label; served, refused: ports of
 *                    theirs; no_endpoint, removal_delayed: backends without a usable endpoint, with their last servers or every node;
 *                    with servers that the loss limit keeps; problem: why there is no configuration
 *     frontends      [{address, port, mode, tls, route_count, routes [{host, path, service, port, backend, redirect}]}]: mode "http" or
 *                    "tcp"; service: "namespace/name"; redirect: where clients are sent, then backend is null; path null: all. Of all
 *                    frontends together the first 500 routes
 *     remark_list    [{namespace, name, left_out, as_before, text}]: what is wrong with a Service, the first 50, those of ports that are not served
 *                    before annotations that have no effect; as_before: served as it was before a change that HAProxy refuses; remarks:
 *                    how many there are, 1,000 at most
 *   etcd             {role, version, problem, leading, sha256, published_at, load_balancers}; null without etcd. role: "producer" (CONFIG_TARGET),
 *                    with all of it, or "load balancer" (CONFIG_SOURCE), without what stands behind problem. version: that is published, or
 *                    was read, 0: none; sha256: of it, where it is what the source has, else null
 *     load_balancers {in_sync, behind, failed, list [{name, state, version, sha256, reason, since}]}, as they say themselves; the first
 *                    STATUS_LIST_MAX, those that are not in sync before the others
 *   history          newest first: [{number, at, kind, haproxy, backend, server, state, text, why, cause, took_us, latency_us}]
 *
 * Bounded: of one list of nodes or servers no more than STATUS_LIST_MAX are listed, of all lists of the document
 * together STATUS_LISTS_MAX of each sort; what drains, or is out for a reason that is not ordinary, comes first. Counts
 * are of all.
 */
#pragma once

#include "base/buf.h"
#include "daemon/daemon.h"

struct clients;
struct config_engine;
struct desired;
struct leadership;
struct mappings;
struct sources;
struct status;
struct targets;

#define STATUS_SCHEMA_VERSION 1

/* All of it borrowed. */
struct status_parts {
    const struct mappings *mappings;
    const struct sources *sources; /* NULL: nothing is watched for servers */
    const struct leadership *leadership;
    const struct clients *clients;
    const struct config_engine *config;
};

/* changed: something may be new; it may start no request, and reads nothing of s (sets a timer). */
struct status *status_new(const struct daemon *in, const struct status_parts *parts, void (*changed)(void *arg),
                          void *arg) must_check;
void status_free(struct status *s); /* before the history; NULL is allowed */

/* Now and then, and before it is printed: since when a check fails is known as exactly as that. */
void status_look(struct status *s, const struct checks *checks);

/* A mapping's desired state was computed: it is shared, so what is shown refers to it. s NULL: nothing happens. */
void status_take(struct status *s, size_t mapping, const struct desired *desired);

/* What else it is made of. */
struct status_now {
    const struct targets *targets; /* NULL: another replica leads */
    bool ready;
    const struct checks *checks; /* the lines of /readyz */
    bool stopping;
};

/* *ret_news_at: where what stays the same while nothing happens begins. */
void status_print(const struct status *s, const struct status_now *now, struct buf *json, size_t *ret_news_at);
