/*
 * Actual backend and desired servers -> the exact list of writes. Pure. Nothing to do gives no change at all.
 *
 * All `server` lines are managed except `backup` ones, those whose name matches a keep glob (fnmatch(3)), and with
 * rules.cluster those that are not its own (servers/change/ownership) and were not taken over (servers/names). Of managed
 * ones, these fields are written: address, port, check, weight (where the desired state rules none: only on a line that
 * has none), maintenance (on for a draining server, off for a live one), no send-proxy-v2 without proxy_v2, the check's
 * port where own_check_port. A draining server that has no line gets none. A desired name that clashes with an
 * unmanaged line, with a keep glob or with a server-template is skipped, and both are named. Where a name stands on
 * several lines (HAProxy refuses to start with that) a write could hit any of them: the first is managed, unless one of
 * them is unmanaged.
 *
 * Parking (rules.parking): a line that is not desired is put into maintenance and kept otherwise, and its removal waits
 * for a transaction that is made in any case, or for room (servers/change/parking). Spares of the desired state without a
 * line get one in maintenance, as long as no more than PARKING_MAX lines are parked with it. Removed at once, as
 * without parking: a managed line that cannot stay (a server-template makes its name, or several lines have it: HAProxy
 * would not start with that), and a live one, no spare, that finds no room. Room, with rules.runtime: PARKING_MAX in
 * one difference, and the longest parked are removed after that, without haste. Otherwise: PARKING_MAX less the others
 * that stay parked, as the removal of one more would be a second reload.
 *
 * Without a reload (rules.runtime): a draining server keeps its line as it is, because a runtime command drains it
 * (servers/change/route). Otherwise it is put into maintenance.
 *
 * A check port of the desired state is checked by HTTP: adv_check is to be "httpchk" whatever the rules say, and one
 * that does not say what to ask for gets GET /healthz. Without a check port it is what the rules say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "haproxy/backend.h"
#include "model/choices.h"
#include "servers/change/ownership.h"
#include "servers/desired/desired.h"

struct change;
struct parking;

struct diff_rules {
    const char *balance;   /* NULL: keep what is there */
    const char *adv_check; /* NULL: keep what is there */
    bool proxy_v2;         /* send-proxy-v2 in the backend's default-server */
    /* They are another engine's: balance and adv_check are kept, send-proxy-v2 is neither added nor removed. */
    bool keep_settings;
    char *const *keep_servers; /* globs */
    size_t keep_count;
    enum adopt adopt;
    const char *server_name_format; /* NULL: {node} */
    const char *cluster; /* what {cluster} is there; NULL: the format has none, and all servers are managed */
    bool allow_empty;
    bool others_up; /* another cluster's server is UP in what runs: the last own one may go */
    bool create_backend;
    bool own_check_port; /* the check's port is managed: that of the desired state, or none; otherwise both are left
                         * alone */
    const struct parking *parking; /* borrowed; NULL: what is not desired is removed at once */
    bool runtime;                  /* changes are made without a reload where that is possible, */
    bool sets_check_port;          /* that of the port of a check, too */
};

enum diff_op { DIFF_ADD, DIFF_CHANGE, DIFF_REMOVE };

struct diff_change {
    enum diff_op op;
    unsigned fields; /* CHANGE: bits of server_field */
    bool parks;      /* ADD or CHANGE: to a line in maintenance that nothing desired states for yet, or any more */
    bool lazy;       /* REMOVE of a parked one that may wait for another transaction: only where something else is
                      * structural, or the settings change */
    /* It needs a transaction, and so a reload: a line that is added or removed, a field that cannot be set at runtime,
     * an address that is or was a name, a line that had no port (the client's port was used), a check port that goes, a
     * name that stands on several lines; without rules.runtime anything. For backend settings see backend_change and
     * create_backend. */
    bool structural;
    struct backend_server server; /* ADD, CHANGE: as it should be (json: the old object for CHANGE); REMOVE: as it is */
    char *detail;                 /* "address 10.0.0.1 -> 10.0.0.2, check on"; "" for ADD and REMOVE */
    char *reason;   /* why it is desired, drains, or is out; NULL: of an addition (desired_server_reason) */
    bool loss;      /* it was live (not in maintenance) and will not be */
    bool announced; /* with loss: it was said that it would go */
};

