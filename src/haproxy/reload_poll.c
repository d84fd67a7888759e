#include "haproxy/reload_poll.h"

#include <stdlib.h>

#include "base/mem.h"

/* Soon at first, since a reload may be due at once, then at a pace that costs nothing. */
static uint64_t pace_ms(uint64_t age_ms)
{
    return age_ms == 0 ? 60 : age_ms < 200 ? 30 : age_ms < 1000 ? 100 : age_ms < 10000 ? 250 : 1000;
}

void reload_fini(struct reload *r)
{
    free(r->id);
    *r = (struct reload){0};
}

void reload_follow(struct reload *r, const char *id, uint64_t now_ms)
{
    reload_fini(r);
    r->id = mem_strdup(id);
    r->state = RELOAD_PENDING;
    r->since_ms = now_ms;
    r->next_ms = now_ms + pace_ms(0);
}

bool reload_due(const struct reload *r, uint64_t now_ms)
{
    return r->state == RELOAD_PENDING && now_ms >= r->next_ms;
}

void reload_succeeded(struct reload *r)
{
    r->state = RELOAD_DONE;
}

void reload_broken(struct reload *r, enum error_kind kind, const char *why)
{
    r->state = RELOAD_BROKEN;
    error_set(&r->error, kind, "reload %s %s", r->id, why);
}

void reload_goes_on(struct reload *r, uint64_t now_ms)
{
    if (now_ms - r->since_ms >= RELOAD_DEADLINE_MS)
        reload_broken(r, ERROR_RETRY, "did not finish in time");
    r->next_ms = now_ms + pace_ms(now_ms - r->since_ms);
}
