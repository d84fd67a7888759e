#include "haproxy/reload_confirm.h"

enum reload_confirmation reload_confirm(const struct reload_signs *s)
{
    if (!s->comparable)
        return s->reported ? RELOAD_ACCEPTED : RELOAD_UNKNOWN;
    /* Another process that is older than the reload may have been started before the file was written. */
    if (!s->reported && (s->other ? !s->started_since : s->tells_ends))
        return RELOAD_UNKNOWN;
    if (s->differs)
        return s->other && s->reported ? RELOAD_OVERRULED : RELOAD_NOT_RUN;
    if (s->other)
        return RELOAD_VERIFIED;
    return s->same_before ? RELOAD_ACCEPTED_SAME : RELOAD_TOO_OLD;
}
