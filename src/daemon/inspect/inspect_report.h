/*
 * What a controller has of Kubernetes and of each HAProxy, and what it would do about it: filled by daemon/inspect/inspect, of
 * the daemon itself or of the dry run of a command, and shown by daemon/inspect/inspect_print. Plain values, so that a test can make
 * them by hand; what they refer to is borrowed from the controller. Pure.
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
    const struct desired *desired; /* a reference */
    bool node_known; /* of `explain`: something of that name is known here, and explanation says what about it */
    bool is_node;    /* a node, not the address of an endpoint */
    struct explanation explanation;
};

/* Why a server of HAProxy is not desired, where the desired state does not say: it has no endpoint of the Service. */
struct inspect_reason {
    char *server;
    char *text;
};

/* One backend in one HAProxy. */
struct inspect_backend {
    const struct inspect_mapping *of; /* in the report */
    const struct desired *desired;    /* by the names of this HAProxy */
    bool seen;                        /* HAProxy was read: the values up to `reasons` are set */
    struct error unseen;              /* otherwise: why not */
    struct backend actual;            /* what they hold is borrowed, as of the two below */
    struct runtime runtime;
    struct admin_states memory;       /* who set which state */
    struct backend_decision_input in; /* what the controller decides by now, with a copy of the losses: */
    struct loss_limit losses;
    uint64_t paused_until_ms; /* another writer reverts what is written; 0: it does not */
    const char *reverted;     /* how, the last time */
    struct inspect_reason *reasons;
    size_t reason_count;

    /* The rest is by inspect_decide. */
    struct plan plan; /* as it goes into the file in the end */
    bool rejected;    /* HAProxy rejects some of it, or all; plan.why says so */
    bool *
        reloads; /* how each change of the plan reaches HAProxy, or would, if writing were allowed: true: by a transaction
                    * and a reload; false: written to the file and to the running HAProxy in one */
    /* What the daemon would begin with: without a reload where that is possible. The writes of choice are about it. The
     * commands are sent at once; those without a change in plan are all that happens to their server. */
    struct plan first;
    struct route choice;
};

/* One HAProxy. */
struct inspect_target {
    const char *url;                  /* of its Data Plane API, or the path of the file */
    struct inspect_backend *backends; /* as the mappings of the report */
    struct cfg_content *file;         /* haproxy.cfg as it was read; NULL: it is not kept */
    const struct served *served;      /* which servers are down by their checks; NULL: that was not asked */
    bool adds;                        /* servers come and go without a reload, */
    const struct instance *instance;  /* as far as it foresees that of those in question; borrowed; NULL: a test's */
    bool dirty;                       /* it may not run what haproxy.cfg says: each change needs a reload */
    bool unverified; /* no reload is known, and what it runs is neither: a daemon that starts reloads it */
    const char
        *drift; /* how what it runs differs from haproxy.cfg; NULL: it does not, or a reload is pending or has failed */
    const char *file_problem; /* why a write would change the meaning of haproxy.cfg; NULL: it would not */
    const char *file_warning; /* the same, where only the daemon's check of the new file shows it; NULL: nothing */
    const char *warning;      /* what the plan could not take into account; NULL: nothing */
};

/* Whether the running daemon gave the plan, or why not. */
struct inspect_daemon {
    const char *url; /* NULL: it was not asked */
    bool used;
    const char *why_not; /* NULL: it is used */
};

struct inspect_report {
    struct inspect_mapping *mappings; /* in the order of the settings */
    size_t mapping_count;
    struct inspect_target *targets; /* in the order of the settings */
    size_t target_count;
    const struct plan_rules *rules;
    /* As in servers/servers.h. */
    bool (*node_exists)(const void *arg, const char *server);
    const void *node_arg;
    int64_t wall_minus_mono_ms;
    const struct sources *sources; /* what Kubernetes has; NULL: it was not read, or the report is a test's; borrowed */
    bool incomplete;               /* not all of Kubernetes' objects were received in time */
    bool away;                     /* then: the API server is the one cause, and missing has that alone */
    struct checks missing;         /* then: the checks of the watches; a failed one was not received */

    const char *node; /* the NODE of `explain`; NULL: `plan` */
    char *nearest;    /* names like it, "n1, n2"; NULL: none */
    struct inspect_daemon daemon;
};

/* As many targets and mappings as these, without a desired state and unseen. */
void inspect_report_init(struct inspect_report *r, size_t target_count, size_t mapping_count);
void inspect_report_fini(struct inspect_report *r); /* a zeroed one is allowed */

/* What the controller would do about one HAProxy: each of its backends that was seen; once. */
void inspect_decide(const struct inspect_report *r, struct inspect_target *t);

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

enum inspect_verdict inspect_verdict(const struct inspect_backend *b);
const char *inspect_verdict_word(enum inspect_verdict v); /* "in_sync", "changes", ...: stable, for JSON */

/* The worst of all backends: INSPECT_EXIT_UNKNOWN over INSPECT_EXIT_CHANGES over 0. */
#define INSPECT_EXIT_CHANGES 2
#define INSPECT_EXIT_UNKNOWN 1
int inspect_worse(int a, int b); /* the worse of two */
int inspect_plan_status(const struct inspect_report *r);
int inspect_target_status(const struct inspect_report *r, const struct inspect_target *t);
int inspect_explain_status(const struct inspect_report *r);
