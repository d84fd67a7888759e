/*
 * What one read of Kubernetes and of each HAProxy found, and what the daemon would do about it, by the code that it decides
 * by: filled by cli/inspect, shown by cli/inspect_print. Plain values, so that a test can make them by hand. Without the
 * daemon's memory a parked line is parked since now, a loss begins now, and a drain that fits the desired state counts as
 * the daemon's. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "haproxy/backend.h"
#include "servers/desired/desired.h"
#include "servers/desired/explain.h"
#include "servers/change/route.h"
#include "haproxy/runtime.h"
#include "report/checks.h"
#include "servers/change/plan.h"

struct cfg_content;
struct daemon_memory;
struct parking;
struct plan_rules;
struct served;
struct service;
struct sources;

enum inspect_service {
    INSPECT_SERVICE_WAITING, /* not read yet */
    INSPECT_SERVICE_DENIED,  /* it may not be read */
    INSPECT_SERVICE_ABSENT,
    INSPECT_SERVICE_KNOWN,
};

/* The desired state of one backend, the same for each HAProxy. */
struct inspect_mapping {
    const char *backend;               /* its name; borrowed, as are rules and service */
    size_t source;                     /* index of its Service for sources */
    const struct mapping_rules *rules; /* which Service it is for */
    enum inspect_service service_state;
    const struct service *service; /* KNOWN */
    struct desired desired;
    bool node_known; /* of `explain`: something of that name is known here, and explanation says what about it */
    bool is_node;    /* a node, not the address of an endpoint */
    struct explanation explanation;
};

/* Why a server of HAProxy is not desired, where the desired state does not say: it has no endpoint of the Service. */
struct inspect_reason {
    char *server;
    char *text;
};

/* What else the daemon remembers of a backend; its texts are borrowed. */
struct inspect_memory {
    bool used;            /* else there is nothing */
    bool runtime_updates; /* they reach HAProxy, as far as is known */
    bool reload_due;      /* HAProxy may run something else than its file says */
    const char *file_problem;
    uint64_t paused_until_ms; /* another writer reverts what is written; 0: it does not */
    const char *reverted;     /* how, the last time */
    struct loss_limit loss_limit;
};

/* One backend in one HAProxy. */
struct inspect_backend {
    const struct inspect_mapping *of; /* in the report */
    const struct desired *desired;    /* by the names of this HAProxy: that of the mapping, or named */
    struct desired named;
    bool seen;           /* HAProxy was read: actual and runtime are set */
    struct error unseen; /* otherwise: why not */
    struct backend actual;
    struct runtime runtime;
    struct inspect_reason *reasons;
    size_t reason_count;

    /* The rest is by inspect_decide. */
    struct plan plan; /* as it goes into the file in the end */
    bool rejected;    /* by inspect_haproxy_check: HAProxy would reject some of it, or all; plan.why says so */
    bool *
        reloads; /* how each change of the plan reaches HAProxy, or would, if writing were allowed: true: by a transaction
                    * and a reload; false: written to the file and to the running HAProxy in one */
    /* What the daemon would begin with: without a reload where that is possible. The writes of choice are about it. The
     * commands are sent at once; those without a change in plan are all that happens to their server. */
    struct plan first;
    struct route choice;
    struct admin_states memory; /* who set which state, as far as one read shows */
    struct parking *parking;    /* NULL: nothing is parked */
    struct inspect_memory daemon;
};

/* One HAProxy. */
struct inspect_target {
    const char *url;                  /* of its Data Plane API; borrowed */
    struct inspect_backend *backends; /* as the mappings of the report */
    struct cfg_content *file;         /* haproxy.cfg as it was read; borrowed; NULL: it was not */
    const struct served *served;      /* which servers are down by their checks; borrowed; NULL: a test's */
    bool adds;                        /* servers come and go without a reload, */
    /* those of the backend's plan, too; NULL: a test's. */
    bool (*adds_these)(const struct inspect_target *t, const struct inspect_backend *b);
    const void *way; /* for adds_these */
    bool regroups;   /* by a Data Plane API */
    bool dirty;      /* it may not run what haproxy.cfg says: each change needs a reload */
    bool unverified; /* no reload is known, and what it runs is neither: a daemon that starts reloads it */
    char
        *drift; /* how what it runs differs from haproxy.cfg; NULL: it does not, or a reload is pending or has failed */
    char *file_problem; /* why a write would change the meaning of haproxy.cfg; NULL: it would not */
    char *file_warning; /* the same, where only the daemon's check of the new file shows it; NULL: nothing */
    char *warning;      /* what the plan could not take into account; NULL: nothing */
};

