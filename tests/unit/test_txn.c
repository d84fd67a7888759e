/*
 * src/dataplane/txn*: every step against every ending. A script is the list of answers, a trace is what was sent:
 *
 *     B begin    C change    K commit    D delete ours    L list    X delete a dead one
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "dataplane/client.h"
#include "dataplane/txn.h"
#include "model/diff.h"

#define STEPS 2
#define LONGEST 64

static char *writable(const char *s)
{
    return (char *)(uintptr_t)s;
}

static struct txn_step *make_steps(size_t count)
{
    static const char *const methods[] = {"PUT", "POST", "DELETE"};
    struct txn_step *steps = mem_array(count, sizeof(*steps));
    for (size_t i = 0; i < count; i++)
        steps[i] = (struct txn_step){.method = methods[i % 3],
                                     .path = mem_printf("/configuration/backends/be/servers/n%zu", i),
                                     .body = i % 3 == 2 ? NULL : mem_printf("{\"n\":%zu}", i),
                                     .what = mem_printf("change server n%zu", i)};
    return steps;
}

/* ---- answers ---- */

struct reply {
    struct dataplane_answer a;
    struct error error;
    bool abort_first;
};

static const char default_list[] =
    "[{\"id\":\"T1\",\"status\":\"in_progress\"},{\"id\":\"f1\",\"status\":\"failed\"},"
    "{\"id\":\"o/2\",\"status\":\"outdated\"},{\"id\":\"s\",\"status\":\"in_progress\"}]";

static void fill_body(struct reply *r, char request, const char *list)
{
    if (request == 'B')
        r->a.body = "{\"_version\":7,\"id\":\"T1\",\"status\":\"in_progress\"}";
    if (request == 'K') {
        r->a.body = "{\"_version\":7,\"id\":\"T1\",\"status\":\"success\"}";
        r->a.version = 8;
        r->a.reload_id = "2026-11-21-0";
    }
    if (request == 'L')
        r->a.body = list;
}

/* "202", "409", "400v0" (version 0), "429r3" (Retry-After 3 s), "lost", "refused", "nocred", "html" (a 200 of something
 * else); "!" in front: the abort comes while it is awaited. */
static void make_reply(struct reply *r, const char *word, char request, const char *list)
{
    *r = (struct reply){.a = {.body = "", .version = 7, .retry_after_ms = -1, .progress = HTTP_ANSWERED}};
    r->abort_first = word[0] == '!';
    word += r->abort_first;
    r->a.duration_us = 10;
    if (str_eq(word, "lost") || str_eq(word, "refused") || str_eq(word, "nocred")) {
        r->a.progress = str_eq(word, "lost") ? HTTP_SENT : HTTP_NOT_SENT;
        r->a.version = -1;
        (void)error_set(&r->error, str_eq(word, "nocred") ? ERROR_AUTH : ERROR_RETRY, "%s", word);
        r->a.error = &r->error;
        return;
    }
    if (str_eq(word, "html")) {
        r->a.status = 200;
        r->a.version = -1;
        r->a.body = "<html>please log in</html>";
        snprintf(r->a.excerpt, sizeof(r->a.excerpt), "please log in");
    } else {
        char *rest;
        r->a.status = (int)strtol(word, &rest, 10);
        if (*rest == 'v')
            r->a.version = strtol(rest + 1, NULL, 10);
        if (*rest == 'r')
            r->a.retry_after_ms = strtol(rest + 1, NULL, 10) * 1000;
        if (r->a.status < 300)
            fill_body(r, request, list);
        else
            snprintf(r->a.excerpt, sizeof(r->a.excerpt), "message of %d", r->a.status);
    }
    r->a.body_len = strlen(r->a.body);
}

/* ---- requests ---- */

/* Which of the six it is; aborts the test where it is none of them, or not as it must be. */
static char letter_of(const struct txn *t, const struct txn_action *x)
{
    bool deletes = str_eq(x->method, "DELETE");
    if (str_has_prefix(x->path, "/configuration/")) {
        const struct txn_step *s = &t->steps[t->next_step];
        char *path = mem_printf("%s?transaction_id=T1", s->path);
        ck_assert_str_eq(x->path, path);
        ck_assert_str_eq(x->method, s->method);
        ck_assert(x->body == s->body);
        free(path);
        return 'C';
    }
    ck_assert_ptr_null(x->body);
    if (str_eq(x->path, "/transactions?version=7") && str_eq(x->method, "POST"))
        return 'B';
    if (str_eq(x->path, "/transactions") && str_eq(x->method, "GET"))
        return 'L';
    if (str_eq(x->path, "/transactions/T1") && str_eq(x->method, "PUT"))
        return 'K';
    if (str_eq(x->path, "/transactions/T1") && deletes && t->state == TXN_DELETE)
        return 'D';
    if (str_has_prefix(x->path, "/transactions/") && deletes && t->state == TXN_DELETE_DEAD)
        return 'X';
    ck_abort_msg("%s %s is no request of this machine", x->method, x->path);
    return '?';
}

