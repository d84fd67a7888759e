/* src/daemon/events: what of the journal is an Event, and in which words. */

#include "daemon/events.h"
#include "report/history.h"

#include "../test.h"

static const struct {
    enum history_kind kind;
    const char *state;
    enum event_reason reason;
} rows[] = {
    {HISTORY_COMMITTED, NULL, EVENT_NONE},
    {HISTORY_COMMITTED, "drain", EVENT_DRAINING},
    {HISTORY_RUNTIME_UPDATE, NULL, EVENT_NONE},
    {HISTORY_RUNTIME_UPDATE, "drain", EVENT_DRAINING},
    {HISTORY_RUNTIME_COMMAND, "drain", EVENT_DRAINING},
    {HISTORY_RUNTIME_COMMAND, "maint", EVENT_NONE},
    {HISTORY_RUNTIME_COMMAND, "ready", EVENT_NONE},
    {HISTORY_RELOAD_AGAIN, NULL, EVENT_NONE},
    {HISTORY_IN_SYNC, NULL, EVENT_SYNCED},
    {HISTORY_REMOVAL_DELAYED, NULL, EVENT_REMOVAL_DELAYED},
    {HISTORY_KEPT, NULL, EVENT_SERVERS_KEPT},
    {HISTORY_PAUSED, NULL, EVENT_NONE},
    {HISTORY_NOT_WRITTEN, NULL, EVENT_NONE},
    {HISTORY_APPLY_FAILED, NULL, EVENT_APPLY_FAILED},
    {HISTORY_RELOAD_FAILED, NULL, EVENT_RELOAD_FAILED},
    {HISTORY_DRIFT_REPAIRED, NULL, EVENT_DRIFT_REPAIRED},
    {HISTORY_CONFIG_APPLIED, NULL, EVENT_NONE},
    {HISTORY_CONFIG_REJECTED, NULL, EVENT_NONE},
    {HISTORY_CONFIG_DRIFTED, NULL, EVENT_NONE},
    {HISTORY_CONFIG_ROLLED_BACK, NULL, EVENT_NONE},
};

TEST(what_is_an_event)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < array_len(rows); i++) {
        const struct history_entry e = {.kind = rows[i].kind, .state = rows[i].state};
        ck_assert_msg(event_reason_of(&e) == rows[i].reason, "%zu", i);
        kinds |= 1u << rows[i].kind;
    }
    ck_assert_uint_eq(kinds, (1u << HISTORY_KINDS) - 1);
}

TEST(reasons_and_which_of_them_warn)
{
    static const struct {
        enum event_reason reason;
        const char *name;
        bool warns;
    } names[] = {{EVENT_SYNCED, "Synced", false},
                 {EVENT_DRAINING, "Draining", false},
                 {EVENT_REMOVAL_DELAYED, "RemovalDelayed", true},
                 {EVENT_SERVERS_KEPT, "ServersKept", true},
                 {EVENT_APPLY_FAILED, "ApplyFailed", true},
                 {EVENT_RELOAD_FAILED, "ReloadFailed", true},
                 {EVENT_DRIFT_REPAIRED, "DriftRepaired", false},
                 {EVENT_VALIDATION_PASSED, "ValidationPassed", false},
                 {EVENT_APPLY_SUCCEEDED, "ApplySucceeded", false},
                 {EVENT_CONFIG_UNCHANGED, "ConfigUnchanged", false},
                 {EVENT_CERT_SYNCED, "CertSynced", false},
                 {EVENT_CANARY_PASSED, "CanaryPassed", false},
                 {EVENT_CONFIG_REJECTED, "ConfigRejected", true},
                 {EVENT_AUTH_ERROR, "AuthError", true},
                 {EVENT_TLS_CONNECTION_ERROR, "TLSConnectionError", true},
                 {EVENT_CONNECTION_ERROR, "ConnectionError", true},
                 {EVENT_CONFLICT_ERROR, "ConflictError", true},
                 {EVENT_TRANSIENT_ERROR, "TransientError", true},
                 {EVENT_CERT_SYNC_FAILED, "CertSyncFailed", true},
                 {EVENT_CONFIG_DRIFT, "ConfigDrift", true},
                 {EVENT_CANARY_FAILED, "CanaryFailed", true},
                 {EVENT_CONFIG_DEGRADED, "ConfigDegraded", true},
                 {EVENT_CONFIG_ROLLED_BACK, "ConfigRolledBack", true},
                 {EVENT_LEFT_OUT, "LeftOut", true},
                 {EVENT_CHANGE_REFUSED, "ChangeRefused", true},
                 {EVENT_TEMPLATE_NOTE, "TemplateNote", true},
                 {EVENT_ANNOTATION_NOTE, "AnnotationIgnored", true}};
    ck_assert_uint_eq(array_len(names) + 1, EVENT_REASONS);
    for (size_t i = 0; i < array_len(names); i++) {
        ck_assert_str_eq(event_reason_name(names[i].reason), names[i].name);
        ck_assert_int_eq(event_reason_warns(names[i].reason), names[i].warns);
    }
}

static void assert_text(struct history_entry e, const char *expected)
{
    e.target = "http://lb1:5555";
    cleanup(mem_free_ptr) char *text = event_text_of(&e);
    ck_assert_str_eq(text, expected);
}

TEST(its_words)
{
    assert_text((struct history_entry){.backend = "web", .text = "in sync with 3 servers"},
                "backend web at http://lb1:5555: in sync with 3 servers");
    assert_text((struct history_entry){.backend = "web", .text = "n1 drains", .why = "it drains: its node is going"},
                "backend web at http://lb1:5555: n1 drains: it drains: its node is going");
    assert_text((struct history_entry){.text = "reload failed", .why = ""},
                "HAProxy at http://lb1:5555: reload failed");
}
