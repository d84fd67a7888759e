/*
 * What one look at Kubernetes and at each HAProxy found: filled by cli/inspect and cli/inspect_decide, shown by
 * cli/inspect_print. Plain values, so that a test can make them by hand.
 */
#ifndef CLI_INSPECT_REPORT_H
#define CLI_INSPECT_REPORT_H

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

struct parking;
struct service;
struct sources;

enum inspect_service {
    INSPECT_SERVICE_WAITING, /* not read yet */
    INSPECT_SERVICE_DENIED,  /* it may not be read */
    INSPECT_SERVICE_ABSENT,
    INSPECT_SERVICE_KNOWN,
};

/* What is wanted of one backend, the same of each HAProxy. */
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

/* Why a server that HAProxy has is not wanted, where the wish itself does not say: nothing of the Service is there. */
struct inspect_reason {
    char *server;
    char *text;
};

/* How a change comes to HAProxy, or would, were it not withheld. */
enum inspect_way {
    INSPECT_WITHOUT_RELOAD, /* written to the file and to the running HAProxy in one */
    INSPECT_BY_RELOAD,      /* by a transaction */
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

    /* The rest is by cli/inspect_decide. */
    struct plan plan;       /* as it goes into the file in the end */
    enum inspect_way *ways; /* of each change of the plan */
    /* What the daemon would begin with: without a reload where that is possible. The writes of choice are about it. The
     * calls are what the running HAProxy is told at once; those that are about no change of plan are all that happens
     * to their server. */
    struct plan first;
    struct route choice;
    struct admin_states memory; /* who set which state, as far as one look can tell */
    struct parking *parking;    /* NULL: nothing is parked */
};

/* One HAProxy. */
struct inspect_target {
    const char *url;                  /* of its Data Plane API; borrowed */
    struct inspect_backend *backends; /* as the mappings of the report */
    bool dirty;  /* it may run something else than its file says: nothing comes to it without a reload */
    char *drift; /* what it runs that its file does not say; NULL: nothing, or a reload is to come or has failed */
    char *file_problem; /* why nothing can be written without changing what its file means; NULL: no reason */
    char *file_doubt;   /* the same, where only the daemon's look at what would be written can tell; NULL: nothing */
    char *warning;      /* what the plan could not take into account; NULL: nothing */
};

struct inspect_report {
    struct inspect_mapping *mappings; /* in the order of the settings */
    size_t mapping_count;
    struct inspect_target *targets; /* in the order of the settings */
    size_t target_count;
    const struct diff_rules *rules; /* which lines are ours */
    const struct sources
        *sources;          /* what Kubernetes told; NULL: it was not asked, or the report is a test's; borrowed */
    bool incomplete;       /* Kubernetes did not tell all in time */
    struct checks missing; /* where that is so, what it told: what failed did not come */

    const char *node; /* the NODE of `explain`; NULL: `plan` */
    char *nearest;    /* names like it, "n1, n2"; NULL: none */
};

/* As many targets and mappings as these, each backend of them initialised; unseen. */
void inspect_report_init(struct inspect_report *r, size_t target_count, size_t mapping_count);
void inspect_report_fini(struct inspect_report *r); /* a zeroed one is allowed */

/* What to do about a backend as far as exit status and JSON are concerned. */
enum inspect_verdict {
    INSPECT_IN_STEP,
    INSPECT_CHANGES,      /* something would be written, or told to the running HAProxy */
    INSPECT_RELOAD_AGAIN, /* an empty commit */
    INSPECT_HOLD,         /* no usable endpoint: what is there stays */
    INSPECT_BRAKE,        /* the loss limit holds servers, and nothing else differs */
    INSPECT_WITHHELD,     /* there are changes, but writing is paused or this is a dry run */
    INSPECT_REFUSED,      /* must not be written */
    INSPECT_WAITING,      /* Kubernetes has not told what is wanted, or the user has to decide */
    INSPECT_UNSEEN,       /* HAProxy could not be read */
};

enum inspect_verdict inspect_verdict(const struct inspect_backend *b);
const char *inspect_verdict_word(enum inspect_verdict v); /* "in_step", "changes", ...: stable, for JSON */

/* The worst of all backends: INSPECT_EXIT_UNKNOWN over INSPECT_EXIT_CHANGES over 0. */
#define INSPECT_EXIT_CHANGES 2
#define INSPECT_EXIT_UNKNOWN 1
int inspect_plan_status(const struct inspect_report *r);
int inspect_target_status(const struct inspect_report *r, const struct inspect_target *t);
int inspect_explain_status(const struct inspect_report *r);

#endif
