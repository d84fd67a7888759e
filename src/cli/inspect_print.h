/*
 * Shows what cli/inspect found: `plan` as text or JSON, `explain` as text. Pure.
 *
 * JSON of `plan`, one object. Fields may be added, none is renamed or taken away; null where nothing is known or to be said:
 *
 *   in_step    true exactly where the exit status is 0
 *   problems   [string]: what could not be read, from Kubernetes or HAProxy; with several HAProxies, "HAProxy URL: ..."
 *   haproxies  [object], one for each URL of HAPROXY_DATAPLANE_URL, in that order:
 *     url        string
 *     in_step    true where each of its backends is
 *     problem    string: why nothing of it could be read
 *     note       string: what could not be taken into account, as that a reload is still to come
 *     drift      string: what it runs that its file does not say
 *   backends   [object], of the first HAProxy in the order of the settings, then of the next one, and so on:
 *     backend    its name
 *     haproxy    url of the HAProxy that it is in
 *     service    {"namespace", "name", "port"}: port is the name or number of the Service's port
 *     verdict    "in_step" | "changes" | "reload_again" | "hold" | "brake" | "withheld" | "refused" | "waiting" | "unseen"
 *                (see enum inspect_verdict)
 *     why        string: what stands behind hold, brake, withheld, refused, waiting and unseen
 *     note       string: a setting that has no effect here
 *     settings   string: "balance leastconn -> roundrobin", fields of the backend itself that change
 *     create     bool: the backend is missing and would be made
 *     reload     bool: what is to be written takes a transaction, and so a reload; settings and create always do
 *     reload_why string: what of it, such as "server n4 is new"; or why HAProxy cannot be told
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
 *     told       [object], what the running HAProxy alone is told at once (also before a change above): server, state
 *                ("ready" | "drain" | "maint", as its runtime API has it), reason
 *     by_hand    [object]: server, state ("drain" | "maint"): set in the running HAProxy by somebody else, and left alone
 *     parked     [string]: ours in maintenance that nothing wishes for, kept so that their return needs no reload
 *     runtime    string: why it could not be read what HAProxy runs of it; null where it was read
 *     held_back  number of losses that the brake keeps out of changes
 *     held       [string]: ours in HAProxy that stay for now though they are not wanted (hold, brake)
 *     servers    [object]: all that are wanted: name, address, port, weight (null: an existing one is kept), state, reason
 *     left_out   [object]: subject, reason, server (a name in HAProxy), announced, ordinary (in the normal course of things)
 *     not_ours   number of server lines that are left alone; null where HAProxy could not be read
 */
#ifndef CLI_INSPECT_PRINT_H
#define CLI_INSPECT_PRINT_H

#include <stdbool.h>

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

void inspect_print_plan(const struct inspect_report *r, struct page *p);
void inspect_print_explain(const struct inspect_report *r, struct page *p);
void inspect_print_json(const struct inspect_report *r, struct buf *out);
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
/* What stands behind the verdict; NULL: it speaks for itself. Allocates. */
char *inspect_why(const struct inspect_backend *b);
/* Where nothing at all could be read of it, and for one reason: that; NULL: each backend tells of itself. */
const char *inspect_unseen(const struct inspect_report *r, const struct inspect_target *t);
/* How many changes go which way; what is only told is one without a reload. */
struct inspect_ways {
    size_t without, reload;
};
struct inspect_ways inspect_count_ways(const struct inspect_backend *b);
/* "HAProxy runs something else than its file says: ..."; NULL: it does not. Allocates. */
char *inspect_drift(const struct inspect_target *t);
/* Why what is to be written takes a transaction; NULL: it does not, or nothing is. Allocates. */
char *inspect_reload_why(const struct inspect_backend *b);

enum inspect_line {
    INSPECT_LINE_EQUAL,   /* as it should be */
    INSPECT_LINE_HELD,    /* not as it should be, and nothing is done about it for now */
    INSPECT_LINE_CHANGED, /* one of the changes is about it */
    INSPECT_LINE_TOLD,    /* it stays, and the running HAProxy is told something about it */
    INSPECT_LINE_PARKED,  /* in maintenance and not wanted: it stays */
    INSPECT_LINE_FOREIGN, /* not ours */
};

/* What is to become of a server line of b->actual. Only where the wish is known and nothing is refused. */
enum inspect_line inspect_line(const struct inspect_report *r, const struct inspect_backend *b,
                               const struct backend_server *line);
/* Of a server: what the running HAProxy is told; NULL: nothing. */
const struct runtime_command *inspect_call(const struct inspect_backend *b, const char *server);
/* That is all that happens to it: no change is about it. */
bool inspect_is_only_told(const struct inspect_backend *b, const char *server);
size_t inspect_told_count(const struct inspect_backend *b); /* of these */
/* Why it is told that: in the words of the wish where these say it. Allocates. */
char *inspect_call_reason(const struct inspect_backend *b, const struct runtime_command *c);
/* What somebody else has set in the running HAProxy; NULL: nothing. */
const struct admin_state *inspect_by_hand(const struct inspect_backend *b, const char *server);
/* Whether what inspect_line says means anything. */
bool inspect_has_lines(const struct inspect_backend *b);
/* Why a server is wanted or not; NULL: nothing is known of it. Allocates. */
char *inspect_reason(const struct inspect_backend *b, const char *server);
char *inspect_change_reason(const struct inspect_backend *b, const struct diff_change *c);

#endif
