/* What of the journal is an Event, and its words. */
#include "base/mem.h"
#include "base/str.h"
#include "daemon/events.h"
#include "report/history.h"

enum event_reason event_reason_of(const struct history_entry *e)
{
    switch (e->kind) {
    case HISTORY_IN_STEP:
        return EVENT_SYNCED;
    case HISTORY_COMMITTED:
    case HISTORY_FAST_WRITE:
    case HISTORY_TOLD:
        return str_eq(e->state, "drain") ? EVENT_DRAINING : EVENT_NONE;
    case HISTORY_HELD_BACK:
        return EVENT_HELD_BACK;
    case HISTORY_APPLY_FAILED:
        return EVENT_APPLY_FAILED;
    case HISTORY_RELOAD_FAILED:
        return EVENT_RELOAD_FAILED;
    case HISTORY_DRIFT_REPAIRED:
        return EVENT_DRIFT_REPAIRED;
    case HISTORY_RELOAD_AGAIN:
    case HISTORY_WITHHELD:
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
        [EVENT_HELD_BACK] = "HeldBack",
        [EVENT_APPLY_FAILED] = "ApplyFailed",
        [EVENT_RELOAD_FAILED] = "ReloadFailed",
        [EVENT_DRIFT_REPAIRED] = "DriftRepaired",
    };
    return names[r];
}

bool event_reason_warns(enum event_reason r)
{
    return r == EVENT_HELD_BACK || r == EVENT_APPLY_FAILED || r == EVENT_RELOAD_FAILED;
}

char *event_text_of(const struct history_entry *e)
{
    bool one = e->backend != NULL;
    return mem_printf("%s%s at %s: %s%s%s", one ? "backend " : "HAProxy", one ? e->backend : "", e->target, e->text,
                      str_empty(e->why) ? "" : ": ", str_empty(e->why) ? "" : e->why);
}
