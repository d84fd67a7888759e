#include "haproxy/dataplane/transaction_verdict.h"

#include "haproxy/dataplane/codec.h"

const char *txn_result_name(enum txn_result r)
{
    static const char *const names[] = {[TXN_COMMITTED] = "committed",     [TXN_CLEANED] = "cleaned",
                                        [TXN_CONFLICT] = "conflict",       [TXN_LIMIT] = "limit",
                                        [TXN_REJECTED] = "rejected",       [TXN_UNAUTHORIZED] = "unauthorized",
                                        [TXN_UNAVAILABLE] = "unavailable", [TXN_UNKNOWN] = "unknown",
                                        [TXN_ABORTED] = "aborted",         [TXN_PREVIEWED] = "previewed",
                                        [TXN_HARMFUL] = "harmful"};
    return (size_t)r < array_len(names) ? names[r] : "invalid";
}

bool txn_is_success(const struct dataplane_answer *a)
{
    return a->error == NULL && a->status >= 200 && a->status < 300;
}

bool txn_is_done(const struct dataplane_answer *a)
{
    return txn_is_success(a) && (a->status != 200 || a->version >= 0);
}

const char *txn_wrong_answer(const struct dataplane_answer *a)
{
    return txn_is_success(a) ? "that is no answer of a Data Plane API" : NULL;
}

bool txn_is_gone(const struct dataplane_answer *a)
{
    return a->error == NULL && (a->status == 404 || a->status == 410);
}

bool txn_is_commit_answer(const struct dataplane_answer *a)
{
    struct codec_transaction got = {0};
    if (!txn_is_success(a))
        return false;
    if (a->version > 0)
        return true;
    bool ours = codec_read_transaction(a->body, a->body_len, &got, NULL) == 0;
    codec_transaction_fini(&got);
    return ours;
}

void txn_explain(struct error *err, const struct dataplane_answer *a, const char *doing, const char *but)
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

static enum txn_result result_of_silence(enum txn_state state, const struct dataplane_answer *a)
{
    if (a->error != NULL && a->error->kind == ERROR_AUTH)
        return TXN_UNAUTHORIZED; /* no credentials to send */
    return state == TXN_COMMIT && a->progress != HTTP_NOT_SENT ? TXN_UNKNOWN : TXN_UNAVAILABLE;
}

enum txn_result txn_result_of(enum txn_state state, const struct dataplane_answer *a)
{
    if (a->error != NULL || a->status == 0)
        return result_of_silence(state, a);
    if (a->status == 429)
        return TXN_LIMIT;
    /* A change inside a dead transaction: 400, and the only answer that carries version 0. */
    if ((state == TXN_CHANGE || state == TXN_PREVIEW) && a->status == 400 && a->version == 0)
        return TXN_CONFLICT;
    /* A gateway lost the answer; whether the API behind it committed is open. */
    if (state == TXN_COMMIT && (a->status == 502 || a->status == 504))
        return TXN_UNKNOWN;
    switch (error_kind_of_http(a->status)) {
    case ERROR_NONE:
        return state == TXN_COMMIT ? TXN_UNKNOWN : TXN_UNAVAILABLE;
    case ERROR_RETRY:
        return TXN_UNAVAILABLE;
    case ERROR_CONFLICT:
        return TXN_CONFLICT;
    case ERROR_GONE: /* at begin it is the path that is not there: no Data Plane API v3 */
        return state == TXN_CHANGE || state == TXN_PREVIEW || state == TXN_COMMIT ? TXN_CONFLICT : TXN_REJECTED;
    case ERROR_AUTH:
        return TXN_UNAUTHORIZED;
    case ERROR_INVALID:
    case ERROR_FATAL:
        break;
    }
    return TXN_REJECTED;
}

enum txn_result txn_result_in_hindsight(const struct txn *t, const struct dataplane_answer *a)
{
    if (t->failed_in == TXN_CHANGE && t->result == TXN_REJECTED && t->error.http_status == 400 && txn_is_gone(a))
        return TXN_CONFLICT; /* the change was refused because there was no transaction any more */
    if (t->failed_in == TXN_COMMIT && t->result == TXN_UNAVAILABLE && t->error.http_status != 0 && !txn_is_done(a))
        return TXN_UNKNOWN; /* a 5xx, and nothing shows that it was not committed */
    return t->result;
}
