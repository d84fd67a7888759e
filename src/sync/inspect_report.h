/*
 * What one look at Kubernetes and HAProxy found: filled by sync/inspect, shown by sync/inspect_print. Plain values, so that
 * a test can make them by hand.
 */
#ifndef SYNC_INSPECT_REPORT_H
#define SYNC_INSPECT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/backend.h"
#include "model/desired.h"
#include "model/explain.h"
#include "sync/plan.h"

struct service;

enum inspect_service {
    INSPECT_SERVICE_WAITING, /* not read yet */
    INSPECT_SERVICE_DENIED,  /* it may not be read */
    INSPECT_SERVICE_ABSENT,
    INSPECT_SERVICE_KNOWN,
};

/* Why a server that HAProxy has is not wanted, where the wish itself does not say: nothing of the Service is there. */
struct inspect_reason {
    char *server;
    char *text;
};

struct inspect_backend {
    const char *name;                  /* borrowed, as are rules and service */
    const struct mapping_rules *rules; /* which Service it is for */
    enum inspect_service service_state;
    const struct service *service; /* KNOWN */
    struct desired wish;
    bool seen;           /* HAProxy was read: actual and plan are set */
    struct error unseen; /* otherwise: why not */
    struct backend actual;
    struct plan plan;
    struct inspect_reason *reasons;
    size_t reason_count;
    bool node_known; /* of `explain`: something of that name is known here, and explanation says what about it */
    bool is_node;    /* a node, not the address of an endpoint */
    struct explanation explanation;
};

struct inspect_report {
    struct inspect_backend *backends; /* in the order of the settings */
    size_t count;
    const struct diff_rules *rules; /* which lines are ours */
    char *missing;                  /* what Kubernetes did not tell in time, a line for each; NULL: nothing */
    char *warning;                  /* what the plan could not take into account; NULL: nothing */

    const char *node; /* the NODE of `explain`; NULL: `plan` */
    char *nearest;    /* names like it, "n1, n2"; NULL: none */
};

void inspect_report_fini(struct inspect_report *r); /* a zeroed one is allowed */

/* What to do about a backend as far as exit status and JSON are concerned. */
enum inspect_verdict {
    INSPECT_IN_STEP,
    INSPECT_CHANGES,      /* a transaction would be written */
    INSPECT_RELOAD_AGAIN, /* an empty commit */
    INSPECT_HOLD,         /* no usable endpoint: what is there stays */
    INSPECT_BRAKE,        /* too many servers would be lost at once */
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
int inspect_explain_status(const struct inspect_report *r);

#endif