struct inspect_report {
    struct inspect_mapping *mappings; /* in the order of the settings */
    size_t mapping_count;
    struct inspect_target *targets; /* in the order of the settings */
    size_t target_count;
    const struct diff_rules *rules; /* which lines are managed */
    const struct sources *sources; /* what Kubernetes has; NULL: it was not read, or the report is a test's; borrowed */
    bool incomplete;               /* not all of Kubernetes' objects were received in time */
    struct checks missing;         /* then: the checks of the watches; a failed one was not received */

    bool missing_logged; /* it is one cause, and the log says it already */

    const char *node;                   /* the NODE of `explain`; NULL: `plan` */
    char *nearest;                      /* names like it, "n1, n2"; NULL: none */
    const struct daemon_memory *daemon; /* NULL: a test's */
};

/* As many targets and mappings as these, each backend of them initialised; unseen. */
void inspect_report_init(struct inspect_report *r, size_t target_count, size_t mapping_count);
void inspect_report_fini(struct inspect_report *r); /* a zeroed one is allowed */

struct inspect_rules {
    const struct plan_rules *plan;
    uint64_t park_ttl_ms; /* 0: what is out is removed */
    /* As in servers/servers.h. */
    bool (*node_exists)(const void *arg, const char *server);
    const void *node_arg;
    uint64_t now_ms;
    const struct daemon_memory *daemon; /* NULL: there is none */
};

/* What the daemon would do about one HAProxy: each of its backends that was seen; once. */
void inspect_decide(struct inspect_target *t, size_t backend_count, const struct inspect_rules *rules);

/* What to do about a backend as far as exit status and JSON are concerned: the verdict of its plan, and one more. */
enum inspect_verdict {
    INSPECT_WAITING = PLAN_WAIT, /* the desired state is unknown, or the settings must be clarified */
    INSPECT_IN_SYNC = PLAN_IN_SYNC,
    INSPECT_CHANGES = PLAN_WRITE,             /* something would be written, or set at runtime */
    INSPECT_RELOAD_AGAIN = PLAN_RELOAD_AGAIN, /* an empty commit */
    INSPECT_NO_ENDPOINT = PLAN_NO_ENDPOINT,   /* no usable endpoint: what is there stays */
    INSPECT_LOSS_LIMIT = PLAN_LOSS_LIMIT,     /* the loss limit delays removals, and nothing else differs */
    INSPECT_NOT_WRITTEN = PLAN_NOT_WRITTEN,   /* there are changes, but writing is paused or this is a dry run */
    INSPECT_REFUSED = PLAN_REFUSE,            /* must not be written */
    INSPECT_UNKNOWN,                          /* HAProxy could not be read */
};

/* Changes reach it without a reload, as far as is known. */
bool inspect_updates(const struct inspect_backend *b);
enum inspect_verdict inspect_verdict(const struct inspect_backend *b);
const char *inspect_verdict_word(enum inspect_verdict v); /* "in_sync", "changes", ...: stable, for JSON */

/* The worst of all backends: INSPECT_EXIT_UNKNOWN over INSPECT_EXIT_CHANGES over 0. */
#define INSPECT_EXIT_CHANGES 2
#define INSPECT_EXIT_UNKNOWN 1
int inspect_worse(int a, int b); /* the worse of two */
int inspect_plan_status(const struct inspect_report *r);
int inspect_target_status(const struct inspect_report *r, const struct inspect_target *t);
int inspect_explain_status(const struct inspect_report *r);
