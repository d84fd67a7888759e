#include "haproxy/verification.h"

#define FAILED_AGAIN_MS 3600000

const char *verification_state_name(enum verification_state s)
{
    static const char *const names[] = {"untested", "verified", "suspended", "failed", "disabled"};
    return names[s];
}

bool verification_usable(const struct verification *v, bool no_room)
{
    return v->state == VERIFICATION_UNTESTED || v->state == VERIFICATION_VERIFIED ||
           (v->state == VERIFICATION_SUSPENDED && no_room);
}

void verification_age(struct verification *v, uint64_t now_ms)
{
    if (v->state == VERIFICATION_FAILED && now_ms >= v->until_ms)
        v->state = VERIFICATION_UNTESTED;
}

bool verification_passed(struct verification *v, bool by_update)
{
    bool news = v->state != VERIFICATION_VERIFIED;
    if (by_update)
        v->failures = 0;
    v->state = VERIFICATION_VERIFIED;
    return news;
}

bool verification_failed(struct verification *v, uint64_t now_ms)
{
    bool again = v->failures++ > 0;
    v->until_ms = now_ms + FAILED_AGAIN_MS;
    v->state = again ? VERIFICATION_FAILED : VERIFICATION_SUSPENDED;
    return again;
}

void verification_reloaded(struct verification *v)
{
    if (v->state == VERIFICATION_SUSPENDED)
        v->state = VERIFICATION_UNTESTED;
}

void verification_forget_hour(struct verification *v)
{
    v->until_ms = 0;
}
