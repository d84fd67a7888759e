#include "configuration/retry.h"

#include <stdlib.h>

#include "base/backoff.h"

#define FIRST_MS 30000u
#define LONGEST_MS 300000u
#define CONFLICTS_AT_ONCE 3

enum retry_class retry_class_of(const struct error *err)
{
    if (err->kind == ERROR_AUTH)
        return RETRY_AUTH;
    if (err->kind == ERROR_CONFLICT)
        return RETRY_CONFLICT;
    if (err->http_status != 0)
        return err->http_status == 429 ? RETRY_RATE_LIMITED : err->http_status >= 500 ? RETRY_SERVER : RETRY_UNKNOWN;
    return err->kind == ERROR_INVALID ? RETRY_TLS : RETRY_CONNECTION; /* what is wrong without an answer is TLS */
}

const char *retry_class_name(enum retry_class class)
{
    static const char *const names[RETRY_CLASSES] = {
        [RETRY_AUTH] = "AuthError",           [RETRY_CONFLICT] = "ConflictError",
        [RETRY_RATE_LIMITED] = "RateLimited", [RETRY_SERVER] = "DataplaneServerError",
        [RETRY_TLS] = "TLSConnectionError",   [RETRY_CONNECTION] = "ConnectionError",
        [RETRY_UNKNOWN] = "UnknownError",
    };
    return names[class];
}

void retry_init(struct retry *r, unsigned seed)
{
    *r = (struct retry){.seed = seed};
}

void retry_failed(struct retry *r, const struct error *err, int64_t retry_after_ms, uint64_t now_ms)
{
    enum retry_class class = retry_class_of(err);
    bool silent = class != RETRY_CONFLICT && err->http_status == 0;
    unsigned at_once = class == RETRY_CONFLICT ? CONFLICTS_AT_ONCE : silent ? 1 : 0;
    r->attempts = r->class == class ? r->attempts : 0;
    bool first = r->attempts < at_once;
    /* Each twice as long as the one before, less up to a quarter: several daemons are not to come at one moment. */
    uint64_t limit = backoff_limit_ms(FIRST_MS, LONGEST_MS, first ? 0 : r->attempts - at_once);
    uint64_t wait = limit - limit / 4 * (uint64_t)rand_r(&r->seed) / RAND_MAX;
    wait = wait > FIRST_MS ? wait : FIRST_MS;
    r->ordered = retry_after_ms >= 0;
    if (r->ordered && (uint64_t)retry_after_ms > wait)
        wait = (uint64_t)retry_after_ms;
    r->until_read = first && silent; /* one lost answer: a reading shows what came of it */
    r->not_before_ms = first && !silent ? 0 : now_ms + wait;
    r->class = class;
    r->attempts++;
}

void retry_unreadable(struct retry *r)
{
    r->until_read = !r->ordered;
}

void retry_readable(struct retry *r)
{
    if (!r->until_read)
        return;
    r->until_read = false;
    r->not_before_ms = 0;
}

void retry_new_document(struct retry *r)
{
    r->attempts = 0;
    if (!r->ordered)
        retry_forget(r);
}

void retry_forget(struct retry *r)
{
    retry_init(r, r->seed);
}

bool retry_waits(const struct retry *r, uint64_t now_ms)
{
    return now_ms < r->not_before_ms;
}
