/* src/haproxy/dataplane/transaction: every step against every ending, in the words of txn_play.h. */
#include "txn_play.h"

struct row {
    const char *script, *trace;
    enum transaction_result result;
    enum error_kind kind;
    const char *text;   /* in the error; NULL: none */
    size_t left_behind; /* transactions of ours that could not be deleted */
};

static const struct row rows[] = {
    /* all is well */
    {"201 202 202 202", "BCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"201 202 202 200", "BCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},

    /* begin */
    {"409", "B", TRANSACTION_CONFLICT, ERROR_CONFLICT, "begin a transaction at version 7: HTTP 409: message of 409", 0},
    {"406", "B", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 406", 0},
    {"404", "B", TRANSACTION_REJECTED, ERROR_GONE, "HTTP 404", 0},
    {"400", "B", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"400v0", "B", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"422", "B", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"301", "B", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 301", 0},
    {"407", "B", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 407", 0},
    {"401", "B", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 0},
    {"403", "B", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "HTTP 403", 0},
    {"nocred", "B", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "begin a transaction at version 7: nocred", 0},
    {"500", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
    {"502", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 502", 0},
    {"503r9", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 503", 0},
    {"504", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 504", 0},
    {"refused", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "begin a transaction at version 7: refused", 0},
    {"lost", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "begin a transaction at version 7: lost", 0},
    {"html", "B", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 200, but the transaction is not JSON", 0},
    {"!201 204", "BD", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"!409", "B", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"!lost", "B", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"!429", "B", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},

    /* 429: list, delete what is dead, once more */
    {"429 200 204 204 201 202 202 202", "BLXXBCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"429 200 404 404 201 202 202 202", "BLXXBCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"429 200 500 204 201 202 202 202", "BLXXBCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"429 200 204 204 429r3", "BLXXB", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429 200 204 204 409", "BLXXB", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 409", 0},
    {"429 200 204 lost 201 202 202 202", "BLXXBCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"429r3 200 500 500", "BLXX", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 200 lost", "BLX", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 200 401", "BLX", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 500", "BL", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 429", "BL", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 401", "BL", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 lost", "BL", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 html", "BL", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429 !200", "BL", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"429 200 !204", "BLX", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"429 200 204 !204", "BLXX", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"429 200 204 204 !201 204", "BLXXBD", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},

    /* a change */
    {"201 409 204", "BCD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "change server n0: HTTP 409: message of 409", 0},
    {"201 202 409 204", "BCCD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "change server n1: HTTP 409", 0},
    {"201 406 204", "BCD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 406", 0},
    {"201 404 204", "BCD", TRANSACTION_CONFLICT, ERROR_GONE, "HTTP 404", 0},
    {"201 404 404", "BCD", TRANSACTION_CONFLICT, ERROR_GONE, "HTTP 404", 0},
    {"201 400v0 204", "BCD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 400", 0}, /* outdated meanwhile */
    {"201 400v0 404", "BCD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 400", 0}, /* gone meanwhile */
    {"201 400 404", "BCD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 400",
     0}, /* as above, its version hidden by a proxy */
    {"201 400 204", "BCD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"201 422 204", "BCD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"201 422 404", "BCD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"201 415 204", "BCD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 415", 0},
    {"201 302 204", "BCD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 302", 0},
    {"201 401 204", "BCD", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 0},
    {"201 401 401", "BCD", TRANSACTION_UNAUTHORIZED, ERROR_AUTH,
     "HTTP 401: message of 401; the transaction could not be deleted: delete", 1},
    {"201 nocred nocred", "BCD", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "nocred; the transaction could not be deleted",
     1},
    {"201 429r3 204", "BCD", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"201 html 204", "BCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY,
     "HTTP 200, but this is not an answer of a Data Plane API: please", 0},
    {"201 202 html html", "BCCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY,
     "the transaction could not be deleted: delete transaction T1: HTTP 200, but", 1},
    {"201 200 202 202", "BCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"201 500 204", "BCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
    {"201 500 500", "BCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY,
     "the transaction could not be deleted: delete transaction T1: HTTP 500", 1},
    {"201 lost 204", "BCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "change server n0: lost", 0},
    {"201 lost refused", "BCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY,
     "lost; the transaction could not be deleted: delete transaction T1: refused", 1},
    {"201 refused 404", "BCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "refused", 0},
    {"201 202 lost 204", "BCCD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "change server n1: lost", 0},
    {"201 !202 204", "BCD", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"201 !500 204", "BCD", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"201 202 !202 204", "BCCD", TRANSACTION_ABORTED, ERROR_RETRY, "aborted before its commit", 0},
    {"201 !lost lost", "BCD", TRANSACTION_ABORTED, ERROR_RETRY, "the transaction could not be deleted", 1},

    /* the commit */
    {"201 202 202 409 204", "BCCKD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "commit transaction T1: HTTP 409", 0},
    {"201 202 202 409 404", "BCCKD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 409", 0},
    {"201 202 202 406 204", "BCCKD", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 406", 0},
    {"201 202 202 404", "BCCK", TRANSACTION_CONFLICT, ERROR_GONE, "HTTP 404", 0},
    {"201 202 202 410", "BCCK", TRANSACTION_CONFLICT, ERROR_GONE, "HTTP 410", 0},
    {"201 202 202 400 204", "BCCKD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 400", 0}, /* validation */
    {"201 202 202 400 404", "BCCKD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"201 202 202 400 lost", "BCCKD", TRANSACTION_REJECTED, ERROR_INVALID, "the transaction could not be deleted", 1},
    {"201 202 202 422 204", "BCCKD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"201 202 202 401 204", "BCCKD", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 0},
    {"201 202 202 403 403", "BCCKD", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "the transaction could not be deleted", 1},
    {"201 202 202 429r3 204", "BCCKD", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"201 202 202 500 204", "BCCKD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
    {"201 202 202 500 404", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "HTTP 500",
     0}, /* gone: it may have been committed */
    {"201 202 202 500 500", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "the transaction could not be deleted", 1},
    {"201 202 202 503 html", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "the transaction could not be deleted", 1},
    {"201 202 202 503 lost", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "the transaction could not be deleted", 1},
    {"201 202 202 502 204", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "HTTP 502", 0},
    {"201 202 202 504 204", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "HTTP 504", 0},
    {"201 202 202 504 404", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "HTTP 504", 0},
    {"201 202 202 lost 204", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "commit transaction T1: lost", 0},
    {"201 202 202 lost 404", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "lost", 0},
    {"201 202 202 lost refused", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "the transaction could not be deleted", 1},
    {"201 202 202 refused 204", "BCCKD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "refused", 0},
    {"201 202 202 refused refused", "BCCKD", TRANSACTION_UNAVAILABLE, ERROR_RETRY,
     "the transaction could not be deleted", 1},
    {"201 202 202 html 204", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY,
     "HTTP 200, but this is not an answer of a Data Plane API", 0},
    {"201 202 202 301 204", "BCCKD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 301", 0},
    {"201 202 202 !202", "BCCK", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 0},
    {"201 202 202 !400 204", "BCCKD", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"201 202 202 !lost 404", "BCCKD", TRANSACTION_UNKNOWN, ERROR_RETRY, "lost", 0},
    {"201 202 202 500 !204", "BCCKD", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
};

static void check_end(const struct row *row)
{
    ck_assert_str_eq(trace, row->trace);
    ck_assert_msg(t.result == row->result, "%s: %s", row->script, transaction_result_name(t.result));
    ck_assert_msg(t.error.kind == row->kind, "%s: %s: %s", row->script, error_kind_name(t.error.kind), t.error.message);
    ck_assert_msg(row->text == NULL || strstr(t.error.message, row->text) != NULL, "%s: %s", row->script,
                  t.error.message);
    ck_assert_uint_eq(t.held_count, row->left_behind);
    ck_assert_ptr_null(t.id);
    if (row->result != TRANSACTION_COMMITTED)
        return;
    ck_assert_str_eq(t.error.message, "");
    ck_assert_int_eq(t.version, 8);
    ck_assert_str_eq(t.reload_id, "2026-11-21-0");
}

FIXTURE(begin_machine, end_machine)

TEST_EACH(every_ending_at_every_step, array_len(rows))
{
    const struct row *row = &rows[_i];
    play(transaction_start(&t, 7, make_steps(STEPS), STEPS), row->script, default_list);
    check_end(row);
    if (strstr(row->script, "r3") != NULL)
        ck_assert_int_eq(t.retry_after_ms, 3000);
}

TEST(an_empty_commit_has_no_change)
{
    play(transaction_start(&t, 7, NULL, 0), "201 202", "[]");
    ck_assert_str_eq(trace, "BK");
    ck_assert_int_eq(t.result, TRANSACTION_COMMITTED);
    ck_assert_uint_eq(t.begin_us, 10);
    ck_assert_uint_eq(t.change_us, 0);
    ck_assert_uint_eq(t.commit_us, 10);
    play(transaction_start(&t, 7, make_steps(3), 3), "201 201 202 204 202", "[]");
    ck_assert_str_eq(trace, "BCCCK");
    ck_assert_uint_eq(t.change_us, 30);
}

TEST(a_commit_is_known_by_its_version_or_its_body)
{
    for (int with_version = -1; with_version < 2; with_version++) {
        struct reply begun, done;
        (void)transaction_start(&t, 7, NULL, 0);
        make_reply(&begun, "201", 'B', "[]");
        (void)transaction_answer(&t, &begun.a);
        make_reply(&done, "202", 'K', "[]");
        if (with_version > 0)
            done.a.body = "";
        else
            done.a.version = with_version; /* none, or one that is none */
        done.a.body_len = strlen(done.a.body);
        done.a.reload_id = NULL;
        ck_assert_int_eq(transaction_answer(&t, &done.a).type, TRANSACTION_FINISHED);
        ck_assert_int_eq(t.result, TRANSACTION_COMMITTED);
        ck_assert_int_eq(t.version, with_version > 0 ? 8 : -1);
        ck_assert_ptr_null(t.reload_id);
    }
}

/* begin, preview, delete: P is the preview. */
static const struct {
    int begin, look, remove; /* 0: not asked */
    int64_t version;         /* of the answer to the preview */
    const char *problem;
    enum transaction_result result;
    const char *text;
} previews[] = {
    {201, 200, 204, 7, NULL, TRANSACTION_PREVIEWED, NULL},
    {201, 200, 204, 7, "line 3", TRANSACTION_HARMFUL, "line 3"},
    {201, 200, 500, 7, "line 3", TRANSACTION_HARMFUL, "line 3; the transaction could not be deleted"},
    {201, 404, 204, 7, NULL, TRANSACTION_PREVIEWED, "preview transaction T1: HTTP 404"},
    {201, 400, 204, 7, NULL, TRANSACTION_PREVIEWED, "HTTP 400"},
    {201, 400, 404, 0, NULL, TRANSACTION_CONFLICT, "HTTP 400"}, /* gone meanwhile */
    {201, 404, 404, 8, NULL, TRANSACTION_CONFLICT, "HTTP 404"},
    {201, 500, 204, 7, NULL, TRANSACTION_UNAVAILABLE, "HTTP 500"},
    {201, 401, 204, 7, NULL, TRANSACTION_UNAUTHORIZED, "HTTP 401"},
    {201, 200, 204, -1, NULL, TRANSACTION_UNAVAILABLE, "this is not an answer of a Data Plane API"},
    {409, 0, 0, 7, NULL, TRANSACTION_CONFLICT, "HTTP 409"},
};

TEST_EACH(what_it_would_write_is_read_and_never_committed, array_len(previews))
{
    struct reply r;
    char word[16];
    struct transaction_action action = transaction_start_preview(&t, 7);
    ck_assert_str_eq(action.path, "/transactions?version=7");
    snprintf(word, sizeof(word), "%d", previews[_i].begin);
    make_reply(&r, word, 'B', default_list);
    action = transaction_answer(&t, &r.a);
    if (previews[_i].look != 0) {
        ck_assert_str_eq(action.method, "GET");
        ck_assert_str_eq(action.path, "/configuration/raw?transaction_id=T1");
        snprintf(word, sizeof(word), "%d", previews[_i].look);
        make_reply(&r, word, 'P', default_list);
        r.a.version = previews[_i].version;
        action = transaction_answer(&t, &r.a);
        ck_assert_int_eq(action.type == TRANSACTION_JUDGE, previews[_i].look == 200 && previews[_i].version >= 0);
        if (action.type == TRANSACTION_JUDGE)
            action = transaction_judged(&t, previews[_i].problem);
        ck_assert_str_eq(action.method, "DELETE");
        ck_assert_str_eq(action.path, "/transactions/T1");
        snprintf(word, sizeof(word), "%d", previews[_i].remove);
        make_reply(&r, word, 'D', default_list);
        action = transaction_answer(&t, &r.a);
    }
    ck_assert_int_eq(action.type, TRANSACTION_FINISHED);
    ck_assert_msg(t.result == previews[_i].result, "%s: %s", transaction_result_name(t.result), t.error.message);
    if (previews[_i].text == NULL)
        ck_assert_int_eq(t.error.kind, ERROR_NONE);
    else
        ck_assert_msg(strstr(t.error.message, previews[_i].text) != NULL, "%s", t.error.message);
}

/* What refused the begin is no word about the preview, which the guard would take for one that is not to be had. */
TEST(a_preview_that_room_was_made_for_has_no_error)
{
    static const struct {
        const char *word;
        char state;
    } answers[] = {{"429", 'B'}, {"200", 'L'}, {"204", 'X'}, {"204", 'X'}, {"201", 'B'}, {"200", 'P'}};
    struct reply r;
    struct transaction_action action = transaction_start_preview(&t, 7);
    for (size_t i = 0; i < array_len(answers); i++) {
        make_reply(&r, answers[i].word, answers[i].state, default_list);
        r.a.version = 7;
        action = transaction_answer(&t, &r.a);
    }
    ck_assert_int_eq(action.type, TRANSACTION_JUDGE);
    action = transaction_judged(&t, NULL);
    make_reply(&r, "204", 'D', default_list);
    action = transaction_answer(&t, &r.a);
    ck_assert_int_eq(action.type, TRANSACTION_FINISHED);
    ck_assert_int_eq(t.result, TRANSACTION_PREVIEWED);
    ck_assert_msg(t.error.kind == ERROR_NONE, "%s", t.error.message);
}

TEST(ids_are_encoded)
{
    struct reply r;
    struct transaction_action x = transaction_start(&t, 7, make_steps(1), 1);
    make_reply(&r, "201", 'B', "[]");
    r.a.body = "{\"id\":\"a/../b?c=d&e\"}";
    r.a.body_len = strlen(r.a.body);
    free(t.steps[0].path);
    t.steps[0].path = mem_strdup("/configuration/x?full_section=true");
    x = transaction_answer(&t, &r.a);
    ck_assert_str_eq(x.path, "/configuration/x?full_section=true&transaction_id=a%2F..%2Fb%3Fc%3Dd%26e");
    make_reply(&r, "202", 'C', "[]");
    x = transaction_answer(&t, &r.a);
    ck_assert_str_eq(x.path, "/transactions/a%2F..%2Fb%3Fc%3Dd%26e");
    ck_assert_str_eq(x.method, "PUT");
}

TEST(results_have_names)
{
    for (int r = TRANSACTION_COMMITTED; r <= TRANSACTION_ABORTED; r++)
        ck_assert_str_ne(transaction_result_name(r), "invalid");
    ck_assert_str_eq(transaction_result_name(TRANSACTION_COMMITTED), "committed");
    ck_assert_str_eq(transaction_result_name(TRANSACTION_UNKNOWN), "unknown");
    ck_assert_str_eq(transaction_result_name((enum transaction_result)99), "invalid");
}
