/*
 * Kubernetes Events on the Services (EMIT_EVENTS), from the history: Synced, Draining, RemovalDelayed, ServersKept, ApplyFailed,
 * ReloadFailed, DriftRepaired; on the Secret or ConfigMap that a whole configuration comes from; and on objects that templates
 * say something of. The correlator limits their number. A slow, full, absent or forbidding API costs only
 * Events: the queue has a cap, there is one request at a time, and what waited for five minutes is dropped.
 */
#pragma once

#include "daemon/daemon.h"

struct config_source;
struct events;
struct history_entry;
struct mappings;
struct secret_object;
struct sources;

/* The Secret or ConfigMap of a source when an Event is sent; NULL: it is not known. Given as a function, because sources call events. */
typedef const struct secret_object *events_source_object_fn(const struct config_source *source);

/* mappings: backend -> Service; sources: for the Services' uids; source: its Secret or ConfigMap, where it has one (NULL: none). All
 * borrowed. NULL: none are to be written. */
struct events *events_new(const struct daemon *in, const struct mappings *mappings, const struct sources *sources,
                          const struct config_source *source, events_source_object_fn *source_object) must_check;
/* What waits is dropped, a request under way is cancelled. NULL is allowed; before the client and the history. */
void events_free(struct events *e);

/* SIGHUP: retries what was denied or waits. NULL is allowed. */
void events_poke(struct events *e);

/* The reason of an Event, and which history entries are Events. */
enum event_reason {
    EVENT_NONE,
    EVENT_SYNCED,
    EVENT_DRAINING,
    EVENT_REMOVAL_DELAYED,
    EVENT_SERVERS_KEPT,
    EVENT_APPLY_FAILED,
    EVENT_RELOAD_FAILED,
    EVENT_DRIFT_REPAIRED,
    /* on the Secret, as an operator for such Secrets names them; APPLY_FAILED is one of them */
    EVENT_VALIDATION_PASSED,
    EVENT_APPLY_SUCCEEDED,
    EVENT_CONFIG_UNCHANGED,
    EVENT_CERT_SYNCED,
    EVENT_CANARY_PASSED,
    EVENT_CONFIG_REJECTED,
    EVENT_AUTH_ERROR,
    EVENT_TLS_CONNECTION_ERROR,
    EVENT_CONNECTION_ERROR,
    EVENT_CONFLICT_ERROR,
    EVENT_TRANSIENT_ERROR,
    EVENT_CERT_SYNC_FAILED,
    EVENT_CONFIG_DRIFT,
    EVENT_CANARY_FAILED,
    EVENT_CONFIG_DEGRADED,
    EVENT_CONFIG_ROLLED_BACK,
    /* on an object that templates say something of, or a Service whose annotations are wrong */
    EVENT_LEFT_OUT,
    EVENT_CHANGE_REFUSED,
    EVENT_TEMPLATE_NOTE,
    EVENT_ANNOTATION_NOTE,
    EVENT_REASONS,
};
enum event_reason event_reason_of(const struct history_entry *e);
const char *event_reason_name(enum event_reason r); /* "Synced", ...: stable */
bool event_reason_warns(enum event_reason r);
/* Any object of the cluster. */
struct events_object {
    const char *api_version, *kind, *namespace, *name; /* namespace NULL: it is in none */
    const char *uid;                                   /* NULL: not known */
};
/* The limits are those of all objects of its namespace. e NULL: nothing happens. */
void events_tell_about(struct events *e, const struct events_object *o, enum event_reason reason, const char *text);
/* On the Secret or ConfigMap; e NULL, or without one: nothing happens. */
void events_tell(struct events *e, enum event_reason reason, const char *text);
/* "backend web at http://lb1:5555: removal of 3 of 4 servers delayed: n2, n3, n4: 3 of ...". Allocates. */
char *event_text_of(const struct history_entry *e) must_check;
