#include "haproxy/verification.h"

#define FAILED_AGAIN_MS 3600000

bool verification_usable(const struct verification *v, bool no_room)
{
    return v->state == VERIFICATION_NONE || v->state == VERIFICATION_PASSED ||
           (v->state == VERIFICATION_FAILED && no_room);
}

void verification_age(struct verification *v, uint64_t now_ms)
{
    if (v->state == VERIFICATION_FAILED_AGAIN && now_ms >= v->until_ms)
        v->state = VERIFICATION_NONE;
}

bool verification_passed(struct verification *v, bool by_update)
{
    bool news = v->state != VERIFICATION_PASSED;
    if (by_update)
        v->failures = 0;
    v->state = VERIFICATION_PASSED;
    return news;
}

bool verification_failed(struct verification *v, uint64_t now_ms)
{
    bool again = v->failures++ > 0;
    v->until_ms = now_ms + FAILED_AGAIN_MS;
    v->state = again ? VERIFICATION_FAILED_AGAIN : VERIFICATION_FAILED;
    return again;
}

void verification_reloaded(struct verification *v)
{
    if (v->state == VERIFICATION_FAILED)
        v->state = VERIFICATION_NONE;
}

void verification_forget_hour(struct verification *v)
{
    v->until_ms = 0;
}
