/*
 * Shows what sync/inspect found: `plan` as text or JSON, `explain` as text. Pure.
 *
 * JSON of `plan`, one object. Fields may be added, none is renamed or taken away; null where nothing is known or to be said:
 *
 *   in_step    true exactly where the exit status is 0
 *   problems   [string]: what could not be read, from Kubernetes or HAProxy
 *   backends   [object], in the order of the settings:
 *     backend    its name
 *     service    {"namespace", "name", "port"}: port is the name or number of the Service's port
 *     verdict    "in_step" | "changes" | "reload_again" | "hold" | "brake" | "withheld" | "refused" | "waiting" | "unseen"
 *                (see enum inspect_verdict)
 *     why        string: what stands behind hold, brake, withheld, refused, waiting and unseen
 *     note       string: a setting that has no effect here
 *     settings   string: "balance leastconn -> roundrobin", fields of the backend itself that change
 *     create     bool: the backend is missing and would be made
 *     changes    [object], additions, changes, removals, each group ordered by name:
 *       op         "add" | "change" | "remove"
 *       server     its name; with address, port, weight (null: the line has none) as they would be or, with remove, are
 *       state      "live" | "draining": as it would be; with remove "out"
 *       detail     string: "address 10.0.0.1 -> 10.0.0.9"; "" with add and remove
 *       reason     string
 *       loss       bool: a live server would take no new connections any more
 *       announced  bool: with loss: Kubernetes had said that it would go
 *     held_back  number of losses that the brake keeps out of changes
 *     held       [string]: ours in HAProxy that stay for now though they are not wanted (hold, brake)
 *     servers    [object]: all that are wanted: name, address, port, weight (null: an existing one is kept), state, reason
 *     left_out   [object]: subject, reason, server (a name in HAProxy), announced, ordinary (in the normal course of things)
 *     not_ours   number of server lines that are left alone; null where HAProxy could not be read
 */
#ifndef SYNC_INSPECT_PRINT_H
#define SYNC_INSPECT_PRINT_H

#include <stdbool.h>

#include "base/buf.h"

struct backend_server;
struct diff_change;
struct inspect_backend;
struct inspect_report;
struct page;

void inspect_print_plan(const struct inspect_report *r, struct page *p);
void inspect_print_explain(const struct inspect_report *r, struct page *p);
void inspect_print_json(const struct inspect_report *r, struct buf *out);
/* For standard error: what concerns no single backend. Adds nothing where all is well. */
void inspect_print_problems(const struct inspect_report *r, struct page *p);

/* ---- what these have in common ---- */

/* "backend be_https  <-  Service ingress/web port https (NodePort, policy Local, nodePort 30443)" */
void inspect_print_heading(const struct inspect_backend *b, struct page *p);
/* The Service's port, by name or number; NULL: not known. Allocates. */
char *inspect_port_name(const struct inspect_backend *b);
/* "10.0.0.3:30443", "[fd00::3]:30443". Allocates. */
char *inspect_address(const struct backend_server *s);
/* What stands behind the verdict; NULL: it speaks for itself. Allocates. */
char *inspect_why(const struct inspect_backend *b);

enum inspect_line {
    INSPECT_LINE_EQUAL,   /* as it should be */
    INSPECT_LINE_HELD,    /* not as it should be, and nothing is done about it for now */
    INSPECT_LINE_CHANGED, /* one of the changes is about it */
    INSPECT_LINE_FOREIGN, /* not ours */
};

/* What is to become of a server line of b->actual. Only where the wish is known and nothing is refused. */
enum inspect_line inspect_line(const struct inspect_report *r, const struct inspect_backend *b,
                               const struct backend_server *line);
/* Whether what inspect_line says means anything. */
bool inspect_has_lines(const struct inspect_backend *b);
/* Why a server is wanted or not; NULL: nothing is known of it. Allocates. */
char *inspect_reason(const struct inspect_backend *b, const char *server);
char *inspect_change_reason(const struct inspect_backend *b, const struct diff_change *c);

#endif
