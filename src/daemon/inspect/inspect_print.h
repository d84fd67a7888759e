/*
 * Shows what cli/inspect found: `plan` as text or JSON, `explain` the same. Pure.
 *
 * JSON of `plan`, one object. Fields may be added, none is renamed or taken away; null: unknown, or nothing to say:
 *
 *   in_sync    true exactly where the exit status is 0
 *   daemon     {"url", "used", "why"}: whether the running daemon's memory is used, or why not; null: it was not asked
 *   problems   [string]: what could not be read, from Kubernetes or HAProxy; with several HAProxies, "HAProxy URL: ..."
 *   haproxies  [object], one for each URL of HAPROXY_DATAPLANE_URL, in that order:
 *     url        string
 *     in_sync    true where each of its backends is
 *     problem    string: why nothing of it could be read
 *     note       string: what could not be taken into account, such as a pending reload
 *     drift      string: how what it runs differs from haproxy.cfg
 *   backends   [object], of the first HAProxy in the order of the settings, then of the next one, and so on:
 *     backend    its name
 *     haproxy    url of the HAProxy that it is in
 *     service    {"namespace", "name", "port"}: port is the name or number of the Service's port
 *     verdict    "in_sync" | "changes" | "reload_again" | "no_endpoint" | "loss_limit" | "not_written" | "refused" |
 *                "waiting" | "unknown" (see enum inspect_verdict)
 *     why        string: the reason of no_endpoint, loss_limit, not_written, refused, waiting and unknown
 *     note       string: a setting that has no effect here
 *     settings   string: "balance leastconn -> roundrobin", fields of the backend itself that change
 *     create     bool: the backend is missing and would be created
 *     reload     bool: what is to be written takes a transaction, and so a reload; settings and create always do
 *     reload_why string: which change needs it, such as "server n4 is new"; or why runtime updates are not possible
 *     changes    [object], additions, changes, removals, each group ordered by name:
 *       op         "add" | "change" | "remove"
 *       server     its name; with address, port, weight (null: the line has none) as they would be or, with remove, are
 *       state      "live" | "draining": as it would be; "out" with remove and where parks is true
 *       detail     string: "address 10.0.0.1 -> 10.0.0.9"; "" with add and remove
 *       reason     string
 *       loss       bool: a live server would take no new connections any more
 *       announced  bool: with loss: Kubernetes had said that it would go
 *       parks      bool: its line would be there in maintenance, for an endpoint to come (back) without a reload
 *       reload     bool: it takes a transaction, and so a reload; otherwise file and running HAProxy are written in one
 *     removals_delayed  number of removals that the loss limit delays
 *     kept       [string]: managed servers that stay although they are not desired (no_endpoint, loss_limit)
 *     delayed    [object], of these: server, until (RFC 3339); empty where the daemon's memory is not used
 *     runtime_commands  [object], states set at runtime at once (also before a change above): server, state ("ready" |
 *                "drain" | "maint", as in HAProxy's runtime API), reason
 *     overridden [object]: server, state ("drain" | "maint"): admin state set by an operator, and left alone
 *     parked     [string]: managed, in maintenance, not desired, kept so that their return needs no reload
 *     runtime    string: why the running servers could not be read; null: they were read
 *     servers    [object]: the desired ones: name, address, port, weight (null: an existing one is kept), state, reason, and
 *                until (RFC 3339; null: unknown) of one that drains
 *     left_out   [object]: subject, reason, server (a name in HAProxy), announced, ordinary (it happens all the time)
 *     unmanaged  number of server lines that are left alone; null where HAProxy could not be read
 *
 * JSON of `explain`, the same rules:
 *
 *   node, known    the name that was asked for, and whether it is a node or an endpoint; false with exit status 1
 *   did_you_mean   string: names like it
 *   problems       as above
 *   backends       [object]: backend, service (as above), known (here), is_node, state ("live" | "draining" | "out"), verdict,
 *                  rules [{"rule", "passed", "text"}] in their order, and haproxies [object]: url, server (its name there),
 *                  lines [{"about": "now in HAProxy" | "called" | "next", "text"}]
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct backend_server;
struct diff_change;
struct inspect_backend;
struct inspect_mapping;
struct inspect_report;
struct inspect_target;
struct runtime_command;
struct admin_state;
struct page;
struct yyjson_mut_doc;
struct yyjson_mut_val;

void inspect_print_plan(const struct inspect_report *r, struct page *p);
void inspect_print_explain(const struct inspect_report *r, struct page *p);
void inspect_print_json(const struct inspect_report *r, struct buf *out);
void inspect_print_explain_json(const struct inspect_report *r, struct buf *out);
/* What both have in common: problems, and the Service of a backend. */
void inspect_put_problems(struct yyjson_mut_doc *doc, struct yyjson_mut_val *root, const struct inspect_report *r);
void inspect_put_service(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const struct inspect_mapping *m);
/* For standard error: what concerns no single backend. Adds nothing where all is well. */
void inspect_print_problems(const struct inspect_report *r, struct page *p);

