#include "haproxy/driver.h"

#include <stdlib.h>

const char *transaction_result_name(enum transaction_result r)
{
    static const char *const names[] = {
        [TRANSACTION_COMMITTED] = "committed",     [TRANSACTION_CLEANED] = "cleaned",
        [TRANSACTION_CONFLICT] = "conflict",       [TRANSACTION_LIMIT] = "limit",
        [TRANSACTION_REJECTED] = "rejected",       [TRANSACTION_UNAUTHORIZED] = "unauthorized",
        [TRANSACTION_UNAVAILABLE] = "unavailable", [TRANSACTION_UNKNOWN] = "unknown",
        [TRANSACTION_ABORTED] = "aborted",         [TRANSACTION_PREVIEWED] = "previewed",
        [TRANSACTION_HARMFUL] = "harmful"};
    return (size_t)r < array_len(names) ? names[r] : "invalid";
}

const char *update_result_name(enum update_result r)
{
    static const char *const names[] = {
        [UPDATE_WRITTEN] = "applied",         [UPDATE_RELOADS] = "reload",    [UPDATE_UNVERIFIED] = "unverified",
        [UPDATE_CONFLICT] = "conflict",       [UPDATE_REJECTED] = "rejected", [UPDATE_UNAUTHORIZED] = "unauthorized",
        [UPDATE_UNAVAILABLE] = "unavailable", [UPDATE_UNKNOWN] = "unknown"};
    return (size_t)r < array_len(names) ? names[r] : "invalid";
}

void reload_history_fini(struct reload_history *h)
{
    free(h->response);
    *h = (struct reload_history){0};
}