/* Plays the script; the trace is what was sent. */
static void play(struct txn *t, struct txn_action x, const char *script, const char *list, char *trace)
{
    char *words = mem_strdup(script), *at = words, *word;
    size_t sent = 0;
    while (x.type == TXN_SEND) {
        struct reply r;
        ck_assert_uint_lt(sent, LONGEST - 1);
        trace[sent++] = letter_of(t, &x);
        trace[sent] = '\0';
        word = strsep(&at, " ");
        ck_assert_msg(word != NULL && word[0] != '\0', "%s: no answer left after %s", script, trace);
        make_reply(&r, word, trace[sent - 1], list);
        if (r.abort_first)
            txn_abort(t);
        x = txn_answer(t, &r.a);
    }
    ck_assert_msg(at == NULL, "%s: \"%s\" was not asked for after %s", script, at, trace);
    ck_assert_int_eq(t->state, TXN_DONE);
    ck_assert_int_eq(txn_answer(t, &(struct dataplane_answer){.body = ""}).type, TXN_FINISHED);
    free(words);
}

/* ---- the table ---- */

struct row {
    const char *script, *trace;
    enum txn_result result;
    enum error_kind kind;
    const char *text;   /* in the error; NULL: none */
    size_t left_behind; /* transactions of ours that could not be deleted */
};