struct diff_skip {
    char *name;
    char *reason;
};

enum diff_verdict {
    DIFF_NOTHING,     /* in sync */
    DIFF_WRITE,       /* changes and/or backend_change */
    DIFF_NO_ENDPOINT, /* nothing live would be left and ALLOW_EMPTY is off: the last servers stay; `why` says so */
    DIFF_REFUSE,      /* must not write: unsupported lines, missing backend, desired state not known; `why` names
                       * them */
};

struct diff {
    enum diff_verdict verdict;
    char *why;                   /* NO_ENDPOINT, REFUSE; these carry no changes */
    struct diff_change *changes; /* additions, changes, removals; each group ordered by name */
    size_t change_count;
    bool create_backend; /* it is missing and may be made, with all the rules say; then backend_change is false */
    bool backend_change; /* balance, adv_check or default-server differ */
    struct backend_settings settings; /* as they are to be; adv_check: of the rules, or "httpchk"; borrowed */
    char *backend_detail;             /* "balance leastconn -> roundrobin"; NULL without backend_change */
    struct diff_skip *skips;
    size_t skip_count;
    size_t foreign_count;         /* unmanaged lines: servers and server-templates */
    size_t others_count;          /* of these, another cluster's */
    size_t foreign_inherit_count; /* of these, how many will inherit the send-proxy-v2 that backend_change adds */
    size_t managed_count;         /* managed lines, before the change */
    size_t live_count;            /* of these, not in maintenance */
    size_t parked_count; /* of these, in maintenance and not desired, spares too; 0 with no known desired state */
    size_t loss_count;   /* changes that are a loss and not announced */
    char *uneven;        /* what of the lines is not on each of them, in one sentence; NULL: nothing */
    bool leaves_none;    /* no managed server is live after it, which rules.others_up allows */
};

/* Without proxy_v2 send-proxy-v2 is removed from the lines of managed servers, and never from default-server (it may be
 * the operator's): docs/how-it-works.md. */
void diff_compute(const struct backend *actual, const struct desired *desired, const struct diff_rules *rules,
                  struct diff *ret);
void diff_fini(struct diff *d); /* a zeroed one is allowed */
/* Removals, and something else. */
bool diff_has_parts(const struct diff *d);
/* Managed lines without the parked ones: what people count as servers. */
size_t diff_configured_count(const struct diff *d);
/* A managed live server stays where the removals alone are written. */
bool diff_leaves_live(const struct diff *d);
void diff_take_part(struct diff *d, bool removals); /* that, or all else; the rest is taken out */
void diff_sort(struct diff *d);                     /* after an `op` was changed */
const struct diff_change *diff_find_change(const struct diff *d, const char *server); /* NULL: none is about it */

/* As the changes that an instance is asked for: the backend, then changes of servers, additions, removals, so that at no
 * point it has fewer servers than before or after. They borrow from both; free() the list. */
struct change *changes_of(const struct backend *actual, const struct diff *d, size_t *ret_count) must_check;

/* Takes unannounced losses out of d (is_held NULL: all of them), for the loss limit, and the lazy changes that nothing
 * else carries then; true where there is something left to write, else a verdict of DIFF_WRITE becomes DIFF_NOTHING.
 * After it loss_count and change_count are what is left; the other counts are unchanged. */
bool diff_withhold_losses(struct diff *d, bool (*is_held)(const void *arg, const char *server), const void *arg);

/* The lines of a backend in the order of their names; those of one name as in the file. */
struct diff_line {
    const char *name;
    const struct backend_server *server;
    bool foreign; /* unmanaged */
    bool doubled; /* others have its name */
};
struct diff_lines {
    struct diff_line *list;
    size_t count;
};
void diff_lines_read(struct diff_lines *l, const struct backend *actual, const struct desired *desired,
                     const struct diff_rules *rules);
void diff_lines_fini(struct diff_lines *l);
/* A command can mean it: managed, and the only one of its name. */
bool diff_line_is_own(const struct diff_line *l);
