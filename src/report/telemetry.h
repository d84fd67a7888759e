/* Every metric of the daemon, by name, registered in one place. */
#ifndef REPORT_TELEMETRY_H
#define REPORT_TELEMETRY_H

#include "report/metrics.h"

struct telemetry {
    struct metrics *registry;
    struct metric *reconciles;           /* result */
    struct metric *transactions;         /* result */
    struct metric *requests;             /* target, method, code */
    struct metric *event_to_commit;      /* seconds; to the file, by either way */
    struct metric *event_to_runtime;     /* seconds; to the running HAProxy that was told to drain or stop */
    struct metric *transaction_duration; /* seconds */
    struct metric *fast_writes;          /* result, target */
    struct metric *runtime_calls;        /* state, result, target */
    struct metric *servers_desired;      /* backend, target; so are those below */
    struct metric *servers_up;           /* of these, in the running HAProxy; none where that cannot be read */
    struct metric *servers_draining;
    struct metric *servers_actual;
    struct metric *servers_parked;
    struct metric *servers_overridden; /* by an operator, in the running HAProxy */
    struct metric *servers_held;       /* by the brake */
    struct metric *changes_withheld;
    struct metric *paused;
    struct metric *undone;
    struct metric *in_sync;
    struct metric *last_success; /* seconds since the epoch */
    struct metric *dry_run;
    struct metric *reloads;            /* result, target */
    struct metric *runtime_proven;     /* target */
    struct metric *drifts;             /* target */
    struct metric *watch_restarts;     /* resource, reason */
    struct metric *relists;            /* resource, reason */
    struct metric *objects;            /* resource */
    struct metric *watch_age;          /* resource */
    struct metric *leader;             /* 1: this replica acts */
    struct metric *events;             /* result; Kubernetes Events */
    struct metric *certificate_expiry; /* peer, certificate; seconds left */
    struct metric *log_lines_dropped;
    struct metric *build_info; /* version */
};

void telemetry_init(struct telemetry *t, const char *version);
void telemetry_fini(struct telemetry *t);

/* Gauges say nothing of HAProxies that this replica does not look after. */
void telemetry_forget_targets(struct telemetry *t);

#endif
