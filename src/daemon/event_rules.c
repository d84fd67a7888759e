/* Which history entries are Kubernetes Events, and their texts. */
#include "base/mem.h"
#include "base/str.h"
#include "daemon/events.h"
#include "report/history.h"

enum event_reason event_reason_of(const struct history_entry *e)
{
    switch (e->kind) {
    case HISTORY_IN_SYNC:
        return EVENT_SYNCED;
    case HISTORY_COMMITTED:
    case HISTORY_RUNTIME_UPDATE:
    case HISTORY_RUNTIME_COMMAND:
        return str_eq(e->state, "drain") ? EVENT_DRAINING : EVENT_NONE;
    case HISTORY_REMOVAL_DELAYED:
        return EVENT_REMOVAL_DELAYED;
    case HISTORY_APPLY_FAILED:
        return EVENT_APPLY_FAILED;
    case HISTORY_RELOAD_FAILED:
        return EVENT_RELOAD_FAILED;
    case HISTORY_DRIFT_REPAIRED:
        return EVENT_DRIFT_REPAIRED;
    case HISTORY_RELOAD_AGAIN:
    case HISTORY_NOT_WRITTEN:
    case HISTORY_CONFIG_APPLIED: /* daemon/config/config_report makes those */
    case HISTORY_CONFIG_REJECTED:
    case HISTORY_CONFIG_DRIFTED:
    case HISTORY_CONFIG_ROLLED_BACK:
    case HISTORY_KINDS:
        break;
    }
    return EVENT_NONE;
}

const char *event_reason_name(enum event_reason r)
{
    static const char *const names[EVENT_REASONS] = {
        [EVENT_NONE] = "",
        [EVENT_SYNCED] = "Synced",
        [EVENT_DRAINING] = "Draining",
        [EVENT_REMOVAL_DELAYED] = "RemovalDelayed",
        [EVENT_APPLY_FAILED] = "ApplyFailed",
        [EVENT_RELOAD_FAILED] = "ReloadFailed",
        [EVENT_DRIFT_REPAIRED] = "DriftRepaired",
        [EVENT_VALIDATION_PASSED] = "ValidationPassed",
        [EVENT_APPLY_SUCCEEDED] = "ApplySucceeded",
        [EVENT_CONFIG_UNCHANGED] = "ConfigUnchanged",
        [EVENT_CERT_SYNCED] = "CertSynced",
        [EVENT_CANARY_PASSED] = "CanaryPassed",
        [EVENT_CERT_SYNC_FAILED] = "CertSyncFailed",
        [EVENT_CONFIG_REJECTED] = "ConfigRejected",
        [EVENT_AUTH_ERROR] = "AuthError",
        [EVENT_TLS_CONNECTION_ERROR] = "TLSConnectionError",
        [EVENT_CONNECTION_ERROR] = "ConnectionError",
        [EVENT_CONFLICT_ERROR] = "ConflictError",
        [EVENT_TRANSIENT_ERROR] = "TransientError",
        [EVENT_CONFIG_DRIFT] = "ConfigDrift",
        [EVENT_CANARY_FAILED] = "CanaryFailed",
        [EVENT_CONFIG_DEGRADED] = "ConfigDegraded",
        [EVENT_CONFIG_ROLLED_BACK] = "ConfigRolledBack",
        [EVENT_LEFT_OUT] = "LeftOut",
        [EVENT_CHANGE_REFUSED] = "ChangeRefused",
        [EVENT_TEMPLATE_NOTE] = "TemplateNote",
        [EVENT_ANNOTATION_NOTE] = "AnnotationIgnored",
    };
    return names[r];
}

bool event_reason_warns(enum event_reason r)
{
    return r == EVENT_REMOVAL_DELAYED || r == EVENT_APPLY_FAILED || r == EVENT_RELOAD_FAILED ||
           r >= EVENT_CONFIG_REJECTED;
}

char *event_text_of(const struct history_entry *e)
{
    bool one = e->backend != NULL;
    return mem_printf("%s%s at %s: %s%s%s", one ? "backend " : "HAProxy", one ? e->backend : "", e->target, e->text,
                      str_empty(e->why) ? "" : ": ", str_empty(e->why) ? "" : e->why);
}
