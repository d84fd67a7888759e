#include "haproxy/dataplane/transaction_verdict.h"

#include "haproxy/dataplane/codec.h"

bool transaction_is_success(const struct dataplane_answer *a)
{
    return a->error == NULL && a->status >= 200 && a->status < 300;
}

bool transaction_is_done(const struct dataplane_answer *a)
{
    return transaction_is_success(a) && (a->status != 200 || a->version >= 0);
}

const char *transaction_wrong_answer(const struct dataplane_answer *a)
{
    return transaction_is_success(a) ? "this is not an answer of a Data Plane API" : NULL;
}

bool transaction_is_gone(const struct dataplane_answer *a)
{
    return a->error == NULL && (a->status == 404 || a->status == 410);
}

bool transaction_is_commit_answer(const struct dataplane_answer *a)
{
    struct codec_transaction got = {0};
    if (!transaction_is_success(a))
        return false;
    if (a->version > 0)
        return true;
    bool ours = codec_read_transaction(a->body, a->body_len, &got, NULL) == 0;
    codec_transaction_fini(&got);
    return ours;
}

void transaction_explain(struct error *err, const struct dataplane_answer *a, const char *doing, const char *but)
{
    if (a->error != NULL) {
        *err = *a->error;
        (void)error_prefix(err, "%s", doing);
    } else if (but != NULL) {
        (void)error_set(err, ERROR_RETRY, "%s: HTTP %d, but %s%s%s", doing, a->status, but,
                        a->excerpt[0] != '\0' ? ": " : "", a->excerpt);
        err->http_status = a->status;
    } else {
        (void)error_set_http(err, a->status, "%s: HTTP %d: %s", doing, a->status,
                             a->excerpt[0] != '\0' ? a->excerpt : "(no message)");
    }
    if (err->kind == ERROR_NONE)
        err->kind = ERROR_RETRY;
}

static enum transaction_result result_of_silence(enum transaction_state state, const struct dataplane_answer *a)
{
    if (a->error != NULL && a->error->kind == ERROR_AUTH)
        return TRANSACTION_UNAUTHORIZED; /* no credentials to send */
    return state == TRANSACTION_COMMIT && a->progress != HTTP_NOT_SENT ? TRANSACTION_UNKNOWN : TRANSACTION_UNAVAILABLE;
}

enum transaction_result transaction_result_of(enum transaction_state state, const struct dataplane_answer *a)
{
    if (a->error != NULL || a->status == 0)
        return result_of_silence(state, a);
    if (a->status == 429)
        return TRANSACTION_LIMIT;
    /* A change inside a dead transaction: 400, and the only answer that carries version 0. */
    if ((state == TRANSACTION_CHANGE || state == TRANSACTION_PREVIEW) && a->status == 400 && a->version == 0)
        return TRANSACTION_CONFLICT;
    /* A gateway lost the answer; whether the API behind it committed is open. */
    if (state == TRANSACTION_COMMIT && (a->status == 502 || a->status == 504))
        return TRANSACTION_UNKNOWN;
    switch (error_kind_of_http(a->status)) {
    case ERROR_NONE:
        return state == TRANSACTION_COMMIT ? TRANSACTION_UNKNOWN : TRANSACTION_UNAVAILABLE;
    case ERROR_RETRY:
        return TRANSACTION_UNAVAILABLE;
    case ERROR_CONFLICT:
        return TRANSACTION_CONFLICT;
    case ERROR_GONE: /* at begin it is the path that is not there: no Data Plane API v3 */
        return state == TRANSACTION_CHANGE || state == TRANSACTION_PREVIEW || state == TRANSACTION_COMMIT
                   ? TRANSACTION_CONFLICT
                   : TRANSACTION_REJECTED;
    case ERROR_AUTH:
        return TRANSACTION_UNAUTHORIZED;
    case ERROR_INVALID:
    case ERROR_FATAL:
        break;
    }
    return TRANSACTION_REJECTED;
}

enum transaction_result transaction_result_in_hindsight(const struct transaction *t, const struct dataplane_answer *a)
{
    if (t->failed_in == TRANSACTION_CHANGE && t->result == TRANSACTION_REJECTED && t->error.http_status == 400 &&
        transaction_is_gone(a))
        return TRANSACTION_CONFLICT; /* the change was refused because there was no transaction any more */
    if (t->failed_in == TRANSACTION_COMMIT && t->result == TRANSACTION_UNAVAILABLE && t->error.http_status != 0 &&
        !transaction_is_done(a))
        return TRANSACTION_UNKNOWN; /* a 5xx, and nothing shows that it was not committed */
    return t->result;
}