/* ---- what these have in common ---- */

/* "HAProxy http://lb1:5555" */
void inspect_print_target(const struct inspect_target *t, struct page *p);
/* "backend be_https  <-  Service ingress/web port https (NodePort, policy Local, nodePort 30443)" */
void inspect_print_heading(const struct inspect_mapping *m, struct page *p);
/* The Service's port, by name or number; NULL: not known. Allocates. */
char *inspect_port_name(const struct inspect_mapping *m);
/* "10.0.0.3:30443", "[fd00::3]:30443". Allocates. */
char *inspect_address(const struct backend_server *s);
/* The reason of the verdict; NULL: it needs none. Allocates. */
char *inspect_why(const struct inspect_backend *b);
/* Why none of its backends could be read, if there is one reason; NULL: each backend has its own. */
const char *inspect_unseen(const struct inspect_report *r, const struct inspect_target *t);
/* How many changes go which way; a runtime command alone counts as one without a reload. */
struct inspect_ways {
    size_t without, reload;
};
struct inspect_ways inspect_count_ways(const struct inspect_backend *b);
/* "running HAProxy differs from haproxy.cfg: ..."; NULL: it does not. Allocates. */
char *inspect_drift(const struct inspect_target *t);
/* Why what is to be written takes a transaction; NULL: it does not, or nothing is. Allocates. */
char *inspect_reload_why(const struct inspect_backend *b);

enum inspect_line {
    INSPECT_LINE_EQUAL,     /* as desired */
    INSPECT_LINE_DELAYED,   /* not as desired, and not changed for now */
    INSPECT_LINE_CHANGED,   /* one of the changes is about it */
    INSPECT_LINE_COMMANDED, /* it stays, and a runtime command sets its state */
    INSPECT_LINE_PARKED,    /* in maintenance and not desired: it stays */
    INSPECT_LINE_FOREIGN,   /* unmanaged */
    INSPECT_LINE_OTHERS,    /* another cluster's */
};

/* What would happen to a server line of b->actual. Only where the desired state is known and nothing is refused. */
enum inspect_line inspect_line(const struct inspect_report *r, const struct inspect_backend *b,
                               const struct backend_server *line);
/* The runtime command for a server; NULL: none. */
const struct runtime_command *inspect_call(const struct inspect_backend *b, const char *server);
/* That is all that happens to it: no change is about it. */
bool inspect_is_only_commanded(const struct inspect_backend *b, const char *server);
size_t inspect_commanded_count(const struct inspect_backend *b); /* of these */
/* The reason of a runtime command: the desired state's, where it has one. Allocates. */
char *inspect_call_reason(const struct inspect_backend *b, const struct runtime_command *c);
/* The admin state that an operator has set; NULL: none. */
const struct admin_state *inspect_overridden(const struct inspect_backend *b, const char *server);
/* When it is out, of what drains or its removal is delayed, as the daemon has it; milliseconds since the epoch. 0: not known. */
int64_t inspect_until_ms(const struct inspect_report *r, const struct inspect_backend *b, const char *server);
/* Whether what inspect_line says means anything. */
bool inspect_has_lines(const struct inspect_backend *b);
/* Why a server is desired or not; NULL: unknown. Allocates. */
char *inspect_reason(const struct inspect_backend *b, const char *server);
char *inspect_change_reason(const struct inspect_backend *b, const struct diff_change *c);