static const struct row rows[] = {
    /* all is well */
    {"201 202 202 202", "BCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"201 202 202 200", "BCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},

    /* begin */
    {"409", "B", TXN_CONFLICT, ERROR_CONFLICT, "begin a transaction at version 7: HTTP 409: message of 409", 0},
    {"406", "B", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 406", 0},
    {"404", "B", TXN_REJECTED, ERROR_GONE, "HTTP 404", 0},
    {"400", "B", TXN_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"400v0", "B", TXN_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"422", "B", TXN_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"301", "B", TXN_REJECTED, ERROR_INVALID, "HTTP 301", 0},
    {"407", "B", TXN_REJECTED, ERROR_INVALID, "HTTP 407", 0},
    {"401", "B", TXN_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 0},
    {"403", "B", TXN_UNAUTHORIZED, ERROR_AUTH, "HTTP 403", 0},
    {"nocred", "B", TXN_UNAUTHORIZED, ERROR_AUTH, "begin a transaction at version 7: nocred", 0},
    {"500", "B", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
    {"502", "B", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 502", 0},
    {"503r9", "B", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 503", 0},
    {"504", "B", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 504", 0},
    {"refused", "B", TXN_UNAVAILABLE, ERROR_RETRY, "begin a transaction at version 7: refused", 0},
    {"lost", "B", TXN_UNAVAILABLE, ERROR_RETRY, "begin a transaction at version 7: lost", 0},
    {"html", "B", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 200, but the transaction is no JSON", 0},
    {"!201 204", "BD", TXN_ABORTED, ERROR_RETRY, "given up before its commit", 0},
    {"!409", "B", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"!lost", "B", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"!429", "B", TXN_ABORTED, ERROR_RETRY, "given up", 0},

    /* 429: list, delete what is dead, once more */
    {"429 200 204 204 201 202 202 202", "BLXXBCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"429 200 404 404 201 202 202 202", "BLXXBCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"429 200 500 204 201 202 202 202", "BLXXBCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"429 200 204 204 429r3", "BLXXB", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429 200 204 204 409", "BLXXB", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 409", 0},
    {"429 200 204 lost 201 202 202 202", "BLXXBCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"429r3 200 500 500", "BLXX", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 200 lost", "BLX", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 200 401", "BLX", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 500", "BL", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 429", "BL", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 401", "BL", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 lost", "BL", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429r3 html", "BL", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"429 !200", "BL", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"429 200 !204", "BLX", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"429 200 204 !204", "BLXX", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"429 200 204 204 !201 204", "BLXXBD", TXN_ABORTED, ERROR_RETRY, "given up", 0},

    /* a change */
    {"201 409 204", "BCD", TXN_CONFLICT, ERROR_CONFLICT, "change server n0: HTTP 409: message of 409", 0},
    {"201 202 409 204", "BCCD", TXN_CONFLICT, ERROR_CONFLICT, "change server n1: HTTP 409", 0},
    {"201 406 204", "BCD", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 406", 0},
    {"201 404 204", "BCD", TXN_CONFLICT, ERROR_GONE, "HTTP 404", 0},
    {"201 404 404", "BCD", TXN_CONFLICT, ERROR_GONE, "HTTP 404", 0},
    {"201 400v0 204", "BCD", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 400", 0}, /* outdated meanwhile */
    {"201 400v0 404", "BCD", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 400", 0}, /* gone meanwhile */
    {"201 400 404", "BCD", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 400", 0},   /* as above, its version hidden by a proxy */
    {"201 400 204", "BCD", TXN_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"201 422 204", "BCD", TXN_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"201 422 404", "BCD", TXN_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"201 415 204", "BCD", TXN_REJECTED, ERROR_INVALID, "HTTP 415", 0},
    {"201 302 204", "BCD", TXN_REJECTED, ERROR_INVALID, "HTTP 302", 0},
    {"201 401 204", "BCD", TXN_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 0},
    {"201 401 401", "BCD", TXN_UNAUTHORIZED, ERROR_AUTH, "HTTP 401: message of 401; it stays behind: delete", 1},
    {"201 nocred nocred", "BCD", TXN_UNAUTHORIZED, ERROR_AUTH, "nocred; it stays behind", 1},
    {"201 429r3 204", "BCD", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"201 html 204", "BCD", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 200, but that is no answer of a Data Plane API: please",
     0},
    {"201 202 html html", "BCCD", TXN_UNAVAILABLE, ERROR_RETRY, "it stays behind: delete transaction T1: HTTP 200, but",
     1},
    {"201 200 202 202", "BCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"201 500 204", "BCD", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
    {"201 500 500", "BCD", TXN_UNAVAILABLE, ERROR_RETRY, "it stays behind: delete transaction T1: HTTP 500", 1},
    {"201 lost 204", "BCD", TXN_UNAVAILABLE, ERROR_RETRY, "change server n0: lost", 0},
    {"201 lost refused", "BCD", TXN_UNAVAILABLE, ERROR_RETRY, "lost; it stays behind: delete transaction T1: refused",
     1},
    {"201 refused 404", "BCD", TXN_UNAVAILABLE, ERROR_RETRY, "refused", 0},
    {"201 202 lost 204", "BCCD", TXN_UNAVAILABLE, ERROR_RETRY, "change server n1: lost", 0},
    {"201 !202 204", "BCD", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"201 !500 204", "BCD", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"201 202 !202 204", "BCCD", TXN_ABORTED, ERROR_RETRY, "given up", 0},
    {"201 !lost lost", "BCD", TXN_ABORTED, ERROR_RETRY, "it stays behind", 1},

    /* the commit */
    {"201 202 202 409 204", "BCCKD", TXN_CONFLICT, ERROR_CONFLICT, "commit transaction T1: HTTP 409", 0},
    {"201 202 202 409 404", "BCCKD", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 409", 0},
    {"201 202 202 406 204", "BCCKD", TXN_CONFLICT, ERROR_CONFLICT, "HTTP 406", 0},
    {"201 202 202 404", "BCCK", TXN_CONFLICT, ERROR_GONE, "HTTP 404", 0},
    {"201 202 202 400 204", "BCCKD", TXN_REJECTED, ERROR_INVALID, "HTTP 400", 0}, /* validation */
    {"201 202 202 400 404", "BCCKD", TXN_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"201 202 202 400 lost", "BCCKD", TXN_REJECTED, ERROR_INVALID, "it stays behind", 1},
    {"201 202 202 422 204", "BCCKD", TXN_REJECTED, ERROR_INVALID, "HTTP 422", 0},
    {"201 202 202 401 204", "BCCKD", TXN_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 0},
    {"201 202 202 403 403", "BCCKD", TXN_UNAUTHORIZED, ERROR_AUTH, "it stays behind", 1},
    {"201 202 202 429r3 204", "BCCKD", TXN_LIMIT, ERROR_RETRY, "HTTP 429", 0},
    {"201 202 202 500 204", "BCCKD", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
    {"201 202 202 500 404", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "HTTP 500", 0}, /* gone: it may have been committed */
    {"201 202 202 500 500", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "it stays behind", 1},
    {"201 202 202 503 html", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "it stays behind", 1},
    {"201 202 202 503 lost", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "it stays behind", 1},
    {"201 202 202 502 204", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "HTTP 502", 0},
    {"201 202 202 504 204", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "HTTP 504", 0},
    {"201 202 202 504 404", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "HTTP 504", 0},
    {"201 202 202 lost 204", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "commit transaction T1: lost", 0},
    {"201 202 202 lost 404", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "lost", 0},
    {"201 202 202 lost refused", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "it stays behind", 1},
    {"201 202 202 refused 204", "BCCKD", TXN_UNAVAILABLE, ERROR_RETRY, "refused", 0},
    {"201 202 202 refused refused", "BCCKD", TXN_UNAVAILABLE, ERROR_RETRY, "it stays behind", 1},
    {"201 202 202 html 204", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "HTTP 200, but that is no answer of a Data Plane API",
     0},
    {"201 202 202 301 204", "BCCKD", TXN_REJECTED, ERROR_INVALID, "HTTP 301", 0},
    {"201 202 202 !202", "BCCK", TXN_COMMITTED, ERROR_NONE, NULL, 0},
    {"201 202 202 !400 204", "BCCKD", TXN_REJECTED, ERROR_INVALID, "HTTP 400", 0},
    {"201 202 202 !lost 404", "BCCKD", TXN_UNKNOWN, ERROR_RETRY, "lost", 0},
    {"201 202 202 500 !204", "BCCKD", TXN_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 0},
};

static void check_end(const struct txn *t, const struct row *row, const char *trace)
{
    ck_assert_str_eq(trace, row->trace);
    ck_assert_msg(t->result == row->result, "%s: %s", row->script, txn_result_name(t->result));
    ck_assert_msg(t->error.kind == row->kind, "%s: %s: %s", row->script, error_kind_name(t->error.kind),
                  t->error.message);
    ck_assert_msg(row->text == NULL || strstr(t->error.message, row->text) != NULL, "%s: %s", row->script,
                  t->error.message);
    ck_assert_uint_eq(t->held_count, row->left_behind);
    ck_assert_ptr_null(t->id);
    if (row->result != TXN_COMMITTED)
        return;
    ck_assert_str_eq(t->error.message, "");
    ck_assert_int_eq(t->version, 8);
    ck_assert_str_eq(t->reload_id, "2026-11-21-0");
}

START_TEST(every_ending_at_every_step)
{
    const struct row *row = &rows[_i];
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start(&t, 7, make_steps(STEPS), STEPS), row->script, default_list, trace);
    check_end(&t, row, trace);
    if (strstr(row->script, "r3") != NULL)
        ck_assert_int_eq(t.retry_after_ms, 3000);
    txn_fini(&t);
}
END_TEST

START_TEST(an_empty_commit_has_no_change)
{
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start(&t, 7, NULL, 0), "201 202", "[]", trace);
    ck_assert_str_eq(trace, "BK");
    ck_assert_int_eq(t.result, TXN_COMMITTED);
    ck_assert_uint_eq(t.begin_us, 10);
    ck_assert_uint_eq(t.change_us, 0);
    ck_assert_uint_eq(t.commit_us, 10);
    play(&t, txn_start(&t, 7, make_steps(3), 3), "201 201 202 204 202", "[]", trace);
    ck_assert_str_eq(trace, "BCCCK");
    ck_assert_uint_eq(t.change_us, 30);
    txn_fini(&t);
}
END_TEST

START_TEST(a_commit_is_known_by_its_version_or_its_body)
{
    struct txn t;
    txn_init(&t);
    for (int with_version = 0; with_version < 2; with_version++) {
        struct reply begun, done;
        (void)txn_start(&t, 7, NULL, 0);
        make_reply(&begun, "201", 'B', "[]");
        (void)txn_answer(&t, &begun.a);
        make_reply(&done, "202", 'K', "[]");
        if (with_version)
            done.a.body = "";
        else
            done.a.version = -1;
        done.a.body_len = strlen(done.a.body);
        done.a.reload_id = NULL;
        ck_assert_int_eq(txn_answer(&t, &done.a).type, TXN_FINISHED);
        ck_assert_int_eq(t.result, TXN_COMMITTED);
        ck_assert_int_eq(t.version, with_version ? 8 : -1);
        ck_assert_ptr_null(t.reload_id);
    }
    txn_fini(&t);
}
END_TEST

/* ---- 429 ---- */

START_TEST(strangers_are_named_and_left_alone)
{
    static const char list[] = "[{\"id\":\"a\",\"status\":\"in_progress\"},{\"id\":\"b\",\"status\":\"in_progress\"},"
                               "{\"id\":\"c\",\"status\":\"in_progress\"},{\"id\":\"d\",\"status\":\"in_progress\"},"
                               "{\"id\":\"e\",\"status\":\"success\"},{\"id\":\"g\",\"status\":\"something new\"}]";
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start(&t, 7, NULL, 0), "429r3 200", list, trace);
    ck_assert_str_eq(trace, "BL");
    ck_assert_int_eq(t.result, TXN_LIMIT);
    ck_assert_int_eq(t.retry_after_ms, 3000);
    ck_assert_msg(strstr(t.error.message, "4 are in progress and not ours (a, b, c, ...)") != NULL, "%s",
                  t.error.message);
    txn_fini(&t);
}
END_TEST

START_TEST(ours_that_stayed_behind_are_deleted_at_the_next_429)
{
    static const char list[] = "[{\"id\":\"T1\",\"status\":\"in_progress\"}]";
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "201 500 lost", list, trace);
    ck_assert_uint_eq(t.held_count, 1);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "429 200 204 201 202 202", list, trace);
    ck_assert_str_eq(trace, "BLXBCK");
    ck_assert_int_eq(t.result, TXN_COMMITTED);
    ck_assert_uint_eq(t.begin_us, 20);
    ck_assert_uint_eq(t.held_count, 0);
    txn_fini(&t);
}
END_TEST

START_TEST(what_was_deleted_later_is_forgotten)
{
    static const char none[] = "[]";
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "201 500 lost", none, trace);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "429 200 500", none, trace);
    ck_assert_uint_eq(t.held_count, 1);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "429 200 204 429", none, trace);
    ck_assert_str_eq(trace, "BLXB");
    ck_assert_uint_eq(t.held_count, 0);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "201 500 lost", none, trace);
    play(&t, txn_start_cleanup(&t), "200 404", none, trace);
    ck_assert_str_eq(trace, "LX");
    ck_assert_uint_eq(t.held_count, 0);
    txn_fini(&t);
}
END_TEST

START_TEST(a_commit_outdates_what_stayed_behind)
{
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start(&t, 7, make_steps(1), 1), "201 500 lost", "[]", trace);
    play(&t, txn_start(&t, 7, NULL, 0), "201 202", "[]", trace);
    ck_assert_uint_eq(t.held_count, 0);
    txn_fini(&t);
}
END_TEST

START_TEST(what_stays_behind_is_bounded)
{
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    for (int i = 0; i < 100; i++) {
        struct txn_action x = txn_start(&t, 7, make_steps(1), 1);
        struct reply r;
        make_reply(&r, "201", 'B', "[]");
        char *body = mem_printf("{\"id\":\"id%d\"}", i);
        r.a.body = body;
        r.a.body_len = strlen(body);
        (void)txn_answer(&t, &r.a);
        make_reply(&r, "lost", 'C', "[]");
        (void)txn_answer(&t, &r.a);
        x = txn_answer(&t, &r.a);
        ck_assert_int_eq(x.type, TXN_FINISHED);
        free(body);
    }
    ck_assert_uint_eq(t.held_count, 32);
    play(&t, txn_start(&t, 7, NULL, 0), "201 202", "[]", trace);
    txn_fini(&t);
}
END_TEST

START_TEST(a_flood_of_dead_ones_is_bounded)
{
    struct buf list;
    struct txn t;
    struct reply r;
    size_t sent = 0;
    buf_init(&list, 0);
    for (int i = 0; i < 5000; i++)
        buf_printf(&list, "%s{\"id\":\"%d\",\"status\":\"failed\"}", i == 0 ? "[" : ",", i);
    buf_add(&list, "]");
    txn_init(&t);
    struct txn_action x = txn_start_cleanup(&t);
    make_reply(&r, "200", 'L', list.data);
    for (; x.type == TXN_SEND; sent++) {
        x = txn_answer(&t, &r.a);
        make_reply(&r, "204", 'X', "");
    }
    ck_assert_uint_eq(sent, 257);
    ck_assert_int_eq(t.result, TXN_CLEANED);
    buf_fini(&list);
    txn_fini(&t);
}
END_TEST

/* ---- the clean-up at start ---- */

static const struct {
    const char *script, *trace;
    enum txn_result result;
    const char *text;
} cleanups[] = {
    {"200 204 204", "LXX", TXN_CLEANED, ""},
    {"200 404 204", "LXX", TXN_CLEANED, ""},
    {"200 500 204", "LXX", TXN_CLEANED, ""},
    {"200 204 500", "LXX", TXN_CLEANED, ""},
    {"200 500 500", "LXX", TXN_UNAVAILABLE, "delete transaction o/2: HTTP 500"},
    {"200 lost", "LX", TXN_UNAVAILABLE, "delete transaction f1: lost"},
    {"200 204 lost", "LXX", TXN_UNAVAILABLE, "delete transaction o/2: lost"},
    {"200 401", "LX", TXN_UNAUTHORIZED, "HTTP 401"},
    {"401", "L", TXN_UNAUTHORIZED, "list transactions: HTTP 401"},
    {"404", "L", TXN_REJECTED, "HTTP 404"},
    {"500", "L", TXN_UNAVAILABLE, "HTTP 500"},
    {"lost", "L", TXN_UNAVAILABLE, "list transactions: lost"},
    {"html", "L", TXN_UNAVAILABLE, "HTTP 200, but the list of transactions is no JSON"},
    {"!200", "L", TXN_ABORTED, "given up"},
    {"200 !204", "LX", TXN_ABORTED, "given up"},
};

START_TEST(the_cleanup_at_start)
{
    char trace[LONGEST] = "";
    struct txn t;
    txn_init(&t);
    play(&t, txn_start_cleanup(&t), cleanups[_i].script, default_list, trace);
    ck_assert_str_eq(trace, cleanups[_i].trace);
    ck_assert_msg(t.result == cleanups[_i].result, "%s: %s", cleanups[_i].script, txn_result_name(t.result));
    ck_assert_msg(strstr(t.error.message, cleanups[_i].text) != NULL, "%s", t.error.message);
    ck_assert_int_eq(t.error.kind == ERROR_NONE, t.result == TXN_CLEANED);
    txn_fini(&t);
}
END_TEST

START_TEST(ids_are_encoded)
{
    struct txn t;
    struct reply r;
    txn_init(&t);
    struct txn_action x = txn_start(&t, 7, make_steps(1), 1);
    make_reply(&r, "201", 'B', "[]");
    r.a.body = "{\"id\":\"a/../b?c=d&e\"}";
    r.a.body_len = strlen(r.a.body);
    free(t.steps[0].path);
    t.steps[0].path = mem_strdup("/configuration/x?full_section=true");
    x = txn_answer(&t, &r.a);
    ck_assert_str_eq(x.path, "/configuration/x?full_section=true&transaction_id=a%2F..%2Fb%3Fc%3Dd%26e");
    make_reply(&r, "202", 'C', "[]");
    x = txn_answer(&t, &r.a);
    ck_assert_str_eq(x.path, "/transactions/a%2F..%2Fb%3Fc%3Dd%26e");
    ck_assert_str_eq(x.method, "PUT");
    txn_fini(&t);
}
END_TEST

START_TEST(results_have_names)
{
    for (int r = TXN_COMMITTED; r <= TXN_ABORTED; r++)
        ck_assert_str_ne(txn_result_name(r), "invalid");
    ck_assert_str_eq(txn_result_name(TXN_COMMITTED), "committed");
    ck_assert_str_eq(txn_result_name(TXN_UNKNOWN), "unknown");
    ck_assert_str_eq(txn_result_name((enum txn_result)99), "invalid");
}
END_TEST

/* ---- against an API that fails in every way at random ---- */

struct api {
    unsigned seed;
    unsigned next_id;
    unsigned ours[64]; /* begun and neither committed nor deleted */
    size_t our_count;
    unsigned unknown; /* begun, but the answer was lost */
    unsigned commits, changes;
};

static unsigned next_random(struct api *api)
{
    api->seed = api->seed * 1664525u + 1013904223u;
    return api->seed >> 8;
}

static bool drop(struct api *api, unsigned id)
{
    for (size_t i = 0; i < api->our_count; i++) {
        if (api->ours[i] == id) {
            api->ours[i] = api->ours[--api->our_count];
            return true;
        }
    }
    return false;
}

static unsigned id_in(const char *path)
{
    const char *id = strstr(path, "id-");
    return id != NULL ? (unsigned)strtoul(id + 3, NULL, 10) : 0;
}

/* What a sound API does; the body is filled. Returns the status. */
static int do_request(struct api *api, const struct txn_action *x, char *body, size_t max)
{
    unsigned id = id_in(x->path);
    if (str_has_prefix(x->path, "/configuration")) {
        api->changes++;
        return 202;
    }
    if (str_eq(x->method, "POST")) {
        ck_assert_uint_lt(api->our_count, array_len(api->ours));
        api->ours[api->our_count++] = ++api->next_id;
        snprintf(body, max, "{\"id\":\"id-%u\",\"status\":\"in_progress\"}", api->next_id);
        return 201;
    }
    if (str_eq(x->method, "GET")) {
        snprintf(body, max, "[]");
        return 200;
    }
    if (!drop(api, id))
        return 404;
    if (str_eq(x->method, "DELETE"))
        return 204;
    api->commits++;
    snprintf(body, max, "{\"id\":\"id-%u\",\"status\":\"success\"}", id);
    return 202;
}

/* Does it and answers, does it and loses the answer, or does not do it and fails in one of many ways. */
static void at_random(struct api *api, const struct txn_action *x, struct reply *r, char *body, size_t max)
{
    static const char *const undone[] = {"lost", "refused", "400", "401", "409", "422",
                                         "429",  "500",     "502", "504", "html"};
    static const char *const done[] = {"lost", "500", "502", "504"};
    unsigned dice = next_random(api) % 16;
    if (dice < 4) {
        make_reply(r, undone[next_random(api) % array_len(undone)], '?', "");
        return;
    }
    int status = do_request(api, x, body, max);
    if (dice == 4) {
        make_reply(r, done[next_random(api) % array_len(done)], '?', "");
        api->unknown += status == 201;
        return;
    }
    make_reply(r, "200", '?', "");
    r->a.status = status;
    r->a.body = body;
    r->a.body_len = strlen(body);
    r->a.version = str_eq(x->method, "PUT") && status == 202 ? 8 : 7;
}

START_TEST(random_failures_never_lose_a_transaction_or_claim_a_wrong_commit)
{
    struct api api = {.seed = (unsigned)_i * 7919u + 1};
    size_t results[TXN_ABORTED + 1] = {0};
    for (int round = 0; round < 4000; round++) {
        struct txn t;
        size_t count = next_random(&api) % 4, sent = 0;
        unsigned commits = api.commits;
        api.our_count = api.unknown = api.changes = 0;
        txn_init(&t);
        struct txn_action x = txn_start(&t, 7, make_steps(count), count);
        for (; x.type == TXN_SEND; sent++) {
            struct reply r;
            char body[128] = "";
            at_random(&api, &x, &r, body, sizeof(body));
            if (next_random(&api) % 32 == 0)
                txn_abort(&t);
            x = txn_answer(&t, &r.a);
        }
        ck_assert_uint_le(sent, count + 6);
        ck_assert_ptr_null(t.id);
        /* nothing that we know of stays without being remembered */
        ck_assert_uint_le(api.our_count, t.held_count + api.unknown);
        if (t.result == TXN_COMMITTED) {
            ck_assert_uint_eq(api.commits, commits + 1);
            ck_assert_uint_eq(api.changes, count);
        } else if (t.result != TXN_UNKNOWN) {
            ck_assert_msg(api.commits == commits, "%s: %s", txn_result_name(t.result), t.error.message);
        }
        results[t.result]++;
        txn_fini(&t);
    }
    ck_assert_uint_gt(results[TXN_COMMITTED], 500); /* the API was not just broken */
    ck_assert(results[TXN_UNKNOWN] > 0 && results[TXN_CONFLICT] > 0 && results[TXN_LIMIT] > 0 &&
              results[TXN_ABORTED] > 0 && results[TXN_REJECTED] > 0 && results[TXN_UNAVAILABLE] > 0);
}
END_TEST

/* Answers that no API would give, in any order: it ends, and soon. */
START_TEST(any_nonsense_ends)
{
    static const char *const words[] = {"100", "199", "200", "201", "204", "299", "304", "400", "400v0", "404",
                                        "406", "409", "410", "418", "429", "451", "500", "599", "lost",  "html"};
    struct api api = {.seed = (unsigned)_i + 1};
    for (int round = 0; round < 2000; round++) {
        struct txn t;
        size_t sent = 0;
        txn_init(&t);
        struct txn_action x = round % 5 == 0 ? txn_start_cleanup(&t) : txn_start(&t, 7, make_steps(3), 3);
        for (; x.type == TXN_SEND; sent++) {
            struct reply r;
            static const char requests[] = {'B', 'K', 'L', '?'};
            make_reply(&r, words[next_random(&api) % array_len(words)], requests[next_random(&api) % 4], default_list);
            if (r.a.status == 100 || r.a.status == 199)
                r.a.version = -1;
            x = txn_answer(&t, &r.a);
        }
        ck_assert_uint_le(sent, 3 + 8);
        ck_assert_int_eq(t.state, TXN_DONE);
        ck_assert(t.result == TXN_COMMITTED || t.result == TXN_CLEANED || t.error.kind != ERROR_NONE);
        txn_fini(&t);
    }
}
END_TEST

/* ---- from a difference to steps ---- */

static struct diff_change change(enum diff_op op, const char *name, const char *json)
{
    return (struct diff_change){.op = op,
                                .server = {.name = writable(name),
                                           .address = writable("10.0.0.1"),
                                           .port = 80,
                                           .weight = 100,
                                           .check = true,
                                           .json = writable(json)}};
}

START_TEST(steps_of_a_difference)
{
    static const struct {
        const char *method, *path, *body, *what;
    } expected[] = {
        {"PUT", "/configuration/backends/b%2Fe", "{\"name\":\"b/e\",\"balance\":{\"algorithm\":\"roundrobin\"}}",
         "change backend b/e"},
        {"PUT", "/configuration/backends/b%2Fe/servers/n2",
         "{\"name\":\"n2\",\"address\":\"10.0.0.1\",\"inter\":1,\"port\":80,\"check\":\"enabled\",\"weight\":100}",
         "change server n2"},
        {"POST", "/configuration/backends/b%2Fe/servers",
         "{\"name\":\"n 1\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100}",
         "add server n 1"},
        {"POST", "/configuration/backends/b%2Fe/servers",
         "{\"name\":\"n3\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100}",
         "add server n3"},
        {"DELETE", "/configuration/backends/b%2Fe/servers/%22n%3F%22", NULL, "remove server \"n?\""},
    };
    struct diff_change changes[] = {change(DIFF_ADD, "n 1", NULL),
                                    change(DIFF_CHANGE, "n2", "{\"name\":\"n2\",\"address\":\"x\",\"inter\":1}"),
                                    change(DIFF_ADD, "n3", NULL), change(DIFF_REMOVE, "\"n?\"", "{}")};
    struct backend actual = {.name = writable("b/e"), .exists = true, .json = writable("{\"name\":\"b/e\"}")};
    struct diff d = {.verdict = DIFF_WRITE, .changes = changes, .change_count = 4, .backend_change = true};
    struct diff_rules rules = {.balance = "roundrobin"};
    struct txn_step *steps = NULL;
    size_t count = 0;
    struct error err = {0};
    ck_assert_int_eq(txn_steps_from_diff(&actual, &d, &rules, &steps, &count, &err), 0);
    ck_assert_uint_eq(count, array_len(expected));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(steps[i].method, expected[i].method);
        ck_assert_str_eq(steps[i].path, expected[i].path);
        ck_assert(str_eq(steps[i].body, expected[i].body));
        ck_assert_str_eq(steps[i].what, expected[i].what);
    }
    txn_steps_free(steps, count);
}
END_TEST

START_TEST(steps_for_a_backend_that_is_to_be_made)
{
    struct diff_change changes[] = {change(DIFF_ADD, "n1", NULL)};
    struct backend actual = {.name = writable("be")};
    struct diff d = {.verdict = DIFF_WRITE, .changes = changes, .change_count = 1, .create_backend = true};
    struct diff_rules rules = {.balance = "roundrobin", .create_backend = true};
    struct txn_step *steps = NULL;
    size_t count = 0;
    struct error err = {0};
    ck_assert_int_eq(txn_steps_from_diff(&actual, &d, &rules, &steps, &count, &err), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(steps[0].method, "POST");
    ck_assert_str_eq(steps[0].path, "/configuration/backends");
    ck_assert_str_eq(steps[0].body, "{\"name\":\"be\",\"mode\":\"tcp\",\"balance\":{\"algorithm\":\"roundrobin\"}}");
    ck_assert_str_eq(steps[0].what, "create backend be");
    txn_steps_free(steps, count);
}
END_TEST

START_TEST(nothing_to_do_or_nothing_that_can_be_done)
{
    struct diff_change broken = change(DIFF_CHANGE, "n1", "{");
    struct backend actual = {.name = writable("be"), .exists = true, .json = writable("{}")};
    struct diff d = {.verdict = DIFF_NOTHING};
    struct diff_rules rules = {0};
    struct txn_step *steps = NULL;
    size_t count = 9;
    struct error err = {0};
    ck_assert_int_eq(txn_steps_from_diff(&actual, &d, &rules, &steps, &count, &err), 0);
    ck_assert_uint_eq(count, 0);
    txn_steps_free(steps, count);
    d = (struct diff){.verdict = DIFF_WRITE, .changes = &broken, .change_count = 1, .backend_change = true};
    ck_assert_int_eq(txn_steps_from_diff(&actual, &d, &rules, &steps, &count, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    actual.json = writable("[");
    ck_assert_int_eq(txn_steps_from_diff(&actual, &d, &rules, &steps, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "backend be"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("txn");
    TCase *t = tcase_create("txn");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, every_ending_at_every_step, 0, array_len(rows));
    tcase_add_test(t, an_empty_commit_has_no_change);
    tcase_add_test(t, a_commit_is_known_by_its_version_or_its_body);
    tcase_add_test(t, strangers_are_named_and_left_alone);
    tcase_add_test(t, ours_that_stayed_behind_are_deleted_at_the_next_429);
    tcase_add_test(t, what_was_deleted_later_is_forgotten);
    tcase_add_test(t, a_commit_outdates_what_stayed_behind);
    tcase_add_test(t, what_stays_behind_is_bounded);
    tcase_add_test(t, a_flood_of_dead_ones_is_bounded);
    tcase_add_loop_test(t, the_cleanup_at_start, 0, array_len(cleanups));
    tcase_add_test(t, ids_are_encoded);
    tcase_add_test(t, results_have_names);
    tcase_add_loop_test(t, random_failures_never_lose_a_transaction_or_claim_a_wrong_commit, 0, 4);
    tcase_add_loop_test(t, any_nonsense_ends, 0, 4);
    tcase_add_test(t, steps_of_a_difference);
    tcase_add_test(t, steps_for_a_backend_that_is_to_be_made);
    tcase_add_test(t, nothing_to_do_or_nothing_that_can_be_done);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
